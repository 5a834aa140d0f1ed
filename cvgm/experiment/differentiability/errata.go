package differentiability

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/stability"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ErrataParams are the parameters of the proofs of the errata.
type ErrataParams struct {
	LinearProblem
	C    float64 `help:"weight of the losses of logistic regression" range:"(0,∞)" small:"[.3,3]" setting:"C = %v"`
	Test int     `help:"fresh examples" range:"[1,∞)" small:"[20,100]"`
}

// DefaultErrata returns parameters of our own, because the paper gives none.
func DefaultErrata() ErrataParams {
	return ErrataParams{LinearProblem: defaultLinearProblem, C: 1, Test: 2000}
}

func (ErrataParams) Defaults() any { return DefaultErrata() }

// ErrataResult holds measurements of the paper's errors, with one field for each erratum.
type ErrataResult struct {
	Params   ErrataParams
	Jacobian JacobianErratum
	// Range shows a kink at which the paper's condition ∇_α g ∈ R(∇_z g) holds.
	Range RangeCounterexample
	// ElasticNet and SVM show that a solution with λ2 > 0 need not be differentiable.
	ElasticNet, SVM Kink
	Labels          LabelErratum
	Program         ProgramErratum
	Loss            LossKink
	Bayes           BayesErratum
}

// JacobianErratum compares two Jacobians ∂θ/∂X of logistic regression, on N examples in the plane.
// The printed Jacobian uses the formula in the paper's example, ∇_{x_i}∇_θ L = C(π_i−1)y_i I, which
// omits a term. The complete Jacobian has all terms.
type JacobianErratum struct {
	Data  synth.Data
	Theta [2]float64 // the line θᵀx = 0 separates the classes
	// CompleteError and PrintedError are the distances of the two Jacobians from central
	// differences. The distances are relative to the norm of the central differences. Cosine is the
	// cosine of the angle between the two Jacobians, each written as one long vector.
	CompleteError, PrintedError, Cosine float64
	// Complete and Printed are gradients of the logistic loss on fresh examples, one from each of
	// the two formulas. They are gradients with respect to the N training rows, and therefore N×2
	// matrices. GradientCosine is the cosine of the angle between these two matrices, each written
	// as one vector. OpposedShare is the share of the rows in which the two gradients form an angle
	// above 90°.
	Complete, Printed            *mat.Dense
	GradientCosine, OpposedShare float64
}

// LabelErratum compares two kinds of labels for the support vector machine of the supplement: the
// labels {0, 1} that the supplement uses, and the labels {−1, 1}.
type LabelErratum struct {
	// ZeroSlope is the largest derivative, with respect to an entry of θ, of the hinge loss max(0,
	// 1 − yθᵀx) for examples with the label y = 0.
	ZeroSlope float64
	// ZeroMoves and SignMoves are the largest changes of an entry of θ in the supplement's program
	// if all examples with the lower label get other features. The lower label is 0 for ZeroMoves,
	// and −1 for SignMoves.
	ZeroMoves, SignMoves float64
	// ZeroAccuracy and SignAccuracy are accuracies for the two kinds of labels: the shares of test
	// examples on the correct side of θᵀx = 0.
	ZeroAccuracy, SignAccuracy float64
	Refusal                    string // the library's error for labels 0
}

// ProgramErratum examines the paper's statement "we can differentiate the solution to
// positive-definite QPs". The paper replaces the learners by quadratic programs, and ProgramErratum
// measures these programs.
type ProgramErratum struct {
	// The paper prints a quadratic program for the elastic net and one for the support vector
	// machine. ElasticNet and SVM are the smallest eigenvalues of the matrices of these programs.
	ElasticNet, SVM float64
	// Difference and Slope compare two ways to fit an elastic net: the learner, and the printed
	// program. Difference is the largest difference between corresponding entries of θ. Slope is
	// the largest difference between corresponding entries of ∂θ/∂λ1.
	Difference, Slope float64
}

// LossKink holds the one-sided slopes of a solution at a kink. The hinge loss has the weight a, the
// examples are x = y = ±1, and the penalty is ½θ². The solution is θ = min(a, 1), with a kink at a
// = 1.
type LossKink struct {
	Left, Right float64
	Refusal     string // the library's error for the derivative at a = 1
}

// BayesErratum has accuracies that the paper's figures mention.
type BayesErratum struct {
	// These fields are accuracies of the Bayes rule for the rings: in the population, and on the
	// published test set.
	Rings, RingsTest float64
	// XOR is the accuracy of the Bayes rule over the population of the XOR problem. XORTest is the
	// accuracy of the sign rule on the published test set. XORCoded is the number that the
	// published code computes for XORTest. This code counts every example of the class −1 as
	// correct.
	XOR, XORTest, XORCoded float64
	// HalfPlane is the accuracy, over the population of the rings, of the best linear rule x₁ >
	// Offset. HalfPlaneTest is the accuracy of this rule on the published test set.
	HalfPlane, Offset, HalfPlaneTest float64
	Origin                           float64 // accuracy, over the population, of a half-plane through the origin
	// At Radius, the probabilities of the two rings are equal. The Bayes rule changes its class
	// there.
	Radius float64
}

