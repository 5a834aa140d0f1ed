package cvgm_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// TestHostile calls everything that the package exports with inputs that are chosen to break it
// (see package hostile).
func TestHostile(t *testing.T) {
	hostile.Test(t, 2000, []hostile.Kind{
		{Name: "cv", Weight: 30, Run: hostileCV, Floors: map[string]float64{"New": .4, "Eval": .3, "gradient": .2, "Final": .3, "Predict": .8, "Risk": .4}},
		{Name: "search", Weight: 30, Run: hostileSearch, Floors: map[string]float64{"Search": .2}},
		{Name: "splits", Weight: 3, Run: hostileSplits, Floors: map[string]float64{"RandomSplits": .1, "BalancedSplits": .1, "KFold": .2, "LeaveOneOut": .3,
			"StratifiedKFold": .1, "GroupedKFold": .2, "TimeSplits": .1}},
		{Name: "csv", Weight: 6, Run: hostileCSV, Floors: map[string]float64{"ReadCSV": .1}},
		{Name: "json", Weight: 6, Run: hostileJSON, Floors: map[string]float64{"UnmarshalJSON": .05}},
		{Name: "tables", Weight: 10, Run: hostileTables, Floors: map[string]float64{"CSV.Read": .3, "Table.Data": .5, "New for a table": .4, "Pipeline": .4, "Pipeline.Read": .1, "Pipeline.UnmarshalJSON": .05}},
		{Name: "maps", Weight: 6, Run: hostileMaps, Floors: map[string]float64{"Forward": .4}},
		{Name: "small", Weight: 4, Run: hostileSmall},
	})
}

// drawCVData draws data for a learner; most of it can be used.
func drawCVData(in *hostile.Input, p hostile.Profile, classes bool) learn.Data {
	r, c := 2+in.IntN(9), 1+in.IntN(4)
	d := learn.Data{X: in.Matrix(p, r, c), Y: in.Vector(p, r)}
	if classes {
		for i := range d.Y {
			d.Y[i] = float64(2*in.IntN(2) - 1)
		}
	}
	if in.IntN(4) == 0 {
		d.Weights = make([]float64, r)
		for i := range d.Weights {
			if d.Weights[i] = float64(in.IntN(3)); p > hostile.Integer && in.IntN(2) == 0 {
				d.Weights[i] = math.Abs(in.Value(p))
			}
		}
	}
	switch in.IntN(60) {
	case 0:
		d.Y[in.IntN(r)] = in.Value(hostile.Poisoned)
	case 1:
		d.Y = d.Y[:in.IntN(r)]
	case 2:
		d.X = nil
	}
	return d
}

func drawSplits(in *hostile.Input, n int) []cvgm.Split {
	src := hostile.NewSource(in.Uint64())
	var s []cvgm.Split
	switch in.IntN(6) {
	case 0, 1:
		s, _ = cvgm.KFold(src, n, 2+in.IntN(3))
	case 2:
		s, _ = cvgm.RandomSplits(src, n, 1+in.IntN(4), .3+.5*in.Float64())
	case 3:
		s, _ = cvgm.BalancedSplits(src, n, 1+in.IntN(4), .3+.5*in.Float64())
	case 4:
		s, _ = cvgm.LeaveOneOut(n)
	default:
		s, _ = cvgm.RandomSplits(src, n, 1, .3+.5*in.Float64())
	}
	if in.IntN(30) == 0 {
		indices := func() []int {
			v := make([]int, in.IntN(4))
			for i := range v {
				v[i] = in.IntN(n+4) - 2
			}
			return v
		}
		s = append(s, cvgm.Split{Train: indices(), Val: indices()})
	}
	return s
}

// drawLearner draws a way to make a learner, and whether its labels are ±1.
func drawLearner(in *hostile.Input) (newLearner func() learn.Learner, classes bool) {
	generalised, b := in.IntN(4) == 0, in.IntN(2) == 0
	shape := []kernel.Kernel{nil, kernel.RBF{}, kernel.Polynomial{}, kernel.Polynomial{Degree: 1}}[in.IntN(4)]
	switch in.IntN(11) {
	case 0, 1:
		return func() learn.Learner { return &margin.SVM{Generalised: generalised} }, true
	case 2:
		return func() learn.Learner { return &margin.LearnedLoss{Generalised: generalised} }, true
	case 3, 4:
		i := linear.Intercept(in.IntN(3))
		return func() learn.Learner { return &linear.Logistic{Intercept: i} }, true
	case 5:
		return func() learn.Learner {
			return &kernel.SVM{Kernel: shape, Intercept: b, Generalised: generalised}
		}, true
	case 6:
		return func() learn.Learner { return &kernel.Ridge{Kernel: shape, Intercept: b} }, false
	case 7:
		return func() learn.Learner { return &linear.Huber{Intercept: b, Generalised: generalised} }, false
	}
	if b {
		return func() learn.Learner {
			return &cvgm.PerFeatureNet{ElasticNet: linear.ElasticNet{Generalised: generalised}}
		}, false
	}
	return func() learn.Learner { return &linear.ElasticNet{Generalised: generalised} }, false
}

func drawFeatures(in *hostile.Input, cols int) cvgm.FeatureMap {
	if in.IntN(20) == 0 {
		cols = max(cols+in.IntN(3)-1, 1)
	}
	switch in.IntN(6) {
	case 0:
		return &cvgm.LinearMap{In: cols, Out: 1 + in.IntN(3)}
	case 1:
		return &cvgm.Perceptron{Widths: []int{cols, 1 + in.IntN(3)}}
	case 2:
		return &cvgm.Perceptron{Widths: []int{cols, 1 + in.IntN(4), 1 + in.IntN(3)}}
	}
	return nil
}

func drawLoss(in *hostile.Input, classes bool) cvgm.Loss {
	if !classes && in.IntN(10) > 0 {
		return cvgm.SquaredError{}
	}
	losses := []cvgm.Loss{cvgm.SquaredError{}, cvgm.LogisticLoss{}, cvgm.Hinge{}, cvgm.SquaredHinge{}, cvgm.Exponential{}, cvgm.ZeroOne{},
		cvgm.AbsoluteError{}, cvgm.HuberLoss{Delta: in.Value(hostile.Scaled)}}
	return losses[in.IntN(len(losses))]
}

// penalty draws a hyperparameter, mostly at or above 0.
func drawPenalty(in *hostile.Input, p hostile.Profile) float64 {
	switch in.IntN(20) {
	case 0:
		return 0
	case 1:
		return math.Abs(in.Value(hostile.Extreme))
	case 2:
		return in.Value(p)
	case 3:
		return in.Value(hostile.Poisoned)
	}
	return math.Pow(10, 3*in.Float64()-2)
}

