package tune

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/interval"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// intervalLevel is the level of the intervals in the simulation.
const intervalLevel = .9

// intervalsOn returns the populations with numeric labels, and a population whose noise grows with
// the prediction.
func intervalsOn(some []population) []population {
	numbers := slices.DeleteFunc(slices.Clone(some), func(p population) bool { return p.classes })
	return append(numbers, population{"growing noise", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
		theta, noise := normals(src, n), .2+.4*src.Float64()
		return func() ([]float64, float64) {
			x := correlatedNormals(src, n, .4)
			f := dot(theta, x) / math.Sqrt(float64(n))
			return x, 2*f + noise*math.Exp(f)*src.NormFloat64()
		}
	}})
}

// coverageByThird holds the share of labels inside their intervals for the low, middle and high
// third of the predictions.
type coverageByThird [3]float64

func (h coverageByThird) mean() float64 { return (h[0] + h[1] + h[2]) / 3 }

// An intervalSet holds the results of the simulation for one data set.
type intervalSet struct {
	held, plain coverageByThird // with the intervals, and with intervals that have one spread for all predictions
	width       float64         // mean, in units of the labels' standard deviation
}

// judgeIntervals tunes a model on the data of s and counts how many fresh labels lie in their
// intervals.
func judgeIntervals(t *testing.T, s drawnSet) (one intervalSet, err error) {
	s.tuner.Repeats, s.tuner.Intervals, s.tuner.KeepWinner = 1, true, true
	tuned, err := s.tuner.Tune(t.Context(), s.data)
	if err != nil {
		return one, err
	}
	predictions := make([]float64, len(s.fresh.Y))
	if err := tuned.Model.Predict(predictions, s.fresh.X); err != nil {
		return one, err
	}
	order := sample.Complement(nil, len(predictions))
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(predictions[a], predictions[b]) })
	n := float64(len(order))
	judge := func(p *interval.CVPlus, held *coverageByThird) (width float64, err error) {
		low, high, err := p.Predict(s.fresh.X, intervalLevel)
		if err != nil {
			return 0, err
		}
		for at, i := range order {
			if y := s.fresh.Y[i]; low[i] <= y && y <= high[i] {
				held[at*3/len(order)] += 3 / n
			}
			width += (high[i] - low[i]) / n
		}
		return width / stat.PopStdDev(s.fresh.Y, nil), nil
	}
	if one.width, err = judge(tuned.Intervals, &one.held); err != nil {
		return one, err
	}
	var folds []interval.Fold
	for j, outer := range tuned.Risk.Outer[0] {
		f := interval.Fold{Model: tuned.Intervals.Folds[j].Model}
		for _, i := range outer.Val {
			f.Scores, f.Weights = append(f.Scores, math.Abs(s.data.Y[i]-tuned.Risk.OutOfFold[0][i])), append(f.Weights, 1)
		}
		folds = append(folds, f)
	}
	_, err = judge(casetest.Must(interval.New(folds, len(s.data.Y)))(t), &one.plain)
	return one, err
}

