package figures

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

func init() {
	// A PDF otherwise holds the time of its making.
	epoch := time.Date(2018, time.May, 18, 0, 0, 0, 0, time.UTC) // the day the paper appeared
	fpdf.SetDefaultCreationDate(epoch)
	fpdf.SetDefaultModificationDate(epoch)
	fpdf.SetDefaultCatalogSort(true)
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
}

// A Figure is a grid of panels. Whatever a panel plots is also a row of the
// figure's CSV.
type Figure struct {
	Name          string // of the files, without ending
	Caption       string
	Width, Height vg.Length
	Panels        [][]*Panel // rows of panels
	// LegendWidth, where not zero, is the width of a strip on the right that
	// shows the first panel's legend instead of one in every panel.
	LegendWidth vg.Length
	// Key, where not nil, is shown in a row below the panels instead of a
	// legend in every panel.
	Key []KeyEntry
}

// A Panel is one coordinate system with the series plotted in it.
type Panel struct {
	plot   *plot.Plot
	name   string
	series []series
	// Equal gives both axes the same length per unit.
	Equal bool
	// LegendWidth, where not zero, is the width of a strip on the panel's right
	// that holds its legend.
	LegendWidth vg.Length
}

// series is what the CSV says of something plotted: z is nil but for surfaces,
// low and high are nil but for bands.
type series struct {
	name               string
	x, y, z, low, high []float64
}

// NewPanel returns an empty panel. The name stands in the CSV, and above the
// panel where title is not empty.
func NewPanel(name, title, x, y string) *Panel {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = 11
	p.Title.Padding = 4
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = 10
		a.Tick.Label.Font.Size = 9
		a.LineStyle.Width = .5
		a.Tick.LineStyle.Width = .5
		a.Padding = 4
		a.Tick.Marker = roundTicks{}
	}
	p.Legend.TextStyle.Font.Size = 9
	p.Legend.Top = true
	p.Legend.Padding = 2
	p.Legend.ThumbnailWidth = 22
	p.BackgroundColor = color.White
	return &Panel{plot: p, name: name}
}

// roundTicks labels an axis at some five multiples of 1, 2 or 5 times a power
// of ten.
type roundTicks struct{}

func (roundTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) {
		return []plot.Tick{{Value: low, Label: full(low)}}
	}
	const wanted = 5
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/wanted)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(m*unit) <= wanted+1 {
			unit *= m
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(unit)+1e-9)))
	var ticks []plot.Tick
	for k := math.Ceil(low/unit - 1e-9); k <= math.Floor(high/unit+1e-9); k++ {
		ticks = append(ticks, plot.Tick{Value: k * unit, Label: strconv.FormatFloat(k*unit+0, 'f', digits, 64)})
	}
	return ticks
}

// logTicks labels an axis of base-10 logarithms with the numbers themselves, at
// some eight powers of ten at most, and at 2 and 5 times each power as well where
// the axis has fewer than three of them. If floored, a tick at its lower end
// stands for all that is lower.
type logTicks struct{ floored bool }

func (t logTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	stride := max(1, math.Ceil((high-low)/8))
	multiples := []float64{1}
	if math.Floor(high+1e-9)-math.Ceil(low-1e-9) < 2 {
		multiples = []float64{1, 2, 5}
	}
	for k := stride * math.Floor(low/stride); k <= high+1e-9; k += stride {
		for _, m := range multiples {
			at := k + math.Log10(m)
			if at < low-1e-9 || at > high+1e-9 {
				continue
			}
			label := fmt.Sprintf("%ge%.0f", m, k)
			if math.Abs(k) <= 5 {
				v, _ := strconv.ParseFloat(label, 64) // cannot fail: the label is a number
				label = strconv.FormatFloat(v, 'f', -1, 64)
			}
			if t.floored && at < low+1e-9 {
				label = "≤ " + label
			}
			ticks = append(ticks, plot.Tick{Value: at, Label: label})
		}
	}
	return ticks
}

// LogAxes tells that the panel's coordinates are base-10 logarithms along the
// axes named.
func (p *Panel) LogAxes(x, y bool) {
	if x {
		p.plot.X.Tick.Marker = logTicks{}
	}
	if y {
		p.plot.Y.Tick.Marker = logTicks{}
	}
}

// Floored tells of a logarithmic y axis that what is lower than it is drawn at
// its lower end.
func (p *Panel) Floored() { p.plot.Y.Tick.Marker = logTicks{floored: true} }

