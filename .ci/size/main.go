// Size counts the module: code lines (neither blank nor comment) of the library and of all Go
// tests, exported identifiers of the library, and functions that are too complex to read at once.
//
//	go run ./.ci/size          counts the work tree
//	go run ./.ci/size COMMIT   counts that commit, too, and the difference
//
// It exits with 1 if a package of the work tree has too many complex functions; see maxShare.
//
// The library is synth, qpdiff and cvgm without cvgm/experiment. What internal/ holds
// exports nothing to others.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

type counts struct{ library, tests, experiment, figures, notebooks, exported int }

func main() {
	log.SetFlags(0)
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "go run ./.ci/size [COMMIT]") }
	flag.Parse()
	now := count(".")
	rows := []struct {
		name string
		of   func(counts) int
	}{
		{"code lines of the library", func(c counts) int { return c.library }},
		{"code lines of Go tests", func(c counts) int { return c.tests }},
		{"exported identifiers of the library", func(c counts) int { return c.exported }},
		{"code lines of cvgm/experiment", func(c counts) int { return c.experiment }},
		{"code lines of figures", func(c counts) int { return c.figures }},
		{"code lines of notebooks' Go", func(c counts) int { return c.notebooks }},
	}
	if flag.NArg() == 0 {
		for _, r := range rows {
			fmt.Printf("%-36s %7d\n", r.name, r.of(now))
		}
	} else {
		then := atCommit(flag.Arg(0))
		for _, r := range rows {
			fmt.Printf("%-36s %7d %7d %+6d\n", r.name, r.of(then), r.of(now), r.of(now)-r.of(then))
		}
	}
	if lines, bad := complexities(); len(lines) > 0 {
		fmt.Printf("functions of cognitive complexity above %d, of those with any, by package:\n%s\n", tooComplex, strings.Join(lines, "\n"))
		if bad {
			log.Fatalf("at most %.0f %% of a package's functions may be so complex: split them by thought", 100*maxShare)
		}
	}
}

// atCommit counts a commit of the repository.
func atCommit(commit string) counts {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	archive := exec.Command("sh", "-c", `git archive "$1" | tar -x -C "$2"`, "sh", commit, dir)
	archive.Stderr = os.Stderr
	if err := archive.Run(); err != nil {
		log.Fatal(err)
	}
	return count(dir)
}

// count counts the Go files of the module in the folder root.
func count(root string) (c counts) {
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && name != "." && file != root && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return c.add(filepath.ToSlash(rel), text)
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// add counts the text of a file at a path in the module.
func (c *counts) add(name string, text []byte) error {
	folder, lines := path.Dir(name), codeLines(text)
	under := func(dir string) bool { return folder == dir || strings.HasPrefix(folder, dir+"/") }
	switch {
	case strings.HasSuffix(name, "_test.go"), strings.HasSuffix(folder, "internal/numtest"), strings.HasSuffix(folder, "internal/casetest"):
		c.tests += lines
	case under("cvgm/experiment"):
		c.experiment += lines
	case under("figures"):
		c.figures += lines
	case under("notebooks"):
		c.notebooks += lines
	case under("synth"), under("qpdiff"), under("cvgm"):
		c.library += lines
		if !strings.Contains("/"+folder+"/", "/internal/") {
			f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			c.exported += exported(f)
		}
	}
	return nil
}

// codeLines returns the lines that hold more than blanks and comments.
func codeLines(text []byte) (n int) {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	last := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(literal, "\n")
		n += end - max(first-1, last)
		last = max(last, end)
	}
}

// exported counts the exported constants, variables, functions, types, fields and methods.
func exported(f *ast.File) (n int) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				n += exportedNames(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					n += exportedNames(spec.Names...)
				case *ast.TypeSpec:
					n += exportedOf(spec)
				}
			}
		}
	}
	return n
}

// exportedOf counts an exported type with its exported fields and methods of an interface.
func exportedOf(t *ast.TypeSpec) int {
	if !t.Name.IsExported() {
		return 0
	}
	var fields *ast.FieldList
	switch t := t.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return 1
	}
	n := 1
	for _, field := range fields.List {
		n += exportedNames(field.Names...)
	}
	return n
}

func exportedNames(names ...*ast.Ident) (n int) {
	for _, id := range names {
		if id.IsExported() {
			n++
		}
	}
	return n
}

// receiver returns the name of a receiver's type.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}
