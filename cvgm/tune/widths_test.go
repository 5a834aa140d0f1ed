package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// waveData returns a regression in which only the first two of n features have an effect.
func waveData(rows, n int, seed uint64) learn.Data {
	src := synth.NewStream(seed, "wavy")
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	for i := range rows {
		for j := range n {
			d.Dense().Set(i, j, src.NormFloat64())
		}
		d.Y[i] = 2*math.Sin(2*d.X.At(i, 0)) + d.X.At(i, 1) + .2*src.NormFloat64()
	}
	return d
}

// widthTuner returns a Tuner for kernel ridge regression with the kernel k.
func widthTuner(k kernel.Kernel) Tuner {
	return Tuner{Learner: &kernel.Ridge{Kernel: k, Intercept: true}, OuterFolds: -1, KeepWinner: true}
}

// Kernel ridge regression with a width for each feature leaves out features without effect and
// halves the test error.
func TestWidths(t *testing.T) {
	d, fresh := waveData(50, 5, 4), waveData(300, 5, 2)
	one, each := mustTune(t, widthTuner(nil), d), mustTune(t, widthTuner(kernel.ARD{}), d)
	if a, b := casetest.Must(one.Model.Risk(cvgm.SquaredError{}, fresh))(t), casetest.Must(each.Model.Risk(cvgm.SquaredError{}, fresh))(t); !(b < a/2) {
		t.Errorf("test errors %.4g with one width, %.4g with five", a, b)
	}
	w := each.Widths()
	if len(each.Path) != 3 || each.Evaluations < 50 || !(each.Path[2].Loss < each.Path[1].Loss && each.Path[1].Loss < each.Path[0].Loss) {
		t.Errorf("%d evaluations, on the splits as they are %v: not the defaults, one width and five", each.Evaluations, each.Path)
	}
	if len(w) != 5 || !(w[0].Length < 2 && w[1].Length < 20) || w[1].Features[0] != "feature 1" {
		t.Errorf("widths %v", w)
	}
	for _, none := range w[2:] {
		if !math.IsInf(none.Length, 1) {
			t.Errorf("widths %v", w)
		}
	}
	if text := each.String(); !strings.Contains(text, "\nwithout effect: feature 2, feature 3, feature 4\n") || strings.Contains(text, "γ") {
		t.Error(text)
	}
	if one.Widths() != nil {
		t.Errorf("an RBF kernel has the widths %v", one.Widths())
	}

	scaled := learn.Data{X: mat.DenseCopyOf(d.X), Y: slices.Clone(d.Y)}
	for i := range scaled.Y {
		scaled.Y[i] *= 1 << 30
		for j := range 5 {
			scaled.Dense().Set(i, j, math.Ldexp(d.X.At(i, j), 10*j-20))
		}
	}
	tuner := widthTuner(kernel.ARD{})
	tuner.Workers, tuner.MaxBytes = 1, 1<<40
	if again := mustTune(t, tuner, scaled); !slices.Equal(again.Hyper, each.Hyper) {
		t.Errorf("in other units %v, not %v", again.Hyper, each.Hyper)
	}
	tuner.MaxBytes = 200_000
	if _, err := tuner.Tune(t.Context(), d); err == nil {
		t.Error("no error beyond MaxBytes")
	}
}

// If MaxEvals or MaxTime ends a search for widths, Tune returns the best point so far.
func TestWidthsEndEarly(t *testing.T) {
	d := waveData(40, 3, 4)
	tuner := widthTuner(kernel.ARD{})
	tuner.MaxEvals = 15
	tuned := mustTune(t, tuner, d)
	if len(tuned.Path) != 2 || tuned.Evaluations != 15 || !(tuned.Loss < tuned.DefaultLoss) {
		t.Errorf("%d evaluations, %v", tuned.Evaluations, tuned.Path)
	}
	synctest.Test(t, func(t *testing.T) {
		tuner := widthTuner(kernel.ARD{})
		tuner.MaxTime, tuner.Progress = time.Minute, func(p Progress) {
			if p.Evaluations == 15 {
				time.Sleep(2 * time.Minute)
			}
		}
		tuned := mustTune(t, tuner, d)
		if last := tuned.Path[len(tuned.Path)-1]; tuned.Evaluations != 16 || tuned.Loss != last.Loss || !(tuned.Loss < tuned.DefaultLoss/1.5) {
			t.Errorf("%d evaluations, %v, %v", tuned.Evaluations, tuned.Path, tuned.Warnings)
		}
	})
}