// The colours of Okabe and Ito, which readers with any kind of colour vision
// tell apart.
var (
	Blue       = color.NRGBA{0, 114, 178, 255}
	Vermillion = color.NRGBA{213, 94, 0, 255}
	Green      = color.NRGBA{0, 158, 115, 255}
	Orange     = color.NRGBA{230, 159, 0, 255}
	Purple     = color.NRGBA{204, 121, 167, 255}
	Sky        = color.NRGBA{86, 180, 233, 255}
	Black      = color.NRGBA{0, 0, 0, 255}
	Grey       = color.NRGBA{120, 120, 120, 255}
)

// Style says how a series looks. Zero values: black, 1.5 points, solid.
type Style struct {
	Color color.NRGBA
	Width vg.Length
	Dash  []vg.Length
	// Glyph, of GlyphRadius (zero: 2.5), marks the points of Scatter.
	Glyph       draw.GlyphDrawer
	GlyphRadius vg.Length
	// Unlisted keeps the series out of the legend.
	Unlisted bool
}

func (s Style) line() draw.LineStyle {
	if s.Color == (color.NRGBA{}) {
		s.Color = Black
	}
	if s.Width == 0 {
		s.Width = 1.5
	}
	return draw.LineStyle{Color: s.Color, Width: s.Width, Dashes: s.Dash}
}

func (s Style) mark() draw.GlyphStyle {
	if s.Glyph == nil {
		s.Glyph = draw.CircleGlyph{}
	}
	if s.GlyphRadius == 0 {
		s.GlyphRadius = 2.5
	}
	return draw.GlyphStyle{Color: s.line().Color, Radius: s.GlyphRadius, Shape: s.Glyph}
}

// points pairs xs and ys, and refuses what cannot be drawn.
func points(name string, xs, ys []float64) plotter.XYs {
	if len(xs) != len(ys) {
		panic(fmt.Sprintf("figures: series %q has %d x and %d y", name, len(xs), len(ys)))
	}
	p := make(plotter.XYs, len(xs))
	for i := range p {
		if math.IsNaN(xs[i]) || math.IsNaN(ys[i]) || math.IsInf(xs[i], 0) || math.IsInf(ys[i], 0) {
			panic(fmt.Sprintf("figures: series %q has the point (%v, %v)", name, xs[i], ys[i]))
		}
		p[i] = plotter.XY{X: xs[i], Y: ys[i]}
	}
	return p
}

// Line plots a line through the points.
func (p *Panel) Line(name string, xs, ys []float64, s Style) {
	l := &plotter.Line{XYs: points(name, xs, ys), LineStyle: s.line()}
	p.add(series{name: name, x: xs, y: ys}, s, l, l)
}

// Scatter plots the points as glyphs.
func (p *Panel) Scatter(name string, xs, ys []float64, s Style) {
	g := &plotter.Scatter{XYs: points(name, xs, ys), GlyphStyle: s.mark()}
	p.add(series{name: name, x: xs, y: ys}, s, g, g)
}

// Band shades the area between low and high, and is not in the legend.
func (p *Panel) Band(name string, xs, low, high []float64, s Style) {
	outline := append(points(name, xs, low), make(plotter.XYs, len(xs))...)
	for i, v := range points(name, xs, high) {
		outline[len(outline)-1-i] = v
	}
	c := s.line().Color.(color.NRGBA)
	c.A = 50
	area := &plotter.Polygon{XYs: []plotter.XYs{outline}, Color: c}
	s.Unlisted = true
	p.add(series{name: name, x: xs, low: low, high: high}, s, area, nil)
}

// Surface shades the positive z[i][j] at xs[i], ys[j] by their logarithm, light
// where they are low, and draws contour lines at the levels. The grid must be
// regular.
func (p *Panel) Surface(name string, xs, ys []float64, z [][]float64, levels []float64) {
	logs := make([][]float64, len(z))
	data := series{name: name}
	for i, x := range xs {
		for j, y := range ys {
			v := z[i][j]
			logs[i] = append(logs[i], math.Log(v))
			data.x, data.y, data.z = append(data.x, x), append(data.y, y), append(data.z, v)
		}
	}
	shades := make(shades, 64)
	for i := range shades {
		t := float64(i) / float64(len(shades)-1)
		mix := func(from, to float64) uint8 { return uint8(from + t*(to-from) + .5) }
		shades[i] = color.NRGBA{mix(255, 70), mix(255, 110), mix(255, 160), 255}
	}
	heat := plotter.NewHeatMap(surface{xs, ys, logs}, shades)
	heat.Rasterized = true
	p.add(data, Style{Unlisted: true}, heat, nil)
	for _, level := range levels {
		for _, line := range contour(xs, ys, z, level) {
			p.plot.Add(&plotter.Line{XYs: line, LineStyle: contourKey.Style.line()})
		}
	}
	if len(levels) > 0 {
		p.plot.Legend.Add(contourKey.Name, &plotter.Line{LineStyle: contourKey.Style.line()})
	}
}

