package experiment

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
)

// More cells than MaxCells are refused before any cell is computed. A number of cells that
// overflows an int is refused, too.
func TestTooManyCellsAreRefused(t *testing.T) {
	never := func() (int, error) {
		t.Fatal("a cell is computed")
		return 0, nil
	}
	for _, n := range []int{MaxCells + 1, math.MaxInt} {
		if _, err := Cells(context.Background(), Hooks{}, n, strconv.Itoa, func(int) (int, error) { return never() }); !errors.Is(err, ErrTooManyCells) {
			t.Errorf("%d cells: %v", n, err)
		}
		for _, rows := range []int{2, n} {
			_, err := CellTable(context.Background(), Hooks{}, rows, n, func(int, int) string { return "" }, func(int, int) (int, error) { return never() })
			if !errors.Is(err, ErrTooManyCells) {
				t.Errorf("%d × %d cells: %v", rows, n, err)
			}
		}
	}
}
