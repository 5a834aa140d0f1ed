package notebook

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packageImports lists the packages of the module and, in the field code, their imports without
// tests. An import must be earlier in the list.
var packageImports = []struct{ path, code string }{
	{"qpdiff/learntest/serial", ""}, // for tests
	{"qpdiff/memory", ""},
	{"synth", ""},
	{"qpdiff/internal/stop", ""},
	{"qpdiff/internal/dense", "qpdiff/internal/stop"},
	{"qpdiff/internal/check", "qpdiff/internal/dense"},
	{"qpdiff/internal/numtest", "qpdiff/internal/dense"},
	{"qpdiff/internal/ways", ""},
	{"qpdiff/internal/woodbury", "qpdiff/internal/dense qpdiff/internal/stop"},
	{"qpdiff", "qpdiff/internal/check qpdiff/internal/dense"},
	{"qpdiff/hostile", "qpdiff"},
	{"qpdiff/learn", "qpdiff qpdiff/internal/check qpdiff/internal/dense qpdiff/internal/stop"},
	{"qpdiff/internal/equal", "qpdiff/internal/dense"},
	{"qpdiff/internal/sparse", "qpdiff/internal/dense qpdiff/internal/stop qpdiff/learn"},
	{"qpdiff/internal/ridge", "qpdiff/internal/dense qpdiff/internal/sparse qpdiff/internal/stop"},
	{"qpdiff/internal/learner", "qpdiff/memory qpdiff qpdiff/internal/check qpdiff/internal/dense qpdiff/internal/stop qpdiff/internal/ways qpdiff/learn"},
	{"qpdiff/internal/gram", "qpdiff/internal/dense qpdiff/internal/learner qpdiff/internal/stop qpdiff/learn"},
	{"qpdiff/learntest", "qpdiff qpdiff/internal/numtest qpdiff/learn qpdiff/learntest/serial"},
	{"qpdiff/smooth", learner},
	{"qpdiff/internal/casetest", "qpdiff qpdiff/internal/dense qpdiff/internal/numtest qpdiff/internal/ways qpdiff/learn qpdiff/learntest qpdiff/learntest/serial qpdiff/smooth"},
	{"qpdiff/linear", learner + " qpdiff/internal/equal qpdiff/internal/gram qpdiff/internal/ridge qpdiff/internal/sparse qpdiff/internal/ways qpdiff/internal/woodbury"},
	{"qpdiff/linear/margin", learner},
	{"qpdiff/kernel", learner},
	{"qpdiff/penalised", learner + " qpdiff/internal/gram"},
	{"cvgm/internal/args", "qpdiff qpdiff/learn"},
	{"cvgm/internal/sample", "qpdiff qpdiff/learn cvgm/internal/args"},
	{"cvgm/internal/normalise", "qpdiff cvgm/internal/args cvgm/internal/sample"},
	{"cvgm/internal/strictjson", "qpdiff cvgm/internal/args"},
	{"cvgm/internal/portable", ""},
	{"cvgm/internal/casetest", "qpdiff qpdiff/learn cvgm/internal/strictjson synth"},
	{"cvgm/search", "qpdiff cvgm/internal/args"},
	{"cvgm", "qpdiff/memory qpdiff qpdiff/learn qpdiff/kernel cvgm/search cvgm/internal/args cvgm/internal/portable cvgm/internal/sample cvgm/internal/normalise cvgm/internal/strictjson"},
	{"cvgm/interval", "qpdiff cvgm cvgm/internal/args cvgm/internal/portable"},
	{"cvgm/internal/spline", ""},
	{"cvgm/internal/inducing", "cvgm/internal/normalise cvgm/internal/portable"},
	{"cvgm/table", "qpdiff/memory qpdiff qpdiff/learn qpdiff/kernel cvgm cvgm/interval cvgm/internal/args cvgm/internal/inducing cvgm/internal/normalise cvgm/internal/portable cvgm/internal/sample cvgm/internal/spline cvgm/internal/strictjson"},
	{"cvgm/terms", "qpdiff qpdiff/penalised cvgm/table cvgm/internal/args cvgm/internal/spline"},
	{"cvgm/tune/assess", "qpdiff cvgm/internal/args cvgm/internal/sample"},
	{"cvgm/tune", "qpdiff/memory qpdiff qpdiff/learn cvgm cvgm/interval cvgm/search cvgm/table cvgm/tune/assess cvgm/internal/args cvgm/internal/sample cvgm/internal/normalise cvgm/internal/portable qpdiff/linear qpdiff/penalised"},
	{"cvgm/cvgmtest", "qpdiff cvgm cvgm/search"},
	{"cvgm/experiment", "cvgm cvgm/search qpdiff qpdiff/learn synth"},
	{"cvgm/experiment/internal/casetest", "cvgm/experiment synth"},
	{"cvgm/experiment/elasticnet", "cvgm cvgm/experiment cvgm/search qpdiff/learn qpdiff/linear synth"},
	{"cvgm/experiment/kernels", "cvgm cvgm/experiment cvgm/search qpdiff qpdiff/learn qpdiff/linear synth"},
	{"cvgm/experiment/samplesize", "cvgm cvgm/experiment cvgm/experiment/elasticnet cvgm/experiment/kernels cvgm/search qpdiff/kernel qpdiff/learn qpdiff/linear synth"},
	{"cvgm/experiment/searches", "cvgm cvgm/experiment cvgm/experiment/elasticnet cvgm/experiment/kernels cvgm/search qpdiff/learn qpdiff/linear synth"},
	{"cvgm/experiment/splits", "cvgm cvgm/experiment cvgm/experiment/elasticnet cvgm/experiment/kernels cvgm/experiment/searches cvgm/search synth"},
	{"cvgm/experiment/stability", "cvgm cvgm/experiment cvgm/experiment/elasticnet qpdiff/learn qpdiff/linear synth"},
	{"cvgm/experiment/differentiability", "cvgm cvgm/experiment cvgm/experiment/kernels cvgm/experiment/stability cvgm/search qpdiff qpdiff/learn qpdiff/smooth synth " + learners},
	{"cvgm/experiment/mydata", "cvgm cvgm/experiment cvgm/table cvgm/tune cvgm/tune/assess qpdiff qpdiff/learn synth " + learners},
	{"cvgm/experiment/manyhyper", "cvgm cvgm/experiment cvgm/experiment/kernels cvgm/experiment/mydata cvgm/experiment/samplesize cvgm/internal/portable cvgm/internal/spline cvgm/search cvgm/table cvgm/terms cvgm/tune qpdiff/kernel qpdiff/learn qpdiff/linear qpdiff/penalised synth"},
	{"cvgm/experiment/registry", "cvgm/experiment cvgm/experiment/manyhyper cvgm/experiment/mydata " + experiments},
	{"cvgm/experiment/claims", "cvgm/experiment cvgm/experiment/manyhyper " + experiments},
	{"figures/internal/chart", "cvgm/experiment"},
	{"figures", "cvgm/experiment cvgm/experiment/claims cvgm/experiment/manyhyper cvgm/experiment/mydata figures/internal/chart " + experiments},
	{"figures/readings", "cvgm/experiment cvgm/experiment/claims cvgm/experiment/manyhyper cvgm/experiment/mydata " + experiments},
	{"notebooks/source", ""},
	{"notebooks/store", "notebooks/source"},
	{"notebooks/worker", "cvgm/experiment cvgm/experiment/registry notebooks/store"},
	{"notebooks/stale", "notebooks/source"},
	{"notebooks/notebook", "cvgm/experiment cvgm/experiment/claims cvgm/experiment/manyhyper cvgm/experiment/mydata cvgm/experiment/registry figures notebooks/source notebooks/store " + experiments},
	{"notebooks/live", "cvgm cvgm/experiment cvgm/experiment/elasticnet cvgm/experiment/kernels cvgm/experiment/registry figures notebooks/notebook notebooks/source qpdiff/learn"},
	{"notebooks/peers", "qpdiff qpdiff/kernel qpdiff/learn qpdiff/linear qpdiff/penalised cvgm cvgm/table cvgm/terms cvgm/tune"},
	{"notebooks/runner", ""}, // Python, with a test of it
}

