package experiment

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible returns a text on one line and without invisible characters. For example, the text is the
// name of a column in a user's file. Control characters become symbols, such as ␊ for a line break
// and ␉ for a tab. A space at an end of the text, or after another space, becomes ␠. Other
// invisible characters become their codes. For example, ⟨U+202E⟩ is the code of a character that
// reverses the direction of writing. Bytes that are not UTF-8 become U+FFFD.
func Visible(text string) string {
	const pictures = 0x2400 // the first of the Unicode symbols for control characters
	var b strings.Builder
	before := ' '
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for i, r := range runes {
		joins := (r == '\u200C' || r == '\u200D') && before > unicode.MaxASCII // a joiner: it joins letters within a word, or several characters to one emoji
		switch {
		case r == ' ' && (before == ' ' || i == len(runes)-1), r < ' ':
			b.WriteRune(pictures + r)
		case r == '\x7F':
			b.WriteRune('␡')
		case !unicode.IsPrint(r) && !joins:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// Shortened returns a text with at most the given number of letters, which is at least 1. It cuts a
// long text in the middle, because the names of features often differ only at their ends.
func Shortened(text string, letters int) string {
	runes := []rune(text)
	if len(runes) <= letters {
		return text
	}
	return string(runes[:letters/2]) + "…" + string(runes[len(runes)-(letters-1)/2:])
}
