package figures

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/mydata"
	"cvgm/figures/internal/chart"
	"cvgm/synth"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// hostileNames lists names of columns and classes that a program could mistake for code or markup.
var hostileNames = []string{
	`<script>document.title='owned'</script>`, `<img src=x onerror="document.title='owned'">`, `"><svg onload=alert(1)>`, `' onmouseover='alert(1)`, `</figcaption><script>alert(1)</script>`,
	`<!-- comment`, `<?php`, `]]>`, `&lt;b&gt;`, `&amp;`, `&#60;b>`, `a & b < c > d`,
	`[x](javascript:alert(1))`, `![x](https://evil.example/a.png)`, `[x][y]`, `[x]: https://evil.example`, `<javascript:alert(1)>`, `https://evil.example/?a=b`, `www.evil.example`, `a@evil.example`, `[ref]`,
	`$\href{javascript:alert(1)}{x}$`, `$$x$$`, `\(\href{javascript:alert(1)}{x}\)`, `\begin{equation}x\end{equation}`, `price ($)`, "$`x`$",
	`a|b`, `a\|b`, `a\`, `\`, `|`, "`code`", "``", "`", "a`|`b", "a`$", `**bold**`, `*i*`, `a*b`, `*`, `_i_`, `__b__`, `snake_case_name`, `~~s~~`, `:smile:`, `# heading`, `- item`, `1. one`, `> quote`, `---`, `=====`,
	`=cmd|' /C calc'!A0`, `=HYPERLINK("https://evil.example")`, `+1+1`, `-1+1`, `@SUM(1)`, `＝1+1`, `＋1`, `－1`, `＠a`, `'=1`, `''=1`, `'a`, `x;=1+1`, "x\t=1+1", "\u00a0=1", "\u200b=1",
	"a\tb", "a\nb", "a\rb", "a  b", "a b", "a\u00a0b", "\u202etxt.exe", "a\u2066b", "\x1b[31mred", "\x07", "a\u200bb", "\ufffd", "(no name)",
	`\input{/etc/passwd}`, `\write18{x}`, `100 % _ # { } ^ ~`, `[2ex] x`, `*x`, `%!s(int=1)`, `%d`, `{{7*7}}`, `𝔛 👩‍👩‍👧 ☃`, `שלום`,
	`-1.5`, `+3e-5`, `−1.5`, `1e9`, `nan`, `x1`, `λ1`, strings.Repeat("W", 10000), strings.Repeat("long name ", 1000) + "x",
}

// hostileTable returns a CSV with hostile names for its columns, its levels and the classes of its
// target. The names begin with number k.
func hostileTable(columns []string, k int) (text string, target string) {
	src := synth.NewStream(8, "strangers")
	target = "target " + hostileNames[k]
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(append(slices.Clone(columns), target))
	for i := range 36 {
		var row []string
		for j := range columns {
			cell := fmt.Sprintf("%.3f", src.NormFloat64()+float64(i%3*(1-2*(j%2))))
			if len(columns) > 2 && j%3 == 2 {
				cell = "level " + hostileNames[(j+i%2)%len(hostileNames)]
			}
			row = append(row, cell)
		}
		_ = w.Write(append(row, hostileNames[(k+i%3)%len(hostileNames)]+" class"))
	}
	w.Flush()
	return b.String(), target
}

