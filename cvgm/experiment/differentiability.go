package experiment

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// DifferentiabilityParams are the parameters of what this package measures
// about the paper's Section 3 and supplements A and B: derivatives against
// finite differences (Run), solution paths with their tangents (RunPaths), where
// no derivative exists (RunLimits), the errata (RunErrata), and hyperparameters
// learned by the gradient of the CV loss (RunLearning).
type DifferentiabilityParams struct {
	Seed     uint64  `help:"seed of all streams"`
	Train    int     `help:"training examples N"`
	Features int     `help:"features n of the linear learners"`
	Noise    float64 `help:"standard deviation of the noise in the scores whose signs are the labels"`

	Lambda1 float64 `help:"l1 penalty at which derivatives are checked"`
	Lambda2 float64 `help:"squared l2 penalty at which derivatives are checked"`
	C       float64 `help:"weight of the losses of logistic regression and of the kernel machine"`
	Gamma   float64 `help:"width parameter of the RBF kernel"`

	PathPoints int `help:"points of each solution path"`

	K           int     `help:"cross-validation splits"`
	P           float64 `help:"fraction of the examples that each split trains on"`
	Test        int     `help:"test examples of what is learned"`
	Evaluations int     `help:"evaluations of the CV loss in each search, at most"`
	GridPoints  int     `help:"points of the CV loss surfaces per hyperparameter"`
	Flips       float64 `help:"share of wrong labels where a loss is learned"`
	LossSeeds   int     `help:"data sets on which a loss is learned"`
}

// DefaultDifferentiability returns parameters with which everything runs within
// a minute. The paper names none.
func DefaultDifferentiability() DifferentiabilityParams {
	return DifferentiabilityParams{
		Seed: 1, Train: 40, Features: 6, Noise: .5,
		Lambda1: .05, Lambda2: .1, C: 1, Gamma: 1,
		PathPoints: 241,
		K:          32, P: .8, Test: 2000, Evaluations: 120, GridPoints: 25,
		Flips: .15, LossSeeds: 24,
	}
}

func (p DifferentiabilityParams) check() error {
	bad := func(arg string, value any, remedy string) error {
		return &qpdiff.ArgError{Arg: arg, Why: qpdiff.ErrDomain, Problem: fmt.Sprintf("is %v", value), Remedy: remedy}
	}
	switch {
	case p.Train < 8:
		return bad("Train", p.Train, "use at least eight examples")
	case p.Features < 3:
		return bad("Features", p.Features, "use at least three features")
	case !(p.Lambda1 > 0 && p.Lambda2 > 0):
		return bad("Lambda1, Lambda2", []float64{p.Lambda1, p.Lambda2}, "use positive penalties")
	case p.PathPoints < 2:
		return bad("PathPoints", p.PathPoints, "use at least two points")
	case p.GridPoints < 2:
		return bad("GridPoints", p.GridPoints, "use at least two points")
	case p.LossSeeds < 1:
		return bad("LossSeeds", p.LossSeeds, "use at least one data set")
	case !(p.Flips >= 0 && p.Flips < .5):
		return bad("Flips", p.Flips, "use a share from 0 to below 1/2")
	}
	return nil
}

// scores describes examples with normal features and the labels
// x₁ − x₂ + ½x₃ + noise·ε, whose other features tell nothing.
func (p DifferentiabilityParams) scores() population {
	coef := make([]float64, p.Features)
	copy(coef, []float64{1, -1, .5})
	return population{coef: coef, noise: p.Noise}
}

// regression draws n such examples.
func (p DifferentiabilityParams) regression(src synth.Source, n int) qpdiff.Data {
	return p.scores().draw(src, n)
}

// classes draws n examples labelled with the signs of the same.
func (p DifferentiabilityParams) classes(src synth.Source, n int) qpdiff.Data {
	signs := p.scores()
	signs.sign = true
	return signs.draw(src, n)
}

