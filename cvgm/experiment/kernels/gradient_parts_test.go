package kernels

import (
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
)

// partsOf returns a problem of small rings, its setup, and the parts D, T1 and T2 of a variant's
// gradient.
func partsOf(t *testing.T, v Variant) (partsProblem, *experiment.Setup, []float64, []float64, []float64) {
	t.Helper()
	p := *casetest.Drawn[GradientPartsParams]("gradient_parts")
	p.Rings.Hidden = []int{5}
	rings := RingsProblem{RingsData: p.Rings.RingsData, Train: 14, Test: 10, KernelCVGM: p.Rings.CVGM(6)}
	problem := partsProblem{ProblemRings, 14, 6, p.Rings.AblationKernel, func(v Variant, seed uint64) (*experiment.Setup, error) {
		return rings.Setup(v, AblationStream(seed, "parts"), "splits", nil)
	}}
	s, err := problem.setup(v, 5)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := problem.parts(v, 5)
	if err != nil {
		t.Fatal(err)
	}
	d, t1, t2, _, err := parts(s.Start)
	if err != nil {
		t.Fatal(err)
	}
	return problem, s, d, t1, t2
}

// The exact gradient in the weights is D + T1 + T2, and the detached direction is T1 + T2.
func TestPartsAddUpToTheGradient(t *testing.T) {
	for _, v := range []Variant{Full, FullPenalised} {
		problem, s, d, t1, t2 := partsOf(t, v)
		sum := func(terms ...[]float64) []float64 {
			total := make([]float64, len(d))
			for _, term := range terms {
				floats.Add(total, term)
			}
			return total
		}
		want := make([]float64, len(s.Start))
		if _, err := s.CV.Eval(want, s.Start); err != nil {
			t.Fatal(err)
		}
		if got := sum(d, t1, t2); !floats.EqualFunc(got, want, func(a, b float64) bool { return scalar.EqualWithinAbsOrRel(a, b, 1e-12, 1e-9) }) {
			t.Errorf("%v: sum of the parts %v, gradient %v", v, got, want)
		}
		detached := map[Variant]Variant{Full: Detached, FullPenalised: DetachedPenalised}[v]
		other, err := problem.setup(detached, 5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Problem(t.Context()).Objective(want, s.Start); err != nil {
			t.Fatal(err)
		}
		if got := sum(t1, t2); !floats.EqualFunc(got, want, func(a, b float64) bool { return scalar.EqualWithinAbsOrRel(a, b, 1e-12, 1e-9) }) {
			t.Errorf("%v: T1 + T2 %v, detached direction %v", v, got, want)
		}
		if floats.Norm(t1, 2) == 0 || floats.Norm(t2, 2) == 0 || floats.Norm(d, 2) == 0 {
			t.Errorf("%v: a part is zero", v)
		}
	}
}

// Every path reports the gradient's parts for every data set after each number of steps.
func TestGradientPathsAreMeasuredAtEveryPlace(t *testing.T) {
	p := *casetest.Drawn[GradientPartsParams]("gradient_parts")
	p.Rings.Budgets, p.XOR.Budgets = []int{1, 4}, []int{2}
	p.Rings.Ks, p.XOR.Ks = []int{3, 5}, []int{4}
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range r.Paths {
		of := i / len(partsVariants)
		if want := []int{3, 3, 2}[of]; len(path.At) != want || path.K != []int{3, 5, 4}[of] || path.Variant != partsVariants[i%len(partsVariants)] {
			t.Errorf("%s, %d splits, %v: %d places, want %d", path.Problem, path.K, path.Variant, len(path.At), want)
		}
		for _, at := range path.At {
			if at.Left.N != p.Seeds || at.Left.Mean < 0 || at.DirectMissing.Mean < -1 || at.DirectMissing.Mean > 1 {
				t.Errorf("%s, %v: %+v", path.Problem, path.Variant, at)
			}
			for _, of := range []struct{ cosine, uphill experiment.Estimate }{{at.PrintedWhole, at.PrintedUphill}, {at.DetachedWhole, at.DetachedUphill}} {
				// The mean of cosines between −1 and 1, of which a share u is negative, lies
				// between −u and 1 − u.
				if u, c := of.uphill.Mean, of.cosine.Mean; !(c >= -u && c <= 1-u) || of.uphill.N != p.Seeds {
					t.Errorf("%s, %v: mean cosine %v, uphill on %v", path.Problem, path.Variant, c, of.uphill)
				}
			}
		}
		if d := path.At[len(path.At)-1].Error.Mean - path.At[0].Error.Mean; !scalar.EqualWithinAbs(path.Learned.Difference.Mean, d, 1e-12) {
			t.Errorf("%s, %v: learned %v, by the ends %v", path.Problem, path.Variant, path.Learned, d)
		}
	}
}
