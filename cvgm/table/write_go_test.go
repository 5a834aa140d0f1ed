package table

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/internal/spline"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/mat"
)

var (
	parityRows = flag.Int("parity-rows", 3000, "the rows of which the written Go files and their pipelines predict, over all pipelines")
	parityOnly = flag.String("parity-case", "", "a part of the names of the only pipelines of which Go files are written")
	parityARM  = flag.Bool("parity-arm64", false, "build the written Go files for arm64, and run them by qemu-aarch64")
)

// shopColumns are the columns of drawShop, without the target.
var shopColumns = []string{"price", "sold", "share", "weight", "town", "colour", "age"}

// drawField returns a well-formed text for a column, or sometimes a missing value if lacking is
// set.
func drawField(rng *rand.Rand, column string, lacking bool) string {
	if lacking && rng.IntN(9) == 0 {
		return []string{"", "?", "na"}[rng.IntN(3)]
	}
	switch column {
	case "price":
		v := rng.IntN(900_000)
		if v >= 100_000 {
			return fmt.Sprintf("$%d,%03d.%02d", v/100_000, v/100%1000, v%100)
		}
		return fmt.Sprintf("$%d.%02d", v/100, v%100)
	case "sold":
		return fmt.Sprintf("%d-%02d-%02d %02d:%02d", 2022+rng.IntN(3), 1+rng.IntN(12), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60))
	case "share":
		return fmt.Sprintf("%.1f%%", 100*rng.Float64())
	case "weight":
		if rng.IntN(3) == 0 {
			return fmt.Sprintf("%d g", 1+rng.IntN(3000))
		}
		return fmt.Sprintf("%.2f kg", 3*rng.Float64())
	case "town":
		if rng.IntN(8) == 0 {
			return fmt.Sprintf("hamlet %d", rng.IntN(40)) // few rows have each hamlet
		}
		return fmt.Sprintf("town \"%d\"", rng.IntN(12))
	case "ward":
		return []string{"east", "west", "north"}[rng.IntN(3)]
	case "colour":
		return []string{"red", "green", "bläu", "a\\b", "BLÄU"}[rng.IntN(5)]
	}
	return decimal(20 + 10*rng.NormFloat64())
}

// drawFault returns a text that no training row has and that usually causes an error.
func drawFault(rng *rand.Rand) string {
	return []string{"", "violet", "$5", "-$1.5", "(3)", "12 t", "1e400", "0x1p3", "NaN", "inf", "1,5", "2023-02-30 00:00", "2019-12-31 23:59", "7%", "Null", "  8 ", "-0", "1_000", "900 lb", "RED"}[rng.IntN(20)]
}

// drawShop returns a CSV of n rows. The target is a number if classes is 0.
func drawShop(rng *rand.Rand, n, classes int, lacking bool) string {
	var b strings.Builder
	b.WriteString(strings.Join(shopColumns, ";") + ";y\n")
	for i := range n {
		for _, c := range shopColumns {
			text := drawField(rng, c, lacking && c != "share")
			fmt.Fprintf(&b, "\"%s\";", strings.ReplaceAll(text, "\"", "\"\""))
		}
		switch classes {
		case 0:
			fmt.Fprintf(&b, "%s\n", decimal(math.Abs(float64(i%7)+rng.NormFloat64())))
		default:
			fmt.Fprintf(&b, "class %d\n", (i+rng.IntN(2))%classes)
		}
	}
	return b.String()
}

