package learntest_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// largeStep is the relative step of difference quotients. The error of a central quotient is
	// about 1e-8.
	largeStep = 1e-4
	// largeTol bounds the difference between a quotient and the JVP, relative to the largest entry.
	largeTol = 1e-5
	// largeAdjointTol bounds the difference between vᵀ·JVP(u) and VJP(v)ᵀu, relative to the norms.
	largeAdjointTol = 1e-9
)

// TestLargeSizes compares derivatives with difference quotients at sizes at which learners choose
// the ways for large data.
func TestLargeSizes(t *testing.T) {
	net := func() learn.ForwardLearner { return new(linear.ElasticNet) }
	sparseLogistic := func() learn.ForwardLearner { return &linear.SparseLogistic{Intercept: true} }
	logistic := func() learn.ForwardLearner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	huber := func() learn.ForwardLearner { return &linear.Huber{Intercept: true} }
	wide := func(rows, n int) bool { return ways.WorkingSet(rows, n) }
	rows := func(rows, n int) bool { return ways.Rows(rows, n) }
	products := func(_, n int) bool { return ways.Products(n) }
	many := func(rows, n int) bool { return ways.ManyRows(rows, rows, n) }
	gradients := func(_, n int) bool { return ways.Gradients(n/2, 1) }
	for _, c := range []struct {
		name    string
		large   func(rows, n int) bool
		fresh   func() learn.ForwardLearner
		rows, n int
		hyper   []float64
		classes bool
		sparse  bool
	}{
		{"ElasticNet, few features in the model", wide, net, 120, 1500, []float64{.3, 1e-3}, false, false},
		{"ElasticNet, more features in the model than rows", wide, net, 40, 1500, []float64{1e-3, .5}, false, false},
		{"ElasticNet, many rows", many, net, 5000, 30, []float64{.05, .1}, false, false},
		{"ElasticNet, sparse", gradients, net, 1500, 900, []float64{1e-3, .1}, false, true},
		{"SparseLogistic, few features in the model", wide, sparseLogistic, 120, 900, []float64{.05, 1e-3}, true, false},
		{"SparseLogistic, sparse", gradients, sparseLogistic, 1500, 900, []float64{1e-3, .1}, true, true},
		{"Logistic, more features than rows", rows, logistic, 60, 900, []float64{.1}, true, false},
		{"Logistic, more rows than features", products, logistic, 900, 150, []float64{.1}, true, false},
		{"Logistic, sparse", gradients, logistic, 1500, 900, []float64{.1}, true, true},
		{"Huber, more features than rows", rows, huber, 120, 700, []float64{.1, .5}, false, false},
		{"Huber, more rows than features", products, huber, 2000, 60, []float64{.1, .5}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.large(c.rows, c.n) {
				t.Fatalf("%d rows and %d features are not large", c.rows, c.n)
			}
			rng := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.n)))
			d := casetest.RandomData(rng.Uint64(), c.rows, c.n, c.classes)
			if c.sparse {
				d.X = fewPerRow(rng, c.rows, c.n)
			}
			p := newLargePoint(d, c.hyper, rng, c.classes)
			p.derivatives(t, c.fresh)
		})
	}
}

// fewPerRow draws a sparse matrix with ten entries in each row.
func fewPerRow(rng *rand.Rand, rows, n int) *numtest.Stored {
	const entries = 10
	s := &numtest.Stored{Rows: rows, Columns: n, Index: make([][]int, rows), Value: make([][]float64, rows)}
	for i := range rows {
		s.Index[i], s.Value[i] = rng.Perm(n)[:entries], numtest.Normals(rng, entries)
		slices.Sort(s.Index[i])
	}
	return s
}

// A largePoint has data, hyperparameters, and a direction in all of them.
type largePoint struct {
	data  learn.Data
	hyper []float64
	along *learn.Grad
	x     []float64 // the entries of along.X or along.Stored
}

