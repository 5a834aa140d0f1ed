package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// The tests below check each decision of the QP solver at a third of its tolerance and at three
// times its tolerance.

func square(x ...float64) *mat.Dense {
	n := int(math.Sqrt(float64(len(x))))
	return mat.NewDense(n, n, x)
}

func TestQPAsymmetry(t *testing.T) {
	for _, c := range []struct {
		name string
		off  float64
		err  error
	}{
		{"rounding", asymmetryWant / 3, nil},
		{"more", 3 * asymmetryWant, ErrDomain},
	} {
		// Large entries of Q, in another unit of the first variable, must not hide the asymmetry of
		// small ones.
		for _, d := range []float64{1, 1e-6, 1e6} {
			q := square(2*d*d, d, 0, d*(1+c.off), 2, 1, 0, 1, 2)
			var s Solution
			if err := s.Solve(&QP{Q: q, P: []float64{d, 1, 1}}); !errors.Is(err, c.err) {
				t.Errorf("%s, unit %g: %v", c.name, d, err)
			}
		}
	}
	// The asymmetry of two entries is compared with the diagonal, because off-diagonal entries of
	// XᵀX may be only rounding errors.
	var s Solution
	if err := s.Solve(&QP{Q: square(1, 1e-17, -1e-17, 1), P: []float64{1, 1}}); err != nil {
		t.Errorf("orthogonal columns: %v", err)
	}
}

const (
	asymmetryWant = 1e-13
	convexWant    = 1e-12
	pivotWant     = 1e-11
	dependWant    = 1e-9
	unboundedWant = 1e-13
	refinedWant   = 1e-14
	rayTolWant    = 128 * dense.Eps
	rayGainWant   = 1e-12
	rowWant       = 1e-270
	feasWant      = 1e-13
	noneWant      = 1e-13
	slopeWant     = 1e4
	defaultWant   = 1e-9
	convergedWant = 1e-13
	staleWant     = 1e3
	looseWant     = 1e-12
	openWant      = 1e6
	roundingsWant = 8
	farWant       = 1e-11
)

// rotatedMatrix returns a matrix with the eigenvalue 1 of (1, 1) and the given eigenvalue of (1,
// −1).
func rotatedMatrix(eigenvalue float64) *mat.Dense {
	return square((1+eigenvalue)/2, (1-eigenvalue)/2, (1-eigenvalue)/2, (1+eigenvalue)/2)
}

func TestQPConvexTol(t *testing.T) {
	// The diagonal of Q holds ½.
	for _, c := range []struct {
		low    float64
		status Status
	}{
		{-convexWant / 2 / 3, Optimal},
		{-3 * convexWant / 2, Nonconvex},
	} {
		for _, unit := range []float64{1, 1e-9, 1e9} {
			q := rotatedMatrix(c.low)
			q.Scale(unit, q)
			var s Solution
			if err := s.Solve(&QP{Q: q, P: []float64{-unit, -unit}}); s.Status != c.status {
				t.Errorf("eigenvalue %g in units of %g: %v, %v", c.low, unit, s.Status, err)
			}
		}
	}
}

func TestQPPivotTol(t *testing.T) {
	for _, unit := range []float64{1, 1e-9, 1e9} {
		solve := func(low float64) int {
			// A unit diagonal and 1 − low off the diagonal give the smallest eigenvalue low.
			q := square(1, 1-low, 1-low, 1)
			q.Scale(unit, q)
			var s Solution
			if err := s.Solve(&QP{Q: q, P: []float64{-unit, -unit}}); err != nil {
				t.Errorf("eigenvalue %g in units of %g: %v", low, unit, err)
			}
			return s.Proximal
		}
		if solve(3*pivotWant) != 0 {
			t.Errorf("unit %g: proximal steps for a definite matrix", unit)
		}
		if solve(pivotWant/3) == 0 {
			t.Errorf("unit %g: no proximal step for a matrix that is semidefinite to rounding", unit)
		}
	}
}

// Two equalities are independent if their angle exceeds dependWant. At a smaller angle, one counts
// as a copy of the other.
func TestQPDependTol(t *testing.T) {
	for _, unit := range []float64{1, 1e-9, 1e9} {
		solve := func(angle, second float64) float64 {
			var s Solution
			q := QP{Q: square(1, 0, 0, 1), P: []float64{0, 0}, A: square(1, 0, unit, unit*angle), B: []float64{1, unit * second}}
			if err := s.Solve(&q); err != nil {
				t.Errorf("angle %g: %v", angle, err)
				return math.NaN()
			}
			return s.Z[1]
		}
		if z := solve(3*dependWant, 1+6*dependWant); math.Abs(z-2) > 1e-6 {
			t.Errorf("unit %g: z = %v where two equalities meet, want 2", unit, z)
		}
		if z := solve(dependWant/3, 1+1e-4*dependWant); math.Abs(z) > 1e-9 {
			t.Errorf("unit %g: z = %v for one equality stated twice, want 0", unit, z)
		}
	}
}

