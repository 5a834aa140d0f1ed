package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// fileOf returns a CSV of n rows. In row i, the column a contains field(i).
func fileOf(n int, field func(i int) string) string {
	var b strings.Builder
	b.WriteString("a,y\n")
	for i := range n {
		fmt.Fprintf(&b, "%s,%d\n", field(i), i*i%11)
	}
	return b.String()
}

// noteOf returns the only note on a column, or the zero note if there is no note.
func noteOf(t *testing.T, table *Table, column string) (found Note) {
	t.Helper()
	for _, n := range table.Notes {
		if n.Column == column {
			if found.Field != "" {
				t.Errorf("two notes on %q: %q", column, table.Notes)
			}
			found = n
		}
	}
	return found
}

// Read adds a note for a column that numbers the rows, unless CSV.Numeric names the column.
func TestRowNumbersHaveANote(t *testing.T) {
	order := rand.New(rand.NewPCG(1, 2)).Perm(60)
	for name, c := range map[string]struct {
		n     int
		field func(i int) string
		want  bool
	}{
		"from 1":       {30, func(i int) string { return fmt.Sprint(i + 1) }, true},
		"few":          {leastRows, func(i int) string { return fmt.Sprint(i + 1) }, true},
		"very few":     {leastRows - 1, func(i int) string { return fmt.Sprint(i + 1) }, false},
		"from 7001":    {30, func(i int) string { return fmt.Sprint(i + 7001) }, true},
		"from 0, down": {30, func(i int) string { return fmt.Sprint(-i) }, true},
		"with a point": {30, func(i int) string { return fmt.Sprintf("%d.0", i) }, true},
		"shuffled":     {60, func(i int) string { return fmt.Sprint(100 + order[i]) }, true},
		"gaps":         {30, func(i int) string { return []string{fmt.Sprint(i), ""}[i%7/6] }, true},
		"every second": {30, func(i int) string { return fmt.Sprint(2 * i) }, false},
		"halves":       {30, func(i int) string { return fmt.Sprint(float64(i) / 2) }, false},
		"twice each":   {30, func(i int) string { return fmt.Sprint(i / 2) }, false},
		"few shuffled": {10, func(i int) string { return fmt.Sprint(i * 3 % 10) }, false},
		"kilograms":    {30, func(i int) string { return fmt.Sprintf("%d kg", i) }, false},
	} {
		text := fileOf(c.n, c.field)
		for _, rule := range []MissingRule{MissingDropsRow, MissingIsMean} {
			table := readTable(t, CSV{Missing: rule}, text)
			note := noteOf(t, table, "a")
			if got := note.Field == "CSV.Ignore" && note.Check && strings.Contains(note.Text, `"a" seems to number the rows`); got != c.want || !c.want && note.Field != "" || len(table.Columns) != 1 {
				t.Errorf("%s, %v: %q", name, rule, table.Notes)
			}
			if d := table.Describe(); c.want != strings.Contains(d.String(), "CSV.Ignore overrules this choice") {
				t.Errorf("%s: %v", name, d)
			}
			if table := readTable(t, CSV{Missing: rule, Numeric: []string{"a"}}, text); len(table.Notes) != 0 && name != "kilograms" {
				t.Errorf("%s, confirmed: %q", name, table.Notes)
			}
		}
	}
}

