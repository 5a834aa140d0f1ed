package penalised

import (
	"fmt"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A Penalty is the quadratic form βᵀSβ of the weights β of consecutive features. It has one
// hyperparameter. Exactly one of the fields S and Root is set.
type Penalty struct {
	// Name is used only by a search, for the name of the hyperparameter: λ(Name). If Name is empty,
	// the hyperparameter has the name λ[j].
	Name string
	// First is the number of the first feature.
	First int
	// S is symmetric and positive semidefinite, with one row for each feature. A learner reads a
	// *[mat.SymDense], *[mat.SymBandDense] or *[mat.DiagDense] in place, and copies any other matrix.
	// It reads only the bands of a *[mat.SymBandDense] or *[mat.DiagDense].
	S mat.Symmetric
	// Root is a matrix R with S = RᵀR. It may have any number of rows.
	Root mat.Matrix
}

// Ridge returns the penalty Σβ_j² of n features, beginning with feature firstFeature.
func Ridge(firstFeature, n int) Penalty {
	ones := make([]float64, n)
	dense.Fill(ones, 1)
	return Penalty{First: firstFeature, S: mat.NewDiagDense(n, ones)}
}

// Differences returns the penalty of the squared differences between the weights of n neighbouring
// features, beginning with feature firstFeature. Order 1 gives Σ(β_{j+1} − β_j)², and order 2 gives
// Σ(β_{j+2} − 2β_{j+1} + β_j)². The argument order must be at least 1, and n must be larger than
// order. The penalty makes the weights of neighbouring features similar, for example the weights of
// the levels of an ordered category. If the features are the values of B-splines, the penalty makes
// the function that they describe smooth (Eilers and Marx 1996). Polynomials of a degree below the
// order are not penalised. S is a band matrix with as many bands above the diagonal as the order.
func Differences(firstFeature, n, order int) Penalty {
	if order < 1 || n <= order {
		return Penalty{First: firstFeature} // which Load refuses
	}
	d := make([]float64, order+1) // binomial coefficients with alternating signs
	d[0] = 1
	for k := range order {
		for j := k + 1; j > 0; j-- {
			d[j] -= d[j-1]
		}
	}
	s := mat.NewSymBandDense(n, order, nil)
	for r := range n - order {
		for a, u := range d {
			for b := a; b <= order; b++ {
				s.SetSymBand(r+a, r+b, s.At(r+a, r+b)+u*d[b])
			}
		}
	}
	return Penalty{First: firstFeature, S: s}
}

// size returns two numbers: the number of features of the penalty, and the number of entries that a
// learner copies from the penalty's matrix.
func (p Penalty) size() (count, copied int) {
	if p.S == nil {
		if p.Root != nil {
			_, count = p.Root.Dims()
		}
		return count, count * count
	}
	count = p.S.SymmetricDim()
	switch p.S.(type) {
	case *mat.SymDense, *mat.SymBandDense, *mat.DiagDense:
		return count, 0
	}
	return count, count * count
}

// band returns the number of bands of S above the diagonal.
func (p Penalty) band() int {
	switch s := p.S.(type) {
	case *mat.SymBandDense:
		_, k := s.SymBand()
		return k
	case *mat.DiagDense:
		return 0
	}
	count, _ := p.size()
	return count - 1
}

// A shape describes where the entries of a penalty's matrix are: the features, and the number of
// bands above the diagonal. A fit adds neighbouring penalties of the same shape.
type shape struct{ first, count, band int }

func (p Penalty) shape() shape {
	count, _ := p.size()
	return shape{p.First, count, p.band()}
}

// A form stores the matrix S of a penalty for the solver. It has the upper triangle of the band of
// S, row by row.
type form struct {
	shape

	data    []float64
	stride  int
	skewed  bool // row i begins with its diagonal entry, as in a band
	storage []float64
}

// row returns the entries of row i of S, from the diagonal to the end of the band.
func (f *form) row(i int) []float64 {
	at := i * f.stride
	if !f.skewed {
		at += i
	}
	return f.data[at:][:min(f.band+1, f.count-i)]
}

// load stores the penalty p, of a model with n features, in the form f. The parameter j is the
// index of p among the penalties.
func (f *form) load(p Penalty, j, n int) error {
	count, copied := p.size()
	switch {
	case (p.S == nil) == (p.Root == nil):
		return check.ArgErrorf("Penalties", qpdiff.ErrShape, "set either S or Root", "has both or none of S and Root in penalty %d", j)
	case count < 1 || p.First < 0 || p.First+count > n:
		return check.ArgErrorf("Penalties", qpdiff.ErrShape, "match First and the size of S to the columns of X", "has features %d to %d in penalty %d, of the %d of X", p.First, p.First+count-1, j, n)
	}
	f.shape, f.skewed = p.shape(), false
	if copied > 0 {
		f.copyMatrix(p)
	}
	switch s := p.S.(type) {
	case *mat.SymDense:
		raw := s.RawSymmetric()
		f.data, f.stride = raw.Data, raw.Stride
	case *mat.SymBandDense:
		raw := s.RawSymBand()
		f.data, f.stride, f.skewed = raw.Data, raw.Stride, true
	case *mat.DiagDense:
		raw := s.RawSymBand()
		f.data, f.stride, f.skewed = raw.Data, raw.Stride, true
	default:
		f.data, f.stride = f.storage, count
	}
	for i := range count {
		if err := check.Finite("Penalties", "give a finite S", f.row(i)); err != nil {
			return err
		}
		if v := f.row(i)[0]; v < 0 {
			return check.ArgErrorf("Penalties", qpdiff.ErrNonconvex, "give a positive semidefinite S", "has %v on the diagonal of penalty %d", v, j)
		}
	}
	return nil
}

// copyMatrix computes S, or RᵀR, into the storage of f.
func (f *form) copyMatrix(p Penalty) {
	k := f.count
	f.storage = dense.Zeros(f.storage, k*k)
	for i := range k {
		for j := i; j < k; j++ {
			if p.S != nil {
				f.storage[i*k+j] = p.S.At(i, j)
				continue
			}
			rows, _ := p.Root.Dims()
			for r := range rows {
				f.storage[i*k+j] += p.Root.At(r, i) * p.Root.At(r, j)
			}
		}
	}
}

// addTo adds λS to the upper triangle of the matrix h, which has q rows.
func (f *form) addTo(h []float64, q int, lambda float64) {
	for i := range f.count {
		dense.Axpy(lambda, f.row(i), h[(f.first+i)*(q+1):])
	}
}

// addTimes adds λSv to dst.
func (f *form) addTimes(dst []float64, lambda float64, v []float64) {
	dst, v = dst[f.first:], v[f.first:]
	for i := range f.count {
		row := f.row(i)
		dst[i] += lambda * dense.Dot(row, v[i:])
		dense.Axpy(lambda*v[i], row[1:], dst[i+1:])
	}
}

// addSizes adds the sizes of the terms of λSv to dst.
func (f *form) addSizes(dst []float64, lambda float64, v []float64) {
	dst, v = dst[f.first:], v[f.first:]
	for i := range f.count {
		row := f.row(i)
		dst[i] += lambda * dense.AbsDot(row, v[i:])
		for k, s := range row[1:] {
			dst[i+1+k] += math.Abs(lambda * v[i] * s)
		}
	}
}

// mean returns the mean of the nonzero entries on the diagonal of S, or 1 if all of them are zero.
func (p Penalty) mean() float64 {
	count, _ := p.size()
	var sum, entries float64
	for i := range count {
		v := 0.0
		if p.S != nil {
			v = p.S.At(i, i)
		} else {
			rows, _ := p.Root.Dims()
			for r := range rows {
				v += p.Root.At(r, i) * p.Root.At(r, i)
			}
		}
		if v > 0 {
			sum += v
			entries++
		}
	}
	if entries == 0 {
		return 1
	}
	return sum / entries
}

// eigenvalueRatio returns a ratio: the mean of the nonzero eigenvalues of S, divided by the
// smallest nonzero eigenvalue. For a multiple of the unit matrix the ratio is 1.
func (p Penalty) eigenvalueRatio() float64 {
	if _, diagonal := p.S.(*mat.DiagDense); diagonal {
		return 1
	}
	var f form
	if f.load(p, 0, math.MaxInt) != nil {
		return 1 // which Load refuses
	}
	full := mat.NewSymDense(f.count, nil)
	for i := range f.count {
		for k, v := range f.row(i) {
			full.SetSym(i, i+k, v)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(full, false) {
		return 1
	}
	values := eigen.Values(nil)
	least, sum, positive := math.Inf(1), 0.0, 0
	for _, v := range values {
		if v > nullTol*values[len(values)-1] {
			least, sum, positive = min(least, v), sum+v, positive+1
		}
	}
	if positive == 0 {
		return 1
	}
	return sum / float64(positive) / least
}

// nullTol is a fraction of the largest eigenvalue of S. A smaller eigenvalue counts as 0.
const nullTol = 1e-10

// These constants, times one reference value, are the bounds and the default of a λ_j. At the
// reference value, λ_j times the mean diagonal entry of S_j equals the mean sum of squares of the
// penalty's features, multiplied by the curvature of the loss at the best constant prediction. The
// upper bound is also multiplied by Penalty.eigenvalueRatio. Hence, at the upper bound, even the
// function with the smallest nonzero penalty is strongly penalised.
const leastLambda, defaultLambda, mostLambda = 1e-8, 1e-2, 1e4

// fewHyper is the largest number of hyperparameters for which a search treats each of them
// separately.
const fewHyper = 3

// hyperparameters describes the λ_j for a loss with the given curvature.
func hyperparameters(penalties []Penalty, curvature float64, m learn.Moments) (all []learn.Hyperparameter) {
	if len(penalties) == 0 {
		penalties = []Penalty{Ridge(0, m.Features)}
	}
	for j, p := range penalties {
		count, _ := p.size()
		unit := m.Weight * curvature * m.VarianceOf(p.First, count) / p.mean()
		h := learn.Hyperparameter{Name: fmt.Sprintf("λ[%d]", j), Lower: leastLambda * unit, Default: defaultLambda * unit, Upper: mostLambda * unit * p.eigenvalueRatio()}
		if p.Name != "" {
			h.Name = "λ(" + p.Name + ")"
		}
		if len(penalties) > fewHyper {
			h.Kind = "λ"
		}
		all = append(all, h)
	}
	return all
}
