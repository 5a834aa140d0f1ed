package figures

import (
	"bytes"
	"encoding/gob"
	"encoding/xml"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"cvgm/figures/internal/chart"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// writeOutputs writes outputs into a folder, and checks the figures among them.
func writeOutputs(t *testing.T, dir string, outputs ...Output) {
	t.Helper()
	for _, o := range outputs {
		if err := o.Write(dir); err != nil {
			t.Error(err)
		} else if f, ok := o.(*Figure); ok {
			checkFigure(t, f)
		}
	}
}

// testOutputs writes all outputs of a result, checks that their CSV contains the texts in wants,
// and draws them for poisoned results.
func testOutputs[R any](t *testing.T, r *R, wants map[string]string, moreOutputs ...func(r *R) Output) {
	t.Helper()
	outputs := func(r *R) []Output {
		all := Of(r)
		for _, f := range moreOutputs {
			all = append(all, f(r))
		}
		return all
	}
	dir := t.TempDir()
	writeOutputs(t, dir, outputs(r)...)
	for name, want := range wants {
		text, err := os.ReadFile(filepath.Join(dir, name+".csv"))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s (%v):\n%s", name, want, err, text)
		}
	}
	poisonResult(t, r, outputs)
}

// checkFigure checks that all data of a figure are visible, that legends are complete, and that
// texts do not overlap.
func checkFigure(t *testing.T, f *Figure) {
	t.Helper()
	svg, err := f.SVG()
	if err != nil {
		t.Error(err)
		return
	}
	checkTexts(t, f)
	// A surface fills its axes, for any shape of its grid.
	if n := bytes.Count(svg, []byte("<image ")); n != bytes.Count(svg, []byte(`<image preserveAspectRatio="none"`)) {
		t.Errorf("figure %s: %d pictures that keep the shape of their grid", f.Name, n)
	}
	if named, all := bytes.Count(svg, []byte("font-family:")), bytes.Count(svg, []byte(",sans-serif;")); named != all {
		t.Errorf("%s: %d of %d texts have no family for viewers without the font", f.Name, named-all, named)
	}
	texts := textsOf(t, svg)
	explained := map[string]bool{"": true}
	explain := func(text string) {
		for line := range strings.Lines(text) {
			for _, r := range chart.RunsOf(line) {
				explained[strings.TrimSpace(r.Text)] = true
			}
		}
	}
	for _, head := range f.Heads {
		explain(head)
	}
	listed := make(map[string]bool)
	for _, e := range f.Entries {
		listed[e.Name] = true
	}
	canvas := draw.Crop(draw.New(vgsvg.New(f.Width, f.Height)), 4, -8, 4, -4)
	f.LayOut(canvas, func(p *Panel, cell draw.Canvas, axes chart.Box) {
		for _, text := range p.Written() {
			explain(text)
		}
		for _, e := range p.BesideRows {
			explain(e.Name)
		}
		var inside []LegendEntry
		if f.Legend == LegendInside {
			inside = p.LegendEntries(axes)
		}
		q, cell, l := p.LayOut(cell, axes, chart.NewLegend(inside))
		for _, text := range []string{p.Plot.Title.Text, q.X.Label.Text, q.Y.Label.Text} {
			explain(text)
		}
		if w, most := p.Plot.Title.TextStyle.Width(p.Plot.Title.Text), cell.Size().X; w > most {
			t.Errorf("%s: the title %q is %v wide and its panel %v", f.Name, p.Plot.Title.Text, w, most)
		}
		if p.Scale != nil {
			for _, tick := range chart.ScaleTicks(p.Scale) {
				explain(tick.Label)
			}
		}
		if p.Banded {
			listed[chart.IntervalEntry.Name] = true
		}
		for _, a := range []plot.Axis{q.X, q.Y} {
			ticks := a.Tick.Marker.Ticks(a.Min, a.Max)
			if (len(ticks) == 0) != p.Bare {
				t.Errorf("%s: panel %q has %d labels at an axis", f.Name, p.Name, len(ticks))
			}
			for _, tick := range ticks {
				explain(tick.Label)
			}
		}
		data := q.DataCanvas(cell)
		size := l.Rectangle(data).Size()
		ground := vg.Rectangle{Min: data.Max.Sub(size), Max: data.Max}
		if l.Left {
			ground.Min.X, ground.Max.X = data.Min.X, data.Min.X+size.X
		}
		if !l.Top {
			ground.Min.Y, ground.Max.Y = data.Min.Y, data.Min.Y+size.Y
		}
		if size.Y > .65*data.Size().Y {
			ground.Min.Y = ground.Max.Y // more series than a panel has room for
		}
		hidden := 0
		for _, s := range p.Series {
			points := slices.Concat(append(slices.Clip(s.Stretches), s.Ends(axes))...)
			if s.Entry.Name != "" && len(points) > 0 && p.Direct && s.Line {
				name, _, _ := strings.Cut(s.Entry.Name, " (")
				listed[name] = true
			} else if s.Entry.Name != "" && len(points) > 0 {
				listed[s.Entry.Name] = true
			} else if s.Entry.Name != "" && s.Across == nil {
				t.Errorf("%s: panel %q: series %q is in the legend but shows no point", f.Name, p.Name, s.Name)
			}
			for i, v := range points {
				for _, coordinate := range []int{1, 3, 4} {
					if math.IsNaN(v[coordinate]) {
						continue
					}
					x, y := q.X.Norm(v[0]), q.Y.Norm(v[coordinate])
					if !isShown(x) || !isShown(y) {
						t.Errorf("%s: panel %q: series %q leaves the axes at point %d (%v, %v)", f.Name, p.Name, s.Name, i, v[0], v[coordinate])
						return
					}
					if s.Across == nil && ground.Min.X < data.X(x) && data.X(x) < ground.Max.X && ground.Min.Y < data.Y(y) && data.Y(y) < ground.Max.Y {
						hidden++
					}
				}
			}
		}
		if hidden > 0 {
			t.Errorf("%s: panel %q: the legend hides %d points", f.Name, p.Name, hidden)
		}
	})
	for name := range listed {
		for _, r := range chart.RunsOf(name) {
			if f.Legend != LegendNone && !slices.Contains(texts, strings.TrimSpace(r.Text)) {
				t.Errorf("%s: %q is missing from the legend", f.Name, name)
			}
			explained[strings.TrimSpace(r.Text)] = true
		}
	}
	for _, text := range texts {
		if !explained[text] {
			t.Errorf("%s: no series is called %q", f.Name, text)
		}
	}
}

