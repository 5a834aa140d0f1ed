package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// houseData returns a regression with 7 features in units from 1e-3 to 1e3.
func houseData(rows int) learn.Data {
	src := synth.NewStream(3, "houses")
	d := learn.Data{X: mat.NewDense(rows, 7, nil), Y: make([]float64, rows)}
	for i := range rows {
		d.Y[i] = 250
		for j := range 7 {
			v := src.NormFloat64()
			d.Dense().Set(i, j, v*math.Pow(10, float64(j-3))+float64(j))
			if j < 4 {
				d.Y[i] += 30 * v
			}
		}
		d.Y[i] += 40 * src.NormFloat64()
	}
	return d
}

// twoClasses returns a classification by two of n features.
func twoClasses(rows, n int) learn.Data {
	src := synth.NewStream(4, "two classes")
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	for i := range rows {
		for j := range n {
			d.Dense().Set(i, j, src.NormFloat64())
		}
		d.Y[i] = math.Copysign(1, d.X.At(i, 0)-d.X.At(i, 1)+src.NormFloat64())
	}
	return d
}

func mustTune(t *testing.T, tuner Tuner, d learn.Data) *Tuned {
	t.Helper()
	tuned := casetest.Must(tuner.Tune(t.Context(), d))(t)
	return tuned
}

func (t *Tuned) kinds() []WarningKind {
	var kinds []WarningKind
	for _, w := range t.Warnings {
		kinds = append(kinds, w.Kind)
	}
	return kinds
}

// Tuned.Loss equals the loss of a new CV for the same splits and hyperparameters.
func TestTunedIsWhatItSays(t *testing.T) {
	for name, d := range map[string]learn.Data{"regression": houseData(80), "classes": twoClasses(150, 4)} {
		t.Run(name, func(t *testing.T) {
			tuned := mustTune(t, Tuner{}, d)
			c := cvgm.Config{Data: d, Splits: tuned.Splits, Standardise: true, Loss: cvgm.SquaredError{}, Centring: cvgm.MeanCentring, Learner: func() learn.Learner { return &linear.ElasticNet{} }}
			if name == "classes" {
				c.Loss, c.Centring, c.Learner = cvgm.LogisticLoss{}, cvgm.NoCentring, func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
			}
			cv := casetest.Must(cvgm.New(c))(t)
			loss, err := cv.Eval(nil, tuned.Hyper)
			if err != nil || math.Abs(loss-tuned.Loss) > 1e-10*loss {
				t.Errorf("CV loss %v, %v; Tuned.Loss is %v", loss, err, tuned.Loss)
			}
			byDefault, err := cv.Eval(nil, tuned.DefaultHyper)
			if err != nil || math.Abs(byDefault-tuned.DefaultLoss) > 1e-10*byDefault {
				t.Errorf("CV loss of the defaults %v, %v; Tuned.DefaultLoss is %v", byDefault, err, tuned.DefaultLoss)
			}
			if tuned.Loss > tuned.DefaultLoss || !(tuned.Loss < tuned.ConstantLoss) || !(tuned.StandardError > 0) {
				t.Errorf("losses: tuned %v ± %v, default %v, constant %v", tuned.Loss, tuned.StandardError, tuned.DefaultLoss, tuned.ConstantLoss)
			}
			r := tuned.Risk
			if r == nil || r.Folds != 5 || !r.Comparisons[0].Better() || r.Tuned.Low > r.Tuned.Mean {
				t.Errorf("risk: %+v", r)
			}
			if len(tuned.Path) < 5 || tuned.Evaluations < 5*len(tuned.Path)/2 || len(tuned.OutOfFold) != len(d.Y) || tuned.Elapsed <= 0 {
				t.Errorf("%d steps, %d evaluations, %d predictions, %v", len(tuned.Path), tuned.Evaluations, len(tuned.OutOfFold), tuned.Elapsed)
			}
		})
	}
}

func TestTuneRepeatsItself(t *testing.T) {
	d := houseData(40)
	strip := func(tuned *Tuned) Tuned { c := *tuned; c.Elapsed, c.Config = 0, cvgm.Config{}; return c } // functions are never equal
	first := strip(mustTune(t, Tuner{Seed: 7, Workers: 1}, d))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, procs := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(procs)
		if again := strip(mustTune(t, Tuner{Seed: 7}, d)); !reflect.DeepEqual(again, first) {
			t.Errorf("GOMAXPROCS %d: another result", procs)
		}
	}
	if other := mustTune(t, Tuner{Seed: 8}, d); reflect.DeepEqual(other.Splits, first.Splits) {
		t.Error("another seed draws the same folds")
	}
}

// A penalty that does not lower the CV loss becomes exactly 0.
func TestTuneFixedAndZeros(t *testing.T) {
	d := houseData(60)
	ridge := mustTune(t, Tuner{Fixed: map[string]float64{"λ1": 0}, OuterFolds: -1}, d)
	lasso := mustTune(t, Tuner{Fixed: map[string]float64{"λ2": 0}, OuterFolds: -1}, d)
	if ridge.Hyper[0] != 0 || !(ridge.Hyper[1] > 0) || lasso.Hyper[1] != 0 || !(lasso.Hyper[0] > 0) {
		t.Errorf("ridge %v, lasso %v", ridge.Hyper, lasso.Hyper)
	}
	for i := range d.Y { // no noise: no penalty helps
		d.Y[i] = d.X.At(i, 0) - 2*d.X.At(i, 4) + 5
	}
	exact := mustTune(t, Tuner{OuterFolds: -1}, d)
	if !slices.Contains(exact.Hyper, 0) || exact.Loss > 1e-10*exact.ConstantLoss {
		t.Errorf("without noise: %v with the CV loss %v", exact.Hyper, exact.Loss)
	}
	if both := mustTune(t, Tuner{Fixed: map[string]float64{"λ1": 1, "λ2": 2}, OuterFolds: -1}, d); !slices.Equal(both.Hyper, []float64{1, 2}) {
		t.Errorf("both fixed: %v", both.Hyper)
	}
}

