package linear

import (
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
)

// PerFeature returns 0, 1, …, n−1. Used as Groups, this slice gives each of n features its own pair
// of penalties.
func PerFeature(n int) []int {
	groups := make([]int, n)
	for j := range groups {
		groups[j] = j
	}
	return groups
}

// groupCount returns the number of groups, or 1 if the slice is empty. The result is between 1 and
// the number of features, even if the slice has invalid numbers.
func groupCount(groups []int) int {
	if len(groups) == 0 {
		return 1
	}
	return min(max(0, slices.Max(groups)), len(groups)-1) + 1
}

// penaltyGroups lists the groups of features of one fit. The features of a group share λ1 and λ2.
// The hyperparameters are the λ1 of all groups, followed by the λ2 of all groups.
type penaltyGroups struct {
	of         []int // the group of each feature, empty for one group
	count      int
	seenGroups []bool // work of set
}

// set stores the groups of the n features. It returns an error if a group number is not valid, or
// if a group has no features.
func (p *penaltyGroups) set(groups []int, n int) error {
	p.of, p.count = p.of[:0], 1
	if len(groups) == 0 {
		return nil
	}
	const remedy = "give each feature the number of its group, from 0, or nil for one group"
	if len(groups) != n {
		return check.ArgErrorf("Groups", qpdiff.ErrShape, remedy, "has %d entries for %d features", len(groups), n)
	}
	p.seenGroups = dense.Grow(p.seenGroups, n)
	clear(p.seenGroups)
	for j, g := range groups {
		if g < 0 || g >= n {
			return check.ArgErrorf("Groups", qpdiff.ErrDomain, remedy, "holds %d at index %d where there are at most %d groups", g, j, n)
		}
		p.seenGroups[g] = true
	}
	count := groupCount(groups)
	if g := slices.Index(p.seenGroups[:count], false); g >= 0 {
		return check.ArgErrorf("Groups", qpdiff.ErrDomain, "number the groups without gaps", "gives no feature to group %d of %d", g, count)
	}
	p.of, p.count = append(p.of, groups...), count
	return nil
}

// at returns the number of the group of feature j.
func (p *penaltyGroups) at(j int) int {
	if len(p.of) == 0 {
		return 0
	}
	return p.of[j]
}

// writePenalties writes the penalties of each feature to l1 and l2.
func (p *penaltyGroups) writePenalties(l1, l2, hyper []float64) {
	if len(p.of) == 0 {
		h1, h2 := hyper[0], hyper[1]
		l2 = l2[:len(l1)]
		for j := range l1 {
			l1[j], l2[j] = h1, h2
		}
		return
	}
	for j := range l1 {
		g := p.at(j)
		l1[j], l2[j] = hyper[g], hyper[p.count+g]
	}
}
