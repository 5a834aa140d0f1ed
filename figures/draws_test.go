package figures

import (
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/registry"
	"cvgm/synth"
)

var draws = flag.Int("draws", 3, "random small runs of each experiment")

// For random small runs of every experiment, no output is blank, clipped or without a legend.
func TestRandomSmallRuns(t *testing.T) {
	for _, e := range registry.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			src := synth.NewStream(1, "figures of "+e.Name)
			for i := range *draws {
				p := e.Draw(src)
				r, err := e.Run(t.Context(), experiment.Hooks{}, p)
				if err != nil {
					t.Fatalf("%d: %+v: %v", i, p, err)
				}
				all := Of(r)
				if len(all) == 0 {
					t.Fatalf("a %T has no outputs", r)
				}
				dir := t.TempDir()
				if writeOutputs(t, dir, all...); t.Failed() {
					t.Fatalf("%d: %+v", i, p)
				}
				files := 0
				for _, o := range all {
					if table, ok := o.(*Table); ok {
						fitsPage(t, table)
					}
					files += map[bool]int{true: 4, false: 3}[reflect.TypeOf(o) == reflect.TypeFor[*Figure]()]
				}
				if written, err := os.ReadDir(dir); err != nil || len(written) != files {
					t.Errorf("%d files instead of %d: %v", len(written), files, err)
				}
			}
		})
	}
}

// A table may be pageWidth pixels wide in a browser window of 1280 pixels. A column takes perLetter
// pixels for each letter, plus perColumn.
const pageWidth, perLetter, perColumn = 1135, 7.2, 13

// fitsPage fails the test if a table is wider than a notebook's page while each number is on one
// line.
func fitsPage(t *testing.T, table *Table) {
	t.Helper()
	var widest []int
	for line := range strings.Lines(table.ForNotebook()) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| :--") || strings.HasPrefix(line, "| --:") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|\n"), `\|`, "/"), "|")
		widest = append(widest, make([]int, max(0, len(cells)-len(widest)))...)
		for i, cell := range cells {
			for _, word := range strings.Split(cell, " ") {
				widest[i] = max(widest[i], utf8.RuneCountInString(word))
			}
		}
	}
	width := 0.
	for _, letters := range widest {
		width += perColumn + perLetter*float64(letters)
	}
	if width > pageWidth {
		t.Errorf("table %s takes %.0f pixels of the %d that a notebook's page has: set Brief", table.Name, width, pageWidth)
	}
}

// ForNotebook writes only the columns in Brief, keeps each number on one line, and names the file
// with all columns.
func TestTableForNotebook(t *testing.T) {
	table := &Table{Name: "t", Caption: "c", Header: []string{"a", "b", "c"}, Rows: [][]any{{"x y", 1, Number{Value: 1, Margin: 2, Digits: 1}}}, Note: "N.", Brief: []string{"a", "c"}}
	const want = "**c**\n\n| a | c |\n| :-- | --: |\n| x y | 1.0\u00a0±\u00a02.0 |\n\nN. The other columns are in t.csv.\n"
	if got := table.ForNotebook(); got != want {
		t.Errorf("the notebook shows %q, want %q", got, want)
	}
	if got := table.Markdown(); !strings.Contains(got, "| x y | 1 | 1.0 ± 2.0 |") {
		t.Errorf("the file has %q", got)
	}
	table.Brief = nil
	if got := table.ForNotebook(); !strings.Contains(got, "| x y | 1 | 1.0\u00a0±\u00a02.0 |\n\nN.\n") {
		t.Errorf("without Brief the notebook shows %q", got)
	}
}

// For an empty list of parameters, a run returns an error or a result that can be drawn.
func TestEmptyListsOfParams(t *testing.T) {
	for _, e := range registry.All() {
		for _, f := range experiment.Fields(e.Params()) {
			p := e.Draw(synth.NewStream(2, "figures of "+e.Name))
			list := reflect.ValueOf(p).Elem().FieldByName(f.Name)
			if !list.IsValid() || list.Kind() != reflect.Slice {
				continue
			}
			list.SetZero()
			r, err := e.Run(t.Context(), experiment.Hooks{}, p)
			if err != nil {
				t.Logf("%s without %s: %v", e.Name, f.Name, err)
				continue
			}
			drawWithoutPanic(t, func() []Output { return Of(r) }, false)
		}
	}
}

// Results without any content, and nil, give errors, not panics.
func TestEmptyResults(t *testing.T) {
	names := make(map[string]bool)
	for result, of := range drawers {
		drawWithoutPanic(t, func() []Output {
			all := of(reflect.New(result.Elem()).Interface())
			for _, o := range all {
				name, caption := o.Describe()
				if names[name] || caption == "" {
					t.Errorf("%v: %q is the name of two outputs, or of one without caption", result, name)
				}
				names[name] = true
			}
			return all
		}, true)
	}
	for _, other := range []any{nil, 3, errors.New("no result")} {
		if all := Of(other); all != nil {
			t.Errorf("%v has the outputs %v", other, all)
		}
	}
}
