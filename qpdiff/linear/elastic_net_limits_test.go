package linear

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// orthonormalColumns returns a rows×n matrix Q with QᵀQ = I.
func orthonormalColumns(rng *rand.Rand, rows, n int) *mat.Dense {
	var qr mat.QR
	qr.Factorize(mat.NewDense(rows, n, numtest.Normals(rng, rows*n)))
	var q mat.Dense
	qr.QTo(&q)
	return mat.DenseCopyOf(q.Slice(0, rows, 0, n))
}

// elasticNetAt draws data with the solution theta at l1 and l2. XᵀX/N has the condition number
// cond. The absolute slope of a zero coordinate j is share[j]·λ1.
func elasticNetAt(rng *rand.Rand, theta, share []float64, rows int, cond, l1, l2 float64) learn.Data {
	n := len(theta)
	u, v := orthonormalColumns(rng, rows, n), orthonormalColumns(rng, n, n)
	var x, inv mat.Dense
	d := make([]float64, n)
	for k := range d {
		d[k] = math.Sqrt(float64(rows)) * math.Pow(cond, -.5*float64(k)/float64(max(1, n-1)))
	}
	x.Mul(u, mat.NewDiagDense(n, d))
	x.Mul(&x, v.T())
	for k := range d {
		d[k] = float64(rows) / d[k]
	}
	inv.Mul(u, mat.NewDiagDense(n, d))
	inv.Mul(&inv, v.T()) // N·X(XᵀX)⁻¹
	b := make([]float64, n)
	for j, t := range theta {
		b[j] = l1*dense.Sign(t) + l2*t
		if t == 0 {
			b[j] = l1 * share[j] * dense.Sign(rng.NormFloat64())
		}
	}
	y := mat.NewVecDense(rows, nil)
	y.MulVec(&x, mat.NewVecDense(n, theta))
	r := mat.NewVecDense(rows, nil)
	r.MulVec(&inv, mat.NewVecDense(n, b))
	y.AddVec(y, r)
	return learn.Data{X: &x, Y: y.RawVector().Data}
}

// kinkDistance returns the relative distance of the solution from the nearest kink, and the
// condition number of the support's system.
func (e *penalisedQuadratic) kinkDistance() (distance, cond float64) {
	q, size := &e.qp, e.rmsY+e.norm
	h := func(i, j int) float64 {
		v := e.gram[q.act[i]*e.n+q.act[j]]
		if i == j {
			v += e.l2[q.act[i]]
		}
		return v
	}
	distance = math.Inf(1)
	for j := range e.features {
		if at := slices.Index(q.act, j); at >= 0 {
			distance = min(distance, math.Abs(q.x[j])*math.Sqrt(h(at, at))/size)
		} else {
			distance = min(distance, (e.l1[j]-math.Abs(q.grad[j]))/(e.l1[j]+e.root[j]*size))
		}
	}
	return distance, numtest.EquilibratedCond(len(q.act), h)
}