// A DerivativeCheck sets the derivative of a scalar of a solution along a
// direction of one input beside central differences of it.
type DerivativeCheck struct {
	Example, Input string
	// VJP and JVP are the derivative from the cotangent's side and from the
	// direction's. JVP is NaN where there is only one way.
	VJP, JVP float64
	// Difference holds (s(h) − s(−h))/2h at each of the steps h of
	// [DerivativeChecks].
	Difference []float64
}

// Errors returns the relative errors of the differences, measured by the
// derivative.
func (c DerivativeCheck) Errors() []float64 {
	errs := make([]float64, len(c.Difference))
	for i, d := range c.Difference {
		errs[i] = math.Abs(d/c.VJP - 1)
	}
	return errs
}

// Best returns the number of the step with the lowest error, and that error.
func (c DerivativeCheck) Best() (int, float64) {
	errs := c.Errors()
	i := floats.MinIdx(errs)
	return i, errs[i]
}

// DerivativeChecks is what Run measures.
type DerivativeChecks struct {
	Params DifferentiabilityParams
	Steps  []float64 // h, descending
	Checks []DerivativeCheck
}

// Examples returns the names of the examples in their order.
func (r *DerivativeChecks) Examples() []string {
	var names []string
	for _, c := range r.Checks {
		if len(names) == 0 || names[len(names)-1] != c.Example {
			names = append(names, c.Example)
		}
	}
	return names
}

// checker collects checks of one example.
type checker struct {
	example string
	steps   []float64
	checks  []DerivativeCheck
}

// add compares with differences of value, a function of how far the input is
// moved along the direction.
func (c *checker) add(input string, vjp, jvp float64, value func(t float64) (float64, error)) error {
	check := DerivativeCheck{Example: c.example, Input: input, VJP: vjp, JVP: jvp}
	for _, h := range c.steps {
		up, err := value(h)
		if err != nil {
			return fmt.Errorf("%s in %s at step %g: %w", c.example, input, h, err)
		}
		down, err := value(-h)
		if err != nil {
			return fmt.Errorf("%s in %s at step %g: %w", c.example, input, -h, err)
		}
		check.Difference = append(check.Difference, (up-down)/(2*h))
	}
	c.checks = append(c.checks, check)
	return nil
}

// Run checks a derivative of each example in each of its inputs.
func (p DifferentiabilityParams) Run(ctx context.Context) (*DerivativeChecks, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	r := &DerivativeChecks{Params: p}
	for k := 2; k <= 26; k++ {
		r.Steps = append(r.Steps, math.Pow(10, -float64(k)/2))
	}
	examples := []struct {
		name string
		run  func(c *checker, src *synth.Stream) error
	}{
		{"logistic regression", p.checkLogistic},
		{"elastic net", p.checkElasticNet},
		{"support vector machine", p.checkSVM},
		{"kernel machine", p.checkKernelSVM},
		{"learned loss", p.checkLearnedLoss},
		{"quadratic program", checkQP},
		{"convex program", checkProgram},
		{"CV loss", p.checkCV},
	}
	checks, err := keptCells(ctx, len(examples), func(i int) ([]DerivativeCheck, error) {
		c := &checker{example: examples[i].name, steps: r.Steps}
		err := examples[i].run(c, synth.NewStream(p.Seed, "derivatives of "+c.example))
		return c.checks, err
	})
	for _, c := range checks {
		r.Checks = append(r.Checks, c...)
	}
	return r, err
}

// direction is a learner's input with the way in which it is moved.
type direction struct {
	input string
	qpdiff.Grad
}

// directions returns one direction per hyperparameter, as long as it is, and
// random ones of X and y.
func directions(src synth.Source, d qpdiff.Data, hyper []float64, names ...string) []direction {
	var all []direction
	for k, name := range names {
		v := make([]float64, len(hyper))
		v[k] = hyper[k]
		all = append(all, direction{name, qpdiff.Grad{Hyper: v}})
	}
	n, m := d.X.Dims()
	return append(all,
		direction{"X", qpdiff.Grad{X: mat.NewDense(n, m, normals(src, n*m))}},
		direction{"y", qpdiff.Grad{Y: normals(src, n)}})
}

func normals(src synth.Source, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = src.NormFloat64()
	}
	return v
}

