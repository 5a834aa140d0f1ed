package tune

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// Tune returns an error if MaxBytes is too small, and otherwise the same numbers as without a
// bound.
func TestMaxBytes(t *testing.T) {
	for _, l := range []learn.Learner{nil, &linear.ElasticNet{Groups: linear.PerFeature(3)}, &linear.Huber{Intercept: true}, &linear.Logistic{}, &linear.SparseLogistic{}, &margin.SVM{},
		&kernel.SVM{}, &kernel.Ridge{Intercept: true}} {
		d := casetest.Regression(3, 24, 3)
		for i := range d.Y {
			d.Y[i] = []float64{1, -1}[i%2]
		}
		tuner := Tuner{Learner: l, MaxEvals: 12, OuterFolds: 2, Folds: 3}
		want, err := tuner.Tune(t.Context(), d)
		casetest.OK(t, err)
		for _, bound := range []int64{1, 1000, want.Config.Bytes()} {
			tuner.MaxBytes = bound
			tuned, err := tuner.Tune(t.Context(), d)
			var arg *qpdiff.ArgError
			if !errors.Is(err, qpdiff.ErrTooLarge) || !errors.As(err, &arg) || tuned != nil || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes", bound)) || !strings.Contains(err.Error(), "24 rows × 3 features in 3 splits") {
				t.Errorf("%T, MaxBytes %d: %v", l, bound, err)
			}
		}
		tuner.MaxBytes = 4 * want.Config.Bytes()
		got, err := tuner.Tune(t.Context(), d)
		casetest.OK(t, err)
		if got.Loss != want.Loss || !reflect.DeepEqual(got.Risk, want.Risk) || !slices.Equal(got.Hyper, want.Hyper) {
			t.Errorf("%T: other numbers within MaxBytes", l)
		}
		tuner.MaxBytes, d.MaxBytes = 0, 1000
		if _, err := tuner.Tune(t.Context(), d); !errors.Is(err, qpdiff.ErrTooLarge) {
			t.Errorf("%T, Data.MaxBytes: %v", l, err)
		}
	}
}

// Tune omits the nested estimate if the two CVs of an outer fold need more than MaxBytes.
func TestMaxBytesOfOuterFolds(t *testing.T) {
	d := casetest.Regression(3, 400, 10)
	tuner := Tuner{Folds: 2, OuterFolds: 20, MaxEvals: 4} // of 380 rows each, and one fit to all of these
	want, err := tuner.Tune(t.Context(), d)
	casetest.OK(t, err)
	tuner.MaxBytes = want.Config.Bytes() + 8*400*10
	got, err := tuner.Tune(t.Context(), d)
	casetest.OK(t, err)
	if want.Risk == nil || got.Risk != nil || got.Loss != want.Loss {
		t.Errorf("the risk is %v within MaxBytes, and %v without", got.Risk, want.Risk)
	}
	if k := slices.IndexFunc(got.Warnings, func(w Warning) bool { return w.Kind == NoRisk }); k < 0 || !strings.Contains(got.Warnings[k].Text, "MaxBytes") {
		t.Errorf("the warnings are %v", got.Warnings)
	}
	// The nested estimate reuses the memory of the search, so MaxBytes need not cover both.
	tuner.MaxBytes = 2 * want.Config.Bytes()
	if got, err = tuner.Tune(t.Context(), d); err != nil || got.Risk == nil {
		t.Errorf("without an estimate for twice the memory of the search: %v", err)
	}
}

func TestMaxBytesIsRefused(t *testing.T) {
	d := casetest.Regression(3, 24, 3)
	if _, err := (Tuner{MaxBytes: -1}).Tune(t.Context(), d); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("a negative bound: %v", err)
	}
	defer memory.SetDefault(memory.SetDefault(1000))
	if _, err := (Tuner{}).Tune(t.Context(), d); !errors.Is(err, qpdiff.ErrTooLarge) {
		t.Errorf("the default: %v", err)
	}
	d.X = mat.DenseCopyOf(d.X.T()).T()
	if _, err := (Tuner{MaxBytes: 8*24*3 - 1}).Tune(t.Context(), d); !errors.Is(err, qpdiff.ErrTooLarge) {
		t.Errorf("the copy of a transposed matrix: %v", err)
	}
}

