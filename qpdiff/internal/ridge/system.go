// Package ridge solves the systems of ridge regressions with weighted rows. It computes products
// with the rows, so its time is proportional to the number of entries of the data. It is not
// proportional to the square of the number of parameters.
package ridge

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
)

// Rows are the rows z_i of the data of a linear model, stored by rows or by columns. Z is the M×K
// matrix of these rows.
type Rows struct {
	M, K int
	Data []float64 // M×K, or K×M if ByColumn is set
	// ByColumn is true if Data is stored by columns: the M entries of each parameter are contiguous.
	ByColumn bool
	// If Stored is not nil, it is used in place of Data. The column of a parameter without a penalty
	// is then Stored.Root.
	Stored *sparse.Columns
}

// stride is the length of the rows of Data: K, or M if ByColumn is set.
func (z *Rows) stride() int {
	if z.ByColumn {
		return z.M
	}
	return z.K
}

// Times sets dst to Zv.
func (z *Rows) Times(dst, v []float64) {
	if z.Stored != nil {
		z.Stored.Times(dst[:z.M], v)
		return
	}
	if z.ByColumn {
		clear(dst[:z.M])
		z.sum(dst[:z.M], 1, v[:z.K])
		return
	}
	dense.Products(dst[:z.M], z.Data, z.K, v[:z.K])
}

// sum adds Σ_i scale·f_i·Data[i·n:(i+1)·n] to dst, with n = len(dst).
func (z *Rows) sum(dst []float64, scale float64, f []float64) {
	n, s := len(dst), dense.Sum{Dst: dst}
	for i, v := range f {
		s.Add(scale*v, z.Data[i*n:(i+1)*n])
	}
	s.End()
}

// Add adds scale·Zᵀu to dst.
func (z *Rows) Add(dst []float64, scale float64, u []float64) {
	if z.Stored != nil {
		z.Stored.AddTransposed(dst, scale, u[:z.M])
		return
	}
	if !z.ByColumn {
		z.sum(dst[:z.K], scale, u[:z.M])
		return
	}
	var sums [addColumns]float64
	for j := 0; j < z.K; j += addColumns {
		few := sums[:min(addColumns, z.K-j)]
		dense.Products(few, z.Data[j*z.M:], z.M, u[:z.M])
		for q, v := range few {
			dst[j+q] += scale * v
		}
	}
}

// addColumns is the number of columns that the method Add processes at a time.
const addColumns = 64

// Entry returns entry j of row i. Stored must be nil.
func (z *Rows) Entry(i, j int) float64 {
	if z.ByColumn {
		return z.Data[j*z.M+i]
	}
	return z.Data[i*z.K+j]
}

// Row returns row i. The field Stored must be nil. If the entries of the row are not contiguous,
// Row copies them to the parameter scratch.
func (z *Rows) Row(scratch []float64, i int) []float64 {
	if !z.ByColumn {
		return z.Data[i*z.K : (i+1)*z.K]
	}
	for j := range scratch[:z.K] {
		scratch[j] = z.Data[j*z.M+i]
	}
	return scratch[:z.K]
}

// Squares adds Σ_i w_i·z_ij² to dst_j.
func (z *Rows) Squares(dst, w []float64) {
	if z.Stored != nil {
		z.Stored.Squares(dst, w)
		return
	}
	if z.ByColumn {
		for j := range dst[:z.K] {
			sum := 0.0
			for i, v := range z.Data[j*z.M : (j+1)*z.M] {
				sum += w[i] * v * v
			}
			dst[j] += sum
		}
		return
	}
	for i, c := range w[:z.M] {
		if c != 0 {
			for j, v := range z.Data[i*z.K : (i+1)*z.K] {
				dst[j] += c * v * v
			}
		}
	}
}

// unpenalisedEntry returns entry j of row i, where j is the parameter without a penalty.
func (z *Rows) unpenalisedEntry(i, j int) float64 {
	if z.Stored != nil {
		return z.Stored.Root[i]
	}
	return z.Entry(i, j)
}

// The function addGram works on blocks of columns that fit into the cache. gramWidth is the number
// of columns of a block. gramStride is the distance in entries between neighbouring rows of a
// block. It is not a power of two. With a power of two, the rows would compete for the same few
// cache lines.
const gramWidth, gramStride = 256, 264

