package margin

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
)

// The result of Multipliers satisfies the optimality conditions, and equal rows have equal
// multipliers.
func TestSVMMultipliers(t *testing.T) {
	const tol = 1e-11
	rng := rand.New(rand.NewPCG(19, 5))
	onElbow, shared := 0, 0
	for trial := range numtest.Long(600) {
		rows, n := 4+rng.IntN(40), 1+rng.IntN(8)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		if trial%3 == 0 {
			d = degenerateData(rng, degenerateKinds[rng.IntN(len(degenerateKinds))], rows, n)
		}
		if trial%2 == 0 {
			for i := rows / 2; i < rows; i++ {
				d.Dense().SetRow(i, d.Dense().RawRowView(i-rows/2))
			}
		}
		l1, l2 := .3*rng.Float64()*float64(rng.IntN(2)), math.Pow(10, -2+3*rng.Float64())
		theta := make([]float64, n)
		var l SVM
		numtest.OK(t, l.Load(d), l.Fit(theta, []float64{l1, l2}))
		b, err := l.Multipliers(nil)
		vectors, err2 := l.SupportVectors(nil)
		elbow, err3 := l.Elbow(nil)
		numtest.OK(t, err, err2, err3)
		if len(b) != rows || !slices.IsSorted(vectors) || !slices.IsSorted(elbow) {
			t.Fatalf("trial %d: multipliers %v, support vectors %v, elbow %v", trial, b, vectors, elbow)
		}
		onElbow += len(elbow)
		slope := make([]float64, n)
		dense.Axpy(-l2, theta, slope)
		equal := map[string]float64{}
		for i, v := range b {
			y, x := d.Y[i], d.Dense().RawRowView(i)
			dense.Axpy(v*y, x, slope)
			m := y * dense.Dot(theta, x)
			top := 1 / float64(rows)
			switch held := slices.Contains(elbow, i); {
			case v < 0 || v > top, slices.Contains(vectors, i) != (v != 0),
				held && math.Abs(m-1) > tol, !held && v == 0 && m < 1-tol, !held && v == top && m > 1+tol, !held && v != 0 && v != top:
				t.Errorf("trial %d: row %d of margin %v has multiplier %v of %v, on the elbow: %v", trial, i, m, v, top, held)
			}
			z := make([]byte, 0, 8*n)
			for _, v := range x {
				for bits, k := math.Float64bits(y*v+0), 0; k < 64; k += 8 {
					z = append(z, byte(bits>>k))
				}
			}
			if other, ok := equal[string(z)]; ok && other != v {
				t.Errorf("trial %d: equal rows have multipliers %v and %v", trial, other, v)
			} else if ok && slices.Contains(elbow, i) {
				shared++
			}
			equal[string(z)] = v
		}
		for j, s := range slope {
			if math.Abs(theta[j]) > tol && math.Abs(s-l1*dense.Sign(theta[j])) > tol || math.Abs(s) > l1+tol {
				t.Errorf("trial %d: the slope is %v in coordinate %d, where θ is %v and λ1 %v", trial, s, j, theta[j], l1)
			}
		}
		if a := testing.AllocsPerRun(1, func() {
			b, _ = l.Multipliers(b)
			vectors, _ = l.SupportVectors(vectors)
			elbow, _ = l.Elbow(elbow)
		}); a > 0 {
			t.Fatalf("%v allocations with slices of the right size", a)
		}
	}
	if onElbow < 100 || shared < 10 {
		t.Errorf("only %d rows on elbows, %d of them shared", onElbow, shared)
	}
}

// Without a fit, Multipliers, SupportVectors and Elbow return ErrNotFitted.
func TestMarginSetsWithoutFit(t *testing.T) {
	var l SVM
	var loss LearnedLoss
	for range 2 {
		_, err := l.Multipliers(nil)
		_, err2 := l.SupportVectors(nil)
		_, err3 := l.Elbow(nil)
		_, err4 := loss.Elbow(nil)
		for i, err := range []error{err, err2, err3, err4} {
			if !errors.Is(err, qpdiff.ErrNotFitted) {
				t.Errorf("%d: %v", i, err)
			}
		}
		d := casetest.ClassData(1, 8, 2)
		numtest.OK(t, l.Load(d), loss.Load(d), l.Fit(make([]float64, 2), []float64{.1, .1}))
		if l.Fit(make([]float64, 2), []float64{.1, -1}) == nil {
			t.Fatal("λ2 < 0 has a fit")
		}
	}
}
