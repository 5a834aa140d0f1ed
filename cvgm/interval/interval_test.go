package interval

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"gonum.org/v1/gonum/mat"
)

// constant is a model of one feature that predicts c.
func constant(c float64) *cvgm.Model {
	return &cvgm.Model{Theta: []float64{0}, Intercept: c, Mean: []float64{0}, Std: []float64{1}}
}

var oneRow = mat.NewDense(1, 1, []float64{3})

// Predict returns the intervals computed by hand for nine rows. The ends of an interval are order
// statistics of nine numbers, one for each row: the prediction of the row's fold plus or minus the
// score times the spread.
func TestPredictByHand(t *testing.T) {
	folds := []Fold{
		{constant(10), Spread{}, []float64{4, 0, 2}, []float64{1, 1, 1}},
		{constant(12), Spread{}, []float64{1, 3}, []float64{1, 1}},
		{constant(11), Spread{[]float64{0}, []float64{2}}, []float64{0, 3, 1, .25}, []float64{1, 1, 1, 1}},
	}
	for _, unit := range []float64{1, 0x1p-300, 0x1p300} { // of weights
		for k := range folds {
			for i := range folds[k].Weights {
				folds[k].Weights[i] = unit
			}
		}
		p := casetest.Must(New(folds, 9))(t)
		// The numbers of the upper ends are 10, 12, 14; 13, 15; and 11, 11.5, 13, 17, by fold. The
		// numbers of the lower ends are 10, 8, 6; 11, 9; and 11, 10.5, 9, 5.
		for _, test := range []struct{ level, low, high float64 }{{.9, 5, 17}, {.8, 6, 15}, {.5, 9, 13}, {.6, 9, 13}, {.7, 8, 14}} {
			low, high, err := p.Predict(oneRow, test.level)
			if err != nil || low[0] != test.low || high[0] != test.high {
				t.Errorf("level %v: [%v, %v], %v; want [%v, %v]", test.level, low, high, err, test.low, test.high)
			}
		}
		used := p.checkedFolds.Load()
		if _, _, err := p.Predict(oneRow, .9); err != nil || used == nil || p.checkedFolds.Load() != used {
			t.Errorf("weights are summed anew; error %v", err)
		}
		if _, _, err := p.Predict(oneRow, .91); !errors.Is(err, qpdiff.ErrDomain) || p.Highest() != .9 {
			t.Errorf("level .91 of nine rows: %v, highest %v", err, p.Highest())
		}
	}
	if !slices.Equal(folds[0].Scores, []float64{4, 0, 2}) {
		t.Errorf("New sorted its argument: %v", folds[0].Scores)
	}
}

// Predict returns the quantiles of one list of the values of all folds, which define the interval.
func TestPredictIsTheDefinition(t *testing.T) {
	src := synth.NewStream(1, "intervals")
	for range 200 {
		rows := 2 + src.IntN(40)
		folds := make([]Fold, 2+src.IntN(4))
		for k := range folds {
			folds[k] = Fold{Model: constant(src.NormFloat64()), Spread: Spread{[]float64{0}, []float64{.5 + src.Float64()}}}
		}
		for range rows {
			f := &folds[src.IntN(len(folds))]
			f.Scores, f.Weights = append(f.Scores, math.Abs(math.Round(8*src.NormFloat64())/4)), append(f.Weights, float64(1+src.IntN(3)))
		}
		p := casetest.Must(New(folds, rows))(t)
		level := min(.5+.5*src.Float64(), p.Highest())
		low, high, err := p.Predict(oneRow, level)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []float64{1, -1} {
			var values, weights []float64
			for _, f := range p.Folds {
				for i, s := range f.Scores {
					values, weights = append(values, side*f.Model.Intercept+float64(f.Spread.Size[0]*s)), append(weights, f.Weights[i])
				}
			}
			want := math.Inf(1)
			for _, v := range values {
				var below float64
				for i, other := range values {
					if other <= v {
						below += weights[i]
					}
				}
				if below >= level*float64(rows+1)/float64(rows)-1e-6 {
					want = min(want, v)
				}
			}
			if got := map[float64]float64{1: high[0], -1: -low[0]}[side]; got != want {
				t.Fatalf("side %v: %v, want %v", side, got, want)
			}
		}
	}
}

