package learntest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Kink is a point at which a learner's solution has a kink. Its Case has no use for the field
// Residual, and a Step of zero means 1e-5. No two rows of the data may be equal. Within a distance
// of Step, there may be no other kink.
type Kink struct {
	Case
	// Weak and Inputs are the fields that the [*qpdiff.NotDifferentiableError] of a VJP must have. The
	// derivatives in all inputs that Inputs does not list must exist.
	Weak   qpdiff.Weak
	Inputs []qpdiff.Input
	// OneSided marks a learner whose JVP at a kink is the one-sided derivative. If OneSided is false,
	// the JVP at a kink must return the same error as the VJP.
	OneSided bool
	// Side is a direction of the hyperparameters that leads to one side of the kink. The
	// generalised derivative must be equal to the derivative on this side. If Side is nil, the
	// generalised derivative is not compared.
	Side []float64
}

// kinkTol is the tolerance, relative to the largest entry, of two comparisons: a directional
// derivative with a difference quotient, and a generalised derivative with a derivative near the
// kink.
const kinkTol = 1e-6

// Kinks tests a learner at kinks. The error of a VJP must list the inputs without a derivative, and
// the weakly active rows and coordinates. The indices of these rows must be correct even if rows of
// weight 0 come before them. The VJP must not change the fields of inputs without a derivative.
// Along an input without a derivative, a JVP must be the limit of one-sided difference quotients,
// or return the same error as the VJP. Along all other inputs, the JVP must be linear and agree
// with the VJP. A generalised VJP must return the derivative on the side to which k.Side leads. It
// must set Grad.Generalised if and only if it adds an element of the generalised derivative.
func Kinks(t *testing.T, newLearner func() learn.KinkedLearner, kinks ...Kink) {
	t.Helper()
	for _, k := range kinks {
		if k.Step == 0 {
			k.Step = 1e-5
		}
		t.Run(k.Name, func(t *testing.T) {
			fresh := func() learn.Learner { return newLearner() }
			l, theta := fittedLearner(t, fresh, k.Case)
			s := &kinkTest{Kink: k, l: l.(learn.KinkedLearner), theta: theta, newLearner: fresh, v: numtest.Normals(rand.New(rand.NewPCG(1, 6)), len(theta))}
			s.checkRefused(t)
			s.shiftedRows(t)
			s.tangents(t)
			s.checkGeneralised(t)
		})
	}
}

type kinkTest struct {
	Kink
	l          learn.KinkedLearner
	newLearner func() learn.Learner
	theta, v   []float64
}

// missingInputs reports for each input whether k.Inputs contains it: missing[0] is for hyper,
// missing[1] for X, and missing[2] for y. The entry missing[3] is false, for a VJP that asks for no
// input.
func (k *kinkTest) missingInputs() (missing [4]bool) {
	for _, in := range k.Inputs {
		missing[max(0, slices.Index([]qpdiff.Input{"", "X", "y"}, in))] = true
	}
	return missing
}

// singleGrads returns three zero Grads, each with one field that is not nil: Hyper, X or Y.
func (k *kinkTest) singleGrads() []*learn.Grad {
	g := newGrad(k.Case, 0)
	return []*learn.Grad{{Hyper: g.Hyper}, {X: g.X}, {Y: g.Y}}
}

// matchesError reports whether err is a NotDifferentiableError with the given weak rows and
// coordinates and the given inputs. If inputs is nil, it does not compare the inputs.
func matchesError(err error, weak qpdiff.Weak, inputs []qpdiff.Input) bool {
	var e *qpdiff.NotDifferentiableError
	return errors.As(err, &e) && slices.Equal(e.Weak.Rows, weak.Rows) && slices.Equal(e.Weak.Coords, weak.Coords) && (inputs == nil || slices.Equal(e.Inputs, inputs))
}