// contourKey explains a Surface.
var contourKey = KeyEntry{"contours; light is low", Style{Color: color.NRGBA{90, 90, 90, 255}, Width: .4}}

// Contour plots the lines along which z[i][j], given at xs[i], ys[j], equals
// level.
func (p *Panel) Contour(name string, xs, ys []float64, z [][]float64, level float64, s Style) {
	for i, line := range contour(xs, ys, z, level) {
		part := name
		if i > 0 {
			part = fmt.Sprintf("%s (%d)", name, i+1)
			s.Unlisted = true
		}
		x, y := make([]float64, len(line)), make([]float64, len(line))
		for k, v := range line {
			x[k], y[k] = v.X, v.Y
		}
		p.Line(part, x, y, s)
	}
}

// surface is a plotter.GridXYZ, in which c counts xs and r counts ys.
type surface struct {
	xs, ys []float64
	z      [][]float64
}

func (s surface) Dims() (c, r int)   { return len(s.xs), len(s.ys) }
func (s surface) X(c int) float64    { return s.xs[c] }
func (s surface) Y(r int) float64    { return s.ys[r] }
func (s surface) Z(c, r int) float64 { return s.z[c][r] }

type shades []color.Color

func (s shades) Colors() []color.Color { return s }

func (p *Panel) add(data series, s Style, what plot.Plotter, thumb plot.Thumbnailer) {
	p.plot.Add(what)
	p.series = append(p.series, data)
	if !s.Unlisted {
		p.plot.Legend.Add(data.name, thumb)
	}
}

// Horizontal plots a level across the panel's x range so far.
func (p *Panel) Horizontal(name string, y float64, s Style) {
	p.Line(name, []float64{p.plot.X.Min, p.plot.X.Max}, []float64{y, y}, s)
}

// Range fixes the panel's axes.
func (p *Panel) Range(xmin, xmax, ymin, ymax float64) {
	p.plot.X.Min, p.plot.X.Max, p.plot.Y.Min, p.plot.Y.Max = xmin, xmax, ymin, ymax
}

// LegendAt puts the legend into a corner.
func (p *Panel) LegendAt(top, left bool) { p.plot.Legend.Top, p.plot.Legend.Left = top, left }

// Grid draws thin grid lines behind what is added later.
func (p *Panel) Grid() {
	g := plotter.NewGrid()
	faint := draw.LineStyle{Color: color.NRGBA{225, 225, 225, 255}, Width: .5}
	g.Horizontal, g.Vertical = faint, faint
	p.plot.Add(g)
}

// Draw draws the figure to fill c.
func (f *Figure) Draw(c draw.Canvas) {
	rows := len(f.Panels)
	if f.LegendWidth > 0 {
		c = legendStrip(c, f.Panels[0][0].plot.Legend, f.LegendWidth)
	}
	if f.Key != nil {
		const height = 22
		drawKey(draw.Crop(c, 40, 0, 0, height-(c.Max.Y-c.Min.Y)), f.Key)
		c = draw.Crop(c, 0, 0, height, 0)
	}
	for i, row := range f.Panels {
		for j, p := range row {
			const gap = 10
			cellW := (c.Max.X - c.Min.X - gap*vg.Length(len(row)-1)) / vg.Length(len(row))
			cellH := (c.Max.Y - c.Min.Y - gap*vg.Length(rows-1)) / vg.Length(rows)
			x := c.Min.X + vg.Length(j)*(cellW+gap)
			y := c.Max.Y - vg.Length(i)*(cellH+gap) - cellH
			shown := *p.plot
			if f.LegendWidth > 0 || f.Key != nil {
				shown.Legend = plot.NewLegend()
			}
			cell := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + cellW, Y: y + cellH}}}
			if p.LegendWidth > 0 {
				cell = legendStrip(cell, p.plot.Legend, p.LegendWidth)
				shown.Legend = plot.NewLegend()
			}
			p.draw(&shown, cell)
		}
	}
}

