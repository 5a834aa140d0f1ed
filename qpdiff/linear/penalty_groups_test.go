package linear

import (
	"errors"
	"fmt"
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
	"cvgm/qpdiff/learntest"

	"gonum.org/v1/gonum/mat"
)

// PerFeatureNet is an elastic net whose Load gives each feature its own group.
type PerFeatureNet struct{ ElasticNet }

func (l *PerFeatureNet) Dims(n int) (theta, hyper int) { return n, 2 * n }

func (l *PerFeatureNet) Load(d learn.Data) error {
	if d.Dense() != nil {
		if _, n := d.X.Dims(); n != len(l.Groups) {
			l.Groups = PerFeature(n)
		}
	}
	return l.ElasticNet.Load(d)
}

// perFeatureHyper expands the hyperparameters of groups to hyperparameters of n features.
func perFeatureHyper(groups []int, n int, hyper []float64) []float64 {
	if groups == nil {
		groups = make([]int, n)
	}
	out := make([]float64, 2*n)
	for j, g := range groups {
		out[j], out[n+j] = hyper[g], hyper[len(hyper)/2+g]
	}
	return out
}

// residualInGroups adapts a residual for penalties of features to penalties of groups.
func residualInGroups(groups []int, residual func(d learn.Data, theta, hyper []float64) float64) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		_, n := d.X.Dims()
		return residual(d, theta, perFeatureHyper(groups, n, hyper))
	}
}

func TestElasticNetGroupsContract(t *testing.T) {
	groups := []int{1, 0, 2, 1, 0}
	var cases []learntest.Case
	add := func(name string, d learn.Data, hyper ...float64) {
		cases = append(cases, learntest.Case{Name: name, Data: d, Hyper: hyper, Residual: residualInGroups(groups, elasticNetResidual)})
	}
	add("28x5", casetest.RandomData(1, 28, 5, false), .02, .03, .05, .07, .01, 1e-2)
	add("3x5", casetest.RandomData(2, 3, 5, false), .02, .03, .05, .07, .01, 1e-2)
	add("28x5, one group free", casetest.RandomData(3, 28, 5, false), 0, .1, .05, 0, .01, 1e-2)
	casetest.Contract(t, func() learn.Learner { return &ElasticNet{Groups: groups} }, cases...)
	t.Run("working sets", func(t *testing.T) {
		casetest.Contract(t, func() learn.Learner { return casetest.WorkingSets{ForwardLearner: &ElasticNet{Groups: groups}} }, cases...)
	})
}

// A derivative in the penalty of a group is the sum of the derivatives in the penalties of its
// features.
func TestElasticNetGroupsSumOverFeatures(t *testing.T) {
	const sumTol = 1e-14 // of the terms: a sum of at most ten, in another order
	rng := rand.New(rand.NewPCG(31, 1))
	kinks := 0
	for range numtest.Long(2000) {
		n := 1 + rng.IntN(6)
		rows := 1 + rng.IntN(10)
		d := casetest.RandomData(rng.Uint64(), rows, n, false)
		if rng.IntN(2) == 0 {
			for i, v := range d.Dense().RawMatrix().Data {
				d.Dense().RawMatrix().Data[i] = math.Round(v)
			}
			clear(d.Y[:rng.IntN(rows+1)])
		}
		groups, generalised := casetest.DrawGroups(rng, n), rng.IntN(2) == 0
		e := &ElasticNet{Groups: groups, Generalised: generalised}
		each := &ElasticNet{Groups: PerFeature(n), Generalised: generalised}
		_, nh := e.Dims(n)
		hyper := make([]float64, nh)
		for i := range hyper {
			hyper[i] = []float64{0, .25, rng.Float64()}[rng.IntN(3)]
		}
		theta, want := make([]float64, n), make([]float64, n)
		err := errors.Join(e.Load(d), each.Load(d), e.Fit(theta, hyper))
		wantErr := each.Fit(want, perFeatureHyper(groups, n, hyper))
		if e.equalFeatures != nil { // equal features share a value only within a group
			continue
		}
		if (err == nil) != (wantErr == nil) || !numtest.SameBits(theta, want) {
			t.Fatalf("θ %v, error %v; for each feature %v, error %v", theta, err, want, wantErr)
		}
		if err != nil {
			continue
		}
		v := numtest.Normals(rng, n)
		g, gEach := &learn.Grad{Hyper: make([]float64, nh)}, &learn.Grad{Hyper: make([]float64, 2*n)}
		err, wantErr = e.VJP(nil, g, v), each.VJP(nil, gEach, v)
		if e.equalFeatures != nil { // equal features share a value only within a group
			continue
		}
		if (err == nil) != (wantErr == nil) || g.Generalised != gEach.Generalised {
			t.Fatalf("VJP: error %v, for each feature %v", err, wantErr)
		}
		if err != nil {
			kinks++
		}
		sum, size, kinked := make([]float64, nh), make([]float64, nh), make([]bool, nh)
		for j := range n {
			k := 0
			if groups != nil {
				k = groups[j]
			}
			sum[k] += gEach.Hyper[j]
			sum[nh/2+k] += gEach.Hyper[n+j]
			size[k] += math.Abs(gEach.Hyper[j])
			size[nh/2+k] += math.Abs(gEach.Hyper[n+j])
			kinked[k] = kinked[k] || err != nil && slices.Contains(e.weakFree, j)
		}
		for i, s := range sum {
			if kinked[i] {
				s = 0 // λ1 of the group has no derivative
			}
			if !(math.Abs(g.Hyper[i]-s) <= sumTol*size[i]) {
				t.Fatalf("groups %v: VJP %v, sums over the features %v, error %v", groups, g.Hyper, sum, err)
			}
		}
		tangent := numtest.Normals(rng, nh)
		for i := range nh {
			tangent[i] = math.Abs(tangent[i])
		}
		out, wantOut := make([]float64, n), make([]float64, n)
		err = e.JVP(nil, out, &learn.Grad{Hyper: tangent, X: mat.NewDense(rows, n, nil)})
		wantErr = each.JVP(nil, wantOut, &learn.Grad{Hyper: perFeatureHyper(groups, n, tangent)})
		if e.equalFeatures != nil { // equal features share a value only within a group
			continue
		}
		if (err == nil) != (wantErr == nil) || !slices.Equal(out, wantOut) {
			t.Fatalf("groups %v: JVP %v, error %v; for each feature %v, error %v", groups, out, err, wantOut, wantErr)
		}
	}
	if kinks < numtest.Long(20) {
		t.Errorf("only %d kinks tested", kinks)
	}
}

