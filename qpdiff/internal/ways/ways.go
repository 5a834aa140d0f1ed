// Package ways chooses between two methods that compute the same result. The choice depends only on
// the sizes of the data, and not on the memory or the processor. Results therefore have the same
// bits on every machine.
//
// Here the two methods for a task are called ways. They cross at the size at which they are equally
// fast. BenchmarkWays measures these sizes; its command is go test ./qpdiff/internal/ways -run '^$'
// -bench Ways -benchtime 1x. In the comments below, a ratio is a quotient of processor times: the
// time with the way for large sizes, divided by the time with the way for small sizes. Both times
// are measured on a search with one load, 20 fits and their gradients.
package ways

import "sync/atomic"

// gramFeatures is the largest number of features for which the Gram matrix of all features is used.
// With more features, working sets are used. Compared with working sets, the Gram matrix makes
// loading and the first fit slower: with 500 to 20 000 rows, they are 1.4 to 5 times slower with
// 200 features, and 1.2 to 7 times slower with 400. But the fits after the first need no pass over
// the rows.
//
// The number of features at which the two ways cross therefore depends on the number of fits. For
// an elastic net, searches with 20 fits cross between 250 and 400 features if there are 4000 rows:
// the ratios are 2.0, 1.6, 1.4 and .7 at 100, 150, 250 and 400 features. With 500 rows they cross
// beyond 800 features: the ratios are 2.4, 2.0, 1.7, 1.4 and 1.1 at 100, 150, 250, 400 and 800
// features. Searches with 3 fits cross at 100 features; at 200 features the ratios are .4 with 4000
// rows and .5 with 500 rows. The constant lies between these crossings. With half as many rows as
// features, 20 fits have the ratios 1.3 to 1.8 from 70 to 150 features, and 1.2 at 200. Sparse
// logistic regressions have ratios from .8 to 1.1 at all of these sizes.
const gramFeatures = 200

// productFeatures is the largest number of parameters for which the entries of the Hessian are
// used. With n features, the entries cost n² operations for each row. The other method computes
// some dozens of products with each row, and each product costs n operations. The constant comes
// from logistic regressions on 100 to 10 000 rows. The time by products, divided by the time by
// entries, is .8 to 1.2 with 20 features, .5 to .8 with 30, and .2 to .3 with 100. In searches with
// an intercept the ratios are 1.5, 1.6, 1.1, .9, .4 at 20, 25, 35, 45, 80 features and 100 rows;
// 1.2, 1.1, .7, .7, .4 at 1000 rows; and 1.1, 1.0, .7, .6 at 20, 25, 35, 45 and 5000 rows.
//
// If there are fewer rows than features, the way by products solves systems with one unknown for
// each row. With half as many rows as features, the two ways cross at 46 features for the logistic
// regression: the ratios are 1.8, 1.2, 1.0 and .5 at 26, 36, 46 and 80 features. For Huber's
// regression they cross at some 75 features: the ratios are 2.3, 1.9, 1.7 and .9 at the same
// numbers of features. These fits take less than a millisecond, so the case has no separate
// constant.
const productFeatures = 30

// These constants choose between two methods for systems of sparse columns: a factor, or conjugate
// gradients without a Gram matrix. A factor finds columns that depend on others, so it is used for
// up to sparseFeatures columns. No column can depend on others if each column's penalty is at least
// leastPenalty times its diagonal entry. In this case, conjugate gradients also take fewer steps
// than there are columns, and a factor is used only for up to sparseFeatures/penalisedShare
// columns. On one-hot data of 3000 × 800 and 600 × 800, conjugate gradients make tuning 2 to 20
// times as fast as a factor.
//
// With penalties, the ways cross at the following numbers of levels in searches on one-hot data of
// three columns. For the elastic net, they cross at 330 levels with 600 rows, at 420 with 3000
// rows, and beyond 450 with 12 000 rows. For the logistic regression, they cross at 150, at 300,
// and beyond 450 levels with the same numbers of rows. At 240 levels the ratios are 1.8, 2.9 and
// 5.3 for the elastic net, and .6, 1.1 and 1.6 for the logistic regression. At 450 levels they are
// .7, .8 and 1.8 for the elastic net, and .3, .8 and 1.2 for the logistic regression. The constant
// is near the middle of these crossings.
const (
	sparseFeatures = 1000
	penalisedShare = 3
	leastPenalty   = 1e-5
)

// The Gram matrix is computed in place only if at least manyRows rows have a weight above 0; see
// ManyRows. The computation in place saves memory, but no time. With 50 features and 1000 to 5000
// rows, a search in place takes 1.1 to 1.4 times as long as a search with copies. With 8000 and
// with 16 000 rows, it takes 1.1 times as long.
const manyRows = 4000

var gram, product, sparse, many atomic.Int64

func init() {
	gram.Store(gramFeatures)
	product.Store(productFeatures)
	sparse.Store(sparseFeatures)
	many.Store(manyRows)
}

// Many is true if n features are too many for a Gram matrix of all features.
func Many(n int) bool { return int64(n) > gram.Load() }

// WorkingSet reports whether a problem is solved on working sets and not with the Gram matrix of
// all features. The problem has n features, and each parameter has a kink at zero. If there are
// more features than rows, a system on a working set has only one unknown for each row. In this
// case, working sets are used for more than gramFeatures/2 features.
func WorkingSet(rows, n int) bool { return Many(n) || n > rows && Many(2*n) }

// ManyRows reports whether the Gram matrix of n features is computed in place, by blocks or by
// subtraction, without copies of the rows. The parameter weighted is the number of rows with a
// weight above 0. If there are many rows, copies of them would take more memory than everything
// else. But if fewer than half of the rows have a weight above 0, copies of these rows cost less
// than the computation in place, which needs vectors with an entry for each row.
func ManyRows(rows, weighted, n int) bool {
	return int64(weighted) >= many.Load() && 2*weighted >= rows && !WorkingSet(rows, n)
}

// SetManyRows is a function for tests. It sets the value that ManyRows uses in place of manyRows,
// and returns the old value.
func SetManyRows(rows int) (oldValue int) { return int(many.Swap(int64(rows))) }

// SetGramFeatures is a function for tests. It sets the value that is used in place of gramFeatures,
// and returns the old value.
func SetGramFeatures(n int) (oldValue int) { return int(gram.Swap(int64(n))) }

// Products reports whether a smooth problem with n parameters is solved by products with its rows.
// The other method uses the entries of the problem's Hessian.
func Products(n int) bool { return int64(n) > product.Load() }

// Rows is true if the systems of a smooth problem with n parameters are solved with one unknown for
// each row.
func Rows(rows, n int) bool { return Products(n) && n > rows }

// SetProductFeatures is a function for tests. It sets the value that is used in place of
// productFeatures, and returns the old value.
func SetProductFeatures(n int) (oldValue int) { return int(product.Swap(int64(n))) }

// Gradients reports whether systems of n sparse columns are solved by conjugate gradients.
// Otherwise they are solved with a factor. Let p_j be the penalty of column j, so that the column's
// diagonal entry is d_j + p_j. The parameter penalty is the smallest p_j/d_j, or 0 if this is
// unknown.
func Gradients(n int, penalty float64) bool {
	most := sparse.Load()
	if penalty >= leastPenalty {
		most /= penalisedShare
	}
	return int64(n) > most
}

// SetSparseFeatures is a function for tests. It sets the value that is used in place of
// sparseFeatures, and returns the old value.
func SetSparseFeatures(n int) (oldValue int) { return int(sparse.Swap(int64(n))) }
