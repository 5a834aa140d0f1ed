package notebook

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notebookCell is a cell of a notebook's file.
type notebookCell struct {
	Type   string `json:"cell_type"`
	Source lines
}

func (c notebookCell) text() string { return strings.Join(c.Source, "") }

// cellsOf returns the cells of the notebooks, by path.
func cellsOf(t *testing.T, pattern string) map[string][]notebookCell {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", pattern))
	if err != nil || paths == nil {
		t.Fatalf("no notebooks (%v)", err)
	}
	all := make(map[string][]notebookCell)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		var file struct{ Cells []notebookCell }
		if err == nil {
			err = json.Unmarshal(text, &file)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[path] = file.Cells
	}
	return all
}

// figureMakers returns the names of the functions of package figures that return a figure.
func figureMakers(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "figures", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
				continue
			}
			if star, ok := f.Type.Results.List[0].Type.(*ast.StarExpr); ok {
				if name, ok := star.X.(*ast.Ident); ok && name.Name == "Figure" {
					names = append(names, f.Name.Name)
				}
			}
		}
	}
	return names
}

// Each experiment's notebook begins with a question, and its first cell that computes prints
// the answer from the results. Each cell with a figure explains the figure.
func TestNotebooksTellWhatTheyShow(t *testing.T) {
	makers := figureMakers(t)
	shown := 0
	for path, cells := range cellsOf(t, "0[1-9]_*.ipynb") {
		if first := cells[0].text(); !strings.Contains(first, "?") || !strings.Contains(first, "The cell below the parameters answers") {
			t.Errorf("%s begins without a question and the place of its answer", path)
		}
		computes := slices.IndexFunc(cells, func(c notebookCell) bool { return c.Type == "code" && strings.HasPrefix(c.text(), "%%") })
		if answer := cells[computes].text(); !strings.Contains(answer, "notebook.Text(") || strings.Contains(answer, "notebook.Show(") {
			t.Errorf("%s: its first cell that computes does not print the answer alone", path)
		}
		for _, c := range cells {
			_, after, shows := strings.Cut(c.text(), "notebook.Show(figures.")
			if name := regexp.MustCompile(`^(\w+\.)?(\w+)\(`).FindStringSubmatch(after); c.Type != "code" || !shows || !slices.Contains(makers, name[2]) {
				continue
			}
			shown++
			if !strings.Contains(after, "notebook.Text(") {
				t.Errorf("%s: no text explains the figure of\n%s", path, c.text())
			}
		}
	}
	if shown < 20 {
		t.Errorf("%d cells show figures", shown)
	}
}

// The links of the notebooks and of the pages lead to files and headings that exist.
func TestLinksOfTexts(t *testing.T) {
	texts := make(map[string]string)
	headings := make(map[string][]string)
	for path, cells := range cellsOf(t, "*.ipynb") {
		for _, c := range cells {
			if c.Type == "markdown" {
				texts[path] += c.text() + "\n"
			}
		}
		for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(texts[path], -1) {
			headings[path] = append(headings[path], strings.ReplaceAll(h[1], " ", "-"))
		}
	}
	for _, page := range pages(t) {
		path := filepath.Join("..", "..", page)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	links := 0
	for path, text := range texts {
		for _, link := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(text, -1) {
			file, part, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, ":") {
				continue
			}
			links++
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", path, link[1])
			} else if part != "" && !slices.Contains(headings[target], part) {
				t.Errorf("%s: the link %s leads to no heading", path, link[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links", links)
	}
}
