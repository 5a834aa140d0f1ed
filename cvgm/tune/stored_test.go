package tune_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// A search on a sparse matrix ends at the same CV loss as a search on its dense copy.
func TestTuneStoredEqualsDense(t *testing.T) {
	const near = 1e-6 // of the constant prediction's loss
	for _, learner := range []learn.Learner{new(linear.ElasticNet), &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, &linear.SparseLogistic{Intercept: true}} {
		d := oneHotClasses(240, 4, 6)
		if _, regression := learner.(*linear.ElasticNet); regression {
			d = oneHot(240, 4, 6)
		}
		splits := casetest.Must(cvgm.KFold(synth.NewStream(1, "folds"), len(d.Y), 5))(t)
		tuner := tune.Tuner{Learner: learner, Splits: splits, OuterFolds: -1}
		got := casetest.Must(tuner.Tune(t.Context(), d))(t)
		d.X = mat.DenseCopyOf(d.X)
		want := casetest.Must(tuner.Tune(t.Context(), d))(t)
		if size := want.ConstantLoss; !(math.Abs(got.Loss-want.Loss) <= near*size) {
			t.Errorf("%T: the CV loss %v at %v, and %v at %v on the dense copy; the constant prediction's is %v", learner, got.Loss, got.Hyper, want.Loss, want.Hyper, size)
		}
		if !(want.Loss < .9*want.ConstantLoss) {
			t.Errorf("%T: the CV loss %v beside a constant prediction's %v: the data teach nothing", learner, want.Loss, want.ConstantLoss)
		}
	}
}

// repeatingMatrix is a sparse matrix that visits each entry twice.
type repeatingMatrix struct{ *sample.Stored }

func (x repeatingMatrix) DoRowNonZero(i int, fn func(i, j int, v float64)) {
	x.Stored.DoRowNonZero(i, fn)
	x.Stored.DoRowNonZero(i, fn)
}

// Tune returns an error for a matrix that visits an entry twice.
func TestTuneWrongVisits(t *testing.T) {
	d := oneHot(60, 2, 3)
	d.X = repeatingMatrix{d.X.(*sample.Stored)}
	for _, learner := range []learn.Learner{new(linear.ElasticNet), new(linear.Huber)} {
		if _, err := (tune.Tuner{Learner: learner}).Tune(t.Context(), d); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%T: error %v", learner, err)
		}
	}
}

// If the dense copy of a sparse matrix exceeds MaxBytes, the error names the copy.
func TestTuneDenseCopyTooLarge(t *testing.T) {
	_, err := tune.Tuner{Learner: new(linear.Huber), MaxBytes: 1000}.Tune(t.Context(), oneHot(60, 2, 3))
	if !errors.Is(err, qpdiff.ErrTooLarge) || !strings.Contains(err.Error(), "for a dense copy of 60 rows × 6 features (") {
		t.Errorf("error %v", err)
	}
}
