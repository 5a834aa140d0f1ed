package assess

import (
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"
)

// foldsOf returns the folds of each repeat: k blocks of neighbouring rows.
func foldsOf(repeats, rows, k int) (folds [][]int) {
	for range repeats {
		of := make([]int, rows)
		for i := range of {
			of[i] = i * k / rows
		}
		folds = append(folds, of)
	}
	return folds
}

// Risk agrees with a computation by hand, in any unit of the losses.
func TestRisk(t *testing.T) {
	losses := [][]float64{{1, 2, 3, 6}}
	r := Rows{Folds: [][]int{{0, 1, 2, 3}}}
	e := r.Risk(losses)
	// The deviations from the mean are −2, −1, 0 and 3.
	se := math.Sqrt(14. / 3 / 4 * 1.8)
	const t975 = 3.1824463052837
	share := t975 * se / 3 / 2
	near(t, "mean", e.Mean, 3)
	near(t, "high", e.High, 3*(1+share)*(1+share))
	near(t, "low", e.Low, 3*max(0, 1-share)*max(0, 1-share))
	near(t, "standard error", r.StandardError(losses[0]), math.Sqrt(14./3/4))
	r.Weights = []float64{2, 2, 2, 0}
	near(t, "weighted mean", r.Risk(losses).Mean, 2)
	for _, exponent := range []int{-900, 900} {
		scaled := [][]float64{slices.Clone(losses[0])}
		for i := range scaled[0] {
			scaled[0][i] = math.Ldexp(scaled[0][i], exponent)
		}
		got := Rows{Folds: r.Folds}.Risk(scaled)
		near(t, "high in another unit", math.Ldexp(got.High, -exponent), e.High)
	}
	// The interval is narrower for two repeats of the CV than for one repeat.
	twice := Rows{Folds: [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}}}.Risk([][]float64{{0, 2, 3, 6}, {2, 2, 3, 6}})
	near(t, "mean of two repeats", twice.Mean, 3)
	if !(twice.High < e.High) {
		t.Errorf("%v of two repeats, %v of one", twice, e)
	}
	if e := (Rows{Folds: [][]int{{0, 1}}}).Risk([][]float64{{math.Inf(1), 1}}); !math.IsInf(e.Low, 1) {
		t.Errorf("infinite losses: %v", e)
	}
	if e := (Rows{Folds: [][]int{{0, 1}}}).Risk([][]float64{{-3, 1}}); !(e.Low < -1) {
		t.Errorf("losses below 0: %v", e)
	}
	if e := (Rows{Folds: [][]int{{0, 0}}, Units: []int{1, 1}}).Risk([][]float64{{3, 1}}); !math.IsInf(e.High, 1) {
		t.Errorf("one unit: %v", e)
	}
	for weight, finite := range map[float64]bool{7: true, 10: false} {
		r := Rows{Folds: [][]int{{0, 1, 1}}, Weights: []float64{weight, 1, 1}}
		if e := r.Risk([][]float64{{3, 1, 2}}); math.IsInf(e.High, 1) == finite {
			t.Errorf("a unit of the weight %v beside two of 1: %v", weight, e)
		}
	}
}

// Intervals contain the true mean as often as their level requires, even if the losses of a group
// or of a fold are correlated.
func TestIntervalsCover(t *testing.T) {
	serial.Test(t)
	const repetitions, n, k = 2000, 60, 5
	src := synth.NewStream(6, "losses")
	for name, test := range map[string]struct {
		group, fold, weight float64 // deviations, the last of the logarithm of a weight
		units               bool
		folds               int
		least, most         float64
	}{
		"independent":    {folds: k, least: .95, most: 1},
		"groups":         {group: 1, units: true, folds: k, least: .95, most: 1},
		"folds":          {fold: .2, folds: k, least: .95, most: 1},
		"uneven weights": {weight: 2, folds: k, least: .95, most: 1},
		"uneven groups":  {group: 1, weight: 2, units: true, folds: k, least: .95, most: 1},
		// The smallest accepted share is lower, because five folds give little information on the
		// variance between folds.
		"folds far apart": {fold: .4, folds: k, least: .92, most: 1},
		// As a control, the intervals contain the mean too rarely if correlated rows are treated as
		// independent.
		"groups unseen": {group: 5, folds: n, most: .94},
	} {
		held, differ := 0, 0
		r := Rows{Folds: foldsOf(1, n, test.folds)}
		for range repetitions {
			a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
			r.Units, r.Weights = nil, nil
			var common, fold float64
			for i := range n {
				if i%4 == 0 {
					common = test.group * src.NormFloat64()
				}
				if i%(n/k) == 0 {
					fold = test.fold * src.NormFloat64()
				}
				if test.units {
					r.Units = append(r.Units, i/4)
				}
				if test.weight > 0 {
					r.Weights = append(r.Weights, math.Exp(test.weight*src.NormFloat64()))
				}
				own := src.NormFloat64()
				a[i] = 10 + common + fold + own
				b[i], c[i] = 12+own, 20+own
			}
			if e := r.Risk([][]float64{a}); e.Low <= 10 && 10 <= e.High {
				held++
			}
			if d, ok := r.Compare("b", [][]float64{a}, [][]float64{b}, [][]float64{c}, 1); ok && d.Percent.Low <= -10 && -10 <= d.Percent.High {
				differ++
			}
		}
		for what, held := range map[string]int{"risk": held, "difference": differ} {
			if share := float64(held) / repetitions; share < test.least-.02 || share > test.most {
				t.Errorf("%s: %.3f of the intervals of the %s hold it, want %v to %v", name, share, what, test.least, test.most)
			}
		}
	}
}

