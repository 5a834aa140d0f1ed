package table

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// A Number describes a format of numbers with a decimal comma, with separators of thousands, or
// with a unit. Separators of thousands separate groups of three digits. They are spaces,
// apostrophes, and the character '.' or ',' that is not the decimal sign. A negative number has the
// sign − or -, or is in parentheses, as in (1,234).
type Number struct {
	// Decimal is the decimal sign, '.' or ','. If it is zero, the sign is '.'.
	Decimal rune
	// Unit is the unit of the values. In a field, it follows the number. A currency may also
	// precede the number. A number without a unit counts as a number in Unit, unless UnitRequired
	// is set. If Unit is empty, the numbers have no unit.
	Unit string
	// Units maps the other units of the column to their sizes, in multiples of Unit. For example,
	// if Unit is "kg", "g" has the size .001.
	Units map[string]float64
	// If UnitRequired is set, a number without a unit is an error. UnitRequired must not be set
	// without Unit. [CSV.Read] sets it for a column with units of several sizes, such as kg and g,
	// if each number of the column has a unit.
	UnitRequired bool
}

// decimal returns the decimal sign.
func (n *Number) decimal() rune { return cmp.Or(n.Decimal, '.') }

// parse converts the number in a field to the unit n.Unit. It also reports whether the field has
// the format.
func (n *Number) parse(field string) (float64, bool) {
	return (*portable.NumberFormat)(n).Parse(field)
}

// check reports an invalid format.
func (n *Number) check() error {
	if d := n.decimal(); d != '.' && d != ',' {
		return args.Bad("Number.Decimal", qpdiff.ErrDomain, "use '.' or ','", "is %q", d)
	}
	unit := func(field, u string) error {
		q, ok := portable.SplitQuantity("1 " + u)
		return args.BadIf(!ok || q.Unit != u, field, qpdiff.ErrDomain, "give a currency, or one word that begins with a letter", "is %q", u)
	}
	if n.Unit != "" {
		if err := unit("Number.Unit", n.Unit); err != nil {
			return err
		}
	}
	if n.UnitRequired && n.Unit == "" {
		return args.Bad("Number.UnitRequired", qpdiff.ErrDomain, "set Unit as well", "is set without Unit")
	}
	for _, u := range slices.Sorted(maps.Keys(n.Units)) {
		size := n.Units[u]
		if err := args.First(unit("Number.Units", u),
			args.BadIf(u == n.Unit, "Number.Units", qpdiff.ErrDomain, "leave it out", "holds Unit, %q", u),
			args.BadIf(!(size > 0 && args.Finite(size)), "Number.Units", qpdiff.ErrDomain, "give a positive size", "has the size %v for %q", size, u)); err != nil {
			return err
		}
	}
	return nil
}

// clone returns a copy of the format with its own map.
func (n Number) clone() *Number {
	n.Units = maps.Clone(n.Units)
	return &n
}

// exampleOf returns an example of a number in the format, for an error.
func (n *Number) exampleOf() string { return (*portable.NumberFormat)(n).Example() }

// equals reports whether the two formats are equal.
func (n *Number) equals(other *Number) bool {
	if n == nil || other == nil {
		return n == other
	}
	return n.decimal() == other.decimal() && n.Unit == other.Unit && n.UnitRequired == other.UnitRequired && maps.Equal(n.Units, other.Units)
}

// A census counts the units and the decimal signs in the numbers of a column.
type census struct {
	texts        int
	units        map[string]int // the number of texts by unit; "" for no unit
	point, comma bool           // all texts can be read with this decimal sign
	marked       bool           // a text has a point or a comma
}

func newCensus() *census { return &census{units: map[string]int{}, point: true, comma: true} }

// The method add includes a text in the census, and reports whether the text may be a number.
func (c *census) add(field string) bool {
	q, ok := portable.SplitQuantity(field)
	if !ok {
		return false
	}
	_, point := q.Plain('.')
	_, comma := q.Plain(',')
	if !point && !comma {
		return false
	}
	c.texts++
	c.units[q.Unit]++
	c.point, c.comma = c.point && point, c.comma && comma
	c.marked = c.marked || strings.ContainsAny(q.Digits, ".,")
	return true
}

// signIsOpen reports whether the decimal sign is undecided: all texts can be read with either sign,
// and some text has a point or a comma.
func (c *census) signIsOpen() bool { return c.point && c.comma && c.marked }

// commonUnit returns the most frequent unit, and the number of texts that have this unit or no
// unit.
func (c *census) commonUnit() (unit string, texts int) {
	for _, u := range slices.Sorted(maps.Keys(c.units)) {
		if n := c.units[u]; u != "" && n > texts {
			unit, texts = u, n
		}
	}
	return unit, texts + c.units[""]
}

// lackingNote returns a note on the numbers of a column that lack the unit.
func (c *census) lackingNote(column, unit string) Note {
	text := fmt.Sprintf("Column %q lacks the unit in %d of %d numbers, which count as %s.", column, c.units[""], c.texts, unit)
	if c.texts == 1 {
		text = fmt.Sprintf("The number in column %q lacks the unit and counts as %s.", column, unit)
	}
	return Note{Column: column, Field: "CSV.Numbers", Check: true, Text: text}
}

