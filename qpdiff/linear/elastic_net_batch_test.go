package linear_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// embeddingNet is a user's learner that embeds an ElasticNet and has its own Fit.
type embeddingNet struct{ linear.ElasticNet }

func (e *embeddingNet) Fit(theta, hyper []float64) error {
	return e.ElasticNet.Fit(theta, hyper)
}

// FitBatch and VJPBatch return the bits and errors of separate calls of Fit and VJP.
func TestElasticNetBatch(t *testing.T) {
	serial.Test(t)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 37))
		count, n := 1+rng.IntN(6)+rng.IntN(2)*rng.IntN(20), 1+rng.IntN(18) // up to several sets of lanes
		together, alone := make([]learn.Learner, count), make([]learn.Learner, count)
		data := make([]learn.Data, count)
		groups := []int(nil)
		if rng.IntN(3) == 0 {
			groups = linear.PerFeature(n)
		}
		for i := range data {
			together[i], alone[i] = &linear.ElasticNet{Groups: groups, Generalised: seed%2 == 0}, &linear.ElasticNet{Groups: groups, Generalised: seed%2 == 0}
			if rng.IntN(12) == 0 {
				together[i] = &embeddingNet{ElasticNet: linear.ElasticNet{Groups: groups, Generalised: seed%2 == 0}}
			}
			data[i] = batchData(rng, n)
			if err := together[i].Load(data[i]); err != nil {
				t.Fatal(err)
			}
			alone[i].Load(data[i])
		}
		var w qpdiff.Workspace
		for step := range 6 {
			hyper := batchHyper(rng, groups)
			if rng.IntN(4) == 0 {
				i := rng.IntN(count)
				together[i].Reset()
				alone[i].Reset()
			}
			checkBatch(t, rng, &w, together, alone, data, hyper)
			if t.Failed() {
				t.Fatalf("seed %d, step %d, %d features, hyper %v", seed, step, n, hyper)
			}
		}
	}
}

// batchData draws data, often with equal, zero or nearly dependent features.
func batchData(rng *rand.Rand, n int) learn.Data {
	rows := 2 + rng.IntN(2*n+2)
	x, y := mat.NewDense(rows, n, nil), make([]float64, rows)
	for i := range rows {
		y[i] = float64(rng.IntN(9) - 4)
		for j := range n {
			x.Set(i, j, rng.NormFloat64())
			if n > 2 && rng.IntN(20) == 0 && rows%3 == 0 {
				x.Set(i, j, 0)
			}
		}
		switch {
		case n > 3 && rows%4 == 0:
			x.Set(i, 1, x.At(i, 0))
		case n > 3 && rows%4 == 1:
			x.Set(i, 2, x.At(i, 0)+1e-8*x.At(i, 2))
		case n > 3 && rows%4 == 2:
			x.Set(i, 3, 0)
		}
	}
	return learn.Data{X: x, Y: y}
}

// batchHyper draws penalties of many sizes, including zeros and a few invalid values.
func batchHyper(rng *rand.Rand, groups []int) []float64 {
	hyper := make([]float64, 2*max(1, len(groups)))
	for k := range hyper {
		hyper[k] = math.Exp(3*rng.NormFloat64() - 3)
		if rng.IntN(8) == 0 {
			hyper[k] = 0
		}
	}
	if rng.IntN(20) == 0 {
		hyper[0] = -1
	}
	return hyper
}

