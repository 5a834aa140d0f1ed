package learntest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/memory"
	"cvgm/qpdiff/penalised"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// sizedLearners lists all learners, and the factor by which their counted bytes may exceed the
// memory of a fit.
var sizedLearners = []struct {
	name   string
	fresh  func() learn.SizedLearner
	hyper  []float64
	factor float64
}{
	// Two of the four counted n×n matrices are allocated only if a coordinate is weakly active.
	{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, []float64{.05, .1}, 2.6},
	{"elastic net, weakly active", func() learn.SizedLearner { return &linear.ElasticNet{Generalised: true} }, nil, 1.5},
	// One of the four counted matrices is used only if a row is weakly active.
	{"Huber", func() learn.SizedLearner { return &linear.Huber{Intercept: true} }, []float64{.05, .4}, 2},
	// Bytes counts two points and two factors, but a usual fit allocates one point and one factor.
	{"logistic", func() learn.SizedLearner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, []float64{1.5}, 2},
	// Bytes allows for a working set of all features, but this working set has a third of them.
	{"sparse logistic", func() learn.SizedLearner { return &linear.SparseLogistic{Intercept: true} }, []float64{.03, .2}, 5},
	// Three of seven.
	{"SVM", func() learn.SizedLearner { return new(margin.SVM) }, []float64{.03, .2}, 1.8},
	{"learned loss", func() learn.SizedLearner { return new(margin.LearnedLoss) }, []float64{.3, .2, .1, .4, .3}, 1.8},
	// Two of the three counted matrices are factors of the free rows, and there may be few free
	// rows.
	{"kernel SVM", func() learn.SizedLearner { return &kernel.SVM{Intercept: true} }, []float64{.8, .4}, 3.1},
	{"kernel ridge", func() learn.SizedLearner { return &kernel.Ridge{Intercept: true} }, []float64{.1, .4}, 1.5},
	{"kernel ridge, ARD", func() learn.SizedLearner {
		return &kernel.Ridge{Kernel: kernel.ARD{Shape: kernel.Matern32}, Intercept: true}
	}, []float64{.1, .4, .4, .4}, 1.5}, // of 3 features, and more of the last one
	{"penalised", func() learn.SizedLearner {
		return &penalised.GLM{Loss: penalised.Logistic, Intercept: true}
	}, []float64{.1}, 1.5},
	{"penalised, squared", func() learn.SizedLearner { return new(penalised.GLM) }, []float64{.1}, 1.5},
	{"smooth", func() learn.SizedLearner {
		return &smooth.Learner{Objective: casetest.LinearModel(casetest.PseudoHuber)}
	}, []float64{.1}, 1.5},
}

// heldNoise bounds the error of numtest.HeldBy in bytes. Other goroutines also allocate and free
// memory.
const heldNoise = 1 << 10

// numtest.HeldBy returns the same number of bytes if threads start at the same time.
func TestHeldBy(t *testing.T) {
	const size = 8 << 10
	var held []byte
	release := make(chan bool)
	threads, _ := runtime.ThreadCreateProfile(nil)
	defer close(release)
	got := numtest.HeldBy(func() { held = nil }, func() {
		for ; threads >= 0; threads-- { // one goroutine more than threads, each of which keeps its own
			locked := make(chan bool)
			go func() {
				runtime.LockOSThread()
				locked <- true
				<-release
				runtime.UnlockOSThread()
			}()
			<-locked
		}
		held = make([]byte, size)
	})
	if runtime.KeepAlive(held); got < size-heldNoise || got > size+heldNoise {
		t.Errorf("%d bytes are %d", size, got)
	}
}

// someCases returns the first shortCount cases in a test with -short, because bytes are the same on
// all processors.
func someCases[T any](cases []T, shortCount int) []T {
	if testing.Short() {
		return cases[:shortCount]
	}
	return cases
}

