package dense

import "cvgm/qpdiff/internal/stop"

// This file has products and factors of matrices with hundreds of rows, in row-major storage. They
// are computed block by block, so that each block stays in the caches.

const (
	// BlockSize is the number of rows of a diagonal block. A product packs BlockSize columns at a
	// time, with blockDepth terms of each column. The packed terms fill an eighth of a second-level
	// cache of 1 MB.
	BlockSize, blockDepth = 64, 256
	// productRows and productColumns are the size of productTile's tile.
	productRows, productColumns = 4, 8
)

// packed returns the number of entries that are packed at a time in a product of matrices with n
// rows and columns.
func packed(n int) int { return packedColumns(n) * min(n, blockDepth) }

// packedColumns returns the number of columns that are packed at a time in a product with n
// columns.
func packedColumns(n int) int {
	return (min(n, BlockSize) + productColumns - 1) / productColumns * productColumns
}

// BlockWork returns the length of the slice scratch that CholeskyBlocks and WeightedProducts need
// for a matrix of n rows.
func BlockWork(n int) int { return packed(n) + min(n, BlockSize)*min(n, BlockSize) }

// A product adds the matrix scale·A·diag(w)·Bᵀ to the matrix C. A is rows×depth, B is columns×depth
// and C is rows×columns, with the given strides. If the weights w are nil, they are all 1. If lower
// is set, the entries of C above the diagonal do not change. The terms of each entry are added in
// order, so the bits of the result do not depend on the blocks.
type product struct {
	c, a, b              []float64
	inC, inA, inB        int // strides
	rows, columns, depth int
	lower                bool
	scale                float64
	w                    []float64
	stopper              *stop.Stop // add checks it
}

// add adds the product to the matrix C. The parameter scratch holds the packed blocks.
func (p *product) add(scratch []float64) {
	if p.rows == 0 {
		return
	}
	for k := 0; k < p.depth; k += blockDepth {
		depth := min(blockDepth, p.depth-k)
		for j := 0; j < p.columns; j += BlockSize {
			columns, first := min(BlockSize, p.columns-j), 0
			p.pack(scratch, j, columns, k, depth)
			if p.lower {
				first = j
			}
			for i := first; i < p.rows; i += productRows {
				p.stopper.Look()
				for at := 0; at < columns && !(p.lower && i+productRows <= j+at); at += productColumns {
					p.addTile(i, j+at, k, depth, scratch[at*depth:])
				}
			}
		}
	}
}

// pack sets dst to some columns of scale·diag(w)·Bᵀ, in groups of productColumns columns. It fills
// the last group with zeros.
func (p *product) pack(dst []float64, from, columns, k, depth int) {
	for at := 0; at < columns; at += productColumns {
		tile := dst[at*depth : (at+productColumns)*depth]
		for q := range productColumns {
			if at+q >= columns {
				for t := range depth {
					tile[t*productColumns+q] = 0
				}
				continue
			}
			row := p.b[(from+at+q)*p.inB+k:][:depth]
			if p.w == nil {
				for t, v := range row {
					tile[t*productColumns+q] = p.scale * v
				}
				continue
			}
			for t, w := range p.w[k : k+depth] {
				tile[t*productColumns+q] = p.scale * w * row[t]
			}
		}
	}
}

// addTile adds the terms k to k+depth−1 to the tile of C that begins at row i and column j.
func (p *product) addTile(i, j, k, depth int, b []float64) {
	rows, columns := min(productRows, p.rows-i), min(productColumns, p.columns-j)
	if rows == productRows && columns == productColumns && !(p.lower && i < j+productColumns-1) {
		addTile(p.c[i*p.inC+j:], p.inC, p.a[i*p.inA+k:], p.inA, b, depth)
		return
	}
	// A tile at an edge of C is copied first. If it has too few rows, it is computed one row at a
	// time.
	var edge [productRows * productColumns]float64
	stride := p.inA
	if rows < productRows {
		rows, stride = 1, 0
	}
	for stopper := min(i+productRows, p.rows); i < stopper; i += rows {
		width := func(r int) int {
			if p.lower {
				return max(min(columns, i+r+1-j), 0)
			}
			return columns
		}
		for r := range rows {
			copy(edge[r*productColumns:], p.c[(i+r)*p.inC+j:][:width(r)])
		}
		addTile(edge[:], productColumns, p.a[i*p.inA+k:], stride, b, depth)
		for r := range rows {
			copy(p.c[(i+r)*p.inC+j:][:width(r)], edge[r*productColumns:])
		}
	}
}

