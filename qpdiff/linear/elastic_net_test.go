package linear

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// elasticNetResidual returns the largest violation of the optimality conditions, relative to their
// terms. It uses y − Xθ because the learner uses XᵀX.
func elasticNetResidual(d learn.Data, theta, hyper []float64) float64 {
	rows, n := d.X.Dims()
	r := mat.NewVecDense(rows, slices.Clone(d.Y))
	size := mat.Norm(r, 2)
	for k, t := range theta {
		size += math.Abs(t) * mat.Norm(d.Dense().ColView(k), 2)
		r.AddScaledVec(r, -t, d.Dense().ColView(k))
	}
	var worst float64
	for j, t := range theta {
		l1, l2 := hyper[0], hyper[1]
		if len(hyper) == 2*n && n > 1 {
			l1, l2 = hyper[j], hyper[n+j]
		}
		x := d.Dense().ColView(j)
		grad := l2*t - mat.Dot(x, r)/float64(rows)
		var v float64
		switch {
		case t > 0:
			v = math.Abs(grad + l1)
		case t < 0:
			v = math.Abs(grad - l1)
		default:
			v = max(0, math.Abs(grad)-l1)
		}
		if scale := l1 + l2*math.Abs(t) + mat.Norm(x, 2)*size/float64(rows); scale > 0 {
			v /= scale
		}
		worst = max(worst, v)
	}
	return worst
}

// mixColumns mixes the columns of d.X so that each pair of columns has the correlation rho.
func mixColumns(d learn.Data, rho float64) learn.Data {
	r, n := d.X.Dims()
	x := mat.DenseCopyOf(d.X)
	for i := range r {
		common := d.X.At(i, 0)
		for j := 1; j < n; j++ {
			x.Set(i, j, math.Sqrt(rho)*common+math.Sqrt(1-rho)*d.X.At(i, j))
		}
	}
	return learn.Data{X: x, Y: d.Y}
}

func TestElasticNetContract(t *testing.T) {
	var cases []learntest.Case
	add := func(name string, d learn.Data, hyper ...float64) {
		cases = append(cases, learntest.Case{Name: name, Data: d, Hyper: hyper, Residual: elasticNetResidual})
	}
	add("28x10", casetest.RandomData(1, 28, 10, false), 1e-2, 1e-2)
	add("10x20", casetest.RandomData(2, 10, 20, false), .1, .01)
	add("10x20 lasso", casetest.RandomData(3, 10, 20, false), .3, 0)
	add("3x1", casetest.RandomData(4, 3, 1, false), .05, .5)
	add("1x3", casetest.RandomData(5, 1, 3, false), .02, .5)
	add("50x3 correlated", mixColumns(casetest.RandomData(6, 50, 3, false), .95), .05, .01)
	add("20x20 ridge", casetest.RandomData(7, 20, 20, false), 0, .5)
	add("28x10 least squares", casetest.RandomData(8, 28, 10, false), 0, 0)
	add("28x10 all zero", casetest.RandomData(10, 28, 10, false), 100, .1)
	add("80x70", casetest.RandomData(9, 80, 70, false), .02, .1)
	add("60x250", casetest.RandomData(11, 60, 250, false), .3, .05)     // a small working set
	add("25x300", casetest.RandomData(7, 25, 300, false), .02, .5)      // a support larger than the rows
	add("15x300 ridge", casetest.RandomData(12, 15, 300, false), 0, .5) // all features in the set
	add("4000x3", casetest.RandomData(13, 4000, 3, false), .02, .1)     // a Gram matrix of the rows in place
	casetest.Contract(t, func() learn.Learner { return new(ElasticNet) }, cases...)
	cases = cases[:len(cases)-1] // its way is the usual one with more rows
	t.Run("working sets", func(t *testing.T) {
		casetest.Contract(t, func() learn.Learner { return casetest.WorkingSets{ForwardLearner: new(ElasticNet)} }, cases...)
	})
}

