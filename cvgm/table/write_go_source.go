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

// usedNames holds the names that some code contains. The field selectors holds the names after a
// point, such as names of fields and methods. The field names holds all other names.
type usedNames struct{ names, selectors map[string]bool }

// add adds the names in a node.
func (u *usedNames) add(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			u.selectors[n.Sel.Name] = true
			u.add(n.X)
			return false
		case *ast.Ident:
			u.names[n.Name] = true
		}
		return true
	})
}

// A declaration is a declaration of package portable.
type declaration struct {
	node     ast.Decl
	text     []byte   // its code, with its comment
	names    []string // the names that it declares
	receiver string   // for a method, the type of its receiver
}

// isUsedBy reports whether code with the given uses may need the declaration.
func (d *declaration) isUsedBy(u *usedNames) bool {
	if d.receiver != "" {
		return u.names[d.receiver] && u.selectors[d.names[0]]
	}
	return slices.ContainsFunc(d.names, func(name string) bool { return u.names[name] })
}

// declarationOf returns the declaration d with its names. For an import declaration it returns nil,
// and adds the import paths to imports, with the names of the packages as keys.
func declarationOf(d ast.Decl, imports map[string]string) *declaration {
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

// portableCode returns the declarations of package portable that WriteGo can copy into a file. It
// also returns the import paths of package portable, with the names of the packages as keys.
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
		// The variable lastEnd is the position at which the previous declaration ends. The comment of the
		// next declaration begins there.
		lastEnd := set.Position(file.Name.End()).Offset
		for _, d := range file.Decls {
			to := set.Position(d.End()).Offset
			if line := bytes.IndexByte(text[to:], '\n'); line >= 0 {
				to += line // with a comment on the same line
			}
			if one := declarationOf(d, imports); one != nil {
				one.text = bytes.TrimSpace(text[lastEnd:to])
				all = append(all, one)
			}
			lastEnd = to
		}
	}
	return all, imports, nil
}

// appendNeeded appends declarations of package portable to Go code. These are all declarations that
// the code needs, directly or through other declarations. It returns the import paths and the
// exported names of these declarations.
func appendNeeded(code *bytes.Buffer) (imports, exported map[string]bool, err error) {
	all, paths, err := portableCode()
	if err != nil {
		return nil, nil, err
	}
	own, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code.String(), parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	u := &usedNames{map[string]bool{}, map[string]bool{}}
	u.add(own)
	kept := make([]bool, len(all))
	for more := true; more; {
		more = false
		for k, d := range all {
			if !kept[k] && d.isUsedBy(u) {
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
		if u.names[name] {
			imports[path] = true
		}
	}
	return imports, exported, nil
}

// lowerNames returns code in which the given names begin with a lower-case letter, also at the
// beginning of doc comments.
func lowerNames(code []byte, exported map[string]bool) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(code))
	s.Init(file, code, nil, scanner.ScanComments)
	var b strings.Builder
	from, afterPoint := 0, false // afterPoint: the previous token is a point
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
		case tok == token.IDENT && exported[text] && !afterPoint:
			b.Write(code[from:at])
			b.WriteString(lower(text))
			from = at + len(text)
		}
		afterPoint = tok == token.PERIOD
	}
	b.Write(code[from:])
	return b.String()
}