// For a column of several units, a pipeline accepts a plain number only if the training table has
// plain numbers.
func TestNumbersWithoutAUnit(t *testing.T) {
	for name, c := range map[string]struct {
		fields []string
		note   string
		check  bool
		want   float64 // of the field 5; 0: an error
	}{
		"two units":          {[]string{"1.2 kg", "800 g", "2 kg"}, "g (10), kg (20): all become kg.", false, 0},
		"two units and none": {[]string{"1.2 kg", "800 g", "2 kg", "3"}, "all become kg, as which the 7 numbers without a unit count.", true, 5},
		"one unit":           {[]string{"1.2 kg", "8 kg"}, "", false, 5},
		"one unit and none":  {[]string{"1.2 kg", "8"}, "lacks the unit in 15 of 30 numbers, which count as kg.", true, 5},
		"singular, plural":   {[]string{"1 year", "2 years", "3 years"}, "all become years.", false, 5},
		"thousands":          {[]string{"1.2k", "950", "3k"}, "all become 1.", false, 5},
		"two cases":          {[]string{"5 km", "7 Km", "9 km"}, "Km (10), km (20): all become km.", false, 5},
		"two meanings":       {[]string{"5 mg", "7 Mg", "9 mg"}, "Mg (10), mg (20): all become mg.", true, 0},
	} {
		table := readTable(t, CSV{}, fileOf(30, func(i int) string { return c.fields[i%len(c.fields)] }))
		if note := noteOf(t, table, "a"); note.Check != c.check || !strings.Contains(note.Text, c.note) || (note.Field == "CSV.Numbers") != (c.note != "") {
			t.Errorf("%s: %v", name, table.Notes)
		}
		p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
		var back Pipeline
		casetest.OK(t, json.Unmarshal(casetest.Must(json.Marshal(p))(t), &back))
		for _, p := range []*Pipeline{p, &back} {
			if rows, err := p.Read(strings.NewReader("a\n" + c.fields[0] + "\n5\n-5\n")); (err == nil) != (c.want != 0) || err == nil && (len(rows.Notes) != 0) != (name != "thousands") {
				t.Errorf("%s: %v", name, err)
			} else if err == nil && name != "thousands" {
				if note := noteOf(t, rows, "a"); !note.Check || !strings.Contains(note.Text, "lacks the unit in 2 of 3 numbers, which count as "+table.Columns[0].Number.Unit+".") {
					t.Errorf("%s: %v", name, note)
				}
			}
			for _, row := range []string{"5", "-5", "(5)"} {
				got, err := p.Record(map[string]string{"a": row})
				if c.want == 0 && (!errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(err.Error(), fmt.Sprintf("put a finite number such as %q there", table.Columns[0].Number.exampleOf()))) {
					t.Errorf("%s: %v for %s", name, err, row)
				}
				if v := c.want * map[bool]float64{true: 1, false: -1}[row == "5"]; v != 0 && (err != nil || got.x.At(0, 0) != v) {
					t.Errorf("%s: %v for %s, want %v", name, err, row, v)
				} else if v != 0 && name != "thousands" {
					if note := noteOf(t, got, "a"); !note.Check || note.Text != fmt.Sprintf(`The number in column "a" lacks the unit and counts as %s.`, table.Columns[0].Number.Unit) {
						t.Errorf("%s: %v for %s", name, note, row)
					}
				}
			}
			if got, err := p.Record(map[string]string{"a": c.fields[0]}); err != nil || len(got.Notes) > 0 {
				t.Errorf("%s: %v, %v", name, got.Notes, err)
			}
		}
	}
}

// Read distinguishes upper and lower case in units only between two known units.
func TestCaseOfUnits(t *testing.T) {
	for _, c := range []struct {
		unit, in string
		size     float64 // 0: no common measure
	}{
		{"Km", "km", 1}, {"KM", "Km", 1}, {"Km", "M", 0}, {"KG", "G", 1000}, {"MG", "mg", 1}, {"Mg", "mg", 1e9}, {"MW", "mW", 1e9}, {"mw", "MW", 1}, {"mb", "MB", 1}, {"Mb", "MB", 0}, {"kB", "KB", 1},
		{"L", "l", 1}, {"ML", "mL", 1e9}, {"Boxes", "boxes", 1}, {"YEARS", "month", 12}, {"usd", "$", 1}, {"M", "m", 0}, {"furlong", "Furlong", 1}, {"Box", "Bag", 0},
	} {
		if got, ok := sizeIn(c.unit, c.in); ok != (c.size != 0) || ok && !casetest.Near(got, c.size, 1e-15) {
			t.Errorf("%s is %v %s, %v; want %v", c.unit, got, c.in, ok, c.size)
		}
	}
}