// addGram adds A·diag(w)·Aᵀ to the lower triangle of g, for the n×count matrix A. The slice data
// stores A, or Aᵀ if transposed is true. Row i of the stored matrix begins at data[i·stride]. If
// the weights w are nil, they are all 1. The slice scratch grows as needed. addGram stops early if
// the context of stopper has ended.
func addGram(stopper *stop.Stop, g []float64, n, count int, data []float64, stride int, transposed bool, w []float64, scratch *[]float64) {
	if !transposed {
		*scratch = dense.Grow(*scratch, dense.GramWork(n))
		dense.AddGram(stopper, g, n, data, stride, count, w, *scratch)
		return
	}
	packed := dense.GramWork(n)
	*scratch = dense.Grow(*scratch, packed+gramStride*n)
	block := (*scratch)[packed:]
	for first := 0; first < count; first += gramWidth {
		width := min(gramWidth, count-first)
		for i := range width {
			for j, v := range data[(first+i)*stride : (first+i)*stride+n] {
				block[j*gramStride+i] = v
			}
		}
		part := w
		if w != nil {
			part = w[first : first+width]
		}
		dense.AddGram(stopper, g, n, block, gramStride, width, part, (*scratch)[:packed])
	}
}

// A System is the matrix H = ridge·R + Σ_i w_i z_i z_iᵀ with the rows z_i and weights w_i ≥ 0. R is
// a diagonal matrix. The first diagonal entries of R are 1; Penalised is their number. If the last
// parameter has no penalty, the last diagonal entry is 0.
type System struct {
	Rows
	Penalised int
	Ridge     float64
	Weights   []float64 // w
	Iterative bool      // solved without a factor, by conjugate gradients with a diagonal matrix
	squares   []float64 // Σ_i z_ij²
	rows      []float64 // the products z_iᵀz_k over the penalised parameters, lower triangle
	byRows    bool
	scratch   []float64 // scratch of Load
}

// Load prepares the system for its Rows. If the parameter byRows is true, the factor has one
// unknown for each row, and Stored must be nil. Load stops early if the context ends.
func (s *System) Load(stopper *stop.Stop, byRows bool) {
	s.byRows = byRows
	s.squares, s.Weights = dense.Zeros(s.squares, s.K), dense.Grow(s.Weights, s.M)
	dense.Fill(s.Weights, 1)
	s.Squares(s.squares, s.Weights)
	if byRows {
		s.rows = dense.Zeros(s.rows, s.M*s.M)
		addGram(stopper, s.rows, s.M, s.Penalised, s.Data, s.stride(), s.ByColumn, nil, &s.scratch)
	}
}

// Product returns vᵀHv and sets dst to Hv. The parameter t is scratch with one entry for each row.
func (s *System) Product(dst, v, t []float64) (form float64) {
	s.Times(t, v)
	for i, w := range s.Weights {
		form += w * t[i] * t[i]
		t[i] *= w
	}
	for j, x := range v {
		dst[j] = 0
		if j < s.Penalised {
			dst[j] = s.Ridge * x
			form += s.Ridge * x * x
		}
	}
	s.Add(dst, 1, t)
	return form
}

// Diagonal sets dst to the diagonal of H. If the parameter upperBound is true, it sets dst to an
// upper bound of the diagonal instead, which needs no pass over the rows.
func (s *System) Diagonal(dst []float64, upperBound bool) {
	clear(dst)
	if upperBound {
		most := dense.Largest(s.Weights)
		for j, v := range s.squares {
			dst[j] = most * v
		}
	} else {
		s.Squares(dst, s.Weights)
	}
	for j := range s.Penalised {
		dst[j] += s.Ridge
	}
}

// RowsFloor is a limit of a ratio: the penalty of a parameter divided by the parameter's diagonal
// entry in H. At ratios below the limit, a system with one unknown for each row loses more digits
// than corrections can recover.
const RowsFloor = 1e-9

// Penalty returns a lower bound of the same ratio for all penalised parameters. The argument ridge
// is the penalty, and maxWeight is the largest weight.
func (s *System) Penalty(ridge, maxWeight float64) float64 {
	return ridge / (maxWeight * dense.Largest(s.squares[:s.Penalised]))
}

// Penalises reports whether the ridge penalty is large enough for systems with one unknown for each
// row. The parameter maxWeight is a bound of the weights.
func (s *System) Penalises(ridge, maxWeight float64) bool {
	return s.Penalty(ridge, maxWeight) > RowsFloor
}

