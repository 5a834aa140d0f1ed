package notebook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/registry"
	"cvgm/cvgm/experiment/stability"
	"cvgm/figures"
	"cvgm/synth"

	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// newCell removes all recorded parameters, as in the process of another cell.
func newCell(t *testing.T) {
	t.Helper()
	knownParameters.all = nil
	t.Cleanup(func() { knownParameters.all = nil })
}

// Under ./reproduce.sh, an error names each parameter that the cell itself changes, with -p and
// without -p.
func TestEditedParametersAreRefused(t *testing.T) {
	t.Setenv(NotebookVar, "02_rings")
	type change = func(p *kernels.RingsParams)
	none, k := func(*kernels.RingsParams) {}, func(p *kernels.RingsParams) { p.K = 64 }
	for name, c := range map[string]struct {
		before, after change
		set           string // value of -p
		want          string // the error; "": none
	}{
		"defaults": {none, none, "", ""}, "by -p": {none, none, "K=9", ""},
		"before": {k, none, "", "edited: its parameters were edited: K = 64 where the default is 256; restore the default, or run ./reproduce.sh 02_rings -p K=64"},
		"after":  {none, k, "", "K = 64 where the default is 256;"}, "beside -p": {none, k, "C=3", "K = 64 where the default is 256; restore the default, or run ./reproduce.sh 02_rings -p K=64"},
		"over -p":    {none, k, "K=9", "K = 64 where the default is 256"},
		"against -p": {none, func(p *kernels.RingsParams) { p.K = 256 }, "K=9", "K = 256 where -p sets 9; restore the default"},
		"a list":     {none, func(p *kernels.RingsParams) { p.Hidden = []int{3, 4} }, "", "-p Hidden=3,4"},
		"two":        {k, func(p *kernels.RingsParams) { p.C = .5 }, "", "K = 64"},
	} {
		for _, runner := range []bool{true, false} {
			newCell(t)
			t.Setenv(RecordVar, map[bool]string{true: filepath.Join(t.TempDir(), "record")}[runner])
			p := kernels.DefaultRings()
			c.before(&p)
			before := experiment.Changes(&p)
			if name, value, set := strings.Cut(c.set, "="); set {
				if err := experiment.Set(&p, name, value); err != nil {
					t.Fatal(err)
				}
			}
			err := noteSet([][]experiment.Change{before}, []any{&p})
			if err == nil {
				c.after(&p)
				err = noteComputed(p)
			}
			if c.want == "" || !runner {
				if err != nil {
					t.Errorf("%s, runner %t: %v", name, runner, err)
				}
			} else if err == nil || !strings.HasPrefix(err.Error(), "edited: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v lacks %q", name, err, c.want)
			}
		}
	}
}

// The remedy mentions -p only for parameters that Params receives.
func TestRemedyOfAnEditThatOptionsCannotSet(t *testing.T) {
	newCell(t)
	t.Setenv(RecordVar, filepath.Join(t.TempDir(), "record"))
	rings := kernels.DefaultRings()
	Params(&rings)
	edited := stability.DefaultStability()
	edited.DataSets = 3
	err := noteComputed(edited)
	if err == nil || !strings.Contains(err.Error(), "DataSets = 3 where the default is 1000; restore the default") || strings.Contains(err.Error(), "-p") {
		t.Errorf("error %v", err)
	}
}

// Parameters that Params has not received keep their defaults, and -p does not change them.
func TestParametersThatAreNotSetKeepTheirDefaults(t *testing.T) {
	newCell(t)
	t.Setenv(RecordVar, filepath.Join(t.TempDir(), "record"))
	t.Setenv(ParamsVar, `{"Seed": "5"}`)
	p := elasticnet.DefaultElasticNet()
	Params(&p)
	if err := noteComputed(p); err != nil {
		t.Error(err)
	}
	if err := noteComputed(stability.DefaultStability()); err != nil { // these parameters have a Seed, too
		t.Error(err)
	}
	if got := changedLine(changes()); got != "elastic_net.Seed = 5 (default 0)" {
		t.Errorf("changes %q", got)
	}
}

