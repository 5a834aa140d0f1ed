package linear

import (
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// residualOf returns the optimality residual of any learner of the package.
func residualOf(l learn.Learner, d learn.Data, theta, hyper []float64) float64 {
	switch l := l.(type) {
	case *SparseLogistic:
		return sparseLogisticResidual(l.Intercept)(d, theta, hyper)
	case *Logistic:
		return logisticResidual(l.Intercept)(d, theta, hyper)
	case *Huber:
		return huberResidual(l.Intercept)(d, theta, hyper)
	}
	return elasticNetResidual(d, theta, hyper)
}

// Fit either finds the solution or returns an error that gives the reason.
func TestVerdicts(t *testing.T) {
	column := func(y []float64, x ...float64) learn.Data {
		return learn.Data{X: mat.NewDense(len(x), 1, x), Y: y}
	}
	change := func(d learn.Data, j int, value func(i int) float64) learn.Data {
		d = casetest.CloneData(d)
		for i := range d.Y {
			d.Dense().Set(i, j, value(i))
		}
		return d
	}
	labels := func(d learn.Data, y ...float64) learn.Data {
		d.Y = slices.Concat(y, d.Y[len(y):])
		return d
	}
	plain, classes := casetest.RandomData(1, 10, 4, false), casetest.NoisyClasses(1, 20, 4)
	same := change(plain, 3, func(i int) float64 { return plain.X.At(i, 0) })
	sameClasses := change(classes, 3, func(i int) float64 { return classes.X.At(i, 0) })
	constant := change(classes, 2, func(int) float64 { return 3 })
	six := casetest.RandomData(1, 6, 2, false)
	sixZero := change(six, 1, func(int) float64 { return 0 })
	wide, wideHuber := casetest.RandomData(2, 5, 8, false), casetest.RandomData(2, 3, 5, false)
	zero, zeroClasses := column([]float64{1, 2}, 0, 0), column([]float64{1, -1, 1}, 0, 0, 0)
	apart := column([]float64{0, 10}, 1, 1)
	two, ten := []float64{1, -1}, casetest.RandomData(1, 10, 2, true)
	huge := column([]float64{1, 2}, 1e200, 1)
	one := learn.Data{X: mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}), Y: []float64{1, 1, 1}}
	ill, domain, notFinite := qpdiff.ErrIllPosed, qpdiff.ErrDomain, qpdiff.ErrNotFinite
	v := casetest.Residual(residualOf).Verdict
	v(t, "same features, least squares", new(ElasticNet), same, nil, "", 0, 0)
	v(t, "same features, lasso", new(ElasticNet), same, nil, "", .01, 0)
	v(t, "same features, each with penalties of its own", &ElasticNet{Groups: PerFeature(4)}, same, ill, "feature", .01, .01, .01, .01, 0, 0, 0, 0)
	v(t, "same features at zero", new(ElasticNet), same, nil, "", 100, 0)
	v(t, "same features, elastic net", new(ElasticNet), same, nil, "", .01, 1e-7)
	v(t, "n > N, least squares", new(ElasticNet), wide, ill, "", 0, 0)
	v(t, "n > N, lasso", new(ElasticNet), wide, nil, "", .01, 0)
	v(t, "n > N, nearly least squares", new(ElasticNet), wide, nil, "", 0, 1e-7)
	v(t, "zero feature, least squares", new(ElasticNet), zero, nil, "", 0, 0)
	v(t, "zero feature, lasso", new(ElasticNet), zero, nil, "", 1, 0)
	v(t, "zero feature, ridge", new(ElasticNet), zero, nil, "", 0, 1)
	v(t, "overflow of XᵀX", new(ElasticNet), huge, notFinite, "column 0", 1, 1)
	v(t, "overflow of Xᵀy", new(ElasticNet), learn.Data{X: mat.NewDense(2, 2, []float64{1, 1e100, 1, 2}), Y: []float64{1e250, 1}}, notFinite, "column", 1, 1)
	v(t, "same features, no penalties", &SparseLogistic{Intercept: true}, sameClasses, ill, "depends linearly", 0, 0)
	v(t, "same features, lasso", &SparseLogistic{Intercept: true}, sameClasses, ill, "depends linearly", 1e-3, 0)
	v(t, "same features at zero", &SparseLogistic{Intercept: true}, sameClasses, nil, "", 100, 0)
	v(t, "same features, elastic net", &SparseLogistic{Intercept: true}, sameClasses, nil, "", 1e-3, 1e-7)
	v(t, "constant feature, no penalties", &SparseLogistic{Intercept: true}, constant, ill, "the intercept depends linearly", 0, 0)
	v(t, "constant feature without intercept", new(SparseLogistic), constant, nil, "", 0, 0)
	v(t, "constant feature, lasso", &SparseLogistic{Intercept: true}, constant, nil, "", 1e-3, 0)
	v(t, "constant feature, ridge", &SparseLogistic{Intercept: true}, constant, nil, "", 0, 1e-3)
	v(t, "zero feature, no penalties", new(SparseLogistic), zeroClasses, ill, "feature 0", 0, 0)
	v(t, "zero feature, lasso", &SparseLogistic{Intercept: true}, zeroClasses, nil, "", 1, 0)
	v(t, "zero feature, ridge", &SparseLogistic{Intercept: true}, zeroClasses, nil, "", 0, 1)
	v(t, "overflow", new(SparseLogistic), column(two, 1e200, 1), notFinite, "column 0", 1, 1)
	v(t, "label 0", new(SparseLogistic), column([]float64{1, 0}, 2, 1), domain, "label 0", 1, 1)
	v(t, "one class", &SparseLogistic{Intercept: true}, column([]float64{1, 1}, 2, 1), ill, "one sign", 1, 1)
	v(t, "one class counts", &SparseLogistic{Intercept: true}, learn.Data{X: column(two, 2, 1).X, Y: two, Rows: []int{0, 0}}, ill, "one sign", 1, 1)
	v(t, "label 0", new(Logistic), labels(ten, 0), domain, "Data.Y", 1)
	v(t, "label −0", &Logistic{Intercept: UnpenalisedIntercept}, labels(ten, math.Copysign(0, -1)), domain, "Data.Y", 1)
	v(t, "label 0", &Logistic{Intercept: PenalisedIntercept}, labels(ten, 0), domain, "Data.Y", 1)
	v(t, "label 1e-300", new(Logistic), labels(ten, 1e-300), nil, "", 1)
	v(t, "one class", &Logistic{Intercept: UnpenalisedIntercept}, one, ill, "Data.Y", 1)
	v(t, "one class, labels −2", &Logistic{Intercept: UnpenalisedIntercept}, labels(one, -2, -2, -2), ill, "Data.Y", 1)
	v(t, "one class, labels 1e-9", &Logistic{Intercept: UnpenalisedIntercept}, labels(one, 1e-9, 1e-9, 1e-9), ill, "Data.Y", 1)
	v(t, "one class", new(Logistic), one, nil, "", 1)
	v(t, "one class, labels −2", &Logistic{Intercept: PenalisedIntercept}, labels(one, -2, -2, -2), nil, "", 1)
	v(t, "intercept", &Logistic{Intercept: 7}, ten, domain, "Intercept", 1)
	v(t, "overflow of y·x", new(Logistic), column([]float64{1e200, -1}, 1e200, 1), notFinite, "", 1)
	v(t, "overflow of x²", new(Logistic), column(two, 1e200, 1), ill, "", 1)
	v(t, "C = 0", new(Logistic), ten, domain, "", 0)
	v(t, "λ2 < 0", new(Huber), six, domain, "hyper", -1, 1)
	v(t, "δ = 0", new(Huber), six, domain, "δ", 1, 0)
	v(t, "δ infinite", new(Huber), six, notFinite, "hyper", 1, math.Inf(1))
	v(t, "zero feature", new(Huber), sixZero, ill, "parameter 1", 0, 1)
	v(t, "zero feature, ridge", new(Huber), sixZero, nil, "", 1, 1)
	v(t, "n > N", new(Huber), wideHuber, ill, "parameter", 0, 1)
	v(t, "any θ from 1 to 9", new(Huber), apart, ill, "parameter 0", 0, 1)
	v(t, "any θ from 1 to 9, ridge", new(Huber), apart, nil, "", .1, 1)
	v(t, "any intercept", &Huber{Intercept: true}, apart, ill, "parameter 1", .1, 1)
	many := casetest.RandomData(3, 4, largestSystem+1, true)
	many.Y[0], many.Y[1] = 1, -1
	v(t, "very many features", new(Huber), many, ill, "does not tell apart", 0, 1)
	v(t, "very many features, ridge", &Huber{Intercept: true}, many, nil, "", .1, 1)
	v(t, "very many features, large C", new(Logistic), many, ill, "does not tell apart", 1e12)
	v(t, "very many features", &Logistic{Intercept: UnpenalisedIntercept}, many, nil, "", 1)
	v(t, "a larger δ", &Huber{Intercept: true}, apart, nil, "", .1, 6)
	v(t, "overflow of XᵀX", new(Huber), huge, notFinite, "column 0", 1, 1)
	v(t, "overflow of Xᵀy", &Huber{Intercept: true}, learn.Data{X: mat.NewDense(2, 2, []float64{1, 1e100, 1, 2}), Y: []float64{1e250, 1}}, notFinite, "column", 1, 1)
}
