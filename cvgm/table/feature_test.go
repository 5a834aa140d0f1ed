package table

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// coefficientsTol is the largest accepted rounding error of a sum, divided by the sum of its
// absolute terms.
const coefficientsTol = 1e-13

// checkCoefficients checks that the decisions of a pipeline equal the sums of its coefficients
// times features.
func checkCoefficients(t *testing.T, p *Pipeline, table *Table) {
	t.Helper()
	intercept, coefficients, err := p.Coefficients()
	casetest.OK(t, err)
	features := casetest.Must(p.Features())(t)
	decisions := casetest.Must(p.Decision(table))(t)
	if len(coefficients) != len(features) {
		t.Fatalf("%d coefficients of %d features", len(coefficients), len(features))
	}
	row := make([]float64, len(features))
	for i, want := range decisions {
		casetest.OK(t, p.Model.Prepared.Apply(row, table.x.RawRowView(i)))
		got, terms := intercept, math.Abs(intercept)
		for j, v := range row {
			got += coefficients[j] * v
			terms += math.Abs(coefficients[j] * v)
		}
		if !(math.Abs(got-want) <= coefficientsTol*terms) {
			t.Errorf("row %d: %v by coefficients, decision %v", i, got, want)
		}
	}
}

func TestCoefficientsGiveTheDecisions(t *testing.T) {
	numbers := "a,date,c,y\n1e6,2024-12-30,x,1\n2e6,2025-01-02,z,3\n4e6,2025-01-06,z,2\n3e6,2025-02-01,y,5\n9e6,2025-03-01,x,4\n7e6,2025-03-03,y,6\n"
	table := casetest.Must(ReadCSV(strings.NewReader(numbers), "y"))(t)
	squares := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	checkCoefficients(t, squares, table)
	checkCoefficients(t, pears(t), pearTable(t)) // θ includes the learner's intercept

	text := casetest.Must(json.Marshal(squares))(t)
	var read Pipeline
	casetest.OK(t, json.Unmarshal(text, &read))
	_, want, err1 := squares.Coefficients()
	_, got, err2 := read.Coefficients()
	casetest.OK(t, err1, err2)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFeaturesNameTheirColumns(t *testing.T) {
	text := "a=b,day,y\nred,30/12/2024,7\nblue,02/01/2025,9\nblue,06/01/2025,8\n\"if \n\"\"\",07/01/2025,8\n"
	table := casetest.Must(ReadCSV(strings.NewReader(text), "y"))(t)
	p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	features := casetest.Must(p.Features())(t)
	if len(features) != len(p.Model.Mean) {
		t.Fatalf("%d features of %d", len(features), len(p.Model.Mean))
	}
	of := map[string]int{}
	for j, f := range features {
		if of[f.Column]++; f.Name != p.Model.Prepared.(*Encoder).Names()[j] || !strings.HasPrefix(f.Name, f.Column) {
			t.Errorf("feature %d: %q of column %q", j, f.Name, f.Column)
		}
	}
	if of["a=b"] != 2 || of["a=b"]+of["day"] != len(features) {
		t.Error(of)
	}
}

func TestCoefficientsRefused(t *testing.T) {
	fit := func() *cvgm.Model { return pears(t).Model }
	huge, short, kernels := fit(), fit(), fit()
	huge.Std[0], huge.Theta[0] = 1e-300, 1e300
	short.Theta = short.Theta[:1]
	kernels.Kernel = &kernel.Model{X: mat.NewDense(1, len(kernels.Mean), nil)}
	for name, c := range map[string]struct {
		p    *Pipeline
		kind error
	}{
		"nil":      {nil, qpdiff.ErrEmpty},
		"overflow": {&Pipeline{Model: huge}, qpdiff.ErrNotFinite},
		"shape":    {&Pipeline{Model: short}, qpdiff.ErrShape},
		"kernel":   {&Pipeline{Model: kernels}, qpdiff.ErrDomain},
	} {
		if _, _, err := c.p.Coefficients(); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v instead of %v", name, err, c.kind)
		}
	}
	if _, err := new(Pipeline).Features(); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Error(err)
	}
}
