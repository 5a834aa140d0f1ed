package linear

import (
	"cvgm/qpdiff/internal/dense"
	"math"

	"gonum.org/v1/gonum/floats"
)

const (
	// cdSweeps is the largest number of sweeps of coordinate descent between two exact steps. For
	// sparse columns this number is sparseSweeps. Sparse sweeps also end when no sign changes and
	// no coordinate moves by more than sparseSettled times the largest coordinate.
	cdSweeps      = 8
	sparseSweeps  = 200
	sparseSettled = 1e-6
	// dualPoints bounds the number of proximal points, and dualSteps bounds the number of Newton steps
	// for each point. Few proximal points suffice, because exact steps on the active set can continue
	// from any of them. If a point needs all dualSteps steps, its support is far from the support of
	// the solution, and the next call of dualNewton begins anew. For columns of integers a point takes
	// several dozen steps, so dualSteps is far higher.
	dualPoints = 10
	dualSteps  = 300
	// The steps for a proximal point end when the residual of the equation is at most dualTol times
	// the size of v. This tolerance is coarse, because only the support of the solution is used.
	dualTol = 1e-6
	// If the number of active coordinates is more than dualPerRow times the number of rows, a warm
	// start begins with dualNewton.
	dualPerRow = 8
	// A step of length 1 must lower φ by at least dualDescent times the descent that the slope
	// predicts. At any other length, the slope of φ must be at most dualFlat times the slope at the
	// start. At most dualLengths lengths are tried.
	dualDescent = 1e-4
	dualFlat    = .1
	dualLengths = 30
)

// coordinateDescent starts at x and runs until a sweep changes no sign. The support of x is then
// the active set.
func (q *piecewiseQP) coordinateDescent() {
	switch {
	case q.g != nil:
	case q.sparse != nil:
		q.descendSparse()
		return
	default:
		q.dualNewton()
		return
	}
	n := q.n
	d := q.grad
	copy(d, q.c)
	rest := dense.Sum{Dst: d}
	for j, v := range q.x {
		if v != 0 {
			rest.Add(-v, q.g[j*n:(j+1)*n])
		}
	}
	rest.End()
	for range q.sweeps() {
		q.stopper.Look()
		if !dense.DescendKinks(q.x, d, q.g, q.r, q.up, q.lo) {
			break
		}
	}
	q.activate()
}

// sweeps returns the largest number of sweeps of coordinateDescent.
func (q *piecewiseQP) sweeps() int { return cdSweeps + len(q.act)/2 }

// descendSparse does the work of coordinateDescent for sparse columns. It updates the residual by
// rows, because a sparse column changes few rows.
func (q *piecewiseQP) descendSparse() {
	c := q.sparse
	q.fit = dense.Zeros(q.fit, q.rows)
	fitRest, multiple := q.fit, 0.0 // −Cx = fitRest − multiple·ρ
	for j, v := range q.x {
		if v != 0 {
			multiple += c.Add(fitRest, -v, q.features[j])
		}
	}
	along := c.Along(fitRest) - multiple*c.Total
	for range sparseSweeps {
		q.stopper.Look()
		signs, moved, largest := false, 0.0, 0.0
		for j, old := range q.x {
			f, h := q.features[j], q.diag[j]+q.r[j]
			if !(h > 0) {
				continue
			}
			rho := q.c[j] + q.inv*c.DotRest(f, fitRest, multiple, along) + q.diag[j]*old
			v := q.soft(j, rho) / h
			largest = max(largest, math.Abs(v)*math.Sqrt(h))
			if v == old {
				continue
			}
			signs = signs || dense.Sign(v) != dense.Sign(old)
			moved = max(moved, math.Abs(v-old)*math.Sqrt(h))
			q.x[j] = v
			multiple += c.Add(fitRest, old-v, f)
			along += (old - v) * c.AlongColumn(f)
		}
		if !signs && moved <= sparseSettled*largest {
			break
		}
	}
	q.activate()
}

