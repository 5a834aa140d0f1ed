package experiment

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible returns a text, such as a column's name in a user's file, as one line without
// invisible characters. Control characters become symbols: ␊ for a line break, ␉ for a tab. A
// space at an end or after another space becomes ␠. Other invisible characters become their
// code: ⟨U+202E⟩ reverses the direction of writing. Bytes that are not UTF-8 become U+FFFD.
func Visible(text string) string {
	const pictures = 0x2400 // first of Unicode's symbols for control characters
	var b strings.Builder
	before := ' '
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for i, r := range runes {
		joins := (r == '\u200C' || r == '\u200D') && before > unicode.MaxASCII // within a word, or an emoji of several
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