// singleFloor is a limit of the same ratio. A factor is computed from float32 numbers only if the
// ratio is at least singleFloor for each penalised parameter. The rounding errors of float32
// numbers are some 1e-6 of the diagonal entries. They change the smallest eigenvalues by only a
// small part of their values, so that a solve takes only a few more steps.
const singleFloor = 1e-5

// fitsSingle reports whether float32 numbers suffice for a factor of the system.
func (s *System) fitsSingle() bool {
	return s.Stored == nil && s.ByColumn && !s.byRows && s.Penalty(s.Ridge, dense.Largest(s.Weights)) >= singleFloor
}

// A Factor approximates H by a matrix whose systems are easy to solve. This is either a factorised
// H, possibly with other weights, or a diagonal matrix.
type Factor struct {
	hasCholesky bool // l is a Cholesky factor
	float32s    bool // of a matrix from float32 numbers
	// If byRows is true, l is the Cholesky factor of I + √w·Z·diag(scale)·Zᵀ·√w, and otherwise the
	// Cholesky factor of H.
	byRows bool
	l, inv []float64 // lower triangle
	gram   []float64 // lower triangle of H without its penalties; not used if byRows is set
	total  float64   // the sum of the weights in gram
	share  float64   // l is the factor of share·gram with the penalties
	// The slice scale holds the reciprocals of the parameters' penalties if byRows is true. If
	// there is no Cholesky factor, it holds the reciprocals of numbers near the diagonal entries of
	// H.
	scale     []float64
	root      []float64 // √w
	scratch   []float64
	packed    []float32 // scratch of singleGram
	unit      []float64
	takenRows sparse.Columns // scratch for Stored rows: the rows times √w
	set       []int          // scratch for Stored rows: the numbers of all columns
}

// setDiagonal replaces the matrix in f by a diagonal matrix. The new matrix is an approximation of
// the diagonal of the system s.
func (f *Factor) setDiagonal(s *System) {
	f.hasCholesky, f.byRows = false, false
	f.scale = dense.Grow(f.scale, s.K)
	mean := 0.0
	for _, w := range s.Weights {
		mean += w
	}
	mean /= float64(s.M)
	for j := range f.scale {
		d := mean * s.squares[j]
		if j < s.Penalised {
			d += s.Ridge
		}
		if f.scale[j] = 1 / d; !(f.scale[j] > 0) || !dense.Finite(f.scale[j]) {
			f.scale[j] = 1 // a parameter without rows or penalty, or with terms that overflow
		}
	}
}

// exactDiagonal makes f the diagonal of the system.
func (f *Factor) exactDiagonal(s *System) {
	f.hasCholesky, f.byRows = false, false
	f.scale = dense.Grow(f.scale, s.K)
	s.Diagonal(f.scale, false)
	for j, d := range f.scale {
		if f.scale[j] = 1 / d; !(f.scale[j] > 0) || !dense.Finite(f.scale[j]) {
			f.scale[j] = 1
		}
	}
}

// factorise computes the Factor f of the system s, and reports whether the system is regular to
// working precision. If the parameter float32s is true, it computes with float32 numbers, and the
// factor is less accurate. factorise stops early if the context of stopper has ended.
func (f *Factor) factorise(s *System, stopper *stop.Stop, float32s bool) bool {
	if f.float32s, f.byRows = float32s, s.byRows; f.byRows {
		f.gatherRows(s)
		return f.cholesky(s.M, stopper)
	}
	size := s.K
	dense.GrowAll(size*size, &f.l, &f.gram)
	if s.Stored != nil {
		f.scratch = dense.Grow(f.scratch, s.M)
		f.set = f.set[:0]
		for j := range size {
			f.set = append(f.set, j)
		}
		for i, w := range s.Weights {
			f.scratch[i] = math.Sqrt(w)
		}
		f.takenRows.Take(s.Stored, f.set, f.scratch)
		f.takenRows.Gram(f.gram, f.set, f.scratch)
	} else if float32s {
		f.singleGram(s, stopper)
	} else {
		clear(f.gram)
		addGram(stopper, f.gram, size, s.M, s.Data, s.stride(), !s.ByColumn, s.Weights, &f.scratch)
	}
	f.total = floats.Sum(s.Weights)
	return f.rescale(s, stopper, 1)
}

