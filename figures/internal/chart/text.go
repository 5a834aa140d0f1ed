package chart

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

func init() {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plot.DefaultTextHandler = scripts{text.Plain{Fonts: font.DefaultCache}}
}

// scripts is a handler of text that draws superscripts and subscripts. It draws each of these
// characters as a small raised or lowered letter, because the fonts lack some of the characters and
// have too much space around others.
type scripts struct{ text.Plain }

// leastScript is the smallest size of a superscript or subscript, in points. On paper, readers
// cannot tell smaller digits apart. If the text itself is smaller than leastScript, superscripts
// and subscripts are as large as the text.
const leastScript = 8

// These constants are shares of the font size. The size of superscripts and subscripts is
// scriptSize, unless leastScript requires a larger size. SuperscriptRise is the distance of a
// superscript's baseline above the baseline of the text. SubscriptDrop is the distance of a
// subscript's baseline below the baseline of the text.
const scriptSize, SuperscriptRise, SubscriptDrop = .7, .36, .16

var scriptOf = strings.NewReplacer("⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁻", "−",
	"₀", "0", "₁", "1", "₂", "2", "₃", "3", "₄", "4", "₅", "5", "₆", "6", "₇", "7", "₈", "8", "₉", "9", "ᵢ", "i", "ₑ", "e", "ₘ", "m", "ₚ", "p")

const superscriptRunes, subscriptRunes = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "₀₁₂₃₄₅₆₇₈₉ᵢₑₘₚ"

// Superscript returns a whole number as superscripts.
func Superscript(digits string) string {
	return strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "-", "⁻").Replace(digits)
}

// A Run is a part of a line. All letters of a Run have the same baseline. Rise is the height of
// this baseline above the baseline of the text, as a share of the font size.
type Run struct {
	Text string
	Rise float64
}

func RunsOf(line string) []Run {
	var runs []Run
	for _, r := range line {
		rise := 0.0
		if strings.ContainsRune(superscriptRunes, r) {
			rise = SuperscriptRise
		} else if strings.ContainsRune(subscriptRunes, r) {
			rise = -SubscriptDrop
		}
		if n := len(runs); n == 0 || runs[n-1].Rise != rise {
			runs = append(runs, Run{Rise: rise})
		}
		runs[len(runs)-1].Text += scriptOf.Replace(string(r)) // other letters are not changed
	}
	return runs
}

// fontOf returns the font of a run. The argument f is the font of the text to which the run
// belongs.
func (r Run) fontOf(f font.Font) font.Font {
	if r.Rise != 0 {
		f.Size = min(f.Size, max(scriptSize*f.Size, leastScript))
	}
	return f
}

// Box returns the box of a line. Superscripts and subscripts do not change the height of the box.
func (h scripts) Box(line string, f font.Font) (width, height, depth vg.Length) {
	line = Pictured(line)
	_, height, depth = h.Plain.Box(line, f)
	for _, r := range RunsOf(line) {
		w, _, _ := h.Plain.Box(r.Text, r.fontOf(f))
		width += w
	}
	return width, height, depth
}

// Draw draws text.
func (h scripts) Draw(c vg.Canvas, txt string, s text.Style, origin vg.Point) {
	txt = Pictured(txt)
	if !strings.ContainsAny(txt, superscriptRunes+subscriptRunes) {
		h.Plain.Draw(c, txt, s, origin)
		return
	}
	s.Handler = h
	sin, cos := math.Sincos(s.Rotation)
	if lines := strings.Split(txt, "\n"); len(lines) > 1 {
		for i, line := range lines { // at the heights at which text.Plain draws them
			up := vg.Length(s.YAlign)*(s.Height(txt)-s.Height(line)) + vg.Length(len(lines)-1-i)*s.Font.Size
			h.Draw(c, line, s, vg.Point{X: origin.X - up*vg.Length(sin), Y: origin.Y + up*vg.Length(cos)})
		}
		return
	}
	width, height := s.Width(txt), s.Height(txt)
	// x and y are distances from the given origin: x along the text, and y across the text.
	x := vg.Length(s.XAlign) * width
	baseline := vg.Length(s.YAlign)*height - h.Extents(s.Font).Ascent + s.Font.Size
	for _, r := range RunsOf(txt) {
		part := s
		part.Font, part.XAlign, part.YAlign = r.fontOf(s.Font), text.XLeft, text.YBottom
		y := baseline + h.Extents(part.Font).Ascent - part.Font.Size + vg.Length(r.Rise)*s.Font.Size
		h.Plain.Draw(c, r.Text, part, vg.Point{X: origin.X + x*vg.Length(cos) - y*vg.Length(sin), Y: origin.Y + x*vg.Length(sin) + y*vg.Length(cos)})
		w, _, _ := h.Plain.Box(r.Text, part.Font)
		x += w
	}
}

// Subscripted returns the name of a hyperparameter. The digits of the name are subscripts.
func Subscripted(name string) string {
	return strings.NewReplacer("0", "₀", "1", "₁", "2", "₂", "3", "₃", "4", "₄", "5", "₅", "6", "₆", "7", "₇", "8", "₈", "9", "₉").Replace(name)
}

// breakText breaks text into lines of at most the given width. It breaks only between words, so a
// line with a single long word may be wider.
func breakText(words string, style text.Style, width vg.Length) []string {
	var lines []string
	for _, word := range strings.Fields(words) {
		if n := len(lines); n > 0 && style.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
