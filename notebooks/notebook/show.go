package notebook

import (
	"fmt"
	"os"
	"path/filepath"

	"cvgm/figures"

	"github.com/janpfeifer/gonb/gonbui"
)

// OutVar names the environment variable with the folder that outputs are
// written to.
const OutVar = "CVGM_OUT"

// Out returns the folder that outputs are written to: that of OutVar, which
// ./reproduce.sh sets to a staging folder that becomes figures/out/NAME once the
// notebook NAME has succeeded. Elsewhere it is .work/lab, as in JupyterLab:
// trying things out leaves the paper's outputs alone.
func Out() string {
	if dir := os.Getenv(OutVar); dir != "" {
		return dir
	}
	return filepath.Join("..", ".work", "lab")
}

// Show writes each output to the output folder and shows it in the notebook:
// figures as PNG, which every viewer of notebooks draws, tables as Markdown. A
// failure ends the cell.
func Show(outputs ...figures.Output) {
	Save(outputs...)
	for _, o := range outputs {
		switch o := o.(type) {
		case *figures.Figure:
			gonbui.DisplayPng(Must(o.PNG()))
		case *figures.Table:
			gonbui.DisplayMarkdown(o.Markdown())
		}
		// Pictures and printed text reach the notebook by different pipes.
		gonbui.Sync()
	}
}

// Save writes outputs to the output folder without showing them.
func Save(outputs ...figures.Output) {
	dir := Out()
	Check(os.MkdirAll(dir, 0o755))
	for _, o := range outputs {
		Check(o.Write(dir))
		name, caption := o.Describe()
		Check(record(map[string]any{"output": name, "caption": caption})) // for the report
	}
}

// Must returns v, or ends the cell with err.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check ends the cell with err if there is one.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
