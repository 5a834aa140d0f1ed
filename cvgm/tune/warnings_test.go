package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// lineData returns n rows of two features, whose labels come from the function label.
func lineData(n int, label func(row []float64, noise float64) float64) learn.Data {
	src := synth.NewStream(3, "warnings")
	d := learn.Data{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
	for i := range d.Y {
		row := d.Dense().RawRowView(i)
		row[0], row[1] = src.NormFloat64(), src.NormFloat64()
		d.Y[i] = label(row, src.NormFloat64())
	}
	return d
}

func noisy(row []float64, noise float64) float64 { return row[0] + noise }

func warningText(t *Tuned, kind WarningKind) string {
	for _, w := range t.Warnings {
		if w.Kind == kind {
			return w.Text
		}
	}
	return ""
}

func TestFixedRefusesTwoSpellings(t *testing.T) {
	fixed := map[string]float64{"λ1": 1, "lambda1": 2}
	if _, err := (Tuner{Fixed: fixed}).Tune(t.Context(), lineData(20, noisy)); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "λ1 twice") {
		t.Errorf("%v", err)
	}
}

// Tune warns of an example whose share of the total weight exceeds dominantShare.
func TestDominantWeight(t *testing.T) {
	d := lineData(60, noisy)
	d.Weights = slices.Repeat([]float64{1}, 60)
	for _, weight := range []float64{1, 10, 60, 1e6, 1e17, 1e150} {
		d.Weights[7] = weight
		tuned := mustTune(t, Tuner{Repeats: 1}, d)
		text, share := warningText(tuned, DominantWeight), weight/(weight+59)
		if (share > dominantShare) != (text != "") || text != "" && !strings.HasPrefix(text, "The example at index 7 has ") {
			t.Errorf("the share %.2f: %q", share, text)
		}
		if strings.Contains(text, " 1 examples") || weight == 1e6 && !strings.HasSuffix(text, " as with one example.") {
			t.Error(text)
		}
		// The standard error of the CV loss is infinite if and only if the interval of the risk is
		// infinite.
		for _, c := range []Candidate{tuned.Winner, {StandardError: tuned.StandardError}} {
			if math.IsInf(c.StandardError, 1) != math.IsInf(tuned.Risk.Tuned.High, 1) {
				t.Errorf("the share %.2f: the CV loss ± %v, the risk %v", share, c.StandardError, tuned.Risk.Tuned)
			}
		}
		if c, _ := tuned.Risk.comparisonWith(constantName); weight >= 1e6 && (c.Better() || c.Worse()) {
			t.Errorf("one example decides: %v", c)
		}
	}
	d.Weights = nil
	for i := range d.Y {
		d.Y[i] = map[bool]float64{true: 1, false: -1}[i%10 == 0]
	}
	if text := warningText(mustTune(t, Tuner{Balanced: true, Repeats: 1}, d), DominantWeight); text != "" {
		t.Error(text)
	}
}

// Tune warns of missing intervals if there are too few examples for a nested estimate.
func TestMissingIntervalsAreNamed(t *testing.T) {
	for _, n := range []int{leastOuter - 1, leastOuter} {
		tuned := mustTune(t, Tuner{Intervals: true}, lineData(n, noisy))
		if (warningText(tuned, NoIntervals) != "") != (tuned.Intervals == nil) || (tuned.Intervals == nil) != (n < leastOuter) {
			t.Errorf("%d examples: %v", n, tuned)
		}
	}
}

