package cvgm

import (
	"errors"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// FinalOn returns the same bits as Final of a CV with only the given examples.
func TestFinalOn(t *testing.T) {
	d := casetest.Regression(7, 12, 3)
	d.Weights = []float64{1, 2, 0, 1, 3, 1, 1, 2, 1, 1, 1, 1}
	rows := []int{1, 2, 3, 4, 6, 8, 9, 11}
	some := learn.Data{X: copyRows(d.Dense(), rows), Y: sample.Pick(d.Y, rows), Weights: sample.Pick(d.Weights, rows)}
	cvOf := func(d learn.Data) *CV {
		return casetest.Must(New(Config{Data: d, Splits: []Split{{Train: []int{0, 1, 3}, Val: []int{4, 5}}}, Loss: SquaredError{}, Centring: MeanCentring, Standardise: true,
			Learner: func() learn.Learner { return new(linear.ElasticNet) }}))(t)
	}
	alpha := []float64{.1, .2}
	cv := cvOf(d)
	got, want := casetest.Must(cv.FinalOn(rows, alpha))(t), casetest.Must(cvOf(some).Final(alpha))(t)
	if !hostile.SameBits(got.Theta, want.Theta) || !hostile.SameBits(got.Mean, want.Mean) || !hostile.SameBits(got.Std, want.Std) || got.Intercept != want.Intercept {
		t.Errorf("of some examples %+v, want %+v", got, want)
	}
	all, final := casetest.Must(cv.FinalOn(sample.Complement(nil, 12), alpha))(t), casetest.Must(cv.Final(alpha))(t)
	if !hostile.SameBits(all.Theta, final.Theta) || slices.Equal(all.Theta, got.Theta) {
		t.Errorf("of all examples %v, Final %v, of some %v", all.Theta, final.Theta, got.Theta)
	}
	for name, test := range map[string]struct {
		rows []int
		kind error
	}{
		"twice": {[]int{1, 3, 1}, qpdiff.ErrDomain}, "below 0": {[]int{-1, 3}, qpdiff.ErrDomain}, "beyond": {[]int{1, 12}, qpdiff.ErrDomain},
		"none": {nil, qpdiff.ErrEmpty}, "of weight 0": {[]int{2}, qpdiff.ErrEmpty},
	} {
		if _, err := cv.FinalOn(test.rows, alpha); !errors.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows[1] != 2 {
		t.Errorf("FinalOn changed its argument: %v", rows)
	}
}
