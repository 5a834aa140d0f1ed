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
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func TestCSVSettings(t *testing.T) {
	const text = "id;size;colour;grade;clinic;y\n7;1;red;1;B;4\n8;?;blue;2;A;5\n9;3;red;10;B;\n10;-;;2;C;6\n11;5;red;1;A;7\n"
	c := CSV{
		Target: "y", Comma: ';', Ignore: []string{"id"}, Group: "clinic", Categorical: []string{"grade"}, Numeric: []string{"size"},
		Missing: MissingDropsRow, MissingIn: map[string]MissingRule{"size": MissingIsMean, "colour": MissingIsMean}, MissingTexts: []string{"", "?", "-"},
	}
	table := casetest.Must(c.Read(strings.NewReader(text)))(t)
	want := []Column{
		{Name: "size", Missing: MissingIsMean},
		{Name: "colour", Kind: Categorical, Levels: []string{"red", "blue"}, Missing: MissingIsMean, MissingLevel: true},
		{Name: "grade", Kind: Categorical, Levels: []string{"1", "2"}, Missing: MissingDropsRow}, // no kept row has the level 10
	}
	if diff := cmp.Diff(want, table.Columns); diff != "" {
		t.Error(diff)
	}
	nan := math.NaN()
	x := mat.NewDense(4, 3, []float64{1, 0, 0, nan, 1, 1, nan, nan, 1, 5, 0, 0})
	if !floats.Same(table.x.RawMatrix().Data, x.RawMatrix().Data) || !slices.Equal(table.Y, []float64{4, 5, 6, 7}) ||
		!slices.Equal(table.Groups, []int{0, 1, 2, 1}) || !slices.Equal(table.Lines, []int{2, 3, 5, 6}) {
		t.Errorf("x %v, y %v, groups %v, lines %v", mat.Formatted(table.x), table.Y, table.Groups, table.Lines)
	}
	part := table.Rows([]int{3, 0, 3})
	if !slices.Equal(part.Y, []float64{7, 4, 7}) || !slices.Equal(part.Groups, []int{1, 0, 1}) || !slices.Equal(part.Lines, []int{6, 2, 6}) ||
		!slices.Equal(part.x.RawRowView(1), table.x.RawRowView(0)) {
		t.Errorf("rows: %+v", part)
	}
	if r, p := part.Dims(); r != 3 || p != 3 {
		t.Errorf("%d×%d", r, p)
	}
	_, encoder, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"size", "colour=blue", "colour is missing", "grade=2"}, encoder.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestCSVRefusesSettings(t *testing.T) {
	const text = "a,b,c,y\n1,u,1,1\n2,v,2,2\n3,u,1,3\n"
	for name, c := range map[string]struct {
		c    CSV
		text string
		want string
	}{
		"unknown target":       {CSV{Target: "z"}, text, `CSV.Target is "z", which is not a column`},
		"unknown column":       {CSV{Ignore: []string{"d"}}, text, `CSV.Ignore is "d", which is not a column`},
		"target ignored":       {CSV{Ignore: []string{"y"}}, text, `CSV.Ignore names column "y", which CSV.Target names as well`},
		"two kinds":            {CSV{Numeric: []string{"a"}, Categorical: []string{"a"}}, text, `CSV.Categorical names column "a", which CSV.Numeric`},
		"group is a feature":   {CSV{Group: "b", Categorical: []string{"b"}}, text, `which CSV.Group`},
		"rule for no column":   {CSV{MissingIn: map[string]MissingRule{"d": MissingIsError}}, text, `CSV.MissingIn has "d"`},
		"no rule":              {CSV{MissingIn: map[string]MissingRule{"a": 9}}, text, "MissingRule(9)"},
		"no rule for all":      {CSV{Missing: -1}, text, "MissingRule(-1)"},
		"no rule for levels":   {CSV{Unknown: 2}, text, "UnknownRule(2)"},
		"mean of the target":   {CSV{MissingIn: map[string]MissingRule{"y": MissingIsMean}}, text, "which is not a feature"},
		"comma":                {CSV{Comma: '"'}, text, "CSV.Comma"},
		"text as number":       {CSV{Numeric: []string{"b"}}, text, `"u" in line 2, column "b"`},
		"all ignored":          {CSV{Ignore: []string{"a", "b", "c"}}, text, "no features"},
		"no such class":        {CSV{Positive: "7"}, text, `CSV.Positive is "7", which is not a class`},
		"three classes":        {CSV{Positive: "3"}, text, "use Table.Binary"},
		"identifier alone":     {CSV{}, "b,y\nu,1\nv,2\nw,3\n", `no features beside "y", without the identifiers ["b"]`},
		"number and classes":   {CSV{Numeric: []string{"y"}, Positive: "1"}, text, `CSV.Numeric names the target "y"`},
		"target of texts":      {CSV{Numeric: []string{"y"}}, "a,y\n1,u\n2,v\n", `"u" in line 2, column "y"`},
		"a weight below 0":     {CSV{Weights: "c"}, "a,c,y\n1,1,1\n2,-1,2\n", `CSV.Weights holds "-1" in line 3, column "c"`},
		"a weight of text":     {CSV{Weights: "c"}, "a,c,y\n1,1,1\n2,x,2\n", `CSV.Weights holds "x" in line 3`},
		"a missing weight":     {CSV{Weights: "c", Missing: MissingIsMean}, "a,c,y\n1,1,1\n2,,2\n", `"" in line 3, column "c"`},
		"no row counts":        {CSV{Weights: "c"}, "a,c,y\n1,0,1\n2,0,2\n", `weight 0 in each row of column "c"`},
		"weights of none":      {CSV{Weights: "w"}, text, `CSV.Weights is "w", which is not a column`},
		"nothing in it":        {CSV{Missing: MissingIsMean}, "a,b,y\n1,,1\n2,,2\n", `no value in column "b"`},
		"nothing left":         {CSV{Missing: MissingDropsRow}, "a,b,y\n,1,1\n2,,2\n", `each of the 2 rows lacks a value, 1 of them in column "a"`},
		"target missing":       {CSV{Missing: MissingIsMean}, "a,y\n1,1\n2,\n", `"" in line 3, column "y" (not finite): fill it in, remove the line, or drop all such lines with CSV.Missing`},
		"group missing":        {CSV{Group: "g"}, "a,g,y\n1,,1\n", `column "g"`},
		"no missing texts":     {CSV{MissingTexts: []string{}}, "a,y\n1,1\n2,2\n,3\n", `"" in line 4, column "a"`},
		"a class with a slip":  {CSV{}, "a,y\n1,1\n2,0\n3,O\n", `"O" in line 4, column "y"`},
		"a format's decimals":  {CSV{Numbers: map[string]Number{"a": {Decimal: ';'}}}, text, `CSV.Numbers, column "a": Number.Decimal is ';'`},
		"a format's unit":      {CSV{Numbers: map[string]Number{"a": {Unit: "kg kg"}}}, text, `Number.Unit is "kg kg"`},
		"a format's sizes":     {CSV{Numbers: map[string]Number{"a": {Unit: "kg", Units: map[string]float64{"g": 0}}}}, text, `has the size 0 for "g"`},
		"a format's own size":  {CSV{Numbers: map[string]Number{"a": {Unit: "kg", Units: map[string]float64{"kg": 2}}}}, text, `holds Unit, "kg"`},
		"a format of none":     {CSV{Numbers: map[string]Number{"z": {}}}, text, `CSV.Numbers is "z", which is not a column`},
		"another format":       {CSV{Numbers: map[string]Number{"a": {Decimal: ','}}}, "a,y\n1.5,1\n2,2\n", `CSV line 2: column "a" holds "1.5"`},
		"a number in brackets": {CSV{Numeric: []string{"a"}}, "a,y\n[1],1\n", `"[1]" in line 2`},
	} {
		if c.c.Target == "" {
			c.c.Target = "y"
		}
		_, err := c.c.Read(strings.NewReader(c.text))
		want := strings.TrimSuffix(c.want, "): ")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v lacks %q", name, err, want)
		}
		var arg *qpdiff.ArgError
		if !errors.As(err, &arg) {
			t.Errorf("%s: %T", name, err)
		}
	}
}

