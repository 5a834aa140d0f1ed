package terms

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/floats"
)

// mgcvTol bounds the difference from mgcv, whose iterations end at this tolerance.
const mgcvTol = 1e-7

// finalModel returns the pipeline of a model at a fixed λ and a CV on three folds.
func finalModel(t *testing.T, tbl *table.Table, l *penalised.GLM, lambda []float64) (*table.Pipeline, *cvgm.CV) {
	t.Helper()
	d, encoder, err := tbl.Data()
	casetest.OK(t, err)
	splits := make([]cvgm.Split, 3)
	for i := range d.Y {
		for k := range splits {
			if i%3 == k {
				splits[k].Val = append(splits[k].Val, i)
			} else {
				splits[k].Train = append(splits[k].Train, i)
			}
		}
	}
	losses := map[penalised.Loss]cvgm.Loss{penalised.Squared: cvgm.SquaredError{}, penalised.Logistic: cvgm.LogisticLoss{}, penalised.Poisson: cvgm.PoissonLoss{}}
	cv := casetest.Must(cvgm.New(cvgm.Config{Data: d, Prepare: encoder, Learner: l.New, Loss: losses[l.Loss], Splits: splits}))(t)
	p := casetest.Must(table.NewPipeline(casetest.Must(cv.Final(lambda))(t)))(t)
	return p, cv
}

// csvText writes columns as a CSV.
func csvText(header string, columns ...any) string {
	var b strings.Builder
	b.WriteString(header + "\n")
	rows := 0
	for _, c := range columns {
		switch c := c.(type) {
		case []float64:
			rows = len(c)
		case []string:
			rows = len(c)
		}
	}
	for i := range rows {
		for j, c := range columns {
			if j > 0 {
				b.WriteString(",")
			}
			switch c := c.(type) {
			case []float64:
				b.WriteString(strconv.FormatFloat(c[i], 'g', -1, 64))
			case []string:
				b.WriteString(c[i])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Additive models have the predictions and effective degrees of freedom of R's mgcv for the same
// smoothing parameters (see testdata/mgcv.R).
func TestMgcv(t *testing.T) {
	file, err := os.ReadFile("testdata/mgcv.json")
	casetest.OK(t, err)
	var cases []struct {
		Loss                                              penalised.Loss
		X, V, Y, Weights, Lambda, Eta, NewX, NewV, NewEta []float64
		RangeX, RangeV, Freedom                           []float64
		G, NewG                                           []string
	}
	casetest.OK(t, json.Unmarshal(file, &cases))
	for _, c := range cases {
		csv := table.CSV{Target: "y", Weights: "w", Numeric: []string{"y"}}
		if c.Loss == penalised.Logistic {
			csv.Numeric, csv.Positive = nil, "1"
		}
		tbl := casetest.Must(csv.Read(strings.NewReader(csvText("x,v,g,y,w", c.X, c.V, c.G, c.Y, c.Weights))))(t)
		x, v := Smooth("x"), Smooth("v")
		x.Low, x.High, v.Low, v.High, v.Bases = c.RangeX[0], c.RangeX[1], c.RangeV[0], c.RangeV[1], 7
		part, l, err := Additive(tbl, c.Loss, x, v, Groups("g"))
		casetest.OK(t, err)
		p, _ := finalModel(t, part, l, c.Lambda)
		for _, rows := range []struct {
			text string
			want []float64
		}{{csvText("x,v,g", c.X, c.V, c.G), c.Eta}, {csvText("x,v,g", c.NewX, c.NewV, c.NewG), c.NewEta}} {
			got := casetest.Must(p.Decision(casetest.Must(p.Read(strings.NewReader(rows.text)))(t)))(t)
			if d := floats.Distance(got, rows.want, math.Inf(1)); !(d <= mgcvTol*floats.Norm(rows.want, math.Inf(1))) {
				t.Errorf("loss %v: predictions differ by %v", c.Loss, d)
			}
		}
		for k, s := range casetest.Must(Summarise(p))(t) {
			if !(math.Abs(s.Freedom-c.Freedom[k]) <= mgcvTol*c.Freedom[k]) {
				t.Errorf("loss %v, term %s: %v degrees of freedom, not %v", c.Loss, s.Term, s.Freedom, c.Freedom[k])
			}
		}
	}
	if len(cases) != 3 {
		t.Errorf("%d cases", len(cases))
	}
}

// The gradient of the CV loss in ln λ equals difference quotients for each kind of term and each
// loss.
func TestGradientsOfTerms(t *testing.T) {
	const h, tol = 1e-5, 1e-6 // the error of central differences is of order h², plus the rounding error divided by h
	for _, loss := range []penalised.Loss{penalised.Squared, penalised.Logistic, penalised.Poisson} {
		part, l, err := Additive(mixed(t, loss, 60), loss, Smooth("x"), Groups("g"), Band("ab", "a", "b"), Linear("c"))
		casetest.OK(t, err)
		_, cv := finalModel(t, part, l, []float64{1, 1, 1})
		lambda, grad := []float64{.3, 2, 5}, make([]float64, 3)
		casetest.Must(cv.Eval(grad, lambda))(t)
		for j := range lambda {
			moved := func(by float64) float64 {
				x := append([]float64{}, lambda...)
				x[j] *= math.Exp(by)
				return casetest.Must(cv.Eval(nil, x))(t)
			}
			got, want := grad[j]*lambda[j], (moved(h)-moved(-h))/(2*h)
			if !(math.Abs(got-want) <= tol*math.Abs(want)+1e-9) {
				t.Errorf("loss %v, λ %d: %v, not %v", loss, j, got, want)
			}
		}
	}
}

var _ learn.FreedomLearner = (*penalised.GLM)(nil)

// mixed returns a table with numeric and categorical columns and a target that suits the loss.
func mixed(t *testing.T, loss penalised.Loss, rows int) *table.Table {
	t.Helper()
	var b strings.Builder
	b.WriteString("x,a,b,c,g,y\n")
	for i := range rows {
		u := func(k float64) float64 { return math.Mod(float64(i+1)*k, 1) }
		x, a, c := 8*u(.6180339887)-4, u(.7548776662), u(.5698402910)
		level := int(5 * u(.8191725134))
		eta := math.Sin(x) + a - c + float64(level)/4 + u(.6710436067) - 1
		y := eta
		switch loss {
		case penalised.Logistic:
			y = 0
			if eta > .3*math.Sin(float64(7*i)) {
				y = 1
			}
		case penalised.Poisson:
			y = math.Floor(math.Exp(eta) + u(.5497004779))
		}
		fmt.Fprintf(&b, "%v,%v,%v,%v,level %d,%v\n", x, a, 100*u(.4501), c, level, y)
	}
	csv := table.CSV{Target: "y", Numeric: []string{"y"}}
	if loss == penalised.Logistic {
		csv.Numeric = nil
	}
	return casetest.Must(csv.Read(strings.NewReader(b.String())))(t)
}
