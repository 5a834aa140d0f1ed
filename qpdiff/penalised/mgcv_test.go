package penalised

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// mgcvTol is the largest difference from mgcv, relative to the largest entry: its own iterations end
// there.
const mgcvTol = 1e-8

// Coefficients of models with two smooth functions, and the neighbourhood cross-validation of six
// folds, are equal to the values of R's mgcv at the same smoothing parameters: see testdata/mgcv.R.
func TestMgcv(t *testing.T) {
	file, err := os.ReadFile("testdata/mgcv.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Loss                      Loss
		X                         [][]float64
		S                         [][][]float64
		First, Folds              []int
		Y, Weights, Lambda, Theta []float64
		NCV                       *float64
	}
	numtest.OK(t, json.Unmarshal(file, &cases))
	scores := 0
	for _, c := range cases {
		l := &GLM{Loss: c.Loss, Intercept: true}
		for j, rows := range c.S {
			s := mat.NewSymDense(len(rows), nil)
			for a := range rows {
				for b, v := range rows[a] {
					s.SetSym(a, b, v)
				}
			}
			l.Penalties = append(l.Penalties, Penalty{First: c.First[j], S: s})
		}
		if c.Loss == Logistic {
			floats.Scale(2, c.Y)
			floats.AddConst(-1, c.Y)
		}
		theta := make([]float64, len(c.Theta))
		numtest.OK(t, l.Load(learn.Data{X: numtest.Matrix(c.X), Y: c.Y, Weights: c.Weights}), l.Fit(theta, c.Lambda))
		numtest.NearAll(t, "θ", theta, c.Theta, mgcvTol, 0)
		if c.NCV == nil {
			continue
		}
		scores++
		folds := make([][]int, 6)
		for i, k := range c.Folds {
			folds[k] = append(folds[k], i)
		}
		dst, score := make([]float64, len(c.Y)), 0.0
		numtest.OK(t, l.Folds(dst, c.Lambda, folds))
		for at, i := range slices.Concat(folds...) {
			score += c.Weights[i] * (dst[at] - c.Y[i]) * (dst[at] - c.Y[i])
		}
		numtest.NearAll(t, "NCV", []float64{score}, []float64{*c.NCV}, mgcvTol, 0)
	}
	if len(cases) != 3 || scores != 1 {
		t.Errorf("%d cases, %d with a score", len(cases), scores)
	}
}
