package dense

import "testing"

// BenchmarkPeak measures two highest speeds of one core of this processor: additions and
// multiplications per second in products that stay in the cache, and bytes per second read and
// written outside the cache. The steps of the library report their own speeds, and --timings prints
// both next to each other.
func BenchmarkPeak(b *testing.B) {
	b.Run("operations", func(b *testing.B) {
		const rows, n = 256, 64
		x, g := make([]float64, rows*n), make([]float64, n*n)
		Fill(x, .5)
		for b.Loop() {
			clear(g)
			AddProducts(g, x, x, rows, n, n)
		}
		b.ReportMetric(rows*n*(n+1), "operations/op")
	})
	b.Run("bytes", func(b *testing.B) {
		const n = 8 << 20
		from, to := make([]float64, n), make([]float64, n)
		Fill(from, .5)
		for b.Loop() {
			copy(to, from)
		}
		b.ReportMetric(2*8*n, "moved-B/op")
	})
}