// checkBatch compares FitBatch and VJPBatch with separate calls of Fit and VJP.
func checkBatch(t *testing.T, rng *rand.Rand, w *qpdiff.Workspace, together, alone []learn.Learner, data []learn.Data, hyper []float64) {
	t.Helper()
	_, n := data[0].X.Dims()
	items, grads := make([]learn.BatchItem, len(alone)), make([]learn.Grad, len(alone))
	for i := range items {
		items[i] = learn.BatchItem{Learner: together[i], Theta: make([]float64, n), Grad: &learn.Grad{}, DTheta: make([]float64, n)}
		if rng.IntN(10) == 0 {
			items[i].Err = errors.New("passed over")
		}
	}
	passed := func(i int) bool { return items[i].Err != nil && items[i].Err.Error() == "passed over" }
	same := func(what string, i int, got, want []float64, err, wantErr error) {
		t.Helper()
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s %d: error %v, alone %v", what, i, err, wantErr)
		} else if wantErr == nil && !slices.Equal(got, want) {
			t.Errorf("%s %d: %v, alone %v", what, i, got, want)
		}
	}
	new(linear.ElasticNet).FitBatch(w, items, hyper)
	for i := range items {
		if passed(i) {
			continue
		}
		theta := make([]float64, n)
		err := alone[i].Fit(theta, hyper)
		same("fit", i, items[i].Theta, theta, plainNetError(items[i].Err), err)
		for j := range n {
			items[i].DTheta[j] = rng.NormFloat64()
		}
		if rng.IntN(30) == 0 {
			items[i].DTheta[rng.IntN(n)] = math.NaN()
		}
		sizes := rng.IntN(5) == 0
		grad := func() learn.Grad {
			rows, _ := data[i].X.Dims()
			g := learn.Grad{Hyper: make([]float64, len(hyper))}
			if len(hyper)%4 == 0 {
				g.X, g.Y = mat.NewDense(rows, n, nil), make([]float64, rows)
			}
			if sizes {
				g.HyperSize = make([]float64, len(hyper))
			}
			return g
		}
		*items[i].Grad, grads[i] = grad(), grad()
	}
	before := make([]error, len(items))
	for i := range items {
		before[i] = items[i].Err
	}
	single := rng.IntN(4) == 0 // VJP in place of VJPBatch
	if single {
		for i := range items {
			if before[i] == nil {
				items[i].Err = together[i].VJP(nil, items[i].Grad, items[i].DTheta)
			}
		}
	} else {
		new(linear.ElasticNet).VJPBatch(w, items)
	}
	for i := range items {
		if before[i] != nil {
			continue
		}
		err := alone[i].VJP(nil, &grads[i], items[i].DTheta)
		same("derivative", i, items[i].Grad.Hyper, grads[i].Hyper, plainNetError(items[i].Err), err)
		same("size of the derivative", i, items[i].Grad.HyperSize, grads[i].HyperSize, plainNetError(items[i].Err), err)
		if grads[i].X != nil {
			same("derivative by X", i, items[i].Grad.X.RawMatrix().Data, grads[i].X.RawMatrix().Data, plainNetError(items[i].Err), err)
		}
		got, want := make([]float64, n), make([]float64, n)
		direction := &learn.Grad{Hyper: make([]float64, len(hyper))}
		direction.Hyper[len(hyper)-1] = 1
		err, wantErr := together[i].(learn.ForwardLearner).JVP(nil, got, direction), alone[i].(learn.ForwardLearner).JVP(nil, want, direction)
		same("along λ2", i, got, want, plainNetError(err), wantErr)
	}
}

