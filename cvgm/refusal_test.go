package cvgm_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// Best and GapMonitor refuse −Inf as a loss or risk, although it is lower than any other.
func TestMinusInfinityIsNoBest(t *testing.T) {
	steps := func(loss float64) func(yield func(search.Step, error) bool) {
		return func(yield func(search.Step, error) bool) {
			_ = yield(search.Step{X: []float64{1}, Loss: 1, Evaluations: 1}, nil) && yield(search.Step{X: []float64{2}, Loss: loss, Evaluations: 2}, nil)
		}
	}
	if best, err := search.Best(steps(math.Inf(-1))); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("Best: %+v, %v", best, err)
	}
	risk := func(s search.Step) (float64, error) {
		if s.Evaluations > 1 {
			return math.Inf(-1), nil
		}
		return 3, nil
	}
	best, err := cvgm.GapMonitor{HeldOut: risk}.Best(steps(.5))
	if !errors.Is(err, qpdiff.ErrNotFinite) || best.HeldOut != 3 {
		t.Errorf("GapMonitor, an estimate of -Inf: %+v, %v", best, err)
	}
	fine := func(search.Step) (float64, error) { return 1, nil }
	if best, err := (cvgm.GapMonitor{HeldOut: fine, Risk: risk}).Best(steps(.5)); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("GapMonitor, a risk of -Inf: %+v, %v", best, err)
	}
}

// An error has one line for any header.
func TestReadCSVQuotesColumnNames(t *testing.T) {
	_, err := table.ReadCSV(strings.NewReader("a\rb,\"c\nd\"\n1,2\n"), "y")
	if !errors.Is(err, qpdiff.ErrDomain) || strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("%q", err)
	}
}

// Neither a CV nor the risk of a model accepts Rows.
func TestRowsAreRefused(t *testing.T) {
	d := lineData()
	m, err := elasticNet(d).Final([]float64{.1, .1})
	if err != nil {
		t.Fatal(err)
	}
	d.Rows = []int{1, 2}
	if risk, err := m.Risk(cvgm.SquaredError{}, d); !errors.Is(err, qpdiff.ErrDomain) || !math.IsNaN(risk) || !strings.Contains(err.Error(), "Rows") {
		t.Errorf("risk %v, error %v", risk, err)
	}
	splits, err := cvgm.LeaveOneOut(len(d.Y))
	if err != nil {
		t.Fatal(err)
	}
	_, err = cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	if !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "Config.Data has Rows") {
		t.Errorf("New: %v", err)
	}
}

// Best returns the first step if the search diverges or starts at the minimum.
func TestBestOfNoImprovement(t *testing.T) {
	parabola := search.Problem{Objective: func(grad, x []float64) (float64, error) {
		if grad != nil {
			grad[0] = 2 * x[0]
		}
		return x[0] * x[0], nil
	}, Lower: []float64{-1e9}, Upper: []float64{1e9}}
	for start, s := range map[float64]search.Searcher{1: search.ProjectedGradient{StepSize: 3, MaxEvals: 9}, 0: search.AdaptiveGradient{MaxEvals: 9}} {
		best, err := search.Best(s.Search(parabola, []float64{start}))
		if err != nil || best.Evaluations != 1 || best.X[0] != start {
			t.Errorf("%T: %+v, %v", s, best, err)
		}
	}
}
