package cvgm

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/synth"

	"pgregory.net/rapid"
)

// checkSplits verifies the properties of every kind of split.
func checkSplits(t rapid.TB, splits []Split, n int) {
	t.Helper()
	for j, s := range splits {
		all := slices.Sorted(slices.Values(slices.Concat(s.Train, s.Val)))
		if len(all) != n || len(s.Train) == 0 || len(s.Val) == 0 {
			t.Fatalf("split %d has %d training and %d validation rows of %d", j, len(s.Train), len(s.Val), n)
		}
		for i, v := range all {
			if i != v {
				t.Fatalf("split %d: example %d is missing or double", j, i)
			}
		}
		casetest.OK(t, s.check(n))
	}
}

// countValidations counts how often each example is validated on.
func countValidations(splits []Split, n int) []int {
	counts := make([]int, n)
	for _, s := range splits {
		for _, i := range s.Val {
			counts[i]++
		}
	}
	return counts
}

func TestSplitsPartitionTheExamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := synth.NewStream(rapid.Uint64().Draw(t, "seed"), "splits")
		n := rapid.IntRange(2, 60).Draw(t, "n")
		k := rapid.IntRange(1, 40).Draw(t, "k")
		train := rapid.IntRange(1, n-1).Draw(t, "train")
		p := float64(train) / float64(n)

		random := casetest.Must(RandomSplits(src, n, k, p))(t)
		checkSplits(t, random, n)
		if len(random) != k || len(random[0].Train) != train {
			t.Fatalf("%d splits with %d training rows, want %d and %d", len(random), len(random[0].Train), k, train)
		}

		balanced := casetest.Must(BalancedSplits(src, n, k, p))(t)
		checkSplits(t, balanced, n)
		counts := countValidations(balanced, n)
		if slices.Max(counts)-slices.Min(counts) > 1 {
			t.Fatalf("balanced splits validate unequally often: %v", counts)
		}

		folds := casetest.Must(KFold(src, n, 2+k%(n-1)))(t)
		checkSplits(t, folds, n)
		if counts := countValidations(folds, n); slices.Max(counts) != 1 || slices.Min(counts) != 1 {
			t.Fatalf("folds validate %v times", counts)
		}

		each := casetest.Must(LeaveOneOut(n))(t)
		checkSplits(t, each, n)
	})
}

func TestTrainingRowsAreTheFloorOfPN(t *testing.T) {
	for _, c := range []struct {
		n, want int
		p       float64
	}{{30, 28, .95}, {60, 57, .95}, {100, 95, .95}, {100, 29, .29}, {10, 7, .7}, {2, 1, .5}, {3, 2, .99}, {2, 1, 1 - 0x1p-49}} {
		if got, err := trainRows(c.n, 1, c.p); got != c.want || err != nil {
			t.Errorf("⌊%v·%d⌋ = %d (%v), want %d", c.p, c.n, got, err, c.want)
		}
	}
	src := synth.NewStream(1, "rows")
	for range 10000 {
		n, i := 1000+src.IntN(2000000000), 1+src.IntN(999)
		want := int(int64(i) * int64(n) / 1000)
		if got, err := trainRows(n, 1, float64(i)/1000); got != want || err != nil {
			t.Fatalf("⌊.%03d·%d⌋ = %d (%v), want %d", i, n, got, err, want)
		}
	}
}

func TestSplitsRefuseBadArguments(t *testing.T) {
	src := synth.NewStream(1, "splits")
	split := func(_ []Split, err error) error { return err }
	for name, err := range map[string]error{
		"p = 0":     split(RandomSplits(src, 10, 3, 0)),
		"p = 1":     split(RandomSplits(src, 10, 3, 1)),
		"p NaN":     split(RandomSplits(src, 10, 3, math.NaN())),
		"K = 0":     split(RandomSplits(src, 10, 0, .5)),
		"K < 0":     split(BalancedSplits(src, 10, -1, .5)),
		"N = 1":     split(RandomSplits(src, 1, 3, .5)),
		"N = 0":     split(RandomSplits(src, 0, 1, .5)),
		"no val":    split(BalancedSplits(src, 3, 3, 1-1e-16)),
		"N < 0":     split(RandomSplits(src, -5, 3, .5)),
		"huge N":    split(RandomSplits(src, math.MaxInt, 1, .5)),
		"huge K":    split(RandomSplits(src, 10, math.MaxInt, .5)),
		"K·N":       split(BalancedSplits(src, 1<<16, 1<<16, .5)),
		"folds·N":   split(KFold(src, 1<<17, 1<<17)),
		"N·N":       split(LeaveOneOut(1 << 17)),
		"1 fold":    split(KFold(src, 10, 1)),
		"11 folds":  split(KFold(src, 10, 11)),
		"leave one": split(LeaveOneOut(1)),
	} {
		var arg *qpdiff.ArgError
		if !errors.As(err, &arg) || !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
