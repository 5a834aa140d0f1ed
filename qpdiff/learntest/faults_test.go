package learntest_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ridgeLearner is a user's learner with the named fault. It minimises Σ_ij (x_ij·θ_j − y_i)² +
// eʰ·‖θ‖².
type ridgeLearner struct {
	fault    string
	d        learn.Data
	ok       bool
	theta, b []float64 // b_j = Σ_i x_ij² + eʰ
	penalty  float64
	scratch  []float64
	ctx      context.Context
	half     bool
}

func (l *ridgeLearner) SetContext(ctx context.Context) { l.ctx = ctx }

func (l *ridgeLearner) Dims(n int) (theta, hyper int) { return n, 1 }

func refusal(arg string, kind error) error {
	return &qpdiff.ArgError{Arg: arg, Why: kind, Problem: "cannot be used", Remedy: "give another"}
}

func (l *ridgeLearner) Load(d learn.Data) error {
	*l = ridgeLearner{fault: l.fault, ctx: l.ctx}
	if l.ctx != nil && l.ctx.Err() != nil && l.fault != "loads after its context" {
		return l.ctx.Err()
	}
	if err := d.Check(); err != nil {
		return err
	}
	switch {
	case l.fault == "ignores weights":
	case d.Rows != nil:
		return refusal("Data.Rows", qpdiff.ErrDomain)
	case d.Weights != nil:
		return refusal("Data.Weights", qpdiff.ErrDomain)
	}
	l.d = d
	return nil
}

func (l *ridgeLearner) Fit(theta, hyper []float64) error {
	l.ok = false
	if l.d.X == nil {
		return qpdiff.ErrNotFitted
	}
	if len(hyper) != 1 {
		return refusal("hyper", qpdiff.ErrShape)
	}
	if math.IsNaN(hyper[0]) || math.IsInf(hyper[0], 0) {
		return refusal("hyper", qpdiff.ErrNotFinite)
	}
	if l.fault == "ignores the sign" {
		hyper = []float64{math.Abs(hyper[0])}
	}
	if l.ctx != nil && l.ctx.Err() != nil && l.fault != "ignores its context" {
		l.half = l.fault == "keeps half a fit"
		return l.ctx.Err()
	}
	rows, n := l.d.X.Dims()
	l.penalty, l.theta, l.b, l.scratch = math.Exp(hyper[0]), make([]float64, n), make([]float64, n), make([]float64, n)
	for j := range n {
		l.b[j] = l.penalty
		for i := range rows {
			x := l.d.X.At(i, j)
			l.b[j] += x * x
			l.theta[j] += x * l.d.Y[i]
		}
		if l.theta[j] /= l.b[j]; l.half {
			l.theta[j] *= 1 + 1e-15
		}
	}
	if len(theta) != n {
		panic("theta")
	}
	copy(theta, l.theta)
	l.ok = true
	return nil
}

func (l *ridgeLearner) Reset() { l.ok = false }

// check checks the arguments of a derivative.
func (l *ridgeLearner) check(g *learn.Grad, v []float64, tangent bool) error {
	if !l.ok {
		return qpdiff.ErrNotFitted
	}
	rows, n := l.d.X.Dims()
	if len(v) != n || g.Hyper != nil && len(g.Hyper) != 1 || g.Y != nil && len(g.Y) != rows {
		panic("length")
	}
	given := [][]float64{v}
	if g.X != nil {
		if r, c := g.X.Dims(); r != rows || c != n {
			panic("shape")
		}
	}
	if tangent {
		given = [][]float64{g.Hyper, g.Y}
		if g.X != nil {
			given = append(given, mat.DenseCopyOf(g.X).RawMatrix().Data)
		}
	}
	for _, v := range slices.Concat(given...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return refusal("tangent", qpdiff.ErrNotFinite)
		}
	}
	return nil
}

// lastCotangent is the global variable in which the fault "remembers another VJP" stores a number.
var lastCotangent atomic.Uint64