func TestClasses(t *testing.T) {
	const text = "a,y\n1,yes\n2,no\n3, yes\n"
	for _, c := range []struct {
		positive string
		text     string
		classes  []string
		y        []float64
	}{
		{"", text, []string{"no", "yes"}, []float64{1, -1, 1}},
		{"yes", text, []string{"no", "yes"}, []float64{1, -1, 1}},
		{"no", text, []string{"yes", "no"}, []float64{-1, 1, -1}},
		{"1", "a,y\n1,0\n2,1\n3,0\n", []string{"0", "1"}, []float64{-1, 1, -1}},
		{"", "a,y\n1,0\n2,1\n3,0\n", []string{"0", "1"}, []float64{-1, 1, -1}},
		{"0", "a,y\n1,0\n2,1\n3,0\n", []string{"1", "0"}, []float64{1, -1, 1}},
		{"", "a,y\n1,-1\n2,1\n3,1\n", []string{"-1", "1"}, []float64{-1, 1, 1}},
		{"", "a,y\n1,1\n2,1\n3,1\n", nil, []float64{1, 1, 1}},
		{"", "a,y\n1,1\n2,2\n3,1\n", nil, []float64{1, 2, 1}},
		{"", "a,y\n1,0\n2,1\n3,.5\n", nil, []float64{0, 1, .5}},
		{"", "a,y\n1,c\n2,a\n3,b\n", []string{"a", "b", "c"}, []float64{2, 0, 1}},
	} {
		table := readTable(t, CSV{Positive: c.positive}, c.text)
		if !slices.Equal(table.Classes, c.classes) || !slices.Equal(table.Y, c.y) {
			t.Errorf("%q of %q: classes %q, y %v", c.positive, c.text, table.Classes, table.Y)
		}
	}
	three := readTable(t, CSV{}, "a,y\n1,c\n2,a\n3,b\n")
	if _, _, err := three.Data(); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "Table.Binary") {
		t.Errorf("data of three classes: %v", err)
	}
	b, err := three.Binary("b")
	if err != nil || !slices.Equal(b.Y, []float64{-1, -1, 1}) || !slices.Equal(b.Classes, []string{"not b", "b"}) || three.Y[0] != 2 {
		t.Fatalf("%+v, %v", b, err)
	}
	back, err := b.Binary("not b")
	if err != nil || !slices.Equal(back.Y, []float64{1, 1, -1}) || !slices.Equal(back.Classes, []string{"b", "not b"}) || back.restClass != "not b" {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := three.Binary("d"); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), `["a" "b" "c"]`) {
		t.Errorf("no class: %v", err)
	}
	if _, err := readTable(t, CSV{}, "a,y\n1,2\n").Binary("2"); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "CSV.Positive") {
		t.Errorf("no classes: %v", err)
	}
	flat := readTable(t, CSV{}, "a,y\nu,1\nu,2\n")
	if _, _, err := flat.Data(); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("no features: %v", err)
	}
}

