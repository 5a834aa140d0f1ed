package experiment

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"a b":                               "a b",
		"a  b":                              "a ␠b",
		" a ":                               "␠a␠",
		"a\tb\r\nc":                         "a␉b␍␊c",
		"\x00\x1b\x7f":                      "␀␛␡",
		"\u202eexe\u2066\ufeff\u00ad\u2028": "⟨U+202E⟩exe⟨U+2066⟩⟨U+FEFF⟩⟨U+00AD⟩⟨U+2028⟩",
		"a\u00a0b\u3000":                    "a⟨U+00A0⟩b⟨U+3000⟩",
		"\xff":                              "\ufffd",
		"👩‍👩‍👧 می\u200cخواهم": "👩‍👩‍👧 می\u200cخواهم", // joiners affect the joined characters
		"a\u200db":      "a⟨U+200D⟩b",
		"λ1 ± é ∈ 10⁻⁴": "λ1 ± é ∈ 10⁻⁴",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if again := Visible(want); again != want {
			t.Errorf("%q becomes %q", want, again)
		}
	}
	// A long name is cut in the middle, because the levels of a column differ at the ends of their names.
	for text, want := range map[string]string{
		"":                    "",
		"a b":                 "a b",
		"seven 7":             "seven 7",
		"neighbourhood=north": "nei…rth",
		"neighbourhood=south": "nei…uth",
		"ääääöööö":            "äää…ööö",
	} {
		if got := Shortened(text, 7); got != want {
			t.Errorf("%q is shortened to %q, want %q", text, got, want)
		}
	}
	if got := Shortened("abc", 1); got != "…" {
		t.Errorf("%q", got)
	}
	if got := Shortened("abc", 2); got != "a…" {
		t.Errorf("%q", got)
	}
	if long := strings.Repeat("a", 10000); Visible(long) != long {
		t.Error("a long text is cut")
	}
}
