package dense

import "golang.org/x/sys/cpu"

//go:generate go -C vector run main.go small.go lanes.go logistic.go -out ../vector_amd64.s -stubs ../vector_amd64.go -pkg dense

// vectors reports whether the processor has the vector units that the assembly needs. Otherwise the
// Go code next to each call computes the result. It has the same bits, unless the compiler fuses
// products and sums, as for GOAMD64=v3.
var vectors = cpu.X86.HasAVX

// leastRows and leastEntries are the smallest numbers of rows, and of entries in a row, that the
// vector units handle.
const leastRows, leastEntries = 4, 4

// SetVectors switches the use of the vector units on or off, for tests. It switches them on only if
// the processor has them. It returns the old setting.
func SetVectors(on bool) (old bool) {
	old, vectors = vectors, on && cpu.X86.HasAVX
	wide = vectors && cpu.X86.HasAVX512F
	return old
}

// wide reports whether the processor has registers of eight float64. The results have the same bits
// with and without them.
var wide = cpu.X86.HasAVX512F

// setWide switches these off or on, as SetVectors does all.
func setWide(on bool) (old bool) {
	old, wide = wide, on && vectors && cpu.X86.HasAVX512F
	return old
}
