package cvgm

import (
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Preparer makes the features of a learner from the columns of Config.Data.X. It has constants
// that it learns from training rows, such as means in place of missing values. A CV fits it to the
// training rows of each split alone, so that no validation row influences the features that predict
// it. Do not prepare the rows before the CV splits them. [table.Encoder] is a Preparer.
type Preparer interface {
	// Dims returns the number of columns of X and of features. The number of
	// features must not depend on the rows.
	Dims() (in, out int)
	// Fit learns from the rows of train (T×in), which hold NaN for a missing value. Row i has the
	// weight weights[i], or 1 if weights is nil. Fit must neither keep nor change its arguments,
	// and must not change the results of earlier calls.
	Fit(train *mat.Dense, weights []float64) (Prepared, error)
}

// Prepared is a fitted [Preparer]. It is safe for concurrent use.
type Prepared interface {
	// Dims returns the number of columns of a row and of features.
	Dims() (in, out int)
	// Apply writes the features of a row, which may hold NaN, to dst. It changes neither the row
	// nor the receiver.
	Apply(dst, row []float64) error
}

// A StoredPreparer is a [Preparer] whose rows have few features other than 0, such as one feature
// for each level of a category. Its Fit returns a [StoredPrepared].
//
// If there are more than 200 features, of which MostStored is at most a quarter, a CV may store few
// entries. If its learner reads stored entries (see [learn.ViewLearner]), it holds only the output
// of ApplyStored for the rows of each split, 12 bytes for each feature. With fewer features, with
// other learners, and with FixedLeastSquares without Standardise, it holds dense rows of all
// features. The two ways differ by rounding. Only the sizes decide, never the memory.
type StoredPreparer interface {
	Preparer
	// MostStored returns the largest number of features that ApplyStored gives for a row. It must
	// not depend on the rows.
	MostStored() int
}

// StoredPrepared is a fitted [StoredPreparer]. A [Model] of a linear learner uses its ApplyStored
// for predictions, by the same rule.
type StoredPrepared interface {
	Prepared
	// MostStored returns the number of the Preparer's.
	MostStored() int
	// ApplyStored calls set for the features of a row, each at most once and in any order, with the
	// values of Apply. Features without a call are 0. It changes neither the row nor the receiver.
	// After an error it does not call set any more.
	ApplyStored(row []float64, set func(feature int, v float64)) error
}

// A PlainPreparer is a [Preparer] that may change nothing, for example for a table of numbers
// without missing values. A CV then uses the columns of Data.X as the features. It does not copy
// them if its learner reads rows in place. The preparer is fitted for the [Model] alone.
type PlainPreparer interface {
	Preparer
	// Plain reports whether the features of each row of x are its unchanged columns, for any rows
	// of x to which the Preparer is fitted. self is the Preparer, or the Prepared. For another
	// type, which embeds a type with this method, Plain returns false, because that type may change
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
