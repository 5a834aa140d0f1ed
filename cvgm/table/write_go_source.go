package table

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"strings"
	"unicode"

	"cvgm/cvgm/internal/portable"
)

// carried appends the declarations of package portable's files to code. It returns the imports
// of the files and the exported names that they declare.
func carried(code *bytes.Buffer) (imports, exported map[string]bool, err error) {
	imports, exported = map[string]bool{}, map[string]bool{}
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
		file, err := parser.ParseFile(set, entry.Name(), text, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		end := file.Name.End()
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					exported[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ImportSpec:
						imports[s.Path.Value] = true
						end = d.End()
					case *ast.TypeSpec:
						exported[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range s.Names {
							exported[name.Name] = true
						}
					}
				}
			}
		}
		code.WriteByte('\n')
		code.Write(text[set.Position(end).Offset:])
	}
	maps.DeleteFunc(exported, func(name string, _ bool) bool { return !token.IsExported(name) })
	return imports, exported, nil
}

// unexport returns code with the given names in lower case, also where a doc comment begins with
// one.
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
