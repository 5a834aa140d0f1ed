package tune

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
)

// drawSplits returns the splits of the CV loss on some of the rows.
func (w *tuning) drawSplits(rows []int, folds int) ([]cvgm.Split, error) {
	if w.Tuner.Splits != nil {
		return restrictSplits(w.Tuner.Splits, rows), nil
	}
	arg := "Tuner.Folds"
	if w.Folds == 0 {
		arg = ""
	}
	if folds == 0 {
		folds = smallFolds
		if len(rows) > largeData || w.isLarge() {
			folds = largeFolds
		}
		if folds = min(folds, w.mostFolds(rows)); folds < 2 {
			return nil, args.Bad(w.groupsField(), qpdiff.ErrDomain, "give two or more", "has one group for %d examples", len(rows))
		}
	}
	return w.draw(rand.New(rand.NewPCG(w.Seed, 0)), rows, folds, arg)
}

// mostFolds returns the largest number of folds of the rows.
func (w *tuning) mostFolds(rows []int) int {
	if w.Groups != nil {
		seen := map[int]bool{}
		for _, i := range rows {
			seen[w.Groups[i]] = true
		}
		return len(seen)
	}
	if w.classes() {
		positive := 0
		for _, i := range rows {
			if w.c.Data.Y[i] > 0 {
				positive++
			}
		}
		if smaller := min(positive, len(rows)-positive); smaller > 1 {
			return min(len(rows), max(2, smaller))
		}
	}
	return len(rows)
}

