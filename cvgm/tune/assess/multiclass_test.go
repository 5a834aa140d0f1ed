package assess

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// ClassifyMulti agrees with a computation by hand, and ignores rows with a NaN or with weight 0.
func TestClassifyMulti(t *testing.T) {
	s := ClassSample{
		Y: []float64{0, 0, 1, 2, 2, 1},
		Decisions: mat.NewDense(6, 3, []float64{
			.5, .25, .25, // right
			.25, .5, .25, // called 1
			.4, .4, .2, // equal: the first one, 0
			0, .125, .875, // right, of weight 2
			1, math.NaN(), 0, // left out
			0, 1, 0, // of weight 0
		}),
		Weights: []float64{1, 1, 1, 2, 1, 0},
	}
	m, err := ClassifyMulti(true, s)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "accuracy", m.Accuracy, 3./5)
	near(t, "balanced accuracy", m.Balanced, (.5+0+1)/3)
	near(t, "majority", m.Majority, 2./5)
	near(t, "log loss", m.Probabilities.LogLoss, -(math.Log(.5)+math.Log(.25)+math.Log(.4)+2*math.Log(.875))/5)
	near(t, "Brier score", m.Probabilities.Brier, (.25+2*.0625+(.75*.75+.25+.0625)+(.16+.36+.04)+2*(.125*.125+.125*.125))/5)
	for a, row := range [][]float64{{1, 1, 0}, {1, 0, 0}, {0, 0, 2}} {
		for b, want := range row {
			near(t, "confusion", m.Confusion[a][b], want)
		}
	}
	perfect := ClassSample{Y: []float64{0, 1}, Decisions: mat.NewDense(2, 3, []float64{1, 0, 0, 0, 1, 0})}
	twice, err := ClassifyMulti(true, s, perfect)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the mean accuracy of two samples", twice.Accuracy, (m.Accuracy+1)/2)
	near(t, "the mean log loss of two samples", twice.Probabilities.LogLoss, m.Probabilities.LogLoss/2)
	if twice.Balanced == twice.Balanced {
		t.Error("a class without a row has a share of its own rows")
	}
	margins, err := ClassifyMulti(false, ClassSample{Y: []float64{0, 1}, Decisions: mat.NewDense(2, 2, []float64{-3, -4, 2, 7})})
	if err != nil || margins.Accuracy != 1 || margins.Probabilities != nil {
		t.Errorf("margins: %+v, %v", margins, err)
	}
}

func TestClassifyMultiRefuses(t *testing.T) {
	two := func(d ...float64) *mat.Dense { return mat.NewDense(2, 2, d) }
	good := ClassSample{Y: []float64{0, 1}, Decisions: two(.5, .5, .25, .75)}
	for name, test := range map[string]struct {
		samples []ClassSample
		kind    error
	}{
		"no sample":        {nil, qpdiff.ErrEmpty},
		"no decisions":     {[]ClassSample{{Y: good.Y}}, qpdiff.ErrEmpty},
		"rows":             {[]ClassSample{{Y: []float64{0}, Decisions: good.Decisions}}, qpdiff.ErrShape},
		"one class":        {[]ClassSample{{Y: []float64{0, 0}, Decisions: mat.NewDense(2, 1, nil)}}, qpdiff.ErrShape},
		"classes":          {[]ClassSample{good, {Y: good.Y, Decisions: mat.NewDense(2, 3, nil)}}, qpdiff.ErrShape},
		"weights":          {[]ClassSample{{Y: good.Y, Decisions: good.Decisions, Weights: []float64{1}}}, qpdiff.ErrShape},
		"weight NaN":       {[]ClassSample{{Y: good.Y, Decisions: good.Decisions, Weights: []float64{1, math.NaN()}}}, qpdiff.ErrNotFinite},
		"weight below 0":   {[]ClassSample{{Y: good.Y, Decisions: good.Decisions, Weights: []float64{1, -1}}}, qpdiff.ErrDomain},
		"label":            {[]ClassSample{{Y: []float64{0, 2}, Decisions: good.Decisions}}, qpdiff.ErrDomain},
		"label between":    {[]ClassSample{{Y: []float64{0, .5}, Decisions: good.Decisions}}, qpdiff.ErrDomain},
		"label NaN":        {[]ClassSample{{Y: []float64{0, math.NaN()}, Decisions: good.Decisions}}, qpdiff.ErrDomain},
		"infinite":         {[]ClassSample{{Y: good.Y, Decisions: two(0, 1, math.Inf(1), 0)}}, qpdiff.ErrNotFinite},
		"no probability":   {[]ClassSample{{Y: good.Y, Decisions: two(0, 1, 2, 0)}}, qpdiff.ErrDomain},
		"no row in second": {[]ClassSample{good, {Y: good.Y, Decisions: two(math.NaN(), 1, math.NaN(), 0)}}, qpdiff.ErrEmpty},
	} {
		if _, err := ClassifyMulti(true, test.samples...); !errors.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
