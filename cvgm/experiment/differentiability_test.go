package experiment

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// Each derivative meets the differences down to their rounding floor, at
// several seeds, and both sides agree.
func TestDerivativesMeetDifferences(t *testing.T) {
	for seed := range uint64(5) {
		p := DefaultDifferentiability()
		p.Seed = seed
		r, err := p.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Examples()) != 8 || len(r.Checks) != 37 {
			t.Fatalf("%d checks of %v", len(r.Checks), r.Examples())
		}
		for _, c := range r.Checks {
			// The floor is relative to a derivative that may be small by chance.
			if i, e := c.Best(); e > 1e-8/math.Min(1, math.Abs(c.VJP)) {
				t.Errorf("seed %d, %s in %s: %g from the best difference, at step %g", seed, c.Example, c.Input, e, r.Steps[i])
			}
			if d := math.Abs(c.JVP - c.VJP); d > 1e-12*math.Max(1, math.Abs(c.VJP)) {
				t.Errorf("seed %d, %s in %s: JVP and VJP differ by %g", seed, c.Example, c.Input, d)
			}
		}
	}
}

// A derivative that is wrong by one part in a thousand is seen.
func TestWrongDerivativeLevelsOff(t *testing.T) {
	c := &checker{example: "square", steps: []float64{1e-3, 1e-5, 1e-7}}
	square := func(t float64) (float64, error) { return (1 + t) * (1 + t), nil }
	if err := c.add("t", 2.002, math.NaN(), square); err != nil {
		t.Fatal(err)
	}
	if _, e := c.checks[0].Best(); math.Abs(e-1e-3) > 1e-5 {
		t.Errorf("the error is %g", e)
	}
}

// The Lagrange conditions of the die.
func TestSolveDie(t *testing.T) {
	alpha := []float64{3, 1, 2, 3, 4, 5, 6}
	x, lambda, nu := solveDie(alpha)
	if d := math.Abs(floats.Sum(x) - 1); d > 1e-15 {
		t.Errorf("probabilities sum to 1 + %g", d)
	}
	if d := floats.Dot(alpha[1:], x) - 3; math.Abs(d) > 1e-14 || lambda <= 0 {
		t.Errorf("the mean is 3 + %g with the multiplier %g", d, lambda)
	}
	for i, v := range x {
		if g := math.Log(v) + 1 + lambda*alpha[1+i] + nu; math.Abs(g) > 1e-14 {
			t.Errorf("face %d has the gradient %g", i+1, g)
		}
	}
}

