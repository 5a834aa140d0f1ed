package qpdiff_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// TestHostile checks that no exported function panics, hangs, returns invalid numbers or changes
// its inputs, whatever the inputs are.
func TestHostile(t *testing.T) {
	hostile.Test(t, 4000, []hostile.Kind{
		{Name: "qp", Weight: 30, Run: hostileQP, Floors: map[string]float64{"Solve": .15, "VJP": .2, "JVP": .2, "DirectionalDerivative": .3, "Jacobian": .3}},
		{Name: "known", Weight: 20, Run: hostileKnown, Floors: map[string]float64{"Solve": .95, "VJP": .2, "JVP": .4, "DirectionalDerivative": .3}},
		{Name: "proofs", Weight: 10, Run: hostileProofs, Floors: map[string]float64{"Solve": .1}},
		{Name: "batch", Weight: 3, Run: hostileBatch, Floors: map[string]float64{"SolveBatch": .2, "VJPBatch": .2}},
		{Name: "program", Weight: 5, Run: hostileProgram, Floors: map[string]float64{"Differentiate": .1}},
		{Name: "elasticnet", Weight: 12, Run: hostileElasticNet, Floors: learnerFloors},
		{Name: "huber", Weight: 10, Run: hostileHuber, Floors: learnerFloors},
		{Name: "svm", Weight: 12, Run: hostileSVM, Floors: learnerFloors},
		{Name: "learnedloss", Weight: 6, Run: hostileLearnedLoss, Floors: learnerFloors},
		{Name: "logistic", Weight: 10, Run: hostileLogistic, Floors: learnerFloors},
		{Name: "sparselogistic", Weight: 10, Run: hostileSparseLogistic, Floors: learnerFloors},
		{Name: "kernelsvm", Weight: 10, Run: hostileKernelSVM, Floors: learnerFloors},
		{Name: "kernelridge", Weight: 10, Run: hostileKernelRidge, Floors: learnerFloors},
		{Name: "custom", Weight: 4, Run: hostileCustom, Floors: learnerFloors},
		{Name: "small", Weight: 6, Run: hostileSmall},
	})
}

var learnerFloors = map[string]float64{"Load": .3, "Fit": .3, "VJP": .3, "JVP": .3, "Predict": .3, "PredictVJP": .2, "LeaveOneOut": .3, "LeaveOneOutVJP": .3}

// A subject is a learner with the properties that the test needs.
type subject struct {
	make func() learn.Learner
	// classes: the labels are ±1, and both must occur; otherwise any numbers are labels
	classes bool
	hyper   func(p hostile.Profile, n int) []float64
	// objective returns the objective of a fit and the size of its terms. If objective is nil, the
	// test does not check optimality.
	objective func(d learn.Data, theta, hyper []float64) (value, size float64)
	// errorWrites: a Fit that fails with ErrIterationLimit may write θ.
	errorWrites bool
	// reference returns the minimum of the objective from the QP solver, which shares no code with
	// the learner, and whether a minimum exists. If reference is nil, the test compares nothing.
	reference func(d learn.Data, hyper []float64) (value float64, ok bool)
	// ridge returns the hyperparameter of a squared ℓ₂ penalty. A nil function means that it is
	// unknown.
	ridge func(hyper []float64) float64
	// kernel is the kernel of a kernel machine. For unusual hyperparameters, its matrix may have
	// any condition number.
	kernel kernel.Kernel
	// inverse: the reciprocal of the first hyperparameter bounds the condition number of a fit
	inverse bool
	// partial: VJP may give some of the derivatives with an error.
	partial bool
	// generalised: VJP returns values even if no derivative exists.
	generalised bool
	// even: it takes no weights.
	even bool
}

// drawWeights draws weights for d, or none.
func drawWeights(input *hostile.Input, p hostile.Profile, d *learn.Data) {
	if input.IntN(4) > 0 {
		return
	}
	d.Weights = make([]float64, len(d.Y))
	for i := range d.Weights {
		if d.Weights[i] = float64(input.IntN(4)) / 2; p > hostile.Integer && input.IntN(2) == 0 {
			d.Weights[i] = math.Abs(input.Value(p))
		}
	}
}

// rowWeight returns the weight of row i of d.
func rowWeight(d learn.Data, i int) float64 {
	if d.Weights == nil {
		return 1
	}
	return d.Weights[i]
}

// countOf returns the sum of all weights of d.
func countOf(d learn.Data) (sum float64) {
	for i := range d.Y {
		sum += rowWeight(d, i)
	}
	return sum
}

// hasNoBound reports whether the first hyperparameter is too small to bound the condition number of
// a fit.
func (s subject) hasNoBound(hyper []float64) bool { return s.inverse && !(hyper[0] > 1e-3) }

// drawData draws a training set, and sometimes one that every learner rejects.
func drawData(input *hostile.Input, p hostile.Profile, classes bool) learn.Data {
	r, c := 1+input.IntN(8), 1+input.IntN(5)
	if input.IntN(40) == 0 {
		r = 0
	}
	d := learn.Data{X: input.Matrix(p, r, c), Y: input.Vector(p, r)}
	if classes {
		one := input.IntN(30) == 0
		for i := range d.Y {
			d.Y[i] = float64(2*input.IntN(2) - 1)
			if i < 2 {
				d.Y[i] = float64(1 - 2*i)
			}
			if one {
				d.Y[i] = 1
			}
		}
		input.Shuffle(len(d.Y), func(i, j int) { d.Y[i], d.Y[j] = d.Y[j], d.Y[i] })
	}
	if input.IntN(30) == 0 && r > 0 {
		d.Y[input.IntN(r)] = input.Value(hostile.Poisoned)
	}
	if input.IntN(40) == 0 {
		d.Y = d.Y[:input.IntN(len(d.Y)+1)]
	}
	// Equal rows, as bootstrap samples have them.
	if input.IntN(4) == 0 && r > 1 && len(d.Y) == r {
		i, k := input.IntN(r), input.IntN(r)
		copy(d.Dense().RawRowView(i), d.Dense().RawRowView(k))
		if input.IntN(2) == 0 {
			d.Y[i] = d.Y[k]
		}
	}
	return d
}

// drawPenalty draws a hyperparameter at or above 0.
func drawPenalty(input *hostile.Input, p hostile.Profile) float64 {
	switch input.IntN(12) {
	case 0:
		return 0
	case 1:
		return math.Abs(input.Value(hostile.Extreme))
	case 2:
		return input.Value(p)
	case 3:
		return input.Value(hostile.Poisoned)
	case 4, 5:
		return []float64{.25, .5, 1, 2}[input.IntN(4)] // ties with integer data
	}
	return math.Pow(10, 4*input.Float64()-3)
}

func learnerGrad(d learn.Data, hyper []float64) *learn.Grad {
	r, c := d.X.Dims()
	return &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(r, c, nil), Y: make([]float64, r)}
}

func gradBlocks(g *learn.Grad) [][]float64 {
	return append(hostile.Rows(g.X), g.Hyper, g.Y)
}

func filledVector(n int, v float64) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// A fit describes the last Load and Fit of a learner.
type fit struct {
	profile hostile.Profile
	d       learn.Data // with a X of nil: none is loaded
	out     []int      // rows that LoadSubset left out
	full    learn.Learner
	hyper   []float64
	theta   []float64
	ok      bool
}

