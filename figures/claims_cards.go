package figures

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/claims"
	"cvgm/figures/internal/chart"
)

// ClaimCards has a card for each of the paper's sentences. The visible part of a card has the
// verdict, the reason, and the deciding number with its interval as a bar. The folded part below
// has all measurements for the sentence. A CSV of the same name has all digits of the numbers.
type ClaimCards struct {
	Claims []claims.Claim
}

// Describe returns the name of the files and the caption.
func (c *ClaimCards) Describe() (name, caption string) { return "claims", claimsCaption }

// Write writes claims.md and claims.csv into the folder dir.
func (c *ClaimCards) Write(dir string) error {
	t := claimsTable(c.Claims)
	if err := t.WriteCSV(dir); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, t.Name+".md"), []byte(c.Markdown()), 0o644)
}

// Markdown returns a link to the list of the claims, followed by the cards.
func (c *ClaimCards) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n%s [The list](claims_at_a_glance.md) has each in one line.\n", claimsCaption, verdictCounts(c.Claims))
	b.WriteString("\n## How to read a card\n\n" + claimsLegend(c.Claims) + "\n")
	for _, claim := range c.Claims {
		writeCard(&b, claim)
	}
	return b.String()
}

// claimsLegend explains the parts that all cards have.
func claimsLegend(all []claims.Claim) string {
	r := claims.Reckon(all)
	opened := "none"
	if r.Opened != nil {
		opened = strings.Join(r.Opened, ", ")
	}
	draws := "The verdicts are those of one draw of the random data."
	if r.Draws > 1 {
		unsteady := "no row flips"
		if r.Unsteady != nil {
			unsteady = strings.Join(r.Unsteady, ", ") + " flip"
		}
		draws = fmt.Sprintf("The verdicts are those of %d draws of the random data together. Judged alone, %d of the draws' %d verdicts differ from these; their scatter predicts %.0f, and %s more often than it predicts (p < %g, Holm's correction). Further numbers in the texts are those of draw 0.", r.Draws, r.Flips, r.Verdicts, r.Expected, unsteady, claims.Unlikely)
	}
	return strings.Join([]string{
		draws,
		"A bar shows the 95 % interval of a number, ● its estimate, and │ the bound of its rule. Right of │ the number speaks for the sentence, left of it against it. If a rule requires a number, │ is this number, and each deviation from it is drawn to the left. Within [ ] a difference is too small to matter, and the scale ends at five times that. The sign is judged by the 95 % interval, the size by the 90 % interval. A sentence holds if all its measurements do. A verdict in brackets belongs to a measurement on which the sentence does not depend.",
		"A control is a case in which the sentence is false, judged by the same rule. A choice counts as competitive, or as working well, if it loses at most a quarter of what a choice known to be bad loses on the same data.",
		"The number of repetitions in ten draws is chosen so that the smallest difference that matters would show: if the truth is 0 or twice that difference, they show its size with probability 0.9. A note marks each row that too few repetitions leave open.",
		fmt.Sprintf("Repetitions decide %d rows. If the truth lay on every bound, %.0f of them would be decided wrongly by chance. Holm's correction for their number leaves not decided: %s.", r.Decided, r.Chance, opened),
		"In settings N is the number of examples, in the formula of a learner the number of rows that it is fitted to, and ε is standard normal. Each of K random splits, which some settings call uniform, trains on the integer part of p·N examples, drawn at random, and validates on the others. Balanced splits validate each example equally often. make_regression is scikit-learn's.",
	}, "\n\n")
}

