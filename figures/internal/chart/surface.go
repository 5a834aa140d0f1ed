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

// Surface is a plotter.GridXYZ. Values[i][j] is the value at (Xs[i], Ys[j]).
type Surface struct {
	Xs, Ys []float64
	Values [][]float64
}

func (g *Surface) Dims() (c, r int) { return len(g.Xs), len(g.Ys) }
func (g *Surface) X(c int) float64  { return g.Xs[c] }
func (g *Surface) Y(r int) float64  { return g.Ys[r] }
func (g *Surface) Z(c, r int) float64 {
	if v := math.Log(g.Values[c][r]); Drawable(v) {
		return v
	}
	return math.NaN()
}

// At returns the value at (x, y), by linear interpolation between the values of the grid. Beyond
// the grid, it is the value at the nearest edge. The coordinates of the grid must increase.
func (g *Surface) At(x, y float64) float64 {
	i, s := cellOf(g.Xs, x)
	j, t := cellOf(g.Ys, y)
	along := func(k int) float64 { return (1-t)*g.Values[k][j] + t*g.Values[k][min(j+1, len(g.Ys)-1)] }
	return (1-s)*along(i) + s*along(min(i+1, len(g.Xs)-1))
}

// cellOf returns the index of the last grid coordinate that is at most x, and the position of x
// between this coordinate and the next one, from 0 to 1.
func cellOf(grid []float64, x float64) (int, float64) {
	i, _ := slices.BinarySearch(grid, x)
	i = max(0, min(i-1, len(grid)-2))
	if len(grid) < 2 {
		return 0, 0
	}
	return i, max(0, min((x-grid[i])/(grid[i+1]-grid[i]), 1))
}

type shades []color.Color

func (s shades) Colors() []color.Color { return s }

// Heat returns the shades of the surface. If a value is not both finite and positive, its cell is
// blank.
func (g *Surface) Heat() *plotter.HeatMap {
	return g.shaded(color.NRGBA{255, 255, 255, 255}, color.NRGBA{70, 110, 160, 255})
}

// shaded returns shades of the surface, as Heat does, but with the given colours for the lowest and
// the highest value.
func (g *Surface) shaded(low, high color.NRGBA) *plotter.HeatMap {
	colors := make(shades, 64)
	for i := range colors {
		t := float64(i) / float64(len(colors)-1)
		mix := func(from, to uint8) uint8 { return uint8(float64(from) + t*(float64(to)-float64(from)) + .5) }
		colors[i] = color.NRGBA{mix(low.R, high.R), mix(low.G, high.G), mix(low.B, high.B), 255}
	}
	h := plotter.NewHeatMap(g, colors)
	h.Rasterized = true
	if h.Max == h.Min {
		h.Max++
	}
	return h
}

// The colour scale of a surface is a bar with numbers beside the axes. These constants are lengths
// of the colour scale.
const scaleGap, scaleBar, scaleWidth = 8, 9, 50

// drawBar draws the shades of the heat map h on the canvas c, from the bottom to the top. It also
// draws the values of the shades.
func drawBar(c draw.Canvas, h *plotter.HeatMap) {
	shades := h.Palette.Colors()
	height := (c.Max.Y - c.Min.Y) / vg.Length(len(shades))
	for i, shade := range shades {
		y := c.Min.Y + vg.Length(i)*height
		c.SetColor(shade)
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y}, Max: vg.Point{X: c.Min.X + scaleBar, Y: min(y+1.5*height, c.Max.Y)}}.Path()) // neighbours overlap, so that the background is not visible between them
	}
	text := plot.New().Y.Tick.Label
	text.Font.Size, text.XAlign, text.YAlign = 8, draw.XLeft, draw.YCenter
	low, high := h.Min/math.Ln10, h.Max/math.Ln10
	for _, tick := range ScaleTicks(h) {
		y := c.Min.Y + vg.Length((tick.Value-low)/(high-low))*(c.Max.Y-c.Min.Y)
		c.StrokeLine2(draw.LineStyle{Color: color.Black, Width: .5}, c.Min.X+scaleBar, y, c.Min.X+scaleBar+3, y)
		c.FillText(text, vg.Point{X: c.Min.X + scaleBar + 5, Y: y}, tick.Label)
	}
}

// ScaleTicks returns the ticks of the colour scale. Their values are base-10 logarithms.
func ScaleTicks(h *plotter.HeatMap) []plot.Tick {
	low, high := h.Min/math.Ln10, h.Max/math.Ln10
	return slices.DeleteFunc((logTicks{manyTicks, math.Inf(-1)}).Ticks(low, high), func(t plot.Tick) bool { return t.Value < low || t.Value > high })
}

