package kernel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// setLimits makes small problems use the methods for large problems until the test ends.
func setLimits(t *testing.T, l rowLimits) {
	was := limits
	limits = l
	t.Cleanup(func() { limits = was })
}

// largeLimits lists limits under which small problems use the methods for large problems.
var largeLimits = []rowLimits{{maxStored: 1 << 12, searchInterval: 7}, {searchInterval: 7, cache: 16}, {searchInterval: 1 << 30, cache: 1 << 20}}

// The methods for large SVM problems return the solutions and derivatives of the methods for small
// ones.
func TestKernelSVMManyRows(t *testing.T) {
	serial.Test(t)
	rng, setAside := rand.New(rand.NewPCG(36, 37)), make([]int, len(largeLimits))
	for trial := range 60 {
		rows, n := 20+rng.IntN(120), 1+rng.IntN(5)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		for range rng.IntN(3) { // equal rows
			d.Dense().SetRow(rng.IntN(rows), slices.Clone(d.Dense().RawRowView(rng.IntN(rows))))
		}
		if trial%4 == 0 {
			d.Weights = make([]float64, rows)
			for i := range d.Weights {
				d.Weights[i] = float64(rng.IntN(3)) + rng.Float64()
			}
		}
		kernel := []Kernel{nil, RBF{}, Polynomial{Degree: 2}}[trial%3]
		fresh := func() *SVM { return &SVM{Kernel: kernel, Intercept: trial%2 == 0, Generalised: true} }
		hypers := [][]float64{{math.Pow(10, 4*rng.Float64()-2), .2}, {math.Pow(10, 4*rng.Float64()-2), .2}, {1, .7}}
		if kernel == (Polynomial{Degree: 2}) {
			for k := range hypers {
				hypers[k] = []float64{.1 * hypers[k][0], .5, 1}
			}
		}
		x := mat.NewDense(3, n, nil)
		for i := range 3 {
			x.SetRow(i, d.Dense().RawRowView(i))
		}
		results := func(l *SVM, hyper []float64) (beta, values, slopes []float64) {
			theta, g, values := make([]float64, l.state.Params), &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(rows, n, nil)}, make([]float64, 3)
			numtest.OK(t, l.Fit(theta, hyper), l.Predict(nil, values, x), l.PredictVJP(new(qpdiff.Workspace), g, nil, x, []float64{1, -2, .5}))
			return slices.Clone(l.q.beta), values, append(g.Hyper, g.X.RawMatrix().Data...)
		}
		usual := fresh()
		numtest.OK(t, usual.Load(d))
		for at, way := range largeLimits {
			var betas, values, slopes [][]float64
			for _, hyper := range hypers {
				usual.Reset()
				b, v, s := results(usual, hyper)
				betas, values, slopes = append(betas, b), append(values, v), append(slopes, s)
			}
			func() {
				was := limits
				limits = way
				defer func() { limits = was }()
				l := fresh()
				numtest.OK(t, l.Load(d))
				if (l.q.rows.k == nil) != (way.maxStored == 0) {
					t.Fatalf("way %v is not taken", way)
				}
				defer func() { setAside[at] += len(l.q.pairs.places) }()
				for k, hyper := range hypers { // from a cold start, another C, and another width
					b, v, s := results(l, hyper)
					numtest.NearAll(t, "β", b, betas[k], 1e-8, 1e-9*hyper[0])
					numtest.NearAll(t, "values", v, values[k], 1e-9, 1e-9)
					numtest.NearAll(t, "derivatives", s, slopes[k], 1e-6, 1e-7*(1+hyper[0]))
				}
			}()
		}
	}
	if setAside[0] == 0 || setAside[1] == 0 || setAside[2] > 0 {
		t.Errorf("%v rows were left when others were set aside", setAside)
	}
}

// The methods for large problems satisfy the contract of a learner, but their fits may allocate.
func TestKernelSVMManyRowsContract(t *testing.T) {
	for at, way := range largeLimits {
		setLimits(t, way)
		intercept := at%2 == 0
		values := func() (learn.Learner, *SVM) {
			l := &SVM{Intercept: intercept}
			return &casetest.Predictions{P: l}, l
		}
		add := func(rows int, hyper ...float64) learntest.Case {
			return learntest.Case{Name: fmt.Sprintf("%v %dx2", way, rows), Data: casetest.ClassData(1, rows, 2), Hyper: hyper,
				Residual: kernelSVMResidual(values), ClassLabels: true, Step: 1e-4}
		}
		learntest.Learner(t, func() learn.Learner { l, _ := values(); return l }, add(30, 1, .4), add(6, 2, .4))
	}
}

// The methods for large problems also check their context.
func TestKernelSVMManyRowsContext(t *testing.T) {
	for _, way := range largeLimits {
		setLimits(t, way)
		for _, c := range []struct {
			intercept bool
			hyper     []float64
		}{{false, []float64{8, .3}}, {true, []float64{100, 2}}} {
			learntest.Contexts(t, func() learn.Learner { return &casetest.Predictions{P: &SVM{Intercept: c.intercept}} },
				learntest.Case{Data: casetest.ClassData(4, 60, 2), Hyper: c.hyper})
		}
	}
}

