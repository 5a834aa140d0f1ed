package tune_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// A messyFile is a CSV file with a column that is hard to read, and an encoding by hand of this
// column.
type messyFile struct {
	name  string
	comma string
	// The function field returns the texts of a value in the columns of head, and byHand returns
	// their numbers.
	head   string
	field  func(i int, v float64) string
	byHand func(i int, v float64) []float64
	target func(v float64) string // nil: the number
	kinds  string                 // of all columns
	left   string                 // columns that are left out
}

// handLoss is the largest accepted relative increase of the CV loss over the encoding by hand. A
// column of the wrong kind raises the CV loss by more than a tenth.
const handLoss = .05

func day(i int) time.Time { return time.Date(2024, 1, 1+3*i, 0, 0, 0, 0, time.UTC) }

func messyFiles() []messyFile {
	one := func(_ int, v float64) []float64 { return []float64{v} }
	comma := func(v float64) string { return strings.ReplaceAll(fmt.Sprintf("%.2f", v), ".", ",") }
	thousands := func(v float64) string {
		whole := fmt.Sprintf("%.2f", 5000+500*v)
		if len(whole) > 6 {
			whole = whole[:len(whole)-6] + "," + whole[len(whole)-6:]
		}
		return `"$` + whole + `"`
	}
	classes := func(names ...string) func(v float64) string {
		return func(v float64) string {
			return names[int(math.Min(math.Max(math.Floor((v+2)/4*float64(len(names))), 0), float64(len(names)-1)))]
		}
	}
	return []messyFile{
		{"money", ",", "price", func(_ int, v float64) string { return thousands(v) }, one, nil, "price numeric, plain numeric, town categorical", ""},
		{"per cent", ",", "share", func(_ int, v float64) string { return fmt.Sprintf("%.1f%%", 50+20*v) }, one, nil, "share numeric, plain numeric, town categorical", ""},
		{"dates", ",", "sold", func(i int, _ float64) string { return day(i).Format("2 Jan 2006") }, func(i int, _ float64) []float64 {
			x := []float64{float64(3 * i), float64(day(i).Year()), 0, 0, 0, 0, 0, 0}
			if w := int(day(i).Weekday()); w > 0 {
				x[1+w] = 1
			}
			for m := range 11 {
				x = append(x, map[bool]float64{true: 1}[int(day(i).Month()) == m+1])
			}
			return x
		}, nil, "sold days numeric, sold year numeric, sold month categorical, sold weekday categorical, plain numeric, town categorical", ""},
		{"zero and one", ",", "a", func(_ int, v float64) string { return fmt.Sprintf("%.3f", v) }, one, classes("0", "1"), "a numeric, plain numeric, town categorical", ""},
		{"identifiers", ",", "id,a", func(i int, v float64) string { return fmt.Sprintf("user-%d,%.3f", 7919*i%1000003, v) }, one, nil, "a numeric, plain numeric, town categorical", "id"},
		{"counts", ",", "visits", func(_ int, v float64) string { return fmt.Sprint(int(math.Round(20 + 6*v))) }, func(_ int, v float64) []float64 { return []float64{math.Round(20 + 6*v)} }, nil, "visits numeric, plain numeric, town categorical", ""},
		{"three classes", ",", "a", func(_ int, v float64) string { return fmt.Sprintf("%.3f", v) }, one, classes("low", "middle", "high"), "a numeric, plain numeric, town categorical", ""},
		{"groups", ",", "clinic,a", func(i int, v float64) string { return fmt.Sprintf("clinic %c,%.3f", 'A'+i%6, v) }, func(i int, v float64) []float64 {
			x := make([]float64, 6)
			x[0] = v
			if i%6 > 0 {
				x[i%6] = 1
			}
			return x
		}, nil, "clinic categorical, a numeric, plain numeric, town categorical", ""},
		{"units", ",", "weight", func(i int, v float64) string {
			if i%3 == 0 {
				return fmt.Sprintf("%.0f g", 5000+1000*v)
			}
			return fmt.Sprintf("%.3f kg", 5+v)
		}, one, nil, "weight numeric, plain numeric, town categorical", ""},
		{"semicolons", ";", "a;b", func(_ int, v float64) string { return comma(v) + ";" + comma(1000*v) + " €" }, func(_ int, v float64) []float64 { return []float64{v, 1000 * v} }, nil, "a numeric, b numeric, plain numeric, town categorical", ""},
	}
}