// Run measures all errata.
func (p ErrataParams) Run(ctx context.Context, _ experiment.Hooks) (*ErrataResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	r := &ErrataResult{Params: p}
	err := experiment.InTurn(ctx,
		r.Range.measure,
		func() error { return p.kinks(ctx, &r.ElasticNet, &r.SVM) },
		func() error { return p.jacobianErratum(ctx, &r.Jacobian) },
		func() error { return p.labelErratum(&r.Labels) },
		func() error { return p.programErratum(ctx, &r.Program) },
		func() error { return r.Loss.measure(ctx) },
		r.Bayes.measure,
	)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (p ErrataParams) jacobianErratum(ctx context.Context, e *JacobianErratum) error {
	src := p.stream("jacobian")
	plane := stability.Population{Coef: []float64{1, .5}, Noise: p.Noise, Sign: true}
	d, fresh := plane.Draw(src, p.Train), plane.Draw(src, p.Test)
	var l linear.Logistic
	theta := make([]float64, 2)
	if err := experiment.Fit(ctx, &l, d, theta, []float64{p.C}); err != nil {
		return err
	}
	e.Data, e.Theta = experiment.AsDrawn(d), [2]float64(theta)
	pi := make([]float64, p.Train)
	if err := l.Probabilities(nil, pi); err != nil {
		return err
	}
	// products returns cᵀ∂θ/∂X by both formulas.
	products := func(c []float64) (complete, printed *mat.Dense, err error) {
		complete, printed = mat.NewDense(p.Train, 2, nil), mat.NewDense(p.Train, 2, nil)
		u := make([]float64, 2)
		err = errors.Join(l.VJP(nil, &learn.Grad{X: complete}, c), l.SolveHessian(nil, u, c))
		for i, v := range pi {
			floats.AddScaled(printed.RawRowView(i), -p.C*(v-1)*d.Y[i], u)
		}
		return complete, printed, err
	}
	var complete, printed []float64
	for k := range theta {
		unit := make([]float64, 2)
		unit[k] = 1
		a, b, err := products(unit)
		if err != nil {
			return err
		}
		complete, printed = append(complete, entries(a)...), append(printed, entries(b)...)
	}
	slopes := make([]float64, 2) // of the mean loss on fresh examples, in θ
	for i, y := range fresh.Y {
		x := fresh.Dense().RawRowView(i)
		_, slope := cvgm.LogisticLoss{}.Eval(floats.Dot(theta, x), y)
		floats.AddScaled(slopes, slope/float64(p.Test), x)
	}
	var err error
	if e.Complete, e.Printed, err = products(slopes); err != nil {
		return err
	}
	e.Cosine = experiment.Cosine(complete, printed)
	e.GradientCosine = experiment.Cosine(entries(e.Complete), entries(e.Printed))
	for i := range p.Train {
		if floats.Dot(e.Complete.RawRowView(i), e.Printed.RawRowView(i)) < 0 {
			e.OpposedShare++
		}
	}
	e.OpposedShare /= float64(p.Train)
	differences := make([]float64, len(complete))
	const h = 1e-5
	for at := range 2 * p.Train {
		for _, sign := range []float64{1, -1} {
			moved := mat.DenseCopyOf(d.X)
			moved.RawMatrix().Data[at] += sign * h
			if err := experiment.Fit(ctx, &l, learn.Data{X: moved, Y: d.Y}, theta, []float64{p.C}); err != nil {
				return err
			}
			for k, t := range theta {
				differences[k*2*p.Train+at] += sign * t / (2 * h)
			}
		}
	}
	norm := floats.Norm(differences, 2)
	e.CompleteError = floats.Distance(complete, differences, 2) / norm
	e.PrintedError = floats.Distance(printed, differences, 2) / norm
	return nil
}

// asZeroOne returns the data with the label 0 for every label −1.
func asZeroOne(d learn.Data) learn.Data {
	y := make([]float64, len(d.Y))
	for i, v := range d.Y {
		y[i] = math.Max(v, 0)
	}
	return learn.Data{X: d.X, Y: y}
}

func (p ErrataParams) labelErratum(e *LabelErratum) error {
	src := p.stream("labels")
	d, test := p.classes(src, p.Train), p.classes(src, p.Test)
	other := learn.Data{X: mat.DenseCopyOf(d.X), Y: d.Y} // the examples of class −1 will be replaced
	for i, y := range d.Y {
		if y < 0 {
			other.Dense().SetRow(i, normals(src, p.Features))
		}
	}
	machine := func(d learn.Data) ([]float64, error) {
		var s qpdiff.Solution
		if err := s.Solve(svmProgram(d, []float64{p.Lambda1, p.Lambda2})); err != nil {
			return nil, err
		}
		theta := make([]float64, p.Features)
		floats.SubTo(theta, s.Z[:p.Features], s.Z[p.Features:2*p.Features])
		return theta, nil
	}
	hinge := func(theta, x []float64, y float64) float64 { return math.Max(0, 1-y*floats.Dot(theta, x)) }
	for _, way := range []struct {
		data, other     learn.Data
		moves, accuracy *float64
	}{{d, other, &e.SignMoves, &e.SignAccuracy}, {asZeroOne(d), asZeroOne(other), &e.ZeroMoves, &e.ZeroAccuracy}} {
		theta, err := machine(way.data)
		moved, errMoved := machine(way.other)
		if err := experiment.FirstError(err, errMoved); err != nil {
			return err
		}
		*way.moves = floats.Distance(theta, moved, math.Inf(1))
		on, err := experiment.EvaluateFunc(func(dst []float64, x *mat.Dense) error {
			mat.NewVecDense(len(dst), dst).MulVec(x, mat.NewVecDense(len(theta), theta))
			return nil
		}, test)
		if err != nil {
			return err
		}
		*way.accuracy = on.Accuracy
		const h = 1e-6
		for i, y := range way.data.Y {
			for j := 0; y == 0 && j < len(theta); j++ {
				up, down := slices.Clone(theta), slices.Clone(theta)
				up[j] += h
				down[j] -= h
				x := d.Dense().RawRowView(i)
				e.ZeroSlope = math.Max(e.ZeroSlope, math.Abs(hinge(up, x, y)-hinge(down, x, y))/(2*h))
			}
		}
	}
	err := new(margin.SVM).Load(asZeroOne(d))
	if err == nil {
		return errors.New("experiment: a support vector machine took the label 0")
	}
	e.Refusal = err.Error()
	return nil
}

// elasticNetProgram returns a quadratic program in the variables v = (θp, θn) ≥ 0. It is the
// program that the paper's example prints.
func elasticNetProgram(d learn.Data, lambda1, lambda2 float64) *qpdiff.QP {
	rows, n := d.X.Dims()
	q := &qpdiff.QP{Q: new(mat.Dense), P: make([]float64, 2*n), G: mat.NewDense(2*n, 2*n, nil), H: make([]float64, 2*n)}
	gram, xty := new(mat.Dense), new(mat.VecDense)
	gram.Mul(d.X.T(), d.X)
	xty.MulVec(d.X.T(), mat.NewVecDense(rows, d.Y))
	inv := 1 / float64(rows)
	gram.Scale(inv, gram)
	q.Q.Kronecker(mat.NewDense(2, 2, []float64{1, -1, -1, 1}), gram)
	for i := range 2 * n {
		sign := math.Copysign(1, float64(i)-float64(n)+.5) // −1 for θp, 1 for θn
		q.P[i] = lambda1 + sign*inv*xty.AtVec(i%n)
		q.Q.Set(i, i, q.Q.At(i, i)+lambda2)
		q.G.Set(i, i, -1)
	}
	return q
}

func (p ErrataParams) programErratum(ctx context.Context, e *ProgramErratum) error {
	src := p.stream("programs")
	d, classes := p.regression(src, p.Train), p.classes(src, p.Train)
	n := p.Features
	q := elasticNetProgram(d, p.Lambda1, p.Lambda2)
	for _, m := range []struct {
		q  *mat.Dense
		to *float64
	}{{q.Q, &e.ElasticNet}, {svmProgram(classes, []float64{p.Lambda1, p.Lambda2}).Q, &e.SVM}} {
		size, _ := m.q.Dims()
		var eigen mat.EigenSym
		if !eigen.Factorize(mat.NewSymDense(size, entries(m.q)), false) {
			return fmt.Errorf("experiment: no eigenvalues of a %d×%d matrix", size, size)
		}
		*m.to = eigen.Values(nil)[0]
	}
	var l linear.ElasticNet
	theta, slope := make([]float64, n), make([]float64, n)
	var s qpdiff.Solution
	ones, dz := make([]float64, 2*n), make([]float64, 2*n)
	floats.AddConst(1, ones)
	if err := errors.Join(experiment.Fit(ctx, &l, d, theta, []float64{p.Lambda1, p.Lambda2}), s.Solve(q)); err != nil {
		return err
	}
	if err := errors.Join(l.JVP(nil, slope, &learn.Grad{Hyper: []float64{1, 0}}), s.JVP(nil, dz, nil, nil, &qpdiff.QPGrad{P: ones})); err != nil {
		return err
	}
	difference := func(a, v []float64) float64 {
		b := floats.SubTo(make([]float64, n), v[:n], v[n:])
		return floats.Distance(a, b, math.Inf(1)) / floats.Norm(a, math.Inf(1))
	}
	e.Difference, e.Slope = difference(theta, s.Z), difference(slope, dz)
	return nil
}

// measure computes the one-sided slopes of the solution for a learned loss in which only the hinge
// loss has a weight.
func (k *LossKink) measure(ctx context.Context) error {
	l, theta := new(margin.LearnedLoss), make([]float64, 1)
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, -1}), Y: []float64{1, -1}}
	const hinge, losses = 0, 5 // indices in hyper: first the weights of the four losses, then the weight of the penalty
	hyper := make([]float64, losses)
	hyper[hinge], hyper[losses-1] = 1, 1
	if err := experiment.Fit(ctx, l, d, theta, hyper); err != nil {
		return err
	}
	var err error
	if _, k.Refusal, err = refusal(l.VJP(nil, &learn.Grad{Hyper: make([]float64, losses)}, []float64{1})); err != nil {
		return err
	}
	slope, along := make([]float64, 1), make([]float64, losses)
	for _, side := range []struct {
		sign float64
		to   *float64
	}{{-1, &k.Left}, {1, &k.Right}} {
		along[hinge] = side.sign
		if err := l.JVP(nil, slope, &learn.Grad{Hyper: along}); err != nil {
			return err
		}
		*side.to = side.sign * slope[0]
	}
	return nil
}