func TestBadDifferentiabilityParams(t *testing.T) {
	for name, change := range map[string]func(p *DifferentiabilityParams){
		"Train":            func(p *DifferentiabilityParams) { p.Train = 3 },
		"Features":         func(p *DifferentiabilityParams) { p.Features = 2 },
		"Lambda1, Lambda2": func(p *DifferentiabilityParams) { p.Lambda2 = 0 },
		"PathPoints":       func(p *DifferentiabilityParams) { p.PathPoints = 1 },
		"GridPoints":       func(p *DifferentiabilityParams) { p.GridPoints = 1 },
		"LossSeeds":        func(p *DifferentiabilityParams) { p.LossSeeds = 0 },
		"Flips":            func(p *DifferentiabilityParams) { p.Flips = .5 },
	} {
		p := DefaultDifferentiability()
		change(&p)
		for _, run := range []func() error{
			func() error { _, err := p.Run(context.Background()); return err },
			func() error { _, err := p.RunPaths(context.Background()); return err },
			func() error { _, err := p.RunLimits(context.Background()); return err },
			func() error { _, err := p.RunErrata(context.Background()); return err },
			func() error { _, err := p.RunLearning(context.Background()); return err },
		} {
			if err := run(); err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestDifferentiabilityStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	p := DefaultDifferentiability()
	for _, run := range []func() error{
		func() error { _, err := p.Run(ctx); return err },
		func() error { _, err := p.RunPaths(ctx); return err },
		func() error { _, err := p.RunLimits(ctx); return err },
		func() error { _, err := p.RunErrata(ctx); return err },
		func() error { _, err := p.RunLearning(ctx); return err },
	} {
		if err := run(); err != context.Canceled {
			t.Error(err)
		}
	}
}

// The slopes of a path add up to its rise. The dual variables lie between 0 and 1, and the two ways to the
// machine's solution agree.
func TestSolutionPaths(t *testing.T) {
	p := DefaultDifferentiability()
	p.Train, p.PathPoints = 16, 801 // kinks lie close, the more so with many examples
	r, err := p.RunPaths(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.TwoWays > 1e-10 || r.TwoWaysSlope > 1e-10 {
		t.Errorf("the program differs from the machine by %g, its derivatives by %g", r.TwoWays, r.TwoWaysSlope)
	}
	for _, s := range r.Paths {
		for k, name := range s.Entries {
			var integral, variation float64
			for i := range len(s.At) - 1 {
				integral += (s.Slope[k][i] + s.Slope[k][i+1]) / 2 * (s.At[i+1] - s.At[i])
				variation += math.Abs(s.Value[k][i+1] - s.Value[k][i])
			}
			if rise := s.Value[k][len(s.At)-1] - s.Value[k][0]; math.Abs(integral-rise) > .1*variation {
				t.Errorf("%s in %s, %s: the slopes add up to %g, the values rise by %g", s.Name, s.Hyper, name, integral, rise)
			}
		}
		if strings.HasPrefix(s.Name, "dual") {
			for k := range s.Entries {
				if floats.Min(s.Value[k]) < -1e-9 || floats.Max(s.Value[k]) > 1+1e-9 {
					t.Errorf("multiplier %d leaves [0, 1]", k)
				}
			}
		}
	}
}

func TestDifferentiabilityLimits(t *testing.T) {
	for seed := range uint64(2) {
		p := DefaultDifferentiability()
		p.Seed, p.K = seed, 8
		r, err := p.RunLimits(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		// The kink passes the range condition: by hand, (−1, 0) is −1 times the first column.
		if r.Range.RangeResidual > 1e-14 || r.Range.Left != 1 || r.Range.Right != 0 || len(r.Range.Weak) != 1 || r.Range.Rule == "" {
			t.Errorf("range: %+v", r.Range)
		}
		for name, k := range map[string]Kink{"elastic net": r.ElasticNet, "machine": r.SVM} {
			if math.Abs(k.Left-k.LeftDifference) > 1e-4*math.Abs(k.Left) || math.Abs(k.Right-k.RightDifference) > 1e-4*math.Abs(k.Left) || k.Left == k.Right {
				t.Errorf("seed %d, %s: slopes %g, %g; differences %g, %g", seed, name, k.Left, k.Right, k.LeftDifference, k.RightDifference)
			}
			if k.Generalised < math.Min(k.Left, k.Right) || k.Generalised > math.Max(k.Left, k.Right) {
				t.Errorf("seed %d, %s: %g is not in the generalised Jacobian of %g and %g", seed, name, k.Generalised, k.Left, k.Right)
			}
			if len(k.Weak) == 0 || k.Refusal == "" {
				t.Errorf("seed %d, %s: no refusal", seed, name)
			}
		}
		v := r.Ridge
		if a := v.Independent[0] / v.IndependentAtZero; math.Abs(a-1) > 1e-5 {
			t.Errorf("with independent features the derivative at λ2 = %g is %g times that at 0", v.Lambda2[0], a)
		}
		// A decade in λ2 is 1/10 in the derivative.
		if rate := math.Log(v.Twice[0]/v.Twice[6]) / math.Log(v.Lambda2[6]/v.Lambda2[0]); math.Abs(rate-1) > .01 {
			t.Errorf("with a feature given twice the derivative grows with the power %g", rate)
		}
		if r.Loss.Jumps < 5 || r.Primal != -1 || r.Multipliers == "" || v.TwiceRefusal == "" || v.SVMRefusal == "" || r.Loss.Refusal == "" {
			t.Errorf("seed %d: %d jumps, %g, %q, %q, %q, %q", seed, r.Loss.Jumps, r.Primal, r.Multipliers, v.TwiceRefusal, v.SVMRefusal, r.Loss.Refusal)
		}
	}
}

// outsideRange is 0 for what a matrix makes, and the part that it cannot make
// otherwise.
func TestOutsideRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1, 1), 6, 6).Draw(t, "v")
		a := mat.NewDense(3, 2, append([]float64{1, 0, 0, 1}, 0, 0))
		if d := outsideRange(a, v[:3]) - math.Abs(v[2]); math.Abs(d) > 1e-14 {
			t.Errorf("off by %g", d)
		}
		b := mat.NewDense(3, 2, v)
		if norm := mat.Norm(b, 2); norm > .1 {
			made := mat.Col(nil, 1, b)
			if d := outsideRange(b, made); d > 1e-10*norm {
				t.Errorf("a column is %g outside", d)
			}
		}
	})
}

