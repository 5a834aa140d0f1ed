package notebook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cvgm/notebooks/source"
	"cvgm/qpdiff"
)

// notebookCell is a cell in the file of a notebook.
type notebookCell struct {
	Type   string `json:"cell_type"`
	Source notebookText
}

func (c notebookCell) text() string { return strings.Join(c.Source, "") }

// cellsOf returns the cells of all notebooks that match a pattern, by the paths of the notebooks.
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

// figureMakers returns the names of those functions of package figures that return a figure.
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

// At most firstPicture lines of code are above the first picture of a notebook. The picture is then
// some 1,200 pixels below the top.
const firstPicture = 60

// Each notebook of an experiment begins with a question, and its first computation prints and shows
// the answer.
func TestNotebooksTellWhatTheyShow(t *testing.T) {
	makers := figureMakers(t)
	shown := 0
	for path, cells := range cellsOf(t, "0[1-9]_*.ipynb") {
		if !strings.Contains(cells[0].text(), "?") {
			t.Errorf("%s begins without a question", path)
		}
		lines := 0
		computes := slices.IndexFunc(cells, func(c notebookCell) bool {
			if c.Type == "code" {
				lines += 1 + strings.Count(c.text(), "\n")
			}
			return c.Type == "code" && strings.Contains(c.text(), "%%\n") && !strings.Contains(c.text(), "notebook.Accept(")
		})
		answer := cells[computes].text()
		picture := regexp.MustCompile(`notebook\.Show\(figures\.(\w+\.)?(\w+)\(`).FindStringSubmatch(answer)
		if !strings.Contains(answer, "notebook.Text(readings.") || picture == nil || !slices.Contains(makers, picture[2]) {
			t.Errorf("%s: its first cell that computes does not print the answer and show its picture", path)
		}
		if lines > firstPicture {
			t.Errorf("%s: %d lines of code come before the first picture", path, lines)
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

// A line of widestLine characters, with tabs of 8, fits into a window of 1280 pixels.
const widestLine = 120

// A code cell has only short lines and no long text, because package readings writes the texts.
func TestCellsHoldNoProse(t *testing.T) {
	prose := regexp.MustCompile(`"[^"\n]{70,}"`)
	for path, cells := range cellsOf(t, "*.ipynb") {
		for _, c := range cells {
			for line := range strings.Lines(c.text()) {
				if n := len([]rune(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "        "))); c.Type == "code" && n > widestLine {
					t.Errorf("%s: a line of %d characters: %s", path, n, line)
				}
			}
			if found := prose.FindString(c.text()); c.Type == "code" && found != "" {
				t.Errorf("%s: %s", path, found)
			}
		}
	}
}

// The links in the notebooks and in the pages lead to existing files and headings.
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
	for _, page := range markdownPages(t) {
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

// readingHabits lists turns of phrase that a reader often has to read twice, with the most
// occurrences in 10,000 words of Go comments. gonum's comments have at most 7 for each habit.
var readingHabits = []struct {
	name    string
	pattern *regexp.Regexp
	maxRate float64
}{
	{"that of", regexp.MustCompile(`(?i)\b(that|those) of\b`), 2},
	{"what is", regexp.MustCompile(`(?i)\bwhat (is|it|the|a)\b`), 3},
	{"where for if", regexp.MustCompile(`(?i)\bwhere (it|the|a|an|no|there)\b`), 10},
	{"less for minus", regexp.MustCompile(`(?i)\bless (that|those|the|its)\b`), 1},
}

// A sentence of more than longSentence words is long. At most the share mostLong may be long, and
// gonum's share is 4 %.
const (
	longSentence = 30
	mostLong     = .05
)

var (
	endOfSentence = regexp.MustCompile(`[.!?:;]\s+`)
	// An example's comment with this beginning is its output, not prose.
	exampleOutput = regexp.MustCompile(`(?i)^\s*(unordered )?output:`)
)

// A passage is a paragraph, a heading, or an item of a list in a comment.
type passage struct{ place, text string }

// proseCount holds numbers of words and sentences, the passages with each habit, and the long
// sentences.
type proseCount struct {
	words, sentences int
	habits           [][]passage // in the order of readingHabits
	long             []passage
}

// passagesOf returns the passages in the comments of a Go file, without code blocks, directives and
// outputs of examples.
func passagesOf(name string, text []byte) (all []passage, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var reader comment.Parser
	for _, group := range file.Comments {
		text := group.Text() // without directives
		if exampleOutput.MatchString(text) {
			continue
		}
		place := fmt.Sprintf("%s:%d", name, files.Position(group.Pos()).Line)
		add := func(text []comment.Text) { all = append(all, passage{place, plain(text)}) }
		var blocks func(content []comment.Block)
		blocks = func(content []comment.Block) {
			for _, b := range content {
				switch b := b.(type) {
				case *comment.Heading:
					add(b.Text)
				case *comment.Paragraph:
					add(b.Text)
				case *comment.List:
					for _, item := range b.Items {
						blocks(item.Content)
					}
				}
			}
		}
		blocks(reader.Parse(text).Content)
	}
	return all, nil
}

// plain returns the words of a text on one line.
func plain(text []comment.Text) string {
	var b strings.Builder
	for _, t := range text {
		switch t := t.(type) {
		case comment.Plain:
			b.WriteString(string(t))
		case comment.Italic:
			b.WriteString(string(t))
		case *comment.Link:
			b.WriteString(plain(t.Text))
		case *comment.DocLink:
			b.WriteString(plain(t.Text))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// countProse counts the words, sentences and habits in passages.
func countProse(all []passage) proseCount {
	p := proseCount{habits: make([][]passage, len(readingHabits))}
	for _, a := range all {
		p.words += len(strings.Fields(a.text))
		for k, h := range readingHabits {
			for range h.pattern.FindAllStringIndex(a.text, -1) {
				p.habits[k] = append(p.habits[k], a)
			}
		}
		for _, s := range endOfSentence.Split(a.text, -1) {
			p.sentences++
			if len(strings.Fields(s)) > longSentence {
				p.long = append(p.long, passage{a.place, s})
			}
		}
	}
	return p
}

// whereMost returns text with the files that have the most places, and the first places in the
// worst file.
func whereMost(places []passage) string {
	const files, shown = 5, 3
	in := make(map[string][]passage)
	for _, p := range places {
		file, _, _ := strings.Cut(p.place, ":")
		in[file] = append(in[file], p)
	}
	order := slices.SortedFunc(maps.Keys(in), func(a, b string) int { return cmp.Or(cmp.Compare(len(in[b]), len(in[a])), cmp.Compare(a, b)) })
	var b strings.Builder
	for k, file := range order[:min(files, len(order))] {
		fmt.Fprintf(&b, "\n%s has %d", file, len(in[file]))
		for _, p := range in[file][:min(shown, len(in[file]))] {
			if k == 0 {
				fmt.Fprintf(&b, "\n\t%s: %s", p.place, p.text)
			}
		}
	}
	return b.String()
}

// Habits and long sentences are as rare in Go comments as the limits require.
func TestCommentsAreEasyToRead(t *testing.T) {
	root := filepath.Join("..", "..")
	names, git := source.Tracked(root)
	if !git {
		t.Skip("without git's list, files of the reader's own would count")
	}
	names = slices.DeleteFunc(names, func(name string) bool { return filepath.Ext(name) != ".go" })
	found := make([][]passage, len(names))
	err := qpdiff.ForEach(0, len(names), func(i int) error {
		text, err := os.ReadFile(filepath.Join(root, names[i]))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed after the last commit
		} else if err == nil {
			found[i], err = passagesOf(names[i], text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p := countProse(slices.Concat(found...))
	if len(names) < 500 || p.words < 100_000 || p.sentences < 8000 {
		t.Errorf("found %d words in %d sentences of %d files, fewer than the comments have", p.words, p.sentences, len(names))
	}
	for k, h := range readingHabits {
		if n := len(p.habits[k]); 1e4*float64(n) > h.maxRate*float64(p.words) {
			t.Errorf("%d times %q in %d words of comments, more than %g in 10,000:%s", n, h.name, p.words, h.maxRate, whereMost(p.habits[k]))
		}
	}
	if n := len(p.long); float64(n) > mostLong*float64(p.sentences) {
		t.Errorf("%d of %d sentences in comments have more than %d words, more than %g %%:%s", n, p.sentences, longSentence, 100*mostLong, whereMost(p.long))
	}
}

// TestCommentsAreEasyToRead counts each kind of comment. It counts neither code nor outputs.
func TestPassagesOfComments(t *testing.T) {
	const text = `// Package p is like that of
// another one.
package p

//go:generate what is it

// F returns [G], where the
// sum
//
//	what is code
//
// # What the heading says
//
//   - less the first,
//   - those of the second
//
// ends.
func F() (int, int) { // what it does
	// Where a block ends.
	return 1, // less its sign
		2
}

func ExampleF() {
	// Output:
	// that of F
}
`
	all, err := passagesOf("p.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []passage{
		{"p.go:1", "Package p is like that of another one."}, {"p.go:7", "F returns [G], where the sum"}, {"p.go:7", "What the heading says"},
		{"p.go:7", "less the first,"}, {"p.go:7", "those of the second"}, {"p.go:7", "ends."},
		{"p.go:18", "what it does"}, {"p.go:19", "Where a block ends."}, {"p.go:20", "less its sign"},
	}
	if !slices.Equal(all, want) {
		t.Errorf("passages %q, want %q", all, want)
	}
	p := countProse(append(all, passage{"q.go:1", strings.Repeat("word ", longSentence+1) + ". " + strings.Repeat("word ", longSentence)}))
	for k, n := range []int{2, 2, 2, 2} {
		if len(p.habits[k]) != n {
			t.Errorf("%q found %d times, not %d", readingHabits[k].name, len(p.habits[k]), n)
		}
	}
	if p.words != 36+2*longSentence+2 || p.sentences != 11 || len(p.long) != 1 {
		t.Errorf("%d words, %d sentences, %d of them long", p.words, p.sentences, len(p.long))
	}
	if got := whereMost(p.habits[0]); got != "\np.go has 2\n\tp.go:1: Package p is like that of another one.\n\tp.go:7: those of the second" {
		t.Errorf("the worst files are named as %q", got)
	}
}

// README has at most mostWords words of its own and mostWritten words that ./reproduce.sh writes.
// It then fits on three screens of 1280 × 800 pixels.
const mostWords, mostWritten = 500, 380

// README fits on three screens and has the commands, results, speed and links of the project.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```.*?```|<!-- [a-z]+, written by .*?<!-- end of [^>]*-->")
	targets := regexp.MustCompile(`\]\([^)]*\)|<img [^>]*>`)
	words := strings.Fields(targets.ReplaceAllString(code.ReplaceAllString(string(text), ""), "]"))
	if len(words) < 150 || len(words) > mostWords {
		t.Errorf("README has %d words, not up to %d", len(words), mostWords)
	}
	written := regexp.MustCompile("(?s)<!-- [a-z]+, written by .*?-->(.*?)<!-- end of [^>]*-->")
	count := 0
	for _, m := range written.FindAllStringSubmatch(string(text), -1) {
		count += len(strings.Fields(targets.ReplaceAllString(m[1], "]")))
	}
	if count < 150 || count > mostWritten {
		t.Errorf("the parts of README that ./reproduce.sh writes have %d words, not up to %d", count, mostWritten)
	}
	for _, m := range regexp.MustCompile(`<img src="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join("..", "..", m[1])); err != nil {
			t.Errorf("README shows a picture that is not there: %v", err)
		}
	}
}

// remedyAt maps each function that makes the error of an invalid argument to the index of its
// parameter for the remedy.
var remedyAt = map[string]int{"Bad": 2, "BadIf": 3, "ArgErrorf": 2, "argErrorf": 1}

// spelledLetter matches the Greek letter of a hyperparameter in Latin letters.
var spelledLetter = regexp.MustCompile(`\b(alpha|gamma|delta|lambda)\d?\b`)

// problemOf describes the problem of an error's text, which must have a cause and a remedy and no
// full stop. Hyperparameters must have Greek letters, because their names do.
func problemOf(call *ast.CallExpr) string {
	var name string
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if of, ok := f.X.(*ast.Ident); ok && (of.Name == "fmt" || of.Name == "errors") {
			name = of.Name + "." + name
		}
	}
	text := func(i int) (string, bool) {
		if i >= len(call.Args) {
			return "", false
		}
		literal, ok := call.Args[i].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return "", false
		}
		value, err := strconv.Unquote(literal.Value)
		return value, err == nil
	}
	at, ofArgument := remedyAt[name]
	if !ofArgument && name != "fmt.Errorf" && name != "errors.New" {
		return ""
	}
	value, literal := text(at)
	for i := at; ofArgument && i < at+2; i++ {
		if v, _ := text(i); spelledLetter.MatchString(v) {
			return "spells a Greek letter"
		}
	}
	switch named := regexp.MustCompile(`^(qpdiff|cvgm|synth|figures|claims): `).MatchString(value); {
	case !literal:
		return ""
	case strings.HasSuffix(value, "."):
		return "ends with a full stop"
	case ofArgument && value == "":
		return "has no remedy"
	case !ofArgument && named && strings.Count(value, ": ") < 2 && !strings.HasSuffix(value, ": %w"):
		return "has no remedy"
	}
	return ""
}

// Each error of the library has a remedy, and errors and help texts write Greek letters of
// hyperparameters.
func TestErrorsHaveARemedy(t *testing.T) {
	root := filepath.Join("..", "..")
	names, git := source.Tracked(root)
	if !git {
		t.Skip("without git's list, files of the reader's own would count")
	}
	calls := 0
	for _, name := range names {
		if !regexp.MustCompile(`^(qpdiff|cvgm|synth|figures)/.*\.go$`).MatchString(name) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		ownBugs := strings.HasPrefix(name, "cvgm/experiment/differentiability/") // which its errors report
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed after the last commit
		} else if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				calls++
				if problem := problemOf(n); problem != "" && !ownBugs {
					t.Errorf("%s: the error's text %s", files.Position(n.Pos()), problem)
				}
			case *ast.Field:
				if n.Tag == nil {
					break
				}
				tag, err := strconv.Unquote(n.Tag.Value)
				if field := reflect.StructTag(tag); err != nil || spelledLetter.MatchString(field.Get("help")+" "+field.Get("unit")) {
					t.Errorf("%s: the tag spells a Greek letter in Latin letters (%v)", files.Position(n.Pos()), err)
				}
			}
			return true
		})
	}
	if calls < 10_000 {
		t.Errorf("%d calls", calls)
	}
}

// TestErrorsHaveARemedy detects each fault.
func TestFaultsOfErrors(t *testing.T) {
	for text, want := range map[string]string{
		`fmt.Errorf("cvgm: it fails (%v)", 1)`:            "has no remedy",
		`errors.New("qpdiff: x: move it.")`:               "ends with a full stop",
		`args.Bad("x", why, "", "is nil")`:                "has no remedy",
		`args.Bad("x", why, "raise lambda", "is 0")`:      "spells a Greek letter",
		`args.Bad("x", why, "raise λ", "has alpha1 = 0")`: "spells a Greek letter",
		`args.BadIf(true, "x", why, "give x", "is nil")`:  "",
		`check.ArgErrorf("x", why, remedy, "is nil")`:     "",
		`fmt.Errorf("cvgm: %w", err)`:                     "",
		`fmt.Errorf("figures: it is (%w): move it", err)`: "",
		`fmt.Errorf("split %d: %w", 1, err)`:              "",
		`args.BadIf(true, "x", why, "Give x.", "is nil")`: "ends with a full stop",
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := problemOf(e.(*ast.CallExpr)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