// termsOf returns a table with an effect of each kind, and a learner that penalises the effects.
func termsOf(t *testing.T, shop *Table, loss penalised.Loss) (*Table, func() learn.Learner) {
	part := casetest.Must(shop.WithEffects(Effect{Column: "price", Kind: SmoothEffect, Bases: 7}, Effect{Column: "town", Kind: LevelsEffect, Term: "places"},
		Effect{Column: "share", Kind: ScaledEffect}, Effect{Column: "weight"}, Effect{Column: "age", Kind: KernelEffect, Term: "joint", Bases: 30}, Effect{Column: "sold days", Kind: KernelEffect, Term: "joint", Bases: 30}))(t)
	towns := part.Columns[1].Features()
	return part, func() learn.Learner {
		return &penalised.GLM{Loss: loss, Intercept: true, Penalties: []penalised.Penalty{{S: spline.Penalty(7)}, penalised.Ridge(6, towns), penalised.Ridge(6+towns, 1), penalised.Ridge(8+towns, part.Columns[4].Features())}}
	}
}

// A parityCase is a pipeline, or a OneVsRest, whose Go file is tested.
type parityCase struct {
	name     string
	pipeline *Pipeline
	many     *OneVsRest
	dense    int // the number of features up to which rows are dense
}

// parityCases returns pipelines of all kinds.
func parityCases(t *testing.T) []parityCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 1))
	seven := make([]int, 0)
	var all []parityCase
	shop := func(classes int, lacking bool, unknown UnknownRule, levels ...string) *Table {
		c := CSV{Target: "y", Comma: ';', Unknown: unknown, Numbers: map[string]Number{"price": {Decimal: '.', Unit: "$"}}, Dates: map[string]string{"sold": "2006-01-02 15:04"}, Categorical: levels}
		if lacking {
			c.Missing = MissingIsMean
		}
		return casetest.Must(c.Read(strings.NewReader(drawShop(rng, 150, classes, lacking))))(t)
	}
	regression := func(name string, table *Table, learner func() learn.Learner, alpha ...float64) {
		all = append(all, parityCase{dense: 200, name: name, pipeline: pipelineOf(t, table, learner, cvgm.SquaredError{}, cvgm.MeanCentring, alpha)})
	}
	plain := func(name string, table *Table, learner func() learn.Learner, loss cvgm.Loss, alpha ...float64) {
		all = append(all, parityCase{dense: 200, name: name, pipeline: pipelineOf(t, table, learner, loss, cvgm.NoCentring, alpha)})
	}
	net := func() learn.Learner { return new(linear.ElasticNet) }
	regression("all levels", shop(0, true, UnknownIsZero, "town"), net, .01, .1) // the baseline, too
	regression("elastic net", shop(0, true, UnknownIsZero), net, .01, .1)
	regression("strict", shop(0, false, UnknownIsError), net, .01, .1)
	regression("numbers", patientTable(t), net, .01, .1)
	ridge := func(k kernel.Kernel) func() learn.Learner {
		return func() learn.Learner { return &kernel.Ridge{Kernel: k} }
	}
	regression("kernel ridge", shop(0, true, UnknownIsZero), ridge(nil), .3, .02)
	regression("polynomial", shop(0, true, UnknownIsZero), ridge(kernel.Polynomial{Degree: 2}), .3, .1, 1)
	table := shop(0, true, UnknownIsZero)
	_, encoder, err := table.Data()
	casetest.OK(t, err)
	_, n := encoder.Dims()
	for j := range n {
		seven = append(seven, j%7)
	}
	for _, shape := range []kernel.Shape{kernel.Gaussian, kernel.Matern32, kernel.Matern52} {
		regression("ARD of shape "+shape.String(), table, ridge(kernel.ARD{Shape: shape, Groups: seven}), .3, .02, .01, 0, .1, .03, .02, .05)
	}
	widths := []float64{.3}
	for j := range n {
		widths = append(widths, []float64{.05, .01, 0}[j%3])
	}
	regression("a width for each feature", table, ridge(kernel.ARD{}), widths...)
	for name, loss := range map[string]penalised.Loss{"terms": penalised.Squared, "terms of counts": penalised.Poisson} {
		part, learner := termsOf(t, shop(0, true, UnknownIsZero), loss)
		plain(name, part, learner, cvgm.SquaredError{}, 1, 2, .5, .7)
	}
	slices.SortStableFunc(all[len(all)-2:], func(a, b parityCase) int { return strings.Compare(a.name, b.name) })
	all = append(all, parityCase{name: "intervals", dense: 200, pipeline: intervalsOf(t, shop(0, true, UnknownIsZero), net, []float64{.01, .1})},
		parityCase{name: "intervals of machines", dense: 200, pipeline: intervalsOf(t, shop(0, true, UnknownIsZero), ridge(nil), []float64{.3, .02})})
	logistic := func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	plain("logistic", shop(2, true, UnknownIsZero), logistic, cvgm.LogisticLoss{}, 1)
	plain("kernel SVM", shop(2, true, UnknownIsError), func() learn.Learner { return &kernel.SVM{Intercept: true} }, cvgm.SquaredHinge{}, 2, .03)
	plain("SVM", shop(2, false, UnknownIsZero), func() learn.Learner { return new(margin.SVM) }, cvgm.SquaredHinge{}, .01, .1)
	three := shop(3, true, UnknownIsZero)
	for name, learner := range map[string]func() learn.Learner{"one against the rest": logistic, "machines against the rest": func() learn.Learner { return &kernel.SVM{Intercept: true} }} {
		var parts []*Pipeline
		for _, class := range three.Classes {
			loss, alpha := cvgm.Loss(cvgm.LogisticLoss{}), []float64{1}
			if strings.HasPrefix(name, "machines") {
				loss, alpha = cvgm.SquaredHinge{}, []float64{2, .03}
			}
			parts = append(parts, pipelineOf(t, casetest.Must(three.Binary(class))(t), learner, loss, cvgm.NoCentring, alpha))
		}
		all = append(all, parityCase{dense: 200, name: name, many: casetest.Must(NewOneVsRest(parts))(t)})
	}
	slices.SortStableFunc(all[len(all)-2:], func(a, b parityCase) int { return strings.Compare(a.name, b.name) })
	return append(all, parityCase{dense: 200, name: "joint", many: jointOf(t, three, 1)})
}