// exerciseLearner calls the methods of a learner in random order.
func exerciseLearner(input *hostile.Input, s subject) {
	l := s.make()
	var f fit
	for range 2 + input.IntN(8) {
		switch input.IntN(10) {
		case 0, 1:
			f.profile = input.Profile()
			loadLearner(input, s, l, &f)
		case 2, 3, 4, 5:
			if f.d.X == nil && input.IntN(20) > 0 {
				f.profile = input.Profile()
				loadLearner(input, s, l, &f)
			}
			refitLearner(input, s, l, &f)
		case 6, 7:
			checkDerivatives(input, s, l, &f)
		case 8:
			if _, ok := l.(learn.Predictor); ok {
				comparePredictions(input, s, l, &f)
			} else {
				checkDerivatives(input, s, l, &f)
			}
		default:
			l.Reset()
			f.ok = false
		}
	}
}

func loadLearner(input *hostile.Input, s subject, l learn.Learner, f *fit) {
	d := drawData(input, f.profile, s.classes)
	if !s.even {
		drawWeights(input, f.profile, &d)
	}
	var kept hostile.Memory
	kept.Matrix(d.Dense())
	kept.Vector(d.Y, d.Weights)
	f.out, f.full, f.ok = nil, nil, false
	outer, ok := l.(learn.SubsetLearner)
	if !ok || input.IntN(2) == 0 {
		err := l.Load(d)
		if input.Replaying() {
			fmt.Printf("Load X = %v, Y = %v, weights %v (%v): %v\n", hostile.Rows(d.Dense()), d.Y, d.Weights, f.profile, err)
		}
		if f.d = d; !input.Answer("Load", err) {
			f.d = learn.Data{}
		}
		kept.Check(input, "Load")
		return
	}
	full := s.make()
	f.d = learn.Data{}
	l.Reset()
	if full.Load(d) != nil {
		_ = l.Load(learn.Data{}) // which leaves l without data, too
		return
	}
	if input.IntN(3) > 0 {
		f.hyper = s.hyper(f.profile, d.Dense().RawMatrix().Cols)
		_ = full.Fit(make([]float64, thetas(full, d)), f.hyper)
	}
	var out []int
	for i := range d.Y {
		if input.IntN(3) == 0 {
			out = append(out, i)
		}
	}
	switch input.IntN(20) {
	case 0:
		out = append(out, out...)
	case 1:
		out = append(out, input.IntN(20)-5)
	}
	err := outer.LoadSubset(full, out)
	if input.Replaying() {
		fmt.Printf("LoadSubset %v of X = %v, Y = %v, weights %v (%v): %v\n", out, hostile.Rows(d.Dense()), d.Y, d.Weights, f.profile, err)
	}
	if input.Answer("LoadSubset", err) {
		f.d, f.out, f.full = d, out, full
	}
	kept.Check(input, "LoadSubset")
}

func thetas(l learn.Learner, d learn.Data) int {
	_, c := d.X.Dims()
	n, _ := l.Dims(c)
	return n
}

func refitLearner(input *hostile.Input, s subject, l learn.Learner, f *fit) {
	if f.d.X == nil {
		if input.Answer("Fit", l.Fit(make([]float64, 3), []float64{1, 1})) {
			input.Failf("Fit: answers without data", "")
		}
		return
	}
	_, c := f.d.X.Dims()
	if f.full == nil || f.hyper == nil || input.IntN(3) == 0 {
		f.hyper = s.hyper(f.profile, c)
	}
	if input.IntN(40) == 0 {
		f.hyper = input.Vector(hostile.Integer, input.IntN(len(f.hyper)+2))
	}
	theta := filledVector(thetas(l, f.d), 7)
	var kept hostile.Memory
	kept.Matrix(f.d.Dense())
	kept.Vector(f.d.Y, f.hyper)
	err := l.Fit(theta, f.hyper)
	if input.Replaying() {
		fmt.Printf("Fit at %v: %v, error %v\n", f.hyper, theta, err)
	}
	kept.Check(input, "Fit")
	f.ok, f.theta = input.Answer("Fit", err), theta
	if !f.ok {
		if !hostile.SameBits(theta, filledVector(len(theta), 7)) && !(s.errorWrites && errors.Is(err, qpdiff.ErrIterationLimit)) {
			input.Failf("Fit: an error writes θ", "%v with %v", theta, err)
		}
		if input.IntN(4) == 0 {
			checkDerivatives(input, s, l, f)
		}
		return
	}
	if !hostile.Finite(theta) {
		input.Failf("Fit: not finite", "θ = %v at %v", theta, f.hyper)
		return
	}
	if s.objective != nil && f.profile <= hostile.Scaled {
		checkMinimum(input, s, f)
	}
	if input.IntN(4) == 0 {
		compareReset(input, s, l, f)
	}
}

// usedData returns the data of a fit.
func (f *fit) usedData() learn.Data {
	if f.full == nil {
		return f.d
	}
	r, c := f.d.X.Dims()
	var keep []int
	for i := range r {
		if !slices.Contains(f.out, i) {
			keep = append(keep, i)
		}
	}
	if len(keep) == 0 {
		return learn.Data{}
	}
	d := learn.Data{X: mat.NewDense(len(keep), c, nil), Y: make([]float64, len(keep))}
	for i, k := range keep {
		copy(d.Dense().RawRowView(i), f.d.Dense().RawRowView(k))
		d.Y[i] = f.d.Y[k]
		if f.d.Weights != nil {
			d.Weights = append(d.Weights, f.d.Weights[k])
		}
	}
	return d
}

// optimalTol bounds the amount, relative to the objective's terms, by which rounding may raise the
// objective at θ.
const optimalTol = 1e-13

// referenceTol is the tolerance of a QP's residual.
const referenceTol = 1e-9

// isModerate reports whether the hyperparameters have a usual size.
func isModerate(hyper []float64) bool {
	for _, h := range hyper {
		if h != 0 && !(h > 1e-3 && h < 1e3) {
			return false
		}
	}
	return true
}

// checkMinimum looks for a point near θ with a lower objective.
func checkMinimum(input *hostile.Input, s subject, f *fit) {
	d := f.usedData()
	if d.X == nil {
		return
	}
	at, size := s.objective(d, f.theta, f.hyper)
	if !hostile.Finite([]float64{at, size}) {
		return
	}
	if s.reference != nil && f.profile <= hostile.Integer && input.IntN(4) == 0 && isModerate(f.hyper) {
		// The smallest numbers have no digits to compare.
		if least, ok := s.reference(d, f.hyper); ok && at > least+referenceTol*size+0x1p-1022 {
			input.Failf("Fit: above the minimum", "%v at θ = %v where a QP finds %v; hyper %v, X = %v, Y = %v, weights %v", at, f.theta, least, f.hyper, hostile.Rows(d.Dense()), d.Y, d.Weights)
		}
	}
	for range 4 {
		direction := input.Vector(hostile.Tame, len(f.theta))
		if input.IntN(2) == 0 {
			clear(direction)
			direction[input.IntN(len(direction))] = 1 - 2*float64(input.IntN(2))
		}
		step := math.Pow(10, -9*input.Float64()) * (hostile.MaxAbs(f.theta) + math.Pow(10, -6*input.Float64()))
		moved := slices.Clone(f.theta)
		for i, v := range direction {
			moved[i] += step * v
		}
		if there, also := s.objective(d, moved, f.hyper); there < at-optimalTol*max(size, also) {
			input.Failf("Fit: not a minimum", "%v at θ = %v, %v lower %v away, %v; hyper %v, X = %v, Y = %v, weights %v", at, f.theta, at-there, step, f.profile, f.hyper, hostile.Rows(d.Dense()), d.Y, d.Weights)
			return
		}
	}
}

