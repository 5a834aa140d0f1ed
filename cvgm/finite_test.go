package cvgm

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/normalise"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// stubLearner is a learn.Learner with one hyperparameter whose fit and derivatives are given.
type stubLearner struct {
	theta []float64
	hyper float64  // derivative with respect to the hyperparameter
	x     *float64 // derivative with respect to all features
}

func (s *stubLearner) Dims(n int) (theta, hyper int)    { return len(s.theta), 1 }
func (s *stubLearner) Load(d learn.Data) error          { return d.Check() }
func (s *stubLearner) Fit(theta, hyper []float64) error { copy(theta, s.theta); return nil }
func (s *stubLearner) Reset()                           {}
func (s *stubLearner) VJP(w *qpdiff.Workspace, g *learn.Grad, _ []float64) error {
	if g.Hyper != nil {
		g.Hyper[0] += s.hyper
	}
	if g.X != nil && s.x != nil {
		g.X.Set(0, 0, *s.x)
	}
	return nil
}

// stubLoss is a Loss with a given value and slope.
type stubLoss struct{ value, slope float64 }

func (l stubLoss) Eval(_, _ float64) (loss, slope float64) { return l.value, l.slope }

// Eval returns NaN and an error that names the number if a result is not finite.
func TestCVRefusesWhatIsNotFinite(t *testing.T) {
	nan, inf, huge := math.NaN(), math.Inf(1), math.MaxFloat64
	one := func() *Config {
		return &Config{Data: learn.Data{X: mat.NewDense(4, 1, []float64{1, 2, 3, 4}), Y: []float64{1, -1, 1, 1}}, Loss: SquaredError{},
			Splits: []Split{{[]int{0, 1}, []int{2}}, {[]int{1, 2}, []int{3}}}}
	}
	for name, c := range map[string]struct {
		learner stubLearner
		change  func(*Config)
		value   bool   // already the value is refused
		split   int    // −1: no split is to blame
		part    string // of the error
	}{
		"NaN in θ":                      {stubLearner{theta: []float64{nan}}, nil, true, 0, "prediction NaN of example 2"},
		"prediction that overflows":     {stubLearner{theta: []float64{huge}}, nil, true, 0, "prediction +Inf of example 2"},
		"with a loss of 0 there":        {stubLearner{theta: []float64{huge}}, func(c *Config) { c.Loss = LogisticLoss{} }, true, 0, "prediction +Inf of example 2"},
		"loss that overflows":           {stubLearner{theta: []float64{-1e3}}, func(c *Config) { c.Loss = Exponential{} }, true, 0, "loss is +Inf at the prediction -3000"},
		"sum of losses that overflows":  {stubLearner{theta: []float64{1}}, func(c *Config) { c.Loss = stubLoss{huge, 0} }, true, -1, "CV loss is +Inf"},
		"slope":                         {stubLearner{theta: []float64{1}}, func(c *Config) { c.Loss = stubLoss{1, inf} }, false, 0, "slope +Inf"},
		"derivative":                    {stubLearner{theta: []float64{1}, hyper: nan}, nil, false, 0, "hyperparameter 0 is NaN"},
		"sum of derivatives":            {stubLearner{theta: []float64{1}, hyper: huge}, nil, false, -1, "gradient is +Inf at index 0"},
		"derivative of a feature":       {stubLearner{theta: []float64{1}, x: &inf}, func(c *Config) { c.Features = &LinearMap{In: 1, Out: 1} }, false, 0, "feature 0 is +Inf"},
		"derivative of the map":         {stubLearner{theta: []float64{1}, x: &huge}, func(c *Config) { c.Features = &LinearMap{In: 1, Out: 1}; c.Hyper = []float64{1} }, false, -1, "index 0"},
		"features":                      {stubLearner{theta: []float64{1}}, func(c *Config) { c.Features = ownMap{} }, true, -1, "maps example 0 to NaN in feature 0"},
		"validation features that jump": {stubLearner{theta: []float64{0}}, func(c *Config) { c.Data.Dense().Set(3, 0, huge); c.Standardise = true }, true, 1, "prediction NaN"},
	} {
		t.Run(name, func(t *testing.T) {
			config := one()
			config.Learner = func() learn.Learner { l := c.learner; return &l }
			if c.change != nil {
				c.change(config)
			}
			cv := casetest.Must(New(*config))(t)
			alpha := make([]float64, cv.Dims())
			for i := range alpha {
				alpha[i] = 2
			}
			loss, err := cv.Eval(nil, alpha)
			if (err != nil) != c.value || err != nil && !math.IsNaN(loss) {
				t.Errorf("value %v, error %v", loss, err)
			}
			loss, err = cv.Eval(make([]float64, len(alpha)), alpha)
			if !errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(err.Error(), c.part) || !math.IsNaN(loss) {
				t.Errorf("loss %v, error %v lacks %q", loss, err, c.part)
			}
			var split *SplitError
			if errors.As(err, &split) != (c.split >= 0) || split != nil && split.Split != c.split {
				t.Errorf("error %v blames the wrong split, want %d", err, c.split)
			}
		})
	}
}