// moved returns the data and hyperparameters after t times the direction. Where
// labels must stay ±1, moving the label y_i by t·dy_i is moving the row x_i by
// t·dy_i·y_i·x_i: only y_i·x_i counts.
func (v direction) moved(t float64, d qpdiff.Data, hyper []float64, labels bool) (qpdiff.Data, []float64) {
	d.X = mat.DenseCopyOf(d.X)
	d.Y = append([]float64(nil), d.Y...)
	hyper = append([]float64(nil), hyper...)
	if v.Hyper != nil {
		floats.AddScaled(hyper, t, v.Hyper)
	}
	if v.X != nil {
		floats.AddScaled(d.X.RawMatrix().Data, t, v.X.RawMatrix().Data)
	}
	for i, dy := range v.Y {
		if labels {
			floats.Scale(1+t*dy*d.Y[i], d.X.RawRowView(i))
		} else {
			d.Y[i] += t * dy
		}
	}
	return d, hyper
}

// pair returns ⟨g, v⟩.
func (v direction) pair(g *qpdiff.Grad) float64 {
	var s float64
	if v.Hyper != nil {
		s += floats.Dot(g.Hyper, v.Hyper)
	}
	if v.X != nil {
		s += floats.Dot(g.X.RawMatrix().Data, v.X.RawMatrix().Data)
	}
	if v.Y != nil {
		s += floats.Dot(g.Y, v.Y)
	}
	return s
}

// newGrad returns zeros of the shape of the inputs.
func newGrad(d qpdiff.Data, hyper []float64) *qpdiff.Grad {
	n, m := d.X.Dims()
	return &qpdiff.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(n, m, nil), Y: make([]float64, n)}
}