// compareReset checks that a fit after Reset has the bits of the fit of a new learner.
func compareReset(input *hostile.Input, s subject, l learn.Learner, f *fit) {
	fresh := s.make()
	if f.full != nil {
		if fresh.(learn.SubsetLearner).LoadSubset(f.full, f.out) != nil {
			input.Failf("LoadSubset: fails the second time", "")
			return
		}
	} else if err := fresh.Load(f.d); err != nil {
		input.Failf("Load: fails the second time", "%v", err)
		return
	}
	l.Reset()
	again, new := filledVector(len(f.theta), 7), filledVector(len(f.theta), 7)
	err, errNew := l.Fit(again, f.hyper), fresh.Fit(new, f.hyper)
	f.ok, f.theta = err == nil, again
	if (err == nil) != (errNew == nil) || !hostile.SameBits(again, new) {
		input.Failf("Reset: a refit has other bits than a new learner", "%v, %v, new: %v, %v", again, err, new, errNew)
		return
	}
	if err != nil {
		return
	}
	w := input.Vector(hostile.Tame, len(new))
	g, h := learnerGrad(f.d, f.hyper), learnerGrad(f.d, f.hyper)
	err, errNew = l.VJP(nil, g, w), fresh.VJP(nil, h, w)
	if (err == nil) != (errNew == nil) || !slices.EqualFunc(gradBlocks(g), gradBlocks(h), hostile.SameBits) {
		input.Failf("Reset: a VJP has other bits than that of a new learner", "%v, %v, new: %v, %v", gradBlocks(g), err, gradBlocks(h), errNew)
	}
}

// checkDerivatives computes derivatives of the last fit.
func checkDerivatives(input *hostile.Input, s subject, l learn.Learner, f *fit) {
	if !f.ok {
		n := 3
		if f.d.X != nil {
			n = thetas(l, f.d)
		}
		if err := l.VJP(nil, &learn.Grad{}, make([]float64, n)); !errors.Is(err, qpdiff.ErrNotFitted) {
			input.Failf("VJP: answers without a fit", "%v", err)
		}
		return
	}
	cotangents := hostile.Tame
	if input.IntN(6) == 0 {
		cotangents = input.Profile()
	}
	w := input.Vector(cotangents, len(f.theta))
	g := learnerGrad(f.d, f.hyper)
	var kept hostile.Memory
	kept.Matrix(f.d.Dense())
	kept.Vector(f.d.Y, f.hyper, w)
	err := l.VJP(nil, g, w)
	kept.Check(input, "VJP")
	answered := input.Answer("VJP", err)
	if g.Generalised && !s.generalised || g.Generalised && !answered && !errors.Is(err, qpdiff.ErrNotFinite) {
		input.Failf("VJP: generalised without being told to", "error %v at %v", err, f.hyper)
	}
	if input.Replaying() {
		fmt.Printf("VJP of %v: %v, error %v\n", w, gradBlocks(g), err)
	}
	if errors.Is(err, qpdiff.ErrNotFinite) {
		return // entries that overflow may have been added
	}
	if !hostile.Finite(gradBlocks(g)...) {
		input.Failf("VJP: not finite", "%v with error %v for dθ = %v at %v", gradBlocks(g), err, w, f.hyper)
		return
	}
	if !answered && !s.partial && hostile.Norm(gradBlocks(g)...) != 0 {
		input.Failf("VJP: an error writes", "%v with error %v", gradBlocks(g), err)
	}
	if answered {
		again := learnerGrad(f.d, f.hyper)
		if err := l.VJP(nil, again, w); err != nil || !slices.EqualFunc(gradBlocks(g), gradBlocks(again), hostile.SameBits) {
			input.Failf("VJP: the second call has other bits", "%v, then %v, %v", gradBlocks(g), gradBlocks(again), err)
		}
		part := learnerGrad(f.d, f.hyper)
		if input.IntN(2) == 0 {
			part.X = nil
		}
		if input.IntN(2) == 0 {
			part.Y = nil
		}
		if err := l.VJP(nil, part, w); err != nil {
			input.Failf("VJP: refuses a part of what it answered", "%v", err)
		} else if !hostile.SameBits(part.Hyper, g.Hyper) || part.Y != nil && !hostile.SameBits(part.Y, g.Y) {
			input.Failf("VJP: a part has other bits", "%v of %v", gradBlocks(part), gradBlocks(g))
		}
	}
	tangents := hostile.Tame
	if input.IntN(6) == 0 {
		tangents = input.Profile()
	}
	r, c := f.d.X.Dims()
	t := &learn.Grad{Hyper: input.Vector(tangents, len(f.hyper)), X: mat.NewDense(r, c, input.Vector(tangents, r*c)), Y: input.Vector(tangents, r)}
	// At the end of its domain, a hyperparameter moves without other inputs or stays fixed, because
	// one-sided derivatives do not add up.
	alone := input.IntN(2) == 0
	for i, h := range f.hyper {
		if h != 0 {
			continue
		}
		if t.Hyper[i] = math.Abs(t.Hyper[i]); alone {
			t.X.Zero()
			clear(t.Y)
		} else {
			t.Hyper[i] = 0
		}
	}
	equal := input.IntN(3) > 0
	if equal {
		equalTangents(f.d, t)
	}
	if j, ok := l.(learn.ForwardLearner); ok {
		dtheta := filledVector(len(f.theta), 7)
		var kept hostile.Memory
		kept.Vector(gradBlocks(t)...)
		err := j.JVP(nil, dtheta, t)
		kept.Check(input, "JVP")
		if input.Replaying() {
			fmt.Printf("JVP along %v: %v, error %v\n", gradBlocks(t), dtheta, err)
		}
		if !input.Answer("JVP", err) {
			if !hostile.SameBits(dtheta, filledVector(len(dtheta), 7)) && !errors.Is(err, qpdiff.ErrNotFinite) {
				input.Failf("JVP: an error writes", "%v with error %v", dtheta, err)
			}
			// A JVP may overflow although the VJP does not, because its right-hand side is in units
			// of the gradient. A VJP ignores derivatives at coordinates where its cotangent is 0.
			if answered && !slices.Contains(w, 0) && equal && !g.Generalised && !s.hasNoBound(f.hyper) && tangents <= hostile.Integer && f.profile <= hostile.Integer && hostile.Norm(g.Hyper) < 1e6 && hostile.MaxAbs(f.hyper) < nearMax {
				input.Failf("JVP: refuses where VJP answers", "hyper %v, X = %v, Y = %v, weights %v: %v", f.hyper, hostile.Rows(f.d.Dense()), f.d.Y, f.d.Weights, err)
			}
			return
		}
		if !hostile.Finite(dtheta) {
			input.Failf("JVP: not finite", "%v along %v at %v", dtheta, gradBlocks(t), f.hyper)
			return
		}
		if answered && equal && !g.Generalised && cotangents <= hostile.Scaled && tangents <= hostile.Scaled && f.profile <= hostile.Integer {
			checkAdjoint(input, s, f, g, t, w, dtheta)
		}
	}
	if answered && !g.Generalised && f.full == nil && f.profile <= hostile.Integer && cotangents == hostile.Tame && input.IntN(2) == 0 {
		compareQuotients(input, s, f, g, func(l learn.Learner, theta []float64) (float64, bool) {
			return hostile.Dot([][]float64{theta}, [][]float64{w}), true
		})
	}
}

