package tune

import (
	"context"

	"cvgm/cvgm"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
)

// Tune tunes the learner on the data d, which have N rows and n features. The field d.Rows must be
// nil.
//
// If ctx ends, Tune returns within one pass over the data. If the learner is not a
// [learn.ContextLearner], Tune returns within one fit. The error then matches ctx's error. The
// result has the best point so far, or is nil before the first evaluation. The result has a model
// only if the nested estimate had begun. It has no out-of-fold predictions, and its StandardError,
// TrainLoss and Residual are NaN. To fit the model at Hyper, call [cvgm.CV.Final] of
// cvgm.New(Config).
//
// With any other error the result is nil. The error names the field or the data that cannot be
// used. If no fit succeeded, Tune returns the error of the first fit.
//
// A search costs about 60 evaluations of the CV loss, or about 150 if the loss has kinks. Each
// evaluation takes one fit and one derivative per split. Each outer fold costs one more search.
// With more than 1000 stored features, fits at small penalties are slow. Each step of a descent
// then changes a hyperparameter by at most a factor e³.
func (t Tuner) Tune(ctx context.Context, d learn.Data) (*Tuned, error) {
	return t.tune(ctx, cvgm.Config{Data: d}, nil)
}

// TuneTable does the work of Tune for a table. It fits the encoder of the table in each split. It
// uses the groups of the table unless Groups is set. The result has a Pipeline. Under the
// conditions in [cvgm.StoredPreparer], the learner reads stored entries, and the table needs memory
// only for its columns. Otherwise, each level needs as much memory as a column. If the target has
// more than two classes, TuneTable returns an error; see [Tuner.TuneClasses].
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

// tune does the work of Tune. The configuration c holds the data and their preparation. If table is
// not nil, c was made from it.
func (t Tuner) tune(ctx context.Context, c cvgm.Config, table *table.Table) (*Tuned, error) {
	w, err := t.begin(ctx, c, table)
	if err != nil {
		return nil, err
	}
	return w.run()
}