// Tune distinguishes a hyperparameter at its bound from one that is only near its bound.
func TestBoundsAreNear(t *testing.T) {
	free := []bool{true}
	for _, test := range []struct {
		v    float64
		want string
	}{
		{1, " ended at the lower bound "},
		{math.Exp(math.Log(1.3) - math.Log(1.3)), " ended at the lower bound "},
		{1.3, " ended near the lower bound "},
		{20, ""},
		{40, " ended near the upper bound "},
		{math.Exp(math.Log(50)), " ended at the upper bound "},
	} {
		w := &tuning{result: &Tuned{Hyper: []float64{test.v}}}
		w.warnOfBounds(&tuneSearch{space: space{hyper: []learn.Hyperparameter{{Name: "λ1", Lower: 1, Upper: 50}}, isFree: free}})
		if text := warningText(w.result, AtBound); !strings.Contains(text, test.want) || (text == "") != (test.want == "") {
			t.Errorf("%v: %q, want %q", test.v, text, test.want)
		}
	}
}

// For equal labels or exact fits, the description of the result has no meaningless comparisons.
func TestVerdictsWithoutErrors(t *testing.T) {
	constant := mustTune(t, Tuner{}, lineData(40, func([]float64, float64) float64 { return 5 }))
	if warningText(constant, NoImprovement) != "" || constant.Verdict() != "Use a constant prediction: its CV loss is 0." || strings.Contains(constant.String(), "NaN") {
		t.Errorf("%v", constant)
	}
	exact := mustTune(t, Tuner{}, lineData(40, func(row []float64, _ float64) float64 { return row[0] + 2*row[1] }))
	if !strings.HasPrefix(exact.Verdict(), "Use the tuned model") || !strings.Contains(exact.String(), "equal to ridge regression up to rounding") {
		t.Errorf("%v", exact)
	}
}

// Tune does not warn of overfitting after an exact fit, because its losses are rounding errors.
func TestExactFitsAreNotOverfitted(t *testing.T) {
	src := synth.NewStream(4, "weights of exact fits")
	for range 20 {
		d := lineData(40, func(row []float64, _ float64) float64 { return row[0] + 2*row[1] })
		for range d.Y {
			d.Weights = append(d.Weights, math.Exp(src.NormFloat64()))
		}
		if tuned := mustTune(t, Tuner{OuterFolds: -1}, d); warningText(tuned, Overfitting) != "" {
			t.Fatalf("%v", tuned)
		}
	}
}

// A verdict states that tuning is worse only if a comparison has decided this.
func TestVerdictNamesTheCVLoss(t *testing.T) {
	tuner, d := overfitted()
	tuner.OuterFolds = -1
	if v := mustTune(t, tuner, d).Verdict(); v != "Use a constant prediction, which Model is: the CV loss of the tuned model is higher." {
		t.Error(v)
	}
	tuner.OuterFolds = 0
	tuned := mustTune(t, tuner, d)
	if c, _ := tuned.Risk.comparisonWith(constantName); c.Worse() != strings.HasSuffix(tuned.Verdict(), "the tuned model is worse.") {
		t.Errorf("%v", tuned)
	}
}

// If each group has only one class, every search still trains on both classes.
func TestPureGroups(t *testing.T) {
	const n, groups = 60, 6
	for seed := range uint64(20) {
		tuner := Tuner{Groups: make([]int, n), Seed: seed, Repeats: 3}
		d := lineData(n, noisy)
		for i := range d.Y {
			tuner.Groups[i] = i * groups / n
			d.Y[i] = math.Copysign(1, float64(i-n/2)+.5)
		}
		tuned := mustTune(t, tuner, d)
		if tuned.Risk == nil || tuned.Risk.Repeats != 3 {
			t.Errorf("seed %d: %v", seed, tuned)
		}
	}
}

