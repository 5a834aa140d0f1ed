package margin

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// faceIDs returns integers that identify the face of the solution.
func (p *marginSolver) faceIDs() (f []int) {
	for _, v := range p.side {
		f = append(f, int(v))
	}
	f = append(f, p.act...)
	for _, v := range p.sgn {
		f = append(f, int(v))
	}
	return f
}

// kinkDistance returns the relative distance of the solution from the nearest kink, and the
// condition number of the elbow's Gram matrix.
func (p *marginSolver) kinkDistance() (distance, cond float64) {
	n := p.n
	size := math.Sqrt(dense.Dot(p.theta, p.theta))
	terms := 0.0
	for j := range n {
		terms += p.gradSize(j) * p.gradSize(j)
	}
	terms = math.Sqrt(terms)
	on := func(i, k int) (s float64) {
		for _, j := range p.act {
			s += p.z[i*n+j] * p.z[k*n+j]
		}
		return s
	}
	distance = math.Inf(1)
	for i, m := range p.m {
		if e := slices.Index(p.elbow, i); e >= 0 {
			distance = min(distance, min(p.mult[e], p.Copies[i]*p.hinge-p.mult[e])*math.Sqrt(on(i, i))/terms)
		} else {
			distance = min(distance, math.Abs(m-1)/(1+p.norm[i]*size))
		}
	}
	for j, t := range p.theta {
		if p.pos[j] >= 0 {
			distance = min(distance, math.Abs(t)/size)
		} else {
			distance = min(distance, (p.l1-math.Abs(p.grad[j]))/terms)
		}
	}
	return distance, numtest.EquilibratedCond(len(p.elbow), func(i, k int) float64 { return on(p.elbow[i], p.elbow[k]) })
}

// In any units, every derivative fails at a kink and succeeds away from kinks.
func TestMarginLearnersStrictComplementarity(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(20, 1))
	var refused, answered [2]int
	for trial := range 550 {
		rows, n := 6+rng.IntN(20), 1+rng.IntN(5+trial%3)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		unit := math.Pow(10, 12*rng.Float64()-6)
		d.Dense().Scale(unit, d.X)
		kind := min(trial/400, 1)
		var svm SVM
		var loss LearnedLoss
		s := casetest.Steer{Learner: &svm, Data: d, Which: trial % 2, Face: svm.p.faceIDs, Gap: svm.p.kinkDistance, Cond: 1e6, Slack: 64 * dense.Eps}
		s.Hyper = []float64{math.Pow(10, -3*rng.Float64()) * unit, math.Pow(10, -3*rng.Float64()) * unit * unit}
		if kind == 0 && trial%3 == 0 {
			s.Hyper[0], s.Which = 0, 1
		} else if kind == 1 {
			s = casetest.Steer{Learner: &loss, Data: d, Which: 4, Face: loss.p.faceIDs, Gap: loss.p.kinkDistance, Cond: 1e4, Slack: 64 * dense.Eps}
			s.Hyper = []float64{1, rng.Float64(), rng.Float64(), rng.Float64(), math.Pow(10, -2*rng.Float64()) * unit * unit}
			s.Hyper[1+rng.IntN(3)] = 0
		}
		numtest.OK(t, s.Learner.Load(d))
		r, a := s.Crossing(t, s.Hyper[s.Which], 1.5*s.Hyper[s.Which])
		refused[kind] += r
		answered[kind] += a
	}
	if refused[0] < 200 || answered[0] < 100 || refused[1] < 60 || answered[1] < 50 {
		t.Errorf("only %d kinks and %d others", refused, answered)
	}
}

// Fit returns ErrIllPosed for a large condition number, even if every pivot of the Hessian is above
// rounding. The condition number grows with α4 because the logistic loss is curved in only one
// direction.
func TestLearnedLossIllConditioned(t *testing.T) {
	d := learn.Data{X: mat.NewDense(4, 4, []float64{6, 2, 2, 0, 1, -1, 0, -3, 3, 1, 1, 0, -3, -3, -3, 3}), Y: []float64{1, -1, -1, -1}}
	theta := make([]float64, 4)
	for _, c := range []struct {
		alpha4  float64
		refused bool
	}{{1e9, false}, {5e12, true}} {
		var l LearnedLoss
		if err := errors.Join(l.Load(d), l.Fit(theta, []float64{6.5, 0, 0, c.alpha4, .05})); errors.Is(err, qpdiff.ErrIllPosed) != c.refused || err != nil && !c.refused {
			t.Errorf("α4 = %g: error %v", c.alpha4, err)
		}
	}
}