// addTile calls productTile, which is written in assembly. Without vector units it computes the
// same sums in Go.
func addTile(c []float64, inC int, a []float64, inA int, b []float64, depth int) {
	if vectors {
		_, _, _ = c[(productRows-1)*inC+productColumns-1], a[(productRows-1)*inA+depth-1], b[productColumns*depth-1]
		if wide {
			productTileWide(&c[0], inC, &a[0], inA, &b[0], depth)
		} else {
			productTile(&c[0], inC, &a[0], inA, &b[0], depth)
		}
		return
	}
	const half = productColumns / 2
	for r := range productRows {
		row := a[r*inA:][:depth]
		for h := 0; h < productColumns; h += half {
			dst, b := c[r*inC+h:][:half], b[h:]
			s0, s1, s2, s3 := dst[0], dst[1], dst[2], dst[3]
			for k, f := range row {
				t := b[k*productColumns:][:half]
				s0 += f * t[0]
				s1 += f * t[1]
				s2 += f * t[2]
				s3 += f * t[3]
			}
			dst[0], dst[1], dst[2], dst[3] = s0, s1, s2, s3
		}
	}
}

// CholeskyBlocks is [Cholesky] for many rows, with a scratch slice of [BlockWork] entries.
func CholeskyBlocks(stopper *stop.Stop, l, inv []float64, n int, tol float64, scratch []float64) int {
	for i := range n {
		inv[i] = l[i*n+i]
	}
	for from := 0; from < n; from += BlockSize {
		size := min(BlockSize, n-from)
		block := l[from*n+from:]
		(&product{c: block, a: l[from*n:], b: l[from*n:], inC: n, inA: n, inB: n,
			rows: n - from, columns: size, depth: from, lower: true, scale: -1, stopper: stopper}).add(scratch)
		if at := choleskyRows(nil, block, inv[from:], size, n, tol); at < size {
			return from + at
		}
		if next := from + size; next < n {
			solveRows(stopper, l[next*n+from:], n-next, block, inv[from:], size, n, scratch)
		}
	}
	return n
}

// solveRows replaces X by X·L⁻ᵀ. X is rows×n, and L is a lower triangle with the same stride.
func solveRows(stopper *stop.Stop, x []float64, rows int, l, inv []float64, n, stride int, scratch []float64) {
	for j := 0; j < n; j += productColumns {
		width := min(productColumns, n-j)
		(&product{c: x[j:], a: x, b: l[j*stride:], inC: stride, inA: stride, inB: stride,
			rows: rows, columns: width, depth: j, scale: -1, stopper: stopper}).add(scratch)
		if width == productColumns {
			solveTiles(x[j:], rows, l[j*stride+j:], inv[j:], stride)
			continue
		}
		for i := range rows {
			t := x[i*stride+j:][:width]
			for k := range t {
				s := t[k]
				for q, v := range l[(j+k)*stride+j:][:k] {
					s -= t[q] * v
				}
				t[k] = s * inv[j+k]
			}
		}
	}
}

