package cvgm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// memoryCase is a CV whose memory is measured.
type memoryCase struct {
	name    string
	rows, n int
	signs   bool
	change  func(c *Config)
	alpha   []float64
	// maxRatio bounds the ratio of Bytes to the memory that the CV holds. Bytes also counts storage
	// that only kinks and Final need.
	maxRatio float64
}

var memoryCases = []memoryCase{
	{"elastic net", 120, 60, false, func(c *Config) {
		c.Learner = func() learn.Learner { return new(linear.ElasticNet) }
		c.Standardise, c.Centring = true, MeanCentring
	}, []float64{.1, .1}, 2.3},
	{"elastic net, working sets, few in them", 60, 2000, false, func(c *Config) {
		c.Learner = func() learn.Learner { return new(linear.ElasticNet) }
		c.Standardise, c.Centring = true, MeanCentring
	}, []float64{20, .1}, 2.4}, // vectors of the whole support are counted
	{"weights", 300, 20, false, func(c *Config) {
		c.Learner = func() learn.Learner { return new(linear.Huber) }
		c.Data.Weights = slices.Repeat([]float64{1, 2}, 150)
	}, []float64{.1, 1}, 1.6},
	{"logistic, whole", 400, 12, true, func(c *Config) {
		c.Learner = func() learn.Learner { return new(linear.Logistic) }
		c.Loss = LogisticLoss{}
	}, []float64{1}, 1.9},
	{"logistic, network", 400, 12, true, func(c *Config) {
		c.Learner = func() learn.Learner { return new(linear.Logistic) }
		c.Loss, c.Features, c.Hyper = LogisticLoss{}, &Perceptron{Widths: []int{12, 16, 8}}, []float64{1}
	}, nil, 1.9},
	{"SVM, linear map", 150, 12, true, func(c *Config) {
		c.Learner = func() learn.Learner { return new(margin.SVM) }
		c.Loss, c.Features, c.Hyper, c.Standardise = LogisticLoss{}, &LinearMap{In: 12, Out: 6}, []float64{.05, .1}, true
	}, nil, 1.9},
	{"kernel SVM", 150, 4, true, func(c *Config) {
		c.Learner = func() learn.Learner { return new(kernel.SVM) }
		c.Loss = LogisticLoss{}
	}, []float64{1, .2}, 3}, // factors of all rows are counted
	{"kernel ridge, five folds", 200, 4, false, func(c *Config) {
		c.Learner = func() learn.Learner { return new(kernel.Ridge) }
	}, []float64{.1, .2}, 2.6}, // the memory of a fit of all rows is counted
	{"kernel ridge, random splits with a learned map", 200, 4, false, func(c *Config) {
		c.Learner = func() learn.Learner { return new(kernel.Ridge) }
		c.Features, c.Hyper = &LinearMap{In: 4, Out: 2}, []float64{.1, .2}
		c.Splits, _ = RandomSplits(rand.New(rand.NewPCG(1, 2)), 200, 12, .7)
	}, nil, 2.4},
	{"kernel ridge, weights", 200, 4, false, func(c *Config) {
		c.Learner = func() learn.Learner { return new(kernel.Ridge) }
		for i := range 200 {
			c.Data.Weights = append(c.Data.Weights, float64(1+i%7))
		}
	}, []float64{.1, .2}, 2.2},
	{"kernel ridge, leave one out", 200, 4, false, func(c *Config) {
		c.Learner = func() learn.Learner { return new(kernel.Ridge) }
		c.Splits = nil
		for i := range 200 {
			c.Splits = append(c.Splits, Split{Train: slices.DeleteFunc(rowsUpTo(200), func(k int) bool { return k == i }), Val: []int{i}})
		}
	}, []float64{.1, .2}, 2.2},
}

func rowsUpTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// config returns the configuration, and α.
func (m memoryCase) config(t *testing.T) (Config, []float64) {
	d := casetest.Regression(5, m.rows, m.n)
	if m.signs {
		for i, y := range d.Y {
			d.Y[i] = math.Copysign(1, y)
		}
	}
	c := Config{Data: d, Splits: casetest.Must(KFold(rand.New(rand.NewPCG(1, 2)), m.rows, 5))(t), Loss: SquaredError{}, Generalised: true, Workers: 1}
	m.change(&c)
	alpha := m.alpha
	if c.Features != nil {
		alpha = make([]float64, c.Features.NumParams())
		for i := range alpha {
			alpha[i] = math.Sin(float64(i + 1))
		}
	}
	return c, alpha
}

// Config.Bytes is at least the memory of a CV and at most maxRatio times as large. New refuses a CV
// that needs more than MaxBytes.
func TestBytes(t *testing.T) {
	serial.Test(t)
	for _, m := range memoryCases {
		c, alpha := m.config(t)
		var cv *CV
		var loss float64
		grad := make([]float64, len(alpha))
		var before, after runtime.MemStats
		for _, s := range []*runtime.MemStats{&before, &after} {
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(s)
			if s == &before {
				var err error
				if cv, err = New(c); err == nil {
					loss, err = cv.Eval(grad, alpha)
				}
				casetest.OK(t, err)
			}
		}
		held, need := int64(after.HeapAlloc)-int64(before.HeapAlloc), c.Bytes()
		if need < held || float64(need) > m.maxRatio*float64(held) {
			t.Errorf("%s: counts %d bytes and holds %d, a factor of %.2f", m.name, need, held, float64(need)/float64(held))
		}
		runtime.KeepAlive(cv)
		for _, bound := range []int64{need, need * 100} {
			c.MaxBytes = bound
			cv := casetest.Must(New(c))(t)
			again := make([]float64, len(alpha))
			got, err := cv.Eval(again, alpha)
			if err != nil || got != loss || !slices.Equal(again, grad) {
				t.Errorf("%s: the loss is %v with MaxBytes %d and %v without (%v)", m.name, got, bound, loss, err)
			}
			if _, err := cv.Final(alpha); err != nil {
				t.Errorf("%s: Final: %v", m.name, err)
			}
		}
		for _, bound := range []int64{1, need - 1} {
			c.MaxBytes = bound
			_, err := New(c)
			wantTooLarge(t, m.name, err, fmt.Sprint(need), fmt.Sprint(bound), fmt.Sprintf("%d rows × %d features in %d splits", m.rows, c.width(), len(c.Splits)), "MaxBytes")
			c.MaxBytes, c.Data.MaxBytes = 0, bound
			_, err = New(c)
			wantTooLarge(t, m.name+", Data.MaxBytes", err)
			c.Data.MaxBytes = 0
		}
	}
}

