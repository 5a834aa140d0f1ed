package cvgm

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/smooth"
	"cvgm/synth"
)

// CV.Residual returns the residual of single fits, and an error if all splits are evaluated at
// once.
func TestEveryFitHasAResidual(t *testing.T) {
	d := classData(synth.NewStream(5, "residual"), 30, 3)
	splits, err := KFold(synth.NewStream(5, "folds"), len(d.Y), 3)
	if err != nil {
		t.Fatal(err)
	}
	atOnce := 0
	for _, l := range configLearners {
		cv, err := New(Config{Data: d, Splits: splits, Learner: l.learner, Loss: SquaredError{}})
		if err != nil {
			t.Fatal(l.name, err)
		}
		hyper := l.hyperOf(3)
		for _, once := range []bool{true, false} {
			if once {
				_, err = cv.Eval(nil, hyper)
			} else {
				_, err = cv.DataGradient(nil, make([]float64, len(d.Y)), hyper)
			}
			r, err2 := cv.Residual()
			if cv.evalState.atOnce {
				atOnce++
			}
			_, own := l.learner().(*smooth.Learner)
			if own || cv.evalState.atOnce {
				if err != nil || !errors.Is(err2, qpdiff.ErrDomain) || !math.IsNaN(r) {
					t.Errorf("%s, at once %v: residual %v, errors %v, %v", l.name, once, r, err, err2)
				}
			} else if err != nil || err2 != nil || !(r <= 1e-12) {
				t.Errorf("%s, at once %v: residual %v, errors %v, %v", l.name, once, r, err, err2)
			}
		}
	}
	if atOnce == 0 {
		t.Error("no learner evaluates all splits at once")
	}
}
