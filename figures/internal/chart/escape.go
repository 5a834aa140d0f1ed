package chart

import (
	"encoding/csv"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"cvgm/cvgm/experiment"
)

// Texts of outputs may contain names from a user's file, such as the names of columns and classes.
// Such a name may contain characters that have a meaning in the format of the output. For each
// format, this file therefore has a function that escapes a text, so that the output shows only the
// text. The functions that write the format call this function for all texts.

// Markdown returns text for a paragraph of Markdown, or for a cell of a table in Markdown. If some
// characters of the text have a meaning in Markdown, the result is a code span. All dialects of
// Markdown show a code span unchanged. Escaping the characters would not suffice, because some
// dialects still draw mathematics or turn addresses into links.
func Markdown(text string, inTable bool) string {
	text = experiment.Visible(text)
	if activeMarkdown.MatchString(text) || !inTable && blockMarkdown.MatchString(text) {
		return codeSpan(text, inTable)
	}
	if inTable {
		return strings.ReplaceAll(text, "|", `\|`)
	}
	return text
}

var activeMarkdown = regexp.MustCompile("[$\\\\`]" + // mathematics, escapes, code
	`|<[A-Za-z/!?]|&[A-Za-z0-9#]+;|\][(\[:]` + // HTML, names of characters, links
	`|://|@|(?i:www\.)` + // addresses
	`|^\*|\*$|\*\S(.*\S)?\*|(^|[^\pL\pN])_\S(.*\S)?_([^\pL\pN]|$)|~.*~|:[\w+-]+:`) // emphasis, emoji

// blockMarkdown matches the beginnings of headings, quotations and lists.
var blockMarkdown = regexp.MustCompile(`^([#>=]|[+-]+(\s|$)|\d+[.)]\s)`)

// codeSpan returns text as a code span of Markdown. In a table, a bar | needs special care. Some
// dialects end the cell at a bar even after a backslash, and other dialects show the backslash. So
// codeSpan writes a bar between two code spans.
func codeSpan(text string, inTable bool) string {
	if before, after, has := strings.Cut(text, "|"); has && inTable {
		return codeSpan(before, true) + "&#124;" + codeSpan(after, true)
	}
	if text == "" {
		return ""
	}
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	first, last := text[0], text[len(text)-1]
	if first == '`' || last == '`' || first == ' ' && last == ' ' && strings.Trim(text, " ") != "" {
		text = " " + text + " " // renderers remove these spaces
	}
	fence := strings.Repeat("`", longest+1)
	return fence + text + fence
}

// HTML returns text for use in HTML: for the content of an element or for the value of an
// attribute. It does not escape TeX in an element; see [HTMLText].
func HTML(text string) string { return html.EscapeString(experiment.Visible(text)) }

// HTMLText returns text for the content of an HTML element. A script of the page may interpret the
// text as TeX. If this is possible, the result is a code element, which such scripts ignore. The
// protection is necessary, because links in TeX can run scripts.
func HTMLText(text string) string {
	if strings.ContainsAny(text, `$\`) {
		return "<code>" + HTML(text) + "</code>"
	}
	return HTML(text)
}

// Latex returns text for LaTeX.
func Latex(text string) string {
	text = LatexEscapes.Replace(experiment.Visible(text))
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "*") {
		return "{}" + text // without the braces, LaTeX would read the text as an argument of the line break before the text
	}
	return text
}

var LatexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`,
	"{", `\{`, "}", `\}`, "^", `\textasciicircum{}`, "~", `\textasciitilde{}`,
	"<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`, // in some fonts, other letters are at their places
	"--", "-{}-{}", "``", "`{}`{}", "''", "'{}'{}", "?`", "?{}`", "!`", "!{}`", ",,", ",{},{}", // ligatures
	"∈", `$\in$`, "¹", "$^1$", "⁴", "$^4$", "⁶", "$^6$", "⁻", "$^{-}$",
	"λ1", `$\lambda_1$`, "λ2", `$\lambda_2$`, "±", `$\pm$`, "θ", `$\theta$`, "Δ", `$\Delta$`, "∇", `$\nabla$`, "∂", `$\partial$`, "α", `$\alpha$`, "γ", `$\gamma$`, "λ", `$\lambda$`, "ν", `$\nu$`, "π", `$\pi$`,
	"½", `$\frac12$`, "²", `$^2$`, "ᵀ", `$^\top$`, "ŷ", `$\hat y$`, "′", `$'$`, "ⁱ", `$^i$`, "…", `\dots{}`, "−", "$-$", "≤", `$\le$`, "≥", `$\ge$`, "×", `$\times$`, "–", "--",
	"₁", "$_1$", "₂", "$_2$", "₃", "$_3$", "ₖ", "$_k$", "ᵢ", "$_i$", "ⱼ", "$_j$", "ₙ", "$_n$", "ₚ", "$_p$", "ₑₘₚ", `$_{\mathrm{emp}}$`, "ⁿ", "$^n$", "³", "$^3$", "⁺", "$^+$",
	"𝒯", `$\mathcal{T}$`, "𝒱", `$\mathcal{V}$`, "𝒳", `$\mathcal{X}$`, "𝒴", `$\mathcal{Y}$`, "∩", `$\cap$`, "∪", `$\cup$`, "∅", `$\emptyset$`,
	"β", `$\beta$`, "ε", `$\varepsilon$`, "η", `$\eta$`, "σ", `$\sigma$`, "·", `$\cdot$`, "°", `$^\circ$`, "“", "``", "”", "''", "‖", `$\|$`, "∞", `$\infty$`, "√", `$\surd$`, "Σ", `$\Sigma$`, "→", `$\to$`, "é", `\'e`,
	"─", "--", "│", `\textbar{}`, "●", `$\bullet$`, "◂", `$\triangleleft$`, "▸", `$\triangleright$`)

// writeCSV returns records as CSV. No spreadsheet reads a cell of this CSV as a formula.
func writeCSV(records [][]string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, record := range records {
		_ = w.Write(Mapped(record, CSVText)) // a strings.Builder returns no errors
	}
	w.Flush()
	return b.String()
}

// CSVText returns text for a cell of a CSV. If a spreadsheet would read a formula in the text,
// CSVText inserts an apostrophe before the formula. A formula may be at the beginning of the text.
// It may also follow a semicolon or a tab, because these end a cell in some countries. Numbers are
// not formulas, even with an interval in brackets, and do not change. If the text already has an
// apostrophe at such a place, CSVText inserts another one. So different texts remain different, and
// removing one apostrophe restores the text.
func CSVText(text string) string {
	number, _, _ := strings.Cut(text, " ")
	if _, err := strconv.ParseFloat(number, 64); err == nil && (number == text || bracketed.MatchString(text)) {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if (i == 0 || text[i-1] == ';' || text[i-1] == '\t') && formula.MatchString(text[i:]) {
			b.WriteByte('\'')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// bracketed matches a number with its interval.
var bracketed = regexp.MustCompile(`^\S+ \[[-+.\deE]+, [-+.\deE]+\]$`)

var formula = regexp.MustCompile(`^'*([\t\r\n]|[\s\pZ\p{Cf}]*[=+\-@＝＋－＠])`)

// Pictured returns text for a picture. It replaces invisible characters by spaces, but keeps line
// breaks.
func Pictured(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