// In any units, every derivative fails at a kink and succeeds away from kinks.
func TestPenalisedStrictComplementarity(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(18, 1))
	refused, answered := 0, 0
	for trial := range numtest.Long(2000) {
		sparse := trial%2 == 0
		n := 1 + rng.IntN(8)
		rows := n + 2 + rng.IntN(20)
		d := mixColumns(casetest.RandomData(rng.Uint64(), rows, n, sparse), 1-math.Pow(10, -5*rng.Float64()))
		a, b := math.Pow(10, 12*rng.Float64()-6), math.Pow(10, 12*rng.Float64()-6)
		net, logistic := &ElasticNet{Groups: casetest.DrawGroups(rng, n)}, &SparseLogistic{Groups: casetest.DrawGroups(rng, n), Intercept: trial%4 == 0}
		s := casetest.Steer{Learner: net, Data: d, Cond: 1e6, Slack: 64 * dense.Eps}
		q := &net.penalisedQuadratic
		if sparse {
			s.Learner, q, b = logistic, &logistic.penalisedQuadratic, 1
			d.Y[0], d.Y[1] = 1, -1
		}
		d.Dense().Scale(a, d.X)
		for i := range d.Y {
			d.Y[i] *= b
		}
		_, nh := s.Learner.Dims(n)
		s.Hyper, s.Gap = make([]float64, nh), q.kinkDistance
		s.Face = func() (face []int) {
			for _, v := range q.qp.sgn {
				face = append(face, int(v))
			}
			return append(face, q.qp.act...)
		}
		for i := range nh / 2 {
			s.Hyper[i] = a * b * math.Pow(10, -3*rng.Float64())
			if rng.IntN(2) == 0 {
				s.Hyper[nh/2+i] = a * a * math.Pow(10, -6*rng.Float64())
			}
		}
		s.Which = rng.IntN(nh / 2)
		numtest.OK(t, s.Learner.Load(d))
		r, w := s.Crossing(t, s.Hyper[s.Which], 4*s.Hyper[s.Which])
		refused += r
		answered += w
	}
	if refused < numtest.Long(800) || answered < numtest.Long(1000) {
		t.Errorf("only %d kinks and %d others", refused, answered)
	}
}

// Without penalties, a fit of more features than rows returns ErrIllPosed.
func TestElasticNetWithoutUniqueSolution(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(18, 3))
	for trial := range 6000 {
		rows := 1 + rng.IntN(12)
		n := rows + 1 + rng.IntN(2)
		d := casetest.RandomData(rng.Uint64(), rows, n, false)
		d.Dense().Scale(math.Pow(10, 12*rng.Float64()-6), d.X)
		l2 := 0.
		if trial%2 == 0 {
			l2 = math.Inf(1)
			for j := range n {
				x := mat.Col(nil, j, d.X)
				l2 = min(l2, 1e-17*dense.Dot(x, x)/float64(rows))
			}
		}
		var e ElasticNet
		theta := make([]float64, n)
		if err := errors.Join(e.Load(d), e.Fit(theta, []float64{0, l2})); !errors.Is(err, qpdiff.ErrIllPosed) {
			t.Fatalf("trial %d: %d×%d, λ2 %g: error %v, θ %v", trial, rows, n, l2, err, theta)
		}
	}
}

// Least squares return an error only if the condition number of XᵀX exceeds 1e11.
func TestElasticNetNearlyDependent(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(18, 4))
	for range 2000 {
		n := 2 + rng.IntN(6)
		cond := math.Pow(10, 16*rng.Float64())
		theta := numtest.Normals(rng, n)
		d := elasticNetAt(rng, theta, make([]float64, n), n+4, cond, 0, 0)
		var e ElasticNet
		got := make([]float64, n)
		err := errors.Join(e.Load(d), e.Fit(got, []float64{0, 0}))
		switch {
		case err == nil:
			if off := numtest.RelErr(got, theta); !(off <= 64*dense.Eps*cond) {
				t.Fatalf("condition %.2g: θ is off by %.2g", cond, off)
			}
		case !errors.Is(err, qpdiff.ErrIllPosed) || cond < 1e11:
			t.Fatalf("condition %.2g: %v", cond, err)
		}
	}
}

