package differentiability

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// UnrolledPrecision holds rounding errors for one condition number of the Hessian. They are errors
// of the derivative of a ridge regression's test loss in λ2. The field Implicit is for the implicit
// derivative. All other fields are for the derivative through the steps of gradient descent with ηL
// = 1, for the learning rate η and the largest eigenvalue L. Each error is the distance from the
// derivative in precise arithmetic, relative to this precise derivative. Errors above 1 are set to
// 1, because no digit is then correct.
type UnrolledPrecision struct {
	Condition      float64 // condition number of the Hessian without the penalty; λ2 is set to the smallest eigenvalue of this Hessian
	Double, Single float64 // in float64 and in float32, with all iterates stored
	Backwards      float64 // in float64, with momentum; the iterates are recomputed backwards from the last two
	Implicit       float64 // in float64, computed with the implicit function theorem
}

// PreciseBits is the number of bits of a number in the precise arithmetic, about 38 decimal digits.
const PreciseBits = 128

// arithmetic holds the operations on numbers of one precision.
type arithmetic[T any] struct {
	of     func(float64) T
	fma    func(sum, a, b T) T // sum + a·b with two roundings
	divide func(a, b T) T
	value  func(T) float64
}

func floating[T float32 | float64]() arithmetic[T] {
	return arithmetic[T]{
		of:     func(v float64) T { return T(v) },
		fma:    func(sum, a, b T) T { p := a * b; return sum + T(p) },
		divide: func(a, b T) T { return a / b },
		value:  func(v T) float64 { return float64(v) },
	}
}

func precise() arithmetic[*big.Float] {
	number := func() *big.Float { return new(big.Float).SetPrec(PreciseBits) }
	return arithmetic[*big.Float]{
		of:     func(v float64) *big.Float { return number().SetFloat64(v) },
		fma:    func(sum, a, b *big.Float) *big.Float { p := number().Mul(a, b); return p.Add(p, sum) },
		divide: func(a, b *big.Float) *big.Float { return number().Quo(a, b) },
		value:  func(v *big.Float) float64 { f, _ := v.Float64(); return f },
	}
}

func (m arithmetic[T]) dot(a, b []T) T {
	sum := m.of(0)
	for i, v := range a {
		sum = m.fma(sum, v, b[i])
	}
	return sum
}

// add adds c·b to a.
func (m arithmetic[T]) add(a []T, c T, b []T) {
	for i := range a {
		a[i] = m.fma(a[i], c, b[i])
	}
}

func (m arithmetic[T]) all(v []float64) []T {
	all := make([]T, len(v))
	for i, x := range v {
		all[i] = m.of(x)
	}
	return all
}

func (m arithmetic[T]) rows(x *mat.Dense) [][]T {
	n, _ := x.Dims()
	rows := make([][]T, n)
	for i := range rows {
		rows[i] = m.all(x.RawRowView(i))
	}
	return rows
}

// ridgeFit is a ridge regression on training rows, with the test rows that judge it.
type ridgeFit[T any] struct {
	arithmetic[T]
	x, test      [][]T
	y, testY     []T
	lambda, rows T
}

func newRidgeFit[T any](m arithmetic[T], train, test learn.Data, lambda float64) ridgeFit[T] {
	return ridgeFit[T]{m, m.rows(train.Dense()), m.rows(test.Dense()), m.all(train.Y), m.all(test.Y), m.of(lambda), m.of(float64(len(train.Y)))}
}

// products adds c·(XᵀXv/N + λv − linear·Xᵀy/N) to dst. The parameter linear is 0 or 1.
func (f ridgeFit[T]) products(dst []T, c T, v []T, linear float64) {
	at := append([]T(nil), v...)
	minus := f.of(-linear)
	share := f.divide(c, f.rows)
	f.add(dst, f.fma(f.of(0), c, f.lambda), at)
	for i, x := range f.x {
		residual := f.fma(f.dot(x, at), minus, f.y[i])
		f.add(dst, f.fma(f.of(0), share, residual), x)
	}
}

// slopes returns the derivative of the test loss in θ.
func (f ridgeFit[T]) slopes(theta []T) []T {
	d := f.all(make([]float64, len(theta)))
	share := f.divide(f.of(2), f.of(float64(len(f.test))))
	for i, x := range f.test {
		residual := f.fma(f.dot(x, theta), f.of(-1), f.testY[i])
		f.add(d, f.fma(f.of(0), share, residual), x)
	}
	return d
}

// A descent describes gradient descent with momentum from 0. It makes the same iteration as
// unrolledDescent.
type descent struct {
	steps          int
	rate, momentum float64
	backwards      bool // the iterates are recomputed from the last two iterates, and not stored
}

// unrolled returns the derivative of the test loss with respect to λ2, computed by the chain rule
// from the last iterate back to the first. The second result is the norm of the derivative of the
// test loss with respect to the first iterate, divided by the norm with respect to the last
// iterate. The only error is ctx's error.
func (f ridgeFit[T]) unrolled(ctx context.Context, d descent) (gradient, factor float64, err error) {
	rate, minus, momentum := f.of(d.rate), f.of(-d.rate), f.of(d.momentum)
	zero := f.all(make([]float64, len(f.x[0])))
	copied := func(v []T) []T { return append([]T(nil), v...) }
	path := [][]T{zero}
	for t := range d.steps {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		now, next := path[t], copied(path[t])
		f.add(next, momentum, now)
		f.add(next, f.of(-d.momentum), path[max(t-1, 0)])
		f.products(next, minus, now, 1)
		path = append(path, next)
	}
	if d.backwards {
		for t := d.steps - 1; t > 0; t-- {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			now, change := path[t], copied(path[t+1])
			f.add(change, f.of(-1), now)
			f.products(change, rate, now, 1)
			before := copied(now)
			f.add(before, f.divide(f.of(-1), momentum), change)
			path[t-1] = before
		}
	}
	v, before := f.slopes(path[d.steps]), copied(zero)
	last, sum := f.dot(v, v), f.of(0)
	for t := d.steps - 1; t >= 0; t-- {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		sum = f.fma(sum, minus, f.dot(v, path[t]))
		next := copied(before)
		f.add(next, f.of(1+d.momentum), v)
		f.products(next, minus, v, 0)
		before = copied(zero)
		f.add(before, f.of(-d.momentum), v)
		v = next
	}
	f.add(v, f.of(1), before)
	return f.value(sum), math.Sqrt(f.value(f.divide(f.dot(v, v), last))), nil
}

