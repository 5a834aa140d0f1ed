// Size counts the module: code lines (neither blank nor comment) of the library and of all Go
// tests, and exported identifiers of the library.
//
//	go run ./.ci/size          counts the work tree
//	go run ./.ci/size COMMIT   counts that commit, too, and the difference
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
		return
	}
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	archive := exec.Command("sh", "-c", `git archive "$1" | tar -x -C "$2"`, "sh", flag.Arg(0), dir)
	archive.Stderr = os.Stderr
	if err := archive.Run(); err != nil {
		log.Fatal(err)
	}
	then := count(dir)
	for _, r := range rows {
		fmt.Printf("%-36s %7d %7d %+6d\n", r.name, r.of(then), r.of(now), r.of(now)-r.of(then))
	}
}

// count counts the Go files of the module in the folder root.
func count(root string) (c counts) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && name != "." && path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(rel))
		lines := codeLines(text)
		under := func(dir string) bool { return folder == dir || strings.HasPrefix(folder, dir+"/") }
		switch {
		case strings.HasSuffix(path, "_test.go"), strings.HasSuffix(folder, "internal/numtest"), strings.HasSuffix(folder, "internal/casetest"):
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
				f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				c.exported += exported(f)
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
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
	see := func(names ...*ast.Ident) {
		for _, id := range names {
			if id.IsExported() {
				n++
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				see(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					see(spec.Names...)
				case *ast.TypeSpec:
					see(spec.Name)
					if !spec.Name.IsExported() {
						continue
					}
					var fields *ast.FieldList
					switch t := spec.Type.(type) {
					case *ast.StructType:
						fields = t.Fields
					case *ast.InterfaceType:
						fields = t.Methods
					}
					if fields != nil {
						for _, field := range fields.List {
							see(field.Names...)
						}
					}
				}
			}
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