// writeCard writes the card of a claim.
func writeCard(b *strings.Builder, c claims.Claim) {
	md := func(text string) string { return chart.Markdown(text, false) }
	fmt.Fprintf(b, "\n### %d. %s\n\n**%s** · %s · %s\n", c.Number, md(c.Short), md(string(c.Verdict)), md(c.Section), md(quotation(c.Sentence)))
	for _, m := range c.Measured {
		if m.Caveat != "" {
			fmt.Fprintf(b, "\n%s\n", md(m.Caveat))
		}
	}
	if m := deciding(c); m != nil {
		b.WriteString("\n")
		if p, ok := m.Position(); ok {
			fmt.Fprintf(b, "`%s` ", intervalBar(p))
		}
		fmt.Fprintf(b, "%s: **%s**%s. %s\n", md(m.Text), chart.Cell(measurement(m.Ours), " ± ", "–"), md(repetitions(m)), md(conditionText(m)))
		if m.Remark != "" {
			fmt.Fprintf(b, "\n%s\n", linked(md(firstSentence(m.Remark))))
		}
	}
	fmt.Fprintf(b, "\n<details><summary>All that is measured</summary>\n\n%s\n", measuredTable(c))
	for k := range c.Measured {
		if note := rowNote(&c.Measured[k]); note != "" {
			fmt.Fprintf(b, "* %s: %s\n", claims.RowName(c.Number-1, k), note)
		}
	}
	for _, s := range sharedTexts(c, reasonOf) {
		fmt.Fprintf(b, "* What matters in %s: %s.\n", strings.Join(s.rows, ", "), md(s.text))
	}
	for _, s := range sharedTexts(c, func(m *claims.Measurement) string { return m.Setting }) {
		short := settingName(s.text)
		if short == s.text {
			fmt.Fprintf(b, "* Setting of %s: %s.\n", strings.Join(s.rows, ", "), md(s.text))
			continue
		}
		fmt.Fprintf(b, "\n<details><summary>Setting of %s: %s</summary>\n\n%s.\n\n</details>\n", strings.Join(s.rows, ", "), md(short), md(s.text))
	}
	b.WriteString("\n</details>\n")
}

// firstSentence returns the text up to the end of its first sentence.
func firstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// problems are the words by which a setting names its problem.
var problems = []string{"rings", "XOR", "elastic net", "ridge regression", "logistic regression", "support vector machine"}

// sizesIn matches the sizes in a setting: the number K of splits, or values of N as in "N = 100,
// 200". If a word follows several values of N, the last value counts something else.
var sizesIn = regexp.MustCompile(`\b(N|K) = (\d+(?:, \d+)*)( [a-z])?`)

// settingName shortens a setting to N, K, and the first problem that occurs in the setting. If the
// setting is already short, or has none of these parts, settingName returns it unchanged.
func settingName(setting string) string {
	const shortest = 60 // characters; the name would be hardly shorter
	if len([]rune(setting)) <= shortest {
		return setting
	}
	var parts []string
	first := len(setting)
	for _, p := range problems {
		if at := strings.Index(setting, p); at >= 0 && at < first {
			parts, first = []string{p}, at
		}
	}
	for _, size := range []string{"N", "K"} {
		var values []string
		for _, found := range sizesIn.FindAllStringSubmatch(setting, -1) {
			all := strings.Split(found[2], ", ")
			if size == "K" {
				all = all[:1]
			} else if found[3] != "" && len(all) > 1 {
				all = all[:len(all)-1]
			}
			if found[1] == size {
				values = append(values, all...)
			}
		}
		slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		if values = slices.Compact(values); values != nil {
			parts = append(parts, size+" = "+strings.Join(values, ", "))
		}
	}
	if parts == nil {
		return setting
	}
	return strings.Join(parts, ", ")
}

// measuredTable returns a table of all measurements for a claim.
func measuredTable(c claims.Claim) string {
	t := &Table{Header: []string{"", "Measured", "Here", "Repetitions", "", "Confirmed if", "Matters from", "Sign", "Size", "Verdict"}}
	for k := range c.Measured {
		m := &c.Measured[k]
		row := []any{claims.RowName(c.Number-1, k), m.Text, measurement(m.Ours), repeated(m), nil, m.Rule, nil, optional(string(m.Sign)), optional(string(m.Size)), bracketed(m)}
		if p, ok := m.Position(); ok {
			row[4], row[6] = Code(intervalBar(p)), Number{Value: m.Smallest, Digits: 4}
		}
		t.Rows = append(t.Rows, row)
	}
	_, rows, _ := strings.Cut(t.Markdown(), "\n\n") // without the caption
	return rows
}