// solveTiles is solveRows for productColumns columns.
func solveTiles(x []float64, rows int, l, inv []float64, stride int) {
	var c [productColumns][productColumns]float64
	for k := range c {
		copy(c[k][:k], l[k*stride:])
		c[k][k] = inv[k]
	}
	for i := range rows {
		t := (*[productColumns]float64)(x[i*stride:])
		x0 := t[0] * c[0][0]
		x1 := (t[1] - c[1][0]*x0) * c[1][1]
		x2 := (t[2] - c[2][0]*x0 - c[2][1]*x1) * c[2][2]
		x3 := (t[3] - c[3][0]*x0 - c[3][1]*x1 - c[3][2]*x2) * c[3][3]
		x4 := (t[4] - c[4][0]*x0 - c[4][1]*x1 - c[4][2]*x2 - c[4][3]*x3) * c[4][4]
		x5 := (t[5] - c[5][0]*x0 - c[5][1]*x1 - c[5][2]*x2 - c[5][3]*x3 - c[5][4]*x4) * c[5][5]
		x6 := (t[6] - c[6][0]*x0 - c[6][1]*x1 - c[6][2]*x2 - c[6][3]*x3 - c[6][4]*x4 - c[6][5]*x5) * c[6][6]
		x7 := (t[7] - c[7][0]*x0 - c[7][1]*x1 - c[7][2]*x2 - c[7][3]*x3 - c[7][4]*x4 - c[7][5]*x5 - c[7][6]*x6) * c[7][7]
		*t = [productColumns]float64{x0, x1, x2, x3, x4, x5, x6, x7}
	}
}

// WeightedProducts computes a part of the product A·diag(w)·A, for a symmetric matrix A of n rows.
// It writes the part to g, in rows of ncols entries. The part has the rows i ≥ start and the
// columns start ≤ j < start + ncols, where ncols ≤ [BlockSize]. The entries of the part with j > i
// are undefined. The slice scratch has [BlockWork] entries. WeightedProducts stops early if the
// context of stopper ends.
func WeightedProducts(stopper *stop.Stop, g []float64, start, ncols int, a []float64, n int, w, scratch []float64) {
	clear(g[:(n-start)*ncols])
	(&product{c: g, a: a[start*n:], b: a[start*n:], inC: ncols, inA: n, inB: n,
		rows: n - start, columns: ncols, depth: n, lower: true, scale: 1, w: w, stopper: stopper}).add(scratch)
}

// AddProduct adds A·Bᵀ to the rows×columns matrix g. A is the rows×depth matrix in a, and B is the
// columns×depth matrix in b. The terms of each entry are added in order. The slice scratch has
// [GramWork] entries for this number of columns. AddProduct stops early if the context of stopper
// ends.
func AddProduct(stopper *stop.Stop, g []float64, rows, columns int, a, b []float64, depth int, scratch []float64) {
	(&product{c: g, a: a, b: b, inC: columns, inA: depth, inB: depth, rows: rows, columns: columns, depth: depth, scale: 1, stopper: stopper}).add(scratch)
}

// Mirror copies the lower triangle of a matrix of n rows to the upper triangle. It stops early if
// the context of stopper ends.
func Mirror(stopper *stop.Stop, a []float64, n int) {
	const size = 16 // two lines of the cache
	for from := 0; from < n; from += size {
		stopper.Look()
		for i := from; i < n; i++ {
			for j, v := range a[i*n+from : i*n+min(from+size, i)] {
				a[(from+j)*n+i] = v
			}
		}
	}
}

// Distances sets dst_j to the squared distance between the vector x and column j of a matrix. The
// slice points holds this matrix; row i begins at points[i·stride] and belongs to entry i of x.
func Distances(dst, x, points []float64, stride int) {
	from := 0
	if vectors && len(x) > 0 {
		if from = len(dst) &^ 3; from > 0 {
			_ = points[(len(x)-1)*stride+from-1]
			distances(&dst[0], from, &x[0], len(x), &points[0], stride)
		}
	}
	clear(dst[from:])
	for f, v := range x {
		column := points[f*stride:][:len(dst)]
		for j := from; j < len(dst); j++ {
			d := v - column[j]
			dst[j] += d * d
		}
	}
}