func TestElasticNetPerFeatureContract(t *testing.T) {
	var cases []learntest.Case
	add := func(name string, d learn.Data, hyper ...float64) {
		cases = append(cases, learntest.Case{Name: name, Data: d, Hyper: hyper, Residual: elasticNetResidual})
	}
	add("28x4", casetest.RandomData(1, 28, 4, false), .02, .3, .05, .7, .01, 1e-2, .1, .3)
	add("3x5", casetest.RandomData(2, 3, 5, false), .02, .3, .05, .07, .01, 1e-2, .1, .3, .2, .5)
	add("28x3, one free, one not squared", casetest.RandomData(3, 28, 3, false), 0, .3, .05, .02, 0, .3)
	casetest.Contract(t, func() learn.Learner { return new(PerFeatureNet) }, cases...)
}

// Fits and derivatives equal the results of an independent implementation.
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
	numtest.OK(t, json.NewDecoder(z).Decode(&golden))
	if len(golden.Cases) != 21 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			d := learn.Data{X: numtest.Matrix(c.X), Y: c.Y}
			near := func(what string, got, want []float64) {
				t.Helper()
				numtest.NearAll(t, what, got, want, 1e-13*c.ConditionActive, 0)
			}
			var e ElasticNet
			rows, n := d.X.Dims()
			theta := numtest.NaNs(n, 0)
			numtest.OK(t, e.Load(d), e.Fit(theta, []float64{c.Lambda1, c.Lambda2}))
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

			jvp := func(d *learn.Grad) []float64 {
				t.Helper()
				out := numtest.NaNs(n, 0)
				numtest.OK(t, e.JVP(nil, out, d))
				return out
			}
			near("dtheta/dlambda1", jvp(&learn.Grad{Hyper: []float64{1, 0}}), c.DthetaDlambda1)
			near("dtheta/dlambda2", jvp(&learn.Grad{Hyper: []float64{0, 1}}), c.DthetaDlambda2)
			near("dtheta along DX", jvp(&learn.Grad{X: numtest.Matrix(c.DX)}), c.DthetaDX)
			for i := range rows {
				dy := make([]float64, rows)
				dy[i] = 1
				col := make([]float64, n)
				for j := range col {
					col[j] = c.DthetaDy[j][i]
				}
				near(fmt.Sprintf("dtheta/dy[%d]", i), jvp(&learn.Grad{Y: dy}), col)
			}
			g := &learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
			numtest.OK(t, e.VJP(nil, g, c.Cotangent))
			near("VJP λ1", g.Hyper[:1], []float64{c.VJPLambda1})
			near("VJP λ2", g.Hyper[1:], []float64{c.VJPLambda2})
			near("VJP X", g.X.RawMatrix().Data, numtest.Matrix(c.VJPX).RawMatrix().Data)
			near("VJP y", g.Y, c.VJPy)
		})
	}
}

// orthogonalProblem returns data with XᵀX/N = I. For c = Xᵀy/N, the solution is therefore θ_j =
// sign(c_j)·max(|c_j| − λ1, 0)/(1 + λ2).
func orthogonalProblem() learn.Data {
	return learn.Data{X: mat.NewDense(4, 3, []float64{1, 1, 1, 1, -1, 1, 1, 1, -1, 1, -1, -1}), Y: []float64{8, 2, 4, -2}}
}

func TestElasticNetByHand(t *testing.T) {
	var e ElasticNet
	if err := e.Load(orthogonalProblem()); err != nil { // c = (3, 3, 2)
		t.Fatal(err)
	}
	theta := make([]float64, 3)
	for _, c := range []struct {
		hyper, want []float64
	}{
		{[]float64{0, 0}, []float64{3, 3, 2}},
		{[]float64{1, 0}, []float64{2, 2, 1}},
		{[]float64{1, 1}, []float64{1, 1, .5}},
		{[]float64{2.5, .25}, []float64{.4, .4, 0}},
		{[]float64{4, 0}, []float64{0, 0, 0}},
		{[]float64{0, 1}, []float64{1.5, 1.5, 1}},
	} {
		if err := e.Fit(theta, c.hyper); err != nil {
			t.Fatalf("%v: %v", c.hyper, err)
		}
		if d := cmp.Diff(c.want, theta); d != "" {
			t.Errorf("%v: %s", c.hyper, d)
		}
	}
}

