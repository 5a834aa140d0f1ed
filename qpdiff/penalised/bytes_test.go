package penalised

import (
	"runtime"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// Bytes counts what Folds and its derivatives hold, with one row a fold, with folds of as many rows
// as the smallest large ones have, and with the largest small ones. A few large folds hold a fifth.
func TestBytesOfFolds(t *testing.T) {
	serial.Test(t)
	const rows, n = 900, 40
	d := casetest.RandomData(3, rows, n, false)
	for _, each := range []int{1, n / 2, n/2 + 1, rows / 3} {
		var folds [][]int
		for i := range rows {
			if i%each == 0 {
				folds = append(folds, nil)
			}
			folds[len(folds)-1] = append(folds[len(folds)-1], i)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		l, w, g := new(GLM), new(qpdiff.Workspace), casetest.NewGrad(d, 1)
		dst, dx := make([]float64, rows), mat.NewDense(rows, n, nil)
		outside := int64(8 * (2*rows*n + 2*rows)) // of g, dst and dx
		numtest.OK(t, l.Load(d), l.Folds(dst, []float64{1}, folds), l.FoldsVJP(w, g, dx, dst))
		runtime.GC()
		runtime.ReadMemStats(&after)
		held := int64(after.HeapAlloc) - int64(before.HeapAlloc) - outside
		if counted := l.Bytes(learn.Size{Rows: rows, Features: n, Counting: rows, Folds: folds}); held > counted || counted > 5*held {
			t.Errorf("folds of %d rows: counts %d bytes and holds %d", each, counted, held)
		}
		runtime.KeepAlive([]any{l, w, folds, g, dx, dst})
	}
}

// Bytes counts what fits of several classes and their derivatives hold.
func TestBytesOfMultinomial(t *testing.T) {
	const rows, n, classes, factor = 400, 30, 5, 1.3
	d := classData(1, rows, n, classes)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l, w, g, theta := &Multinomial{Classes: classes, Intercept: true}, new(qpdiff.Workspace), casetest.NewGrad(d, 1), make([]float64, classes*(n+1))
	outside := int64(8 * (rows*n + rows + len(theta))) // of g and theta
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1}), l.VJP(w, g, theta), l.JVP(w, theta, g))
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := float64(int64(after.HeapAlloc) - int64(before.HeapAlloc) - outside)
	if counted := float64(l.Bytes(d.Size())); held > counted || counted > factor*held {
		t.Errorf("counts %v bytes and holds %v", counted, held)
	}
	runtime.KeepAlive([]any{l, w, g, theta, d})
}
