package chart

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// headroom is the length that is added to an axis at each end. It is a share of the range of the
// data.
const headroom = .04

// padRange returns the ends of an axis for data in the range [low, high]. It extends the range of
// the data by the given fraction at each end. If there are no data, the ends are 0 and 1. If low
// and high are almost equal, padRange extends the range farther on both sides, so that the axis has
// room for ticks.
func padRange(low, high, fraction float64) (from, to float64) {
	if low > high {
		return 0, 1
	}
	by := fraction * (high - low)
	if isNarrow(low, high) {
		by = cmp.Or(.1*max(math.Abs(low), math.Abs(high)), 1)
	}
	return low - by, high + by
}

// Axes returns the range of the panel's axes, without the headroom for a legend. For lines, the
// axes extend beyond the data upwards and downwards. For glyphs, they extend beyond the data on all
// sides. A surface fills its panel, so the axes do not extend beyond it.
func (p *Panel) Axes() Box { return p.padded(p.WithGhosts(AxesOf(p.Plot))) }

// padded returns the axes for data and ghosts in the box b. If the axes are fixed, it returns these.
func (p *Panel) padded(b Box) Box {
	if p.isFixed {
		return AxesOf(p.Plot)
	}
	x, y := 0.0, headroom
	if p.marked {
		x = headroom
	}
	if p.filled {
		x, y = 0, 0
	}
	b.Xmin, b.Xmax = padRange(b.Xmin, b.Xmax, x)
	b.Ymin, b.Ymax = padRange(b.Ymin, b.Ymax, y)
	if p.Equal {
		b = b.square()
	}
	return b
}

// WithGhosts returns a box that contains the box b and the ghosts of the panel.
func (p *Panel) WithGhosts(b Box) Box {
	for _, s := range p.Ghosts {
		for _, v := range slices.Concat(s.Stretches...) {
			b = b.Union(Box{v[0], v[0], v[1], v[1]})
		}
	}
	data := AxesOf(p.Plot)
	b.Xmin, b.Xmax = extendRange(b.Xmin, b.Xmax, data.Xmin, data.Xmax)
	b.Ymin, b.Ymax = extendRange(b.Ymin, b.Ymax, data.Ymin, data.Ymax)
	return b
}

// extendRange extends the range [oldLow, oldHigh] to [low, high], but at most to twice its length.
// If this is not enough, the two ends share the additional length equally. An end that needs less
// than its half leaves the rest to the other end.
func extendRange(low, high, oldLow, oldHigh float64) (from, to float64) {
	if isNarrow(oldLow, oldHigh) {
		return oldLow, oldHigh
	}
	room, below, above := oldHigh-oldLow, oldLow-low, high-oldHigh
	if below+above <= room {
		return low, high
	}
	below, above = min(below, max(room/2, room-above)), min(above, max(room/2, room-below))
	return oldLow - below, oldHigh + above
}

// withFewerLabels returns a copy of the panel whose x labels do not overlap on an axis of the given
// length.
func (p *Panel) withFewerLabels(axes Box, length vg.Length) *Panel {
	const gap = 3 // in points, between two labels
	fitted, q := *p, *p.Plot
	fitted.Plot = &q
	crowded := func() bool {
		ticks := q.X.Tick.Marker.Ticks(axes.Xmin, axes.Xmax)
		for i := 1; i < len(ticks); i++ {
			apart := length * vg.Length((ticks[i].Value-ticks[i-1].Value)/(axes.Xmax-axes.Xmin))
			if apart < gap+(q.X.Tick.Label.Width(ticks[i-1].Label)+q.X.Tick.Label.Width(ticks[i].Label))/2 {
				return true
			}
		}
		return false
	}
	for fewer := 0.0; fewer < manyTicks && crowded(); fewer++ {
		q.X.Tick.Marker = fewerLabels(p.Plot.X.Tick.Marker, fewer)
	}
	return &fitted
}

// IsSteep reports whether values need a logarithmic axis. They do if all are positive, and the
// highest is more than steepRatio times the lowest. It omits values that cannot be drawn.
func IsSteep(values []float64) bool {
	const steepRatio = 5
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if Drawable(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	return low > 0 && high > steepRatio*low
}