// At λ1 = 0, a feature of zeros with a ridge penalty has no kink.
func TestElasticNetZeroFeatureAtTheBound(t *testing.T) {
	for _, perFeature := range []bool{false, true} {
		d := casetest.RandomData(3, 12, 4, false)
		for i := range 12 {
			d.Dense().Set(i, 2, 0)
		}
		hyper, groups := []float64{0, .3}, []int(nil)
		if perFeature {
			groups = PerFeature(4)
			hyper = []float64{0, .1, 0, 0, .3, .3, .3, .3}
		}
		e := &ElasticNet{Groups: groups}
		theta := make([]float64, 4)
		numtest.OK(t, e.Load(d), e.Fit(theta, hyper))
		g := &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(12, 4, nil), Y: make([]float64, 12)}
		v := []float64{1, -2, 3, .5}
		if err := e.VJP(nil, g, v); err != nil || g.Generalised {
			t.Fatalf("error %v, generalised %v", err, g.Generalised)
		}
		out, moved := make([]float64, 4), make([]float64, 4)
		for j := range hyper {
			u := &learn.Grad{Hyper: make([]float64, len(hyper))}
			u.Hyper[j] = 1
			numtest.OK(t, e.JVP(nil, out, u))
			if want := dense.Dot(v, out); !(math.Abs(g.Hyper[j]-want) <= 1e-13*(1+math.Abs(want))) {
				t.Errorf("hyper[%d]: VJP %g, JVP %g", j, g.Hyper[j], want)
			}
			diff := numtest.ForwardDifference(func(h float64) float64 {
				hyp := slices.Clone(hyper)
				hyp[j] += h
				p := &ElasticNet{Groups: groups}
				numtest.OK(t, p.Load(d), p.Fit(moved, hyp))
				return dense.Dot(v, moved)
			}, 1e-5)
			if !(math.Abs(g.Hyper[j]-diff) <= 1e-7) {
				t.Errorf("hyper[%d]: VJP %g, difference %g", j, g.Hyper[j], diff)
			}
		}
		// A JVP along a change of X and λ1 keeps the coefficient of the zero feature at 0.
		u := &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(12, 4, nil)}
		if perFeature {
			u.Hyper[2] = 10
		} else {
			u.Hyper[0] = 10
		}
		for i := range 12 {
			u.X.Set(i, 2, 1)
		}
		if err := e.JVP(nil, out, u); err != nil || out[2] != 0 {
			t.Errorf("JVP %v, error %v", out, err)
		}
	}
}

// For the smallest ridge penalties, a feature of zeros has the coefficient 0, or Fit returns
// ErrIllPosed.
func TestElasticNetLeastRidge(t *testing.T) {
	var e ElasticNet
	theta := make([]float64, 1)
	for _, l2 := range []float64{5e-324, 1e-320, 1e-309, 1e-300} {
		err := errors.Join(e.Load(learn.Data{X: mat.NewDense(2, 1, nil), Y: []float64{1, 2}}), e.Fit(theta, []float64{0, l2}))
		if err == nil && theta[0] != 0 || err != nil && !errors.Is(err, qpdiff.ErrIllPosed) || l2 == 1e-300 && err != nil {
			t.Errorf("λ2 = %g: θ %v, error %v", l2, theta, err)
		}
	}
}

// If one λ1 becomes huge, a warm fit has the solution of a cold fit.
func TestHugePenaltyAfterAFit(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(18, 7))
	const rows, n = 12, 5
	for trial := range 1000 {
		unit := math.Pow(10, -9*rng.Float64())
		var warm, cold learn.Learner = &ElasticNet{Groups: PerFeature(n)}, &ElasticNet{Groups: PerFeature(n)}
		d, sparse := casetest.RandomData(rng.Uint64(), rows, n, false), trial%2 == 0
		if sparse {
			warm, cold = &SparseLogistic{Groups: PerFeature(n)}, &SparseLogistic{Groups: PerFeature(n)}
			d = casetest.NoisyClasses(rng.Uint64(), rows, n)
			d.Y[0], d.Y[1] = 1, -1
		}
		d.Dense().Scale(unit, d.X)
		hyper := make([]float64, 2*n)
		for j := range n {
			hyper[j] = .02 * unit * rng.Float64()
			if sparse {
				hyper[n+j] = .01 * unit * unit
			}
		}
		theta, want := make([]float64, n), make([]float64, n)
		numtest.OK(t, warm.Load(d), cold.Load(d), warm.Fit(theta, hyper))
		hyper[rng.IntN(n)] = math.MaxFloat64 * math.Pow(10, -30*rng.Float64())
		numtest.OK(t, cold.Fit(want, hyper), warm.Fit(theta, hyper))
		numtest.NearAll(t, fmt.Sprintf("trial %d, %T", trial, warm), theta, want, map[bool]float64{true: 1e-11}[sparse], 0)
	}
}

