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

	"gonum.org/v1/gonum/mat"
)

// A product with Generalised is right to a thousandth of θ's scale or refused,
// however ill-conditioned the fit: λ1·∂θ/∂λ1 lies between its one-sided values,
// which are one where λ1 is not at a kink.
func TestElasticNetGeneralisedRightOrRefused(t *testing.T) {
	const tol, h = 1e-3, 1e-20
	// Of 30000 trials, those with the least errors that hid a kink which is not
	// there.
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
			slope := func(from, to *big.Float) float64 {
				d := numtest.Precise(0).Sub(to, from)
				v, _ := d.Quo(d, numtest.Precise(h)).Float64()
				return v
			}
			got, left, right := hyper[0]*g.Hyper[0], slope(below[j], here[j]), slope(here[j], above[j])
			scale = max(scale, l.root[j]*max(math.Abs(theta[j]), math.Abs(left), math.Abs(right)))
			worst = max(worst, l.root[j]*max(min(left, right)-got, got-max(left, right)))
		}
		switch {
		case refuse:
			if refused++; l.JVP(nil, theta, &learn.Grad{Hyper: []float64{1, 0}}) == nil {
				t.Errorf("trial %d: JVP answers", trial)
			}
		case !(worst <= tol*scale):
			t.Errorf("trial %d, weak %v: λ1·∂θ/∂λ1 is off by %.2g of its scale", trial, l.weak, worst/scale)
		default:
			answered++
		}
	}
	if answered < numtest.Long(3500) || refused < numtest.Long(20) {
		t.Errorf("%d answered, %d refused", answered, refused)
	}
}

// preciseElasticNet returns θ in 400 bits, by trying all signs.
func preciseElasticNet(d learn.Data, l1 *big.Float, l2 float64) []*big.Float {
	rows, n := d.X.Dims()
	g := make([][]*big.Float, n)
	c := make([]*big.Float, n)
	t := numtest.Precise(0)
	for j := range n {
		g[j] = make([]*big.Float, n)
		for k := range n {
			g[j][k] = numtest.Precise(0)
			for i := range rows {
				g[j][k].Add(g[j][k], t.Mul(numtest.Precise(d.X.At(i, j)), numtest.Precise(d.X.At(i, k))))
			}
			g[j][k].Quo(g[j][k], numtest.Precise(float64(rows)))
		}
		g[j][j].Add(g[j][j], numtest.Precise(l2))
		c[j] = numtest.Precise(0)
		for i := range rows {
			c[j].Add(c[j], t.Mul(numtest.Precise(d.X.At(i, j)), numtest.Precise(d.Y[i])))
		}
		c[j].Quo(c[j], numtest.Precise(float64(rows)))
	}
	total := 1
	for range n {
		total *= 3
	}
pat:
	for p := range total {
		s := make([]int, n)
		q := p
		var f []int
		for j := range n {
			s[j] = []int{0, 1, -1}[q%3]
			q /= 3
			if s[j] != 0 {
				f = append(f, j)
			}
		}
		th := make([]*big.Float, n)
		for j := range th {
			th[j] = numtest.Precise(0)
		}
		if m := len(f); m > 0 {
			a := make([][]*big.Float, m)
			for i := range a {
				a[i] = make([]*big.Float, m+1)
				for k := range m {
					a[i][k] = numtest.Precise(0).Set(g[f[i]][f[k]])
				}
				a[i][m] = numtest.Precise(0).Sub(c[f[i]], numtest.Precise(0).Mul(l1, numtest.Precise(float64(s[f[i]]))))
			}
			x := numtest.Eliminate(a)
			for i, j := range f {
				th[j] = x[i]
			}
		}
		for j := range n {
			if s[j] != 0 {
				if th[j].Sign()*s[j] < 0 {
					continue pat
				}
				continue
			}
			r := numtest.Precise(0).Set(c[j])
			for k := range n {
				r.Sub(r, numtest.Precise(0).Mul(g[j][k], th[k]))
			}
			if r.Abs(r).Cmp(l1) > 0 {
				continue pat
			}
		}
		return th
	}
	return nil
}
