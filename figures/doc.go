// Package figures makes figures and tables of the results of package experiment. There is one
// function for each figure and table. Axes, reference lines and the room for legends depend on the
// data. Values that are not finite leave a gap. A [Figure] can be written as SVG, PNG and PDF, with
// a CSV of every plotted series. A [Table] can be written as CSV, Markdown and LaTeX. All files
// have the same bits in every run on the same architecture.
package figures