// A fit finds its solution even if the previous fit left a coefficient that is almost 0.
func TestElasticNetAlmostZeroAfterAFit(t *testing.T) {
	const unit = 1e-9 // of the features
	d := learn.Data{X: mat.NewDense(2, 2, []float64{unit, unit, unit, 0}), Y: []float64{1, .2}}
	e := &ElasticNet{Groups: PerFeature(2)}
	theta := make([]float64, 2)
	// Xᵀy/N = (.6, .5)·unit.
	numtest.OK(t, e.Load(d), e.Fit(theta, []float64{0, .55 * unit, 1e308, 0}), e.Fit(theta, []float64{.65 * unit, .1 * unit, 0, 0}))
	if want := .4 / .5 / unit; theta[0] != 0 || math.Abs(theta[1]-want) > 1e-15*want {
		t.Errorf("θ = %v, want 0 and %v", theta, want)
	}
}

// A derivative in X that overflows returns ErrNotFinite, even if λ1 is at a kink.
func TestElasticNetOverflowAtAKink(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), Y: []float64{1e150, 0}}
	var e ElasticNet
	g := &learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(2, 2, nil)}
	numtest.OK(t, e.Load(d), e.Fit(make([]float64, 2), []float64{0, 1}))
	if err := e.VJP(nil, g, []float64{1e200, 0}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("X: %v, error %v", g.X.RawMatrix().Data, err)
	}
}

// Fit returns ErrNotFinite if the square of the solution overflows, because the distance from a
// kink needs this square.
func TestElasticNetSolutionOverflows(t *testing.T) {
	const unit = 1e-150
	d := learn.Data{X: mat.NewDense(2, 2, []float64{unit, unit, unit, unit * (1 + 1e-3)}), Y: []float64{1e153, -1e153}}
	var e ElasticNet
	theta := make([]float64, 2)
	if err := errors.Join(e.Load(d), e.Fit(theta, []float64{0, 0})); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("θ = %v: %v", theta, err)
	}
}

// A fit of n features is optimal after a fit whose working set had n features.
func TestElasticNetFewAfterMany(t *testing.T) {
	var e ElasticNet
	theta := make([]float64, 300)
	numtest.OK(t, e.Load(casetest.RandomData(1, 20, 300, false)), e.Fit(theta, []float64{2, 1}))
	n := e.n
	if n <= len(e.qp.act) {
		t.Fatalf("a working set of %d features is the support", n)
	}
	d := casetest.RandomData(2, 150, n, false)
	numtest.OK(t, e.Load(d), e.Fit(theta[:n], []float64{0, .1}))
	if r := elasticNetResidual(d, theta[:n], []float64{0, .1}); !(r <= 1e-13) {
		t.Errorf("residual %g", r)
	}
}

// A fit starts cold if the system of the previous support is singular at the new λ2.
func TestElasticNetLassoAfterRidge(t *testing.T) {
	var warm, cold ElasticNet
	const n = 400
	d := casetest.RandomData(1, 20, n, false)
	theta, want := make([]float64, n), make([]float64, n)
	for _, l2 := range []float64{0, 1e-14, 1e-12} {
		hyper := []float64{.01, l2}
		numtest.OK(t, warm.Load(d), warm.Fit(theta, []float64{1e-6, 1}), warm.Fit(theta, hyper))
		numtest.OK(t, cold.Load(d))
		cold.Reset()
		numtest.OK(t, cold.Fit(want, hyper))
		if !slices.Equal(warm.workSet.features, cold.workSet.features) || !numtest.SameBits(theta, want) {
			t.Errorf("λ2 = %g: working sets of %d and %d features", l2, warm.n, cold.n)
		}
	}
}

