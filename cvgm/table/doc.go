// Package table reads data with text, classes or missing values ([CSV], [Table]), turns them into
// features within each split ([Encoder]), and predicts from texts ([Pipeline]). A program that only
// predicts needs this package and the pipeline's JSON, or just the Go file that [Pipeline.WriteGo]
// writes. CSV.MaxBytes bounds the memory of a text.
package table
