package experiment

import (
	"fmt"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"
)

// BenchmarkSearcher times whole searches of the contest on the paper's problem,
// what a searcher does between its evaluations included.
func BenchmarkSearcher(b *testing.B) {
	p := DefaultSearches()
	c, err := p.newContest(synth.NewStream(0, "elastic net: data"), synth.NewStream(0, "elastic net: splits"), 1)
	if err != nil {
		b.Fatal(err)
	}
	for k, e := range p.searchers(0) {
		b.Run(e.name, func(b *testing.B) {
			evaluations := 0
			for b.Loop() {
				// A source of random numbers serves one search.
				searcher := p.searchers(0)[k].searcher
				for _, err := range searcher.Search(p.problem(c, e), []float64{p.Start, p.Start}) {
					if err != nil {
						b.Fatal(err)
					}
					evaluations++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(evaluations), "ns/evaluation")
		})
	}
}

// BenchmarkDifferentiation times a ridge regression and its derivative by
// either kind of differentiation; what it allocates is what it keeps.
func BenchmarkDifferentiation(b *testing.B) {
	p := DefaultUnrolled()
	c, _, err := p.published()
	if err != nil {
		b.Fatal(err)
	}
	c.test = c.train // a test loss that costs next to nothing
	b.Run("implicit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := testGradient(c, &qpdiff.SmoothLearner{Objective: ridge}, []float64{p.Penalty}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("iterative/steps=%d", steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := testGradient(c, &qpdiff.Unrolled{Objective: ridge, Steps: steps}, []float64{p.Penalty, .4, 0}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
