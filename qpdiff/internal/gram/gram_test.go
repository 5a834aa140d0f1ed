package gram

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// madeTol bounds the difference between Make and the sum over the rows, relative to the square
// roots of the diagonal. A subtraction that leaves the fraction LeastKept multiplies rounding
// errors by 100.
const madeTol = 1e-12

// drawData draws rows with different units and with counts, of which some are 0. Rows of count 0
// may be outliers.
func drawData(rng *rand.Rand) (d learn.Data, counts []float64) {
	rows, n := 4+rng.IntN(80), 1+rng.IntN(20)
	stride := n + rng.IntN(3)
	x := mat.NewDense(rows, stride, numtest.Normals(rng, rows*stride)).Slice(0, rows, 0, n).(*mat.Dense)
	weights := make([]float64, rows)
	for i := range weights {
		if weights[i] = 1; rng.IntN(4) == 0 {
			weights[i] = float64(rng.IntN(5)) / 2
		}
	}
	weights[0] = 1
	d = learn.Data{X: x, Y: numtest.Normals(rng, rows), Weights: weights, Gram: learn.NewGram(x, weights)}
	for i := range rows {
		if i == 0 || rng.IntN(5) > 0 {
			d.Rows = append(d.Rows, i)
		}
	}
	counts = make([]float64, rows)
	total := 0.0
	for _, i := range d.Rows {
		counts[i] = weights[i]
		total += weights[i]
	}
	for j := range n {
		unit, kind := math.Exp(10*rng.NormFloat64()), rng.IntN(4)
		for i := range rows {
			v := x.At(i, j)
			switch {
			case kind == 1 && counts[i] == 0:
				v *= 1e7
			case kind == 2 && counts[i] > 0:
				v = 3
			}
			x.Set(i, j, unit*v)
		}
	}
	if rng.IntN(3) > 0 {
		d.Centre, d.Scale = make([]float64, n), make([]float64, n)
		for j := range n {
			sum, squares := 0.0, 0.0
			for i, c := range counts {
				sum += c * x.At(i, j)
				squares += c * x.At(i, j) * x.At(i, j)
			}
			d.Centre[j] = sum / total
			d.Scale[j] = math.Sqrt(squares / total)
		}
	}
	return d, counts
}

// TestMake compares Gram matrices, most of which are computed by subtraction, with sums over the
// rows.
func TestMake(t *testing.T) {
	serial.Test(t)
	subtracted, again := 0, 0
	var m Maker
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 36))
		d, counts := drawData(rng)
		rows, n := d.X.Dims()
		if paysToSubtract(&d, counts) {
			subtracted++
		}
		g, xty := make([]float64, n*n), make([]float64, n)
		m.Make(g, xty, &d, counts)
		again += len(m.lossySum)
		want, wantXty, yy := make([]float64, n*n), make([]float64, n), 0.0
		seen := make([]float64, n)
		for i := range rows {
			for j := range n {
				seen[j] = d.Seen(j, d.X.At(i, j))
			}
			for j, v := range seen {
				dense.Axpy(counts[i]*v, seen, want[j*n:(j+1)*n])
				wantXty[j] += counts[i] * v * d.Y[i]
			}
			yy += counts[i] * d.Y[i] * d.Y[i]
		}
		for j := range n {
			for k := range n {
				if size := math.Sqrt(want[j*n+j] * want[k*n+k]); !(math.Abs(g[j*n+k]-want[j*n+k]) <= madeTol*size) {
					t.Errorf("seed %d, %d × %d: entry (%d, %d) is %v instead of %v", seed, rows, n, j, k, g[j*n+k], want[j*n+k])
				}
			}
			if size := math.Sqrt(want[j*n+j] * yy); !(math.Abs(xty[j]-wantXty[j]) <= madeTol*size) {
				t.Errorf("seed %d, %d × %d: product %d is %v instead of %v", seed, rows, n, j, xty[j], wantXty[j])
			}
		}
	}
	if subtracted < 2000 || again < 2000 {
		t.Errorf("%d of 3000 by subtraction, with %d columns summed again", subtracted, again)
	}
}

// BenchmarkMake computes the Gram matrices of five folds, with and without subtraction.
func BenchmarkMake(b *testing.B) {
	const rows, n = 20_000, 50
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), numtest.Normals(rng, rows)
	g, xty := make([]float64, n*n), make([]float64, n)
	var m Maker
	for _, subtract := range []bool{false, true} {
		b.Run(fmt.Sprintf("subtract=%v", subtract), func(b *testing.B) {
			for b.Loop() {
				d := learn.Data{X: x, Y: y}
				if subtract {
					d.Gram = learn.NewGram(x, nil)
				}
				for fold := range 5 {
					counts := make([]float64, rows)
					for i := range counts {
						if i%5 != fold {
							counts[i] = 1
						}
					}
					m.Make(g, xty, &d, counts)
				}
			}
		})
	}
}