// After FitBatch, several goroutines may call VJP of a net concurrently.
func TestElasticNetBatchDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 37))
	net, alone := new(linear.ElasticNet), new(linear.ElasticNet)
	d := batchData(rng, 8)
	theta, hyper := make([]float64, 8), []float64{.1, .2}
	if err := errors.Join(net.Load(d), alone.Load(d), alone.Fit(theta, hyper)); err != nil {
		t.Fatal(err)
	}
	items := []learn.BatchItem{{Learner: net, Theta: make([]float64, 8)}}
	net.FitBatch(nil, items, hyper)
	if items[0].Err != nil {
		t.Fatal(items[0].Err)
	}
	want := make([]float64, 2)
	if err := alone.VJP(nil, &learn.Grad{Hyper: want}, theta); err != nil {
		t.Fatal(err)
	}
	err := qpdiff.ForEach(4, 16, func(int) error {
		got := make([]float64, 2)
		err := net.VJP(nil, &learn.Grad{Hyper: got}, theta)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%v, alone %v", got, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// VJPBatch equals separate calls of VJP if the nets have different numbers of features.
func TestElasticNetBatchOfWidths(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(1, 38))
	const wide, narrow = 9, 2
	hyper := []float64{1e-3, .1}
	for _, on := range []bool{true, false} {
		old := dense.SetVectors(on)
		var w qpdiff.Workspace
		var items []learn.BatchItem
		for i := range 2 * dense.LaneCount {
			n := wide
			if i >= dense.LaneCount {
				n = narrow
			}
			net := new(linear.ElasticNet)
			if err := net.Load(batchData(rng, n)); err != nil {
				t.Fatal(err)
			}
			items = append(items, learn.BatchItem{Learner: net, Theta: make([]float64, n), Grad: &learn.Grad{Hyper: make([]float64, 2)}, DTheta: slices.Repeat([]float64{1}, n)})
		}
		new(linear.ElasticNet).FitBatch(&w, items, hyper)
		new(linear.ElasticNet).VJPBatch(&w, items)
		for i, item := range items {
			want := make([]float64, 2)
			if err := item.Learner.VJP(nil, &learn.Grad{Hyper: want}, item.DTheta); err != nil || item.Err != nil || !slices.Equal(item.Grad.Hyper, want) {
				t.Errorf("vectors %v, net %d: derivative %v, error %v; alone %v, %v", on, i, item.Grad.Hyper, item.Err, want, err)
			}
		}
		dense.SetVectors(old)
	}
}

// plainNetError replaces the name embeddingNet in an error by ElasticNet.
func plainNetError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "embeddingNet", "ElasticNet"))
}

// FitBatch and Fit return 0 without a sign for a coefficient that underflows. VJPBatch and VJP
// return ErrNotFinite for a derivative that overflows.
func TestElasticNetBatchBeyondTheRange(t *testing.T) {
	serial.Test(t)
	for _, on := range []bool{true, false} {
		old := dense.SetVectors(on)
		nets := make([]learn.BatchItem, 2)
		for i := range nets {
			// The features are so small that a large cotangent makes the derivative overflow.
			net, x := new(linear.ElasticNet), mat.NewDense(2, 2, []float64{0x1p-500, 0, 0, -0x1p-500})
			nets[i] = learn.BatchItem{Learner: net, Theta: make([]float64, 2), Grad: &learn.Grad{Hyper: make([]float64, 2)}}
			if err := net.Load(learn.Data{X: x, Y: []float64{1, float64(1 - i)}}); err != nil {
				t.Fatal(err)
			}
		}
		net := nets[0].Learner.(*linear.ElasticNet)
		net.FitBatch(nil, nets, []float64{0x1p-520, math.MaxFloat64})
		for i, item := range nets {
			theta := make([]float64, 2)
			item.Learner.Reset()
			if err := item.Learner.Fit(theta, []float64{0x1p-520, math.MaxFloat64}); err != nil || item.Err != nil {
				t.Fatal(err, item.Err)
			}
			for j := range theta {
				if math.Float64bits(theta[j]) != 0 || math.Float64bits(item.Theta[j]) != 0 {
					t.Errorf("vectors %v, net %d: θ %v of a batch, %v alone, want 0 without a sign", on, i, item.Theta, theta)
				}
			}
		}
		var w qpdiff.Workspace
		net.FitBatch(&w, nets, []float64{0x1p-520, 0})
		for i := range nets {
			nets[i].DTheta = []float64{math.MaxFloat64, 0}
			if err := nets[i].Learner.VJP(nil, nets[i].Grad, nets[i].DTheta); !errors.Is(err, qpdiff.ErrNotFinite) {
				t.Errorf("vectors %v, net %d: error %v of a derivative that overflows", on, i, err)
			}
		}
		net.VJPBatch(&w, nets)
		for i, item := range nets {
			if !errors.Is(item.Err, qpdiff.ErrNotFinite) {
				t.Errorf("vectors %v, net %d of a batch: error %v of a derivative that overflows", on, i, item.Err)
			}
		}
		dense.SetVectors(old)
	}
}
