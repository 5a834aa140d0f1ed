package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// defaultMemory is the number of steps in a bfgsMatrix, unless the searcher sets another.
const defaultMemory = 10

// A bfgsMatrix is the matrix B = diag + Σ (aaᵀ − bbᵀ). The sum has one pair of vectors a, b for
// each remembered step.
type bfgsMatrix struct {
	isForgotten bool // reset before use
	diag        []float64
	memory      int
	// The first stepCount steps are remembered, the oldest first. The others are storage.
	steps     []bfgsStep
	stepCount int
	bs        []float64
}

// bfgsStep holds a step s, the change y of the gradient over this step, and the vectors a and b of
// the step's term in B.
type bfgsStep struct{ s, y, a, b []float64 }

func newBFGSMatrix(n, memory int) *bfgsMatrix {
	return &bfgsMatrix{isForgotten: true, diag: make([]float64, n), memory: memory, bs: make([]float64, n)}
}

// reset sets B to the diagonal matrix with the entries scale/share[i]².
func (c *bfgsMatrix) reset(scale float64, share []float64) {
	c.isForgotten = false
	for i, v := range share {
		c.diag[i] = scale / v / v
	}
	c.stepCount = 0
}

// multiply writes the product Bv to dst. B consists only of diag and the first k remembered steps.
func (c *bfgsMatrix) multiply(dst, v []float64, k int) {
	floats.MulTo(dst, c.diag, v)
	for _, step := range c.steps[:k] {
		floats.AddScaled(dst, floats.Dot(step.a, v), step.a)
		floats.AddScaled(dst, -floats.Dot(step.b, v), step.b)
	}
}

func (c *bfgsMatrix) diagonal() []float64 { return c.diag }

func (c *bfgsMatrix) times(dst, v []float64) { c.multiply(dst, v, c.stepCount) }

// nextStorage returns storage for one more step. If the memory is full, it returns the storage of
// the oldest step.
func (c *bfgsMatrix) nextStorage() bfgsStep {
	switch {
	case c.stepCount == c.memory:
		oldest := c.steps[0]
		copy(c.steps, c.steps[1:])
		c.steps[c.stepCount-1] = oldest
		return oldest
	case c.stepCount == len(c.steps):
		n, more := len(c.diag), min(c.memory-c.stepCount, defaultMemory)
		block := make([]float64, 4*n*more)
		vector := func() []float64 {
			v := block[:n:n]
			block = block[n:]
			return v
		}
		c.steps = slices.Grow(c.steps, more)
		for range more {
			c.steps = append(c.steps, bfgsStep{vector(), vector(), vector(), vector()})
		}
	}
	c.stepCount++
	return c.steps[c.stepCount-1]
}

const (
	// If the curvature along a step is below minCurvature times the model's curvature, the update is
	// damped. Powell's limit is .2. Such a large limit slows the search on convex losses whose
	// curvature falls fast. A smaller limit is enough, because B only has to stay positive definite in
	// spite of rounding errors. In one step, an entry of the diagonal falls to no less than
	// minCurvature times its value.
	minCurvature = 1e-10
	// A damped curvature is replaced by dampedCurvature times the model's curvature (Powell 1978).
	dampedCurvature = .2
)

// The method add updates the matrix B. It uses the step s, and the change y of the gradient over
// this step. It returns false if y was damped or omitted.
func (c *bfgsMatrix) add(s, y []float64) bool {
	c.multiply(c.bs, s, c.stepCount)
	sBs, sy := floats.Dot(s, c.bs), floats.Dot(s, y)
	if !(sBs > 0) {
		return false
	}
	last := c.nextStorage()
	copy(last.s, s)
	copy(last.y, y)
	damped := sy <= minCurvature*sBs
	if damped {
		t := (1 - dampedCurvature) * sBs / (sBs - sy)
		floats.Scale(t, last.y)
		floats.AddScaled(last.y, 1-t, c.bs)
	}
	c.updateDiagonal(last.s, last.y)
	for k, step := range c.steps[:c.stepCount] {
		c.multiply(step.b, step.s, k)
		floats.Scale(1/math.Sqrt(floats.Dot(step.s, step.b)), step.b)
		copy(step.a, step.y)
		floats.Scale(1/math.Sqrt(floats.Dot(step.s, step.a)), step.a)
	}
	return !damped
}

// updateDiagonal multiplies the diagonal by yy/sy, the ratio of the function's curvature along the
// last step s to the diagonal's. It then updates each diagonal entry with the BFGS formula.
func (c *bfgsMatrix) updateDiagonal(s, y []float64) {
	sy := floats.Dot(s, y)
	// The variable yy is ‖y‖² in the norm of the inverse diagonal, and ss is ‖s‖² in the norm of
	// the diagonal.
	var yy, ss float64
	for i, d := range c.diag {
		yy += y[i] * y[i] / d
	}
	floats.Scale(yy/sy, c.diag)
	for i, d := range c.diag {
		ss += d * s[i] * s[i]
	}
	for i, d := range c.diag {
		c.diag[i] = d*max(1-d*s[i]*s[i]/ss, minCurvature) + y[i]*y[i]/sy
	}
}
