package tune

import (
	"context"

	"cvgm/cvgm"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
)

// Tune tunes the learner on d, of N rows and n features, without Rows. If ctx ends, Tune returns
// within one pass over the data, or within one fit if the learner is not a [learn.ContextLearner].
// It returns an error that matches ctx's, and the best point so far, nil before the first
// evaluation. Such a result has no model unless the nested estimate was under way. It has no
// out-of-fold predictions; its StandardError, TrainLoss and Residual are NaN. New(Config) and
// [cvgm.CV.Final] at Hyper fit the model.
//
// All other errors come without a result. They name the field or the data that cannot be used. If
// no fit succeeded, the error is the first fit's.
//
// A search costs some 60 evaluations of the CV loss, and some 150 for a loss with kinks. Each
// evaluation takes one fit and one derivative per split. Each outer fold costs one more search. On
// more than 1000 stored features, fits at small penalties are slow. Steps of a descent then change
// hyperparameters by at most a factor e³.
func (t Tuner) Tune(ctx context.Context, d learn.Data) (*Tuned, error) {
	return t.tune(ctx, cvgm.Config{Data: d}, nil)
}

// TuneTable is Tune on a table. It fits the encoder in each split, and uses the groups of the table
// unless Groups is set. The result has a Pipeline. If the learner reads stored entries (see the
// rule of [cvgm.StoredPreparer]), a table with many levels takes only the memory of its columns.
// Otherwise each level takes the memory of a column. A target of more than two classes is an error:
// see [Tuner.TuneClasses].
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

// tune is Tune with the data and their preparation in c. They come from table unless it is nil.
func (t Tuner) tune(ctx context.Context, c cvgm.Config, table *table.Table) (*Tuned, error) {
	w, err := t.begin(ctx, c, table)
	if err != nil {
		return nil, err
	}
	return w.run()
}
