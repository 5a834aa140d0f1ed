package synth

// Float64Source is a generator of uniform numbers. All generators of this package that draw float64
// numbers implement it.
type Float64Source interface {
	// Float64 returns a number uniform on [0, 1).
	Float64() float64
}

// Source is a generator from which data is drawn. [*Stream] and [*NumPy] are Sources, and so is
// *rand.Rand of math/rand/v2.
type Source interface {
	Float64Source
	// NormFloat64 returns a standard normal number.
	NormFloat64() float64
	// Perm returns a random order of 0…n-1.
	Perm(n int) []int
}

// Uniform draws a number uniformly between low and high: low + (high − low)·u, as np.random.uniform
// and Python's random.uniform do. It checks nothing. The result is not finite if low, high or their
// difference is not.
func Uniform(src Float64Source, low, high float64) float64 {
	return low + float64((high-low)*src.Float64())
}

// Normal draws a normal number with the given mean and standard deviation:
// mean + sd·z, as np.random.normal does. It checks nothing.
func Normal(src Source, mean, sd float64) float64 {
	return mean + float64(sd*src.NormFloat64())
}

// shuffle is the shuffle of Fisher and Yates from the last element down (Durstenfeld, CACM 7,
// 1964). NumPy uses it, too. intN draws the partners.
func shuffle(n int, intN func(int) int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, intN(i+1))
	}
}

// perm returns 0…n-1, shuffled.
func perm(n int, intN func(int) int) []int {
	if n < 0 {
		panic("synth: Perm of n < 0")
	}
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	shuffle(n, intN, func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}