// draw draws folds of the rows. If the user has set a field to the number of folds, arg is the name
// of this field, which errors mention. Otherwise arg is "".
func (w *tuning) draw(src cvgm.Source, rows []int, folds int, arg string) ([]cvgm.Split, error) {
	var splits []cvgm.Split
	var err error
	switch {
	case w.Groups != nil:
		splits, err = w.drawGroups(src, rows, folds)
	case w.stratified():
		y := sample.Pick(w.c.Data.Y, rows)
		if w.table != nil { // StratifiedKFold would name the label and its index
			for _, label := range w.classLabels() {
				if rows := countOf(y, label); rows == 1 {
					return nil, args.Bad("Table", qpdiff.ErrDomain, "give more rows of it, or merge or remove the class", "has one row of the class %s", w.label(label))
				}
			}
		}
		splits, err = cvgm.StratifiedKFold(src, y, folds)
	default:
		splits, err = cvgm.KFold(src, len(rows), folds)
	}
	if err != nil && arg != "" {
		return nil, args.At(err, "%s", arg)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range splits {
		for _, part := range [][]int{s.Train, s.Val} {
			for k, at := range part {
				part[k] = rows[at]
			}
		}
	}
	return splits, nil
}

// drawGroups tries to leave at least groupsOfAClass groups of each class in all training rows, with
// at most groupDraws draws. A search on the training rows of an outer fold draws folds again. If a
// class has only one group in these rows, one of the new splits trains without the class.
const (
	groupDraws     = 20
	groupsOfAClass = 2
)

// drawGroups draws folds of groups. For classes, the training rows of each split should contain at
// least groupsOfAClass groups of each class. If they do not, drawGroups draws again, up to
// groupDraws times in all. If no draw is sufficient, it returns the first of the best draws.
func (w *tuning) drawGroups(src cvgm.Source, rows []int, folds int) (bestDraw []cvgm.Split, err error) {
	groups, most := sample.Pick(w.Groups, rows), -1
	for range groupDraws {
		splits, err := cvgm.GroupedKFold(src, groups, folds)
		if err != nil || !w.stratified() {
			return splits, err
		}
		if least := w.leastGroups(splits, rows); least > most {
			bestDraw, most = splits, least
		}
		if most >= groupsOfAClass {
			break
		}
	}
	return bestDraw, nil
}

// leastGroups counts the groups with a training row of a class. It returns the smallest count for
// any split and class. The splits hold positions in the list rows. Rows of weight 0 do not count.
func (w *tuning) leastGroups(splits []cvgm.Split, rows []int) int {
	least := len(rows)
	for _, s := range splits {
		for _, label := range w.classLabels() {
			seen := map[int]bool{}
			for _, at := range s.Train {
				if i := rows[at]; w.c.Data.Y[i] == label && w.weight(i) > 0 {
					seen[w.Groups[i]] = true
				}
			}
			least = min(least, len(seen))
		}
	}
	return least
}

// drawOuterFolds returns the outer folds of one repeat, at most as many as the parameter folds.
// Repeats are numbered from 0.
//
// Each repeat has its own seed, drawn by rand.NewPCG(Seed, 1). With this seed, the outer folds are
// drawn like the folds of the search.
//
// If the user's splits are in the order of time, the outer folds are the last of these splits. A
// split is skipped if no earlier split remains for its search, or if one of its validation rows is
// also in a later outer fold.
func (w *tuning) drawOuterFolds(rows []int, folds, repeatNumber int) ([]cvgm.Split, error) {
	if w.ordered() {
		var last []cvgm.Split
		taken := map[int]bool{}
		for _, s := range slices.Backward(restrictSplits(w.Tuner.Splits, rows)) {
			if len(last) == folds {
				break
			}
			if len(restrictSplits(w.Tuner.Splits, s.Train)) == 0 || slices.ContainsFunc(s.Val, func(i int) bool { return taken[i] }) {
				continue
			}
			for _, i := range s.Val {
				taken[i] = true
			}
			last = append(last, s)
		}
		if len(last) < 2 {
			return nil, args.Bad("Tuner.Splits", qpdiff.ErrShape, "give more, or OuterFolds: -1", "are in the order of time, and have %d with others before them where two are needed", len(last))
		}
		slices.Reverse(last)
		return last, nil
	}
	seed, seeds := w.Seed, rand.New(rand.NewPCG(w.Seed, 1))
	for range repeatNumber + 1 {
		seed = seeds.Uint64()
	}
	arg := ""
	if w.OuterFolds > 0 {
		arg = "Tuner.OuterFolds"
	}
	return w.draw(rand.New(rand.NewPCG(seed, 0)), rows, folds, arg)
}

// innerSplits returns the splits of a search on some of the rows. If the user has set no splits,
// there are at most as many as the parameter folds.
func (w *tuning) innerSplits(rows []int, folds int) ([]cvgm.Split, error) {
	if w.Tuner.Splits == nil {
		if folds = min(folds, w.mostFolds(rows)); folds < 2 {
			return nil, args.Bad(w.groupsField(), qpdiff.ErrDomain, "give three groups or more, or OuterFolds: -1", "leaves one group to the search")
		}
	}
	splits, err := w.drawSplits(rows, folds)
	if err == nil && len(splits) == 0 {
		return nil, args.Bad("Tuner.Splits", qpdiff.ErrShape, "use Folds, or OuterFolds: -1", "have no rows of an outer fold")
	}
	return splits, err
}

// checkTrained returns an error if the training rows of a split lack a class that occurs in other
// rows. A joint model of several classes requires all classes. Some learners of two classes require
// both.
func (w *tuning) checkTrained(splits []cvgm.Split) error {
	if !w.stratified() {
		return nil
	}
	for _, label := range w.classLabels() {
		counts := func(i int) bool { return w.c.Data.Y[i] == label && w.weight(i) > 0 }
		j := slices.IndexFunc(splits, func(s cvgm.Split) bool { return !slices.ContainsFunc(s.Train, counts) })
		rows := slices.DeleteFunc(w.rows(), func(i int) bool { return !counts(i) })
		switch {
		case j < 0 || len(rows) == 0:
			continue
		case w.Groups == nil || w.Tuner.Splits != nil:
			return args.Bad("Split", qpdiff.ErrDomain, "give more rows of it, merge or remove the class, or draw other splits", "number %d trains on no row of the class %s", j, w.label(label))
		}
		groups := "one group"
		if n := w.mostFolds(rows); n > 1 {
			groups = fmt.Sprintf("%d groups", n)
		}
		return args.Bad(w.groupsField(), qpdiff.ErrDomain, "give rows of it in more groups, merge or remove the class, or leave the groups out",
			"has the class %s in %s alone, and split %d trains on no row of it", w.label(label), groups, j)
	}
	return nil
}

// groupsField returns the name of the field that gives the groups, for errors.
func (w *tuning) groupsField() string {
	if w.table != nil && len(w.table.Groups) > 0 && &w.table.Groups[0] == &w.Groups[0] {
		return "CSV.Group"
	}
	return "Tuner.Groups"
}

// restrictSplits returns the splits, limited to the given rows. It leaves out a split that then has no
// training row or no validation row.
func restrictSplits(splits []cvgm.Split, rows []int) []cvgm.Split {
	in := map[int]bool{}
	for _, i := range rows {
		in[i] = true
	}
	var some []cvgm.Split
	for _, s := range splits {
		keep := func(part []int) []int {
			return slices.DeleteFunc(slices.Clone(part), func(i int) bool { return !in[i] })
		}
		if s = (cvgm.Split{Train: keep(s.Train), Val: keep(s.Val)}); len(s.Train) > 0 && len(s.Val) > 0 {
			some = append(some, s)
		}
	}
	return some
}

// countOf returns how many entries of y are v.
func countOf(y []float64, v float64) (n int) {
	for _, w := range y {
		if w == v {
			n++
		}
	}
	return n
}

// ordered reports whether the user gave the splits and all of them are ordered. In an ordered
// split, all training rows come before the validation rows.
func (w *tuning) ordered() bool {
	return w.Tuner.Splits != nil && !slices.ContainsFunc(w.Tuner.Splits, func(s cvgm.Split) bool { return slices.Max(s.Train) > slices.Min(s.Val) })
}