// drawElasticNet draws data that are hard for an active-set method: correlated, equal or badly
// scaled features.
func drawElasticNet(t *rapid.T) learn.Data {
	rows, n := rapid.IntRange(1, 30).Draw(t, "rows"), rapid.IntRange(1, 30).Draw(t, "n")
	d := casetest.RandomData(rapid.Uint64().Draw(t, "seed"), rows, n, false)
	d = mixColumns(d, rapid.SampledFrom([]float64{0, .5, .95, .999, 1}).Draw(t, "correlation"))
	if rapid.Bool().Draw(t, "integers") { // ties
		for i, v := range d.Dense().RawMatrix().Data {
			d.Dense().RawMatrix().Data[i] = math.Round(v)
		}
		for i, v := range d.Y {
			d.Y[i] = math.Round(v)
		}
	}
	d.Dense().Scale(math.Pow(10, float64(rapid.IntRange(-3, 3).Draw(t, "scale"))), d.X)
	return d
}

// Along a path of distant hyperparameters, warm and cold fits are optimal and have the same
// support. A fit may fail only if λ2 is within rounding of 0, because θ is then not unique.
func TestPenalisedOptimalOnPaths(t *testing.T) {
	const illPosedTol = 1e-12
	rapid.Check(t, func(t *rapid.T) {
		d := drawElasticNet(t)
		size := d.Dense().Norm(2) * d.Dense().Norm(2) / float64(len(d.Y))
		rows, n := d.X.Dims()
		var groups []int
		if rapid.Bool().Draw(t, "per feature") {
			groups = PerFeature(n)
		}
		type model interface {
			learn.Learner
			penalisedModel
		}
		fresh, residual, sparse := func() model { return &ElasticNet{Groups: groups} }, elasticNetResidual, rapid.Bool().Draw(t, "classes")
		if sparse {
			intercept := rows > 1 && rapid.Bool().Draw(t, "intercept")
			fresh, residual = func() model { return &SparseLogistic{Intercept: intercept, Groups: groups} }, residualInGroups(groups, sparseLogisticResidual(intercept))
			for i := range d.Y {
				d.Y[i] = float64(2*(i%2) - 1)
			}
		}
		warm := fresh()
		numtest.OK(t, warm.Load(d))
		_, nh := warm.Dims(n)
		for range rapid.IntRange(1, 8).Draw(t, "fits") {
			hyper := make([]float64, nh)
			for i := range hyper {
				if rapid.IntRange(0, 5).Draw(t, "kind") > 0 {
					hyper[i] = casetest.DrawPenalty(t, "penalty")
				}
			}
			cold := fresh()
			numtest.OK(t, cold.Load(d))
			var thetas [2][]float64
			var errs [2]error
			for i, l := range []model{warm, cold} {
				thetas[i] = numtest.NaNs(l.Dims(n))
				if errs[i] = l.Fit(thetas[i], hyper); errs[i] == nil {
					if r := residual(d, thetas[i], hyper); !(r <= 1e-13) {
						t.Fatalf("residual %v at %v", r, hyper)
					}
				} else if !errors.Is(errs[i], qpdiff.ErrIllPosed) || slices.Min(hyper[nh/2:]) > illPosedTol*size {
					t.Fatalf("at %v: %v", hyper, errs[i])
				}
			}
			// At a λ2 near rounding, one of the fits may fail alone, because their active sets differ.
			edge := slices.ContainsFunc(hyper[nh/2:], func(l2 float64) bool { return l2 > 0 && l2 <= illPosedTol*size })
			if !sparse && !edge && (errs[0] == nil) != (errs[1] == nil) {
				t.Fatalf("warm: %v; cold: %v", errs[0], errs[1])
			}
			if errs[0] != nil || errs[1] != nil {
				continue
			}
			w, c := warm.quadratic(), cold.quadratic()
			same := slices.Equal(w.qp.act, c.qp.act)
			if !same && len(w.weakPenalised)+len(c.weakPenalised) == 0 || !sparse && same && slices.Equal(w.qp.sgn, c.qp.sgn) && !numtest.SameBits(thetas[0], thetas[1]) {
				t.Fatalf("supports %v and %v, θ %v and %v", w.qp.act, c.qp.act, thetas[0], thetas[1])
			}
		}
	})
}
