package dense

import "golang.org/x/sys/cpu"

//go:generate go -C vector run main.go products.go small.go lanes.go logistic.go best.go dots.go substitution.go rows.go halves.go working.go widths.go -out ../vector_amd64.s -stubs ../vector_amd64.go -pkg dense

// vectors reports whether the processor has the vector units that the assembly needs. If it does
// not, the Go code next to each call of assembly computes the result. The Go code gives the same
// bits, unless the compiler fuses products and sums, as it does for GOAMD64=v3.
var vectors = cpu.X86.HasAVX

// leastRows is the smallest number of rows for which the vector units are used, and leastEntries
// the smallest number of entries in a row.
const leastRows, leastEntries = 4, 4

// SetVectors is a function for tests. It switches the use of the vector units on or off, and
// returns the old setting. It does not switch them on if the processor has none.
func SetVectors(on bool) (oldSetting bool) {
	oldSetting, vectors = vectors, on && cpu.X86.HasAVX
	wide = vectors && cpu.X86.HasAVX512F
	return oldSetting
}

// wide reports whether the processor has registers of eight float64s. Results have the same bits
// with and without these registers.
var wide = cpu.X86.HasAVX512F

// setWide is a function for tests. It switches the use of registers that hold eight float64 values
// on or off, and returns the old setting.
func setWide(on bool) (oldSetting bool) {
	oldSetting, wide = wide, on && vectors && cpu.X86.HasAVX512F
	return oldSetting
}
