// Package ways holds the sizes at which learners compute the same result in another way. They
// depend on the sizes of the data alone, never on the memory or the processor, so that results keep
// their bits.
package ways

import "sync/atomic"

// gramFeatures balances two costs. With 500 to 20 000 rows and 200 features, loading and one fit
// take 1.4 to 5 times as long by the Gram matrix of all features, and with 400 features 1.2 to 7
// times. But later fits need no pass over the rows with that matrix, and with few features most
// fits are later ones.
const gramFeatures = 200

// productFeatures balances two ways to solve. The entries of a Hessian cost the square of the
// features for each row. A fit by products with the rows needs some dozens of them. A logistic
// regression on 100 to 10 000 rows takes, by products, .8 to 1.2 times as long with 20 features, .5
// to .8 times with 30 and .2 to .3 times with 100.
const productFeatures = 30

// Systems of sparse columns are solved by conjugate gradients, without a Gram matrix, or by a
// factor. A factor finds the columns that depend on others, so it is used for up to sparseFeatures
// columns. If each column has a penalty of at least leastPenalty times its own entry, all are
// independent, and conjugate gradients take fewer steps than there are columns. They are then used
// from a fifth of sparseFeatures on: one-hot data of 3000 × 800 and 600 × 800 are tuned 2 to 20
// times as fast.
const (
	sparseFeatures = 1000
	penalisedShare = 5
	leastPenalty   = 1e-5
)

// manyRows is larger than all sizes at which the matrix is a small part of a search.
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
// have one unknown for each row, and working sets pay from half as many features on.
func WorkingSet(rows, n int) bool { return Many(n) || n > rows && Many(2*n) }

// ManyRows reports whether the Gram matrix of n features is computed in place, by blocks or by
// subtraction. counting is the number of rows that count. With many rows, copies of them would be
// larger than everything else. If fewer than half of the rows count, vectors for all rows would
// cost more.
func ManyRows(all, counting, n int) bool {
	return int64(counting) >= many.Load() && 2*counting >= all && !WorkingSet(all, n)
}

// SetManyRows changes the number of counting rows from which on this is done, for tests. It returns
// the old value.
func SetManyRows(rows int) (old int) { return int(many.Swap(int64(rows))) }

// SetGramFeatures changes the largest number of features for which the Gram matrix of all is used,
// for tests. It returns the old value.
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

// Gradients reports whether conjugate gradients, and not a factor, solve systems of n sparse
// columns. The least penalty is relative to its column's entry without the penalty, and 0 if it is
// unknown.
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
