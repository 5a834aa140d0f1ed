package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"

	"github.com/google/go-cmp/cmp"
)

func TestNumber(t *testing.T) {
	nan := math.NaN()
	point, comma := &Number{}, &Number{Decimal: ','}
	dollar, kilo := &Number{Unit: "$"}, &Number{Unit: "kg", Units: map[string]float64{"g": .001}}
	for _, c := range []struct {
		format *Number
		text   string
		want   float64
	}{
		{point, "1", 1}, {point, "1,234", 1234}, {point, "1,234.5", 1234.5}, {point, "12,345,678", 12345678}, {point, ".5", .5}, {point, "5.", 5}, {point, "-1'234", -1234},
		{point, "1 234.5e-1", 123.45}, {point, "−3", -3}, {point, "(1,234.5)", -1234.5}, {point, "(-1)", 1}, {point, "+2", 2}, {point, "1e3", 1000}, {point, "1\u202f234", 1234}, {point, "1’234", 1234},
		{point, "1,23", nan}, {point, "1,2345", nan}, {point, "0,123", nan}, {point, "1234,567", nan}, {point, "1,234,56", nan}, {point, "1,234'567", nan}, {point, "1.234.567", nan}, {point, "1.2,3", nan},
		{point, ",123", nan}, {point, "1,,234", nan}, {point, "", nan}, {point, ".", nan}, {point, "-", nan}, {point, "1e999", nan}, {point, "inf", nan}, {point, "NaN", nan}, {point, "0x10", nan}, {point, "1_000", nan}, {point, "--1", nan}, {point, "1 2", nan},
		{comma, "1.234,50", 1234.5}, {comma, "1,234", 1.234}, {comma, "0,5", .5}, {comma, "1.234", 1234}, {comma, "1.5", nan}, {comma, "1,5e2", 150},
		{dollar, "$1.23", 1.23}, {dollar, "$ 1,234", 1234}, {dollar, "-$5", -5}, {dollar, "$-5", -5}, {dollar, "($5.50)", -5.5}, {dollar, "5 $", 5}, {dollar, "5", 5}, {dollar, "$1.5k", 1500}, {dollar, "$2M", 2e6},
		{dollar, "€5", nan}, {dollar, "$", nan}, {dollar, "$5 $", nan}, {dollar, "$5%", nan}, {dollar, "-$-5", nan},
		{kilo, "1.2 kg", 1.2}, {kilo, "1.2kg", 1.2}, {kilo, "500 g", .5}, {kilo, "3", 3}, {kilo, "3 lb", nan}, {kilo, "3 kg kg", nan}, {kilo, "kg 3", nan},
		{&Number{Unit: "%"}, "12.5%", 12.5}, {&Number{Unit: "%"}, "12.5 %", 12.5}, {&Number{Unit: "kg/m²"}, "22 kg/m²", 22}, {&Number{Unit: "m2"}, "70 m2", 70},
	} {
		got, ok := c.format.parse(c.text)
		if ok != (c.want == c.want) || ok && got != c.want {
			t.Errorf("%+v: %q is %v, %v; want %v", *c.format, c.text, got, ok, c.want)
		}
	}
}

