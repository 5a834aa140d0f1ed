// Package ways holds the sizes of data at which learners switch between two methods for the same
// result. The choice depends on the sizes alone, never on the memory or the processor, so that
// results are the same bit for bit everywhere.
package ways

import "sync/atomic"

// gramFeatures is the largest number of features for which the Gram matrix of all features is used.
// This matrix makes loading and the first fit slower than working sets: by a factor of 1.4 to 5
// with 500 to 20 000 rows and 200 features, and of 1.2 to 7 with 400 features. But later fits then
// need no pass over the rows, and with few features most fits are later ones.
const gramFeatures = 200

// productFeatures is the largest number of parameters for which the entries of the Hessian are
// used. For each row, the entries cost the square of the number of features. A fit by products with
// the rows needs some dozens of products instead. For a logistic regression on 100 to 10 000 rows,
// the time by products relative to the time by entries is .8 to 1.2 with 20 features, .5 to .8 with
// 30, and .2 to .3 with 100.
const productFeatures = 30

// Systems of sparse columns are solved by conjugate gradients, without a Gram matrix, or by a
// factor. A factor finds the columns that depend on others, so it is used for up to sparseFeatures
// columns. If each column has a penalty of at least leastPenalty times its own diagonal entry, all
// columns are independent, and conjugate gradients take fewer steps than there are columns. In this
// case they are used for more than sparseFeatures/penalisedShare columns. On one-hot data of 3000 ×
// 800 and 600 × 800 this makes tuning 2 to 20 times as fast.
const (
	sparseFeatures = 1000
	penalisedShare = 5
	leastPenalty   = 1e-5
)

// manyRows is the number of rows from which ManyRows holds. For fewer rows, the Gram matrix is a
// small part of the cost of a search.
const manyRows = 4000

var gram, product, sparse, many atomic.Int64

func init() {
	gram.Store(gramFeatures)
	product.Store(productFeatures)
	sparse.Store(sparseFeatures)
	many.Store(manyRows)
}

// Many reports whether n features are too many for a Gram matrix of all.
func Many(n int) bool { return int64(n) > gram.Load() }

// WorkingSet reports whether a problem with n features, each with a kink at zero, is solved on
// working sets and not by the Gram matrix of all features. With more features than rows, systems
// have one unknown for each row. Working sets are then used from half the usual number of features
// on.
func WorkingSet(rows, n int) bool { return Many(n) || n > rows && Many(2*n) }

// ManyRows reports whether the Gram matrix of n features is computed in place, by blocks or by
// subtraction. counting is the number of rows that count. With many rows, copies of the rows would
// take more memory than everything else. If fewer than half of the rows count, copies of these cost
// less than vectors for all rows.
func ManyRows(all, counting, n int) bool {
	return int64(counting) >= many.Load() && 2*counting >= all && !WorkingSet(all, n)
}

// SetManyRows changes the smallest number of counting rows for which ManyRows holds, for tests. It
// returns the old value.
func SetManyRows(rows int) (old int) { return int(many.Swap(int64(rows))) }

// SetGramFeatures changes the largest number of features for which the Gram matrix of all features
// is used, for tests. It returns the old value.
func SetGramFeatures(n int) (old int) { return int(gram.Swap(int64(n))) }

// Products reports whether a smooth problem with n parameters is solved by products with its rows
// instead of the entries of its Hessian.
func Products(n int) bool { return int64(n) > product.Load() }

// Rows reports whether the systems of a smooth problem with n parameters are solved with one
// unknown for each row.
func Rows(rows, n int) bool { return Products(n) && n > rows }

// SetProductFeatures changes the largest number of parameters for which the Hessian's entries are
// used, for tests. It returns the old value.
func SetProductFeatures(n int) (old int) { return int(product.Swap(int64(n))) }

// Gradients reports whether systems of n sparse columns are solved by conjugate gradients instead
// of a factor. penalty is the smallest ratio of a column's penalty to its diagonal entry without
// the penalty, or 0 if this is unknown.
func Gradients(n int, penalty float64) bool {
	most := sparse.Load()
	if penalty >= leastPenalty {
		most /= penalisedShare
	}
	return int64(n) > most
}

// SetSparseFeatures changes the largest number of sparse columns for which a factor is used, for
// tests. It returns the old value.
func SetSparseFeatures(n int) (old int) { return int(sparse.Swap(int64(n))) }
