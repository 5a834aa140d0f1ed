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

// Texts of outputs may come from strangers, such as names of columns and classes in a user's file.
// Each format has a function here that turns a text into plain text. The writers of the format call
// it on all texts.

// Markdown returns a text for a paragraph of Markdown, or for a cell of a table. A text that
// Markdown would interpret becomes a code span, because only code spans are plain in all
// dialects. Elsewhere some dialects draw mathematics, or make links of addresses, even if
// characters are escaped.
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
	`|<[A-Za-z/!?]|&[A-Za-z0-9#]+;|\][(\[:]` + // HTML, characters by name, links
	`|://|@|(?i:www\.)` + // addresses
	`|^\*|\*$|\*\S(.*\S)?\*|(^|[^\pL\pN])_\S(.*\S)?_([^\pL\pN]|$)|~.*~|:[\w+-]+:`) // emphasis, emoji

// blockMarkdown begins headings, quotations and lists.
var blockMarkdown = regexp.MustCompile(`^([#>=]|[+-]+(\s|$)|\d+[.)]\s)`)

// codeSpan returns a text as code of Markdown. A bar would end the cell of a table: in some
// dialects even after a backslash, while others would show the backslash. So a bar is written
// between two code spans.
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
		text = " " + text + " " // which readers remove
	}
	fence := strings.Repeat("`", longest+1)
	return fence + text + fence
}

// HTML returns a text for the content of an element or the value of an attribute. Mathematics in an
// element is not escaped: see [HTMLText].
func HTML(text string) string { return html.EscapeString(experiment.Visible(text)) }

// HTMLText returns a text for the content of an element. If a script of the page might take the
// text for TeX, whose links can run scripts, it becomes code.
func HTMLText(text string) string {
	if strings.ContainsAny(text, `$\`) {
		return "<code>" + HTML(text) + "</code>"
	}
	return HTML(text)
}

// Latex returns a text for LaTeX.
func Latex(text string) string {
	text = LatexEscapes.Replace(experiment.Visible(text))
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "*") {
		return "{}" + text // or the end of the row before would take it for its argument
	}
	return text
}

var LatexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`,
	"{", `\{`, "}", `\}`, "^", `\textasciicircum{}`, "~", `\textasciitilde{}`,
	"<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`, // other letters in some fonts
	"--", "-{}-{}", "``", "`{}`{}", "''", "'{}'{}", "?`", "?{}`", "!`", "!{}`", ",,", ",{},{}", // one letter for two
	"∈", `$\in$`, "¹", "$^1$", "⁴", "$^4$", "⁶", "$^6$", "⁻", "$^{-}$",
	"λ1", `$\lambda_1$`, "λ2", `$\lambda_2$`, "±", `$\pm$`, "θ", `$\theta$`, "Δ", `$\Delta$`, "∇", `$\nabla$`, "∂", `$\partial$`, "α", `$\alpha$`, "γ", `$\gamma$`, "λ", `$\lambda$`, "ν", `$\nu$`, "π", `$\pi$`,
	"½", `$\frac12$`, "²", `$^2$`, "ᵀ", `$^\top$`, "ŷ", `$\hat y$`, "′", `$'$`, "ⁱ", `$^i$`, "…", `\dots{}`, "−", "$-$", "≤", `$\le$`, "≥", `$\ge$`, "×", `$\times$`, "–", "--",
	"₁", "$_1$", "₂", "$_2$", "₃", "$_3$", "ₖ", "$_k$", "ᵢ", "$_i$", "ⱼ", "$_j$", "ₙ", "$_n$", "ₚ", "$_p$", "ₑₘₚ", `$_{\mathrm{emp}}$`, "ⁿ", "$^n$", "³", "$^3$", "⁺", "$^+$",
	"𝒯", `$\mathcal{T}$`, "𝒱", `$\mathcal{V}$`, "𝒳", `$\mathcal{X}$`, "𝒴", `$\mathcal{Y}$`, "∩", `$\cap$`, "∪", `$\cup$`, "∅", `$\emptyset$`,
	"β", `$\beta$`, "ε", `$\varepsilon$`, "η", `$\eta$`, "σ", `$\sigma$`, "·", `$\cdot$`, "°", `$^\circ$`, "“", "``", "”", "''", "‖", `$\|$`, "∞", `$\infty$`, "√", `$\surd$`, "Σ", `$\Sigma$`, "→", `$\to$`, "é", `\'e`,
	"─", "--", "│", `\textbar{}`, "●", `$\bullet$`, "◂", `$\triangleleft$`, "▸", `$\triangleright$`)

// writeCSV returns records as CSV, in which no spreadsheet finds a formula.
func writeCSV(records [][]string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for _, record := range records {
		_ = w.Write(Mapped(record, CSVText)) // a strings.Builder never fails
	}
	w.Flush()
	return b.String()
}

// CSVText returns a text for CSV. It inserts an apostrophe wherever a spreadsheet would read a
// formula: at the beginning, and after a semicolon or a tab, which end a cell in some countries.
// Numbers are not changed, also with an interval in brackets, because they contain no formula. A
// text that has an apostrophe there gets another one. Thus different texts stay different, and
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

// bracketed is a number with its interval.
var bracketed = regexp.MustCompile(`^\S+ \[[-+.\deE]+, [-+.\deE]+\]$`)

var formula = regexp.MustCompile(`^'*([\t\r\n]|[\s\pZ\p{Cf}]*[=+\-@＝＋－＠])`)

// Pictured returns a text for a picture, with spaces in place of invisible characters. It keeps
// line breaks.
func Pictured(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