// legendStrip draws the legend into a strip on c's right and returns the rest.
func legendStrip(c draw.Canvas, l plot.Legend, width vg.Length) draw.Canvas {
	l.Top, l.Left, l.XOffs = true, true, 6
	l.Draw(draw.Crop(c, c.Max.X-c.Min.X-width, 0, 0, -20))
	return draw.Crop(c, 0, -width, 0, 0)
}

// draw draws the panel into its cell, cutting the cell to size where both axes
// want the same unit.
func (p *Panel) draw(shown *plot.Plot, c draw.Canvas) {
	if p.Equal {
		data := shown.DataCanvas(c)
		w, h := data.Max.X-data.Min.X, data.Max.Y-data.Min.Y
		unit := min(float64(w)/(p.plot.X.Max-p.plot.X.Min), float64(h)/(p.plot.Y.Max-p.plot.Y.Min))
		spareW := w - vg.Length(unit*(p.plot.X.Max-p.plot.X.Min))
		spareH := h - vg.Length(unit*(p.plot.Y.Max-p.plot.Y.Min))
		c = draw.Crop(c, spareW/2, -spareW/2, spareH/2, -spareH/2)
	}
	shown.Draw(c)
}

// PNG returns the figure at 160 dots per inch.
func (f *Figure) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(f.Width, f.Height), vgimg.UseDPI(160), vgimg.UseBackgroundColor(color.White))
	return f.render(draw.New(c), vgimg.PngCanvas{Canvas: c})
}

// SVG returns the figure as scalable vector graphics.
func (f *Figure) SVG() ([]byte, error) {
	c := vgsvg.New(f.Width, f.Height)
	return f.render(draw.New(c), c)
}

// PDF returns the figure as a page of its size, with its fonts.
func (f *Figure) PDF() ([]byte, error) {
	c := vgpdf.New(f.Width, f.Height)
	c.EmbedFonts(true)
	return f.render(draw.New(ownWidths{c, map[int]bool{}}), c)
}

// ownWidths gives each picture in a PDF a width of its own, in pixels, by
// repeating its columns: the writer orders pictures by nothing else, so that
// two of the same width come in random order.
type ownWidths struct {
	*vgpdf.Canvas
	used map[int]bool
}

func (c ownWidths) DrawImage(rect vg.Rectangle, img image.Image) {
	b, times := img.Bounds(), 1
	for c.used[b.Dx()*times] {
		times++
	}
	wide := image.NewNRGBA(image.Rect(0, 0, b.Dx()*times, b.Dy()))
	for y := range b.Dy() {
		for x := range b.Dx() * times {
			wide.Set(x, y, img.At(b.Min.X+x/times, b.Min.Y+y))
		}
	}
	c.used[b.Dx()*times] = true
	c.Canvas.DrawImage(rect, wide)
}

func (f *Figure) render(c draw.Canvas, w vg.CanvasWriterTo) ([]byte, error) {
	f.Draw(draw.Crop(c, 4, -8, 4, -4))
	var b bytes.Buffer
	_, err := w.WriteTo(&b)
	return b.Bytes(), err
}

// CSV returns every plotted series, one point per line.
func (f *Figure) CSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"panel", "series", "x", "y", "z", "low", "high"})
	at := func(v []float64, i int) string {
		if v == nil {
			return ""
		}
		return full(v[i])
	}
	for _, row := range f.Panels {
		for _, p := range row {
			for _, s := range p.series {
				for i, x := range s.x {
					_ = w.Write([]string{p.name, s.name, full(x), at(s.y, i), at(s.z, i), at(s.low, i), at(s.high, i)})
				}
			}
		}
	}
	w.Flush()
	return b.String()
}

// Write writes dir/Name.svg, .png, .pdf and .csv.
func (f *Figure) Write(dir string) error {
	for ext, make := range map[string]func() ([]byte, error){
		".svg": f.SVG, ".png": f.PNG, ".pdf": f.PDF,
		".csv": func() ([]byte, error) { return []byte(f.CSV()), nil },
	} {
		data, err := make()
		if err != nil {
			return fmt.Errorf("figures: %s%s: %w", f.Name, ext, err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name+ext), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