// Methods that set rows aside return the same derivatives and errors as methods that do not.
func TestKernelSVMManyRowsAtKinks(t *testing.T) {
	refused, problems := 0, numtest.Long(300)
	for trial := range problems {
		rng := rand.New(rand.NewPCG(5, uint64(trial)))
		rows, n := 6+rng.IntN(40), 1+rng.IntN(3)
		d := casetest.ClassData(rng.Uint64(), rows, n)
		if trial%3 == 0 { // ties
			d.Dense().Apply(func(_, _ int, v float64) float64 { return math.Round(2*v) / 2 }, d.Dense())
		}
		kernel, hyper := []Kernel{nil, Polynomial{Degree: 1}, Polynomial{Degree: 2}}[trial%3], []float64{math.Pow(10, 4*rng.Float64()-2), .2}
		if kernel != nil {
			hyper = []float64{.1 * hyper[0], .5, 1}
		}
		x := mat.NewDense(1, n, numtest.Normals(rng, n))
		derivative := func(way rowLimits) ([]float64, error) {
			was := limits
			limits = way
			defer func() { limits = was }()
			l := &SVM{Kernel: kernel, Intercept: trial%2 == 0}
			g := &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
			numtest.OK(t, l.Load(d), l.Fit(make([]float64, l.state.Params), hyper))
			err := l.PredictVJP(nil, g, nil, x, []float64{1})
			return slices.Concat(g.Hyper, g.X.RawMatrix().Data, g.Y), err
		}
		want, wantErr := derivative(limits)
		for _, way := range largeLimits {
			got, err := derivative(way)
			if errors.Is(err, qpdiff.ErrNotDifferentiable) != errors.Is(wantErr, qpdiff.ErrNotDifferentiable) {
				t.Errorf("%d: %v, without rows set aside %v", trial, err, wantErr)
			}
			if err != nil || wantErr != nil {
				refused++
				continue
			}
			numtest.NearAll(t, "derivatives", got, want, 1e-5, 1e-6*(1+hyper[0]))
		}
	}
	if refused == 0 || refused > 2*problems {
		t.Errorf("%d of %d derivatives are refused", refused, 3*problems)
	}
}

// The size of the cache of rows changes no bit.
func TestKernelSVMCacheChangesNoBit(t *testing.T) {
	d := casetest.ClassData(3, 150, 3)
	var want []float64
	for _, entries := range []int{0, 3000, 1 << 20} {
		setLimits(t, rowLimits{searchInterval: 20, cache: entries})
		l := &SVM{Intercept: true}
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, 1), []float64{30, .3}))
		if got := slices.Clone(l.q.beta); want == nil {
			want = got
		} else if !numtest.SameBits(got, want) {
			t.Errorf("with %d entries another β", entries)
		}
	}
}

// A fit returns an error if its factor exceeds MaxBytes even after the cache has shrunk.
func TestKernelSVMFactorBeyondMaxBytes(t *testing.T) {
	serial.Test(t)
	setLimits(t, rowLimits{searchInterval: 50, cache: 1 << 20})
	d := casetest.ClassData(3, 300, 3)
	hard, easy, theta := []float64{1e4, 1}, []float64{1e-3, .1}, make([]float64, 1)
	free := &SVM{Intercept: true}
	numtest.OK(t, free.Load(d), free.Fit(theta, hard))
	least, s := free.Bytes(d.Size()), len(free.q.freeSet)
	for _, c := range []struct {
		most int64
		want error
	}{{least + int64(8*s*s)*3/4, qpdiff.ErrTooLarge}, {least + int64(8*s*s)*5/4, nil}} {
		d.MaxBytes = c.most
		l := &SVM{Intercept: true}
		numtest.OK(t, l.Load(d), l.Fit(theta, easy))
		if err := l.Fit(theta, hard); !errors.Is(err, c.want) {
			t.Errorf("within %d bytes: %v", c.most, err)
		} else if err == nil && !numtest.SameBits(l.q.beta, free.q.beta) && !slices.Equal(l.q.freeSet, free.q.freeSet) {
			t.Error("a bound changes the solution")
		}
	}
	d.MaxBytes = least / 2
	if err := new(SVM).Load(d); !errors.Is(err, qpdiff.ErrTooLarge) {
		t.Errorf("within half of what Load counts: %v", err)
	}
}

// A fit returns an error if some kernel values are not finite, even if it evaluates them late.
func TestKernelSVMOpenRows(t *testing.T) {
	setLimits(t, rowLimits{searchInterval: 50, cache: 1 << 20})
	d := casetest.ClassData(3, 60, 2)
	d.Dense().Set(0, 0, 1e150)
	l := &SVM{Kernel: Polynomial{Degree: 2}, Intercept: true}
	numtest.OK(t, l.Load(d))
	for range 2 {
		if err := l.Fit(make([]float64, 1), []float64{1, 1, 0}); !errors.Is(err, qpdiff.ErrNotFinite) {
			t.Fatal(err)
		}
	}
}
