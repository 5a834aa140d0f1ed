package search_test

import (
	"fmt"
	"math"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// Features times a and labels times b change no search over a CV loss, with
// hyperparameters, start and bounds carried to the equivalent problem.
func TestSearchesOverCVLossesAreIndependentOfUnits(t *testing.T) {
	const n, m = 40, 5
	for _, c := range []struct {
		name    string
		learner func() learn.Learner
		loss    cvgm.Loss
		classes bool
		x0      []float64
		factors func(a, b float64) []float64 // of the hyperparameters
	}{
		{"elastic net", func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, false, []float64{.1, .1}, func(a, b float64) []float64 { return []float64{a * b, a * a} }},
		{"ridge", func() learn.Learner { return &linear.ElasticNet{Groups: linear.PerFeature(m)} }, cvgm.SquaredError{}, false, []float64{.1, .1, .1, .1, .1},
			func(a, b float64) []float64 { return []float64{a * a, a * a, a * a, a * a, a * a} }},
		{"SVM", func() learn.Learner { return new(margin.SVM) }, cvgm.LogisticLoss{}, true, []float64{.1, .1}, func(a, b float64) []float64 { return []float64{a, a * a} }},
		{"logistic", func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, true, []float64{1}, func(a, b float64) []float64 { return []float64{1 / (a * a)} }},
		{"RBF kernel", func() learn.Learner { return &kernel.SVM{Kernel: kernel.RBF{}} }, cvgm.LogisticLoss{}, true, []float64{1, .2}, func(a, b float64) []float64 { return []float64{1, 1 / (a * a)} }},
	} {
		src := synth.NewStream(1, "units of a CV loss: "+c.name)
		x, y := mat.NewDense(n, m, nil), make([]float64, n)
		for i := range n {
			for j := range m {
				x.Set(i, j, src.NormFloat64())
			}
			y[i] = x.At(i, 0) - 2*x.At(i, 1) + 2*src.NormFloat64()
			if c.classes {
				y[i] = math.Copysign(1, y[i])
			}
		}
		splits, err := cvgm.RandomSplits(src, n, 8, .8)
		if err != nil {
			t.Fatal(err)
		}
		problem := func(a, b float64, factors []float64) (search.Problem, []float64) {
			d := learn.Data{X: mat.NewDense(n, m, nil), Y: make([]float64, n)}
			d.Dense().Scale(a, x)
			for i, v := range y {
				d.Y[i] = b * v
			}
			cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: c.loss, Generalised: true, Learner: c.learner})
			if err != nil {
				t.Fatal(err)
			}
			objective := cv.Eval
			if c.name == "ridge" { // all λ1 are 0
				full, grad := make([]float64, 2*m), make([]float64, 2*m)
				objective = func(g, v []float64) (float64, error) {
					copy(full[m:], v)
					loss, err := cv.Eval(grad, full)
					copy(g, grad[m:])
					return loss, err
				}
			}
			p := search.Problem{Objective: objective, Generalised: cv.Generalised, Lower: make([]float64, len(c.x0)), Upper: make([]float64, len(c.x0))}
			x0 := make([]float64, len(c.x0))
			for i, v := range c.x0 {
				p.Lower[i], p.Upper[i], x0[i] = 1e-3*v*factors[i], 1e3*v*factors[i], v*factors[i]
			}
			return p, x0
		}
		ones := c.factors(1, 1)
		p, x0 := problem(1, 1, ones)
		wants := map[string][]search.Step{}
		for _, unit := range [][2]float64{{1e6, 1}, {1e-6, 1}, {1, 1e6}, {1, 1e-6}, {1e6, 1e-6}} {
			a, b := unit[0], unit[1]
			if c.classes && b != 1 {
				continue
			}
			factors := c.factors(a, b)
			for _, s := range search.UnitSearchers() {
				switch {
				case s.Name == "GridSearch", s.Name == "RandomSearch", s.Name == "MultiStart":
					continue // their points are those of another problem
				case !s.Own && (c.name == "elastic net" || c.name == "SVM" || c.name == "RBF kernel"):
					continue // the hyperparameters have different units
				}
				if wants[s.Name] == nil {
					wants[s.Name] = search.Collect(t, s.Make(1, ones), p, x0)
				}
				q, z := problem(a, b, factors)
				what := fmt.Sprintf("%s, %s, features times %v, labels times %v", c.name, s.Name, a, b)
				search.CompareUnits(t, what, search.Collect(t, s.Make(b*b, factors), q, z), wants[s.Name], b*b, factors, search.UnitTol)
			}
		}
	}
}
