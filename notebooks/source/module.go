// Package source finds the inputs of code. The code is either the cells of a notebook or a function
// of this module. Inputs are Go declarations, versions of other modules, and the version of Go. If
// all inputs of two runs have the same hashes, the results of the runs are the same.
//
// Cells depend on the declarations that they reach by name: functions, types with all their
// methods, variables, and groups of constants. Comments are not inputs. Names are resolved without
// types, so a name stands for all declarations that it may denote. If a name is not found, the cell
// depends on the whole package. If an init function may set a variable, all declarations that reach
// the variable depend on the init function. The package assumes that the initial value of a
// variable sets no other variables.
package source

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Module is a snapshot of the module's source. It is not safe for concurrent use.
type Module struct {
	root    string
	files   map[string][]byte // contents of all Go files except tests; each key is a name relative to the root
	listing listing
	parsed  map[string]*parsed // by import path
}

// A listing holds that part of the output of go list that affects inputs.
type listing struct {
	Stamp    string // hash of everything on which the output depends
	Language string // version in the go line of go.mod
	Packages map[string]*listed
	// Functions holds results of the method Function.
	Functions map[string]string
}

type listed struct {
	Name     string
	Folder   string   // relative to the root; "" for a package of another module
	Module   string   // path of another module
	Version  string   // version of this other module
	Files    []string // Go files
	Assembly []string // files of assembly
	Embedded []string // files that variables of the package embed
	Imports  []string // without packages of the standard library
}

// Root returns the root of the checkout. It is the first folder with a go.mod, from the working
// folder upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("no go.mod in the working folder or above: open the notebook inside the project's checkout")
		}
		dir = filepath.Dir(dir)
	}
}

// Open reads the module in the folder root. It lists the packages of the module by go list. It
// stores the output of go list in .work/packages.json. Until a file changes, it uses the stored
// output.
func Open(root string) (*Module, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	m := &Module{root: root, files: map[string][]byte{}, parsed: map[string]*parsed{}}
	stamp, err := m.read()
	if err != nil {
		return nil, err
	}
	if text, err := os.ReadFile(m.memo()); err == nil && json.Unmarshal(text, &m.listing) == nil && m.listing.Stamp == stamp {
		return m, nil
	}
	if m.listing, err = list(root); err != nil {
		return nil, err
	}
	m.listing.Stamp = cmp.Or(m.listing.Stamp, stamp)
	m.storeListing()
	return m, nil
}

// memo returns the name of the file with the stored listing.
func (m *Module) memo() string { return filepath.Join(m.root, ".work", "packages.json") }

// storeListing stores the listing. If this fails, the command "go list" runs again the next time.
func (m *Module) storeListing() {
	if text, err := json.Marshal(m.listing); err == nil {
		_ = WriteFile(m.memo(), text)
	}
}

// read reads the Go files of the module. It returns one hash of all files and settings that affect
// the output of go list.
func (m *Module) read() (string, error) {
	root := m.root
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH, root)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && name == "go.mod" {
			return "", err
		}
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(text))
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || file == root:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if strings.HasSuffix(rel, ".go") {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			m.files[rel] = text
			fmt.Fprintf(h, "%x ", sha256.Sum256(text))
		}
		fmt.Fprintln(h, rel) // a new file may be embedded
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// A goPackage is a package as go list prints it.
type goPackage struct {
	ImportPath, Name, Dir                string
	Module                               *goModule
	Imports, GoFiles, SFiles, EmbedFiles []string
}

// goModule is the module of a [goPackage].
type goModule struct {
	Path, Version, Dir, GoVersion string
	Main                          bool
	Replace                       *goModule
}

// list returns the output of the command "go list". A module that is replaced by a folder has no
// version, so its files are inputs, like the files of this module. The stamp of the listing is then
// "none". No later listing has this stamp.
func list(root string) (l listing, err error) {
	const fields = "ImportPath,Name,Dir,Module,Imports,GoFiles,SFiles,EmbedFiles"
	cmd := exec.Command("go", "list", "-deps", "-json="+fields, "./...")
	cmd.Dir = root
	// The cells are compiled with these settings.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return l, fmt.Errorf("go list: %w\n%s", err, words.Bytes())
	}
	l.Packages, l.Functions = map[string]*listed{}, map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return l, fmt.Errorf("go list: %w", err)
		}
		if p.Module == nil { // a package of the standard library
			continue
		}
		if l.Packages[p.ImportPath], err = l.describe(root, p); err != nil {
			return l, err
		}
	}
	for _, p := range l.Packages {
		p.Imports = slices.DeleteFunc(p.Imports, func(name string) bool { return l.Packages[name] == nil })
	}
	return l, nil
}

// describe returns the description of a package: the version of its module, or its files if the
// module has no version. It also sets the fields Language and Stamp of the listing l if they depend
// on the package.
func (l *listing) describe(root string, p goPackage) (*listed, error) {
	known := &listed{Name: p.Name, Imports: p.Imports}
	source := p.Module
	if source.Replace != nil {
		source = source.Replace
	}
	switch {
	case p.Module.Main:
		l.Language = p.Module.GoVersion
	case source.Version != "":
		known.Module, known.Version = p.Module.Path, source.Path+" "+source.Version
		return known, nil
	}
	folder, err := filepath.Rel(root, p.Dir)
	if err != nil {
		return nil, err
	}
	if !p.Module.Main {
		l.Stamp = "none"
	}
	known.Folder = filepath.ToSlash(folder)
	inFolder := func(names []string) (paths []string) {
		for _, name := range names {
			paths = append(paths, path.Join(known.Folder, name))
		}
		return paths
	}
	known.Files, known.Assembly, known.Embedded = inFolder(p.GoFiles), inFolder(p.SFiles), inFolder(p.EmbedFiles)
	return known, nil
}

// WriteFile writes a file atomically. Even if the machine stops, the file has either the new
// content or the previous content. If the folder is missing, WriteFile makes it.
func WriteFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
