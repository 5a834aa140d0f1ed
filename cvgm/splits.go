package cvgm

import (
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
)

// A Source supplies the random numbers of splits and initial weights. The generators of package
// synth satisfy it.
type Source = search.Source

// A Split divides the examples 0 … N-1 of a data set. The learner is fitted to the Train rows and
// judged on the Val rows. [New] returns an error if an index occurs twice in a split, whether in
// one part or in both. For a bootstrap sample, repeat the rows in Data.
type Split struct{ Train, Val []int }

// RandomSplits draws the splits of Algorithm 1. For each of the k splits it draws a random
// permutation of the n examples from src. The first ⌊p·n⌋ entries of the permutation are the
// training rows, and the other entries are the validation rows. k = 1 is simple out-of-sample
// validation, the paper's K = 1.
//
// An evaluation of the CV loss on k random splits costs k times an evaluation on one. This also
// holds with a [learn.FoldLearner], which computes sums over all rows once for all splits, but
// solves a system for each split.
func RandomSplits(src Source, n, k int, p float64) ([]Split, error) {
	train, err := trainRows(n, k, p)
	if err != nil {
		return nil, err
	}
	splits := make([]Split, k)
	for j := range splits {
		perm := src.Perm(n)
		splits[j] = Split{Train: perm[:train:train], Val: perm[train:]}
	}
	return splits, nil
}

// KFold draws one permutation of the n examples and cuts it into k folds, whose sizes differ by at
// most one. Split j validates on fold j and trains on the others.
func KFold(src Source, n, k int) ([]Split, error) {
	if err := checkFolds(n, k); err != nil {
		return nil, err
	}
	return folds(src.Perm(n), k), nil
}

// LeaveOneOut returns the n splits that validate on one example each, in the order of the examples.
// A [learn.LeaveOneOutLearner] fits all of them at once, which makes [CV.Eval] about as costly as
// one fit. This requires unchanged features and labels, so Standardise must be false and the
// centring must be NoCentring. If one of these fits fails, the CV fits the splits one by one
// instead.
func LeaveOneOut(n int) ([]Split, error) {
	if err := args.First(args.BadIf(n < 2, "N", qpdiff.ErrDomain, "leave-one-out needs two examples", "is %d", n), checkCount(n, n)); err != nil {
		return nil, err
	}
	return folds(sample.Complement(nil, n), n), nil
}

// BalancedSplits draws k splits with ⌊p·n⌋ training rows each, like [RandomSplits]. But it takes
// the validation rows from one random permutation after the other. If a split already validates on
// the next example of the permutation, this example waits for the next split. For any two examples,
// the numbers of splits that validate on them then differ by at most one. This is the "uniform
// sampling of splits" that the paper proposes as an improvement (Section 4).
func BalancedSplits(src Source, n, k int, p float64) ([]Split, error) {
	train, err := trainRows(n, k, p)
	if err != nil {
		return nil, err
	}
	val := n - train
	splits := make([]Split, k)
	var deck []int // the rest of the current permutation
	inVal := make([]bool, n)
	for j := range splits {
		clear(inVal)
		hand := make([]int, 0, val)
		for len(hand) < val {
			if len(deck) == 0 {
				deck = src.Perm(n)
				// Examples that already are in this split's validation rows move to the end of the new
				// permutation, and thereby into later splits.
				late := slices.DeleteFunc(slices.Clone(deck), func(i int) bool { return !inVal[i] })
				deck = append(slices.DeleteFunc(deck, func(i int) bool { return inVal[i] }), late...)
			}
			i := deck[0]
			deck = deck[1:]
			inVal[i] = true
			hand = append(hand, i)
		}
		splits[j] = Split{Train: sample.Complement(hand, n), Val: hand}
	}
	return splits, nil
}

// TrainRows returns ⌊p·n⌋, the number of training rows in each split of n examples by
// [RandomSplits] and [BalancedSplits]. Rounding may put the product p·n just below a whole number,
// as with .29·100. TrainRows then returns this whole number. If no training row or no validation
// row would be left, or if p is not between 0 and 1, it returns an error of kind
// [qpdiff.ErrDomain].
func TrainRows(n int, p float64) (int, error) {
	if err := args.First(args.BadIf(!(p > 0 && p < 1), "p", qpdiff.ErrDomain, "use a fraction strictly between 0 and 1", "is %v", p),
		args.BadIf(n < 0 || n > maxRows, "N", qpdiff.ErrDomain, "use 2 to 2³¹ examples", "is %d", n)); err != nil {
		return 0, err
	}
	train := int(math.Floor(p * float64(n) * (1 + wholeTol)))
	if train < 1 || train >= n {
		return 0, args.Bad("N", qpdiff.ErrDomain, "use more examples or another p",
			"= %d with p = %v leaves %d training and %d validation rows", n, p, train, n-train)
	}
	return train, nil
}

// trainRows does the work of TrainRows. It also returns an error if k splits would have more than
// maxRows rows in all.
func trainRows(n, k int, p float64) (int, error) {
	train, err := TrainRows(n, p)
	if err != nil {
		return 0, err
	}
	return train, checkCount(n, k)
}

// If p·n lies below a whole number by a relative difference of at most wholeTol, it counts as this
// number. The decimal fraction p has a relative error of at most 2⁻⁵³, and the product adds another
// rounding error of the same size.
const wholeTol = 0x1p-51

// maxRows bounds the number of examples, and the number of rows of all splits together. 2³¹ rows
// take 16 GiB.
const maxRows = math.MaxInt32

// checkCount returns an error if k splits of n examples are too few (k < 1) or too many for any
// memory.
func checkCount(n, k int) error {
	return args.First(
		args.BadIf(k <= 0, "K", qpdiff.ErrDomain, "ask for at least one split", "is %d", k),
		args.BadIf(k > maxRows/max(n, 1), "K", qpdiff.ErrDomain, "ask for fewer than 2³¹ rows in all", "is %d for N = %d examples", k, n))
}

func folds(order []int, k int) []Split {
	n := len(order)
	splits := make([]Split, k)
	for j := range splits {
		lo, hi := j*n/k, (j+1)*n/k
		splits[j] = Split{Train: slices.Concat(order[:lo], order[hi:]), Val: order[lo:hi:hi]}
	}
	return splits
}

// check returns an error if s is not a split of n examples.
func (s Split) check(n int) error {
	if len(s.Train) == 0 || len(s.Val) == 0 {
		return args.Bad("Split", qpdiff.ErrEmpty, "give every split training and validation rows",
			"has %d training and %d validation rows", len(s.Train), len(s.Val))
	}
	seen := make([]bool, n)
	for _, rows := range [][]int{s.Train, s.Val} {
		for _, i := range rows {
			if i < 0 || i >= n {
				return args.Bad("Split", qpdiff.ErrDomain, "use indices from 0 to N-1", "holds index %d for N = %d examples", i, n)
			}
			if seen[i] {
				return args.Bad("Split", qpdiff.ErrDomain, "give every index once, in one of the two parts; copy rows of Data for a bootstrap sample", "holds index %d twice", i)
			}
			seen[i] = true
		}
	}
	return nil
}

// checkFolds returns an error if n examples cannot be divided into k folds.
func checkFolds(n, k int) error {
	return args.First(args.BadIf(k < 2 || k > n, "K", qpdiff.ErrDomain, "use 2 ≤ K ≤ N folds", "is %d for N = %d examples", k, n), checkCount(n, k))
}