// Errors name what cannot be used.
func TestRefusals(t *testing.T) {
	good := func() []Fold {
		return []Fold{{constant(0), Spread{}, []float64{1, 2}, []float64{1, 1}}, {constant(1), Spread{}, []float64{1}, []float64{1}}}
	}
	for name, test := range map[string]struct {
		change func(folds []Fold) []Fold
		units  int
		kind   error
	}{
		"one fold":      {func(f []Fold) []Fold { return f[:1] }, 2, qpdiff.ErrShape},
		"no fold":       {func([]Fold) []Fold { return nil }, 2, qpdiff.ErrEmpty},
		"no model":      {func(f []Fold) []Fold { f[1].Model = nil; return f }, 3, qpdiff.ErrEmpty},
		"few weights":   {func(f []Fold) []Fold { f[0].Weights = f[0].Weights[:1]; return f }, 3, qpdiff.ErrShape},
		"weight 0":      {func(f []Fold) []Fold { f[0].Weights[1] = 0; return f }, 3, qpdiff.ErrDomain},
		"score below 0": {func(f []Fold) []Fold { f[0].Scores[1] = -1; return f }, 3, qpdiff.ErrDomain},
		"score NaN":     {func(f []Fold) []Fold { f[0].Scores[1] = math.NaN(); return f }, 3, qpdiff.ErrNotFinite},
		"no unit":       {func(f []Fold) []Fold { return f }, 0, qpdiff.ErrDomain},
		"many units":    {func(f []Fold) []Fold { return f }, 4, qpdiff.ErrDomain},
		"no size":       {func(f []Fold) []Fold { f[0].Spread.At = []float64{1}; return f }, 3, qpdiff.ErrShape},
		"size 0":        {func(f []Fold) []Fold { f[0].Spread = Spread{[]float64{1}, []float64{0}}; return f }, 3, qpdiff.ErrDomain},
		"descending":    {func(f []Fold) []Fold { f[0].Spread = Spread{[]float64{1, 0}, []float64{1, 1}}; return f }, 3, qpdiff.ErrDomain},
	} {
		if _, err := New(test.change(good()), test.units); !errors.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := casetest.Must(New(good(), 3))(t)
	for _, level := range []float64{.49, 1, math.NaN(), .8} {
		if _, _, err := p.Predict(oneRow, level); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("level %v: %v", level, err)
		}
	}
	for _, x := range []mat.Matrix{nil, (*mat.Dense)(nil), &mat.Dense{}} {
		if _, _, err := p.Predict(x, .5); !errors.Is(err, qpdiff.ErrEmpty) {
			t.Errorf("x %v: %v", x, err)
		}
	}
	if _, _, err := p.Predict(mat.NewDense(1, 2, nil), .5); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("two columns: %v", err)
	}
	for name, predictions := range map[string][][]float64{"none": nil, "of one fold": {{1}}, "of other rows": {{1}, {1, 2}}} {
		if _, _, err := p.Around(predictions, .5); !errors.Is(err, qpdiff.ErrShape) {
			t.Errorf("predictions %s: %v", name, err)
		}
	}
	if low, high, err := p.Around([][]float64{{}, {}}, .5); err != nil || len(low)+len(high) > 0 {
		t.Errorf("no rows: %v, %v, %v", low, high, err)
	}
	var none *CVPlus
	if _, _, err := none.Predict(oneRow, .5); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("nil: %v", err)
	}
	p.Folds[0].Weights[0] *= 1.5
	if err := p.Check(); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("weights of another sum: %v", err)
	}
}

