// Package woodbury solves systems with more unknowns than rows of data. It uses the Woodbury
// identity, which turns such a system into a system with one unknown for each row.
package woodbury

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
)

const (
	// ChunkTerms is the number of terms that are added to a sum at a time.
	ChunkTerms = 256
	// sameWeight is a relative change of a weight. A change of at most sameWeight counts as a rounding
	// error.
	sameWeight = 8 * dense.Eps
)

// A Sum is the matrix Σ_f w_f·C_f·C_fᵀ. The sum is over the features f of a support S, and C_f is
// the column of feature f. The weights w_f are proportional to 1/r_f, where r_f > 0 is the ridge
// that the system adds to the diagonal entry of feature f. A Sum also holds the factor of K = I +
// inv·C_S·diag(1/r_S)·C_Sᵀ, in which inv is a number. For a new support, a Sum adds and subtracts
// only the terms that differ. It computes the sum anew if this is cheaper, or if subtraction would
// cost digits. The rounding error of all changes together is at most a few times the rounding error
// of a new sum. Callers must use the residuals of solutions to correct these solutions.
type Sum struct {
	End        *stop.Stop // Factor checks it
	rows       int
	sum        []float64 // rows×rows, upper triangle
	weight     []float64 // w_f of every feature; 0 for a feature outside the sum
	members    []int     // the features in the sum
	traceMoved float64   // the sum of the traces of all terms added or subtracted since the last new sum
	scale      float64   // inv/ρ of K
	k, inv     []float64 // factor of K

	// These fields are scratch of update. newWeight holds the new weights. The lists addedTerms and
	// removedTerms hold the terms to add and to subtract. The slice chunk holds some columns C_f
	// twice: multiplied by their weights, and as they are.
	newWeight                []float64
	addedTerms, removedTerms []term
	chunk                    []float64
}

// Member is a feature of a support.
type Member struct {
	Feature int
	R, Diag float64 // r_f, above 0; diagonal entry of inv·CᵀC
}

// A Support is a set of features. The list Act holds coordinates; the support has one feature for
// each of them. The lists Features, R and Diag have one entry for each coordinate. If the entry of
// R is below Proximal·Diag for a coordinate of Act, the support uses R + Proximal·Diag in place of
// R.
type Support struct {
	Act, Features []int
	R, Diag       []float64
	Proximal      float64
}

// member returns member i.
func (s *Support) member(i int) Member {
	j := s.Act[i]
	m := Member{s.Features[j], s.R[j], s.Diag[j]}
	if p := s.Proximal * m.Diag; m.R < p {
		m.R += p
	}
	return m
}

// A term is a change of the weight of a feature. The field size is the absolute change, which is
// above 0.
type term struct {
	feature int
	size    float64
}

// Forget discards the sum. It must be called if the columns change.
func (o *Sum) Forget() { o.rows, o.scale = 0, -1 }

// Empty reports whether the sum was discarded or never computed.
func (o *Sum) Empty() bool { return o.rows == 0 }

// begin empties the sum.
func (o *Sum) begin(rows, features int) {
	o.rows, o.members, o.traceMoved, o.scale = rows, o.members[:0], 0, -1
	o.weight, o.newWeight = dense.Zeros(o.weight, features), dense.Zeros(o.newWeight, features)
	o.sum = dense.Zeros(o.sum, rows*rows)
}

// Factor factorises the matrix K for a support, and reports whether K is finite. The slice columns
// holds the columns of all features; the length of each column is the parameter rows.
func (o *Sum) Factor(columns [][]float64, rows int, inv float64, support *Support) bool {
	if o.rows == 0 {
		o.begin(rows, len(columns))
	}
	scale := inv / o.update(columns, inv, support)
	if len(o.addedTerms)+len(o.removedTerms) == 0 && math.Abs(scale-o.scale) <= sameWeight*scale {
		return true
	}
	o.scale = scale
	o.k, o.inv = dense.Grow(o.k, rows*rows), dense.Grow(o.inv, rows)
	for i := range rows {
		row := o.k[i*rows : (i+1)*rows]
		for j := i; j < rows; j++ {
			row[j] = scale * o.sum[i*rows+j]
		}
		row[i]++
	}
	if dense.LDLFactorUntil(o.End, o.k, o.inv, rows, rows, 0) < rows {
		o.Forget()
		return false
	}
	return true
}

