package cvgm

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// errorKinds are the documented kinds of error.
var errorKinds = []error{qpdiff.ErrShape, qpdiff.ErrNotFinite, qpdiff.ErrDomain, qpdiff.ErrIllPosed, qpdiff.ErrInfeasible, qpdiff.ErrUnbounded,
	qpdiff.ErrNonconvex, qpdiff.ErrIterationLimit, qpdiff.ErrNotFitted, qpdiff.ErrNotDifferentiable}

// badError returns what is wrong with an error: no documented kind, or more than
// a line.
func badError(err error) string {
	if err == nil {
		return ""
	}
	if text := err.Error(); strings.Contains(text, "\n") || text == "" {
		return fmt.Sprintf("the error %q is no line", text)
	}
	for _, kind := range errorKinds {
		if errors.Is(err, kind) {
			return ""
		}
	}
	return fmt.Sprintf("the error %q is of no documented kind", err)
}

// hostileNumber draws a normal number, or one that over- or underflows soon.
func hostileNumber(src *synth.Stream, often float64) float64 {
	if src.Float64() > often {
		return src.NormFloat64()
	}
	extremes := []float64{0, 0, 1, -1, 1e155, -1e155, 1e-155, 1e300, -1e300, 1e-300, math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e16, 1e-16}
	return extremes[src.IntN(len(extremes))]
}

// hostileCV evaluates one configuration of extreme numbers, and returns what is
// wrong: a panic, a result that is not finite, an error of no kind.
func hostileCV(seed uint64) (wrong string) {
	src := synth.NewStream(seed, "hostile cv")
	l := configLearners[src.IntN(len(configLearners))]
	defer func() {
		if r := recover(); r != nil {
			wrong = fmt.Sprintf("%s: panic: %v", l.name, r)
		}
	}()
	rows, raw := 4+src.IntN(8), 1+src.IntN(3)
	often := []float64{0, .02, .2, 1}[src.IntN(4)]
	d := learn.Data{X: mat.NewDense(rows, raw, nil), Y: make([]float64, rows)}
	unit := []float64{1, 1, 1e-160, 1e160, 1e-300, 1e300}[src.IntN(6)]
	for i := range rows {
		for j := range raw {
			if d.Dense().Set(i, j, unit*hostileNumber(src, often)); j > 0 && src.IntN(8) == 0 {
				d.Dense().Set(i, j, d.X.At(i, 0))
			}
		}
		d.Y[i] = math.Copysign(1, src.NormFloat64())
		if !l.classes && src.IntN(2) == 0 {
			d.Y[i] = hostileNumber(src, often)
		}
	}
	if weights := synth.NewStream(seed, "hostile weights"); !l.even && weights.IntN(3) == 0 {
		d.Weights = make([]float64, rows)
		for i := range d.Weights {
			d.Weights[i] = math.Abs(hostileNumber(weights, often))
		}
	}
	maps := []FeatureMap{nil, nil, &squares{in: raw}, &LinearMap{In: raw, Out: 2}, &Perceptron{Widths: []int{raw, 3, 2}}}
	c := Config{Data: d, Learner: l.learner, Loss: append(configLosses, ZeroOne{})[src.IntN(len(configLosses)+1)], Features: maps[src.IntN(len(maps))],
		Standardise: src.IntN(2) == 0, Centring: Centring(src.IntN(3)), Generalised: src.IntN(2) == 0, Workers: 1}
	if l.classes && src.IntN(4) > 0 {
		c.Centring = NoCentring
	}
	var err error
	if c.Splits, err = RandomSplits(src, rows, 1+src.IntN(4), .75); err != nil {
		return badError(err)
	}
	features := raw
	if c.Features != nil {
		_, features = c.Features.Dims()
	}
	cv, err := New(c)
	if err != nil {
		return badError(err)
	}
	for range 3 {
		alpha := l.hyperOf(features)
		for i := range alpha {
			if src.IntN(2) == 0 {
				alpha[i] = math.Abs(hostileNumber(src, often))
			}
		}
		for range paramsOf(c) {
			alpha = append(alpha, hostileNumber(src, often))
		}
		title := fmt.Sprintf("%s, %T, α = %v", l.name, c.Features, alpha)
		grad := make([]float64, len(alpha))
		loss, err := cv.Eval(grad, alpha)
		if bad := badError(err); bad != "" {
			return title + ": " + bad
		}
		for i, v := range append(grad, loss) {
			if err == nil && !args.Finite(v) {
				return fmt.Sprintf("%s: entry %d of gradient and loss is %v without an error", title, i, v)
			}
		}
		if err == nil {
			e, err := cv.StandardError()
			if bad := badError(err); bad != "" || err == nil && !args.Finite(e) {
				return fmt.Sprintf("%s: standard error %v, %s", title, e, bad)
			}
		}
		m, err := cv.Final(alpha)
		if bad := badError(err); bad != "" {
			return title + ": Final: " + bad
		}
		if err != nil {
			continue
		}
		risk, err := m.Risk(c.Loss, d)
		if bad := badError(err); bad != "" || err == nil && !args.Finite(risk) {
			return fmt.Sprintf("%s: risk %v, %s", title, risk, bad)
		}
	}
	return ""
}

// No configuration of extreme numbers panics, or gives a number that is not
// finite without an error.
func TestHostileConfigs(t *testing.T) {
	for seed := range uint64(3000) {
		if wrong := hostileCV(seed); wrong != "" {
			t.Errorf("seed %d: %s", seed, wrong)
		}
	}
}
