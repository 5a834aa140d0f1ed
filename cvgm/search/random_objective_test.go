package search

import (
	"errors"
	"iter"
	"math"
	"reflect"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"
)

// noisy adds a linear function with random slopes to the quadratic function q. Each evaluation
// draws slopes with the standard deviation slopeSD.
func noisy(q quadratic, slopeSD float64) Problem {
	var src *synth.Stream
	return Problem{
		Lower: boxLower, Upper: boxUpper,
		Restart: func() { src = synth.NewStream(3, "noise") },
		Objective: func(grad, x []float64) (float64, error) {
			a, b := slopeSD*src.NormFloat64(), slopeSD*src.NormFloat64()
			f, err := q.eval(grad, x)
			if grad != nil {
				grad[0], grad[1] = grad[0]+a, grad[1]+b
			}
			return f + a*x[0] + b*x[1], err
		},
	}
}

func livesWithNoise(name string) bool {
	return slices.Contains([]string{"Adam", "HeavyBall", "ProjectedGradient", "CMAES"}, name)
}

// Each searcher uses its whole budget for a random objective or refuses it before the first
// evaluation.
func TestSearchersLiveWithRandomObjectivesOrRefuseThem(t *testing.T) {
	p := noisy(quadratics[0], .3)
	for _, c := range append(hostileSearchers(), contestant{name: "LogSpace Adam, long", newSearcher: func(b int) Searcher { return LogSpace{Adam{StepSize: .1, MaxEvals: b}} }}) {
		s := c.newSearcher(40)
		evaluated := 0
		counted := p
		counted.Objective = func(grad, x []float64) (float64, error) {
			evaluated++
			return p.Objective(grad, x)
		}
		var runs [2][]Step
		var err error
		for k := range runs {
			for step, e := range s.Search(counted, []float64{1, 1}) {
				if err = e; e == nil {
					runs[k] = append(runs[k], step.clone())
				}
			}
		}
		inner := s
		if l, ok := s.(LogSpace); ok {
			inner = l.Searcher
		}
		if !livesWithNoise(reflect.TypeOf(inner).Name()) {
			var arg *qpdiff.ArgError
			if !errors.Is(err, qpdiff.ErrDomain) || !errors.As(err, &arg) || arg.Arg != "Problem.Restart" || evaluated > 0 {
				t.Errorf("%s: error %v after %d evaluations", c.name, err, evaluated)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !reflect.DeepEqual(runs[0], runs[1]) {
			t.Errorf("%s: the second pass differs from the first", c.name)
		}
		if len(runs[0]) != 40 {
			t.Errorf("%s: ends after %d evaluations", c.name, len(runs[0]))
		}
		for _, step := range runs[0] {
			if !step.Random || step.Converged {
				t.Fatalf("%s: step %+v", c.name, step)
			}
		}
	}
}

// A search continues if a single draw has the gradient zero or a slope out of the box.
func TestNoDrawEndsASearch(t *testing.T) {
	for _, s := range []Searcher{Adam{StepSize: .1, MaxEvals: 9}, HeavyBall{StepSize: .1, MaxEvals: 9}, ProjectedGradient{StepSize: .1, MaxEvals: 9}} {
		calls := 0
		p := Problem{Lower: []float64{0}, Upper: []float64{2}, Restart: func() { calls = 0 }, Objective: func(grad, x []float64) (float64, error) {
			grad[0] = 0
			if calls++; calls > 5 {
				grad[0] = 1
			}
			return 1, nil
		}}
		if steps := Collect(t, s, p, []float64{1}); len(steps) != 9 || !(steps[8].X[0] < 1) {
			t.Errorf("%T: ends after %d steps", s, len(steps))
		}
	}
}

// averageTol bounds the distance between the mean of 2000 steps and the minimum. It is some
// multiples of the standard error, .3/√2000.
const averageTol = .03

// The mean of the last 2000 steps is nearer to the minimum than the steps themselves.
func TestAverageOfASearchNearsTheMinimumOfARandomObjective(t *testing.T) {
	p := noisy(quadratics[0], .3)
	for _, c := range []struct {
		s   Searcher
		off bool // its last point is off
	}{
		{Adam{StepSize: .05, MaxEvals: 3000}, true},
		{HeavyBall{StepSize: .05, MaxEvals: 3000}, true},
		{ProjectedGradient{StepSize: .3, MaxEvals: 3000}, true},
		{LogSpace{Adam{StepSize: .05, MaxEvals: 3000}}, true},
	} {
		worst := 0.
		steps := c.s.Search(p, []float64{1.4, .3})
		m, err := Average(steps, 2000)
		if err != nil {
			t.Fatal(err)
		}
		far := func(x []float64) float64 { return max(math.Abs(x[0]-.7), math.Abs(x[1]-.9)) }
		for k, s := range Collect(t, c.s, p, []float64{1.4, .3}) {
			if k >= 1000 {
				worst = max(worst, far(s.X))
			}
		}
		if d := far(m.X); !(d <= averageTol) || !(worst > 2*averageTol) || m.Evaluations != 3000 || !m.Random {
			t.Errorf("%T: the mean is %v off, the worst point %v, after %d evaluations", c.s, d, worst, m.Evaluations)
		}
	}
}

func TestAverageIsTheMeanOfTheLastSteps(t *testing.T) {
	broken := errors.New("broken")
	sequence := func(n int, gradient bool, err error) iter.Seq2[Step, error] {
		return func(yield func(Step, error) bool) {
			x, g := []float64{0}, []float64{0}
			for k := range n {
				x[0], g[0] = float64(k), float64(2*k)
				s := Step{X: x, Loss: float64(k * k), Evaluations: k + 1}
				if gradient || k == 1 {
					s.Grad = g
				}
				if !yield(s, nil) {
					return
				}
			}
			if err != nil {
				yield(Step{}, err)
			}
		}
	}
	for _, c := range []struct {
		n, last  int
		gradient bool
		err      error
		x, loss  float64
	}{
		{5, 2, true, nil, 3.5, 12.5}, {5, 3, true, nil, 3, 29. / 3}, {5, 5, true, nil, 2, 6}, {5, 9, true, broken, 2, 6}, {5, 1, false, nil, 4, 16}, {5, 4, false, broken, 2.5, 7.5},
	} {
		m, err := Average(sequence(c.n, c.gradient, c.err), c.last)
		if !errors.Is(err, c.err) || c.err == nil && err != nil || math.Abs(m.X[0]-c.x) > 1e-14 || math.Abs(m.Loss-c.loss) > 1e-13 || m.Evaluations != c.n {
			t.Errorf("%+v: %+v, %v", c, m, err)
		}
		if (m.Grad != nil) != c.gradient || c.gradient && math.Abs(m.Grad[0]-2*c.x) > 1e-14 {
			t.Errorf("%+v: gradient %v", c, m.Grad)
		}
	}
	for name, c := range map[string]struct {
		steps iter.Seq2[Step, error]
		last  int
		want  error
	}{"nil": {nil, 1, qpdiff.ErrShape}, "no step": {sequence(0, true, nil), 1, qpdiff.ErrShape}, "last 0": {sequence(3, true, nil), 0, qpdiff.ErrDomain}, "an error at once": {sequence(0, true, broken), 2, broken}} {
		if _, err := Average(c.steps, c.last); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBestRefusesRandomObjectives(t *testing.T) {
	_, err := Best(Adam{StepSize: .1, MaxEvals: 5}.Search(noisy(quadratics[0], .1), []float64{1, 1}))
	if !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
}
