package hostile

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A Profile determines how the numbers of one input are drawn.
type Profile int

const (
	Tame     Profile = iota // standard normal
	Integer                 // −3 … 3: ties, kinks, dependent rows
	Scaled                  // each entry is a normal number times its own 10^U(±6)
	Wild                    // times 10^U(±150)
	Extreme                 // times 10^U(±320): denormal, infinite
	Poisoned                // integers, with some NaN, Inf and other extreme values
)

func (p Profile) String() string {
	return [...]string{"tame", "integer", "scaled", "wild", "extreme", "poisoned"}[p]
}

// Profile draws a profile. With most profiles problems can be solved.
func (in *Input) Profile() Profile {
	return [...]Profile{Tame, Tame, Tame, Integer, Integer, Integer, Integer, Scaled, Scaled, Wild, Extreme, Poisoned}[in.IntN(12)]
}

var worst = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e155, -1e155, math.MaxFloat64, -math.MaxFloat64,
	math.SmallestNonzeroFloat64, 1e-310, 1e308, 1e-160}

// Value draws one number.
func (in *Input) Value(p Profile) float64 {
	power := func(r float64) float64 {
		// The power of ten is computed as two factors, because 10^320 and 10^-320 are not float64
		// numbers.
		e := r * (2*in.Float64() - 1)
		return in.NormFloat64() * math.Pow(10, e/2) * math.Pow(10, e/2)
	}
	switch p {
	case Tame:
		return in.NormFloat64()
	case Integer:
		return float64(in.IntN(7) - 3)
	case Scaled:
		return power(6)
	case Wild:
		return power(150)
	case Extreme:
		return power(320)
	}
	if in.IntN(8) == 0 {
		return worst[in.IntN(len(worst))]
	}
	return float64(in.IntN(7) - 3)
}

// Vector draws n numbers.
func (in *Input) Vector(p Profile, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = in.Value(p)
	}
	return v
}

// Matrix draws an r×c matrix. If r or c is 0, the matrix is nil or empty. Sometimes it has zero,
// equal, opposite or dependent rows and columns. Sometimes it is a window of a larger matrix that
// holds NaN outside the window.
func (in *Input) Matrix(p Profile, r, c int) *mat.Dense {
	if r <= 0 || c <= 0 {
		if in.IntN(2) == 0 {
			return nil
		}
		return &mat.Dense{}
	}
	m := mat.NewDense(r, c, in.Vector(p, r*c))
	for range in.IntN(3) {
		i, k, s := in.IntN(r), in.IntN(r), [...]float64{0, 1, -1, 2}[in.IntN(4)]
		switch in.IntN(6) {
		case 0:
			for j := range c {
				m.Set(i, j, s*m.At(k, j))
			}
		case 1: // the sum of two rows
			for j := range c {
				m.Set(i, j, m.At(k, j)+m.At((k+1)%r, j))
			}
		case 2:
			j, l := in.IntN(c), in.IntN(c)
			for i := range r {
				m.Set(i, j, s*m.At(i, l))
			}
		}
	}
	return in.Window(m)
}

// Window returns the matrix m itself, or sometimes a window of a larger matrix. The window has the
// entries of m.
func (in *Input) Window(m *mat.Dense) *mat.Dense {
	if m == nil || m.IsEmpty() || in.IntN(5) > 0 {
		return m
	}
	r, c := m.Dims()
	top, left := in.IntN(3), in.IntN(3)
	wide := mat.NewDense(r+top+in.IntN(2), c+left+in.IntN(3), nil)
	data := wide.RawMatrix().Data
	for i := range data {
		data[i] = math.NaN()
	}
	window := wide.Slice(top, top+r, left, left+c).(*mat.Dense)
	window.Copy(m)
	return window
}

// Finite reports whether all numbers are finite.
func Finite(vs ...[]float64) bool {
	for _, v := range vs {
		for _, x := range v {
			if math.IsNaN(x - x) {
				return false
			}
		}
	}
	return true
}

// FiniteMatrix reports whether all entries of a matrix are finite. A nil matrix has no entries, so
// the result is true.
func FiniteMatrix(m *mat.Dense) bool {
	if m == nil || m.IsEmpty() {
		return true
	}
	r, _ := m.Dims()
	for i := range r {
		if !Finite(m.RawRowView(i)) {
			return false
		}
	}
	return true
}

// SameBits reports whether a and b are the same, NaN included.
func SameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// A Memory holds copies of values that must not be changed.
type Memory struct{ live, copies [][]float64 }

