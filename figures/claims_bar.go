package figures

import (
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/claims"
)

// deciding returns the first measurement with the claim's verdict, or else the first one.
func deciding(c claims.Claim) *claims.Measurement {
	k := slices.IndexFunc(c.Measured, func(m claims.Measurement) bool { return m.Verdict == c.Verdict && !m.Aside })
	if k = max(k, 0); k < len(c.Measured) {
		return &c.Measured[k]
	}
	return nil
}

func failed(v claims.Verdict) bool {
	return v == claims.Differs || v == claims.PaperError || v == claims.Slip
}

// The unit of an intervalBar is the smallest difference that matters. A unit is barUnit characters
// wide, and the bar covers barReach units on each side of the bound.
const (
	barUnit  = 3
	barReach = 5
)

// intervalBar draws an interval in characters. An arrow marks an end that lies beyond the bar.
func intervalBar(p claims.Position) string {
	const half = barUnit * barReach
	line := []rune(strings.Repeat("·", 2*half+1))
	cell := func(v float64) int {
		return half + int(max(-half, min(half, math.Round(barUnit*v))))
	}
	for i := cell(p.Low); i <= cell(p.High); i++ {
		line[i] = '─'
	}
	line[half-barUnit], line[half], line[half+barUnit] = '[', '│', ']'
	line[cell(p.At)] = '●'
	if p.Low < -barReach {
		line[0] = '◂'
	}
	if p.High > barReach {
		line[2*half] = '▸'
	}
	return string(line)
}