// Read infers one number format for all rows of a column.
func TestFormatsOfNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		comma  rune
		fields []string // the fields of column a
		want   *Number  // nil: plain
		values []float64
	}{
		"dollars":               {',', []string{"$1.23", "$1,200.50", "-$3"}, &Number{Decimal: '.', Unit: "$"}, []float64{1.23, 1200.5, -3}},
		"euros":                 {';', []string{"1.234,50 €", "3,20 €", "7 €"}, &Number{Decimal: ',', Unit: "€"}, []float64{1234.5, 3.2, 7}},
		"per cent":              {',', []string{"12.5%", "3%", ".5 %"}, &Number{Decimal: '.', Unit: "%"}, []float64{12.5, 3, .5}},
		"kilograms":             {',', []string{"1.2 kg", "3kg", "0.5 kg"}, &Number{Decimal: '.', Unit: "kg"}, []float64{1.2, 3, .5}},
		"kilograms and grams":   {',', []string{"1.2 kg", "3kg", "500 g"}, &Number{Decimal: '.', Unit: "kg", Units: map[string]float64{"g": .001}, UnitRequired: true}, []float64{1.2, 3, .5}},
		"grams and kilograms":   {',', []string{"120 g", "300g", "1.5 kg"}, &Number{Decimal: '.', Unit: "g", Units: map[string]float64{"kg": 1000}, UnitRequired: true}, []float64{120, 300, 1500}},
		"thousands":             {',', []string{"1,000,000", "2,500", "12"}, &Number{Decimal: '.'}, []float64{1e6, 2500, 12}},
		"thousands by spaces":   {',', []string{"1 000", "2 500", "12"}, &Number{Decimal: '.'}, []float64{1000, 2500, 12}},
		"decimal commas":        {';', []string{"1,5", "2,25", "1.000,5"}, &Number{Decimal: ','}, []float64{1.5, 2.25, 1000.5}},
		"open, by commas":       {',', []string{"1,234", "2,500", "12"}, &Number{Decimal: '.'}, []float64{1234, 2500, 12}},
		"open, by semicolons":   {';', []string{"1,234", "2,500", "12"}, &Number{Decimal: ','}, []float64{1.234, 2.5, 12}},
		"accounting":            {',', []string{"(1,000.50)", "12.00", "3.00"}, &Number{Decimal: '.'}, []float64{-1000.5, 12, 3}},
		"abbreviated":           {',', []string{"1.2k", "950", "3k"}, &Number{Decimal: '.', Units: map[string]float64{"k": 1000}}, []float64{1200, 950, 3000}},
		"plain":                 {',', []string{"1.234", "2.500", "1e3"}, nil, []float64{1.234, 2.5, 1000}},
		"plain with semicolons": {';', []string{"1.234", "2.500", "12"}, nil, []float64{1.234, 2.5, 12}},
	} {
		var b strings.Builder
		fmt.Fprintf(&b, "a%cy\n", c.comma)
		for i, field := range c.fields {
			fmt.Fprintf(&b, "\"%s\"%c%d\n", field, c.comma, i+3)
		}
		table, err := CSV{Target: "y", Comma: c.comma}.Read(strings.NewReader(b.String()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, table.Columns[0].Number); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for i, want := range c.values {
			if got := table.x.At(i, 0); got != want {
				t.Errorf("%s: %q is %v instead of %v", name, c.fields[i], got, want)
			}
		}
	}
}

// For a column of ambiguous numbers such as 1,234, the other columns determine the decimal sign.
func TestDecimalSignOfTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		a     float64
		notes int
	}{
		"commas":            {"a;b;y\n1,234;1,5;1\n2,345;2,5;2\n", 1.234, 1},
		"points":            {"a;b;y\n1,234;1.5;1\n2,345;2.5;2\n", 1234, 1},
		"both":              {"a;b;c;y\n1,234;1.5;1,5;1\n2,345;2.5;2,5;2\n", 1.234, 1},
		"points of commas":  {"a;b;y\n1.234;1,5;1\n2.345;2,5;2\n", 1234, 1},
		"points, no commas": {"a;b;y\n1.234;1;1\n2.345;2;2\n", 1.234, 0},
		"points of dates":   {"a;b;c;y\n1.234;1,5;31.12.2024;1\n2.345;2,5;30.11.2024;2\n", 1234, 1},
		"by the target":     {"a;b;y\n1,234;1;1.5\n2,345;2;2\n", 1234, 1},
	} {
		table := readTable(t, CSV{Comma: ';'}, c.text)
		if got := table.x.At(0, 0); got != c.a || len(table.Notes) != c.notes {
			t.Errorf("%s: %v, notes %q; want %v and %d notes", name, got, table.Notes, c.a, c.notes)
		}
		for _, note := range table.Notes {
			if note.Column != "a" || note.Field != "CSV.Numbers" || !strings.Contains(note.String(), fmt.Sprintf("it is read as %v", c.a)) {
				t.Errorf("%s: %v", name, note)
			}
		}
	}
}

