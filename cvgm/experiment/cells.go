package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"cvgm/qpdiff"
)

// MaxCells is the largest number of cells of an experiment. The results of one million cells take
// several hundred megabytes. With the default parameters, an experiment has at most MaxCells/1000
// cells.
const MaxCells = 1_000_000

// ErrTooManyCells is wrapped by the error of an experiment with more than MaxCells cells.
var ErrTooManyCells = errors.New("too many cells")

// Cells computes n independent cells in parallel, and returns their results f(0) … f(n-1). It does
// not call f for a cell that hooks.Keeper has stored. It reports to hooks.Progress. After ctx is
// done, it skips the remaining cells. The error is ctx's error, or the error of the failed cell
// with the smallest index. The error of cell i begins with the text label(i). This text must
// describe the cell in the same words, whatever the number of cells is.
func Cells[T any](ctx context.Context, hooks Hooks, n int, label func(i int) string, f func(i int) (T, error)) ([]T, error) {
	if n < 0 || n > MaxCells {
		return nil, fmt.Errorf("%w, %d: use smaller parameters or shorter lists, of which at most %d cells come", ErrTooManyCells, n, MaxCells)
	}
	report, keeper := hooks.Progress, hooks.Keeper
	var done atomic.Int64
	results := make([]T, n)
	err := qpdiff.ForEach(0, n, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if keeper == nil || !keeper.Load(i, &results[i]) {
			if results[i], err = f(i); err == nil && keeper != nil {
				keeper.Keep(i, &results[i])
			} else if err != nil {
				err = fmt.Errorf("%s: %w", label(i), err)
			}
		}
		if report != nil {
			report(int(done.Add(1)), n)
		}
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return results, err
}

// CellTable returns the results f(row, column) as [row][column]. It computes them like Cells, but
// the last row first, because this row has the costliest cells. The cells that remain at the end
// are then short, so that all processors stay busy.
func CellTable[T any](ctx context.Context, hooks Hooks, rows, columns int, label func(row, column int) string, f func(row, column int) (T, error)) ([][]T, error) {
	n := MaxCells + 1
	if columns <= 0 || rows <= MaxCells/columns { // otherwise the product may overflow an int of 32 bits
		n = rows * columns
	}
	all, err := Cells(ctx, hooks, n,
		func(i int) string { return label(rows-1-i/columns, i%columns) },
		func(i int) (T, error) { return f(rows-1-i/columns, i%columns) })
	if err != nil || n == 0 {
		return nil, err
	}
	table := slices.Collect(slices.Chunk(all, columns))
	slices.Reverse(table)
	return table, nil
}

// Wrap returns err with a description in front: the place at which the error arose. It returns nil
// if err is nil.
func Wrap(err error, format string, args ...any) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
	}
	return err
}

// FirstError returns the first error that is not nil.
func FirstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// InTurn calls the functions in their order until one fails or ctx is done.
func InTurn(ctx context.Context, all ...func() error) error {
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// Column returns value(c) for each cell c, in the order of the cells.
func Column[C any](cells []C, value func(c C) float64) (v []float64) {
	for _, c := range cells {
		v = append(v, value(c))
	}
	return v
}
