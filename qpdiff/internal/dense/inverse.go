package dense

import "cvgm/qpdiff/internal/stop"

// InverseWork returns the length of the parameter scratch that InverseBlocks needs for a matrix of
// n rows.
func InverseWork(n int) int {
	panels := (n + productColumns - 1) / productColumns
	return panels * (panels + 1) / 2 * productColumns * productColumns
}

// InverseBlocks replaces the matrix a. Before the call, a is the Cholesky factor L of a matrix of n
// rows. After the call, a holds both triangles of that matrix's inverse. The slice inv holds the
// inverses of the factor's diagonal. The slice scratch has [InverseWork] entries. InverseBlocks
// stops early if the context of stopper ends.
func InverseBlocks(stopper *stop.Stop, a, inv []float64, n int, scratch []float64) {
	f := inverter{a: a, inv: inv, n: n, scratch: scratch[:InverseWork(n)]}
	for from := 0; from < n; from += BlockSize {
		stopper.Look()
		f.invertRows(from, min(from+BlockSize, n))
	}
	f.transpose()
	for from := 0; from < n; from += BlockSize {
		stopper.Look()
		f.multiplyRows(from, min(from+BlockSize, n))
	}
	Mirror(stopper, a, n)
}

// An inverter computes W = L⁻¹ and WᵀW. It stores W in panels of productColumns columns each. The
// first entry of panel p is the diagonal entry p·productColumns of W.
type inverter struct {
	a, inv, scratch []float64
	n               int
}

// panel returns the panel whose first row has the number from.
func (f *inverter) panel(from int) []float64 {
	all := (f.n + productColumns - 1) / productColumns
	p := from / productColumns
	return f.scratch[p*(2*all-p+1)/2*productColumns*productColumns:]
}

// A square is a matrix of productColumns rows and columns.
type square [productColumns * productColumns]float64

// add multiplies a block of A by rows of a panel, and adds the product to c. The block has the rows
// i to end−1 and the columns k to k+depth−1 of A. Row r of A begins at a[r·inA]. The slice b holds
// the depth rows of the panel. The block has at most productColumns rows.
func (c *square) add(a []float64, inA, i, end, k int, b []float64, depth int) {
	for r := 0; i+r < end; r += productRows {
		if i+r+productRows <= end {
			addTile(c[r*productColumns:], productColumns, a[(i+r)*inA+k:], inA, b, depth)
			continue
		}
		for ; i+r < end; r++ { // four times the same row
			var tile [productRows * productColumns]float64
			copy(tile[:productColumns], c[r*productColumns:])
			addTile(tile[:], productColumns, a[(i+r)*inA+k:], 0, b, depth)
			copy(c[r*productColumns:], tile[:productColumns])
		}
	}
}

// invertRows computes the rows i of W with from ≤ i < end, given the rows before them.
func (f *inverter) invertRows(from, end int) {
	// This loop adds the terms of all rows of W above the block. It finishes one panel before the
	// next, so that the panel stays in the caches.
	for column := 0; column < from; column += productColumns {
		panel := f.panel(column)
		for i := from; i < end; i += productColumns {
			c := (*square)(panel[(i-column)*productColumns:])
			*c = square{}
			c.add(f.a, f.n, i, min(i+productColumns, end), column, panel, from-column)
		}
	}
	for i := from; i < end; i += productColumns {
		rows := min(i+productColumns, end)
		left := f.invertSquare(i, rows)
		for column := 0; column < i; column += productColumns {
			panel, k := f.panel(column), max(column, from)
			c := (*square)(panel[(i-column)*productColumns:])
			if column >= from {
				*c = square{}
			}
			if i > k {
				c.add(f.a, f.n, i, rows, k, panel[(k-column)*productColumns:], i-k)
			}
			var product square
			product.add(left[:], productColumns, 0, productColumns, 0, c[:], productColumns)
			*c = product
		}
	}
}

// invertSquare inverts the diagonal block of L with the rows i to end−1. It stores the inverse in
// the panel of these rows, and returns the inverse times −1.
func (f *inverter) invertSquare(i, end int) (negative square) {
	w := (*square)(f.panel(i))
	*w = square{}
	for r := range end - i {
		row := f.a[(i+r)*f.n+i:][:r]
		w[r*productColumns+r] = f.inv[i+r]
		for c := range r {
			s := 0.0
			for k := c; k < r; k++ {
				s += float64(row[k] * w[k*productColumns+c])
			}
			w[r*productColumns+c] = -s * f.inv[i+r]
		}
	}
	for k, v := range w {
		negative[k] = -v
	}
	return negative
}

// transpose writes Wᵀ to the upper triangle of a. In the squares on the diagonal, it also clears the
// lower triangle.
func (f *inverter) transpose() {
	for column := 0; column < f.n; column += productColumns {
		panel := f.panel(column)
		for q := range min(productColumns, f.n-column) {
			row := f.a[(column+q)*f.n+column : (column+q+1)*f.n]
			for k := range row {
				row[k] = panel[k*productColumns+q]
			}
		}
	}
}

// In the lower triangle of a, multiplyRows replaces each row i, where from ≤ i < end, by row i of
// WᵀW. The panel on the diagonal comes last, because its results overwrite entries of Wᵀ.
func (f *inverter) multiplyRows(from, end int) {
	for column := 0; column < end; column += productColumns {
		panel := f.panel(column)
		for i := max(from, column); i < end; i += productColumns {
			rows := min(i+productColumns, end)
			var c square
			c.add(f.a, f.n, i, rows, i, panel[(i-column)*productColumns:], f.n-i)
			for r := i; r < rows; r++ {
				copy(f.a[r*f.n+column:r*f.n+min(column+productColumns, r+1)], c[(r-i)*productColumns:])
			}
		}
	}
}
