package cvgm

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/search"
	"cvgm/qpdiff"
)

// parabolaDescent returns a search that descends on (x−4)² by x = 0, 2, 3, 3.5, …
func parabolaDescent(steps int) (search.ProjectedGradient, search.Problem) {
	return search.ProjectedGradient{StepSize: .25, MaxEvals: steps, Tol: -1}, search.Problem{Objective: func(grad, x []float64) (float64, error) {
		grad[0] = 2 * (x[0] - 4)
		return (x[0] - 4) * (x[0] - 4), nil
	}}
}

func TestGapMonitorStopsByTheHeldOutEstimate(t *testing.T) {
	searcher, p := parabolaDescent(50)
	m := GapMonitor{
		// The risk is lowest at 3, the estimate at 2.9.
		HeldOut:  func(s search.Step) (float64, error) { return 10 + math.Abs(s.X[0]-2.9), nil },
		Risk:     func(s search.Step) (float64, error) { return 11 + math.Abs(s.X[0]-3), nil },
		Patience: 3,
	}
	var best []bool
	for s, err := range m.Watch(searcher.Search(p, []float64{0})) {
		if err != nil {
			t.Fatal(err)
		}
		best = append(best, s.Best)
		if s.HeldOut != 10+math.Abs(s.X[0]-2.9) || s.Risk != 11+math.Abs(s.X[0]-3) || s.Gap() != s.HeldOut-s.Loss {
			t.Errorf("step %+v, gap %v", s, s.Gap())
		}
	}
	if !slices.Equal(best, []bool{true, true, true, false, false, false}) {
		t.Errorf("new lowest estimates at %v", best)
	}
	s, err := m.Best(searcher.Search(p, []float64{0}))
	if err != nil || s.Evaluations != 3 || !slices.Equal(s.X, []float64{3}) || s.Loss != 1 || s.Risk != 11 {
		t.Errorf("best is %+v (%v)", s, err)
	}
	m.Patience, m.Risk = 0, nil
	steps := 0
	for s, err := range m.Watch(searcher.Search(p, []float64{0})) {
		if steps++; err != nil || !math.IsNaN(s.Risk) {
			t.Errorf("risk %v (%v)", s.Risk, err)
		}
	}
	if steps != 50 {
		t.Errorf("%d steps without patience", steps)
	}
}

func TestGapMonitorLeavesWhenTheCallerDoes(t *testing.T) {
	searcher, p := parabolaDescent(50)
	running := 0
	inner := func(yield func(search.Step, error) bool) {
		running++
		defer func() { running-- }()
		searcher.Search(p, []float64{1})(yield)
	}
	m := GapMonitor{Nested: []NestedSearch{{inner, func(s search.Step) (float64, error) { return s.X[0], nil }}}}
	for s, err := range m.Watch(searcher.Search(p, []float64{0})) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Evaluations == 3 {
			break
		}
	}
	if running != 0 {
		t.Error("a nested search is left running")
	}
}

// Watch advances nested searches together, and keeps the last step of a search that ends early.
func TestGapMonitorNested(t *testing.T) {
	long, p := parabolaDescent(4)
	short, _ := parabolaDescent(2)
	x := func(s search.Step) (float64, error) { return s.X[0], nil }
	m := GapMonitor{Nested: []NestedSearch{{long.Search(p, []float64{0}), x}, {short.Search(p, []float64{8}), x}}}
	var estimates []float64
	for s, err := range m.Watch(long.Search(p, []float64{0})) {
		if err != nil {
			t.Fatal(err)
		}
		estimates = append(estimates, s.HeldOut)
	}
	// 0 2 3 3.5 and 8 6.
	if want := []float64{4, 4, 4.5, 4.75}; !slices.Equal(estimates, want) {
		t.Errorf("estimates %v, want %v", estimates, want)
	}
}

func TestGapMonitorReportsFailures(t *testing.T) {
	searcher, p := parabolaDescent(9)
	broken := errors.New("broken")
	fine := func(search.Step) (float64, error) { return 1, nil }
	fails := func(s search.Step) (float64, error) {
		if s.Evaluations == 4 {
			return 0, broken
		}
		return 1, nil
	}
	nan := func(search.Step) (float64, error) { return math.NaN(), nil }
	failing := search.Problem{Objective: func(grad, x []float64) (float64, error) { return 0, broken }}
	none := func(func(search.Step, error) bool) {}
	for name, c := range map[string]struct {
		m     GapMonitor
		steps int
		want  error
	}{
		"nothing to watch with": {GapMonitor{}, 0, qpdiff.ErrShape},
		"two estimates":         {GapMonitor{HeldOut: fine, Nested: []NestedSearch{{searcher.Search(p, []float64{0}), fine}}}, 0, qpdiff.ErrShape},
		"estimate":              {GapMonitor{HeldOut: fails}, 3, broken},
		"risk":                  {GapMonitor{HeldOut: fine, Risk: fails}, 3, broken},
		"nested estimate":       {GapMonitor{Nested: []NestedSearch{{searcher.Search(p, []float64{0}), fails}}}, 3, broken},
		"nested search":         {GapMonitor{Nested: []NestedSearch{{searcher.Search(failing, []float64{0}), fine}}}, 0, broken},
		"empty nested search":   {GapMonitor{Nested: []NestedSearch{{none, fine}}}, 0, qpdiff.ErrNotFinite},
		"NaN estimate":          {GapMonitor{HeldOut: nan}, 0, qpdiff.ErrNotFinite},
		"NaN risk":              {GapMonitor{HeldOut: fine, Risk: nan}, 0, qpdiff.ErrNotFinite},
	} {
		steps := 0
		var failure error
		for _, err := range c.m.Watch(searcher.Search(p, []float64{0})) {
			if failure = err; err == nil {
				steps++
			}
		}
		var where *search.Error
		if !errors.Is(failure, c.want) || !errors.As(failure, &where) || steps != c.steps {
			t.Errorf("%s: after %d steps the error %v", name, steps, failure)
		}
	}
	m := GapMonitor{HeldOut: func(search.Step) (float64, error) { return math.Inf(1), nil }}
	if _, err := m.Best(searcher.Search(p, []float64{0})); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("the best of infinite estimates: %v", err)
	}
	m = GapMonitor{HeldOut: fine}
	huge := func(yield func(search.Step, error) bool) {
		yield(search.Step{X: []float64{0}, Loss: -math.MaxFloat64}, nil)
	}
	if best, err := (GapMonitor{HeldOut: func(search.Step) (float64, error) { return math.MaxFloat64, nil }}).Best(huge); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("a gap of %v: %v", best.Gap(), err)
	}
	if _, err := m.Best(none); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("the best of no steps: %v", err)
	}
	if _, err := m.Best(searcher.Search(failing, []float64{0})); !errors.Is(err, broken) {
		t.Errorf("a failing search: %v", err)
	}
}