// If a mean or a deviation of the data overflows, the error names it.
func TestNormaliserRefusesOverflow(t *testing.T) {
	const huge = math.MaxFloat64
	for name, c := range map[string]struct {
		x, y   []float64
		change func(*Config)
		part   string
	}{
		"mean of a feature": {[]float64{huge, huge, 1, 1}, []float64{1, 2, 3, 4}, func(c *Config) { c.Standardise = true }, "mean +Inf in feature 0"},
		"deviation":         {[]float64{huge, -huge, 1, -huge}, []float64{1, 2, 3, 4}, func(c *Config) { c.Standardise = true }, "standard deviation +Inf in feature 0"},
		"mean of labels":    {[]float64{1, 2, 3, 4}, []float64{huge, huge, 1, 1}, func(c *Config) { c.Centring = MeanCentring }, "intercept +Inf"},
		"least squares":     {[]float64{1, 2, 3, 4}, []float64{huge, huge, 1, 1}, func(c *Config) { c.Centring = FixedLeastSquares }, "has the intercept"},
		"differences of features": {[]float64{huge, huge, 1, -huge}, []float64{1, 2, 3, 4}, func(c *Config) {
			c.Centring, c.Splits[0] = FixedLeastSquares, Split{[]int{0, 3, 1, 2}, []int{4}}
			c.Data.X, c.Data.Y = mat.NewDense(5, 3, []float64{huge, 2, 1, -huge, 1, 3, -huge, 5, 2, 1, 7, 8, 1, 1, 1}), []float64{1, 2, 3, 4, 5}
		}, "has the intercept"},
	} {
		config := Config{Data: learn.Data{X: mat.NewDense(4, 1, c.x), Y: c.y}, Loss: SquaredError{}, Splits: []Split{{[]int{0, 1, 3}, []int{2}}},
			Learner: func() learn.Learner { return &stubLearner{theta: []float64{1}} }}
		c.change(&config)
		if _, err := New(config); !errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: error %v lacks %q", name, err, c.part)
		}
	}
}

// Features are standardised without loss of accuracy if their squares overflow or underflow.
func TestStandardiseAtTheEndsOfTheRange(t *testing.T) {
	src := synth.NewStream(4, "range")
	x := normalVector(src, 30)
	z := normalise.Normaliser{Centre: true, Scale: true}
	casetest.OK(t, z.Fit(x, 3))
	mean, std := slices.Clone(z.Mean), slices.Clone(z.Std)
	for _, e := range []int{-1000, -700, -500, 500, 700, 1000} {
		scaled := make([]float64, len(x))
		for i, v := range x {
			scaled[i] = math.Ldexp(v, e)
		}
		if err := z.Fit(scaled, 3); err != nil {
			t.Errorf("2^%d: %v", e, err)
			continue
		}
		for j := range mean {
			if a, b := math.Ldexp(z.Mean[j], -e), math.Ldexp(z.Std[j], -e); math.Abs(a-mean[j]) > 1e-15 || math.Abs(b-std[j]) > 1e-14 {
				t.Errorf("2^%d: feature %d has mean %v, deviation %v, want %v, %v", e, j, a, b, mean[j], std[j])
			}
		}
	}
}

