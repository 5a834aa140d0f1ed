package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// Tune returns the same bits with and without examples of weight 0.
func TestTuneWithoutWeight(t *testing.T) {
	serial.Test(t)
	for _, test := range []struct {
		learner learn.Learner
		data    learn.Data
	}{{nil, houseData(40)}, {nil, twoClasses(40, 3)}, {&kernel.SVM{Intercept: true}, twoClasses(30, 2)}} {
		n, columns := test.data.X.Dims()
		for range n {
			test.data.Weights = append(test.data.Weights, 1)
		}
		more := learn.Data{X: mat.NewDense(n+20, columns, nil), Y: slices.Clone(test.data.Y), Weights: slices.Clone(test.data.Weights)}
		more.Dense().Slice(0, n, 0, columns).(*mat.Dense).Copy(test.data.X)
		for i := n; i < n+20; i++ {
			more.Y, more.Weights = append(more.Y, test.data.Y[0]), append(more.Weights, 0)
			for j := range columns {
				more.Dense().Set(i, j, 1e9)
			}
		}
		tuner := Tuner{Learner: test.learner, OuterFolds: 3, Workers: 1}
		want, got := mustTune(t, tuner, test.data), mustTune(t, tuner, more)
		if !slices.Equal(got.Hyper, want.Hyper) || got.Loss != want.Loss || !equalRisks(got.Risk, want.Risk) || got.ConstantLoss != want.ConstantLoss {
			t.Errorf("%T: with examples of weight 0\n%v, without\n%v", test.learner, got, want)
		}
	}
}

// equalRisks compares two estimates except for their predictions, which may differ for rows of
// weight 0.
func equalRisks(a, b *Risk) bool {
	return a.Tuned == b.Tuned && a.Default == b.Default && a.Constant == b.Constant && a.Rival == b.Rival && slices.Equal(a.Comparisons, b.Comparisons)
}

// The interval of the risk does not depend on the unit of the labels, even if squares of losses
// overflow or underflow.
func TestTuneRiskIsFreeOfUnits(t *testing.T) {
	// riskTol is in units of the constant prediction's risk. It is large, because rounding moves
	// the point at which a search ends.
	const riskTol = 1e-2
	d := houseData(40)
	want := mustTune(t, Tuner{OuterFolds: 3}, d).Risk
	for _, exponent := range []int{-450, -330, 330, 450} {
		other := learn.Data{X: d.X, Y: slices.Clone(d.Y)}
		for i := range d.Y {
			other.Y[i] = math.Ldexp(d.Y[i], exponent)
		}
		got := mustTune(t, Tuner{OuterFolds: 3}, other).Risk
		if low := math.Ldexp(got.Tuned.Low, -2*exponent); !(math.Abs(low-want.Tuned.Low) <= riskTol*want.Constant.Mean) {
			t.Errorf("labels times 2^%d: risk %v, want %v in units", exponent, got.Tuned, want.Tuned)
		}
		for k, c := range want.Comparisons {
			if g := got.Comparisons[k]; g.With != c.With || !(math.Abs(g.Percent.Low-c.Percent.Low) <= 100*riskTol) || !(math.Abs(g.Shown-c.Shown) <= 100*riskTol) {
				t.Errorf("labels times 2^%d: %v, want %v", exponent, g, c)
			}
		}
	}
}

// Tune finds the best constant prediction even if the loss has kinks or a slope of 0.
func TestTuneConstantPrediction(t *testing.T) {
	for _, test := range []struct {
		loss cvgm.Loss
		y    []float64
		want float64
	}{
		{cvgm.AbsoluteError{}, []float64{0, 0, 0, 1, 2}, 0}, // the bisection begins at the label 1
		{cvgm.AbsoluteError{}, []float64{0, 1, 2, 2, 2}, 2},
		{cvgm.ZeroOne{}, []float64{-1, -1, -1, 1}, -1},
		{cvgm.ZeroOne{}, []float64{-1, 1, 1, 1}, 1},
		{cvgm.Hinge{}, []float64{-1, -1, 1}, -1},
		{cvgm.SquaredHinge{}, []float64{-1, 1, 1, 1}, .5},
	} {
		w := &tuning{c: cvgm.Config{Loss: test.loss, Data: learn.Data{Y: test.y}}}
		if got := w.constantOn(sample.Complement(nil, len(test.y))); math.Abs(got[0]-test.want) > 1e-12 {
			t.Errorf("%T of %v: %v, want %v", test.loss, test.y, got[0], test.want)
		}
	}
}