// Outputs for tables with hostile names contain these names only as text.
func TestTextsOfStrangers(t *testing.T) {
	quick := func(target string) func(p *mydata.MyDataParams) {
		return func(p *mydata.MyDataParams) { p.Target, p.OuterFolds, p.CurvePoints = target, 0, 3 }
	}
	text, target := hostileTable(hostileNames, 0)
	r := myResult(t, text, quick(target))
	checkStrangers(t, r)
	var names []string
	for _, row := range readTable(t, MyDataColumns(r).Markdown())[1:] {
		names = append(names, row[0])
	}
	want := chart.Mapped(r.Columns, func(c mydata.Column) string { return experiment.Visible(c.Name) })
	if !slices.Equal(names, want) || len(names) != len(hostileNames)+1 {
		t.Errorf("columns %.2000q\nwant %.2000q", names, want)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(hostileNames)+1 {
		t.Errorf("two of %q look alike", names)
	}
	text, target = hostileTable(hostileNames[len(hostileNames)-2:], len(hostileNames)-2)
	long := myResult(t, text, quick(target))
	checkStrangers(t, long)
	for _, o := range append(Of(r), Of(long)...) {
		if f, ok := o.(*Figure); ok {
			checkFigure(t, f)
			if _, err := f.PDF(); err != nil {
				t.Error(err)
			}
		}
	}
	two := myResult(t, "x,y,kind\n"+strings.Repeat("1,3,a\n2,1,b\n4,2,b\n3,2,a\n", 4), quick("kind"))
	for _, attack := range hostileNames { // as names of the file, the target, a class and a feature
		bad := *two
		bad.Name, bad.Target, bad.Classes = attack, attack, []string{attack + "0", attack}
		bad.Models = slices.Clone(two.Models)
		bad.Models[0].Class, bad.Models[0].Features = attack, []string{attack, attack + "2"}
		bad.Boundary = &mydata.Boundary{Names: [2]string{attack, attack}, Axes: two.Boundary.Axes, Margin: two.Boundary.Margin, X: two.Boundary.X, Class: two.Boundary.Class}
		checkStrangers(t, &bad)
	}
}

func checkStrangers(t *testing.T, r *mydata.Result) {
	t.Helper()
	for _, word := range strings.Fields(r.Screen()) {
		if word != experiment.Visible(word) {
			t.Errorf("the word %.200q", word)
		}
	}
	for _, f := range r.Files() {
		if f.About != experiment.Visible(f.About) {
			t.Errorf("the sentence %.200q", f.About)
		}
		if filepath.Ext(f.Name) == ".json" && (!json.Valid([]byte(f.Text)) || strings.ContainsAny(f.Text, "<>&\u2028\x1b")) {
			t.Errorf("%s ends an element of a page: %.500s", f.Name, f.Text)
		}
	}
	for _, o := range Of(r) {
		_, caption := o.Describe()
		if caption != experiment.Visible(caption) {
			t.Errorf("the caption %.200q", caption)
		}
		switch o := o.(type) {
		case *Table:
			checkTableTexts(t, o)
		case *Figure:
			if alt := o.Alt(); alt != experiment.Visible(alt) {
				t.Errorf("the alternative text %.200q", alt)
			}
			checkCSV(t, o.CSV())
			checkSVG(t, o)
		}
	}
}

// checkTableTexts reads a table from each of its formats.
func checkTableTexts(t *testing.T, table *Table) {
	t.Helper()
	checkCSV(t, table.CSV())
	want := [][]string{chart.Mapped(table.Header, experiment.Visible)}
	for _, row := range table.Rows {
		want = append(want, chart.Mapped(row, func(v any) string { return experiment.Visible(chart.Cell(v, " ± ", "–")) }))
	}
	if got := readTable(t, table.Markdown()); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("Markdown has the cells %.2000q\nwant %.2000q", got, want)
	}
	for _, line := range append(table.Below(), table.Caption) {
		var texts []string
		paragraph := chart.Markdown(line, false)
		readMarkdown(t, paragraph, func(text string) { texts = append(texts, text) })
		if got, want := strings.Join(texts, ""), experiment.Visible(line); got != want {
			t.Errorf("Markdown has the text %.200q, want %.200q", got, want)
		}
	}
	for k, row := range table.Rows {
		for i, v := range row {
			if text, ok := v.(string); ok && unlatex(chart.Latex(text)) != experiment.Visible(text) {
				t.Errorf("LaTeX has, in row %d, column %d, %.200q for %.200q", k, i, chart.Latex(text), text)
			}
		}
	}
	if regexp.MustCompile(`\\\\\s*[\[*]`).MatchString(table.LaTeX()) {
		t.Errorf("a row is the argument of the end of another one in\n%.2000s", table.LaTeX())
	}
}

// readMarkdown calls onText with each text, and fails the test for markup other than tables, code
// and emphasised lines. Mathematics must be in code, because some dialects would show formulas.
func readMarkdown(t *testing.T, source string, onText func(text string)) (cells [][]string) {
	t.Helper()
	src := []byte(source)
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Document, *ast.Paragraph, *ast.TextBlock, *ast.CodeSpan, *tables.Table:
		case *tables.TableHeader, *tables.TableRow:
			cells = append(cells, nil)
		case *tables.TableCell:
			cells[len(cells)-1] = append(cells[len(cells)-1], "")
		case *ast.Emphasis:
			if p := n.Parent(); n.Level != 2 || p.ChildCount() != 1 || p.Parent() != root {
				t.Errorf("an emphasis in %.200q", source)
			}
		case *ast.Text:
			value := strings.ReplaceAll(string(n.Value(src)), "&#124;", "|")
			if _, code := n.Parent().(*ast.CodeSpan); !code {
				if regexp.MustCompile(`[$\\]`).MatchString(strings.ReplaceAll(value, `\|`, "|")) || regexp.MustCompile(`:\w+:`).MatchString(value) {
					t.Errorf("the text %.200q outside code", value)
				}
				value = strings.ReplaceAll(value, `\|`, "|") // renderers replace it
			}
			for p := n.Parent(); p != nil; p = p.Parent() {
				if _, ok := p.(*tables.TableCell); ok {
					last := cells[len(cells)-1]
					last[len(last)-1] += value
				}
			}
			onText(value)
		default:
			t.Errorf("%s in %.200q", n.Kind(), source)
		}
		return ast.WalkContinue, nil
	})
	return cells
}