// rowNote returns those facts about a row that the table of all rows omits.
func rowNote(m *claims.Measurement) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if q := m.Quoted; q.Paper != "" || q.Code != "" {
		add("%s", printedText(q))
	}
	if m.Control != nil && !failed(m.Verdict) {
		add("Control, %s: %s, %s.", chart.Markdown(m.Control.Text, false), chart.Cell(measurement(m.Control.Ours), " ± ", "–"), m.Control.Verdict)
	}
	if d := m.Draws; d != nil && d.N > 1 && m.Ours.N > d.N {
		add("Draws that have another verdict alone: %d of %d, %.1f expected from their scatter.", d.Flips, d.N, d.Expected)
	}
	if text := repetitionsText(m); text != "" {
		add("%s", text)
	}
	if m.Remark != "" {
		add("%s", linked(chart.Markdown(m.Remark, false)))
	}
	return strings.Join(parts, " ")
}

// reasonOf returns a text with two parts: the smallest difference that matters, and the reason for
// this choice.
func reasonOf(m *claims.Measurement) string {
	if _, ok := m.Position(); !ok {
		return ""
	}
	return fmt.Sprintf("from %.4g on, for %s", m.Smallest, m.Reason)
}

func repetitions(m *claims.Measurement) string {
	if m.Ours.N < 2 {
		return ""
	}
	return fmt.Sprintf(", %d repetitions", m.Ours.N)
}

// conditionText returns a text with the condition of the rule, the paper's number and the outcome
// of the rule.
func conditionText(m *claims.Measurement) string {
	if m.Verdict == claims.NotTestable {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Confirmed if %s.", m.Rule)
	if q := m.Quoted; q.Paper != "" || q.Code != "" {
		b.WriteString(" " + printedText(q))
	}
	if _, is := m.Position(); is && m.Smallest > 0 {
		fmt.Fprintf(&b, " The smallest difference that matters is %.3g: %s.", m.Smallest, m.Reason)
		if text := repetitionsText(m); text != "" {
			b.WriteString(" " + text)
		}
	}
	if m.Sign != "" {
		fmt.Fprintf(&b, " Sign: %s. Size: %s.", m.Sign, m.Size)
	}
	return b.String()
}

// repetitionsText returns a sentence about the repetitions: it gives the smallest difference that
// the repetitions distinguish from 0. It returns "" if there are no repetitions. It also returns ""
// if the repetitions are too few to show the smallest difference that matters, but decide the row
// nevertheless.
func repetitionsText(m *claims.Measurement) string {
	switch tells := m.Tells(); {
	case !(tells > 0):
		return ""
	case !(m.Smallest > 0) || tells <= m.Smallest:
		return fmt.Sprintf("These repetitions would have shown a difference of %.2g.", tells)
	case m.Size == claims.Unclear || m.Verdict == claims.NotDecided:
		return fmt.Sprintf("These repetitions would have shown a difference of %.2g, but not one of %.2g.", tells, m.Smallest)
	}
	return ""
}

// printedText returns a sentence with two numbers: the number that the paper prints, and the number
// that its code prints.
func printedText(q claims.Quoted) string {
	switch {
	case q.Code == "":
		return "The paper prints " + q.Paper + "."
	case q.Paper == "":
		return "The paper's code prints " + q.Code + "."
	}
	return "The paper prints " + q.Paper + ", its code " + q.Code + "."
}

// linked returns text with links. Each name of a table in another file becomes a link to the table.
func linked(text string) string {
	for words, address := range claimLinks {
		text = strings.ReplaceAll(text, words, "["+words+"]("+address+")")
	}
	return text
}

var claimLinks = map[string]string{"errata in 05_differentiability": "../05_differentiability/errata.md"}

// A sharedText is a text that several rows have in common.
type sharedText struct {
	rows []string
	text string
}

// sharedTexts returns each distinct text of a claim's rows once, with the names of the rows that
// have this text.
func sharedTexts(c claims.Claim, of func(m *claims.Measurement) string) []sharedText {
	var all []sharedText
	for k := range c.Measured {
		name, text := claims.RowName(c.Number-1, k), of(&c.Measured[k])
		i := slices.IndexFunc(all, func(s sharedText) bool { return s.text == text })
		switch {
		case text == "":
		case i >= 0:
			all[i].rows = append(all[i].rows, name)
		default:
			all = append(all, sharedText{[]string{name}, text})
		}
	}
	return all
}
