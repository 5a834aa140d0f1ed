//go:build !amd64

package dense

func subtractPairs(dst *float64, n int, a *float64, stride int, f *float64, pairs int) {
	panic("no vectors")
}

func gramTile(dst *float64, width int, a, b *float64, stride, groups int) { panic("no vectors") }

func dot4(dst, a *float64, stride int, x *float64, n int) { panic("no vectors") }

func add4(dst *float64, n int, f, a *float64, stride int) { panic("no vectors") }

func productTile(dst *float64, width int, a *float64, stride int, b *float64, depth int) {
	panic("no vectors")
}

func distances(dst *float64, count int, x *float64, n int, points *float64, stride int) {
	panic("no vectors")
}

func highest(dst, x, a, b *float64, n int) { panic("no vectors") }

func steepest(dst, terms, r, diagonal, row, a, b *float64, n int) { panic("no vectors") }
