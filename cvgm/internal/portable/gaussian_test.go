package portable

import (
	"math"
	"math/rand/v2"
	"testing"
)

// featuresOf returns the features of x.
func featuresOf(b *GaussianBasis, x []float64) []float64 {
	f := make([]float64, b.Width())
	b.Set(x, 0, func(k int, v float64) { f[k] = v })
	return f
}

// product returns the inner product of a and b.
func product(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// The inner product of two rows' features equals their kernel if one row is a point of the basis.
// The squared length of a row's features is at most 1.
func TestInnerProductsAreKernels(t *testing.T) {
	const tol = 1e-9 // of systems with conditions of up to 1e6
	rng := rand.New(rand.NewPCG(3, 9))
	for d := 1; d <= 4; d++ {
		deviations, points := make([]float64, d), make([]float64, 7*d)
		for j := range deviations {
			deviations[j] = math.Pow(10, 6*rng.Float64()-3)
		}
		draw := func(x []float64) {
			for j := range x {
				x[j] = 5 * deviations[j%d] * rng.NormFloat64()
			}
		}
		draw(points)
		b := NewGaussianBasis(1.5, deviations, points)
		x := make([]float64, d)
		for range 20 {
			draw(x)
			own := featuresOf(b, x)
			if s := product(own, own); !(s <= 1+tol) {
				t.Errorf("%d columns: the features of %v have the square %v", d, x, s)
			}
			for i := range b.Width() {
				z := points[i*d : (i+1)*d]
				want := 0.
				for j := range x {
					u := (x[j] - z[j]) / deviations[j] / 1.5
					want += u * u
				}
				want = math.Exp(-want / 2)
				if got := product(own, featuresOf(b, z)); !(math.Abs(got-want) <= tol) {
					t.Errorf("%d columns: the product with point %d is %v, not %v", d, i, got, want)
				}
			}
		}
	}
}

// Kernel stays exact if the difference of two values or its quotient overflows.
func TestKernelsDoNotOverflow(t *testing.T) {
	const big = math.MaxFloat64
	for _, c := range []struct{ deviation, length, x, z, want float64 }{
		{1, 1, big, -big, 0}, {1e-300, 1, big, -big, 0}, {1, 5e-324, 1, 2, 0}, {5e-324, 5e-324, big, 1, 0}, {1, 5e-324, 1, 1, 1},
		{big, 1, big, -big, math.Exp(-2)}, {big / 4, 8, big, -big, math.Exp(-.5)}, {5e-324, 1, 1e-323, 5e-324, math.Exp(-.5)}, {1, big, -3, 9, 1},
	} {
		b := NewGaussianBasis(c.length, []float64{c.deviation}, []float64{c.z})
		if got := b.Kernel([]float64{c.x}, b.Points); !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%+v: %v", c, got)
		}
		if f := featuresOf(b, []float64{c.x}); !(math.Abs(f[0]-c.want) <= 1e-15) {
			t.Errorf("%+v: feature %v", c, f)
		}
	}
}

// The columns between two kernels keep their features. A missing number becomes the mean.
func TestJointFeaturesOfARow(t *testing.T) {
	two := NewGaussianBasis(1, []float64{1, 2}, []float64{0, 0, 1, 1})
	one := NewGaussianBasis(2, []float64{1}, []float64{0, 3, 9})
	columns := []Column{{}, {Joint: two}, {Joined: true, Fill: true, Mean: .5}, {Joint: one}, {Categorical: true, Levels: []string{"a", "b"}}, {Joint: one}}
	values := []float64{7, .25, math.NaN(), 3, 1, 8}
	got := make([]float64, 10)
	if j, fault := Features(columns, values, func(k int, v float64) { got[k] += v }); fault != None {
		t.Fatal(j, fault)
	}
	want := append(append(append([]float64{7}, featuresOf(two, []float64{.25, .5})...), featuresOf(one, []float64{3})...), 1)
	want = append(want, featuresOf(one, []float64{8})...)
	width := 0
	for j := range columns {
		width += columns[j].Width()
	}
	if width != len(want) || !math.IsNaN(values[2]) {
		t.Errorf("width %d of %d, values %v", width, len(want), values)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("feature %d is %v, not %v", k, got[k], v)
		}
	}
	columns[2].Fill = false
	if j, fault := Features(columns, values, func(int, float64) {}); j != 2 || fault != Missing {
		t.Errorf("column %d: fault %v", j, fault)
	}
}
