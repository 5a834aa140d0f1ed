package cvgmtest

import (
	"math"
	"math/rand/v2"
	"slices"

	"cvgm/cvgm"

	"gonum.org/v1/gonum/mat"
)

// Preparer tests a preparer on the rows of x, which may hold NaN where the preparer takes
// it. Fit must succeed on every half of the rows.
//
// It checks the Dims before and after Fit; that Fit and Apply change neither their
// arguments nor what was fitted before, so that nothing of one split reaches another;
// that features are finite and have the same bits each time; that weights of 1 change no
// bit, that a row of weight 2 counts as two rows to 1e-12, and that a row of weight 0
// does not count.
func Preparer(t TB, p cvgm.Preparer, x *mat.Dense) {
	t.Helper()
	rows, _ := x.Dims()
	if rows < 4 {
		t.Fatalf("%d rows are too few", rows)
	}
	in, out := p.Dims()
	fit := func(train *mat.Dense, weights []float64) cvgm.Prepared {
		kept, keptWeights := mat.DenseCopyOf(train), slices.Clone(weights)
		f, err := p.Fit(train, weights)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if !equalBits(train.RawMatrix().Data, kept.RawMatrix().Data) || !equalBits(weights, keptWeights) {
			t.Fatalf("Fit changes its arguments")
		}
		if i, o := f.Dims(); i != in || o != out {
			t.Fatalf("maps %d columns to %d features after Fit instead of %d to %d", i, o, in, out)
		}
		train.Zero() // belongs to the caller again
		return f
	}
	apply := func(f cvgm.Prepared) []float64 {
		features := make([]float64, rows*out)
		for i := range rows {
			row := slices.Clone(x.RawRowView(i))
			dst := features[i*out : (i+1)*out]
			for j := range dst {
				dst[j] = math.NaN() // all must be written
			}
			if err := f.Apply(dst, row); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
			if !equalBits(row, x.RawRowView(i)) {
				t.Fatalf("Apply changes row %d", i)
			}
			for j, v := range dst {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("feature %d of row %d is %v", j, i, v)
				}
			}
		}
		return features
	}
	gather := func(indices []int) *mat.Dense {
		d := mat.NewDense(len(indices), in, nil)
		for k, i := range indices {
			d.SetRow(k, x.RawRowView(i))
		}
		return d
	}
	same := func(what string, got, want []float64, tol float64) {
		for k, v := range got {
			if !(math.Abs(v-want[k]) <= tol*(math.Abs(v)+math.Abs(want[k]))) {
				t.Errorf("%s: feature %d of row %d is %.17g, not %.17g", what, k%out, k/out, v, want[k])
				return
			}
		}
	}

	order := rand.New(rand.NewPCG(11, 17)).Perm(rows)
	half, rest := order[:rows/2], order[rows/2:]
	first := fit(gather(half), nil)
	before := apply(first)
	apply(fit(gather(rest), nil))
	same("after another Fit", apply(first), before, 0)
	same("fitted again", apply(fit(gather(half), nil)), before, 0)

	ones := slices.Repeat([]float64{1}, len(half))
	same("weights of 1", apply(fit(gather(half), ones)), before, 0)
	weights := slices.Repeat([]float64{1}, rows)
	for _, i := range rest {
		weights[i] = 0
	}
	const rounding = 1e-12 // of sums over the rows in another order
	same("weights of 0", apply(fit(gather(identity(rows)), weights)), before, rounding)
	weights[half[0]] = 2
	same("a weight of 2", apply(fit(gather(identity(rows)), weights)), apply(fit(gather(append(slices.Clone(half), half[0])), nil)), rounding)
}

func identity(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// equalBits reports whether two slices are equal, NaN to NaN.
func equalBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}
