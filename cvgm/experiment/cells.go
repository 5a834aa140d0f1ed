package experiment

import (
	"context"
	"sync/atomic"

	"cvgm/qpdiff"
)

type progressKey struct{}

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
