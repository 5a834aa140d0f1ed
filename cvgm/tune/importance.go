package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Importance describes how much the predictions of a model depend on one column, or on a group of
// columns.
type Importance struct {
	// Column is the name of a column of the file, or of a ColumnGroup. Without a table, the name is
	// "column" and the index.
	Column string
	// Increase is the increase of the out-of-fold loss if the values of the column are put in
	// random order over the rows. Its unit is per cent of the loss of a constant prediction. It is
	// the mean over the repeats, with a 95 % interval. The interval accounts for the finite number
	// of repeats, but not for the finite data.
	Increase assess.Estimate
}

func (i Importance) String() string {
	return fmt.Sprintf("%s %.1f %% [%.1f, %.1f]", i.Column, i.Increase.Mean, i.Increase.Low, i.Increase.High)
}

// A ColumnGroup is a group of columns for [Tuned.Importance].
type ColumnGroup struct {
	Name    string   // empty: Name becomes the names of the columns
	Columns []string // names of columns, as in Importance.Column without groups; at least one
}

// defaultRepeats is the number of permutations of [Tuned.Importance].
const defaultRepeats = 10

// Importance returns the permutation importance (Breiman 2001) of each column for the model at
// Hyper, in descending order. It puts the values of one column in random order over all examples.
// For each of Splits, it fits the learner to the unchanged training rows, and predicts the changed
// validation rows. So no row is predicted by a model that was fitted to it. The parameter repeats
// is the number of random orders; 0 means 10 orders. All features of a column are moved together:
// the levels of a category, the parts of a date, and missing values. Units do not affect the
// result.
//
// The importance of a column may be below 0 by chance. If two columns have the same information,
// each of them has a lower importance than it would have alone. A group of both columns has the
// importance of this information. If the call gives groups, Importance returns the importance of
// each group instead of each column. All columns of a group take their values from the same row, so
// that relations within the group remain. A column may be in several groups, or in none.
//
// The random orders depend on the parameter seed, and are the same for all columns and groups. The
// cost is one fit for each split. In addition, each repeat predicts all rows once for each column
// or group.
//
// If there is no model, the error is of kind ErrEmpty. It is of kind ErrDomain if repeats is 1 or
// below 0, if the model is a constant prediction, if X is sparse, or if a group has an unknown
// column or the same column twice. For a group without columns, the error is of kind ErrEmpty.
// Importance also returns the error of a fit that fails, and ctx's error if ctx ends.
func (t *Tuned) Importance(ctx context.Context, repeats int, seed uint64, groups ...ColumnGroup) ([]Importance, error) {
	if t == nil || !t.hasModel() {
		return nil, args.Bad("Tuned", qpdiff.ErrEmpty, "let the search end", "has no model")
	}
	x := t.Config.Data.Dense()
	repeats = cmp.Or(repeats, defaultRepeats)
	if err := args.First(
		args.BadIf(t.Choice == ChoseConstant, "Tuned.Choice", qpdiff.ErrDomain, "set Tuner.KeepWinner", "is a constant prediction, in which no column has a part"),
		args.BadIf(repeats < 2, "repeats", qpdiff.ErrDomain, "use two or more, or 0 for the default", "is %d", repeats),
		args.BadIf(x == nil || t.Config.Data.Sparse(), "Tuned.Config", qpdiff.ErrDomain, "tune on a table or a dense X", "has a sparse X, whose columns are not exchanged"),
		args.BadIf(!(t.ConstantLoss > 0), "Tuned.ConstantLoss", qpdiff.ErrDomain, "use another loss", "is %v", t.ConstantLoss),
	); err != nil {
		return nil, err
	}
	rows, _ := x.Dims()
	counting := sample.Positive(sample.Complement(nil, rows), t.Config.Data.Weights)
	rng := rand.New(rand.NewPCG(seed, 2))
	orders := make([][]int, repeats) // orders[r][i] is the row whose value row i takes
	for r := range orders {
		orders[r] = sample.Complement(nil, rows)
		for at, from := range rng.Perm(len(counting)) {
			orders[r][counting[at]] = counting[from]
		}
	}
	names, columns := t.fileColumns()
	if len(groups) > 0 {
		var err error
		if names, columns, err = groupColumns(groups, names, columns); err != nil {
			return nil, err
		}
	}
	increase := make([][]float64, len(names))
	for g := range increase {
		increase[g] = make([]float64, repeats)
	}
	cv, err := cvgm.NewContext(ctx, t.Config)
	if err != nil {
		return nil, err
	}
	for _, s := range t.Splits {
		if err := t.exchange(ctx, cv, s, columns, orders, increase); err != nil {
			return nil, err
		}
	}
	all := make([]Importance, len(names))
	for g, name := range names {
		mean, spread := stat.MeanStdDev(increase[g], nil)
		reach := spread / math.Sqrt(float64(repeats)) * distuv.StudentsT{Sigma: 1, Nu: float64(repeats - 1)}.Quantile((1+assess.Confidence)/2)
		unit := 100 / t.ConstantLoss / float64(len(t.Splits))
		all[g] = Importance{name, assess.Estimate{Mean: mean * unit, Low: (mean - reach) * unit, High: (mean + reach) * unit}}
	}
	slices.SortStableFunc(all, func(a, b Importance) int { return cmp.Compare(b.Increase.Mean, a.Increase.Mean) })
	return all, nil
}