// Read adds a note for a target with only two different numbers.
func TestTargetOfTwoNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		c       CSV
		fields  string
		classes []string
		y       []float64
		fields2 []string // the fields of the notes
	}{
		"0, 1":            {CSV{}, "0 1 1", []string{"0", "1"}, []float64{-1, 1, 1}, []string{"CSV.Numeric"}},
		"0, 1, 1.0":       {CSV{}, "0 1 1.0 1", []string{"0", "1"}, []float64{-1, 1, 1, 1}, []string{"CSV.Numeric", "CSV.Categorical"}},
		"0.0, 1, 0, -0":   {CSV{}, "0.0 1 0 -0 0", []string{"0", "1"}, []float64{-1, 1, -1, -1, -1}, []string{"CSV.Numeric", "CSV.Categorical"}},
		"-1, +1":          {CSV{}, "+1 -1 +1", []string{"-1", "+1"}, []float64{1, -1, 1}, []string{"CSV.Numeric"}},
		"0, 1 as numbers": {CSV{Numeric: []string{"y"}}, "0 1 1.0", nil, []float64{0, 1, 1}, nil},
		"0, 1, as texts":  {CSV{Categorical: []string{"y"}}, "0 1 1.0", []string{"0", "1", "1.0"}, []float64{0, 1, 2}, nil},
		"1, 2":            {CSV{}, "1 2 2.0", nil, []float64{1, 2, 2}, []string{"CSV.Positive"}},
		"1, 2 as numbers": {CSV{Numeric: []string{"y"}}, "1 2 2", nil, []float64{1, 2, 2}, nil},
		"1, 2 by class":   {CSV{Positive: "1"}, "1 2 2.0 2", []string{"2", "1"}, []float64{1, -1, -1, -1}, []string{"CSV.Categorical"}},
		"the class 1.0":   {CSV{Positive: "1.0"}, "1 2 2", []string{"2", "1"}, []float64{1, -1, -1}, nil},
		"dollars":         {CSV{}, "$1 $2 $2", nil, []float64{1, 2, 2}, []string{"CSV.Categorical"}},
		"two rows":        {CSV{}, "1 2", nil, []float64{1, 2}, nil},
		"one value":       {CSV{}, "2 2 2", nil, []float64{2, 2, 2}, nil},
		"three values":    {CSV{}, "0 1 2", nil, []float64{0, 1, 2}, nil},
	} {
		text := "a,y\n"
		for i, field := range strings.Fields(c.fields) {
			text += fmt.Sprintf("%d,%s\n", i*i%3, field)
		}
		table := readTable(t, c.c, text)
		var fields []string
		for _, n := range table.Notes {
			if fields = append(fields, n.Field); n.Column != "y" || n.Field != "CSV.Numeric" && !n.Check {
				t.Errorf("%s: %+v", name, n)
			}
		}
		if strings.Contains(fmt.Sprint(table.Notes), "-0 ") {
			t.Errorf("%s: %q", name, table.Notes)
		}
		if !slices.Equal(table.Classes, c.classes) || !slices.Equal(table.Y, c.y) || !slices.Equal(fields, c.fields2) {
			t.Errorf("%s: classes %q, target %v, notes %q", name, table.Classes, table.Y, table.Notes)
		}
	}
	p := pipelineOf(t, readTable(t, CSV{}, "a,y\n1,0\n2,1\n3,0\n5,1\n4,1\n7,0\n"), func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1})
	if rows := casetest.Must(p.Read(strings.NewReader("a,y\n1,1.0\n2,0.0\n")))(t); !slices.Equal(rows.Y, []float64{1, -1}) {
		t.Errorf("%v", rows.Y)
	}
}

// Read merges texts that differ only in upper and lower case, unless CSV.Categorical names the
// column.
func TestCaseOfLetters(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range 40 {
		fmt.Fprintf(&b, "%s,%s,%s\n", []string{"Köln", "Ulm", "köln", "KÖLN", "ulm", "Ulm", "Köln"}[i%7], []string{"x", "y"}[i%2], []string{"yes", "no", "YES", "yes", "No", "no"}[i%6])
	}
	text := b.String()
	table := readTable(t, CSV{}, text)
	if !slices.Equal(table.Columns[0].Levels, []string{"Köln", "Ulm"}) || !table.Columns[0].IgnoreCase || table.Columns[1].IgnoreCase || !slices.Equal(table.Classes, []string{"no", "yes"}) {
		t.Errorf("%+v, classes %q", table.Columns, table.Classes)
	}
	for column, want := range map[string]string{"a": `one level: "KÖLN" as "Köln", "köln" as "Köln", "ulm" as "Ulm".`, "y": `has texts that differ by the case of letters alone, and are one class: "`} {
		if n := noteOf(t, table, column); n.Field != "CSV.Categorical" || !n.Check || !strings.Contains(n.Text, want) {
			t.Errorf("%q lacks %q", n, want)
		}
	}
	if table := readTable(t, CSV{Categorical: []string{"a", "y"}}, text); len(table.Columns[0].Levels) != 5 || table.Columns[0].IgnoreCase || len(table.Classes) < 3 || len(table.Notes) != 0 {
		t.Errorf("%+v, classes %q, notes %q", table.Columns, table.Classes, table.Notes)
	}
	if table := readTable(t, CSV{Positive: "NO"}, text); !slices.Equal(table.Classes, []string{"yes", "no"}) {
		t.Errorf("classes %q", table.Classes)
	}
	p := pipelineOf(t, table, func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1})
	var back Pipeline
	casetest.OK(t, json.Unmarshal(casetest.Must(json.Marshal(p))(t), &back))
	want := casetest.Must(p.PredictRecord(map[string]string{"a": "Köln", "b": "x"}))(t)
	for _, p := range []*Pipeline{p, &back} {
		if got, err := p.PredictRecord(map[string]string{"a": "kÖlN", "b": "x"}); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
		if rows := casetest.Must(p.Read(strings.NewReader("a,b,y\nULM,x,nO\nulm,y,Yes\n")))(t); !slices.Equal(rows.Y, []float64{-1, 1}) {
			t.Errorf("%v", rows.Y)
		}
		if _, err := p.PredictRecord(map[string]string{"a": "Ulm", "b": "X"}); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("column b has letters of one case only: %v", err)
		}
	}
	// CSV.Categorical keeps the classes a and A apart.
	three := readTable(t, CSV{Categorical: []string{"y"}}, "x,y\n1,a\n2,A\n3,b\n4,a\n5,A\n6,b\n")
	one := pipelineOf(t, casetest.Must(three.Binary("a"))(t), func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1})
	if rows := casetest.Must(one.Read(strings.NewReader("x,y\n1,a\n2,A\n")))(t); !slices.Equal(rows.Y, []float64{1, -1}) {
		t.Errorf("%v", rows.Y)
	}
}