// Tune rejects splits with invalid or repeated rows.
func TestTuneRefusesSplits(t *testing.T) {
	d := houseData(10)
	whole := cvgm.Split{Train: []int{0, 1, 2, 3, 4}, Val: []int{5, 6, 7}}
	for name, s := range map[string]cvgm.Split{
		"index 10": {Train: []int{0, 1, 2, 3}, Val: []int{4, 10}}, "index -1": {Train: []int{-1, 1, 2, 3}, Val: []int{4, 5}},
		"0 validation rows": {Train: []int{1, 2, 3}}, "index 2 twice": {Train: []int{1, 2, 3}, Val: []int{2, 5}},
	} {
		_, err := Tuner{Splits: []cvgm.Split{whole, s}}.Tune(t.Context(), d)
		var split *cvgm.SplitError
		if !errors.As(err, &split) || split.Split != 1 || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// In Fixed, a value for an indexed name overrides the value for the name without an index.
func TestTuneFixedByIndex(t *testing.T) {
	for range 20 {
		tuned := mustTune(t, Tuner{Fixed: map[string]float64{"λ1": .1, "λ2": .2, "λ2[0]": .3}, Learner: &margin.LearnedLoss{}, Loss: cvgm.LogisticLoss{}, Repeats: 1, Hyper: []learn.Hyperparameter{
			{Name: "λ1", Lower: .1, Default: 1, Upper: 2}, {Name: "λ1[1]", Lower: .1, Default: 1, Upper: 2}, {Name: "λ2[0]", Lower: .1, Default: 1, Upper: 2},
			{Name: "λ2[1]", Lower: .1, Default: 1, Upper: 2}, {Name: "λ2[2]", Lower: .1, Default: 1, Upper: 2}}}, twoClasses(30, 2))
		if want := []float64{.1, .1, .3, .2, .2}; !slices.Equal(tuned.Hyper, want) || tuned.Evaluations != 6 {
			t.Fatalf("%v after %d evaluations, want %v after 6", tuned.Hyper, tuned.Evaluations, want)
		}
	}
	_, err := Tuner{Fixed: map[string]float64{"b": 1, "a": 1, "c": 1}}.Tune(t.Context(), houseData(20))
	if err == nil || !strings.Contains(err.Error(), `names "a"`) {
		t.Error(fmt.Errorf("the first name in order is refused: %w", err))
	}
}

// failingLearner is an elastic net whose fits fail.
type failingLearner struct{ linear.ElasticNet }

func (*failingLearner) New() learn.Learner { return &failingLearner{} }

func (*failingLearner) Fit(theta, hyper []float64) error { return errors.New("no fit") }

// If every fit fails, Tune returns the learner's error.
func TestTuneWithoutAnyFit(t *testing.T) {
	hyper := []learn.Hyperparameter{{Name: "λ1", Lower: 1e-3, Default: .1, Upper: 1}, {Name: "λ2", Lower: 1e-3, Default: .1, Upper: 1}}
	tuned, err := Tuner{Learner: &failingLearner{}, Hyper: hyper, Loss: cvgm.SquaredError{}}.Tune(t.Context(), houseData(20))
	if tuned != nil || err == nil || !strings.Contains(err.Error(), "no fit") {
		t.Errorf("%v, %v", tuned, err)
	}
}

// Tune returns the same CV loss, bit for bit, after features and labels are multiplied by powers of
// 2.
func TestTunePathIsFreeOfUnits(t *testing.T) {
	for _, learner := range []learn.Learner{nil, &linear.Huber{Intercept: true}, &kernel.Ridge{Intercept: true}} {
		d := houseData(24)
		want := mustTune(t, Tuner{Learner: learner, OuterFolds: -1}, d)
		for _, exponent := range []int{-400, 20, 400} {
			other := learn.Data{X: mat.DenseCopyOf(d.X), Y: slices.Clone(d.Y)}
			for i := range d.Y {
				other.Y[i] = math.Ldexp(d.Y[i], exponent)
				other.Dense().Set(i, 3, math.Ldexp(d.X.At(i, 3), -exponent))
			}
			got := mustTune(t, Tuner{Learner: learner, OuterFolds: -1}, other)
			unit := 2 * exponent
			if _, huber := learner.(*linear.Huber); huber {
				unit = exponent
			}
			if len(got.Path) != len(want.Path) || math.Ldexp(got.Loss, -unit) != want.Loss {
				t.Errorf("%T, 2^%d: %v after %d evaluations, want %v after %d", learner, exponent, math.Ldexp(got.Loss, -unit), len(got.Path), want.Loss, len(want.Path))
			}
		}
	}
	d := houseData(24)
	want := mustTune(t, Tuner{}, d)
	for _, exponent := range []int{-900, 900} { // squares of the column over- and underflow
		other := learn.Data{X: mat.DenseCopyOf(d.X), Y: d.Y}
		for i := range d.Y {
			other.Dense().Set(i, 3, math.Ldexp(d.X.At(i, 3), exponent))
		}
		if got := mustTune(t, Tuner{}, other); got.Loss != want.Loss || !equalRisks(got.Risk, want.Risk) {
			t.Errorf("a column times 2^%d: CV loss %v, want %v", exponent, got.Loss, want.Loss)
		}
	}
	flat := houseData(20)
	for i := range flat.Y {
		flat.Y[i] = math.Ldexp(1, 400)
	}
	if tuned := mustTune(t, Tuner{Learner: &linear.Huber{Intercept: true}, OuterFolds: -1}, flat); slices.Contains(tuned.kinds(), FailedFits) {
		t.Errorf("equal labels in a far unit: %v", tuned.Warnings)
	}
}

// Tuned.Loss equals the loss of a new CV, bit for bit, although searches use warm starts.
func TestTunedLossHasTheBitsOfANewCV(t *testing.T) {
	for _, learner := range []learn.Learner{&linear.Logistic{Intercept: linear.UnpenalisedIntercept}, &linear.SparseLogistic{Intercept: true}, &margin.SVM{}, &kernel.SVM{Intercept: true}} {
		for n := 20; n < 40; n += 3 {
			tuned := mustTune(t, Tuner{Learner: learner, OuterFolds: -1, MaxEvals: 40}, twoClasses(n, 3))
			cv := casetest.Must(cvgm.New(tuned.Config))(t)
			if loss, err := cv.Eval(nil, tuned.Hyper); loss != tuned.Loss {
				t.Errorf("%T, N = %d: CV loss %v, %v; tuned %v", learner, n, loss, err, tuned.Loss)
			}
		}
	}
}

// Tune does not warn of a failed fit if the solution is not unique for a penalty of 0.
func TestTuneTriesZerosWithoutWarning(t *testing.T) {
	d := houseData(40)
	for i := range d.Y {
		d.Dense().Set(i, 1, 100*d.X.At(i, 0)-d.X.At(i, 2))
		d.Y[i] = 5 - 2*d.X.At(i, 4)
	}
	tuned := mustTune(t, Tuner{OuterFolds: -1}, d)
	failed := slices.ContainsFunc(tuned.Path, func(s Step) bool { return math.IsInf(s.Loss, 1) })
	if !failed || slices.Contains(tuned.kinds(), FailedFits) {
		t.Errorf("a fit failed: %v; warnings %v", failed, tuned.Warnings)
	}
}

// Tune finds a narrow valley of the CV loss near a bound, although the first points favour another
// bound.
func TestTuneFindsAValleyAtTheEdge(t *testing.T) {
	const valley = .975 // of the constant prediction's CV loss; an exhaustive search finds .9718
	tuned := mustTune(t, Tuner{OuterFolds: -1}, drawTrial(39, fullTrial, false).data)
	if !(tuned.Loss < valley*tuned.ConstantLoss) {
		t.Errorf("%v has %v of the constant prediction's CV loss", tuned.Hyper, tuned.Loss/tuned.ConstantLoss)
	}
}

// For a kernel machine, Tune ends at a CV loss as low as the lowest loss on a grid.
func TestTuneFindsTheValleyOfAKernelMachine(t *testing.T) {
	serial.Test(t)
	const grid = 12
	for _, seed := range []uint64{13, 21, 23} {
		src := synth.NewStream(seed, "disc")
		d := learn.Data{X: mat.NewDense(60, 4, nil), Y: make([]float64, 60)}
		for i := range d.Y {
			r := []float64{src.NormFloat64(), src.NormFloat64(), src.NormFloat64(), src.NormFloat64()}
			d.Dense().SetRow(i, r)
			d.Y[i] = math.Copysign(1, math.Hypot(r[0], r[1])-1.1+.5*src.NormFloat64())
		}
		tuner := Tuner{Learner: &kernel.SVM{Intercept: true}, OuterFolds: -1, Folds: 5, Workers: 1}
		tuned := mustTune(t, tuner, d)
		low := casetest.Must(tuner.lowest(t.Context(), d, tuned, trialSize{grid: grid}))(t)
		if tuned.Loss > low.loss {
			t.Errorf("stream %d: %v has the CV loss %v, the grid has %v", seed, tuned.Hyper, tuned.Loss, low.loss)
		}
	}
}

// embeddingLearner embeds an elastic net, so a shallow copy would share state with the original.
type embeddingLearner struct{ linear.ElasticNet }

func (*embeddingLearner) New() learn.Learner { return &embeddingLearner{} }

// Tune returns the same bits for a learner that has loaded data as for a new learner.
func TestTuneLoadedPrototype(t *testing.T) {
	d := houseData(30)
	hyper := []learn.Hyperparameter{{Name: "λ1", Lower: 1e-3, Default: .1, Upper: 1}, {Name: "λ2", Lower: 1e-3, Default: .1, Upper: 1}}
	loaded := &embeddingLearner{}
	casetest.OK(t, loaded.Load(houseData(50)))
	casetest.OK(t, loaded.Fit(make([]float64, 7), []float64{1, 1}))
	want := mustTune(t, Tuner{Learner: &embeddingLearner{}, Hyper: hyper, Loss: cvgm.SquaredError{}, OuterFolds: -1}, d)
	got := mustTune(t, Tuner{Learner: loaded, Hyper: hyper, Loss: cvgm.SquaredError{}, OuterFolds: -1, Workers: 4}, d)
	if got.Loss != want.Loss || !slices.Equal(got.Hyper, want.Hyper) || len(got.Path) != len(want.Path) {
		t.Errorf("%v after %d evaluations, want %v after %d", got, len(got.Path), want, len(want.Path))
	}
}

// pickyLearner is an elastic net whose fits fail if the first hyperparameter exceeds Most.
type pickyLearner struct {
	linear.ElasticNet
	Most float64
}

func (l *pickyLearner) New() learn.Learner { return &pickyLearner{Most: l.Most} }

func (*pickyLearner) Convention() learn.Convention { return learn.Convention{} }

func (l *pickyLearner) Fit(theta, hyper []float64) error {
	if hyper[0] > l.Most {
		return errors.New("too high")
	}
	return l.ElasticNet.Fit(theta, hyper)
}

// If the fit of the default hyperparameters fails, Tune still returns a nested estimate.
func TestTuneFailingDefault(t *testing.T) {
	hyper := []learn.Hyperparameter{{Name: "λ1", Lower: 1e-3, Default: 1, Upper: 1}, {Name: "λ2", Lower: 1e-3, Default: .1, Upper: 1}}
	tuned := mustTune(t, Tuner{Learner: &pickyLearner{Most: .1}, Hyper: hyper, Loss: cvgm.SquaredError{}, OuterFolds: 3}, houseData(30))
	if slices.Contains(tuned.kinds(), NoImprovement) || !slices.Contains(tuned.kinds(), FailedFits) || !math.IsInf(tuned.DefaultLoss, 1) {
		t.Errorf("default %v, warnings %v", tuned.DefaultLoss, tuned.Warnings)
	}
	r := tuned.Risk
	if r == nil || !args.Finite(r.Tuned.High) || !math.IsInf(r.Default.Low, 1) || len(r.Comparisons) < 2 || !r.Comparisons[0].Worse() || !r.Comparisons[1].Better() || !strings.Contains(r.Comparisons[1].String(), "which failed") {
		t.Errorf("risk %+v; %v", r, tuned.Warnings)
	}
}

// Tune warns of features that do not vary.
func TestTuneConstantFeatures(t *testing.T) {
	d := houseData(20)
	for _, learner := range []learn.Learner{nil, &kernel.Ridge{Intercept: true}} {
		if kinds := mustTune(t, Tuner{Learner: learner, OuterFolds: -1}, d).kinds(); slices.Contains(kinds, NoInformation) {
			t.Errorf("%T: kinds %v for features that vary", learner, kinds)
		}
	}
	d.Dense().Apply(func(i, j int, _ float64) float64 { // constant up to rounding
		if i%2 == 0 {
			return (float64(j) + .1) * 3
		}
		return float64(j)*3 + .3
	}, d.X)
	for _, learner := range []learn.Learner{nil, &kernel.Ridge{Intercept: true}} {
		if kinds := mustTune(t, Tuner{Learner: learner, OuterFolds: -1}, d).kinds(); !slices.Contains(kinds, NoInformation) {
			t.Errorf("%T: kinds %v", learner, kinds)
		}
	}
}

// An error or warning about folds names the field of Tuner that causes it.
func TestTuneNamesTheFieldOfFolds(t *testing.T) {
	d, groups := houseData(20), make([]int, 20)
	for i := range groups {
		groups[i] = i % 4
	}
	if _, err := (Tuner{Groups: groups, Folds: 5}).Tune(t.Context(), d); err == nil || !strings.Contains(err.Error(), "Tuner.Folds: K is 5 for 4 groups") {
		t.Error(err)
	}
	for i := range groups {
		groups[i] = i % 2
	}
	for outer, words := range map[int]string{0: "Tuner.Groups leaves one group to the search", 3: "Tuner.OuterFolds: K is 3 for 2 groups"} {
		tuned := mustTune(t, Tuner{Groups: groups, OuterFolds: outer}, d)
		if tuned.Risk != nil || !slices.ContainsFunc(tuned.Warnings, func(w Warning) bool { return w.Kind == NoRisk && strings.Contains(w.Text, words) }) {
			t.Errorf("OuterFolds %d: %v", outer, tuned.Warnings)
		}
	}
}

// For the bounds of hyperparameters, an example of weight 2 counts as two examples.
func TestTuneBoundsCountWeights(t *testing.T) {
	for _, learner := range []learn.Learner{nil, &linear.Huber{Intercept: true}, &kernel.Ridge{Intercept: true}} {
		d := houseData(24)
		d.Weights = slices.Repeat([]float64{1}, 24)
		twice := learn.Data{X: mat.NewDense(32, 7, nil), Y: slices.Concat(d.Y, d.Y[:8])}
		for i := range 32 {
			twice.Dense().SetRow(i, d.Dense().RawRowView(i%24))
		}
		for i := range 8 {
			d.Weights[i] = 2
		}
		plan := func(d learn.Data) []learn.Hyperparameter {
			made := casetest.Must(Tuner{Learner: learner}.prototype(d.Y))(t)
			w := &tuning{c: cvgm.Config{Data: d, Standardise: true}, learner: made}
			m, _, err := w.moments(w.rows())
			if err != nil {
				t.Fatal(err)
			}
			hyper, _, err := w.hyperparameters(m)
			if err != nil {
				t.Fatal(err)
			}
			return hyper
		}
		got, want := plan(d), plan(twice)
		for i := range want {
			if math.Abs(got[i].Default-want[i].Default) > 1e-12*want[i].Default || math.Abs(got[i].Upper-want[i].Upper) > 1e-12*want[i].Upper {
				t.Errorf("%T: %+v with weights, %+v with examples twice", learner, got[i], want[i])
			}
		}
	}
}

// If the splits are in the order of time, no search of an outer fold uses later examples.
func TestTuneOuterFoldsInTheOrderOfTime(t *testing.T) {
	for _, gap := range []int{0, 4} {
		splits := casetest.Must(cvgm.TimeSplits(60, 5, gap))(t)
		d := houseData(60)
		for want, tuner := range map[int]Tuner{4: {Splits: splits}, 2: {Splits: splits, OuterFolds: 2}} {
			if tuned := mustTune(t, tuner, d); tuned.Risk == nil || tuned.Risk.Folds != want {
				t.Fatalf("gap %d: risk %v of %d folds; %v", gap, tuned.Risk, want, tuned.Warnings)
			}
			w := &tuning{Tuner: tuner, c: cvgm.Config{Data: d}}
			outer, err := w.drawOuterFolds(w.rows(), want, 0)
			if err != nil || len(outer) != want || outer[want-1].Val[0] != 50 {
				t.Fatalf("gap %d: %v, %v", gap, outer, err)
			}
			for _, fold := range outer {
				inner, err := w.drawSplits(fold.Train, 0)
				if err != nil || len(inner) == 0 {
					t.Fatal(inner, err)
				}
				for _, s := range inner {
					if slices.Max(s.Train) >= slices.Min(s.Val) || slices.Max(s.Val) > slices.Max(fold.Train) || slices.Max(fold.Train)+gap >= slices.Min(fold.Val) {
						t.Errorf("gap %d: %v in the search of %v", gap, s, fold)
					}
				}
			}
		}
		if tuned := mustTune(t, Tuner{Splits: splits[:2]}, d); tuned.Risk != nil || !slices.Contains(tuned.kinds(), NoRisk) {
			t.Errorf("gap %d, one outer fold: %v", gap, tuned.Warnings)
		}
	}
}

// Tune returns an error that names the data if their squares overflow or underflow.
func TestTuneRefusesFarUnits(t *testing.T) {
	scaled := func(d learn.Data, x, y int) learn.Data {
		d = learn.Data{X: mat.DenseCopyOf(d.X), Y: slices.Clone(d.Y)}
		d.Dense().Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, x) }, d.X)
		for i := range d.Y {
			d.Y[i] = math.Ldexp(d.Y[i], y)
		}
		return d
	}
	kernels := []learn.Learner{&kernel.SVM{Intercept: true}, &kernel.Ridge{Intercept: true}}
	for _, exponent := range []int{-700, 700} {
		for _, learner := range append(kernels, &linear.ElasticNet{}, &margin.SVM{}, &linear.Logistic{}, &linear.SparseLogistic{}, &linear.Huber{Intercept: true}) {
			_, err := Tuner{Learner: learner, Raw: true}.Tune(t.Context(), scaled(twoClasses(30, 3), exponent, 0))
			if err == nil || !strings.Contains(err.Error(), "scale") {
				t.Errorf("%T, raw features times 2^%d: %v", learner, exponent, err)
			}
		}
		for _, learner := range []learn.Learner{nil, &kernel.Ridge{Intercept: true}} {
			if _, err := (Tuner{Learner: learner}).Tune(t.Context(), scaled(houseData(30), 0, exponent)); err == nil || !strings.Contains(err.Error(), "scale") {
				t.Errorf("%T, labels times 2^%d: %v", learner, exponent, err)
			}
		}
	}
}

