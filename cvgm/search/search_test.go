package search

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff"
)

// bowl is (x₀−1)² + 2(x₁+3)².
func bowl(grad, x []float64) (float64, error) {
	a, b := x[0]-1, x[1]+3
	if grad != nil {
		grad[0], grad[1] = 2*a, 4*b
	}
	return a*a + 2*b*b, nil
}

func TestGridSearchRunsTheFirstCoordinateOutermost(t *testing.T) {
	var seen [][2]float64
	for s, err := range (GridSearch{[][]float64{{0, 1}, {-4, -3, -2}}}).Search(Problem{Objective: bowl}, make([]float64, 2)) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, [2]float64(s.X))
	}
	if want := [][2]float64{{0, -4}, {0, -3}, {0, -2}, {1, -4}, {1, -3}, {1, -2}}; !slices.Equal(seen, want) {
		t.Errorf("points %v, want %v", seen, want)
	}
	best, err := Best(GridSearch{[][]float64{{0, 1}, {-4, -3, -2}}}.Search(Problem{Objective: bowl}, make([]float64, 2)))
	if err != nil || best.Loss != 0 || !slices.Equal(best.X, []float64{1, -3}) {
		t.Errorf("best is %+v (%v)", best, err)
	}
}

func TestRandomSearchDrawsWithinItsRange(t *testing.T) {
	search := RandomSearch{Source: stream("random search"), Draw: LogUniform(-4, -1), MaxEvals: 500}
	lowest, highest, points := math.Inf(1), 0., 0
	for s, err := range search.Search(Problem{Objective: bowl}, make([]float64, 2)) {
		if err != nil {
			t.Fatal(err)
		}
		points++
		lowest, highest = min(lowest, slices.Min(s.X)), max(highest, slices.Max(s.X))
	}
	if points != 500 || lowest < 1e-4 || lowest > 1.2e-4 || highest >= .1 || highest < .09 {
		t.Errorf("%d points between %v and %v", points, lowest, highest)
	}
}

func TestSearchesReportFailures(t *testing.T) {
	broken := errors.New("broken")
	fails := func(grad, x []float64) (float64, error) { return 0, broken }
	for name, c := range map[string]struct {
		searcher Searcher
		want     error
	}{
		"gradient":    {ProjectedGradient{StepSize: 1}, broken},
		"grid":        {GridSearch{[][]float64{{1}, {2}}}, broken},
		"random":      {RandomSearch{Source: stream(""), Draw: LogUniform(0, 1)}, broken},
		"no step":     {ProjectedGradient{}, qpdiff.ErrDomain},
		"NaN step":    {ProjectedGradient{StepSize: math.NaN()}, qpdiff.ErrDomain},
		"short grid":  {GridSearch{[][]float64{{1}}}, qpdiff.ErrShape},
		"empty grid":  {GridSearch{[][]float64{{1}, nil}}, qpdiff.ErrShape},
		"no source":   {RandomSearch{Draw: LogUniform(0, 1)}, qpdiff.ErrShape},
		"no sampling": {RandomSearch{Source: stream("")}, qpdiff.ErrShape},
	} {
		var errs []error
		for _, err := range c.searcher.Search(Problem{Objective: fails}, make([]float64, 2)) {
			errs = append(errs, err)
		}
		var search *Error
		if len(errs) != 1 || !errors.Is(errs[0], c.want) || !errors.As(errs[0], &search) {
			t.Errorf("%s: yielded %v, want one SearchError for %v", name, errs, c.want)
		}
	}
}
