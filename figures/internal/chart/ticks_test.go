package chart

import (
	"math"
	"strings"
	"testing"
)

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{-4, .5, "10⁻⁴ 10⁻³ 10⁻² 10⁻¹ 1"}, {-10, 1, "10⁻¹⁰ 10⁻⁸ 10⁻⁶ 10⁻⁴ 10⁻² 1"}, {-3, 1, "10⁻³ 10⁻² 10⁻¹ 1 10"}, {-16, 12, "10⁻¹⁶ 10⁻¹² 10⁻⁸ 10⁻⁴ 1 10⁴ 10⁸ 10¹²"},
		{0, 2, "1 10 100"}, {-1.75, .3, "0.02 0.05 0.1 0.2 0.5 1"}, {-1.5, -.6, "0.05 0.1 0.2"}, {6.5, 7.5, "5·10⁶ 10⁷ 2·10⁷"}} {
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
