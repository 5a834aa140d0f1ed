package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/figures"
	"cvgm/notebooks/source"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// outFolder returns the folder for an output with the given name. If OutVar is set, its value is
// the folder. Otherwise the folder is runs/NOTEBOOK/interactive/PARAMETERS, so that interactive
// runs do not change the paper's outputs. If a folder in figures/out has an output with this name,
// NOTEBOOK is the name of this folder. Otherwise NOTEBOOK is the name of one of the cell's
// experiments, or "other". PARAMETERS lists the changes of parameters.
func outFolder(root, name string, changes []experiment.Change) string {
	if dir := os.Getenv(OutVar); dir != "" {
		return dir
	}
	of := "other"
	if file := committedCSV(root, name); file != "" {
		of = filepath.Base(filepath.Dir(file))
	} else if name := namesake(root); name != "" {
		of = name
	}
	return filepath.Join(root, "runs", of, "interactive", label(changes))
}

// namesake returns the name of an experiment, among those of the cell, if figures/out has a folder
// of the same name. If no experiment has one, it returns "".
func namesake(root string) string {
	knownParameters.Lock()
	defer knownParameters.Unlock()
	for _, of := range knownParameters.all {
		if info, err := os.Stat(filepath.Join(root, "figures", "out", of.name)); err == nil && info.IsDir() {
			return of.name
		}
	}
	return ""
}