// At λ1 = 0 and labels 0, VJP reports a kink even if the determinant of the system underflows.
func TestElasticNetKinkOfTinyDeterminant(t *testing.T) {
	const rows, n = 90, 70
	d := casetest.RandomData(1, rows, n, false)
	clear(d.Y)
	for i := range rows {
		row := d.Dense().RawRowView(i)
		for j := 1; j < n; j++ {
			row[j] = row[0] + 1e-3*row[j]
		}
	}
	for _, l := range []learn.ForwardLearner{new(ElasticNet), casetest.WorkingSets{ForwardLearner: new(ElasticNet)}} {
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, n), []float64{0, 0}))
		err := l.VJP(nil, &learn.Grad{Hyper: make([]float64, 2)}, numtest.Ones(n))
		if !errors.Is(err, qpdiff.ErrNotDifferentiable) {
			t.Errorf("%T: %v", l, err)
		}
	}
}

// A ridge regression of more features than rows has the same derivatives on working sets as with
// its Gram matrix.
func TestElasticNetConditionByRows(t *testing.T) {
	for _, seed := range []uint64{8, 47} {
		rng := rand.New(rand.NewPCG(82, seed))
		rows, n := 10+rng.IntN(20), 100+rng.IntN(100)
		d := casetest.RandomData(seed, rows, n, false)
		for i := range rows {
			row := d.Dense().RawRowView(i)
			for j := 5; j < n; j++ {
				row[j] = row[j%5] + 1e-3*row[j]
			}
		}
		hyper := []float64{0, math.Pow(10, -4-4*rng.Float64())}
		var grads [2][]float64
		for i, l := range []learn.ForwardLearner{new(ElasticNet), casetest.WorkingSets{ForwardLearner: new(ElasticNet)}} {
			g := &learn.Grad{Hyper: make([]float64, 2)}
			numtest.OK(t, l.Load(d), l.Fit(make([]float64, n), hyper), l.VJP(nil, g, numtest.Ones(n)))
			grads[i] = g.Hyper
		}
		numtest.NearAll(t, fmt.Sprint(seed), grads[1], grads[0], 1e-5, 0)
	}
}

// A fit starts from the stored fit of lowest objective. At most pastFits fits are stored, all of
// the same data.
func TestPastFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 1))
	const rows, n = 20, 300
	draw := func() learn.Data {
		return learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: numtest.Normals(rng, rows)}
	}
	e, theta := new(ElasticNet), make([]float64, n)
	numtest.OK(t, e.Load(draw()))
	small, large := []float64{.02, .01}, []float64{.4, .01}
	numtest.OK(t, e.Fit(theta, small), e.Fit(theta, large))
	s := e.workSet
	if len(s.pastFits) != 2 || s.startFit != 1 {
		t.Fatalf("%d past fits, the last one is %d", len(s.pastFits), s.startFit)
	}
	numtest.OK(t, e.Fit(theta, []float64{small[0] * (1 + 1e-9), small[1]}))
	if len(s.pastFits) != 2 || s.startFit != 0 {
		t.Errorf("%d past fits, the last one is %d, where it equals the first", len(s.pastFits), s.startFit)
	}
	for k := range 3 * pastFits {
		numtest.OK(t, e.Fit(theta, []float64{.02 * math.Pow(1.1, float64(k)), .01}))
	}
	if len(s.pastFits) != pastFits {
		t.Errorf("%d past fits, not %d", len(s.pastFits), pastFits)
	}
	members := 0
	for _, f := range s.pastFits {
		members = max(members, len(f.features))
	}
	if most := mostKept(rows, n); float64(members) > most {
		t.Errorf("a past fit of %d features, more than %v", members, most)
	}
	numtest.OK(t, e.Load(draw()))
	if len(s.pastFits) != 0 || s.slopesValid {
		t.Error("past fits of other data")
	}
}
