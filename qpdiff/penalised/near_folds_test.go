package penalised

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// nearProblem returns a random problem with a random loss, weights and folds.
func nearProblem(seed uint64) (l *GLM, d learn.Data, hyper []float64, folds [][]int) {
	rng := rand.New(rand.NewPCG(seed, 43))
	n := 1 + rng.IntN(8)
	rows := 12 + rng.IntN(12*n)
	l = &GLM{Loss: Loss(seed % 3), Intercept: seed/3%2 == 0, Penalties: []Penalty{Ridge(0, n), {Root: root(seed, 1+rng.IntN(3), n)}}}
	d = casetest.RandomData(seed, rows, n, false)
	beta := numtest.Normals(rng, n)
	for i := range rows {
		eta := dense.Dot(d.Dense().RawRowView(i), beta) / math.Sqrt(float64(n))
		switch l.Loss {
		case Squared:
			d.Y[i] = eta + rng.NormFloat64()
		case Logistic:
			d.Y[i] = 1
			if rng.Float64() > 1/(1+math.Exp(-eta)) {
				d.Y[i] = -1
			}
		case Poisson:
			d.Y[i] = math.Floor(math.Exp(eta) * rng.ExpFloat64() * 2)
		}
	}
	if seed%4 == 0 {
		d.Weights = make([]float64, rows)
		for i := range rows {
			d.Weights[i] = math.Exp(rng.NormFloat64()) * float64(min(1, rng.IntN(8)))
		}
	}
	hyper = []float64{math.Exp(rng.NormFloat64()), rng.ExpFloat64()}
	size := 1 + rng.IntN(max(1, rows/5))
	for part := range slices.Chunk(rng.Perm(rows), size) {
		folds = append(folds, part)
	}
	return l, d, hyper, folds
}

// predictWithout predicts the rows of a fold from a fit to all other rows.
func predictWithout(l *GLM, d learn.Data, hyper []float64, fold []int) (dst []float64, err error) {
	rows, n := d.X.Dims()
	weights := numtest.Ones(rows)
	copy(weights, d.Weights)
	for _, i := range fold {
		weights[i] = 0
	}
	d.Weights = weights
	other := l.New().(*GLM)
	k, _ := other.Dims(n)
	theta := make([]float64, k)
	if err := other.Load(d); err != nil {
		return nil, err
	}
	if err := other.Fit(theta, hyper); err != nil {
		return nil, err
	}
	for _, i := range fold {
		dst = append(dst, dense.Dot(append(slices.Clone(d.Dense().RawRowView(i)), 1)[:k], theta))
	}
	return dst, nil
}

// No prediction of NearFolds differs from its exact value by more than its bound.
func TestNearFolds(t *testing.T) {
	const visible = 1e-8 // errors that rounding does not hide
	var ratios []float64
	stepped, refitted, exact := 0, 0, 0
	for seed := range uint64(numtest.Long(1000)) {
		l, d, hyper, folds := nearProblem(seed)
		rows, n := d.X.Dims()
		k, _ := l.Dims(n)
		theta, again := make([]float64, k), make([]float64, k)
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
		dst, bound := make([]float64, rows), make([]float64, rows)
		fitted, err := l.NearFolds(dst, bound, folds)
		numtest.OK(t, err)
		stepped, refitted = stepped+len(folds)-fitted, refitted+fitted
		at := 0
		for _, fold := range folds {
			predicted, err := predictWithout(l, d, hyper, fold)
			numtest.OK(t, err)
			for _, want := range predicted {
				off := math.Abs(dst[at] - want)
				if !(off <= bound[at]) || math.IsInf(bound[at], 0) {
					t.Errorf("seed %d, %s: a prediction is off by %v, the bound is %v", seed, l.Loss.name(), off, bound[at])
				}
				if l.Loss == Squared {
					exact++
					if bound[at] > visible*(1+math.Abs(want)) {
						t.Errorf("seed %d: the step is exact for the squared loss, the bound is %v", seed, bound[at])
					}
				} else if rows >= 5*k && off > visible {
					ratios = append(ratios, bound[at]/off)
				}
				at++
			}
		}
		numtest.OK(t, l.Fit(again, hyper)) // NearFolds leaves the fit
		for j, v := range theta {
			if !(math.Abs(again[j]-v) <= 1e-9*(1+math.Abs(v))) {
				t.Fatalf("seed %d: θ %v after NearFolds, %v before", seed, again, theta)
			}
		}
	}
	slices.Sort(ratios)
	median := ratios[len(ratios)/2]
	if median > 10 || median < 1 || exact == 0 {
		t.Errorf("the median of bound by error is %v", median)
	}
	if 4*refitted > stepped {
		t.Errorf("%d of %d folds have no bound", refitted, refitted+stepped)
	}
	t.Logf("median of bound by error %.3g over %d predictions, nine in ten below %.3g; %d folds by a step, %d by a fit", median, len(ratios), ratios[9*len(ratios)/10], stepped, refitted)
}

// NearFolds refits a fold whose prediction has no bound, because only its row determines a
// coefficient.
func TestNearFoldsWithoutABound(t *testing.T) {
	x := mat.NewDense(8, 1, []float64{9, .1, -.1, .1, -.1, .1, -.1, .1})
	d := learn.Data{X: x, Y: []float64{40, 1, 2, 0, 1, 1, 0, 2}}
	l := &GLM{Loss: Poisson, Intercept: true}
	theta := make([]float64, 2)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1e-3}))
	dst, bound := make([]float64, 3), make([]float64, 3)
	fitted, err := l.NearFolds(dst, bound, [][]int{{0}, {1, 2}})
	numtest.OK(t, err)
	want, err := predictWithout(l, d, []float64{1e-3}, []int{0})
	numtest.OK(t, err)
	if fitted != 1 || math.Abs(dst[0]-want[0]) > bound[0] || bound[0] > 1e-8*(1+math.Abs(want[0])) {
		t.Errorf("%d fitted; %v ± %v, want %v", fitted, dst[0], bound[0], want)
	}
}