func TestTuneKernelMachineAndSVM(t *testing.T) {
	src := synth.NewStream(1, "disc")
	d := learn.Data{X: mat.NewDense(70, 2, nil), Y: make([]float64, 70)}
	for i := range d.Y {
		x, y := 1000*src.NormFloat64(), src.NormFloat64()
		d.Dense().SetRow(i, []float64{x, y})
		d.Y[i] = math.Copysign(1, math.Hypot(x/1000, y)-1.1)
	}
	machine := mustTune(t, Tuner{Learner: &kernel.SVM{Intercept: true}, OuterFolds: 3}, d)
	if machine.Loss > .5*machine.ConstantLoss || !slices.Equal(machine.Names, []string{"C", "γ"}) {
		t.Errorf("kernel machine: %v %v, CV loss %v, constant %v", machine.Names, machine.Hyper, machine.Loss, machine.ConstantLoss)
	}
	linear := mustTune(t, Tuner{Learner: &margin.SVM{}, OuterFolds: -1}, twoClasses(60, 5))
	if !(linear.Loss < .8*linear.ConstantLoss) {
		t.Errorf("SVM: CV loss %v, constant %v", linear.Loss, linear.ConstantLoss)
	}
	loss := mustTune(t, Tuner{Learner: &margin.LearnedLoss{}, Loss: cvgm.LogisticLoss{}, OuterFolds: -1, Hyper: []learn.Hyperparameter{
		{Name: "α1", Lower: 1e-3, Default: .1, Upper: 1, Zero: true}, {Name: "α2", Lower: 1e-3, Default: .1, Upper: 1, Zero: true},
		{Name: "α3", Lower: 1e-3, Default: .1, Upper: 1, Zero: true}, {Name: "α4", Lower: 1e-3, Default: .1, Upper: 1, Zero: true},
		{Name: "λ", Lower: 1e-3, Default: .1, Upper: 10}}}, twoClasses(60, 3))
	if !(loss.Loss < loss.ConstantLoss) {
		t.Errorf("learned loss: CV loss %v, constant %v", loss.Loss, loss.ConstantLoss)
	}
}

// If some labels are outliers, Huber regression predicts the true labels better than least squares
// does.
func TestTuneHuber(t *testing.T) {
	d := houseData(90)
	clean := learn.Data{X: d.X, Y: slices.Clone(d.Y)}
	for i := 0; i < 90; i += 6 {
		d.Y[i] += 3000
	}
	robust := mustTune(t, Tuner{Learner: &linear.Huber{Intercept: true}, OuterFolds: -1}, d)
	squared := mustTune(t, Tuner{OuterFolds: -1}, d)
	var risks [2]float64
	for k, m := range []*cvgm.Model{robust.Model, squared.Model} {
		risk := casetest.Must(m.Risk(cvgm.AbsoluteError{}, clean))(t)
		risks[k] = risk
	}
	if !(risks[0] < .5*risks[1]) || !slices.Equal(robust.Names, []string{"λ2", "δ"}) {
		t.Errorf("%v: risks %v; %v", robust.Names, risks, robust)
	}
}

func TestTuneKeepsGroupsTogether(t *testing.T) {
	d := houseData(60)
	groups := make([]int, 60)
	for i := range groups {
		groups[i] = i / 7
	}
	tuned := mustTune(t, Tuner{Groups: groups}, d)
	if err := cvgm.CheckGroups(tuned.Splits, groups); err != nil || len(tuned.Splits) != 9 || tuned.Risk == nil {
		t.Errorf("%d splits, %v, risk %v", len(tuned.Splits), err, tuned.Risk)
	}
}