// drawFile returns the text of a file, the features encoded by hand, and the target.
func (f messyFile) drawFile(rows int) (text string, x *mat.Dense, y []float64) {
	src := synth.NewStream(3, "messy "+f.name)
	var b strings.Builder
	b.WriteString(f.head + f.comma + "plain" + f.comma + "town" + f.comma + "y\n")
	for i := range rows {
		v, plain, town := src.NormFloat64(), src.NormFloat64(), src.IntN(3)
		effect := v
		if f.name == "dates" {
			effect = float64(i)/float64(rows)*4 - 2 + map[bool]float64{true: 1.5}[day(i).Weekday() == time.Sunday]
		}
		target := effect + .5*plain + .4*float64(town) + .5*src.NormFloat64()
		last := decimalOf(target)
		if f.target != nil {
			last = f.target(target)
		}
		if f.comma == ";" {
			last = strings.ReplaceAll(last, ".", ",")
		}
		plainText := decimalOf(plain)
		if f.comma == ";" {
			plainText = strings.ReplaceAll(plainText, ".", ",")
		}
		fmt.Fprintln(&b, strings.Join([]string{f.field(i, v), plainText, []string{"Bonn", "Jena", "Ulm"}[town], last}, f.comma))
		row := append(f.byHand(i, v), plain, map[bool]float64{true: 1}[town == 1], map[bool]float64{true: 1}[town == 2])
		if x == nil {
			x = mat.NewDense(rows, len(row), nil)
		}
		x.SetRow(i, row)
		y = append(y, target)
	}
	return b.String(), x, y
}

func decimalOf(v float64) string { return fmt.Sprintf("%.4f", v) }

// Read finds the kind of every column in ten messy files, although only the target is named.
func TestMessyFiles(t *testing.T) {
	for _, f := range messyFiles() {
		text, x, y := f.drawFile(200)
		tbl := casetest.Must(table.CSV{Target: "y"}.Read(strings.NewReader(text)))(t)
		var kinds, left []string
		for _, column := range tbl.Columns {
			kinds = append(kinds, column.Name+" "+column.Kind.String())
		}
		for _, note := range tbl.Notes {
			if note.LeftOut {
				left = append(left, note.Column)
			}
		}
		if got := strings.Join(kinds, ", "); got != f.kinds || strings.Join(left, ", ") != f.left {
			t.Errorf("%s: columns %s; %q are left out", f.name, got, left)
		}
		if classes := len(tbl.Classes); (f.target != nil) != (classes > 0) {
			t.Errorf("%s: %d classes", f.name, classes)
		}
		binaries := []*table.Table{tbl}
		if len(tbl.Classes) > 2 {
			binaries = nil
			for _, class := range tbl.Classes {
				binaries = append(binaries, casetest.Must(tbl.Binary(class))(t))
			}
		}
		for _, binary := range binaries {
			tuner := tune.Tuner{Seed: 1, OuterFolds: -1, Learner: &linear.ElasticNet{}}
			hand := slices.Clone(y)
			if f.target != nil {
				tuner.Learner = &linear.Logistic{Intercept: linear.UnpenalisedIntercept}
				hand = binary.Y
			}
			own := casetest.Must(tuner.TuneTable(context.Background(), binary))(t)
			want := casetest.Must(tuner.Tune(context.Background(), learn.Data{X: x, Y: hand}))(t)
			t.Logf("%s: CV loss %.4f, by hand %.4f", f.name, own.Loss, want.Loss)
			if own.Loss > (1+handLoss)*want.Loss {
				t.Errorf("%s: CV loss %v, by hand %v", f.name, own.Loss, want.Loss)
			}
		}
	}
}
