package penalised

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// mgcvTol bounds the difference from the values of mgcv, relative to the largest entry. Iterations
// of mgcv stop at about this accuracy.
const mgcvTol = 1e-8

// Coefficients and cross-validation scores of two smooth functions equal the values of R's mgcv,
// which testdata/mgcv.R computes. For losses other than the squared loss, mgcv takes the Newton
// steps of NearFolds.
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
		NCV                       float64
	}
	numtest.OK(t, json.Unmarshal(file, &cases))
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
		folds := make([][]int, 6)
		for i, k := range c.Folds {
			folds[k] = append(folds[k], i)
		}
		dst, bound, fitted := make([]float64, len(c.Y)), make([]float64, len(c.Y)), 0
		if c.Loss == Squared {
			err = l.Folds(dst, c.Lambda, folds)
		} else {
			fitted, err = l.NearFolds(dst, bound, folds)
		}
		if numtest.OK(t, err); fitted > 0 {
			t.Errorf("loss %s: %d folds are fitted", c.Loss.name(), fitted)
		}
		score := 0.0
		for at, i := range slices.Concat(folds...) {
			score += c.Weights[i] * deviance(c.Loss, c.Y[i], dst[at])
		}
		numtest.NearAll(t, "NCV", []float64{score}, []float64{c.NCV}, mgcvTol, 0)
	}
	if len(cases) != 3 {
		t.Errorf("%d cases", len(cases))
	}
}

// deviance returns mgcv's loss of a prediction.
func deviance(loss Loss, y, eta float64) float64 {
	switch loss {
	case Logistic:
		return 2 * math.Log1p(math.Exp(-y*eta))
	case Poisson:
		saturated := 0.0
		if y > 0 {
			saturated = y*math.Log(y) - y
		}
		return 2 * (math.Exp(eta) - y*eta + saturated)
	}
	return (y - eta) * (y - eta)
}
