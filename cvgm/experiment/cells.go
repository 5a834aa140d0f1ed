package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"cvgm/qpdiff"
)

type (
	progressKey struct{}
	keeperKey   struct{}
)

// WithProgress lets experiments report how many of their cells (repetitions,
// sizes × seeds, …) are done. The function is called from several goroutines.
func WithProgress(ctx context.Context, report func(done, total int)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// Progress returns the function of WithProgress, or nil.
func Progress(ctx context.Context) func(done, total int) {
	report, _ := ctx.Value(progressKey{}).(func(done, total int))
	return report
}

// A Keeper stores finished cells, so that an interrupted run resumes with the missing ones.
// Several goroutines call its methods.
type Keeper interface {
	// Load fills *cell, a pointer, with the stored cell i, and reports whether there was one.
	Load(i int, cell any) bool
	// Keep stores *cell, a pointer, as cell i.
	Keep(i int, cell any)
}

// WithKeeper lets experiments keep each cell as soon as it is done. The keeper
// must belong to one experiment with one set of parameters.
func WithKeeper(ctx context.Context, k Keeper) context.Context {
	return context.WithValue(ctx, keeperKey{}, k)
}

// MaxCells is the largest number of cells of an experiment. They take some hundred megabytes. No
// default has more than a thousandth of them.
const MaxCells = 1_000_000

// ErrTooManyCells is in the error of an experiment of more than MaxCells cells.
var ErrTooManyCells = errors.New("too many cells")

// Cells returns f(0) … f(n-1) for independent cells, computed in parallel. It does not call f
// for a cell that an earlier run kept. It reports progress, and skips the remaining cells once
// ctx is done. Its error is ctx's, or the error of the lowest cell that failed, with the cell's
// label in front. The label describes the computation, independently of the number of cells.
func Cells[T any](ctx context.Context, n int, label func(i int) string, f func(i int) (T, error)) ([]T, error) {
	if n < 0 || n > MaxCells {
		return nil, fmt.Errorf("%w, %d: use smaller parameters or shorter lists, of which at most %d cells come", ErrTooManyCells, n, MaxCells)
	}
	report := Progress(ctx)
	keeper, _ := ctx.Value(keeperKey{}).(Keeper)
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

// CellTable returns f of each row and column, [row][column], computed as cells. The last row is
// computed first, because it is the costliest. At the end only short cells are left to share out.
func CellTable[T any](ctx context.Context, rows, columns int, label func(row, column int) string, f func(row, column int) (T, error)) ([][]T, error) {
	n := MaxCells + 1
	if rows <= MaxCells && columns <= MaxCells {
		n = rows * columns
	}
	all, err := Cells(ctx, n,
		func(i int) string { return label(rows-1-i/columns, i%columns) },
		func(i int) (T, error) { return f(rows-1-i/columns, i%columns) })
	table := slices.Collect(slices.Chunk(all, columns))
	slices.Reverse(table)
	return table, err
}

// Wrap returns err with its place in front, or nil if err is nil.
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

// InTurn calls the functions until one fails or ctx is done.
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

// Column returns a value of each cell, in their order.
func Column[C any](cells []C, of func(c C) float64) (v []float64) {
	for _, c := range cells {
		v = append(v, of(c))
	}
	return v
}
