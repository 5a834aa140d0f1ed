package table

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// drawTexts returns a CSV with a column of numbers, columns of levels and missing values.
func drawTexts(rng *rand.Rand, rows, levels, numDrawn int) string {
	var b strings.Builder
	b.WriteString("date,size,a,b,c,y\n")
	for range rows {
		level := func() int { return rng.IntN(min(levels, numDrawn)) }
		size, a := rng.NormFloat64(), level()
		fmt.Fprintf(&b, "%d,", 20_000+rng.IntN(300))
		if rng.IntN(8) > 0 {
			b.WriteString(decimal(size))
		}
		fmt.Fprintf(&b, ",a%02d,b%d,", a, level())
		if rng.IntN(8) > 0 {
			fmt.Fprintf(&b, "c%d", level())
		}
		fmt.Fprintf(&b, ",%s\n", decimal(size+float64(a%3)+.2*rng.NormFloat64()))
	}
	return b.String()
}

// A storedCase is a random configuration and the text of a second table, which has other levels.
type storedCase struct {
	cvgm.Config
	alpha []float64
	table *Table
	text  string
}

func drawStoredCase(t *testing.T, seed uint64) storedCase {
	rng := rand.New(rand.NewPCG(seed, 21))
	levels := 8 + rng.IntN(12)
	table := readTable(t, CSV{Missing: MissingIsMean, MissingIn: map[string]MissingRule{"y": MissingIsError}, Unknown: UnknownIsZero}, drawTexts(rng, 40+rng.IntN(80), levels, levels-2))
	d, encoder, err := table.Data()
	casetest.OK(t, err)
	if rng.IntN(2) == 0 {
		d.Weights = make([]float64, len(d.Y))
		for i := range d.Weights {
			d.Weights[i] = max(0, rng.Float64()-.1)
		}
	}
	c := cvgm.Config{Data: d, Prepare: encoder, Splits: casetest.Must(cvgm.KFold(rng, len(d.Y), 3))(t), Loss: cvgm.SquaredError{}, Generalised: true,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }, Standardise: rng.IntN(3) > 0, Centring: cvgm.MeanCentring}
	switch learner := seed % 4; learner {
	case 0, 1:
		c.Loss, c.Centring = cvgm.LogisticLoss{}, cvgm.NoCentring
		c.Data.Y = slices.Clone(d.Y)
		for i, y := range d.Y {
			c.Data.Y[i] = math.Copysign(1, y-1)
		}
		if c.Learner = func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }; learner == 1 {
			c.Learner = func() learn.Learner { return &linear.SparseLogistic{Intercept: true} }
		}
	case 2:
		c.Loss = cvgm.AbsoluteError{}
	}
	alpha := []float64{.02 + .1*rng.Float64(), .05 + rng.Float64()}
	if seed%4 == 0 {
		alpha = alpha[1:]
	}
	return storedCase{c, alpha, table, drawTexts(rng, 20, levels, levels)}
}

// results returns the results of a CV of c and of its model.
func (c storedCase) results(t *testing.T) map[string][]float64 {
	t.Helper()
	cv := casetest.Must(cvgm.New(c.Config))(t)
	grad, dy := make([]float64, len(c.alpha)), make([]float64, len(c.Data.Y))
	loss := casetest.Must(cv.Eval(grad, c.alpha))(t)
	outOfFold := make([]float64, len(dy)) // NaN for a row of weight 0
	casetest.OK(t, cv.OutOfFold(outOfFold))
	casetest.Must(cv.DataGradient(nil, dy, c.alpha))(t)
	if _, err := cv.DataGradient(mat.NewDense(len(dy), len(c.table.Columns), nil), nil, c.alpha); !errors.Is(err, qpdiff.ErrNotDifferentiable) || !strings.Contains(err.Error(), "Config.Prepare") {
		t.Errorf("the gradient in X: %v", err)
	}
	model := casetest.Must(cv.Final(c.alpha))(t)
	p := casetest.Must(NewPipeline(model))(t)
	risk := casetest.Must(model.Risk(c.Loss, c.Data))(t)
	own := casetest.Must(p.Predict(c.table))(t)
	other := casetest.Must(p.Predict(casetest.Must(p.Read(strings.NewReader(c.text)))(t)))(t)
	return map[string][]float64{"loss": {loss}, "gradient": grad, "gradient in the labels": dy, "out of fold": outOfFold,
		"theta": model.Theta, "mean": model.Mean, "deviation": model.Std, "risk": {risk}, "predictions": own, "of unknown levels": other}
}

// A CV, its model and its pipeline return the same numbers for stored features as for dense
// features.
func TestStoredTableEqualsDense(t *testing.T) {
	const tol = 1e-9 // for systems of equations with conditions of up to about 1e4
	for seed := range uint64(40) {
		c := drawStoredCase(t, seed)
		old := sample.SetDenseFeatures(math.MaxInt)
		want := c.results(t)
		sample.SetDenseFeatures(0)
		got := c.results(t)
		sample.SetDenseFeatures(old)
		for name, v := range want {
			size := 1.0
			for _, x := range v {
				if x == x {
					size = max(size, math.Abs(x))
				}
			}
			for i, x := range v {
				if g := got[name][i]; !(math.Abs(g-x) <= tol*size) && !(x != x && g != g) {
					t.Fatalf("seed %d, %s: %v in place of %v at index %d", seed, name, g, x, i)
				}
			}
		}
	}
}

