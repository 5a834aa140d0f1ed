package chart

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A noteLayout finds places for notes within the axes of a panel.
type noteLayout struct {
	q       *plot.Plot
	data    draw.Canvas
	strokes [][2]vg.Point  // parts of lines
	boxes   []vg.Rectangle // marks, and the notes that have a place
	shaded  bool           // there is a surface
}

// markRadius is the radius, in points, that notes keep free around each mark.
const markRadius = 3.5

// strokeMargin is the distance that notes keep from the middle of a line.
var strokeMargin = vg.Point{X: 1.5, Y: 1.5}

func (p *Panel) newNoteLayout(q *plot.Plot, data draw.Canvas) *noteLayout {
	l := &noteLayout{q: q, data: data, shaded: p.filled}
	for _, s := range slices.Concat(p.Series, p.Ghosts) {
		for _, stretch := range append(slices.Clip(s.Stretches), s.Ends(AxesOf(q))) {
			for i, v := range stretch {
				switch at := l.at(v[0], v[1]); {
				case !math.IsNaN(v[2]) || math.IsNaN(v[1]): // a surface or a band
				case s.Line || s.Across != nil:
					l.strokes = append(l.strokes, [2]vg.Point{l.at(stretch[max(i-1, 0)][0], stretch[max(i-1, 0)][1]), at})
				default:
					l.boxes = append(l.boxes, around(at, markRadius, markRadius))
				}
			}
		}
	}
	return l
}

func (l *noteLayout) at(x, y float64) vg.Point {
	return vg.Point{X: l.data.X(l.q.X.Norm(x)), Y: l.data.Y(l.q.Y.Norm(y))}
}

// around returns a rectangle with the given centre. The lengths w and h are half its sides.
func around(centre vg.Point, w, h vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: centre.Sub(vg.Point{X: w, Y: h}), Max: centre.Add(vg.Point{X: w, Y: h})}
}

// noteDistances are the distances of a note from its point, in points, from the best to the worst.
// A note that is farther away than leaderFrom is connected with its point by a stroke.
var noteDistances = []vg.Length{6, 9, 12, 18, 26, 36}

const leaderFrom = 12

// noteSample is the length of the sample of a line before its name.
const noteSample = 12

// noteDirections are the directions from a point to its note, from the best to the worst.
var noteDirections = []vg.Point{{X: 1}, {Y: 1}, {Y: -1}, {X: -1}, {X: 1, Y: 1}, {X: 1, Y: -1}, {X: -1, Y: 1}, {X: -1, Y: -1}}

// write draws a note. It reports whether there is a place for the note.
func (l *noteLayout) write(n Note) bool {
	const pad = 2
	style, from, sample := directText(), l.at(n.X, n.Y), vg.Length(0)
	if n.sample != nil {
		sample = noteSample + keySample
	}
	directions := noteDirections
	if n.above {
		directions = slices.Insert(slices.Clone(directions), 0, vg.Point{X: 1, Y: 1})
	}
	w, h := (sample+style.Width(n.Text))/2+pad, style.Height(n.Text)/2+pad/2
	for _, distance := range noteDistances {
		for _, d := range directions {
			box := around(from.Add(vg.Point{X: d.X * (w + distance), Y: d.Y * (h + distance)}), w, h)
			if !l.isFree(box) {
				continue
			}
			if distance > leaderFrom {
				to := vg.Point{X: max(box.Min.X, min(from.X, box.Max.X)), Y: max(box.Min.Y, min(from.Y, box.Max.Y))}
				l.data.StrokeLine2(draw.LineStyle{Color: Grey, Width: .5}, from.X, from.Y, to.X, to.Y)
			}
			if l.shaded {
				l.data.SetColor(color.NRGBA{255, 255, 255, 190}) // the note is readable on contours
				l.data.Fill(box.Path())
			}
			left := vg.Point{X: box.Min.X + pad, Y: (box.Min.Y + box.Max.Y) / 2}
			if n.sample != nil {
				l.data.StrokeLine2(n.sample.Line(), left.X, left.Y, left.X+noteSample, left.Y)
			}
			l.data.FillText(style, left.Add(vg.Point{X: sample}), n.Text)
			l.boxes = append(l.boxes, box)
			return true
		}
	}
	return false
}

// isFree reports whether a box lies within the axes and covers nothing.
func (l *noteLayout) isFree(box vg.Rectangle) bool {
	frame := l.data.Rectangle
	if box.Min.X < frame.Min.X || box.Min.Y < frame.Min.Y || box.Max.X > frame.Max.X || box.Max.Y > frame.Max.Y {
		return false
	}
	return !slices.ContainsFunc(l.boxes, func(b vg.Rectangle) bool {
		return b.Min.X < box.Max.X && box.Min.X < b.Max.X && b.Min.Y < box.Max.Y && box.Min.Y < b.Max.Y
	}) && !slices.ContainsFunc(l.strokes, func(s [2]vg.Point) bool {
		return crosses(s[0], s[1], vg.Rectangle{Min: box.Min.Sub(strokeMargin), Max: box.Max.Add(strokeMargin)})
	})
}

// crosses reports whether the line from a to b meets a box. It clips the line at each side of the
// box.
func crosses(a, b vg.Point, box vg.Rectangle) bool {
	first, last := vg.Length(0), vg.Length(1) // the part of the line that is not clipped
	for _, side := range [][2]vg.Length{{a.X - b.X, a.X - box.Min.X}, {b.X - a.X, box.Max.X - a.X}, {a.Y - b.Y, a.Y - box.Min.Y}, {b.Y - a.Y, box.Max.Y - a.Y}} {
		switch run, room := side[0], side[1]; {
		case run == 0 && room < 0:
			return false
		case run < 0:
			first = max(first, room/run)
		case run > 0:
			last = min(last, room/run)
		}
	}
	return first <= last
}