// Bytes counts at least the memory that a learner holds, and at most a small multiple.
func TestBytes(t *testing.T) {
	serial.Test(t)
	defer ways.SetGramFeatures(ways.SetGramFeatures(1000))
	for _, c := range sizedLearners {
		for _, size := range someCases([][2]int{{12, 3}, {60, 150}, {400, 40}, {150, 150}, {500, 4}, {20_000, 3}}, 2) {
			if size[0] > 1000 && strings.HasPrefix(c.name, "kernel") {
				continue // their matrices are N × N
			}
			for _, weighted := range []bool{false, true} {
				d := casetest.ClassData(1, size[0], size[1])
				if weighted {
					if c.name == "smooth" {
						continue
					}
					d.Weights = slices.Repeat([]float64{1, 2}, (size[0]+1)/2)[:size[0]]
				}
				hyper := c.hyper
				var l learn.SizedLearner
				var w *qpdiff.Workspace
				p, h := c.fresh().Dims(size[1])
				if hyper == nil { // the smallest λ1 at which θ is 0
					hyper = []float64{largestSlope(d), .1}
				}
				for len(hyper) < h {
					hyper = append(slices.Clone(hyper), hyper[len(hyper)-1])
				}
				theta, g := make([]float64, p), casetest.NewGrad(d, h)
				s := d.Size()
				v := slices.Repeat([]float64{1}, p)
				held := numtest.HeldBy(func() { l, w = c.fresh(), new(qpdiff.Workspace) }, func() {
					numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
					if k, ok := l.(learn.Predictor); ok {
						s.Predicted = size[0]
						ddst := slices.Repeat([]float64{1}, size[0])
						numtest.OK(t, k.Predict(w, ddst, d.Dense()), k.PredictVJP(w, g, nil, d.Dense(), ddst))
						return
					}
					numtest.OK(t, l.VJP(w, g, v))
				})
				const structs = 5 << 10 // outweighs small data
				if need := l.Bytes(s); need < held-heldNoise || float64(need) > c.factor*float64(held)+structs {
					t.Errorf("%s, %d × %d, weighted %v: counts %d bytes and holds %d, a factor of %.2f", c.name, size[0], size[1], weighted, need, held, float64(need)/float64(held))
				}
				runtime.KeepAlive(l)
				runtime.KeepAlive(w)
			}
		}
	}
}

// On a sparse X, Bytes counts at least the memory that a learner holds, and at most a small
// multiple.
func TestBytesOfStored(t *testing.T) {
	serial.Test(t)
	for _, most := range []int{5000, 0} {
		defer ways.SetSparseFeatures(ways.SetSparseFeatures(most))
		for _, c := range []struct {
			name   string
			fresh  func() learn.SizedLearner
			hyper  []float64 // for few features, if a set grows
			factor float64
		}{
			{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, []float64{.3, .1}, 3},
			{"logistic", func() learn.SizedLearner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, []float64{1.5}, 3},
			{"sparse logistic", func() learn.SizedLearner { return &linear.SparseLogistic{Intercept: true} }, []float64{.15, .1}, 4},
		} {
			for _, size := range someCases([][2]int{{12, 3}, {60, 400}, {4000, 40}, {300, 300}}, 2) {
				for _, weighted := range []bool{false, true} {
					rng := rand.New(rand.NewPCG(1, 36))
					rows, n := size[0], size[1]
					d := learn.Data{X: numtest.DrawStored(rng, rows, n), Y: numtest.Normals(rng, rows), Centre: make([]float64, n)}
					for i, y := range d.Y {
						d.Y[i] = math.Copysign(1, y)
					}
					if weighted {
						d.Weights = slices.Repeat([]float64{1, 2}, rows/2)
					}
					var l learn.SizedLearner
					var w *qpdiff.Workspace
					p, h := c.fresh().Dims(n)
					theta, g := make([]float64, p), &learn.Grad{Hyper: make([]float64, h), Stored: make([]float64, d.Stored()), Y: make([]float64, rows)}
					v := slices.Repeat([]float64{1}, p)
					held := numtest.HeldBy(
						func() { l, w = c.fresh(), new(qpdiff.Workspace) },
						func() { numtest.OK(t, l.Load(d), l.Fit(theta, c.hyper), l.VJP(w, g, v)) })
					const structs = 48 << 10 // with the steps of conjugate gradients; outweighs small data
					if need := l.Bytes(d.Size()); need < held-heldNoise || float64(need) > c.factor*float64(held)+structs {
						t.Errorf("%s, %d × %d, weighted %v, factors up to %d: counts %d bytes and holds %d, a factor of %.2f", c.name, rows, n, weighted, most, need, held, float64(need)/float64(held))
					}
					runtime.KeepAlive(l)
					runtime.KeepAlive(w)
				}
			}
		}
	}
}

