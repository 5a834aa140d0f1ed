package synth_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	_ synth.Source = (*synth.Stream)(nil)
	_ synth.Source = (*synth.NumPy)(nil)
	_ synth.Source = (*rand.Rand)(nil)
)

// kolmogorov returns √n·sup|F_n − F| for a sample, which exceeds 1.95 with probability .001.
func kolmogorov(sample []float64, cdf func(float64) float64) float64 {
	slices.Sort(sample)
	n := float64(len(sample))
	var sup float64
	for i, x := range sample {
		p := cdf(x)
		sup = max(sup, p-float64(i)/n, float64(i+1)/n-p)
	}
	return sup * math.Sqrt(n)
}

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// chiSquare returns the standardised chi-square statistic of counts in equally likely cells. For
// many cells, it is nearly standard normal.
func chiSquare(counts []int) float64 {
	var total, sum float64
	for _, c := range counts {
		total += float64(c)
	}
	want := total / float64(len(counts))
	for _, c := range counts {
		sum += (float64(c) - want) * (float64(c) - want) / want
	}
	df := float64(len(counts) - 1)
	return (sum - df) / math.Sqrt(2*df)
}

func TestStreamDistributions(t *testing.T) {
	const n = 200_000
	for _, purpose := range []string{"", "splits", "weights"} {
		s := synth.NewStream(1, purpose)
		if k := kolmogorov(drawValues(n, s.Float64), func(x float64) float64 { return x }); k > 1.95 {
			t.Errorf("%q: uniform draws: Kolmogorov statistic %.2f", purpose, k)
		}
		z := drawValues(n, s.NormFloat64)
		var moments [5]float64
		for _, v := range z {
			for k := range moments {
				moments[k] += math.Pow(v, float64(k)) / n
			}
		}
		// The variances of the powers of a normal number are 1, 2, 15 and 96.
		for k, m := range []struct{ mean, variance float64 }{{0, 1}, {1, 2}, {0, 15}, {3, 96}} {
			if d := (moments[k+1] - m.mean) / math.Sqrt(m.variance/n); math.Abs(d) > 3.3 {
				t.Errorf("%q: moment %d of the normal draws is %.1f standard errors off", purpose, k+1, d)
			}
		}
		if k := kolmogorov(z, normalCDF); k > 1.95 {
			t.Errorf("%q: normal draws: Kolmogorov statistic %.2f", purpose, k)
		}

		counts := make([]int, 1000)
		for range n {
			counts[s.IntN(len(counts))]++
		}
		if c := chiSquare(counts); math.Abs(c) > 3.3 {
			t.Errorf("%q: IntN: chi-square %.2f", purpose, c)
		}
		orders := make(map[[5]int]int)
		for range n {
			orders[[5]int(s.Perm(5))]++
		}
		if len(orders) != 120 {
			t.Fatalf("%q: %d orders of 5 elements", purpose, len(orders))
		}
		counts = counts[:0]
		for _, c := range orders {
			counts = append(counts, c)
		}
		if c := chiSquare(counts); math.Abs(c) > 3.3 {
			t.Errorf("%q: Perm: chi-square %.2f", purpose, c)
		}
	}
}

// TestStreamsUnrelated checks that first draws of streams with similar seeds or purposes are
// independent.
func TestStreamsUnrelated(t *testing.T) {
	const n = 20_000
	for _, c := range []struct {
		what   string
		stream func(i int) *synth.Stream
	}{
		{"seeds", func(i int) *synth.Stream { return synth.NewStream(uint64(i), "data") }},
		{"high seeds", func(i int) *synth.Stream { return synth.NewStream(uint64(i)<<40, "data") }},
		{"purposes", func(i int) *synth.Stream { return synth.NewStream(0, strconv.Itoa(i)) }},
	} {
		first := make([]float64, n)
		var serial float64
		for i := range first {
			first[i] = c.stream(i).Float64()
			if i > 0 {
				serial += 12 * (first[i] - .5) * (first[i-1] - .5)
			}
		}
		if math.Abs(serial) > 3.3*math.Sqrt(n) {
			t.Errorf("%s: correlation of neighbours %.4f", c.what, serial/n)
		}
		if k := kolmogorov(first, func(x float64) float64 { return x }); k > 1.95 {
			t.Errorf("%s: Kolmogorov statistic %.2f", c.what, k)
		}
	}
}

// TestStreamBits fixes the bits of the numbers, because stored results depend on them.
func TestStreamBits(t *testing.T) {
	s := synth.NewStream(7, "golden")
	got := []uint64{math.Float64bits(s.Float64())}
	var mixed uint64
	for range 10_000 {
		mixed = mixed*31 + math.Float64bits(s.NormFloat64())
	}
	got = append(got, mixed, uint64(s.IntN(1<<30)))
	want := []uint64{4603158041914669086, 10518301105923741512, 386437951}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestGenerators checks properties that every generator has.
func TestGenerators(t *testing.T) {
	type generator interface {
		synth.Source
		IntN(n int) int
	}
	for name, make := range map[string]func(seed uint32) generator{
		"NumPy":  func(seed uint32) generator { return synth.NewNumPy(seed) },
		"Stream": func(seed uint32) generator { return synth.NewStream(uint64(seed), "test") },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				seed := rapid.Uint32().Draw(t, "seed")
				g, again := make(seed), make(seed)
				n := rapid.IntRange(0, 300).Draw(t, "n")
				p := g.Perm(n)
				if !slices.Equal(p, again.Perm(n)) {
					t.Fatal("two generators with one seed differ")
				}
				slices.Sort(p)
				for i := range p {
					if p[i] != i {
						t.Fatalf("no permutation of 0…%d", n-1)
					}
				}
				if u := g.Float64(); !(u >= 0 && u < 1) {
					t.Fatalf("uniform draw %v", u)
				}
				if z := g.NormFloat64(); !(math.Abs(z) < 13) {
					t.Fatalf("normal draw %v", z)
				}
				m := rapid.IntRange(1, math.MaxInt).Draw(t, "m")
				if i := g.IntN(m); i < 0 || i >= m {
					t.Fatalf("IntN(%d) = %d", m, i)
				}
			})
			for what, call := range map[string]func(){
				"IntN(0)":  func() { make(0).IntN(0) },
				"Perm(-1)": func() { make(0).Perm(-1) },
			} {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s did not panic", what)
						}
					}()
					call()
				}()
			}
		})
	}
}