// equalTangents gives equal rows equal tangents, and opposite rows with opposite labels opposite
// tangents.
func equalTangents(d learn.Data, t *learn.Grad) {
	r, _ := d.X.Dims()
	for i := range r {
		for k := range i {
			for _, sign := range []float64{1, -1} {
				opposite := func(a, b float64) bool { return a == sign*b }
				if d.Y[i] == sign*d.Y[k] && slices.EqualFunc(d.Dense().RawRowView(i), d.Dense().RawRowView(k), opposite) {
					for j, v := range t.X.RawRowView(k) {
						t.X.Set(i, j, sign*v)
					}
					t.Y[i] = sign * t.Y[k]
				}
			}
		}
	}
}

// nearMax bounds hyperparameters, because products of larger ones with data and tangents may
// overflow.
const nearMax = 1e300

// adjointTol bounds the relative rounding error of wᵀ(Jt) = (Jᵀw)ᵀt for condition numbers up to
// 1e6.
const adjointTol = 1e-9

func checkAdjoint(input *hostile.Input, s subject, f *fit, g, t *learn.Grad, w, dtheta []float64) {
	for _, h := range f.hyper {
		if h > 0 && h < hostile.Subnormal { // so is θ, which then has few bits
			return
		}
	}
	if s.kernel != nil && !isModerate(f.hyper) || s.hasNoBound(f.hyper) {
		return
	}
	gb, tb := gradBlocks(g), gradBlocks(t)
	length := hostile.Norm(gb...)*hostile.Norm(tb...) + hostile.Norm(w)*hostile.Norm(dtheta)
	if !(length < 1e8*(1+hostile.Norm(w)*hostile.Norm(tb...))) {
		return
	}
	left, right := hostile.Dot([][]float64{w}, [][]float64{dtheta}), hostile.Dot(gb, tb)
	// If the terms of a derivative with respect to a hyperparameter cancel, their rounding errors
	// remain, divided by the ridge penalty.
	lost := 0.0
	if s.ridge != nil && s.ridge(f.hyper) > 0 {
		lost = 0x1p-52 * hostile.Norm(w) * hostile.Norm(t.Hyper) * (hostile.Norm(f.theta) + hostile.Norm(hostile.Rows(f.d.Dense())...)) / s.ridge(f.hyper)
	}
	// A derivative of a decision value is a sum of products of kernel values and dual variables,
	// each with a few rounding errors.
	if s.kernel != nil {
		for i := range f.d.Y {
			x := f.d.Dense().RawRowView(i)
			lost += 0x1p-48 * hostile.Norm(w) * hostile.Norm(tb...) * (1 + f.hyper[0]) * s.kernel.Eval(f.hyper[1:], x, x)
		}
	}
	tol := adjointTol
	if s.inverse { // a condition above the 1e6 that the tolerance allows for
		cond := 1.0
		for i := range f.d.Y {
			x := f.d.Dense().RawRowView(i)
			cond += s.kernel.Eval(f.hyper[1:], x, x) / f.hyper[0]
		}
		tol *= max(1, cond/1e6)
	}
	if math.Abs(left-right) > tol*length+lost+hostile.Subnormal {
		input.Failf("VJP and JVP are not adjoint", "%v and %v; θ = %v, hyper %v, X = %v, Y = %v, weights %v", left, right, f.theta, f.hyper, hostile.Rows(f.d.Dense()), f.d.Y, f.d.Weights)
	}
}

// compareQuotients compares a derivative in a random direction with difference quotients.
func compareQuotients(input *hostile.Input, s subject, f *fit, g *learn.Grad, value func(l learn.Learner, theta []float64) (float64, bool)) {
	if !isModerate(f.hyper) {
		return
	}
	if hostile.Norm(gradBlocks(g)...) > 1e4 || hostile.MaxAbs(f.theta) > 1e4 {
		return
	}
	r, c := f.d.X.Dims()
	t := &learn.Grad{Hyper: input.Vector(hostile.Tame, len(f.hyper)), X: mat.NewDense(r, c, input.Vector(hostile.Tame, r*c)), Y: input.Vector(hostile.Tame, r)}
	for i, h := range f.hyper {
		t.Hyper[i] *= h // a 0 stays 0
	}
	if s.classes {
		clear(t.Y)
	}
	switch input.IntN(4) {
	case 0:
		t.X.Zero()
	case 1:
		clear(t.Hyper)
	}
	equalTangents(f.d, t)
	probe := s.make()
	input.Slope("VJP", func(step float64) (float64, bool) {
		moved := learn.Data{X: mat.DenseCopyOf(f.d.X), Y: slices.Clone(f.d.Y), Weights: f.d.Weights}
		hyper := slices.Clone(f.hyper)
		for i := range r {
			for j := range c {
				moved.Dense().Set(i, j, moved.X.At(i, j)+step*t.X.At(i, j))
			}
			moved.Y[i] += step * t.Y[i]
		}
		for i := range hyper {
			hyper[i] += step * t.Hyper[i]
		}
		theta := make([]float64, len(f.theta))
		if probe.Load(moved) != nil || probe.Fit(theta, hyper) != nil {
			return 0, false
		}
		return value(probe, theta)
	}, hostile.Dot(gradBlocks(g), gradBlocks(t)), hostile.Norm(gradBlocks(g)...)*hostile.Norm(gradBlocks(t)...))
}