// dualNewton moves x near the solution by Newton's method. The unknowns of the method are a vector
// v with one entry for each row. It solves the equation
//
//	v = C·θ(v),  θ_j(v) = soft(u_j) / (r_j + p_j),  u_j = c_j − inv·C_jᵀv + p_j·x_j
//
// The support of θ(v) becomes the active set. The function soft shrinks u_j by the strength of the
// kink of coordinate j; grad holds u. The solution v is the minimiser of φ(v) = inv·‖v‖²/2 + Σ
// soft(u_j)²/(2(r_j + p_j)). If r_j is small, p_j is the weight of a proximal term about x, and
// otherwise 0. If any p_j is not 0, dualNewton replaces x by θ(v) and solves the equation again,
// until the signs of x stay the same. (Li, Sun and Toh 2018, "A highly efficient semismooth Newton
// augmented Lagrangian method for solving lasso problems".)
func (q *piecewiseQP) dualNewton() {
	rows := q.rows
	q.dual, q.gradChange = dense.Grow(q.dual, 2*rows), dense.Grow(q.gradChange, q.n)
	v, step, u := q.dual[:rows], q.dual[rows:], q.grad
	if !q.dualKnown {
		clear(v)
		start := dense.Sum{Dst: v}
		for j, x := range q.x {
			start.Add(x, q.column(j))
		}
		start.End()
		q.dots(u, v, nil)
		for j, c := range q.c {
			u[j] = c - q.inv*u[j]
		}
	}
	q.setProximalShare()
	for j, x := range q.x {
		u[j] += q.proximal(j) * x
	}
	for range dualPoints {
		for range dualSteps {
			q.stopper.Look()
			if q.dualPoint(v, step); floats.Norm(step, 2) <= dualTol*floats.Norm(v, 2) || !q.factorK(true) {
				break
			}
			q.kernel.Solve(step)
			t := q.dualLength(v, step)
			floats.AddScaled(v, t, step)
			floats.AddScaled(u, -t, q.gradChange)
		}
		signs, exact := true, true
		for j, z := range q.z {
			p := q.proximal(j)
			signs = signs && dense.Sign(z) == dense.Sign(q.x[j])
			exact = exact && p == 0
			u[j] += p * (z - q.x[j])
		}
		if copy(q.x, q.z); signs || exact {
			break
		}
	}
	q.activate()
}

// soft shrinks u towards 0 by up[j] if u is positive, and by lo[j] if it is negative. It has no
// branches, because signs are hard to predict.
func (q *piecewiseQP) soft(j int, u float64) float64 {
	return u - max(-q.lo[j], min(u, q.up[j]))
}

// dualPoint computes θ(v) and its support. It sets z to θ(v), the active set to the support of
// θ(v), and the argument remainder to C·θ(v) − v. grad holds u.
func (q *piecewiseQP) dualPoint(v, remainder []float64) {
	floats.ScaleTo(remainder, -1, v)
	q.act = q.act[:0]
	sum := dense.Sum{Dst: remainder}
	for j, u := range q.grad {
		s := q.soft(j, u)
		if q.z[j] = 0; s != 0 {
			q.z[j] = s / (q.r[j] + q.proximal(j))
			q.act = append(q.act, j)
			sum.Add(q.z[j], q.column(j))
		}
	}
	sum.End()
}

// dualLength returns the length of the step from v, and sets gradChange. The length is 1 if the
// full step lowers φ enough. Otherwise the length is near the minimum of φ along the step, at which
// the derivative of φ is zero. dualLength finds this zero by Newton's method. If Newton's method
// leaves the interval that contains the zero, dualLength bisects the interval instead. (Halving
// alone could give a length far below the minimum, and many steps in the same direction would
// follow.)
func (q *piecewiseQP) dualLength(v, step []float64) float64 {
	vv, vs, ss := q.inv*floats.Dot(v, v), q.inv*floats.Dot(v, step), q.inv*floats.Dot(step, step)
	q.dots(q.gradChange, step, nil)
	floats.Scale(q.inv, q.gradChange)
	start, slope := vv, vs
	for _, j := range q.act {
		start += q.soft(j, q.grad[j]) * q.z[j]
		slope -= q.gradChange[j] * q.z[j]
	}
	lo, hi, t := 0.0, 1.0, 1.0
	for range dualLengths {
		value, rate, curve := vv+2*t*vs+t*t*ss, vs+t*ss, ss // 2φ, φ′ and φ″
		for j, a := range q.gradChange {
			if s := q.soft(j, q.grad[j]-t*a); s != 0 {
				r := q.r[j] + q.proximal(j)
				value += s * s / r
				rate -= a * s / r
				curve += a * a / r
			}
		}
		if t == 1 && (rate <= 0 || value <= start+2*dualDescent*slope) || math.Abs(rate) <= dualFlat*math.Abs(slope) {
			break
		}
		if rate < 0 {
			lo = t
		} else {
			hi = t
		}
		if t -= rate / curve; !(t > lo && t < hi) {
			t = (lo + hi) / 2
		}
	}
	return t
}
