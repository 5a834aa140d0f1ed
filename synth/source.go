package synth

// Float64Source is a generator of uniform numbers. All generators of this package that draw float64
// numbers implement it.
type Float64Source interface {
	// Float64 returns a number that is uniform on [0, 1).
	Float64() float64
}

// Source is a generator from which data are drawn. [*Stream] and [*NumPy] are Sources, and so is
// *rand.Rand of math/rand/v2.
type Source interface {
	Float64Source
	// NormFloat64 returns a standard normal number.
	NormFloat64() float64
	// Perm returns a random order of 0…n-1.
	Perm(n int) []int
}

// Uniform draws a number u from the source, and returns low + (high − low)·u, which is uniform
// between low and high. np.random.uniform and Python's random.uniform use the same formula. Uniform
// does not check its arguments. If low, high or their difference is not finite, the result is not
// finite either.
func Uniform(src Float64Source, low, high float64) float64 {
	return low + float64((high-low)*src.Float64())
}

// Normal draws a standard normal number z from the source, and returns mean + sd·z, which has the
// given mean and standard deviation. np.random.normal uses the same formula. Normal does not check
// its arguments.
func Normal(src Source, mean, sd float64) float64 {
	return mean + float64(sd*src.NormFloat64())
}

// shuffle is the shuffle of Fisher and Yates, from the last element to the first (Durstenfeld, CACM
// 7, 1964), as in NumPy. For each element, the function intN draws the index of the element with
// which it is swapped.
func shuffle(n int, intN func(int) int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, intN(i+1))
	}
}

// perm returns the numbers 0…n-1, shuffled.
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
