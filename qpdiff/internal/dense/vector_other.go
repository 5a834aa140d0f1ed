//go:build !amd64

package dense

func subtractPairs(dst *float64, n int, a *float64, stride int, f *float64, pairs int) {
	panic("no vectors")
}

func gramTile(dst *float64, width int, a, b *float64, stride, groups int) { panic("no vectors") }

func dots(dst *float64, count int, a *float64, stride int, x *float64, n int) { panic("no vectors") }

func addRowsTo(dst *float64, n int, f, a *float64, stride, count int) { panic("no vectors") }

func forwardRows(x, l *float64, stride int, inv *float64, n int) { panic("no vectors") }

func backRows(x, l *float64, stride int, inv *float64, k int) { panic("no vectors") }

func rotateRows(rows *float64, stride, n int, cos, sin *float64, count int) { panic("no vectors") }

func descendBox(z, grad, q, steps, lo, hi *float64, n int) (met int) { panic("no vectors") }

func compareHalves(q *float64, n int) (largest float64, differ int) { panic("no vectors") }