// These constants are the packages of learners, and the imports of each learner.
const (
	learner  = "qpdiff qpdiff/internal/check qpdiff/internal/dense qpdiff/internal/learner qpdiff/internal/stop qpdiff/learn"
	learners = "qpdiff/kernel qpdiff/linear qpdiff/linear/margin"
)

// experiments lists the packages of the paper's experiments.
const experiments = "cvgm/experiment/differentiability cvgm/experiment/elasticnet cvgm/experiment/kernels cvgm/experiment/samplesize cvgm/experiment/searches cvgm/experiment/splits cvgm/experiment/stability"

func TestImportsRunOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "cvgm/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(p.ImportPath, "cvgm/")
		k := slices.IndexFunc(packageImports, func(i struct{ path, code string }) bool { return i.path == path })
		if k < 0 {
			t.Errorf("package %s has no place in the order of imports; give it one in this test", path)
			continue
		}
		seen++
		code := strings.Fields(packageImports[k].code)
		for _, i := range p.Imports {
			if i, own := strings.CutPrefix(i, "cvgm/"); own && !slices.Contains(code, i) {
				t.Errorf("%s imports %s, against the order", path, i)
			}
		}
		for _, i := range code {
			if !slices.Contains(p.Imports, "cvgm/"+i) {
				t.Errorf("%s no longer imports %s; take that out of the list", path, i)
			}
		}
	}
	if seen != len(packageImports) {
		t.Errorf("go list names %d of the %d packages", seen, len(packageImports))
	}
}

