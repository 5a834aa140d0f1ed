package table

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// A Number is how the numbers of a column are written if they are more than decimal numbers: with
// a decimal comma, with separators of thousands, or with a unit. The separators are spaces,
// apostrophes, and the one of '.' and ',' that is no decimal sign. They part groups of three
// digits. A minus may be − or a pair of parentheses, as in (1,234).
type Number struct {
	// Decimal is the decimal sign, '.' or ','. Zero: '.'.
	Decimal rune
	// Unit is the unit of the values. It follows the number or, if it is a currency, may precede
	// it. A number without a unit is in this one. Empty: none.
	Unit string
	// Units holds the other units of the column, each with its size in Unit: .001 for "g" if Unit
	// is "kg".
	Units map[string]float64
}

// decimal returns the decimal sign.
func (n *Number) decimal() rune { return cmp.Or(n.Decimal, '.') }

// parse returns the number of a field in Unit, and whether it is one of the format.
func (n *Number) parse(field string) (float64, bool) {
	q, ok := splitQuantity(field)
	if !ok {
		return 0, false
	}
	digits, ok := q.plain(n.decimal())
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(digits, 64)
	if q.unit != "" && q.unit != n.Unit {
		size, known := n.Units[q.unit]
		ok = known
		v *= size
	}
	return v * q.scale, ok && err == nil && args.Finite(v*q.scale)
}

// check reports a format that reads no numbers.
func (n *Number) check() error {
	if d := n.decimal(); d != '.' && d != ',' {
		return args.Bad("Number.Decimal", qpdiff.ErrDomain, "use '.' or ','", "is %q", d)
	}
	unit := func(field, u string) error {
		q, ok := splitQuantity("1 " + u)
		return args.BadIf(!ok || q.unit != u, field, qpdiff.ErrDomain, "give a currency, or one word that begins with a letter", "is %q", u)
	}
	if n.Unit != "" {
		if err := unit("Number.Unit", n.Unit); err != nil {
			return err
		}
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

// clone returns a format with its own map.
func (n Number) clone() *Number {
	n.Units = maps.Clone(n.Units)
	return &n
}

// like returns an example of the format, for an error.
func (n *Number) like() string {
	text := "1.5"
	if n.decimal() == ',' {
		text = "1,5"
	}
	if n.Unit != "" {
		text += " " + n.Unit
	}
	return text
}

// equal reports whether two formats read the same.
func (n *Number) equal(other *Number) bool {
	if n == nil || other == nil {
		return n == other
	}
	return n.decimal() == other.decimal() && n.Unit == other.Unit && maps.Equal(n.Units, other.Units)
}

// A quantity is the text of a number in its parts.
type quantity struct {
	digits string  // with separators and exponent
	unit   string  // before or after them
	scale  float64 // of the sign, and of k, M or bn after a currency
}

// currencies may precede a number, the longer ones first.
var currencies = []string{"US$", "AU$", "CA$", "NZ$", "HK$", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK",
	"HUF", "BRL", "ZAR", "A$", "C$", "R$", "Rs", "$", "€", "£", "¥", "₹", "₩", "₽", "₺", "₪", "฿", "₫", "₴", "¢"}

// magnitudes are abbreviations of factors.
var magnitudes = map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "bn": 1e9, "B": 1e9}

// splitQuantity returns the parts of a text, and whether it may be a number with a unit.
func splitQuantity(field string) (q quantity, ok bool) {
	q.scale = 1
	rest := field
	if n := len(rest); n > 2 && rest[0] == '(' && rest[n-1] == ')' {
		q.scale, rest = -1, strings.TrimSpace(rest[1:n-1])
	}
	signed := false
	sign := func() {
		for _, s := range []string{"-", "−", "+"} {
			if after, found := strings.CutPrefix(rest, s); found && !signed {
				rest, signed = strings.TrimLeft(after, spaces), true
				if s != "+" {
					q.scale = -q.scale
				}
			}
		}
	}
	sign()
	for _, c := range currencies {
		if after, found := strings.CutPrefix(rest, c); found {
			q.unit, rest = c, strings.TrimLeft(after, spaces)
			break
		}
	}
	sign()
	n := digitsOf(rest)
	if n == 0 {
		return q, false
	}
	q.digits = rest[:n]
	rest = strings.TrimLeft(rest[n:], spaces)
	switch {
	case rest == "":
		return q, true
	case q.unit == "":
		q.unit = rest
		hexadecimal := q.digits == "0" && (rest[0] == 'x' || rest[0] == 'X')
		return q, !hexadecimal && validUnit(rest)
	}
	factor, ok := magnitudes[rest]
	q.scale *= factor
	return q, ok
}

// spaces may separate thousands, and a unit from its number.
const spaces = " \u00a0\u2009\u202f"

// digitsOf returns the length of the digits at the start of a text, with separators and exponent.
func digitsOf(text string) int {
	digit := func(i int) bool { return i < len(text) && '0' <= text[i] && text[i] <= '9' }
	end, some := 0, false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		next := i + size
		switch {
		case digit(i):
			some = true
		case r == '.' || r == ',':
		case strings.ContainsRune(spaces+"'’", r) && some && digit(next):
		default:
			if (r == 'e' || r == 'E') && some {
				if next < len(text) && (text[next] == '-' || text[next] == '+') {
					next++
				}
				if digit(next) {
					for digit(next) {
						next++
					}
					end = next
				}
			}
			return end
		}
		i = next
		if some {
			end = i
		}
	}
	return end
}

