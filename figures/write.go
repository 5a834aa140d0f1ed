package figures

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
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

// An Output is a [Figure] or a [Table].
type Output interface {
	// Write writes the files of the output into a folder.
	Write(dir string) error
	// Describe returns the files' name, without ending, and the caption.
	Describe() (name, caption string)
}

// Describe returns the figure's name and caption.
func (f *Figure) Describe() (name, caption string) { return f.Name, f.Caption }

// PNG returns the figure at 160 dots per inch. It fails, as SVG, PDF and Write
// do, where a series is not well formed and where a panel has nothing to draw.
func (f *Figure) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(f.Width, f.Height), vgimg.UseDPI(160), vgimg.UseBackgroundColor(color.White))
	return f.render(draw.New(c), vgimg.PngCanvas{Canvas: c})
}

// SVG returns the figure as scalable vector graphics.
func (f *Figure) SVG() ([]byte, error) {
	c := vgsvg.New(f.Width, f.Height)
	svg, err := f.render(draw.New(c), c)
	// Viewers would keep the shape of a surface's grid instead of filling its axes.
	return bytes.ReplaceAll(svg, []byte("<image "), []byte(`<image preserveAspectRatio="none" `)), err
}

// PDF returns the figure as a page of its size, with its fonts.
func (f *Figure) PDF() ([]byte, error) {
	c := vgpdf.New(f.Width, f.Height)
	c.EmbedFonts(true)
	return f.render(draw.New(uniqueWidthPDF{c, map[int]bool{}}), c)
}

// uniqueWidthPDF gives each picture in a PDF a width of its own, in pixels, by
// repeating its columns: the PDF library sorts pictures by width alone, so that
// two of the same width come in random order.
type uniqueWidthPDF struct {
	*vgpdf.Canvas
	used map[int]bool
}

func (c uniqueWidthPDF) DrawImage(rect vg.Rectangle, img image.Image) {
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
	if err := f.check(); err != nil {
		return nil, err
	}
	f.Draw(draw.Crop(c, 4, -8, 4, -4))
	var b bytes.Buffer
	_, err := w.WriteTo(&b)
	return b.Bytes(), err
}

// check returns an error that names the first panel or series that cannot be
// drawn.
func (f *Figure) check() error {
	panels := slices.Concat(f.Panels...)
	if len(panels) == 0 {
		return fmt.Errorf("figures: %s: no panels: add a panel", f.Name)
	}
	for _, p := range panels {
		if p.problem != "" {
			return fmt.Errorf("figures: %s: panel %q: %s", f.Name, p.name, p.problem)
		}
		if b := axesOf(p.plot); b.xmin > b.xmax && b.ymin > b.ymax {
			return fmt.Errorf("figures: %s: panel %q: no finite point in %d series: leave the panel out, or compute its data with other parameters", f.Name, p.name, len(p.series))
		}
	}
	return nil
}

// CSV returns every plotted series, one point per line. A reference line has the
// points in which it meets its panel's axes, without the headroom of a legend.
func (f *Figure) CSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"panel", "series", "x", "y", "z", "low", "high"}) // a strings.Builder never fails
	for _, p := range slices.Concat(f.Panels...) {
		for _, s := range p.series {
			for _, v := range slices.Concat(append(slices.Clip(s.stretches), s.ends(p.axes()))...) {
				fields := []string{p.name, s.name}
				for _, x := range v {
					fields = append(fields, formatFull(x))
				}
				_ = w.Write(fields)
			}
		}
	}
	w.Flush()
	return b.String()
}

// Write writes dir/Name.svg, .png, .pdf and .csv.
func (f *Figure) Write(dir string) error {
	files := map[string]string{".csv": f.CSV()}
	for ext, render := range map[string]func() ([]byte, error){".svg": f.SVG, ".png": f.PNG, ".pdf": f.PDF} {
		data, err := render()
		if err != nil {
			return err
		}
		files[ext] = string(data)
	}
	return writeFiles(dir, f.Name, files)
}

// writeFiles writes texts to the files dir/name+ending.
func writeFiles(dir, name string, files map[string]string) error {
	for _, ext := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name+ext), []byte(files[ext]), 0o644); err != nil {
			return err
		}
	}
	return nil
}