// The order of the rows in a file changes neither levels nor classes.
func TestLevelsDoNotDependOnTheOrderOfRows(t *testing.T) {
	lines := strings.SplitAfter(fruit, "\n")
	want := readFruit(t, fruit)
	reversed := slices.Clone(lines[1 : len(lines)-1])
	slices.Reverse(reversed)
	got := readFruit(t, lines[0]+strings.Join(reversed, ""))
	if diff := cmp.Diff(want.Columns, got.Columns); diff != "" || !slices.Equal(want.Classes, got.Classes) {
		t.Error(diff, want.Classes, got.Classes)
	}
}

func TestEncoderMeans(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		values, weights []float64
		want            float64
	}{
		"mean":                   {[]float64{1, nan, 4}, nil, 2.5},
		"weights":                {[]float64{1, nan, 4}, []float64{2, 9, 1}, 2},
		"a weight of 0":          {[]float64{1, nan, 4}, []float64{0, 9, 1}, 4},
		"equal values, exactly":  {[]float64{.1, .1, .1, nan}, nil, .1},
		"sums that overflow":     {[]float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, nil, math.MaxFloat64},
		"sums that cancel":       {[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64}, nil, 0},
		"denormal":               {[]float64{5e-324, 5e-324}, nil, 5e-324},
		"huge weights":           {[]float64{2, 4}, []float64{1e308, 1e308}, 3},
		"huge values and weight": {[]float64{-1e308, 1e308}, []float64{3, 1}, -.5e308},
	} {
		e := &Encoder{columns: []Column{{Name: "a", Missing: MissingIsMean}}, reader: newCSVReader(CSV{})}
		fitted, err := e.Fit(mat.NewDense(len(c.values), 1, c.values), c.weights)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := make([]float64, 1)
		if err := fitted.Apply(got, []float64{nan}); err != nil || !casetest.Near(got[0], c.want, preparedTol) || strings.HasSuffix(name, "exactly") && got[0] != c.want {
			t.Errorf("%s: mean %v, want %v, error %v", name, got[0], c.want, err)
		}
		if err := e.Apply(got, []float64{1}); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Errorf("%s: Fit changed the encoder: %v", name, err)
		}
	}
}