// faultyStored is an encoder whose ApplyStored has a fault.
type faultyStored struct {
	*Encoder
	set func(row []float64, set func(int, float64)) error
}

func (f faultyStored) Fit(*mat.Dense, []float64) (cvgm.Prepared, error) { return f, nil }

func (f faultyStored) ApplyStored(row []float64, set func(int, float64)) error {
	return f.set(row, set)
}

// If a Preparer returns invalid stored features, the error names the row.
func TestFaultyStoredFeatures(t *testing.T) {
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(0))
	c := drawStoredCase(t, 2)
	for name, test := range map[string]struct {
		set  func(row []float64, set func(int, float64)) error
		kind error
		text string
	}{
		"below 0":   {func(_ []float64, set func(int, float64)) error { set(-1, 1); return nil }, qpdiff.ErrShape, "feature -1 of "},
		"beyond":    {func(_ []float64, set func(int, float64)) error { set(1000, 1); return nil }, qpdiff.ErrShape, "feature 1000 of "},
		"twice":     {func(_ []float64, set func(int, float64)) error { set(3, 1); set(3, 1); return nil }, qpdiff.ErrShape, "in row 0, or that twice"},
		"NaN":       {func(_ []float64, set func(int, float64)) error { set(3, math.NaN()); return nil }, qpdiff.ErrNotFinite, "makes NaN of row 0 as feature 3"},
		"infinite":  {func(_ []float64, set func(int, float64)) error { set(3, math.Inf(-1)); return nil }, qpdiff.ErrNotFinite, "makes -Inf of row 0 as feature 3"},
		"own error": {func([]float64, func(int, float64)) error { return fmt.Errorf("no shelf") }, nil, "prepare row 0 of Data.X: no shelf"},
		"too many": {func(_ []float64, set func(int, float64)) error {
			for j := range 6 {
				set(j, 1)
			}
			return nil
		}, qpdiff.ErrShape, "or more than 5"},
	} {
		c.Config.Prepare = faultyStored{c.Prepare.(*Encoder), test.set}
		_, err := cvgm.New(c.Config)
		if err == nil || test.kind != nil && !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", name, err)
		}
		c.Config.Prepare = c.Prepare.(faultyStored).Encoder
	}
}

// unstoredEncoder is an encoder whose Fit returns a Prepared without stored features.
type unstoredEncoder struct{ *Encoder }

func (u unstoredEncoder) Fit(train *mat.Dense, weights []float64) (cvgm.Prepared, error) {
	p, err := u.Encoder.Fit(train, weights)
	return struct{ cvgm.Prepared }{p}, err
}

func TestStoredPreparerWithoutStoredPrepared(t *testing.T) {
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(0))
	c := drawStoredCase(t, 2)
	c.Config.Prepare = unstoredEncoder{c.Prepare.(*Encoder)}
	if _, err := cvgm.New(c.Config); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "StoredPrepared") {
		t.Error(err)
	}
}

// Invalid values in a table cause the same error for stored features as for dense features.
func TestHostileValuesOfStoredFeatures(t *testing.T) {
	c := drawStoredCase(t, 3)
	good := c.Data.Dense()
	for j, values := range [][]float64{{math.NaN(), math.Inf(1), math.Inf(-1)}, {}, {-1, 1.5, 1000, math.Inf(1)}, {math.NaN(), -1, .5}} {
		for _, v := range values {
			x := mat.DenseCopyOf(good)
			x.Set(c.Splits[0].Train[0], j, v)
			c.Data.X = x
			encoder := *c.Prepare.(*Encoder)
			encoder.columns = slices.Clone(encoder.columns)
			encoder.columns[0].Missing, encoder.columns[3].Missing = MissingIsError, MissingIsError
			c.Config.Prepare = &encoder
			_, want := cvgm.New(c.Config)
			old := sample.SetDenseFeatures(0)
			_, err := cvgm.New(c.Config)
			sample.SetDenseFeatures(old)
			if err == nil || want == nil || err.Error() != want.Error() || !strings.Contains(err.Error(), "of Data.X") {
				t.Errorf("%v in column %d: %v, and %v by dense rows", v, j, err, want)
			}
		}
	}
}

// Without standardisation, the least-squares intercept uses dense rows, even for many features.
func TestLeastSquaresInterceptOfManyFeatures(t *testing.T) {
	c := drawStoredCase(t, 7)
	c.Standardise, c.Centring = false, cvgm.FixedLeastSquares
	want, _ := evalOnce(t, c.Config, c.alpha)
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(0))
	if got, _ := evalOnce(t, c.Config, c.alpha); got != want {
		t.Errorf("the loss is %v, and %v by dense rows", got, want)
	}
}
