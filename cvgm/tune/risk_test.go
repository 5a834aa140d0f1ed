package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// The default number of repeats decreases as the number of fits or the size of the table grows.
func TestTuneRepeats(t *testing.T) {
	w := beginTuning(t, Tuner{}, houseData(40))
	for _, test := range []struct{ fits, folds, want int }{{1, 5, 10}, {140, 5, 10}, {141, 5, 9}, {700, 5, 2}, {701, 5, 1}, {1e6, 5, 1}, {100, 40, 1}, {1, 0, 1}} {
		if got := w.repeats(test.folds, test.fits); got != test.want {
			t.Errorf("%d fits, %d folds: %d repeats, want %d", test.fits, test.folds, got, test.want)
		}
	}
	w.entries = 10 * fitEntries
	if got := w.repeats(5, 200); got != 1 {
		t.Errorf("large table: %d repeats", got)
	}
	w.Repeats = 7
	if got := w.repeats(5, 1e6); got != 7 {
		t.Errorf("Repeats 7: %d repeats", got)
	}
	// The repeats have different folds, and the first repeat has the folds of a single repeat.
	one, three := mustTune(t, Tuner{Repeats: 1, MaxEvals: 3}, houseData(40)).Risk, mustTune(t, Tuner{Repeats: 3, MaxEvals: 3}, houseData(40)).Risk
	if one.Repeats != 1 || three.Repeats != 3 || !slices.Equal(one.OutOfFold[0], three.OutOfFold[0]) || slices.Equal(three.Outer[0][0].Val, three.Outer[1][0].Val) {
		t.Errorf("%d and %d repeats of folds %v", one.Repeats, three.Repeats, three.Outer)
	}
	if _, err := (Tuner{Repeats: -1}).Tune(t.Context(), houseData(40)); err == nil || !strings.Contains(err.Error(), "Tuner.Repeats") {
		t.Errorf("Repeats −1: %v", err)
	}
}

// If MaxTime suffices for a part of the repeats, Tune returns this part and a warning.
func TestTuneMaxTimeCutsRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tuner := slowFits(func(int) time.Duration { return time.Second })
		tuner.Repeats, tuner.MaxEvals = 4, 10
		tuner.MaxTime = 10 * 10 * (1 + 5*2 + 3) * time.Second // the search, two repeats and a part of the third
		tuned := mustTune(t, tuner, houseData(100))
		if tuned.Risk == nil || tuned.Risk.Repeats != 2 || !slices.Contains(tuned.kinds(), FewerRepeats) || slices.Contains(tuned.kinds(), NoRisk) {
			t.Errorf("risk %+v; %v", tuned.Risk, tuned.Warnings)
		}
	})
}

// ownNet is an elastic net of a user-defined type.
type ownNet struct{ linear.ElasticNet }

func (*ownNet) New() learn.Learner { return new(ownNet) }

// The nested estimate compares the tuned model with ridge regression, unless the learner is ridge
// regression itself.
func TestTuneRival(t *testing.T) {
	d := houseData(60)
	for _, test := range []struct {
		tuner Tuner
		d     learn.Data
		want  string
	}{
		{Tuner{}, d, "ridge regression"},
		{Tuner{Fixed: map[string]float64{"lambda1": 0}}, d, ""},
		{Tuner{Fixed: map[string]float64{"λ1": 0}, Learner: new(ownNet)}, d, ""},
		{Tuner{Learner: new(ownNet)}, d, "ridge regression"},
		{Tuner{Fixed: map[string]float64{"λ1": 0}, Learner: &linear.SparseLogistic{Intercept: true}}, twoClasses(60, 3), ""},
		{Tuner{Learner: &linear.SparseLogistic{Intercept: true}}, twoClasses(60, 3), "logistic ridge regression"},
		{Tuner{Learner: &linear.SparseLogistic{Intercept: true}, Loss: cvgm.Hinge{}}, twoClasses(60, 3), "ridge regression"},
		{Tuner{}, twoClasses(60, 3), ""},
	} {
		test.tuner.Repeats, test.tuner.MaxEvals = 1, 12
		r := mustTune(t, test.tuner, test.d).Risk
		_, compared := r.comparisonWith(test.want)
		if r.RivalName != test.want || compared != (test.want != "") || compared != (len(r.Comparisons) == 3) {
			t.Errorf("rival %q of %+v, want %q", r.RivalName, r.Comparisons, test.want)
		}
	}
	bad := mustTune(t, Tuner{Repeats: 1, Fixed: map[string]float64{"λ1": 1e3}}, d)
	if rival, _ := bad.Risk.comparisonWith("ridge regression"); !rival.Worse() || !strings.HasPrefix(bad.Verdict(), "Use ridge regression") {
		t.Errorf("%v\n%v", rival, bad)
	}
}

// If the learner is ridge regression, the nested estimate compares it with the mean label of each
// level of a column.
func TestTuneGroupMeans(t *testing.T) {
	src := synth.NewStream(2, "levels")
	text := "size,other,level,price\n"
	for i := range 80 {
		text += fmt.Sprintf("%.3f,%s,%s,%.4f\n", src.NormFloat64(), []string{"x", "y"}[i%2], []string{"a", "b", "c"}[i/2%3], float64(i/2%3*10)+src.NormFloat64())
	}
	sizes := casetest.Must(table.ReadCSV(strings.NewReader(text), "price"))(t)
	tuned, err := Tuner{Fixed: map[string]float64{"λ1": 0}, Repeats: 1}.TuneTable(t.Context(), sizes)
	if err != nil {
		t.Fatal(err)
	}
	if r := tuned.Risk; r.RivalName != "the means of groups" || !(r.Rival.Mean < 2) || !(r.Constant.Mean > 50) {
		t.Errorf("rival %q with %v, constant %v", r.RivalName, r.Rival, r.Constant)
	}
	w := beginTuning(t, Tuner{}, learn.Data{X: houseData(12).X, Y: []float64{3, 3, 3, 9, 0, 0, 0, 0, 0, 0, 0, 0}})
	for i := range 12 {
		w.c.Data.Dense().Set(i, 0, float64(min(i/3, 1)))
	}
	w.c.Data.Dense().Set(11, 0, 2)
	// Level 0 has the labels 3, 3, 3, and level 1 has a 9 and seven zeros.
	got := w.meansOf(0, cvgm.Split{Train: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Val: []int{0, 3, 11}})
	for k, want := range []float64{(9 + 18./11) / 4, (9 + 18./11) / 9, 18. / 11} {
		if math.Abs(got[k]-want) > sumTol*want {
			t.Errorf("mean %d is %v, want %v", k, got[k], want)
		}
	}
}

// Verdict recommends a model, and String begins with the verdict.
func TestTunedVerdict(t *testing.T) {
	tuned := mustTune(t, Tuner{Repeats: 1}, houseData(60))
	if !strings.HasPrefix(tuned.String(), "Use the tuned model or the default hyperparameters: nothing decides between them") || !strings.Contains(tuned.String(), "better than a constant prediction: gain ") {
		t.Errorf("%v", tuned)
	}
	if without := mustTune(t, Tuner{OuterFolds: -1}, houseData(60)); !strings.HasPrefix(without.Verdict(), "Not decided: there is no nested estimate") {
		t.Errorf("%v", without.Verdict())
	}
	noise := houseData(60)
	src := synth.NewStream(4, "noise")
	for i := range noise.Y {
		noise.Y[i] = src.NormFloat64()
	}
	if of := mustTune(t, Tuner{Repeats: 1}, noise); strings.HasPrefix(of.Verdict(), "Use the tuned model") {
		t.Errorf("noise: %v", of)
	}
}
