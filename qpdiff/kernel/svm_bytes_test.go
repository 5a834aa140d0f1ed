package kernel

import (
	"errors"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
)

// allocatedEntries returns the numbers of entries allocated for the row cache of l and for the
// factors.
func allocatedEntries(l *SVM, w *qpdiff.Workspace) (store, factors int) {
	return cap(l.q.rows.cache.store), cap(l.q.factor.a) + cap(qpdiff.Scratch[kernelDerivative](w).factor.a)
}

// An SVM of many rows holds at most MaxBytes, including the memory of earlier fits.
func TestKernelSVMWithinMaxBytes(t *testing.T) {
	serial.Test(t)
	rng, refused := rand.New(rand.NewPCG(37, 2)), 0
	for trial := range 40 {
		way := rowLimits{searchInterval: 10, cache: 1 << 20}
		rows := 100 + rng.IntN(150)
		if trial%2 == 0 {
			way.maxStored = 1 << 12 // with the kernel matrix
		}
		setLimits(t, way)
		d := casetest.ClassData(rng.Uint64(), rows, 2)
		l, w := &SVM{Intercept: true, Generalised: true}, new(qpdiff.Workspace)
		free := rng.IntN(rows)
		d.MaxBytes = l.Bytes(d.Size()) + int64(8*2*free*free)
		numtest.OK(t, l.Load(d))
		room := learner.Room(d.MaxBytes) - l.q.baseEntries + float64(leastCached*rows)
		for range 8 {
			hyper := []float64{[]float64{1e-3, 1e-2, .3, 30, 1e4}[rng.IntN(5)], []float64{.05, .3, 3}[rng.IntN(3)]}
			err := l.Fit(make([]float64, 1), hyper)
			if errors.Is(err, qpdiff.ErrTooLarge) {
				refused++
			} else if err == nil {
				err = l.VJP(w, &learn.Grad{Hyper: make([]float64, 2)}, []float64{1})
			}
			if err != nil && !errors.Is(err, qpdiff.ErrTooLarge) {
				t.Fatal(err)
			}
			if store, factors := allocatedEntries(l, w); float64(store+factors) > room {
				t.Errorf("trial %d, hyper %v: a cache of %d and factors of %d entries have room for %.0f, %v", trial, hyper, store, factors, room, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no fit was refused")
	}
}

// The storage of a larger problem is given back.
func TestKernelSVMGivesStorageBack(t *testing.T) {
	serial.Test(t)
	setLimits(t, rowLimits{searchInterval: 10, cache: 1 << 20})
	l, small := &SVM{Intercept: true}, casetest.ClassData(2, 30, 2)
	numtest.OK(t, l.Load(casetest.ClassData(1, 300, 2)), l.Fit(make([]float64, 1), []float64{1e4, 3}))
	numtest.OK(t, l.Load(small))
	if store, factors := allocatedEntries(l, nil); store > 0 || factors > 30*30 {
		t.Errorf("after Load of 30 rows a cache of %d and a factor of %d entries are held", store, factors)
	}
}