// countedLoss counts the evaluations of a loss.
type countedLoss struct {
	cvgm.LogisticLoss
	count *atomic.Int64
}

func (l countedLoss) Eval(p, y float64) (float64, float64) {
	l.count.Add(1)
	return l.LogisticLoss.Eval(p, y)
}

// After ctx is cancelled, Tune evaluates the loss at most twice for each example.
func TestTuneEndsSoonAfterCancel(t *testing.T) {
	const n = 3000
	d, loss := twoClasses(n, 2), countedLoss{count: new(atomic.Int64)}
	ctx, cancel := context.WithCancel(t.Context())
	tuner := Tuner{Loss: loss, Progress: func(p Progress) {
		if p.Evaluations == 3 {
			cancel()
			loss.count.Store(0)
		}
	}}
	tuned, err := tuner.Tune(ctx, d)
	if !errors.Is(err, context.Canceled) || tuned == nil {
		t.Fatal(tuned, err)
	}
	if count := loss.count.Load(); count > 2*n {
		t.Errorf("%d evaluations of the loss of %d examples", count, n)
	}
}

// fragileLearner is an elastic net. For a first hyperparameter above .1, its fits fail without a
// warm start or with more than Most examples.
type fragileLearner struct {
	linear.ElasticNet
	Most int
	n    int
	warm bool
}