// After a cancellation, Tune returns the best point so far without a further fit.
func TestTuneCancelled(t *testing.T) {
	d := houseData(80)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	evaluations := 0
	tuner := Tuner{Progress: func(p Progress) {
		if evaluations = p.Evaluations; evaluations == 12 {
			cancel(why)
		}
	}}
	tuned, err := tuner.Tune(ctx, d)
	if !errors.Is(err, why) || tuned == nil || tuned.Model != nil || len(tuned.Path) != 12 || evaluations != 12 || strings.Contains(tuned.String(), "NaN") {
		t.Fatalf("%v, %v after %d evaluations", tuned, err, evaluations)
	}
	if cv, err := cvgm.New(tuned.Config); err != nil {
		t.Error(err)
	} else if _, err := cv.Final(tuned.Hyper); err != nil {
		t.Error(err)
	}
	best := math.Inf(1)
	for _, s := range tuned.Path {
		best = min(best, s.Loss)
	}
	if tuned.Loss != best {
		t.Errorf("loss %v, the lowest of the path is %v", tuned.Loss, best)
	}
	if tuned, err := (Tuner{}).Tune(ctx, d); tuned != nil || !errors.Is(err, why) {
		t.Errorf("cancelled before: %v, %v", tuned, err)
	}
	// The learner cancels ctx in the search, after the search, or before the final fit.
	hyper := []learn.Hyperparameter{{Name: "λ1", Lower: 1e-3, Default: .1, Upper: 1}, {Name: "λ2", Lower: 1e-3, Default: .1, Upper: 1}}
	const folds, most = 10, 12 // of the CV loss
	for _, last := range []int{folds + 5, folds*most + 1, folds * (most + 1)} {
		ctx, stop := context.WithCancel(t.Context())
		fits := 0
		slow := &countingLearner{Fits: func() {
			if fits++; fits == last {
				stop()
			}
		}}
		tuned, err := Tuner{Learner: slow, Hyper: hyper, Loss: cvgm.SquaredError{}, Workers: 1, Raw: true, MaxEvals: most}.Tune(ctx, d)
		if !errors.Is(err, context.Canceled) || tuned == nil || tuned.Model != nil || tuned.Pipeline != nil || tuned.ConstantLoss <= 0 {
			t.Errorf("%v, %v", tuned, err)
		}
		if fits != last {
			t.Errorf("%d fits, want %d", fits, last)
		}
	}
	// If ctx is cancelled during the first report, Tune loads no split.
	loading, leave := context.WithCancel(t.Context())
	loads, reports := 0, []Progress{}
	counted := &countingLearner{Loads: func() { loads++ }}
	tuned, err = Tuner{Learner: counted, Hyper: hyper, Loss: cvgm.SquaredError{}, Progress: func(p Progress) {
		reports = append(reports, p)
		leave()
	}}.Tune(loading, d)
	if !errors.Is(err, context.Canceled) || tuned != nil || loads > 0 || len(reports) != 1 || reports[0].Stage != "loading" || reports[0].Evaluations != 0 {
		t.Errorf("cancelled while loading: %v, %v after %d loads and the reports %v", tuned, err, loads, reports)
	}
	// If ctx is cancelled during the nested estimate, Tune returns the model without the estimate.
	ctx, stop := context.WithCancel(t.Context())
	tuned, err = Tuner{Progress: func(p Progress) {
		if strings.HasPrefix(p.Stage, "outer fold 2") {
			stop()
		}
	}}.Tune(ctx, d)
	if !errors.Is(err, context.Canceled) || tuned == nil || tuned.Model == nil || tuned.Risk != nil {
		t.Errorf("cancelled in the nested estimate: %v, %v", tuned, err)
	}
}

// countingLearner is an elastic net that calls a function in each fit.
type countingLearner struct {
	linear.ElasticNet
	Fits  func()
	Loads func() // nil: not counted
}

func (l *countingLearner) New() learn.Learner { return &countingLearner{Fits: l.Fits, Loads: l.Loads} }

func (l *countingLearner) Load(d learn.Data) error {
	if l.Loads != nil {
		l.Loads()
	}
	return l.ElasticNet.Load(d)
}

func (l *countingLearner) Fit(theta, hyper []float64) error {
	l.Fits()
	return l.ElasticNet.Fit(theta, hyper)
}

// slowFits returns a Tuner whose learner sleeps for fitTime(k) in its fit number k.
func slowFits(fitTime func(fit int) time.Duration) Tuner {
	fits := 0
	return Tuner{Loss: cvgm.SquaredError{}, Workers: 1,
		Learner: &countingLearner{Fits: func() { fits++; time.Sleep(fitTime(fits)) }},
		Hyper:   []learn.Hyperparameter{{Name: "λ1", Lower: 1e-3, Default: .1, Upper: 1}, {Name: "λ2", Lower: 1e-3, Default: .1, Upper: 1}}}
}

// If MaxTime is too short, Tune omits parts of its work and returns a warning for each part.
func TestTuneEconomises(t *testing.T) {
	const each, folds = time.Second, 10
	for _, test := range []struct {
		evaluations time.Duration // that the time allows
		want, not   []WarningKind
		folds       int
		nested      bool // the nested estimate begins
	}{
		{10000, nil, []WarningKind{FewerStarts, FewerFolds, NoRisk, OutOfBudget}, folds, true},
		{200, []WarningKind{NoRisk}, []WarningKind{FewerStarts, FewerFolds, OutOfBudget}, folds, true},
		{60, []WarningKind{FewerStarts, NoRisk}, []WarningKind{FewerFolds, OutOfBudget}, folds, false},
		{30, []WarningKind{FewerStarts, NoRisk}, []WarningKind{FewerFolds}, folds, false},
		{12, []WarningKind{FewerStarts, FewerFolds, NoRisk}, nil, folds / 2, false},
		{6, []WarningKind{FewerStarts, FewerFolds, NoRisk}, nil, folds / 5, false},
		{1, []WarningKind{NoRisk, OutOfBudget}, []WarningKind{FewerStarts, FewerFolds}, folds, false}, // ends before there is an estimate
	} {
		synctest.Test(t, func(t *testing.T) {
			tuner := slowFits(func(int) time.Duration { return each })
			tuner.MaxTime = test.evaluations * folds * each
			var last Progress
			tuner.Progress = func(p Progress) { last = p }
			began := time.Now()
			tuned := mustTune(t, tuner, houseData(100))
			for _, kind := range append(test.want, test.not...) {
				if want := slices.Contains(test.want, kind); slices.Contains(tuned.kinds(), kind) != want {
					t.Errorf("%v: the warnings are %v; one of kind %v: want %v", tuner.MaxTime, tuned.Warnings, kind, want)
				}
			}
			if nested := strings.HasPrefix(last.Stage, "outer fold"); len(tuned.Splits) != test.folds || nested != test.nested {
				t.Errorf("%v: %d folds, want %d; nested estimate %v, want %v", tuner.MaxTime, len(tuned.Splits), test.folds, nested, test.nested)
			}
			// Tune may exceed MaxTime by the fit in progress, an evaluation at the best point, and
			// the final fit.
			if took := time.Since(began); took != tuned.Elapsed || took > tuner.MaxTime+(1+folds+1)*each {
				t.Errorf("%v: took %v, as %v", tuner.MaxTime, took, tuned.Elapsed)
			}
			if last.Evaluations != tuned.Evaluations || last.Elapsed <= 0 || last.Left < 0 {
				t.Errorf("last progress %+v of %d evaluations", last, tuned.Evaluations)
			}
		})
	}
}