// drawRow draws a row with a pipeline's columns. Some texts are faulty or missing.
func drawRow(rng *rand.Rand, e *Encoder) map[string]string {
	row := map[string]string{"more": "x"}
	for j := range e.columns {
		c := &e.columns[j]
		switch r := rng.IntN(60); {
		case r == 0:
			row[c.source()] = drawFault(rng)
		case r == 1 && rng.IntN(8) == 0:
			delete(row, c.source())
		case c.Number == nil && c.Date == nil && c.Kind == Numeric:
			row[c.source()] = drawField(rng, "", c.imputed())
		default:
			row[c.source()] = " " + drawField(rng, c.source(), c.Missing == MissingIsMean)
		}
	}
	return row
}

// pipelineOutputs returns the decisions and the probabilities for a row, or nil for an error.
func (c parityCase) pipelineOutputs(row map[string]string) ([]float64, string) {
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(c.dense))
	if c.many != nil {
		table, err := c.many.Record(row)
		if err != nil {
			return nil, ""
		}
		d, err := c.many.Decision(table)
		if err != nil {
			return nil, ""
		}
		all := slices.Clone(d.RawRowView(0))
		if p, err := c.many.Probability(table); err == nil {
			all = append(all, p.RawRowView(0)...)
		}
		classes, _ := c.many.Class(table)
		return all, classes[0]
	}
	table, err := c.pipeline.Record(row)
	if err != nil {
		return nil, ""
	}
	all, err := c.pipeline.Decision(table)
	if err != nil {
		return nil, ""
	}
	if c.pipeline.Model.LogMean {
		if p, err := c.pipeline.Predict(table); err == nil {
			all = append(all, p...)
		}
	}
	if c.pipeline.Intervals != nil {
		if low, high, err := c.pipeline.Interval(table, parityLevel); err == nil {
			all = append(all, low[0], high[0])
		}
	}
	if len(c.pipeline.Classes) == 0 {
		return all, ""
	}
	if p, err := c.pipeline.Probability(table); err == nil {
		all = append(all, p...)
	}
	classes, _ := c.pipeline.Class(table)
	return all, classes[0]
}