// checkRefused checks that a VJP returns an error for the inputs without a derivative.
func (k *kinkTest) checkRefused(t *testing.T) {
	g := newGrad(k.Case, 1)
	if err := k.l.VJP(nil, g, k.v); !matchesError(err, k.Weak, k.Inputs) || g.Generalised {
		t.Errorf("VJP: error %v, want one in %q at %v", err, k.Inputs, k.Weak)
	}
	lost := k.missingInputs()
	for i, s := range gradSlices(g)[1:] {
		if lost[i+1] && slices.ContainsFunc(s, func(v float64) bool { return v != 1 }) {
			t.Error("a refused VJP wrote to the Grad")
		}
	}
	for i, g := range k.singleGrads() {
		if err := k.l.VJP(nil, g, k.v); matchesError(err, k.Weak, nil) != lost[i] || !lost[i] && err != nil {
			t.Errorf("VJP of field %d of (Hyper, X, Y) alone: error %v, want one: %v", i, err, lost[i])
		}
	}
	again := numtest.NaNs(len(k.theta), 0)
	if err := errors.Join(k.l.VJP(nil, &learn.Grad{}, k.v), k.l.Fit(again, k.Hyper)); err != nil {
		t.Errorf("VJP of nothing, and a fit: %v", err)
	}
	numtest.NearAll(t, "θ after a VJP of nothing", again, k.theta, 1e-14, 0)
}

// shiftedRows checks that the error of a VJP has the correct row indices if the data begin with
// rows of weight 0.
func (k *kinkTest) shiftedRows(t *testing.T) {
	rows, n := k.Data.X.Dims()
	d := learn.Data{X: mat.NewDense(rows+2, n, nil), Y: append([]float64{1, -1}, k.Data.Y...), Weights: make([]float64, rows+2)}
	d.Dense().Slice(2, rows+2, 0, n).(*mat.Dense).Copy(k.Data.X)
	weak := qpdiff.Weak{Rows: slices.Clone(k.Weak.Rows), Coords: k.Weak.Coords}
	for i := range weak.Rows {
		weak.Rows[i] += 2
	}
	for i := range rows {
		d.Weights[i+2] = 1
		if k.Data.Weights != nil {
			d.Weights[i+2] = k.Data.Weights[i]
		}
	}
	c := k.Case
	c.Data = d
	if k.newLearner().Load(d) != nil {
		return
	}
	l, _ := fittedLearner(t, k.newLearner, c)
	if err := l.VJP(nil, newGrad(c, 0), k.v); !matchesError(err, weak, k.Inputs) {
		t.Errorf("VJP behind two rows that do not count: error %v, want one at %v", err, weak)
	}
}

// tangents checks that a JVP is a one-sided derivative. It tests directions in each input alone,
// and a direction in hyper and X together.
func (k *kinkTest) tangents(t *testing.T) {
	j, ok := k.l.(learn.ForwardLearner)
	if !ok {
		return
	}
	rng := rand.New(rand.NewPCG(3, 8))
	for range 4 {
		d := newGrad(k.Case, 0)
		for _, s := range gradSlices(d) {
			copy(s, numtest.Normals(rng, len(s)))
		}
		for i, h := range k.Hyper {
			if h == 0 { // h can only increase
				d.Hyper[i] = math.Abs(d.Hyper[i])
			}
		}
		lost := k.missingInputs()
		for i, d := range []*learn.Grad{{Hyper: d.Hyper}, {X: d.X}, {Y: d.Y}, {Hyper: d.Hyper, X: d.X}} {
			k.checkJVP(t, j, d, i < 3 && !lost[i], fmt.Sprintf("JVP %d along inputs of (hyper, X, y)", i))
		}
	}
}