// The changes of a cell have the names of -p and lead from the defaults to the parameters of each
// experiment.
func TestChangesOfACell(t *testing.T) {
	src := synth.NewStream(1, "changes of a cell")
	all := registry.All()
	for range 40 {
		newCell(t)
		var given, fresh []any
		for range 1 + int(3*src.Float64()) {
			e := all[int(float64(len(all))*src.Float64())]
			if slices.ContainsFunc(given, func(p any) bool { return registry.Of(p) == e }) {
				continue
			}
			given, fresh = append(given, e.Draw(src)), append(fresh, e.Params())
		}
		for _, p := range given {
			if err := noteComputed(reflect.ValueOf(p).Elem().Interface()); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range changes() {
			if err := override(`{"`+c.Name+`": "`+c.Value+`"}`, fresh...); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(given, fresh) {
			t.Errorf("%v of\n%+v give\n%+v", changes(), given, fresh)
		}
	}
}

// All errors of all experiments of a notebook are listed, each on its own line.
func TestParametersAreCheckedAtOnce(t *testing.T) {
	net, rings, seeds := elasticnet.DefaultElasticNet(), kernels.DefaultRings(), elasticnet.DefaultElasticNetSeeds()
	if err := checkAll([]any{&net, &rings, &seeds}); err != nil {
		t.Error(err)
	}
	net.StartLambda1, net.Informative, net.Train, rings.P, seeds.Train = -1, 99, 0, 1, 3
	err := checkAll([]any{&net, &rings, &seeds})
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{"elastic_net.Train is 0", "elastic_net.StartLambda1 is -1", "elastic_net.Informative is 99", "rings.P is 1", "elastic_net_seeds.Train is 3"}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%v", len(lines), err)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w+" (outside its domain): use ") {
			t.Errorf("%q lacks %q", lines[i], w)
		}
	}
	if err := checkAll([]any{&rings}); err == nil || !strings.HasPrefix(err.Error(), "P is 1 ") {
		t.Errorf("error %v", err)
	}
}

