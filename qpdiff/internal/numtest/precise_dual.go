package numtest

import (
	"math/big"

	"cvgm/qpdiff/internal/dense"
)

// A PreciseDual solves the dual problem of a kernel SVM in high precision. The rows must be
// distinct.
type PreciseDual struct {
	Kernel    func(i, j int) *big.Float
	Y, Copies []float64 // Copies is nil if each row occurs once
	Intercept bool
}

// Decisions returns the decision values of the rows at the hyperparameter C = baseC·(1+d). It uses
// an active-set method that starts at the dual variables β = 0. It adds 1e-60 times the largest
// diagonal entry of the kernel matrix K to the diagonal of K, so that all linear systems are
// regular.
func (l *PreciseDual) Decisions(baseC, d float64) (f []float64, exact []*big.Float) {
	s := l.start(baseC, d)
	for {
		var f []int
		for i, on := range s.free {
			if on {
				f = append(f, i)
			}
		}
		s.residual()
		if len(f) > 0 {
			if s.moveFree(f) {
				continue
			}
			s.residual()
		}
		if !s.freeWorst(len(f)) {
			break
		}
	}
	s.centre(baseC)
	n := len(l.Y)
	f, exact = make([]float64, n), make([]*big.Float, n)
	for i, y := range l.Y {
		v := Precise(y)
		exact[i] = v.Add(v.Sub(v, s.r[i]), s.b)
		f[i], _ = v.Float64()
	}
	return f, exact
}

// activeSet is the state of the method.
type activeSet struct {
	*PreciseDual
	k            [][]*big.Float
	beta, lo, hi []*big.Float
	free         []bool
	r            []*big.Float // y − Kβ
	b            *big.Float
}

func (l *PreciseDual) start(size, d float64) *activeSet {
	n := len(l.Y)
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
	beta, lo, hi := make([]*big.Float, n), make([]*big.Float, n), make([]*big.Float, n)
	for i := range n {
		k[i][i].Add(k[i][i], ridge)
		beta[i], lo[i], hi[i] = Precise(0), Precise(0), Precise(0)
		if y := l.Y[i]; y > 0 {
			hi[i] = Precise(0).Mul(c, Precise(dense.CountAt(l.Copies, i)))
		} else {
			lo[i] = Precise(0).Mul(c, Precise(-dense.CountAt(l.Copies, i)))
		}
	}
	return &activeSet{l, k, beta, lo, hi, make([]bool, n), make([]*big.Float, n), Precise(0)}
}

func (s *activeSet) residual() {
	for i := range s.r {
		s.r[i] = Precise(s.Y[i])
		for j, v := range s.beta {
			s.r[i].Sub(s.r[i], Precise(0).Mul(s.k[i][j], v))
		}
	}
}

// boundRows returns two rows: one determines the lower bound of the intercept b, and the other the
// upper bound.
func (s *activeSet) boundRows() (up, down int) {
	up, down = -1, -1
	for i := range s.beta {
		if s.beta[i].Cmp(s.hi[i]) < 0 && (up < 0 || s.r[i].Cmp(s.r[up]) > 0) {
			up = i
		}
		if s.beta[i].Cmp(s.lo[i]) > 0 && (down < 0 || s.r[i].Cmp(s.r[down]) < 0) {
			down = i
		}
	}
	return up, down
}

// moveFree moves the dual variables β of the free rows f towards the solution of their system. It
// stops at the solution, or at the first bound that the β of a row reaches. This row is then no
// longer free. moveFree reports whether a row reached a bound.
func (s *activeSet) moveFree(f []int) bool {
	m := len(f)
	w := m
	if s.Intercept {
		w++
	}
	a := make([][]*big.Float, w)
	for i := range a {
		a[i] = make([]*big.Float, w+1)
		for j := range a[i] {
			a[i][j] = Precise(0)
			switch {
			case i < m && j < m:
				a[i][j].Set(s.k[f[i]][f[j]])
			case i < m && j == w:
				a[i][j].Set(s.r[f[i]])
			case i != j && j < w:
				a[i][j].SetInt64(1)
			}
		}
	}
	step := Eliminate(a)
	if s.Intercept {
		s.b = step[m]
	}
	t, hit, bound := Precise(1), -1, Precise(0)
	for i, j := range f {
		end := s.hi[j]
		if step[i].Sign() < 0 {
			end = s.lo[j]
		}
		if step[i].Sign() == 0 {
			continue
		}
		if room := Precise(0).Sub(end, s.beta[j]); room.Quo(room, step[i]).Cmp(t) < 0 {
			t, hit, bound = room, j, end
		}
	}
	for i, j := range f {
		s.beta[j].Add(s.beta[j], step[i].Mul(step[i], t))
	}
	if hit < 0 {
		return false
	}
	s.beta[hit].Set(bound)
	s.free[hit] = false
	return true
}

// freeWorst frees the row, or the pair of rows, that violates optimality most. It returns false if
// no row violates optimality. The parameter nfree is the number of free rows.
func (s *activeSet) freeWorst(nfree int) bool {
	if nfree == 0 && s.Intercept {
		up, down := s.boundRows()
		if Precise(0).Sub(s.r[up], s.r[down]).Cmp(Precise(1e-50)) <= 0 {
			return false
		}
		s.free[up], s.free[down] = true, true
		return true
	}
	most, at := Precise(1e-50), -1
	for i := range s.beta {
		v := Precise(0).Sub(s.r[i], s.b)
		if s.beta[i].Cmp(s.hi[i]) == 0 {
			v.Neg(v)
		}
		if !s.free[i] && v.Cmp(most) > 0 {
			most, at = v, i
		}
	}
	if at < 0 {
		return false
	}
	s.free[at] = true
	return true
}

// centre sets the intercept b if all β are at a bound. In this case many values of b are optimal,
// and centre takes the middle of their interval.
func (s *activeSet) centre(size float64) {
	inside := 0
	for i, v := range s.beta {
		for _, end := range []*big.Float{s.lo[i], s.hi[i]} {
			if d := Precise(0).Sub(v, end); d.Abs(d).Cmp(Precise(1e-60*size)) < 0 {
				v.Set(end)
			}
		}
		if v.Cmp(s.lo[i]) != 0 && v.Cmp(s.hi[i]) != 0 {
			inside++
		}
	}
	if s.Intercept && inside == 0 {
		up, down := s.boundRows()
		s.b.Quo(s.b.Add(s.r[up], s.r[down]), Precise(2))
	}
}
