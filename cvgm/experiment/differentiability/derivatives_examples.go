package differentiability

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A direction names an input of a learner and holds a direction in which the input moves.
type direction struct {
	input string
	learn.Grad
}

// directions returns a direction for each input of a learner. A step of length 1 along the
// direction of a hyperparameter doubles the hyperparameter. The directions of X and y are random.
func directions(src synth.Source, d learn.Data, hyper []float64, names ...string) []direction {
	var all []direction
	for k, name := range names {
		v := make([]float64, len(hyper))
		v[k] = hyper[k]
		all = append(all, direction{name, learn.Grad{Hyper: v}})
	}
	n, m := d.X.Dims()
	return append(all,
		direction{"X", learn.Grad{X: mat.NewDense(n, m, normals(src, n*m))}},
		direction{"y", learn.Grad{Y: normals(src, n)}})
}

// movedData returns the data and the hyperparameters after they have moved by t times the
// direction. If the argument labels is true, the labels y_i are ±1 and must not change. In this
// case, movedData adds t·dy_i·y_i·x_i to x_i instead of adding t·dy_i to y_i. This is equivalent,
// because y_i² = 1 and the learner depends only on y_i·x_i.
func (v direction) movedData(t float64, d learn.Data, hyper []float64, labels bool) (learn.Data, []float64) {
	d.X, hyper = movedMatrix(d.Dense(), t, v.X), movedVector(hyper, t, v.Hyper)
	if !labels {
		d.Y = movedVector(d.Y, t, v.Y)
		return d, hyper
	}
	for i, dy := range v.Y {
		floats.Scale(1+t*dy*d.Y[i], d.Dense().RawRowView(i))
	}
	return d, hyper
}

// pair returns the inner product ⟨g, v⟩.
func (v direction) pair(g *learn.Grad) float64 {
	return innerProduct([][]float64{g.Hyper, entries(g.X), g.Y}, [][]float64{v.Hyper, entries(v.X), v.Y})
}

// innerProduct returns the inner product of two lists of vectors. A nil vector in b stands for
// zeros.
func innerProduct(a, b [][]float64) float64 {
	var s float64
	for k, v := range b {
		if v != nil {
			s += floats.Dot(a[k], v)
		}
	}
	return s
}

// newGrad returns a gradient of zeros with the shape of the inputs.
func newGrad(d learn.Data, hyper []float64) *learn.Grad {
	n, m := d.X.Dims()
	return &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(n, m, nil), Y: make([]float64, n)}
}

