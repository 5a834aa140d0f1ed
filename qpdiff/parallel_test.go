package qpdiff

import (
	"fmt"
	"sync/atomic"
	"testing"
)

func TestForEachCallsEveryItemOnceAndReportsTheLowestFailure(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7, 64} {
		for _, n := range []int{0, 1, 2, 63, 1000} {
			calls := make([]atomic.Int32, n)
			err := ForEach(workers, n, func(i int) error {
				calls[i].Add(1)
				if i%10 == 7 {
					return fmt.Errorf("item %d", i)
				}
				return nil
			})
			for i := range calls {
				if c := calls[i].Load(); c != 1 {
					t.Fatalf("workers=%d n=%d: item %d called %d times", workers, n, i, c)
				}
			}
			want := "<nil>"
			if n > 7 {
				want = "item 7"
			}
			if got := fmt.Sprint(err); got != want {
				t.Errorf("workers=%d n=%d: error %v, want %v", workers, n, got, want)
			}
		}
	}
}
