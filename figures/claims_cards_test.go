package figures

import (
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
)

// The name of a setting on a card has only the problem and its sizes. A fold has the whole setting.
func TestCardsNameSettings(t *testing.T) {
	const rest = "; radii normal with mean 1 for the label −1, mean 2 for the label 1"
	for setting, want := range map[string]string{
		"K = 64 splits in the place of the paper's 256; rings: two classes; N = 60; CV loss: logistic regression of K = 64 uniform splits" + rest: "rings, N = 60, K = 64",
		"elastic net 1/(2N)·‖Xθ−y‖²; N = 30, 10 standard normal features; K = 128 uniform splits" + rest:                                          "elastic net, N = 30, K = 128",
		"rings: N = 8, 20, 60, 200; 1000 test examples; logistic regression" + rest:                                                               "rings, N = 8, 20, 60, 200",
		"N = 25b, three of each": "N = 25b, three of each",
		"nothing named" + rest:   "nothing named" + rest,
	} {
		if got := settingName(setting); got != want {
			t.Errorf("%q: %q, want %q", setting, got, want)
		}
	}
	const long = "rings: two classes; N = 60; K = 64" + rest
	m := claims.Measurement{Text: "a number", Setting: long, Remark: "One. Two.", Ours: experiment.Estimate{Mean: 1, Margin: .1, N: 5}, Judgement: claims.Judgement{Verdict: claims.Confirmed}}
	cards := (&ClaimCards{Claims: []claims.Claim{{Number: 1, Sentence: "a sentence", Short: "short", Verdict: claims.Confirmed, Measured: []claims.Measurement{m}}}}).Markdown()
	for _, want := range []string{"<details><summary>Setting of 1a: rings, N = 60, K = 64</summary>\n\n" + long + ".\n\n</details>", "\n\nOne.\n\n", "One. Two."} {
		if !strings.Contains(cards, want) {
			t.Errorf("no %q in %s", want, cards)
		}
	}
}

// A card begins with the caveats of its measurements.
func TestCardsBeginWithCaveats(t *testing.T) {
	row := func(text, caveat string) claims.Measurement {
		return claims.Measurement{Text: text, Caveat: caveat, Ours: experiment.Estimate{Mean: 1, N: 1}, Judgement: claims.Judgement{Verdict: claims.Confirmed}}
	}
	cards := (&ClaimCards{Claims: []claims.Claim{{Number: 1, Section: "2", Sentence: "it is so", Short: "short", Verdict: claims.Confirmed, Measured: []claims.Measurement{row("first", ""), row("second", "It is 2."), row("third", "It is 3.")}}}}).Markdown()
	if want := "“it is so”\n\nIt is 2.\n\nIt is 3.\n\nfirst: "; !strings.Contains(cards, want) {
		t.Errorf("no %q in %s", want, cards)
	}
}

// A card states which difference the repetitions show. It does not state that they are too few if
// they decide the row nevertheless.
func TestCardsTellWhatRepetitionsCanTell(t *testing.T) {
	for _, c := range []struct {
		smallest float64
		size     claims.Size
		verdict  claims.Verdict
		want     string
	}{
		{1, claims.Unclear, claims.NotDecided, "These repetitions would have shown a difference of 0.33."},
		{1, claims.Matters, claims.Confirmed, "These repetitions would have shown a difference of 0.33."},
		{.1, claims.Unclear, claims.NotDecided, "These repetitions would have shown a difference of 0.33, but not one of 0.1."},
		{.1, claims.Unclear, claims.Confirmed, "These repetitions would have shown a difference of 0.33, but not one of 0.1."},
		{.1, claims.Matters, claims.Confirmed, ""},
		{.1, claims.Matters, claims.Differs, ""},
		{.1, claims.Negligible, claims.TooLittle, ""},
		{.1, claims.Matters, claims.NotDecided, "These repetitions would have shown a difference of 0.33, but not one of 0.1."},
	} {
		m := &claims.Measurement{Rule: "below 0", Ours: experiment.Estimate{Mean: 1, Margin: 1.96 * .1, N: 1e6}, Smallest: c.smallest, Judgement: claims.Judgement{Sign: claims.Above, Size: c.size, Verdict: c.verdict}}
		if got := repetitionsText(m); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		for where, text := range map[string]string{"condition": conditionText(m), "note": rowNote(m)} {
			if strings.Contains(text, "repetitions") != (c.want != "") || strings.Contains(text, "  ") {
				t.Errorf("%+v: %s %q", c, where, text)
			}
		}
	}
	once := &claims.Measurement{Ours: experiment.Estimate{Mean: 1, Margin: math.NaN(), N: 1}, Smallest: .1}
	if got := repetitionsText(once); got != "" {
		t.Errorf("without repetitions: %q", got)
	}
}
