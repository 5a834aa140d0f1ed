// The typecheck command reports the errors of types in all packages of the module and their tests,
// for another system: the environment's GOOS and GOARCH. It reads sources alone, so it is ten times
// as fast as a compiler. The analyses of go vet, and what only a linker sees, it leaves out.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A unit is a package as go list describes it, or a package together with its tests.
type unit struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// ours reports whether u is of the main module.
func (u unit) ours() bool { return u.Module != nil && u.Module.Main }

// units lists the packages that match the patterns, their tests, and all that they import. A package
// comes after those that it imports.
func units(patterns []string) ([]unit, error) {
	list := exec.Command("go", append([]string{"list", "-e", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module,Error"}, patterns...)...)
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := list.Start(); err != nil {
		return nil, err
	}
	var all []unit
	for d := json.NewDecoder(out); ; {
		var u unit
		if err := d.Decode(&u); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, list.Wait()
}

// A checker holds the types of the packages that it has checked, by path.
type checker struct {
	files   *token.FileSet
	sizes   types.Sizes
	checked map[string]*types.Package
}

// importer finds what one unit imports.
type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }

// check returns the errors of u. It reads bodies of functions only in the main module.
func (c *checker) check(u unit) (found []error) {
	if u.Error != nil {
		return []error{errors.New(u.Error.Err)}
	}
	var files []*ast.File
	for _, name := range u.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(u.Dir, name)
		}
		file, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		files = append(files, file)
	}
	config := types.Config{
		Sizes:            c.sizes,
		IgnoreFuncBodies: !u.ours(),
		FakeImportC:      true,
		Error:            func(err error) { found = append(found, err) },
		Importer: importer(func(path string) (*types.Package, error) {
			if path == "unsafe" {
				return types.Unsafe, nil
			}
			if mapped, ok := u.ImportMap[path]; ok {
				path = mapped
			}
			if p, ok := c.checked[path]; ok {
				return p, nil
			}
			return nil, fmt.Errorf("package %s was not listed", path)
		}),
	}
	if u.ours() {
		config.GoVersion = "go" + u.Module.GoVersion
	}
	path, _, _ := strings.Cut(u.ImportPath, " ") // without the test that it is for
	c.checked[u.ImportPath], _ = config.Check(path, c.files, files, nil)
	return found
}

// errorsOf returns the errors of the packages that match the patterns, and of their tests, on systems
// of the architecture goarch. The system is the environment's GOOS.
func errorsOf(goarch string, patterns []string) (found []error, err error) {
	all, err := units(patterns)
	if err != nil {
		return nil, err
	}
	c := checker{token.NewFileSet(), types.SizesFor("gc", goarch), map[string]*types.Package{}}
	if c.sizes == nil {
		return nil, fmt.Errorf("unknown GOARCH %q", goarch)
	}
	if !slices.ContainsFunc(all, unit.ours) {
		return nil, fmt.Errorf("no package of the module matches %q", patterns)
	}
	for _, u := range all {
		found = append(found, c.check(u)...)
	}
	return found, nil
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("typecheck: ")
	goarch, err := exec.Command("go", "env", "GOARCH").Output()
	if err != nil {
		log.Fatal(err)
	}
	found, err := errorsOf(strings.TrimSpace(string(goarch)), os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	for _, err := range found {
		fmt.Println(err)
	}
	if len(found) > 0 {
		log.Fatalf("%d errors", len(found))
	}
}