// The elastic net rejects Groups with gaps, negative numbers or a length other than the number of
// features.
func TestElasticNetGroupsRefused(t *testing.T) {
	d := casetest.RandomData(1, 9, 3, false)
	for _, c := range []struct {
		groups []int
		kind   error
	}{
		{[]int{0, 0}, qpdiff.ErrShape}, {[]int{0, 0, 0, 0}, qpdiff.ErrShape}, {[]int{0, -1, 0}, qpdiff.ErrDomain}, {[]int{-1, -1, -1}, qpdiff.ErrDomain},
		{[]int{0, 3, 1}, qpdiff.ErrDomain}, {[]int{0, math.MaxInt, 1}, qpdiff.ErrDomain}, {[]int{0, 2, 2}, qpdiff.ErrDomain}, {[]int{1, 1, 1}, qpdiff.ErrDomain},
	} {
		e := &ElasticNet{Groups: c.groups}
		_, nh := e.Dims(3)
		if nh < 2 || nh > 2*len(c.groups) {
			t.Errorf("%v: %d hyperparameters", c.groups, nh)
		}
		theta := numtest.NaNs(3, 0)
		err := errors.Join(e.Load(d), e.Fit(theta, make([]float64, nh)))
		var arg *qpdiff.ArgError
		if !errors.As(err, &arg) || arg.Arg != "Groups" || !errors.Is(err, c.kind) || !math.IsNaN(theta[0]) {
			t.Errorf("%v: error %v, θ %v", c.groups, err, theta)
		}
		if err := e.VJP(nil, &learn.Grad{}, theta); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Errorf("%v: VJP: %v", c.groups, err)
		}
	}
	// A later change of Groups does not change the derivatives of a fit.
	groups := []int{0, 1, 0}
	e := &ElasticNet{Groups: groups}
	g, h := &learn.Grad{Hyper: make([]float64, 4)}, &learn.Grad{Hyper: make([]float64, 4)}
	v := []float64{1, 2, 3}
	err := errors.Join(e.Load(d), e.Fit(make([]float64, 3), []float64{.01, .02, .1, .2}), e.VJP(nil, g, v))
	groups[0], e.Groups = 1, nil
	if err := errors.Join(err, e.VJP(nil, h, v)); err != nil || !slices.Equal(g.Hyper, h.Hyper) {
		t.Errorf("%v, %v after a change of Groups, error %v", g.Hyper, h.Hyper, err)
	}
}

// At λ1 = 0 and y = 0, each group has its own one-sided derivative. For orthogonal features,
// coefficient j changes by x_jᵀdy/N, soft-thresholded at the dλ1 of its group and divided by 1 +
// λ2.
func TestGroupsKinkedAtZeroByHand(t *testing.T) {
	l := ElasticNet{Groups: []int{0, 1}}
	root := math.Sqrt2 // XᵀX/N is the unit matrix
	d := learn.Data{X: mat.NewDense(2, 2, []float64{root, 0, 0, root}), Y: []float64{0, 0}}
	theta := make([]float64, 2)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{0, 0, 1, 3}))
	along := func(first, second float64) *learn.Grad {
		return &learn.Grad{Hyper: []float64{first, second, 0, 0}, Y: []float64{3 * root, -2 * root}} // x_jᵀdy/N are 3 and −2
	}
	for _, c := range []struct{ first, second float64 }{{0, 0}, {1, .5}, {.5, 1}, {4, 0}, {0, 4}} {
		numtest.OK(t, l.JVP(nil, theta, along(c.first, c.second)))
		numtest.NearAll(t, fmt.Sprint(c), theta, []float64{max(0, 3-c.first) / 2, -max(0, 2-c.second) / 4}, 8*dense.Eps, 1)
	}
	for k, g := range []*learn.Grad{along(-1, 1), along(1, -1)} {
		if err := l.JVP(nil, theta, g); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), fmt.Sprint("coordinate ", k)) {
			t.Errorf("λ1 of group %d falls: %v", k, err)
		}
	}
}
