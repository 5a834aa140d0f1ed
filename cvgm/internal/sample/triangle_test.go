package sample

import (
	"fmt"
	"math"
	"testing"

	"cvgm/synth"
)

// triangleEps bounds the relative error of a sum of squares from the triangle. It allows a few
// rounding errors for each of up to 300 rows.
const triangleEps = 300 * 0x1p-52

// byRows computes the mean squared error and its slopes from the rows, and the sizes of the summed
// terms.
func byRows(x []float64, m int, y []float64, intercept float64, weights Weights, theta []float64) (loss, size float64, slopes, sizes []float64) {
	slopes, sizes = make([]float64, m), make([]float64, m)
	total := weights.Total(len(y))
	for i, label := range y {
		e, big, w := intercept-label, math.Abs(label-intercept), weights.At(i)/total
		for j := range m {
			e += theta[j] * x[i*m+j]
			big += math.Abs(theta[j] * x[i*m+j])
		}
		loss += w * e * e
		size += w * big * big
	}
	for i, label := range y {
		e, w := intercept-label, weights.At(i)/total
		for j := range m {
			e += theta[j] * x[i*m+j]
		}
		for j := range m {
			slopes[j] += 2 * w * e * x[i*m+j]
			sizes[j] += w * x[i*m+j] * x[i*m+j]
		}
	}
	for j, s := range sizes {
		sizes[j] = 2 * math.Sqrt(s*size)
	}
	return loss, size, slopes, sizes
}

// The triangle gives the same mean squared error and slopes as the rows, up to rounding.
func TestTriangleHasTheSumsOfItsRows(t *testing.T) {
	for seed := range uint64(300) {
		rng := synth.NewStream(seed, "triangle")
		m := 1 + rng.IntN(triangleMost)
		rows := 1 + rng.IntN(300)
		x, y, theta := make([]float64, rows*m), make([]float64, rows), make([]float64, m)
		var weights Weights
		if seed%3 == 0 {
			weights = make(Weights, rows)
		}
		label := math.Ldexp(1, rng.IntN(500)-250)
		for j := range m {
			unit := math.Ldexp(1, rng.IntN(200)-100)
			theta[j] = synth.Normal(rng, 0, 1) / unit * label
			for i := range rows {
				x[i*m+j] = synth.Normal(rng, 0, 1) * unit
				if seed%5 == 1 && j > 0 { // depends on the first column
					x[i*m+j] = x[i*m] * unit
				}
				if seed%7 == 2 && i%2 == 0 { // rows of another size
					x[i*m+j] *= 1e-9
				}
			}
		}
		intercept := synth.Normal(rng, 0, 1) * label
		for i := range rows {
			if weights != nil {
				weights[i] = rng.Float64() + 1e-3
			}
			y[i] = intercept
			for j := range m {
				y[i] += theta[j] * x[i*m+j]
			}
			if seed%2 == 0 {
				y[i] += synth.Normal(rng, 0, 1) * label
			}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var tri Triangle
			if !tri.Reduce(x, m, y, intercept, weights) {
				t.Fatal("the triangle is not finite")
			}
			got := make([]float64, m)
			loss, alone := tri.Loss(theta, got), tri.Loss(theta, nil)
			want, size, slopes, sizes := byRows(x, m, y, intercept, weights, theta)
			if loss != alone || !(math.Abs(loss-want) <= triangleEps*math.Sqrt(want)*math.Sqrt(size)+triangleEps*triangleEps*size) {
				t.Errorf("loss %v, alone %v, by rows %v of terms %v", loss, alone, want, size)
			}
			for j, s := range slopes {
				if !(math.Abs(got[j]-s) <= triangleEps*sizes[j]) {
					t.Errorf("slope %d is %v, by rows %v of terms %v", j, got[j], s, sizes[j])
				}
			}
		})
	}
}

// TestTriangleOfOverflow has rows whose length overflows, and a column of zeros.
func TestTriangleOfOverflow(t *testing.T) {
	var tri Triangle
	if tri.Reduce([]float64{1.5e308, 1.5e308}, 1, []float64{1, 1}, 0, nil) {
		t.Error("the triangle has an infinite entry and counts as finite")
	}
	if !tri.Reduce([]float64{0, 0, 0}, 1, []float64{3, 4, 0}, 0, nil) || math.Abs(tri.Loss([]float64{7}, nil)*3-25) > 1e-13 {
		t.Error("the loss of a column of zeros is wrong")
	}
}
