package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// checkClasses returns an error in two cases: if a label is not one of the numbers 0 to classes −
// 1, and if a class has no row of positive weight. If the table is not nil, the error gives the
// name of the class in the table.
func checkClasses(d learn.Data, classes int, table *table.Table) error {
	if classes < 2 {
		return args.Bad("Tuner.Learner", qpdiff.ErrDomain, "give the number of classes, two or more", "has %d classes", classes)
	}
	rows := make([]int, classes)
	for i, y := range d.Y {
		if !(y >= 0 && y < float64(classes)) || y != math.Trunc(y) {
			return args.Bad("Data.Y", qpdiff.ErrDomain, "give the numbers of the classes, from 0 on", "holds %v at index %d for the %d classes of Tuner.Learner", y, i, classes)
		}
		if len(d.Weights) != len(d.Y) || d.Weights[i] > 0 {
			rows[int(y)]++
		}
	}
	if c := slices.Index(rows, 0); c >= 0 {
		name := fmt.Sprint(c)
		if table != nil {
			name = strconv.Quote(table.Classes[c])
		}
		return args.Bad("Data.Y", qpdiff.ErrDomain, "give rows of it, or leave the class out", "has no row of the class %s that counts", name)
	}
	return nil
}

// begin checks t and the data, and completes c.
func (t Tuner) begin(ctx context.Context, c cvgm.Config, table *table.Table) (*tuning, error) {
	began := time.Now()
	if ctx == nil {
		return nil, args.Bad("ctx", qpdiff.ErrEmpty, "use context.Background()", "is nil")
	}
	c.MaxBytes = cmp.Or(max(t.MaxBytes, 0), c.Data.MaxBytes)
	learner, err := t.prototype(c.Data.Y)
	if err != nil {
		return nil, err
	}
	prepare := c.Prepare
	if x, ok := c.Data.X.(*mat.Dense); ok && x != nil && sample.Plain(prepare, x) {
		prepare = nil
	}
	viewed := sample.Views(learner, c.Data, prepare, func() int { return len(c.Data.Y) })
	asItIs := viewed && prepare == nil && c.Data.Sparse()
	if _, ok := c.Data.X.(*mat.Dense); !ok && c.Data.X != nil && !asItIs {
		rows, n := c.Data.X.Dims()
		if err := args.First(tooLarge(c, bytesOf(rows, n), 0), args.Stored(c.Data)); err != nil {
			return nil, err
		}
	}
	if !asItIs {
		c.Data.X = c.Data.Dense()
	}
	if err := t.check(c.Data); err != nil {
		return nil, err
	}
	if t.Intervals && learner.Convention().Loss == learn.PoissonLoss {
		return nil, args.Bad("Tuner.Intervals", qpdiff.ErrDomain, "leave it unset", "is set for a learner that predicts logarithms, %T", learner)
	}
	outputs := 0
	if l, ok := learner.(learn.ClassLearner); ok {
		outputs = l.Outputs()
	}
	if t.Intervals && (allSigns(c.Data.Y) || outputs > 0) {
		return nil, args.Bad("Tuner.Intervals", qpdiff.ErrDomain, "leave it unset: Risk.Classes and Risk.Multiclass judge classes", "is set for a target of classes, as 1 and -1 are, also if all are one of them")
	}
	if t.Balanced {
		if err := args.First(
			args.BadIf(c.Data.Weights != nil, "Tuner.Balanced", qpdiff.ErrDomain, "set one of them", "is set together with Data.Weights"),
			args.BadIf(outputs == 0 && !allSigns(c.Data.Y), "Tuner.Balanced", qpdiff.ErrDomain, "leave it unset, or use the labels ±1", "is set for labels other than ±1"),
		); err != nil {
			return nil, err
		}
		if c.Data.Weights, err = cvgm.BalancedWeights(c.Data.Y); err != nil {
			return nil, err
		}
	}
	if err := args.Data("Data", c.Data, c.Prepare != nil); err != nil {
		return nil, err
	}
	if _, ok := learner.(learn.ClassLearner); ok {
		if err := checkClasses(c.Data, outputs, table); err != nil {
			return nil, err
		}
	}
	c.Learner, c.Generalised, c.Workers = learner.New, true, t.Workers
	c.Standardise = !t.Raw && !learner.Convention().Raw
	if c.Loss = t.Loss; c.Loss == nil {
		c.Loss = usualLosses[learner.Convention().Loss]
	}
	if c.Loss == nil {
		return nil, args.Bad("Tuner.Loss", qpdiff.ErrEmpty, "set it, for example to SquaredError{}", "is nil, and %T has no usual one", learner)
	}
	if learner.Convention().Centred {
		c.Centring = cvgm.MeanCentring
	}
	w := &tuning{Tuner: t, c: c, prepare: prepare, viewed: viewed, table: table, learner: learner, outputs: outputs, ctx: ctx, limit: ctx, startTime: began, lastEnd: began, result: &Tuned{}}
	rows, columns := c.Data.X.Dims()
	if w.entries = float64(rows) * float64(columns); asItIs {
		w.entries = float64(c.Data.Stored())
	}
	if t.MaxTime > 0 {
		w.deadline = began.Add(t.MaxTime)
	}
	return w, nil
}