// No estimate depends on the unit of the weights, even for the smallest and the largest weights of
// type float64.
func TestUnitOfWeights(t *testing.T) {
	losses, weights := [][]float64{{1, 2, 3, 6}}, []float64{1, 2, 1.5, 1}
	want := Rows{Folds: foldsOf(1, 4, 2), Weights: weights}.Risk(losses)
	for _, exponent := range []int{-1070, -1030, 0, 1022} {
		r := Rows{Folds: foldsOf(1, 4, 2)}
		for _, w := range weights {
			r.Weights = append(r.Weights, math.Ldexp(w, exponent))
		}
		if e := r.Risk(losses); e != want {
			t.Errorf("weights times 2^%d: %v, want %v", exponent, e, want)
		}
	}
}

// If one row has nearly all the weight, no comparison is decided.
func TestOneRowHasTheWeight(t *testing.T) {
	r := Rows{Folds: foldsOf(1, 4, 2), Weights: []float64{1e9, 1, 1, 1}}
	if e := r.Risk([][]float64{{0, 0, 0, 0}}); e.Low != 0 || !math.IsInf(e.High, 1) {
		t.Errorf("%v", e)
	}
	c, _ := r.Compare("b", [][]float64{{1, 2, 3, 4}}, [][]float64{{2, 2, 3, 4}}, [][]float64{{2, 2, 3, 4}}, 1)
	if text := c.String(); !strings.HasSuffix(text, ": gain 50 % [-Inf, 100] of a constant's risk; no gain would show") {
		t.Error(text)
	}
}

// If no loss is negative, no comparison with the constant prediction has an interval below −100 %.
func TestCompareEndsAtNoLoss(t *testing.T) {
	r := Rows{Folds: [][]int{{0, 0, 1, 1}}}
	a, other, constant := [][]float64{{0, .1, .2, 0}}, [][]float64{{5, 6, 5, 7}}, [][]float64{{1, 7, 2, 6}}
	if c, _ := r.Compare("constant", a, constant, constant, 3); c.Percent.Low != -100 || !(c.Percent.High > c.Percent.Mean) {
		t.Errorf("%v", c)
	}
	if c, _ := r.Compare("other", a, other, constant, 3); !(c.Percent.Low < -100) {
		t.Errorf("another model may lose more than the constant: %v", c)
	}
	// The mean difference of an exact model is at least −100 %, also after rounding.
	src := synth.NewStream(9, "exact models")
	for range 200 {
		exact, constant := make([]float64, 7), make([]float64, 7)
		for i := range constant {
			constant[i] = math.Exp(src.NormFloat64())
		}
		e := Rows{Folds: foldsOf(1, 7, 2)}
		if c, _ := e.Compare("constant", [][]float64{exact}, [][]float64{constant}, [][]float64{constant}, 3); !(-100 <= c.Percent.Low && c.Percent.Low <= c.Percent.Mean && c.Percent.Mean <= c.Percent.High) {
			t.Fatalf("%v: the ends %v and %v around %v", c, c.Percent.Low, c.Percent.High, c.Percent.Mean)
		}
	}
	a[0][0] = -.1 // a loss below 0
	if c, _ := r.Compare("constant", a, constant, constant, 3); !(c.Percent.Low < -100) {
		t.Errorf("with a negative loss: %v", c)
	}
}

// In each line, a gain above 0 means that the model is better, with the unit of the gain.
func TestComparisonString(t *testing.T) {
	for _, c := range []struct {
		low, mean, high, shown float64
		want                   string
	}{
		{-98, -96, -95, 2, "better than b: gain 96 % [95, 98] of a constant's risk"},
		{1, 3, 5, 2, "worse than b: gain -3 % [-5, -1] of a constant's risk"},
		{-1.8, -.65, .46, 1.5, "undecided against b: gain 0.65 % [-0.46, 1.8] of a constant's risk; 1.5 % would show"},
		{-1, 0, 1, 1.5, "undecided against b: gain 0 % [-1, 1] of a constant's risk; 1.5 % would show"},
		{-1e-9, 0, 1e-9, 1e-7, "equal to b up to rounding"},
	} {
		compared := Comparison{With: "b", Percent: Estimate{Mean: c.mean, Low: c.low, High: c.high}, Shown: c.shown}
		if got := compared.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if g := compared.Gain(); g.Mean != -c.mean || g.Low != -c.high || g.High != -c.low {
			t.Errorf("gain %v of %v", g, compared.Percent)
		}
	}
}