func TestEncoderRefuses(t *testing.T) {
	table := readTable(t, CSV{Missing: MissingIsMean}, "a,b,c,y\n1,u,x,1\n,v,x,2\n2,u,z,3\n")
	d, e, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Fit(d.Dense().Slice(1, 2, 0, 3).(*mat.Dense), nil); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("no value: %v", err)
	}
	if _, err := e.Fit(d.Dense(), []float64{0, 1, 0}); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("no value that counts: %v", err)
	}
	if _, err := e.Fit(mat.NewDense(1, 2, nil), nil); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("two columns: %v", err)
	}
	fitted := casetest.Must(e.Fit(d.Dense(), nil))(t)
	dst, nan := make([]float64, 3), math.NaN()
	for name, row := range map[string][]float64{
		"an infinite number": {math.Inf(1), 0, 0}, "an unknown level": {1, 2, 0}, "a missing level": {1, nan, 0}, "no level": {1, 3, 0},
		"a fraction": {1, .5, 0}, "below 0": {1, 0, -1}, "infinite level": {1, math.Inf(-1), 0},
	} {
		if err := fitted.Apply(dst, row); err == nil {
			t.Errorf("%s: %v", name, dst)
		}
	}
	if err := new(Encoder).Apply(nil, nil); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("a zero encoder: %v", err)
	}
}

// If a column has no value in a split, the error names the split and the column.
func TestSplitWithoutValues(t *testing.T) {
	table := readTable(t, CSV{Missing: MissingIsMean}, "a,b,y\n1,1,1\n,2,2\n,3,3\n,1,4\n")
	d, e, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	_, err = cvgm.New(cvgm.Config{Data: d, Prepare: e, Loss: cvgm.SquaredError{}, Learner: func() learn.Learner { return new(linear.ElasticNet) },
		Splits: []cvgm.Split{{Train: []int{0, 1}, Val: []int{2}}, {Train: []int{1, 2, 3}, Val: []int{0}}}})
	var split *cvgm.SplitError
	if !errors.As(err, &split) || split.Split != 1 || !strings.Contains(err.Error(), `no value of column "a" in the 3 training rows`) {
		t.Errorf("%v", err)
	}
}