// For any α3, a fit continues beyond the margin 1 only if other losses decrease there.
func TestLearnedLossSteepSquaredHinge(t *testing.T) {
	for _, x := range []float64{1, 1 - dense.Eps/2, 1 + dense.Eps} {
		d := learn.Data{X: mat.NewDense(2, 1, []float64{1, -x}), Y: []float64{1, -1}}
		var l LearnedLoss
		away, theta := make([]float64, 1), make([]float64, 1)
		// Beyond a margin of 1 there is no squared hinge loss.
		if err := errors.Join(l.Load(d), l.Fit(away, []float64{.08, 1.2, 0, .02, .1})); err != nil || away[0] < 1.5 {
			t.Fatal(away, err)
		}
		for _, alpha3 := range []float64{1, 1e6, 1e10, 1e12, 1e14, 1e16, 1e18, 1e50, 1e300} {
			l.Reset()
			for range 2 {
				if err := l.Fit(theta, []float64{.08, 1.2, alpha3, .02, .1}); err != nil || math.Abs(theta[0]-away[0]) > 8*dense.Eps {
					t.Errorf("x %v, α3 = %g: θ %v, want %v, error %v", x, alpha3, theta, away, err)
				}
			}
			// Without other losses, the solution for x = 1 is θ = 2α3/(2α3 + λ).
			l.Reset()
			want := 2 * alpha3 / (2*alpha3 + .1)
			if err := l.Fit(theta, []float64{0, 0, alpha3, 0, .1}); err != nil || math.Abs(theta[0]-want) > 8*dense.Eps {
				t.Errorf("x %v, α3 = %g, no other loss: θ %v, want %v, error %v", x, alpha3, theta, want, err)
			}
		}
	}
}

// For a tiny ridge penalty, the solution is finite or Fit returns an error.
func TestSVMLeastRidge(t *testing.T) {
	d := casetest.ClassData(1, 8, 2)
	for _, l2 := range []float64{1e-278, 1e-300, 1e-320} {
		var l SVM
		theta := make([]float64, 2)
		if err := errors.Join(l.Load(d), l.Fit(theta, []float64{.1, l2})); err == nil && !dense.Finite(theta[0]+theta[1]) {
			t.Errorf("λ2 = %g: θ %v", l2, theta)
		}
	}
}

// A hard-margin SVM has derivatives, however small λ2 is. Its multipliers are far from 0 because
// they have the size of the terms λ2·θ.
func TestSVMHardMargin(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 2, []float64{1, 0, 0, -2}), Y: []float64{1, -1}}
	for _, l2 := range []float64{1e-3, 1e-15, 1e-100} {
		var l SVM
		theta, g := make([]float64, 2), &learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(2, 2, nil)}
		if err := errors.Join(l.Load(d), l.Fit(theta, []float64{0, l2}), l.VJP(nil, g, []float64{1, 1})); err != nil {
			t.Errorf("λ2 = %v: %v", l2, err)
			continue
		}
		// θ = (1, 1/2), and θ_2 = −1/x_22.
		numtest.NearAll(t, "θ", theta, []float64{1, .5}, 1e-15, 0)
		if g.Hyper[1] != 0 || !(math.Abs(g.X.At(1, 1)-.25) <= 1e-15) {
			t.Errorf("λ2 = %v: derivatives %v and %v", l2, g.Hyper, g.X.At(1, 1))
		}
	}
}

// Without margin violators, the size of the penalties does not change θ. A fit may return
// ErrIllPosed only with a squared hinge loss.
func TestMarginLearnersSmallPenalties(t *testing.T) {
	const rows, n = 8, 3
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	refused, solved := 0, 0
	for trial := range 100 {
		rng := rand.New(rand.NewPCG(uint64(trial), 53))
		for i := range rows {
			m := 0.0
			for math.Abs(m) < .5 { // separable, with room
				m = 0
				for j, v := range numtest.Normals(rng, n) {
					d.Dense().Set(i, j, v)
					m += v
				}
			}
			d.Y[i] = dense.Sign(m)
		}
		for _, c := range []struct {
			l     learn.Learner
			hyper []float64 // the last penalty's size is 1
			from  int       // the first penalty
		}{
			{&SVM{}, []float64{0, 1}, 0},
			{&SVM{}, []float64{1, 1}, 0},
			{&LearnedLoss{}, []float64{1, 0, 0, 0, 1}, 4},
			{&LearnedLoss{}, []float64{1, 0, 1, 0, 1}, 4},
		} {
			if c.l.Load(d) != nil {
				break // one class
			}
			want := make([]float64, n)
			for _, size := range []float64{1e-6, 1e-12, 1e-15, 1e-18, 1e-30, 1e-100} {
				theta, hyper := make([]float64, n), slices.Clone(c.hyper)
				for k := c.from; k < len(hyper); k++ {
					hyper[k] *= size
				}
				c.l.Reset()
				err := c.l.Fit(theta, hyper)
				switch {
				case size == 1e-6 && err == nil:
					copy(want, theta)
				case err == nil:
					solved++
					numtest.NearAll(t, fmt.Sprintf("trial %d, %T, hyper %v", trial, c.l, hyper), theta, want, 1e-9, 0)
				case errors.Is(err, qpdiff.ErrIllPosed) && len(hyper) == 5 && hyper[2] > 0:
					refused++
				default:
					t.Errorf("trial %d, %T, hyper %v: %v", trial, c.l, hyper, err)
				}
			}
		}
	}
	if solved < 1500 || refused > 300 {
		t.Errorf("%d solved, %d refused", solved, refused)
	}
}
