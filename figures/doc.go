// Package figures draws and tabulates the results of package experiment, with one constructor for
// each table or figure. Axes, reference lines and the room for legends follow from the data; values
// that are not finite leave a gap. A [Figure] writes itself as SVG, PNG and PDF, with a CSV of
// every plotted series, and a [Table] as CSV, Markdown and LaTeX. All files have the same bits in
// every run on the same architecture.
package figures