// largestSlope returns the largest |x_jᵀy|/N.
func largestSlope(d learn.Data) (most float64) {
	rows, n := d.X.Dims()
	for j := range n {
		var sum, total float64
		for i := range rows {
			c := 1.
			if d.Weights != nil {
				c = d.Weights[i]
			}
			sum += c * d.X.At(i, j) * d.Y[i]
			total += c
		}
		most = max(most, math.Abs(sum)/total)
	}
	return most
}

// Fit returns an error if the memory that grows during the fit exceeds MaxBytes.
func TestBytesOfFits(t *testing.T) {
	serial.Test(t)
	type fits struct {
		name    string
		fresh   func() learn.SizedLearner
		rows, n int
		hyper   []float64
		small   []float64 // hyperparameters for which Load's count is enough
		factor  float64   // see sizedLearners
	}
	for _, c := range someCases([]fits{
		// Almost all features are in the set.
		{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, 40, 1000, []float64{.001, .5}, []float64{100, .5}, 2},
		{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, 20, 5000, []float64{.001, .5}, []float64{100, .5}, 2},
		// With many more features than rows, the support is limited by the rows, so a large Gram
		// matrix is released.
		{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, 600, 300, []float64{.001, .5}, []float64{100, .5}, 2},
		{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, 300, 500, []float64{.001, .5}, []float64{100, .5}, 2},
		{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, 2000, 250, []float64{.001, .5}, []float64{100, .5}, 2},
		{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, 300, 1200, []float64{.001, .5}, []float64{100, .5}, 2},
		{"elastic net", func() learn.SizedLearner { return new(linear.ElasticNet) }, 250, 700, []float64{.001, .5}, []float64{100, .5}, 2},
		{"sparse logistic", func() learn.SizedLearner { return new(linear.SparseLogistic) }, 40, 1000, []float64{.001, .5}, []float64{100, .5}, 2},
		// Penalties too small for systems with one unknown for each row.
		{"Huber", func() learn.SizedLearner { return new(linear.Huber) }, 30, 300, []float64{1e-11, .5}, []float64{.1, .5}, 2},
		{"Huber", func() learn.SizedLearner { return new(linear.Huber) }, 250, 300, []float64{1e-11, .5}, []float64{.1, .5}, 2},
		{"logistic", func() learn.SizedLearner { return new(linear.Logistic) }, 250, 300, []float64{1e11}, []float64{1}, 2},
		{"logistic", func() learn.SizedLearner { return new(linear.Logistic) }, 30, 300, []float64{1e10}, []float64{1}, 2},
	}, 2) {
		d := casetest.ClassData(1, c.rows, c.n)
		g := casetest.NewGrad(d, len(c.hyper))
		theta := make([]float64, c.n)
		var l learn.SizedLearner
		var w *qpdiff.Workspace
		begin := func() { l, w = c.fresh(), new(qpdiff.Workspace) }
		fit := func() {
			numtest.OK(t, l.Load(d), l.Fit(theta, c.hyper), l.VJP(w, g, theta))
		}
		held := numtest.HeldBy(begin, fit)
		// The least bound at which the fit succeeds is its count.
		low, high := int64(1), 16*held
		for high-low > held/100 {
			d.MaxBytes = (low + high) / 2
			l, got := c.fresh(), make([]float64, c.n)
			err := l.Load(d)
			if err == nil {
				err = l.Fit(got, c.hyper)
			}
			switch {
			case err == nil && !slices.Equal(got, theta):
				t.Fatalf("%s, %d × %d: other bits within %d bytes", c.name, c.rows, c.n, d.MaxBytes)
			case err == nil:
				high = d.MaxBytes
			case !errors.Is(err, qpdiff.ErrTooLarge):
				t.Fatalf("%s: %v", c.name, err)
			default:
				low = d.MaxBytes
				if err := l.Fit(got, c.small); d.MaxBytes > l.Bytes(d.Size()) && err != nil {
					t.Errorf("%s, %d × %d: a small fit is refused after a large one: %v", c.name, c.rows, c.n, err)
				}
			}
		}
		d.MaxBytes, l, w = high, nil, nil
		held = numtest.HeldBy(begin, fit) // less than before, if a working set has outgrown a matrix, which was then released
		if high < held-heldNoise || float64(high) > c.factor*float64(held) {
			t.Errorf("%s, %d × %d: counts %d bytes and holds %d, a factor of %.2f", c.name, c.rows, c.n, high, held, float64(high)/float64(held))
		}
		if need := l.Bytes(d.Size()); need > held+heldNoise {
			t.Errorf("%s, %d × %d: Load counts %d bytes where the fit holds %d", c.name, c.rows, c.n, need, held)
		}
		runtime.KeepAlive(w)
	}
}

