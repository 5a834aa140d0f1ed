package cvgm_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// unlinkedPrefixes lists functions that a program that tunes on a file must not link. For example,
// gonum's LAPACK would add 430 KB to a program of 3.7 MB.
var unlinkedPrefixes = []string{"gonum.org/v1/gonum/lapack/gonum.", "encoding/json.Marshal", "go/printer.", "go/parser.ParseFile", "text/template.", "crypto/sha"}

// The program of tune/README.md builds and runs in another module, with the commands of that page
// alone and without a network. Its output agrees with the README. The program of qpdiff/README.md
// runs there, too.
func TestModuleOfItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	block := func(path, start string) string {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("(?s)```[a-z]+\n(" + regexp.QuoteMeta(start) + ".*?)```").FindSubmatch(page)
		if found == nil {
			t.Fatalf("%s has no block of code that begins with %q", path, start)
		}
		return string(found[1])
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	const placeholder = "/path/to/this/checkout"
	commands := block("tune/README.md", "go mod init")
	if !strings.Contains(commands, placeholder) {
		t.Fatalf("the page's commands do not name %s", placeholder)
	}
	program := block("tune/README.md", "package main")
	if lines := strings.Count(program, "\n"); lines > 20 {
		t.Errorf("the program has %d lines", lines)
	}
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", program)
	write("go.sum", string(sums))
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=-mod=mod", "GOWORK=off")
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, output)
		}
		return output
	}
	var last []byte
	for command := range strings.Lines(strings.ReplaceAll(commands, placeholder, checkout)) {
		last = run(strings.Fields(command)...)
	}
	run("go", "build", "-ldflags=-s -w", "-o", "linked", ".")
	linked, err := os.ReadFile(filepath.Join(dir, "linked"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(linked, []byte("cvgm/cvgm/tune.Tuner.TuneTable")) {
		t.Error("the program does not name its functions, so it is open what it links")
	}
	for _, name := range unlinkedPrefixes {
		if bytes.Contains(linked, []byte(name)) {
			t.Errorf("the program has functions of %s…", name)
		}
	}
	// The decision comes first.
	if !regexp.MustCompile(`(?s)^Use the .*\nλ1 = \S+, λ2 = \S+\nCV loss \S+ ± \S+ .*\nrisk by \d+ repeats of 5 outer folds.*\n`).Match(last) {
		t.Errorf("the program prints %q", last)
	}
	for line := range strings.Lines(block("../README.md", "houses, err :=")) {
		if !strings.HasPrefix(line, "//") && !strings.Contains(program, strings.TrimSpace(line)) {
			t.Errorf("README shows a line that the program lacks: %s", line)
		}
	}
	// Other processors round differently.
	shown, printed := block("../README.md", "better than a constant"), string(last)
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") } // README has no indent
	if runtime.GOARCH != "amd64" {
		digits := regexp.MustCompile(`-?[0-9.]+`)
		shown, printed = digits.ReplaceAllString(shown, "#"), digits.ReplaceAllString(printed, "#")
	}
	if !strings.Contains(words(printed), words(shown)) {
		t.Errorf("README shows as output\n%s\nand the program prints\n%s", shown, last)
	}
	// The first program of the solvers' page runs in the same module.
	write("main.go", block("../qpdiff/README.md", "package main"))
	if shown, printed := block("../qpdiff/README.md", "optimal"), string(run("go", "run", ".")); printed != shown {
		t.Errorf("the solvers' page shows as output\n%s\nand the program prints\n%s", shown, printed)
	}
}
