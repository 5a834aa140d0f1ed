package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ParseDate reads every date that package time writes in the same layout.
func TestLayouts(t *testing.T) {
	dates := []time.Time{time.Date(2025, 3, 4, 15, 7, 9, 0, time.UTC), time.Date(1999, 12, 31, 0, 0, 59, 0, time.UTC), time.Date(2024, 2, 29, 9, 30, 0, 0, time.UTC)}
	var all []string
	for _, ds := range dateLayouts {
		for _, d := range ds {
			all = append(all, d, d+" 15:04", d+"T15:04:05", d+" 3:04 PM", d+"T15:04:05Z07:00", d+" 15:04:05 -0700")
		}
	}
	for _, cs := range clockLayouts {
		all = append(all, cs...)
	}
	for _, layout := range all {
		for _, date := range dates {
			text := date.Format(layout)
			got, ok := portable.ParseDate(layout, text)
			if again := got.Format(layout); !ok || again != text || !slices.Contains(layoutsOf(text), layout) {
				t.Errorf("layout %q: %q is read as %q; layouts %q", layout, text, again, layoutsOf(text))
			}
		}
		if err := checkLayout(layout); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"", "2025", "east", "12", "1.2.3", "2025-13-01", "31/31/2025", "2025-02-30", "12:60", "1/2", "a-b-c", "2025-03-04 15", "1:2", "12:00:00:00", "2025-03-04+02:00", "123-45-6789", "٣/٤/٢٠٢٥", strings.Repeat("1/", 30)} {
		if layouts, reads := datesOf([]string{text}); reads != 0 {
			t.Errorf("%q is read by %q", text, layouts)
		}
	}
}

func TestPartsOfDates(t *testing.T) {
	const text = "sold,y\n2024-12-31 18:00,1\n2025-01-02 06:30,2\n2025-03-01 00:00,3\n2024-12-30 12:00,4\n"
	table := readTable(t, CSV{}, text)
	var names []string
	for _, c := range table.Columns {
		names = append(names, c.Name)
	}
	if want := []string{"sold days", "sold year", "sold month", "sold weekday", "sold hour"}; !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	if !slices.Equal(table.Columns[2].Levels, []string{"12", "01", "03"}) || !slices.Equal(table.Columns[3].Levels, []string{"Monday", "Saturday", "Thursday", "Tuesday"}) {
		t.Errorf("%+v", table.Columns)
	}
	want := mat.NewDense(4, 5, []float64{
		1.25, 2024, 0, 3, 18,
		2.770833333333333, 2025, 1, 2, 6.5,
		60.5, 2025, 2, 1, 0,
		0, 2024, 0, 0, 12,
	})
	if !mat.EqualApprox(table.x, want, 1e-12) {
		t.Errorf("%v", mat.Formatted(table.x))
	}
	if first := table.Columns[0].Date.First; !first.Equal(time.Date(2024, 12, 30, 12, 0, 0, 0, time.UTC)) {
		t.Error(first)
	}
	for text, want := range map[string]string{
		"d,y\n1 Mar 2025,1\n2 Mar 2025,2\n":                          "d days, d weekday",
		"d,y\nMarch 2025,1\nApril 2025,2\n":                          "d days, d month",
		"d,y\n13:45,1\n9:00,2\n":                                     "d hour",
		"d,y\n2025-03-01T00:00:00Z,1\n2025-03-08T00:00:00Z,2\n":      "d days",
		"d,d days,y\n2025-03-01,1,1\n2025-03-08,2,2\n":               "d days', d days",
		"d,y\n2025-03-01T10:00:00+02:00,1\n2025-03-01T11:00:00Z,2\n": "d days, d hour",
		"d,y\n2025-03-01 10:00:00.25,1\n2025-03-01 10:00:00.5,2\n":   "d days, d hour",
		"d,y\n3:04 PM,1\n11:00 AM,2\n":                               "d hour",
		"d,y\n\"March 4, 2025\",1\n\"March 5, 2025\",2\n":            "d days, d weekday",
		"d,y\n2025-03-01,1\n2025-03-01,2\n":                          "d days",
		"d,e,y\n2025-03-01,2024-01-01,1\n2025-03-02,2025-01-01,2\n":  "d days, d weekday, e days, e year, e weekday",
		"d,y\n0001-01-01,1\n9999-12-31,2\n":                          "d days, d year, d month, d weekday",
	} {
		var names []string
		table, err := ReadCSV(strings.NewReader(text), "y")
		casetest.OK(t, err)
		for _, c := range table.Columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%q: %q instead of %q", text, got, want)
		}
	}
}