// MaxTime may end an evaluation between two fits, except the first evaluation.
func TestTuneMaxTimeEndsBetweenFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const allowed, folds, lasts = time.Minute, 10, 15
		fits := 0
		tuner := slowFits(func(fit int) time.Duration {
			if fits = fit; fit == lasts {
				return 2 * allowed
			}
			return 0
		})
		tuner.MaxTime = allowed
		tuned := mustTune(t, tuner, houseData(100))
		// The remaining fits are one evaluation at the best point and the final fit.
		if fits != lasts+folds+1 || len(tuned.Path) != 1 || !slices.Contains(tuned.kinds(), OutOfBudget) || slices.Contains(tuned.kinds(), FailedFits) {
			t.Errorf("%d fits, %v", fits, tuned)
		}
	})
}

// After two evaluations, Tune reports the time left, which is correct within a factor of 2.
func TestTuneTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []Progress
		var stages []string
		tuner := slowFits(func(int) time.Duration { return time.Second })
		tuner.Repeats = 1
		tuner.Progress = func(p Progress) {
			steps = append(steps, p)
			if len(stages) == 0 || stages[len(stages)-1] != p.Stage {
				stages = append(stages, p.Stage)
			}
		}
		tuned := mustTune(t, tuner, houseData(80))
		if steps[0].Left != 0 || steps[1].Left != 0 {
			t.Errorf("time left before and after one evaluation: %v", steps[:2])
		}
		const about = 2 // the factor by which the first estimate may be off
		for _, p := range steps[2:] {
			if ends := p.Elapsed + p.Left; p.Left <= 0 || ends > about*tuned.Elapsed || tuned.Elapsed > about*ends {
				t.Errorf("after %v there are %v left, and %v in all", p.Elapsed, p.Left, tuned.Elapsed)
			}
		}
		want := []string{"loading", "search"}
		for k := 1; k <= 5; k++ {
			want = append(want, "loading", fmt.Sprintf("outer fold %d of 5", k))
		}
		if !slices.Equal(stages, want) {
			t.Errorf("stages %v", stages)
		}
	})
}

func TestTuneBudget(t *testing.T) {
	for _, most := range []int{1, 2, 11, 15} {
		tuned := mustTune(t, Tuner{MaxEvals: most, OuterFolds: -1}, houseData(50))
		if len(tuned.Path) != most || !slices.Contains(tuned.kinds(), OutOfBudget) {
			t.Errorf("MaxEvals %d: %d evaluations, %v", most, len(tuned.Path), tuned.Warnings)
		}
	}
}

func TestTuneWarns(t *testing.T) {
	src := synth.NewStream(5, "noise")
	noise := houseData(40)
	for i := range noise.Y {
		noise.Y[i] = src.NormFloat64()
	}
	flat := houseData(20)
	for i := range flat.Y {
		flat.Y[i] = 3
	}
	wide := learn.Data{X: mat.NewDense(20, 60, nil), Y: make([]float64, 20)}
	for i := range 20 {
		for j := range 60 {
			wide.Dense().Set(i, j, src.NormFloat64())
		}
		wide.Y[i] = wide.X.At(i, 0) + .1*src.NormFloat64()
	}
	rare := twoClasses(40, 3)
	for i := range rare.Y {
		rare.Y[i] = -1
		if i < 3 {
			rare.Y[i] = 1
		}
	}
	singles := make([]cvgm.Split, 4)
	for k := range singles {
		val := []int{3 + 2*k, 4 + 2*k}
		singles[k] = cvgm.Split{Train: sample.Complement(val, 40), Val: val}
	}
	for name, test := range map[string]struct {
		tuner Tuner
		data  learn.Data
		want  WarningKind
	}{
		"noise":                {Tuner{}, noise, AtBound},
		"constant labels":      {Tuner{}, flat, NoInformation},
		"one hyperparameter":   {Tuner{Hyper: []learn.Hyperparameter{{Name: "λ1", Lower: 1, Default: 1, Upper: 1}, {Name: "λ2", Lower: 1, Default: 1, Upper: 1}}}, houseData(20), NoImprovement},
		"wide":                 {Tuner{}, wide, Overfitting},
		"one class in a split": {Tuner{Splits: singles}, rare, OneClass},
		"many":                 {Tuner{}, learn.Data{X: mat.DenseCopyOf(noise.Dense().Slice(0, 12, 0, 7)), Y: noise.Y[:12]}, ManyHyperparameters},
		"few":                  {Tuner{}, learn.Data{X: mat.DenseCopyOf(noise.Dense().Slice(0, 8, 0, 7)), Y: noise.Y[:8]}, NoRisk},
	} {
		t.Run(name, func(t *testing.T) {
			tuned := mustTune(t, test.tuner, test.data)
			if !slices.Contains(tuned.kinds(), test.want) {
				t.Errorf("warnings %v, kinds %v, want %v", tuned.Warnings, tuned.kinds(), test.want)
			}
			for _, w := range tuned.Warnings {
				if !strings.HasSuffix(w.Text, ".") || strings.Contains(w.Text, "%!") || fmt.Sprint(w) != w.Text {
					t.Errorf("%q", w.Text)
				}
			}
		})
	}
}

