package cvgm

import (
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Preparer makes the features of a learner from the columns of Config.Data.X. It has constants
// that it learns from training rows, such as means that replace missing values. For each split, a
// CV fits the Preparer to the training rows only, so no validation row influences how features are
// made. Do not prepare the rows before the CV splits them. [table.Encoder] is a Preparer.
type Preparer interface {
	// Dims returns the number of columns of X, and the number of features. The number of features must
	// not depend on the rows.
	Dims() (in, out int)
	// Fit learns from the rows of train (T×in). NaN marks a missing value. Row i has the weight
	// weights[i], or 1 if weights is nil. Fit must neither keep nor change its arguments, and must
	// not change the results of earlier calls.
	Fit(train *mat.Dense, weights []float64) (Prepared, error)
}

// Prepared is a fitted [Preparer]. It is safe for concurrent use.
type Prepared interface {
	// Dims returns the number of columns of a row, and the number of features.
	Dims() (in, out int)
	// Apply writes the features of a row to dst. The row may hold NaN. Apply changes neither the
	// row nor the receiver.
	Apply(dst, row []float64) error
}

// A StoredPreparer is a [Preparer] for sparse features: each row has few features other than 0,
// such as one feature for each level of a category. Its Fit returns a [StoredPrepared].
//
// A CV holds the features in one of two ways. The sparse way holds only the output of ApplyStored
// for the rows of each split, with 12 bytes for each stored feature. A CV uses it under four
// conditions: there are more than 200 features, MostStored is at most a quarter of the number of
// features, the learner reads stored entries (see [learn.ViewLearner]), and Standardise is set or
// Centring is not FixedLeastSquares. Otherwise it holds dense rows of all features. The results of
// the two ways differ by rounding. The choice does not depend on the available memory.
type StoredPreparer interface {
	Preparer
	// MostStored returns the largest number of features that ApplyStored sets for a row. The number
	// must not depend on the rows.
	MostStored() int
}

// StoredPrepared is a fitted [StoredPreparer]. A [Model] of a linear learner predicts with
// ApplyStored if there are more than 200 features and MostStored is at most a quarter of the number
// of features.
type StoredPrepared interface {
	Prepared
	// MostStored returns the MostStored of the Preparer.
	MostStored() int
	// ApplyStored calls the function set with the index and the value of a feature, at most once for
	// each feature of the row, in any order. The values are the same as from Apply. A feature without
	// a call is 0. ApplyStored changes neither the row nor the receiver. After an error it makes no
	// more calls.
	ApplyStored(row []float64, set func(feature int, v float64)) error
}

// A PlainPreparer is a [Preparer] that leaves the rows unchanged for some data, for example for a
// table of numbers without missing values. For these data a CV uses the columns of Data.X as the
// features, without a copy if the learner reads rows in place. The Preparer is fitted only for the
// [Model].
type PlainPreparer interface {
	Preparer
	// Plain reports whether the Preparer leaves each row of x unchanged, for any training rows. The
	// caller passes the Preparer or the Prepared as self. If self is of another type, which embeds the
	// type with this method, Plain returns false, because the other type may change the features.
	Plain(self any, x *mat.Dense) bool
}

// A FixedPreparer is a [Preparer] whose features do not depend on the training rows for some data,
// for example for a table of categories without missing values. If the learner evaluates all splits
// at once (see [learn.FoldLearner]), a CV computes the features of these data once for all splits.
type FixedPreparer interface {
	Preparer
	// Fixed reports whether each row of x has the same features, whatever the training rows are.
	// Features j with scaled[j] are an exception: on the training rows, feature j is a number with the
	// mean 0 and the population standard deviation 1. If it is constant on these rows, it is 0. If
	// scaled is nil, there is no exception. The argument self has the same meaning as in
	// [PlainPreparer].
	Fixed(self any, x *mat.Dense) (scaled []bool, fixed bool)
}

// checkPrepared returns an error if p does not have ncols columns and nfeatures features.
func checkPrepared(p Prepared, ncols, nfeatures int) error {
	const remedy = "let Fit return a Prepared with the Dims of the Preparer"
	if p == nil {
		return args.Bad("Config.Prepare", qpdiff.ErrEmpty, remedy, "returns nil from Fit")
	}
	i, o := p.Dims()
	return args.BadIf(i != ncols || o != nfeatures, "Config.Prepare", qpdiff.ErrShape, remedy, "maps %d columns to %d features after Fit instead of %d to %d", i, o, ncols, nfeatures)
}
