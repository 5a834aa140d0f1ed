package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
)

// Stream is the project's own generator, a PCG-DXSM (O'Neill, "PCG: A Family of Simple Fast
// Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014) with 128 bits
// of state. A program has a separate stream for each purpose for which it draws random numbers; the
// purpose is the name of the stream. If the program later draws more numbers for one purpose, the
// numbers for other purposes do not change.
//
// The numbers are the same on every architecture and in every release. The reason is that they are
// computed only by integer operations, by single divisions with exact rounding, and by products
// that are not fused.
//
// NewStream returns a Stream for a seed and a purpose. The zero value of a Stream is one more
// stream, which can also be used. A copy of a Stream has a separate copy of the state.
type Stream struct{ pcg rand.PCG }

// NewStream returns the stream for a purpose and a seed. The initial state is computed from a
// SHA-256 hash of the purpose and the seed. Neighbouring seeds and similar purposes therefore give
// unrelated streams.
func NewStream(seed uint64, purpose string) *Stream {
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), purpose...))
	return &Stream{*rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))}
}

// Float64 returns a multiple of 2⁻⁵³ that is uniform on [0, 1).
func (s *Stream) Float64() float64 { return float64(s.pcg.Uint64()>>11) * 0x1p-53 }

// NormFloat64 returns a standard normal number.
//
// The number is a ratio v/u of uniform numbers. A ratio is accepted if the point (u, v) lies in the
// region v² ≤ −4u² ln u (Kinderman and Monahan, ACM TOMS 3, 1977). For 99 of 100 points, a
// comparison with two quadratic curves near the edge of the region is enough (Leva, ACM TOMS 18,
// 1992). The remaining points need the logarithm. The last bit of this logarithm differs between
// architectures, which changes about one decision in 10¹⁶.
func (s *Stream) NormFloat64() float64 {
	for {
		u := 1 - s.Float64() // in (0, 1]
		v := float64(1.7156 * (s.Float64() - .5))
		x := u - .449871
		y := math.Abs(v) + .386595
		q := float64(x*x) + float64(y*(float64(.196*y)-float64(.25472*x)))
		if q < .27597 || q <= .27846 && v*v <= -4*u*u*math.Log(u) {
			return v / u
		}
	}
}

// IntN returns a number that is uniform on 0…n-1, without bias (Lemire, ACM TOMACS 29, 2019). It
// panics if n < 1.
func (s *Stream) IntN(n int) int {
	if n < 1 {
		panic("synth: IntN of n < 1")
	}
	m := uint64(n)
	high, low := bits.Mul64(s.pcg.Uint64(), m)
	if low < m {
		for short := -m % m; low < short; {
			high, low = bits.Mul64(s.pcg.Uint64(), m)
		}
	}
	return int(high)
}

// Perm returns a random order of 0…n-1. It panics if n < 0.
func (s *Stream) Perm(n int) []int { return perm(n, s.IntN) }
