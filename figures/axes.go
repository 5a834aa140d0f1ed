package figures

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// headroom is the part of the data's range by which an axis is longer at either end.
const headroom = .04

// pad returns the ends of an axis for data from low to high: 0 and 1 if there
// are none, and more around a single value.
func pad(low, high, share float64) (from, to float64) {
	if low > high {
		return 0, 1
	}
	by := share * (high - low)
	if narrow(low, high) {
		by = cmp.Or(.1*max(math.Abs(low), math.Abs(high)), 1)
	}
	return low - by, high + by
}

// axes returns the range of the panel's axes, without the headroom of a legend:
// that of the data, widened upwards and downwards for lines, to all sides for glyphs,
// and not at all for surfaces, which fill their panel.
func (p *Panel) axes() box {
	b := axesOf(p.plot)
	if p.fixed {
		return b
	}
	b = p.withGhosts(b)
	x, y := 0.0, headroom
	if p.marked {
		x = headroom
	}
	if p.filled {
		x, y = 0, 0
	}
	b.xmin, b.xmax = pad(b.xmin, b.xmax, x)
	b.ymin, b.ymax = pad(b.ymin, b.ymax, y)
	if p.Equal {
		b = b.square()
	}
	return b
}

// withGhosts returns the axes of the panel's data, longer for its ghosts.
func (p *Panel) withGhosts(b box) box {
	for _, s := range p.ghosts {
		for _, v := range slices.Concat(s.stretches...) {
			b = b.union(box{v[0], v[0], v[1], v[1]})
		}
	}
	data := axesOf(p.plot)
	b.xmin, b.xmax = bounded(b.xmin, b.xmax, data.xmin, data.xmax)
	b.ymin, b.ymax = bounded(b.ymin, b.ymax, data.ymin, data.ymax)
	return b
}

// bounded returns the part of an axis from low to high, which includes that from
// least to most, that is at most twice as long as the latter: where both ends must
// give way they do so alike.
func bounded(low, high, least, most float64) (from, to float64) {
	if narrow(least, most) {
		return least, most
	}
	room, below, above := most-least, least-low, high-most
	if below+above <= room {
		return low, high
	}
	below, above = min(below, max(room/2, room-above)), min(above, max(room/2, room-below))
	return least - below, most + above
}

// fit returns the panel with so many labels on its x axis as have room beside each other on
// one of that length.
func (p *Panel) fit(axes box, length vg.Length) *Panel {
	const gap = 3 // between two labels
	fitted, q := *p, *p.plot
	fitted.plot = &q
	crowded := func() bool {
		ticks := q.X.Tick.Marker.Ticks(axes.xmin, axes.xmax)
		for i := 1; i < len(ticks); i++ {
			apart := length * vg.Length((ticks[i].Value-ticks[i-1].Value)/(axes.xmax-axes.xmin))
			if apart < gap+(q.X.Tick.Label.Width(ticks[i-1].Label)+q.X.Tick.Label.Width(ticks[i].Label))/2 {
				return true
			}
		}
		return false
	}
	for fewer := 0.0; fewer < manyTicks && crowded(); fewer++ {
		switch t := p.plot.X.Tick.Marker.(type) {
		case roundTicks:
			q.X.Tick.Marker = roundTicks{manyTicks - fewer}
		case logTicks:
			q.X.Tick.Marker = logTicks{max(t.wanted-fewer, 1), t.floor}
		}
	}
	return &fitted
}
