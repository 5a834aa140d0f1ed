package linear

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// Even for badly conditioned fits, a generalised VJP is right to a thousandth of its scale or
// returns an error. The reference is the interval between the one-sided derivatives, because λ1 may
// be at a kink.
func TestElasticNetGeneralisedRightOrRefused(t *testing.T) {
	serial.Test(t)
	const tol, h = 1e-3, 1e-20
	// The first four trials are the hardest of 30,000, because tiny rounding errors hide whether a
	// kink exists.
	trials := []int{15387, 14128, 20675, 27404}
	for trial := range numtest.Long(4000) {
		trials = append(trials, trial)
	}
	answered, refused := 0, 0
	for _, trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 77))
		rows, n := 4+rng.IntN(5), 2+rng.IntN(2)
		d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		apart, offset := math.Pow(10, -9*rng.Float64()), 0.0
		if rng.IntN(2) == 0 {
			offset = math.Pow(10, 5*rng.Float64())
		}
		for i := range rows {
			base := rng.NormFloat64()
			for j := range n {
				d.Dense().Set(i, j, base+apart*rng.NormFloat64()+offset)
			}
			d.Y[i] = rng.NormFloat64() + d.X.At(i, 0)
		}
		for j := range n {
			unit := math.Pow(10, 4*rng.Float64()-2)
			for i := range rows {
				d.Dense().Set(i, j, unit*d.X.At(i, j))
			}
		}
		l := &ElasticNet{Generalised: true}
		hyper := []float64{math.Pow(10, -6*rng.Float64()), math.Pow(10, -14*rng.Float64())}
		theta, dtheta := make([]float64, n), make([]float64, n)
		numtest.OK(t, l.Load(d))
		if l.Fit(theta, hyper) != nil {
			continue
		}
		at := func(h float64) []*big.Float {
			l1 := numtest.Precise(1)
			return preciseElasticNet(d, l1.Mul(l1.Add(l1, numtest.Precise(h)), numtest.Precise(hyper[0])), hyper[1])
		}
		here, below, above := at(0), at(-h), at(h)
		if here == nil || below == nil || above == nil {
			t.Fatalf("trial %d: no reference", trial)
		}
		var worst, scale float64
		refuse := false
		for j := range n {
			clear(dtheta)
			dtheta[j] = 1
			g := &learn.Grad{Hyper: make([]float64, 2)}
			err := l.VJP(nil, g, dtheta)
			if refuse = errors.Is(err, qpdiff.ErrIllPosed); refuse {
				break
			} else if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			left, right, excess := numtest.OneSided(hyper[0]*g.Hyper[0], below[j], here[j], above[j], h)
			scale = max(scale, l.root[j]*max(math.Abs(theta[j]), math.Abs(left), math.Abs(right)))
			worst = max(worst, l.root[j]*excess)
		}
		switch {
		case refuse:
			if refused++; l.JVP(nil, theta, &learn.Grad{Hyper: []float64{1, 0}}) == nil {
				t.Errorf("trial %d: JVP answers", trial)
			}
		case !(worst <= tol*scale):
			t.Errorf("trial %d, weak %v: λ1·∂θ/∂λ1 is off by %.2g of its scale", trial, l.weakPenalised, worst/scale)
		default:
			answered++
		}
	}
	if answered < numtest.Long(3500) || refused < numtest.Long(20) {
		t.Errorf("%d answered, %d refused", answered, refused)
	}
}

// preciseElasticNet computes θ with 400 bits by trying all combinations of signs.
func preciseElasticNet(d learn.Data, l1 *big.Float, l2 float64) []*big.Float {
	rows, n := d.X.Dims()
	conditions := make([][]*big.Float, n) // of a support of all, but for its signs
	for j := range n {
		x := mat.Col(nil, j, d.X)
		for k := range n {
			conditions[j] = append(conditions[j], numtest.PreciseDot(x, mat.Col(nil, k, d.X)))
		}
		conditions[j] = append(conditions[j], numtest.PreciseDot(x, d.Y))
		for _, v := range conditions[j] {
			v.Quo(v, numtest.Precise(float64(rows)))
		}
		conditions[j][j].Add(conditions[j][j], numtest.Precise(l2))
	}
	for pattern := range int(math.Pow(3, float64(n))) {
		signs, a := make([]int, n), make([][]*big.Float, n)
		for j := range n {
			signs[j], pattern = []int{0, 1, -1}[pattern%3], pattern/3
			for k, v := range conditions[j] {
				if signs[j] == 0 { // θ_j = 0
					v = numtest.Precise(float64(max(0, 1-max(j-k, k-j))))
				}
				a[j] = append(a[j], numtest.Precise(0).Set(v))
			}
			a[j][n].Sub(a[j][n], numtest.Precise(0).Mul(l1, numtest.Precise(float64(signs[j]))))
		}
		theta, optimal := numtest.Eliminate(a), true
		for j, sign := range signs {
			slope := numtest.Precise(0).Set(conditions[j][n])
			for k, v := range theta {
				slope.Sub(slope, numtest.Precise(0).Mul(conditions[j][k], v))
			}
			optimal = optimal && theta[j].Sign()*sign >= 0 && (sign != 0 || slope.Abs(slope).Cmp(l1) <= 0)
		}
		if optimal {
			return theta
		}
	}
	return nil
}
