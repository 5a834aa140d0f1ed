package qpdiff

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// elasticNetResidual is the largest violation of 0 ∈ ∇f(θ) + λ1 ∂|θ| + λ2 θ over
// the coordinates, from the residual y − Xθ rather than from XᵀX. It is relative
// to the size of the terms of the gradient.
func elasticNetResidual(d Data, theta, hyper []float64) float64 {
	rows, n := d.X.Dims()
	var worst float64
	for j := range n {
		l1, l2 := hyper[0], hyper[1]
		if len(hyper) == 2*n && n > 1 {
			l1, l2 = hyper[j], hyper[n+j]
		}
		grad, size := l2*theta[j], l1+math.Abs(l2*theta[j])
		for i := range rows {
			r, rs := -d.Y[i], math.Abs(d.Y[i])
			for k, t := range theta {
				r += d.X.At(i, k) * t
				rs += math.Abs(d.X.At(i, k) * t)
			}
			grad += d.X.At(i, j) * r / float64(rows)
			size += math.Abs(d.X.At(i, j)) * rs / float64(rows)
		}
		var v float64
		switch {
		case theta[j] > 0:
			v = math.Abs(grad + l1)
		case theta[j] < 0:
			v = math.Abs(grad - l1)
		default:
			v = max(0, math.Abs(grad)-l1)
		}
		if size > 0 {
			v /= size
		}
		worst = max(worst, v)
	}
	return worst
}

// correlated mixes the columns of d.X so that each pair has correlation rho.
func correlated(d Data, rho float64) Data {
	r, n := d.X.Dims()
	x := mat.DenseCopyOf(d.X)
	for i := range r {
		common := d.X.At(i, 0)
		for j := 1; j < n; j++ {
			x.Set(i, j, math.Sqrt(rho)*common+math.Sqrt(1-rho)*d.X.At(i, j))
		}
	}
	return Data{X: x, Y: d.Y}
}

func TestElasticNetContract(t *testing.T) {
	var cases []learnerCase
	add := func(name string, d Data, hyper ...float64) {
		cases = append(cases, learnerCase{name: name, data: d, hyper: hyper, residual: elasticNetResidual})
	}
	add("28x10", randomData(1, 28, 10, false), 1e-2, 1e-2)
	add("10x20", randomData(2, 10, 20, false), .1, .01)
	add("10x20 lasso", randomData(3, 10, 20, false), .3, 0)
	add("3x1", randomData(4, 3, 1, false), .05, .5)
	add("1x3", randomData(5, 1, 3, false), .02, .5)
	add("50x3 correlated", correlated(randomData(6, 50, 3, false), .95), .05, .01)
	add("20x20 ridge", randomData(7, 20, 20, false), 0, .5)
	add("28x10 least squares", randomData(8, 28, 10, false), 0, 0)
	add("80x70", randomData(9, 80, 70, false), .02, .1)
	testLearner(t, func() learner { return new(ElasticNet) }, cases...)
}

func TestElasticNetPerFeatureContract(t *testing.T) {
	var cases []learnerCase
	add := func(name string, d Data, hyper ...float64) {
		cases = append(cases, learnerCase{name: name, data: d, hyper: hyper, residual: elasticNetResidual})
	}
	add("28x4", randomData(1, 28, 4, false), .02, .3, .05, .7, .01, 1e-2, .1, .3)
	add("3x5", randomData(2, 3, 5, false), .02, .3, .05, .07, .01, 1e-2, .1, .3, .2, .5)
	add("28x3, one free, one not squared", randomData(3, 28, 3, false), 0, .3, .05, .02, 0, .3)
	testLearner(t, func() learner { return &ElasticNet{PerFeature: true} }, cases...)
}

// TestElasticNetGolden compares with an independent implementation.
func TestElasticNetGolden(t *testing.T) {
	f, err := os.Open("testdata/b_elastic_net.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Lambda1         float64
			Lambda2         float64
			X               [][]float64
			Y               []float64
			Theta           []float64
			Support         []int
			DthetaDlambda1  []float64   `json:"dtheta_dlambda1"`
			DthetaDlambda2  []float64   `json:"dtheta_dlambda2"`
			DX              [][]float64 `json:"DX"`
			DthetaDX        []float64   `json:"dtheta_DX"`
			DthetaDy        [][]float64 `json:"dtheta_dy"`
			Cotangent       []float64
			VJPX            [][]float64 `json:"vjp_X"`
			VJPy            []float64   `json:"vjp_y"`
			VJPLambda1      float64     `json:"vjp_lambda1"`
			VJPLambda2      float64     `json:"vjp_lambda2"`
			ConditionActive float64     `json:"cond_active"`
		}
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) != 21 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			d := Data{X: dense(c.X), Y: c.Y}
			tol := 1e-13 * c.ConditionActive
			near := func(what string, got, want []float64) {
				t.Helper()
				var diff, size float64
				for k, w := range want {
					diff = max(diff, math.Abs(got[k]-w))
					size = max(size, math.Abs(w))
				}
				if len(got) != len(want) || !(diff <= tol*size) {
					t.Errorf("%s: differs by %.3g of %.3g:\n%s", what, diff, size, cmp.Diff(want, got))
				}
			}
			var e ElasticNet
			rows, n := d.X.Dims()
			theta := nanSlice(n, 0)
			if err := e.Load(d); err != nil {
				t.Fatal(err)
			}
			if err := e.Fit(theta, []float64{c.Lambda1, c.Lambda2}); err != nil {
				t.Fatal(err)
			}
			near("theta", theta, c.Theta)
			var support []int
			for j, v := range theta {
				if v != 0 {
					support = append(support, j)
				}
			}
			if !slices.Equal(support, c.Support) {
				t.Errorf("support %v, want %v", support, c.Support)
			}

			jvp := func(d *Grad) []float64 {
				t.Helper()
				out := nanSlice(n, 0)
				if err := e.JVP(out, d); err != nil {
					t.Fatal(err)
				}
				return out
			}
			near("dtheta/dlambda1", jvp(&Grad{Hyper: []float64{1, 0}}), c.DthetaDlambda1)
			near("dtheta/dlambda2", jvp(&Grad{Hyper: []float64{0, 1}}), c.DthetaDlambda2)
			near("dtheta along DX", jvp(&Grad{X: dense(c.DX)}), c.DthetaDX)
			for i := range rows {
				dy := make([]float64, rows)
				dy[i] = 1
				col := make([]float64, n)
				for j := range col {
					col[j] = c.DthetaDy[j][i]
				}
				near(fmt.Sprintf("dtheta/dy[%d]", i), jvp(&Grad{Y: dy}), col)
			}
			g := &Grad{Hyper: make([]float64, 2), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
			if err := e.VJP(g, c.Cotangent); err != nil {
				t.Fatal(err)
			}
			near("VJP lambda1", g.Hyper[:1], []float64{c.VJPLambda1})
			near("VJP lambda2", g.Hyper[1:], []float64{c.VJPLambda2})
			near("VJP X", g.X.RawMatrix().Data, dense(c.VJPX).RawMatrix().Data)
			near("VJP y", g.Y, c.VJPy)
		})
	}
}

func dense(rows [][]float64) *mat.Dense {
	return mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
}