func hostileCV(in *hostile.Input) {
	p := in.Profile()
	newLearner, classes := drawLearner(in)
	d := drawCVData(in, p, classes)
	n, cols := 4, 2
	if d.Dense() != nil {
		n, cols = d.X.Dims()
	}
	c := cvgm.Config{Data: d, Splits: drawSplits(in, n), Learner: newLearner, Loss: drawLoss(in, classes), Features: drawFeatures(in, cols), Workers: 1}
	features := cols
	if c.Features != nil {
		_, features = c.Features.Dims()
	}
	if features > 0 {
		_, hypers := newLearner().Dims(features)
		hyper := make([]float64, hypers)
		for i := range hyper {
			hyper[i] = drawPenalty(in, p)
		}
		if in.IntN(5) == 0 {
			c.Hyper = hyper
		}
	}
	c.Standardise, c.Generalised = in.IntN(3) == 0, in.IntN(3) == 0
	if !classes && in.IntN(2) == 0 || in.IntN(20) == 0 {
		c.Centring = cvgm.Centring(in.IntN(3))
	}
	var kept hostile.Memory
	kept.Matrix(d.Dense())
	kept.Vector(d.Y, d.Weights, c.Hyper)
	cv, err := cvgm.New(c)
	kept.Check(in, "New")
	if in.Replaying() {
		fmt.Printf("New (%v): learner %T %+v, loss %T, X = %v, Y = %v, weights %v, splits %v, features %T %+v, hyper %v, standardise %v, centring %v, generalised %v: %v\n", p, newLearner(), newLearner(), c.Loss, d.X, d.Y, d.Weights, c.Splits, c.Features, c.Features, c.Hyper, c.Standardise, c.Centring, c.Generalised, err)
	}
	if !in.Answer("New", err) {
		return
	}
	var alpha []float64
	for range 1 + in.IntN(4) {
		if alpha == nil || in.IntN(3) > 0 {
			alpha = make([]float64, cv.Dims())
			for i := range alpha {
				alpha[i] = drawPenalty(in, p)
				if c.Features != nil && i >= cv.Dims()-c.Features.NumParams() {
					alpha[i] = in.Value(p)
				}
			}
			if in.IntN(30) == 0 {
				alpha = in.Vector(p, in.IntN(4))
			}
		}
		checkEvaluation(in, &c, cv, alpha, p)
	}
	if len(alpha) == cv.Dims() {
		checkFinal(in, &c, cv, alpha, p)
	}
	kept.Check(in, "CV")
}

// checkEvaluation evaluates the CV loss, with its gradient and without.
func checkEvaluation(in *hostile.Input, c *cvgm.Config, cv *cvgm.CV, alpha []float64, p hostile.Profile) {
	var kept hostile.Memory
	kept.Vector(alpha)
	loss, err := cv.Eval(nil, alpha)
	if in.Replaying() {
		fmt.Printf("Eval(nil) at %v: %v, error %v\n", alpha, loss, err)
	}
	if in.Answer("Eval", err) && !hostile.Finite([]float64{loss}) {
		in.Failf("Eval: not finite", "%v at %v", loss, alpha)
	}
	grad := make([]float64, len(alpha))
	also, errGrad := cv.Eval(grad, alpha)
	if in.Replaying() {
		fmt.Printf("Eval at %v: %v, gradient %v, error %v\n", alpha, also, grad, errGrad)
	}
	kept.Check(in, "Eval")
	answered := in.Answer("gradient", errGrad)
	if answered && !hostile.Finite([]float64{also}, grad) {
		in.Failf("Eval: gradient not finite", "%v, gradient %v at %v", also, grad, alpha)
		return
	}
	if err != nil && !math.IsNaN(loss) || !answered && !math.IsNaN(also) {
		in.Failf("Eval: a loss beside an error", "%v, %v, with the gradient %v, %v", loss, err, also, errGrad)
	}
	if _, bare := c.Loss.(cvgm.ZeroOne); errors.Is(errGrad, qpdiff.ErrNotDifferentiable) && c.Generalised && !bare && p <= hostile.Integer {
		in.Failf("gradient: refused at a kink with Generalised", "%v at %v", errGrad, alpha)
	}
	if cv.Generalised() && (!answered || !c.Generalised && !generalised(c)) {
		in.Failf("gradient: generalised without being told to", "error %v at %v", errGrad, alpha)
	}
	if errors.Is(err, qpdiff.ErrNotFinite) {
		return // at the edge of overflow a warm start may decide
	}
	if p > hostile.Integer && (errors.Is(err, qpdiff.ErrIterationLimit) || errors.Is(err, qpdiff.ErrIllPosed)) {
		return // with numbers of all magnitudes, a warm start may decide at the edge of rounding
	}
	if answered && err != nil {
		in.Failf("Eval: refuses the loss where it answers with the gradient", "%v at %v", err, alpha)
		return
	}
	if !answered {
		return
	}
	if d := math.Abs(loss - also); d > 1e-6*(math.Abs(loss)+math.Abs(also)) && p <= hostile.Integer && d > lossRounding(in, c, alpha, loss) {
		in.Failf("Eval: another loss with the gradient than without", "%v and %v at %v", also, loss, alpha)
	}
	deviation, err := cv.StandardError()
	if in.Answer("StandardError", err) && !hostile.Finite([]float64{deviation}) && !(math.IsInf(deviation, 1) && c.Data.Weights != nil) {
		in.Failf("StandardError: not finite", "%v at %v", deviation, alpha)
	}
	if err := cv.OutOfFold(make([]float64, len(c.Data.Y))); err != nil {
		in.Failf("OutOfFold: refuses after an answer", "%v", err)
	}
	thetas, intercepts := cv.Thetas()
	if !hostile.Finite(thetas...) || !hostile.Finite(intercepts) {
		in.Failf("Thetas: not finite", "%v, %v at %v", thetas, intercepts, alpha)
	}
	train, val := cv.FeatureCotangents()
	if (train == nil) != (c.Features == nil) || !hostile.FiniteMatrix(train) || !hostile.FiniteMatrix(val) {
		in.Failf("FeatureCotangents: not finite, or nil", "%v, %v", train, val)
	}
	atKink := cv.Generalised()
	if in.IntN(4) == 0 {
		// A CV gives the same bits after Reset and with more goroutines.
		cv.Reset()
		again := make([]float64, len(alpha))
		first, err1 := cv.Eval(again, alpha)
		wide := *c
		wide.Workers = 3
		if c.Features != nil {
			wide.Features = sameMap(c.Features)
		}
		other, errNew := cvgm.New(wide)
		if errNew != nil {
			in.Failf("New: refuses what it took before", "%v", errNew)
			return
		}
		fresh := make([]float64, len(alpha))
		second, err2 := other.Eval(fresh, alpha)
		if (err1 == nil) != (err2 == nil) || err1 == nil && (first != second || !hostile.SameBits(again, fresh)) {
			in.Failf("Reset: other bits than with a new CV", "%v %v %v, new: %v %v %v at %v", first, again, err1, second, fresh, err2, alpha)
		}
	}
	if p > hostile.Integer || in.IntN(2) > 0 || atKink {
		return
	}
	// A kink may lie within the steps of the difference quotients if a penalty is far from 1.
	far := func(hyper float64) bool { return hyper != 0 && !(hyper > 1e-3 && hyper < 1e3) }
	if slices.ContainsFunc(c.Hyper, far) {
		return
	}
	hypers := 0
	if c.Hyper == nil {
		_, hypers = c.Learner().Dims(features(c))
	}
	size, direction := 0.0, in.Vector(hostile.Tame, len(alpha))
	for i, a := range alpha[:hypers] {
		if far(a) {
			return
		}
		direction[i] *= a
	}
	derivative := 0.0
	for i, g := range grad {
		derivative += g * direction[i]
		size += math.Abs(g * direction[i])
	}
	if hostile.Norm(thetas...) > 1e4 || size > 1e4*(1+math.Abs(loss)) {
		return
	}
	// Difference quotients have no meaning if every example is fitted exactly, because the loss is
	// then a sum of squared rounding errors.
	if math.Abs(loss) < 1e-20 && lossRounding(in, c, alpha, loss) > 1e-3*math.Abs(loss) {
		return
	}
	moved := make([]float64, len(alpha))
	in.Slope("gradient", func(step float64) (float64, bool) {
		for i, a := range alpha {
			moved[i] = a + step*direction[i]
		}
		v, err := cv.Eval(nil, moved)
		return v, err == nil
	}, derivative, size+1e-3*math.Abs(loss))
}

