package experiment

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible returns a text, such as the name of a column in a user's file, on one line and without
// invisible characters. Control characters become symbols, such as ␊ for a line break and ␉ for a
// tab. A space at an end of the text, or after another space, becomes ␠. Other invisible characters
// become their codes, such as ⟨U+202E⟩, which reverses the direction of writing. Bytes that are not
// UTF-8 become U+FFFD.
func Visible(text string) string {
	const pictures = 0x2400 // the first of the Unicode symbols for control characters
	var b strings.Builder
	before := ' '
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for i, r := range runes {
		joins := (r == '\u200C' || r == '\u200D') && before > unicode.MaxASCII // a joiner within a word, or in an emoji of several characters
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
