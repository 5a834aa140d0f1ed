package table

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"

	"cvgm/cvgm/internal/portable"
)

// uses are the names in some code: the ones that appear alone, and the ones after a point, which
// fields and methods have.
type uses struct{ alone, selected map[string]bool }

// add adds the names in a node.
func (u *uses) add(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			u.selected[n.Sel.Name] = true
			u.add(n.X)
			return false
		case *ast.Ident:
			u.alone[n.Name] = true
		}
		return true
	})
}

// A declaration is one of package portable.
type declaration struct {
	node     ast.Decl
	text     []byte   // with its comment
	names    []string // that it declares
	receiver string   // the type of a method
}

// used reports whether code with these uses may need the declaration.
func (d *declaration) used(u *uses) bool {
	if d.receiver != "" {
		return u.alone[d.receiver] && u.selected[d.names[0]]
	}
	return slices.ContainsFunc(d.names, func(name string) bool { return u.alone[name] })
}

// declared returns a declaration. It returns nil for a declaration of imports, and sets their paths
// by name in imports.
func declared(d ast.Decl, imports map[string]string) *declaration {
	out := &declaration{node: d}
	switch d := d.(type) {
	case *ast.FuncDecl:
		out.names = []string{d.Name.Name}
		if d.Recv != nil {
			t := d.Recv.List[0].Type
			if star, ok := t.(*ast.StarExpr); ok {
				t = star.X
			}
			out.receiver = t.(*ast.Ident).Name
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ImportSpec:
				quoted := s.Path.Value
				imports[path.Base(strings.Trim(quoted, `"`))] = quoted
			case *ast.TypeSpec:
				out.names = append(out.names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					out.names = append(out.names, name.Name)
				}
			}
		}
	}
	if out.names == nil {
		return nil
	}
	return out
}

// portableCode returns the declarations of package portable's files that written files contain, and
// the paths of their imports by name.
func portableCode() (all []*declaration, imports map[string]string, err error) {
	imports = map[string]string{}
	files, err := portable.Source.ReadDir(".")
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range files {
		text, err := portable.Source.ReadFile(entry.Name())
		if err != nil {
			return nil, nil, err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, entry.Name(), text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		end := set.Position(file.Name.End()).Offset // of what is cut off already: comments lie before their declarations
		for _, d := range file.Decls {
			to := set.Position(d.End()).Offset
			if line := bytes.IndexByte(text[to:], '\n'); line >= 0 {
				to += line // with a comment behind it
			}
			if one := declared(d, imports); one != nil {
				one.text = bytes.TrimSpace(text[end:to])
				all = append(all, one)
			}
			end = to
		}
	}
	return all, imports, nil
}

// carried appends to code the declarations of package portable that it needs, directly or through
// others. It returns the imports of all, and their exported names.
func carried(code *bytes.Buffer) (imports, exported map[string]bool, err error) {
	all, paths, err := portableCode()
	if err != nil {
		return nil, nil, err
	}
	own, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code.String(), parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	u := &uses{map[string]bool{}, map[string]bool{}}
	u.add(own)
	kept := make([]bool, len(all))
	for more := true; more; {
		more = false
		for k, d := range all {
			if !kept[k] && d.used(u) {
				kept[k], more = true, true
				u.add(d.node)
			}
		}
	}
	imports, exported = map[string]bool{}, map[string]bool{}
	for k, d := range all {
		if !kept[k] {
			continue
		}
		code.WriteByte('\n')
		code.Write(d.text)
		code.WriteByte('\n')
		for _, name := range d.names {
			if d.receiver == "" && token.IsExported(name) {
				exported[name] = true
			}
		}
	}
	for name, path := range paths {
		if u.alone[name] {
			imports[path] = true
		}
	}
	return imports, exported, nil
}

// unexport returns code with the given names in lower case, also at the beginning of a doc comment.
func unexport(code []byte, exported map[string]bool) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(code))
	s.Init(file, code, nil, scanner.ScanComments)
	var b strings.Builder
	from, selected := 0, false // after a point
	lower := func(name string) string {
		runes := []rune(name)
		for i := range runes {
			if i > 0 && i+1 < len(runes) && !unicode.IsUpper(runes[i+1]) || !unicode.IsUpper(runes[i]) {
				break
			}
			runes[i] = unicode.ToLower(runes[i])
		}
		return string(runes)
	}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		at := file.Offset(pos)
		switch {
		case tok == token.COMMENT:
			first, rest, _ := strings.Cut(strings.TrimPrefix(text, "// "), " ")
			if article := first; article == "A" || article == "An" {
				first, _, _ = strings.Cut(rest, " ")
			}
			if exported[first] {
				b.Write(code[from:at])
				b.WriteString(strings.Replace(text, first, lower(first), 1))
				from = at + len(text)
			}
		case tok == token.IDENT && exported[text] && !selected:
			b.Write(code[from:at])
			b.WriteString(lower(text))
			from = at + len(text)
		}
		selected = tok == token.PERIOD
	}
	b.Write(code[from:])
	return b.String()
}