// One width is kept if all features matter alike.
func TestWidthsKeepOne(t *testing.T) {
	for seed := range uint64(3) {
		d := waveData(40, 4, seed)
		for i := range d.Y {
			d.Y[i] = 0
			for j := range 4 {
				d.Y[i] += math.Sin(d.X.At(i, j))
			}
		}
		tuned := mustTune(t, widthTuner(kernel.ARD{}), d)
		w := tuned.Widths()
		for _, other := range w {
			if other.Length != w[0].Length {
				t.Errorf("set %d has the widths %v", seed, w)
			}
		}
		if !strings.Contains(tuned.String(), "\none width for all features: ") {
			t.Error(tuned)
		}
	}
}

// The splits of a search for widths keep groups together and contain both classes.
func TestWidthSplits(t *testing.T) {
	d := twoClasses(40, 2)
	rows, groups := []int{}, []int{}
	for i := range d.Y {
		groups = append(groups, i/4)
		if i%7 > 0 {
			rows = append(rows, i)
		}
	}
	own := casetest.Must(cvgm.TimeSplits(40, 3, 0))(t)
	search := func(tuner Tuner) *tuneSearch {
		w := casetest.Must(tuner.begin(t.Context(), cvgm.Config{Data: d}, nil))(t)
		splits := own
		if tuner.Splits == nil {
			splits = casetest.Must(w.drawSplits(rows, 0))(t)
		}
		return &tuneSearch{w: w, rows: rows, splits: splits}
	}
	for _, rule := range []widthRule{findMany, findFew, scaleWidths, judgeWidths} {
		grouped := casetest.Must(search(Tuner{Groups: groups}).widthSplits(rule))(t)
		if err := cvgm.CheckGroups(grouped, groups); err != nil || len(grouped) != rule.draws*min(rule.folds, 10) {
			t.Errorf("%d splits, %v", len(grouped), err)
		}
		for _, s := range casetest.Must(search(Tuner{}).widthSplits(rule))(t) {
			positive := 0
			for _, i := range s.Val {
				if d.Y[i] > 0 {
					positive++
				}
			}
			if positive == 0 || positive == len(s.Val) || len(s.Val)+len(s.Train) != len(rows) {
				t.Errorf("a split of %d rows, %d of them positive", len(s.Val), positive)
			}
		}
		for k, s := range casetest.Must(search(Tuner{Splits: own}).widthSplits(rule))(t) {
			if want := restrictSplits(own, rows)[k]; !slices.Equal(s.Train, want.Train) || !slices.Equal(s.Val, want.Val) {
				t.Errorf("splits %v, not %v", s, want)
			}
		}
	}
}

// Separate widths work with all other options of Tuner, such as weights, fixed widths and outer
// folds.
func TestWidthsOfOtherTuners(t *testing.T) {
	d := waveData(40, 3, 4)
	weighted := d
	weighted.Weights = make([]float64, 40)
	for i := range weighted.Weights {
		weighted.Weights[i] = float64(i % 4)
	}
	signs := learn.Data{X: d.X, Y: make([]float64, 40)}
	for i, y := range d.Y {
		signs.Y[i] = math.Copysign(1, y)
	}
	ridge := func(a kernel.ARD) Tuner { return widthTuner(a) }
	order := ridge(kernel.ARD{})
	order.Splits = casetest.Must(cvgm.TimeSplits(40, 4, 0))(t)
	few, fixed, outer := ridge(kernel.ARD{}), ridge(kernel.ARD{}), ridge(kernel.ARD{})
	few.MaxEvals, fixed.Fixed = 90, map[string]float64{"gamma[1]": .125}
	outer.OuterFolds, outer.Repeats = 2, 1
	for name, c := range map[string]struct {
		tuner Tuner
		d     learn.Data
	}{
		"weights": {ridge(kernel.ARD{}), weighted}, "groups": {ridge(kernel.ARD{Groups: []int{0, 1, 1}, Shape: kernel.Matern52}), d}, "order": {order, d},
		"SVM": {Tuner{Learner: &kernel.SVM{Intercept: true, Kernel: kernel.ARD{}}, OuterFolds: -1, KeepWinner: true, Folds: 4, Starts: 1}, signs},
		"few": {few, d}, "fixed": {fixed, d}, "outer folds": {outer, d},
	} {
		tuned := mustTune(t, c.tuner, c.d)
		if w := tuned.Widths(); len(w) == 0 || !(tuned.Loss < tuned.ConstantLoss/2) {
			t.Errorf("%s: widths %v, CV loss %v of %v", name, w, tuned.Loss, tuned.ConstantLoss)
		}
		switch name {
		case "groups":
			if w := tuned.Widths(); len(w) != 2 || fmt.Sprint(w[1].Features) != "[feature 1 feature 2]" {
				t.Errorf("widths of groups %v", w)
			}
		case "few":
			if tuned.Evaluations > 91 || !slices.ContainsFunc(tuned.Warnings, func(w Warning) bool { return w.Kind == OutOfBudget }) {
				t.Errorf("%d evaluations, %v", tuned.Evaluations, tuned.Warnings)
			}
		case "fixed":
			if w := tuned.Widths(); w[1].Length != 2 {
				t.Errorf("the fixed width is among %v", w)
			}
		}
	}
}

