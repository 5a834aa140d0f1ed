package source

import (
	"cmp"
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

// A name consists of an identifier and of the import path of its package. The name may denote a
// declaration of this package.
type name struct {
	path, name string
	declared   bool // whether the package certainly declares the name, as in path.name
}

// A declaration is one unit of a package: a function, a method, a type, variables that are declared
// together, or a group of constants.
type declaration struct {
	title    string   // such as Figure.PNG; the first two names of a joint declaration
	names    []string // such as Figure; an initialiser, which is an init function or a variable named _, has no names
	kind     token.Token
	node     ast.Node
	text     []byte // its source, with the comments before it
	hash     string
	mentions []name // the names that the declaration uses, of its own package and of other packages
	// targets and affectsAll describe the effects of an initialiser. The map targets holds the
	// variables that the initialiser may set. The initialiser affects all declarations that reach
	// one of these variables. If affectsAll is true, it affects all declarations of the package.
	targets    map[string]bool
	affectsAll bool
}

// parsed is a parsed package with its declarations.
type parsed struct {
	path         string
	fset         *token.FileSet
	files        []*file
	all          []*declaration
	declared     map[string][]*declaration // the declarations by name; the methods of a type are under the name of the type
	initialisers []*declaration
}

type file struct {
	name    string
	text    []byte
	ast     *ast.File
	paths   []string          // import paths of the file
	imports map[string]string // import paths; each key is the name of an import in the file
	dots    []string          // import paths of the packages that the file imports as .
}

// parseFiles parses the given files of a package. The argument packageName is a function that
// returns the name of the package at an import path. If files have syntax errors, parseFiles
// returns the parsed part and the first error.
func parseFiles(importPath string, files map[string][]byte, names []string, packageName func(path string) string) (*parsed, error) {
	p := &parsed{path: importPath, fset: token.NewFileSet(), declared: map[string][]*declaration{}}
	var first error
	for _, name := range names {
		tree, err := parser.ParseFile(p.fset, name, files[name], 0)
		first = cmp.Or(first, err)
		f := &file{name: name, text: files[name], ast: tree, imports: map[string]string{}}
		for _, i := range tree.Imports {
			at := strings.Trim(i.Path.Value, "\"`")
			f.paths = append(f.paths, at)
			switch {
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
	return p, first
}

// declare finds the declarations.
func (p *parsed) declare() *parsed {
	for _, f := range p.files {
		p.declareFile(f)
	}
	for _, i := range p.initialisers {
		p.effects(i)
	}
	return p
}

func (p *parsed) declareFile(f *file) {
	r := fileReader{parsed: p, file: f, from: f.ast.Name.End()}
	for _, decl := range f.ast.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			r.function(decl)
		case *ast.GenDecl:
			r.group(decl)
		}
	}
}

// fileReader collects the declarations of a file, in their order.
type fileReader struct {
	*parsed
	file  *file
	from  token.Pos // the end of the last declaration; comments after this position belong to the next declaration
	inits int       // initialisers so far
}

// add collects one declaration. Without names, it is an initialiser.
func (r *fileReader) add(kind token.Token, node ast.Node, title string, names ...string) {
	offset := r.fset.File(r.file.ast.FileStart).Offset
	text := r.file.text[offset(r.from):offset(node.End())]
	d := &declaration{
		title: title, names: names, kind: kind, node: node, text: text,
		hash: hashTokens(kind, text, int(node.Pos()-r.from)), mentions: r.mentions(r.file, node),
	}
	r.from = node.End()
	r.all = append(r.all, d)
	for _, name := range names {
		r.declared[name] = append(r.declared[name], d)
	}
	if names == nil {
		r.inits++
		d.title = fmt.Sprintf("init %d of %s", r.inits, path.Base(r.file.name))
		r.initialisers = append(r.initialisers, d)
	}
}

// The method named function records a function of the source. The key of a method is the name of
// its type.
func (r *fileReader) function(decl *ast.FuncDecl) {
	switch name := decl.Name.Name; {
	case decl.Recv.NumFields() > 0:
		of := firstName(decl.Recv.List[0].Type)
		r.add(token.FUNC, decl, of+"."+name, of)
	case name == "init" || name == "_":
		r.add(token.FUNC, decl, "")
	default:
		r.add(token.FUNC, decl, name, name)
	}
}

// group collects constants, variables or types that are declared together. Constants form one
// declaration, because their order may affect their values.
func (r *fileReader) group(decl *ast.GenDecl) {
	switch decl.Tok {
	case token.CONST:
		names := identifiers(decl.Specs...)
		r.add(decl.Tok, decl, title(names), names...)
	case token.VAR, token.TYPE:
		for _, spec := range decl.Specs {
			names := identifiers(spec)
			if decl.Tok == token.VAR && strings.Trim(strings.Join(names, ""), "_") == "" {
				names = nil
			}
			r.add(decl.Tok, spec, title(names), names...)
		}
	}
	r.from = decl.End()
}

// title returns a short title for names that are declared together.
func title(names []string) string { return strings.Join(names[:min(2, len(names))], ",") }

// identifiers returns the names that the specifications declare.
func identifiers(specs ...ast.Spec) (names []string) {
	for _, spec := range specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// firstName returns the first name in an expression. In the receiver of a method, the first name is
// the name of the type. In a call, it is the name of the function. In a selector, it is the name of
// the package or variable before the dot.
func firstName(e ast.Expr) (name string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// mentions lists, each once, the names of a syntax tree that may denote declarations at package
// level. Names that are declared inside functions are left out. The list may include predeclared
// names and names of fields.
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
			if x, is := n.X.(*ast.Ident); is && !f.isLocal(x) && f.imports[x.Name] != "" {
				add(name{f.imports[x.Name], n.Sel.Name, true})
			} else {
				ast.Inspect(n.X, visit)
			}
			return false // n.Sel is a field or a method
		case *ast.Ident:
			if f.isLocal(n) {
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

// isLocal reports whether a name is declared inside a function. The parser finds such declarations
// without types, and thus without imports. Package go/types would need all imports.
func (f *file) isLocal(id *ast.Ident) bool {
	return id.Obj != nil && f.ast.Scope.Lookup(id.Name) != id.Obj
}

// effects sets the effects of an initialiser. The effects of an init function are limited if all
// its statements call functions of the same package. The init function may then set the variables
// that it mentions. It may also set the variables that the called functions mention, themselves or
// through the functions that they call. Any other init function may have any effect. So may a
// variable named _.
func (p *parsed) effects(i *declaration) {
	i.targets = map[string]bool{}
	seen := map[*declaration]bool{}
	var follow func(d *declaration, into bool)
	follow = func(d *declaration, into bool) {
		seen[d] = true
		for _, n := range d.mentions {
			for _, of := range p.declared[n.name] {
				if n.path == p.path && of.kind == token.VAR {
					i.targets[n.name] = true
				} else if n.path == p.path && into && !seen[of] {
					follow(of, true)
				}
			}
		}
	}
	follow(i, false) // functions that i passes as values may be called later
	f, is := i.node.(*ast.FuncDecl)
	if !is || f.Body == nil {
		i.affectsAll = true
		return
	}
	for _, statement := range f.Body.List {
		called := p.calledDeclarations(statement)
		i.affectsAll = i.affectsAll || called == nil
		for _, d := range called {
			follow(d, true)
		}
	}
	i.affectsAll = i.affectsAll || len(i.targets) == 0
}

// calledDeclarations returns the declarations that a statement calls: the declarations of this
// package under the called name. If the statement is not a call, or calls nothing of this package,
// it returns nil.
func (p *parsed) calledDeclarations(statement ast.Stmt) []*declaration {
	s, is := statement.(*ast.ExprStmt)
	if !is {
		return nil
	}
	call, is := s.X.(*ast.CallExpr)
	if !is {
		return nil
	}
	return p.declared[firstName(call.Fun)]
}

// hashTokens returns a hash of the tokens in the source of a declaration, beginning at the given
// offset. The hash includes directives to the compiler, such as //go:embed, and also the directives
// that precede the offset. The compiler does not read //go:generate. Other comments and the layout do
// not affect the hash.
func hashTokens(kind token.Token, text []byte, offset int) string {
	var s scanner.Scanner
	f := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(f, text, nil, scanner.ScanComments)
	tokens := append([]byte(kind.String()), '\n')
	for {
		at, t, literal := s.Scan()
		directive := t == token.COMMENT && strings.HasPrefix(literal, "//go:") && !strings.HasPrefix(literal, "//go:generate ")
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