func TestTuneRefuses(t *testing.T) {
	d := houseData(30)
	one := twoClasses(20, 2)
	for i := range one.Y {
		one.Y[i] = 1
	}
	nan := houseData(20)
	nan.Dense().Set(3, 2, math.NaN())
	groups := make([]int, 30)
	for name, test := range map[string]struct {
		tuner Tuner
		data  learn.Data
		words string
	}{
		"few examples":     {Tuner{}, learn.Data{X: mat.NewDense(3, 1, nil), Y: make([]float64, 3)}, "Data has 3 examples"},
		"empty":            {Tuner{}, learn.Data{}, "Data has 0 examples"},
		"NaN":              {Tuner{}, nan, "Data.X"},
		"one class":        {Tuner{}, one, "labels of one sign only"},
		"Rows":             {Tuner{}, learn.Data{X: d.X, Y: d.Y, Rows: []int{1}}, "Data has Rows"},
		"Folds":            {Tuner{Folds: 1}, d, "Tuner.Folds is 1"},
		"more folds":       {Tuner{Folds: 31}, d, "Tuner.Folds is 31"},
		"OuterFolds":       {Tuner{OuterFolds: 1}, d, "Tuner.OuterFolds is 1"},
		"Starts":           {Tuner{Starts: -1}, d, "Tuner.Starts is -1"},
		"MaxEvals":         {Tuner{MaxEvals: -1}, d, "Tuner.MaxEvals is -1"},
		"MaxTime":          {Tuner{MaxTime: -1}, d, "Tuner.MaxTime is -1ns"},
		"Groups":           {Tuner{Groups: []int{1}}, d, "Tuner.Groups has 1 entries"},
		"one group":        {Tuner{Groups: groups}, d, "Tuner.Groups has one group"},
		"Fixed":            {Tuner{Fixed: map[string]float64{"λ3": 0}}, d, `Tuner.Fixed names "λ3"`},
		"Fixed value":      {Tuner{Fixed: map[string]float64{"λ1": -1}}, d, "Tuner.Fixed holds -1 for λ1"},
		"Hyper":            {Tuner{Hyper: make([]learn.Hyperparameter, 1)}, d, "Tuner.Hyper has 1 entries where *linear.ElasticNet has 2"},
		"Hyper bounds":     {Tuner{Hyper: make([]learn.Hyperparameter, 2)}, d, "Tuner.Hyper has Lower 0"},
		"unknown learner":  {Tuner{Learner: &margin.LearnedLoss{}, Loss: cvgm.LogisticLoss{}}, twoClasses(20, 2), "Tuner.Hyper is nil"},
		"no loss":          {Tuner{Learner: &margin.LearnedLoss{}}, twoClasses(20, 2), "Tuner.Loss is nil"},
		"splits and folds": {Tuner{Folds: 3, Splits: []cvgm.Split{{Train: []int{0}, Val: []int{1}}}}, d, "Tuner.Folds is set together with Splits"},
		"balanced numbers": {Tuner{Balanced: true}, d, "Tuner.Balanced is set for labels other than"},
		"balanced twice":   {Tuner{Balanced: true}, learn.Data{X: one.X, Y: one.Y, Weights: make([]float64, 20)}, "together with Data.Weights"},
		"parted group":     {Tuner{Groups: groups, Splits: []cvgm.Split{{Train: []int{0}, Val: []int{1}}}}, d, "group 0 on both sides"},
	} {
		t.Run(name, func(t *testing.T) {
			tuned, err := test.tuner.Tune(t.Context(), test.data)
			if tuned != nil || err == nil || !strings.Contains(err.Error(), test.words) {
				t.Errorf("%v, %v; want an error with %q", tuned, err, test.words)
			}
		})
	}
}

// flowerTable returns a table of three classes with a categorical column, missing values and
// groups.
func flowerTable(t *testing.T) *table.Table {
	src := synth.NewStream(6, "flowers")
	text := "kind,length,width,colour,bed\n"
	for i := range 120 {
		kind := i % 3
		length := fmt.Sprintf("%.3f", float64(kind)+.4*src.NormFloat64())
		if i%17 == 0 {
			length = "NA"
		}
		colour := []string{"red", "blue", "white"}[(kind+i/40)%3]
		text += fmt.Sprintf("%s,%s,%.3f,%s,bed %d\n", []string{"rose", "iris", "aster"}[kind], length, 100*math.Abs(float64(kind-1))+20*src.NormFloat64(), colour, i/6)
	}
	tbl := casetest.Must(table.CSV{Target: "kind", Group: "bed", Missing: table.MissingIsMean}.Read(strings.NewReader(text)))(t)
	return tbl
}

func TestTuneClasses(t *testing.T) {
	tbl := flowerTable(t)
	if _, err := (Tuner{}).TuneTable(t.Context(), tbl); err == nil || !strings.Contains(err.Error(), "Table.Binary") {
		t.Errorf("three classes: %v", err)
	}
	tuned := casetest.Must(Tuner{OuterFolds: -1, Learner: &linear.Logistic{Intercept: linear.UnpenalisedIntercept}}.TuneClasses(t.Context(), tbl))(t)
	if err := cvgm.CheckGroups(tuned.Tuned[0].Splits, tbl.Groups); err != nil {
		t.Error(err)
	}
	found := casetest.Must(tuned.Class(tbl))(t)
	kept := TunedClasses{Classes: tuned.Classes}
	for _, one := range tuned.Tuned {
		text := casetest.Must(json.Marshal(one.Pipeline))(t)
		kept.Tuned = append(kept.Tuned, &Tuned{Pipeline: new(table.Pipeline)})
		casetest.OK(t, json.Unmarshal(text, kept.Tuned[len(kept.Tuned)-1].Pipeline))
	}
	if again, err := kept.Class(tbl); err != nil || !slices.Equal(again, found) {
		t.Errorf("read from JSON the pipelines find other classes, %v", err)
	}
	right := 0
	for i, class := range found {
		if class == tbl.Classes[int(tbl.Y[i])] {
			right++
		}
	}
	if right < 105 {
		t.Errorf("%d of %d right", right, len(found))
	}
	binary := casetest.Must(tbl.Binary("rose"))(t)
	if _, err := (Tuner{}).TuneClasses(t.Context(), binary); err == nil || !strings.Contains(err.Error(), "use TuneTable") {
		t.Errorf("two classes: %v", err)
	}
	for _, learner := range []learn.Learner{&linear.SparseLogistic{Intercept: true}, &kernel.Ridge{Intercept: true}, &kernel.SVM{Intercept: true}, nil} {
		one, err := Tuner{Learner: learner, OuterFolds: 2, MaxEvals: 10}.TuneTable(t.Context(), binary)
		if err != nil || one.Pipeline == nil || one.Risk == nil || !one.Risk.Comparisons[0].Better() {
			t.Fatalf("%T: %v, %+v", learner, err, one)
		}
		want := casetest.Must(one.Pipeline.Decision(binary))(t)
		text, err := json.Marshal(one.Pipeline)
		if err != nil {
			t.Fatalf("%T: %v", learner, err)
		}
		var read table.Pipeline
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%T: %v", learner, err)
		}
		if got, err := read.Decision(binary); err != nil || !slices.Equal(got, want) {
			t.Errorf("%T: read from JSON the pipeline predicts otherwise, %v", learner, err)
		}
	}
}