// Widths names features by the columns of the table.
func TestWidthsOfTable(t *testing.T) {
	rng, text := rand.New(rand.NewPCG(1, 3)), "price,area,floor,heating\n"
	for range 60 {
		area, heating := 50+100*rng.Float64(), rng.IntN(2)
		text += fmt.Sprintf("%.3f,%.3f,%d,%s\n", 100*math.Sin(area/8)+float64(30*heating)+5*rng.NormFloat64(), area, rng.IntN(9), []string{"gas", "wood"}[heating])
	}
	houses := casetest.Must(table.ReadCSV(strings.NewReader(text), "price"))(t)
	tuned := casetest.Must(widthTuner(kernel.ARD{Shape: kernel.Matern52}).TuneTable(t.Context(), houses))(t)
	w := tuned.Widths()
	if w[0].Features[0] != "area" || !(w[0].Length < 20) || !strings.Contains(tuned.String(), "without effect: floor") || !strings.Contains(tuned.String(), "\nwidths: area ") {
		t.Errorf("%v\n%v", w, tuned)
	}
	var read table.Pipeline
	if err := errors.Join(json.Unmarshal(casetest.Must(json.Marshal(tuned.Pipeline))(t), &read)); err != nil {
		t.Fatal(err)
	}
	record := map[string]string{"area": "80", "floor": "3", "heating": "wood"}
	a, b := casetest.Must(tuned.Pipeline.PredictRecord(record))(t), casetest.Must(read.PredictRecord(record))(t)
	if a != b || math.Abs(a-100*math.Sin(80./8)-30) > 15 {
		t.Errorf("predictions %v, %v after JSON", a, b)
	}
}

// shrunkNet is an elastic net that declares its two values of λ2 to be the widths of two features.
type shrunkNet struct{ linear.ElasticNet }

func (*shrunkNet) New() learn.Learner {
	return &shrunkNet{linear.ElasticNet{Groups: linear.PerFeature(2)}}
}

func (l *shrunkNet) Hyperparameters(m learn.Moments) (all []learn.Hyperparameter) {
	for i, h := range l.ElasticNet.Hyperparameters(m) {
		for j := range 2 {
			one := h
			if one.Name = fmt.Sprintf("%s[%d]", h.Name, j); i == 1 {
				one.Features, one.Kind = []int{j}, h.Name
			}
			all = append(all, one)
		}
	}
	return all
}

// A search for separate widths begins at a common width that is not 0.
func TestWidthsBeginAboveZero(t *testing.T) {
	d := waveData(40, 2, 4)
	for i := range d.Y {
		d.Y[i] = d.X.At(i, 0) - 2*d.X.At(i, 1)
	}
	tuner := widthTuner(nil)
	tuner.Learner = new(shrunkNet).New()
	tuned := mustTune(t, tuner, d)
	if tuned.Hyper[0] != 0 || !(tuned.Hyper[2] > 0) || !(tuned.Hyper[3] > 0) {
		t.Errorf("hyperparameters %v: the first λ1 is to be 0, and no width", tuned.Hyper)
	}
}
