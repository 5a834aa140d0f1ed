package figures

import (
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
)

func TestIntervalBars(t *testing.T) {
	for _, c := range []struct {
		at   claims.Position
		want string
	}{
		{claims.Position{Low: -.5, At: 0, High: .5}, "············[──●──]············"},
		{claims.Position{Low: 1.25, At: 2, High: 2.75}, "············[··│··]──●──·······"},
		{claims.Position{Low: -9, At: -7, High: -4.5}, "◂─··········[··│··]············"},
		{claims.Position{Low: 3, At: 4, High: 70}, "············[··│··]·····───●──▸"},
	} {
		if got := intervalBar(c.at); got != c.want {
			t.Errorf("%+v\n%s\n%s", c.at, got, c.want)
		}
	}
}

func TestFindingsBars(t *testing.T) {
	p := NewPanel("findings", "", "distance", "")
	bar(p, "inside", claims.Position{Low: -2, At: -1, High: 3}, 0, verdictStyle(claims.Confirmed))
	bar(p, "beyond", claims.Position{Low: 4, At: 7, High: 9}, -1, verdictStyle(claims.Differs))
	bar(p, "far", claims.Position{Low: -9, At: -8, High: -7}, -2, verdictStyle(claims.PaperError))
	bar(p, "exact", claims.Position{Low: 2, At: 2, High: 2}, -3, verdictStyle(claims.Slip))
	if most := p.Rows(60, []string{"inside\nconfirmed", "beyond, in words that need more than one line\ndiffers", "far", "exact"}); most < 3 {
		t.Errorf("the longest label has %d lines", most)
	}
	if most := p.RowEnds(200, []LegendEntry{{Name: "confirmed\n1.2", Style: verdictStyle(claims.Confirmed)}, {Name: "differs", Style: verdictStyle(claims.Differs)}}); most != 2 {
		t.Errorf("the longest end has %d lines", most)
	}
	f := &Figure{Name: "bars", Width: 400, Height: 240, Legend: LegendNone, Panels: [][]*Panel{{p}}}
	for _, want := range []string{"“inside” from −2 to 3", "“beyond” from 4 to 5"} {
		if alt := f.Alt(); !strings.Contains(alt, want) {
			t.Errorf("no %q in %q", want, alt)
		}
	}
	all := f.CSV()
	for name, points := range map[string]int{"s,inside": 2, "inside, number": 1, "inside, beyond the axis": 0, "s,beyond": 2, "beyond, number": 0, "far, number": 0, "s,far": 0, "beyond, beyond the axis\",5.5": 1, "far, beyond the axis\",-5.5": 1, "s,exact,": 0, "exact, number": 1} {
		if n := strings.Count(all, name); n != points {
			t.Errorf("%d points of %s in\n%s", n, name, all)
		}
	}
	svg, err := f.SVG()
	for _, want := range []string{">confirmed<", ">1.2<", ">differs<"} {
		if err != nil || !strings.Contains(string(svg), want) {
			t.Errorf("no text %s beside the rows: %v", want, err)
		}
	}
	checkTexts(t, f)
}

// A row of FindingsBars names the paper's claim, and beside its verdict the measured quantity.
func TestFindingsBarsJudgeClaims(t *testing.T) {
	row := &claims.Measurement{Rule: "below 1e-06, tiny", Smallest: 5e-7, Ours: experiment.Estimate{Mean: 3e-9, Margin: math.NaN(), N: 1}}
	row.Verdict = claims.Confirmed
	want := "confirmed: 3.0·10⁻⁹, exact; claim: below 10⁻⁶, unit 5·10⁻⁷\nlargest distance"
	if got := rowEnd(claims.Finding{Text: "It is so: largest distance", Row: row}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The marks of holding, differing and open claims have different shapes.
func TestVerdictsDifferInShape(t *testing.T) {
	shapes := make(map[any]claims.Verdict)
	for _, v := range []claims.Verdict{claims.Confirmed, claims.Differs, claims.PaperError, claims.NotDecided} {
		shape := verdictStyle(v).Glyph
		if other, is := shapes[shape]; is {
			t.Errorf("%s and %s have the mark %T", v, other, shape)
		}
		shapes[shape] = v
	}
}
