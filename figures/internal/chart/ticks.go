package chart

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// An axis is too short for ticks if its length is at most minLength, or at most minRelative times
// the larger of the absolute values of its two ends. On an axis below minLength, the distance
// between two ticks underflows. The ratio minRelative is far above the rounding errors of ticks and
// labels, and far below the resolution of a figure.
const minRelative, minLength = 1e-9, 1e-300

// isNarrow reports whether an axis over the range [low, high] is too short for two ticks.
func isNarrow(low, high float64) bool {
	return !(high-low > max(minLength, minRelative*max(math.Abs(low), math.Abs(high))))
}

// RoundTicks labels an axis at multiples of 1, 2 or 5 times a power of ten. The field nlabels is
// the approximate number of labels. If nlabels is zero, there are about 5 labels.
type RoundTicks struct{ nlabels float64 }

func (t RoundTicks) Ticks(low, high float64) []plot.Tick {
	if isNarrow(low, high) {
		return []plot.Tick{{Value: low, Label: Typeset(FormatFull(low))}}
	}
	wanted := cmp.Or(t.nlabels, manyTicks)
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/wanted)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (high-low)/(m*unit) <= wanted+1 {
			unit *= m
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(unit)+1e-9)))
	format, precision := byte('f'), digits
	if unit >= 1e6 || digits > 6 { // a reader could not count the zeros
		format, precision = 'e', -1
	}
	var ticks []plot.Tick
	for k := math.Ceil(low/unit - 1e-9); k <= math.Floor(high/unit+1e-9); k++ {
		ticks = append(ticks, plot.Tick{Value: k * unit, Label: Typeset(strconv.FormatFloat(k*unit+0, format, precision, 64))})
	}
	return ticks
}

// enoughTicks is the number of labels that shows that an axis is logarithmic.
const enoughTicks = 3

// manyTicks is the number of labels of an axis with enough room for them.
const manyTicks = 5.0

// Typeset returns a number as it is printed in prose, with a minus sign in place of a hyphen, and
// with powers of ten in place of exponents.
func Typeset(number string) string {
	mantissa, exponent, has := strings.Cut(strings.ReplaceAll(number, "-", "−"), "e")
	digits := strings.TrimLeft(exponent, "−+0")
	if !has || digits == "" {
		return mantissa
	}
	if strings.HasPrefix(exponent, "−") {
		digits = "-" + digits
	}
	if one := strings.TrimSuffix(mantissa, "1"); one == "" || one == "−" { // the usual form omits the 1
		return one + "10" + Superscript(digits)
	}
	return mantissa + "·10" + Superscript(digits)
}

// numberIn finds the numbers in a text.
var numberIn = regexp.MustCompile(`-?\b\d+(\.\d+)?(e[-+]\d+)?`)

// TypesetAll returns a text with each number as Typeset returns it.
func TypesetAll(text string) string { return numberIn.ReplaceAllStringFunc(text, Typeset) }

// logTicks labels an axis of base-10 logarithms. The labels are the numbers themselves. There are
// about nlabels labels, at powers of ten. If the axis has fewer than three powers of ten, there are
// also labels at 2 and 5 times each power. The field floor is the logarithm of a power of ten. The
// label of this power stands for all values up to it. An axis with two labels or fewer also has
// labels at 3 and 7 times each power.
type logTicks struct {
	nlabels, floor float64
}

