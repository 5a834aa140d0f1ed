package source

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// toyFiles is a small module with the structure of this module.
var toyFiles = map[string]string{
	"go.mod":     "module cvgm\n\ngo 1.26.0\n",
	"synth/s.go": "package synth\n\nvar Font int // of all pictures\n\nfunc Draw() int { return 1 }\n",
	"cvgm/experiment/registry.go": `package experiment

var registry []any

func register(p any) { registry = append(registry, p) }

// All returns the parameters of all experiments.
func All() []any { return registry }

// Of finds an experiment.
func Of(p any) any { return registry[0] }
`,
	"cvgm/experiment/rings.go": `package experiment

import "cvgm/synth"

const points, noise = 200, 3

type RingsParams struct{ K int }

type RingsResult struct{ Radius int }

func init() { register(RingsParams{}) }

func (p RingsParams) Run() *RingsResult { return &RingsResult{p.draw() + synth.Font} }

func (p *RingsParams) draw() int { return points + shared() }
`,
	"cvgm/experiment/xor.go": `package experiment

type XORParams struct{ K int }

type XORResult struct{ Corners []int }

func init() { register(XORParams{}) }

func (p XORParams) Run() *XORResult {
	points := 3 // of its own
	return &XORResult{make([]int, points+shared()+Last)}
}

func shared() int { return 1 }

const (
	First = iota
	Second
	Last
)
`,
	"figures/figure.go": `package figures

import "cvgm/synth"

type Figure struct{ Width int }

func (f *Figure) PNG() int { return f.Width }

func init() { synth.Font = 7 }

var outputs = map[string]any{}

func register(name string, f any) { outputs[name] = f }

var _ any = (*Figure)(nil)
`,
	"figures/rings.go": `package figures

import . "cvgm/cvgm/experiment"

var (
	red   = 1
	width = 2
)

func init() { register("rings", Rings) }

// Rings draws the rings.
func Rings(r *RingsResult) *Figure { return &Figure{Width: width * r.Radius} }

func RingsTable(r *RingsResult) *Figure { return &Figure{Width: red} }
`,
	"figures/styles.go": `package figures

var dash, calls int

func set(to *int) {
	calls++
	*to = 3
}

func init() { set(&dash) }

var _ = mark(&marked)

func mark(to *int) int {
	*to = 1
	return marks
}

var marked, marks int

func Dashed() int { return dash }
`,
	"figures/xor.go": `package figures

import "cvgm/cvgm/experiment"

func init() { register("xor", XOR) }

func XOR(r *experiment.XORResult) *Figure {
	width := len(r.Corners)
	return &Figure{Width: width}
}
`,
	"figures/xor_never.go":  "//go:build never\n\npackage figures\n\nfunc init() { panic(1) }\n",
	"figures/rings_test.go": "package figures\n",
	"notebooks/notebook/n.go": `package notebook

import "cvgm/figures"

func Compute[P interface{ Run() R }, R any](p P) R {
	return p.Run()
}

func Show(f *figures.Figure) int { return f.PNG() }

func Timings() string { return "timings.json" + "draws.csv" }
`,
	"notebooks/live/l.go": "package live\n\nimport \"cvgm/cvgm/experiment\"\n\nfunc Show() any { return experiment.RingsParams{} }\n",
}

// toyCells are the code cells of the notebooks of toy.
var toyCells = map[string][]string{
	"rings": {
		"%noautoget\nimport (\n\t\"cvgm/cvgm/experiment\"\n\t\"cvgm/figures\"\n\t\"cvgm/notebooks/notebook\"\n)",
		"func replay() *experiment.RingsResult {\n\treturn notebook.Compute(experiment.RingsParams{})\n}",
		"%%\nnotebook.Show(figures.Rings(replay()))",
	},
	// GoNB adds the missing import.
	"xor":    {"import \"cvgm/notebooks/notebook\"\nimport f \"cvgm/figures\"", "!true\n%% -n=4\nnotebook.Show(f.XOR(notebook.Compute(experiment.XORParams{})))"},
	"dot":    {"import . \"cvgm/figures\"", "%%\n_ = XOR(nil)"},
	"times":  {"import . \"cvgm/notebooks/notebook\"", "%%\nTimings()"},
	"synth":  {"import \"cvgm/synth\"", "%%\nfigures := synth.Font\n_ = figures"},
	"all":    {"%%\nexperiment.All()"},
	"live":   {"import \"cvgm/notebooks/live\"", "%%\nlive.Show()"},
	"dashed": {"%%\nfigures.Dashed()"},
	"blank":  {"import (\n\t_ \"cvgm/figures\"\n\t_ \"cvgm/cvgm/experiment\"\n)"},
	"gone":   {"import \"cvgm/figures\"", "%%\nfigures.Gone()"},
	"broken": {"import \"cvgm/synth\"", "%%\nsynth.("},
}