// The unit of a column changes no prediction, even if values are missing.
func TestUnitsOfColumnsDoNotMatter(t *testing.T) {
	predict := func(unit float64) []float64 {
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for i := range 12 {
			b.WriteString(map[bool]string{true: "?", false: decimal(unit * math.Sin(float64(i)))}[i%5 == 2])
			b.WriteString("," + []string{"u", "v", "w"}[i%3] + "," + decimal(math.Cos(float64(i))) + "\n")
		}
		table := readTable(t, CSV{Missing: MissingIsMean}, b.String())
		p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
		y := casetest.Must(p.Predict(table))(t)
		return y
	}
	want := predict(1)
	for _, unit := range []float64{1e-6, 1e6, 1e-150, 1e150} {
		if got := predict(unit); !floats.EqualApprox(got, want, preparedTol) {
			t.Errorf("unit %v: %v, not %v", unit, got, want)
		}
	}
}

// The mean that replaces missing values is correct in any unit, even if the sum overflows.
func TestMeanOfPresentValuesInAnyUnit(t *testing.T) {
	values, weights := []float64{1, 1.5, math.NaN(), 1.25, 9}, []float64{1, 3, 7, 2, 0} // (1 + 4.5 + 2.5)/6
	for _, unit := range []float64{1, 0x1p1023, 0x1p-1000} {
		for _, heavy := range []float64{1, 4, 0x1p-600, 0x1p600} {
			x, w := mat.NewDense(len(values), 1, nil), make([]float64, len(values))
			for i, v := range values {
				x.Set(i, 0, min(v*unit, math.MaxFloat64))
				w[i] = weights[i] * heavy
			}
			if mean, ok := presentMean(x, 0, w); !ok || math.Abs(mean/unit-8./6) > 1e-15 {
				t.Errorf("unit %g, weights times %g: mean %v of it, want %v", unit, heavy, mean/unit, 8./6)
			}
		}
	}
}

// The error for missing values names the first of them by line, then by column.
func TestFirstMissingValueIsNamed(t *testing.T) {
	c := CSV{Target: "y", MissingIn: map[string]MissingRule{"c": MissingDropsRow}}
	_, err := c.Read(strings.NewReader("a,b,c,y\n1,2,3,4\n,,,5\n1,,3,\n,2,3,6\n"))
	if err == nil || !strings.Contains(err.Error(), `in line 4, column "b"`) {
		t.Errorf("%v", err)
	}
}

// The usual texts of a missing value are missing by default, in upper and lower case. Other texts,
// None for instance, may be levels.
func TestDefaultMissingTexts(t *testing.T) {
	for _, text := range []string{"", "NA", "n/a", "N/A", "nan", "NULL", "?"} {
		table := readTable(t, CSV{Missing: MissingIsMean}, "a,y\n1,5\n"+text+",6\n3,7\n")
		if c := table.Columns[0]; c.Kind != Numeric || table.missingCount(0) != 1 {
			t.Errorf("%q: kind %v, %d missing values", text, c.Kind, table.missingCount(0))
		}
	}
	if levels := readTable(t, CSV{}, "a,y\nbrick,5\nNone,6\nbrick,7\n").Columns[0].Levels; len(levels) != 2 {
		t.Errorf("with None: levels %q", levels)
	}
}

// Read reads the target numbers 0 and 1 as classes, unless CSV.Numeric names the target.
func TestKindOfTheTarget(t *testing.T) {
	const text = "a,y\n1,0\n2,1\n3,0\n"
	table := readTable(t, CSV{}, text)
	if len(table.Notes) != 1 || table.Notes[0].Field != "CSV.Numeric" || table.Notes[0].Column != "y" {
		t.Errorf("notes %v", table.Notes)
	}
	if table := readTable(t, CSV{Numeric: []string{"y"}}, text); table.Classes != nil || !slices.Equal(table.Y, []float64{0, 1, 0}) || len(table.Notes) != 0 {
		t.Errorf("a number: %+v", table)
	}
	if table := readTable(t, CSV{Categorical: []string{"y"}}, "a,y\n1,3\n2,1\n3,2\n"); !slices.Equal(table.Classes, []string{"1", "2", "3"}) || !slices.Equal(table.Y, []float64{2, 0, 1}) {
		t.Errorf("classes: %+v", table)
	}
}