// Vector remembers v.
func (m *Memory) Vector(vs ...[]float64) {
	for _, v := range vs {
		m.live, m.copies = append(m.live, v), append(m.copies, slices.Clone(v))
	}
}

// Matrix stores a copy of each given matrix. If a matrix is a window of a larger matrix, the copy
// includes the entries of the larger matrix beside the window.
func (m *Memory) Matrix(xs ...*mat.Dense) {
	for _, x := range xs {
		if x != nil {
			m.Vector(x.RawMatrix().Data)
		}
	}
}

// Check fails if a value was changed.
func (m *Memory) Check(in *Input, call string) {
	for i, v := range m.live {
		if !SameBits(v, m.copies[i]) {
			in.Failf(call+" writes to its input", "%v became %v", m.copies[i], v)
		}
	}
}

// A Source draws splits and starts, as package cvgm needs it.
type Source struct{ *rand.Rand }

// NewSource returns a Source with the seed n.
func NewSource(n uint64) Source { return Source{rand.New(rand.NewPCG(n, 1))} }

// Norm is the Euclidean norm, without overflow.
func Norm(vs ...[]float64) float64 {
	s := 0.0
	for _, v := range vs {
		for _, x := range v {
			s = math.Hypot(s, x)
		}
	}
	return s
}

// Dot is the inner product of two lists of vectors.
func Dot(a, b [][]float64) float64 {
	s := 0.0
	for i := range a {
		for j, x := range a[i] {
			s += x * b[i][j]
		}
	}
	return s
}

// Slope compares testedSlope, a derivative of the function f, with difference quotients of f. It
// fails if they disagree. f(step) returns the value of f at this step, and false if f has no value
// there. The parameter termSize is the size of the terms whose sum is testedSlope.
//
// Slope fails if the quotients over two short steps agree with each other but not with testedSlope.
// At a kink of f, a quotient is the mean of the slopes on both sides. If f has kinks on both sides,
// the quotients over the two steps may agree by chance. Slope therefore also tries shorter steps,
// down to the shortest step at which rounding leaves two digits. If the quotient over a shorter
// step agrees with testedSlope, Slope does not fail, because this step ends before the next kink.
// Slope also does not fail if rounding errors of f can explain the disagreement. To measure these
// errors, it compares f at two steps that are almost equal.
func (in *Input) Slope(call string, f func(step float64) (float64, bool), testedSlope, termSize float64) {
	const far, near, shortest = 1e-5, 1e-6, 1e-13
	var d [2]float64
	var sides [2]float64
	for i, h := range [2]float64{far, near} {
		up, ok1 := f(h)
		down, ok2 := f(-h)
		mid, ok3 := f(0)
		if !ok1 || !ok2 || !ok3 {
			return
		}
		d[i] = (up - down) / (2 * h)
		sides = [2]float64{(mid - down) / h, (up - mid) / h}
	}
	termSize += math.Abs(d[1])
	if math.Abs(d[0]-d[1]) > 1e-3*termSize || math.Abs(d[1]-testedSlope) <= 1e-2*termSize {
		return
	}
	for h := near / 10; h > shortest; h /= 10 {
		up, ok1 := f(h)
		down, ok2 := f(-h)
		if ok1 && ok2 && math.Abs((up-down)/(2*h)-testedSlope) <= 1e-2*termSize {
			return
		}
	}
	for _, h := range [2]float64{near, -near} {
		a, ok1 := f(h)
		b, ok2 := f(h * (1 + 1e-7))
		if ok1 && ok2 && math.Abs(a-b) > 1e-2*termSize*near {
			return
		}
	}
	what := "wrong"
	if math.Abs(sides[0]-sides[1]) > 1e-2*termSize {
		what = "answered at a kink"
	}
	in.Failf(call+": derivative "+what, "%v, differences give %v, from below %v, from above %v", testedSlope, d[1], sides[0], sides[1])
}

// MaxAbs returns the largest modulus in vs.
func MaxAbs(vs ...[]float64) float64 {
	big := 0.0
	for _, v := range vs {
		for _, x := range v {
			big = max(big, math.Abs(x))
		}
	}
	return big
}

// Rows returns the rows of m; nil has none.
func Rows(m *mat.Dense) [][]float64 {
	if m == nil || m.IsEmpty() {
		return nil
	}
	r, _ := m.Dims()
	out := make([][]float64, r)
	for i := range out {
		out[i] = m.RawRowView(i)
	}
	return out
}

// Subnormal bounds the error of a product that underflows.
const Subnormal = 1e-290
