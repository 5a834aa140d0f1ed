package ways_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// always makes a threshold so high that it is never reached.
const always = math.MaxInt32

// A crossing is a threshold with data and a learner for which the threshold chooses the way.
type crossing struct {
	name  string
	set   func(int) int
	fresh func() learn.Learner
	draw  func(rng *rand.Rand, rows, n int) learn.Data
	// hypers are the points of a search, in the order of the evaluations.
	hypers [][]float64
	sizes  [][2]int // rows and features
}

// BenchmarkWays reports the processor time of the way for large sizes, divided by the time of the
// way for small sizes.
func BenchmarkWays(b *testing.B) {
	for _, c := range crossings() {
		for _, size := range c.sizes {
			b.Run(fmt.Sprintf("%s/%dx%d", c.name, size[0], size[1]), func(b *testing.B) {
				d := c.draw(rand.New(rand.NewPCG(uint64(size[0]), uint64(size[1]))), size[0], size[1])
				for b.Loop() {
					searches := 1
					for c.searchTime(b, d, always, searches) < leastTime {
						searches *= 2
					}
					var usual, large []float64
					for range 5 {
						usual = append(usual, c.searchTime(b, d, always, searches))
						large = append(large, c.searchTime(b, d, 0, searches))
					}
					b.ReportMetric(slices.Min(large)/slices.Min(usual), "large/small")
				}
			})
		}
	}
}

// leastTime is the shortest measured processor time in seconds, because some clocks advance by 4
// ms.
const leastTime = .05

// searchTime returns the processor time of several searches at the given threshold.
func (c crossing) searchTime(b *testing.B, d learn.Data, threshold, count int) float64 {
	defer c.set(c.set(threshold))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, n := d.X.Dims()
	w := new(qpdiff.Workspace)
	params, _ := c.fresh().Dims(n)
	theta, v, g := make([]float64, params), numtest.Ones(params), &learn.Grad{Hyper: make([]float64, len(c.hypers[0]))}
	start := processorSeconds(b)
	for range count {
		l := c.fresh()
		numtest.OK(b, l.Load(d))
		for _, hyper := range c.hypers {
			numtest.OK(b, l.Fit(theta, hyper), l.VJP(w, g, v))
		}
	}
	return processorSeconds(b) - start
}

// processorSeconds returns the processor time of the thread, in seconds.
func processorSeconds(b *testing.B) float64 {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// crossings lists the thresholds.
func crossings() []crossing {
	path := func(first, last float64, rest ...float64) (hypers [][]float64) {
		const points = 20
		for k := range points {
			hypers = append(hypers, append([]float64{first * math.Pow(last/first, float64(k)/(points-1))}, rest...))
		}
		return hypers
	}
	around := func(rows int, features ...int) (sizes [][2]int) {
		for _, n := range features {
			sizes = append(sizes, [2]int{rows, n})
		}
		return sizes
	}
	halves := func(features ...int) (sizes [][2]int) {
		for _, n := range features {
			sizes = append(sizes, [2]int{n / 2, n})
		}
		return sizes
	}
	net := func() learn.Learner { return new(linear.ElasticNet) }
	sparseLogistic := func() learn.Learner { return &linear.SparseLogistic{Intercept: true} }
	logistic := func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	huber := func() learn.Learner { return &linear.Huber{Intercept: true} }
	return []crossing{
		{"gram/net", ways.SetGramFeatures, net, regression, path(.2, .02, 1e-3), slices.Concat(around(500, 50, 100, 150, 250, 400, 800), around(4000, 100, 150, 250, 400))},
		{"gram/net wide", ways.SetGramFeatures, net, regression, path(.2, .02, 1e-3), halves(50, 70, 90, 120, 150, 200)},
		{"gram/sparse logistic", ways.SetGramFeatures, sparseLogistic, classes, path(.1, .01, 1e-3), slices.Concat(around(500, 50, 100, 150, 250, 400), halves(70, 90, 120, 200))},
		{"product/logistic", ways.SetProductFeatures, logistic, classes, path(.01, 1), slices.Concat(around(100, 10, 20, 25, 35, 45, 80), around(1000, 10, 20, 25, 35, 45, 80), around(5000, 20, 25, 35, 45))},
		{"product/logistic wide", ways.SetProductFeatures, logistic, classes, path(.01, 1), halves(10, 20, 26, 36, 46, 80)},
		{"product/Huber wide", ways.SetProductFeatures, huber, regression, path(1, .01, .5), halves(10, 20, 26, 36, 46, 80, 160)},
		{"many/net", ways.SetManyRows, net, regression, path(.2, .02, 1e-3), slices.Concat(around(1000, 50), around(2000, 50), around(3000, 50), around(5000, 50), around(8000, 50), around(16000, 50))},
		{"sparse/logistic", ways.SetSparseFeatures, logistic, oneHot, path(.01, 1), slices.Concat(around(600, 150, 240, 300, 450), around(3000, 120, 180, 240, 300, 450, 600), around(12000, 150, 240, 300, 450))},
		{"sparse/net", ways.SetSparseFeatures, net, oneHotNumbers, path(.01, .0001, 1e-3), slices.Concat(around(600, 150, 240, 300, 450), around(3000, 120, 180, 240, 300, 450, 600), around(12000, 150, 240, 300, 450))},
	}
}

// regression draws labels of a sparse truth with noise.
func regression(rng *rand.Rand, rows, n int) learn.Data {
	d := learn.Data{X: mat.NewDense(rows, n, numtest.Normals(rng, rows*n)), Y: numtest.Normals(rng, rows)}
	for i := range d.Y {
		for _, v := range d.Dense().RawRowView(i)[:min(n, 10)] {
			d.Y[i] += v / 3
		}
	}
	return d
}

// classes draws the signs of such labels.
func classes(rng *rand.Rand, rows, n int) learn.Data {
	d := regression(rng, rows, n)
	for i, y := range d.Y {
		d.Y[i] = math.Copysign(1, y)
	}
	return d
}

// oneHotNumbers draws three columns of n/3 levels each.
func oneHotNumbers(rng *rand.Rand, rows, n int) learn.Data {
	const columns = 3
	x := &numtest.Stored{Rows: rows, Columns: n, Index: make([][]int, rows), Value: make([][]float64, rows)}
	d, effects := learn.Data{X: x, Y: numtest.Normals(rng, rows)}, numtest.Normals(rng, n)
	for i := range rows {
		for c := range columns {
			j := c*(n/columns) + rng.IntN(n/columns)
			x.Index[i], x.Value[i] = append(x.Index[i], j), append(x.Value[i], 1)
			d.Y[i] += effects[j]
		}
	}
	return d
}

// oneHot draws the signs of such labels.
func oneHot(rng *rand.Rand, rows, n int) learn.Data {
	d := oneHotNumbers(rng, rows, n)
	for i, y := range d.Y {
		d.Y[i] = math.Copysign(1, y)
	}
	return d
}
