package notebook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/samplesize"
)

// methodHeading is the heading of a section whose one code cell has the core of the experiment. A
// table lists code that replaces parts of the method.
const methodHeading = "## The method in the open\n"

// expectedOutputs has a function for each notebook, which makes the cell's expected output from the
// experiment's result.
var expectedOutputs = map[string]func(t *testing.T) string{
	"01_elastic_net": func(t *testing.T) string {
		p := elasticnet.DefaultElasticNet()
		p.LongSteps, p.GridPoints, p.RandomPoints, p.SurfacePoints = 1, 2, 1, 2 // the cell does not use these
		r := computeResult(t, p.Run)
		var b strings.Builder
		for _, k := range []int{0, p.Steps - 1} {
			fmt.Fprintf(&b, "λ = %.6f: CV loss %.6f, test loss %.6f\n", r.CVGM.Lambda[k], r.CVGM.CVLoss[k], r.CVGM.TestLoss[k])
		}
		return b.String()
	},
	"02_rings": func(t *testing.T) string {
		p := kernels.DefaultRings()
		return fullGradient(t, p.Steps, 20, "%3d", computeResult(t, p.Run).Run(kernels.Full))
	},
	"03_sample_size": func(t *testing.T) string {
		p := samplesize.DefaultSampleSize()
		p.MinSize, p.MaxSize, p.Seeds = 20, 20, 1
		r := computeResult(t, p.Run)
		at := func(method int) float64 { return r.Methods[method].Accuracy[0][0] }
		return fmt.Sprintf("test accuracy: logistic regression %.3f, CVGM %.3f, Bayes rule %.3f\n",
			at(samplesize.SizeLogistic), at(samplesize.SizeCVGMFull), at(samplesize.SizeBayes))
	},
	"04_xor": func(t *testing.T) string {
		p := kernels.DefaultXOR()
		return fullGradient(t, p.Steps, 10, "%2d", computeResult(t, p.Run).Run(kernels.Full))
	},
	"09_many_hyperparameters": func(t *testing.T) string {
		p := manyhyper.DefaultLevers()
		p.DataSets, p.Widths.Groups = 2, []int{20}
		p.Bands.Test, p.Smooths.Test, p.Bands.Groups, p.Smooths.Groups = 1, 1, []int{2}, []int{2} // the cell does not use these
		widths := computeResult(t, p.Run).Problems[manyhyper.LeverOfWidths]
		many, _ := widths.Find(manyhyper.SearchFolds)
		return fmt.Sprintf("test loss with one width %.3f, with 20 widths %.3f\n", widths.Rows[0].Test.Mean, many.Test.Mean)
	},
}

func computeResult[R any](t *testing.T, run func(context.Context, experiment.Hooks) (R, error)) R {
	t.Helper()
	r, err := run(context.Background(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fullGradient returns the expected lines of a run, for each multiple of stride and for the last
// step.
func fullGradient(t *testing.T, steps, stride int, number string, run *kernels.Run) string {
	t.Helper()
	var b strings.Builder
	for n, loss := range run.CVLoss {
		if n%stride == 0 || n == steps-1 {
			fmt.Fprintf(&b, "after "+number+" steps: CV loss %.4f, test accuracy %.3f\n", n, loss, run.Accuracy[n])
		}
	}
	return b.String()
}

// Each cell of a method prints the digits of the experiment's result, and other digits after each
// exchange in its table.
func TestMethodsInTheOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program and runs each experiment")
	}
	sources := map[string]string{"main.go": dispatcher}
	exchanged := map[string][]string{} // by notebook
	for name := range expectedOutputs {
		m := readMethod(t, name)
		if lines := strings.Count(m.code, "\n"); lines > 30 { // lines have at most 120 characters
			t.Errorf("%s: the cell has %d lines", name, lines)
		}
		variants := map[string]string{name: m.code}
		for what, pairs := range m.exchanges {
			variants[name+": "+what] = exchangeCode(t, m.code, pairs)
			exchanged[name] = append(exchanged[name], name+": "+what)
		}
		if len(exchanged[name]) < 3 {
			t.Errorf("%s: the text offers %d exchanges", name, len(exchanged[name]))
		}
		for id, code := range variants {
			sources[fmt.Sprintf("cell%d.go", len(sources))] = cellSource(t, id, m.imports, code)
		}
	}
	if t.Failed() {
		return
	}
	program := buildProgram(t, sources)
	run := func(id string) string {
		out, err := exec.Command(program, id).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", id, err, out)
		}
		return string(out)
	}
	for _, name := range slices.Sorted(maps.Keys(expectedOutputs)) {
		got := run(name)
		if want := expectedOutputs[name](t); got != want {
			t.Errorf("%s: the cell prints\n%sand the result is\n%s", name, got, want)
		}
		for _, id := range exchanged[name] {
			if out := run(id); out == got || strings.Contains(out, "NaN") {
				t.Errorf("%s: it prints\n%s", id, out)
			}
		}
	}
}