func (l *fragileLearner) New() learn.Learner { return &fragileLearner{Most: l.Most} }

func (l *fragileLearner) Load(d learn.Data) error {
	l.n, l.warm = len(d.Y), false
	return l.ElasticNet.Load(d)
}

func (l *fragileLearner) Reset() { l.warm = false }

func (l *fragileLearner) Fit(theta, hyper []float64) error {
	if hyper[0] > .1 && (l.n > l.Most || !l.warm) {
		return errors.New("too fragile")
	}
	l.warm = true
	return l.ElasticNet.Fit(theta, hyper)
}

// If the final fit fails at the point with the lowest CV loss, Tune uses the point with the next
// higher loss.
func TestTuneSettlesForTheNextPoint(t *testing.T) {
	d := houseData(40)
	for i := range d.Y {
		d.Y[i] = math.Sin(float64(i * i)) // noise: the lowest point has much of λ1
	}
	hyper := []learn.Hyperparameter{{Name: "λ1", Lower: 1e-3, Default: .02, Upper: 1}, {Name: "λ2", Lower: 1e-3, Default: .1, Upper: 1}}
	free := mustTune(t, Tuner{Learner: &embeddingLearner{}, Hyper: hyper, Loss: cvgm.SquaredError{}}, d)
	if free.Hyper[0] <= .1 {
		t.Fatalf("the lowest point is %v", free.Hyper)
	}
	for _, most := range []int{30, 36, 1000} { // of outer training, of inner training
		tuned := mustTune(t, Tuner{Learner: &fragileLearner{Most: most}, Hyper: hyper, Loss: cvgm.SquaredError{}, KeepWinner: true, Repeats: 1}, d)
		lowest := math.Inf(1)
		for _, step := range tuned.Path {
			if step.Hyper[0] <= .1 {
				lowest = min(lowest, step.Loss)
			}
		}
		if tuned.Model == nil || tuned.Hyper[0] > .1 || math.Abs(tuned.Loss-lowest) > 1e-9*lowest || tuned.Risk == nil || !slices.Contains(tuned.kinds(), FailedFits) {
			t.Errorf("most %d: %v, the lowest that can be fitted is %v", most, tuned, lowest)
		}
	}
}

