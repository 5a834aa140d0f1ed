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
