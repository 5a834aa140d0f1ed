package search

// A Source supplies the random numbers for splits, random search and initial weights. The
// generators of package synth implement Source.
type Source interface {
	// Float64 returns a number drawn uniformly from [0, 1).
	Float64() float64
	// Perm returns a uniformly drawn permutation of 0 … n-1.
	Perm(n int) []int
}
