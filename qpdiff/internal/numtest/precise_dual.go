package numtest

import (
	"math/big"

	"cvgm/qpdiff/internal/dense"
)

// A PreciseDual is the dual of a kernel SVM whose rows are distinct, in high precision.
type PreciseDual struct {
	Kernel    func(i, j int) *big.Float
	Y, Copies []float64 // nil Copies: one of each row
	Intercept bool
}

// Decisions returns the decision values of the rows at C·(1+d), by an active set method
// from β = 0. 1e-60 of the largest entry on the diagonal of K makes each free set's
// system regular.
func (l *PreciseDual) Decisions(size, d float64) (f []float64, exact []*big.Float) {
	n := len(l.Y)
	zero := Precise(0)
	k := make([][]*big.Float, n)
	ridge := Precise(0)
	for i := range k {
		k[i] = make([]*big.Float, n)
		for j := range k[i] {
			k[i][j] = l.Kernel(i, j)
		}
		if v := Precise(1e-60); v.Mul(v, k[i][i]).Cmp(ridge) > 0 {
			ridge = v
		}
	}
	c := Precise(1)
	c.Mul(c.Add(c, Precise(d)), Precise(size))
	beta, lo, hi, free := make([]*big.Float, n), make([]*big.Float, n), make([]*big.Float, n), make([]bool, n)
	for i := range n {
		k[i][i].Add(k[i][i], ridge)
		beta[i], lo[i], hi[i] = Precise(0), Precise(0), Precise(0)
		if y := l.Y[i]; y > 0 {
			hi[i] = Precise(0).Mul(c, Precise(dense.CountAt(l.Copies, i)))
		} else {
			lo[i] = Precise(0).Mul(c, Precise(-dense.CountAt(l.Copies, i)))
		}
	}
	b := Precise(0)
	r := make([]*big.Float, n) // y − Kβ
	residual := func() {
		for i := range r {
			r[i] = Precise(l.Y[i])
			for j, v := range beta {
				r[i].Sub(r[i], Precise(0).Mul(k[i][j], v))
			}
		}
	}
	between := func() (up, down int) { // the rows that bound b
		up, down = -1, -1
		for i := range n {
			if beta[i].Cmp(hi[i]) < 0 && (up < 0 || r[i].Cmp(r[up]) > 0) {
				up = i
			}
			if beta[i].Cmp(lo[i]) > 0 && (down < 0 || r[i].Cmp(r[down]) < 0) {
				down = i
			}
		}
		return up, down
	}
	for {
		var f []int
		for i, on := range free {
			if on {
				f = append(f, i)
			}
		}
		residual()
		if m := len(f); m > 0 {
			w := m
			if l.Intercept {
				w++
			}
			a := make([][]*big.Float, w)
			for i := range a {
				a[i] = make([]*big.Float, w+1)
				for j := range a[i] {
					a[i][j] = Precise(0)
					switch {
					case i < m && j < m:
						a[i][j].Set(k[f[i]][f[j]])
					case i < m && j == w:
						a[i][j].Set(r[f[i]])
					case i != j && j < w:
						a[i][j].SetInt64(1)
					}
				}
			}
			step := Eliminate(a)
			if l.Intercept {
				b = step[m]
			}
			t, hit, bound := Precise(1), -1, zero
			for i, j := range f {
				end := hi[j]
				if step[i].Sign() < 0 {
					end = lo[j]
				}
				if step[i].Sign() == 0 {
					continue
				}
				if room := Precise(0).Sub(end, beta[j]); room.Quo(room, step[i]).Cmp(t) < 0 {
					t, hit, bound = room, j, end
				}
			}
			for i, j := range f {
				beta[j].Add(beta[j], step[i].Mul(step[i], t))
			}
			if hit >= 0 {
				beta[hit].Set(bound)
				free[hit] = false
				continue
			}
			residual()
		}
		if len(f) == 0 && l.Intercept {
			if up, down := between(); Precise(0).Sub(r[up], r[down]).Cmp(Precise(1e-50)) > 0 {
				free[up], free[down] = true, true
				continue
			}
			break
		}
		most, at := Precise(1e-50), -1
		for i := range n {
			v := Precise(0).Sub(r[i], b)
			if beta[i].Cmp(hi[i]) == 0 {
				v.Neg(v)
			}
			if !free[i] && v.Cmp(most) > 0 {
				most, at = v, i
			}
		}
		if at < 0 {
			break
		}
		free[at] = true
	}
	// Where all β are at a bound, b is the middle of its interval.
	inside := 0
	for i, v := range beta {
		for _, end := range []*big.Float{lo[i], hi[i]} {
			if d := Precise(0).Sub(v, end); d.Abs(d).Cmp(Precise(1e-60*size)) < 0 {
				v.Set(end)
			}
		}
		if v.Cmp(lo[i]) != 0 && v.Cmp(hi[i]) != 0 {
			inside++
		}
	}
	if l.Intercept && inside == 0 {
		up, down := between()
		b.Quo(b.Add(r[up], r[down]), Precise(2))
	}
	f, exact = make([]float64, n), make([]*big.Float, n)
	for i, y := range l.Y {
		v := Precise(y)
		exact[i] = v.Add(v.Sub(v, r[i]), b)
		f[i], _ = v.Float64()
	}
	return f, exact
}
