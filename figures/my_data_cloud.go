package figures

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg/draw"
)

// The constant cells is the number of cells along each axis. A plot of a density counts the points
// in each cell.
const cells = 44

// A span is an axis of a cloud of points.
type span struct{ low, high float64 }

// axisOf returns an axis that covers the range of the given numbers. If a few numbers are far from
// the rest, the axis does not cover them.
func axisOf(v []float64) span {
	if len(v) == 0 {
		return span{0, 1}
	}
	// The constant rare is a share of the numbers. The rest are the numbers that remain after this
	// share is removed at each end. Let length be the range of the rest. If some numbers are far
	// from the rest, the axis extends beyond the rest at each end by at most beyond·length. To
	// decide this, the rest is extended at each end by beyond·length. Some numbers are far if the
	// range of all numbers is more than the factor far times this extended range.
	const rare, beyond, far = .01, .75, 2
	sorted := slices.Sorted(slices.Values(v))
	n := len(sorted)
	s := span{sorted[0], sorted[n-1]}
	k := int(rare * float64(n))
	low, high := sorted[k], sorted[n-1-k]
	if length := high - low; k > 0 && length > 0 && s.high-s.low > far*(1+2*beyond)*length {
		s = span{max(s.low, low-beyond*length), min(s.high, high+beyond*length)}
	}
	const narrow = 1e-9
	if by := .1 * max(math.Abs(s.low), math.Abs(s.high)); !(s.high-s.low > narrow*by) {
		by = cmp.Or(by, 1)
		s = span{s.low - by, s.high + by}
	}
	return s
}

// clamp returns v. If v is outside of the axis, it returns the nearest end of the axis.
func (s span) clamp(v float64) float64 { return min(max(v, s.low), s.high) }

// cell returns the index of the cell that contains v.
func (s span) cell(v float64) int {
	return min(max(int(cells*((s.clamp(v)-s.low)/(s.high-s.low))), 0), cells-1)
}

// centres returns the centres of the cells.
func (s span) centres() []float64 {
	all := make([]float64, cells)
	for i := range all {
		t := (float64(i) + .5) / cells
		all[i] = (1-t)*s.low + t*s.high
	}
	return all
}

// cloud plots points on the axes. If the glyphs would overlap, it instead plots the number of
// points in each cell. Points outside of the axes are drawn on the frame. The result noutside is
// the number of these points.
func cloud(p *Panel, across, up span, x, y []float64) (noutside int) {
	// Glyphs hardly overlap up to two limits. The constant many is the limit of the number of
	// points. The constant crowded is the limit of the mean number of points in those cells that
	// have a point.
	const many, crowded = 150, 1.5
	counts, filled := make([][]float64, cells), 0
	for i := range counts {
		counts[i] = make([]float64, cells)
	}
	var clampedX, clampedY []float64
	for i := range x {
		clampedX, clampedY = append(clampedX, across.clamp(x[i])), append(clampedY, up.clamp(y[i]))
		if clampedX[i] != x[i] || clampedY[i] != y[i] {
			noutside++
		}
		n := &counts[across.cell(x[i])][up.cell(y[i])]
		if *n == 0 {
			filled++
		}
		*n++
	}
	if len(x) >= many && float64(len(x)) > crowded*float64(filled) {
		p.Counts("rows", across.centres(), up.centres(), counts)
	} else {
		p.Scatter("rows", clampedX, clampedY, Style{Color: Blue, Glyph: draw.RingGlyph{}})
	}
	return noutside
}