// generalised reports whether the learners of c return derivatives at kinks.
func generalised(c *cvgm.Config) bool {
	switch l := c.Learner().(type) {
	case *linear.ElasticNet:
		return l.Generalised
	case *cvgm.PerFeatureNet:
		return l.Generalised
	case *linear.Huber:
		return l.Generalised
	case *margin.SVM:
		return l.Generalised
	case *margin.LearnedLoss:
		return l.Generalised
	case *kernel.SVM:
		return l.Generalised
	}
	return false
}

// lossRounding estimates the rounding error of a loss by random changes of the features. The
// changes are at most 256·2⁻⁵², the bound in qpdiff's rule of strict complementarity. The estimate
// is infinite if a changed problem is refused.
func lossRounding(in *hostile.Input, c *cvgm.Config, alpha []float64, loss float64) float64 {
	const relative = 256 * 0x1p-52
	most := 0.0
	for range 8 {
		moved := *c
		moved.Data.X = mat.DenseCopyOf(c.Data.X)
		moved.Data.Dense().Apply(func(_, _ int, v float64) float64 { return v * (1 + relative*(2*in.Float64()-1)) }, moved.Data.X)
		if c.Features != nil {
			moved.Features = sameMap(c.Features)
		}
		cv, err := cvgm.New(moved)
		if err != nil {
			return math.Inf(1)
		}
		for range 2 {
			v, err := cv.Eval(nil, alpha)
			if err != nil {
				return math.Inf(1)
			}
			most = max(most, math.Abs(v-loss))
		}
	}
	return most
}

// features is the number of features that the learners of c receive.
func features(c *cvgm.Config) int {
	_, n := c.Data.X.Dims()
	if c.Features != nil {
		_, n = c.Features.Dims()
	}
	return n
}

// sameMap is another map of the same shape.
func sameMap(f cvgm.FeatureMap) cvgm.FeatureMap {
	switch f := f.(type) {
	case *cvgm.Perceptron:
		return &cvgm.Perceptron{Widths: f.Widths}
	case *cvgm.LinearMap:
		return &cvgm.LinearMap{In: f.In, Out: f.Out}
	}
	return nil
}

// checkFinal fits to all data, predicts, and writes and reads the model.
func checkFinal(in *hostile.Input, c *cvgm.Config, cv *cvgm.CV, alpha []float64, p hostile.Profile) {
	m, err := cv.Final(alpha)
	if in.Replaying() {
		fmt.Printf("Final at %v: %+v, error %v\n", alpha, m, err)
	}
	if !in.Answer("Final", err) {
		return
	}
	if !hostile.Finite(m.Theta, m.Mean, m.Std, m.Hyper, m.Params, []float64{m.Intercept}) {
		in.Failf("Final: not finite", "%+v", m)
	}
	_, cols := c.Data.X.Dims()
	if in.IntN(20) == 0 {
		cols++
	}
	if in.IntN(4) == 0 {
		p = in.Profile()
	}
	x := in.Matrix(p, 1+in.IntN(4), cols)
	rows, _ := x.Dims()
	dst := make([]float64, rows)
	var kept hostile.Memory
	kept.Matrix(x)
	err = m.Predict(dst, x)
	kept.Check(in, "Predict")
	if in.Answer("Predict", err) && !hostile.Finite(dst) {
		in.Failf("Predict: not finite", "%v for %v, model %+v", dst, x, m)
	}
	d := c.Data
	if in.IntN(2) == 0 {
		_, classes := drawLearner(in)
		d = drawCVData(in, p, classes)
	}
	risk, err := m.Risk(c.Loss, d)
	if in.Answer("Risk", err) && !hostile.Finite([]float64{risk}) {
		in.Failf("Risk: not finite", "%v on %v, %v, model %+v", risk, d.X, d.Y, m)
	}
	step := search.Step{X: alpha}
	if in.IntN(10) == 0 {
		step.X = in.Vector(p, in.IntN(4))
	}
	also, err := cv.RiskAt(c.Loss, d)(step)
	if in.Answer("RiskAt", err) && !hostile.Finite([]float64{also}) {
		in.Failf("RiskAt: not finite", "%v", also)
	}
	text, err := json.Marshal(m)
	if !in.Answer("MarshalJSON", err, hostile.ErrDocumented) {
		return
	}
	var back cvgm.Model
	if err := json.Unmarshal(text, &back); !in.Answer("UnmarshalJSON", err) {
		in.Failf("UnmarshalJSON: refuses what MarshalJSON wrote", "%s: %v", text, err)
		return
	}
	again := make([]float64, rows)
	if m.Predict(dst, x) == nil {
		if err := back.Predict(again, x); err != nil || !hostile.SameBits(dst, again) {
			in.Failf("UnmarshalJSON: another model", "%v instead of %v, %v", again, dst, err)
		}
	}
}

