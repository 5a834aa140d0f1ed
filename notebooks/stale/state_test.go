package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/notebooks/source"

	"github.com/google/go-cmp/cmp"
)

// A checkout is a small checkout in a temporary folder, with one notebook n.
type checkout struct {
	*testing.T
	root string
}

func newCheckout(t *testing.T) checkout {
	c := checkout{t, filepath.Join(t.TempDir(), "a=b c")}
	c.write("go.mod", "module cvgm\n\ngo 1.26.0\n")
	c.write("qpdiff/a.go", "package qpdiff\n\nfunc Q() {}\n\nfunc NotReached() {}\n")
	c.write("synth/s.go", "package synth\n")
	c.write("figures/f.go", "package figures\n\nimport \"cvgm/qpdiff\"\n\nfunc A() { qpdiff.Q() }\n\nfunc B() {}\n")
	for _, name := range runner {
		c.write(name, name)
	}
	c.notebook("words", "figures.A()", "1")
	return c
}

func (c checkout) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

func (c checkout) notebook(words, code, output string) {
	c.Helper()
	text, err := json.Marshal(map[string]any{"cells": []any{
		map[string]any{"cell_type": "markdown", "source": []string{words}},
		map[string]any{"cell_type": "code", "source": []string{"%%\n", code}, "execution_count": 1, "outputs": []any{map[string]any{"text": []string{output}}}},
	}})
	if err != nil {
		c.Fatal(err)
	}
	c.write("notebooks/n.ipynb", string(text))
}

func (c checkout) state() *state {
	c.Helper()
	states, err := examine(c.root, nil)
	if err != nil {
		c.Fatal(err)
	}
	return states[0]
}

// run writes the files that a run of the notebook would write.
func (c checkout) run(files map[string]string) {
	c.Helper()
	for name, text := range files {
		c.write(filepath.Join("figures/out/n", name), text)
	}
	s := c.state()
	before := provenance{Inputs: s.Inputs, Outputs: map[string]string{"notebooks/n.ipynb": ""}}
	found, err := outputs(c.root, s.Notebook, s.Folder, before)
	if err != nil && !os.IsNotExist(err) {
		c.Fatal(err)
	}
	text, err := os.ReadFile(s.Notebook)
	if err != nil {
		c.Fatal(err)
	}
	c.record("figures/out/n", s.Inputs, found, digest(codeCells(text)))
	c.want()
}

// record writes the provenance of a run into a folder.
func (c checkout) record(folder string, inputs, outputs map[string]string, cells string) {
	c.Helper()
	none := map[string]string{}
	made, err := json.Marshal(map[string]any{
		"notebook": "n.ipynb", "inputs": inputs, "outputs": outputs, "cells": cells,
		"files": none, "overrides": none, "captions": none, "alts": none, "results": []any{},
	})
	if err != nil {
		c.Fatal(err)
	}
	c.write(filepath.Join(folder, provenanceFile), string(made))
}

func (c checkout) want(reasons ...string) {
	c.Helper()
	s := c.state()
	if diff := cmp.Diff(append([]string{}, reasons...), s.Reasons); diff != "" || s.Rewrite {
		c.Errorf("rewrite %v; reasons:\n%s", s.Rewrite, diff)
	}
}

// A result is computed again if the source of its function has changed since the last run.
func TestChangedResults(t *testing.T) {
	c := newCheckout(t)
	c.run(nil)
	module, err := source.Open(c.root)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := module.Function("cvgm/figures.A")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("figures/out/n", provenanceFile)
	text, err := os.ReadFile(filepath.Join(c.root, file))
	if err != nil {
		t.Fatal(err)
	}
	c.write(file, strings.Replace(string(text), `"results":[]`, `"results":[{"function":"figures.A","title":"cvgm/figures.A","key":"k","source":"`+hash+`"}]`, 1))
	if s := c.state(); len(s.Changed) > 0 {
		t.Errorf("changed %v before an edit", s.Changed)
	}
	c.write("figures/f.go", "package figures\n\nimport \"cvgm/qpdiff\"\n\nfunc A() { qpdiff.Q(); println() }\n")
	if s := c.state(); !slices.Equal(s.Changed, []string{"figures.A"}) {
		t.Errorf("changed %v after an edit of A", s.Changed)
	}
}

