// Package ways holds the sizes at which learners take another way to the same answer. They
// follow from the sizes of the data alone, never from the memory or the processor, so that
// results keep their bits.
package ways

import "sync/atomic"

// gramFeatures balances two costs. With 200 features and 500 to 20 000 rows, loading and one
// fit take 1.4 to 5 times as long by the Gram matrix of all features, and 1.2 to 7 times with
// 400. But later fits need no pass over the rows with it, and with few features most fits are
// later ones.
const gramFeatures = 200

// productFeatures balances two ways to solve. The entries of a Hessian cost the square of the
// features for each row; a fit by products with the rows needs some dozens of them. A logistic
// regression by products takes .8 to 1.2 times as long at 20 features and 100 to 10 000 rows,
// .5 to .8 times at 30 and .2 to .3 times at 100.
const productFeatures = 30

// Sparse columns are solved by conjugate gradients, without a Gram matrix and its factor, or by the
// factor. A factor finds the columns that depend on others, so it is used for up to sparseFeatures
// columns. If each column has a penalty of at least leastPenalty times its own entry, all are
// independent, and conjugate gradients take fewer steps than there are columns. Then conjugate
// gradients are used from a fifth of sparseFeatures on: one-hot data of 3000 × 800 and 600 × 800 are
// tuned 2 to 20 times as fast.
const (
	sparseFeatures = 1000
	penalisedShare = 5
	leastPenalty   = 1e-5
)

// manyRows lies above all sizes at which the matrix is a small part of a search.
const manyRows = 4000

var gram, product, sparse, many atomic.Int64

func init() {
	gram.Store(gramFeatures)
	product.Store(productFeatures)
	sparse.Store(sparseFeatures)
	many.Store(manyRows)
}

// Many reports whether n features are too many for the Gram matrix of all.
func Many(n int) bool { return int64(n) > gram.Load() }

// WorkingSet reports whether a problem with n features and a kink at zero in each is solved on
// working sets of its features, and not by the Gram matrix of all. With more features than
// rows, systems have as many unknowns as rows, and working sets pay from half as many features
// on.
func WorkingSet(rows, n int) bool { return Many(n) || n > rows && Many(2*n) }

// ManyRows reports whether the Gram matrix of n features is made in place, by blocks or by
// subtraction. counting of all rows count. With many rows, copies of them would be larger than
// everything else. If fewer than half of the rows count, vectors for all would cost more.
func ManyRows(all, counting, n int) bool {
	return int64(counting) >= many.Load() && 2*counting >= all && !WorkingSet(all, n)
}

// SetManyRows changes the number of counting rows from which on that is done, for tests, and returns
// its old value.
func SetManyRows(rows int) (old int) { return int(many.Swap(int64(rows))) }

// SetGramFeatures changes the number of features up to which the Gram matrix of all is used,
// for tests, and returns its old value.
func SetGramFeatures(n int) (old int) { return int(gram.Swap(int64(n))) }

// Products reports whether a smooth problem with n parameters is solved by products with its
// rows, and not by the entries of its Hessian.
func Products(n int) bool { return int64(n) > product.Load() }

// Rows reports whether the systems of a smooth problem with n parameters are solved in as many
// unknowns as there are rows.
func Rows(rows, n int) bool { return Products(n) && n > rows }

// SetProductFeatures changes the number of parameters up to which the Hessian's entries serve,
// for tests, and returns its old value.
func SetProductFeatures(n int) (old int) { return int(product.Swap(int64(n))) }

// Gradients reports whether systems of n sparse columns are solved by conjugate gradients, and
// not by a factor. The least penalty is relative to the entry of its column without it, and 0
// if not known.
func Gradients(n int, penalty float64) bool {
	most := sparse.Load()
	if penalty >= leastPenalty {
		most /= penalisedShare
	}
	return int64(n) > most
}

// SetSparseFeatures changes the number of sparse columns up to which a factor is used, for
// tests, and returns its old value.
func SetSparseFeatures(n int) (old int) { return int(sparse.Swap(int64(n))) }
