package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// These files hold the recorded timings and the recorded draws. If source code contains the name of
// one of these files as a string, it depends on this file.
const (
	timingsFile = "figures/out/timings.json"
	drawsFile   = "figures/out/draws.csv"
)

// Inputs maps the name of each input to its version or hash. Names are "Go", "go.mod's go line",
// "module PATH", "code cells", "FOLDER/DECLARATION", and "FOLDER/FILE" for a file other than a Go
// file.
type Inputs map[string]string

// Hash returns one hash of all inputs.
func (in Inputs) Hash() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(in)) {
		fmt.Fprintf(h, "%q %q\n", name, in[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Function returns one hash of the inputs of a function or method of this module. The argument
// title is the function's name as runtime.Func gives it. If all inputs are in the listing of
// packages, Function stores the hash together with the listing.
func (m *Module) Function(title string) (string, error) {
	if hash := m.listing.Functions[title]; hash != "" {
		return hash, nil
	}
	found := functionName.FindStringSubmatch(title)
	if found == nil || m.listing.Packages[found[1]] == nil || m.listing.Packages[found[1]].Folder == "" {
		return "", fmt.Errorf("the source of %s is not known: it is not a function of a package of this module", title)
	}
	r := m.reach()
	r.visit(name{found[1], found[2], true})
	hash := r.in.Hash()
	if !r.otherFiles {
		m.listing.Functions[title] = hash
		m.storeListing()
	}
	return hash, nil
}

// functionName matches the package and the first name in the title of a function. Examples of
// titles are cvgm/figures.Figure.PNG, cvgm/figures.(*Figure).PNG and cvgm/figures.Map[...].func1.
var functionName = regexp.MustCompile(`^((?:.*/)?[^./]+)\.[(*]*([\pL_][\pL_\d]*)`)

// Cells returns the inputs of a notebook with the given code cells. If a cell cannot be parsed, the
// inputs include every declaration of the module.
func (m *Module) Cells(cells []string) Inputs {
	r := m.reach()
	h := sha256.New()
	files, names := map[string][]byte{}, make([]string, len(cells))
	for i, cell := range cells {
		fmt.Fprintf(h, "%d %s\n", len(cell), cell)
		names[i] = fmt.Sprintf("cell %d", i+1)
		files[names[i]] = []byte(program(cell))
	}
	r.in["code cells"] = hex.EncodeToString(h.Sum(nil))
	p, err := parseFiles("main", files, names, m.packageName)
	if err != nil {
		for at := range m.listing.Packages {
			r.link(at)
			r.addPackage(at)
		}
		return r.in
	}
	// An import in one cell is valid in all cells. GoNB adds missing imports.
	imports := map[string]string{}
	for at, known := range m.listing.Packages {
		if known.Folder != "" {
			imports[known.Name] = at
		}
	}
	var dots []string
	for _, f := range p.files {
		maps.Copy(imports, f.imports)
		dots = append(dots, f.dots...)
		for _, at := range f.paths {
			r.link(at)
		}
	}
	for _, f := range p.files {
		f.imports, f.dots = imports, dots
	}
	for _, d := range p.declare().all {
		for _, n := range d.mentions {
			r.visit(n)
		}
	}
	return r.in
}

// program returns a cell as a Go file. The lines after %% become the function main. The lines that
// begin with % or !, for GoNB or the shell, are omitted.
func program(cell string) string {
	var b strings.Builder
	b.WriteString("package main\n")
	end := ""
	for line := range strings.Lines(cell) {
		switch {
		case end == "" && (strings.HasPrefix(line, "%%") || strings.HasPrefix(line, "%main")):
			b.WriteString("func main() {\n")
			end = "\n}\n"
		case !strings.HasPrefix(line, "%") && !strings.HasPrefix(line, "!"):
			b.WriteString(line)
		}
	}
	return b.String() + end
}

var majorVersion = regexp.MustCompile(`/v[0-9]+$`)

// packageName returns the name of the package at an import path.
func (m *Module) packageName(at string) string {
	if p := m.listing.Packages[at]; p != nil {
		return p.Name
	}
	return path.Base(majorVersion.ReplaceAllString(at, ""))
}

// parse returns the declarations of a package of this module. For other packages, it returns nil.
// If a file has a syntax error, parse returns only the correct declarations. Such a file cannot be
// compiled.
func (m *Module) parse(at string) *parsed {
	p, known := m.parsed[at]
	if l := m.listing.Packages[at]; !known && l != nil && l.Folder != "" {
		p, _ = parseFiles(at, m.files, l.Files, m.packageName)
		m.parsed[at] = p.declare()
	}
	return p
}

// A reach is a growing set of inputs.
type reach struct {
	m          *Module
	in         Inputs
	linked     map[string]bool // by import path
	visited    map[*declaration]bool
	otherFiles bool // whether the contents of files other than Go files are inputs
}

func (m *Module) reach() *reach {
	in := Inputs{"Go": runtime.Version() + " " + runtime.GOARCH, "go.mod's go line": m.listing.Language}
	return &reach{m: m, in: in, linked: map[string]bool{}, visited: map[*declaration]bool{}}
}

// link adds the inputs that come from the import of the package at an import path. They are the
// same for any import of the package, whichever of its names are used. If only cells import a
// module, go.mod has the version of the module. In this case go.mod is an input.
func (r *reach) link(at string) {
	if r.linked[at] {
		return
	}
	r.linked[at] = true
	p := r.m.listing.Packages[at]
	if first, _, _ := strings.Cut(at, "/"); p == nil && strings.Contains(first, ".") {
		r.file("go.mod")
	}
	if p == nil {
		return
	}
	for _, i := range p.Imports {
		r.link(i)
	}
	if p.Folder == "" {
		r.in["module "+p.Module] = p.Version
		return
	}
	for _, name := range p.Assembly {
		r.file(name)
	}
	for _, i := range r.m.parse(at).initialisers {
		if i.affectsAll {
			r.add(at, i)
		}
	}
}

// file adds a file to the inputs, with the hash of its bytes, if the file exists.
func (r *reach) file(name string) {
	r.otherFiles = true
	if text, err := os.ReadFile(filepath.Join(r.m.root, name)); err == nil {
		r.in[name] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
}

// visit adds the declarations of a name.
func (r *reach) visit(n name) {
	if n.declared {
		r.link(n.path)
	}
	p := r.m.parse(n.path)
	if p != nil && p.declared[n.name] == nil && n.declared {
		r.addPackage(n.path)
	} else if p != nil {
		r.add(n.path, p.declared[n.name]...)
	}
}

// addPackage adds all declarations of a package.
func (r *reach) addPackage(at string) {
	if p := r.m.parse(at); p != nil {
		r.add(at, p.all...)
	}
}

// embeds matches the source of variables that embed files.
var embeds = regexp.MustCompile(`(?m)^[ \t]*//go:embed `)

// add adds declarations of a package to the inputs. It also adds everything that these declarations
// mention, and the initialisers that may affect them.
func (r *reach) add(at string, declarations ...*declaration) {
	p := r.m.parse(at)
	for _, d := range declarations {
		if r.visited[d] {
			continue
		}
		r.visited[d] = true
		r.in[path.Join(r.m.listing.Packages[at].Folder, d.title)] = d.hash
		for _, file := range []string{timingsFile, drawsFile} {
			if bytes.Contains(d.text, []byte(`"`+path.Base(file)+`"`)) {
				r.file(file)
			}
		}
		if embeds.Match(d.text) {
			for _, file := range r.m.listing.Packages[at].Embedded {
				r.file(file)
			}
		}
		for _, n := range d.mentions {
			r.visit(n)
		}
		for _, i := range p.initialisers {
			if slices.ContainsFunc(d.names, func(name string) bool { return i.targets[name] }) {
				r.add(at, i)
			}
		}
	}
}