// BenchmarkTune measures the time of an evaluation of the CV loss. One search ends at its budget,
// because rounding may change the number of evaluations of a search that converges.
func BenchmarkTune(b *testing.B) {
	for _, c := range []struct {
		name         string
		rows, n, max int
	}{{"500x20", 500, 20, 0}, {"200x10/budget=40", 200, 10, 40}} {
		b.Run(c.name, func(b *testing.B) {
			d := casetest.Regression(5, c.rows, c.n)
			tuner := Tuner{Folds: 10, OuterFolds: -1, Workers: 1, MaxEvals: c.max}
			b.ReportAllocs()
			evaluations := 0
			for b.Loop() {
				tuned, err := tuner.Tune(b.Context(), d)
				if err != nil {
					b.Fatal(err)
				}
				evaluations = tuned.Evaluations
			}
			b.ReportMetric(float64(evaluations), "evaluations")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(evaluations), "ns/evaluation")
		})
	}
}

// Except at its start, a search allocates at most once for each evaluation.
func TestTuneAllocatesThePathAlone(t *testing.T) {
	const (
		looked = 100 // evaluations one by one
		// runtimeAllocs bounds the allocations of Go's runtime, which AllocsPerRun counts, too.
		runtimeAllocs = 5
		few           = 5 // evaluations of a short descent; its start allocates as much memory as the start of a longer one
	)
	d := casetest.Regression(5, 60, 8)
	c := cvgm.Config{Data: d, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring, Generalised: true, Workers: 1,
		Learner: func() learn.Learner { return &linear.ElasticNet{} }}
	w := &tuning{Tuner: Tuner{MaxEvals: 100000}, c: c, learner: &linear.ElasticNet{}, ctx: t.Context(), limit: t.Context(), result: &Tuned{}}
	rows := sample.Complement(nil, len(d.Y))
	splits, err := w.drawSplits(rows, 5)
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.newSearch(rows, splits)
	if err != nil {
		t.Fatal(err)
	}
	x, grad := []float64{.05, .05}, make([]float64, 2)
	// counts returns the allocations and the evaluations of a run.
	counts := func(run func() error) (allocations, evaluations int) {
		n := testing.AllocsPerRun(1, func() {
			s.path = s.path[:0] // AllocsPerRun calls the function once before it counts, so the path has its room
			if err := run(); err != nil {
				t.Fatal(err)
			}
		})
		return int(n), len(s.path)
	}
	for name, part := range map[string]struct{ run, start func() error }{
		"evaluations": {run: func() error {
			for range looked {
				if _, err := s.eval(grad, x); err != nil {
					return err
				}
			}
			return nil
		}},
		"pattern search": {run: func() error {
			s.bestStep = Step{Loss: math.Inf(1)}
			if _, err := s.eval(nil, []float64{1e-4, 1e-4}); err != nil {
				return err
			}
			return s.pattern()
		}},
		"descent": {
			run:   func() error { return s.descend(x) },
			start: func() error { return s.descendWithin(x, few) },
		},
	} {
		allocations, evaluations := counts(part.run)
		if part.start != nil {
			startAllocations, startEvaluations := counts(part.start)
			if evaluations < 2*startEvaluations {
				t.Errorf("%s: %d evaluations of a run and %d of its start leave nothing to compare", name, evaluations, startEvaluations)
			}
			allocations, evaluations = allocations-startAllocations, evaluations-startEvaluations
		}
		if allocations > evaluations+runtimeAllocs {
			t.Errorf("%s: %d allocations in %d evaluations", name, allocations, evaluations)
		}
	}
}