// If digits may be codes, dates or identifiers, Read adds a note that names a field of CSV for
// another choice.
func TestColumnsOfDigits(t *testing.T) {
	for name, c := range map[string]struct {
		field  func(i int) string
		want   string // the use of the column, or empty if it is left out
		column string
		notes  []string // fields
		c      CSV
		after  string // the use with c
	}{
		"zip codes":      {func(i int) string { return fmt.Sprintf("%05d", 900+400*(i%9)) }, "9 levels", "a", []string{"CSV.Numeric"}, CSV{Numeric: []string{"a"}}, "number"},
		"many codes":     {func(i int) string { return fmt.Sprintf("%05d", 7*i) }, "", "", []string{"CSV.Numeric", "CSV.Categorical"}, CSV{Categorical: []string{"a"}}, "60 levels"},
		"padded, ragged": {func(i int) string { return []string{"1", "02", "003", "4"}[i%4] }, "number", "a", []string{"CSV.Categorical"}, CSV{Categorical: []string{"a"}}, "4 levels"},
		"fractions":      {func(i int) string { return fmt.Sprintf("%d.%d", i%2, i%9) }, "number", "a", nil, CSV{}, "number"},
		"zeros":          {func(i int) string { return fmt.Sprint(i % 3) }, "number", "a", nil, CSV{}, "number"},
		"dates":          {func(i int) string { return fmt.Sprintf("2024%02d%02d", 1+i%12, 1+i%28) }, "dates from 1 January 2024", "a", []string{"CSV.Numeric"}, CSV{Numeric: []string{"a"}}, "number"},
		"two dates":      {func(i int) string { return fmt.Sprint(20240130 + i%2) }, "number", "a", []string{"CSV.Dates"}, CSV{}, "number"},
		"few dates":      {func(i int) string { return fmt.Sprint(20240131 - i%4) }, "number", "a", []string{"CSV.Dates"}, CSV{Dates: map[string]string{"a": "20060102"}}, "dates from 28 January 2024"},
		"a wrong date":   {func(i int) string { return []string{fmt.Sprint(20240101 + i%20), "20240231"}[i%20/19] }, "number", "a", []string{"CSV.MissingTexts"}, CSV{}, "number"},
		"other numbers":  {func(i int) string { return fmt.Sprint(20240131 + 1000*(i*i%31)) }, "number", "a", nil, CSV{}, "number"},
		"far years":      {func(i int) string { return fmt.Sprint(31240101 + i%9) }, "number", "a", nil, CSV{}, "number"},
		"merged":         {func(i int) string { return fmt.Sprint(uint64(1)<<53 + uint64(i%9)) }, "9 levels", "a", []string{"CSV.Numeric"}, CSV{Numeric: []string{"a"}}, "number"},
		"merged ids":     {func(i int) string { return fmt.Sprint(uint64(1)<<62 + uint64(i)) }, "", "", []string{"CSV.Numeric", "CSV.Categorical"}, CSV{Categorical: []string{"a"}}, "60 levels"},
		"rounded":        {func(i int) string { return fmt.Sprint(uint64(1)<<60 + 1 + 1000*uint64(i*i)) }, "number", "a", []string{"CSV.Categorical"}, CSV{Numeric: []string{"a"}}, "number"},
		"exact":          {func(i int) string { return fmt.Sprint(uint64(1)<<60 + 1024*uint64(i*i)) }, "number", "a", nil, CSV{}, "number"},
	} {
		text := strings.ReplaceAll(fileOf(60, c.field), ",", ",1,")
		text = strings.Replace(text, "a,1,y", "a,b,y", 1)
		table := readTable(t, CSV{}, text)
		var notes []string
		for _, n := range table.Notes {
			notes = append(notes, n.Field)
		}
		kind := func(table *Table) string {
			if d := table.Describe().Columns[0]; d.Name == "a" {
				return strings.TrimSuffix(d.Kind, " and other")
			}
			return ""
		}
		if got := kind(table); got != c.want || !slices.Equal(notes, c.notes) {
			t.Errorf("%s: %q, notes %q", name, got, table.Notes)
		}
		after := readTable(t, c.c, text)
		if got := kind(after); got != c.after || len(c.c.Numeric)+len(c.c.Categorical)+len(c.c.Dates) > 0 && len(after.Notes) != 0 {
			t.Errorf("%s: %q, notes %q", name, got, after.Notes)
		}
	}
}

