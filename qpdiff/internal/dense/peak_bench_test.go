package dense

import "testing"

// BenchmarkPeak measures the highest speeds of one core in operations per second and in bytes per
// second. The option --timings prints both next to the speeds of the library.
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
