package equal_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/equal"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/learn"
)

// countingMatrix counts the comparisons of columns.
type countingMatrix struct {
	equal.Matrix
	n int
}

func (c *countingMatrix) Alike(first, k int, sign, tol float64) bool {
	c.n++
	return c.Matrix.Alike(first, k, sign, tol)
}

// columnsOf returns the centred and scaled columns of x, weighted with the roots of the rows'
// weights.
func columnsOf(x *numtest.Stored, centre, scale, root []float64) *sparse.Columns {
	c := new(sparse.Columns)
	c.Load(learn.Data{X: x, Centre: centre, Scale: scale}, root)
	return c
}

// Projections distinguish columns with few entries of one size.
func TestRareColumns(t *testing.T) {
	const rows, n = 300, 3000
	rng := rand.New(rand.NewPCG(1, 41))
	x := &numtest.Stored{Rows: rows, Columns: n, Index: make([][]int, rows), Value: make([][]float64, rows)}
	repeats := map[[3]int]int{}
	for j := range n {
		at := rng.Perm(rows)[:3]
		slices.Sort(at)
		for _, i := range at {
			x.Index[i], x.Value[i] = append(x.Index[i], j), append(x.Value[i], 1)
		}
		repeats[[3]int(at)]++
	}
	m := &countingMatrix{Matrix: columnsOf(x, nil, nil, slices.Repeat([]float64{1}, rows)).Compare()}
	if c := equal.Find(rows, n, m); m.n != n-len(repeats) || c == nil && len(repeats) < n {
		t.Errorf("%d comparisons of %d columns, %d of them different", m.n, n, len(repeats))
	}
}

// Sparse columns have the classes that their dense copies have.
func TestFindSparse(t *testing.T) {
	pairs := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 42))
		rows, distinct := 1+rng.IntN(20), 1+rng.IntN(8)
		few := numtest.DrawStored(rng, rows, distinct)
		n := 2*distinct + 1
		x := &numtest.Stored{Rows: rows, Columns: n, Index: make([][]int, rows), Value: make([][]float64, rows)}
		of, unit := make([]int, n), make([]float64, n)
		centre, scale := make([]float64, n), make([]float64, n)
		own := numtest.Normals(rng, distinct)
		for j := range n {
			of[j], unit[j], scale[j] = rng.IntN(distinct), math.Copysign(math.Exp2(float64(rng.IntN(400)-200)), rng.NormFloat64()), 3
			centre[j] = unit[j] * own[of[j]]
			scale[j] = math.Abs(unit[j])
			if rng.IntN(3) == 0 {
				of[j] = -1 // zeros
				centre[j] = 0
			}
		}
		if rng.IntN(2) == 0 {
			centre = nil
		}
		dense := few.Seen(nil, nil)
		for i := range rows {
			for j, k := range of {
				v := 0.0
				if k >= 0 {
					v = unit[j] * dense.At(i, k)
				}
				if v != 0 || rng.IntN(4) == 0 {
					x.Index[i], x.Value[i] = append(x.Index[i], j), append(x.Value[i], v)
				}
			}
		}
		root := slices.Repeat([]float64{1}, rows)
		if rng.IntN(2) == 0 {
			for i := range root {
				root[i] = rng.ExpFloat64()
			}
		}
		if rng.IntN(2) == 0 {
			root[rng.IntN(rows)] = 0
		}
		seen := x.Seen(centre, scale)
		c := equal.Find(rows, n, columnsOf(x, centre, scale, root).Compare())
		alike := func(j, k int, sign float64) bool {
			size, off := 0.0, 0.0
			for i, r := range root {
				a, b := 0.0, 0.0
				if a = r * seen.At(i, j); k >= 0 {
					b = r * sign * seen.At(i, k)
				}
				size, off = max(size, math.Abs(a)), max(off, math.Abs(a-b))
			}
			return off <= 1e-14*size
		}
		for j := range n {
			want, sign := j, 1.0
			for k := range j {
				if alike(j, k, 1) || alike(j, k, -1) {
					want = k
					if !alike(j, k, 1) {
						sign = -1
					}
					pairs++
					break
				}
			}
			if alike(j, -1, 1) {
				want = -1
			}
			got, gotSign := j, 1.0
			if c != nil {
				got, gotSign = c.First[j], c.Sign[j]
			}
			if got != want || got >= 0 && gotSign != sign {
				t.Fatalf("seed %d: column %d is like %d with the sign %v, not %d, %v, of %v", seed, j, got, gotSign, want, sign, seen)
			}
		}
	}
	if pairs < 300 {
		t.Error(pairs, "pairs of equal columns")
	}
}