// Digits of several lengths with leading zeros are levels, in any order of the rows.
func TestDigitsInAnyOrder(t *testing.T) {
	codes := []string{"012", "01234", "04567", "09999"}
	for first := range codes {
		table := readTable(t, CSV{}, fileOf(40, func(i int) string { return codes[(i+first)%len(codes)] }))
		if note := noteOf(t, table, "a"); len(table.Columns[0].Levels) != len(codes) || note.Field != "CSV.Numeric" || !strings.Contains(note.Text, "such as \"0") || strings.Contains(note.Text, `"012"`) {
			t.Errorf("from %q: %v", codes[first], note)
		}
	}
}

// A pipeline reads the rows of its training table exactly as CSV.Read did.
func TestTrainingRowsAreReadAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	pools := [][]string{
		{"yes", "no", "YES", "No", "maybe"}, {"é", "É", "e", "E", "ſ", "s", "S"}, {"0", "1", "1.0", "-0"}, {"1", "2", "2.0"}, {"-1", "+1", "1"}, {"00123", "90210", "01234", "1234"},
		{"20240131", "20231224", "19991231", "20000229", "20240601", "20240602"}, {"20240131", "20240132"}, {"9007199254740993", "9007199254740992", "9007199254740994"},
		{"5 kg", "300 g", "2 Kg", "1.5 KG"}, {"5 kg", "300 g", "7"}, {"1 mg", "2 Mg", "3 mg"}, {"1 km", "2 Km"}, {"3", "4", "5", "17"}, {"1 year", "2 years", "3 Years"}, {"K", "k", "K"},
	}
	tables := 0
	for k := range 400 {
		columns := [][]string{pools[rng.IntN(len(pools))], pools[rng.IntN(len(pools))], pools[rng.IntN(len(pools))]}
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for range 6 + rng.IntN(60) {
			fmt.Fprintf(&b, "%s,%s,%s\n", columns[0][rng.IntN(len(columns[0]))], columns[1][rng.IntN(len(columns[1]))], columns[2][rng.IntN(len(columns[2]))])
		}
		table, err := ReadCSV(strings.NewReader(b.String()), "y")
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "cvgm: ") {
				t.Errorf("%d: %v", k, err)
			}
			continue
		}
		tables++
		encoder := newEncoder(table)
		encoder.code = table.reader.code(table.Columns)
		_, features := encoder.Dims()
		back := casetest.Must((&Pipeline{Model: &cvgm.Model{Prepared: encoder, Mean: make([]float64, features)}, Target: "y"}).readClasses(strings.NewReader(b.String()), table.Classes, ""))(t)
		if !mat.Equal(back.x, table.x) || !slices.Equal(back.Y, table.Y) {
			t.Errorf("%d: %v and %v, not %v and %v, of\n%s", k, back.x, back.Y, table.x, table.Y, b.String())
		}
	}
	if tables < 200 {
		t.Errorf("%d of 400 files have a table", tables)
	}
}