// implicit returns the derivative of the minimiser's test loss in λ2. The only error is ctx's
// error.
func (f ridgeFit[T]) implicit(ctx context.Context) (float64, error) {
	n := len(f.x[0])
	one := f.of(1)
	system := make([][]T, n) // the Hessian, with Xᵀy/N as the last column
	for j := range system {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		unit := make([]float64, n)
		unit[j] = 1
		row := f.all(make([]float64, n+1))
		f.products(row[:n], one, f.all(unit), 0)
		for i, x := range f.x {
			row[n] = f.fma(row[n], f.divide(x[j], f.rows), f.y[i])
		}
		system[j] = row
	}
	hessian := make([][]T, n)
	for j := range hessian {
		hessian[j] = append([]T(nil), system[j]...)
	}
	theta, err := f.solve(ctx, system)
	if err != nil {
		return 0, err
	}
	for j, d := range f.slopes(theta) {
		hessian[j][n] = d
	}
	v, err := f.solve(ctx, hessian)
	if err != nil {
		return 0, err
	}
	return -f.value(f.dot(v, theta)), nil
}

// solve solves a positive definite system of equations by elimination. The last column of the
// argument is the right-hand side. The only error is ctx's error.
func (f ridgeFit[T]) solve(ctx context.Context, rows [][]T) ([]T, error) {
	n := len(rows)
	for k := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for j := range n {
			if j != k {
				f.add(rows[j], f.divide(f.fma(f.of(0), f.of(-1), rows[j][k]), rows[k][k]), append([]T(nil), rows[k]...))
			}
		}
	}
	x := make([]T, n)
	for k, row := range rows {
		x[k] = f.divide(row[n], row[k])
	}
	return x, nil
}

// withCondition returns a data set with as many examples as features. The Hessian of its mean
// squared error has the same eigenvectors as the Hessian of the training rows, but other
// eigenvalues. These eigenvalues go from 1 down to 1/condition, with equal ratios between
// neighbours.
func withCondition(train learn.Data, condition float64) (learn.Data, error) {
	var svd mat.SVD
	if !svd.Factorize(train.X, mat.SVDThin) {
		return train, errors.New("the singular values of the features do not converge")
	}
	var v mat.Dense
	svd.VTo(&v)
	_, n := v.Dims()
	x := mat.DenseCopyOf(v.T())
	for j := range n {
		share := float64(j) / float64(max(n-1, 1))
		row := x.RawRowView(j)
		floats.Scale(math.Sqrt(float64(n)*math.Pow(condition, -share)), row)
	}
	return learn.Data{X: x, Y: train.Y[:n]}, nil
}

// toSingle returns the data rounded to single precision.
func toSingle(d learn.Data) learn.Data {
	r := learn.Data{X: mat.DenseCopyOf(d.X), Y: make([]float64, len(d.Y))}
	r.Dense().Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, r.X)
	for i, v := range d.Y {
		r.Y[i] = float64(float32(v))
	}
	return r
}

// precision measures the rounding errors of the derivatives at one condition number. The data are
// exact in single precision, so single and double precision have the same data.
func (p UnrolledParams) precision(ctx context.Context, train, test learn.Data, condition float64) (UnrolledPrecision, error) {
	m := UnrolledPrecision{Condition: condition}
	train, err := withCondition(train, condition)
	if err != nil {
		return m, err
	}
	train, test = toSingle(train), toSingle(test)
	lambda := float64(float32(1 / condition))
	d := descent{steps: slices.Max(p.UnrolledSteps), rate: float64(float32(1 / (1 + lambda)))}
	again := d
	again.momentum, again.backwards = float64(float32(p.Momentum)), true
	stored := again
	stored.backwards = false
	exact := newRidgeFit(precise(), train, test, lambda)
	double := newRidgeFit(floating[float64](), train, test, lambda)
	relative := func(got, want float64) float64 {
		if e := math.Abs(got-want) / math.Abs(want); e < 1 {
			return e
		}
		return 1
	}
	want, _, err := exact.unrolled(ctx, d)
	wantAgain, _, errAgain := exact.unrolled(ctx, stored)
	inDouble, _, errDouble := double.unrolled(ctx, d)
	inSingle, _, errSingle := newRidgeFit(floating[float32](), train, test, lambda).unrolled(ctx, d)
	backwards, _, errBackwards := double.unrolled(ctx, again)
	exactly, errExactly := exact.implicit(ctx)
	if err := experiment.FirstError(err, errExactly, errAgain, errDouble, errSingle, errBackwards); err != nil {
		return m, err
	}
	m.Double, m.Single, m.Backwards = relative(inDouble, want), relative(inSingle, want), relative(backwards, wantAgain)
	_, implicit, err := testGradient(ctx, train, test, &smooth.Learner{Objective: ridge}, []float64{lambda})
	m.Implicit = relative(implicit, exactly)
	return m, err
}
