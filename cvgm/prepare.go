package cvgm

import (
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Preparer makes the features of a learner from the columns of Config.Data.X,
// with constants that it learns from training rows: means in place of missing
// values, for example. A CV fits it to the training rows of each split alone, so
// that no validation row has a part in the features that predict it. The rows must
// not be prepared before the CV splits them. [table.Encoder] is a Preparer.
type Preparer interface {
	// Dims returns the number of columns of X and of features. The number of
	// features must not depend on the rows.
	Dims() (in, out int)
	// Fit learns from the rows of train (T×in), which hold NaN for a missing value. Row i
	// counts as weights[i] equal rows, or once if weights is nil. Fit must neither keep nor
	// change its arguments, and must not change the results of earlier calls.
	Fit(train *mat.Dense, weights []float64) (Prepared, error)
}

// Prepared is a fitted [Preparer]. It is safe for concurrent use.
type Prepared interface {
	// Dims returns the number of columns of a row and of features.
	Dims() (in, out int)
	// Apply writes the features of a row, which may hold NaN, to dst. It changes
	// neither the row nor the receiver.
	Apply(dst, row []float64) error
}

// A StoredPreparer is a [Preparer] of rows in which few features are other than 0, such as one
// feature for each level of a category. Its Fit returns a [StoredPrepared].
//
// If there are more than 200 features, of which MostStored is a quarter at most, a CV may store
// few entries: if its learner reads stored entries (see [learn.ViewLearner]), it holds for each
// split the output of ApplyStored for its rows, 12 bytes for each feature, and no more. With
// fewer features, with other learners, and with FixedLeastSquares without Standardise, it holds
// dense rows of all features. The two ways differ by rounding. The sizes alone decide, never
// the memory.
type StoredPreparer interface {
	Preparer
	// MostStored returns the largest number of features that ApplyStored gives of a row. It
	// must not depend on the rows.
	MostStored() int
}

// StoredPrepared is a fitted [StoredPreparer]. A [Model] of a linear learner predicts by its
// ApplyStored, by the same rule.
type StoredPrepared interface {
	Prepared
	// MostStored returns the number of the Preparer's.
	MostStored() int
	// ApplyStored calls set for the features of a row, each at most once and in any order,
	// with the values of Apply. The features without a call are 0. It changes neither the row
	// nor the receiver, and calls set no more after an error.
	ApplyStored(row []float64, set func(feature int, v float64)) error
}

// A PlainPreparer is a [Preparer] that may change nothing, as for a table of numbers without
// missing values. A CV then takes the columns of Data.X as the features, without copies of them
// if its learner reads rows in place. It is fitted for the [Model] alone.
type PlainPreparer interface {
	Preparer
	// Plain reports whether the features of each row of x are its columns as they are, for any
	// rows of x to which the Preparer is fitted. self is the Preparer, or the Prepared. Plain
	// returns false for a type that embeds one with this method, because that type may change
	// the features.
	Plain(self any, x *mat.Dense) bool
}

// checkPrepared reports a Prepared of another shape than in columns and out features.
func checkPrepared(p Prepared, in, out int) error {
	const remedy = "let Fit return a Prepared with the Dims of the Preparer"
	if p == nil {
		return args.Bad("Config.Prepare", qpdiff.ErrEmpty, remedy, "returns nil from Fit")
	}
	i, o := p.Dims()
	return args.BadIf(i != in || o != out, "Config.Prepare", qpdiff.ErrShape, remedy, "maps %d columns to %d features after Fit instead of %d to %d", i, o, in, out)
}