// encoderOf returns the encoder that reads the rows.
func (c parityCase) encoderOf() *Encoder {
	p := c.pipeline
	if c.many != nil {
		p = c.many.Pipelines[0]
	}
	return p.Model.Prepared.(*Encoder)
}

// goFile returns the text of the Go file.
func (c parityCase) goFile(t testing.TB, pkg string) string {
	t.Helper()
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(c.dense))
	var b bytes.Buffer
	if c.many != nil {
		casetest.OK(t, c.many.WriteGo(&b, pkg))
	} else {
		casetest.OK(t, c.pipeline.WriteGo(&b, pkg))
	}
	return b.String()
}

// predictionCode returns the Go code of a function that returns the same numbers as
// pipelineOutputs.
func (c parityCase) predictionCode(pkg string) string {
	switch {
	case c.many != nil && (c.many.Joint || c.many.Pipelines[0].Model.LogOdds):
		return fmt.Sprintf("\t{%[1]s.Decisions, %[1]s.Probabilities, %[1]s.Class},\n", pkg)
	case c.many != nil:
		return fmt.Sprintf("\t{%[1]s.Decisions, nil, %[1]s.Class},\n", pkg)
	case c.pipeline.Model.LogOdds:
		return fmt.Sprintf("\t{one(%[1]s.Decision), one(%[1]s.Probability), %[1]s.Class},\n", pkg)
	case c.pipeline.Intervals != nil:
		return fmt.Sprintf("\t{one(%[1]s.Predict), ends(%[1]s.Interval), nil},\n", pkg)
	case c.pipeline.Model.LogMean:
		return fmt.Sprintf("\t{one(%[1]s.Decision), one(%[1]s.Predict), nil},\n", pkg)
	case len(c.pipeline.Classes) > 0:
		return fmt.Sprintf("\t{one(%[1]s.Decision), nil, %[1]s.Class},\n", pkg)
	}
	return fmt.Sprintf("\t{one(%[1]s.Predict), nil, nil},\n", pkg)
}

// parityLevel is the level of the intervals.
const parityLevel = .85

const parityMain = `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
IMPORTS)

func one(f func(map[string]string) (float64, error)) func(map[string]string) ([]float64, error) {
	return func(row map[string]string) ([]float64, error) {
		d, err := f(row)
		return []float64{d}, err
	}
}

func ends(f func(map[string]string, float64) (low, high float64, err error)) func(map[string]string) ([]float64, error) {
	return func(row map[string]string) ([]float64, error) {
		low, high, err := f(row, LEVEL)
		return []float64{low, high}, err
	}
}

var models = []struct {
	decisions, probabilities func(map[string]string) ([]float64, error)
	class                    func(map[string]string) (string, error)
}{
MODELS}

// The program reads lines of JSON with a model number and a row, and prints the bits of the results.
func main() {
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		var question struct {
			Model int
			Row   map[string]string
		}
		if in.Decode(&question) != nil {
			return
		}
		m := models[question.Model]
		all, err := m.decisions(question.Row)
		if err != nil {
			fmt.Fprintln(out, "error")
			continue
		}
		if m.probabilities != nil {
			if p, err := m.probabilities(question.Row); err == nil {
				all = append(all, p...)
			}
		}
		for _, v := range all {
			fmt.Fprintf(out, "%016x ", math.Float64bits(v))
		}
		class := ""
		if m.class != nil {
			class, _ = m.class(question.Row)
		}
		fmt.Fprintf(out, "%s\n", class)
	}
}
`

// outputLine returns the line that parityMain prints for the results all, or for an error if all is
// nil.
func outputLine(all []float64, class string) string {
	if all == nil {
		return "error"
	}
	var b strings.Builder
	for _, v := range all {
		fmt.Fprintf(&b, "%016x ", math.Float64bits(v))
	}
	return b.String() + class
}