// fileColumns returns the names of the columns of the file. For each name, it also returns the
// columns of X that are made from this column of the file.
func (t *Tuned) fileColumns() (names []string, columns [][]int) {
	_, n := t.Config.Data.Dense().Dims()
	var sources []string
	if e, ok := t.Config.Prepare.(*table.Encoder); ok {
		sources = e.Sources()
	} else {
		for j := range n {
			sources = append(sources, fmt.Sprintf("column %d", j))
		}
	}
	for j, name := range sources {
		at := slices.Index(names, name)
		if at < 0 {
			at = len(names)
			names, columns = append(names, name), append(columns, nil)
		}
		columns[at] = append(columns[at], j)
	}
	return names, columns
}

// groupColumns returns the names of the groups, and for each group the columns of X that belong to
// it. The parameters names and columns are the results of fileColumns.
func groupColumns(groups []ColumnGroup, names []string, columns [][]int) (of []string, together [][]int, err error) {
	for g, group := range groups {
		arg := fmt.Sprintf("groups[%d].Columns", g)
		if len(group.Columns) == 0 {
			return nil, nil, args.Bad(arg, qpdiff.ErrEmpty, "name at least one column", "is empty")
		}
		var all []int
		for k, name := range group.Columns {
			at := slices.Index(names, name)
			if at < 0 {
				return nil, nil, args.Bad(arg, qpdiff.ErrDomain, fmt.Sprintf("use some of %q", names), "names %q, which is no column", name)
			}
			if slices.Contains(group.Columns[:k], name) {
				return nil, nil, args.Bad(arg, qpdiff.ErrDomain, "name each column once", "names %q twice", name)
			}
			all = append(all, columns[at]...)
		}
		of, together = append(of, cmp.Or(group.Name, strings.Join(group.Columns, ", "))), append(together, all)
	}
	return of, together, nil
}

// exchange predicts the validation rows of one split with exchanged values, for each group of
// columns and each random order. It adds the increase of the loss to increase[group][order].
func (t *Tuned) exchange(ctx context.Context, cv *cvgm.CV, s cvgm.Split, columns, orders [][]int, increase [][]float64) error {
	if n := len(sample.Positive(s.Train, t.Config.Data.Weights)); n < 2 {
		return args.Bad("Tuned.Splits", qpdiff.ErrShape, "use larger training sets", "train on %d example", n)
	}
	risk, err := t.riskOf(ctx, cv, s.Train)
	if err != nil {
		return err
	}
	x := t.Config.Data.Dense()
	val := t.rowsOf(s.Val)
	before, err := risk(val)
	if err != nil {
		return err
	}
	own, exchanged := val.Dense(), mat.DenseCopyOf(val.X)
	val.X = exchanged
	for g, group := range columns {
		for r, order := range orders {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for at, i := range s.Val {
				for _, j := range group {
					exchanged.Set(at, j, x.At(order[i], j))
				}
			}
			after, err := risk(val)
			if err != nil {
				return args.At(err, "columns %d exchanged", group)
			}
			increase[g][r] += after - before
		}
		for at := range s.Val {
			for _, j := range group {
				exchanged.Set(at, j, own.At(at, j))
			}
		}
	}
	return nil
}

// riskOf fits the learner to the rows. It returns a function that computes the risk of the fitted
// model on data.
func (t *Tuned) riskOf(ctx context.Context, cv *cvgm.CV, rows []int) (func(learn.Data) (float64, error), error) {
	if t.ClassModels != nil {
		models, err := cv.FinalClasses(ctx, rows, t.Hyper)
		return func(d learn.Data) (float64, error) { return cvgm.ClassRisk(models, t.Config.Loss, d) }, err
	}
	m, err := cv.FinalContext(ctx, rows, t.Hyper)
	return func(d learn.Data) (float64, error) { return m.Risk(t.Config.Loss, d) }, err
}

// rowsOf returns the named rows of the data, which are dense.
func (t *Tuned) rowsOf(rows []int) learn.Data {
	d := t.Config.Data
	_, n := d.Dense().Dims()
	x := mat.NewDense(len(rows), n, nil)
	sample.Gather(x.RawMatrix().Data, d.Dense(), rows)
	return learn.Data{X: x, Y: sample.Pick(d.Y, rows), Weights: sample.Pick(d.Weights, rows)}
}
