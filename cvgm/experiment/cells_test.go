package experiment

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
)

// Cells and CellTable refuse more than MaxCells cells before they compute any, even if the number
// overflows an int.
func TestTooManyCellsAreRefused(t *testing.T) {
	never := func() (int, error) {
		t.Fatal("a cell is computed")
		return 0, nil
	}
	for _, n := range []int{MaxCells + 1, math.MaxInt} {
		if _, err := Cells(context.Background(), Hooks{}, n, strconv.Itoa, func(int) (int, error) { return never() }); !errors.Is(err, ErrTooManyCells) {
			t.Errorf("%d cells: %v", n, err)
		}
	}
	// 2¹⁶ · 2¹⁶ is 0 in an int of 32 bits.
	for _, size := range [][2]int{{2, MaxCells + 1}, {2, math.MaxInt}, {MaxCells + 1, MaxCells + 1}, {math.MaxInt, math.MaxInt}, {1 << 16, 1 << 16}} {
		_, err := CellTable(context.Background(), Hooks{}, size[0], size[1], func(int, int) string { return "" }, func(int, int) (int, error) { return never() })
		if !errors.Is(err, ErrTooManyCells) {
			t.Errorf("%d × %d cells: %v", size[0], size[1], err)
		}
	}
}

// A table without rows or columns is empty. Its number of cells is 0.
func TestCellTableWithoutCells(t *testing.T) {
	for _, size := range [][2]int{{0, 0}, {0, 3}, {3, 0}} {
		table, err := CellTable(t.Context(), Hooks{}, size[0], size[1], func(int, int) string { return "" }, func(int, int) (int, error) { return 0, nil })
		if err != nil || len(table) != 0 {
			t.Errorf("%v: %v, %v", size, table, err)
		}
	}
}
