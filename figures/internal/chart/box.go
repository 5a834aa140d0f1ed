package chart

import "gonum.org/v1/plot"

// A Box is the range of the axes of a plot. If there are no data, the range is from +Inf to −Inf.
type Box struct{ Xmin, Xmax, Ymin, Ymax float64 }

func AxesOf(q *plot.Plot) Box { return Box{q.X.Min, q.X.Max, q.Y.Min, q.Y.Max} }

func (b Box) setAxes(q *plot.Plot) {
	q.X.Min, q.X.Max, q.Y.Min, q.Y.Max = b.Xmin, b.Xmax, b.Ymin, b.Ymax
}

func (b Box) Union(c Box) Box {
	return Box{min(b.Xmin, c.Xmin), max(b.Xmax, c.Xmax), min(b.Ymin, c.Ymin), max(b.Ymax, c.Ymax)}
}

// square returns a square box with the same centre as the box b. The side of the square is the
// longer side of b.
func (b Box) square() Box {
	half := max(b.Xmax-b.Xmin, b.Ymax-b.Ymin) / 2
	x, y := (b.Xmin+b.Xmax)/2, (b.Ymin+b.Ymax)/2
	return Box{x - half, x + half, y - half, y + half}
}
