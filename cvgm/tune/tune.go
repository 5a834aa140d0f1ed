package tune

import (
	"context"

	"cvgm/cvgm"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
)

// Tune tunes the learner on d, which has N rows and n features. d.Rows must be nil.
//
// If ctx ends, Tune returns within one pass over the data, or within one fit if the learner is not
// a [learn.ContextLearner]. The error then matches ctx's error. The result has the best point so
// far, or is nil before the first evaluation. It has a model only if the nested estimate had begun.
// It has no out-of-fold predictions, and its StandardError, TrainLoss and Residual are NaN. To fit
// the model, call [cvgm.CV.Final] of cvgm.New(Config) at Hyper.
//
// With any other error the result is nil. The error names the field or the data that cannot be
// used. If no fit succeeded, it is the error of the first fit.
//
// A search costs some 60 evaluations of the CV loss, and some 150 for a loss with kinks. Each
// evaluation takes one fit and one derivative per split. Each outer fold costs one more search.
// With more than 1000 stored features, fits at small penalties are slow. Each step of a descent
// then changes a hyperparameter by at most a factor e³.
func (t Tuner) Tune(ctx context.Context, d learn.Data) (*Tuned, error) {
	return t.tune(ctx, cvgm.Config{Data: d}, nil)
}

// TuneTable is Tune for a table. It fits the encoder in each split. It uses the groups of the table
// unless Groups is set. The result has a Pipeline. A learner may read stored entries by the rule of
// [cvgm.StoredPreparer]. A table with many levels then takes only the memory of its columns. For
// other learners, each level takes the memory of a column. A target of more than two classes is an
// error: see [Tuner.TuneClasses].
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

// tune is Tune with the data and their preparation in c. If table is not nil, c was made from this
// table.
func (t Tuner) tune(ctx context.Context, c cvgm.Config, table *table.Table) (*Tuned, error) {
	w, err := t.begin(ctx, c, table)
	if err != nil {
		return nil, err
	}
	return w.run()
}