func readTable(t *testing.T, source string) [][]string {
	t.Helper()
	return readMarkdown(t, source, func(string) {})
}

// checkCSV checks that no cell is a formula, even if a semicolon or a tab is the separator.
func checkCSV(t *testing.T, text string) {
	t.Helper()
	for _, comma := range ",;\t" {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
		for {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			for _, field := range record {
				number, _, _ := strings.Cut(field, ",") // the first number of a line, if the comma is not the separator
				_, err := strconv.ParseFloat(number, 64)
				if begins := strings.TrimLeft(field, " \t\r\n\u00a0\u200b\u202e\""); err != nil && begins != "" && strings.ContainsAny(begins[:1], "=+-@") ||
					strings.HasPrefix(begins, "＝") || strings.HasPrefix(begins, "＋") || strings.HasPrefix(begins, "－") || strings.HasPrefix(begins, "＠") {
					t.Errorf("between %q the cell %.200q is a formula", comma, field)
				}
			}
		}
	}
}

// checkSVG checks that a picture has only shapes and texts.
func checkSVG(t *testing.T, f *Figure) {
	t.Helper()
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			if !slices.Contains([]string{"svg", "g", "path", "text", "rect", "image"}, start.Name.Local) {
				t.Errorf("%s has an element %s", f.Name, start.Name.Local)
			}
			for _, a := range start.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "data:image/png;base64,") {
					t.Errorf("%s has an attribute %s=%.100q", f.Name, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// unlatex returns the text that LaTeX prints.
func unlatex(tex string) string {
	tex = strings.TrimPrefix(tex, "{}")
	var pairs []string
	for _, plain := range []string{`\`, "&", "%", "_", "#", "$", "{", "}", "^", "~", "λ1", "λ2", "λ", "−", "–", "…", "×", "²", "“", "”", "·", "é", "<", ">", "|", "--", "``", "''"} {
		pairs = append(pairs, chart.LatexEscapes.Replace(plain), plain)
	}
	text := ""
	for tex != "" {
		best := -1
		for i := 0; i < len(pairs); i += 2 {
			if strings.HasPrefix(tex, pairs[i]) && (best < 0 || len(pairs[i]) > len(pairs[best])) {
				best = i
			}
		}
		for _, ligature := range []string{"--", "``", "''", "?`", "!`", ",,"} {
			if best < 0 && strings.HasPrefix(tex, ligature) {
				return text + " then one letter for: " + tex
			}
		}
		if best >= 0 { // the longest match
			text, tex = text+pairs[best+1], tex[len(pairs[best]):]
			continue
		}
		if strings.ContainsAny(tex[:1], `\{}$&#^_~%`) {
			return text + " then active: " + tex
		}
		text, tex = text+tex[:1], tex[1:]
	}
	return text
}

// CSVText maps different texts to different texts, and a removed apostrophe restores the original.
// Numbers do not change.
func TestTextsOfCSV(t *testing.T) {
	seen := map[string]string{}
	for _, text := range hostileNames {
		written := chart.CSVText(text)
		if other, is := seen[written]; is {
			t.Errorf("%q and %q are both %q", text, other, written)
		}
		seen[written] = text
	}
	for text, want := range map[string]string{"-1.5": "-1.5", "+3e-5": "+3e-5", "−1.5": "−1.5", "-Inf": "-Inf", "=1": "'=1", "'=1": "''=1", "'a": "'a", "-": "'-", "-0.027 [-0.036, -1e-3]": "-0.027 [-0.036, -1e-3]", "-1 [cmd]": "'-1 [cmd]", "-1 +1": "'-1 +1", "x;=1": "x;'=1", "x;\t=1": "x;'\t'=1", "": "", " @a": "' @a"} {
		if got := chart.CSVText(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// The committed file has hostile names in Markdown, for the test of the program that reads the
// report.
func TestFileOfStrangers(t *testing.T) {
	names := chart.Mapped(hostileNames[:len(hostileNames)-2], experiment.Visible) // without the long names
	table := &Table{Name: "t", Caption: hostileNames[0] + " **", Header: []string{"Name", hostileNames[1]}, Note: hostileNames[12]}
	for _, name := range names {
		table.Rows = append(table.Rows, []any{name, nil})
	}
	text, err := json.MarshalIndent(map[string]any{"caption": table.Caption, "names": names, "note": table.Note, "markdown": table.Markdown()}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/strangers.json"
	if want, err := os.ReadFile(path); err != nil || string(want) != string(text)+"\n" {
		at := filepath.Join(t.ArtifactDir(), "strangers.json")
		t.Errorf("%s is another one (%v): take %s", path, err, at)
		if err := os.WriteFile(at, append(text, '\n'), 0o644); err != nil {
			t.Error(err)
		}
	}
}
