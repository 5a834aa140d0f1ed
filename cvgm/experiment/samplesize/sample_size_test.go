package samplesize

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
)

func fewSizes() SampleSizeParams {
	p := DefaultSampleSize()
	p.MinSize, p.MaxSize, p.SizeStep, p.Seeds, p.Test, p.SmallSize = 8, 24, 8, 3, 200, 16
	p.K, p.Steps, p.NetworkSteps, p.AdamSteps = 16, 20, 20, 20
	p.RivalSizes, p.DecaySteps, p.LongSteps = []int{8, 16, 24}, 20, 20
	return p
}

func TestSampleSizesAreTheSameForAnyGOMAXPROCS(t *testing.T) {
	r := casetest.SameForAnyGOMAXPROCS(t, fewSizes().Run)
	if diff := cmp.Diff([]int{8, 16, 24}, r.Sizes); diff != "" || len(r.Failures) != 0 {
		t.Errorf("sizes, failures %v:\n%s", r.Failures, diff)
	}
	for k, m := range r.Methods {
		if m.Full.All.Difference.N != 9 || m.Published.Small.Difference.N != 6 || m.Mean[2].N != 3 {
			t.Errorf("%s: means over %d, %d and %d cells", m.Name, m.Full.All.Difference.N, m.Published.Small.Difference.N, m.Mean[2].N)
		}
		if k == SizeBayes && !(m.Full.All.Difference.Mean < 0) || k == SizeLogistic && !(m.Full.All.Difference.Mean > 0) {
			t.Errorf("CVGM less %s is %v", m.Name, m.Full.All.Difference.Mean)
		}
	}
	if c := r.Methods[SizeCVGMFull].Full.All; c.Difference.Mean != 0 || c.Wins != .5 {
		t.Errorf("CVGM against itself: %+v", c)
	}
}