func TestFoldersOfOutputs(t *testing.T) {
	root := t.TempDir()
	t.Setenv(OutVar, "")
	for _, file := range []string{"01_net/table.csv", "02_rings/figure.csv", "02_rings/folder.csv/x", "timings.json"} {
		file = filepath.Join(root, "figures", "out", file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	k, c := experiment.Change{Name: "K", Value: "64", Default: "128"}, experiment.Change{Name: "elastic_net.C", Value: "0.5", Default: "1"}
	list := experiment.Change{Name: "Ks", Value: strings.Repeat("1,", 60) + "1", Default: "1"}
	for _, f := range []struct {
		name    string
		changes []experiment.Change
		want    string
	}{
		{"table", nil, "01_net/interactive/default"}, {"figure", []experiment.Change{k, c}, "02_rings/interactive/K=64,elastic_net.C=0.5"},
		{"folder", nil, "other/interactive/default"}, {"mine", nil, "other/interactive/default"}, {"*", nil, "other/interactive/default"}, {"[", nil, "other/interactive/default"},
		// For a label of more than 100 bytes, the folder's name is a digest, which equals Python's
		// checkout.digest.
		{"table", []experiment.Change{list}, "01_net/interactive/eba58441ad86c014a3764b4969fc03e9"},
		// Python's urllib.parse.quote(label, safe="=,.+- ") gives this name.
		{"table", []experiment.Change{{Name: "File", Value: "/a b/ä%[1].csv"}}, "01_net/interactive/File=%2Fa b%2F%C3%A4%25%5B1%5D.csv"},
	} {
		if got := outFolder(root, f.name, f.changes); got != filepath.Join(root, "runs", filepath.FromSlash(f.want)) {
			t.Errorf("%s: %s, want %s", f.name, got, f.want)
		}
	}
	// An output without a committed output of the same name belongs to the notebook of the
	// experiment.
	newCell(t)
	if err := noteComputed(kernels.DefaultRings()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ folder, want string }{{"", "other"}, {"rings", "rings"}} { // the second case adds a folder
		if err := os.MkdirAll(filepath.Join(root, "figures", "out", c.folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := outFolder(root, "mine", nil); got != filepath.Join(root, "runs", c.want, "interactive", "default") {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	t.Setenv(OutVar, "/x")
	if got := outFolder(root, "table", nil); got != "/x" {
		t.Error(got)
	}
	if got := outFolder(t.TempDir(), "table", nil); got != "/x" { // without figures/out
		t.Error(got)
	}
}

// Outputs of other parameters list the changes, and figures have the lines of the defaults as
// ghosts.
func TestOutputsNameTheChanges(t *testing.T) {
	store := t.TempDir()
	t.Setenv(StoreVar, store)
	p := kernels.DefaultXOR()
	p.Steps, p.ManifoldSteps, p.GridPoints = 2, []int{1, 2}, 5
	written := map[string]string{}
	for _, out := range []string{"changed", "unknown"} {
		newCell(t)
		dir := t.TempDir()
		t.Setenv(OutVar, dir)
		r := &Compute(p).LearnedKernelResult
		if out == "unknown" {
			newCell(t) // as if the parameters had their defaults
		}
		Save(figures.XOR.Variants(r, p.K), figures.XOR.VariantsTable(r))
		for _, file := range []string{"xor_variants_path.svg", "xor_variants_path.csv", "xor_variants.md"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			written[out+" "+file] = string(text)
		}
	}
	for _, file := range []string{"xor_variants_path.svg", "xor_variants.md"} {
		if !strings.Contains(written["changed "+file], "GridPoints = 5 (default 100); ManifoldSteps = 1, 2 (default 1, 2, 5, 50); Steps = 2 (default 50)") {
			t.Errorf("%s lacks the changes", file)
		}
		if strings.Contains(written["unknown "+file], "(default") {
			t.Errorf("%s has changes", file)
		}
	}
	if svg := "xor_variants_path.svg"; !strings.Contains(written["changed "+svg], "default parameters") || strings.Contains(written["unknown "+svg], "default parameters") {
		t.Error("ghosts are not where they should be")
	}
	if csv := "xor_variants_path.csv"; written["changed "+csv] != written["unknown "+csv] {
		t.Error("the CSV has ghosts")
	}
}

func TestShownFigure(t *testing.T) {
	f := &figures.Figure{Name: "f", Caption: `λ < 1 & "x"`, Width: 300, Panels: [][]*figures.Panel{{figures.NewPanel("p", `<script>"a"`, "x", "y")}}}
	data := shownOutputs(f, []byte("png"))
	picture, caption := data[0], data[1]
	if png, ok := picture.Data[protocol.MIMEImagePNG].([]byte); !ok || string(png) != "png" || len(picture.Data) != 1 {
		t.Errorf("the picture is %v", picture.Data)
	}
	if about := fmt.Sprint(picture.Metadata); about != `map[image/png:map[alt:<script>"a": y over x. width:400]]` {
		t.Errorf("the picture has the metadata %s", about)
	}
	if caption.Metadata[captionKey] == nil || len(caption.Data) != 2 {
		t.Errorf("the caption is %v", caption)
	}
	html, markdown := captionHTML(f), captionMarkdown(f)
	for _, part := range []string{">λ &lt; 1 &amp; &#34;x&#34;<", ">&lt;script&gt;&#34;a&#34;: y over x.<", ".cvgm-figure) img { filter: invert(1)"} {
		if !strings.Contains(html, part) {
			t.Errorf("%s lacks %s", html, part)
		}
	}
	if want := "λ < 1 & \"x\"\n\n<details><summary>The figure in words</summary>\n\n`<script>\"a\": y over x.`\n\n</details>"; markdown != want {
		t.Errorf("Markdown %q, want %q", markdown, want)
	}
	// TeX in a caption remains text in pages with MathJax, and invisible characters become codes.
	f.Caption = "$\\href{javascript:x}{y}$</figcaption><script>\u202e"
	if want := `<code>$\href{javascript:x}{y}$&lt;/figcaption&gt;&lt;script&gt;⟨U+202E⟩</code>`; !strings.Contains(captionHTML(f), want) {
		t.Errorf("%s lacks %s", captionHTML(f), want)
	}
	// A dark theme does not invert the shades of a surface.
	f.Panels[0][0].Surface("loss", []float64{1, 2}, []float64{1, 2}, [][]float64{{1, 2}, {3, 4}}, nil)
	if got := captionHTML(f); !strings.Contains(got, ".cvgm-shaded) img { filter: brightness") || strings.Contains(got, "invert") {
		t.Errorf("a dark theme inverts a surface: %s", got)
	}
}

func TestShortened(t *testing.T) {
	long := strings.Repeat("ä/", 60) + "my.csv"
	for value, want := range map[string]string{"": "empty", "1,2": "1, 2", strings.Repeat("11,", 40): strings.Repeat("11, ", 26) + "…"} {
		if got := shortened(value); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	if got := shortened(long); !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "/my.csv") || !utf8.ValidString(got) {
		t.Errorf("%s: %s", long, got)
	}
}

func TestSaveFile(t *testing.T) {
	t.Setenv(OutVar, filepath.Join(t.TempDir(), "out"))
	SaveFile("a.json", "{}")
	if text, err := os.ReadFile(filepath.Join(os.Getenv(OutVar), "a.json")); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
}

// For each experiment, a cell calls Params with its parameters, so that -p can set them.
func TestEachExperimentHasACellOfParameters(t *testing.T) {
	var cells strings.Builder
	for _, all := range cellsOf(t, "*.ipynb") {
		for _, c := range all {
			if strings.Contains(c.text(), "notebook.Params(") {
				cells.WriteString(c.text())
			}
		}
	}
	for _, e := range registry.All() {
		of, name, _ := strings.Cut(strings.TrimSuffix(reflect.TypeOf(e.Params()).Elem().String(), "Params"), ".")
		if !strings.Contains(cells.String(), of+".Default"+name+"()") {
			t.Errorf("no cell of parameters has those of %s", e.Name)
		}
	}
}

// All results of the claims belong to the draw that -p sets. Under ./reproduce.sh, any other draw
// is an error.
func TestResultsAreOfOneDraw(t *testing.T) {
	newCell(t)
	t.Setenv(RecordVar, filepath.Join(t.TempDir(), "record"))
	t.Setenv(ParamsVar, `{"Draw": "3"}`)
	var p ResultsParams
	Params(&p)
	own := onDraw(p, stability.DefaultStability())
	if err := errors.Join(noteComputed(p), noteComputed(own)); err != nil || own.Draw != 3 {
		t.Errorf("draw %d: %v", own.Draw, err)
	}
	if got := changedLine(changes()); got != "Draw = 3 (default 0)" {
		t.Errorf("changes %q", got)
	}
	p.Draw = 2
	if err := noteComputed(p); err == nil || !strings.Contains(err.Error(), "Draw = 2 where the default is 0") {
		t.Errorf("of an edit: %v", err)
	}

	drawn := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[claims.Results]()) {
		if params, has := f.Type.Elem().FieldByName("Params"); has {
			if _, has := params.Type.FieldByName("Draw"); has {
				drawn++
			}
		}
	}
	if text := string(Must(os.ReadFile("results.go"))); drawn < 10 || strings.Count(text, "onDraw(p, ") != drawn {
		t.Errorf("%d results have a draw; %d calls of onDraw", drawn, strings.Count(text, "onDraw(p, "))
	}
}
