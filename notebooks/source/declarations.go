package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// A name denotes what the package at an import path may declare.
type name struct {
	path, name string
	declared   bool // that the package declares it is certain, as in path.name
}

// A declaration is one of a package's own: a function, a method, a type, or
// variables or constants that are declared together.
type declaration struct {
	title    string   // Figure.PNG; the first two names of those declared together
	names    []string // Figure
	variable bool
	node     ast.Node
	from     token.Pos // the end of the declaration before it
	file     *file
	mentions []name // the names that it uses, of its own package and of others
	hashed   string // what hash returned, or nothing
}

// An initialiser is an init function, or a variable called _.
type initialiser struct {
	*declaration
	// fills holds the variables of the package that it sets. It has no effect on
	// declarations that do not reach one of them.
	fills map[string]bool
	// always is set if it may have other effects, as a variable called _ may.
	always bool
}

// A parsed package is its declarations.
type parsed struct {
	path         string
	fset         *token.FileSet
	files        []*file
	all          []*declaration
	declared     map[string][]*declaration // by name; a type's name has its methods, too
	initialisers []*initialiser
}

type file struct {
	name    string
	text    []byte
	ast     *ast.File
	imports map[string]string // import paths by the names that the file has for them
	dots    []string          // import paths of the packages that it imports as .
}

// parseFiles parses the files of a package, up to its declarations. packageName
// finds the name of the package at an import path.
func parseFiles(importPath string, files map[string][]byte, names []string, packageName func(path string) string) (*parsed, error) {
	p := &parsed{path: importPath, fset: token.NewFileSet(), declared: map[string][]*declaration{}}
	for _, name := range names {
		tree, err := parser.ParseFile(p.fset, name, files[name], 0)
		if err != nil {
			return nil, err
		}
		f := &file{name: name, text: files[name], ast: tree, imports: map[string]string{}}
		for _, i := range tree.Imports {
			at, err := strconv.Unquote(i.Path.Value)
			switch {
			case err != nil:
				return nil, err
			case i.Name == nil:
				f.imports[packageName(at)] = at
			case i.Name.Name == ".":
				f.dots = append(f.dots, at)
			default:
				f.imports[i.Name.Name] = at
			}
		}
		p.files = append(p.files, f)
	}
	return p, nil
}

// declare finds the declarations.
func (p *parsed) declare() {
	for _, f := range p.files {
		p.declareFile(f)
	}
	for _, i := range p.initialisers {
		p.effects(i)
	}
}

func (p *parsed) declareFile(f *file) {
	inits := 0
	from := f.ast.Name.End()
	add := func(node ast.Node, names []string, title string) *declaration {
		d := &declaration{title: title, names: names, node: node, from: from, file: f, mentions: p.mentions(f, node)}
		from = node.End()
		p.all = append(p.all, d)
		for _, name := range names {
			p.declared[name] = append(p.declared[name], d)
		}
		return d
	}
	initialise := func(node ast.Node) {
		inits++
		title := fmt.Sprintf("init %d of %s", inits, path.Base(f.name))
		p.initialisers = append(p.initialisers, &initialiser{declaration: add(node, nil, title)})
	}
	for _, decl := range f.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			switch name := decl.Name.Name; {
			case decl.Recv != nil:
				of := base(decl.Recv.List[0].Type)
				add(decl, []string{of}, of+"."+name)
			case name == "init" || name == "_":
				initialise(decl)
			default:
				add(decl, []string{name}, name)
			}
		case *ast.GenDecl:
			if decl.Tok == token.IMPORT {
				from = decl.End()
				continue
			}
			if decl.Tok == token.CONST && repeats(decl) {
				var names []string
				for _, spec := range decl.Specs {
					names = append(names, identifiers(spec)...)
				}
				add(decl, names, title(names))
				continue
			}
			for _, spec := range decl.Specs {
				names := identifiers(spec)
				if decl.Tok == token.VAR && strings.Trim(strings.Join(names, ""), "_") == "" {
					initialise(spec)
					continue
				}
				add(spec, names, title(names)).variable = decl.Tok == token.VAR
			}
		}
	}
}

// title returns a short title for names that are declared together.
func title(names []string) string { return strings.Join(names[:min(2, len(names))], ",") }

