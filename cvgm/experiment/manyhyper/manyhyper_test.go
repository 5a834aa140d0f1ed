package manyhyper

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// sameTol bounds the relative difference of losses that are equal up to rounding.
const sameTol = 1e-9

func streams(set uint64) func(string) *synth.Stream {
	return func(purpose string) *synth.Stream { return synth.NewStream(set, "test of many: "+purpose) }
}

// Equal hyperparameters in all groups give the same CV loss as a single hyperparameter, so a search
// for many can start from a search for one.
func TestSpreadKeepsTheModel(t *testing.T) {
	serial.Test(t)
	p := *casetest.Drawn[LeversParams]("levers")
	for _, l := range p.levers() {
		train, test := l.draw(streams(1))
		splits, err := cvgm.KFold(streams(1)("folds"), len(train.Y), 3)
		if err != nil {
			t.Fatal(err)
		}
		var losses [2]float64
		for k, groups := range []int{1, l.features} {
			s, err := l.setup(groups, train, test, splits)
			if err != nil {
				t.Fatal(err)
			}
			x := s.Start
			if k > 0 {
				one, err := l.setup(1, train, test, splits)
				if err != nil {
					t.Fatal(err)
				}
				if x = l.spreadOver(one.Start, groups); len(x) != len(s.Start) {
					t.Fatalf("%s: %d hyperparameters, not %d", l.name, len(x), len(s.Start))
				}
			}
			if losses[k], err = s.CVLoss(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
		if !scalar.EqualWithinRel(losses[0], losses[1], sameTol) {
			t.Errorf("%s: CV losses %v", l.name, losses)
		}
	}
}

// Labels without noise equal the documented functions of the features.
func TestLabelsOfProblems(t *testing.T) {
	serial.Test(t)
	x, y := Smooths{Features: 6}.raw(streams(2)("data"), 9)
	for i := range y {
		if want := Truths[0].Of(x.At(i, 0)) + Truths[1].Of(x.At(i, 1)) + Truths[2].Of(x.At(i, 2)) + Truths[3].Of(x.At(i, 3)); !scalar.EqualWithinRel(y[i], want, sameTol) {
			t.Errorf("row %d: label %v, want %v", i, y[i], want)
		}
	}
	// For Decay 0, only the two coefficients of the first band are nonzero. Two rows determine
	// them.
	bands := Banded{Train: 9, Test: 1, Features: 4, Bands: 2, Decay: 0}.problem("bands")
	train, _ := bands.draw(streams(3))
	var coef mat.VecDense
	if err := coef.SolveVec(train.Dense().Slice(0, 2, 0, 2), mat.NewVecDense(2, train.Y[:2])); err != nil {
		t.Fatal(err)
	}
	for i, y := range train.Y {
		if want := train.X.At(i, 0)*coef.AtVec(0) + train.X.At(i, 1)*coef.AtVec(1); math.Abs(y-want) > 1e-9 {
			t.Errorf("row %d: label %v, want %v", i, y, want)
		}
	}
	friedman := Friedman{Train: 5, Test: 1, Features: 7}.problem("friedman")
	train, _ = friedman.draw(streams(4))
	for i, y := range train.Y {
		x := train.Dense().RawRowView(i)
		if want := 10*math.Sin(math.Pi*x[0]*x[1]) + 20*math.Pow(x[2]-.5, 2) + 10*x[3] + 5*x[4]; !scalar.EqualWithinRel(y, want, sameTol) {
			t.Errorf("row %d: label %v, want %v", i, y, want)
		}
	}
}

func TestLeversAreTheSameForAnyGOMAXPROCS(t *testing.T) {
	p := *casetest.Drawn[LeversParams]("levers")
	p.Widths.Groups, p.Bands.Groups, p.Smooths.Groups, p.Smooths.Features = []int{6}, []int{2, 6}, []int{4}, 4
	r := casetest.SameForAnyGOMAXPROCS(t, p.Run)
	for k, rows := range []int{5, 8, 8, 5} {
		l := r.Problems[k]
		if len(l.Rows) != rows {
			t.Fatalf("%s has %d rows, want %d", l.Name, len(l.Rows), rows)
		}
		first, last := l.Rows[0], l.Rows[len(l.Rows)-1]
		if first.TestLessOne.Difference.Mean != 0 || first.TestLessOne.Wins != .5 || l.Ratio(first).Mean != 1 || l.CVRatio(first).Mean != 1 {
			t.Errorf("%s: one against itself is %+v", l.Name, first)
		}
		if last.CVLessOne.Difference.N != 0 || last.Fits.N != 0 || last.Evaluations.N != p.DataSets {
			t.Errorf("%s: the tuner's row is %+v", l.Name, last)
		}
		if want := float64(p.Folds) * first.Evaluations.Mean; first.Fits.Mean != want {
			t.Errorf("%s: %v fits, want %v", l.Name, first.Fits.Mean, want)
		}
		for _, row := range l.Rows {
			if ratio := row.Test.Mean / first.Test.Mean; !scalar.EqualWithinRel(l.Ratio(row).Mean, ratio, sameTol) {
				t.Errorf("%s: ratio %v, of the means %v", l.Name, l.Ratio(row).Mean, ratio)
			}
			if row.CVLessOne.Difference.N > 0 && !(row.CVLessOne.Difference.Mean <= 0) {
				t.Errorf("%s: a search from the end of one ends at a higher CV loss: %+v", l.Name, row)
			}
		}
	}
	if widest, ok := r.Problems[LeverOfBands].Find(SearchHalves); !ok || widest.Hyperparameters != 6 {
		t.Errorf("found %+v", widest)
	}
	if _, ok := r.Problems[LeverOfWidths].Find(SearchNet); ok {
		t.Error("an elastic net has widths")
	}
}

// One width per feature lowers the test loss on Friedman's function. One penalty per feature raises
// it if all coefficients have the same size.
func TestLeversShowBothSigns(t *testing.T) {
	if testing.Short() {
		t.Skip("judges the means of random data sets")
	}
	p := DefaultLevers()
	p.DataSets, p.Halves, p.Evaluations = 3, 10, 40
	p.Widths.Test, p.Bands.Test, p.Widths.Groups, p.Bands.Groups = 200, 200, []int{20}, []int{20}
	for k, sign := range map[int]float64{LeverOfWidths: -1, LeverOfEqual: 1} {
		of := p.levers()[k]
		var cells []leverCell
		for set := range p.DataSets {
			c, err := p.measure(t.Context(), of, uint64(set))
			if err != nil {
				t.Fatal(err)
			}
			cells = append(cells, c)
		}
		l := summary(of, cells)
		row, _ := l.Find(SearchHalves)
		if !(sign*row.TestLessOne.Difference.Mean > 0) || !(row.CVLessOne.Difference.Mean < 0) {
			t.Errorf("%s: test loss %+v, CV loss %+v", l.Name, row.TestLessOne, row.CVLessOne)
		}
	}
}

func TestAdditiveModelsAreTheSameForAnyGOMAXPROCS(t *testing.T) {
	p := *casetest.Drawn[AdditiveParams]("additive")
	p.DataSets, p.Smooths.Features = 2, 4
	r := casetest.SameForAnyGOMAXPROCS(t, p.Run)
	for _, s := range r.Sets {
		for k, m := range s.Models {
			one, has := oneOf[k]
			if has != (m.TestLessOne.Difference.N == p.DataSets) {
				t.Errorf("%s: %+v", m.Name, m.TestLessOne)
			}
			if has && !scalar.EqualWithinAbsOrRel(m.TestLessOne.Difference.Mean, m.Test.Mean-s.Models[one].Test.Mean, 1e-9, sameTol) {
				t.Errorf("%s: difference %v of means %v and %v", m.Name, m.TestLessOne.Difference.Mean, m.Test.Mean, s.Models[one].Test.Mean)
			}
			if want := []bool{false, false, true, false, true}[k]; want != (m.Hyperparameters > 2) && s.Name == setSmooths {
				t.Errorf("%s has %d hyperparameters", m.Name, m.Hyperparameters)
			}
		}
	}
}

// An additive model approximates the true functions if the noise is low. Its test loss is a tenth
// of a linear model's.
func TestAdditiveModelFindsKnownFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("judges the means of random data sets")
	}
	p := DefaultAdditive()
	p.Smooths = Smooths{Train: 150, Test: 100, Features: 4, Noise: .05}
	c, err := p.measure(t.Context(), p.sets()[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	if !(c.Models[ModelAdditive].Test < .1*c.Models[ModelLinear].Test) {
		t.Errorf("test losses: %+v", c.Models)
	}
	for j, f := range Truths {
		var truth []float64
		for _, x := range p.places() {
			truth = append(truth, f.Of(x))
		}
		centre(truth)
		// Ten B-splines differ by some .3 from the function with two peaks.
		if d := floats.Distance(c.Terms[1][j], truth, math.Inf(1)); !(d < .7) {
			t.Errorf("%s: off by %v", f.Name, d)
		}
		if floats.Norm(truth, math.Inf(1)) < 1 {
			t.Errorf("%s is flat: %v", f.Name, truth)
		}
	}
}

// A run that is cancelled ends between two models. Errors name the model.
func TestAdditiveErrors(t *testing.T) {
	p := DefaultAdditive()
	p.HousesP = .01
	if _, err := p.Run(t.Context(), experiment.Hooks{}); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "HousesP is 0.01") {
		t.Errorf("error %v", err)
	}
	s := p.sets()[2]
	s.terms = s.terms[:1]
	s.terms[0].Columns = []string{"x9"}
	if _, err := p.measure(t.Context(), s, 1); err == nil || !strings.Contains(err.Error(), modelNames[ModelShared]) {
		t.Errorf("error %v", err)
	}
}

func TestMapIsTheSameForAnyGOMAXPROCS(t *testing.T) {
	p := *casetest.Drawn[GradientMapParams]("gradient_map")
	p.Fraction, p.Shares = 1, []float64{.5, .8}
	p.Weights.Sizes, p.Weights.Hidden = []int{8}, []int{2, 4}
	p.Penalties.Groups, p.Widths.Groups = []int{6}, []int{2}
	r := casetest.SameForAnyGOMAXPROCS(t, p.Run)
	if len(r.Cells) != len(p.places()) {
		t.Errorf("%d cells of %d places", len(r.Cells), len(p.places()))
	}
	// An effect is the mean over its cells.
	for _, e := range r.Effects {
		var sum, many, n float64
		for _, c := range r.Cells {
			if c.Problem == e.Problem && c.at(e.Factor) == e.Level {
				sum, many, n = sum+c.CVLessTraining.Mean, many+c.ManyLessOne.Mean, n+1
			}
		}
		if !scalar.EqualWithinAbsOrRel(e.CVLessTraining.Mean, sum/n, 1e-12, sameTol) || !scalar.EqualWithinAbsOrRel(e.ManyLessOne.Mean, many/n, 1e-12, sameTol) {
			t.Errorf("%+v: means of its cells are %v and %v", e, sum/n, many/n)
		}
		if math.Abs(e.CVLessTraining.Mean) > 1 || math.Abs(e.ManyLessOne.Mean) > 1 {
			t.Errorf("%+v is beyond the largest share", e)
		}
	}
}

// An effect counts each data set once, even if several cells share it.
func TestEffectsCountADataSetOnce(t *testing.T) {
	serial.Test(t)
	p := DefaultGradientMap()
	places := p.places()
	measured := make([][]mapRisks, len(places))
	for i := range measured {
		for set := range 40 {
			measured[i] = append(measured[i], mapRisks{One: 3, Many: 1 + float64(set%7), Training: 2})
		}
	}
	r := p.summarise(places, measured)
	if want := 4 * 2 * len(MapProblems); len(r.Effects) != want {
		t.Errorf("%d effects, want %d", len(r.Effects), want)
	}
	for _, e := range r.Effects {
		if want := r.Cells[0].CVLessTraining; e.CVLessTraining.N != want.N || !scalar.EqualWithinRel(e.CVLessTraining.Margin, want.Margin, 1e-12) {
			t.Errorf("%s, %s: ± %v of %d sets, and of one cell ± %v", e.Problem, Factors[e.Factor], e.CVLessTraining.Margin, e.CVLessTraining.N, want.Margin)
		}
	}
}

// Cells of the same size and noise have the same data sets.
func TestCellsShareTheirDataSets(t *testing.T) {
	serial.Test(t)
	p := *casetest.Drawn[GradientMapParams]("gradient_map")
	p.Fraction = 1
	type key struct {
		problem string
		train   int
		noise   float64
	}
	seen := map[key][]float64{}
	shared := 0
	for _, place := range p.places() {
		s, err := place.setup(p, place, func(purpose string) *synth.Stream {
			return synth.NewStream(3, place.stream(purpose))
		})
		if err != nil {
			t.Fatal(err)
		}
		k, y := key{place.Problem, place.Train, place.Noise}, append(slices.Clone(s.many.Train.Y), s.many.Train.Dense().RawMatrix().Data...)
		if had, is := seen[k]; is {
			if shared++; !slices.Equal(had, y) {
				t.Errorf("%+v: cells differ in their data", k)
			}
		}
		for other, had := range seen {
			if other != k && slices.Equal(had, y) {
				t.Errorf("%+v and %+v have the same data", k, other)
			}
		}
		seen[k] = y
	}
	if shared < 3 {
		t.Errorf("%d cells share their data with one before", shared)
	}
}

// By default, half of the cells are computed. Each pair of values of two factors occurs equally
// often.
func TestFractionOfTheMapIsBalanced(t *testing.T) {
	serial.Test(t)
	p := DefaultGradientMap()
	if n := len(p.places()); n != 24 {
		t.Errorf("%d cells", n)
	}
	pairs := map[[4]float64]int{}
	for _, m := range p.places() {
		for a := range Factors {
			for b := range a {
				pairs[[4]float64{float64(slices.Index(MapProblems, m.Problem)), float64(4*a + b), m.at(a), m.at(b)}]++
			}
		}
	}
	for pair, n := range pairs {
		if n != 2 {
			t.Errorf("%v occurs %d times", pair, n)
		}
	}
	if len(pairs) != 3*6*4 {
		t.Errorf("%d pairs", len(pairs))
	}
	p.Fraction = 1
	if n := len(p.places()); n != 48 {
		t.Errorf("%d cells with Fraction 1", n)
	}
}

// One descent of a cell lowers the CV loss, and the other lowers the training loss. The gradient
// with one hyperparameter equals differences of the CV loss.
func TestMapSearchesDescendTheirLosses(t *testing.T) {
	p := *casetest.Drawn[GradientMapParams]("gradient_map")
	p.Weights.Steps, p.Weights.StepSize, p.Evaluations = 60, .1, 20
	p.Weights.Sizes, p.Weights.Hidden, p.Weights.C = []int{20}, []int{8}, 10
	seen := map[string]bool{}
	for _, place := range p.places() {
		if seen[place.Problem] {
			continue
		}
		seen[place.Problem] = true
		s, err := place.setup(p, place, streams(5))
		if err != nil {
			t.Fatal(err)
		}
		at := func(objective search.Objective, x []float64) float64 {
			v, err := objective(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		for _, objective := range []search.Objective{s.many.CV.Eval, s.training} {
			of := *s.many
			of.Objective = objective
			best, err := search.Best(of.Search(t.Context(), s.searcher))
			if err != nil {
				t.Fatal(err)
			}
			if first := at(objective, s.many.Start); !(best.Loss < first) {
				t.Errorf("%s: from %v to %v", place.Problem, first, best.Loss)
			}
		}
		fitted := *s.many
		fitted.Loss = cvgm.SquaredError{}
		if place.Problem == MapOfWeights {
			fitted.Loss = cvgm.LogisticLoss{}
		}
		want, err := fitted.Risk(fitted.Start, fitted.Train)
		if got := at(s.training, fitted.Start); err != nil || !scalar.EqualWithinAbsOrRel(got, want, 1e-12, sameTol) {
			t.Errorf("%s: training loss %v, want %v (%v)", place.Problem, got, want, err)
		}
		const h = 1e-5
		x := slices.Clone(s.one.Start)
		grad := make([]float64, len(x))
		objective := s.one.Problem(t.Context()).Objective
		if _, err := objective(grad, x); err != nil {
			t.Fatal(err)
		}
		last := len(x) - 1
		up, down := slices.Clone(x), slices.Clone(x)
		up[last], down[last] = x[last]*(1+h), x[last]*(1-h)
		if slope := (at(objective, up) - at(objective, down)) / (2 * h * x[last]); !scalar.EqualWithinAbsOrRel(slope, grad[last], 1e-8, 1e-4) {
			t.Errorf("%s: derivative %v, by differences %v", place.Problem, grad[last], slope)
		}
	}
	if len(seen) != len(MapProblems) {
		t.Errorf("problems %v", seen)
	}
}

func TestRelativeDifferences(t *testing.T) {
	serial.Test(t)
	got := relativeDifferences([]float64{1, 2, 0, 0, 3}, []float64{2, 1, 0, 5, 3})
	if want := []float64{-.5, .5, 0, -1, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Splits that train on only one class are drawn again.
func TestSplitsOfBothClasses(t *testing.T) {
	serial.Test(t)
	labels := []float64{-1, -1, 1, 1}
	splits, err := ofBothClasses(streams(6)("splits"), labels, 50, .5)
	if err != nil || len(splits) != 50 {
		t.Fatalf("%d splits, %v", len(splits), err)
	}
	for _, s := range splits {
		if len(s.Train) != 2 || labels[s.Train[0]] == labels[s.Train[1]] {
			t.Errorf("rows %v", s.Train)
		}
	}
	plain, err := cvgm.RandomSplits(streams(6)("splits"), 4, 50, .5)
	if err != nil || !slices.ContainsFunc(plain, func(s cvgm.Split) bool { return labels[s.Train[0]] == labels[s.Train[1]] }) {
		t.Errorf("no split would have been drawn anew (%v)", err)
	}
}

func TestManyRefuseBadParams(t *testing.T) {
	serial.Test(t)
	for name, change := range map[string]func(*LeversParams, *GradientMapParams){
		"Widths.Groups":    func(l *LeversParams, _ *GradientMapParams) { l.Widths.Groups = []int{3} },
		"Bands.Bands":      func(l *LeversParams, _ *GradientMapParams) { l.Bands.Bands = 7 },
		"Folds":            func(l *LeversParams, _ *GradientMapParams) { l.Folds = 61 },
		"HalfP":            func(l *LeversParams, _ *GradientMapParams) { l.HalfP = .001 },
		"Penalties.Groups": func(_ *LeversParams, m *GradientMapParams) { m.Penalties.Groups = []int{6} },
		"Shares":           func(_ *LeversParams, m *GradientMapParams) { m.Shares = []float64{.2} }, // one training row of 8
	} {
		l, m := DefaultLevers(), DefaultGradientMap()
		change(&l, &m)
		err := experiment.FirstError(experiment.Check(&l), experiment.Check(&m))
		var arg *qpdiff.ArgError
		if !errors.As(err, &arg) || arg.Arg != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The constant prediction is the mean of the training labels.
func TestConstantLoss(t *testing.T) {
	serial.Test(t)
	if got := constantLoss(learn.Data{Y: []float64{1, 3}}, learn.Data{Y: []float64{2, 5}}); got != 4.5 {
		t.Errorf("%v", got)
	}
}