// Failed cells are listed, and the other cells are computed. Fits to a single example fail, because
// the unpenalised intercept has no finite value for one class.
func TestFailingCellsAreNamedAndTheRestGoesOn(t *testing.T) {
	p := fewSizes()
	p.MinSize = 2
	var last atomic.Int64
	r, err := p.Run(t.Context(), experiment.Hooks{Progress: func(done, total int) {
		if done == total {
			last.Store(int64(total))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if last.Load() != 9 {
		t.Errorf("progress ends at %d of 9", last.Load())
	}
	if len(r.Failures) != 3 {
		t.Fatalf("failures %+v", r.Failures)
	}
	for seed, f := range r.Failures {
		if f.Size != 2 || f.Seed != seed || !strings.Contains(f.Problem, sizeMethods[SizeCVGMFull]) || !strings.Contains(f.Problem, "split 0") {
			t.Errorf("failure %+v", f)
		}
		if !math.IsNaN(r.Methods[SizeBayes].Accuracy[0][seed]) {
			t.Error("a failed cell has an accuracy")
		}
	}
	m := r.Methods[SizeAdam]
	if m.Mean[0].N != 0 || m.Mean[1].N != 3 || math.IsNaN(m.Full.All.Difference.Mean) || m.Full.All.Difference.N != 6 {
		t.Errorf("means with failures: %+v, %+v", m.Mean, m.Full)
	}

	p.MaxSize = 2
	if _, err := p.Run(context.Background(), experiment.Hooks{}); err == nil || !strings.Contains(err.Error(), "size 2, seed 0") || !strings.Contains(err.Error(), "intercept") {
		t.Errorf("where every cell fails: %v", err)
	}
}

func TestSampleSizesRefuseBadParams(t *testing.T) {
	for name, change := range map[string]func(*SampleSizeParams){
		"one example": func(p *SampleSizeParams) { p.MinSize = 1 },
		"no sizes":    func(p *SampleSizeParams) { p.MaxSize = 7 },
		"no step":     func(p *SampleSizeParams) { p.SizeStep = 0 },
		"no seeds":    func(p *SampleSizeParams) { p.Seeds = 0 },
		"no training": func(p *SampleSizeParams) { p.AdamSteps = -1 },
		"one ring":    func(p *SampleSizeParams) { p.InnerRadius = p.OuterRadius },
	} {
		p := fewSizes()
		change(&p)
		if _, err := p.Run(context.Background(), experiment.Hooks{}); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fewSizes().Run(ctx, experiment.Hooks{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func TestNetworkGradientAgainstDifferences(t *testing.T) {
	src := synth.NewStream(3, "network")
	d, err := synth.MakeRings(src, 12, synth.Rings{})
	if err != nil {
		t.Fatal(err)
	}
	net := newNetwork(kernels.KernelCVGM{Hidden: []int{5}}, learn.Data{X: d.X, Y: d.Y})
	x := make([]float64, net.numParams())
	net.init(x, src)
	grad := make([]float64, len(x))
	if _, err := net.Eval(grad, x); err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		value := func(h float64) float64 {
			x[i] = v + h
			defer func() { x[i] = v }()
			loss, err := net.Eval(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			return loss
		}
		const h = 1e-6
		casetest.Near(t, "derivative of the network's loss", grad[i], (value(h)-value(-h))/(2*h), 1e-9)
	}
	// The expected loss is computed from the same predictions.
	predictions := make([]float64, len(d.Y))
	if err := net.predict(x)(predictions, d.X); err != nil {
		t.Fatal(err)
	}
	var total float64
	for i, p := range predictions {
		total += math.Log1p(math.Exp(-d.Y[i]*p)) / float64(len(d.Y))
	}
	loss, err := net.Eval(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	casetest.Near(t, "loss of the predictions", total, loss, 1e-14)
}

// The expected points of f(x) = ½x² are computed by hand: .9; .9 − .1(1+.9); .71 − .1(1+.9+.71).
func TestAccumulatedGradientsByHand(t *testing.T) {
	parabola := func(grad, x []float64) (float64, error) {
		copy(grad, x)
		return floats.Dot(x, x) / 2, nil
	}
	for steps, want := range []float64{1, .9, .71, .449} {
		setup := experiment.Setup{Objective: accumulated(parabola), Start: []float64{1}}
		x, err := kernels.LastPoint(setup.Search(t.Context(), kernels.GradientDescent(.1, steps)))
		if err != nil {
			t.Fatal(err)
		}
		casetest.Near(t, "accumulated descent", x[0], want, 1e-15)
	}
}

func BenchmarkSampleSizeCell(b *testing.B) {
	p := DefaultSampleSize()
	for _, size := range []int{8, 60, 200} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.cell(context.Background(), size, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNetworkStep(b *testing.B) {
	src := synth.NewStream(1, "benchmark")
	d, err := synth.MakeRings(src, 60, synth.Rings{})
	if err != nil {
		b.Fatal(err)
	}
	net := newNetwork(kernels.KernelCVGM{Hidden: []int{64}}, learn.Data{X: d.X, Y: d.Y})
	x := make([]float64, net.numParams())
	net.init(x, src)
	grad := make([]float64, len(x))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := net.Eval(grad, x); err != nil {
			b.Fatal(err)
		}
	}
}

// The number of steps chosen by the held-out loss is less than half as large for random labels as
// for real labels.
func TestDecayIsChosenByHeldOutLoss(t *testing.T) {
	serial.Test(t)
	p := DefaultSampleSize()
	p.Hidden, p.DecaySteps, p.WeightDecays = []int{16}, 200, []float64{0, .03, 1}
	var signal, noise float64
	for seed := range 5 {
		stream := func(purpose string) *synth.Stream { return synth.NewStream(uint64(seed), "decay: "+purpose) }
		s, err := p.Examples(stream("training"), stream("test"), 40, 10)
		if err != nil {
			t.Fatal(err)
		}
		splits, err := cvgm.BalancedSplits(stream("splits"), 40, p.RivalK, p.RivalP)
		if err != nil {
			t.Fatal(err)
		}
		s.Start = make([]float64, newNetwork(p.KernelCVGM, s.Train).numParams())
		newNetwork(p.KernelCVGM, s.Train).init(s.Start, stream("weights"))
		choose := func() (float64, int) {
			decay, steps, err := p.chooseDecay(t.Context(), s, splits, search.Adam{StepSize: .01, MaxEvals: p.DecaySteps + 1, Epsilon: 1e-8, Tol: -1})
			if err != nil || !slices.Contains(p.WeightDecays, decay) || steps < 0 || steps > p.DecaySteps {
				t.Fatalf("decay %v, %d steps: %v", decay, steps, err)
			}
			return decay, steps
		}
		_, steps := choose()
		signal += float64(steps)
		src := stream("noise")
		for i := range s.Train.Y {
			s.Train.Y[i] = math.Copysign(1, src.NormFloat64())
		}
		_, steps = choose()
		noise += float64(steps)
	}
	if !(noise < signal/2) {
		t.Errorf("steps chosen for noise %v, for rings %v", noise, signal)
	}
}

// The rivals are measured at the sizes nearest to RivalSizes.
func TestRivalSizesAreTheNearest(t *testing.T) {
	p := DefaultSampleSize()
	for _, c := range []struct {
		asked, want []int
	}{{[]int{8, 12, 20, 100}, []int{8, 12, 20, 100}}, {[]int{1}, []int{8}}, {[]int{1e6, 2e6}, []int{200}}, {[]int{21, 23}, []int{20, 24}}} {
		p.RivalSizes = c.asked
		var got []int
		for n := p.MinSize; n <= p.MaxSize; n += p.SizeStep {
			if p.hasRivals(n) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.asked, got, c.want)
		}
	}
}

// The gradient of the penalty is the gradient of decay/2·‖x‖².
func TestDecayed(t *testing.T) {
	f := decayed(func(grad, x []float64) (float64, error) {
		if grad != nil {
			grad[0], grad[1] = 3, 0
		}
		return 3 * x[0], nil
	}, .5)
	grad := make([]float64, 2)
	if loss, err := f(grad, []float64{2, -4}); err != nil || loss != 6+.25*20 || grad[0] != 4 || grad[1] != -2 {
		t.Errorf("%v %v %v", loss, grad, err)
	}
}

// A rival with quadratic features reaches the accuracy of the Bayes rule with many examples,
// because its boundary has the same form. The rivals are not measured at other sizes.
func TestRivalsOfManyExamples(t *testing.T) {
	p := DefaultSampleSize()
	p.MinSize, p.MaxSize, p.SizeStep, p.Seeds, p.K, p.Steps = 12, 212, 200, 2, 2, 1
	p.RivalSizes, p.LongSteps, p.DecaySteps, p.RivalEvaluations, p.RandomFeatures = []int{212}, 1, 1, 10, 8
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil || len(r.Failures) > 0 {
		t.Fatal(err, r.Failures)
	}
	const scatter = .03 // two standard deviations of an accuracy on 1000 test examples
	for k, m := range r.Methods[SizeQuadratic:] {
		if m.Mean[0].N != 0 || m.Mean[1].N != 2 {
			t.Errorf("%s: %+v", sizeMethods[SizeQuadratic+k], m.Mean)
		}
	}
	if q, bayes := r.Methods[SizeQuadratic].Mean[1].Mean, r.Methods[SizeBayes].Mean[1].Mean; !(q > bayes-scatter) || !(r.Methods[SizeLogistic].Mean[1].Mean < .7) {
		t.Errorf("quadratic features %v, Bayes rule %v", q, bayes)
	}
	if r.Overfitting[0].N != 0 || r.Overfitting[1].N != 2 {
		t.Errorf("%+v", r.Overfitting)
	}
}