func (l *ridgeLearner) VJP(_ *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	if err := l.check(g, dtheta, false); err != nil {
		return err
	}
	if l.fault == "clears Generalised" {
		g.Generalised = false
	}
	u := make([]float64, len(dtheta))
	if l.fault == "writes to itself" {
		u = l.scratch
	}
	for j, v := range dtheta {
		u[j] = v / l.b[j]
	}
	if last := lastCotangent.Swap(math.Float64bits(dtheta[0])); l.fault == "remembers another VJP" && last != math.Float64bits(dtheta[0]) {
		u[0] *= 1 + 1e-15
	}
	for j, u := range u {
		if g.Hyper != nil {
			switch d := -l.penalty * l.theta[j] * u; l.fault {
			case "sign":
				g.Hyper[0] -= d
			case "overwrites":
				g.Hyper[0] = d
			default:
				g.Hyper[0] += d
			}
		}
		for i, y := range l.d.Y {
			x := l.d.X.At(i, j)
			if g.X != nil {
				d := u * (y - 2*x*l.theta[j])
				if l.fault == "forgets a term" {
					d = u * (y - x*l.theta[j])
				}
				g.X.Set(i, j, g.X.At(i, j)+d)
			}
			if g.Y != nil {
				g.Y[i] += u * x
			}
		}
	}
	return nil
}

func (l *ridgeLearner) JVP(_ *qpdiff.Workspace, dtheta []float64, d *learn.Grad) error {
	if err := l.check(d, dtheta, true); err != nil {
		return err
	}
	for j, theta := range l.theta {
		var s float64
		if d.Hyper != nil {
			s -= l.penalty * theta * d.Hyper[0]
			if l.fault == "JVP is off by 4e-12" {
				s *= 1 + 4e-12
			}
		}
		for i, y := range l.d.Y {
			x := l.d.X.At(i, j)
			if d.X != nil {
				s += (y - 2*x*theta) * d.X.At(i, j)
			}
			if d.Y != nil && l.fault != "JVP forgets the labels" {
				s += x * d.Y[i]
			}
		}
		dtheta[j] = s / l.b[j]
	}
	return nil
}

// residual is the residual of the optimality conditions of a ridgeLearner.
func residual(d learn.Data, theta, hyper []float64) float64 {
	worst := 0.0
	for j, t := range theta {
		sum := math.Exp(hyper[0]) * t
		size := math.Abs(sum)
		for i, y := range d.Y {
			x := d.X.At(i, j)
			sum += x * (x*t - y)
			size += math.Abs(x*x*t) + math.Abs(x*y)
		}
		worst = max(worst, math.Abs(sum)/size)
	}
	return worst
}

func draw(rows, n int) learn.Data {
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(n)))
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	for i := range rows {
		for j := range n {
			d.Dense().Set(i, j, rng.NormFloat64())
		}
		d.Y[i] = rng.NormFloat64()
	}
	return d
}

// dotKernel is the kernel xᵀz, without parameters.
type dotKernel struct{ fault string }

func (dotKernel) NumParams(int) int     { return 0 }
func (dotKernel) Check([]float64) error { return nil }

func (dotKernel) Eval(_, x, z []float64) (sum float64) {
	for j, v := range x {
		sum += v * z[j]
	}
	return sum
}

func (k dotKernel) Grad(_, dx, dz []float64, s, _ float64, _, x, z []float64) {
	for j := range x {
		if dx != nil {
			dx[j] += s * z[j]
		}
		if dz != nil && k.fault != "kernel forgets z" {
			dz[j] += s * x[j]
		}
	}
}

// looLearner is a kernel ridge regression with the fault named.
type looLearner struct {
	kernel.Ridge
	fault string
}

func (l *looLearner) LeaveOneOut(dst, hyper []float64) error {
	if l.fault == "leaves no row out" {
		return errors.Join(l.Fit(nil, hyper), l.Predict(nil, dst, draw(12, 2).Dense()), l.Ridge.LeaveOneOut(make([]float64, 12), hyper))
	}
	return l.Ridge.LeaveOneOut(dst, hyper)
}

func (l *looLearner) LeaveOneOutVJP(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	if l.fault == "forgets the row predicted for" {
		dx = nil
	}
	return l.Ridge.LeaveOneOutVJP(w, g, dx, ddst)
}

// kinked is an elastic net with the fault named.
type kinked struct {
	linear.ElasticNet
	fault string
}

