package cvgm

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/synth"

	"pgregory.net/rapid"
)

// drawLabels draws n labels of up to the given number of classes, with at least two examples in
// each class.
func drawLabels(t *rapid.T, n, classes int) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = float64(rapid.IntRange(0, classes-1).Draw(t, "class")) - 1.5
	}
	for i := range y {
		if count(y, y[i]) == 1 {
			y[i] = y[(i+1)%n]
		}
	}
	return y
}

func count[T comparable](s []T, v T) int {
	n := 0
	for _, x := range s {
		if x == v {
			n++
		}
	}
	return n
}

func TestStratifiedFoldsHoldEveryClassEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 50).Draw(t, "n")
		y := drawLabels(t, n, rapid.IntRange(1, 6).Draw(t, "classes"))
		for _, v := range y {
			if count(y, v) == 1 {
				t.Skip("a class of one example")
			}
		}
		k := rapid.IntRange(2, n).Draw(t, "k")
		splits := casetest.Must(StratifiedKFold(synth.NewStream(rapid.Uint64().Draw(t, "seed"), "splits"), y, k))(t)
		checkSplits(t, splits, n)
		if counts := countValidations(splits, n); len(splits) != k || slices.Max(counts) != 1 || slices.Min(counts) != 1 {
			t.Fatalf("%d splits validate %v times", len(splits), counts)
		}
		for j, s := range splits {
			if size := len(s.Val); size != n/k && size != (n+k-1)/k {
				t.Fatalf("fold %d holds %d of %d examples", j, size, n)
			}
			labels := make([]float64, len(s.Val))
			for i, row := range s.Val {
				labels[i] = y[row]
			}
			for _, class := range y {
				all, in := count(y, class), count(labels, class)
				if in != all/k && in != (all+k-1)/k || in == all {
					t.Fatalf("fold %d of %d holds %d of the %d examples of class %v", j, k, in, all, class)
				}
			}
		}
	})
}

func TestGroupedFoldsPartNoGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "n")
		groups := make([]int, n)
		sizes := map[int]int{}
		for i := range groups {
			groups[i] = 7*rapid.IntRange(-3, 20).Draw(t, "group") - 100
			sizes[groups[i]]++
		}
		if len(sizes) < 2 {
			t.Skip("one group")
		}
		k := rapid.IntRange(2, len(sizes)).Draw(t, "k")
		splits := casetest.Must(GroupedKFold(synth.NewStream(rapid.Uint64().Draw(t, "seed"), "splits"), groups, k))(t)
		checkSplits(t, splits, n)
		if counts := countValidations(splits, n); len(splits) != k || slices.Max(counts) != 1 {
			t.Fatalf("%d splits validate %v times", len(splits), counts)
		}
		casetest.OK(t, CheckGroups(splits, groups))
		// A fold without its last and smallest group is at most as large as any other fold, because
		// each group joins the smallest fold.
		least := n
		for _, s := range splits {
			least = min(least, len(s.Val))
		}
		for j, s := range splits {
			last := n
			for _, row := range s.Val {
				last = min(last, sizes[groups[row]])
			}
			if len(s.Val)-last > least {
				t.Fatalf("fold %d has %d examples, the last group %d, and another fold %d", j, len(s.Val), last, least)
			}
		}
		free := casetest.Must(KFold(synth.NewStream(1, "free"), n, 2))(t)
		parted := slices.ContainsFunc(free, func(s Split) bool {
			return slices.ContainsFunc(s.Train, func(i int) bool {
				return slices.ContainsFunc(s.Val, func(k int) bool { return groups[i] == groups[k] })
			})
		})
		if err := CheckGroups(free, groups); (err != nil) != parted {
			t.Fatalf("groups %v parted: %v, error %v", groups, parted, err)
		}
	})
}

func TestTimeSplitsValidateAfterTraining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 80).Draw(t, "n")
		k := rapid.IntRange(1, n-1).Draw(t, "k")
		size := n / (k + 1)
		gap := rapid.IntRange(0, n-k*size-1).Draw(t, "gap")
		splits := casetest.Must(TimeSplits(n, k, gap))(t)
		next := n - k*size
		for j, s := range splits {
			casetest.OK(t, s.check(n))
			if len(s.Val) != size || s.Val[0] != next || s.Val[size-1] != next+size-1 || !slices.IsSorted(s.Val) {
				t.Fatalf("split %d validates on %v, want %d rows from %d", j, s.Val, size, next)
			}
			if s.Train[0] != 0 || len(s.Train) != next-gap || s.Train[len(s.Train)-1] != next-gap-1 {
				t.Fatalf("split %d trains on %v, want all before %d", j, s.Train, next-gap)
			}
			next += size
		}
		if len(splits) != k || next != n {
			t.Fatalf("%d splits end at %d of %d", len(splits), next, n)
		}
		if _, err := TimeSplits(n, k, n-k*size); err == nil {
			t.Fatal("a gap that leaves no training rows is accepted")
		}
	})
}