func isShown(share float64) bool { return -1e-9 <= share && share <= 1+1e-9 }

// textsOf returns the texts in a picture.
func textsOf(t *testing.T, svg []byte) []string {
	t.Helper()
	var texts []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if token == nil {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var text string
			if err := d.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	return texts
}

// poisonResult replaces numbers of a result by infinite, extreme or zero numbers, and draws its
// outputs.
func poisonResult[R any](t *testing.T, r *R, outputs func(r *R) []Output) {
	t.Helper()
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(r); err != nil {
		t.Fatal(err)
	}
	for seed, share := range []float64{.02, .3, 1} {
		bad := new(R)
		if err := gob.NewDecoder(bytes.NewReader(text.Bytes())).Decode(bad); err != nil {
			t.Fatal(err)
		}
		src := rand.New(rand.NewPCG(uint64(seed), 0))
		damageNumbers(reflect.ValueOf(bad), func() (v float64, ok bool) {
			all := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e308, -1e308, 1e-320, 1 + 1e-15}
			return all[src.IntN(len(all))], src.Float64() < share
		})
		drawWithoutPanic(t, func() []Output { return outputs(bad) }, seed == 0)
	}
}

// drawWithoutPanic fails the test if an output panics. Errors are allowed. It draws all formats
// only with allFormats.
func drawWithoutPanic(t *testing.T, outputs func() []Output, allFormats bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("a panic: %v\n%s", r, debug.Stack())
		}
	}()
	for _, o := range outputs() {
		if f, ok := o.(*Figure); ok && !allFormats {
			_, _ = f.SVG()
			_ = f.CSV()
		} else {
			_ = o.Write(t.TempDir())
		}
	}
}

// damageNumbers replaces numbers inside v.
func damageNumbers(v reflect.Value, draw func() (float64, bool)) {
	if m, ok := v.Interface().(*mat.Dense); ok && m != nil {
		damageNumbers(reflect.ValueOf(m.RawMatrix().Data), draw)
		return
	}
	switch v.Kind() {
	case reflect.Float64:
		if x, ok := draw(); ok {
			v.SetFloat(x)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			damageNumbers(v.Elem(), draw)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				damageNumbers(v.Field(i), draw)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			damageNumbers(v.Index(i), draw)
		}
	}
}

func mustRun[R any](t *testing.T) func(R, error) R {
	return func(r R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}