// validUnit reports whether a text may be a unit: one short word or sign.
func validUnit(text string) bool {
	const longest = 12 // runes
	for i, r := range text {
		letter := unicode.IsLetter(r) || unicode.Is(unicode.Sc, r) || strings.ContainsRune("%‰°", r)
		if !letter && (i == 0 || !strings.ContainsRune("/²³^·0123456789", r)) {
			return false
		}
	}
	return utf8.RuneCountInString(text) <= longest
}

// plain returns the digits with a decimal point and without separators, and whether the
// separators part groups of three digits by this decimal sign.
func (q quantity) plain(decimal rune) (string, bool) {
	mantissa, exponent := q.digits, ""
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		mantissa, exponent = mantissa[:at], mantissa[at:]
	}
	whole, fraction, _ := strings.Cut(mantissa, string(decimal))
	if strings.Trim(fraction, "0123456789") != "" {
		return "", false
	}
	if at := strings.IndexFunc(whole, func(r rune) bool { return r < '0' || r > '9' }); at >= 0 {
		_, size := utf8.DecodeRuneInString(whole[at:])
		groups := strings.Split(whole, whole[at:at+size])
		if at == 0 || at > 3 || groups[0][0] == '0' {
			return "", false
		}
		for _, group := range groups[1:] {
			if len(group) != 3 || strings.Trim(group, "0123456789") != "" {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	return whole + "." + fraction + exponent, whole+fraction != ""
}

// A census counts the parts of the numbers of a column.
type census struct {
	texts        int
	units        map[string]int // how many texts have each unit, "" for none
	point, comma bool           // all texts are numbers with this decimal sign
	marked       bool           // a text has a point or a comma
}

func newCensus() *census { return &census{units: map[string]int{}, point: true, comma: true} }

// add counts a text, and reports whether it may be a number.
func (c *census) add(field string) bool {
	q, ok := splitQuantity(field)
	if !ok {
		return false
	}
	_, point := q.plain('.')
	_, comma := q.plain(',')
	if !point && !comma {
		return false
	}
	c.texts++
	c.units[q.unit]++
	c.point, c.comma = c.point && point, c.comma && comma
	c.marked = c.marked || strings.ContainsAny(q.digits, ".,")
	return true
}

// open reports whether the texts are numbers with either decimal sign, and others with each.
func (c *census) open() bool { return c.point && c.comma && c.marked }

// common returns the most frequent unit, and its texts with those that have none.
func (c *census) common() (unit string, texts int) {
	for _, u := range slices.Sorted(maps.Keys(c.units)) {
		if n := c.units[u]; u != "" && n > texts {
			unit, texts = u, n
		}
	}
	return unit, texts + c.units[""]
}

// list returns the units with their counts, for a note.
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

// format returns the format of the texts, and whether their units have one measure.
func (c *census) format() (n Number, ok bool) {
	n.Decimal = '.'
	if !c.point {
		n.Decimal = ','
	}
	unit, _ := c.common()
	others := maps.Clone(c.units)
	delete(others, "")
	delete(others, unit)
	n.Unit = unit
	_, short := magnitudes[unit]
	if short && (len(others) > 0 || c.units[""] > 0) { // 1.2k beside 950
		n.Unit, others[unit] = "", 0
	}
	for u := range others {
		size, same := sizeIn(u, n.Unit)
		if !same {
			return n, false
		}
		if n.Units == nil {
			n.Units = map[string]float64{}
		}
		n.Units[u] = size
	}
	return n, true
}

// measures holds units with the same measure and their sizes.
var measures = []map[string]float64{
	{"mg": 1e-3, "g": 1, "kg": 1e3, "Kg": 1e3, "KG": 1e3, "t": 1e6, "oz": 28.349523125, "lb": 453.59237, "lbs": 453.59237},
	{"mm": 1, "cm": 10, "m": 1e3, "km": 1e6, "in": 25.4, "ft": 304.8, "mi": 1609344},
	{"ml": 1, "mL": 1, "cl": 10, "dl": 100, "l": 1e3, "L": 1e3},
	{"ms": 1, "s": 1e3, "sec": 1e3, "min": 6e4, "h": 36e5, "hr": 36e5, "hrs": 36e5},
	{"B": 1e-3, "KB": 1, "kB": 1, "MB": 1e3, "GB": 1e6, "TB": 1e9},
	{"W": 1, "kW": 1e3, "MW": 1e6},
	{"Wh": 1, "kWh": 1e3, "MWh": 1e6},
	{"m²": 1, "m2": 1, "sqm": 1},
	{"$": 1, "USD": 1, "US$": 1},
	{"€": 1, "EUR": 1},
	{"£": 1, "GBP": 1},
	{"%": 1, "‰": .1},
}

// sizeIn returns the size of a unit in another one, and whether they have the same measure.
func sizeIn(unit, in string) (float64, bool) {
	if size, ok := magnitudes[unit]; ok && in == "" {
		return size, true
	}
	for _, m := range measures {
		if size, ok := m[unit]; ok && m[in] != 0 {
			return size / m[in], true
		}
	}
	return 0, false
}
