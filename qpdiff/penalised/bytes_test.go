package penalised

import (
	"runtime"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// Bytes counts at least the memory that Folds and its derivatives hold, for folds of any size.
func TestBytesOfFolds(t *testing.T) {
	serial.Test(t)
	const rows, n = 900, 40
	d := casetest.RandomData(3, rows, n, false)
	var bands []Penalty
	for j := range n {
		bands = append(bands, Ridge(j, 1))
	}
	for turn, each := range []int{1, n / 2, n/2 + 1, rows / 3, 1, n / 2, n/2 + 1, rows / 3} {
		normal := learn.FoldNormal{}
		var folds [][]int
		for i := range rows {
			if i%each == 0 {
				folds = append(folds, nil)
			}
			folds[len(folds)-1] = append(folds[len(folds)-1], i)
		}
		if turn > 3 {
			normal = learn.FoldNormal{Intercept: true, Scaled: slices.Repeat([]bool{true}, n), Deviations: numtest.Ones(n * len(folds))}
		}
		var l *GLM
		var w *qpdiff.Workspace
		penalties := bands[:min(turn%3, 1)*n]
		hyper := numtest.Ones(max(1, len(penalties)))
		g, h, dst, dx := casetest.NewGrad(d, len(hyper)), mat.NewSymDense(len(hyper), nil), make([]float64, rows), mat.NewDense(rows, n, nil)
		held := numtest.HeldBy(func() { l, w = &GLM{Penalties: penalties}, new(qpdiff.Workspace) }, func() {
			l.NormaliseFolds(normal)
			numtest.OK(t, l.Load(d), l.Folds(dst, hyper, folds), l.FoldsVJP(w, g, dx, dst), l.FoldsHessian(w, h, dst, dst))
		})
		if counted := l.Bytes(learn.Size{Rows: rows, Features: n, Counting: rows, Folds: folds}); held > counted || counted > 5*held {
			t.Errorf("folds of %d rows, normalised %v: counts %d bytes and holds %d", each, turn > 3, counted, held)
		}
		runtime.KeepAlive([]any{l, w, folds, g, h, dx, dst})
	}
}

// Bytes counts what fits of several classes and their derivatives hold.
func TestBytesOfMultinomial(t *testing.T) {
	const rows, n, classes, factor = 400, 30, 5, 1.3
	d := classData(1, rows, n, classes)
	var l *Multinomial
	var w *qpdiff.Workspace
	g, theta := casetest.NewGrad(d, 1), make([]float64, classes*(n+1))
	held := float64(numtest.HeldBy(func() { l, w = &Multinomial{Classes: classes, Intercept: true}, new(qpdiff.Workspace) }, func() {
		numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1}), l.VJP(w, g, theta), l.JVP(w, theta, g))
	}))
	if counted := float64(l.Bytes(d.Size())); held > counted || counted > factor*held {
		t.Errorf("counts %v bytes and holds %v", counted, held)
	}
	runtime.KeepAlive([]any{l, w, g, theta, d})
}
