package margin

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
)

// After rows and coordinates enter and leave a face, the updated factor R·Q equals the matrix of
// the elbow's normals.
func TestUpdatedFactor(t *testing.T) {
	serial.Test(t)
	const rows, n, tol = 300, 100, 1e-13
	rng := rand.New(rand.NewPCG(36, 1))
	var l SVM
	numtest.OK(t, l.Load(casetest.ClassData(1, rows, n)))
	p := &l.p
	p.l2, p.elbow = .3, p.elbow[:0]
	p.support(numtest.Normals(rng, n), 1)
	for _, i := range rng.Perm(rows)[:70] {
		p.holdOnElbow(i)
	}
	updated := 0
	for trial := range 200 {
		for range 1 + rng.IntN(3) {
			i, j := rng.IntN(rows), rng.IntN(n)
			switch e, held := slices.BinarySearch(p.elbow, i); {
			case len(p.elbow) > 70 && (trial%2 == 0 || len(p.elbow) >= len(p.act)-3):
				p.side[p.elbow[min(e, len(p.elbow)-1)]] = 1
				p.dropReleased()
			case !held:
				p.holdOnElbow(i)
			}
			if p.pos[j] < 0 {
				p.insert(j, 1)
			} else if len(p.act) > len(p.elbow)+3 {
				p.remove(j)
			}
		}
		before := p.factored.changes
		if elbow := len(p.elbow); !p.factorise(&p.marginProblem, p.grad, p.theta, p.m) || len(p.elbow) < elbow {
			t.Fatal("a random elbow depends on itself")
		}
		if p.factored.changes > before {
			updated++
		}
		s := len(p.act)
		for e, i := range p.elbow {
			row, q := make([]float64, s), p.q[e*s:(e+1)*s]
			for k := range e + 1 {
				dense.Axpy(p.r[e*n+k], p.q[k*s:(k+1)*s], row)
				want := 0.0
				if k == e {
					want = 1
				}
				if off := dense.Dot(q, p.q[k*s:(k+1)*s]) - want; !(math.Abs(off) <= tol) {
					t.Fatalf("face %d: rows %d and %d of Q: off by %g", trial, e, k, off)
				}
			}
			normal := make([]float64, s)
			dense.Gather(normal, p.z[i*n:(i+1)*n], p.act)
			p.whiten(&p.marginProblem, normal)
			for k, v := range normal {
				if !(math.Abs(v-row[k]) <= tol*p.norm[i]) {
					t.Fatalf("face %d: entry %d of the normal of row %d is %v, want %v", trial, k, e, row[k], v)
				}
			}
		}
	}
	if updated < 150 {
		t.Errorf("only %d faces were updated", updated)
	}
}

// A row leaves the elbow if its normal is a linear combination of other normals.
func TestUpdatedFactorOfDependentRows(t *testing.T) {
	serial.Test(t)
	const rows, n = 90, 80
	var l SVM
	d := casetest.ClassData(2, rows, n)
	for j := range n { // row 89 is the sum of rows 0 and 1, except in the last coordinate
		d.Dense().Set(89, j, d.Y[89]*(d.Y[0]*d.X.At(0, j)+d.Y[1]*d.X.At(1, j)))
	}
	d.Dense().Set(89, n-1, 5)
	numtest.OK(t, l.Load(d))
	p := &l.p
	p.l2, p.elbow = 1, p.elbow[:0]
	p.support(numtest.Ones(n), 1)
	for i := range 70 {
		p.holdOnElbow(i)
	}
	elbow := func(what string, want int) {
		t.Helper()
		if !p.factorise(&p.marginProblem, p.grad, p.theta, p.m) || len(p.elbow) != want {
			t.Errorf("%s: %d rows on the elbow, want %d", what, len(p.elbow), want)
		}
	}
	elbow("independent rows", 70)
	p.holdOnElbow(89)
	elbow("one row more", 71)
	if p.factored.changes != 1 {
		t.Error("the factor was not updated")
	}
	p.remove(n - 1)
	elbow("without the coordinate that makes it independent", 70)
	p.holdOnElbow(89)
	elbow("a dependent row", 70)
}

// A cold fit has the bits of a search from θ = 0, and visits at most half as many faces.
func TestSVMFewFaces(t *testing.T) {
	serial.Test(t)
	cases := []struct {
		rows, n int
		hyper   []float64
	}{
		{600, 70, []float64{1e-3, 1e-2}}, {600, 70, []float64{0, 1e-2}}, {600, 70, []float64{1e-2, 1e-1}}, {600, 70, []float64{1e-4, 1e-4}},
		{600, 70, []float64{0, 1e-8}}, {38, 200, []float64{3e-3, 1e-2}}, {38, 200, []float64{3e-2, .1}},
	}
	if testing.Short() {
		cases = cases[4:]
	}
	for _, c := range cases {
		d, hyper := casetest.ClassData(3, c.rows, c.n), c.hyper
		var l SVM
		theta := make([]float64, c.n)
		numtest.OK(t, errors.Join(l.Load(d), l.Fit(theta, hyper)))
		if gap := svmGap(&l, d, theta); !(math.Abs(gap) <= 1e-12) {
			t.Errorf("%v: duality gap %g", c, gap)
		}
		p := &l.p
		cold, elbow, mult := p.rounds, slices.Clone(p.elbow), slices.Clone(p.mult)
		numtest.OK(t, p.fromZero())
		if !numtest.SameBits(theta, p.theta) || !slices.Equal(elbow, p.elbow) || !numtest.SameBits(mult, p.mult) {
			t.Errorf("%v: another solution from θ = 0", c)
		}
		if zero := p.rounds - cold; 2*cold > zero {
			t.Errorf("%v: %d faces, and %d from θ = 0", c, cold, zero)
		}
	}
}

// BenchmarkSVM times a cold fit of 5000 rows of 500 features, and a VJP.
func BenchmarkSVM(b *testing.B) {
	const rows, n = 5000, 500
	d := casetest.ClassData(1, rows, n)
	var l SVM
	theta, g := make([]float64, n), learn.Grad{Hyper: make([]float64, 2)}
	numtest.OK(b, l.Load(d))
	for _, hyper := range [][]float64{{1e-2, .1}, {1e-3, 1e-2}, {1e-4, 1e-4}} {
		b.Run(fmt.Sprintf("5000x500/%v", hyper), func(b *testing.B) {
			for b.Loop() {
				l.Reset()
				numtest.OK(b, errors.Join(l.Fit(theta, hyper), l.VJP(nil, &g, theta)))
			}
			b.ReportMetric(float64(l.p.rounds), "faces/op")
		})
	}
}