// measure measures the accuracies of the rules over the population and on the test sets of the
// published runs.
func (b *BayesErratum) measure() error {
	rings, xor := kernels.DefaultRings(), kernels.DefaultXOR()
	ringsSetup, _, err := rings.Draw()
	xorSetup, _, errXOR := xor.Draw()
	if err := experiment.FirstError(err, errXOR); err != nil {
		return err
	}
	b.Rings, b.RingsTest = ringsSetup.Rule.Accuracy, ringsSetup.Rule.SampleAccuracy(synth.Data{X: ringsSetup.Test.Dense(), Y: ringsSetup.Test.Y})
	innerRadius, outer := 0., rings.OuterRadius // a point at innerRadius has the label −1
	for range 100 {
		if middle := (innerRadius + outer) / 2; ringsSetup.Rule.Label([]float64{middle, 0}) < 0 {
			innerRadius = middle
		} else {
			outer = middle
		}
	}
	b.Radius = outer
	b.XOR = xorSetup.Rule.Accuracy
	test := xorSetup.Test
	b.XORTest = xorSetup.Rule.SampleAccuracy(synth.Data{X: test.Dense(), Y: test.Y})
	for i, y := range test.Y {
		if y < 0 || xorSetup.Rule.Label(test.Dense().RawRowView(i)) > 0 {
			b.XORCoded++
		}
	}
	b.XORCoded /= float64(len(test.Y))
	b.Offset, b.HalfPlane = HalfPlane(rings.RingsData)
	b.Origin = halfPlaneAt(rings.RingsData, 0)
	on, err := experiment.EvaluateFunc(func(dst []float64, x *mat.Dense) error {
		for i := range dst {
			dst[i] = x.At(i, 0) - b.Offset
		}
		return nil
	}, ringsSetup.Test)
	b.HalfPlaneTest = on.Accuracy
	return err
}