// wantTooLarge tests an error of kind ErrTooLarge, whose text has these parts.
func wantTooLarge(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	var arg *qpdiff.ArgError
	if !errors.Is(err, qpdiff.ErrTooLarge) || !errors.As(err, &arg) {
		t.Errorf("%s: the error is %v", what, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: the error lacks %q: %v", what, part, err)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	c, alpha := memoryCases[0].config(t)
	c.MaxBytes = -1
	if _, err := New(c); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("a negative MaxBytes gives %v", err)
	}
	c.MaxBytes, c.Data.MaxBytes = 0, -1
	if _, err := New(c); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("a negative Data.MaxBytes gives %v", err)
	}
	c.Data.MaxBytes = 0
	old := memory.SetDefault(1000)
	_, err := New(c)
	memory.SetDefault(old)
	wantTooLarge(t, "the default", err)
	// A matrix of another kind is copied.
	other := c
	other.Data.X = mat.DenseCopyOf(c.Data.X.T()).T()
	if other.Bytes() != c.Bytes()+8*120*60 {
		t.Errorf("a transposed matrix needs %d bytes and its copy %d", other.Bytes(), c.Bytes())
	}
	other.MaxBytes = 8*120*60 - 1
	_, err = New(other)
	wantTooLarge(t, "a transposed matrix", err)
	// Gradients in the data need additional memory.
	c.MaxBytes = c.Bytes()
	cv := casetest.Must(New(c))(t)
	dx, dy := mat.NewDense(120, 60, nil), make([]float64, 120)
	loss, err := cv.DataGradient(dx, dy, alpha)
	wantTooLarge(t, "DataGradient", err)
	if loss == loss || dx.At(0, 0) == dx.At(0, 0) || dy[0] == dy[0] {
		t.Error("DataGradient returns numbers with the error")
	}
	if _, err := cv.Eval(nil, alpha); err != nil {
		t.Errorf("Eval after it: %v", err)
	}
	// The Bytes of an incomplete Config are 0.
	if n := (Config{Data: c.Data}).Bytes() + (Config{Learner: c.Learner}).Bytes(); n != 0 {
		t.Errorf("an incomplete Config counts %d bytes", n)
	}
	// Numbers beyond int64.
	c.Splits = slices.Repeat(c.Splits, 5000)
	c.Learner = func() learn.Learner { return huge{new(linear.ElasticNet)} }
	if c.Bytes() != math.MaxInt64 {
		t.Errorf("a CV that cannot be counted counts %d bytes", c.Bytes())
	}
	c.MaxBytes = 0
	_, err = New(c)
	wantTooLarge(t, "an overflow of the count", err, "2⁶³")
}

// The method Bytes of the type huge returns the largest int64.
type huge struct{ *linear.ElasticNet }

func (huge) Bytes(learn.Size) int64 { return math.MaxInt64 }

// Bytes counts the memory of the method that evaluates leave-one-out splits: all splits at once, or
// single fits.
func TestLeaveOneOutMaxBytes(t *testing.T) {
	m := memoryCases[len(memoryCases)-1]
	c, alpha := m.config(t)
	c.MaxBytes = c.Bytes()
	cv := casetest.Must(New(c))(t)
	if _, err := cv.Eval(nil, alpha); err != nil {
		t.Fatal(err)
	}
	equal := c
	equal.Data.X = mat.NewDense(m.rows, m.n, nil) // the kernel matrix is singular
	cv = casetest.Must(New(equal))(t)
	_, err := cv.Eval(nil, []float64{0, .2})
	wantTooLarge(t, "one by one", err, "200 splits")
}

// If a working set outgrows its share of MaxBytes, its split returns the error.
func TestWorkingSetMaxBytes(t *testing.T) {
	c, _ := memoryCases[1].config(t)
	c.MaxBytes = c.Bytes()
	cv := casetest.Must(New(c))(t)
	_, err := cv.Eval(nil, []float64{1e-3, 1e-3})
	share := fmt.Sprintf("Config.MaxBytes, %d, leaves to it as one of 6 learners", c.MaxBytes)
	wantTooLarge(t, "a large model", err, "split ", share)
	_, final := cv.Final([]float64{1e-3, 1e-3})
	wantTooLarge(t, "the model of all examples", final, share)
	var split *SplitError
	if !errors.As(err, &split) {
		t.Errorf("the error names no split: %v", err)
	}
	if _, err := cv.Eval(nil, []float64{20, .1}); err != nil {
		t.Errorf("a small model after it: %v", err)
	}
}

// A MaxBytes that suffices for the splits also suffices for Final, whose model has more rows.
func TestShareOfFinal(t *testing.T) {
	serial.Test(t)
	c, _ := memoryCases[1].config(t)
	alpha := []float64{1e-3, 1e-3}
	low, high := c.Bytes(), 100*c.Bytes()
	var cv *CV
	for high-low > low/100 {
		c.MaxBytes = (low + high) / 2
		bounded := casetest.Must(New(c))(t)
		if _, err := bounded.Eval(nil, alpha); err == nil {
			cv, high = bounded, c.MaxBytes
		} else {
			low = c.MaxBytes
		}
	}
	if _, err := cv.Final(alpha); err != nil {
		t.Errorf("within %d bytes, which suffice for the splits: %v", high, err)
	}
}
