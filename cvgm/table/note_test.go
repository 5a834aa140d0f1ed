package table

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Each note names a field of CSV that removes the note and changes the table.
func TestFieldsOfNotesOverruleThem(t *testing.T) {
	text := func(n int, field func(i int) (a, y string)) string {
		var b strings.Builder
		b.WriteString("a;b;y\n")
		for i := range n {
			a, y := field(i)
			fmt.Fprintf(&b, "%s;%d;%s\n", a, i*i%7, y)
		}
		return b.String()
	}
	feature := func(fields ...string) string {
		return text(60, func(i int) (a, y string) { return fields[i%len(fields)], fmt.Sprint(i * i % 11) })
	}
	target := func(fields ...string) string {
		return text(120, func(i int) (a, y string) { return fmt.Sprint(i * i % 13), fields[i%len(fields)] })
	}
	each := func(n int, field func(i int) string) (fields []string) {
		for i := range n {
			fields = append(fields, field(i))
		}
		return fields
	}
	spellings := each(32, func(i int) string {
		word := []byte([]string{"positive", "negative"}[i%2])
		for bit := range 4 {
			if i>>1>>bit&1 == 1 {
				word[bit] -= 'a' - 'A'
			}
		}
		return string(word)
	})
	units := map[string]Number{ // what the user knows about the units
		"kg, m": {Unit: "kg", Units: map[string]float64{"m": 2}},
		"mg":    {Unit: "mg", Units: map[string]float64{"Mg": 1}},
		"g":     {Unit: "g", Units: map[string]float64{"kg": 1000}},
		"comma": {Decimal: '.'},
	}
	for name, c := range map[string]struct {
		c     CSV
		text  string
		notes int
		knows Number
	}{
		"many spellings of a target":         {CSV{}, target(spellings...), 1, Number{}},
		"many spellings of a column":         {CSV{}, feature(spellings...), 1, Number{}},
		"many spellings of 0 and 1":          {CSV{}, target(append([]string{"1"}, each(30, func(i int) string { return "0." + strings.Repeat("0", i+1) })...)...), 2, Number{}},
		"spellings of two classes":           {CSV{Positive: "yes"}, target("yes", "no", "Yes"), 1, Number{}},
		"spellings of two numbers":           {CSV{}, target("1", "2", "2.0"), 1, Number{}},
		"two dollars":                        {CSV{}, target("$1", "$2"), 1, Number{}},
		"dates and another number":           {CSV{Missing: MissingIsMean}, feature(append([]string{"20240231"}, each(19, func(i int) string { return fmt.Sprint(20240101 + i) })...)...), 1, Number{}},
		"the same, where nothing may lack":   {CSV{}, feature(append([]string{"20240231", "0"}, each(19, func(i int) string { return fmt.Sprint(20240101 + i) })...)...), 1, Number{}},
		"few dates and another number":       {CSV{Missing: MissingIsMean}, feature("20240131", "20240201", "99999999"), 1, Number{}},
		"few dates":                          {CSV{}, feature("20240131", "20240201"), 1, Number{}},
		"digits of dates":                    {CSV{}, feature(each(9, func(i int) string { return fmt.Sprint(20240101 + i) })...), 1, Number{}},
		"day or month":                       {CSV{}, feature("03/04/2025", "05/06/2024", "07/01/2024"), 1, Number{}},
		"years of two digits":                {CSV{}, feature("13.04.55", "25.06.24", "17.01.24"), 1, Number{}},
		"numbers and texts":                  {CSV{Missing: MissingIsMean}, feature("1", "2", "3", "unknown"), 1, Number{}},
		"the same without a rule":            {CSV{}, feature("1", "2", "3", "unknown"), 1, Number{}},
		"an identifier":                      {CSV{}, feature(each(60, func(i int) string { return fmt.Sprintf("K%d", i) })...), 1, Number{}},
		"rare levels":                        {CSV{}, feature(each(60, func(i int) string { return fmt.Sprintf("K%d", min(i, 24)) })...), 1, Number{}},
		"no frequent level":                  {CSV{}, feature(each(60, func(i int) string { return fmt.Sprintf("K%d", i/2) })...), 1, Number{}},
		"row numbers":                        {CSV{}, feature(each(60, func(i int) string { return fmt.Sprint(i) })...), 1, Number{}},
		"units without a common measure":     {CSV{}, feature(each(60, func(i int) string { return fmt.Sprintf("%d %s", i/2, []string{"kg", "m"}[i%2]) })...), 2, units["kg, m"]},
		"units of two cases":                 {CSV{}, feature("1 mg", "2 Mg", "3 mg"), 1, units["mg"]},
		"units of one measure":               {CSV{}, feature("1 kg", "200 g", "3 kg"), 1, Number{Unit: "kg", Units: map[string]float64{"g": 1}}},
		"a missing unit":                     {CSV{}, feature("1 kg", "200", "3 kg"), 1, units["g"]},
		"a decimal point or a decimal comma": {CSV{}, feature("1,234", "2,345"), 1, units["comma"]},
		"codes":                              {CSV{}, feature("00123", "01234", "04567"), 1, Number{}},
		"numbers with zeros":                 {CSV{}, feature("1", "02", "3"), 1, Number{}},
		"long numbers that rounding merges":  {CSV{}, feature("9007199254740993", "9007199254740992"), 1, Number{}},
		"long numbers":                       {CSV{}, feature("9007199254740993", "9007199254749992"), 1, Number{}},
	} {
		table := readTable(t, c.c, c.text)
		if len(table.Notes) != c.notes {
			t.Errorf("%s: %d notes %q, want %d", name, len(table.Notes), table.Notes, c.notes)
		}
		for _, note := range table.Notes {
			set := c.c
			set.Target = "y"
			switch note.Field {
			case "CSV.Numeric":
				set.Numeric = []string{note.Column}
			case "CSV.Categorical":
				set.Categorical = []string{note.Column}
				if strings.Contains(note.Text, "without CSV.Positive") {
					set.Positive = ""
				}
			case "CSV.Ignore":
				set.Ignore = []string{note.Column}
			case "CSV.Numbers":
				set.Numbers = map[string]Number{note.Column: c.knows}
			case "CSV.Dates":
				layouts := quotedIn(note.Text)
				set.Dates = map[string]string{note.Column: layouts[len(layouts)-1]}
			case "CSV.Positive":
				set.Positive = "2"
			case "CSV.MissingTexts":
				set.MissingTexts = quotedIn(note.Text[strings.Index(note.Text, "the texts"):])
				if strings.Contains(note.Text, "CSV.Missing") {
					set.Missing = MissingDropsRow
				}
			default:
				t.Errorf("%s: %q names a field that the test does not set", name, note)
			}
			after, err := set.Read(strings.NewReader(c.text))
			if err != nil {
				t.Errorf("%s: %q, but with the field: %v", name, note, err)
				continue
			}
			if slices.ContainsFunc(after.Notes, func(n Note) bool { return n == note }) {
				t.Errorf("%s: %q, also with the field", name, note)
			}
			if sameColumns(table.Columns, after.Columns) && mat.Equal(table.x, after.x) && slices.Equal(table.Classes, after.Classes) {
				t.Errorf("%s: the field that %q names changes nothing", name, note)
			}
		}
	}
}

// quotedIn returns the texts in quotes.
func quotedIn(text string) (quoted []string) {
	for k, part := range strings.Split(text, `"`) {
		if k%2 == 1 {
			quoted = append(quoted, part)
		}
	}
	return quoted
}