func TestModelRefusesWhatIsNotFinite(t *testing.T) {
	nan := math.NaN()
	x := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	model := func() *Model {
		return &Model{Hyper: []float64{1}, Theta: []float64{1, 2}, Mean: []float64{0, 0}, Std: []float64{1, 1}}
	}
	dst := make([]float64, 2)
	if err := model().Predict(dst, x); err != nil || !cmp.Equal(dst, []float64{5, 11}) {
		t.Fatalf("%v, error %v", dst, err)
	}
	for name, c := range map[string]struct {
		change func(*Model)
		kind   error
		part   string
	}{
		"hyper":       {func(m *Model) { m.Hyper[0] = nan }, qpdiff.ErrNotFinite, "Model.Hyper holds NaN at index 0"},
		"theta":       {func(m *Model) { m.Theta[1] = nan }, qpdiff.ErrNotFinite, "Model.Theta holds NaN at index 1"},
		"intercept":   {func(m *Model) { m.Intercept = math.Inf(-1) }, qpdiff.ErrNotFinite, "Model.Intercept holds -Inf"},
		"mean":        {func(m *Model) { m.Mean[1] = nan }, qpdiff.ErrNotFinite, "Model.Mean holds NaN at index 1"},
		"std":         {func(m *Model) { m.Std[1] = nan }, qpdiff.ErrNotFinite, "Model.Std holds NaN at index 1"},
		"std below 0": {func(m *Model) { m.Std[0] = -1 }, qpdiff.ErrDomain, "Model.Std holds -1 at index 0"},
		"short std":   {func(m *Model) { m.Std = m.Std[:1] }, qpdiff.ErrShape, "Model.Mean has 2 entries where Std has 1"},
		"short theta": {func(m *Model) { m.Theta = m.Theta[:1] }, qpdiff.ErrShape, "Model.Theta has 1 entries"},
		"long theta":  {func(m *Model) { m.Theta = make([]float64, 4) }, qpdiff.ErrShape, "Model.Theta has 4 entries"},
		"params":      {func(m *Model) { m.Params = []float64{1} }, qpdiff.ErrShape, "Model.Params has 1 entries without a feature map"},
		"NaN params": {func(m *Model) {
			m.Features, m.Params = &LinearMap{In: 2, Out: 2}, []float64{1, 2, nan, 4}
		},
			qpdiff.ErrNotFinite, "Model.Params holds NaN at index 2"},
		"map":      {func(m *Model) { m.Features = &LinearMap{In: 2, Out: 3} }, qpdiff.ErrShape, "Model.Features has 3 outputs"},
		"empty":    {func(m *Model) { *m = Model{} }, qpdiff.ErrEmpty, "Model has no features"},
		"overflow": {func(m *Model) { m.Theta[0], m.Theta[1] = 1e308, 1e308 }, qpdiff.ErrNotFinite, "gives the prediction +Inf for row 0"},
	} {
		m := model()
		c.change(m)
		if err := m.Predict(dst, x); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: error %v lacks %q", name, err, c.part)
		}
		if _, err := m.MarshalJSON(); name != "overflow" && !errors.Is(err, c.kind) {
			t.Errorf("%s: MarshalJSON gives the error %v", name, err)
		}
	}
	for name, bad := range map[string]*mat.Dense{"nil": nil, "empty": {}, "wide": mat.NewDense(2, 3, nil)} {
		if err := model().Predict(dst, bad); !errors.Is(err, qpdiff.ErrShape) {
			t.Errorf("x %s: error %v", name, err)
		}
	}
	x.Set(1, 1, nan)
	if err := model().Predict(dst, x); !errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("x with NaN: error %v", err)
	}
	x.Set(1, 1, 1)
	if _, err := model().Risk(Exponential{}, learn.Data{X: x, Y: []float64{-1e4, 1}}); !errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(err.Error(), "example 0") {
		t.Errorf("risk that overflows: error %v", err)
	}
	if _, err := model().Risk(SquaredError{}, learn.Data{X: x, Y: []float64{nan, 1}}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("label NaN: error %v", err)
	}
	// Final checks the model that it returns.
	cv, err := New(Config{Data: learn.Data{X: mat.NewDense(2, 1, []float64{1, 2}), Y: []float64{1, 2}}, Splits: []Split{{[]int{0}, []int{1}}},
		Loss: SquaredError{}, Learner: func() learn.Learner { return &stubLearner{theta: []float64{nan}} }})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := cv.Final([]float64{1}); !errors.Is(err, qpdiff.ErrNotFinite) || m != nil {
		t.Errorf("Final: model %v, error %v", m, err)
	}
}
