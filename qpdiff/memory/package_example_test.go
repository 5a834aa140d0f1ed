package memory_test

import (
	"fmt"

	"cvgm/qpdiff/memory"
)

// The example compares the size of a matrix and its copy with a bound of 10 GB. A float64 size
// cannot overflow.
func Example() {
	matrix := memory.Bytes(8 * 1e6 * 1e3)
	need, bound := memory.Add(matrix, matrix), memory.Bound(10e9)
	if need > bound {
		fmt.Println("the fit", memory.Needs(need, bound))
	}
	// Output: the fit needs 16000000000 bytes (16 GB) where MaxBytes allows 10000000000 bytes (10 GB)
}
