package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A row of zeros requires 0 ≤ h or 0 = b exactly, in any units and after any earlier working set.
func TestQPRowsOfZeros(t *testing.T) {
	for _, b := range []float64{1, -1, 1e-200, -1e-200} {
		q := QP{Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{1, 1},
			A: mat.NewDense(2, 2, []float64{1, 1, 1, 2}), B: []float64{1, 0}}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		q.A, q.B = mat.NewDense(2, 2, []float64{1, 1, 0, 0}), []float64{1, b}
		if err := s.Solve(&q); !errors.Is(err, ErrInfeasible) {
			t.Errorf("0 = %v: %v", b, err)
		} else if c := s.Certificate; c.Nu[0] != 0 || math.Abs(c.Nu[1]*b+1) > 1e-15 {
			t.Errorf("0 = %v: the certificate is %+v", b, c)
		}
		q.B[1] = 0
		if err := s.Solve(&q); err != nil {
			t.Errorf("0 = 0: %v", err)
		}
	}
}

// Two nearly parallel rows do not replace each other without end if rounding of a large z exceeds
// their distance.
func TestQPParallelRowsAndLargeZ(t *testing.T) {
	q := QP{
		Q: mat.NewDense(5, 5, []float64{
			2.3700796303778073e+08, -591559.8599977657, 22.970712682846596, -3243.3406416194634, 9272.591495396371,
			-591559.8599977657, 1476.5748156593247, -935.5351086555519, 1208.2810609150783, -3120.3008501682184,
			22.970712682846596, -935.5351086555519, 1.3221413775059283e+07, -1.6579711971888228e+06, 20.323673181931554,
			-3243.3406416194634, 1208.2810609150783, -1.6579711971888228e+06, 2.908331317156479e+08, -8.312246232370802e+08,
			9272.591495396371, -3120.3008501682184, 20.323673181931554, -8.312246232370802e+08, 2.377406774112094e+09,
		}),
		P: []float64{36153.03659448084, 14.324663018988836, -1884.9909154020309, -4.7430091334141535e-06, -97309.93479618727},
		G: mat.NewDense(2, 5, []float64{
			-123.02460530818999, -243363.72862556524, -2.6733913642952034, -2.5189774585534574, -3486.013406844003,
			-61.512302654094995, -121681.86431278262, -1.3366956821476017, -1.2594887292767287, -1743.0067034220015,
		}),
		H: []float64{-2.2050287204548997, 0.00029623686252195594},
	}
	var s Solution
	if err := s.Solve(&q); err != nil || s.Lambda[1] != 0 || s.Iterations > 10 {
		t.Errorf("λ = %v after %d changes, error %v", s.Lambda, s.Iterations, err)
	}
}

// A multiplier that decreases with each proximal step is set to 0 when it underflows.
func TestQPMultiplierThatDecays(t *testing.T) {
	q := QP{Q: mat.NewDense(3, 3, []float64{9, 0, 0, 0, 0, 0, 0, 0, 0}), P: make([]float64, 3),
		G: mat.NewDense(4, 3, []float64{0, -3, -3, -2, 0, 3, 4, -1, 3, 2, -3, 1}), H: []float64{0, 0, -1, -3}}
	var s Solution
	if err := s.Solve(&q); err != nil || !slices.Equal(s.Lambda, make([]float64, 4)) {
		t.Errorf("λ = %v, error %v", s.Lambda, err)
	}
}

// The unit of a variable that occurs only in P and in bounds comes from P, and the residual of a
// certificate uses it.
func TestQPCertificateInTheUnitsOfP(t *testing.T) {
	for _, p := range []float64{1e-19, 1, 1e19} {
		q := QP{P: []float64{p}, A: mat.NewDense(2, 1, []float64{9.636252943829705e-18, -1.8542282969022785e-107}), B: []float64{-4.2e+45, 2.5e-89}}
		var s Solution
		if err := s.Solve(&q); !errors.Is(err, ErrInfeasible) || !(s.Certificate.Residual <= rayTol*dense.Eps) {
			t.Errorf("P = %v: residual %v, error %v", p, s.Certificate.Residual, err)
		}
	}
}

// A row beyond the range of float64 in the units of P does not count as a row of zeros.
func TestQPRowBeyondTheUnitsOfP(t *testing.T) {
	var s Solution
	err := s.Solve(&QP{P: []float64{1e-135}, G: mat.NewDense(1, 1, []float64{-1e202}), H: []float64{-1e300}})
	if !errors.Is(err, ErrNotFinite) { // λ = 1e-337
		t.Errorf("z = %v, λ = %v, error %v", s.Z, s.Lambda, err)
	}
}