// checkJVP compares the JVP along the direction d with a one-sided difference quotient. The
// parameter smooth is true if a derivative along d exists.
func (k *kinkTest) checkJVP(t *testing.T, j learn.ForwardLearner, d *learn.Grad, smooth bool, what string) {
	got := numtest.NaNs(len(k.theta), 0)
	err := j.JVP(nil, got, d)
	if !k.OneSided && !smooth {
		if !matchesError(err, k.Weak, nil) {
			t.Errorf("%s: error %v, want one at %v", what, err, k.Weak)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if d.Y == nil || !k.ClassLabels {
		numtest.NearAll(t, what, got, k.quotient(t, d), kinkTol, 1)
	}
	if smooth {
		k.isLinear(t, j, d, got)
	}
}

// quotient returns the one-sided difference quotient of θ along d.
func (k *kinkTest) quotient(t *testing.T, d *learn.Grad) []float64 {
	slopes := make([]float64, len(k.theta))
	for i, weight := range []float64{48, -36, 16, -3} {
		c := k.Case
		c.Data, c.Hyper = cloneData(k.Data), slices.Clone(k.Hyper)
		h := float64(i+1) * k.Step
		if d.X != nil {
			floats.AddScaled(c.Data.Dense().RawMatrix().Data, h, d.X.RawMatrix().Data)
		}
		for _, move := range [][2][]float64{{c.Data.Y, d.Y}, {c.Hyper, d.Hyper}} {
			if move[1] != nil {
				floats.AddScaled(move[0], h, move[1])
			}
		}
		_, theta := fittedLearner(t, k.newLearner, c)
		floats.Sub(theta, k.theta)
		floats.AddScaled(slopes, weight/(12*k.Step), theta)
	}
	return slopes
}

// isLinear checks that the derivative along −d is the negative of the derivative along the
// direction d, and that the VJP agrees with both.
func (k *kinkTest) isLinear(t *testing.T, j learn.ForwardLearner, d *learn.Grad, jvp []float64) {
	g := newGrad(k.Case, 0)
	_ = k.l.VJP(nil, g, k.v) // refuses other inputs
	var want float64
	for i, s := range [][]float64{d.Hyper, nil, d.Y} {
		if s != nil {
			want += floats.Dot(s, gradSlices(g)[i])
			floats.Scale(-1, s)
		}
	}
	if d.X != nil {
		want += floats.Dot(d.X.RawMatrix().Data, g.X.RawMatrix().Data)
		d.X.Scale(-1, d.X)
	}
	back := numtest.NaNs(len(jvp), 0)
	if err := j.JVP(nil, back, d); err != nil {
		t.Errorf("JVP: %v", err)
	}
	floats.Scale(-1, back)
	numtest.NearAll(t, "JVP along the opposite", back, jvp, 1e-12, 1)
	numtest.NearAll(t, "VJP", []float64{want}, []float64{floats.Dot(k.v, jvp)}, 1e-12, 1)
}

// checkGeneralised checks that a generalised VJP sets Grad.Generalised and equals the derivative on
// Side.
func (k *kinkTest) checkGeneralised(t *testing.T) {
	k.l.SetGeneralised(true)
	lost := k.missingInputs()
	for i, g := range slices.Concat(k.singleGrads(), []*learn.Grad{{}}) {
		if err := k.l.VJP(nil, g, k.v); err != nil || g.Generalised != lost[i] {
			t.Errorf("generalised VJP of field %d of (Hyper, X, Y) alone: error %v, Generalised %v", i, err, g.Generalised)
		}
		g.Generalised = true // by an earlier product
		if err := k.l.VJP(nil, g, k.v); err != nil || !g.Generalised {
			t.Errorf("generalised VJP after another: error %v, Generalised %v", err, g.Generalised)
		}
	}
	g := newGrad(k.Case, 0)
	if err := k.l.VJP(nil, g, k.v); err != nil || !g.Generalised {
		t.Errorf("generalised VJP: error %v, Generalised %v", err, g.Generalised)
	}
	if j, ok := k.l.(learn.ForwardLearner); ok && !k.OneSided {
		isAdjoint(t, k.l, j, newGrad(k.Case, .5), newGrad(k.Case, 0), k.v, "generalised")
	}
	if k.Side == nil {
		return
	}
	c := k.Case
	c.Hyper = slices.Clone(k.Hyper)
	floats.AddScaled(c.Hyper, 1e-8, k.Side)
	beside, _ := fittedLearner(t, k.newLearner, c)
	want := newGrad(k.Case, 0)
	numtest.OK(t, beside.VJP(nil, want, k.v))
	for i, s := range gradSlices(g) {
		numtest.NearAll(t, fmt.Sprintf("generalised VJP, field %d of (Hyper, X, Y)", i), s, gradSlices(want)[i], kinkTol, 1)
	}
}
