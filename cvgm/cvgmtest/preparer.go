package cvgmtest

import (
	"math"
	"math/rand/v2"
	"slices"

	"cvgm/cvgm"

	"gonum.org/v1/gonum/mat"
)

// Preparer tests a preparer on the rows of x. The rows may contain NaN if the preparer accepts NaN.
// Fit must succeed on each half of the rows.
//
// Preparer checks the result of Dims before and after Fit. Fit and Apply must change neither their
// arguments nor earlier results of Fit; otherwise one split would change another. The features must
// be finite, and must have the same bits in each call. Weights of 1 must give the same bits as no
// weights. A row of weight 2 must have the effect of two rows, to 1e-12, and a row of weight 0 must
// have no effect. For a [cvgm.StoredPreparer], ApplyStored must return the same features as Apply.
func Preparer(t TB, p cvgm.Preparer, x *mat.Dense) {
	t.Helper()
	rows, _ := x.Dims()
	if rows < 4 {
		t.Fatalf("%d rows are too few", rows)
	}
	c := preparerCase{TB: t, p: p, x: x}
	c.ncols, c.nfeatures = p.Dims()
	order := rand.New(rand.NewPCG(11, 17)).Perm(rows)
	half, rest := order[:rows/2], order[rows/2:]
	first := c.fit(half, nil)
	before := c.apply(first)
	c.apply(c.fit(rest, nil))
	c.checkSame("after another Fit", c.apply(first), before, 0)
	c.checkSame("fitted again", c.apply(c.fit(half, nil)), before, 0)

	c.checkSame("weights of 1", c.apply(c.fit(half, ones(len(half)))), before, 0)
	weights := ones(rows)
	for _, i := range rest {
		weights[i] = 0
	}
	const rounding = 1e-12 // bounds the rounding of sums over the rows in another order
	c.checkSame("weights of 0", c.apply(c.fit(identity(rows), weights)), before, rounding)
	weights[half[0]] = 2
	c.checkSame("a weight of 2", c.apply(c.fit(identity(rows), weights)), c.apply(c.fit(append(slices.Clone(half), half[0]), nil)), rounding)
}

// A preparerCase is a preparer under test, with rows for the test. The field ncols is the number of
// columns of the rows, and nfeatures is the number of features.
type preparerCase struct {
	TB
	p                cvgm.Preparer
	x                *mat.Dense
	ncols, nfeatures int
}

// fit fits the preparer to the listed rows.
func (c preparerCase) fit(rows []int, weights []float64) cvgm.Prepared {
	c.Helper()
	train := mat.NewDense(len(rows), c.ncols, nil)
	for k, i := range rows {
		train.SetRow(k, c.x.RawRowView(i))
	}
	kept, keptWeights := mat.DenseCopyOf(train), slices.Clone(weights)
	f, err := c.p.Fit(train, weights)
	if err != nil {
		c.Fatalf("%v", err)
	}
	if !equalBits(train.RawMatrix().Data, kept.RawMatrix().Data) || !equalBits(weights, keptWeights) {
		c.Fatalf("Fit changes its arguments")
	}
	if i, o := f.Dims(); i != c.ncols || o != c.nfeatures {
		c.Fatalf("maps %d columns to %d features after Fit instead of %d to %d", i, o, c.ncols, c.nfeatures)
	}
	if p, ok := c.p.(cvgm.StoredPreparer); ok {
		if s, ok := f.(cvgm.StoredPrepared); !ok || s.MostStored() != p.MostStored() {
			c.Fatalf("Fit returns %T, which is not a StoredPrepared with the same MostStored, %d", f, p.MostStored())
		}
	}
	train.Zero() // Fit must not keep its arguments, so the caller may overwrite them
	return f
}

// apply returns the features of all rows.
func (c preparerCase) apply(f cvgm.Prepared) []float64 {
	c.Helper()
	var features []float64
	for i := range c.x.RawMatrix().Rows {
		row := slices.Clone(c.x.RawRowView(i))
		dst := slices.Repeat([]float64{math.NaN()}, c.nfeatures) // all must be written
		if err := f.Apply(dst, row); err != nil {
			c.Fatalf("row %d: %v", i, err)
		}
		if !equalBits(row, c.x.RawRowView(i)) {
			c.Fatalf("Apply changes row %d", i)
		}
		for j, v := range dst {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				c.Fatalf("feature %d of row %d is %v", j, i, v)
			}
		}
		if s, ok := f.(cvgm.StoredPrepared); ok {
			c.checkStored(s, i, dst)
		}
		features = append(features, dst...)
	}
	return features
}

// checkStored checks the result of ApplyStored for row i. The result must be equal to the features
// that Apply returns for this row.
func (c preparerCase) checkStored(s cvgm.StoredPrepared, i int, features []float64) {
	c.Helper()
	row, got, seen, calls := slices.Clone(c.x.RawRowView(i)), make([]float64, c.nfeatures), make([]bool, c.nfeatures), 0
	err := s.ApplyStored(row, func(j int, v float64) {
		if calls++; j < 0 || j >= c.nfeatures || seen[j] {
			c.Fatalf("ApplyStored sets feature %d of %d in row %d, or sets it twice", j, c.nfeatures, i)
		}
		got[j], seen[j] = v, true
	})
	if err != nil {
		c.Fatalf("row %d: ApplyStored: %v", i, err)
	}
	if !equalBits(row, c.x.RawRowView(i)) {
		c.Fatalf("ApplyStored changes row %d", i)
	}
	if calls > s.MostStored() {
		c.Errorf("ApplyStored sets %d features of row %d, and MostStored is %d", calls, i, s.MostStored())
	}
	if !slices.Equal(got, features) {
		c.Errorf("ApplyStored gives the features %v of row %d, and Apply %v", got, i, features)
	}
}

func (c preparerCase) checkSame(what string, got, want []float64, tol float64) {
	c.Helper()
	for k, v := range got {
		if !(math.Abs(v-want[k]) <= tol*(math.Abs(v)+math.Abs(want[k]))) {
			c.Errorf("%s: feature %d of row %d is %.17g, not %.17g", what, k%c.nfeatures, k/c.nfeatures, v, want[k])
			return
		}
	}
}

func identity(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// equalBits reports whether two slices are equal. Two NaNs count as equal.
func equalBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}