// A search uses at most the memory that Config.Bytes returns.
func TestBytesHeldByTune(t *testing.T) {
	serial.Test(t)
	var text strings.Builder
	text.WriteString("y")
	const rows, columns = 60, 90 // no working sets, which grow
	for j := range columns {
		fmt.Fprintf(&text, ",c%d", j)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range rows {
		fmt.Fprintf(&text, "\n%.4f", rng.NormFloat64())
		for range columns {
			fmt.Fprintf(&text, ",%.4f", rng.NormFloat64())
		}
	}
	data := casetest.Must(table.ReadCSV(strings.NewReader(text.String()), "y"))(t)
	heldByTune(t, data, Tuner{})
	// The strong penalties keep the working sets small.
	strong := []learn.Hyperparameter{{Name: "λ1", Lower: .2, Default: .3, Upper: .4}, {Name: "λ2", Lower: .1, Default: .2, Upper: .3}}
	heldByTune(t, readLevels(t, levelsText(rng, 3000, 4, 300)), Tuner{Hyper: strong})
}

// heldByTune checks that Config.Bytes is 1 to 2.5 times the memory that a search uses.
func heldByTune(t *testing.T, data *table.Table, tuner Tuner) {
	t.Helper()
	most, start := uint64(0), uint64(0)
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	start = held()
	tuner.OuterFolds, tuner.MaxEvals, tuner.Workers = -1, 40, 1
	tuner.Progress = func(Progress) { most = max(most, held()) }
	tuned, err := tuner.TuneTable(t.Context(), data)
	casetest.OK(t, err)
	if need, got := float64(tuned.Config.Bytes()), float64(most-start); need < got || need > 2.5*got {
		t.Errorf("counts %.0f bytes, and holds %.0f", need, got)
	}
}

// Tune returns an error if a working set exceeds MaxBytes, because the choice of another point
// would depend on the memory.
func TestWorkingSetsBeyondMaxBytes(t *testing.T) {
	d := casetest.Regression(3, 30, 1500)
	tuner := Tuner{OuterFolds: -1, MaxEvals: 9, Folds: 3}
	want, err := tuner.Tune(t.Context(), d)
	casetest.OK(t, err)
	tuner.MaxBytes = want.Config.Bytes() + 8*30*1500
	if got, err := tuner.Tune(t.Context(), d); !errors.Is(err, qpdiff.ErrTooLarge) || got != nil {
		t.Errorf("with no bytes for sets to grow: %v", err)
	}
	tuner.MaxBytes *= 8
	got, err := tuner.Tune(t.Context(), d)
	casetest.OK(t, err)
	if got.Loss != want.Loss || !slices.Equal(got.Hyper, want.Hyper) {
		t.Error("other numbers within MaxBytes")
	}
}

// greedyLearner is an elastic net. For a given number of examples, Fit returns ErrTooLarge if
// At(λ1) is true.
type greedyLearner struct {
	linear.ElasticNet
	Examples int
	At       func(l1 float64) bool
	n        int
}

func (l *greedyLearner) New() learn.Learner { return &greedyLearner{Examples: l.Examples, At: l.At} }

func (l *greedyLearner) Load(d learn.Data) error {
	l.n = len(d.Y)
	return l.ElasticNet.Load(d)
}

func (l *greedyLearner) Fit(theta, hyper []float64) error {
	if l.n == l.Examples && l.At(hyper[0]) {
		return qpdiff.ErrTooLarge
	}
	return l.ElasticNet.Fit(theta, hyper)
}

// Too little memory causes an error in the final fit, but only a warning in the nested estimate.
func TestTooLittleMemoryAfterTheSearch(t *testing.T) {
	const lowest, usual = .02, .3 // of λ1, and its default
	d := casetest.Regression(3, 40, 3)
	hyper := []learn.Hyperparameter{{Name: "λ1", Lower: 1e-3, Default: usual, Upper: 1}, {Name: "λ2", Lower: 1e-3, Default: .1, Upper: 1}}
	tune := func(examples int, at func(l1 float64) bool) (*Tuned, error) {
		return Tuner{Learner: &greedyLearner{Examples: examples, At: at}, Hyper: hyper, Loss: cvgm.SquaredError{}, OuterFolds: 4}.Tune(t.Context(), d)
	}
	want, err := tune(0, nil)
	casetest.OK(t, err)
	if want.Hyper[0] > lowest || want.Risk == nil {
		t.Fatalf("λ1 ends at %v, risk %v", want.Hyper[0], want.Risk)
	}
	atLowest, atDefault := func(l1 float64) bool { return l1 <= lowest }, func(l1 float64) bool { return l1 == usual }
	if got, err := tune(40, atLowest); !errors.Is(err, qpdiff.ErrTooLarge) || got != nil {
		t.Errorf("the model needs too much: %v, %v", got, err)
	}
	for name, at := range map[string]func(float64) bool{"tuned": atLowest, "default": atDefault} {
		got, err := tune(30, at) // of an outer fold
		if err != nil || got.Risk != nil || got.Loss != want.Loss || !slices.ContainsFunc(got.Warnings, func(w Warning) bool { return w.Kind == NoRisk }) {
			t.Errorf("the %s model of an outer fold needs too much: %v, %v", name, got, err)
		}
	}
}