// method is such a section of a notebook.
type method struct {
	imports   []string               // import specs of the notebook's code cells
	code      string                 // code of the cell without %%
	exchanges map[string][][2]string // for each part of the method: replaced texts and their replacements
}

func readMethod(t *testing.T, name string) (m method) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name+".ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cells []struct {
			Type   string `json:"cell_type"`
			Source []string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for i, c := range file.Cells {
		source := strings.Join(c.Source, "") + "\n"
		if c.Type == "code" {
			for _, block := range regexp.MustCompile(`(?ms)^import \((.*?)^\)$`).FindAllStringSubmatch(source, -1) {
				m.imports = append(m.imports, strings.Fields(block[1])...)
			}
			continue
		}
		if !strings.HasPrefix(source, methodHeading) {
			continue
		}
		if m.code != "" || i+1 == len(file.Cells) || file.Cells[i+1].Type != "code" {
			t.Fatalf("%s: want one section %q, with a code cell below it", name, methodHeading)
		}
		code, found := strings.CutPrefix(strings.Join(file.Cells[i+1].Source, "")+"\n", "%%\n")
		if !found {
			t.Errorf("%s: the cell does not begin with %%%%", name)
		}
		m.code, m.exchanges = code, exchangesIn(source)
	}
	if m.code == "" {
		t.Fatalf("%s has no section %q", name, methodHeading)
	}
	return m
}

// exchangesIn returns the rows of the table "part | replace | by". A row without a part belongs to
// the part above.
func exchangesIn(text string) map[string][][2]string {
	found := map[string][][2]string{}
	last := ""
	for _, row := range regexp.MustCompile("(?m)^\\|(.*)\\| `(.*)` \\| `(.*)` \\|$").FindAllStringSubmatch(text, -1) {
		if part := strings.TrimSpace(row[1]); part != "" {
			last = part
		}
		found[last] = append(found[last], [2]string{row[2], row[3]})
	}
	return found
}

func exchangeCode(t *testing.T, code string, pairs [][2]string) string {
	t.Helper()
	for _, p := range pairs {
		if n := strings.Count(code, p[0]); n != 1 {
			t.Errorf("the cell has %d times %s", n, p[0])
		}
		code = strings.Replace(code, p[0], p[1], 1)
	}
	return code
}

// cellSource returns a Go file that runs a cell and, like GoNB, imports only what the cell uses.
func cellSource(t *testing.T, id string, imports []string, code string) string {
	t.Helper()
	body := fmt.Sprintf("func init() {\n\tcells[%q] = func() {\n\t\t%s\n\t}\n}\n", id, strings.ReplaceAll(strings.TrimSuffix(code, "\n"), "\n", "\n\t\t"))
	if formatted, err := format.Source([]byte(body)); err == nil && string(formatted) != body {
		t.Errorf("%s: gofmt writes the cell as\n%s", id, formatted)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "cell.go", "package main\n"+body, 0)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	used := map[string]bool{}
	for _, u := range file.Unresolved {
		used[u.Name] = true
	}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, spec := range imports {
		path, err := strconv.Unquote(spec)
		if err != nil {
			t.Fatalf("%s: import %s: %v", id, spec, err)
		}
		if used[path[strings.LastIndex(path, "/")+1:]] {
			fmt.Fprintf(&b, "\t%s\n", spec)
		}
	}
	b.WriteString(")\n\n" + body)
	return b.String()
}

// dispatcher runs the cell that the program's argument names.
const dispatcher = `package main

import "os"

var cells = map[string]func(){}

func main() { cells[os.Args[1]]() }
`

// buildProgram builds a main package from the given files and the packages of the module.
func buildProgram(t *testing.T, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "cells.exe")
	args := []string{"build", "-ldflags=-s -w", "-o", program}
	for name, source := range sources {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	var problems bytes.Buffer
	build := exec.Command("go", args...)
	build.Stderr = &problems
	if err := build.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &problems)
	}
	return program
}