// If the format of a column is ambiguous, a note names the field of CSV that determines the format.
func TestNotesOfNumbers(t *testing.T) {
	many := func(field func(i int) string) string {
		var b strings.Builder
		b.WriteString("a,y\n")
		for i := range 126 {
			fmt.Fprintf(&b, "\"%s\",%d\n", field(i%21), i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		text, note string
		c          CSV
		a          float64 // the value in the first row, after the field has overruled the choice
	}{
		"open":         {"a,y\n\"1,234\",1\n\"2,345\",2\n", `"1,234"`, CSV{Numbers: map[string]Number{"a": {Decimal: ','}}}, 1.234},
		"units":        {"a,y\n500 g,1\n2 kg,2\n3 kg,4\n", "g (1), kg (2): all become kg", CSV{Numbers: map[string]Number{"a": {Unit: "kg", Units: map[string]float64{"g": 1}}}}, 500},
		"bare":         {"a,y\n5,1\n20%,2\n30%,4\n", "lacks the unit in 1 of 3 numbers", CSV{Numbers: map[string]Number{"a": {Units: map[string]float64{"%": .01}}}}, 5},
		"no measure":   {many(func(i int) string { return fmt.Sprintf("%d %s", i, []string{"kg", "m"}[i%2]) }), "kg (66), m (60), which have no common measure", CSV{Numbers: map[string]Number{"a": {Unit: "kg", Units: map[string]float64{"m": 7}}}}, 0},
		"two currency": {many(func(i int) string { return fmt.Sprintf("%s%d", []string{"$", "€"}[i%2], i) }), "$ (66), € (60)", CSV{Numbers: map[string]Number{"a": {Unit: "$", Units: map[string]float64{"€": 1.1}}}}, 0},
	} {
		table := readTable(t, CSV{}, c.text)
		if len(table.Notes) != 1 || table.Notes[0].Column != "a" || !strings.Contains(table.Notes[0].Text, c.note) || !strings.Contains(table.Notes[0].String(), "CSV.Numbers overrules this choice") {
			t.Errorf("%s: notes %q lack %q", name, table.Notes, c.note)
		}
		table = readTable(t, c.c, c.text)
		if len(table.Notes) != 0 || table.x.At(0, 0) != c.a || table.Columns[0].Kind != Numeric {
			t.Errorf("%s: notes %q, column %+v, value %v instead of %v", name, table.Notes, table.Columns[0], table.x.At(0, 0), c.a)
		}
	}
}

// Texts such as 1kg and 2m are levels, because their units do not measure the same quantity.
func TestTextsThatAreNoNumbers(t *testing.T) {
	for _, fields := range []string{"1st 2nd 1st 2nd", "10A 12B 10A 12B", "1kg 2m 1kg 2m", "a1 a2 a1 a2", "18-24 25-34 18-24 25-34", "A1 B2 A1 B2", "1/2 1/4 1/2 1/4"} {
		var b strings.Builder
		b.WriteString("a,y\n")
		for i, field := range strings.Fields(fields) {
			fmt.Fprintf(&b, "%s,%d\n", field, i)
		}
		if table := readTable(t, CSV{}, b.String()); table.Columns[0].Kind != Categorical || len(table.Columns[0].Levels) != 2 {
			t.Errorf("%s: %+v", fields, table.Columns[0])
		}
	}
	if table := readTable(t, CSV{}, "a,y\n3 bed,1\nstudio,2\n2 bed,3\nstudio,4\n"); table.Columns[0].Kind != Categorical || len(table.Columns[0].Levels) != 3 {
		t.Errorf("few texts: %+v", table.Columns[0])
	}
	var b strings.Builder
	b.WriteString("a,y\n")
	for i := range 25 {
		fmt.Fprintf(&b, "%d kg,%d\n", i, i)
	}
	_, err := ReadCSV(strings.NewReader(b.String()+"heavy,1\n"), "y")
	if !errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(err.Error(), `"heavy" in line 27, column "a"`) {
		t.Error(err)
	}
	_, err = CSV{Target: "y", Numeric: []string{"a"}}.Read(strings.NewReader("a,y\n1 kg,1\n2 m,2\n"))
	if !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), `CSV.Numeric names column "a", which holds the units kg (1), m (1)`) {
		t.Error(err)
	}
}

// Read recognises units in words, and merges the singular and the plural of a unit.
func TestUnitsInWords(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		want   []float64 // nil: the column has levels
	}{
		"years":  {"1 year,2 years,3 years", []float64{1, 2, 3}},
		"items":  {"1 item,2 items,3 items", []float64{1, 2, 3}},
		"days":   {"1 day,2 days,1 week,12 hours,3 days", []float64{1, 2, 7, .5, 3}},
		"months": {"2 years,6 months,1 year,3 years,1 month", []float64{2, .5, 1, 3, 1. / 12}},
		"m, ms":  {"1 m,2 ms,3 ms", nil},
		"ages":   {"1 year,2 days,3 years", nil},
	} {
		rows := strings.ReplaceAll(c.fields, ",", ",1\n") + ",2\n"
		table := readTable(t, CSV{}, "a,y\n"+strings.Repeat(rows, 5)) // texts of one row alone would be left out
		if kind := table.Columns[0].Kind; (kind == Numeric) != (c.want != nil) {
			t.Errorf("%s: %v", name, kind)
			continue
		}
		for i, want := range c.want {
			if got := table.x.At(i, 0); got != want {
				t.Errorf("%s: row %d is %v instead of %v", name, i, got, want)
			}
		}
	}
}