// Entries whose products underflow do not prove negative curvature, because zᵀQz may be a rounding
// error.
func TestQPCurvatureThatUnderflows(t *testing.T) {
	q := QP{
		Q: mat.NewDense(4, 4, []float64{
			2.7292287270057325e-304, 0, -2.430001624063235e-165, -4.548142179666e-311,
			0, 0, 1.0467921260799739e-191, 0,
			-2.430001624063235e-165, 1.0467921260799739e-191, 2.1635811738755592e-26, 4.049493094403965e-172,
			-4.548142179666e-311, 0, 4.049493094403965e-172, 7.579283e-318,
		}),
		P: []float64{3.4381418174526606e+188, 5.368701977556781e+138, -1.4393589935279701e-09, 3.350569845608805e+138},
		A: mat.NewDense(1, 4, []float64{2.9606869134357043e-181, -2.011579752359372e-266, -5.300834844452054e-78, 4.93070993348117e+208}),
		B: []float64{1.2898031287890026e+151},
	}
	var s Solution
	if err := s.Solve(&q); errors.Is(err, ErrNonconvex) {
		t.Errorf("%+v", s.Certificate)
	}
	// Small entries that are beyond their rounding do.
	q = QP{Q: mat.NewDense(2, 2, []float64{1e-290, -3e-290, -3e-290, 1e-290}), P: []float64{1, 1}}
	if err := s.Solve(&q); !errors.Is(err, ErrNonconvex) {
		t.Errorf("status %v, %v", s.Status, err)
	}
}

// The residual of a certificate is relative to the terms of its equations, even for rows with one
// entry.
func TestQPInfeasibleBounds(t *testing.T) {
	q := QP{
		Q: mat.NewDense(2, 2, []float64{4.0505701909062962e+208, -1.9533796833148886e-44, -1.9533796833148886e-44, 9.420135949634367e-297}),
		P: []float64{-1.4130392607419169e-05, 1.477988514145729e-06},
		A: mat.NewDense(2, 2, []float64{0, 7.424760873739606e-142, 0, 4.8274909150663156e-122}), B: []float64{2.3293689091291276e+134, -5.605832571602037e+94},
	}
	var s Solution
	if err := s.Solve(&q); !errors.Is(err, ErrInfeasible) || !(s.Certificate.Residual <= rayTol*dense.Eps) {
		t.Errorf("residual %v, error %v", s.Certificate.Residual, err)
	}
}

// A program is unbounded even if its slope is tiny compared with the slope of a fixed variable.
func TestQPUnboundedBesideLargeTerms(t *testing.T) {
	for _, p := range []float64{1, 1e-3, 1e-6, 1e-9, 1e-11} {
		q := QP{P: []float64{1, p}, G: mat.NewDense(1, 2, []float64{-1, 1}), H: []float64{1}, A: mat.NewDense(1, 2, []float64{1, 0}), B: []float64{-2}}
		var s Solution
		if err := s.Solve(&q); !errors.Is(err, ErrUnbounded) {
			t.Errorf("p = %g: %v, z = %v, residual %v, error %v", p, s.Status, s.Z, s.Residual.Relative, err)
		}
	}
}

// A direction that underflows at the length at which the objective falls by 1 is no proof.
func TestQPDirectionThatUnderflows(t *testing.T) {
	q := QP{P: []float64{1e155, 1e308, 2}, A: mat.NewDense(1, 3, []float64{0, -1, -1}), B: []float64{1}}
	var s Solution
	if err := s.Solve(&q); !errors.Is(err, ErrNotFinite) {
		t.Errorf("%v, %+v, %v", s.Status, s.Certificate, err)
	}
	q.P[1] = 1e300
	if s.Solve(&q); s.Status != Unbounded || !(math.Abs(floats.Dot(q.P, s.Certificate.Z)+1) < 1e-9) {
		t.Errorf("%v, %+v", s.Status, s.Certificate)
	}
}

// Solve returns ErrNotFinite if a bound underflows when it is divided by the size of its row.
func TestQPBoundThatUnderflows(t *testing.T) {
	var s Solution
	for _, c := range []struct {
		bound float64
		err   error
	}{{1e-100, ErrNotFinite}, {0, nil}, {1e-50, nil}} {
		q := QP{Q: square(1), P: []float64{1}, A: square(1e220), B: []float64{c.bound}}
		if err := s.Solve(&q); !errors.Is(err, c.err) {
			t.Errorf("bound %v: %v", c.bound, err)
		}
	}
}

// If far more rows are violated than can be active, the rows enter one by one. Blocks would take
// three times as many changes.
func TestQPManyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	const n = 50
	for range 3 {
		q := randomQP(rng, n, 1000, 0)
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		if s.Iterations > 8*n {
			t.Errorf("%d changes of the working set for %d active rows", s.Iterations, len(s.set.w))
		}
		if off := kktResidual(&q, &s); off > 1e-12 {
			t.Errorf("off the KKT conditions by %.2g", off)
		}
	}
}

// A row's only entry is found wherever it is.
func TestOnlyEntry(t *testing.T) {
	for n := range 12 {
		row := make([]float64, n)
		if got := onlyEntry(row); got != noEntry {
			t.Errorf("%v: %d instead of none", row, got)
		}
		for i := range n {
			row[i] = math.Copysign(math.SmallestNonzeroFloat64, -1)
			if got := onlyEntry(row); got != i {
				t.Errorf("%v: %d instead of %d", row, got, i)
			}
			for j := range n {
				if j == i {
					continue
				}
				row[j] = math.Copysign(0, -1)
				if got := onlyEntry(row); got != i {
					t.Errorf("%v: %d instead of %d", row, got, i)
				}
				row[j] = 1
				if got := onlyEntry(row); got != manyEntries {
					t.Errorf("%v: %d instead of many", row, got)
				}
				row[j] = 0
			}
			row[i] = 0
		}
	}
}