// Package notebook does not import a server, because each run of a cell would take a third longer
// to link.
func TestCellsLinkNoServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "cvgm/notebooks/notebook").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "cvgm/figures") {
		t.Errorf("go list names %d packages", len(packages))
	}
	for _, p := range []string{"net/http", "crypto/tls", "html/template"} {
		if slices.Contains(packages, p) {
			t.Errorf("%s is linked", p)
		}
	}
}

// The map of the code in CONTRIBUTING.md gives the right file for each `package.Name`.
func TestContributingNamesWhatThereIs(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".github", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([A-Za-z.]+)`, `([a-z_/]+\\.go)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 6 {
		t.Errorf("the page names %d identifiers", len(named))
	}
	for _, n := range named {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(n[2])))
		if err != nil {
			t.Error(err)
			continue
		}
		last := n[1][strings.LastIndex(n[1], ".")+1:]
		if !regexp.MustCompile(`(?m)^(func |type |func \([a-z]+ \*?\w+\) )` + last + `\b`).Match(source) {
			t.Errorf("%s declares no %s", n[2], n[1])
		}
	}
}

// markdownPages returns the paths of the texts about the project, relative to the root.
func markdownPages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	var paths []string
	for _, pattern := range []string{"*.md", ".github/*.md", "*/README.md", "*/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			paths = append(paths, strings.TrimPrefix(path, root+string(filepath.Separator)))
		}
	}
	if len(paths) < 7 {
		t.Fatal(paths)
	}
	return paths
}

// Each pattern of a test command in the pages and .ci/run matches a test, because go test passes
// without a match.
func TestCommandsFindTests(t *testing.T) {
	root := filepath.Join("..", "..")
	commands := regexp.MustCompile(`go test[^\n]*? (\./[^\n]*)`)
	patterns := regexp.MustCompile(`-(run|fuzz|bench) '?([^ ']+)`)
	kinds := map[string]string{"run": "Test", "fuzz": "Fuzz", "bench": "Benchmark"}
	found := 0
	for _, name := range append(markdownPages(t), filepath.Join(".ci", "run")) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commands.FindAllStringSubmatch(string(text), -1) {
			for _, p := range patterns.FindAllStringSubmatch(command[1], -1) {
				if p[2] == "^$" {
					continue
				}
				found++
				for _, folder := range regexp.MustCompile(`\./[a-z/]+`).FindAllString(command[1], -1) {
					if !slices.ContainsFunc(testsIn(t, filepath.Join(root, folder), kinds[p[1]]), regexp.MustCompile(p[2]).MatchString) {
						t.Errorf("%s: %s finds no test in %s", name, p[0], folder)
					}
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("the commands have %d patterns", found)
	}
}

// testsIn returns the names of a package's tests, benchmarks or fuzz tests.
func testsIn(t *testing.T, folder, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range regexp.MustCompile(`(?m)^func (`+kind+`\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, f[1])
		}
	}
	return names
}