// Tune returns the same losses after all weights are multiplied by a common factor.
func TestTuneWeights(t *testing.T) {
	for name, d := range map[string]learn.Data{"regression": houseData(40), "classes": twoClasses(50, 3)} {
		t.Run(name, func(t *testing.T) {
			for i := range d.Y {
				d.Weights = append(d.Weights, float64(1+i%3))
			}
			first := mustTune(t, Tuner{OuterFolds: 3}, d)
			d.Weights = slices.Clone(d.Weights)
			for i := range d.Weights {
				d.Weights[i] *= 64
			}
			scaled := mustTune(t, Tuner{OuterFolds: 3}, d)
			if math.Abs(scaled.Loss-first.Loss) > 1e-9*first.Loss || math.Abs(scaled.Risk.Tuned.High-first.Risk.Tuned.High) > 1e-6*first.Risk.Tuned.High ||
				math.Abs(scaled.ConstantLoss-first.ConstantLoss) > 1e-9*first.ConstantLoss {
				t.Errorf("%v, with all weights times 64 %v", first, scaled)
			}
		})
	}
	rare := twoClasses(120, 3)
	for i := range rare.Y {
		rare.Y[i] = math.Copysign(1, rare.X.At(i, 0)-1.3)
	}
	balanced := mustTune(t, Tuner{Balanced: true, OuterFolds: -1}, rare)
	if math.Abs(balanced.ConstantLoss-math.Ln2) > 1e-3 {
		t.Errorf("the constant prediction's loss is %v for balanced classes, want log 2", balanced.ConstantLoss)
	}
	if text := balanced.String(); !strings.Contains(text, "C = ") || !strings.Contains(text, "CV loss") || strings.Contains(text, "risk") {
		t.Error(text)
	}
}

// For the fields Config and Hyper of a result, a new CV returns the same loss, bit for bit.
func TestTunedConfig(t *testing.T) {
	tuned := mustTune(t, Tuner{OuterFolds: -1, Fixed: map[string]float64{"λ2": 0}}, houseData(40))
	cv := casetest.Must(cvgm.New(tuned.Config))(t)
	loss := casetest.Must(cv.Eval(nil, tuned.Hyper))(t)
	again, err := cv.StandardError()
	if err != nil || loss != tuned.Loss || again != tuned.StandardError {
		t.Errorf("CV loss %v ± %v, %v; tuned %v ± %v", loss, again, err, tuned.Loss, tuned.StandardError)
	}
	for i, h := range tuned.Searched {
		if h.Name != tuned.Names[i] || h.Default != tuned.DefaultHyper[i] || h.Lower > h.Default || h.Default > h.Upper || (h.Lower == h.Upper) != (h.Name == "λ2") {
			t.Errorf("%+v", h)
		}
	}
}

// Hyperparameters with different names have different kinds, so a search moves them separately.
func TestTuneMovesHyperparametersApart(t *testing.T) {
	for _, learner := range []learn.Tunable{&linear.ElasticNet{}, &linear.SparseLogistic{}, &linear.Huber{}, &kernel.Ridge{}, &linear.Logistic{}, &margin.SVM{}, &kernel.SVM{}} {
		d := twoClasses(40, 3)
		w := &tuning{Tuner: Tuner{}, learner: learner, c: cvgm.Config{Data: d}}
		m, _, err := w.moments(sample.Complement(nil, len(d.Y)))
		if err != nil {
			t.Fatal(err)
		}
		plan, kinds, err := w.hyperparameters(m)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range plan {
			if kinds[i] != i {
				t.Errorf("%T: %s has the kind %d, want %d", learner, h.Name, kinds[i], i)
			}
		}
	}
}

// A search sets a penalty to 0 only if the CV loss does not increase.
func TestTuneSetsNoPenaltyToZeroAtAHigherLoss(t *testing.T) {
	w := casetest.Must(Tuner{}.begin(t.Context(), cvgm.Config{Data: houseData(40)}, nil))(t)
	splits := casetest.Must(w.drawSplits(w.rows(), 5))(t)
	s := casetest.Must(w.newSearch(w.rows(), splits))(t)
	start := []float64{s.hyper[0].Lower, s.hyper[1].Default}
	atZero := casetest.Must(s.eval(nil, []float64{0, start[1]}))(t)
	for _, less := range []float64{1e-3, 1e-6, 1e-12, 0} {
		s.bestStep = Step{Hyper: start, Loss: atZero - less*atZero}
		zeroed, err := s.setZero([]int{0})
		if err != nil || zeroed != (less == 0) || (s.bestStep.Hyper[0] == 0) != zeroed || s.bestStep.Hyper[1] != start[1] {
			t.Errorf("a loss higher by %g of itself: zeroed is %v, best %v, error %v", less, zeroed, s.bestStep.Hyper, err)
		}
	}
}

// beginTuning returns the state of Tune before the search.
func beginTuning(t *testing.T, tuner Tuner, d learn.Data) *tuning {
	t.Helper()
	w := casetest.Must(tuner.begin(t.Context(), cvgm.Config{Data: d}, nil))(t)
	return w
}

// The number of folds is at most the size of the smaller class, so each fold has both classes.
func TestTuneFoldsByTheSmallerClass(t *testing.T) {
	for _, smaller := range []float64{-1, 1} {
		d := twoClasses(24, 2)
		for i := range d.Y {
			d.Y[i] = -smaller
			if i%8 == 0 {
				d.Y[i] = smaller
			}
		}
		w := beginTuning(t, Tuner{}, d)
		splits, err := w.drawSplits(w.rows(), 0)
		if err != nil || len(splits) != 3 {
			t.Errorf("smaller class %v: %d folds, want 3, error %v", smaller, len(splits), err)
		}
		for _, s := range splits {
			if constant(sample.Pick(d.Y, s.Train)) || constant(sample.Pick(d.Y, s.Val)) {
				t.Errorf("smaller class %v: a side of %v has one class", smaller, s)
			}
		}
	}
}

// If the splits are in the order of time, no example is in two outer folds.
func TestTuneOuterFoldsInTimeShareNoExample(t *testing.T) {
	var splits []cvgm.Split
	rows := sample.Complement(nil, 40)
	for start := 8; start+8 <= len(rows); start += 4 { // blocks that overlap by half
		splits = append(splits, cvgm.Split{Train: rows[:start], Val: rows[start : start+8]})
	}
	outer, err := beginTuning(t, Tuner{Splits: splits}, houseData(40)).drawOuterFolds(rows, 3, 0)
	if err != nil || len(outer) != 3 {
		t.Fatalf("%d outer folds, error %v", len(outer), err)
	}
	for j, s := range outer {
		if s.Val[0] != 16+8*j || len(s.Val) != 8 {
			t.Errorf("outer fold %d judges %v, want the 8 examples from %d on", j, s.Val, 16+8*j)
		}
	}
}

