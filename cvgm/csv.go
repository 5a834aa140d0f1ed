package cvgm

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// ReadCSV reads examples from comma-separated text in UTF-8 with a header line:
// the labels from the column named target, the features from all other columns
// in their order, whose names it returns. A byte-order mark before the header
// is skipped, and spaces around names and numbers are. No name may stand in two
// columns. Every field must be a finite number; errors name line and column.
func ReadCSV(r io.Reader, target string) (d qpdiff.Data, features []string, err error) {
	text := bufio.NewReader(r)
	const mark = "\ufeff"
	if start, _ := text.Peek(len(mark)); string(start) == mark {
		text.Discard(len(mark))
	}
	in := csv.NewReader(text)
	header, err := in.Read()
	if err != nil {
		return d, nil, fmt.Errorf("cvgm: the CSV has no header line: %w", err)
	}
	first := make(map[string]int, len(header))
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		if j, ok := first[header[i]]; ok {
			return d, nil, badArg("CSV", qpdiff.ErrDomain, "rename or remove one of them", "has the name %q in the columns %d and %d", header[i], j+1, i+1)
		}
		first[header[i]] = i
		if !utf8.ValidString(header[i]) || strings.ContainsRune(header[i], 0) {
			return d, nil, badArg("CSV", qpdiff.ErrDomain, "save the file as UTF-8", "has %q as the name of column %d, which is not UTF-8 text", header[i], i+1)
		}
	}
	label, ok := first[target]
	if !ok {
		return d, nil, badArg("target", qpdiff.ErrDomain, fmt.Sprintf("name one of %q", header), "is %q, which is no column", target)
	}
	if len(header) < 2 {
		return d, nil, badArg("CSV", qpdiff.ErrShape, "give at least one more column", "has no features beside %s", target)
	}
	var x []float64
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return qpdiff.Data{}, nil, fmt.Errorf("cvgm: %w", err) // the reader names the line
		}
		for i, field := range record {
			field = strings.TrimSpace(field)
			v, err := strconv.ParseFloat(field, 64)
			if err != nil || !finite(v) || strings.ContainsAny(field, "xX") { // not hexadecimal
				line, _ := in.FieldPos(i)
				return qpdiff.Data{}, nil, badArg("CSV", qpdiff.ErrNotFinite, "remove the line, or put a number there",
					"holds %q in line %d, column %s", field, line, header[i])
			}
			if i == label {
				d.Y = append(d.Y, v)
			} else {
				x = append(x, v)
			}
		}
	}
	if len(d.Y) == 0 {
		return d, nil, badArg("CSV", qpdiff.ErrShape, "give examples below the header line", "has no examples")
	}
	d.X = mat.NewDense(len(d.Y), len(header)-1, x)
	return d, slices.Delete(header, label, label+1), nil
}