func TestReasons(t *testing.T) {
	c := newCheckout(t)
	c.want("it never ran here")
	c.run(map[string]string{"t.csv": "1", "u.csv": "2"})
	for name, text := range map[string]string{
		"synth/s.go":            "package synth // not imported\n",
		"qpdiff/a.go":           "package qpdiff\n\nfunc Q() {}\n\nfunc NotReached() { println() }\n",
		"synth/new.go":          "package synth\n",
		"figures/f_test.go":     "package figures\n",
		"figures/f.go":          "package figures\n\nimport \"cvgm/qpdiff\"\n\nfunc A() { qpdiff.Q() } // as before\n\nfunc B() { println() }\n",
		"figures/out/m/t.csv":   "another notebook's",
		"notebooks/runner/r.py": "does not run the cells",
	} {
		c.write(name, text)
		c.want()
	}
	for _, change := range []struct{ name, text, reason string }{
		{"qpdiff/a.go", "package qpdiff\n\nfunc Q() { println() }\n", "qpdiff: Q changed"},
		{"qpdiff/b.go", "package qpdiff\n\nfunc init() { println() }\n", "qpdiff: init 1 of b.go is new"},
		{"figures/f.go", "package figures\n\nimport \"cvgm/qpdiff\"\n\nfunc A() { qpdiff.Q(); println() }\n", "figures: A changed"},
		{"figures/f.go", "package figures\n\nimport \"cvgm/qpdiff\"\n\nvar N int\n\nfunc A() { qpdiff.Q(); println(N, B) }\n\nfunc B() {}\n", "figures: A changed, B is new, N is new"},
		{"go.mod", "module cvgm\n\ngo 1.25.0\n", "go.mod's go line is 1.25.0, was 1.26.0"},
		{"notebooks/runner/requirements.txt", "", "notebooks/runner: requirements.txt changed"},
		{"figures/out/n/t.csv", "3", "outputs: figures/out/n/t.csv was edited"},
		{"figures/out/n/more/x.csv", "3", "outputs: figures/out/n/more/x.csv is not its own"},
		{"figures/out/n/provenance.json", "{", "figures/out/n/provenance.json is damaged"},
		{"figures/out/n/provenance.json", "[]", "figures/out/n/provenance.json is damaged"},
		{"figures/out/n/provenance.json", `{"inputs": {}}`, "figures/out/n/provenance.json is damaged"},
		{"figures/out/n/provenance.json", `{"inputs": {}, "outputs": {}, "files": {}, "overrides": {}, "captions": {}, "alts": {}, "results": ["x"]}`, "figures/out/n/provenance.json is damaged"},
	} {
		path := filepath.Join(c.root, change.name)
		before, err := os.ReadFile(path)
		c.write(change.name, change.text)
		c.want(change.reason)
		if err == nil {
			c.write(change.name, string(before))
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		c.want()
	}
	for _, name := range []string{"t.csv", "u.csv"} {
		if err := os.Remove(filepath.Join(c.root, "figures/out/n", name)); err != nil {
			t.Fatal(err)
		}
	}
	c.want("outputs: figures/out/n/t.csv is missing, figures/out/n/u.csv is missing")
	if err := os.Remove(filepath.Join(c.root, "figures/out/n/provenance.json")); err != nil {
		t.Fatal(err)
	}
	c.write("figures/out/n/provenance.json/x", "")
	c.want("figures/out/n/provenance.json is damaged")
}

// A notebook runs again if the content of a file that a parameter names has changed.
func TestFilesOfParameters(t *testing.T) {
	c := newCheckout(t)
	c.run(nil)
	path := filepath.Join(t.TempDir(), "my data.csv")
	name := filepath.Join(c.root, "figures/out/n", provenanceFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var left map[string]any
	if err := json.Unmarshal(text, &left); err != nil {
		t.Fatal(err)
	}
	left["files"] = map[string]string{path: hash([]byte("x,y\n"))}
	if text, err = json.Marshal(left); err != nil {
		t.Fatal(err)
	}
	c.write("figures/out/n/"+provenanceFile, string(text))
	c.want(path + " is gone")
	for text, want := range map[string][]string{"x,y\n": {}, "x,z\n": {path + " changed"}} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c.want(want...)
	}
}

func TestNamesAreNoFiles(t *testing.T) {
	if _, err := examine(newCheckout(t).root, []string{"n"}); err == nil || !strings.Contains(err.Error(), ": no such file or directory; give a file") {
		t.Errorf("the error is %v", err)
	}
}

func TestLongListsAreCut(t *testing.T) {
	c := newCheckout(t)
	c.run(nil)
	for _, name := range []string{"e", "b", "d", "c"} {
		c.write("qpdiff/"+name+".go", "package qpdiff\n\nfunc init() { println() }\n")
	}
	c.want("qpdiff: init 1 of b.go is new, init 1 of c.go is new, init 1 of d.go is new and 1 more")
}

func TestTextIsNoReasonToRun(t *testing.T) {
	c := newCheckout(t)
	c.run(nil)
	c.notebook("other words", "figures.A()", "1")
	if s := c.state(); !s.Rewrite || len(s.Reasons) != 0 {
		t.Errorf("%+v", s)
	}
	c.notebook("words", "figures.A()", "2")
	c.want("outputs: notebooks/n.ipynb was edited")
	c.notebook("words", "figures.A() ", "1")
	c.want("its code cells changed", "outputs: notebooks/n.ipynb was edited")
	c.write("notebooks/n.ipynb", "{")
	if s := c.state(); s.Rewrite || len(s.Reasons) < 2 || s.Reasons[0] != "its code cells changed" {
		t.Errorf("%+v", s)
	}
}

// A run with other parameters writes its outputs, including the notebook, into another folder.
func TestOutputsOfOtherParameters(t *testing.T) {
	c := newCheckout(t)
	c.run(nil)
	folder := filepath.Join(c.root, "runs/n/K=3")
	examineThere := func() *state {
		states, err := examine(c.root, []string{filepath.Join(c.root, "notebooks/n.ipynb") + "=" + folder})
		if err != nil {
			t.Fatal(err)
		}
		return states[0]
	}
	s := examineThere()
	if !slices.Equal(s.Reasons, []string{"it never ran here"}) {
		t.Error(s.Reasons)
	}
	c.write("runs/n/K=3/n.ipynb", "{}")
	c.record("runs/n/K=3", s.Inputs, map[string]string{"runs/n/K=3/n.ipynb": hash([]byte("{}"))}, "")
	c.notebook("other words", "figures.A()", "2")
	if s := examineThere(); len(s.Reasons) != 0 || s.Rewrite {
		t.Errorf("%+v", s)
	}
	c.write("runs/n/K=3/n.ipynb", "{ }")
	if s := examineThere(); !slices.Equal(s.Reasons, []string{"outputs: runs/n/K=3/n.ipynb was edited"}) {
		t.Error(s.Reasons)
	}
}

func TestStatesInWords(t *testing.T) {
	for want, s := range map[string]state{
		"n: would run, because\n  a\n  b\n": {Reasons: []string{"a", "b"}},
		"n: is up to date\n":                {},
		"n: would be written in its plain form; its text or its layout was edited\n": {Rewrite: true},
	} {
		s.Notebook = "notebooks/n.ipynb"
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The runner computes the digest that stale compares.
func TestTheRunnerComputesTheSameDigest(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH")
	}
	paths, err := filepath.Glob(filepath.Join("..", "*.ipynb"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	odd := filepath.Join(t.TempDir(), "odd.ipynb")
	cell := `{"cell_type": "code", "source": ["a\n", "b<>&é\t"], "execution_count": null, "outputs": [{"b": 1.5, "a": ["\u0007\"\\"]}]}`
	if err := os.WriteFile(odd, []byte(`{"cells": [`+cell+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.ipynb")
	if err := os.WriteFile(empty, []byte(`{"cells": []}`), 0o644); err != nil {
		t.Fatal(err)
	}
	script := "import sys; sys.path.insert(0, '../runner'); import layout\nfor p in sys.argv[1:]: print(p, layout.cells_digest(open(p, 'rb').read()))"
	out, err := exec.Command(python, append([]string{"-I", "-B", "-c", script}, append(paths, odd, empty)...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, theirs, _ := strings.Cut(line, " ")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if own := digest(codeCells(text)); own != theirs {
			t.Errorf("%s: %s here, %s in Python", path, own, theirs)
		}
		digests[theirs] = path
	}
	if len(digests) != len(paths)+2 {
		t.Errorf("digests %v", slices.Collect(maps.Keys(digests)))
	}
}