// comparePredictions computes predictions of a Predictor, and their derivatives.
func comparePredictions(input *hostile.Input, s subject, l learn.Learner, f *fit) {
	d := l.(learn.Predictor)
	cols := 1 + input.IntN(3)
	if f.d.X != nil && input.IntN(10) > 0 {
		_, cols = f.d.X.Dims()
	}
	p := f.profile
	if input.IntN(6) == 0 {
		p = input.Profile()
	}
	x := input.Matrix(p, 1+input.IntN(4), cols)
	n, _ := x.Dims()
	if f.d.X != nil && f.d.Dense().RawMatrix().Cols == cols && input.IntN(3) == 0 {
		copy(x.RawRowView(0), f.d.Dense().RawRowView(0))
	}
	dst := make([]float64, n)
	var kept hostile.Memory
	kept.Matrix(x)
	err := d.Predict(nil, dst, x)
	if input.Replaying() {
		fmt.Printf("Predict %v: %v, error %v\n", hostile.Rows(x), dst, err)
	}
	kept.Check(input, "Predict")
	if f.ok {
		input.Answer("Predict", err)
	} else if !errors.Is(err, qpdiff.ErrNotFitted) {
		input.Failf("Predict: answers without a fit", "%v", err)
	}
	if err == nil && !hostile.Finite(dst) {
		input.Failf("Predict: not finite", "%v for %v", dst, hostile.Rows(x))
	}
	if !f.ok {
		return
	}
	w := input.Vector(hostile.Tame, n)
	if input.IntN(6) == 0 {
		w = input.Vector(input.Profile(), n)
	}
	g, dx := learnerGrad(f.d, f.hyper), mat.NewDense(n, cols, nil)
	kept.Vector(w)
	errVJP := d.PredictVJP(nil, g, dx, x, w)
	kept.Check(input, "PredictVJP")
	input.Answer("PredictVJP", errVJP)
	if input.Replaying() {
		fmt.Printf("PredictVJP of %v: %v, %v, error %v\n", w, gradBlocks(g), hostile.Rows(dx), errVJP)
	}
	if errors.Is(errVJP, qpdiff.ErrNotFinite) {
		return // entries that overflow may have been added
	}
	if !hostile.Finite(gradBlocks(g)...) || !hostile.FiniteMatrix(dx) {
		input.Failf("PredictVJP: not finite", "%v, %v with error %v for %v, hyper %v", gradBlocks(g), hostile.Rows(dx), errVJP, hostile.Rows(x), f.hyper)
		return
	}
	if errVJP != nil || err != nil {
		if errVJP != nil && (hostile.Norm(gradBlocks(g)...) != 0 || hostile.MaxAbs(hostile.Rows(dx)...) != 0) {
			input.Failf("PredictVJP: an error writes", "%v with error %v", gradBlocks(g), errVJP)
		}
		return
	}
	k, ok := l.(interface {
		PredictJVP(w *qpdiff.Workspace, dst []float64, x, dx *mat.Dense, d *learn.Grad) error
	})
	if !ok {
		return
	}
	r, _ := f.d.X.Dims()
	t := &learn.Grad{Hyper: input.Vector(hostile.Tame, len(f.hyper)), X: input.Matrix(hostile.Tame, r, cols), Y: input.Vector(hostile.Tame, r)}
	equalTangents(f.d, t)
	df := filledVector(n, 7)
	kept.Vector(gradBlocks(t)...)
	errJVP := k.PredictJVP(nil, df, x, nil, t)
	kept.Check(input, "PredictJVP")
	if input.Replaying() {
		fmt.Printf("PredictJVP along %v: %v, error %v\n", gradBlocks(t), df, errJVP)
	}
	if !input.Answer("PredictJVP", errJVP) {
		if !errors.Is(errJVP, qpdiff.ErrNotFinite) {
			input.Failf("PredictJVP: refuses where PredictVJP answers", "%v at %v", errJVP, f.hyper)
		}
		return
	}
	if !hostile.Finite(df) {
		input.Failf("PredictJVP: not finite", "%v along %v at %v", df, gradBlocks(t), f.hyper)
	} else if p <= hostile.Integer && f.profile <= hostile.Integer && !g.Generalised {
		checkAdjoint(input, s, f, g, t, w, df)
	}
}

func hostileElasticNet(input *hostile.Input) {
	per, generalised := input.IntN(3) == 0, input.IntN(4) == 0
	exerciseLearner(input, subject{
		make: func() learn.Learner {
			if per {
				return &perFeatureNet{ElasticNet: linear.ElasticNet{Generalised: generalised}}
			}
			return &linear.ElasticNet{Generalised: generalised}
		},
		hyper: func(p hostile.Profile, n int) []float64 {
			k := 1
			if per {
				k = n
			}
			h := make([]float64, 2*k)
			for i := range h {
				h[i] = drawPenalty(input, p)
			}
			return h
		},
		objective: func(d learn.Data, theta, hyper []float64) (value, size float64) {
			n := countOf(d)
			for i, y := range d.Y {
				if rowWeight(d, i) == 0 {
					continue
				}
				r, s := -y, math.Abs(y)
				for j, v := range d.Dense().RawRowView(i) {
					r += v * theta[j]
					s += math.Abs(v * theta[j])
				}
				value += rowWeight(d, i) / n * r * r / 2
				size += rowWeight(d, i) / n * s * s / 2
			}
			for j, v := range theta {
				l1, l2 := hyper[0], hyper[1]
				if per {
					l1, l2 = hyper[j], hyper[len(theta)+j]
				}
				penalty := l1*math.Abs(v) + l2*v*v/2
				value += penalty
				size += penalty
			}
			return
		},
		// θ = u − v with u, v ≥ 0.
		reference: func(d learn.Data, hyper []float64) (float64, bool) {
			r, c := d.X.Dims()
			n := countOf(d)
			constant := 0.0
			q := qpdiff.QP{Q: mat.NewDense(2*c, 2*c, nil), P: make([]float64, 2*c), G: mat.NewDense(2*c, 2*c, nil), H: make([]float64, 2*c)}
			sign := func(j int) (int, float64) { return j % c, 1 - 2*float64(j/c) }
			for j := range 2 * c {
				a, sa := sign(j)
				l1, l2 := hyper[0], hyper[1]
				if per {
					l1, l2 = hyper[a], hyper[c+a]
				}
				q.G.Set(j, j, -1)
				q.P[j] = l1
				for i, y := range d.Y {
					q.P[j] -= sa * d.X.At(i, a) * y * rowWeight(d, i) / n
				}
				for k := range j + 1 {
					b, sb := sign(k)
					s := 0.0
					for i := range r {
						s += d.X.At(i, a) * d.X.At(i, b) * rowWeight(d, i) / n
					}
					if a == b {
						s += l2
					}
					q.Q.Set(j, k, sa*sb*s)
					q.Q.Set(k, j, sa*sb*s)
				}
			}
			for i, y := range d.Y {
				constant += y * y * rowWeight(d, i) / (2 * n)
			}
			var s qpdiff.Solution
			err := s.Solve(&q)
			return s.Objective + constant, err == nil
		},
		generalised: generalised, partial: true,
	})
}

func hostileHuber(input *hostile.Input) {
	intercept, generalised := input.IntN(2) == 0, input.IntN(4) == 0
	residual := func(d learn.Data, theta []float64, i int) (r, size float64) {
		r, size = d.Y[i], math.Abs(d.Y[i])
		for j, t := range theta {
			v := 1.0
			if j < d.Dense().RawMatrix().Cols {
				v = d.X.At(i, j)
			}
			r -= v * t
			size += math.Abs(v * t)
		}
		return
	}
	exerciseLearner(input, subject{
		make: func() learn.Learner { return &linear.Huber{Intercept: intercept, Generalised: generalised} },
		hyper: func(p hostile.Profile, n int) []float64 {
			return []float64{drawPenalty(input, p), drawPenalty(input, p)}
		},
		ridge: func(hyper []float64) float64 { return hyper[0] },
		objective: func(d learn.Data, theta, hyper []float64) (value, size float64) {
			loss := func(r float64) float64 {
				if r > hyper[1] {
					return hyper[1] * (r - hyper[1]/2)
				}
				return r * r / 2
			}
			total := countOf(d)
			for i := range d.Y {
				r, s := residual(d, theta, i)
				value += rowWeight(d, i) * loss(math.Abs(r)) / total
				size += rowWeight(d, i) * loss(s) / total
			}
			for _, v := range theta[:d.Dense().RawMatrix().Cols] {
				value += hyper[0] * v * v / 2
				size += hyper[0] * v * v / 2
			}
			return
		},
		// Besides θ, the variables are three parts of each residual with a = y − Xθ − u + v. The
		// square of a is in the objective, and u and v are linear excesses.
		reference: func(d learn.Data, hyper []float64) (float64, bool) {
			r, c := d.X.Dims()
			k := c
			if intercept {
				k++
			}
			total := countOf(d)
			q := qpdiff.QP{Q: mat.NewDense(k+3*r, k+3*r, nil), P: make([]float64, k+3*r), G: mat.NewDense(2*r, k+3*r, nil), H: make([]float64, 2*r),
				A: mat.NewDense(r, k+3*r, nil), B: slices.Clone(d.Y)}
			for j := range c {
				q.Q.Set(j, j, hyper[0])
			}
			for i := range r {
				share := rowWeight(d, i) / total
				q.Q.Set(k+i, k+i, share)
				for j := range k {
					v := 1.0
					if j < c {
						v = d.X.At(i, j)
					}
					q.A.Set(i, j, v)
				}
				q.A.Set(i, k+i, 1)
				for side, sign := range []float64{1, -1} {
					at := k + (1+side)*r + i
					q.A.Set(i, at, sign)
					q.P[at] = hyper[1] * share
					q.G.Set(side*r+i, at, -1)
				}
			}
			var s qpdiff.Solution
			err := s.Solve(&q)
			return s.Objective, err == nil
		},
		generalised: generalised,
	})
}