// Folds depend only on the source and the arguments, not on the order of a map.
func TestFoldsRepeat(t *testing.T) {
	y, groups := []float64{2, 1, 2, 1, 2, 1, 2, 2}, []int{5, 5, 1, 9, 9, 1, 3, 3}
	for name, draw := range map[string]func() ([]Split, error){
		"stratified": func() ([]Split, error) { return StratifiedKFold(synth.NewStream(3, "x"), y, 3) },
		"grouped":    func() ([]Split, error) { return GroupedKFold(synth.NewStream(3, "x"), groups, 3) },
	} {
		first := casetest.Must(draw())(t)
		for range 20 {
			again := casetest.Must(draw())(t)
			for j := range first {
				if !slices.Equal(again[j].Train, first[j].Train) || !slices.Equal(again[j].Val, first[j].Val) {
					t.Errorf("%s: %v, then %v", name, first, again)
				}
			}
		}
	}
}

func TestGroupedSplitsRefuseBadArguments(t *testing.T) {
	src := synth.NewStream(1, "splits")
	split := func(_ []Split, err error) error { return err }
	y, groups := []float64{1, 2, 1, 2, 1, 2}, []int{1, 1, 2, 2, 3, 3}
	for name, c := range map[string]struct {
		err  error
		part string
	}{
		"stratified, 1 fold":      {split(StratifiedKFold(src, y, 1)), "K is 1"},
		"stratified, 7 folds":     {split(StratifiedKFold(src, y, 7)), "K is 7 for N = 6"},
		"stratified, no labels":   {split(StratifiedKFold(src, nil, 2)), "N = 0"},
		"stratified, NaN":         {split(StratifiedKFold(src, []float64{1, math.NaN(), 1}, 2)), "y holds NaN at index 1"},
		"stratified, Inf":         {split(StratifiedKFold(src, []float64{1, 1, math.Inf(1)}, 2)), "y holds +Inf at index 2"},
		"stratified, one example": {split(StratifiedKFold(src, []float64{1, 1, 4, 1}, 2)), "one example of class 4, at index 2"},
		"grouped, 1 fold":         {split(GroupedKFold(src, groups, 1)), "K is 1"},
		"grouped, 4 folds":        {split(GroupedKFold(src, groups, 4)), "K is 4 for 3 groups"},
		"grouped, none":           {split(GroupedKFold(src, nil, 2)), "for 0 groups"},
		"time, K = 0":             {split(TimeSplits(10, 0, 0)), "K is 0"},
		"time, N = 1":             {split(TimeSplits(1, 1, 0)), "N is 1"},
		"time, N < 0":             {split(TimeSplits(-3, 1, 0)), "N is -3"},
		"time, huge N":            {split(TimeSplits(math.MaxInt, 1, 0)), "N is "},
		"time, huge K":            {split(TimeSplits(10, math.MaxInt, 0)), "K is "},
		"time, K = N":             {split(TimeSplits(10, 10, 0)), "K is 10 for N = 10"},
		"time, gap < 0":           {split(TimeSplits(10, 2, -1)), "gap is -1"},
		"time, wide gap":          {split(TimeSplits(10, 2, 4)), "gap is 4"},
		"time, huge gap":          {split(TimeSplits(10, 2, math.MaxInt)), "gap is "},
		"parted":                  {CheckGroups([]Split{{[]int{0, 1}, []int{2, 3}}, {[]int{0, 2}, []int{4, 3}}}, groups), "cvgm: split 1: Split has group 2 on both sides: it trains on example 2 and validates on example 3"},
		"no such example":         {CheckGroups([]Split{{[]int{0, 1}, []int{6}}}, groups), "cvgm: split 0: Split holds index 6 for N = 6"},
	} {
		if c.err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		var arg *qpdiff.ArgError
		if !errors.As(c.err, &arg) || !errors.Is(c.err, qpdiff.ErrDomain) && !errors.Is(c.err, qpdiff.ErrNotFinite) || !strings.Contains(c.err.Error(), c.part) {
			t.Errorf("%s: error %v lacks %q", name, c.err, c.part)
		}
	}
}