func (t logTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	stride := max(1, math.Round((high-low)/t.nlabels))
	multiples := []float64{1}
	if math.Floor(high+1e-9)-math.Ceil(low-1e-9) < 2 {
		multiples = []float64{1, 2, 5}
	}
	short := low > -2-1e-9 && high < 4+1e-9 // the whole axis is labelled without powers of ten
	label := func(multiple, power float64) string {
		text := fmt.Sprintf("%ge%.0f", multiple, power)
		if short || power == 0 || power == 1 {
			v, _ := strconv.ParseFloat(text, 64) // no error is possible, because text is a number
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return Typeset(text)
	}
	floored := low-1e-9 <= t.floor && t.floor < high
	if floored {
		ticks = append(ticks, plot.Tick{Value: t.floor, Label: "≤ " + label(1, t.floor)})
	}
	at := func(multiples ...float64) (all []plot.Tick) {
		for k := stride * math.Floor(low/stride); k <= high+1e-9; k += stride {
			for _, m := range multiples {
				at := k + math.Log10(m)
				if at >= low-1e-9 && at <= high+1e-9 && !(floored && at < t.floor+stride/2) {
					all = append(all, plot.Tick{Value: at, Label: label(m, k)})
				}
			}
		}
		return all
	}
	rest := at(multiples...)
	if most := at(1, 2, 3, 5, 7); len(multiples) > 1 && len(rest) < enoughTicks && len(most) >= enoughTicks && t.nlabels >= enoughTicks {
		rest = most
	}
	ticks = append(ticks, rest...)
	if len(ticks) < 2 { // the axis is shorter than a third of a decade
		ticks = nil
		for _, tick := range (RoundTicks{min(math.Ceil(t.nlabels), manyTicks)}).Ticks(math.Pow(10, low), math.Pow(10, high)) {
			ticks = append(ticks, plot.Tick{Value: math.Log10(tick.Value), Label: tick.Label})
		}
	}
	return ticks
}

// listedTicks labels an axis of base-10 logarithms at the given logarithms: at each of them, or at
// every second, fourth, … if labels would overlap. The first logarithm always has a label. If the
// axis contains none of them, it has the labels of logTicks.
type listedTicks struct {
	logs  []float64
	every int
}

func (t listedTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for i := 0; i < len(t.logs); i += t.every {
		if at := t.logs[i]; low-1e-9 <= at && at <= high+1e-9 {
			ticks = append(ticks, plot.Tick{Value: at, Label: Typeset(strconv.FormatFloat(math.Pow(10, at), 'g', 4, 64))})
		}
	}
	if ticks == nil {
		return logTicks{manyTicks, math.Inf(-1)}.Ticks(low, high)
	}
	return ticks
}

// stepTicks labels an axis of base-10 logarithms of 1 plus a number of steps. The labels are numbers
// of steps: 0, and 1, 2 and 5 times the powers of ten. If fewer is 1, the labels are 0 and the powers
// of ten. If fewer is greater, they are 0 and every power above 1, every second, and so on.
type stepTicks struct{ fewer int }

func (t stepTicks) Ticks(low, high float64) []plot.Tick {
	multiples, first, stride := []float64{1, 2, 5}, 0, 1
	if t.fewer > 0 {
		multiples = multiples[:1]
	}
	if t.fewer > 1 {
		first, stride = t.fewer-1, t.fewer-1 // without 1, which is nearest to 0
	}
	steps := []float64{0}
	for power := first; float64(power) <= high+1e-9; power += stride {
		for _, m := range multiples {
			steps = append(steps, m*math.Pow10(power))
		}
	}
	var ticks []plot.Tick
	for _, s := range steps {
		if at := math.Log10(1 + s); low-1e-9 <= at && at <= high+1e-9 {
			ticks = append(ticks, plot.Tick{Value: at, Label: Typeset(strconv.FormatFloat(s, 'g', -1, 64))})
		}
	}
	return ticks
}

// besideTicks labels an axis as the Ticker does, but only within the range [low, high]. Outside of
// this range, it has other labels, such as a label for 0 beside a logarithmic axis.
type besideTicks struct {
	plot.Ticker
	low, high float64
	beside    []plot.Tick
}

func (t besideTicks) Ticks(low, high float64) []plot.Tick {
	const rounding = 1e-9
	all := slices.Clone(t.beside)
	for _, tick := range t.Ticker.Ticks(max(low, t.low), min(high, t.high)) {
		if tick.Value >= t.low-rounding && tick.Value <= t.high+rounding {
			all = append(all, tick)
		}
	}
	slices.SortStableFunc(all, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	return slices.DeleteFunc(all, func(tick plot.Tick) bool { return tick.Value < low-rounding || tick.Value > high+rounding })
}

// fallingTicks is a Ticker of an axis whose coordinates are the negative values of those that the
// other Ticker labels.
type fallingTicks struct{ plot.Ticker }

func (t fallingTicks) Ticks(low, high float64) []plot.Tick {
	all := t.Ticker.Ticks(0-high, 0-low)
	for i := range all {
		all[i].Value = 0 - all[i].Value // not −0
	}
	slices.Reverse(all)
	return all
}

// fewerLabels returns a Ticker with fewer labels than the Ticker t. The argument by is the number of
// labels to save. Other kinds of Tickers than those of this package are not changed.
func fewerLabels(t plot.Ticker, by float64) plot.Ticker {
	switch t := t.(type) {
	case RoundTicks:
		return RoundTicks{manyTicks - by}
	case logTicks:
		return logTicks{max(t.nlabels-by, 1), t.floor}
	case listedTicks:
		return listedTicks{t.logs, 2 << int(by)}
	case stepTicks:
		return stepTicks{1 + int(by)}
	case besideTicks:
		t.Ticker = fewerLabels(t.Ticker, by)
		return t
	case fallingTicks:
		return fallingTicks{fewerLabels(t.Ticker, by)}
	}
	return t
}
