package cvgm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// hessianConfig returns a random problem with up to five penalties of low rank and a ridge penalty,
// and hyperparameters. The turn selects the splits (folds, random splits or leave-one-out), the
// normalisation, the intercept, the weights and the number of rows, which may be smaller than the
// number of features. Features and labels have the given units.
func hessianConfig(t *testing.T, turn int, xUnit, yUnit float64) (Config, []float64) {
	t.Helper()
	src := synth.NewStream(uint64(turn), "Hessian")
	rows, n := 24, 3+turn%7
	if turn%4 == 3 {
		n = 30
	}
	c := Config{Loss: SquaredError{}, Standardise: turn%2 == 1, Data: learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}}
	if turn%3 == 1 {
		c.Centring = MeanCentring
	}
	if turn%5 > 2 {
		c.Data.Weights = make([]float64, rows)
	}
	for i := range rows {
		for j := range n {
			c.Data.X.(*mat.Dense).Set(i, j, xUnit*(src.NormFloat64()+float64(j)))
		}
		c.Data.Y[i] = yUnit * (src.NormFloat64() + c.Data.X.At(i, 0)/xUnit)
		if c.Data.Weights != nil {
			c.Data.Weights[i] = math.Floor(4*src.Float64()) + float64(min(i, 1))
		}
	}
	penalties, hyper := []penalised.Penalty{penalised.Ridge(0, n)}, []float64{.1 + src.Float64()}
	for range turn % 6 {
		first := int(float64(n) * src.Float64())
		root := mat.NewDense(1, 1+int(float64(n-first)*src.Float64()), nil)
		root.Apply(func(_, _ int, _ float64) float64 { return src.NormFloat64() }, root)
		penalties = append(penalties, penalised.Penalty{First: first, Root: root})
		hyper = append(hyper, math.Exp(2*src.NormFloat64()))
	}
	if !c.Standardise {
		floats.Scale(xUnit*xUnit, hyper)
	}
	intercept := turn%3 == 2
	c.Learner = func() learn.Learner { return &penalised.GLM{Penalties: penalties, Intercept: intercept} }
	switch turn % 5 {
	case 0:
		c.Splits = casetest.Must(RandomSplits(src, rows, 6, .7))(t)
	case 1:
		c.Splits = casetest.Must(LeaveOneOut(rows))(t)
	default:
		c.Splits = casetest.Must(KFold(src, rows, 2+turn%3))(t)
	}
	return c, hyper
}

// logHessian returns the Hessian in the logarithms of the hyperparameters, from search.LogSpace.
func logHessian(t *testing.T, cv *CV, hyper []float64) (loss float64, grad, hessian []float64) {
	t.Helper()
	n := len(hyper)
	grad, h := make([]float64, n), mat.NewSymDense(n, nil)
	loss = casetest.Must(cv.Eval(grad, hyper))(t)
	casetest.OK(t, cv.Hessian(h))
	for i, x := range hyper {
		grad[i] *= x
		for j, y := range hyper {
			v := h.At(i, j) * x * y
			if i == j {
				v += grad[i]
			}
			hessian = append(hessian, v)
		}
	}
	return loss, grad, hessian
}

// The Hessian is equal to differences of the gradient. In other units it is the same, in units of the
// squared labels.
func TestHessian(t *testing.T) {
	const step, tol, unitTol = 1e-4, 1e-6, 1e-7 // the differences have errors of order step² and of rounding/step
	for turn := range casetest.Sets(120, 30) {
		c, hyper := hessianConfig(t, turn, 1, 1)
		cv := casetest.Must(New(c))(t)
		loss, _, got := logHessian(t, cv, hyper)
		want := make([]float64, 0, len(got))
		for i := range hyper {
			at := func(by float64) []float64 {
				x := slices.Clone(hyper)
				x[i] *= math.Exp(by)
				grad := make([]float64, len(x))
				casetest.Must(cv.Eval(grad, x))(t)
				return floats.MulTo(grad, grad, x)
			}
			up, down := at(step), at(-step)
			for j := range hyper {
				want = append(want, (up[j]-down[j])/(2*step))
			}
		}
		nearWithin(t, fmt.Sprintf("problem %d", turn), tol, got, want, loss)
		for _, units := range [][2]float64{{1e6, 1e-6}, {1e-6, 1e6}} {
			c, hyper := hessianConfig(t, turn, units[0], units[1])
			_, _, scaled := logHessian(t, casetest.Must(New(c))(t), hyper)
			floats.Scale(1/units[1]/units[1], scaled)
			nearWithin(t, fmt.Sprintf("problem %d in units of %v", turn, units), unitTol, scaled, got, loss)
		}
		if t.Failed() {
			return
		}
	}
}

// The Hessian of one penalty and one feature of ones, without intercept: see
// TestFoldsHessianByHand of package penalised. The CV loss is a mean of two.
func TestHessianByHand(t *testing.T) {
	c := Config{Loss: SquaredError{}, Data: learn.Data{X: mat.NewDense(2, 1, []float64{1, 1}), Y: []float64{1, 2}},
		Splits: casetest.Must(LeaveOneOut(2))(t), Learner: func() learn.Learner { return new(penalised.GLM) }}
	cv, h := casetest.Must(New(c))(t), mat.NewSymDense(1, []float64{7})
	casetest.Must(cv.Eval(nil, []float64{1}))(t)
	if casetest.OK(t, cv.Hessian(h)); !(math.Abs(h.At(0, 0)+1./16) <= 1e-15) {
		t.Errorf("Hessian %v", h.At(0, 0))
	}
}

