package main

import (
	"bytes"
	"cmp"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// A function with a larger cognitive complexity (Campbell 2018: branches, each weighted by its
	// depth) takes more than five minutes to read.
	tooComplex = 20
	// maxShare bounds the share of complex functions in a package, among its functions with any
	// complexity. Functions without a branch do not count, so accessors cannot lower the share. In
	// the packages of gonum for matrices, optimisation and statistics, the share is 1.5 to 4.4 %.
	maxShare = .04
)

// complexities lists the packages of the work tree that have complex functions, with their share,
// the largest share first. It reports whether a share exceeds maxShare.
func complexities() (lines []string, bad bool) {
	type functions struct {
		folder  string
		count   int
		complex []string
	}
	share := func(f functions) float64 { return float64(len(f.complex)) / float64(f.count) }
	var packages []functions
	for line := range strings.Lines(gocognit("synth", "qpdiff", "cvgm", "figures", "notebooks", ".ci")) {
		var n int
		var file, name string
		if _, err := fmt.Sscan(line, &n, &file, &name); err != nil {
			log.Fatalf("gocognit printed %q: %v", line, err)
		}
		folder := filepath.ToSlash(filepath.Dir(file))
		at := slices.IndexFunc(packages, func(f functions) bool { return f.folder == folder })
		if at < 0 {
			at, packages = len(packages), append(packages, functions{folder: folder})
		}
		f := &packages[at]
		if f.count++; n > tooComplex {
			f.complex = append(f.complex, fmt.Sprintf("%s %d", name, n))
		}
	}
	slices.SortStableFunc(packages, func(a, b functions) int { return cmp.Compare(share(b), share(a)) })
	for _, f := range packages {
		if len(f.complex) > 0 {
			lines = append(lines, fmt.Sprintf("%5.1f %% %3d of %3d  %s: %s", 100*share(f), len(f.complex), f.count, f.folder, strings.Join(f.complex, ", ")))
			bad = bad || share(f) > maxShare
		}
	}
	return lines, bad
}

// gocognit returns a line for each function that has any complexity and is not in a test: the
// complexity, the file and the name.
func gocognit(folders ...string) string {
	args := []string{"tool", "-modfile=notebooks/runner/tools/go.mod", "gocognit", "-test=false", "-f", "{{.Complexity}} {{.Pos.Filename}} {{.FuncName}}"}
	cmd := exec.Command("go", append(args, folders...)...)
	var out, notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &notes
	if err := cmd.Run(); err != nil || out.Len() == 0 {
		os.Stderr.Write(notes.Bytes())
		log.Fatalf("gocognit: %v", err)
	}
	return out.String()
}