// identifiers returns the names that a spec declares.
func identifiers(spec ast.Spec) []string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return []string{spec.Name.Name}
	case *ast.ValueSpec:
		names := make([]string, len(spec.Names))
		for i, name := range spec.Names {
			names[i] = name.Name
		}
		return names
	}
	return nil
}

// repeats reports whether constants of a group depend on their place in it.
func repeats(group *ast.GenDecl) bool {
	found := false
	for _, spec := range group.Specs {
		found = found || len(spec.(*ast.ValueSpec).Values) == 0
		ast.Inspect(spec, func(n ast.Node) bool {
			id, is := n.(*ast.Ident)
			found = found || is && id.Name == "iota"
			return true
		})
	}
	return found
}

// base returns the first name in an expression: that of a receiver's type, of a
// called function or of the package or variable before a selector.
func base(e ast.Expr) (name string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// mentions lists the names in node that may denote declarations of packages,
// each once. Names of universe and of fields may be among them, those of
// declarations inside functions are not.
func (p *parsed) mentions(f *file, node ast.Node) []name {
	var found []name
	seen := map[name]bool{}
	add := func(n name) {
		if !seen[n] {
			seen[n] = true
			found = append(found, n)
		}
	}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, is := n.X.(*ast.Ident); is && !f.local(x) && f.imports[x.Name] != "" {
				add(name{f.imports[x.Name], n.Sel.Name, true})
			} else {
				ast.Inspect(n.X, visit)
			}
			return false // n.Sel is a field or a method
		case *ast.Ident:
			if f.local(n) {
				break
			}
			add(name{p.path, n.Name, false})
			for _, path := range f.dots {
				add(name{path, n.Name, false})
			}
		}
		return true
	}
	ast.Inspect(node, visit)
	return found
}

// local reports whether the parser found the name declared inside a function. It
// resolves names without types, which go/types would need every import for.
func (f *file) local(id *ast.Ident) bool {
	return id.Obj != nil && f.ast.Scope.Lookup(id.Name) != id.Obj
}

// effects finds what an initialiser does. An init function that only calls
// functions of its own package sets the variables that these mention.
func (p *parsed) effects(i *initialiser) {
	f, is := i.node.(*ast.FuncDecl)
	if !is {
		i.always = true
		return
	}
	i.fills = map[string]bool{}
	for _, statement := range f.Body.List {
		var called []*declaration
		if s, is := statement.(*ast.ExprStmt); is {
			if call, is := s.X.(*ast.CallExpr); is {
				called = p.declared[base(call.Fun)]
			}
		}
		i.always = i.always || called == nil
		for _, d := range called {
			for _, n := range d.mentions {
				if of := p.declared[n.name]; n.path == p.path && len(of) > 0 && of[0].variable {
					i.fills[n.name] = true
				}
			}
		}
	}
	i.always = i.always || len(i.fills) == 0
}

// hash returns a hash of the declaration's tokens.
func (d *declaration) hash(p *parsed) string {
	if d.hashed == "" {
		kind := ""
		if d.variable {
			kind = "var"
		}
		d.hashed = hashTokens(kind, d.text(p), int(d.node.Pos()-d.from))
	}
	return d.hashed
}

// text returns the declaration's source with the comments before it.
func (d *declaration) text(p *parsed) []byte {
	offset := p.fset.File(d.from).Offset
	return d.file.text[offset(d.from):offset(d.node.End())]
}

// hashTokens hashes the tokens of Go source from an offset on, and directives to
// the compiler such as //go:embed from its start on. Other comments and the
// layout do not count.
func hashTokens(kind string, text []byte, offset int) string {
	var s scanner.Scanner
	f := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(f, text, nil, scanner.ScanComments)
	tokens := append([]byte(kind), '\n')
	for {
		at, t, literal := s.Scan()
		directive := t == token.COMMENT && strings.HasPrefix(literal, "//go:")
		switch {
		case t == token.EOF:
			sum := sha256.Sum256(tokens)
			return hex.EncodeToString(sum[:])
		case t == token.COMMENT && !directive, f.Offset(at) < offset && !directive:
			continue
		case t == token.SEMICOLON:
			literal = ""
		}
		tokens = append(tokens, t.String()...)
		tokens = strconv.AppendInt(append(tokens, ' '), int64(len(literal)), 10)
		tokens = append(append(tokens, literal...), '\n')
	}
}