// writeModule writes a program with the Go files of all cases, and reports unneeded declarations
// and imports.
func writeModule(t testing.TB, cases []parityCase, dir string) {
	t.Helper()
	var imports, models strings.Builder
	for k, c := range cases {
		pkg := fmt.Sprintf("m%d", k)
		code := c.goFile(t, pkg)
		if formatted, err := format.Source([]byte(code)); err != nil || string(formatted) != code {
			t.Fatalf("%s: not formatted; error %v", c.name, err)
		}
		if names := unneededNames(t, code); len(names) > 0 {
			t.Errorf("%s: nothing needs %q", c.name, names)
		}
		casetest.OK(t, os.MkdirAll(filepath.Join(dir, pkg), 0o755), os.WriteFile(filepath.Join(dir, pkg, "model.go"), []byte(code), 0o644))
		fmt.Fprintf(&imports, "\n\t\"parity/%s\"", pkg)
		models.WriteString(c.predictionCode(pkg))
	}
	code := strings.NewReplacer("IMPORTS", imports.String()+"\n", "MODELS", models.String(), "LEVEL", fmt.Sprint(parityLevel)).Replace(parityMain)
	casetest.OK(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module parity\n\ngo 1.24\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o644))
}

// In a written file, the new names for exported names of package portable are distinct. No field
// has an exported name, because WriteGo would rename the field, too.
func TestCarriedNamesDiffer(t *testing.T) {
	all, _, err := portableCode()
	casetest.OK(t, err)
	var code bytes.Buffer
	exported := map[string]bool{}
	for _, d := range all {
		fmt.Fprintf(&code, "\n%s\n", d.text)
		for _, name := range d.names {
			if d.receiver == "" && token.IsExported(name) {
				exported[name] = true
			}
		}
	}
	file := casetest.Must(parser.ParseFile(token.NewFileSet(), "", "package p\n"+code.String(), 0))(t)
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+lowerNames(code.Bytes(), exported), parser.DeclarationErrors); err != nil {
		t.Error(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok {
			for _, name := range f.Names {
				if exported[name.Name] {
					t.Errorf("%s is a field and a declaration", name.Name)
				}
			}
		}
		return true
	})
}

// emptyPackages is an importer that returns empty packages, which suffice to check a single file.
type emptyPackages struct{}

func (emptyPackages) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// unneededNames returns the declarations and imports of a Go file that no exported name needs.
func unneededNames(t testing.TB, code string) (names []string) {
	t.Helper()
	set := token.NewFileSet()
	file := casetest.Must(parser.ParseFile(set, "", code, 0))(t)
	info := types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	c := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	c.Check("p", set, []*ast.File{file}, &info) // the errors are about names of other packages
	declared, imports := map[types.Object]ast.Node{}, map[string]bool{}
	var open []ast.Node
	for _, d := range file.Decls {
		specs := []ast.Node{d}
		if g, ok := d.(*ast.GenDecl); ok {
			specs = nil
			for _, s := range g.Specs {
				specs = append(specs, s)
			}
		}
		for _, s := range specs {
			idents := map[bool][]*ast.Ident{}
			switch s := s.(type) {
			case *ast.ImportSpec:
				imports[path.Base(strings.Trim(s.Path.Value, `"`))] = true
			case *ast.FuncDecl:
				idents[s.Recv == nil && s.Name.IsExported()] = []*ast.Ident{s.Name}
			case *ast.TypeSpec:
				idents[false] = []*ast.Ident{s.Name}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					idents[name.IsExported()] = append(idents[name.IsExported()], name)
				}
			}
			if len(idents[true]) > 0 {
				open = append(open, s)
			}
			for _, name := range idents[false] {
				declared[info.Defs[name]] = s
			}
		}
	}
	for len(open) > 0 {
		n := open[0]
		open = open[1:]
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			used := info.Uses[id]
			if p, ok := used.(*types.PkgName); ok {
				delete(imports, p.Name())
			}
			for o, node := range declared {
				f, ok := used.(*types.Func) // for a method of an interface, any method of this name may be called
				m, method := o.(*types.Func)
				if o == used || ok && method && f.Signature().Recv() != nil && m.Signature().Recv() != nil && f.Name() == m.Name() {
					delete(declared, o)
					open = append(open, node)
				}
			}
			return true
		})
	}
	for o := range declared {
		names = append(names, o.Name())
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(imports))))
}

