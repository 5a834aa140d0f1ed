// Package table reads data with text, classes or missing values ([CSV], [Table]). It turns the data
// into features within each split ([Encoder]), and predicts from texts ([Pipeline]). A program that
// only predicts needs this package and the pipeline's JSON. It can also do without the package,
// with the Go file that [Pipeline.WriteGo] writes. CSV.MaxBytes bounds the memory that the text of
// a CSV takes.
package table