func TestQPUnboundedTol(t *testing.T) {
	for _, unit := range []float64{1, 1e-9, 1e9} {
		for _, c := range []struct {
			low       float64
			unbounded bool
		}{
			{unboundedWant / 3, true}, // against the largest entry, ½
			{3 * unboundedWant, false},
		} {
			q := rotatedMatrix(c.low)
			q.Scale(unit, q)
			var s Solution
			if err := s.Solve(&QP{Q: q, P: []float64{-unit, unit}}); (s.Status == Unbounded) != c.unbounded {
				t.Errorf("curvature %g in units of %g: %v, %v", c.low, unit, s.Status, err)
			}
		}
	}
}

// Refinement continues to 1e-14, and no further.
func TestQPRefined(t *testing.T) {
	refinements, count := 0, 0
	for i := range 400 {
		rng := rand.New(rand.NewPCG(31, uint64(i)))
		qp := randomQP(rng, 10, 10, 3)
		var s Solution
		if err := s.Solve(&qp); err != nil {
			t.Fatal(err)
		}
		if s.Residual.Relative > refinedWant {
			t.Errorf("%d: relative residual %g", i, s.Residual.Relative)
		}
		refinements += s.Refinements
		count++
	}
	t.Logf("%d refinements of %d solutions", refinements, count)
	if refinements > count/2 {
		t.Errorf("%d refinements of %d well-conditioned problems", refinements, count)
	}
}

// The rows contradict each other, unless a point far away satisfies both.
func TestQPRayTol(t *testing.T) {
	for _, unit := range []float64{1, 1e-9, 1e9} {
		for _, c := range []struct {
			rest, second float64
			infeasible   bool
		}{
			{0, -1, true},
			{rayTolWant / 3, -1, true},
			{3 * rayTolWant, -1, false}, // z₂ = −1/rest, if it can be reached
			{0, -3 * rayGainWant, true},
			{0, -rayGainWant / 3, false},
		} {
			// z₁ ≥ 1 and z₁ + rest·z₂ ≤ 1 + second
			q := QP{Q: square(1, 0, 0, 1), P: []float64{0, 0}, G: square(-1, 0, unit, unit*c.rest), H: []float64{-1, unit * (1 + c.second)}}
			var s Solution
			if err := s.Solve(&q); (s.Status == Infeasible) != c.infeasible {
				t.Errorf("rest %g, bound off by %g, units of %g: %v, %v", c.rest, c.second, unit, s.Status, err)
			}
		}
	}
}

// A row that limits a step only by rounding is ignored, because it would return again and again.
func TestQPBlockTol(t *testing.T) {
	q := QP{
		P: []float64{1.443589236874637e-252, -7.967023173623321e+69, 9.938234166342178e-88, 3.2652584470961716e+189},
		G: mat.NewDense(3, 4, []float64{-5.066813251846996e+24, 2.2611644907687667e-10, -8.473556305621378e-180, 3.3671733171011184e+148, 7.558570819119231e-159, 2.2611644907687667e-10, -8.473556305621378e-180, -4.1485996040005493e+12, 9.618900426949137e+73, 1.2000962636435698e+65, 636634.8611048474, 1.0969291740453773e+30}),
		H: []float64{math.Inf(1), -1.0988154980391249e-226, -2.5963867326959537e+279},
		A: mat.NewDense(2, 4, []float64{-7.992957728499715e-272, 1.2820358950457427e+101, 2.3915865636201603e+78, -1.0941968548312074e-280, 2.4498560319130363e+234, -6.961291180579264e+93, -1.0426920403720382e+129, 1.2404817092821413e+182}),
		B: []float64{-6.311349349377343e-190, 1.2269463e-317},
	}
	var s Solution
	if err := s.Solve(&q); s.set.iterations > 100 {
		t.Errorf("%d changes: %v", s.set.iterations, err)
	}
}