// FitSpread estimates the mean absolute error as a function of the prediction.
func TestFitSpread(t *testing.T) {
	const n = 2000
	src := synth.NewStream(2, "spread")
	p, y := make([]float64, n), make([]float64, n)
	for i := range n {
		p[i] = src.Float64()
		y[i] = p[i] + (1+4*p[i])*src.NormFloat64()
	}
	s := FitSpread(p, y, nil)
	for _, at := range []float64{.05, .3, .6, .95} {
		if want := math.Sqrt(2/math.Pi) * (1 + 4*at); math.Abs(s.Of(at)/want-1) > .15 {
			t.Errorf("%v at %v, want %v", s.Of(at), at, want)
		}
	}
	if s.Of(-9) != s.Size[0] || s.Of(9) != s.Size[len(s.Size)-1] {
		t.Errorf("beyond the ends: %v, %v", s.Of(-9), s.Of(9))
	}
	// If the errors do not depend on the prediction, the spread is nearly constant.
	for i := range n {
		y[i] = p[i] + src.NormFloat64()
	}
	flat := FitSpread(p, y, nil)
	if low, high := slices.Min(flat.Size), slices.Max(flat.Size); high > 1.3*low {
		t.Errorf("between %v and %v", low, high)
	}
	for _, exponent := range []int{-400, 400} {
		q, z := slices.Clone(p), slices.Clone(y)
		for i := range q {
			q[i], z[i] = math.Ldexp(q[i], exponent), math.Ldexp(z[i], exponent)
		}
		scaled := FitSpread(q, z, slices.Repeat([]float64{3}, n))
		for k, v := range scaled.Size {
			if math.Abs(math.Ldexp(v, -exponent)/flat.Size[k]-1) > 1e-9 {
				t.Errorf("in the unit 2^%d: %v, want %v", exponent, math.Ldexp(v, -exponent), flat.Size[k])
			}
		}
	}
	if s := FitSpread([]float64{1, 2, 3}, []float64{1, 2, 3}, nil); s.Of(2) != 1 {
		t.Errorf("without errors: %v", s)
	}
	if s := FitSpread(nil, nil, nil); s.Of(2) != 1 {
		t.Errorf("without rows: %v", s)
	}
	equal := FitSpread(slices.Repeat([]float64{7}, n), slices.Repeat([]float64{4}, n), nil)
	if equal.Of(7) != 3 || equal.Of(9) != 3 {
		t.Errorf("of equal predictions: %v", equal)
	}
	if s := FitSpread([]float64{5, 7}, []float64{4, 4}, []float64{3, 1}); s.Of(0) != 1.5 {
		t.Errorf("of two rows: %v", s)
	}
	mostly := append(slices.Repeat([]float64{7}, n-1), 8) // one prediction is another
	if s := FitSpread(mostly, slices.Repeat([]float64{4}, n), nil); !(s.Of(7) > 0) || s.check("") != nil {
		t.Errorf("of predictions that are equal but for one: %v", s)
	}
}

// FitSpread has almost no bias with 50 to 100 rows. Shrinkage towards a constant would cause a bias
// of a half.
func TestSpreadsOfFewRowsHaveNoBias(t *testing.T) {
	const sets, most = 100, .2 // the logarithm of the ratio to the true size
	for name, size := range map[string]func(p float64) float64{
		"one size": func(float64) float64 { return 1 }, "grows": math.Exp, "falls": func(p float64) float64 { return math.Exp(-p) },
		"small in the middle": func(p float64) float64 { return .3 + math.Abs(p) },
	} {
		src := synth.NewStream(3, name)
		places := []float64{-1.3, 0, 1.3}
		ratios := make([]float64, len(places))
		for k := range sets {
			n := 50 + k/2
			p, y := make([]float64, n), make([]float64, n)
			for i := range n {
				p[i] = src.NormFloat64()
				y[i] = p[i] + size(p[i])*src.NormFloat64()
			}
			s := FitSpread(p, y, nil)
			for j, at := range places {
				ratios[j] += math.Log(s.Of(at)/size(at)/math.Sqrt(2/math.Pi)) / sets
			}
		}
		if name == "small in the middle" {
			ratios[1] = 0 // a kink, which a smooth spread rounds
		}
		if slices.Min(ratios) < -most || slices.Max(ratios) > most {
			t.Errorf("%s: the logarithms of the ratios to the true sizes are %.2f", name, ratios)
		}
	}
}

// fitTrend finds a stationary point of its objective, even if one error is much larger than the
// others. The trend is constant beyond the distance maxWidth from the mean prediction.
func TestTrendIsTheMinimum(t *testing.T) {
	const n = 60
	src := synth.NewStream(4, "trend")
	e := errorsAt{make([]float64, n), make([]float64, n), slices.Repeat([]float64{1}, n)}
	for _, outlier := range []float64{1, 1e4} {
		for i := range n {
			e.at[i], e.size[i] = float64(i)*float64(i), math.Exp(float64(i)/20)*math.Abs(src.NormFloat64())
		}
		e.size[n/2] *= outlier
		fit := fitTrend(e, stat.Mean(e.size, nil))
		_, gradient := fit.slope(e)
		if size := floats.Norm(gradient[:], math.Inf(1)) / n; size > 10*trendTol {
			t.Errorf("an error times %v: a derivative of %v at %v", outlier, size, fit.beta)
		}
		if far := e.at[n-1]; fit.sizeAt(far) != fit.sizeAt(100*far) || fit.sizeAt(far) == fit.sizeAt(far/2) {
			t.Errorf("an error times %v: %v, at %v", outlier, fit.sizeAt(far), fit.sizeAt(far/2))
		}
	}
}
