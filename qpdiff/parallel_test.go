package qpdiff

import (
	"fmt"
	"runtime"
	"testing"
)

// withProcs runs f at several values of GOMAXPROCS.
func withProcs(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		t.Run(fmt.Sprintf("procs=%d", procs), f)
	}
}

func TestForEach(t *testing.T) {
	withProcs(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 2, 100} {
			calls := make([]int, n)
			err := ForEach(n, func(i int) error {
				calls[i]++
				if i == 3 || i > 50 {
					return fmt.Errorf("item %d", i)
				}
				return nil
			})
			for i, c := range calls {
				if c != 1 {
					t.Errorf("n=%d: item %d was called %d times", n, i, c)
				}
			}
			if n <= 3 && err != nil {
				t.Errorf("n=%d: unexpected error %v", n, err)
			}
			if n > 3 && (err == nil || err.Error() != "item 3") {
				t.Errorf("n=%d: got error %v, want that of item 3", n, err)
			}
		}
	})
}

func TestForEachPanic(t *testing.T) {
	withProcs(t, func(t *testing.T) {
		defer func() {
			if p := recover(); p != "item 4" {
				t.Errorf("recovered %v, want the panic of item 4", p)
			}
		}()
		_ = ForEach(20, func(i int) error {
			if i >= 4 {
				panic(fmt.Sprintf("item %d", i))
			}
			return nil
		})
		t.Error("no panic reached the caller")
	})
}

func ExampleForEach() {
	squares := make([]int, 4)
	err := ForEach(len(squares), func(i int) error {
		squares[i] = i * i
		return nil
	})
	fmt.Println(squares, err)
	// Output: [0 1 4 9] <nil>
}
