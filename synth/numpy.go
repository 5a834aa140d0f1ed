package synth

import (
	"math"
	"math/bits"
)

// NumPy is NumPy's legacy generator: the functions of np.random after np.random.seed(seed), or the
// methods of np.random.RandomState(seed), in any mix. Its uniform draws, integers and permutations
// are exactly NumPy's. Its normal draws agree to the last bit or two, depending on the difference
// of math.Log and the C library's logarithm. The zero value is NewNumPy(0). Copying the value
// copies the state.
type NumPy struct {
	mt      mt19937
	half    float64 // the second normal of the last pair
	hasHalf bool
}

// NewNumPy returns the generator in the state that np.random.seed(seed)
// leaves it in.
func NewNumPy(seed uint32) *NumPy {
	r := new(NumPy)
	r.mt.seed(seed)
	return r
}

// Clone returns a generator in the same state, to replay from there. Draws from one do not affect
// the other.
func (r *NumPy) Clone() *NumPy {
	c := *r
	return &c
}

// Float64 returns the next number of np.random.random_sample(): uniform on
// [0, 1), a multiple of 2⁻⁵³.
func (r *NumPy) Float64() float64 { return r.mt.float64() }

// NormFloat64 returns the next number of np.random.standard_normal(), also known as randn. It is
// standard normal by the polar method (Marsaglia and Bray, SIAM Review 6, 1964). Draws come in
// pairs. The second of a pair is kept for the next call, whatever is drawn in between.
func (r *NumPy) NormFloat64() float64 {
	if r.hasHalf {
		r.hasHalf = false
		return r.half
	}
	var x, y, s float64
	for s == 0 || s >= 1 {
		x = 2*r.Float64() - 1
		y = 2*r.Float64() - 1
		s = float64(x*x) + float64(y*y) // the conversions rule out a fused multiply-add
	}
	f := math.Sqrt(-2 * math.Log(s) / s)
	r.half, r.hasHalf = f*x, true
	return f * y
}

// IntN returns the next number of np.random.randint(n): uniform on 0…n-1, by rejection of masked
// words. IntN(1) makes no draw. It panics if n < 1.
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

// Perm returns np.random.permutation(n): a random order of 0…n-1. It panics
// if n < 0.
func (r *NumPy) Perm(n int) []int { return perm(n, r.IntN) }

// Shuffle puts n elements in the order that np.random.shuffle would give them. swap exchanges
// elements i and j.
func (r *NumPy) Shuffle(n int, swap func(i, j int)) { shuffle(n, r.IntN, swap) }