func (l *kinked) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	err := l.ElasticNet.VJP(w, g, dtheta)
	switch {
	case l.fault == "answers at a kink" && errors.Is(err, qpdiff.ErrNotDifferentiable):
		return nil
	case l.fault == "hides a kink":
		g.Generalised = false
	}
	return err
}

func (l *kinked) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) error {
	if l.fault == "derives from below" && d.Y == nil && d.X == nil {
		d = &learn.Grad{Hyper: []float64{-d.Hyper[0], -d.Hyper[1]}}
		err := l.ElasticNet.JVP(w, dtheta, d)
		floats.Scale(-1, dtheta)
		return err
	}
	return l.ElasticNet.JVP(w, dtheta, d)
}

const faultVariable = "CVGM_QPDIFFTEST_FAULT"

// TestOwnTypes runs the contract tests on types with the fault that the environment variable names.
func TestOwnTypes(t *testing.T) {
	fault := os.Getenv(faultVariable)
	cases := []learntest.Case{
		{Name: "tall", Data: draw(12, 3), Hyper: []float64{.5}, Residual: residual},
		{Name: "wide", Data: draw(3, 5), Hyper: []float64{-.7}, Residual: residual},
	}
	if fault == "no residual" {
		cases[0].Residual = nil
	}
	learntest.Learner(t, func() learn.Learner { return &ridgeLearner{fault: fault} }, cases...)
	learntest.Kinks(t, func() learn.KinkedLearner { return &kinked{fault: fault} }, learntest.Kink{OneSided: true, Side: []float64{1, 0}, Weak: qpdiff.Weak{Coords: []int{0}},
		Inputs: []qpdiff.Input{"λ1", "X", "y"}, Case: learntest.Case{Name: "kink", Data: learn.Data{X: mat.NewDense(1, 1, []float64{1}), Y: []float64{2}}, Hyper: []float64{2, 1}}})
	learntest.Kernel(t, dotKernel{fault}, 3)
	learntest.LeaveOneOut(t, func() learn.LeaveOneOutLearner { return &looLearner{fault: fault} },
		learntest.Case{Data: draw(12, 2), Hyper: []float64{.2, .5}})
	d := draw(12, 2)
	for i, y := range d.Y {
		d.Y[i] = math.Copysign(1, y)
	}
	l := &kernel.SVM{Kernel: dotKernel{fault}}
	if err := errors.Join(l.Load(d), l.Fit(nil, []float64{1})); err != nil {
		t.Error(err)
	}
}

// TestContractsFindFaults checks that TestOwnTypes fails for each fault with a message that names
// the fault.
func TestContractsFindFaults(t *testing.T) {
	for fault, message := range map[string]string{
		"sign":                          "VJP in hyper[0]",
		"forgets a term":                "VJP in X",
		"overwrites":                    "VJP does not add",
		"writes to itself":              "a derivative writes to the learner",
		"remembers another VJP":         "derivatives after others of the same fit differ",
		"ignores weights":               "refuse or use them",
		"ignores the sign":              "neither refused",
		"JVP forgets the labels":        "JVP is not the adjoint of VJP",
		"JVP is off by 4e-12":           "JVP is not the adjoint of VJP with {hyper:true x:false y:false}",
		"clears Generalised":            "makes Generalised",
		"answers at a kink":             "VJP: error <nil>, want one in",
		"hides a kink":                  "Generalised false",
		"derives from below":            "JVP 0 along inputs",
		"kernel forgets z":              "derivative in z",
		"leaves no row out":             "LeaveOneOut differs",
		"forgets the row predicted for": "in dx differs",
		"no residual":                   "lacks a Residual",
		"ignores its context":           "want the context's",
		"loads after its context":       "Load with a context",
		"keeps half a fit":              "the next fit or its VJP differs from a new learner's",
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestOwnTypes$", "-test.timeout=5m")
		cmd.Env = append(os.Environ(), faultVariable+"="+fault)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator runs this program, and the system cannot start it by itself")
		}
		if err == nil || !strings.Contains(string(out), message) || strings.Contains(string(out), "panic:") {
			t.Errorf("%s: error %v, want a failure with %q:\n%s", fault, err, message, out)
		}
	}
}