// learner checks the derivatives of cᵀθ for a random c.
func (c *checker) learner(src synth.Source, l qpdiff.ForwardLearner, d qpdiff.Data, hyper []float64, labels bool, names ...string) error {
	_, n := d.X.Dims()
	size, _ := l.Dims(n)
	theta, cotangent := make([]float64, size), normals(src, size)
	fit := func(d qpdiff.Data, hyper []float64) error {
		if err := l.Load(d); err != nil {
			return err
		}
		return l.Fit(theta, hyper)
	}
	for _, v := range directions(src, d, hyper, names...) {
		if err := fit(d, hyper); err != nil {
			return err
		}
		g, forward := newGrad(d, hyper), make([]float64, size)
		if err := l.VJP(nil, g, cotangent); err != nil {
			return err
		}
		if err := l.JVP(nil, forward, &v.Grad); err != nil {
			return err
		}
		err := c.add(v.input, v.pair(g), floats.Dot(cotangent, forward), func(t float64) (float64, error) {
			err := fit(v.moved(t, d, hyper, labels))
			return floats.Dot(cotangent, theta), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p DifferentiabilityParams) checkLogistic(c *checker, src *synth.Stream) error {
	return c.learner(src, &qpdiff.Logistic{Intercept: qpdiff.UnpenalisedIntercept}, p.classes(src, p.Train), []float64{p.C}, false, "C")
}

func (p DifferentiabilityParams) checkElasticNet(c *checker, src *synth.Stream) error {
	return c.learner(src, new(qpdiff.ElasticNet), p.regression(src, p.Train), []float64{p.Lambda1, p.Lambda2}, false, "λ1", "λ2")
}

func (p DifferentiabilityParams) checkSVM(c *checker, src *synth.Stream) error {
	return c.learner(src, new(qpdiff.SVM), p.classes(src, p.Train), []float64{p.Lambda1, p.Lambda2}, true, "λ1", "λ2")
}

func (p DifferentiabilityParams) checkLearnedLoss(c *checker, src *synth.Stream) error {
	hyper := []float64{.4, .2, .1, .3, p.Lambda2}
	return c.learner(src, new(qpdiff.LearnedLoss), p.classes(src, p.Train), hyper, true, "α1", "α2", "α3", "α4", "λ")
}

// checkKernelSVM checks the decision values at random points.
func (p DifferentiabilityParams) checkKernelSVM(c *checker, src *synth.Stream) error {
	train, err := synth.MakeRings(src, p.Train, synth.Rings{})
	if err != nil {
		return err
	}
	const points = 5
	d, hyper := qpdiff.Data{X: train.X, Y: train.Y}, []float64{p.C, p.Gamma}
	at := mat.NewDense(points, 2, normals(src, 2*points))
	cotangent, values := normals(src, points), make([]float64, points)
	l := &qpdiff.KernelSVM{Intercept: true}
	theta := make([]float64, 1)
	decide := func(d qpdiff.Data, hyper []float64, at *mat.Dense) (float64, error) {
		if err := l.Load(d); err != nil {
			return 0, err
		}
		if err := l.Fit(theta, hyper); err != nil {
			return 0, err
		}
		err := l.Predict(nil, values, at)
		return floats.Dot(cotangent, values), err
	}
	for _, v := range directions(src, d, hyper, "C", "γ")[:3] { // a label is a bound's side here: no small move of it
		if _, err := decide(d, hyper, at); err != nil {
			return err
		}
		g := newGrad(d, hyper)
		if err := l.PredictVJP(nil, g, nil, at, cotangent); err != nil {
			return err
		}
		err := c.add(v.input, v.pair(g), math.NaN(), func(t float64) (float64, error) {
			d, hyper := v.moved(t, d, hyper, false)
			return decide(d, hyper, at)
		})
		if err != nil {
			return err
		}
	}
	if _, err := decide(d, hyper, at); err != nil {
		return err
	}
	dx, move := mat.NewDense(points, 2, nil), mat.NewDense(points, 2, normals(src, 2*points))
	if err := l.PredictVJP(nil, &qpdiff.Grad{}, dx, at, cotangent); err != nil {
		return err
	}
	exact := floats.Dot(dx.RawMatrix().Data, move.RawMatrix().Data)
	return c.add("point decided on", exact, math.NaN(), func(t float64) (float64, error) {
		moved := mat.DenseCopyOf(at)
		floats.AddScaled(moved.RawMatrix().Data, t, move.RawMatrix().Data)
		return decide(d, hyper, moved)
	})
}

// checkQP checks a scalar of all of a random program's solution, z, λ and ν.
func checkQP(c *checker, src *synth.Stream) error {
	const n, m, q = 6, 8, 2
	root := mat.NewDense(n, n, normals(src, n*n))
	problem := qpdiff.QP{Q: new(mat.Dense), P: normals(src, n), G: mat.NewDense(m, n, normals(src, m*n)),
		A: mat.NewDense(q, n, normals(src, q*n)), B: make([]float64, q), H: make([]float64, m)}
	problem.Q.Mul(root, root.T())
	for i := range n {
		problem.Q.Set(i, i, problem.Q.At(i, i)+1) // definite at the longest step, too
	}
	inside := mat.NewVecDense(n, normals(src, n)) // meets all constraints
	mat.NewVecDense(m, problem.H).MulVec(problem.G, inside)
	mat.NewVecDense(q, problem.B).MulVec(problem.A, inside)
	for i := range problem.H {
		problem.H[i] += .5 + src.Float64()
	}
	dz, dlambda, dnu := normals(src, n), normals(src, m), normals(src, q)
	var s qpdiff.Solution
	if err := s.Solve(&problem); err != nil {
		return err
	}
	square := mat.NewDense(n, n, normals(src, n*n))
	symmetric := new(mat.Dense)
	symmetric.Add(square, square.T())
	symmetric.Scale(.2, symmetric)
	for _, v := range []struct {
		input string
		qpdiff.QPGrad
	}{
		{"Q", qpdiff.QPGrad{Q: symmetric}}, {"p", qpdiff.QPGrad{P: normals(src, n)}},
		{"G", qpdiff.QPGrad{G: mat.NewDense(m, n, normals(src, m*n))}}, {"h", qpdiff.QPGrad{H: normals(src, m)}},
		{"A", qpdiff.QPGrad{A: mat.NewDense(q, n, normals(src, q*n))}}, {"b", qpdiff.QPGrad{B: normals(src, q)}},
	} {
		g := qpdiff.QPGrad{Q: mat.NewDense(n, n, nil), P: make([]float64, n), G: mat.NewDense(m, n, nil), H: make([]float64, m), A: mat.NewDense(q, n, nil), B: make([]float64, q)}
		if err := s.VJP(nil, &g, dz, dlambda, dnu); err != nil {
			return err
		}
		z, lambda, nu := make([]float64, n), make([]float64, m), make([]float64, q)
		if err := s.JVP(nil, z, lambda, nu, &v.QPGrad); err != nil {
			return err
		}
		forward := floats.Dot(dz, z) + floats.Dot(dlambda, lambda) + floats.Dot(dnu, nu)
		var back float64
		for _, block := range []struct{ g, v []float64 }{
			{entries(g.Q), entries(v.Q)}, {g.P, v.P}, {entries(g.G), entries(v.G)}, {g.H, v.H}, {entries(g.A), entries(v.A)}, {g.B, v.B},
		} {
			if block.v != nil {
				back += floats.Dot(block.g, block.v)
			}
		}
		err := c.add(v.input, back, forward, func(t float64) (float64, error) {
			moved := qpdiff.QP{
				Q: movedMatrix(problem.Q, t, v.Q), P: movedVector(problem.P, t, v.P), G: movedMatrix(problem.G, t, v.G),
				H: movedVector(problem.H, t, v.H), A: movedMatrix(problem.A, t, v.A), B: movedVector(problem.B, t, v.B),
			}
			var s qpdiff.Solution
			err := s.Solve(&moved)
			if err != nil {
				return 0, err
			}
			return floats.Dot(dz, s.Z) + floats.Dot(dlambda, s.Lambda) + floats.Dot(dnu, s.Nu), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of m in row-major order; nil for nil.
func entries(m *mat.Dense) []float64 {
	if m == nil {
		return nil
	}
	return m.RawMatrix().Data
}

func movedVector(x []float64, t float64, v []float64) []float64 {
	if v == nil {
		return x
	}
	return floats.AddScaledTo(make([]float64, len(x)), x, t, v)
}

func movedMatrix(x *mat.Dense, t float64, v *mat.Dense) *mat.Dense {
	r, c := x.Dims()
	return mat.NewDense(r, c, movedVector(entries(x), t, entries(v)))
}

// A die of six faces with mean at most α₀ has, of all distributions, the one of
// highest entropy (Jaynes 1957):
//
//	minimise Σ x_i log x_i   subject to   mᵀx ≤ α₀,  1ᵀx = 1
//
// with the faces' numbers m = (α₁ … α₆) as parameters too: a convex program that
// is no QP, with an active inequality and an equality.
func die() *qpdiff.ConvexProgram {
	return &qpdiff.ConvexProgram{
		Objective: func(d *qpdiff.Partials, x, alpha []float64) float64 {
			var f float64
			for i, v := range x {
				f += v * math.Log(v)
				d.X[i] = math.Log(v) + 1
				d.XX.Set(i, i, 1/v)
			}
			return f
		},
		Inequalities: []qpdiff.ParamFunc{func(d *qpdiff.Partials, x, alpha []float64) float64 {
			f := -alpha[0]
			d.Alpha[0] = -1
			for i, v := range x {
				f += alpha[1+i] * v
				d.X[i], d.Alpha[1+i] = alpha[1+i], v
				d.XAlpha.Set(i, 1+i, 1)
			}
			return f
		}},
		Equalities: []qpdiff.ParamFunc{func(d *qpdiff.Partials, x, alpha []float64) float64 {
			for i := range x {
				d.X[i] = 1
			}
			return floats.Sum(x) - 1
		}},
	}
}

// solveDie returns the solution x_i = exp(−λm_i)/Σ, for the λ by Newton's method
// that gives it the mean α₀, and ν = log Σ − 1.
func solveDie(alpha []float64) (x []float64, lambda, nu float64) {
	m := alpha[1:]
	x = make([]float64, len(m))
	for range 50 {
		var sum, mean, square float64
		for i, v := range m {
			x[i] = math.Exp(-lambda * v)
			sum += x[i]
			mean += x[i] * v
			square += x[i] * v * v
		}
		mean /= sum
		floats.Scale(1/sum, x)
		nu = math.Log(sum) - 1
		step := (mean - alpha[0]) / (square/sum - mean*mean)
		if math.Abs(step) <= 1e-16*math.Abs(lambda) {
			break
		}
		lambda += step
	}
	return x, lambda, nu
}

func checkProgram(c *checker, src *synth.Stream) error {
	alpha := []float64{3, 1, 2, 3, 4, 5, 6}
	x, lambda, nu := solveDie(alpha)
	s, err := die().Differentiate(x, []float64{lambda}, []float64{nu}, alpha)
	if err != nil {
		return err
	}
	faces := append([]float64{0}, normals(src, len(x))...)
	dx := normals(src, len(x))
	for _, v := range []struct {
		input     string
		direction []float64
	}{{"mean α0", []float64{1, 0, 0, 0, 0, 0, 0}}, {"faces α1…α6", faces}} {
		for _, out := range []struct {
			name  string
			jac   *mat.Dense
			weigh []float64
			value func(x []float64, lambda, nu float64) float64
		}{
			{"x in ", s.X, dx, func(x []float64, _, _ float64) float64 { return floats.Dot(dx, x) }},
			{"λ in ", s.Lambda, []float64{1}, func(_ []float64, lambda, _ float64) float64 { return lambda }},
			{"ν in ", s.Nu, []float64{1}, func(_ []float64, _, nu float64) float64 { return nu }},
		} {
			exact := mat.Inner(mat.NewVecDense(len(out.weigh), out.weigh), out.jac, mat.NewVecDense(len(alpha), v.direction))
			err := c.add(out.name+v.input, exact, math.NaN(), func(t float64) (float64, error) {
				return out.value(solveDie(movedVector(alpha, t, v.direction))), nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCV checks gradients of whole CV losses: in the penalties of an elastic
// net, and in the weights of a network whose features logistic regression sees.
func (p DifferentiabilityParams) checkCV(c *checker, src *synth.Stream) error {
	splits, err := cvgm.RandomSplits(src, p.Train, p.K, p.P)
	if err != nil {
		return err
	}
	net, err := cvgm.New(cvgm.Config{Data: p.regression(src, p.Train), Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() qpdiff.Learner { return new(qpdiff.ElasticNet) }, Workers: 1})
	if err != nil {
		return err
	}
	train, err := synth.MakeRings(src, p.Train, synth.Rings{})
	if err != nil {
		return err
	}
	phi := &cvgm.Perceptron{Widths: []int{2, 8, 2}}
	kernel, err := cvgm.New(cvgm.Config{Data: qpdiff.Data{X: train.X, Y: train.Y}, Splits: splits, Loss: cvgm.LogisticLoss{}, Features: phi, Hyper: []float64{p.C},
		Learner: func() qpdiff.Learner { return &qpdiff.Logistic{Intercept: qpdiff.UnpenalisedIntercept} }, Workers: 1})
	if err != nil {
		return err
	}
	weights := make([]float64, phi.NumParams())
	phi.Init(weights, src)
	penalties := []float64{p.Lambda1, p.Lambda2}
	for _, v := range []struct {
		input         string
		cv            *cvgm.CV
		at, direction []float64
	}{
		{"elastic net's λ1", net, penalties, []float64{p.Lambda1, 0}},
		{"elastic net's λ2", net, penalties, []float64{0, p.Lambda2}},
		{"network's weights", kernel, weights, normals(src, len(weights))},
	} {
		grad := make([]float64, len(v.at))
		if _, err := v.cv.Eval(grad, v.at); err != nil {
			return err
		}
		err := c.add(v.input, floats.Dot(grad, v.direction), math.NaN(), func(t float64) (float64, error) {
			return v.cv.Eval(nil, movedVector(v.at, t, v.direction))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