// Compare decides at least four of five differences that are as large as its field Shown.
func TestCompare(t *testing.T) {
	serial.Test(t)
	a, b, c := [][]float64{{1, 2, 3, 2}}, [][]float64{{2, 3, 4, 4}}, [][]float64{{4, 5, 5, 6}}
	r := Rows{Folds: [][]int{{0, 1, 2, 3}}}
	one, ok := r.Compare("b", a, b, c, 1)
	three, _ := r.Compare("b", a, b, c, 3)
	near(t, "difference", one.Percent.Mean, -25)
	if !ok || !(three.Percent.High > one.Percent.High) || three.Percent.Mean != one.Percent.Mean {
		t.Errorf("%v, of three %v", one, three)
	}
	if !one.Better() || one.Worse() {
		t.Errorf("%v", one)
	}
	self, _ := r.Compare("c", c, c, c, 1)
	if self.Percent.Mean != 0 || self.Better() || self.Worse() {
		t.Errorf("of the same losses: %v", self)
	}
	// Predictions that differ by rounding are neither better nor worse.
	same := [][]float64{slices.Clone(a[0])}
	for i := range same[0] {
		same[0][i] *= 1 + 1e-12*float64(i+1)
	}
	if d, _ := r.Compare("a", same, a, c, 1); d.Worse() {
		t.Errorf("of losses that differ by rounding: %v", d)
	}
	if _, ok := r.Compare("b", a, b, [][]float64{{0, 0, 0, 0}}, 1); ok {
		t.Error("a constant without a loss is compared with")
	}
	failed, ok := r.Compare("b", a, [][]float64{{math.Inf(1), 1, 1, 1}}, c, 1)
	if !ok || !failed.Better() || failed.String() != "better than b, which failed" {
		t.Errorf("%v", failed)
	}
	const repetitions, n = 2000, 60
	src := synth.NewStream(7, "power")
	decided := 0
	r = Rows{Folds: foldsOf(1, n, n)}
	for range repetitions {
		// Comparison.Shown is computed by hand for 60 rows, whose losses have the standard
		// deviation .1.
		const shown = .1 * 1.3784 / 7.746 * (2.001 + .848)
		a, b, c := make([]float64, n), make([]float64, n), slices.Repeat([]float64{1}, n)
		for i := range n {
			a[i] = .5 + .1*src.NormFloat64()
			b[i] = .5 + shown
		}
		d, _ := r.Compare("b", [][]float64{a}, [][]float64{b}, [][]float64{c}, 1)
		if d.Better() {
			decided++
		}
		if math.Abs(d.Shown/100-shown) > .5*shown {
			t.Fatalf("%v of which %v shows", d, shown)
		}
	}
	// The share exceeds shownPower, because Shown allows for a variation between models that is
	// missing here.
	if share := float64(decided) / repetitions; share < shownPower || share > .98 {
		t.Errorf("%v of the differences are decided", share)
	}
}

// For candidates of equal risk, the lowest mean loss is below the risk, but the estimate of
// Selected is not.
func TestSelectedIsNotOptimistic(t *testing.T) {
	serial.Test(t)
	const repetitions, n, candidates = 60, 50, 8
	src := synth.NewStream(8, "candidates")
	var lowest, selected float64
	for range repetitions {
		var losses [][][]float64
		least := math.Inf(1)
		r := Rows{Folds: foldsOf(1, n, 5)}
		for range candidates {
			one := make([]float64, n)
			for i := range one {
				one[i] = math.Abs(src.NormFloat64())
			}
			losses = append(losses, [][]float64{one})
			least = min(least, r.Risk([][]float64{one}).Mean)
		}
		e := r.Selected(losses, 1)
		if again := r.Selected(losses, 1); again != e || !(e.Low < e.Mean && e.Mean < e.High) {
			t.Fatalf("%v, again %v", e, again)
		}
		lowest += least / repetitions
		selected += e.Mean / repetitions
	}
	risk := math.Sqrt(2 / math.Pi)
	if !(lowest < risk-.1) || math.Abs(selected-risk) > .03 {
		t.Errorf("lowest mean %v, estimate %v, risk %v", lowest, selected, risk)
	}
	if e := (Rows{Folds: [][]int{{0, 0}}}).Selected([][][]float64{{{2, 2}}, {{1, 1}}}, 1); e.Mean != 1 {
		t.Errorf("of two rows: %v", e)
	}
}
