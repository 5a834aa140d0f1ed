package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// cvProblem is a cross-validation loss of elastic nets by hand: one learner per
// split, two examples held out of each.
type cvProblem struct {
	folds []cvFold
}

type cvFold struct {
	net    ElasticNet
	work   qpdiff.Workspace
	val    learn.Data
	theta  []float64
	dtheta []float64
	grad   learn.Grad
}

// newCVProblem draws one regression problem of rows+2 examples (eight in ten
// features informative, noise as strong as the signal of two of them) and k
// splits of it.
func newCVProblem(b *testing.B, k, rows, n int) *cvProblem {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := mat.NewDense(rows+2, n, numtest.Normals(rng, (rows+2)*n)), make([]float64, rows+2)
	coef := make([]float64, n)
	for j := range 8 * n / 10 {
		coef[j] = rng.Float64()
	}
	for i := range y {
		y[i] = dense.Dot(coef, x.RawRowView(i)) + rng.NormFloat64()
	}
	p := &cvProblem{folds: make([]cvFold, k)}
	for i := range p.folds {
		perm := rng.Perm(rows + 2)
		part := func(rows []int) learn.Data {
			d := learn.Data{X: mat.NewDense(len(rows), n, nil)}
			for i, r := range rows {
				d.Dense().SetRow(i, x.RawRowView(r))
				d.Y = append(d.Y, y[r])
			}
			return d
		}
		f := &p.folds[i]
		f.val = part(perm[rows:])
		f.theta, f.dtheta = make([]float64, n), make([]float64, n)
		f.grad.Hyper = make([]float64, 2)
		numtest.OK(b, f.net.Load(part(perm[:rows])))
	}
	return p
}

// loss returns the mean squared error over the held-out examples of all folds,
// and adds its derivative to grad unless that is nil.
func (p *cvProblem) loss(b *testing.B, grad, hyper []float64, cold bool) float64 {
	var total float64
	for i := range p.folds {
		f := &p.folds[i]
		if cold {
			f.net.Reset()
		}
		numtest.OK(b, f.net.Fit(f.theta, hyper))
		clear(f.dtheta)
		x := f.val.Dense().RawMatrix()
		for i, y := range f.val.Y {
			row := x.Data[i*x.Stride : i*x.Stride+x.Cols]
			r := dense.Dot(row, f.theta) - y
			total += r * r
			if grad != nil {
				dense.Axpy(2*r, row, f.dtheta)
			}
		}
		if grad != nil {
			clear(f.grad.Hyper)
			numtest.OK(b, f.net.VJP(&f.work, &f.grad, f.dtheta))
			dense.Axpy(1, f.grad.Hyper, grad)
		}
	}
	return total / float64(len(p.folds)*2)
}

// BenchmarkElasticNetStep times one step of a search: the loss over all splits
// with or without its gradient, λ moving a little each time, from the last
// active set (warm) or none (cold). ns/step is for all splits together.
func BenchmarkElasticNetStep(b *testing.B) {
	for _, size := range []struct{ k, rows, n int }{{128, 28, 10}, {5, 400, 100}} {
		p := newCVProblem(b, size.k, size.rows, size.n)
		for _, cold := range []bool{false, true} {
			for _, gradient := range []bool{false, true} {
				name := fmt.Sprintf("%dx(%dx%d)/%s/%s", size.k, size.rows, size.n,
					map[bool]string{false: "warm", true: "cold"}[cold],
					map[bool]string{false: "value", true: "gradient"}[gradient])
				b.Run(name, func(b *testing.B) {
					start := []float64{1e-2, 1e-4}
					hyper := slices.Clone(start)
					var grad []float64
					if gradient {
						grad = make([]float64, 2)
					}
					p.loss(b, nil, hyper, true)
					i := 0
					b.ReportAllocs()
					for b.Loop() {
						i++
						hyper[0] = start[0] * (1 + 1e-3*float64(i%100))
						hyper[1] = start[1] * (1 + 1e-3*float64(i%100))
						p.loss(b, grad, hyper, cold)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/step")
				})
			}
		}
	}
}

// BenchmarkElasticNetLoad times the Gram matrix.
func BenchmarkElasticNetLoad(b *testing.B) {
	for _, size := range [][2]int{{28, 10}, {400, 100}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			d := casetest.RandomData(1, size[0], size[1], false)
			var e ElasticNet
			b.ReportAllocs()
			for b.Loop() {
				numtest.OK(b, e.Load(d))
			}
		})
	}
}
