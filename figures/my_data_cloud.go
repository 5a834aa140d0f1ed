package figures

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg/draw"
)

// cells is the number of cells of a density along each axis.
const cells = 44

// A span is an axis of a cloud of points.
type span struct{ low, high float64 }

// axisOf returns an axis for numbers. The axis covers the range of the numbers, without a few
// numbers that are far from the rest.
func axisOf(v []float64) span {
	if len(v) == 0 {
		return span{0, 1}
	}
	// The rest are the numbers without the share rare at each end. If there are far numbers, the
	// axis extends beyond the rest at each end, by at most the room beyond·length, where length is
	// the range of the rest. There are far numbers if the range of all numbers is more than far
	// times the length of the rest with this room at both ends.
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

// clamp returns v, or the nearest end of the axis if v is outside.
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

// cloud plots points on the axes. If glyphs would overlap, it plots counts in cells instead. Points
// outside of the axes are drawn on the frame. noutside is the number of these points.
func cloud(p *Panel, across, up span, x, y []float64) (noutside int) {
	// Up to these limits, glyphs hardly overlap. many is the limit for the number of points.
	// crowded is the limit for the mean number of points in a cell that has a point.
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