func TestErrata(t *testing.T) {
	for seed := range uint64(2) {
		p := DefaultDifferentiability()
		p.Seed, p.K = seed, 8
		r, err := p.RunErrata(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if j := r.Jacobian; j.CompleteError > 1e-8 || j.PrintedError < .05 || j.Cosine > .99 {
			t.Errorf("seed %d: errors %g, %g, cosine %g", seed, j.CompleteError, j.PrintedError, j.Cosine)
		}
		if l := r.Labels; l.ZeroSlope != 0 || l.ZeroMoves > 1e-12 || l.SignMoves < .01 || l.Refusal == "" {
			t.Errorf("seed %d: labels %+v", seed, l)
		}
		if e := r.Program; math.Abs(e.SVM) > 1e-12 || math.Abs(e.ElasticNet-p.Lambda2) > 1e-12 || e.Difference > 1e-12 || e.Slope > 1e-12 {
			t.Errorf("seed %d: programs %+v", seed, e)
		}
		if b := r.Bayes; math.Abs(b.XOR.Value-13./18) > 1e-15 || b.XORCoded != .851 || b.XORTest != .708 || b.RingsTest.Value != .915 {
			t.Errorf("accuracies %+v", b)
		}
	}
}

// The half-plane's accuracy by simulation: a standard error is 1e-3.
func TestHalfPlane(t *testing.T) {
	offset, rate := halfPlane(paperRingsData)
	d, err := synth.MakeRings(synth.NewStream(1, "half-plane"), 200000, synth.Rings{})
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, y := range d.Y {
		if (d.X.At(i, 0)-offset)*y > 0 {
			right++
		}
	}
	if got := float64(right) / float64(len(d.Y)); math.Abs(got-rate) > 4e-3 {
		t.Errorf("x₁ > %g: %g by quadrature, %g by simulation", offset, rate, got)
	}
}

func TestLearning(t *testing.T) {
	p := DefaultDifferentiability()
	p.K, p.Test, p.GridPoints, p.LossSeeds, p.Evaluations = 16, 300, 9, 3, 100
	r, err := p.RunLearning(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range r.Runs {
		if last := run.CVLoss[run.Last()]; last > 1.02*run.Lowest || last >= run.CVLoss[0] {
			t.Errorf("%s: CV loss from %g to %g, %g on the grid", run.Name, run.CVLoss[0], last, run.Lowest)
		}
		if len(run.X) != len(run.Accuracy) || len(run.Surface) != p.GridPoints {
			t.Errorf("%s: %d points, %d accuracies, %d rows", run.Name, len(run.X), len(run.Accuracy), len(run.Surface))
		}
	}
	l := r.Loss
	for i, alpha := range l.Alpha {
		if math.Abs(floats.Sum(alpha)-1) > 1e-12 || floats.Min(alpha) < 0 {
			t.Errorf("weights %v leave the simplex", alpha)
		}
		if l.Lambda[i] < 1e-2 {
			t.Errorf("λ is %g", l.Lambda[i])
		}
	}
	if floats.Min(l.CVLoss) >= l.CVLoss[0] {
		t.Error("the CV loss does not fall")
	}
	for _, m := range l.Methods[1:] {
		if l.Methods[0].CV.Mean > m.CV.Mean {
			t.Errorf("%s has a lower CV loss than the learned one, which may start from it", m.Name)
		}
	}
	if len(l.Methods) != 6 || l.Methods[0].LessTest.Difference.Mean != 0 {
		t.Errorf("%+v", l.Methods)
	}
	p.K, p.GridPoints, p.LossSeeds, p.Evaluations = 8, 3, 2, 10
	sameForAnyGOMAXPROCS(t, p.RunLearning)
}

func ExampleDifferentiabilityParams() {
	p := DefaultDifferentiability()
	p.K = 8
	r, err := p.RunErrata(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Printf("slopes at the kink that the range condition allows: %g and %g\n", r.Range.Left, r.Range.Right)
	fmt.Printf("accuracy of the best rule for XOR: %.4f, not %s\n", r.Bayes.XOR.Value, r.Bayes.XOR.Quoted.Paper)
	// Output:
	// slopes at the kink that the range condition allows: 1 and 0
	// accuracy of the best rule for XOR: 0.7222, not .851
}
