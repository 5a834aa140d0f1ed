package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// levelsText returns a CSV with columns of levels, a column of numbers and missing values.
func levelsText(rng *rand.Rand, rows, columns, levels int) string {
	var b strings.Builder
	for c := range columns {
		fmt.Fprintf(&b, "c%d,", c)
	}
	b.WriteString("age,y\n")
	for range rows {
		y := .3 * rng.NormFloat64()
		for c := range columns {
			level := rng.IntN(levels)
			if level%(levels/4+1) == 0 {
				y += float64(c%3) - 1
			}
			if rng.IntN(30) > 0 {
				fmt.Fprintf(&b, "level %d", level)
			}
			b.WriteByte(',')
		}
		if rng.IntN(9) > 0 {
			fmt.Fprint(&b, 20+rng.IntN(60))
		}
		fmt.Fprintf(&b, ",%.6f\n", y)
	}
	return b.String()
}

// readLevels reads a table from levelsText and keeps rare levels.
func readLevels(t *testing.T, text string) *table.Table {
	t.Helper()
	header, _, _ := strings.Cut(text, "\n")
	var levels []string
	for _, name := range strings.Split(header, ",") {
		if strings.HasPrefix(name, "c") {
			levels = append(levels, name)
		}
	}
	return casetest.Must(table.CSV{Target: "y", Categorical: levels, Missing: table.MissingIsMean, MissingIn: map[string]table.MissingRule{"y": table.MissingIsError}}.Read(strings.NewReader(text)))(t)
}

// Tune returns the same results for stored features as for dense features.
//
// The test sets the bounds of the hyperparameters, because the default bounds differ.
func TestTuneByStoredFeatures(t *testing.T) {
	const tol = 1e-6 // of the searches, whose numbers differ by rounding
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(0))
	for seed := range uint64(casetest.Sets(4, 2)) {
		data := readLevels(t, levelsText(rand.New(rand.NewPCG(seed, 5)), 80, 4, 9))
		tuner := Tuner{Folds: 3, OuterFolds: 2, MaxEvals: 20}
		first := casetest.Must(tuner.TuneTable(t.Context(), data))(t)
		tuner.Hyper = first.Searched
		got := casetest.Must(tuner.TuneTable(t.Context(), data))(t)
		sample.SetDenseFeatures(math.MaxInt)
		want := casetest.Must(tuner.TuneTable(t.Context(), data))(t)
		sample.SetDenseFeatures(0)
		for name, pair := range map[string][2]float64{
			"loss": {got.Loss, want.Loss}, "default": {got.DefaultLoss, want.DefaultLoss}, "error": {got.StandardError, want.StandardError},
			"training loss": {got.TrainLoss, want.TrainLoss}, "risk": {got.Risk.Tuned.Mean, want.Risk.Tuned.Mean},
		} {
			if !casetest.Near(pair[0], pair[1], tol) {
				t.Errorf("seed %d: the %s is %v, and %v by dense rows", seed, name, pair[0], pair[1])
			}
		}
		if len(got.Path) != len(want.Path) {
			t.Errorf("seed %d: %d evaluations, and %d by dense rows", seed, len(got.Path), len(want.Path))
		}
	}
}

// Stored features of some rows have the moments of dense rows.
func TestMomentsOfStoredFeatures(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 6))
		data := readLevels(t, levelsText(rng, 60, 3, 8))
		var moments [2]learn.Moments
		for k, dense := range []int{0, math.MaxInt} {
			old := sample.SetDenseFeatures(dense)
			d, encoder, err := data.Data()
			casetest.OK(t, err)
			if seed%2 == 0 {
				d.Weights = make([]float64, len(d.Y))
				for i := range d.Weights {
					d.Weights[i] = float64(i % 4)
				}
			}
			w := casetest.Must(Tuner{Learner: new(linear.ElasticNet), Raw: seed%3 == 0}.begin(t.Context(), cvgm.Config{Data: d, Prepare: encoder}, data))(t)
			rows := w.rows()
			m, flat, err := w.moments(rows[:len(rows)-7])
			casetest.OK(t, err)
			if flat || w.viewed != (k == 0) || m.Sparse != w.viewed {
				t.Errorf("seed %d: flat %v, stored %v, sparse %v", seed, flat, w.viewed, m.Sparse)
			}
			moments[k] = m
			sample.SetDenseFeatures(old)
		}
		numbers := func(m learn.Moments) []float64 {
			return []float64{float64(m.Examples), float64(m.Features), m.Weight, m.Trace, m.Largest, m.Variance, m.Correlation, m.Spread()}
		}
		if got, want := numbers(moments[0]), numbers(moments[1]); !slices.EqualFunc(got, want, func(a, b float64) bool { return casetest.Near(a, b, 1e-12) }) {
			t.Errorf("seed %d: %v, and %v by dense rows", seed, got, want)
		}
	}
}

// Descents have steps of bounded length only if there are many stored features.
func TestDescentsOnManyStoredFeatures(t *testing.T) {
	for _, features := range []int{storedFeatures, storedFeatures + 1} {
		x := sample.NewStored(features)
		for i := range 8 {
			for j := i; j < features; j += 3 {
				x.Set(j, float64(i+1))
			}
			x.EndRow()
		}
		d := learn.Data{X: x, Y: []float64{1, 2, 4, 1, 3, 2, 5, 1}}
		for _, stored := range []bool{true, false} {
			if !stored {
				d.X = mat.DenseCopyOf(x)
			}
			w := casetest.Must(Tuner{}.begin(t.Context(), cvgm.Config{Data: d}, nil))(t)
			s := casetest.Must(w.newSearch([]int{0, 1, 2, 3, 4, 5, 6, 7}, casetest.Must(cvgm.KFold(synth.NewStream(1, "folds"), 8, 2))(t)))(t)
			if bounded := s.longest > 0; bounded != (stored && features > storedFeatures) {
				t.Errorf("%d features, stored: %v: steps of at most %v", features, stored, s.longest)
			}
		}
	}
}
