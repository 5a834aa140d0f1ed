package cvgm

import (
	"math"

	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A jointFit holds the decisions of a [learn.ClassLearner] for the validation rows of a split.
type jointFit struct {
	ownClass          []int
	decisions, slopes []float64 // the first class for all rows, then the next one
}

// newJointFit returns the jointFit of a [learn.ClassLearner], or nil for any other learner. It
// copies the class indices from labels, and then sets each entry of labels to 1.
func newJointFit(l learn.Learner, labels []float64) *jointFit {
	c, ok := l.(learn.ClassLearner)
	if !ok {
		return nil
	}
	j := &jointFit{ownClass: make([]int, len(labels)), decisions: make([]float64, len(labels)*c.Outputs()), slopes: make([]float64, len(labels)*c.Outputs())}
	for i, y := range labels {
		j.ownClass[i], labels[i] = int(y), 1
	}
	return j
}

// block returns part c of v, where all parts have the given length. Each class has one part.
func block(v []float64, c, size int) []float64 { return v[c*size:][:size] }

// predict sets dst to the log odds η_y − log Σ_{c≠y} exp(η_c) of each normalised row of x, where y
// is the class of the row. It sets slopes to the derivatives of the log odds with respect to η.
func (j *jointFit) predict(dst, theta []float64, x *mat.Dense) {
	rows := len(j.ownClass)
	if rows == 0 {
		return
	}
	_, m := x.Dims()
	classes := len(j.decisions) / rows
	for c := range classes {
		weights := block(theta, c, len(theta)/classes)
		for i := range rows {
			d := floats.Sum(weights[m:])
			for k, v := range x.RawRowView(i) {
				d += float64(weights[k] * v) // the same bits on each processor
			}
			j.decisions[c*rows+i] = d
		}
	}
	j.logOdds(dst)
}

// logOdds computes the log odds of each row's class from the decisions. It sets dst to the log
// odds, and slopes to the derivatives of the log odds with respect to the decisions.
func (j *jointFit) logOdds(dst []float64) {
	rows := len(j.ownClass)
	classes := len(j.decisions) / max(1, rows)
	for i, own := range j.ownClass {
		most, sum := math.Inf(-1), 0.0
		for c := range classes {
			if c != own {
				most = max(most, j.decisions[c*rows+i])
			}
		}
		for c := range classes {
			j.slopes[c*rows+i] = 1
			if c != own {
				share := math.Exp(j.decisions[c*rows+i] - most)
				j.slopes[c*rows+i] = -share
				sum += share
			}
		}
		for c := range classes {
			if c != own {
				j.slopes[c*rows+i] /= sum
			}
		}
		dst[i] = j.decisions[own*rows+i] - (most + math.Log(sum))
	}
}

// cotangent gets ddst, the cotangent of the log odds. It sets dtheta to the cotangent of θ. If dx
// is not nil, it sets dx to the cotangent of x. It overwrites the decisions.
func (j *jointFit) cotangent(dtheta []float64, dx *mat.Dense, theta []float64, x *mat.Dense, ddst []float64) {
	clear(dtheta)
	rows := len(j.ownClass)
	if rows == 0 {
		return
	}
	if dx != nil {
		dx.Zero()
	}
	_, m := x.Dims()
	classes := len(j.slopes) / rows
	for c := range classes {
		size := len(theta) / classes
		weights, sums := block(theta, c, size), block(dtheta, c, size)
		for i, by := range floats.MulTo(block(j.decisions, c, rows), block(j.slopes, c, rows), ddst) {
			floats.AddScaled(sums[:m], by, x.RawRowView(i))
			for k := m; k < size; k++ {
				sums[k] += by
			}
			if dx != nil {
				floats.AddScaled(dx.RawRowView(i), by, weights[:m])
			}
		}
	}
}