// A CV returns an error for a Hessian that it does not have, before the first evaluation, after a
// failed evaluation, and after an evaluation that fits the splits one by one.
func TestHessianRefusals(t *testing.T) {
	base, hyper := hessianConfig(t, 2, 1, 1)
	for name, change := range map[string]func(c *Config){
		"another loss":    func(c *Config) { c.Loss = HuberLoss{1} },
		"features":        func(c *Config) { c.Features = &LinearMap{In: 5, Out: 5} },
		"fixed hyper":     func(c *Config) { c.Features, c.Hyper = &LinearMap{In: 5, Out: 5}, hyper },
		"partial splits":  func(c *Config) { c.Splits = []Split{{Train: []int{0, 1, 2, 3, 4, 5}, Val: []int{6, 7}}} },
		"another learner": func(c *Config) { c.Learner = func() learn.Learner { return new(linear.ElasticNet) } },
		"Poisson": func(c *Config) {
			c.Learner = func() learn.Learner { return &penalised.GLM{Loss: penalised.Poisson} }
			c.Data.Y = make([]float64, len(c.Data.Y))
			floats.AddConst(1, c.Data.Y)
		},
	} {
		c := base
		change(&c)
		cv := casetest.Must(New(c))(t)
		alpha := make([]float64, cv.Dims())
		floats.AddConst(.5, alpha)
		if _, err := cv.Eval(make([]float64, len(alpha)), alpha); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := cv.Hessian(mat.NewSymDense(len(alpha), nil)); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cv, h := casetest.Must(New(base))(t), mat.NewSymDense(len(hyper), nil)
	want := func(when string, kind error) {
		t.Helper()
		if err := cv.Hessian(h); !errors.Is(err, kind) {
			t.Errorf("%s: error %v", when, err)
		}
	}
	want("before an evaluation", qpdiff.ErrNotFitted)
	casetest.Must(cv.Eval(nil, hyper))(t)
	want("after an evaluation without gradient", nil)
	if _, err := cv.Eval(nil, []float64{-1, 1, 1}); err == nil {
		t.Error("a negative penalty is accepted")
	}
	want("after a failed evaluation", qpdiff.ErrNotFitted)
	casetest.Must(cv.Eval(nil, hyper))(t)
	cv.Reset()
	want("after Reset", qpdiff.ErrNotFitted)
	casetest.Must(cv.DataGradient(nil, make([]float64, len(base.Data.Y)), hyper))(t)
	want("after DataGradient", qpdiff.ErrIllPosed)
}

// A second Hessian allocates nothing.
func TestHessianAllocatesNothing(t *testing.T) {
	for _, turn := range []int{1, 2, 4} {
		c, hyper := hessianConfig(t, turn, 1, 1)
		c.Workers = 1
		cv := casetest.Must(New(c))(t)
		grad, h := make([]float64, len(hyper)), mat.NewSymDense(len(hyper), nil)
		if a := testing.AllocsPerRun(5, func() {
			_, err := cv.Eval(grad, hyper)
			casetest.OK(t, err, cv.Hessian(h))
		}); a != 0 {
			t.Errorf("problem %d: %v allocations", turn, a)
		}
	}
}

// Searches by Newton's method in logarithms end near a minimum in fewer evaluations than quasi-Newton
// searches, in total. The units of features and labels change nothing.
func TestNewtonOfCV(t *testing.T) {
	total := map[bool]int{}
	for turn := range casetest.Sets(60, 20) {
		losses := map[float64]float64{}
		for _, unit := range []float64{1, 1e5} {
			c, hyper := hessianConfig(t, turn, unit, 1)
			cv := casetest.Must(New(c))(t)
			p := search.Problem{Objective: cv.Eval, Hessian: cv.Hessian}
			for _, v := range hyper {
				p.Lower, p.Upper = append(p.Lower, 1e-3*v), append(p.Upper, 1e3*v)
			}
			var last search.Step
			for step, err := range (search.LogSpace{Searcher: search.Newton{}}).Search(p, hyper) {
				casetest.OK(t, err)
				last = step
			}
			total[true] += last.Evaluations
			if losses[unit] = last.Loss; !last.Converged {
				t.Errorf("problem %d: not converged after %d evaluations", turn, last.Evaluations)
			}
			for step, err := range (search.LogSpace{Searcher: search.QuasiNewton{}}).Search(p, hyper) {
				casetest.OK(t, err)
				last = step
			}
			total[false] += last.Evaluations
		}
		if !(math.Abs(losses[1]-losses[1e5]) <= 1e-8*losses[1]) {
			t.Errorf("problem %d: lowest losses %v", turn, losses)
		}
	}
	if t.Logf("evaluations: %v", total); total[true] > total[false]/2 {
		t.Errorf("Newton takes %d evaluations, QuasiNewton %d", total[true], total[false])
	}
}
