package synth

import (
	"math"
	"math/bits"
)

// NumPy is NumPy's legacy generator. Its methods are the functions of np.random after
// np.random.seed(seed), which are the methods of np.random.RandomState(seed). They may be called in
// any order. Uniform numbers, integers and permutations are exactly NumPy's. Normal numbers may
// differ in the last bit or two, because math.Log and the logarithm of the C library differ. The
// zero value is NewNumPy(0). A copy of a NumPy value has its own copy of the state.
type NumPy struct {
	mt           mt19937
	secondNormal float64 // the second normal number of the last pair
	hasHalf      bool
}

// NewNumPy returns the generator in the state after np.random.seed(seed).
func NewNumPy(seed uint32) *NumPy {
	r := new(NumPy)
	r.mt.seed(seed)
	return r
}

// Clone returns a generator with a copy of the state of r. Draws from one of the two generators do
// not affect the other.
func (r *NumPy) Clone() *NumPy {
	c := *r
	return &c
}

// Float64 returns the next number of np.random.random_sample(). It is uniform on [0, 1), and a
// multiple of 2⁻⁵³.
func (r *NumPy) Float64() float64 { return r.mt.float64() }

// NormFloat64 returns the next number of np.random.standard_normal(), which is also called randn.
// The number is standard normal. It comes from the polar method (Marsaglia and Bray, SIAM Review 6,
// 1964), which draws pairs of numbers. The second number of a pair is kept for the next call of
// NormFloat64, even if other methods are called in between.
func (r *NumPy) NormFloat64() float64 {
	if r.hasHalf {
		r.hasHalf = false
		return r.secondNormal
	}
	var x, y, s float64
	for s == 0 || s >= 1 {
		x = 2*r.Float64() - 1
		y = 2*r.Float64() - 1
		s = float64(x*x) + float64(y*y) // the conversions prevent a fused multiply-add
	}
	f := math.Sqrt(-2 * math.Log(s) / s)
	r.secondNormal, r.hasHalf = f*x, true
	return f * y
}

// IntN returns the next number of np.random.randint(n), which is uniform on 0…n-1. IntN takes as
// many low bits of a word as n−1 has. If these bits form a number above n−1, IntN takes another
// word. IntN(1) draws no word. IntN panics if n < 1.
func (r *NumPy) IntN(n int) int {
	if n < 1 {
		panic("synth: IntN of n < 1")
	}
	last := uint64(n - 1)
	mask := uint64(1)<<bits.Len64(last) - 1
	if last == 0 {
		return 0
	}
	for {
		v := uint64(r.mt.uint32())
		if last > math.MaxUint32 {
			v = v<<32 | uint64(r.mt.uint32())
		}
		if v &= mask; v <= last {
			return int(v)
		}
	}
}

// Perm returns np.random.permutation(n), which is a random order of 0…n-1. It panics if n < 0.
func (r *NumPy) Perm(n int) []int { return perm(n, r.IntN) }

// Shuffle permutes n elements as np.random.shuffle does. The function swap must exchange the
// elements i and j.
func (r *NumPy) Shuffle(n int, swap func(i, j int)) { shuffle(n, r.IntN, swap) }
