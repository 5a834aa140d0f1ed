package chart

import (
	"cmp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// directLabel is a label beside the rightmost point of a line. It shows the name of the line.
type directLabel struct {
	Name  string
	style Style
	End   point
}

// DirectLabels returns the labels of the panel's lines. A label shows the name of its line up to
// the first parenthesis.
func (p *Panel) DirectLabels() []directLabel {
	var all []directLabel
	for _, s := range p.Series {
		if p.Direct && s.Line && s.Entry.Name != "" {
			points := slices.Concat(s.Stretches...)
			name, _, _ := strings.Cut(s.Entry.Name, " (")
			end := slices.MaxFunc(points, func(v, w point) int { return cmp.Compare(v[0], w[0]) })
			all = append(all, directLabel{name, s.Entry.Style, end})
		}
	}
	return all
}

// A label is directHeight high. It begins with a sample of its line, which has the length
// directSample. The gap between the axes and a label is directGap.
const directHeight, directSample, directGap = 10, 16, 5

// directWidth returns the width of the labels to the right of the axes.
func (p *Panel) directWidth() (width vg.Length) {
	for _, l := range p.DirectLabels() {
		width = max(width, 2*directGap+directSample+keySample+directText().Width(l.Name))
	}
	return width
}

// drawDirect draws the notes within the axes and the labels to the right of them. A stroke connects
// the end of each line with its label, unless the style of the line has Leaves.
func (p *Panel) drawDirect(q *plot.Plot, data draw.Canvas) {
	labels, notes := p.DirectLabels(), p.newNoteLayout(q, data)
	if p.NamesInside {
		labels = slices.DeleteFunc(labels, func(l directLabel) bool {
			const near = .02 // a share of the axis
			return q.X.Norm(l.End[0]) < 1-near && notes.write(Note{Text: l.Name, X: l.End[0], Y: l.End[1], sample: &l.style})
		})
	}
	for _, n := range p.Notes {
		notes.write(n)
	}
	notes.nameContours(p.named, p.levelNames)
	y := func(l directLabel) vg.Length { return data.Y(q.Y.Norm(l.End[1])) }
	slices.SortStableFunc(labels, func(a, b directLabel) int { return cmp.Compare(y(a), y(b)) })
	at := SpreadOut(Mapped(labels, y), directHeight, data.Min.Y-directHeight, data.Max.Y)
	for i, l := range labels {
		from := vg.Point{X: data.X(q.X.Norm(l.End[0])), Y: y(l)}
		to := vg.Point{X: data.Max.X + directGap, Y: at[i]}
		if !l.style.Leaves {
			data.StrokeLine2(draw.LineStyle{Color: l.style.Line().Color, Width: .5}, from.X, from.Y, to.X, to.Y)
		}
		data.StrokeLine2(l.style.Line(), to.X, to.Y, to.X+directSample, to.Y)
		data.FillText(directText(), vg.Point{X: to.X + directSample + keySample, Y: to.Y}, l.Name)
	}
}

// SpreadOut returns places as near as possible to the given ascending places, in the sense of least
// squares, with at least the given gap between neighbours. The places are within [low, high]. If
// this range is too short, they extend below low.
func SpreadOut(places []vg.Length, gap, low, high vg.Length) []vg.Length {
	// Without the gaps, the places must only ascend. Neighbours that do not ascend are pooled, and
	// a pool is at the mean of its places.
	type pool struct {
		sum vg.Length
		n   int
	}
	mean := func(p pool) vg.Length { return p.sum / vg.Length(p.n) }
	var pools []pool
	for i, place := range places {
		pools = append(pools, pool{place - vg.Length(i)*gap, 1})
		for n := len(pools); n > 1 && mean(pools[n-2]) > mean(pools[n-1]); n = len(pools) {
			pools[n-2].sum += pools[n-1].sum
			pools[n-2].n += pools[n-1].n
			pools = pools[:n-1]
		}
	}
	high -= gap * vg.Length(len(places)-1)
	var all []vg.Length
	for _, p := range pools {
		for range p.n {
			all = append(all, min(max(mean(p), low), high)+vg.Length(len(all))*gap)
		}
	}
	return all
}
