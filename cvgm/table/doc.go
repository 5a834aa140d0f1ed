// Package table reads data with texts, classes or missing values ([CSV], [Table]). It turns the
// data into features within each split ([Encoder]), and predicts from texts ([Pipeline]). A program
// that only predicts needs this package and the pipeline's JSON. If [Pipeline.WriteGo] has written
// the pipeline as a Go file, the program needs only this file. CSV.MaxBytes bounds the memory for
// the text of a CSV.
package table