// Fixed accepts the names of Greek letters, as in lambda1.
func TestTuneFixedInLetters(t *testing.T) {
	d := houseData(30)
	want := mustTune(t, Tuner{Fixed: map[string]float64{"λ1": 0}, OuterFolds: -1}, d)
	got := mustTune(t, Tuner{Fixed: map[string]float64{"lambda1": 0}, OuterFolds: -1}, d)
	if got.Loss != want.Loss || got.Hyper[0] != 0 {
		t.Errorf("%v, with λ1 %v", got.Hyper, want.Hyper)
	}
	for _, name := range []string{"α1", "λ2", "γ[0]", "δ"} {
		s := space{hyper: []learn.Hyperparameter{{Name: name, Lower: 1, Default: 2, Upper: 3}}, isFree: []bool{true}}
		letters := strings.NewReplacer("α", "alpha", "λ", "lambda", "γ", "gamma", "δ", "delta").Replace(name)
		if err := s.fix(letters, 2.5); err != nil || s.isFree[0] || s.hyper[0].Default != 2.5 {
			t.Errorf("%s for %s: %v, %v", letters, name, err, s.hyper[0])
		}
		if err := s.fix(letters+"0", 2.5); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("names %q", letters+"0")) {
			t.Errorf("%s0: %v", letters, err)
		}
	}
}

