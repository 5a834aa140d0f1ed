package synth_test

import (
	"testing"

	"cvgm/synth"
)

func BenchmarkSource(b *testing.B) {
	for name, src := range map[string]synth.Source{
		"NumPy":  synth.NewNumPy(0),
		"Stream": synth.NewStream(0, "bench"),
	} {
		b.Run(name+"/NormFloat64", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				src.NormFloat64()
			}
		})
		b.Run(name+"/Perm30", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				src.Perm(30)
			}
		})
	}
}

func BenchmarkMakeRegression(b *testing.B) {
	src := synth.NewStream(0, "bench")
	for b.Loop() {
		if _, _, err := synth.MakeRegression(src, synth.Regression{Samples: 1000, Features: 10, Noise: 100}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMakeRings(b *testing.B) {
	src := synth.NewStream(0, "bench")
	for b.Loop() {
		if _, err := synth.MakeRings(src, 1000, synth.Rings{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTorchLinear(b *testing.B) {
	w, bias := make([]float64, 64*64), make([]float64, 64)
	g := synth.NewTorch(0)
	b.ReportAllocs()
	for b.Loop() {
		g.Linear(w, bias)
	}
}