// linearValue returns the objective of a linear model and the size of its terms.
func linearValue(d learn.Data, theta []float64, loss func(margin float64) float64, penalty func(v float64) float64) (value, size float64) {
	for i, y := range d.Y {
		w := rowWeight(d, i)
		if w == 0 {
			continue
		}
		m, s := 0.0, 0.0
		for j, v := range d.Dense().RawRowView(i) {
			m += y * v * theta[j]
			s += math.Abs(y * v * theta[j])
		}
		value += w * loss(m)
		size += w * (math.Abs(loss(m)) + loss(-s))
	}
	for _, v := range theta {
		value += penalty(v)
		size += penalty(v)
	}
	return
}

func hostileSVM(input *hostile.Input) {
	generalised := input.IntN(4) == 0
	exerciseLearner(input, subject{
		make:    func() learn.Learner { return &margin.SVM{Generalised: generalised} },
		classes: true,
		ridge:   func(hyper []float64) float64 { return hyper[len(hyper)-1] },
		hyper: func(p hostile.Profile, n int) []float64 {
			return []float64{drawPenalty(input, p), drawPenalty(input, p)}
		},
		objective: func(d learn.Data, theta, hyper []float64) (value, size float64) {
			n := countOf(d)
			return linearValue(d, theta, func(m float64) float64 { return max(0, 1-m) / n },
				func(v float64) float64 { return hyper[0]*math.Abs(v) + hyper[1]*v*v/2 })
		},
		// θ, its magnitudes and the losses of the rows.
		reference: func(d learn.Data, hyper []float64) (float64, bool) {
			r, c := d.X.Dims()
			size := 2*c + r
			q := qpdiff.QP{Q: mat.NewDense(size, size, nil), P: make([]float64, size), G: mat.NewDense(2*c+2*r, size, nil), H: make([]float64, 2*c+2*r)}
			for j := range c {
				q.Q.Set(j, j, hyper[1])
				q.P[c+j] = hyper[0]
				q.G.Set(2*j, j, 1)
				q.G.Set(2*j, c+j, -1)
				q.G.Set(2*j+1, j, -1)
				q.G.Set(2*j+1, c+j, -1)
			}
			for i, y := range d.Y {
				q.P[2*c+i] = rowWeight(d, i) / countOf(d)
				for j, v := range d.Dense().RawRowView(i) {
					q.G.Set(2*c+2*i, j, -y*v)
				}
				q.G.Set(2*c+2*i, 2*c+i, -1)
				q.H[2*c+2*i] = -1
				q.G.Set(2*c+2*i+1, 2*c+i, -1)
			}
			var s qpdiff.Solution
			err := s.Solve(&q)
			return s.Objective, err == nil
		},
		generalised: generalised, partial: true,
	})
}

func hostileLearnedLoss(input *hostile.Input) {
	generalised := input.IntN(4) == 0
	exerciseLearner(input, subject{
		make:    func() learn.Learner { return &margin.LearnedLoss{Generalised: generalised} },
		classes: true,
		ridge:   func(hyper []float64) float64 { return hyper[len(hyper)-1] },
		hyper: func(p hostile.Profile, n int) []float64 {
			h := make([]float64, 5)
			for i := range h {
				h[i] = drawPenalty(input, p)
			}
			return h
		},
		objective: func(d learn.Data, theta, hyper []float64) (value, size float64) {
			n := countOf(d)
			softplus := func(v float64) float64 { return max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) }
			return linearValue(d, theta, func(m float64) float64 {
				c := max(0, 1-m)
				v := hyper[0]*c + hyper[2]*c*c + hyper[3]*softplus(-2*m)
				if hyper[1] > 0 {
					v += hyper[1] * math.Exp(-m)
				}
				return v / n
			}, func(v float64) float64 { return hyper[4] * v * v / 2 })
		},
		generalised: generalised, partial: true,
	})
}

func hostileLogistic(input *hostile.Input) {
	intercept := linear.Intercept(input.IntN(3))
	limit := 0
	if input.IntN(10) == 0 {
		limit = input.IntN(4) - 1
	}
	classes := input.IntN(4) > 0
	var l *linear.Logistic
	exerciseLearner(input, subject{
		make: func() learn.Learner {
			l = &linear.Logistic{Intercept: intercept, MaxIter: limit}
			return l
		},
		classes: classes,
		hyper:   func(p hostile.Profile, n int) []float64 { return []float64{drawPenalty(input, p)} },
		objective: func(d learn.Data, theta, hyper []float64) (value, size float64) {
			_, n := d.X.Dims()
			wide := d
			if intercept != linear.NoIntercept {
				wide.X = mat.NewDense(len(d.Y), n+1, nil)
				for i := range d.Y {
					copy(wide.Dense().RawRowView(i), d.Dense().RawRowView(i))
					wide.Dense().Set(i, n, 1)
				}
			}
			value, size = linearValue(wide, theta, func(m float64) float64 {
				return hyper[0] * (max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m))))
			}, func(v float64) float64 { return v * v / 2 })
			if intercept == linear.UnpenalisedIntercept {
				value -= theta[n] * theta[n] / 2
			}
			return
		},
		errorWrites: true,
	})
	// The methods that only Logistic has.
	d := drawData(input, input.Profile(), true)
	if l.Load(d) != nil {
		return
	}
	theta := make([]float64, thetas(l, d))
	fitted := input.Answer("Fit", l.Fit(theta, []float64{drawPenalty(input, hostile.Tame)}))
	if fitted && !hostile.Finite(theta) {
		input.Failf("Fit: not finite", "%v", theta)
	}
	pi := make([]float64, len(d.Y))
	v := input.Vector(input.Profile(), len(theta))
	dst := make([]float64, len(theta))
	errP, errH := l.Probabilities(nil, pi), l.SolveHessian(nil, dst, v)
	if !fitted {
		if !errors.Is(errP, qpdiff.ErrNotFitted) || !errors.Is(errH, qpdiff.ErrNotFitted) {
			input.Failf("Probabilities, SolveHessian: answer without a fit", "%v, %v", errP, errH)
		}
		return
	}
	input.Answer("Probabilities", errP)
	for _, p := range pi {
		if !(p >= 0 && p <= 1) {
			input.Failf("Probabilities: outside [0, 1]", "%v, θ = %v", pi, theta)
			break
		}
	}
	if input.Answer("SolveHessian", errH) && !hostile.Finite(dst) {
		input.Failf("SolveHessian: not finite", "%v for %v", dst, v)
	}
}