// drawObjective draws an objective of n coordinates, which may be hostile in any way.
func drawObjective(in *hostile.Input, n int) (f search.Objective, what string) {
	value := func(x []float64, f func(i int, v float64) (value, slope float64)) (s float64, g []float64) {
		g = make([]float64, len(x))
		for i, v := range x {
			var a float64
			a, g[i] = f(i, v)
			s += a
		}
		return
	}
	out := func(grad []float64, s float64, g []float64) (float64, error) {
		copy(grad, g)
		return s, nil
	}
	power := func(r float64) float64 { return math.Pow(10, r*(2*in.Float64()-1)) }
	center, scale, size, edge := in.Vector(hostile.Tame, n), make([]float64, n), power(6), power(2)
	for i := range scale {
		scale[i] = power(3)
	}
	quadratic := func(grad, x []float64) (float64, error) {
		s, g := value(x, func(i int, v float64) (float64, float64) {
			r := (v - center[i]) / scale[i]
			return size * r * r, 2 * size * r / scale[i]
		})
		return out(grad, s, g)
	}
	beyond := func(x []float64) bool { return hostile.Norm(x) > edge }
	switch in.IntN(16) {
	case 0, 1:
		return quadratic, "quadratic"
	case 2:
		return func(grad, x []float64) (float64, error) {
			s, g := value(x, func(i int, v float64) (float64, float64) {
				sign := 1.0
				if i%2 == 0 {
					sign = -1
				}
				return sign * v * v, sign * 2 * v
			})
			return out(grad, s, g)
		}, "falls without end"
	case 3:
		return func(grad, x []float64) (float64, error) {
			s, g := value(x, func(i int, v float64) (float64, float64) { e := math.Exp(v * v); return e, 2 * v * e })
			return out(grad, s, g)
		}, "exp(x²)"
	case 4:
		return func(grad, x []float64) (float64, error) {
			s, g := value(x, func(i int, v float64) (float64, float64) { return size * v, size })
			return out(grad, s, g)
		}, "linear"
	case 5:
		return func(grad, x []float64) (float64, error) {
			s, g := value(x, func(i int, v float64) (float64, float64) {
				return math.Abs(v - center[i]), math.Copysign(1, v-center[i])
			})
			if slices.Equal(x, center) && grad != nil {
				return 0, &qpdiff.NotDifferentiableError{Inputs: []qpdiff.Input{"x"}, Weak: qpdiff.Weak{Coords: []int{0}}}
			}
			return out(grad, s, g)
		}, "kinks"
	case 6:
		return func(grad, x []float64) (float64, error) {
			s, g := value(x, func(i int, v float64) (float64, float64) { return -math.Log(v) + v, 1 - 1/v })
			return out(grad, s, g)
		}, "logarithm, NaN below 0"
	case 7:
		return func(grad, x []float64) (float64, error) {
			if beyond(x) {
				return math.NaN(), &qpdiff.ArgError{Arg: "x", Why: qpdiff.ErrIllPosed, Problem: "is too far", Remedy: "stay"}
			}
			return quadratic(grad, x)
		}, "error beyond an edge"
	case 8:
		worst := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[in.IntN(3)]
		return func(grad, x []float64) (float64, error) {
			v, err := quadratic(grad, x)
			if beyond(x) {
				v = worst
			}
			return v, err
		}, fmt.Sprint(worst, " beyond an edge")
	case 9:
		worst := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}[in.IntN(4)]
		return func(grad, x []float64) (float64, error) {
			v, err := quadratic(grad, x)
			if beyond(x) && grad != nil {
				grad[0] = worst
			}
			return v, err
		}, fmt.Sprint("gradient ", worst, " beyond an edge")
	case 10:
		return func(grad, x []float64) (float64, error) {
			clear(grad)
			return edge, nil
		}, "constant"
	case 11:
		return func(grad, x []float64) (float64, error) {
			s, g := value(x, func(i int, v float64) (float64, float64) { return 0, 0 })
			for i := range len(x) - 1 {
				a, b := x[i+1]-x[i]*x[i], 1-x[i]
				s += 100*a*a + b*b
				g[i] += -400*a*x[i] - 2*b
				g[i+1] += 200 * a
			}
			return out(grad, s, g)
		}, "Rosenbrock"
	case 12:
		huge := []float64{1e300, 1e-300, 1e150, 1e-150}[in.IntN(4)]
		return func(grad, x []float64) (float64, error) {
			v, err := quadratic(grad, x)
			for i := range grad {
				grad[i] *= huge
			}
			return huge * v, err
		}, fmt.Sprint("quadratic times ", huge)
	case 13:
		wrong := in.Vector(hostile.Tame, n)
		return func(grad, x []float64) (float64, error) {
			v, err := quadratic(nil, x)
			copy(grad, wrong)
			return v, err
		}, "wrong gradient"
	case 14:
		return func(grad, x []float64) (float64, error) {
			s, g := value(x, func(i int, v float64) (float64, float64) { return math.Floor(v * edge), 0 })
			return out(grad, s, g)
		}, "stairs"
	}
	return func(grad, x []float64) (float64, error) {
		s, g := value(x, func(i int, v float64) (float64, float64) {
			r := v - center[i]
			return size * math.Pow(math.Abs(r), 1.5), size * 1.5 * math.Copysign(math.Sqrt(math.Abs(r)), r)
		})
		return out(grad, s, g)
	}, "power 3/2"
}

// drawStart is uniform on [−2, 2).
func drawStart(src cvgm.Source, x []float64) {
	for i := range x {
		x[i] = 4*src.Float64() - 2
	}
}