// If a split has no training row of a class, the error names the class and a remedy. In an outer
// fold, the same text is a warning.
func TestClassOfFewGroups(t *testing.T) {
	const groups, remedy = 8, "give rows of it in more groups, merge or remove the class, or leave the groups out"
	for name, c := range map[string]struct {
		classes, own int // of the groups, the first ones have the last class
		learner      learn.Learner
		fails        bool
		words        string
	}{
		"logistic":            {2, 1, nil, true, `has the class "c1" in one group alone, and split `},
		"SVM":                 {2, 1, new(margin.SVM), true, `has the class "c1" in one group alone, and split `},
		"logistic, outer":     {2, 2, nil, false, `has the class "c1" in 2 groups alone, and split `},
		"multinomial":         {3, 1, nil, true, `has the class "c2" in one group alone, and split `},
		"multinomial, outer":  {3, 2, nil, false, `has the class "c2" in 2 groups alone, and split `},
		"has learner for all": {2, 1, new(linear.SparseLogistic), false, ""},
	} {
		var b strings.Builder
		b.WriteString("a,patient,y\n")
		for i := range 96 {
			group, class := i%groups, i/groups%c.classes
			if class == c.classes-1 && group >= c.own {
				class = 0
			}
			fmt.Fprintf(&b, "%d,P%d,c%d\n", i*i%17+class, group, class)
		}
		for _, arg := range []string{"CSV.Group", "Tuner.Groups"} {
			tbl := casetest.Must(table.CSV{Target: "y", Group: "patient"}.Read(strings.NewReader(b.String())))(t)
			tuner := Tuner{Repeats: 1}
			if c.learner != nil {
				tuner.Learner = c.learner
			}
			if arg == "Tuner.Groups" {
				tuner.Groups = slices.Clone(tbl.Groups)
			}
			var tuned *Tuned
			var err error
			if c.classes == 2 {
				tuned, err = tuner.TuneTable(t.Context(), tbl)
			} else if all, e := tuner.TuneClasses(t.Context(), tbl); e != nil {
				err = e
			} else {
				tuned = all.Joint
			}
			if (err != nil) != c.fails {
				t.Errorf("%s, %s: %v", name, arg, err)
				continue
			}
			text := fmt.Sprint(err)
			if !c.fails {
				text = warningText(tuned, NoRisk)
			}
			if c.words == "" && text != "" || c.words != "" && !(strings.Contains(text, arg+" "+c.words) && strings.Contains(text, remedy)) {
				t.Errorf("%s, %s: %q", name, arg, text)
			}
		}
	}
}

// Tune warns of random folds if the table has dates, but not if it has only times of day, and not
// with splits that the user sets.
func TestRandomFoldsOfDates(t *testing.T) {
	read := func(name string, field func(i int) string) *table.Table {
		var b strings.Builder
		fmt.Fprintf(&b, "%s,a,y\n", name)
		for i := range 30 {
			fmt.Fprintf(&b, "%s,%d,%d\n", field(i), i*i%11, 2*(i*i%11)+i%3)
		}
		return casetest.Must(table.ReadCSV(strings.NewReader(b.String()), "y"))(t)
	}
	dates := read("sold", func(i int) string { return fmt.Sprintf("2024-%02d-%02d", 1+i/10, 1+i%10*2) })
	for name, c := range map[string]struct {
		of     *table.Table
		splits []cvgm.Split
		warns  bool
	}{
		"dates":            {dates, nil, true},
		"in time":          {dates, casetest.Must(cvgm.TimeSplits(30, 4, 0))(t), false},
		"times of day":     {read("at", func(i int) string { return fmt.Sprintf("%02d:%02d", i%24, i) }), nil, false},
		"numbers":          {read("b", func(i int) string { return fmt.Sprint(i * i % 7) }), nil, false},
		"without a column": {casetest.Must(dates.WithEffects(table.Effect{Column: "a"}))(t), nil, false},
	} {
		tuned := casetest.Must(Tuner{Splits: c.splits, OuterFolds: -1}.TuneTable(t.Context(), c.of))(t)
		text := warningText(tuned, RandomFolds)
		if c.warns != (text != "") || c.warns && (!strings.HasPrefix(text, `Column "sold" holds dates`) || !strings.Contains(text, "cvgm.TimeSplits")) {
			t.Errorf("%s: %q", name, text)
		}
	}
}