// A row that contributes nothing to a proof has the multiplier 0, because rounding errors matter in
// other units.
func TestQPRayNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	for range 1000 {
		// The rows are z₁ ≥ 2 and z₁ ≤ 1 in all units, and an equation that determines z₂.
		u, v := math.Exp(9*rng.NormFloat64()), math.Exp(9*rng.NormFloat64())
		q := QP{P: []float64{rng.NormFloat64(), rng.NormFloat64()}, G: square(-u, 0, v, 0), H: []float64{-2 * u, v}, A: mat.NewDense(1, 2, []float64{rng.NormFloat64(), 1e4 * rng.NormFloat64()}), B: []float64{rng.NormFloat64()}}
		var s Solution
		if s.Solve(&q); s.Status != Infeasible || s.Certificate.Nu[0] != 0 {
			t.Fatalf("%v: %v, %+v", q, s.Status, s.Certificate)
		}
	}
	// The rows are z₁ ≥ 1, z₁ + 1e-12·z₂ ≤ .5 and z₂ ≥ 0. The last row is active first.
	q := QP{Q: square(1, 0, 0, 1), P: []float64{0, 9}, G: mat.NewDense(3, 2, []float64{-1, 0, 1, 1e-12, 0, -1}), H: []float64{-1, .5, 0}}
	var s Solution
	if s.Solve(&q); s.Status != Infeasible || s.Certificate.Lambda[2] == 0 {
		t.Errorf("%v, %+v", s.Status, s.Certificate)
	}
}

// A row near a combination of large rows is used if its violation exceeds the rounding errors of
// these rows.
func TestQPRoundings(t *testing.T) {
	const large = 1000
	sum := 4.0 * large // the sum of the terms of z₁ + 1000·z₃ = 1001 and 1000·z₃ = 1000
	for _, c := range []struct {
		times float64
		used  bool
	}{{3, true}, {1. / 3, false}} {
		const angle = 1e-10
		off := c.times * roundingsWant * dense.Eps * sum
		q := QP{Q: diagonal(1, 1, 1), P: []float64{0, 0, 0}, A: mat.NewDense(2, 3, []float64{1, 0, large, 0, 0, large}), B: []float64{1 + large, large},
			G: mat.NewDense(1, 3, []float64{1, angle, 0}), H: []float64{1 - off}}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		if used := math.Abs(s.Z[1]+off/angle) < .1*off/angle; used != c.used {
			t.Errorf("violated by %g: z = %v", off, s.Z)
		}
	}
}

func TestQPSmallestRow(t *testing.T) {
	for _, c := range []struct {
		size float64
		err  error
	}{
		{3 * rowWant, nil}, {rowWant / 3, ErrDomain}, {1 / (3 * rowWant), nil}, {3 / rowWant, ErrDomain},
	} {
		var s Solution
		q := QP{Q: square(1), P: []float64{-2}, G: square(c.size), H: []float64{c.size}}
		if err := s.Solve(&q); !errors.Is(err, c.err) {
			t.Errorf("row of %g: %v", c.size, err)
		}
	}
}

// A row whose violation is negligible stays out of the working set.
func TestQPFeasTol(t *testing.T) {
	for _, unit := range []float64{1, 1e-9, 1e9} {
		for _, c := range []struct {
			off    float64
			active bool
		}{{feasWant / 3, false}, {3 * feasWant, true}} {
			// Without the row z₁ + z₂ ≤ 2, the minimiser is (1+off, 1+off). The terms of the row
			// sum to 4.
			v := 1 + 2*c.off
			q := QP{Q: square(1, 0, 0, 1), P: []float64{-v, -v}, G: mat.NewDense(1, 2, []float64{unit, unit}), H: []float64{2 * unit}}
			var s Solution
			if err := s.Solve(&q); err != nil {
				t.Fatal(err)
			}
			if active := s.Lambda[0] > 0; active != c.active {
				t.Errorf("violation %g, unit %g: multiplier %g", c.off, unit, s.Lambda[0])
			}
		}
	}
}

// A row at a small angle to other rows is used if no other row helps. At an angle of rounding size,
// it counts as a copy.
func TestQPNoneLeft(t *testing.T) {
	for _, c := range []struct {
		angle float64
		used  bool
	}{{3 * noneWant, true}, {noneWant / 3, false}} {
		q := QP{Q: square(1, 0, 0, 1), P: []float64{0, 0}, A: mat.NewDense(1, 2, []float64{1, 0}), B: []float64{1}, G: mat.NewDense(1, 2, []float64{1, c.angle}), H: []float64{1 - 10*noneWant}}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		want := 0.0
		if c.used {
			want = -10 * noneWant / c.angle
		}
		if math.Abs(s.Z[1]-want) > 1e-2 {
			t.Errorf("angle %g: z = %v, want z₂ = %g", c.angle, s.Z, want)
		}
	}
}

