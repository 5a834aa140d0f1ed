package dense

import "golang.org/x/sys/cpu"

//go:generate go -C vector run main.go small.go lanes.go logistic.go -out ../vector_amd64.s -stubs ../vector_amd64.go -pkg dense

// vectors reports whether the processor has the vector units that the assembly needs. The Go code
// beside each call gives the same bits, unless the compiler fuses its products and sums, as for
// GOAMD64=v3.
var vectors = cpu.X86.HasAVX

// leastRows and leastEntries are the smallest sizes for which the vector units handle rows.
const leastRows, leastEntries = 4, 4

// SetVectors switches the vector units off for tests, or on if the processor has them. It returns
// whether they were on.
func SetVectors(on bool) (old bool) {
	old, vectors = vectors, on && cpu.X86.HasAVX
	wide = vectors && cpu.X86.HasAVX512F
	return old
}

// wide reports whether the processor has registers of eight numbers. They give the same bits.
var wide = cpu.X86.HasAVX512F

// setWide switches these off or on, as SetVectors does all.
func setWide(on bool) (old bool) {
	old, wide = wide, on && vectors && cpu.X86.HasAVX512F
	return old
}
