package notebook

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A reader can remember mostFiles files of a package, without tests, and mostLines lines of a
// function.
const (
	mostFiles = 30
	mostLines = 80
)

// TestShape fails if files of a package use each other in a circle, or if a package or a function
// is too long.
func TestShape(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks all packages")
	}
	// The output includes the export data of all packages that the module imports.
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "cvgm/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var packages []listed
	export := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		export[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "cvgm/") && len(p.GoFiles) > 0 {
			packages = append(packages, p)
		}
	}
	if len(packages) < 20 {
		t.Fatalf("go list names %d packages of the module", len(packages))
	}
	fset := token.NewFileSet()
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })}
	uses := 0
	for _, p := range packages {
		path := strings.TrimPrefix(p.ImportPath, "cvgm/")
		if n := len(p.GoFiles); n > mostFiles {
			t.Errorf("%s has more than %d files: a part of it is a package of its own", path, mostFiles)
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok {
					if n := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1; n > mostLines {
						t.Errorf("%s/%s: %s has more than %d lines", path, name, d.Name.Name, mostLines)
					}
				}
			}
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		own, err := conf.Check(p.ImportPath, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		// used[file] holds the other files whose names this file uses, each with the position of
		// one use.
		used := map[string]map[string]token.Position{}
		for id, object := range info.Uses {
			from, to := fset.Position(id.Pos()), fset.Position(object.Pos())
			if object.Pkg() != own || from.Filename == to.Filename {
				continue
			}
			uses++
			if used[from.Filename] == nil {
				used[from.Filename] = map[string]token.Position{}
			}
			used[from.Filename][to.Filename] = from
		}
		for _, circle := range fileCircles(used) {
			t.Errorf("%s: %s use each other in a circle", path, strings.Join(circle, " "))
		}
	}
	if uses < 1000 {
		t.Errorf("%d uses of other files' names found: the test does not see them", uses)
	}
}

// A package's Example has at most mostExampleLines lines, because so many lines fit on a screen.
const mostExampleLines = 20

// The documentation of each package of the library, except internal packages, begins with an
// Example.
func TestPackageExamples(t *testing.T) {
	own := regexp.MustCompile(`/(internal|experiment|hostile|serial)(/|$)`)
	root, found := filepath.Join("..", ".."), map[string]int{}
	for _, folder := range []string{"synth", "qpdiff", "cvgm"} {
		if err := filepath.WalkDir(filepath.Join(root, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || own.MatchString(filepath.ToSlash(filepath.Dir(path))) {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			found[filepath.Dir(path)] += 0
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == "Example" && d.Recv == nil {
					found[filepath.Dir(path)] = fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 15 {
		t.Errorf("%d packages found", len(found))
	}
	for path, lines := range found {
		if lines == 0 || lines > mostExampleLines {
			t.Errorf("%s: its Example has %d lines: write one of at most %d", path, lines, mostExampleLines)
		}
	}
}

// fileCircles returns sets of files that use each other in circles: the strongly connected sets of
// several files.
func fileCircles(used map[string]map[string]token.Position) (sets [][]string) {
	reach := map[string]map[string]bool{}
	for from := range used {
		seen := map[string]bool{}
		for next := []string{from}; len(next) > 0; {
			last := next[len(next)-1]
			next = next[:len(next)-1]
			for to := range used[last] {
				if !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		reach[from] = seen
	}
	done := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(reach)) {
		if !reach[from][from] || done[from] {
			continue
		}
		var set []string
		for _, to := range slices.Sorted(maps.Keys(reach[from])) {
			if reach[to][from] {
				done[to] = true
				set = append(set, filepath.Base(to))
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// The top level of the repository holds only the files that readers expect there.
func TestTopLevel(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-tree", "--name-only", "HEAD").Output()
	if err != nil {
		t.Skip("no git repository")
	}
	expected := strings.Fields(".ci .github .gitattributes .gitignore CHANGELOG.md CITATION.cff LICENSE README.md cvgm figures go.mod go.sum notebooks qpdiff reproduce.sh synth")
	for _, name := range strings.Fields(string(out)) {
		if !slices.Contains(expected, name) {
			t.Errorf("%s does not belong to the top level", name)
		}
	}
}
