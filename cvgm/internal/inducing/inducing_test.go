package inducing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/cvgm/internal/portable"
)

// draw returns columns of n normal numbers.
func draw(seed uint64, n, d int) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 4))
	columns := make([][]float64, d)
	for j := range columns {
		columns[j] = make([]float64, n)
		for i := range columns[j] {
			columns[j][i] = rng.NormFloat64()
		}
	}
	return columns
}

func choose(columns [][]float64, length float64, count int) (points, deviations []float64) {
	means := make([]float64, len(columns))
	deviations = make([]float64, len(columns))
	for j, c := range columns {
		means[j], deviations[j] = Deviation(c)
	}
	return Choose(columns, means, deviations, length, count), deviations
}

// remainders returns 1 − ‖φ(x)‖² for each row x.
func remainders(columns [][]float64, b *portable.GaussianBasis) []float64 {
	all := make([]float64, len(columns[0]))
	x := make([]float64, len(columns))
	for i := range all {
		for j, c := range columns {
			x[j] = c[i]
		}
		all[i] = 1
		b.Set(x, 0, func(_ int, v float64) { all[i] -= v * v })
	}
	return all
}

// Choose adds the row with the largest remainder until it reaches its bound or all remainders are
// at most Tol.
func TestEachPointHasTheLargestRemainder(t *testing.T) {
	const rounding = 1e-12
	for d := 1; d <= 3; d++ {
		columns := draw(uint64(d), 60, d)
		points, deviations := choose(columns, 1, 25)
		for r := d; r < len(points); r += d {
			left := remainders(columns, portable.NewGaussianBasis(1, deviations, points[:r]))
			own := slices.IndexFunc(columns[0], func(v float64) bool { return v == points[r] })
			if most := slices.Max(left); !(left[own] >= most*(1-1e-6)-rounding) {
				t.Errorf("%d columns, point %d: the remainder %v, and the largest is %v", d, r/d, left[own], most)
			}
		}
		b := portable.NewGaussianBasis(1, deviations, points)
		left := slices.Max(remainders(columns, b))
		if full := len(points) == 25*d; full == (left <= Tol) || len(points)%d != 0 || len(points) > 25*d || !(slices.Min(b.Lower) > -1) {
			t.Errorf("%d columns: %d numbers, largest remainder %v", d, len(points), left)
		}
	}
}

// Choose returns the same points for every order of the rows of a grid, whose remainders tie.
func TestOrderOfRowsOfAGrid(t *testing.T) {
	var columns [2][]float64
	for i := range 7 {
		for j := range 7 {
			columns[0], columns[1] = append(columns[0], .1*float64(i)), append(columns[1], 30*float64(j))
		}
	}
	want, _ := choose(columns[:], 1.2, 11)
	if math.Abs(want[0]-.3) > 1e-9 || want[1] != 90 {
		t.Errorf("the first point is %v, not the centre", want[:2])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		rng.Shuffle(49, func(i, j int) {
			for _, c := range columns {
				c[i], c[j] = c[j], c[i]
			}
		})
		if got, _ := choose(columns[:], 1.2, 11); !slices.Equal(got, want) {
			t.Fatalf("%v, and in another order %v", got, want)
		}
	}
}

// Deviation and Choose do not depend on the order of the rows, even if sums over large values round
// differently.
func TestOrderOfRowsFarFromZero(t *testing.T) {
	var columns [2][]float64
	for i := range 8 {
		for j := range 8 {
			columns[0], columns[1] = append(columns[0], 1e9+.1*float64(i)), append(columns[1], .3*float64(j))
		}
	}
	want, deviations := choose(columns[:], 1.2, 11)
	rng := rand.New(rand.NewPCG(1, 3))
	for range 20 {
		rng.Shuffle(64, func(i, j int) {
			for _, c := range columns {
				c[i], c[j] = c[j], c[i]
			}
		})
		if got, d := choose(columns[:], 1.2, 11); !slices.Equal(got, want) || !slices.Equal(d, deviations) {
			t.Fatalf("points %v with deviations %v, and in another order %v with %v", want, deviations, got, d)
		}
	}
}

// The mean of a column that is constant up to rounding is one of the column's values.
func TestMeanOfAConstantColumn(t *testing.T) {
	for _, values := range [][]float64{{math.NaN(), 1, 1 + 4e-16, 1}, {3, math.NaN(), 3}} {
		if mean, d := Deviation(values); !slices.Contains(values, mean) || d != 0 {
			t.Errorf("%v: mean %v, deviation %v", values, mean, d)
		}
	}
}

// Hostile columns give distinct points.
func TestPointsOfHostileColumns(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		columns [][]float64
		want    int // the number of points
	}{
		"two rows":           {[][]float64{{1, 2}, {5, 4}}, 2},
		"equal rows":         {[][]float64{{1, 2, 1, 2}, {5, 4, 5, 4}}, 2},
		"zeros of two signs": {[][]float64{{0, math.Copysign(0, -1), 1}}, 2},
		"huge numbers":       {[][]float64{{-1.7e308, 1.7e308, 1.6e308}}, 3},
		"tiny numbers":       {[][]float64{{5e-324, 0, 1e-323}}, 3},
		"rows too near":      {[][]float64{{1, 1 + 1e-9, 2, 5}}, 3},
	} {
		points, deviations := choose(c.columns, 1, 10)
		if got := len(points) / len(c.columns); got != c.want {
			t.Errorf("%s: %d points %v", name, got, points)
		}
		for _, v := range portable.NewGaussianBasis(1, deviations, points).Lower {
			if !(math.Abs(v) <= 1) {
				t.Errorf("%s: the factor holds %v", name, v)
			}
		}
	}
	for _, values := range [][]float64{{3, 3, 3}, {nan, nan}, {nan, 4}, {0, 0}, {1, 1 + 1e-16}} {
		if _, d := Deviation(values); d != 0 {
			t.Errorf("%v have the deviation %v", values, d)
		}
	}
	for _, unit := range []float64{1e-300, 1, 1e300} {
		mean, d := Deviation([]float64{nan, unit, 3 * unit, nan})
		if !(math.Abs(mean/unit-2) < 1e-15) || !(math.Abs(d/unit-1) < 1e-15) {
			t.Errorf("mean %v, deviation %v in the unit %v", mean, d, unit)
		}
	}
}
