package chart

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A noteLayout finds places for notes within the axes of a panel.
type noteLayout struct {
	q       *plot.Plot
	data    draw.Canvas
	strokes [][2]vg.Point // parts of lines, and the strokes from points to their notes
	marks   []vg.Point
	boxes   []vg.Rectangle   // marks, and the notes that have a place
	notes   []vg.Rectangle   // the notes among the boxes, which no stroke to a note crosses
	scale   *plotter.HeatMap // of the surface; nil: there is none
	// Notes avoid the contours of a surface, if there is a place without contours.
	contours []contourStroke
}

// markRadius is the radius, in points, that notes keep free around each mark.
const markRadius = 3.5

// strokeMargin is the distance that notes keep from the middle of a line.
var strokeMargin = vg.Point{X: 1.5, Y: 1.5}

func (p *Panel) newNoteLayout(q *plot.Plot, data draw.Canvas) *noteLayout {
	l := &noteLayout{q: q, data: data, scale: p.Scale}
	for _, s := range slices.Concat(p.Series, p.Ghosts) {
		for _, stretch := range append(slices.Clip(s.Stretches), s.Ends(AxesOf(q))) {
			for i, v := range stretch {
				switch at := l.at(v[0], v[1]); {
				case !math.IsNaN(v[2]) || math.IsNaN(v[1]): // a surface or a band
				case s.Line || s.Across != nil:
					l.strokes = append(l.strokes, [2]vg.Point{l.at(stretch[max(i-1, 0)][0], stretch[max(i-1, 0)][1]), at})
				default:
					l.marks, l.boxes = append(l.marks, at), append(l.boxes, around(at, markRadius, markRadius))
				}
			}
		}
	}
	for _, v := range p.contours {
		for i := range v.line {
			a, b := v.line[max(i-1, 0)], v.line[i]
			l.contours = append(l.contours, contourStroke{v.level, l.at(a.X, a.Y), l.at(b.X, b.Y)})
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
// A note that is farther away than leaderFrom is connected with its point by a stroke. To avoid
// contours, a note may also be as far away as in farDistances.
var (
	noteDistances = []vg.Length{6, 9, 12, 18, 26, 36}
	farDistances  = []vg.Length{50, 70, 90}
)

const leaderFrom = 12

// nearLeaderFrom replaces leaderFrom on a surface. A stroke to a nearer note would be a dot.
const nearLeaderFrom = leaderGap + 3

// leaderGap is the distance of a stroke from its point, so that it does not enter a mark.
const leaderGap = 5

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
	if n.first != (vg.Point{}) {
		directions = slices.Insert(slices.Clone(directions), 0, n.first)
	}
	distances := noteDistances
	if n.near {
		distances = slices.Insert(slices.Clone(distances), 0, noteDistances[0]/2)
	}
	box, ok := l.place(from, (sample+style.Width(n.Text))/2+pad, style.Height(n.Text)/2+pad/2, directions, distances)
	if !ok {
		return false
	}
	to := nearest(from, box)
	leader, leaderFrom := draw.LineStyle{Color: Grey, Width: .5}, vg.Length(leaderFrom)
	if l.scale != nil { // darker than the contours, and also to a nearer note, because a surface has many marks
		leader, leaderFrom = draw.LineStyle{Color: Black, Width: .6}, nearLeaderFrom
	}
	away := to.Sub(from)
	if distance := vg.Length(math.Hypot(float64(away.X), float64(away.Y))); max(away.X, -away.X, away.Y, -away.Y) > leaderFrom {
		from = from.Add(away.Scale(leaderGap / distance))
		l.data.StrokeLine2(leader, from.X, from.Y, to.X, to.Y)
		l.strokes = append(l.strokes, [2]vg.Point{from, to})
	}
	l.cover(box, 100) // contours remain visible below a note, because their rests beside it would look like strokes
	left := vg.Point{X: box.Min.X + pad, Y: (box.Min.Y + box.Max.Y) / 2}
	if n.sample != nil {
		l.data.StrokeLine2(n.sample.Line(), left.X, left.Y, left.X+noteSample, left.Y)
	}
	l.data.FillText(style, left.Add(vg.Point{X: sample}), n.Text)
	l.boxes, l.notes = append(l.boxes, box), append(l.notes, box)
	return true
}

// nearest returns the point of a box that is nearest to the given point.
func nearest(from vg.Point, box vg.Rectangle) vg.Point {
	return vg.Point{X: max(box.Min.X, min(from.X, box.Max.X)), Y: max(box.Min.Y, min(from.Y, box.Max.Y))}
}

// place returns the best free box beside a point. The lengths w and h are half its sides. A box
// without contours is better than a nearer one with contours.
func (l *noteLayout) place(from vg.Point, w, h vg.Length, directions []vg.Point, distances []vg.Length) (box vg.Rectangle, ok bool) {
	beside := func(distances []vg.Length, free func(box vg.Rectangle) bool) bool {
		for _, distance := range distances {
			for _, d := range directions {
				box = around(from.Add(vg.Point{X: d.X * (w + distance), Y: d.Y * (h + distance)}), w, h)
				if free(box) && l.isClear(from, nearest(from, box)) {
					return true
				}
			}
		}
		return false
	}
	ok = len(l.contours) > 0 && beside(slices.Concat(distances, farDistances), func(box vg.Rectangle) bool { return l.isFree(box) && !l.crossesContour(box, math.NaN()) })
	ok = ok || beside(distances, l.isFree)
	return box, ok
}

// isClear reports whether the stroke from a point to its note crosses no other note, and no mark at
// another point.
func (l *noteLayout) isClear(from, to vg.Point) bool {
	away := to.Sub(from)
	begin := from.Add(away.Scale(min(1, leaderGap/vg.Length(math.Hypot(float64(away.X), float64(away.Y))))))
	return !slices.ContainsFunc(l.notes, func(note vg.Rectangle) bool { return crosses(from, to, note) }) &&
		!slices.ContainsFunc(l.marks, func(at vg.Point) bool {
			return at != from && crosses(begin, to, around(at, markRadius, markRadius))
		})
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

// crosses reports whether the line from a to b meets a box.
func crosses(a, b vg.Point, box vg.Rectangle) bool {
	first, last := clip(a, b, box)
	return first <= last
}

// clip clips the line from a to b at each side of a box. It returns the shares of the line at which
// the rest begins and ends. If there is no rest, first is greater than last.
func clip(a, b vg.Point, box vg.Rectangle) (first, last vg.Length) {
	first, last = 0, 1
	for _, side := range [][2]vg.Length{{a.X - b.X, a.X - box.Min.X}, {b.X - a.X, box.Max.X - a.X}, {a.Y - b.Y, a.Y - box.Min.Y}, {b.Y - a.Y, box.Max.Y - a.Y}} {
		switch run, room := side[0], side[1]; {
		case run == 0 && room < 0:
			return 1, 0
		case run < 0:
			first = max(first, room/run)
		case run > 0:
			last = min(last, room/run)
		}
	}
	return first, last
}

// A contourStroke is a part of a contour on the canvas.
type contourStroke struct {
	level    float64
	from, to vg.Point
}

// crossesContour reports whether a box meets a contour of another level than the given one.
func (l *noteLayout) crossesContour(box vg.Rectangle, level float64) bool {
	return slices.ContainsFunc(l.contours, func(s contourStroke) bool { return s.level != level && crosses(s.from, s.to, box) })
}

// nameContours writes names on at most the given number of levels.
func (l *noteLayout) nameContours(most int, names []levelName) {
	for _, n := range names {
		if most > 0 && l.nameContour(n) {
			most--
		}
	}
}

// contourMargins are the distances of a name from everything but its own contour, in points, from
// the best to the worst. Places on a contour are contourStep points apart.
var contourMargins = []vg.Length{12, 8, 5, 2.5}

const contourStep = 4

// nameContour interrupts a contour of a level by its name. It reports whether there is a place for
// the name.
func (l *noteLayout) nameContour(n levelName) bool {
	style := directText()
	style.XAlign = draw.XCenter
	w, high := style.Width(n.text)/2+1, style.Height(n.text)/2
	for _, margin := range contourMargins {
		for _, s := range l.contours {
			if s.level != n.level {
				continue
			}
			along := s.to.Sub(s.from)
			places := 1 + int(math.Hypot(float64(along.X), float64(along.Y))/contourStep)
			for k := range places {
				at := s.from.Add(along.Scale((vg.Length(k) + .5) / vg.Length(places)))
				room := around(at, w+margin, high+margin)
				if !l.isFree(room) || l.crossesContour(room, n.level) {
					continue
				}
				box := around(at, w, high)
				l.cover(box, 255)
				l.data.FillText(style, at, n.text)
				l.boxes = append(l.boxes, box)
				return true
			}
		}
	}
	return false
}

// cover draws the shades of the surface over the parts of contours within a box. The opacity is from
// 0 to 255.
func (l *noteLayout) cover(box vg.Rectangle, opacity uint8) {
	const width = 2 // the contour and its faint edges
	for _, s := range l.contours {
		if first, last := clip(s.from, s.to, box); first < last {
			a, b := s.from.Add(s.to.Sub(s.from).Scale(first)), s.from.Add(s.to.Sub(s.from).Scale(last))
			over := color.NRGBAModel.Convert(shade(l.scale, s.level)).(color.NRGBA)
			over.A = opacity
			l.data.StrokeLine2(draw.LineStyle{Color: over, Width: width}, a.X, a.Y, b.X, b.Y)
		}
	}
}

// shade returns the colour of a value on the heat map of a surface.
func shade(h *plotter.HeatMap, value float64) color.Color {
	shades := h.Palette.Colors()
	k := (math.Log(value) - h.Min) / (h.Max - h.Min) * float64(len(shades)-1)
	return shades[max(0, min(int(math.Round(k)), len(shades)-1))]
}
