package learntest

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// leaveOneOutTol is the largest allowed difference between the results of LeaveOneOut and the
// results of separate fits, one for each row. The difference is relative to the largest entry. The
// tolerance covers the rounding errors of systems with condition numbers up to 1e5.
const leaveOneOutTol = 1e-10

// LeaveOneOut tests the predictions of a [learn.LeaveOneOutLearner] and their derivatives in all
// inputs. For comparison, it fits a learner to all rows but one, for each row. The results of the
// tested methods must agree with these fits to 1e-10 of the largest entry. The derivative in one
// input must not depend on whether the fields of other inputs are nil. After a LeaveOneOut, the
// learner must refuse derivatives of a Fit. After a Fit, it must refuse derivatives of a
// LeaveOneOut.
func LeaveOneOut(t *testing.T, newLearner func() learn.LeaveOneOutLearner, c Case) {
	t.Helper()
	rows, n := c.Data.X.Dims()
	v := numtest.Normals(rand.New(rand.NewPCG(1, 7)), rows)
	want, wantGrad, wantX := make([]float64, rows), newGrad(c, 0), mat.NewDense(rows, n, nil)
	for out := range rows {
		withoutRow(t, newLearner(), c, out, v[out], want, wantGrad, wantX)
	}
	l := newLearner()
	got, g, dx := numtest.NaNs(rows, 0), newGrad(c, 1), mat.NewDense(rows, n, nil)
	numtest.OK(t, l.Load(c.Data))
	if err := l.LeaveOneOutVJP(nil, &learn.Grad{}, nil, v); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("LeaveOneOutVJP without LeaveOneOut: error %v", err)
	}
	numtest.OK(t, l.LeaveOneOut(got, c.Hyper), l.LeaveOneOutVJP(nil, g, dx, v))
	numtest.NearAll(t, "LeaveOneOut differs from a fit for each row", got, want, leaveOneOutTol, 1)
	size := 1.0
	for _, s := range gradSlices(wantGrad) {
		for _, d := range s {
			size = max(size, math.Abs(d))
		}
	}
	for i, name := range [3]string{"hyper", "X", "y"} {
		added := gradSlices(g)[i]
		for j := range added {
			added[j]-- // 1 is the value before the call
		}
		numtest.NearAll(t, "LeaveOneOutVJP in "+name+" differs from a fit for each row", added, gradSlices(wantGrad)[i], leaveOneOutTol, size)
	}
	numtest.NearAll(t, "LeaveOneOutVJP in dx differs from a fit for each row", dx.RawMatrix().Data, wantX.RawMatrix().Data, leaveOneOutTol, size)
	for _, part := range []*learn.Grad{{Hyper: make([]float64, len(c.Hyper))}, {X: mat.NewDense(rows, n, nil)}, {Y: make([]float64, rows)}, {}} {
		numtest.OK(t, l.LeaveOneOutVJP(new(qpdiff.Workspace), part, nil, v))
		if part.Hyper != nil {
			numtest.NearAll(t, "LeaveOneOutVJP in hyper alone", part.Hyper, wantGrad.Hyper, leaveOneOutTol, size)
		}
		if part.X != nil {
			numtest.NearAll(t, "LeaveOneOutVJP in X alone", part.X.RawMatrix().Data, wantGrad.X.RawMatrix().Data, leaveOneOutTol, size)
		}
		if part.Y != nil {
			numtest.NearAll(t, "LeaveOneOutVJP in y alone", part.Y, wantGrad.Y, leaveOneOutTol, size)
		}
	}
	theta := make([]float64, thetaOf(l, n))
	if err := l.VJP(nil, &learn.Grad{}, theta); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("VJP after LeaveOneOut: error %v", err)
	}
	numtest.OK(t, l.Fit(theta, c.Hyper))
	if err := l.LeaveOneOutVJP(nil, &learn.Grad{}, nil, v); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("LeaveOneOutVJP after Fit: error %v", err)
	}
}

func thetaOf(l learn.Learner, n int) int {
	theta, _ := l.Dims(n)
	return theta
}

// withoutRow fits the learner l to all rows except the row with the index omitted, and sets
// values[omitted] to the prediction for this row. It adds the derivatives of the prediction, times
// weight, to g and dx.
func withoutRow(t *testing.T, l learn.Learner, c Case, omitted int, weight float64, values []float64, g *learn.Grad, dx *mat.Dense) {
	t.Helper()
	rows, n := c.Data.X.Dims()
	var d learn.Data
	var rest []int
	x := mat.NewDense(rows-1, n, nil)
	for i, y := range c.Data.Y {
		if i != omitted {
			x.SetRow(len(rest), c.Data.Dense().RawRowView(i))
			rest, d.Y = append(rest, i), append(d.Y, y)
		}
	}
	d.X = x
	theta := make([]float64, thetaOf(l, n))
	if err := errors.Join(l.Load(d), l.Fit(theta, c.Hyper)); err != nil {
		t.Fatalf("without row %d: %v", omitted, err)
	}
	at := mat.NewDense(1, n, append([]float64{}, c.Data.Dense().RawRowView(omitted)...))
	part, dat := newGrad(Case{Data: d, Hyper: c.Hyper}, 0), mat.NewDense(1, n, nil)
	var err error
	if p, ok := l.(learn.Predictor); ok {
		err = errors.Join(p.Predict(nil, values[omitted:omitted+1], at), p.PredictVJP(nil, part, dat, at, []float64{weight}))
	} else {
		row := append(append([]float64{}, at.RawRowView(0)...), 1)[:len(theta)]
		dtheta := make([]float64, len(theta))
		for j, v := range row {
			values[omitted] += theta[j] * v
			dtheta[j] = weight * v
		}
		for j := range n {
			dat.Set(0, j, weight*theta[j])
		}
		err = l.VJP(nil, part, dtheta)
	}
	if err != nil {
		t.Fatalf("without row %d: %v", omitted, err)
	}
	for j, v := range part.Hyper {
		g.Hyper[j] += v
	}
	for k, i := range rest {
		g.Y[i] += part.Y[k]
		for j, v := range part.X.RawRowView(k) {
			g.X.Set(i, j, g.X.At(i, j)+v)
		}
	}
	dx.SetRow(omitted, dat.RawRowView(0))
}
