//go:build !amd64

package dense

func subtractPairs(dst *float64, n int, a *float64, stride int, f *float64, pairs int) {
	panic("no vectors")
}

func gatherUpper(dst *float64, stride int, m *float64, n int, r *float64, at *int, count int) {
	panic("no vectors")
}

func logisticTaylor(s, w, s0, w0, dm *float64, n int) { panic("no vectors") }

func logisticShort(s, w, s0, w0, dm *float64, n int) { panic("no vectors") }

func logisticLong(s, w, s0, w0, dm *float64, n int) { panic("no vectors") }

func logisticNext(s, w, s0, w0, dm *float64, n int) { panic("no vectors") }

func combine3(dst, v, z *float64, stride, n int) { panic("no vectors") }

func moments3(h, w, z *float64, stride, n int) { panic("no vectors") }

func products3(sums, s, z *float64, stride, n int) { panic("no vectors") }

func descendKinks(x, rest, m, r, up, lo *float64, n int) bool { panic("no vectors") }

func ldlSmall(a, dinv *float64, n, stride int, tol float64) int { panic("no vectors") }

func ldlForward(a, dinv *float64, n, stride int, x *float64) { panic("no vectors") }

func ldlBack(a, dinv *float64, n, stride int, x *float64) { panic("no vectors") }

func subtractPairsWide(dst *float64, n int, a *float64, stride int, f *float64, pairs int) {
	panic("no vectors")
}

func gramTileWide(dst *float64, width int, a, b *float64, stride, groups int) { panic("no vectors") }

func productTileWide(dst *float64, width int, a *float64, stride int, b *float64, depth int) {
	panic("no vectors")
}

func gramTile(dst *float64, width int, a, b *float64, stride, groups int) { panic("no vectors") }

func dot4(dst, a, b, c, d, x *float64, n int) { panic("no vectors") }

func add4Less(dst *float64, n int, f, a, b, c, d, e *float64) { panic("no vectors") }

func add4(dst *float64, n int, f, a, b, c, d *float64) { panic("no vectors") }

func productTile(dst *float64, width int, a *float64, stride int, b *float64, depth int) {
	panic("no vectors")
}

func productTileSingle(dst, a, b *float32, depth int) { panic("no vectors") }

func distances(dst *float64, count int, x *float64, n int, points *float64, stride int) {
	panic("no vectors")
}

func highest(dst, x, a, b *float64, n int) { panic("no vectors") }

func steepest(dst, terms, r, diagonal, row, a, b *float64, n int)             { panic("no vectors") }
func dots(dst *float64, count int, a *float64, stride int, x *float64, n int) { panic("no vectors") }

func addRowsTo(dst *float64, n int, f, a *float64, stride, count int) { panic("no vectors") }

func forwardRows(x, l *float64, stride int, inv *float64, n int) { panic("no vectors") }

func backRows(x, l *float64, stride int, inv *float64, k int) { panic("no vectors") }

func rotateRows(rows *float64, stride, n int, cos, sin *float64, count int) { panic("no vectors") }

func descendBox(z, grad, q, steps, lo, hi *float64, n int) (met int) { panic("no vectors") }

func compareHalves(q *float64, n int) (largest float64, differ int) { panic("no vectors") }

func laneRows(dst *float64, step int, a, b, c, d *float64, n int) { panic("no vectors") }

func rowsOfLanes(a, b, c, d, src *float64, n int) { panic("no vectors") }

func laneUpper(dst, a, b, c, d *float64, n int, r *float64, size int) { panic("no vectors") }

func ldlLanes(a, dinv, x, pivots *float64, n int, tol float64) (regular int) { panic("no vectors") }

func ldlLanesSolve(a, dinv, x *float64, n int) { panic("no vectors") }

func laneSums(sums, u, x *float64, n int) { panic("no vectors") }

func descendLanes(x, rest, m, r, bound *float64, n int, live *float64) (moved int) {
	panic("no vectors")
}

func prefetch(p *float64, lines int) { panic("no vectors") }

func splitRow(t, w, m, q *float64, n, k int) float64 { panic("no vectors") }

func appendRow(q, w, perp *float64, n int, inv float64) float64 { panic("no vectors") }

func normaliseRows(dst, scale, norm2, a *float64, stride, n, rows int) { panic("no vectors") }

func forwardRow(x, rhs, l *float64, stride int, inv *float64, n int) float64 { panic("no vectors") }

func cholesky(l *float64, stride int, inv *float64, n int, tol float64) int { panic("no vectors") }

func addListed(dst *float64, n int, f, a *float64, rows *int, count int) { panic("no vectors") }

func addWeightedSquares(dst *float64, count int, w, x *float64, n int, points *float64, stride int) {
	panic("no vectors")
}

func addPairSquares(sums, s *float64, count int, x *float64, n int, points *float64, stride int) {
	panic("no vectors")
}

func expNegatives(q *float64, count int) { panic("no vectors") }