// The slope along the only free direction is compared with the largest slope.
func TestQPSlopeTol(t *testing.T) {
	for _, unit := range []float64{1, 1e-9, 1e9} {
		for _, c := range []struct {
			slope     float64
			unbounded bool
		}{{3 * slopeWant * dense.Eps, true}, {slopeWant * dense.Eps / 3, false}} {
			// For z₁ ≥ 0 and z₁ + z₂ ≥ 0, the objective falls along (0, 1).
			q := QP{P: []float64{unit, -c.slope * unit}, G: square(-1, 0, -1, -1), H: []float64{0, 0}}
			var s Solution
			if err := s.Solve(&q); (s.Status == Unbounded) != c.unbounded {
				t.Errorf("slope %g, unit %g: %v, %v", c.slope, unit, s.Status, err)
			}
		}
	}
}

// A program is unbounded if its bounds are so far away that rounding of Qz hides the slope.
func TestQPFarTol(t *testing.T) {
	for _, unit := range []float64{1, 0x1p-30, 0x1p30} {
		for _, twoSided := range []bool{false, true} {
			for _, c := range []struct {
				bound  float64
				status Status
			}{{2 / farWant / 3, Optimal}, {3 * 2 / farWant, Unbounded}} {
				q := QP{Q: rotatedMatrix(0), P: []float64{-unit, unit}}
				far := unit * c.bound
				if twoSided {
					q.ZMin, q.ZMax = []float64{-far, -far}, []float64{far, far}
				} else {
					q.G, q.H = square(1, 0, 0, -1), []float64{far, far}
				}
				var s Solution
				err := s.Solve(&q)
				if s.Status != c.status || err == nil && (s.Z[0] != far || s.Z[1] != -far) {
					t.Errorf("bound %g, unit %g, two sides %v: %v, %v, z = %v", c.bound, unit, twoSided, s.Status, err, s.Z)
				}
			}
		}
	}
}

// A violated equality is accepted if it contradicts other equalities by less than the tolerance.
func TestQPDefaultTol(t *testing.T) {
	for _, c := range []struct {
		off    float64
		status Status
	}{{defaultWant, Optimal}, {4 * defaultWant, IterationLimit}} {
		q := QP{Q: square(1, 0, 0, 1), P: []float64{0, 0}, A: mat.NewDense(3, 2, []float64{1, 0, 1, 1e-5, 0, 1}), B: []float64{1, 1 + 1e-5, 1 + c.off}}
		var s Solution
		if err := s.Solve(&q); s.Status != c.status {
			t.Errorf("violation %g: %v, %v, residual %g", c.off, s.Status, err, s.Residual.Relative)
		}
	}
}

// Programs in extreme units seldom end at residuals between 1e-13 and 1e-12, because proximal steps
// continue while they help.
func TestQPConverged(t *testing.T) {
	early, problems := 0, numtest.Long(600)
	for i := range problems {
		rng := rand.New(rand.NewPCG(5, uint64(i)))
		q := boundedQP(rng, 4+rng.IntN(5))
		u := drawUnits(rng, &q, 10, 6, true)
		q = u.apply(&q)
		q.Q = spectralMatrix(rng, len(q.P), 11+5*rng.Float64())
		var s Solution
		if s.Solve(&q) == nil && s.Residual.Relative > convergedWant && s.Residual.Relative <= 10*convergedWant {
			early++
		}
	}
	if early > problems/60 {
		t.Errorf("%d problems of %d end early", early, problems)
	}
}

// The solver keeps its factor until the linear term or the bounds change by a factor of 1000.
func TestQPStaleSize(t *testing.T) {
	for _, c := range []struct {
		times float64
		stale bool
	}{{staleWant / 3, false}, {3 / staleWant, false}, {3 * staleWant, true}, {1 / (3 * staleWant), true}} {
		for _, bounds := range []bool{false, true} {
			q := boundedQP(rand.New(rand.NewPCG(5, 1)), 3)
			var s Solution
			if err := s.Solve(&q); err != nil {
				t.Fatal(err)
			}
			a := &s.set
			x := q.P
			if bounds {
				x = q.H
			}
			for i := range x {
				x[i] *= c.times
			}
			if err := a.load(&q); err != nil {
				t.Fatal(err)
			}
			if stale := a.factorStale(); stale != c.stale {
				t.Errorf("times %g, bounds %v: stale %v", c.times, bounds, stale)
			}
		}
	}
}

