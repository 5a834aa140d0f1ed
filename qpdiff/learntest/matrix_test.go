package learntest_test

import (
	"errors"
	"fmt"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// X may be any matrix; θ and the derivatives have the bits of a *mat.Dense. A nil one is an error.
func TestAnyMatrix(t *testing.T) {
	for _, l := range []learn.Learner{new(linear.ElasticNet), new(linear.Huber), new(linear.Logistic), new(linear.SparseLogistic),
		new(margin.SVM), new(margin.LearnedLoss), &kernel.SVM{Intercept: true}, &kernel.Ridge{Intercept: true}, &smooth.Learner{Objective: casetest.LinearModel(casetest.HalfSquare)}} {
		d := casetest.RandomData(3, 14, 3, true)
		nt, nh := l.Dims(3)
		hyper := []float64{.1, .3, .2, .1, .4}[:nh]
		fit := func(d learn.Data) ([]float64, *learn.Grad) {
			theta, g := make([]float64, nt), casetest.NewGrad(d, nh)
			if err := errors.Join(l.Load(d), l.Fit(theta, hyper), l.VJP(nil, g, numtest.Ones(nt))); err != nil {
				t.Fatalf("%T: %v", l, err)
			}
			return theta, g
		}
		theta, g := fit(d)
		l.Reset()
		flipped := d
		flipped.X = mat.DenseCopyOf(d.X.T()).T()
		again, h := fit(flipped)
		if !numtest.SameBits(theta, again) || fmt.Sprint(casetest.GradSlices(g)) != fmt.Sprint(casetest.GradSlices(h)) {
			t.Errorf("%T: %v and %v", l, theta, again)
		}
		for _, x := range []mat.Matrix{nil, (*mat.Dense)(nil), new(mat.Dense)} {
			if err := l.Load(learn.Data{X: x, Y: d.Y}); casetest.KindOf(err) == err {
				t.Errorf("%T: Load of %T: %v", l, x, err)
			}
		}
	}
}
