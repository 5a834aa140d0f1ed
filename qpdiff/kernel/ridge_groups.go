package kernel

import "cvgm/qpdiff/internal/dense"

// mostGrouped is the number of rows of the largest fold that is solved in a group. The matrices of a
// group of larger folds would not fit into the second-level cache.
const mostGrouped = 48

// A foldGroup is a set of up to dense.LaneCount folds of one family. The folds have equally many
// rows, and are solved in lanes.
type foldGroup struct {
	folds      [dense.LaneCount]int // the first one once more in each lane without a fold
	count      int
	a, dinv, x []float64 // the factors of G_VV, and the solutions, in lanes
}

// groupFolds puts the folds without separate factors in groups.
func (f *ridgeFolds) groupFolds() {
	f.groups = f.groups[:0]
	for k := range f.parts {
		p := &f.parts[k]
		p.ownFactor, p.grouped = false, !f.families[p.family].ownFactors && len(p.val) <= mostGrouped
		if !p.grouped {
			continue
		}
		at := len(f.groups)
		for at--; at >= 0; at-- {
			first := &f.parts[f.groups[at].folds[0]]
			if f.groups[at].count < dense.LaneCount && first.family == p.family && len(first.val) == len(p.val) {
				break
			}
		}
		if at < 0 {
			at = len(f.groups)
			f.groups = resized(f.groups, at+1)
			for lane := range f.groups[at].folds {
				f.groups[at].folds[lane] = k
			}
			f.groups[at].count = 0
		}
		f.groups[at].folds[f.groups[at].count] = k
		f.groups[at].count++
	}
}

// solve computes the factors of G_VV. It sets predicted of each fold to e = G_VV⁻¹·(G·y)_V. If G_VV
// is not positive definite, the fold gets a separate factor.
func (g *foldGroup) solve(l *kernelRidgeFit, f *ridgeFolds) {
	l.state.Stop.Look()
	y := &f.families[f.parts[g.folds[0]].family]
	if y.ownFactors {
		return
	}
	v := len(f.parts[g.folds[0]].val)
	g.a = dense.Grow(g.a, v*(v+1)*dense.LaneCount)
	dense.GrowAll(v*dense.LaneCount, &g.dinv, &g.x)
	var rows [dense.LaneCount][]int
	var e [dense.LaneCount][]float64
	for lane, k := range g.folds {
		p := &f.parts[k]
		p.predicted = dense.Grow(p.predicted, v)
		rows[lane], e[lane] = p.val, p.predicted
		dense.Gather(p.predicted, y.c, p.val)
	}
	dense.LaneGather(g.a, y.factor.a, len(l.rows), &rows, v)
	dense.LaneRows(g.a[v*dense.LaneCount:], v+1, &e, v)
	var pivots [dense.LaneCount]float64
	regular := dense.LDLLanes(g.a, g.dinv, g.x, &pivots, v, dense.Eps)
	dense.RowsOfLanes(&e, g.x, v)
	for lane, k := range g.folds {
		f.parts[k].ownFactor = regular>>lane&1 == 0
	}
}

// adjoint sets dst to G_VV⁻¹·s for each fold. The vectors of a fold begin at the place of its
// predictions. The slice x is scratch of mostGrouped·dense.LaneCount entries.
func (g *foldGroup) adjoint(f *ridgeFolds, dst, s, x []float64) {
	first := &f.parts[g.folds[0]]
	if f.families[first.family].ownFactors {
		return
	}
	v := len(first.val)
	var from, to [dense.LaneCount][]float64
	for lane, k := range g.folds {
		at := f.parts[k].place
		from[lane], to[lane] = s[at:at+v], dst[at:at+v]
	}
	dense.LaneRows(x, 1, &from, v)
	dense.LDLLanesSolve(g.a, g.dinv, x, v)
	dense.RowsOfLanes(&to, x, v)
}