func writeFile(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeToy(t *testing.T) (root string) {
	root = t.TempDir()
	for name, text := range toyFiles {
		writeFile(t, root, name, text)
	}
	return root
}

func openModule(t *testing.T, root string) *Module {
	t.Helper()
	m, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// withEdit returns the module with another text for one file.
func (m *Module) withEdit(name, text string) *Module {
	other := *m
	other.files, other.parsed = maps.Clone(m.files), maps.Clone(m.parsed)
	other.files[name] = []byte(text)
	delete(other.parsed, "cvgm/"+path.Dir(name))
	other.listing.Functions = map[string]string{}
	return &other
}

// staleCells lists the notebooks and functions whose inputs differ.
func staleCells(t *testing.T, before, now *Module) []string {
	t.Helper()
	var names []string
	for name, cells := range toyCells {
		if before.Cells(cells).Hash() != now.Cells(cells).Hash() {
			names = append(names, name)
		}
	}
	for _, f := range []string{"RingsParams", "XORParams"} {
		a, err := before.Function("cvgm/cvgm/experiment." + f + ".Run")
		b, err2 := now.Function("cvgm/cvgm/experiment." + f + ".Run")
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if a != b {
			names = append(names, f)
		}
	}
	slices.Sort(names)
	return names
}

func TestAnEditMakesStaleWhatReachesIt(t *testing.T) {
	m := openModule(t, writeToy(t))
	for _, edit := range []struct{ file, old, new, stale string }{
		// The following cases change comments, layout and tests.
		{"figures/rings.go", "// Rings draws the rings.", "// Rings draws rings.\n//\n// Twice.", ""},
		{"figures/rings.go", "red   = 1", "red = /* is */ 1", ""},
		{"synth/s.go", "// of all pictures", "//go:generate go run font.go", ""},
		{"synth/s.go", "// of all pictures", "", ""},
		{"figures/rings_test.go", "package figures", "package figures_test", ""},
		{"figures/xor_never.go", "panic(1)", "panic(2)", ""},
		// The cell gone uses a missing name of figures, so it depends on this whole package. The
		// cell broken has a syntax error, so it depends on all declarations.
		{"figures/rings.go", "width * r.Radius", "width + r.Radius", "broken gone rings"},
		{"figures/rings.go", "Width: red", "Width: red + 1", "broken gone"},
		{"cvgm/experiment/xor.go", "return 1", "return 2", "RingsParams XORParams all broken gone live rings xor"},
		// Each variable in a group is a separate declaration, but constants in a group with iota
		// are one declaration.
		{"figures/rings.go", "width = 2", "width = 3", "broken gone rings"},
		{"figures/rings.go", "red   = 1", "red = 2", "broken gone"},
		{"cvgm/experiment/rings.go", "points, noise = 200, 3", "points, noise = 200, 4", "RingsParams all broken gone live rings"},
		{"figures/styles.go", "*to = 3", "*to = 4", "broken dashed gone"},
		{"figures/styles.go", "return marks", "return -marks", "blank broken dashed dot gone rings times xor"},
		{"cvgm/experiment/xor.go", "\tSecond\n", "\tSecond\n\tThird\n", "XORParams all broken gone xor"},
		// Types and methods are inputs, even if the notebook does not name them.
		{"cvgm/experiment/rings.go", "points + shared()", "points - shared()", "RingsParams all broken gone live rings"},
		{"cvgm/experiment/xor.go", "XORResult struct{ ", "XORResult struct{ N int; ", "XORParams all broken dot gone xor"},
		{"figures/figure.go", "return f.Width", "return -f.Width", "blank broken dashed dot gone rings times xor"},
		// Three init functions change: they set a variable of another package, or register a figure
		// or an experiment.
		{"figures/figure.go", "Font = 7", "Font = 8", "blank broken dashed dot gone rings times xor"},
		{"figures/rings.go", `"rings", Rings`, `"circles", Rings`, "broken gone"},
		{"cvgm/experiment/xor.go", "register(XORParams{})", "register(&XORParams{})", "all broken gone"},
		// The changed packages are imported by other packages or called by all cells.
		{"synth/s.go", "Font int", "Font int8", "RingsParams all blank broken dashed dot gone live rings synth times xor"},
		{"synth/s.go", "return 1", "return 2", "broken"},
		{"notebooks/notebook/n.go", "return f.PNG()", "return 1 + f.PNG()", "broken rings xor"},
		{"notebooks/notebook/n.go", "return p.Run()", "return (p.Run())", "broken rings xor"},
		{"notebooks/live/l.go", "func Show()", "func (Show)()", "broken live"},
	} {
		text := toyFiles[edit.file]
		if strings.Count(text, edit.old) != 1 {
			t.Fatalf("%s: %q is there %d times", edit.file, edit.old, strings.Count(text, edit.old))
		}
		now := m.withEdit(edit.file, strings.Replace(text, edit.old, edit.new, 1))
		if diff := cmp.Diff(strings.Fields(edit.stale), staleCells(t, m, now), cmp.Transformer("", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
			t.Errorf("%s: %s → %s:\n%s", edit.file, edit.old, edit.new, diff)
		}
	}
}

// A file with syntax errors does not make other declarations stale.
func TestFilesWithSyntaxErrors(t *testing.T) {
	m := openModule(t, writeToy(t))
	text := toyFiles["figures/rings.go"]
	for n := range len(text) {
		m.withEdit("figures/rings.go", text[:n]).Cells(toyCells["all"])
	}
	now := m.withEdit("figures/rings.go", text+"\nfunc () broken {\n")
	if diff := cmp.Diff([]string{"broken", "gone"}, staleCells(t, m, now)); diff != "" {
		t.Error(diff)
	}
}

func TestVersionsAreInputs(t *testing.T) {
	m := openModule(t, writeToy(t))
	depends := func(at, on string) {
		m.listing.Packages[on] = &listed{Name: "x", Module: on, Version: on + " v1.0.0"}
		m.listing.Packages[at].Imports = append(m.listing.Packages[at].Imports, on)
	}
	depends("cvgm/cvgm/experiment", "gonum")
	depends("cvgm/figures", "plot")
	m.listing.Functions = map[string]string{}
	for on, want := range map[string]string{
		"gonum": "RingsParams XORParams all blank broken dashed dot gone live rings times xor",
		"plot":  "blank broken dashed dot gone rings times xor",
	} {
		now := m.withEdit("go.mod", "")
		now.listing.Packages = maps.Clone(m.listing.Packages)
		now.listing.Packages[on] = &listed{Name: "x", Module: on, Version: on + " v1.0.1"}
		if got := strings.Join(staleCells(t, m, now), " "); got != want {
			t.Errorf("%s: stale are %s, want %s", on, got, want)
		}
	}
	in := m.Cells(toyCells["rings"])
	if in["Go"] == "" || in["go.mod's go line"] != "1.26.0" || in["module gonum"] != "gonum v1.0.0" {
		t.Errorf("inputs %v", in)
	}
	if in := m.Cells([]string{"import \"fmt\"\nimport \"example.org/x\""}); in["go.mod"] == "" {
		t.Error("the version of a module that only cells import is no input")
	}
	now := m.withEdit("go.mod", "")
	now.listing.Language = "1.27.0"
	if got := staleCells(t, m, now); len(got) != len(toyCells)+2 {
		t.Errorf("another go line in go.mod makes only %v stale", got)
	}
}

func TestRecordsAreAnInputOfWhatNamesThem(t *testing.T) {
	root := writeToy(t)
	before := openModule(t, root)
	for _, file := range []string{timingsFile, drawsFile} {
		writeFile(t, root, file, "{}")
		for name, cells := range toyCells {
			in := before.Cells(cells)
			if _, counts := in[file]; counts != (name == "times" || name == "broken") {
				t.Errorf("%s, %s: %v", file, name, counts)
			}
		}
	}
}

// The output of go list is used as long as it is valid.
func TestListing(t *testing.T) {
	root := writeToy(t)
	before := openModule(t, root)
	if _, err := before.Function("cvgm/cvgm/experiment.RingsParams.Run"); err != nil {
		t.Fatal(err)
	}
	long := time.Unix(0, 0)
	if err := os.Chtimes(filepath.Join(root, "synth/s.go"), long, long); err != nil {
		t.Fatal(err)
	}
	writeFile(t, root, "figures/rings_test.go", "package figures // new\n")
	path := os.Getenv("PATH")
	t.Setenv("PATH", "") // go list cannot run
	if diff := cmp.Diff(before.listing, openModule(t, root).listing); diff != "" || len(before.listing.Functions) != 1 {
		t.Errorf("%v\n%s", before.listing.Functions, diff)
	}
	for _, name := range []string{"go.mod", "synth/s.go"} {
		text := toyFiles[name]
		writeFile(t, root, name, text+"\n")
		if _, err := Open(root); err == nil {
			t.Errorf("the listing is kept after a change of %s", name)
		}
		writeFile(t, root, name, text)
	}
	t.Setenv("PATH", path)

	writeFile(t, root, "figures/new.go", "package figures\n\nimport _ \"embed\"\n\n//go:embed page.html\nvar page string\n\nfunc Page() string { return page }\n")
	writeFile(t, root, "figures/page.html", "1")
	now := openModule(t, root)
	if got := now.listing.Packages["cvgm/figures"]; !slices.Contains(got.Files, "figures/new.go") || !slices.Contains(got.Embedded, "figures/page.html") {
		t.Errorf("%+v", got)
	}
	page := append(slices.Clone(toyCells["rings"]), "%%\nfigures.Page()")
	if hash := now.Cells(page)["figures/page.html"]; hash == "" {
		t.Error("an embedded file that cells read is no input")
	}
	if hash := now.Cells(toyCells["rings"])["figures/page.html"]; hash != "" {
		t.Error("an embedded file that no cell reads is an input")
	}
	writeFile(t, root, "figures/new.go", strings.ReplaceAll(string(now.files["figures/new.go"]), "page.html", "other.html"))
	writeFile(t, root, "figures/other.html", "1")
	for name, want := range map[string]bool{"figures/page.html": false, "figures/other.html": true} {
		if _, counts := openModule(t, root).Cells(page)[name]; counts != want {
			t.Errorf("%s counts: %v", name, counts)
		}
	}

	// The directive finds files in folders that are not packages.
	writeFile(t, root, "figures/new.go", "package figures\n\nimport \"embed\"\n\n//go:embed testdata/* all:_pages\nvar pages embed.FS\n\nfunc Page() any { return pages }\n")
	writeFile(t, root, "figures/testdata/a.txt", "1")
	writeFile(t, root, "figures/_pages/a.txt", "1")
	openModule(t, root)
	for _, name := range []string{"figures/testdata/b.txt", "figures/_pages/.b.txt"} {
		writeFile(t, root, name, "1")
		if _, counts := openModule(t, root).Cells(page)[name]; !counts {
			t.Errorf("%s does not count", name)
		}
	}

	if err := os.WriteFile(filepath.Join(root, ".work", "packages.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	openModule(t, root)
	writeFile(t, root, "synth/s.go", "package synth\n\nimport \"nowhere.example/x\"\n")
	if _, err := Open(root); err == nil || !strings.Contains(err.Error(), "nowhere.example/x") {
		t.Errorf("error %v", err)
	}
}

// If a figure changes, exactly the notebooks that show it become stale.
func TestAFigureMakesItsNotebooksStale(t *testing.T) {
	m := openModule(t, filepath.Join("..", ".."))
	notebooks, err := Experiments(filepath.Join("..", ".."))
	if err != nil || len(notebooks) == 0 {
		t.Fatal(notebooks, err)
	}
	cells, hashes := map[string][]string{}, map[string]string{}
	for _, path := range notebooks {
		cells[path] = readCells(t, path)
		hashes[path] = m.Cells(cells[path]).Hash()
	}
	var all strings.Builder
	for name, text := range m.files {
		if strings.HasPrefix(name, "figures/") || strings.HasPrefix(name, "notebooks/") {
			all.Write(text)
		}
	}
	function := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(.*\{\n`)
	registered := regexp.MustCompile(`(?ms)^func init\(\) \{\n.*?^\}\n`)
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if filepath.Dir(name) != "figures" {
			continue
		}
		for _, at := range function.FindAllSubmatchIndex(m.files[name], -1) {
			figure := string(m.files[name][at[2]:at[3]])
			call := regexp.MustCompile(`\b` + figure + `[(\[]`)
			if len(call.FindAllString(registered.ReplaceAllString(all.String(), ""), -1)) > 1 {
				continue // other functions call it
			}
			tried++
			if testing.Short() && tried%10 != 1 {
				continue
			}
			now := m.withEdit(name, string(m.files[name][:at[1]])+"\tprintln()\n"+string(m.files[name][at[1]:]))
			for _, path := range notebooks {
				shows := slices.ContainsFunc(cells[path], func(cell string) bool { return strings.Contains(cell, "figures."+figure+"(") })
				if changed := now.Cells(cells[path]).Hash() != hashes[path]; changed != shows {
					t.Errorf("%s shows %s: %v; it is stale after a change of that: %v", path, figure, shows, changed)
				}
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d figures were found", tried)
	}
}

func readCells(t *testing.T, path string) (cells []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var notebook struct {
		Cells []struct {
			Type   string `json:"cell_type"`
			Source []string
		}
	}
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(path, err)
	}
	for _, c := range notebook.Cells {
		if c.Type == "code" {
			cells = append(cells, strings.Join(c.Source, ""))
		}
	}
	return cells
}
