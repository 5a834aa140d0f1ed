package tune

import (
	"context"
	"encoding/json"
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
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// classTable returns a table of three classes, in which the mean of the column a is the class
// number times shift.
func classTable(t *testing.T, rows int, shift float64, class func(i int) int) *table.Table {
	t.Helper()
	src := synth.NewStream(11, "kinds")
	text := "a,b,level,kind\n"
	for i := range rows {
		c := class(i)
		text += fmt.Sprintf("%.4f,%.4f,%s,k%d\n", shift*float64(c)+src.NormFloat64(), src.NormFloat64(), []string{"u", "v"}[i%2], c)
	}
	return casetest.Must(table.ReadCSV(strings.NewReader(text), "kind"))(t)
}

func byThrees(i int) int { return i % 3 }

// TuneClasses tunes one joint model of all classes, whose estimated risk equals the log loss of the
// out-of-fold probabilities.
func TestTuneClassesJointly(t *testing.T) {
	tbl := classTable(t, 60, 1.5, func(i int) int { return max(0, i%4-1) }) // shares ½, ¼, ¼
	tuned := casetest.Must(Tuner{Repeats: 1}.TuneClasses(t.Context(), tbl))(t)
	one := tuned.Joint
	if one == nil || tuned.Tuned != nil || one.Model != nil || one.Pipeline != nil || len(one.ClassModels) != 3 || one.Choice != ChoseWinner {
		t.Fatalf("%+v", tuned)
	}
	cv := casetest.Must(cvgm.New(one.Config))(t)
	lowest := math.Inf(1)
	for e := -6.; e <= 8; e += .25 {
		lowest = min(lowest, casetest.Must(cv.Eval(nil, []float64{math.Exp(e)}))(t))
	}
	if one.Loss > lowest+1e-3*one.ConstantLoss {
		t.Errorf("CV loss %v, on a grid %v", one.Loss, lowest)
	}
	if train := casetest.Must(cvgm.ClassRisk(one.ClassModels, cvgm.LogisticLoss{}, one.Config.Data))(t); train != one.TrainLoss {
		t.Errorf("training loss %v, want %v", one.TrainLoss, train)
	}
	if got, want := one.Risk.Tuned.Mean, tuned.Metrics.Probabilities.LogLoss; !casetest.Near(got, want, sumTol) {
		t.Errorf("the estimated risk is %v, and the log loss of the same predictions %v", got, want)
	}
	for i, p := range one.Risk.OutOfFoldClasses[0] {
		own := p[int(tbl.Y[i])]
		if odds := math.Log(own / (1 - own)); !casetest.Near(odds, one.Risk.OutOfFold[0][i], 1e-6) {
			t.Fatalf("row %d: the own class has the log odds %v, and the probabilities %v", i, one.Risk.OutOfFold[0][i], p)
		}
	}
	constant := 0. // by hand: the shares of each split's training rows
	for _, s := range one.Splits {
		shares := make([]float64, 3)
		for _, i := range s.Train {
			shares[int(tbl.Y[i])] += 1 / float64(len(s.Train))
		}
		for _, i := range s.Val {
			constant -= math.Log(shares[int(tbl.Y[i])]) / float64(len(s.Val)*len(one.Splits))
		}
	}
	if !casetest.Near(one.ConstantLoss, constant, sumTol) {
		t.Errorf("constant loss %v, want %v", one.ConstantLoss, constant)
	}
	for j, s := range one.Splits { // folds by class
		var counts [3]int
		for _, i := range s.Val {
			counts[int(tbl.Y[i])]++
		}
		if counts[0] != 3 || counts[1]+counts[2] != 3 {
			t.Errorf("split %d validates on %v rows of each class", j, counts)
		}
	}
	if one.Risk.RivalName != "the means of groups" || !strings.Contains(tuned.String(), "accuracy") || tuned.Metrics.Majority != .5 {
		t.Errorf("%v", tuned)
	}
	pipeline := casetest.Must(tuned.Pipeline())(t)
	var read table.OneVsRest
	casetest.OK(t, json.Unmarshal(casetest.Must(json.Marshal(pipeline))(t), &read))
	if !slices.Equal(casetest.Must(read.Class(tbl))(t), casetest.Must(tuned.Class(tbl))(t)) || !read.Joint {
		t.Error("read from JSON the pipeline finds other classes")
	}
	importance := casetest.Must(one.Importance(t.Context(), 3, 0))(t)
	if importance[0].Column != "a" || importance[0].Increase.Low < 5 {
		t.Errorf("importance %v", importance)
	}
}

// The class shares of a level include one additional row with the overall shares.
func TestMeansOfGroupsOfClasses(t *testing.T) {
	d := learn.Data{X: mat.NewDense(8, 1, []float64{0, 0, 0, 0, 1, 1, 1, 1}), Y: []float64{0, 0, 1, 2, 1, 1, 2, 2}}
	w := &tuning{c: cvgm.Config{Data: d, Loss: cvgm.LogisticLoss{}}, outputs: 3}
	got := w.meansOf(0, cvgm.Split{Train: []int{0, 1, 2, 3, 4, 5, 6, 7}, Val: []int{0, 2, 7}})
	for at, share := range []float64{(2 + 2./8) / 5, (1 + 3./8) / 5, (2 + 3./8) / 5} {
		if want := math.Log(share / (1 - share)); !casetest.Near(got[at], want, sumTol) {
			t.Errorf("%d: log odds %v, want %v", at, got[at], want)
		}
	}
}

// If the features have no information, the model predicts the shares of the classes.
func TestTuneClassesTakesTheConstant(t *testing.T) {
	tbl := classTable(t, 45, 0, byThrees)
	tuned := casetest.Must(Tuner{Fixed: map[string]float64{"λ[0]": 1e-4}, Repeats: 1}.TuneClasses(t.Context(), tbl))(t)
	if tuned.Joint.Choice != ChoseConstant || tuned.Joint.Winner.ClassModels == nil {
		t.Fatalf("%v", tuned)
	}
	p := casetest.Must(casetest.Must(tuned.Pipeline())(t).Probability(tbl))(t)
	for k := range 3 {
		if !casetest.Near(p.At(4, k), 1./3, sumTol) {
			t.Errorf("probability %v of class %d", p.At(4, k), k)
		}
	}
	if _, err := tuned.Joint.Importance(t.Context(), 0, 0); !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
}

// For a learner of two classes, TuneClasses tunes one model for each class against all other
// classes.
func TestTuneClassesOneByOne(t *testing.T) {
	tbl := classTable(t, 45, 1.5, byThrees)
	tuned := casetest.Must(Tuner{Learner: &kernel.SVM{Intercept: true}, Repeats: 1, MaxEvals: 12, OuterFolds: 2}.TuneClasses(t.Context(), tbl))(t)
	if tuned.Joint != nil || len(tuned.Tuned) != 3 || tuned.Metrics == nil || tuned.Metrics.Probabilities != nil {
		t.Fatalf("%v", tuned)
	}
	right := 0.
	for i, y := range tbl.Y {
		best := 0
		for c, one := range tuned.Tuned {
			if one.Risk.OutOfFold[0][i] > tuned.Tuned[best].Risk.OutOfFold[0][i] {
				best = c
			}
		}
		if best == int(y) {
			right++
		}
	}
	if !casetest.Near(tuned.Metrics.Accuracy, right/45, sumTol) || !strings.HasPrefix(tuned.String(), "predicted classes of the outer folds: accuracy") {
		t.Errorf("%v, want the accuracy %v", tuned, right/45)
	}
	odds := casetest.Must(Tuner{Learner: &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, Repeats: 1, OuterFolds: 2}.TuneClasses(t.Context(), tbl))(t)
	var loss float64
	for i, y := range tbl.Y {
		var own, sum float64
		for c, one := range odds.Tuned {
			p := 1 / (1 + math.Exp(-one.Risk.OutOfFold[0][i]))
			if sum += p; c == int(y) {
				own = p
			}
		}
		loss -= math.Log(own/sum) / 45
	}
	if !casetest.Near(odds.Metrics.Probabilities.LogLoss, loss, sumTol) {
		t.Errorf("log loss %v, want %v", odds.Metrics.Probabilities.LogLoss, loss)
	}
}

// TuneClasses tunes one model for each class if a joint model would take too long.
func TestTuneClassesOfManyWeights(t *testing.T) {
	const features = 135 // 2 · 136 = 272 weights are above the cube root of jointWork, and 270 weights are below it
	text := "kind"
	for j := range features {
		text += fmt.Sprintf(",x%d", j)
	}
	src := synth.NewStream(3, "wide")
	for i := range 18 {
		text += fmt.Sprintf("\nk%d", i%3)
		for range features {
			text += fmt.Sprintf(",%.3f", src.NormFloat64())
		}
	}
	for _, ignored := range []string{"", "x0"} {
		c := table.CSV{Target: "kind"}
		if ignored != "" {
			c.Ignore = []string{ignored}
		}
		tbl := casetest.Must(c.Read(strings.NewReader(text)))(t)
		tuned := casetest.Must(Tuner{OuterFolds: -1, Folds: 2, MaxEvals: 1}.TuneClasses(t.Context(), tbl))(t)
		if joint := tuned.Joint != nil; joint != (ignored != "") {
			t.Errorf("without %q: joint is %v", ignored, joint)
		}
	}
}

// TuneClasses returns an error that names the class if a class cannot be learned.
func TestTuneClassesRefuses(t *testing.T) {
	tbl := classTable(t, 30, 1, byThrees)
	lone := classTable(t, 30, 1, func(i int) int {
		if i == 7 {
			return 2
		}
		return i % 2
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	without := cvgm.Split{}
	for i, y := range tbl.Y {
		if y != 1 {
			without.Train = append(without.Train, i)
		} else {
			without.Val = append(without.Val, i)
		}
	}
	apart := make([]int, 30) // each class a group
	for i, y := range tbl.Y {
		apart[i] = int(y)
	}
	unweighted := *tbl
	unweighted.Weights = slices.Clone(tbl.Y)
	var none *penalised.Multinomial
	for name, test := range map[string]struct {
		tuner Tuner
		table *table.Table
		words string
	}{
		"one row of a class":   {Tuner{}, lone, `one row of the class "k2"`},
		"a class without rows": {Tuner{}, tbl.Rows([]int{0, 1, 3, 4, 6, 7, 9, 10}), `no row of the class "k2"`},
		"all of one class":     {Tuner{}, tbl.Rows([]int{1, 4, 7, 10, 13}), `no row of the class "k0"`},
		"without weight":       {Tuner{}, &unweighted, `no row of the class "k0"`},
		"a class in no split":  {Tuner{Splits: []cvgm.Split{without}}, tbl, `no row of the class "k1"`},
		"a class in one group": {Tuner{Groups: apart}, tbl, `Tuner.Groups has the class "k0" in one group alone`},
		"classes":              {Tuner{Learner: &penalised.Multinomial{Classes: 4}}, tbl, "has 4 classes"},
		"nil":                  {Tuner{Learner: none}, tbl, "is nil"},
		"intervals":            {Tuner{Intervals: true}, tbl, "target of classes"},
		"hyperparameter":       {Tuner{Fixed: map[string]float64{"C": 1}}, tbl, `"λ[0]"`},
	} {
		t.Run(name, func(t *testing.T) {
			tuned, err := test.tuner.TuneClasses(t.Context(), test.table)
			if tuned != nil || err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%v, %v; want an error with %q", tuned, err, test.words)
			}
		})
	}
	if tuned, err := (Tuner{}).TuneClasses(ended, tbl); tuned != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", tuned, err)
	}
	x := mat.NewDense(6, 1, []float64{1, 2, 3, 4, 5, 6})
	for name, y := range map[string][]float64{"NaN": {0, 1, 0, 1, 0, math.NaN()}, "between": {0, 1, 0, 1, 0, .5}, "beyond": {0, 1, 0, 1, 0, 2}, "below": {-1, 1, -1, 1, -1, 1}} {
		if _, err := (Tuner{Learner: &penalised.Multinomial{Classes: 2, Intercept: true}}).Tune(t.Context(), learn.Data{X: x, Y: y}); err == nil || !strings.Contains(err.Error(), "Data.Y") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ownClasses is a user-defined multinomial learner.
type ownClasses struct{ penalised.Multinomial }

func (l *ownClasses) New() learn.Learner {
	return &ownClasses{*l.Multinomial.New().(*penalised.Multinomial)}
}

// TuneClasses takes the number of classes from the table and does not change the learner.
func TestTuneClassesSetsTheirNumber(t *testing.T) {
	tbl := classTable(t, 30, 1, func(i int) int { return i % 3 })
	for _, l := range []learn.ClassLearner{&penalised.Multinomial{Intercept: true}, &ownClasses{penalised.Multinomial{Intercept: true}}} {
		tuned, err := Tuner{Learner: l, OuterFolds: -1, MaxEvals: 2}.TuneClasses(t.Context(), tbl)
		if err != nil || len(tuned.Classes) != 3 || tuned.Joint == nil || l.Outputs() != 0 {
			t.Errorf("%T: %v, %v", l, tuned, err)
		}
	}
}

// TuneClasses returns a nested estimate if each class has at least three rows.
func TestTuneRareClasses(t *testing.T) {
	for _, rare := range []int{2, 3} {
		tbl := classTable(t, 30, 1, func(i int) int {
			if i < rare {
				return 2
			}
			return i % 2
		})
		tuned := casetest.Must(Tuner{Repeats: 1, MaxEvals: 12}.TuneClasses(t.Context(), tbl))(t)
		if estimated := tuned.Metrics != nil; len(tuned.Joint.Splits) != 10 || estimated != (rare == 3) {
			t.Errorf("of %d rows: %v", rare, tuned)
		}
	}
	src := synth.NewStream(4, "balanced")
	d := learn.Data{X: mat.NewDense(40, 1, nil), Y: make([]float64, 40)}
	for i := range d.Y {
		d.Y[i] = float64(max(0, i%8-6)) // seven of eight are 0
		d.Dense().Set(i, 0, src.NormFloat64())
	}
	tuned := mustTune(t, Tuner{Learner: &penalised.Multinomial{Classes: 2, Intercept: true}, Balanced: true, KeepWinner: true, OuterFolds: -1, Fixed: map[string]float64{"λ[0]": 1e6}}, d)
	p := casetest.Must(cvgm.ClassProbabilities(tuned.ClassModels, d.X))(t)
	if tuned.ClassPipeline != nil || math.Abs(p.At(3, 1)-.5) > 1e-3 {
		t.Errorf("the probability of the rare class of balanced weights: %v", p.At(3, 1))
	}
}
