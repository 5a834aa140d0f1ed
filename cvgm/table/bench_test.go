package table

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// wideCSV returns a CSV with columns of numbers and of levels, in which some values are missing.
func wideCSV() string {
	src := synth.NewStream(1, "benchmark table")
	var b strings.Builder
	for j := range 19 {
		b.WriteString(string(rune('a'+j)) + ",")
	}
	b.WriteString("y\n")
	for range 5000 {
		for j := range 19 {
			switch {
			case src.IntN(20) == 0:
			case j < 15:
				b.WriteString(decimal(src.NormFloat64()))
			default:
				b.WriteString([]string{"north", "east", "south", "west"}[src.IntN(4)])
			}
			b.WriteByte(',')
		}
		b.WriteString(decimal(src.NormFloat64()) + "\n")
	}
	return b.String()
}

// BenchmarkCSVWide reads 12 rows of 100,000 columns. One column in ten has levels.
func BenchmarkCSVWide(b *testing.B) {
	text := wideText()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (CSV{Target: "y"}).Read(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

// wideText returns the text of BenchmarkCSVWide.
func wideText() string {
	const rows, columns = 12, 100_000
	src := synth.NewStream(1, "wide text")
	var b strings.Builder
	b.WriteString("y")
	for j := range columns {
		fmt.Fprintf(&b, ",x%d", j)
	}
	for range rows {
		b.WriteByte('\n')
		b.WriteString(decimal(src.NormFloat64()))
		for j := range columns {
			b.WriteByte(',')
			if j%10 == 9 {
				b.WriteString([]string{"north", "east", "south"}[src.IntN(3)])
			} else {
				b.WriteString(strconv.FormatFloat(src.NormFloat64(), 'f', 4, 64))
			}
		}
	}
	return b.String() + "\n"
}

func BenchmarkCSVRead(b *testing.B) {
	text := wideCSV()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (CSV{Target: "y", Missing: MissingIsMean}).Read(strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrepare measures the preparation of ten splits for elastic nets.
func BenchmarkPrepare(b *testing.B) {
	table, err := CSV{Target: "y", Missing: MissingIsMean}.Read(strings.NewReader(wideCSV()))
	if err != nil {
		b.Fatal(err)
	}
	d, encoder, err := table.Data()
	if err != nil {
		b.Fatal(err)
	}
	splits, err := cvgm.KFold(synth.NewStream(1, "benchmark splits"), len(d.Y), 10)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := cvgm.New(cvgm.Config{Data: d, Prepare: encoder, Splits: splits, Loss: cvgm.SquaredError{}, Learner: func() learn.Learner { return new(linear.ElasticNet) }}); err != nil {
			b.Fatal(err)
		}
	}
}
