package synth

const (
	mtLen   = 624 // number of words of the state
	mtShift = 397 // distance to the middle word in the recurrence
)

// mt19937 is the Mersenne Twister of Matsumoto and Nishimura ("Mersenne Twister: A
// 623-dimensionally equidistributed uniform pseudo-random number generator", ACM TOMACS 8, 1998),
// with the two initialisations of 2002. NumPy's legacy interface, Python's random and PyTorch's CPU
// generator are based on it. The zero value has the state after seed(0).
type mt19937 struct {
	state  [mtLen]uint32
	left   int // number of words of the state that have not been returned
	seeded bool
}

// seed initialises the state from one word, like init_genrand in the reference implementation.
func (g *mt19937) seed(seed uint32) {
	g.left, g.seeded = 0, true
	g.state[0] = seed
	for i := 1; i < mtLen; i++ {
		w := g.state[i-1]
		g.state[i] = 1812433253*(w^w>>30) + uint32(i)
	}
}

// seedSlice initialises the state from one or more words, like init_by_array in the reference
// implementation.
func (g *mt19937) seedSlice(key []uint32) {
	g.seed(19650218)
	i := 1
	// mix replaces word i of the state and increases i. After the last word, it copies this word to
	// word 0 and continues at word 1.
	mix := func(factor, add uint32) {
		w := g.state[i-1]
		g.state[i] = g.state[i] ^ (w^w>>30)*factor + add
		if i++; i == mtLen {
			g.state[0] = g.state[mtLen-1]
			i = 1
		}
	}
	for k := range max(mtLen, len(key)) {
		j := k % len(key)
		mix(1664525, key[j]+uint32(j))
	}
	for range mtLen - 1 {
		mix(1566083941, -uint32(i))
	}
	g.state[0] = 1 << 31
}

// refill applies the recurrence once to the whole state.
func (g *mt19937) refill() {
	if !g.seeded {
		g.seed(0)
	}
	for i := range g.state {
		y := g.state[i]&(1<<31) | g.state[(i+1)%mtLen]&(1<<31-1)
		// The product of y with the matrix A of the recurrence is a shift of y. If y is odd, a
		// constant is then XORed to it.
		g.state[i] = g.state[(i+mtShift)%mtLen] ^ y>>1 ^ -(y&1)&0x9908b0df
	}
	g.left = mtLen
}

// uint32 returns the next 32 random bits.
func (g *mt19937) uint32() uint32 {
	if g.left == 0 {
		g.refill()
	}
	y := g.state[mtLen-g.left]
	g.left--
	// The following lines are the tempering.
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 returns a multiple of 2⁻⁵³ in [0, 1), computed from two words. As in NumPy and Python,
// the first word gives the higher bits.
func (g *mt19937) float64() float64 {
	high, low := g.uint32()>>5, g.uint32()>>6
	return float64(uint64(high)<<26|uint64(low)) * 0x1p-53
}