// drawSearcher draws a searcher and its budget of evaluations.
func drawSearcher(in *hostile.Input, n, depth int) (s search.Searcher, budget int) {
	budget = 1 + in.IntN(60)
	setting := func(usual float64) float64 {
		switch in.IntN(12) {
		case 0:
			return in.Value(hostile.Poisoned)
		case 1:
			return in.Value(hostile.Extreme)
		case 2, 3, 4:
			return 0
		}
		return usual * math.Pow(10, 2*in.Float64()-1)
	}
	limit := budget
	if in.IntN(30) == 0 {
		limit = -in.IntN(3)
		if budget = 0; limit == 0 {
			budget = 1000
		}
	}
	step, tol, number := setting(.1), setting(1e-8), in.Uint64()
	source := func() cvgm.Source {
		if number%64 == 0 {
			return nil
		}
		return hostile.NewSource(number)
	}
	if in.IntN(2) == 0 {
		tol = 0
	}
	if in.IntN(3) > 0 { // required
		step = math.Pow(10, 3*in.Float64()-3)
	}
	kinds := 11
	if depth > 1 {
		kinds = 9
	}
	switch in.IntN(kinds) {
	case 0:
		return search.ProjectedGradient{StepSize: step, MaxEvals: limit, Tol: tol}, budget
	case 1:
		momentum := []float64{0, .5, .9, 1, 2, -1, math.NaN(), math.Inf(1)}[in.IntN(8)]
		return search.HeavyBall{StepSize: step, Momentum: momentum, MaxEvals: limit, Tol: tol}, budget
	case 2:
		return search.Nesterov{StepSize: step, MaxEvals: limit, Tol: tol}, budget
	case 3:
		m := search.Adam{StepSize: step, MaxEvals: limit, Tol: tol}
		if in.IntN(4) == 0 {
			m.Beta1, m.Beta2, m.Epsilon = setting(.5), setting(.5), setting(1e-6)
		}
		return m, budget
	case 4:
		m := search.AdaptiveGradient{FirstStep: setting(.1), MaxEvals: limit, Tol: tol}
		return m, budget
	case 5:
		m := search.QuasiNewton{FirstStep: setting(.1), Memory: in.IntN(5) - 1, MaxEvals: limit, Tol: tol}
		return m, budget
	case 6:
		m := search.CMAES{Source: source, Sigma: setting(.3), Population: in.IntN(8) - 1, MaxEvals: limit, Tol: tol}
		return m, budget
	case 7:
		if in.IntN(3) > 0 { // it is slow
			budget = min(budget, 12)
			limit = min(limit, budget)
		}
		m := search.Bayesian{Source: source, Initial: in.IntN(6) - 1, Candidates: in.IntN(20) - 1, MaxEvals: limit}
		if limit == 0 {
			budget = 100
		}
		return m, budget
	case 8:
		if limit == 0 {
			budget = 100
		}
		draw := []func(cvgm.Source, []float64){drawStart, search.LogUniform(-3, 1), search.LogUniform(-400, 400), nil}[in.IntN(4)]
		return search.RandomSearch{Source: source, Draw: draw, MaxEvals: limit}, budget
	case 9:
		inner, each := drawSearcher(in, n, depth+1)
		starts := in.IntN(4) - 1
		if budget = max(starts, 0) * each; starts == 0 {
			budget = 10 * each
		}
		return search.MultiStart{Searcher: inner, Source: source, Draw: drawStart, Starts: starts}, budget
	}
	if in.IntN(2) == 0 {
		values := make([][]float64, n)
		budget = 1
		for i := range values {
			values[i] = in.Vector(in.Profile(), in.IntN(4))
			budget *= len(values[i])
		}
		return search.GridSearch{Values: values}, budget
	}
	inner, each := drawSearcher(in, n, depth+1)
	return search.LogSpace{Searcher: inner}, each
}

// drawProblem draws bounds and a start.
func drawProblem(in *hostile.Input, f search.Objective, n int) (p search.Problem, x0 []float64) {
	p.Objective = f
	x0 = in.Vector(hostile.Tame, n)
	switch in.IntN(12) {
	case 0:
		x0 = in.Vector(in.Profile(), n)
	case 1:
		for i := range x0 {
			x0[i] = 30
		}
	}
	side := func(at, scale float64) []float64 {
		b := make([]float64, n)
		for i := range b {
			if b[i] = at + scale*in.Float64(); in.IntN(8) == 0 {
				b[i] = math.Copysign(math.Inf(1), scale)
			}
		}
		return b
	}
	switch in.IntN(8) {
	case 0: // none
	case 1:
		p.Lower = side(0, -2)
	case 2:
		p.Upper = side(0, 2)
	case 3: // as penalties have
		p.Lower, p.Upper = make([]float64, n), side(1, 3)
		for i := range p.Lower {
			p.Lower[i] = math.Pow(10, -6*in.Float64())
		}
	case 4:
		p.Lower = make([]float64, n)
		if in.IntN(3) == 0 {
			p.Upper = make([]float64, n) // a point
		}
	case 5:
		p.Project = search.Simplex
	case 6:
		if in.IntN(4) == 0 {
			p.Lower, p.Upper = in.Vector(hostile.Poisoned, n), in.Vector(hostile.Poisoned, n)
			break
		}
		p.Lower, p.Upper = side(-1, -1e3), side(1, 1e3)
	default:
		p.Lower, p.Upper = side(0, -2), side(0, 2)
	}
	if in.IntN(40) == 0 {
		p.Lower = in.Vector(hostile.Integer, in.IntN(3))
	}
	return p, x0
}

func hostileSearch(in *hostile.Input) {
	n := 1 + in.IntN(4)
	if in.IntN(50) == 0 {
		n = 0
	}
	f, what := drawObjective(in, n)
	searcher, budget := drawSearcher(in, n, 0)
	p, x0 := drawProblem(in, nil, n)
	name := strings.TrimPrefix(fmt.Sprintf("%T", searcher), "search.")
	inner := searcher
	for {
		if m, ok := inner.(search.MultiStart); ok {
			inner = m.Searcher
		} else if m, ok := inner.(search.LogSpace); ok {
			inner = m.Searcher
		} else {
			break
		}
	}
	base := strings.TrimPrefix(fmt.Sprintf("%T", inner), "search.")
	if in.Replaying() {
		fmt.Printf("%T %+v, budget %d, of %s, lower %v, upper %v, project %v, from %v\n", searcher, searcher, budget, what, p.Lower, p.Upper, p.Project != nil, x0)
	}
	calls := 0
	inside := func(x []float64) bool {
		for i, v := range x {
			if p.Lower != nil && !(v >= p.Lower[i]) || p.Upper != nil && !(v <= p.Upper[i]) {
				return false
			}
		}
		if p.Project == nil {
			return true
		}
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		return math.Abs(sum-1) < 1e-12
	}
	p.Objective = func(grad, x []float64) (float64, error) {
		calls++
		if in.Replaying() && calls <= 100 {
			v, err := f(grad, x)
			fmt.Printf("  f(%v) = %v, %v, %v\n", x, v, grad, err)
		}
		if len(x) != n || !hostile.Finite(x) {
			in.Failf(name+": evaluates at a point that is not finite", "%v of %s", x, what)
			in.Stop()
		}
		if !inside(x) {
			in.Failf(name+": evaluates outside the constraint set", "%v, lower %v, upper %v, of %s", x, p.Lower, p.Upper, what)
			in.Stop()
		}
		if calls > budget {
			in.Failf(name+": exceeds its budget", "of %d evaluations, of %s", budget, what)
			in.Stop()
		}
		return f(grad, x)
	}
	var kept hostile.Memory
	kept.Vector(x0, p.Lower, p.Upper)
	stopAt := -1
	if in.IntN(4) == 0 {
		stopAt = in.IntN(5)
	}
	type step struct {
		x    []float64
		loss float64
	}
	var steps []step
	var failed error
	run := func() (steps []step, failed error) {
		calls = 0
		converged := false
		for s, err := range searcher.Search(p, x0) {
			if failed != nil {
				in.Failf(name+": goes on after an error", "%v, then %v, %v", failed, s, err)
			}
			if converged && name != "MultiStart" && name != "LogSpace" {
				in.Failf(name+": goes on after convergence", "of %s", what)
			}
			if failed = err; err != nil {
				var e *search.Error
				if !errors.As(err, &e) {
					in.Failf(name+": an error that is no SearchError", "%v", err)
				}
				continue
			}
			if s.Evaluations != calls || calls != len(steps)+1 {
				in.Failf(name+": a miscounted step", "step %d has %d evaluations where %d were made, of %s", len(steps), s.Evaluations, calls, what)
			}
			// A trial point may fail; see Problem.
			trial := (base == "QuasiNewton" || base == "AdaptiveGradient") && s.Evaluations > 1 && !s.Converged
			if !hostile.Finite(s.X) || math.IsNaN(s.Loss) || math.IsInf(s.Loss, -1) || math.IsInf(s.Loss, 1) && s.Grad != nil && !trial || !hostile.Finite(s.Grad) && !trial {
				in.Failf(name+": a step that is not finite", "%+v of %s", s, what)
			}
			if !inside(s.X) || len(s.X) != n {
				in.Failf(name+": a step outside the constraint set", "%v, lower %v, upper %v, of %s", s.X, p.Lower, p.Upper, what)
			}
			converged = s.Converged
			steps = append(steps, step{slices.Clone(s.X), s.Loss})
			if len(steps) == stopAt {
				break
			}
		}
		return
	}
	steps, failed = run()
	kept.Check(in, name)
	in.Answer("Search", failed)
	in.Answer(name, failed)
	if failed == nil && len(steps) == 0 {
		in.Failf(name+": neither a step nor an error", "of %s", what)
	}
	if in.IntN(4) == 0 {
		again, err := run()
		if (err == nil) != (failed == nil) || !slices.EqualFunc(steps, again, func(a, b step) bool {
			return hostile.SameBits(a.x, b.x) && math.Float64bits(a.loss) == math.Float64bits(b.loss)
		}) {
			in.Failf(name+": the second search differs", "%v, %v, then %v, %v", steps, failed, again, err)
		}
	}
	if stopAt >= 0 {
		return
	}
	calls = 0
	best, err := search.Best(searcher.Search(p, x0))
	none := !slices.ContainsFunc(steps, func(s step) bool { return !math.IsInf(s.loss, 1) })
	if (err == nil) != (failed == nil && !none) {
		in.Failf("Best: another error than the search", "%v and %v", err, failed)
	}
	if err == nil && (len(best.X) != n || !hostile.Finite(best.X, []float64{best.Loss})) {
		in.Failf("Best: neither a step nor an error", "%+v of %s", best, what)
	}
	for _, s := range steps {
		if s.loss < best.Loss {
			in.Failf("Best: not the best", "%v where a step has %v", best.Loss, s.loss)
			break
		}
	}
	watchSteps(in, p, x0, searcher, &calls)
}