// Read finds one order of day and month for a column, and adds a note if the order is ambiguous.
func TestOrderOfDayAndMonth(t *testing.T) {
	for name, c := range map[string]struct {
		c            CSV
		text, layout string
		notes        int
	}{
		"own day":         {CSV{}, "d,y\n03/04/2025,1\n13/04/2025,2\n", "2/1/2006", 0},
		"own month":       {CSV{}, "d,y\n03/04/2025,1\n03/14/2025,2\n", "1/2/2006", 0},
		"open":            {CSV{}, "d,y\n03/04/2025,1\n05/06/2025,2\n", "1/2/2006", 1},
		"semicolons":      {CSV{Comma: ';'}, "d;y\n03/04/2025;1\n05/06/2025;2\n", "2/1/2006", 1},
		"another column":  {CSV{}, "d,e,y\n03/04/2025,03/04/2025,1\n05/06/2025,13/04/2025,2\n", "2/1/2006", 1},
		"another's month": {CSV{Comma: ';'}, "d;e;y\n03/04/2025;03/04/2025;1\n05/06/2025;03/14/2025;2\n", "1/2/2006", 1},
		"points":          {CSV{}, "d,y\n03.04.2025,1\n05.06.2025,2\n", "2.1.2006", 1},
		"hyphens":         {CSV{Comma: ';'}, "d;y\n03-04-2025;1\n05-06-2025;2\n", "2-1-2006", 1},
		"given":           {CSV{Dates: map[string]string{"d": "2/1/2006"}}, "d,y\n03/04/2025,1\n05/06/2025,2\n", "2/1/2006", 0},
		"two digits":      {CSV{}, "d,y\n13/04/25,1\n05/06/25,2\n", "2/1/06", 1},
	} {
		table := readTable(t, c.c, c.text)
		if got := table.Columns[0].Date; got == nil || got.Layout != c.layout || len(table.Notes) != c.notes {
			t.Errorf("%s: %+v, notes %q", name, got, table.Notes)
		}
		for _, note := range table.Notes {
			if want := map[bool]string{false: "CSV.Dates", true: "CSV.Ignore"}[name == "two digits"]; note.Column != "d" || note.Field != want {
				t.Errorf("%s: %v", name, note)
			}
		}
	}
	table := readTable(t, CSV{Categorical: []string{"d"}}, "d,y\n03/04/2025,1\n05/06/2025,2\n03/04/2025,3\n")
	if len(table.Columns) != 1 || table.Columns[0].Kind != Categorical || table.Columns[0].Date != nil {
		t.Errorf("levels: %+v", table.Columns)
	}
	for want, text := range map[string]string{
		`"soon" in line 32, column "d", in place of a date in the format "2006-1-2" of 2 January 2006`: "d,y\n" + dailyLines(30) + "soon,1\n",
		`CSV.Dates, column "d": layout is "day"`:                                                       "day",
		`"3.4.2025" in line 2, column "d"`:                                                             "2006-01-02",
	} {
		c := CSV{Target: "y"}
		if !strings.Contains(text, "\n") {
			c.Dates, text = map[string]string{"d": text}, "d,y\n3.4.2025,1\n"
		}
		if _, err := c.Read(strings.NewReader(text)); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

// dailyLines returns n lines with a date and a number.
func dailyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s,%d\n", time.Date(2025, 1, 1+2*i, 0, 0, 0, 0, time.UTC).Format("2006-01-02"), i%7)
	}
	return b.String()
}

