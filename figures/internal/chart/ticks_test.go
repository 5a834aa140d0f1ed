package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{-4, .5, "10⁻⁴ 10⁻³ 10⁻² 10⁻¹ 1"}, {-10, 1, "10⁻¹⁰ 10⁻⁸ 10⁻⁶ 10⁻⁴ 10⁻² 1"}, {-3, 1, "10⁻³ 10⁻² 10⁻¹ 1 10"}, {-16, 12, "10⁻¹⁶ 10⁻¹² 10⁻⁸ 10⁻⁴ 1 10⁴ 10⁸ 10¹²"},
		{0, 2, "1 10 100"}, {-1.75, .3, "0.02 0.05 0.1 0.2 0.5 1"}, {-1.5, -.6, "0.05 0.1 0.2"}, {-.6, .2, "0.3 0.5 0.7 1"}, {6.5, 7.5, "5·10⁶ 10⁷ 2·10⁷"}, {-1.69, -.9, "0.03 0.05 0.07 0.1"}} {
		var labels []string
		for _, tick := range (logTicks{7, math.Inf(-1)}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("ticks from %v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestLowestTickOfAFlooredAxis(t *testing.T) {
	for low, want := range map[float64]string{-10: "≤ 10⁻¹⁰", -6: "≤ 10⁻⁶", -4: "≤ 10⁻⁴"} {
		ticks := logTicks{7, low}.Ticks(low, .5)
		if ticks[0].Label != want || strings.Contains(ticks[1].Label, "≤") {
			t.Errorf("the axis from 1e%g begins with %q, %q", low, ticks[0].Label, ticks[1].Label)
		}
	}
}

// Measured values have labels as far as there is room for them.
func TestLabelsOfMeasuredValues(t *testing.T) {
	p := NewPanel("p", "", "x", "y").LabelX(Log10s([]float64{8, 20, 60, 200}))
	for width, want := range map[vg.Length]string{200: "8 20 60 200", 40: "8 60", 12: "8"} {
		var labels []string
		for _, tick := range p.withFewerLabels(Box{.8, 2.4, 0, 1}, width).Plot.X.Tick.Marker.Ticks(.8, 2.4) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%v points wide: %s, want %s", width, got, want)
		}
	}
}

// An axis of steps begins at step 0, and has labels as far as there is room for them.
func TestLabelsOfSteps(t *testing.T) {
	for width, want := range map[vg.Length]string{200: "0 1 2 5 10 20 50 100", 90: "0 1 10 100", 40: "0 10 100"} {
		p, high := NewPanel("p", "", "steps", "y").StepsX(), math.Log10(101)
		var labels []string
		for _, tick := range p.withFewerLabels(Box{0, high, 0, 1}, width).Plot.X.Tick.Marker.Ticks(0, high) {
			labels = append(labels, tick.Label)
			if s := math.Pow(10, tick.Value) - 1; fmt.Sprintf("%.0f", s) != tick.Label {
				t.Errorf("the label of step %v is %s", s, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%v points wide: %s, want %s", width, got, want)
		}
	}
}

// An axis with labels beside its numbers has no number beyond its ends, also with fewer labels.
func TestTicksBesideNumbers(t *testing.T) {
	for by, want := range map[float64]string{0: "0@-3.9 10⁻³@-3 10⁻²@-2 10⁻¹@-1 1@0 chosen@1.5", 3: "0@-3.9 10⁻²@-2 1@0 chosen@1.5"} {
		ticker := besideTicks{logTicks{5, math.Inf(-1)}, -3.2, .6, []plot.Tick{{Value: -3.9, Label: "0"}, {Value: 1.5, Label: "chosen"}}}
		var got []string
		for _, tick := range fewerLabels(ticker, by).Ticks(-4, 1.6) {
			got = append(got, fmt.Sprintf("%s@%.3g", tick.Label, tick.Value))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%g labels fewer: %s, want %s", by, text, want)
		}
	}
}

// Strokes are separate lines. A stroke without one of its ends is not drawn.
func TestStrokes(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	v := []float64{1, 2, 3}
	p.Strokes("s", v, []float64{0, math.NaN(), 0}, v, v, Style{})
	if got, want := (&Figure{Panels: [][]*Panel{{p}}}).CSV(), "panel,series,x,y,z,low,high\np,s,1,0,,,\np,s,1,1,,,\np,s,3,0,,,\np,s,3,3,,,\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := len(p.Series[0].Stretches); n != 2 || p.LegendEntries(p.Axes())[0].Name != "s" {
		t.Errorf("%d strokes with the legend %v", n, p.LegendEntries(p.Axes()))
	}
}

func TestTypesetAll(t *testing.T) {
	for text, want := range map[string]string{
		"3.4e-09 (8.6e-10 to 1.3e-08)":     "3.4·10⁻⁹ (8.6·10⁻¹⁰ to 1.3·10⁻⁸)",
		"below 1e-06":                      "below 10⁻⁶",
		"-0.0003 ± 0.0009":                 "−0.0003 ± 0.0009",
		"quasi-Newton, rounds to .851, N1": "quasi-Newton, rounds to .851, N1",
	} {
		if got := TypesetAll(text); got != want {
			t.Errorf("TypesetAll(%q) = %q, want %q", text, got, want)
		}
	}
}

// A falling axis has the labels of the values without the sign, the greatest at the left.
func TestFallingTicks(t *testing.T) {
	p := NewPanel("p", "", "x", "y").LogAxes(true, false).FallingX()
	var got []string
	for _, tick := range p.Plot.X.Tick.Marker.Ticks(-1, 2) {
		got = append(got, fmt.Sprintf("%v: %s", tick.Value, tick.Label))
	}
	if want := "-1: 10, 0: 1, 1: 0.1, 2: 0.01"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	if fewer := fewerLabels(p.Plot.X.Tick.Marker, 2); len(fewer.Ticks(-4, 4)) >= len(p.Plot.X.Tick.Marker.Ticks(-4, 4)) {
		t.Error("a falling axis cannot have fewer labels")
	}
}