// unneededNames finds the function Logistic if it is no longer exported.
func TestUnneededCodeIsFound(t *testing.T) {
	all, imports, err := portableCode()
	casetest.OK(t, err)
	code := "package p\n"
	for _, path := range imports {
		code += "import " + path + "\n"
	}
	for _, d := range all {
		code += string(d.text) + "\n"
	}
	if names := unneededNames(t, strings.Replace(code, "func Logistic", "func logistic", 1)); !slices.Contains(names, "logistic") || slices.Contains(names, "Exp") {
		t.Errorf("of all code nothing needs %q", names)
	}
}

// A written Go file returns the same bits, classes and errors as its pipeline.
func TestWrittenGoPredictsTheSameBits(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	cases := parityCases(t)
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(0))
	stored := parityCases(t)[0]
	if m, _, err := stored.pipeline.portable(); err != nil || !m.Stored {
		t.Fatal("the table of stored features has too few levels")
	}
	stored.name, stored.dense = "stored features", 0
	cases = slices.DeleteFunc(append(cases, stored), func(c parityCase) bool { return !strings.Contains(c.name, *parityOnly) })
	dir := t.TempDir()
	writeModule(t, cases, dir)
	build := exec.Command("go", "build", "-o", "parity", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if *parityARM {
		build.Env = append(build.Env, "GOARCH=arm64")
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rng := rand.New(rand.NewPCG(9, 1))
	var questions bytes.Buffer
	var want []string
	good := make([]int, len(cases))
	for i := range *parityRows {
		k := i % len(cases)
		row := drawRow(rng, cases[k].encoderOf())
		all, class := cases[k].pipelineOutputs(row)
		if all != nil {
			good[k]++
		}
		want = append(want, outputLine(all, class))
		casetest.OK(t, json.NewEncoder(&questions).Encode(struct {
			Model int
			Row   map[string]string
		}{k, row}))
	}
	if low := slices.Min(good); low < *parityRows/len(cases)/3 || slices.Max(good) == *parityRows/len(cases)+1 {
		t.Fatalf("%v rows of the pipelines are no errors", good)
	}
	run := exec.Command(filepath.Join(dir, "parity"))
	if *parityARM {
		run = exec.Command("qemu-aarch64", run.Path)
	}
	run.Stdin = &questions
	out := casetest.Must(run.Output())(t)
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers to %d rows", len(got), len(want))
	}
	wrong := 0
	for i := range want {
		if got[i] != want[i] {
			if wrong++; wrong < 10 {
				t.Errorf("row %d, %s: the file gives %s, the pipeline %s", i, cases[i%len(cases)].name, got[i], want[i])
			}
		}
	}
	t.Logf("%d rows, %v of them no errors", len(want), good)
}

// Package portable, whose code WriteGo writes to Go files, returns the same bits as the pipeline.
func TestPortableModelsPredictTheSameBits(t *testing.T) {
	cases := parityCases(t)
	rng := rand.New(rand.NewPCG(10, 1))
	for i := range 2000 {
		c := cases[i%len(cases)]
		if c.pipeline == nil {
			continue
		}
		m, _, err := c.pipeline.portable()
		casetest.OK(t, err)
		row := drawRow(rng, c.encoderOf())
		values, err := portable.Values(m.Columns, row)
		d := []float64{0}
		if err == nil {
			d[0], err = m.Decision(values)
		}
		want, _ := c.pipelineOutputs(row)
		if (err != nil) != (want == nil) || err == nil && math.Float64bits(d[0]) != math.Float64bits(want[0]) {
			t.Fatalf("%s, row %q: %v, error %v, and %v of the pipeline", c.name, row, d, err, want)
		}
	}
}