func hostileSparseLogistic(input *hostile.Input) {
	intercept, generalised, classes := input.IntN(2) == 0, input.IntN(4) == 0, input.IntN(4) > 0
	exerciseLearner(input, subject{
		make: func() learn.Learner {
			return &linear.SparseLogistic{Intercept: intercept, Generalised: generalised}
		},
		classes: classes,
		hyper: func(p hostile.Profile, n int) []float64 {
			return []float64{drawPenalty(input, p), drawPenalty(input, p)}
		},
		objective: func(d learn.Data, theta, hyper []float64) (value, size float64) {
			_, n := d.X.Dims()
			total := countOf(d)
			for i, y := range d.Y {
				m, s := 0.0, 0.0
				for j, t := range theta {
					v := y * t
					if j < n {
						v *= d.X.At(i, j)
					}
					m += v
					s += math.Abs(v)
				}
				value += (max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m)))) * rowWeight(d, i) / total
				size += (max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m))) + s) * rowWeight(d, i) / total
			}
			for _, v := range theta[:n] {
				penalty := hyper[0]*math.Abs(v) + hyper[1]*v*v/2
				value += penalty
				size += penalty
			}
			return
		},
		generalised: generalised, partial: true,
	})
}

// drawKernel draws a kernel, which may be nil, and returns the kernel for which nil stands.
func drawKernel(input *hostile.Input) (drawn, meant kernel.Kernel) {
	switch input.IntN(4) {
	case 0:
		drawn = kernel.RBF{}
	case 1, 2:
		drawn = kernel.Polynomial{Degree: input.IntN(5)}
		if input.IntN(20) == 0 {
			drawn = kernel.Polynomial{Degree: -1}
		}
	}
	if meant = drawn; meant == nil {
		meant = kernel.RBF{}
	}
	return drawn, meant
}

func hostileKernelSVM(input *hostile.Input) {
	l := kernel.SVM{Intercept: input.IntN(2) == 0, Generalised: input.IntN(4) == 0}
	var kernel kernel.Kernel
	l.Kernel, kernel = drawKernel(input)
	s := subject{
		make:    func() learn.Learner { k := l; return &k },
		classes: true,
		kernel:  kernel,
		hyper: func(p hostile.Profile, n int) []float64 {
			h := make([]float64, 1+kernel.NumParams(n))
			for i := range h {
				h[i] = drawPenalty(input, p)
			}
			return h
		},
		generalised: l.Generalised,
	}
	exerciseLearner(input, s)
	if l.Generalised || input.IntN(4) > 0 {
		return
	}
	m, f := comparePredictionQuotients(input, s)
	if m != nil && !l.Intercept && isModerate(f.hyper) {
		compareWithDual(input, m, kernel, f.d, f.hyper)
	}
}

// comparePredictionQuotients compares derivatives of a kernel machine's predictions with difference
// quotients. It returns the machine and its fit, or nil without a fit.
func comparePredictionQuotients(input *hostile.Input, s subject) (learn.Predictor, *fit) {
	p := []hostile.Profile{hostile.Tame, hostile.Integer}[input.IntN(2)]
	d := drawData(input, p, s.classes)
	drawWeights(input, p, &d)
	m := s.make()
	if m.Load(d) != nil {
		return nil, nil
	}
	f := &fit{profile: p, d: d, hyper: s.hyper(hostile.Tame, d.Dense().RawMatrix().Cols), theta: make([]float64, thetas(m, d))}
	if m.Fit(f.theta, f.hyper) != nil {
		return nil, nil
	}
	x := mat.NewDense(2, d.Dense().RawMatrix().Cols, input.Vector(p, 2*d.Dense().RawMatrix().Cols))
	w := input.Vector(hostile.Tame, 2)
	g := learnerGrad(d, f.hyper)
	if input.Replaying() {
		fmt.Printf("%+v fitted to X = %v, Y = %v, weights %v at %v: θ = %v, x = %v, cotangent %v\n", m, hostile.Rows(d.Dense()), d.Y, d.Weights, f.hyper, f.theta, hostile.Rows(x), w)
	}
	if input.Answer("PredictVJP", m.(learn.Predictor).PredictVJP(nil, g, nil, x, w)) {
		compareQuotients(input, s, f, g, func(l learn.Learner, _ []float64) (float64, bool) {
			dst := make([]float64, 2)
			err := l.(learn.Predictor).Predict(nil, dst, x)
			return hostile.Dot([][]float64{dst}, [][]float64{w}), err == nil
		})
	}
	return m.(learn.Predictor), f
}

func hostileKernelRidge(input *hostile.Input) {
	l := kernel.Ridge{Intercept: input.IntN(2) == 0}
	var kernel kernel.Kernel
	l.Kernel, kernel = drawKernel(input)
	s := subject{
		make:   func() learn.Learner { k := l; return &k },
		kernel: kernel, inverse: true,
		hyper: func(p hostile.Profile, n int) []float64 {
			h := make([]float64, 1+kernel.NumParams(n))
			for i := range h {
				h[i] = drawPenalty(input, p)
			}
			return h
		},
	}
	exerciseLearner(input, s)
	if input.IntN(4) == 0 {
		comparePredictionQuotients(input, s)
	}
	p := input.Profile()
	if d := drawData(input, p, false); input.IntN(2) == 0 && s.make().Load(d) == nil {
		checkLeaveOneOut(input, p, s, d)
	}
}

// checkLeaveOneOut compares the predictions of LeaveOneOut with separate fits for each row.
func checkLeaveOneOut(input *hostile.Input, p hostile.Profile, s subject, d learn.Data) {
	l := s.make().(learn.LeaveOneOutLearner)
	hyper := s.hyper(p, d.Dense().RawMatrix().Cols)
	dst := filledVector(len(d.Y), 7)
	var kept hostile.Memory
	kept.Matrix(d.Dense())
	kept.Vector(d.Y, hyper)
	err := errors.Join(l.Load(d), l.LeaveOneOut(dst, hyper))
	kept.Check(input, "LeaveOneOut")
	if input.Replaying() {
		fmt.Printf("LeaveOneOut of X = %v, Y = %v (%v) at %v: %v, error %v\n", hostile.Rows(d.Dense()), d.Y, p, hyper, dst, err)
	}
	if !input.Answer("LeaveOneOut", err) {
		if !hostile.SameBits(dst, filledVector(len(dst), 7)) {
			input.Failf("LeaveOneOut: an error writes", "%v with %v", dst, err)
		}
		return
	}
	if !hostile.Finite(dst) {
		input.Failf("LeaveOneOut: not finite", "%v at %v", dst, hyper)
		return
	}
	g, dx := learnerGrad(d, hyper), mat.DenseCopyOf(learnerGrad(d, hyper).X)
	if err := l.LeaveOneOutVJP(nil, g, dx, input.Vector(hostile.Tame, len(d.Y))); input.Answer("LeaveOneOutVJP", err) && !(hostile.Finite(gradBlocks(g)...) && hostile.FiniteMatrix(dx)) {
		input.Failf("LeaveOneOutVJP: not finite", "%v, %v at %v", gradBlocks(g), hostile.Rows(dx), hyper)
	}
	if p > hostile.Integer || !isModerate(hyper) || s.hasNoBound(hyper) {
		return
	}
	m := s.make().(learn.Predictor)
	_, n := d.X.Dims()
	for out := range d.Y {
		var rest []int
		for i := range d.Y {
			if i != out {
				rest = append(rest, i)
			}
		}
		one := []float64{0}
		if errors.Join(m.Load(learn.Data{X: d.X, Y: d.Y, Rows: rest}), m.Fit(make([]float64, thetas(m, d)), hyper), m.Predict(nil, one, d.Dense().Slice(out, out+1, 0, n).(*mat.Dense))) != nil {
			continue
		}
		// A prediction is a sum of kernel values times coefficients of size up to y/λ.
		size := 1 + hostile.MaxAbs(d.Y)
		for i := range d.Y {
			x := d.Dense().RawRowView(i)
			size += hostile.MaxAbs(d.Y) * s.kernel.Eval(hyper[1:], x, x) / hyper[0]
		}
		if math.Abs(one[0]-dst[out]) > 1e-10*size {
			input.Failf("LeaveOneOut: not that of a fit", "%v, a fit predicts %v for row %d; hyper %v, X = %v, Y = %v", dst, one, out, hyper, hostile.Rows(d.Dense()), d.Y)
			return
		}
	}
}