// Read leaves out identifiers and merges rare levels, unless CSV.Categorical names the columns.
func TestIdentifiersAndRareLevels(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,town,code,size,y\n")
	for i := range 200 {
		town := i % 20 // 20 towns have ten rows each, and 20 more towns one row each
		if i%10 == 9 {
			town = 20 + i/10
		}
		fmt.Fprintf(&b, "u%d,t%02d,c%d,%d,%d\n", i-i%50/49, town, i/3, i%7, 2*(town%3)+i%5)
	}
	table := readTable(t, CSV{}, b.String())
	var notes []string
	for _, n := range table.Notes {
		notes = append(notes, fmt.Sprint(n.Column, n.LeftOut, n.Field))
	}
	if want := []string{"idtrueCSV.Categorical", "townfalseCSV.Categorical", "codetrueCSV.Categorical"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q", table.Notes)
	}
	if len(table.Columns) != 2 || !table.Columns[0].Other || len(table.Columns[0].Levels) != 18 || table.Columns[1].Name != "size" {
		t.Fatalf("%+v", table.Columns)
	}
	p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	names := p.Model.Prepared.(*Encoder).Names()
	if want := "town is other"; len(names) != 19 || names[17] != want || names[18] != "size" {
		t.Errorf("%q", names)
	}
	text := casetest.Must(json.Marshal(p))(t)
	var back Pipeline
	casetest.OK(t, json.Unmarshal(text, &back))
	rare := casetest.Must(p.PredictRecord(map[string]string{"town": "t20", "size": "3"}))(t)
	for _, town := range []string{"t39", "nowhere"} {
		if got, err := back.PredictRecord(map[string]string{"town": town, "size": "3"}); err != nil || got != rare {
			t.Errorf("%s: %v, %v; want %v", town, got, err, rare)
		}
	}
	if common := casetest.Must(back.PredictRecord(map[string]string{"town": "t03", "size": "3"}))(t); common == rare {
		t.Errorf("a common level predicts %v as rare ones do", common)
	}
	if err := json.Unmarshal([]byte(strings.Replace(string(text), `"kind":"numeric",`, `"kind":"numeric","other":true,`, 1)), new(Pipeline)); err == nil || !strings.Contains(err.Error(), "other is true for the numeric column") {
		t.Error(err)
	}
	table = readTable(t, CSV{Categorical: []string{"id", "town", "code"}}, b.String())
	if _, m := newEncoder(table).Dims(); len(table.Columns) != 4 || len(table.Notes) != 0 || len(table.Columns[1].Levels) != 38 || m < 290 {
		t.Errorf("%d columns, %d features, notes %q", len(table.Columns), m, table.Notes)
	}
}

// A row of weight 2 in a file counts as two rows.
func TestWeightsOfAFile(t *testing.T) {
	weighted := readTable(t, CSV{Weights: "w", Missing: MissingIsMean, MissingIn: map[string]MissingRule{"w": MissingDropsRow}}, "a,w,y\n1,1,1\n2,2,5\n4,0,-9\n5,1,3\n7,,8\n")
	if !slices.Equal(weighted.Weights, []float64{1, 2, 0, 1}) || len(weighted.Columns) != 1 || !slices.Equal(weighted.Rows([]int{1, 3}).Weights, []float64{2, 1}) {
		t.Fatalf("%+v", weighted)
	}
	repeated := readTable(t, CSV{}, "a,y\n1,1\n2,5\n2,5\n5,3\n")
	predict := func(table *Table) float64 {
		p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
		return casetest.Must(p.PredictRecord(map[string]string{"a": "3"}))(t)
	}
	if got, want := predict(weighted), predict(repeated); !casetest.Near(got, want, preparedTol) {
		t.Errorf("%v, and with repeated rows %v", got, want)
	}
}