// A MaxBytes that suffices for a new learner also suffices after fits with another support.
func TestBytesOfOneSetAfterAnother(t *testing.T) {
	serial.Test(t)
	const n = 1000
	d, groups := casetest.RandomData(1, 60, n, false), make([]int, n)
	for j := range n / 2 {
		groups[j] = 1
	}
	hypers := [][]float64{{.001, 100, .5, .5}, {100, .001, .5, .5}} // features of one group alone
	fit := func(l *linear.ElasticNet, hyper []float64) ([]float64, error) {
		theta := make([]float64, n)
		return theta, l.Fit(theta, hyper)
	}
	alone := func(hyper []float64) ([]float64, error) {
		l := &linear.ElasticNet{Groups: groups}
		numtest.OK(t, l.Load(d))
		return fit(l, hyper)
	}
	low, high := new(linear.ElasticNet).Bytes(d.Size()), int64(1e9)
	for high-low > 100 {
		d.MaxBytes = (low + high) / 2
		_, err0 := alone(hypers[0])
		_, err1 := alone(hypers[1])
		if err := errors.Join(err0, err1); err == nil {
			high = d.MaxBytes
		} else {
			low = d.MaxBytes
		}
	}
	d.MaxBytes = high
	bounded, free := &linear.ElasticNet{Groups: groups}, &linear.ElasticNet{Groups: groups}
	numtest.OK(t, bounded.Load(d))
	d.MaxBytes = math.MaxInt64
	numtest.OK(t, free.Load(d))
	for k := range 6 {
		got, err := fit(bounded, hypers[k%2])
		want, e := fit(free, hypers[k%2])
		if err != nil || e != nil || !slices.Equal(got, want) {
			t.Errorf("fit %d: %v, %v; other bits within a bound: %v", k, err, e, !slices.Equal(got, want))
		}
	}
}

