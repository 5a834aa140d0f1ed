package portable

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Finite reports whether v is neither NaN nor infinite.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// ParseDecimal parses a finite decimal number.
func ParseDecimal(field string) (float64, bool) {
	v, err := strconv.ParseFloat(field, 64)
	if err != nil || !Finite(v) {
		return v, false
	}
	for i := range len(field) {
		if c := field[i]; c == 'x' || c == 'X' || c == '_' {
			return v, false
		}
	}
	return v, true
}

// A NumberFormat describes how the numbers of a column are written. Decimal is the decimal sign,
// '.' or ','. Unit is the usual unit, and Units maps other units to their sizes in this unit. If
// UnitRequired is set, a number without a unit does not have the format.
type NumberFormat struct {
	Decimal rune
	Unit    string
	Units   map[string]float64

	UnitRequired bool
}

// Example returns a number in the format.
func (n *NumberFormat) Example() string {
	text := "1.5"
	if n.Decimal == ',' {
		text = "1,5"
	}
	if n.Unit != "" {
		text += " " + n.Unit
	}
	return text
}

// Parse returns the number in a field, converted to Unit, and whether the field has the format.
func (n *NumberFormat) Parse(field string) (float64, bool) {
	q, ok := SplitQuantity(field)
	if !ok || q.Unit == "" && n.UnitRequired {
		return 0, false
	}
	digits, ok := q.Plain(cmp.Or(n.Decimal, '.'))
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(digits, 64)
	if q.Unit != "" && q.Unit != n.Unit {
		size, known := n.Units[q.Unit]
		ok = known
		v *= size
	}
	return float64(v * q.Scale), ok && err == nil && Finite(v*q.Scale)
}

// A Quantity is the text of a number in its parts.
type Quantity struct {
	Digits string  // with separators and exponent
	Unit   string  // before or after the digits
	Scale  float64 // −1 for a negative number, times the factor of k, M or bn after a currency
}

// The variable currencies lists texts that may precede a number. If one currency begins with
// another, the longer one comes first.
var currencies = []string{"US$", "AU$", "CA$", "NZ$", "HK$", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "CZK",
	"HUF", "BRL", "ZAR", "A$", "C$", "R$", "Rs", "$", "€", "£", "¥", "₹", "₩", "₽", "₺", "₪", "฿", "₫", "₴", "¢"}

// Magnitudes are abbreviations of factors.
var Magnitudes = map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6, "bn": 1e9, "B": 1e9}

// SplitQuantity returns the parts of a text, and whether it may be a number with a unit.
func SplitQuantity(field string) (q Quantity, ok bool) {
	q.Scale = 1
	rest := field
	if n := len(rest); n > 2 && rest[0] == '(' && rest[n-1] == ')' {
		q.Scale, rest = -1, strings.TrimSpace(rest[1:n-1])
	}
	signed := false
	sign := func() {
		for _, s := range []string{"-", "−", "+"} {
			if after, found := strings.CutPrefix(rest, s); found && !signed {
				rest, signed = strings.TrimLeft(after, spaces), true
				if s != "+" {
					q.Scale = -q.Scale
				}
			}
		}
	}
	sign()
	for _, c := range currencies {
		if after, found := strings.CutPrefix(rest, c); found {
			q.Unit, rest = c, strings.TrimLeft(after, spaces)
			break
		}
	}
	sign()
	n := digitsOf(rest)
	if n == 0 {
		return q, false
	}
	q.Digits = rest[:n]
	rest = strings.TrimLeft(rest[n:], spaces)
	switch {
	case rest == "":
		return q, true
	case q.Unit == "":
		q.Unit = rest
		hexadecimal := q.Digits == "0" && (rest[0] == 'x' || rest[0] == 'X')
		return q, !hexadecimal && validUnit(rest)
	}
	factor, ok := Magnitudes[rest]
	q.Scale *= factor
	return q, ok
}

// spaces may separate thousands. They may also separate a unit from its number.
const spaces = " \u00a0\u2009\u202f"

// digitsOf returns the length of the number at the start of a text, with its separators and
// exponent.
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

// validUnit reports whether a text may be a unit: one short word or one sign.
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

// Plain returns the digits with a decimal point and without separators. It also reports whether the
// separators are valid: with the decimal sign given, they must separate groups of three digits.
func (q Quantity) Plain(decimal rune) (string, bool) {
	mantissa, exponent := q.Digits, ""
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
