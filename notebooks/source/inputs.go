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

// timingsFile is the record of timings, an input of source that has its name as
// a string.
const timingsFile = "figures/out/timings.json"

// Inputs holds the version or the hash of each input by its name: "Go",
// "go.mod's go line", "module PATH", "code cells", "FOLDER/FILE" or
// "FOLDER/DECLARATION".
type Inputs map[string]string

// Hash returns one hash of all inputs.
func (in Inputs) Hash() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(in)) {
		fmt.Fprintf(h, "%q %q\n", name, in[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Function returns one hash of the inputs of a function or a method of this
// module, by the name that runtime.Func has for it. The hash is kept beside the
// list of packages, for as long.
func (m *Module) Function(title string) (string, error) {
	if hash := m.listing.Functions[title]; hash != "" {
		return hash, nil
	}
	found := functionName.FindStringSubmatch(title)
	if found == nil || m.listing.Packages[found[1]] == nil || m.listing.Packages[found[1]].Folder == "" {
		return "", fmt.Errorf("the source of %s is not known: it is no function of a package of this module", title)
	}
	r := m.reach()
	r.link(found[1])
	r.visit(name{found[1], found[2], true}, true)
	hash := r.finish().Hash()
	if !r.others {
		m.listing.Functions[title] = hash
		m.keep()
	}
	return hash, nil
}

// functionName matches package and first name of cvgm/figures.Figure.PNG,
// cvgm/figures.(*Figure).PNG and cvgm/figures.Map[...].func1.
var functionName = regexp.MustCompile(`^((?:.*/)?[^./]+)\.[(*]*([\pL_][\pL_\d]*)`)

// Cells returns the inputs of a notebook with these code cells. Cells that cannot
// be parsed depend on every file of the module.
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
		for at, known := range m.listing.Packages {
			if known.Folder != "" {
				r.link(at)
				r.whole(at)
			}
		}
		return r.finish()
	}
	// An import of one cell counts in all, and GoNB adds those that are missing.
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
		for _, i := range slices.Concat(slices.Collect(maps.Values(f.imports)), f.dots) {
			r.link(i)
		}
	}
	for _, f := range p.files {
		f.imports, f.dots = imports, dots
	}
	p.declare()
	for _, d := range p.all {
		for _, n := range d.mentions {
			if n.declared {
				r.link(n.path)
			}
			r.visit(n, true)
		}
	}
	return r.finish()
}

// program returns the file that a cell stands for: what follows the line %% is
// the function main, and other lines of GoNB and of the shell are left out.
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

// parse returns the declarations of a package, or nil if they cannot be parsed.
func (m *Module) parse(at string) *parsed {
	p, known := m.parsed[at]
	if !known {
		var err error
		if p, err = parseFiles(at, m.files, m.listing.Packages[at].Files, m.packageName); err == nil {
			p.declare()
		} else {
			p = nil
		}
		m.parsed[at] = p
	}
	return p
}

// A reach is a set of inputs that grows.
type reach struct {
	m      *Module
	in     Inputs
	linked map[string]bool // import paths
	wholes map[string]bool
	others bool // whether the contents of files count that are not Go's
	// visited holds the declarations that were reached, and whether otherwise than
	// through the package notebooks/notebook.
	visited map[*declaration]bool
}

func (m *Module) reach() *reach {
	in := Inputs{"Go": runtime.Version() + " " + runtime.GOARCH, "go.mod's go line": m.listing.Language}
	return &reach{m: m, in: in, linked: map[string]bool{}, wholes: map[string]bool{}, visited: map[*declaration]bool{}}
}

// follows reports whether declarations of the package count one by one.
func (r *reach) follows(at string) bool {
	p := r.m.listing.Packages[at]
	return p != nil && slices.Contains(followed, p.Folder)
}

// link adds what a package and its imports bring with them whichever of their
// names are used.
func (r *reach) link(at string) {
	p := r.m.listing.Packages[at]
	if p == nil || r.linked[at] {
		return
	}
	r.linked[at] = true
	for _, i := range p.Imports {
		r.link(i)
	}
	if p.Folder == "" {
		r.in["module "+p.Module] = p.Version
		return
	}
	for _, name := range p.Others {
		r.file(name)
	}
	if !r.follows(at) {
		r.whole(at)
	} else if parsed := r.m.parse(at); parsed != nil {
		for _, i := range parsed.initialisers {
			if i.always {
				r.add(parsed, i.declaration, true)
			}
		}
	}
}

// file adds a file by its bytes, if it is there.
func (r *reach) file(name string) {
	r.others = true
	if text, err := os.ReadFile(filepath.Join(r.m.root, name)); err == nil {
		r.in[name] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
}

// text notes what source refers to by a string.
func (r *reach) text(source []byte) {
	if bytes.Contains(source, []byte(`"`+path.Base(timingsFile)+`"`)) {
		r.file(timingsFile)
	}
}

// whole adds all files of a package, and all that they reach.
func (r *reach) whole(at string) {
	if r.wholes[at] {
		return
	}
	r.wholes[at] = true
	p := r.m.listing.Packages[at]
	for _, name := range p.Files {
		if r.m.hashes[name] == "" {
			r.m.hashes[name] = hashTokens("", r.m.files[name], 0)
		}
		r.in[name] = r.m.hashes[name]
		r.text(r.m.files[name])
	}
	if !slices.ContainsFunc(append(p.Imports, at), r.follows) {
		return
	}
	if parsed := r.m.parse(at); parsed != nil {
		for _, d := range parsed.all {
			for _, n := range d.mentions {
				r.visit(n, true)
			}
		}
		return
	}
	for _, i := range p.Imports {
		if r.follows(i) {
			r.whole(i)
		}
	}
}

// visit adds the declarations of a name in a package that is followed. Outright
// is false for names that only notebooks/notebook reaches.
func (r *reach) visit(n name, outright bool) {
	if !r.follows(n.path) {
		return
	}
	p := r.m.parse(n.path)
	if p == nil || p.declared[n.name] == nil && n.declared {
		r.whole(n.path)
		return
	}
	for _, d := range p.declared[n.name] {
		r.add(p, d, outright)
	}
}

// add adds a declaration and what it mentions, and the initialisers that set it.
// A variable that only notebooks/notebook reaches, such as a registry, is there
// looked up by what the cells name.
func (r *reach) add(p *parsed, d *declaration, outright bool) {
	if before, seen := r.visited[d]; seen && (before || !outright) {
		return
	}
	r.visited[d] = outright
	folder := r.m.listing.Packages[p.path].Folder
	r.in[path.Join(folder, d.title)] = d.hash(p)
	r.text(d.text(p))
	for _, n := range d.mentions {
		r.visit(n, outright && folder != notebookFolder)
	}
	for _, i := range p.initialisers {
		if outright && slices.ContainsFunc(d.names, func(n string) bool { return i.fills[n] }) {
			r.add(p, i.declaration, true)
		}
	}
}

// finish adds the text of initialisers that mention a declaration that was
// reached, and returns all inputs.
func (r *reach) finish() Inputs {
	for at := range r.linked {
		p := r.m.parsed[at]
		if p == nil || !r.follows(at) {
			continue
		}
		for _, i := range p.initialisers {
			for _, n := range i.mentions {
				for _, d := range p.declared[n.name] {
					if _, seen := r.visited[d]; seen && n.path == at {
						r.in[path.Join(r.m.listing.Packages[at].Folder, i.title)] = i.hash(p)
					}
				}
			}
		}
	}
	return r.in
}