// Near η = 0, exponentials have rounding errors that are larger than those of η. The bounds contain
// them: without the fold, the exact prediction differs from 0 by rounding alone.
func TestNearFoldsNearZero(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 46))
		d := learn.Data{X: mat.NewDense(7, 1, []float64{1, 1, 1, 1, 1, 1, 1}), Y: []float64{0, 2, .3, 1.7, 1.1, .9, 1}, Weights: make([]float64, 7)}
		for i := range 3 {
			w := rng.ExpFloat64()
			d.Weights[2*i], d.Weights[2*i+1] = w, w
		}
		d.Weights[6] = 1e-17
		l := &GLM{Loss: Poisson}
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, 1), []float64{1}))
		dst, bound := make([]float64, 1), make([]float64, 1)
		_, err := l.NearFolds(dst, bound, [][]int{{6}})
		numtest.OK(t, err)
		if off := math.Abs(dst[0]); !(off <= bound[0]) || bound[0] > 1e-14 {
			t.Errorf("seed %d: %v ± %v, want 0", seed, dst[0], bound[0])
		}
	}
}

// For ill-conditioned problems the bounds contain the rounding errors of the step and of the exact
// fit. A fold without which θ is not determined to working precision is refused, as by Fit.
func TestNearFoldsWithRounding(t *testing.T) {
	compared, refused := 0, 0
	for seed := range uint64(numtest.Long(400)) {
		l, d, hyper, folds := nearProblem(seed)
		rows, n := d.X.Dims()
		rng := rand.New(rand.NewPCG(seed, 45))
		near := math.Pow(10, -1-6*rng.Float64())
		for i := range rows {
			for j := 1; j < n; j++ { // nearly the same feature
				d.Dense().Set(i, j, d.X.At(i, 0)+near*d.X.At(i, j))
			}
		}
		for j := range hyper {
			hyper[j] *= near * near
		}
		k, _ := l.Dims(n)
		if errors.Join(l.Load(d), l.Fit(make([]float64, k), hyper)) != nil {
			continue
		}
		for _, fold := range folds {
			dst, bound := make([]float64, len(fold)), make([]float64, len(fold))
			_, err := l.NearFolds(dst, bound, [][]int{fold})
			want, wantErr := predictWithout(l, d, hyper, fold)
			if wantErr != nil || err != nil {
				refused++
				if err == nil && l.Loss == Squared { // other losses have another Hessian at the exact fit
					t.Errorf("seed %d: Fit returns %v, NearFolds a bound of %v", seed, wantErr, bound)
				}
				continue
			}
			for at, v := range want {
				compared++
				if off := math.Abs(dst[at] - v); !(off <= bound[at]) {
					t.Errorf("seed %d, %s: a prediction %v is off by %v, the bound is %v", seed, l.Loss.name(), v, off, bound[at])
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("%d predictions compared, %d folds refused", compared, refused)
	}
}

func TestNearFoldsRefuses(t *testing.T) {
	l, d, hyper, _ := nearProblem(1)
	one := make([]float64, 1)
	if _, err := l.NearFolds(one, one, [][]int{{0}}); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Error(err)
	}
	_, n := d.X.Dims()
	k, _ := l.Dims(n)
	numtest.OK(t, l.Load(d), l.Fit(make([]float64, k), hyper))
	two := make([]float64, 2)
	for name, folds := range map[string][][]int{"empty": {{0, 1}, {}}, "twice": {{0, 0}}, "beyond": {{0, len(d.Y)}}} {
		if _, err := l.NearFolds(two, two, folds); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	all := make([]int, len(d.Y))
	for i := range all {
		all[i] = i
	}
	for _, intercept := range []bool{false, true} {
		l.Intercept = intercept
		k, _ := l.Dims(n)
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, k), hyper))
		if _, err := l.NearFolds(make([]float64, len(all)), make([]float64, len(all)), [][]int{all}); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("intercept %v, a fold of all rows: %v", intercept, err)
		}
	}
	// The error of a fold that is fitted has the name of the learner once. A prediction that overflows
	// is an error.
	pair := learn.Data{X: mat.NewDense(4, 1, []float64{1, 1, -1, 1e300}), Y: []float64{1, 1, -1, 1}, Weights: []float64{1, 1, 1, 0}}
	c := &GLM{Loss: Logistic, Intercept: true}
	numtest.OK(t, c.Load(pair), c.Fit(make([]float64, 2), []float64{1e-3}))
	_, err := c.NearFolds(one, one, [][]int{{2}})
	if !errors.Is(err, qpdiff.ErrIllPosed) || strings.Count(err.Error(), "penalised.GLM") != 1 {
		t.Error(err)
	}
	pair.Y = []float64{1e10, 1e10, -1e10, 1}
	far := &GLM{}
	numtest.OK(t, far.Load(pair), far.Fit(make([]float64, 1), []float64{1e-3}))
	if _, err := far.NearFolds(one, one, [][]int{{3}}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("%v, prediction %v", err, one)
	}
	if err := far.Folds(one, []float64{1e-3}, [][]int{{3}}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("Folds: %v, prediction %v", err, one)
	}
}