// A row is satisfied to the size of its own terms even if a variable outside the row is large.
func TestQPLooseTol(t *testing.T) {
	serial.Test(t)
	refinements := 0
	for i := range 6000 {
		rng := rand.New(rand.NewPCG(95, uint64(i)))
		n := 3 + rng.IntN(3)
		q := randomQP(rng, n, 0, 0)
		q.A, q.B = mat.NewDense(1, n, gaussians(rng, n)), []float64{1}
		q.A.Set(0, 0, 0)
		q.P[0] = -math.Pow(10, 10*rng.Float64())
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		off, own := -1.0, 0.0
		for j, z := range s.Z {
			off += q.A.At(0, j) * z
			own = max(own, math.Abs(q.A.At(0, j)*z))
		}
		if math.Abs(off) > looseWant*own {
			t.Errorf("%d: the row is violated by %.2g of its largest term", i, math.Abs(off)/own)
		}
		refinements += s.Refinements
	}
	if refinements > 100 {
		t.Errorf("%d refinements of 6000 solutions", refinements)
	}
}

// The solver ignores a bound in its estimate of |z| if it exceeds the usual bound by more than
// openBound.
func TestQPOpenBound(t *testing.T) {
	for _, unit := range []float64{1, 1e-9, 1e9} {
		for _, c := range []struct {
			times  float64
			counts bool
		}{{openWant / 3, true}, {3 * openWant, false}} {
			// The usual bound is the harmonic mean, which is 3/2 units if there is one large bound.
			large := 1.5 * unit * c.times
			q := QP{P: []float64{1, 1, 1}, G: mat.NewDense(3, 3, []float64{-1, 0, 0, 0, -1, 0, 0, 0, -1}), H: []float64{unit, unit, large}, A: mat.NewDense(1, 3, []float64{1, 1, 1}), B: []float64{0}}
			var s Solution
			if err := s.set.load(&q); err != nil {
				t.Fatal(err)
			}
			s.set.equilibrate()
			if _, z := s.set.partSizes(0); (z > 10*unit) != c.counts {
				t.Errorf("a bound of %g beside %g: z counts as %g", large, unit, z)
			}
		}
	}
}

// If rounding makes the working set cycle, the solve ends, whatever MaxIter is.
func TestQPCirclesEnd(t *testing.T) {
	q := &QP{
		Q: mat.NewDense(6, 6, nil),
		P: []float64{-2.3350060918438094e+147, -1.1148452741031163e-149, 1.600368408128116e-09, -2.4495330864936526e+69, 1.4558939132996473e+112, 9.073206570055119e+103},
		G: mat.NewDense(8, 6, []float64{
			1.5787962628999372e-91, -9.04032133979194e+79, -1.386395693622663e+48, -5.198411215367152e-122, -2.095250382439671e+93, 4.675516811716276e-77,
			1.3991474832071303e-60, 5.68306307339174e-121, 1.2192381481154186e+69, -8.784629783391072e-06, -4.22572067687776e-82, -8.917300430367462e-126,
			-1.628190278384427e+14, 1.8139493148397785e-143, -2.3405267341926947e+130, -7.637822816997222e-130, -4.3979566357073926e-73, 4.2444100171773617e-14,
			2.235184391006256e-111, -5.263765395653779e-143, -1.9414367714088804e+132, -2.4561780010284818e+58, -1.133556358466675e-08, -1.2528177291212057e+83,
			-2.9140078915205613e-67, -3.440904415966301e-69, 2.8665891036003886e+119, 1.8603285857197014e-25, -2.3511463127368843e-127, 5.082100228984885e+68,
			6.323302893238079e-100, -1.2488759255657997e+50, -9.717546607810188e+88, 6.67857018345748e+143, -6.48364972206098e+105, -6.576131666791991e-132,
			4.855626958475335e-52, -8.495195879584925e+66, 2.2551812888543527e-114, -9.397547519310572e-128, 1.0109490116935362e-146, -1.1524083538849234e+136,
			3.142627940455725e+84, -3.50771104848996e-08, 2.061611836607654e-60, -1.9161406751005816e-139, 1.6081327917721703e+140, -1.7774000214856003e+103}),
		H: []float64{-497374.3903305106, -8.225767472531844e-80, -7.463372843831652e-114, -1.4614178832978062e-86, -3.3533464806928945e-74, 3.1595096266484814e-93, -1.0016833915007173e-21, -3.573090611283265e+48},
	}
	for i, v := range []float64{5.676730153950848e-17, 1.0267934894187404e-82, 2.6550969826756515e-106, 9.531519986099224e+26, 5.326322631564459e-13, 3.4606362396179974e+137} {
		q.Q.Set(i, i, v)
	}
	s := Solution{MaxIter: math.MaxInt}
	if s.Solve(q); s.Iterations > 2*hopelessChanges*(minChanges+changesPerRow*14) {
		t.Errorf("%v after %d changes", s.Status, s.Iterations)
	}
}