// compareWithDual compares decision values with the dual program's. Without an intercept they are
// unique.
func compareWithDual(input *hostile.Input, m learn.Predictor, kernel kernel.Kernel, d learn.Data, hyper []float64) {
	n := len(d.Y)
	q := qpdiff.QP{Q: mat.NewDense(n, n, nil), P: make([]float64, n), G: mat.NewDense(2*n, n, nil), H: make([]float64, 2*n)}
	size := 0.0
	for i, y := range d.Y {
		q.P[i] = -y
		q.G.Set(2*i, i, y)
		q.H[2*i] = hyper[0] * rowWeight(d, i)
		q.G.Set(2*i+1, i, -y)
		for k := range n {
			v := kernel.Eval(hyper[1:], d.Dense().RawRowView(i), d.Dense().RawRowView(k))
			q.Q.Set(i, k, v)
			size = max(size, math.Abs(v))
		}
	}
	var s qpdiff.Solution
	got := make([]float64, n)
	if s.Solve(&q) != nil || m.Predict(nil, got, d.Dense()) != nil {
		return
	}
	var want mat.VecDense
	want.MulVec(q.Q, mat.NewVecDense(n, s.Z))
	for i, v := range got {
		if math.Abs(v-want.AtVec(i)) > 1e-6*(1+size*hostile.MaxAbs(s.Z)) {
			input.Failf("Predict: another decision than the QP's", "%v and %v; hyper %v, X = %v, Y = %v, weights %v", got, want.RawVector().Data, hyper, hostile.Rows(d.Dense()), d.Y, d.Weights)
			return
		}
	}
}

// quarticObjective returns ½·mean (xᵀθ − y)² + a/2·‖θ‖² + b/4·Σθ⁴ with the hyperparameters a and b.
func quarticObjective() smooth.Objective {
	return smooth.Objective{NumHyper: 2,
		Gradient: func(g, theta []float64, d learn.Data, hyper []float64) {
			for j, v := range theta {
				g[j] = hyper[0]*v + hyper[1]*v*v*v
			}
			for i, y := range d.Y {
				x := d.Dense().RawRowView(i)
				r := -y
				for j, v := range x {
					r += v * theta[j]
				}
				for j, v := range x {
					g[j] += r * v / float64(len(d.Y))
				}
			}
		},
		HVP: func(hv, v, theta []float64, d learn.Data, hyper []float64) {
			for j, t := range theta {
				hv[j] = (hyper[0] + 3*hyper[1]*t*t) * v[j]
			}
			for i := range d.Y {
				x := d.Dense().RawRowView(i)
				s := 0.0
				for j, a := range x {
					s += a * v[j]
				}
				for j, a := range x {
					hv[j] += s * a / float64(len(d.Y))
				}
			}
		},
		MixedVJP: func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64) {
			if g.Hyper != nil {
				for j, t := range theta {
					g.Hyper[0] += v[j] * t
					g.Hyper[1] += v[j] * t * t * t
				}
			}
			n := float64(len(d.Y))
			for i, y := range d.Y {
				x := d.Dense().RawRowView(i)
				r, s := -y, 0.0
				for j, a := range x {
					r += a * theta[j]
					s += a * v[j]
				}
				if g.X != nil {
					row := g.X.RawRowView(i)
					for j := range row {
						row[j] += (r*v[j] + s*theta[j]) / n
					}
				}
				if g.Y != nil {
					g.Y[i] -= s / n
				}
			}
		},
	}
}

func hostileCustom(input *hostile.Input) {
	limit := 0
	if input.IntN(10) == 0 {
		limit = input.IntN(3)
	}
	exerciseLearner(input, subject{
		make: func() learn.Learner { return &smooth.Learner{Objective: quarticObjective(), MaxIter: limit} },
		hyper: func(p hostile.Profile, n int) []float64 {
			return []float64{drawPenalty(input, p), drawPenalty(input, p)}
		},
		objective: func(d learn.Data, theta, hyper []float64) (value, size float64) {
			n := float64(len(d.Y))
			for i, y := range d.Y {
				r, s := -y, math.Abs(y)
				for j, v := range d.Dense().RawRowView(i) {
					r += v * theta[j]
					s += math.Abs(v * theta[j])
				}
				value += r * r / (2 * n)
				size += s * s / (2 * n)
			}
			for _, v := range theta {
				p := hyper[0]*v*v/2 + hyper[1]*v*v*v*v/4
				value += p
				size += p
			}
			return
		},
		even: true,
	})
}

// hostileSmall calls the functions that need no state.
func hostileSmall(input *hostile.Input) {
	p := input.Profile()
	n := input.IntN(4)
	kernel := []kernel.Kernel{kernel.RBF{}, kernel.Polynomial{Degree: input.IntN(6) - 1}}[input.IntN(2)]
	params := input.Vector(p, kernel.NumParams(n))
	x, z := input.Vector(p, n), input.Vector(p, n)
	if hostile.Finite(params) { // as Check is promised
		input.Answer("Kernel.Check", kernel.Check(params))
	}
	var kept hostile.Memory
	kept.Vector(params, x, z)
	value := kernel.Eval(params, x, z)
	kernel.Grad(make([]float64, len(params)), make([]float64, n), make([]float64, n), input.NormFloat64(), value, params, x, z)
	kernel.Grad(nil, nil, nil, input.NormFloat64(), value, params, x, z)
	kept.Check(input, "Kernel")

	d := drawData(input, p, input.IntN(2) == 0)
	input.Answer("Data.Check", d.Check())
	hostileForEach(input)
}

// perFeatureNet is an elastic net in which each feature is a group, for any number of features.
type perFeatureNet struct{ linear.ElasticNet }

func (l *perFeatureNet) Dims(n int) (theta, hyper int) { return n, 2 * n }

func (l *perFeatureNet) Load(d learn.Data) error {
	if d.Dense() != nil {
		if _, n := d.X.Dims(); n != len(l.Groups) {
			l.Groups = linear.PerFeature(n)
		}
	}
	return l.ElasticNet.Load(d)
}