// list returns a text that lists the units with their counts, for a note.
func (c *census) list() string {
	var all []string
	for _, u := range slices.Sorted(maps.Keys(c.units)) {
		name := u
		if u == "" {
			name = "none"
		}
		all = append(all, fmt.Sprintf("%s (%d)", name, c.units[u]))
	}
	return strings.Join(firstOf(all), ", ")
}

// format returns the format of the texts, and whether all their units have the same measure.
func (c *census) format() (n Number, ok bool) {
	n.Decimal = '.'
	if !c.point {
		n.Decimal = ','
	}
	unit, _ := c.commonUnit()
	others := maps.Clone(c.units)
	delete(others, "")
	delete(others, unit)
	n.Unit = unit
	_, short := portable.Magnitudes[unit]
	if short && (len(others) > 0 || c.units[""] > 0) { // as in a column with 1.2k and 950
		n.Unit, others[unit] = "", 0
	}
	for u := range others {
		size, sameMeasure := sizeIn(u, n.Unit)
		if !sameMeasure {
			return n, false
		}
		if n.Units == nil {
			n.Units = map[string]float64{}
		}
		n.Units[u] = size
	}
	n.UnitRequired = n.ambiguous() && c.units[""] == 0
	return n, true
}

// ambiguous reports whether the units have different sizes, so that the size of a number without a
// unit is not certain.
func (n *Number) ambiguous() bool {
	if n.Unit != "" {
		for _, size := range n.Units {
			if size != 1 {
				return true
			}
		}
	}
	return false
}

// caseMatters reports whether the format has two units that differ by the case of letters alone, but
// have different sizes, as mg and Mg do.
func (n *Number) caseMatters() bool {
	sizes := maps.Clone(n.Units)
	if sizes != nil {
		sizes[n.Unit] = 1
	}
	for u, size := range sizes {
		for v, other := range sizes {
			if size != other && strings.EqualFold(u, v) {
				return true
			}
		}
	}
	return false
}

// measures holds a map for each measure, from its units to their sizes. Words are in the singular.
// A text that differs from a unit by the case of letters alone denotes this unit, unless the text
// is a unit itself.
var measures = []map[string]float64{
	{"mg": 1e-3, "g": 1, "kg": 1e3, "kgs": 1e3, "t": 1e6, "Mg": 1e6, "oz": 28.349523125, "lb": 453.59237, "lbs": 453.59237},
	{"mm": 1, "cm": 10, "m": 1e3, "km": 1e6, "in": 25.4, "ft": 304.8, "mi": 1609344},
	{"ml": 1, "mL": 1, "cl": 10, "dl": 100, "l": 1e3, "ML": 1e9},
	{"ms": 1, "s": 1e3, "sec": 1e3, "second": 1e3, "min": 6e4, "minute": 6e4, "h": 36e5, "hr": 36e5, "hrs": 36e5, "hour": 36e5, "day": 864e5, "week": 6048e5},
	{"month": 1, "year": 12},
	{"B": 1e-3, "KB": 1, "kB": 1, "MB": 1e3, "GB": 1e6, "TB": 1e9},
	{"b": 1e-3, "kb": 1, "Kb": 1, "Mb": 1e3, "Gb": 1e6, "Tb": 1e9},
	{"mW": 1e-3, "W": 1, "kW": 1e3, "MW": 1e6},
	{"Wh": 1, "kWh": 1e3, "MWh": 1e6},
	{"m²": 1, "m2": 1, "sqm": 1},
	{"$": 1, "USD": 1, "US$": 1},
	{"€": 1, "EUR": 1},
	{"£": 1, "GBP": 1},
	{"%": 1, "‰": .1},
}

// sizeIn returns the size of a unit in another unit, and whether both have the same measure. Two
// texts that differ by the case of letters alone are the same unit, unless both are known units,
// such as mg and Mg.
func sizeIn(unit, otherUnit string) (float64, bool) {
	if size, ok := portable.Magnitudes[unit]; ok && otherUnit == "" {
		return size, true
	}
	unit, otherUnit = spelling(withoutPlural(unit)), spelling(withoutPlural(otherUnit))
	if unit == otherUnit || strings.EqualFold(unit, otherUnit) && !(isKnownUnit(unit) && isKnownUnit(otherUnit)) {
		return 1, true
	}
	for _, m := range measures {
		if size, ok := m[unit]; ok && m[otherUnit] != 0 {
			return size / m[otherUnit], true
		}
	}
	return 0, false
}

// withoutPlural returns a unit without a final s. It does not change units of fewer than four
// letters. Such units are abbreviations, in which the s may be a part of the unit, for example ms.
func withoutPlural(unit string) string {
	if len(unit) >= 4 {
		return strings.TrimSuffix(strings.TrimSuffix(unit, "s"), "S")
	}
	return unit
}

// isKnownUnit reports whether a text is a unit of a measure, or an abbreviation of a factor.
func isKnownUnit(unit string) bool {
	_, factor := portable.Magnitudes[unit]
	return factor || slices.ContainsFunc(measures, func(m map[string]float64) bool { return m[unit] != 0 })
}

// spelling returns the known unit that differs from a text by the case of letters alone. It returns
// the text itself if the text is a known unit, or if there is not exactly one such unit.
func spelling(unit string) string {
	if isKnownUnit(unit) {
		return unit
	}
	found := unit
	for _, m := range measures {
		for u := range m {
			if strings.EqualFold(u, unit) {
				if found != unit {
					return unit
				}
				found = u
			}
		}
	}
	return found
}