// learner returns a function that checks the derivatives of cᵀθ for a random vector c. If labels is
// true, the labels are ±1; see movedData.
func (p DerivativesParams) learner(l learn.ForwardLearner, draw func(src synth.Source, n int) learn.Data, labels bool, hyper []float64, names ...string) func(ctx context.Context, c *checker, src *synth.Stream) error {
	return func(ctx context.Context, c *checker, src *synth.Stream) error {
		d := draw(src, p.Train)
		_, n := d.X.Dims()
		size, _ := l.Dims(n)
		theta, cotangent := make([]float64, size), normals(src, size)
		for _, v := range directions(src, d, hyper, names...) {
			if err := experiment.Fit(ctx, l, d, theta, hyper); err != nil {
				return err
			}
			g, forward := newGrad(d, hyper), make([]float64, size)
			if err := errors.Join(l.VJP(nil, g, cotangent), l.JVP(nil, forward, &v.Grad)); err != nil {
				return err
			}
			err := c.add(v.input, v.pair(g), floats.Dot(cotangent, forward), func(t float64) (float64, error) {
				d, hyper := v.movedData(t, d, hyper, labels)
				err := experiment.Fit(ctx, l, d, theta, hyper)
				return floats.Dot(cotangent, theta), err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// checkKernelSVM checks the derivatives of the decision values at random points.
func (p DerivativesParams) checkKernelSVM(ctx context.Context, c *checker, src *synth.Stream) error {
	train, err := synth.MakeRings(src, p.Train, synth.Rings{})
	if err != nil {
		return err
	}
	const points = 5
	d, hyper := learn.Data{X: train.X, Y: train.Y}, []float64{p.C, p.Gamma}
	at := mat.NewDense(points, 2, normals(src, 2*points))
	cotangent, values := normals(src, points), make([]float64, points)
	l := &kernel.SVM{Intercept: true}
	theta := make([]float64, 1)
	decide := func(d learn.Data, hyper []float64, at *mat.Dense) (float64, error) {
		if err := experiment.Fit(ctx, l, d, theta, hyper); err != nil {
			return 0, err
		}
		err := l.Predict(nil, values, at)
		return floats.Dot(cotangent, values), err
	}
	for _, v := range directions(src, d, hyper, "C", "γ")[:3] { // all inputs except y: a label selects the side of a bound, and cannot move a little
		if _, err := decide(d, hyper, at); err != nil {
			return err
		}
		g := newGrad(d, hyper)
		if err := l.PredictVJP(nil, g, nil, at, cotangent); err != nil {
			return err
		}
		err := c.add(v.input, v.pair(g), math.NaN(), func(t float64) (float64, error) {
			d, hyper := v.movedData(t, d, hyper, false)
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
	if err := l.PredictVJP(nil, &learn.Grad{}, dx, at, cotangent); err != nil {
		return err
	}
	exact := floats.Dot(dx.RawMatrix().Data, move.RawMatrix().Data)
	return c.add("point decided on", exact, math.NaN(), func(t float64) (float64, error) {
		moved := mat.DenseCopyOf(at)
		floats.AddScaled(moved.RawMatrix().Data, t, move.RawMatrix().Data)
		return decide(d, hyper, moved)
	})
}

// checkQP checks the derivatives of a scalar function of z, λ and ν: the solution and the
// multipliers of a random quadratic program.
func checkQP(_ context.Context, c *checker, src *synth.Stream) error {
	const n, m, q = 6, 8, 2
	root := mat.NewDense(n, n, normals(src, n*n))
	problem := qpdiff.QP{Q: new(mat.Dense), P: normals(src, n), G: mat.NewDense(m, n, normals(src, m*n)),
		A: mat.NewDense(q, n, normals(src, q*n)), B: make([]float64, q), H: make([]float64, m)}
	problem.Q.Mul(root, root.T())
	for i := range n {
		problem.Q.Set(i, i, problem.Q.At(i, i)+1) // so that Q is also definite at the longest step
	}
	inside := mat.NewVecDense(n, normals(src, n)) // satisfies all constraints
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
		z, lambda, nu := make([]float64, n), make([]float64, m), make([]float64, q)
		if err := errors.Join(s.VJP(nil, &g, dz, dlambda, dnu), s.JVP(nil, z, lambda, nu, &v.QPGrad)); err != nil {
			return err
		}
		weigh := func(z, lambda, nu []float64) float64 {
			return floats.Dot(dz, z) + floats.Dot(dlambda, lambda) + floats.Dot(dnu, nu)
		}
		back := innerProduct([][]float64{entries(g.Q), g.P, entries(g.G), g.H, entries(g.A), g.B}, [][]float64{entries(v.Q), v.P, entries(v.G), v.H, entries(v.A), v.B})
		err := c.add(v.input, back, weigh(z, lambda, nu), func(t float64) (float64, error) {
			moved := qpdiff.QP{
				Q: movedMatrix(problem.Q, t, v.Q), P: movedVector(problem.P, t, v.P), G: movedMatrix(problem.G, t, v.G),
				H: movedVector(problem.H, t, v.H), A: movedMatrix(problem.A, t, v.A), B: movedVector(problem.B, t, v.B),
			}
			var s qpdiff.Solution
			if err := s.Solve(&moved); err != nil {
				return 0, err
			}
			return weigh(s.Z, s.Lambda, s.Nu), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of the matrix m in row-major order. If m is nil, it returns nil.
func entries(m *mat.Dense) []float64 {
	if m == nil {
		return nil
	}
	return m.RawMatrix().Data
}

// movedVector returns a copy of x plus t times v. If v is nil, it returns a copy of x.
func movedVector(x []float64, t float64, v []float64) []float64 {
	if v == nil {
		return slices.Clone(x)
	}
	return floats.AddScaledTo(make([]float64, len(x)), x, t, v)
}

func movedMatrix(x *mat.Dense, t float64, v *mat.Dense) *mat.Dense {
	r, c := x.Dims()
	return mat.NewDense(r, c, movedVector(entries(x), t, entries(v)))
}

func checkProgram(_ context.Context, c *checker, src *synth.Stream) error {
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

// checkCV checks gradients of two whole CV losses: with respect to the penalties of an elastic net,
// and with respect to the weights of a network. The network makes the features of a logistic
// regression.
func (p DerivativesParams) checkCV(ctx context.Context, c *checker, src *synth.Stream) error {
	splits, err := cvgm.RandomSplits(src, p.Train, p.K, p.P)
	if err != nil {
		return err
	}
	net, err := cvgm.New(cvgm.Config{Data: p.regression(src, p.Train), Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }, Workers: 1})
	if err != nil {
		return err
	}
	train, err := synth.MakeRings(src, p.Train, synth.Rings{})
	if err != nil {
		return err
	}
	phi := &cvgm.Perceptron{Widths: []int{2, 8, 2}}
	kernel, err := cvgm.New(cvgm.Config{Data: learn.Data{X: train.X, Y: train.Y}, Splits: splits, Loss: cvgm.LogisticLoss{}, Features: phi, Hyper: []float64{p.C},
		Learner: func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, Workers: 1})
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
			return v.cv.EvalContext(ctx, nil, movedVector(v.at, t, v.direction))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// die returns a convex program that is not a QP. The program has an active inequality and an
// equality. Its solution x is the distribution of highest entropy for a die with six faces and a
// mean of at most α₀ (Jaynes 1957):
//
//	minimise Σ x_i log x_i   subject to   mᵀx ≤ α₀,  1ᵀx = 1
//
// The vector m = (α₁ … α₆) holds the numbers on the faces. They are parameters of the program, like
// α₀.
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

// solveDie returns the solution and its multipliers λ and ν. The solution is x_i = exp(−λm_i)/Σ,
// where Σ is the sum of exp(−λm_i) over the faces, and ν is log Σ − 1. Newton's method finds the λ
// for which x has the mean α₀.
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

// Run checks the derivatives of each example, one derivative with respect to each input of the
// example.
func (p DerivativesParams) Run(ctx context.Context, hooks experiment.Hooks) (*DerivativeChecks, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	r := &DerivativeChecks{Params: p}
	for k := 2; k <= 26; k++ {
		r.Steps = append(r.Steps, math.Pow(10, -float64(k)/2))
	}
	examples := []struct {
		name string
		run  func(ctx context.Context, c *checker, src *synth.Stream) error
	}{
		{"logistic regression", p.learner(&linear.Logistic{Intercept: linear.UnpenalisedIntercept}, p.classes, false, []float64{p.C}, "C")},
		{"elastic net", p.learner(new(linear.ElasticNet), p.regression, false, []float64{p.Lambda1, p.Lambda2}, "λ1", "λ2")},
		{"support vector machine", p.learner(new(margin.SVM), p.classes, true, []float64{p.Lambda1, p.Lambda2}, "λ1", "λ2")},
		{"kernel machine", p.checkKernelSVM},
		{"learned loss", p.learner(new(margin.LearnedLoss), p.classes, true, []float64{.4, .2, .1, .3, p.Lambda2}, "α1", "α2", "α3", "α4", "λ")},
		{"quadratic program", checkQP},
		{"convex program", checkProgram},
		{"CV loss", p.checkCV},
	}
	checks, err := experiment.Cells(ctx, hooks, len(examples),
		func(i int) string { return fmt.Sprintf("%s, data set %d", examples[i].name, p.Draw) },
		func(i int) ([]DerivativeCheck, error) {
			c := &checker{example: examples[i].name, steps: r.Steps}
			err := examples[i].run(ctx, c, p.stream("derivatives of "+c.example))
			return c.checks, err
		})
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		r.Checks = append(r.Checks, c...)
	}
	return r, nil
}
