package tune

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Tune tunes the learner on d, of N rows and n features, without Rows. If ctx ends, Tune
// returns within one fit: an error that matches ctx's, and the best point so far, nil before
// the first evaluation. Such a result has no model unless the nested estimate was under way,
// and no out-of-fold predictions; its StandardError, TrainLoss and Residual are NaN. New(Config) and
// [cvgm.CV.Final] at Hyper fit the model. All other errors come without a result: they name the
// field or the data that they refuse, or are the first fit's error if no fit succeeded.
//
// A search costs some 60 evaluations of the CV loss, and some 150 for a loss with kinks. Each
// evaluation takes one fit and one derivative per split. Each outer fold costs one more search. On
// more than 1000 stored features, where fits at small penalties are slow, no step of a descent
// changes a hyperparameter by more than a factor e³.
func (t Tuner) Tune(ctx context.Context, d learn.Data) (*Tuned, error) {
	return t.tune(ctx, cvgm.Config{Data: d}, nil)
}

// TuneTable is Tune on a table, with the encoder fitted in each split, and with the groups of
// the table unless Groups is set. The result has a Pipeline. A table of many levels takes the
// memory of its columns if the learner reads stored entries, by the rule of
// [cvgm.StoredPreparer], and that of a feature for each level otherwise. A target of more than
// two classes is an error: see [Tuner.TuneClasses].
func (t Tuner) TuneTable(ctx context.Context, table *table.Table) (*Tuned, error) {
	d, encoder, err := table.Data()
	if err != nil {
		return nil, err
	}
	if t.Groups == nil {
		t.Groups = table.Groups
	}
	return t.tune(ctx, cvgm.Config{Data: d, Prepare: encoder}, table)
}

// TuneClasses tunes one learner for each class of the table's target against all others
// ([table.Table.Binary]), with the same folds' seed. For a target of two classes use TuneTable. An
// error names the class, and comes with the classes that are done.
func (t Tuner) TuneClasses(ctx context.Context, table *table.Table) (*TunedClasses, error) {
	if table == nil {
		return nil, args.Bad("table", qpdiff.ErrEmpty, "read one with CSV.Read", "is nil")
	}
	if len(table.Classes) < 3 {
		return nil, args.Bad("table", qpdiff.ErrDomain, "use TuneTable", "has %d classes in its target %q", len(table.Classes), table.Target)
	}
	all := &TunedClasses{}
	for _, class := range table.Classes {
		binary, err := table.Binary(class)
		if err != nil {
			return all, err
		}
		tuned, err := t.TuneTable(ctx, binary)
		if err != nil {
			return all, args.At(err, "class %q", class)
		}
		all.Classes = append(all.Classes, class)
		all.Tuned = append(all.Tuned, tuned)
	}
	return all, nil
}

// Class returns, for each row of a table, the class whose model has the largest decision value.
// It returns the errors of [table.Pipeline.Decision].
func (c *TunedClasses) Class(table *table.Table) ([]string, error) {
	var classes []string
	var most []float64
	for k, tuned := range c.Tuned {
		if tuned == nil {
			return nil, args.Bad("TunedClasses.Tuned", qpdiff.ErrEmpty, "keep what TuneClasses returned", "is nil for class %q", c.Classes[k])
		}
		decisions, err := tuned.Pipeline.Decision(table)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			classes, most = make([]string, len(decisions)), slices.Repeat([]float64{math.Inf(-1)}, len(decisions))
		}
		for i, d := range decisions {
			if d > most[i] {
				classes[i], most[i] = c.Classes[k], d
			}
		}
	}
	return classes, nil
}

// tune is Tune with the data and their preparation in c. They come from the table, if it is not
// nil.
func (t Tuner) tune(ctx context.Context, c cvgm.Config, table *table.Table) (*Tuned, error) {
	w, err := t.begin(ctx, c, table)
	if err != nil {
		return nil, err
	}
	return w.run()
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
		if err := tooLarge(c, bytesOf(rows, n), 0); err != nil {
			return nil, err
		}
	}
	if !asItIs {
		c.Data.X = c.Data.Dense()
	}
	if err := t.check(c.Data); err != nil {
		return nil, err
	}
	if t.Balanced {
		if err := args.First(
			args.BadIf(c.Data.Weights != nil, "Tuner.Balanced", qpdiff.ErrDomain, "set one of them", "is set together with Data.Weights"),
			args.BadIf(!allSigns(c.Data.Y), "Tuner.Balanced", qpdiff.ErrDomain, "leave it unset, or use the labels ±1", "is set for labels other than ±1"),
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
	c.Learner, c.Generalised, c.Workers = learner.New, true, t.Workers
	c.Standardise = !t.Raw
	if c.Loss = t.Loss; c.Loss == nil {
		c.Loss = usualLosses[learner.Convention().Loss]
	}
	if c.Loss == nil {
		return nil, args.Bad("Tuner.Loss", qpdiff.ErrEmpty, "set it, for example to SquaredError{}", "is nil, and %T has no usual one", learner)
	}
	if learner.Convention().Centred {
		c.Centring = cvgm.MeanCentring
	}
	w := &tuning{Tuner: t, c: c, prepare: prepare, viewed: viewed, table: table, learner: learner, ctx: ctx, limit: ctx, began: began, out: &Tuned{}}
	rows, columns := c.Data.X.Dims()
	if w.entries = float64(rows) * float64(columns); asItIs {
		w.entries = float64(c.Data.Stored())
	}
	if t.MaxTime > 0 {
		w.deadline = began.Add(t.MaxTime)
	}
	return w, nil
}
