package memory_test

import (
	"fmt"

	"cvgm/qpdiff/memory"
)

// A matrix of a million rows and its copy are compared with a bound of 10 GB. The size is computed
// as a float64, so that it cannot overflow.
func Example() {
	matrix := memory.Bytes(8 * 1e6 * 1e3)
	need, bound := memory.Add(matrix, matrix), memory.Bound(10e9)
	if need > bound {
		fmt.Println("the fit", memory.Needs(need, bound))
	}
	// Output: the fit needs 16000000000 bytes (16 GB) where MaxBytes allows 10000000000 bytes (10 GB)
}