// watchSteps runs the search below a GapMonitor with random risks.
func watchSteps(in *hostile.Input, p search.Problem, x0 []float64, searcher search.Searcher, calls *int) {
	risk := func(search.Step) (float64, error) {
		switch in.IntN(40) {
		case 0:
			return math.NaN(), &qpdiff.ArgError{Arg: "risk", Why: qpdiff.ErrDomain, Problem: "is none", Remedy: "none"}
		case 1:
			return in.Value(hostile.Poisoned), nil
		}
		return in.NormFloat64(), nil
	}
	m := cvgm.GapMonitor{Patience: in.IntN(5) - 1}
	if in.IntN(3) > 0 {
		m.HeldOut = risk
	}
	if m.HeldOut == nil || in.IntN(20) == 0 {
		for range in.IntN(3) {
			quadratic := func(grad, x []float64) (float64, error) {
				for i := range grad {
					grad[i] = 2 * x[i]
				}
				return hostile.Norm(x) * hostile.Norm(x), nil
			}
			q := p
			q.Objective = quadratic
			m.Nested = append(m.Nested, cvgm.NestedSearch{Steps: search.ProjectedGradient{StepSize: .1, MaxEvals: 3}.Search(q, x0), Risk: risk})
		}
	}
	if in.IntN(4) == 0 {
		m.Risk = risk
	}
	*calls = 0
	best, err := m.Best(searcher.Search(p, x0))
	if in.Answer("GapMonitor", err) && (len(best.X) != len(x0) || !hostile.Finite(best.X, []float64{best.HeldOut}) || !math.IsInf(best.Loss, 1) && !hostile.Finite([]float64{best.Gap()})) {
		in.Failf("GapMonitor: neither a step nor an error", "%+v", best)
	}
}

func hostileSplits(in *hostile.Input) {
	src := hostile.NewSource(in.Uint64())
	n, k := in.IntN(14)-1, in.IntN(9)-1
	p := in.Float64()
	if in.IntN(3) == 0 {
		p = in.Value(hostile.Poisoned)
	}
	var s []cvgm.Split
	var err error
	want, call, whole := k, "", true
	switch in.IntN(8) {
	case 0:
		call = "RandomSplits"
		s, err = cvgm.RandomSplits(src, n, k, p)
	case 1:
		call = "BalancedSplits"
		s, err = cvgm.BalancedSplits(src, n, k, p)
	case 2:
		call, want = "RandomSplits", 1
		s, err = cvgm.RandomSplits(src, n, 1, p)
	case 3:
		call = "KFold"
		s, err = cvgm.KFold(src, n, k)
	case 4:
		call = "StratifiedKFold"
		y := in.Vector(in.Profile(), max(n, 0))
		if in.IntN(4) > 0 {
			for i := range y {
				y[i] = float64(in.IntN(2))
			}
		}
		s, err = cvgm.StratifiedKFold(src, y, k)
	case 5:
		call = "GroupedKFold"
		groups := make([]int, max(n, 0))
		for i := range groups {
			groups[i] = in.IntN(6)
		}
		if s, err = cvgm.GroupedKFold(src, groups, k); err == nil && cvgm.CheckGroups(s, groups) != nil {
			in.Failf(call+": parts a group", "%v of %v", s, groups)
		}
	case 6:
		call, whole = "TimeSplits", false
		s, err = cvgm.TimeSplits(n, k, in.IntN(5)-1)
	default:
		call, want = "LeaveOneOut", n
		s, err = cvgm.LeaveOneOut(n)
	}
	if !in.Answer(call, err) {
		if s != nil {
			in.Failf(call+": splits beside an error", "%v, %v", s, err)
		}
		return
	}
	if len(s) != want {
		in.Failf(call+": another number of splits", "%d instead of %d", len(s), want)
	}
	for _, split := range s {
		seen := make([]bool, n)
		for _, i := range append(slices.Clone(split.Train), split.Val...) {
			if i < 0 || i >= n || seen[i] {
				in.Failf(call+": no split", "%v of %d", split, n)
				return
			}
			seen[i] = true
		}
		if len(split.Train) == 0 || len(split.Val) == 0 || whole && slices.Contains(seen, false) {
			in.Failf(call+": no split", "%v of %d", split, n)
			return
		}
	}
}