// WriteGo accepts a column that has the same value in all training rows.
func TestWriteGoOfAConstantColumn(t *testing.T) {
	table := patientTable(t)
	j := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Kind == Numeric })
	for i := range table.Y {
		table.x.Set(i, j, 5)
	}
	for _, learner := range []func() learn.Learner{func() learn.Learner { return new(linear.ElasticNet) }, func() learn.Learner { return new(kernel.Ridge) }} {
		p := pipelineOf(t, table, learner, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.1, .1})
		if !slices.Contains(p.Model.Std, math.MaxFloat64) {
			t.Fatalf("%T: no feature is constant: %v", learner(), p.Model.Std)
		}
		if err := p.WriteGo(new(bytes.Buffer), "model"); err != nil {
			t.Errorf("%T: %v", learner(), err)
		}
	}
}

// foreignKernel is a kernel of another package.
type foreignKernel struct{ kernel.RBF }

// foreignPredictor is a predictor of another package.
type foreignPredictor struct{ learn.Predictor }

func (foreignPredictor) Predict(_ *qpdiff.Workspace, dst []float64, _ *mat.Dense) error {
	clear(dst)
	return nil
}

// A written file of package main compiles together with a file that has the function main.
func TestWriteGoInAProgram(t *testing.T) {
	dir := t.TempDir()
	var code bytes.Buffer
	casetest.OK(t, pears(t).WriteGo(&code, "main"))
	if !strings.Contains(code.String(), "Another file of the folder has the function main.\npackage main\n") {
		t.Errorf("%.300s", code.String())
	}
	casetest.OK(t, os.WriteFile(filepath.Join(dir, "model.go"), code.Bytes(), 0o644), os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module pears\n\ngo 1.24\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { Class(nil) }\n"), 0o644))
	build := exec.Command("go", "build", "-o", "pears", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWriteGoRefuses(t *testing.T) {
	p := pears(t)
	for _, name := range []string{"", "_", "two words", "func", "a.b"} {
		if err := p.WriteGo(new(bytes.Buffer), name); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "pkg") {
			t.Errorf("package %q: %v", name, err)
		}
	}
	other := pipelineOf(t, patientTable(t), func() learn.Learner { return &kernel.Ridge{Kernel: foreignKernel{}} }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.1, .1})
	if err := other.WriteGo(new(bytes.Buffer), "model"); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "table.foreignKernel") {
		t.Errorf("another kernel: %v", err)
	}
	model := *other.Model
	model.Kernel, model.Predictor = nil, foreignPredictor{}
	predictor := Pipeline{Model: &model, Target: other.Target}
	if err := predictor.WriteGo(new(bytes.Buffer), "model"); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "table.foreignPredictor") {
		t.Errorf("another predictor: %v", err)
	}
	bounded := intervalsOf(t, patientTable(t), func() learn.Learner { return new(linear.ElasticNet) }, []float64{.01, .1})
	bounded.Intervals.Folds[1].Model = other.Model
	if err := bounded.WriteGo(new(bytes.Buffer), "model"); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "Pipeline.Intervals.Folds[1]") || !strings.Contains(err.Error(), "table.foreignKernel") {
		t.Errorf("intervals by another kernel: %v", err)
	}
	broken := *p
	model = *p.Model
	model.Theta = nil
	broken.Model = &model
	var none *Pipeline
	var many *OneVsRest
	if err := errors.Join(broken.WriteGo(new(bytes.Buffer), "model"), none.WriteGo(new(bytes.Buffer), "model")); !errors.Is(err, qpdiff.ErrShape) || !errors.Is(err, qpdiff.ErrEmpty) {
		t.Error(err)
	}
	if err := many.WriteGo(new(bytes.Buffer), "model"); !errors.Is(err, qpdiff.ErrShape) {
		t.Error(err)
	}
}