// Tune copies a matrix that is neither dense nor sparse.
func TestTuneOtherMatrix(t *testing.T) {
	for _, size := range [][2]int{{3999, 2}, {4000, 2}, {50, 201}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("panics: %v", r)
				}
			}()
			d := casetest.Regression(1, size[0], size[1])
			d.X = mat.DenseCopyOf(d.X.T()).T()
			if _, err := (Tuner{OuterFolds: -1, Folds: 3, MaxEvals: 3}).Tune(t.Context(), d); err != nil {
				t.Error(err)
			}
		})
	}
}

// A feature that is constant up to rounding does not change the mean variance of the features,
// which determines the default of λ2.
func TestMomentsBesideConstantFeature(t *testing.T) {
	for _, rows := range []int{3999, 4000} {
		d := casetest.Regression(1, rows, 2)
		x := mat.NewDense(rows, 6, nil)
		for i := range rows {
			x.Set(i, 0, d.X.At(i, 0))
			x.Set(i, 1, d.X.At(i, 1))
			for j := 2; j < 6; j++ {
				if x.Set(i, j, .3); i%2 > 0 {
					x.Set(i, j, math.Nextafter(.3, 1))
				}
			}
		}
		d.X = x
		w := casetest.Must(Tuner{}.begin(t.Context(), cvgm.Config{Data: d}, nil))(t)
		m, _, err := w.moments(w.rows())
		casetest.OK(t, err)
		if !casetest.Near(m.Variance, 1, 1e-6) {
			t.Errorf("%d rows: the variance of a feature that varies is %v instead of 1", rows, m.Variance)
		}
	}
}
