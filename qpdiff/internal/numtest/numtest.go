// Package numtest holds helpers that numerical tests share: random numbers, comparisons, exact
// arithmetic and golden files.
package numtest

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/mat"
)

// NaNs returns a slice of n NaNs. A test passes it as a destination to a Fit, which must overwrite
// all entries.
func NaNs(n, _ int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = math.NaN()
	}
	return s
}

func SameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y)
	})
}

// OK ends the test at the first error.
func OK(t interface {
	Helper()
	Fatal(args ...any)
}, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Long returns the number of random problems that a test draws: n, or n/10 with -short. Tests under
// the race detector and under emulation run with -short.
func Long(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func Normals(rng *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = rng.NormFloat64()
	}
	return s
}

// Direction draws a random vector of n entries with norm one.
func Direction(rng *rand.Rand, n int) []float64 {
	s := Normals(rng, n)
	length := math.Sqrt(dense.Dot(s, s))
	for i := range s {
		s[i] /= length
	}
	return s
}

// CentralDifference estimates the derivative of f at 0 by the central formula for five points. Its
// error is of order h⁴, where h is the step.
func CentralDifference(f func(float64) float64, h float64) float64 {
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

// ForwardDifference estimates the right derivative of f at 0. Its error is of order h⁴, where h is
// the step.
func ForwardDifference(f func(float64) float64, h float64) float64 {
	return (-25*f(0) + 48*f(h) - 36*f(2*h) + 16*f(3*h) - 3*f(4*h)) / (12 * h)
}

// NearAll fails the test if an entry of got differs from the entry of want by more than tol. The
// difference is relative to the largest |want_i|, or to floor if floor is larger.
func NearAll(t *testing.T, what string, got, want []float64, tol, floor float64) {
	t.Helper()
	size, diff := floor, 0.0
	for i, w := range want {
		size, diff = max(size, math.Abs(w)), max(diff, math.Abs(got[i]-w))
	}
	if len(got) != len(want) || !(diff <= tol*size) {
		t.Errorf("%s: differs by %.3g of %.3g:\n%v\n%v", what, diff, size, got, want)
	}
}

// RelErr returns the largest |got_i − want_i| divided by the largest |want_i|.
func RelErr(got, want []float64) float64 {
	worst, scale := 0.0, 0.0
	for i, w := range want {
		scale = max(scale, math.Abs(w))
		worst = max(worst, math.Abs(got[i]-w))
	}
	if worst == 0 {
		return 0
	}
	return worst / scale
}

func ReadGolden(t *testing.T, name string, to any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

const preciseBits = 400

func Precise(v float64) *big.Float { return new(big.Float).SetPrec(preciseBits).SetFloat64(v) }

// PreciseDot returns aᵀb.
func PreciseDot(a, b []float64) *big.Float {
	sum, term := Precise(0), Precise(0)
	for i, v := range a {
		sum.Add(sum, term.Mul(Precise(v), Precise(b[i])))
	}
	return sum
}

// Eliminate solves a linear system by elimination. The last column of the given matrix is the
// right-hand side.
func Eliminate(a [][]*big.Float) []*big.Float {
	n := len(a)
	t := Precise(0)
	for c := range n {
		p := c
		for i := c + 1; i < n; i++ {
			if Precise(0).Abs(a[i][c]).Cmp(t.Abs(a[p][c])) > 0 {
				p = i
			}
		}
		a[c], a[p] = a[p], a[c]
		for i := c + 1; i < n; i++ {
			f := Precise(0).Quo(a[i][c], a[c][c])
			for j := c + 1; j <= n; j++ {
				a[i][j].Sub(a[i][j], t.Mul(f, a[c][j]))
			}
		}
	}
	x := make([]*big.Float, n)
	for i := n - 1; i >= 0; i-- {
		x[i] = a[i][n]
		for j := i + 1; j < n; j++ {
			x[i].Sub(x[i], t.Mul(a[i][j], x[j]))
		}
		x[i].Quo(x[i], a[i][i])
	}
	return x
}

// OneSided returns the left and the right difference quotient of a function f at x. Its parameters
// are the values fminus = f(x−h), fmid = f(x) and fplus = f(x+h). The result excess is the distance
// between got and the interval of the two quotients. If got is inside the interval, excess is
// negative.
func OneSided(got float64, fminus, fmid, fplus *big.Float, h float64) (left, right, excess float64) {
	slope := func(from, to *big.Float) float64 {
		d := Precise(0).Sub(to, from)
		v, _ := d.Quo(d, Precise(h)).Float64()
		return v
	}
	left, right = slope(fminus, fmid), slope(fmid, fplus)
	return left, right, max(min(left, right)-got, got-max(left, right))
}

func Matrix(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}

// Extremes draws numbers over the whole range of float64. Many of them are equal.
func Extremes(rng *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	wide := rng.IntN(2) == 0
	size := math.Pow(10, 640*rng.Float64()-330)
	for i := range s {
		switch rng.IntN(8) {
		case 0:
		case 1:
			s[i] = size
		case 2:
			s[i] = -size
		default:
			s[i] = rng.NormFloat64() * size
			if wide {
				s[i] = rng.NormFloat64() * math.Pow(10, 640*rng.Float64()-330)
			}
		}
		if !dense.Finite(s[i]) {
			s[i] = math.MaxFloat64
		}
	}
	return s
}

// EquilibratedCond returns the condition number of the symmetric n×n matrix h after h is scaled to
// a unit diagonal. It computes the condition number from the eigenvalues.
func EquilibratedCond(n int, h func(i, j int) float64) float64 {
	if n == 0 {
		return 1
	}
	a := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			a.SetSym(i, j, h(i, j)/math.Sqrt(h(i, i))/math.Sqrt(h(j, j)))
		}
	}
	var eig mat.EigenSym
	if !eig.Factorize(a, false) {
		return math.Inf(1)
	}
	v := eig.Values(nil)
	return v[n-1] / max(v[0], 0)
}

func Ones(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func First(n, _ int) int { return n }

// Near reports whether got and want differ by at most 1e-8 times the largest entry of want. If all
// entries are below 1e-2, they may differ by 1e-10.
func Near(got, want []float64) bool {
	most := 1e-8 * max(dense.Largest(want), 1e-2)
	for i, v := range want {
		if !(math.Abs(got[i]-v) <= most) {
			return false
		}
	}
	return true
}

// PreciseExpm1 returns exp(y) − 1 for |y| ≤ 1, to 400 bits.
func PreciseExpm1(y float64) *big.Float {
	x, term, sum := Precise(y), Precise(1), Precise(0)
	for k := 1; k < 60; k++ {
		term.Mul(term, x)
		term.Quo(term, Precise(float64(k)))
		sum.Add(sum, term)
	}
	return sum
}

// PreciseRelErr returns |got − want|/|want|.
func PreciseRelErr(got float64, want *big.Float) float64 {
	d := Precise(got)
	d.Sub(d, want)
	d.Quo(d, want)
	v, _ := d.Float64()
	return math.Abs(v)
}

// WantText fails the test if err is nil or does not contain text.
func WantText(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: error %v, want one with %q", what, err, text)
	}
}