func hostileCSV(in *hostile.Input) {
	cell := func() string {
		switch in.IntN(30) {
		case 0:
			return []string{"", "NaN", "Inf", "1e999", "x", "\"1\"", "\"", "0x1p3", "1_0", " 2 ", "\"1\n2\"", "-", "\x00", "1,"}[in.IntN(14)]
		}
		return fmt.Sprint(in.Value(hostile.Tame))
	}
	names := []string{"a", "b", "y", "", "y", " a", "\"c\"", "ä", "y "}
	cols := in.IntN(5)
	rows := in.IntN(4) + 1
	var text strings.Builder
	if in.IntN(6) == 0 {
		text.WriteString("\ufeff")
	}
	header := make([]string, cols)
	for j := range header {
		header[j] = names[j%len(names)]
		if in.IntN(4) == 0 {
			header[j] = names[in.IntN(len(names))]
		}
	}
	end := []string{"\n", "\r\n", "\n\n"}[in.IntN(3)]
	text.WriteString(strings.Join(header, ",") + end)
	for range rows {
		line := make([]string, cols)
		for j := range line {
			line[j] = cell()
		}
		if in.IntN(20) == 0 {
			line = append(line, cell())
		}
		text.WriteString(strings.Join(line, ",") + end)
	}
	raw := []byte(text.String())
	for range in.IntN(8) / 6 {
		if len(raw) > 0 {
			raw[in.IntN(len(raw))] = byte(in.IntN(256))
		}
	}
	target := "y"
	if in.IntN(5) == 0 {
		target = names[in.IntN(len(names))]
	}
	if cols > 0 && in.IntN(3) == 0 {
		target = strings.TrimSpace(header[in.IntN(cols)])
	}
	table, err := table.ReadCSV(bytes.NewReader(raw), target)
	if in.Replaying() {
		fmt.Printf("ReadCSV %q for %q: %+v, %v\n", raw, target, table, err)
	}
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		in.Answer("ReadCSV", err, hostile.ErrDocumented)
	} else {
		in.Answer("ReadCSV", err, io.EOF)
	}
	if err != nil {
		return
	}
	d, encoder, err := table.Data()
	if err != nil {
		in.Answer("Table.Data", err)
		return
	}
	fitted, err := encoder.Fit(d.Dense(), nil)
	if err != nil {
		in.Failf("ReadCSV: an encoder that does not fit", "%q for %q: %v", raw, target, err)
		return
	}
	_, m := fitted.Dims()
	if len(encoder.Names()) != m {
		in.Failf("ReadCSV: names that do not fit", "%q for %q: %d features, %q", raw, target, m, encoder.Names())
	}
	x := mat.NewDense(len(d.Y), m, nil)
	for i := range d.Y {
		if err := fitted.Apply(x.RawRowView(i), d.Dense().RawRowView(i)); err != nil {
			in.Failf("ReadCSV: a row that is not encoded", "%q for %q: %v", raw, target, err)
		}
	}
	if err := (learn.Data{X: x, Y: d.Y}).Check(); err != nil {
		in.Failf("ReadCSV: data that is none", "%q: %v", raw, err)
	}
	for _, c := range table.Columns {
		if c.Name == target || strings.Contains(c.Name, "\ufeff") {
			in.Failf("ReadCSV: a name that is none", "%q", c.Name)
		}
	}
}

// damageText returns a changed copy of the given text, or another text.
func damageText(in *hostile.Input, text []byte) []byte {
	for range in.IntN(4) {
		i := in.IntN(len(text))
		switch in.IntN(6) {
		case 0:
			text = slices.Delete(text, i, min(i+1+in.IntN(6), len(text)))
		case 1:
			j := bytes.IndexByte(text[i:], '[')
			if j >= 0 {
				text = slices.Insert(text, i+j+1, []byte([]string{"null,", "1e999,", "-0,", "[],", "1,", "\"1\","}[in.IntN(6)])...)
			}
		case 2:
			text[i] = byte(in.IntN(256))
		case 3:
			text = bytes.Replace(text, []byte("0"), []byte([]string{"null", "-1", "1e308", "5e-324"}[in.IntN(4)]), 1)
		case 4:
			text = bytes.Replace(text, []byte("{"), []byte(`{"feature_map":{"perceptron_widths":[2,2],"linear_map":[2,2]},`), 1)
		default:
			text = bytes.ReplaceAll(text, []byte("1"), []byte("99999999"))
		}
		if len(text) == 0 {
			text = []byte("0")
		}
	}
	return text
}

func hostileJSON(in *hostile.Input) {
	m := cvgm.Model{Hyper: in.Vector(hostile.Tame, in.IntN(3)), Intercept: in.NormFloat64()}
	n := 1 + in.IntN(3)
	m.Theta, m.Mean, m.Std = in.Vector(hostile.Tame, n+in.IntN(2)), in.Vector(hostile.Tame, n), make([]float64, n)
	for i := range m.Std {
		m.Std[i] = 1 + in.Float64()
	}
	if f := drawFeatures(in, 1+in.IntN(3)); f != nil {
		_, out := f.Dims()
		m.Features, m.Params = f, in.Vector(hostile.Tame, f.NumParams())
		m.Theta, m.Mean, m.Std = in.Vector(hostile.Tame, out), make([]float64, out), make([]float64, out)
		for i := range m.Std {
			m.Std[i] = 1
		}
	}
	if in.IntN(6) == 0 {
		*[]*[]float64{&m.Theta, &m.Mean, &m.Std, &m.Params, &m.Hyper}[in.IntN(5)] = in.Vector(hostile.Poisoned, in.IntN(4))
	}
	if in.IntN(20) == 0 {
		m.Intercept = in.Value(hostile.Poisoned)
	}
	text, err := json.Marshal(&m)
	if in.Answer("MarshalJSON", err, hostile.ErrDocumented) {
		var back cvgm.Model
		if err := json.Unmarshal(text, &back); err != nil {
			in.Failf("MarshalJSON: writes what UnmarshalJSON refuses", "%s: %v", text, err)
		}
	} else {
		text = []byte(`{"format":"cvgm model 1","theta":[1,2],"feature_mean":[0,0],"feature_deviation":[1,1]}`)
	}
	text = damageText(in, text)
	if in.IntN(2) == 0 {
		text = cvgm.Rechecked_(text)
	}
	var back cvgm.Model
	err = json.Unmarshal(text, &back)
	if in.Replaying() {
		fmt.Printf("UnmarshalJSON %q: %+v, %v\n", text, back, err)
	}
	if !in.Answer("UnmarshalJSON", err, hostile.ErrDocumented) {
		return
	}
	if !hostile.Finite(back.Theta, back.Mean, back.Std, back.Params, back.Hyper, []float64{back.Intercept}) {
		in.Failf("UnmarshalJSON: not finite", "%s: %+v", text, back)
	}
	if bytes.Contains(text, []byte("null")) && !bytes.Contains(text, []byte(":null")) {
		in.Failf("UnmarshalJSON: takes null for a number", "%s: %+v", text, back)
	}
	cols := len(back.Mean)
	if back.Features != nil {
		cols, _ = back.Features.Dims()
	}
	if cols > 1000 {
		return
	}
	x := mat.NewDense(2, cols, in.Vector(hostile.Tame, 2*cols))
	dst := make([]float64, 2)
	if in.Answer("Predict", back.Predict(dst, x)) && !hostile.Finite(dst) {
		in.Failf("Predict: not finite", "%v by %s", dst, text)
	}
	if _, err := json.Marshal(back); err == nil { // by value
		again, _ := json.Marshal(&back)
		byValue, _ := json.Marshal(back)
		if !bytes.Equal(again, byValue) {
			in.Failf("MarshalJSON: a Model by value is written differently", "%s and %s", byValue, again)
		}
	}
}

