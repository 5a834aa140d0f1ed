package experiment

import (
	"context"
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

// eachCell runs f for the independent cells 0 … n-1 in parallel, reports
// progress, and skips what is left once ctx is done. It returns ctx's error or
// that of the lowest cell that failed.
func eachCell(ctx context.Context, n int, f func(i int) error) error {
	report, _ := ctx.Value(progressKey{}).(func(done, total int))
	var done atomic.Int64
	err := qpdiff.ForEach(0, n, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := f(i)
		if report != nil {
			report(int(done.Add(1)), n)
		}
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A Keeper stores finished cells, so that a run that was stopped goes on where
// it was. Its methods are called from several goroutines.
type Keeper interface {
	// Load fills *cell, a pointer, with what was kept of cell i, and reports
	// whether there was something.
	Load(i int, cell any) bool
	// Keep stores *cell, a pointer, as cell i.
	Keep(i int, cell any)
}

// WithKeeper lets experiments keep each cell as soon as it is done. The keeper
// must belong to one experiment with one set of parameters.
func WithKeeper(ctx context.Context, k Keeper) context.Context {
	return context.WithValue(ctx, keeperKey{}, k)
}

// keptCells is eachCell for cells with a result: it returns f(0) … f(n-1), less
// those calls of f whose result was kept by an earlier run.
func keptCells[T any](ctx context.Context, n int, f func(i int) (T, error)) ([]T, error) {
	keeper, _ := ctx.Value(keeperKey{}).(Keeper)
	cells := make([]T, n)
	err := eachCell(ctx, n, func(i int) error {
		if keeper != nil && keeper.Load(i, &cells[i]) {
			return nil
		}
		var err error
		if cells[i], err = f(i); err == nil && keeper != nil {
			keeper.Keep(i, &cells[i])
		}
		return err
	})
	return cells, err
}