// A pipeline with a column of dates predicts from records, also after conversion to JSON.
func TestPipelineOfDates(t *testing.T) {
	table := readTable(t, CSV{MissingIn: map[string]MissingRule{"d": MissingIsMean}}, "d,y\n"+dailyLines(40)+",3\n,4\n")
	p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	text := casetest.Must(json.Marshal(p))(t)
	var back Pipeline
	casetest.OK(t, json.Unmarshal(text, &back))
	want := casetest.Must(p.Decision(table))(t)
	fresh := casetest.Must(back.Read(strings.NewReader("d\n2025-01-01\n2025-1-3\n?\n")))(t)
	got := casetest.Must(back.Decision(fresh))(t)
	if !hostile.SameBits(got, []float64{want[0], want[1], want[40]}) {
		t.Errorf("%v and not %v", got, want)
	}
	if y := casetest.Must(back.PredictRecord(map[string]string{"d": "2025-01-01"}))(t); y != want[0] {
		t.Errorf("%v and not %v", y, want[0])
	}
	for _, field := range []string{"1/1/2025", "2025-13-01", "soon"} {
		if y, err := back.PredictRecord(map[string]string{"d": field}); !errors.Is(err, qpdiff.ErrDomain) || !math.IsNaN(y) || !strings.Contains(err.Error(), `column "d" holds`) {
			t.Errorf("%q: %v, %v", field, y, err)
		}
	}
	if _, err := back.PredictRecord(map[string]string{"d": "2025-08-01"}); err == nil || !strings.Contains(err.Error(), `column "d month" holds "08"`) {
		t.Errorf("a month that no row has: %v", err)
	}
	edit := func(old, new string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("%s lacks %s", text, old)
		}
		return strings.Replace(string(text), old, new, 1)
	}
	for want, changed := range map[string]string{
		`part is "week"`:   edit(`"part":"days"`, `"part":"week"`),
		`first is "then"`:  edit(`"first":"2025-01-01T00:00:00"`, `"first":"then"`),
		`layout is "none"`: edit(`"layout":"2006-1-2"`, `"layout":"none"`),
		`with part "month" belongs to the numeric column "d days"`: edit(`"part":"days"`, `"part":"month"`),
	} {
		if err := json.Unmarshal([]byte(changed), new(Pipeline)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	casetest.CheckFormsOfJSON(t, map[string]func() json.Unmarshaler{string(text): func() json.Unmarshaler { return new(Pipeline) }})
}

// FuzzCSV checks that every table from Read has finite features, and that columns survive
// conversion to JSON.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{fruit, parcels, "d,y\n" + dailyLines(5), "d,t,y\n3/4/25,3:04 PM,1\n,1:00 AM,2\n5/6/25,,0\n", "a;b;y\n1,5;1.000 €;yes\n2,5;3 €;no\n(1);−2;yes\n", "a,y\n1kg,1\n1g,2\nx,3\n"} {
		f.Add(text, byte(0))
		f.Add(text, byte(9))
	}
	f.Fuzz(func(t *testing.T, text string, settings byte) {
		header, _, _ := strings.Cut(text, "\n")
		c := CSV{Missing: MissingRule(settings % 3), Unknown: UnknownRule(settings / 3 % 2), MaxBytes: 1 << 24}
		if settings&64 != 0 || strings.Contains(header, ";") {
			c.Comma = ';'
		}
		names := strings.Split(header, string(max(c.Comma, ',')))
		c.Target = strings.TrimSpace(names[len(names)-1])
		table, err := c.Read(strings.NewReader(text))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		if len(table.Classes) > 2 {
			table = casetest.Must(table.Binary(table.Classes[0]))(t)
		}
		d, encoder, err := table.Data()
		if err != nil {
			return
		}
		prepared, err := encoder.Fit(d.Dense(), nil)
		if err != nil {
			return // a column without values
		}
		_, m := encoder.Dims()
		features := make([]float64, m)
		for i := range d.Y {
			casetest.OK(t, prepared.Apply(features, d.Dense().RawRowView(i)))
			if floats.HasNaN(features) || math.IsInf(floats.Norm(features, math.Inf(1)), 0) || math.IsNaN(d.Y[i]) {
				t.Fatalf("row %d: %v, %v", i, features, d.Y[i])
			}
		}
		p := &Pipeline{Model: &cvgm.Model{Theta: make([]float64, m), Mean: make([]float64, m), Std: slices.Repeat([]float64{1}, m), Prepared: prepared}, Target: table.Target, Classes: table.Classes}
		written, err := json.Marshal(p)
		casetest.OK(t, err)
		var back Pipeline
		casetest.OK(t, json.Unmarshal(written, &back))
		again, err := back.Read(strings.NewReader(text))
		if err != nil {
			if c.Missing == MissingDropsRow {
				return // a row that lacks a value
			}
			t.Fatal(err)
		}
		if c.Missing != MissingDropsRow && !hostile.SameBits(again.x.RawMatrix().Data, table.x.RawMatrix().Data) || len(again.Y) == len(table.Y) && !hostile.SameBits(again.Y, table.Y) {
			t.Errorf("%v after JSON, and not %v", mat.Formatted(again.x), mat.Formatted(table.x))
		}
	})
}

// Read adds a note for years of two digits, which asks for a check if years are far in the future.
func TestYearsOfTwoDigits(t *testing.T) {
	for name, c := range map[string]struct {
		years []int
		words string
		check bool
	}{
		"sales":  {[]int{98, 99, 0, 1, 24}, "here from 1998 to 2024", false},
		"births": {[]int{44, 57, 68, 69, 99}, "here from 1969 to 2068", true},
		"plans":  {[]int{24, 25, 39}, "here from 2024 to 2039", false},
	} {
		table := readTable(t, CSV{}, fileOf(30, func(i int) string { return fmt.Sprintf("%02d.03.%02d", 10+i%18, c.years[i%len(c.years)]) }))
		if note := noteOf(t, table, "a"); note.Check != c.check || !strings.Contains(note.Text, c.words) {
			t.Errorf("%s: %+v", name, note)
		}
	}
}
