package cvgm

import (
	"cmp"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
)

// StratifiedKFold divides the N = len(y) examples into k folds, 2 ≤ k ≤ N. The classes are the
// distinct labels. Each fold has ⌊n_c/k⌋ or ⌈n_c/k⌉ of the n_c examples of each class c, and ⌊N/k⌋
// or ⌈N/k⌉ examples in total. Split j validates on fold j and trains on the other folds, in the
// order of the examples. StratifiedKFold draws one permutation from src.
//
// If a label is not finite, the error matches qpdiff.ErrNotFinite. If k is out of range or a class
// has only one example, it matches qpdiff.ErrDomain, because the split that validates on this
// example could not train on the class.
func StratifiedKFold(src Source, y []float64, k int) ([]Split, error) {
	n := len(y)
	if err := args.First(checkFolds(n, k), args.CheckFinite("y", y, "remove the example")); err != nil {
		return nil, err
	}
	order := src.Perm(n)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(y[a], y[b]) })
	if i := singleExample(y); i >= 0 {
		return nil, args.Bad("y", qpdiff.ErrDomain, "merge or remove the class, or use KFold", "has one example of class %v, at index %d", y[i], i)
	}
	fold := make([]int, n)
	for at, i := range order {
		fold[i] = at % k
	}
	return splitsOf(fold, k), nil
}

// singleExample returns the index of an example that is the only one of its class, or −1 if each
// class has at least two examples. If there are several such examples, it returns the one with the
// lowest label.
func singleExample(y []float64) int {
	count := map[float64]int{}
	for _, v := range y {
		count[v]++
	}
	at := -1
	for i, v := range y {
		if count[v] == 1 && (at < 0 || v < y[at]) {
			at = i
		}
	}
	return at
}

// GroupedKFold divides the N = len(groups) examples into k folds without separating a group.
// Examples with the same value in groups are a group, for example all examples of one patient.
// Split j validates on fold j and trains on the other folds, in the order of the examples.
// GroupedKFold takes the groups from the largest to the smallest, and adds each group to the fold
// with the fewest examples so far. A permutation drawn from src orders groups of equal size. Fold
// sizes differ by at most the size of the largest group.
//
// If k is below 2 or above the number of groups, the error matches qpdiff.ErrDomain.
func GroupedKFold(src Source, groups []int, k int) ([]Split, error) {
	sizes := map[int]int{}
	var names []int
	for _, g := range groups {
		if sizes[g]++; sizes[g] == 1 {
			names = append(names, g)
		}
	}
	if err := args.First(
		args.BadIf(k < 2 || k > len(names), "K", qpdiff.ErrDomain, "use 2 folds at least and no more than there are groups", "is %d for %d groups", k, len(names)),
		checkCount(len(groups), k),
	); err != nil {
		return nil, err
	}
	order := src.Perm(len(names))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[names[b]], sizes[names[a]]) })
	// foldSize[j] is the number of examples in fold j, and foldOf[name] is the fold of the group with
	// this name.
	foldSize, foldOf := make([]int, k), map[int]int{}
	for _, at := range order {
		g := names[at]
		least := slices.Index(foldSize, slices.Min(foldSize))
		foldSize[least] += sizes[g]
		foldOf[g] = least
	}
	fold := make([]int, len(groups))
	for i, g := range groups {
		fold[i] = foldOf[g]
	}
	return splitsOf(fold, k), nil
}

// TimeSplits returns k splits of n examples in the order of time, with an expanding window. The
// last k·⌊n/(k+1)⌋ examples are k blocks of equal length. Split j validates on block j. It trains
// on the examples before block j, except for the last ones before the block; gap is the number of
// these exceptions. Use a gap if examples that are close in time are dependent.
//
// The error matches qpdiff.ErrDomain if n < 2, if k is outside 1 … n−1, or if gap is negative or
// leaves the first split without training rows.
func TimeSplits(n, k, gap int) ([]Split, error) {
	if err := args.First(
		args.BadIf(n < 2 || n > maxRows, "N", qpdiff.ErrDomain, "use 2 to 2³¹ examples", "is %d", n),
		args.BadIf(k < 1 || k >= n, "K", qpdiff.ErrDomain, "use 1 ≤ K < N splits", "is %d for N = %d examples", k, n),
		checkCount(n, k),
	); err != nil {
		return nil, err
	}
	size := n / (k + 1)
	first := n - k*size // validation row of split 0
	if gap < 0 || gap >= first {
		return nil, args.Bad("gap", qpdiff.ErrDomain, "use a gap at or above 0 and below the first validation row", "is %d where the first validation row is %d", gap, first)
	}
	all := sample.Complement(nil, n)
	splits := make([]Split, k)
	for j := range splits {
		start := first + j*size
		splits[j] = Split{Train: slices.Clone(all[:start-gap]), Val: slices.Clone(all[start : start+size])}
	}
	return splits, nil
}

// CheckGroups returns an error if a split trains on one example of a group and validates on another
// example of this group. groups has one entry for each example, and examples of the same group have
// equal entries. The error is a [SplitError] for the first such split; it names the group and
// matches qpdiff.ErrDomain. CheckGroups also returns the errors of [New] for invalid splits.
func CheckGroups(splits []Split, groups []int) error {
	for j, s := range splits {
		if err := s.check(len(groups)); err != nil {
			return &SplitError{j, err}
		}
		trained := map[int]int{}
		for _, i := range s.Train {
			trained[groups[i]] = i
		}
		for _, i := range s.Val {
			if t, ok := trained[groups[i]]; ok {
				return &SplitError{j, args.Bad("Split", qpdiff.ErrDomain, "draw the splits with GroupedKFold",
					"has group %d on both sides: it trains on example %d and validates on example %d", groups[i], t, i)}
			}
		}
	}
	return nil
}

// splitsOf returns k splits, each of which validates on one fold. fold[i] is the number of the fold
// of example i.
func splitsOf(fold []int, k int) []Split {
	splits := make([]Split, k)
	for i, j := range fold {
		splits[j].Val = append(splits[j].Val, i)
	}
	for j := range splits {
		splits[j].Train = sample.Complement(splits[j].Val, len(fold))
	}
	return splits
}
