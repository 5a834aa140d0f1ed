package margin

import (
	"fmt"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/linear"
)

func learnedLossResidual(d learn.Data, theta, hyper []float64) float64 {
	return marginResidual(d, theta, hyper[0], [3]float64(hyper[1:4]), 0, hyper[4])
}

func TestLearnedLossContract(t *testing.T) {
	var cases []learntest.Case
	add := func(name string, seed uint64, rows, n int, hyper ...float64) {
		cases = append(cases, learntest.Case{Name: name, Data: casetest.ClassData(seed, rows, n), Hyper: hyper,
			Residual: learnedLossResidual, ClassLabels: true, Step: 1e-4})
	}
	add("28x10", 1, 28, 10, .25, .25, .25, .25, .05)
	add("40x3 elbow", 2, 40, 3, .9, .02, .03, .05, .01)
	add("10x20", 3, 10, 20, .3, .1, .3, .3, .3)
	add("40x2 no hinge", 4, 40, 2, 0, .3, .4, .3, .1)
	add("6x1", 5, 6, 1, .5, .2, .2, .1, .4)
	add("30x4 exponential", 6, 30, 4, 0, 1, 0, 0, .01)
	add("30x4 truncated quadratic", 7, 30, 4, 0, 0, 1, 0, .01)
	add("30x4 logistic", 8, 30, 4, 0, 0, 0, 1, .01)
	add("30x4 hinge", 9, 30, 4, 1, 0, 0, 0, .3)
	if !testing.Short() {
		add("80x70", 10, 80, 70, .4, .2, .2, .2, .05)
	}
	casetest.Contract(t, func() learn.Learner { return new(LearnedLoss) }, cases...)
}

func TestLearnedLossGolden(t *testing.T) {
	var golden struct {
		Cases []struct {
			Alpha, Y, Theta []float64
			Lam             float64
			X               [][]float64
			ThetaDAlpha     [][]float64 `json:"dtheta_dalpha"`
			Elbow           []int
			BelowMargin     []int `json:"below_margin"`
		}
	}
	numtest.ReadGolden(t, "f_learned_loss.json", &golden)
	if len(golden.Cases) != 6 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var l LearnedLoss
			theta := numtest.NaNs(len(c.Theta), 0)
			numtest.OK(t, l.Load(learn.Data{X: numtest.Matrix(c.X), Y: c.Y}), l.Fit(theta, append(slices.Clone(c.Alpha), c.Lam)))
			numtest.NearAll(t, "theta", theta, c.Theta, 1e-12, 0)
			if !slices.Equal(l.p.elbow, c.Elbow) {
				t.Errorf("elbow %v, want %v", l.p.elbow, c.Elbow)
			}
			var below []int
			for i, s := range l.p.side {
				if s < 0 {
					below = append(below, i)
				}
			}
			if !slices.Equal(below, c.BelowMargin) {
				t.Errorf("below the margin %v, want %v", below, c.BelowMargin)
			}
			for k := range 4 {
				d := &learn.Grad{Hyper: make([]float64, 5)}
				d.Hyper[k] = 1
				got, want := numtest.NaNs(len(theta), 0), make([]float64, len(theta))
				for j := range want {
					want[j] = c.ThetaDAlpha[j][k]
				}
				numtest.OK(t, l.JVP(nil, got, d))
				numtest.NearAll(t, fmt.Sprint("derivative in alpha ", k), got, want, 1e-10, 1e-2)
			}
		})
	}
}

// With a single loss, LearnedLoss equals an SVM, a logistic regression or least squares.
func TestLearnedLossAlone(t *testing.T) {
	d := casetest.ClassData(3, 25, 4)
	fit := func(l learn.Learner, hyper ...float64) []float64 {
		t.Helper()
		theta := make([]float64, 4)
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
		return theta
	}
	numtest.NearAll(t, "hinge", fit(new(LearnedLoss), 1, 0, 0, 0, .1), fit(new(SVM), 0, .1), 0, 0)
	// log(1+exp(−2m)) is the logistic loss of 2θ; ½λ‖θ‖² = ½(λ/4)‖2θ‖².
	twice := fit(new(linear.Logistic), 1/(.1/4*25))
	for j := range twice {
		twice[j] /= 2
	}
	numtest.NearAll(t, "logistic", fit(new(LearnedLoss), 0, 0, 0, 1, .1), twice, 1e-13, 0)
	// At a large λ, the truncated quadratic loss equals least squares because all margins are below 1.
	want := fit(new(linear.ElasticNet), 0, 50)
	numtest.NearAll(t, "quadratic", fit(new(LearnedLoss), 0, 0, .5, 0, 50), want, 1e-13, 0)
}
