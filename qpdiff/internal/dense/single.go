package dense

import "cvgm/qpdiff/internal/stop"

// singleColumns is the number of columns of a tile of float32 numbers. Such a tile has productRows
// rows.
const singleColumns = 16

// GramSingle sets the lower triangle of g to A·diag(root)²·Aᵀ, for the n×width matrix A whose row i
// begins at a[i·stride]. It computes with float32 numbers, in half the time of AddGram. Each
// unit[i] is a power of two, and at least as large as the absolute value of every entry in row i of
// A·diag(root). The error of entry (i, j) of g is about 1e-6 times the product of the norms of rows
// i and j, however large the units are. The slice scratch has GramSingleWork entries. GramSingle
// stops early if the context of stopper has ended.
func GramSingle(stopper *stop.Stop, g []float64, n int, a []float64, stride, width int, root, unit []float64, scratch []float32) {
	for i := range n {
		clear(g[i*n : i*n+i+1])
	}
	for from := 0; from < width; from += blockDepth {
		depth := min(blockDepth, width-from)
		packSingle(scratch, n, a[from:], stride, root[from:from+depth], unit)
		for j := 0; j < n; j += singleColumns {
			stopper.Look()
			b := scratch[j*depth:]
			for i := j; i < n; i += productRows {
				var tile [productRows * singleColumns]float32
				first := i % singleColumns
				singleTile(&tile, scratch[(i-first)*depth+first:], b, depth)
				for r := range min(productRows, n-i) {
					row := g[(i+r)*n+j : (i+r)*n+min(j+singleColumns, i+r+1)]
					for q, v := range tile[r*singleColumns:][:len(row)] {
						row[q] += float64(v)
					}
				}
			}
		}
	}
	for i := range n {
		for j, v := range g[i*n : i*n+i+1] {
			g[i*n+j] = v * unit[i] * unit[j]
		}
	}
}

// GramSingleWork returns the length of the scratch that GramSingle needs for n rows.
func GramSingleWork(n int) int {
	return (n + singleColumns - 1) / singleColumns * singleColumns * blockDepth
}

// packSingle sets dst to the first columns of A·diag(root). It packs singleColumns rows of A as one
// group, and divides each row by the row's unit. It fills the last group with zeros.
func packSingle(dst []float32, n int, a []float64, stride int, root, unit []float64) {
	depth := len(root)
	for i := 0; i < n; i += singleColumns {
		group := dst[i*depth : (i+singleColumns)*depth]
		for q := range singleColumns {
			if i+q >= n {
				for t := range depth {
					group[t*singleColumns+q] = 0
				}
				continue
			}
			inverse := 1 / unit[i+q]
			row := a[(i+q)*stride:][:depth]
			for t, w := range root {
				group[t*singleColumns+q] = float32(row[t] * w * inverse)
			}
		}
	}
}

// singleTile calls productTileSingle, which is written in assembly. Without vector units it
// computes the same sums in Go.
func singleTile(tile *[productRows * singleColumns]float32, a, b []float32, depth int) {
	_, _ = a[(depth-1)*singleColumns+productRows-1], b[depth*singleColumns-1]
	if vectors {
		productTileSingle(&tile[0], &a[0], &b[0], depth)
		return
	}
	for t := range depth {
		columns := b[t*singleColumns:][:singleColumns]
		for r, f := range a[t*singleColumns:][:productRows] {
			sums := tile[r*singleColumns:][:singleColumns]
			for q, v := range columns {
				sums[q] += float32(f * v)
			}
		}
	}
}