// singleGram computes the field gram with float32 numbers. It scales the parameters by powers of
// two, so that the units of the parameters do not matter.
func (f *Factor) singleGram(s *System, stopper *stop.Stop) {
	f.unit, f.root = dense.Grow(f.unit, s.K), dense.Grow(f.root, s.M)
	f.packed = dense.Grow(f.packed, dense.GramSingleWork(s.K))
	for i, w := range s.Weights {
		f.root[i] = math.Sqrt(w)
	}
	most := dense.Largest(f.root)
	for j, v := range s.squares {
		_, unit := math.Frexp(most * math.Sqrt(v))
		f.unit[j] = math.Ldexp(1, unit)
	}
	dense.GramSingle(stopper, f.gram, s.K, s.Data, s.stride(), s.M, f.root, f.unit, f.packed)
}

// rescale computes the Factor f of the system in which share·gram replaces the sum over the
// weighted rows. Its result has the meaning of the result of factorise.
func (f *Factor) rescale(s *System, stopper *stop.Stop, share float64) bool {
	k := s.K
	f.share = share
	for j := range k {
		row := f.l[j*k : j*k+j+1]
		for i, v := range f.gram[j*k : j*k+j+1] {
			row[i] = share * v
		}
		if j < s.Penalised {
			row[j] += s.Ridge
		}
	}
	return f.cholesky(k, stopper)
}

// cholesky factorises the matrix l, and reports whether it is regular to working precision. The
// parameter size is the number of rows of l.
func (f *Factor) cholesky(size int, stopper *stop.Stop) bool {
	f.inv = dense.Grow(f.inv, size)
	f.scratch = dense.Grow(f.scratch, dense.BlockWork(size))
	f.hasCholesky = dense.CholeskyBlocks(stopper, f.l, f.inv, size, dense.Eps, f.scratch) == size
	return f.hasCholesky
}

// gatherRows sets l to I + √w·Z·diag(scale)·Zᵀ·√w. The parameter without a penalty gets a penalty
// that is as large as its diagonal entry of H. One step of conjugate gradients corrects the effect
// of this penalty.
func (f *Factor) gatherRows(s *System) {
	m := s.M
	f.scale, f.root = dense.Grow(f.scale, s.K), dense.Grow(f.root, m)
	dense.Fill(f.scale, 1/s.Ridge)
	free := 0.0
	for i, w := range s.Weights {
		f.root[i] = math.Sqrt(w)
		if s.Penalised < s.K {
			v := s.Entry(i, s.Penalised)
			free += w * v * v
		}
	}
	if free = 1 / free; !dense.Finite(free) {
		free = 1
	}
	if s.Penalised < s.K {
		f.scale[s.Penalised] = free
	}
	f.l = dense.Grow(f.l, m*m)
	for i, w := range f.root {
		row, products := f.l[i*m:i*m+i+1], s.rows[i*m:i*m+i+1]
		for k, p := range products {
			if p /= s.Ridge; s.Penalised < s.K {
				p += free * s.Entry(i, s.Penalised) * s.Entry(k, s.Penalised)
			}
			row[k] = w * f.root[k] * p
		}
		row[i]++
	}
}

// solve replaces x by the solution of the factor's system with the right-hand side x. The scratch t
// has M + K entries.
func (f *Factor) solve(s *System, x, t []float64) {
	switch {
	case !f.hasCholesky:
		for j, c := range f.scale {
			x[j] *= c
		}
	case !f.byRows:
		dense.ForwardSolve(f.l, f.inv, s.K, s.K, x)
		dense.BackSolve(f.l, f.inv, s.K, s.K, x)
	default:
		fit, back := t[:s.M], t[s.M:s.M+s.K]
		for j, c := range f.scale {
			x[j] *= c
		}
		s.Times(fit, x)
		for i, r := range f.root {
			fit[i] *= r
		}
		dense.ForwardSolve(f.l, f.inv, s.M, s.M, fit)
		dense.BackSolve(f.l, f.inv, s.M, s.M, fit)
		for i, r := range f.root {
			fit[i] *= r
		}
		clear(back)
		s.Add(back, 1, fit)
		for j, c := range f.scale {
			x[j] -= c * back[j]
		}
	}
}

// boundProduct returns an upper bound of rᵀx, where x is the solution of the factor's system with
// the right-hand side r. If such a bound would cost as much as x, it returns infinity. A bound is
// cheap only if byRows is true. The factor's matrix is then at least as large as the matrix of the
// penalties. This inequality gives a bound without a pass over the rows; x costs two passes.
func (f *Factor) boundProduct(r []float64) (sum float64) {
	if !f.hasCholesky || !f.byRows {
		return math.Inf(1)
	}
	for j, v := range r {
		sum += v * v * f.scale[j]
	}
	return sum
}
