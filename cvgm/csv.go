package cvgm

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// ReadCSV reads examples from comma-separated text with a header line: the
// labels from the column named target, the features from all other columns in
// their order, whose names it returns. Every field must be a finite number;
// errors name line and column.
func ReadCSV(r io.Reader, target string) (d qpdiff.Data, features []string, err error) {
	in := csv.NewReader(r)
	header, err := in.Read()
	if err != nil {
		return d, nil, fmt.Errorf("cvgm: the CSV has no header line: %w", err)
	}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
	}
	label := slices.Index(header, target)
	if label < 0 {
		return d, nil, badArg("target", qpdiff.ErrDomain, "name one of "+strings.Join(header, ", "), "is %q, which is no column", target)
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
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || !finite(v) {
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