// Solve replaces x by K⁻¹x.
func (o *Sum) Solve(x []float64) { dense.LDLSolve(o.k, o.inv, o.rows, o.rows, x) }

// update computes the weights of all features, and returns their common factor ρ. The weight of a
// feature f is ρ/r_f if the feature is on the support, and 0 elsewhere. Here r_f is the ridge
// penalty of the feature.
func (o *Sum) update(columns [][]float64, inv float64, support *Support) float64 {
	rho := math.Inf(1)
	for i := range support.Act {
		m := support.member(i)
		// A change of ρ would change all weights. Therefore ρ is chosen so that one weight does not
		// change: the weight of the first feature that already has one. If all r_f change by the
		// same factor, no weight changes.
		if w := o.weight[m.Feature]; w > 0 {
			rho = w * m.R
			break
		}
		rho = min(rho, m.R)
	}
	whole := o.setWeights(rho, support)
	for _, terms := range [][]term{o.addedTerms, o.removedTerms} {
		for _, t := range terms {
			c := columns[t.feature]
			o.traceMoved += t.size * inv * floats.Dot(c, c)
		}
	}
	if !(o.traceMoved <= whole) || len(o.addedTerms)+len(o.removedTerms) > len(support.Act) {
		o.begin(o.rows, len(columns))
		for i := range support.Act {
			rho = min(rho, support.member(i).R)
		}
		o.setWeights(rho, support)
	}
	o.add(columns, 1, o.addedTerms)
	o.add(columns, -1, o.removedTerms)
	return rho
}

// setWeights computes the new weights ρ/r_f. It lists the changes of the weights in addedTerms and
// removedTerms. It returns the trace of the sum with the new weights, times inv.
func (o *Sum) setWeights(rho float64, support *Support) (trace float64) {
	o.addedTerms, o.removedTerms = dense.Grow(o.addedTerms, len(support.Act))[:0], o.removedTerms[:0]
	for i := range support.Act {
		m := support.member(i)
		w := rho / m.R
		o.newWeight[m.Feature] = w
		trace += w * m.Diag
		if o.weight[m.Feature] == 0 {
			o.addedTerms = append(o.addedTerms, term{m.Feature, w})
		}
	}
	for _, f := range o.members {
		switch d := o.newWeight[f] - o.weight[f]; {
		case math.Abs(d) <= sameWeight*o.weight[f]:
			o.newWeight[f] = o.weight[f]
		case d > 0:
			o.addedTerms = append(o.addedTerms, term{f, d})
		default:
			o.removedTerms = append(o.removedTerms, term{f, -d})
		}
		o.weight[f] = 0
	}
	o.members = dense.Grow(o.members, len(support.Act))
	for i, j := range support.Act {
		f := support.Features[j]
		o.weight[f], o.newWeight[f] = o.newWeight[f], 0
		o.members[i] = f
	}
	return trace
}

// add adds the terms to the sum, each multiplied by the parameter sign.
func (o *Sum) add(columns [][]float64, sign float64, terms []term) {
	n := o.rows
	o.chunk = dense.Grow(o.chunk, 2*n*min(ChunkTerms, len(terms)))
	for len(terms) > 0 {
		o.End.Look()
		m := min(ChunkTerms, len(terms))
		weighted, plain := o.chunk[:n*m], o.chunk[n*m:2*n*m]
		for i, t := range terms[:m] {
			c := columns[t.feature]
			copy(plain[i*n:], c)
			floats.ScaleTo(weighted[i*n:(i+1)*n], sign*t.size, c)
		}
		dense.AddProducts(o.sum, weighted, plain, m, n, n)
		terms = terms[m:]
	}
}