// Intervals of the level .9 contain 88 to 94 % of new labels, even if the noise grows with the
// prediction.
//
// As a control, intervals of equal width contain fewer labels if the noise grows. The method was
// chosen on other populations.
//
// With -coverage 480, the test takes about 10 minutes of processor time.
func TestIntervalsCover(t *testing.T) {
	casetest.Trial(t)
	const least, most, betweenSets = .88, .94, .05 // the last is the standard deviation over sets
	var mu sync.Mutex
	by := map[string][]intervalSet{}
	onDrawnSets(t, intervalsOn, 4, 2000, func(s drawnSet) error {
		one, err := judgeIntervals(t, s)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, name := range []string{"all", s.name, s.learner} {
			by[name] = append(by[name], one)
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(by)) {
		var mean intervalSet
		n := float64(len(by[name]))
		for _, one := range by[name] {
			mean.width += one.width / n
			for k := range mean.held {
				mean.held[k] += one.held[k] / n
				mean.plain[k] += one.plain[k] / n
			}
		}
		t.Logf("%-17s %3.0f sets: %.3f of the labels, by thirds %.3f; with one spread %.3f, %.3f; width %.2f", name, n, mean.held.mean(), mean.held, mean.plain.mean(), mean.plain, mean.width)
		slack := 3 * betweenSets / math.Sqrt(n)
		if low, high := slices.Min(mean.held[:]), slices.Max(mean.held[:]); name == "all" && (low < least-slack/3 || high > most+slack/3) {
			t.Errorf("%.3f of the labels by thirds", mean.held)
		}
		if name == "growing noise" && (slices.Min(mean.held[:]) < least-slack || slices.Min(mean.plain[:]) > least-slack/2) {
			t.Errorf("noise that grows: %.3f of the labels, with one spread %.3f", mean.held, mean.plain)
		}
	}
}

// With Tuner.Groups, intervals contain the labels of new groups as often as required, although
// labels within a group are correlated.
func TestIntervalsOfGroups(t *testing.T) {
	casetest.Trial(t)
	serial.Test(t)
	const groups, each, n = 24, 4, 3
	sets := 4
	src := synth.NewStream(3, "groups")
	held := map[bool]float64{}
	for range sets {
		theta := normals(src, n)
		draw := func(groups int) (d learn.Data, of []int) {
			d.X = mat.NewDense(groups*each, n, nil)
			for g := range groups {
				common, place := 2*src.NormFloat64(), normals(src, n)
				for k := range each {
					x := d.Dense().RawRowView(g*each + k)
					for j := range x {
						x[j] = place[j] + .1*src.NormFloat64() // the model can tell the group
					}
					d.Y = append(d.Y, dot(theta, x)+common+.3*src.NormFloat64())
					of = append(of, g)
				}
			}
			return d, of
		}
		d, of := draw(groups)
		fresh, _ := draw(200)
		for _, grouped := range []bool{true, false} {
			tuner := Tuner{Learner: &kernel.Ridge{Intercept: true}, Workers: 1, Intervals: true, Repeats: 1, KeepWinner: true, MaxEvals: 20}
			if grouped {
				tuner.Groups = of
			}
			tuned := casetest.Must(tuner.Tune(t.Context(), d))(t)
			if want := map[bool]int{true: groups, false: groups * each}[grouped]; tuned.Intervals.Units != want {
				t.Fatalf("%d units, want %d", tuned.Intervals.Units, want)
			}
			low, high, err := tuned.Intervals.Predict(fresh.X, intervalLevel)
			if err != nil {
				t.Fatal(err)
			}
			for i, y := range fresh.Y {
				if low[i] <= y && y <= high[i] {
					held[grouped] += 1 / float64(len(low)*sets)
				}
			}
		}
	}
	t.Logf("with groups %.3f, without %.3f", held[true], held[false])
	if held[true] < .87 || held[true] > .96 || held[false] > .8 {
		t.Errorf("%.3f of the labels of new groups with groups, %.3f without", held[true], held[false])
	}
}

// Tune returns intervals for the chosen model, even if the model is a constant prediction.
func TestIntervalsAreOfTheModel(t *testing.T) {
	tuner, d := overfitted()
	tuner.Intervals = true
	tuned := mustTune(t, tuner, d)
	low, high, err := tuned.Intervals.Predict(d.X, .8)
	if err != nil || tuned.Choice != ChoseConstant {
		t.Fatalf("%v, %v", tuned.Choice, err)
	}
	for i := range low {
		if low[i] != low[0] || high[i] != high[0] {
			t.Fatalf("row %d: [%v, %v] of a constant prediction, [%v, %v] in row 0", i, low[i], high[i], low[0], high[0])
		}
	}
	tuner.KeepWinner = true
	kept := mustTune(t, tuner, d)
	if low, high, err = kept.Intervals.Predict(d.X, .8); err != nil || low[0] == low[1] || high[0] == high[1] {
		t.Errorf("of the winner: [%v, %v], %v", low[:2], high[:2], err)
	}
	// Without intervals, Tune returns the same bits in all other results.
	tuner.Intervals = false
	without := mustTune(t, tuner, d)
	if _, _, err := without.Intervals.Predict(d.X, .8); !errors.Is(err, qpdiff.ErrEmpty) || without.Intervals != nil {
		t.Errorf("without Tuner.Intervals: %v", err)
	}
	kept.Intervals, kept.Elapsed, without.Elapsed = nil, 0, 0
	if kept.String() != without.String() || kept.Risk.Tuned != without.Risk.Tuned {
		t.Errorf("%v\nwithout intervals:\n%v", kept, without)
	}
}

// Intervals ignore rows of weight 0 and use the weights of all other rows.
func TestIntervalsOfWeights(t *testing.T) {
	src := synth.NewStream(4, "weights")
	d := learn.Data{X: mat.NewDense(40, 2, normals(src, 80)), Y: normals(src, 40), Weights: slices.Repeat([]float64{2}, 40)}
	d.Weights[3], d.Weights[7], d.Weights[8] = 0, 0, 1
	tuned := mustTune(t, Tuner{Intervals: true, Repeats: 1, KeepWinner: true}, d)
	p := tuned.Intervals
	if p.Units != 38 {
		t.Fatalf("%d units", p.Units)
	}
	count := map[bool]int{}
	for _, f := range p.Folds {
		for _, w := range f.Weights {
			if math.Abs(w-2./75) > sumTol && math.Abs(w-1./75) > sumTol {
				t.Errorf("weight %v", w)
			}
			count[w > 1.5/75]++
		}
	}
	if count[true] != 37 || count[false] != 1 {
		t.Errorf("%v", count)
	}
	for j, outer := range tuned.Risk.Outer[0] {
		var scores []float64
		for _, i := range outer.Val {
			if d.Weights[i] > 0 {
				e := tuned.Risk.OutOfFold[0][i]
				scores = append(scores, math.Abs(d.Y[i]-e)/p.Folds[j].Spread.Of(e))
			}
		}
		slices.Sort(scores)
		if !slices.Equal(scores, p.Folds[j].Scores) {
			t.Errorf("fold %d: scores %v, want %v", j, p.Folds[j].Scores, scores)
		}
		// Each fold's model reproduces the out-of-fold predictions of the nested estimate.
		all := make([]float64, 40)
		casetest.OK(t, p.Folds[j].Model.Predict(all, d.X))
		for _, i := range outer.Val {
			if e := tuned.Risk.OutOfFold[0][i]; d.Weights[i] > 0 && math.Abs(all[i]-e) > 1e-6 {
				t.Errorf("row %d: the fold's model predicts %v, and predicted %v", i, all[i], e)
			}
		}
	}
}

// Tune rejects intervals without outer folds, for classes, or from too few rows.
func TestIntervalsRefusals(t *testing.T) {
	tuner, d := overfitted()
	tuner.Intervals, tuner.OuterFolds = true, -1
	if _, err := tuner.Tune(t.Context(), d); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("without outer folds: %v", err)
	}
	tuner.OuterFolds = 0
	signs := d
	signs.Y = nil
	for i := range d.Y {
		signs.Y = append(signs.Y, float64(1-i%2*2))
	}
	if _, err := tuner.Tune(t.Context(), signs); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("of classes: %v", err)
	}
	few := learn.Data{X: mat.NewDense(9, 1, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}), Y: []float64{1, 3, 2, 5, 4, 6, 8, 7, 9}}
	tuned := mustTune(t, Tuner{Intervals: true}, few)
	if tuned.Intervals != nil || !slices.Contains(tuned.kinds(), NoRisk) {
		t.Errorf("of nine rows: %v", tuned)
	}
}

// Tune rejects intervals for the targets 1 and −1, which are classes, even if only one of them
// occurs.
func TestIntervalsOfClasses(t *testing.T) {
	d := casetest.Regression(1, 30, 2)
	for i := range d.Y {
		d.Y[i] = 1
	}
	_, err := Tuner{Intervals: true}.Tune(t.Context(), d)
	if !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "also if all are one of them") {
		t.Errorf("all targets 1: %v", err)
	}
}