// A contour is a line along which a surface equals level.
type contour struct {
	level float64
	line  plotter.XYs
}

// A levelName is the text that names the contours of a level.
type levelName struct {
	level float64
	text  string
}

// Contour returns the lines along which z equals level. It uses the method of marching squares. It
// assumes that z is linear along the edges of the grid. If z is not finite at a corner of a cell,
// the cell has no line. The order of the lines depends only on the data. In plotter.Contour, this
// order is random.
func (g *Surface) Contour(level float64) []plotter.XYs {
	return g.findCrossings(level).contours(func(edge int) plotter.XY { return g.crossing(edge, level) })
}

// crossings holds the grid edges that are crossed by the contour lines of one level. Let ny be
// len(Ys). The edge from (i, j) to (i+1, j) has the number 2(i·ny+j). The edge from (i, j) to (i,
// j+1) has the number 2(i·ny+j)+1.
type crossings struct {
	links map[int][]int // the neighbours of each edge along its line
	order []int         // edges in the order in which they are first crossed
}

func (c *crossings) join(a, b int) {
	for _, e := range []int{a, b} {
		if c.links[e] == nil {
			c.order = append(c.order, e)
		}
	}
	c.links[a], c.links[b] = append(c.links[a], b), append(c.links[b], a)
}

// findCrossings returns the edges that are crossed by the contour lines of one level. A line enters
// a cell at one edge and leaves it at another edge, and findCrossings links these two edges.
func (g *Surface) findCrossings(level float64) *crossings {
	z := g.Values
	nx, ny := len(g.Xs), len(g.Ys)
	c := &crossings{links: make(map[int][]int)}
	above := func(i, j int) bool { return z[i][j] > level }
	for i := range nx - 1 {
		for j := range ny - 1 {
			if !Drawable(z[i][j], z[i+1][j], z[i][j+1], z[i+1][j+1]) {
				continue
			}
			bottom, left := 2*(i*ny+j), 2*(i*ny+j)+1
			top, right := 2*(i*ny+j+1), 2*((i+1)*ny+j)+1
			var crossed []int
			for _, e := range []struct {
				id   int
				a, b bool
			}{
				{bottom, above(i, j), above(i+1, j)}, {right, above(i+1, j), above(i+1, j+1)},
				{top, above(i+1, j+1), above(i, j+1)}, {left, above(i, j+1), above(i, j)},
			} {
				if e.a != e.b {
					crossed = append(crossed, e.id)
				}
			}
			switch len(crossed) {
			case 2:
				c.join(crossed[0], crossed[1])
			case 4: // a saddle: the mean of the four corners decides which edges are joined
				mean := (z[i][j] + z[i+1][j] + z[i][j+1] + z[i+1][j+1]) / 4
				if above(i, j) == (mean > level) {
					c.join(bottom, right)
					c.join(top, left)
				} else {
					c.join(left, bottom)
					c.join(right, top)
				}
			}
		}
	}
	return c
}

// crossing returns the point on an edge at which z equals level.
func (g *Surface) crossing(edge int, level float64) plotter.XY {
	xs, ys, z := g.Xs, g.Ys, g.Values
	ny := len(ys)
	i, j := edge/2/ny, edge/2%ny
	k, l := i+1-edge%2, j+edge%2
	t := (level - z[i][j]) / (z[k][l] - z[i][j])
	return plotter.XY{X: xs[i] + t*(xs[k]-xs[i]), Y: ys[j] + t*(ys[l]-ys[j])}
}

// contours follows the links between edges, and returns the contour lines of the level. The
// function edgePoint returns the point at which a line crosses an edge.
func (c *crossings) contours(edgePoint func(edge int) plotter.XY) []plotter.XYs {
	used := make(map[int]bool)
	trace := func(e int) plotter.XYs {
		line := plotter.XYs{edgePoint(e)}
		used[e] = true
		for next := true; next; {
			next = false
			for _, n := range c.links[e] {
				if !used[n] {
					e, next = n, true
					used[n] = true
					line = append(line, edgePoint(n))
					break
				}
			}
		}
		return line
	}
	var lines []plotter.XYs
	for _, e := range c.order { // open lines, which begin at the border
		if !used[e] && len(c.links[e]) == 1 {
			lines = append(lines, trace(e))
		}
	}
	for _, e := range c.order { // the remaining lines are closed
		if !used[e] {
			line := trace(e)
			lines = append(lines, append(line, line[0]))
		}
	}
	return lines
}