// committedCSV returns the committed CSV of an output, the file in figures/out. If there is none,
// it returns "".
func committedCSV(root, name string) string {
	out := filepath.Join(root, "figures", "out")
	folders, _ := os.ReadDir(out) // if figures/out is missing, nothing is committed
	for _, folder := range folders {
		file := filepath.Join(out, folder.Name(), name+".csv")
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// label returns the name of the folder for outputs with the given changes of parameters. If the
// option -p makes the changes, ./reproduce.sh names its folder in the same way.
func label(changes []experiment.Change) string {
	if len(changes) == 0 {
		return "default"
	}
	parts := make([]string, len(changes))
	for i, c := range changes {
		parts[i] = c.Name + "=" + c.Value
	}
	text := quotedName(strings.Join(parts, ","))
	if len(text) <= 80 {
		return text
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s", len(text), text))
	return hex.EncodeToString(sum[:])[:32]
}

// quotedName returns text as a file name. It escapes all bytes except letters, digits and some
// marks, as ./reproduce.sh does.
func quotedName(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_.-~=,+ ", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Show writes each output to the output folder, and shows it in the notebook. It shows a figure as
// PNG with its caption and its alternative text, and a table as Markdown. A failure ends the cell.
func Show(outputs ...figures.Output) {
	for _, o := range outputs {
		dir := save(o)
		switch o := o.(type) {
		case *figures.Figure:
			ShowDrawn(o, Must(os.ReadFile(filepath.Join(dir, o.Name+".png"))))
		case *figures.Table:
			gonbui.DisplayMarkdown(o.ForNotebook())
		}
		// Pictures and printed text reach the notebook through different pipes.
		gonbui.Sync()
	}
}

// ShowDrawn shows a figure without writing it to the output folder. The argument png is the picture
// of the figure.
//
// A figure makes two outputs. The first output is the picture as image/png, which every host and
// every converter can show. The second output is the caption with the alternative text. It is below
// the picture.
func ShowDrawn(f *figures.Figure, png []byte) {
	for _, data := range shownOutputs(f, png) {
		gonbui.SendData(data)
		gonbui.Sync()
	}
}

// FoldLong shows tables in the notebook. It shows a short table as Show does, and a long table as
// Fold does.
func FoldLong(tables ...*figures.Table) {
	const long = 12 // number of rows
	for _, t := range tables {
		if len(t.Rows) > long {
			Fold(t)
		} else {
			Show(t)
		}
	}
}

// Fold shows tables as Show does, but each table is folded under its caption.
func Fold(tables ...*figures.Table) {
	for _, t := range tables {
		save(t)
		_, caption := t.Describe()
		gonbui.DisplayMarkdown(fmt.Sprintf("<details><summary>%s: %d rows</summary>\n\n%s\n</details>", figures.HTMLText(caption), len(t.Rows), t.ForNotebook()))
		gonbui.Sync()
	}
}

// Text shows texts in Markdown. Most of these texts come from the package named readings. Text
// replaces hyphens before numbers by minus signs. It does not show empty texts.
func Text(texts ...string) {
	for _, text := range texts {
		if text != "" {
			gonbui.DisplayMarkdown(hyphens.ReplaceAllString(text, "$1−$2"))
			gonbui.Sync()
		}
	}
}

var hyphens = regexp.MustCompile(`(^|[\s(])-(\.?\d)`)

// Save writes outputs to the output folder without showing them.
func Save(outputs ...figures.Output) {
	for _, o := range outputs {
		save(o)
	}
}

// SaveFile writes text to a file in the output folder. The argument name is the file's name with
// its ending. If OutVar is not set, SaveFile prints the path of the file relative to the checkout.
func SaveFile(name, text string) {
	root := Must(source.Root())
	dir := outFolder(root, strings.TrimSuffix(name, filepath.Ext(name)), changes())
	Check(os.MkdirAll(dir, 0o755))
	Check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	if os.Getenv(OutVar) == "" {
		fmt.Printf("%s is written to %s.\n", name, Must(filepath.Rel(root, dir)))
	}
}

// save writes an output and returns its folder. If the cell has computed with parameters that are
// not the defaults, the output lists these parameters. A figure then also shows the curves for the
// default parameters, behind its own curves.
func save(o figures.Output) string {
	root, changes := Must(source.Root()), changes()
	name, caption := o.Describe()
	line := map[string]any{"output": name, "caption": caption} // for the report
	switch o := o.(type) {
	case *figures.Figure:
		line["alt"] = o.Alt()
		if o.Changed = changedLine(changes); o.Changed != "" {
			text, _ := os.ReadFile(committedCSV(root, name)) // without a committed CSV, there are no ghosts
			o.Ghosts(string(text))
		}
	case *figures.Table:
		o.Changed = changedLine(changes)
	}
	dir := outFolder(root, name, changes)
	Check(os.MkdirAll(dir, 0o755))
	Check(o.Write(dir))
	Check(record(line))
	return dir
}

// captionKey is a key in the metadata of an output. An output with this key is the caption of the
// picture in the previous output.
const captionKey = "cvgm_caption"

// shownOutputs returns the outputs of a figure for the notebook. These are the caption and the
// picture, which is as wide as the figure on paper.
func shownOutputs(f *figures.Figure, png []byte) []*protocol.DisplayData {
	const pixels = 96 / 72. // CSS pixels per point
	picture := map[string]string{"alt": f.Alt(), "width": fmt.Sprintf("%.0f", pixels*f.Width.Points())}
	return []*protocol.DisplayData{
		{Data: map[protocol.MIMEType]any{protocol.MIMEImagePNG: png}, Metadata: map[string]any{string(protocol.MIMEImagePNG): picture}},
		{Data: map[protocol.MIMEType]any{protocol.MIMETextHTML: captionHTML(f), protocol.MIMETextMarkdown: captionMarkdown(f)}, Metadata: map[string]any{captionKey: "true"}},
	}
}

// captionMarkdown returns the caption as Markdown, with the alternative text in a folded part.
func captionMarkdown(f *figures.Figure) string {
	_, caption := f.Describe()
	return figures.Markdown(caption) + "\n\n<details><summary>The figure in words</summary>\n\n" + figures.Markdown(f.Alt()) + "\n\n</details>"
}

// captionHTML returns the caption as HTML. It includes the alternative text for screen readers,
// because Jupyter's pictures have no such text. In a trusted notebook with a dark theme, the HTML
// inverts the lightness of the picture above. It does not invert surfaces, because the caption of a
// surface describes which shades are low.
func captionHTML(f *figures.Figure) string {
	_, caption := f.Describe()
	class, filter := "cvgm-figure", "invert(1) hue-rotate(180deg)"
	if f.Shaded() {
		class, filter = "cvgm-shaded", "brightness(.85)"
	}
	return fmt.Sprintf(`<div class="%s">%s<span style="position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%%)">%s</span></div>
<style>@media screen { [data-jp-theme-light="false"] .jp-OutputArea-child:has(+ .jp-OutputArea-child .%s) img { filter: %s } }</style>`,
		class, figures.HTMLText(caption), figures.HTML(f.Alt()), class, filter)
}