// Load or Fit returns an error before it allocates too much, and the learner can load smaller data
// later.
func TestTooLarge(t *testing.T) {
	serial.Test(t)
	small, large := casetest.ClassData(1, 12, 3), casetest.ClassData(2, 400, 150)
	for _, c := range sizedLearners {
		if c.hyper == nil {
			continue
		}
		l := c.fresh()
		p, _ := l.Dims(3)
		theta := make([]float64, p)
		large.MaxBytes = l.Bytes(large.Size()) - 1
		var err error
		if held := numtest.HeldBy(func() {}, func() { err = l.Load(large) }); held > large.MaxBytes/4 {
			t.Errorf("%s: %d bytes are held after the error", c.name, held)
		}
		var arg *qpdiff.ArgError
		if !errors.Is(err, qpdiff.ErrTooLarge) || !errors.As(err, &arg) {
			t.Fatalf("%s: a Load beyond MaxBytes returns %v", c.name, err)
		}
		for _, part := range []string{fmt.Sprint(large.MaxBytes), fmt.Sprint(large.MaxBytes + 1), "400 rows × 150 features", "MaxBytes"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not name %q: %v", c.name, part, err)
			}
		}
		if err := l.Fit(theta, c.hyper); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Errorf("%s: a Fit after the error returns %v", c.name, err)
		}
		numtest.OK(t, l.Load(small), l.Fit(theta, c.hyper))
		large.MaxBytes++
		numtest.OK(t, l.Load(large))
		large.MaxBytes = -1
		if err := l.Load(large); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%s: a negative MaxBytes returns %v", c.name, err)
		}
		old := memory.SetDefault(100)
		large.MaxBytes = 0
		if err := l.Load(large); !errors.Is(err, qpdiff.ErrTooLarge) {
			t.Errorf("%s: a Load beyond the default returns %v", c.name, err)
		}
		memory.SetDefault(old)
		// A matrix of another kind is copied.
		large.MaxBytes = l.Bytes(large.Size())
		other := large
		other.X = mat.DenseCopyOf(large.X.T()).T()
		if err := l.Load(other); !errors.Is(err, qpdiff.ErrTooLarge) {
			t.Errorf("%s: the copy of a transposed matrix is not counted: %v", c.name, err)
		}
		if need := l.Bytes(learn.Size{Rows: math.MaxInt, Features: math.MaxInt, Counting: math.MaxInt}); need != math.MaxInt64 {
			t.Errorf("%s: the largest sizes count %d bytes", c.name, need)
		}
	}
}

// The inverse of a leave-one-out fit is counted only if it is needed.
func TestLeaveOneOutTooLarge(t *testing.T) {
	d := casetest.RandomData(1, 200, 3, false)
	var l kernel.Ridge
	d.MaxBytes = l.Bytes(d.Size())
	dst := make([]float64, 200)
	numtest.OK(t, l.Load(d))
	if err := l.LeaveOneOut(dst, []float64{.1, .4}); !errors.Is(err, qpdiff.ErrTooLarge) {
		t.Errorf("LeaveOneOut beyond MaxBytes returns %v", err)
	}
	s := d.Size()
	s.LeaveOneOut = true
	d.MaxBytes = l.Bytes(s)
	g := casetest.NewGrad(d, 2)
	var w *qpdiff.Workspace
	held := numtest.HeldBy(
		func() { l, w = kernel.Ridge{}, new(qpdiff.Workspace) },
		func() {
			numtest.OK(t, l.Load(d), l.LeaveOneOut(dst, []float64{.1, .4}), l.LeaveOneOutVJP(w, g, nil, dst))
		})
	if need := float64(l.Bytes(s)); need < float64(held) || need > 1.5*float64(held) {
		t.Errorf("counts %v bytes and holds %d", need, held)
	}
	runtime.KeepAlive(w)
	const rows, matrices = 5000, 2.7 // the kernel matrix, the inverse, and the triangle from which it is computed
	if need := float64(l.Bytes(learn.Size{Rows: rows, Features: 10, Counting: rows, LeaveOneOut: true})); need > matrices*8*rows*rows {
		t.Errorf("%d rows count %v bytes", rows, need)
	}
}
