package dense

import (
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Gram sets both triangles of the n×n matrix g to scale·XᵀX. The slice x holds the rows×n matrix X;
// row i begins at x[i·stride].
func Gram(g []float64, scale float64, x []float64, rows, n, stride int) {
	clear(g)
	AddProducts(g, x, x, rows, n, stride)
	for i := range n {
		for j := i; j < n; j++ {
			v := g[i*n+j] * scale
			g[i*n+j] = v
			g[j*n+i] = v
		}
	}
}

// AddProducts adds AᵀB to the upper triangle of the n×n matrix g. AᵀB must be symmetric. The slices
// a and b hold the rows×n matrices A and B; row i begins at index i·stride. Entries of g below the
// diagonal may change.
func AddProducts(g, a, b []float64, rows, n, stride int) {
	groups := rows / 4
	if vectors && n >= tileColumns {
		addTiles(g, a, b, groups, n, stride)
	} else {
		addGroups(g, a, b, groups, n, stride)
	}
	for i := 4 * groups; i < rows; i++ {
		r := b[i*stride:][:n]
		for j, v := range a[i*stride:][:n] {
			Axpy(v, r[j:], g[j*n+j:])
		}
	}
}

// SquareBlock is the number of entries of x that AddSquares copies at a time. The copies stay in
// the second-level cache.
const SquareBlock = 1 << 14

// A SquareWork holds the copies of AddSquares. The zero value is ready to use.
type SquareWork struct{ plain, weighted []float64 }

// AddSquares adds Σ_i weight(i)·(x_i − c)·(x_i − c)ᵀ to the upper triangle of g. The sum is over
// the rows x_i of the matrix x. If centre is nil, c is 0, and otherwise centre. Entries of g below
// the diagonal may change. Rows with a weight of 0 are not read. AddSquares stops early if the
// context of stopper ends.
func (s *SquareWork) AddSquares(stopper *stop.Stop, g []float64, x blas64.General, centre []float64, weight func(i int) float64) {
	n := x.Cols
	most := 4 * max(1, SquareBlock/(4*n))
	GrowAll(most*n, &s.plain, &s.weighted)
	plain, weighted := s.plain[:0], s.weighted[:0]
	flush := func() {
		stopper.Look()
		AddProducts(g, weighted, plain, len(plain)/n, n, n)
		plain, weighted = plain[:0], weighted[:0]
	}
	for i := range x.Rows {
		w := weight(i)
		if w == 0 {
			continue
		}
		plain = append(plain, x.Data[i*x.Stride:i*x.Stride+n]...)
		row := plain[len(plain)-n:]
		if centre != nil {
			floats.Sub(row, centre)
		}
		weighted = append(weighted, row...)
		if w != 1 {
			floats.Scale(w, weighted[len(weighted)-n:])
		}
		if len(plain) == most*n {
			flush()
		}
	}
	flush()
}

// addGroups does the work of AddProducts for groups of four rows. It adds the products of four rows
// at a time, so that it passes over g once for four rows and not once for each row.
func addGroups(g, a, b []float64, groups, n, stride int) {
	for i := range groups {
		row := func(x []float64, k int) []float64 { return x[(4*i+k)*stride:][:n] }
		b0, b1, b2, b3 := row(b, 0), row(b, 1), row(b, 2), row(b, 3)
		a1, a2, a3 := row(a, 1), row(a, 2), row(a, 3)
		for j, f0 := range row(a, 0) {
			f1, f2, f3 := a1[j], a2[j], a3[j]
			s0 := b0[j:]
			s1, s2, s3 := b1[j:][:len(s0)], b2[j:][:len(s0)], b3[j:][:len(s0)]
			dst := g[j*n+j:][:len(s0)]
			for k, v := range s0 {
				dst[k] += (f0*v + f1*s1[k]) + (f2*s2[k] + f3*s3[k])
			}
		}
	}
}

const (
	// tileRows and tileColumns are the size of gramTile's tile.
	tileRows    = 2
	tileColumns = 8
	// gramBlock is the number of entries in a block of the data. A block is used for all tiles
	// before the next block is read, and stays in the second-level cache. It has at least
	// leastGroups groups of four rows, because each block takes a pass over g.
	gramBlock   = 1 << 15
	leastGroups = 16
)

// addTileOf is gramTile, or gramTileWide if the processor has wide registers.
func addTileOf(dst *float64, width int, a, b *float64, stride, groups int) {
	if wide {
		gramTileWide(dst, width, a, b, stride, groups)
		return
	}
	gramTile(dst, width, a, b, stride, groups)
}

// addTiles does the work of addGroups with the vector units. The matrix must have at least
// tileColumns columns.
func addTiles(g, a, b []float64, groups, n, stride int) {
	var edge [tileRows * tileColumns]float64
	block := max(leastGroups, gramBlock/(4*n))
	for from := 0; from < groups; from += block {
		count := min(block, groups-from)
		a, b := a[4*from*stride:], b[4*from*stride:]
		for i := 0; i < n; i += tileRows {
			row := min(i, n-tileRows)
			for j := i; j < n; j += tileColumns {
				column := min(j, n-tileColumns)
				if row == i && column == j {
					addTileOf(&g[i*n+j], n, &a[i], &b[j], stride, count)
					continue
				}
				// This tile overlaps another tile. Entries that belong to the other tile are
				// skipped.
				clear(edge[:])
				tile := func(at func(e *float64, g *float64)) {
					for r := i; r < min(i+tileRows, n); r++ {
						for c := j; c < min(j+tileColumns, n); c++ {
							at(&edge[(r-row)*tileColumns+c-column], &g[r*n+c])
						}
					}
				}
				tile(func(e, g *float64) { *e = *g })
				addTileOf(&edge[0], tileColumns, &a[row], &b[column], stride, count)
				tile(func(e, g *float64) { *g = *e })
			}
		}
	}
}

// dotRows is the number of rows that one call of dot4 or add4 processes. These functions are faster
// than Go code for rows of at least leastDot entries.
const dotRows, leastDot = 4, 8

// Products sets dst_i to the product of the vector x with row i of a matrix. The slice a holds the
// matrix; row i begins at a[i·stride]. The results have the same bits as with floats.Dot.
func Products(dst, a []float64, stride int, x []float64) {
	n, rows := len(x), len(dst)
	if vectors && n >= leastEntries && rows >= leastRows {
		_ = a[(rows-1)*stride+n-1]
		dots(&dst[0], rows, &a[0], stride, &x[0], n)
		return
	}
	for i := range dst {
		dst[i] = floats.Dot(a[i*stride:i*stride+n], x)
	}
}

// Products4 sets the first four entries of dst to the products of the vector x with the vectors a,
// b, c and d. These vectors must have the length of x. The results have the same bits as with
// floats.Dot.
func Products4(dst, a, b, c, d, x []float64) {
	if n := len(x); vectors && n >= leastDot {
		_, _, _, _, _ = dst[dotRows-1], a[n-1], b[n-1], c[n-1], d[n-1]
		dot4(&dst[0], &a[0], &b[0], &c[0], &d[0], &x[0], n)
		return
	}
	dst[0], dst[1], dst[2], dst[3] = floats.Dot(a, x), floats.Dot(b, x), floats.Dot(c, x), floats.Dot(d, x)
}

// A Sum adds multiples of rows to Dst. It collects rows and adds several at a time. The result has
// the same bits as if floats.AddScaled added each row by itself. If the field Less is not nil, a
// Sum first subtracts this vector from each row. After the last row, End must be called.
type Sum struct {
	Dst  []float64
	Less []float64
	rows [dotRows][]float64
	f    [dotRows]float64
	held int
}

// leastSum is a length of rows. For rows of at least this length, it is faster to collect several
// rows before adding them.
const leastSum = 12

// Add adds f·row to the sum. The slice row must have the length of Dst, and must not change until
// End is called. If f is 0, Add does nothing.
func (s *Sum) Add(f float64, row []float64) {
	if f == 0 {
		return
	}
	if len(s.Dst) < leastSum && s.Less == nil {
		Axpy(f, row, s.Dst)
		return
	}
	s.rows[s.held], s.f[s.held] = row, f
	if s.held++; s.held == dotRows {
		s.four()
	}
}

func (s *Sum) four() {
	n := len(s.Dst)
	if !vectors || n == 0 {
		s.End()
		return
	}
	r := &s.rows
	_, _, _, _ = r[0][n-1], r[1][n-1], r[2][n-1], r[3][n-1]
	if s.held = 0; s.Less == nil {
		add4(&s.Dst[0], n, &s.f[0], &r[0][0], &r[1][0], &r[2][0], &r[3][0])
		return
	}
	add4Less(&s.Dst[0], n, &s.f[0], &r[0][0], &r[1][0], &r[2][0], &r[3][0], &s.Less[:n][0])
}

// End adds the collected rows.
func (s *Sum) End() {
	for i, f := range s.f[:s.held] {
		if s.Less == nil {
			floats.AddScaled(s.Dst, f, s.rows[i])
			continue
		}
		row := s.rows[i][:len(s.Dst)]
		for j, c := range s.Less[:len(s.Dst)] {
			s.Dst[j] += f * (row[j] - c)
		}
	}
	s.held = 0
}

// AddRows adds f_i times row i of a matrix to dst, for each i in order. The slice a holds the
// matrix; row i begins at a[i·stride]. The results have the same bits as with floats.AddScaled.
func AddRows(dst, f, a []float64, stride int) {
	n, rows := len(dst), len(f)
	if vectors && n >= leastEntries && rows > 0 {
		_ = a[(rows-1)*stride+n-1]
		addRowsTo(&dst[0], n, &f[0], &a[0], stride, rows)
		return
	}
	for i, v := range f {
		floats.AddScaled(dst, v, a[i*stride:i*stride+n])
	}
}

// DescendBox makes one sweep of coordinate descent for the problem: minimise ½zᵀQz + pᵀz subject to
// lo ≤ z ≤ hi. It minimises along each entry of z in turn. Q is a symmetric n×n matrix, and steps
// holds the reciprocals of its diagonal. Before the call, grad must be Qz + p, and DescendBox
// updates grad. The entries of z and the bounds must not be NaN. DescendBox returns the number of
// entries of z that left or reached a bound.
func DescendBox(z, grad, q, steps, lo, hi []float64) (met int) {
	n := len(z)
	if vectors {
		_, _, _, _, _ = grad[n-1], q[n*n-1], steps[n-1], lo[n-1], hi[n-1]
		return descendBox(&z[0], &grad[0], &q[0], &steps[0], &lo[0], &hi[0], n)
	}
	for j, old := range z {
		v, lo, hi := old-float64(grad[j]*steps[j]), lo[j], hi[j]
		if hi < v {
			v = hi
		}
		if lo > v {
			v = lo
		}
		if !(v < old || v > old) {
			continue
		}
		if v == lo || v == hi || old == lo || old == hi {
			met++
		}
		z[j] = v
		floats.AddScaled(grad[:n], v-old, q[j*n:(j+1)*n])
	}
	return met
}

// AddGram adds A·diag(w)·Aᵀ to the lower triangle of g, for the n×width matrix A with the given
// stride. If the weights w are nil, they are all 1. The slice scratch has GramWork entries. AddGram
// stops early if the context of stopper ends.
func AddGram(stopper *stop.Stop, g []float64, n int, a []float64, stride, width int, w, scratch []float64) {
	(&product{c: g, a: a, b: a, inC: n, inA: stride, inB: stride, rows: n, columns: n, depth: width, lower: true, scale: 1, w: w, stopper: stopper}).add(scratch)
}

// GramWork returns the length of the scratch that AddGram needs for n rows.
func GramWork(n int) int { return packedColumns(n) * blockDepth }