func hostileMaps(in *hostile.Input) {
	p := in.Profile()
	cols := 1 + in.IntN(3)
	f := drawFeatures(in, cols)
	if f == nil || in.IntN(10) == 0 {
		widths := make([]int, in.IntN(4))
		for i := range widths {
			widths[i] = in.IntN(4) - in.IntN(10)/9
		}
		f = &cvgm.Perceptron{Widths: widths}
		if in.IntN(3) == 0 {
			f = &cvgm.LinearMap{In: in.IntN(4) - 1, Out: in.IntN(4) - 1}
		}
	}
	usable, _ := f.Dims()
	if usable > 0 && in.IntN(10) > 0 {
		cols = usable
	}
	k := max(f.NumParams(), 0)
	if in.IntN(20) == 0 {
		k++
	}
	params := in.Vector(p, k)
	if m, ok := f.(*cvgm.Perceptron); ok && k == f.NumParams() && in.IntN(3) == 0 && (len(m.Widths) == 0 || slices.Min(m.Widths) > 0) {
		m.Init(params, hostile.NewSource(in.Uint64()))
		if !hostile.Finite(params) {
			in.Failf("Init: not finite", "%v", params)
		}
	}
	x := in.Matrix(p, 1+in.IntN(4), cols)
	var kept hostile.Memory
	kept.Matrix(x)
	kept.Vector(params)
	for range 1 + in.IntN(2) {
		features, err := f.Forward(params, x)
		if in.Replaying() {
			fmt.Printf("%T %+v Forward %v of %v: %v, %v\n", f, f, params, x, features, err)
		}
		kept.Check(in, "Forward")
		if !in.Answer("Forward", err) {
			continue
		}
		r, c := features.Dims()
		dfeatures := mat.NewDense(r, c, in.Vector(hostile.Tame, r*c))
		dparams := make([]float64, len(params))
		f.Backward(dparams, nil, dfeatures)
		kept.Check(in, "Backward")
		if p == hostile.Tame {
			derivative, size := 0.0, 0.0
			direction := in.Vector(hostile.Tame, len(params))
			for i, g := range dparams {
				derivative += g * direction[i]
				size += math.Abs(g * direction[i])
			}
			other, moved := sameMap(f), make([]float64, len(params))
			in.Slope("Backward", func(step float64) (float64, bool) {
				for i, v := range params {
					moved[i] = v + step*direction[i]
				}
				y, err := other.Forward(moved, x)
				if err != nil {
					return 0, false
				}
				s := 0.0
				for i := range r {
					for j := range c {
						s += y.At(i, j) * dfeatures.At(i, j)
					}
				}
				return s, true
			}, derivative, size)
		}
	}
}

// hostileSmall calls the functions that need no state.
func hostileSmall(in *hostile.Input) {
	p := in.Profile()
	x := in.Vector(p, in.IntN(7))
	if in.IntN(20) == 0 {
		for i := range x {
			x[i] = math.Inf(-1)
		}
	}
	projected := slices.Clone(x)
	search.Simplex(x)
	sum := 0.0
	for _, v := range x {
		sum += v
		if v < 0 {
			in.Failf("Simplex: negative", "%v from %v", x, projected)
		}
	}
	if hostile.Finite(projected) && len(x) > 0 {
		if math.Abs(sum-1) > 1e-14*float64(len(x)) {
			in.Failf("Simplex: does not sum to 1", "%v from %v", x, projected)
		}
		// The projection onto the simplex keeps the order of the entries.
		for i := range x {
			for j := range x {
				if projected[i] > projected[j] && x[i] < x[j] {
					in.Failf("Simplex: not the nearest", "%v from %v", x, projected)
				}
			}
		}
	}
	if len(x) > 0 && !slices.ContainsFunc(projected, func(v float64) bool { return math.IsNaN(v) }) && !hostile.Finite(x) {
		in.Failf("Simplex: not finite", "%v from %v", x, projected)
	}
	in.Answer("Simplex", nil)

	prediction, y := in.Value(p), in.Value(p)
	if in.IntN(2) == 0 {
		y = float64(2*in.IntN(2) - 1)
	}
	for _, l := range []cvgm.Loss{cvgm.SquaredError{}, cvgm.LogisticLoss{}, cvgm.Hinge{}, cvgm.SquaredHinge{}, cvgm.Exponential{}, cvgm.ZeroOne{},
		cvgm.AbsoluteError{}, cvgm.HuberLoss{Delta: math.Pow(10, 12*in.Float64()-6)}} {
		loss, _ := l.Eval(prediction, y)
		if hostile.Finite([]float64{prediction, y}) && (math.IsNaN(loss) || loss < 0) {
			in.Failf(fmt.Sprintf("%T: no loss", l), "%v at prediction %v, label %v", loss, prediction, y)
		}
	}
	draw := search.LogUniform(-3*in.Float64(), in.Float64())
	z := make([]float64, 3)
	draw(hostile.NewSource(in.Uint64()), z)
	for _, v := range z {
		if !(v >= 1e-3 && v <= 10) {
			in.Failf("LogUniform: outside its range", "%v", z)
		}
	}

	// Best of sequences that a caller may make.
	var steps []search.Step
	var errs []error
	for range in.IntN(4) {
		steps = append(steps, search.Step{X: in.Vector(hostile.Tame, 2), Loss: in.Value(p)})
		errs = append(errs, []error{nil, nil, nil, qpdiff.ErrDomain}[in.IntN(4)])
	}
	best, err := search.Best(func(yield func(search.Step, error) bool) {
		for i, s := range steps {
			if !yield(s, errs[i]) || errs[i] != nil {
				return
			}
		}
	})
	if in.Answer("Best", err) && (best.X == nil || !hostile.Finite([]float64{best.Loss})) {
		in.Failf("Best: neither a step nor an error", "%+v of %+v", best, steps)
	}
}