// newLargePoint draws a direction. The labels of classes do not move.
func newLargePoint(d learn.Data, hyper []float64, rng *rand.Rand, classes bool) *largePoint {
	p := &largePoint{data: d, hyper: hyper}
	p.along, p.x = newGrad(d, len(hyper))
	copy(p.along.Hyper, hyper)
	copy(p.x, numtest.Normals(rng, len(p.x)))
	if !classes {
		p.along.Y = numtest.Normals(rng, len(d.Y))
	}
	return p
}

// movedInputs returns the data and the hyperparameters at the distance h in the direction.
func (p *largePoint) movedInputs(h float64) (learn.Data, []float64) {
	d, hyper := p.data, slices.Clone(p.hyper)
	floats.AddScaled(hyper, h, p.along.Hyper)
	d.Y = slices.Clone(d.Y)
	floats.AddScaled(d.Y, h, p.along.Y)
	s, sparse := p.data.X.(*numtest.Stored)
	if !sparse {
		x := mat.DenseCopyOf(p.data.X)
		floats.AddScaled(x.RawMatrix().Data, h, p.x)
		d.X = x
		return d, hyper
	}
	at, values := 0, make([][]float64, s.Rows)
	for i, v := range s.Value {
		values[i] = slices.Clone(v)
		floats.AddScaled(values[i], h, p.x[at:at+len(v)])
		at += len(v)
	}
	d.X = &numtest.Stored{Rows: s.Rows, Columns: s.Columns, Index: s.Index, Value: values}
	return d, hyper
}

// derivatives tests the derivatives at the point.
func (p *largePoint) derivatives(t *testing.T, fresh func() learn.ForwardLearner) {
	_, n := p.data.X.Dims()
	l := fresh()
	params, _ := l.Dims(n)
	theta, dtheta := make([]float64, params), make([]float64, params)
	numtest.OK(t, l.Load(p.data), l.Fit(theta, p.hyper), l.JVP(nil, dtheta, p.along))
	if err := residualError(l); err != nil {
		t.Error(err)
	}
	numtest.NearAll(t, "JVP", dtheta, p.quotient(t, fresh, theta), largeTol, largeTol)

	v := make([]float64, params)
	for i := range v {
		v[i] = math.Sin(float64(3*i + 1))
	}
	g, x := newGrad(p.data, len(p.hyper))
	numtest.OK(t, l.VJP(nil, g, v))
	got := floats.Dot(g.Hyper, p.along.Hyper) + floats.Dot(x, p.x) + floats.Dot(g.Y, p.along.Y)
	want, size := floats.Dot(v, dtheta), floats.Norm(v, 2)*floats.Norm(dtheta, 2)
	if !(math.Abs(got-want) <= largeAdjointTol*size) {
		t.Errorf("the VJP gives %v, the JVP %v, of terms of size %v", got, want, size)
	}
}

// quotient returns the central difference quotient of θ.
func (p *largePoint) quotient(t *testing.T, fresh func() learn.ForwardLearner, theta []float64) []float64 {
	fit := func(h float64) (out []float64, sides []bool) {
		l := fresh()
		out = make([]float64, len(theta))
		d, hyper := p.movedInputs(h)
		numtest.OK(t, l.Load(d), l.Fit(out, hyper))
		return out, sidesOf(l, d, out, hyper)
	}
	const halvings = 12
	for h := largeStep; h > largeStep/(1<<halvings); h /= 2 {
		above, sides := fit(h)
		below, otherSides := fit(-h)
		if slices.Equal(sides, otherSides) {
			floats.Sub(above, below)
			floats.Scale(1/(2*h), above)
			return above
		}
	}
	t.Fatalf("a kink is crossed by all steps down to %g", largeStep/(1<<halvings))
	return nil
}

// sidesOf reports for each coordinate, and for each row of a Huber fit, the side of its kink.
func sidesOf(l learn.Learner, d learn.Data, theta, hyper []float64) (sides []bool) {
	for _, v := range theta {
		sides = append(sides, v > 0, v < 0)
	}
	if _, huber := l.(*linear.Huber); huber {
		_, n := d.X.Dims()
		for i, y := range d.Y {
			r := y - floats.Dot(theta[:n], d.Dense().RawRowView(i)) - theta[n]
			sides = append(sides, r > hyper[1], r < -hyper[1])
		}
	}
	return sides
}