const parcels = "weight,share,width,y\n1.2 kg,12%,\"1,5\",$10.50\n800 g,8.5%,\"2,25\",$7\n2 kg,,\"0,5\",\"$1,015.00\"\n1.5 kg,30%,\"1,0\",$12\n900 g,25%,\"1,1\",$9.20\n"

// parcelPipeline returns a pipeline with formatted numbers.
func parcelPipeline(t testing.TB) *Pipeline {
	t.Helper()
	table := casetest.Must(CSV{Target: "y", MissingIn: map[string]MissingRule{"share": MissingIsMean}}.Read(strings.NewReader(parcels)))(t)
	return pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
}

// A pipeline reads numbers in the formats of its columns, also after conversion to JSON.
func TestPipelineReadsFormats(t *testing.T) {
	serial.Test(t)
	p := parcelPipeline(t)
	text := casetest.Must(json.Marshal(p))(t)
	var back Pipeline
	casetest.OK(t, json.Unmarshal(text, &back))
	if again := casetest.Must(json.Marshal(back))(t); string(again) != string(text) {
		t.Errorf("written again as\n%s\nand not\n%s", again, text)
	}
	record := func(weight, share, width string) map[string]string {
		return map[string]string{"weight": weight, "share": share, "width": width}
	}
	want := casetest.Must(p.PredictRecord(record("1.2 kg", "12%", "1,5")))(t)
	for _, r := range []map[string]string{record("1200 g", "12 %", "1,50"), record("1.20 kg", "12", "1,500"), record("1,200 g", "12%", " 1,5 ")} {
		for _, pipeline := range []*Pipeline{p, &back} {
			if got, err := pipeline.PredictRecord(r); err != nil || got != want {
				t.Errorf("%v: %v, %v; want %v", r, got, err, want)
			}
		}
	}
	if got, err := back.PredictRecord(record("1 kg", "?", "1,5")); err != nil || math.IsNaN(got) {
		t.Errorf("a missing share: %v, %v", got, err)
	}
	for column, r := range map[string]map[string]string{"weight": record("1.2", "12%", "1,5"), "share": record("1 kg", "$12", "1,5"), "width": record("1 kg", "12%", "1.5")} {
		if got, err := back.PredictRecord(r); !errors.Is(err, qpdiff.ErrNotFinite) || !math.IsNaN(got) || !strings.Contains(err.Error(), fmt.Sprintf("column %q holds", column)) {
			t.Errorf("%v: %v, %v", r, got, err)
		}
	}
	fresh := casetest.Must(back.Read(strings.NewReader(parcels)))(t)
	if !slices.Equal(fresh.Y, []float64{10.5, 7, 1015, 12, 9.2}) {
		t.Errorf("targets %v", fresh.Y)
	}
	if _, err := back.Read(strings.NewReader("weight,share,width,y\n1 kg,1%,\"1,5\",€7\n")); err == nil || !strings.Contains(err.Error(), `"€7" in line 2, column "y"`) {
		t.Errorf("a target in euros: %v", err)
	}
	own := casetest.Must(p.Decision(fresh))(t)
	if got := casetest.Must(back.Decision(fresh))(t); !hostile.SameBits(own, got) {
		t.Errorf("%v and not %v", got, own)
	}
	casetest.CheckChangedJSON(t, map[string]func() json.Unmarshaler{string(text): func() json.Unmarshaler { return new(Pipeline) }})
	casetest.CheckFormsOfJSON(t, map[string]func() json.Unmarshaler{string(text): func() json.Unmarshaler { return new(Pipeline) }})
}

// Formatted numbers, such as "1.20 kg" and "1,234", give the same predictions as plain numbers.
func TestFormatsChangeNoFit(t *testing.T) {
	var plain, formatted strings.Builder
	plain.WriteString("a,b,y\n")
	formatted.WriteString("a,b,y\n")
	for i := range 12 {
		a, b, y := math.Round(1e4*math.Sin(float64(i)))/100, 1000*i+i*i, decimal(math.Cos(float64(i)))
		fmt.Fprintf(&plain, "%.2f,%d,%s\n", a, b, y)
		fmt.Fprintf(&formatted, "%.2f kg,\"%d,%03d\",%s\n", a, b/1000, b%1000, y)
	}
	text := strings.ReplaceAll(formatted.String(), `"0,`, `"`)
	predict := func(text string) []float64 {
		table := readTable(t, CSV{}, text)
		p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
		return casetest.Must(p.Predict(table))(t)
	}
	if want, got := predict(plain.String()), predict(text); !hostile.SameBits(want, got) {
		t.Errorf("%v, and plain %v", got, want)
	}
}