// HalfPlane returns the best rule x₁ > t on the rings: its offset t and its accuracy. A point at
// radius r has x₁ > t with the probability arccos(t/|r|)/π if |r| > t ≥ 0. The rings are symmetric,
// so the best rule in any other direction has the same accuracy.
func HalfPlane(d kernels.RingsData) (offset, rate float64) {
	for k := range 300 {
		t := .01 * float64(k)
		if a := halfPlaneAt(d, t); a > rate {
			offset, rate = t, a
		}
	}
	return offset, rate
}

// halfPlaneAt returns the accuracy of the rule x₁ > t, with t ≥ 0.
func halfPlaneAt(d kernels.RingsData, t float64) float64 {
	beyond := func(mean, t float64) float64 { // probability of x₁ > t for a ring
		const cells = 2000
		var sum, weight float64
		for k := range cells {
			z := -8 + 16*(float64(k)+.5)/cells
			density := math.Exp(-z * z / 2)
			weight += density
			radius := max(math.Abs(mean+d.RadiusSD*z), math.SmallestNonzeroFloat64)
			sum += density * math.Acos(min(1, t/radius)) / math.Pi
		}
		return sum / weight
	}
	return .5 + (beyond(d.OuterRadius, t)-beyond(d.InnerRadius, t))/2
}
