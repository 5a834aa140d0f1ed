package table

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/internal/portable"
)

// literal returns the Go code of a finite number.
func literal(v float64) string {
	if v == 0 && math.Signbit(v) {
		return "math.Copysign(0, -1)" // a constant cannot be −0
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// literals returns the Go code of a list of numbers, with at most 8 numbers on a line.
func literals(v []float64) string {
	const line = 8
	var b strings.Builder
	b.WriteString("[]float64{")
	for i, x := range v {
		switch {
		case len(v) > line && i%line == 0:
			b.WriteString("\n")
		case i > 0:
			b.WriteString(" ")
		}
		b.WriteString(literal(x))
		if i+1 < len(v) || len(v) > line {
			b.WriteString(",")
		}
	}
	if len(v) > line {
		b.WriteString("\n")
	}
	b.WriteString("}")
	return b.String()
}

// quoteTexts returns the Go code of the elements of a list of texts, separated by commas.
func quoteTexts(texts []string) string {
	var all []string
	for _, t := range texts {
		all = append(all, strconv.Quote(t))
	}
	return strings.Join(all, ", ")
}

// indexOf returns the index of the first element of the list that reflect.DeepEqual finds equal to
// v. If there is none, it appends v.
func indexOf[T any](all *[]T, v T) int {
	at := slices.IndexFunc(*all, func(w T) bool { return reflect.DeepEqual(v, w) })
	if at < 0 {
		at = len(*all)
		*all = append(*all, v)
	}
	return at
}

// writeColumn writes the Go code of a column. It omits fields that are zero. It adds joint features of
// the column to the list bases, unless they are there.
func writeColumn(b *bytes.Buffer, c *portable.Column, bases *[]portable.JointBasis) {
	fmt.Fprintf(b, "\t{\n\t\tSource: %q,\n", c.Source)
	if len(c.MissingTexts) > 0 {
		fmt.Fprintf(b, "\t\tMissingTexts: []string{%s},\n", quoteTexts(c.MissingTexts))
	}
	if len(c.Levels) > 0 {
		fmt.Fprintf(b, "\t\tLevels: []string{%s},\n", quoteTexts(c.Levels))
	}
	for _, flag := range []struct {
		name string
		set  bool
	}{{"Categorical", c.Categorical}, {"Fill", c.Fill}, {"MissingLevel", c.MissingLevel}, {"Other", c.Other}, {"IgnoreCase", c.IgnoreCase}, {"Unknown", c.Unknown}, {"MissingFirst", c.MissingFirst}, {"All", c.All}, {"Joined", c.Joined}} {
		if flag.set {
			fmt.Fprintf(b, "\t\t%s: true,\n", flag.name)
		}
	}
	if c.Fill && !c.Categorical {
		fmt.Fprintf(b, "\t\tMean: %s,\n", literal(c.Mean))
	}
	if s, ok := c.Splines.(*portable.CentredSplines); ok {
		fmt.Fprintf(b, "\t\tSplines: &CentredSplines{Count: %d, Low: %s, High: %s},\n", s.Count, literal(s.Low), literal(s.High))
	}
	if c.Joint != nil {
		fmt.Fprintf(b, "\t\tJoint: joint%d,\n", indexOf(bases, c.Joint))
	}
	if c.Deviation != 0 {
		fmt.Fprintf(b, "\t\tCentre: %s, Deviation: %s,\n", literal(c.Centre), literal(c.Deviation))
	}
	if n, ok := c.Number.(*portable.NumberFormat); ok {
		fmt.Fprintf(b, "\t\tNumber: &NumberFormat{Decimal: %q, Unit: %q", n.Decimal, n.Unit)
		if len(n.Units) > 0 {
			b.WriteString(", Units: map[string]float64{")
			for _, u := range slices.Sorted(maps.Keys(n.Units)) {
				fmt.Fprintf(b, "%q: %s, ", u, literal(n.Units[u]))
			}
			b.WriteString("}")
		}
		if n.UnitRequired {
			b.WriteString(", UnitRequired: true")
		}
		b.WriteString("},\n")
	}
	if d, ok := c.Date.(*portable.DateFormat); ok {
		fmt.Fprintf(b, "\t\tDate: &DateFormat{Part: %s, Layout: %q, First: %#v},\n", [...]string{"PartDays", "PartYear", "PartMonth", "PartWeekday", "PartHour"}[d.Part], d.Layout, d.First.UTC())
	}
	b.WriteString("\t},\n")
}