// The scaling of matrices H and C makes the entries of C near one, and the entries of H near each
// other.
func TestGeometricScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for trial := range 200 {
		n, k := 1+rng.IntN(6), rng.IntN(5)
		h, c := make([]float64, n*n), make([]float64, k*n)
		for i := range n {
			if rng.IntN(3) > 0 {
				h[i*n+i] = 1
			}
		}
		for i := range c {
			c[i] = float64(rng.IntN(3) - 1)
		}
		u := make([]float64, n+k)
		for i := range u {
			u[i] = math.Ldexp(1, rng.IntN(41)-20)
		}
		for i := range n {
			h[i*n+i] *= u[i] * u[i]
		}
		for i := range k {
			for j := range n {
				c[i*n+j] *= u[n+i] * u[j]
			}
		}
		e := geometricScale(make([]float64, 3*(n+k)), n, k, h, c)
		big := 0.0
		for i := range n {
			big = max(big, h[i*n+i]*e[i]*e[i])
		}
		for i := range n + k {
			for j := range min(i+1, n) {
				v := math.Abs(kktEntry(n, h, c, i, j)) * e[i] * e[j]
				if i < n {
					v /= big
				}
				if v > 0 && math.Abs(math.Log2(v)) > 1 {
					t.Errorf("%d: entry (%d, %d) becomes %g", trial, i, j, v)
				}
			}
		}
	}
}

// A solve for a flat Q ends as Optimal only if the gradient of each variable is small relative to
// its own terms.
func TestQPFlat(t *testing.T) {
	q := QP{
		Q: mat.NewDense(5, 5, []float64{838431.0915452668, -0.04164988116199243, -838431.0915452668, 496.5228727840758, -582396.1088123206, -0.04164988116199243, 1.8615547722230313e-06, 0.04164988116199243, 0.6162614184635511, 0.8343558156790314, -838431.0915452668, 0.04164988116199243, 838431.0915452668, -496.5228727840758, 582396.1088123206, 496.5228727840758, 0.6162614184635511, -496.5228727840758, 1.0334690652956653e+06, 266366.4742212963, -582396.1088123206, 0.8343558156790314, 582396.1088123206, 266366.4742212963, 753412.3129624713}),
		P: []float64{-0.0187381656648804, -2.7751338641953562e-06, 1971.8248395513224, -0.7831577563345147, 5.15079335026118e-06},
		G: mat.NewDense(3, 5, []float64{14.199047956278111, -23322.58193099093, -2.7937143394377518e-06, 1586.5005198279823, 1.0286629512483977e-06, 3.4651687131452884e-07, 268.10680448112817, 6.454617268877199e-07, 0.6643240925792989, -407781.8685636069, -195845.25204835457, 35822.78060597489, 0.004095063815242614, 7.703508504993036, -0.001573723937441278}),
		H: []float64{1.2931441820497589e-05, 190968.16666420057, -0.000158043591866018},
		A: mat.NewDense(2, 5, []float64{1.0963638321369135e-05, 86590.6303780306, -2.1486191943398645e-05, -1.3573480804752683e-06, 99.3703468624136, 9.892027215899084, -0.0007479301488236929, 0.0018960937440669152, 7.5635624796804045e-06, 0.00015326818973837892}),
		B: []float64{-0.0009387192887704945, 109361.339463544},
	}
	for _, tol := range []float64{1e-6, 0} {
		for limit := range 40 {
			s := Solution{Tol: tol, MaxIter: limit}
			if s.Solve(&q); s.Status != Optimal {
				if limit == 0 {
					t.Errorf("tolerance %g: %v", tol, s.Status)
				}
				continue
			}
			if own := s.set.ownResidual(); own > max(tol, defaultWant) {
				t.Errorf("tolerance %g, at most %d changes: the gradient is %g of its terms; %+v", tol, limit, own, s.Residual)
			}
		}
	}
}
