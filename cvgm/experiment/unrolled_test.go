package experiment

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

func TestUnrolledConvergesToTheImplicitDerivativeOrExplodes(t *testing.T) {
	r, err := DefaultUnrolled().Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range append(r.ByRate, r.ByPenalty...) {
		e := run.Error()
		last := e[len(e)-1]
		switch {
		case run.Rate > 2:
			if run.Overflow == 0 && last < 1e6 {
				t.Errorf("rate %v: error %v", run.Rate, last)
			}
		case run.Rate < .05:
			// A thousand steps of a hundredth do not fit to the end.
			if last < .3 || e[0] < .9 {
				t.Errorf("rate %v: error from %v to %v", run.Rate, e[0], last)
			}
		case run.Rate >= 1:
			if !(last < 1e-9) {
				t.Errorf("rate %v, λ2 = %v: error %v after %d steps", run.Rate, run.Penalty, last, run.Steps[len(e)-1])
			}
		}
	}
	// The implicit derivative against a central difference of exact fits.
	p := DefaultUnrolled()
	train, test := unrolledData(t, p)
	const h = 1e-5
	at := func(penalty float64) float64 {
		loss, _, err := testGradient(train, test, &qpdiff.SmoothLearner{Objective: ridge}, []float64{penalty})
		if err != nil {
			t.Fatal(err)
		}
		return loss
	}
	near(t, "d(test loss)/dλ2", r.ByRate[0].Exact, (at(p.Penalty+h)-at(p.Penalty-h))/(2*h), 1e-7)
	if floats.HasNaN(r.Curvature[:]) || r.Curvature[0] <= 0 {
		t.Errorf("curvatures %v", r.Curvature)
	}
}

func unrolledData(t testing.TB, p UnrolledParams) (train, test qpdiff.Data) {
	src, err := p.source(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	train, test, _, err = p.draw(src)
	if err != nil {
		t.Fatal(err)
	}
	return train, test
}

func TestUnrolledRefusesBadSteps(t *testing.T) {
	p := DefaultUnrolled()
	for _, steps := range [][]int{nil, {0, 1}, {3, 2}, {2, 2}} {
		p.UnrolledSteps = steps
		if _, err := p.Run(context.Background()); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("steps %v: error %v", steps, err)
		}
	}
}

// BenchmarkDifferentiation times a ridge regression and its derivative by
// either kind of differentiation; the allocations are the numbers that it keeps.
// The test loss on the training rows costs next to nothing.
func BenchmarkDifferentiation(b *testing.B) {
	p := DefaultUnrolled()
	train, _ := unrolledData(b, p)
	b.Run("implicit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := testGradient(train, train, &qpdiff.SmoothLearner{Objective: ridge}, []float64{p.Penalty}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("iterative/steps=%d", steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := testGradient(train, train, &qpdiff.Unrolled{Objective: ridge, Steps: steps}, []float64{p.Penalty, .4, 0}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