// The expected time of an evaluation is proportional to the number of folds.
func TestTuneExpectsLessTimeOfFewerFolds(t *testing.T) {
	var w *tuning
	var each time.Duration
	w = beginTuning(t, Tuner{Progress: func(Progress) {
		w.evalTime += 24 * time.Hour // a time that clocks do not disturb
		each, w.deadline = w.evalTime, time.Now().Add(time.Minute)
	}}, houseData(40))
	splits := casetest.Must(w.drawSplits(w.rows(), 8))(t)
	s := casetest.Must(w.newSearch(w.rows(), splits))(t)
	fewer, err := w.reduceWork(s, w.rows())
	if err != nil || len(fewer.splits) != 2 || w.evalTime != each*2/8 {
		t.Errorf("%d folds of 8, each evaluation %v after %v, error %v", len(fewer.splits), w.evalTime, each, err)
	}
}

// For the loss of the constant prediction, an example of weight w counts as w examples.
func TestTuneConstantLossCountsWeights(t *testing.T) {
	d, repeated := houseData(12), learn.Data{}
	var x []float64
	var copies [][]int
	for i, y := range d.Y {
		d.Weights = append(d.Weights, float64(1+i*i%4))
		copies = append(copies, nil)
		for range 1 + i*i%4 {
			copies[i] = append(copies[i], len(repeated.Y))
			x, repeated.Y = append(x, d.Dense().RawRowView(i)...), append(repeated.Y, y)
		}
	}
	repeated.X = mat.NewDense(len(repeated.Y), 7, x)
	splits := casetest.Must(cvgm.TimeSplits(12, 3, 0))(t)
	var long []cvgm.Split
	for _, s := range splits {
		long = append(long, cvgm.Split{Train: slices.Concat(sample.Pick(copies, s.Train)...), Val: slices.Concat(sample.Pick(copies, s.Val)...)})
	}
	for _, loss := range []cvgm.Loss{cvgm.SquaredError{}, cvgm.AbsoluteError{}, cvgm.HuberLoss{Delta: 20}} {
		got, err := beginTuning(t, Tuner{Loss: loss}, d).constantLoss(splits)
		want, errLong := beginTuning(t, Tuner{Loss: loss}, repeated).constantLoss(long)
		if err := errors.Join(err, errLong); err != nil || math.Abs(got-want) > 1e-9*want {
			t.Errorf("%T: %v with weights, %v of repeated examples, error %v", loss, got, want, err)
		}
	}
}

// The nested estimate weights the out-of-fold losses of the constant prediction like the examples.
func TestTuneRiskCountsWeights(t *testing.T) {
	d := houseData(30)
	for i := range d.Y {
		d.Weights = append(d.Weights, float64(1+i*i%7))
	}
	w := beginTuning(t, Tuner{MaxEvals: 2, Folds: 2, OuterFolds: 3, Repeats: 1}, d)
	casetest.Must(w.run())(t)
	var sum, total float64
	for _, j := range w.judgedModels {
		c := w.constantOn(j.fold.Train)[0]
		for _, i := range j.fold.Val {
			sum += d.Weights[i] * (c - d.Y[i]) * (c - d.Y[i])
			total += d.Weights[i]
		}
	}
	if got := w.result.Risk.Constant.Mean; len(w.judgedModels) != 3 || math.Abs(got-sum/total) > sumTol*got {
		t.Errorf("%d folds: risk %v, want %v", len(w.judgedModels), got, sum/total)
	}
}

// absoluteLearner is a user-defined learner: Huber regression with a tiny threshold.
type absoluteLearner struct{ linear.Huber }

func (*absoluteLearner) New() learn.Learner { return &absoluteLearner{linear.Huber{Intercept: true}} }

func (*absoluteLearner) Dims(n int) (theta, hyper int) { return n + 1, 1 }

func (l *absoluteLearner) Fit(theta, hyper []float64) error {
	return l.Huber.Fit(theta, []float64{hyper[0], 1e-3})
}

func (l *absoluteLearner) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	all := *g
	if g.Hyper != nil {
		all.Hyper = make([]float64, 2)
	}
	err := l.Huber.VJP(w, &all, dtheta)
	if g.Hyper != nil {
		g.Hyper[0] += all.Hyper[0]
	}
	g.Generalised = all.Generalised
	return err
}

func (*absoluteLearner) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return []learn.Hyperparameter{{Name: "ridge", Lower: 1e-8 * m.Trace, Default: .03 * m.Variance, Upper: 10 * m.Trace, Zero: true}}
}

// Tune accepts a user's own learner that implements learn.Tunable.
func TestTuneALearnerOfYourOwn(t *testing.T) {
	d := houseData(60)
	tuned := mustTune(t, Tuner{Learner: &absoluteLearner{}, OuterFolds: 2, MaxEvals: 10}, d)
	if !slices.Equal(tuned.Names, []string{"ridge"}) || !(tuned.Loss < tuned.ConstantLoss) || tuned.Model == nil || tuned.Risk == nil {
		t.Errorf("%v", tuned)
	}
	_, err := Tuner{Learner: &struct{ linear.ElasticNet }{}}.Tune(t.Context(), d)
	if err == nil || !strings.Contains(err.Error(), "New of its own") {
		t.Errorf("a learner with the New of another: %v", err)
	}
}
