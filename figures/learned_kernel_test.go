package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Every output of the learned kernels can be drawn from small and unusual results.
func TestLearnedKernelOutputs(t *testing.T) {
	for name, change := range map[string]func(p *kernels.LearnedKernel){
		"small": func(p *kernels.LearnedKernel) {},
		"one step": func(p *kernels.LearnedKernel) {
			p.Seed, p.Steps, p.Train, p.Test, p.ManifoldSteps = 5, 1, 20, 10, []int{0, 1}
		},
		"data off the grid": func(p *kernels.LearnedKernel) {
			p.Seed, p.GridHalf, p.GridPoints, p.ManifoldSteps = 2, .5, 2, []int{2}
		},
		"weights that blow up": func(p *kernels.LearnedKernel) { p.StepSize, p.Steps = 1e3, 4 },
	} {
		t.Run(name, func(t *testing.T) {
			p, q := kernels.DefaultRings(), kernels.DefaultXOR()
			for _, p := range []*kernels.LearnedKernel{&p.LearnedKernel, &q.LearnedKernel} {
				p.Train, p.Test, p.K, p.Steps, p.GridPoints = 40, 30, 16, 2, 9
				change(p)
			}
			r, x := mustRun[*kernels.RingsResult](t)(p.Run(t.Context(), experiment.Hooks{})), mustRun[*kernels.XORResult](t)(q.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{
				"rings_variants": chart.FormatFull(r.LearnedKernelResult.Run(kernels.FullPenalised).LastLoss()),
				"rings_bayes":    chart.FormatFull(r.Bayes.Population),
				"rings_manifold": chart.FormatFull(r.LearnedKernelResult.Run(kernels.Full).Manifolds[0].Phi[0][0]),
			})
			testOutputs(t, x, map[string]string{
				"xor_variants":      chart.FormatFull(x.LearnedKernelResult.Run(kernels.Detached).FinalAccuracy()),
				"xor_variants_path": chart.FormatFull(x.LearnedKernelResult.Run(kernels.Published).CVLoss[1]),
			})
			// The captions state that the published variant differs at its start by the penalty of the
			// intercept alone.
			for _, r := range []*kernels.LearnedKernelResult{&r.LearnedKernelResult, &x.LearnedKernelResult} {
				if a, b := r.Run(kernels.Published), r.Run(kernels.DetachedPenalised); a.Accuracy[0] != b.Accuracy[0] || a.CVLoss[0] != b.CVLoss[0] {
					t.Errorf("the published start has the accuracy %v and the CV loss %v, want %v and %v", a.Accuracy[0], a.CVLoss[0], b.Accuracy[0], b.CVLoss[0])
				}
			}
			// The accuracies are beside the accuracy of the Bayes rule on the same examples.
			for _, row := range Rings.Variants(&r.LearnedKernelResult, p.K).Panels {
				if at := slices.IndexFunc(row[1].Series, func(s chart.Series) bool { return s.Name == "Bayes rule, these examples" }); at < 0 || row[1].Series[at].Ends(row[1].Axes())[0][1] != r.Bayes.Test {
					t.Errorf("panel %q has no line at %v", row[1].Name, r.Bayes.Test)
				}
			}
			// The boundary of the Bayes rule is its circle.
			for _, s := range Rings.Boundary(&r.LearnedKernelResult).Panels[0][0].Series {
				if s.Name == "Bayes rule" {
					for _, v := range slices.Concat(s.Stretches...) {
						if d := math.Hypot(v[0], v[1]); math.Abs(d-1.5) > .1 { // the grid is coarse
							t.Errorf("the Bayes boundary passes at distance %v", d)
						}
					}
				}
			}
		})
	}
}

// The pictures of the kernel's manifold have both classes, for any order of the examples.
func TestManifoldsHaveBothClasses(t *testing.T) {
	for name, class := range map[string]func(i int) bool{"sorted": func(i int) bool { return i < 500 }, "alternating": func(i int) bool { return i%2 == 0 }, "few of one": func(i int) bool { return i < 3 }} {
		labels := make([]float64, 1000)
		for i := range labels {
			labels[i] = map[bool]float64{true: -1, false: 1}[class(i)]
		}
		counts := make(map[float64]int)
		for _, i := range evenly(labels, 200) {
			counts[labels[i]]++
		}
		if want := map[bool]int{true: 3, false: 200}[name == "few of one"]; counts[-1] != want || counts[1] != 200 {
			t.Errorf("%s: %v", name, counts)
		}
	}
}

// An example of XOR has a colour if the corners make its label certain. All examples of the rings
// have one.
func TestOnlyCertainExamplesHaveAColour(t *testing.T) {
	p := kernels.DefaultXOR()
	p.Train, p.Test, p.K, p.Steps, p.GridPoints = 40, 300, 4, 1, 121
	x := mustRun[*kernels.XORResult](t)(p.Run(t.Context(), experiment.Hooks{}))
	for f, tints := range map[*Figure]int{XOR.Boundary(&x.LearnedKernelResult): 4, Rings.Boundary(&x.LearnedKernelResult): 0} {
		if svg, err := f.SVG(); err != nil || strings.Count(string(svg), "<image ") != tints {
			t.Errorf("%s has not %d tinted regions: %v", f.Name, tints, err)
		}
	}
	edge := p.Overlap * p.Scale
	for i, label := range XOR.certainLabels(&x.LearnedKernelResult) {
		a, b := math.Abs(x.Test.X.At(i, 0)), math.Abs(x.Test.X.At(i, 1))
		if math.Abs(min(a, b)-edge) > .1 && (label != 0) != (min(a, b) > edge) {
			t.Errorf("the example at (%.2f, %.2f) has the label %v", a, b, label)
		}
		if Rings.certainLabels(&x.LearnedKernelResult)[i] == 0 {
			t.Error("an example of the rings has no label")
		}
	}
}

// Each number of splits has a mark for every size and a mark for all sizes, and no mark is at the
// place of another.
func TestAblationMarksAreApart(t *testing.T) {
	r := new(samplesize.AblationResult)
	p := &r.Params.Rings
	p.Sizes, p.Ks, p.Budgets = []int{8, 20}, []int{4, 16, 64}, []int{30, 100}
	for range p.Ks {
		for range p.Budgets {
			r.Rings = append(r.Rings, experiment.Comparison{Difference: experiment.Estimate{Mean: .02, Margin: .01, N: 3}})
		}
	}
	for _, k := range p.Ks {
		for _, n := range p.Sizes {
			for _, b := range p.Budgets {
				r.Rows = append(r.Rows, samplesize.AblationRow{Train: n, K: k, Budget: b, CVLessTraining: experiment.Comparison{Difference: experiment.Estimate{Mean: .01, Margin: .01, N: 3}}})
			}
		}
	}
	for _, panel := range AblationBySize(r).Panels[0] {
		places := make(map[float64]bool)
		for _, s := range panel.Series {
			if strings.HasSuffix(s.Name, "splits") {
				points := slices.Concat(s.Stretches...)
				for i, v := range points {
					places[v[0]] = true
					if want := map[bool]float64{false: 1, true: 2}[i == len(p.Sizes)]; v[1] != want {
						t.Errorf("panel %q: %s: mark %d is at %v, want %v", panel.Name, s.Name, i, v[1], want)
					}
				}
			}
		}
		if want := len(p.Ks) * (len(p.Sizes) + 1); len(places) != want {
			t.Errorf("panel %q has marks at %d places, want %d", panel.Name, len(places), want)
		}
	}
}

func TestSampleSizeOutputs(t *testing.T) {
	for name, change := range map[string]func(p *samplesize.SampleSizeParams){
		"one seed":  func(p *samplesize.SampleSizeParams) { p.Seeds = 1 },
		"two seeds": func(p *samplesize.SampleSizeParams) { p.Seeds = 2 },
		"one size":  func(p *samplesize.SampleSizeParams) { p.MinSize, p.MaxSize, p.Seeds = 9, 11, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			p := samplesize.DefaultSampleSize()
			p.MinSize, p.MaxSize, p.SizeStep, p.Test, p.K, p.Steps, p.NetworkSteps, p.AdamSteps = 2, 20, 6, 50, 8, 2, 2, 2
			change(&p)
			r := mustRun[*samplesize.Result](t)(p.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{"sample_size": chart.FormatFull(r.Methods[samplesize.SizeAdam].Mean[len(r.Sizes)-1].Mean)})
			at := func(size int) string { return "Adam\"," + chart.FormatFull(math.Log10(float64(size))) + "," }
			if csv := SampleSizeCurves(r).CSV(); strings.Contains(csv, at(2)) || !strings.Contains(csv, at(r.Sizes[len(r.Sizes)-1])) {
				t.Errorf("accuracies of every size but the failed one are expected:\n%s", csv)
			}
			note := SampleSizeTable(r).Note
			if failed := p.MinSize == 2; failed != strings.Contains(note, "Failed") || failed && !strings.Contains(note, fmt.Sprintf("size 2, seed %d", p.Seeds-1)) {
				t.Errorf("the note does not name the failed cells: %q", note)
			}
		})
	}
}

// Neighbouring sizes are pooled if the larger ones are at most a third larger. Few examples are not
// pooled with more.
func TestSizeGroups(t *testing.T) {
	r := &samplesize.Result{Sizes: []int{6, 8, 9, 12, 16, 17}, Params: samplesize.SampleSizeParams{SmallSize: 8}}
	if got, want := sizeGroups(r), [][]int{{0, 1}, {2, 3}, {4, 5}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the groups are %v, want %v", got, want)
	}
	a, b := [][]float64{{1, 2}, {math.NaN(), 6}}, [][]float64{{1, 1}, {0, 2}}
	if e := pooledSizes([][]int{{0, 1}}, a, b)[0]; e.N != 3 || math.Abs(e.Mean-5./3) > 1e-15 {
		t.Errorf("the mean of the differences 0, 1 and 4 is %v", e)
	}
}

// One panel with a much larger range than the others has axes of its own. The others share theirs.
func TestRivalsShareAxes(t *testing.T) {
	r := &samplesize.Result{Sizes: []int{8, 20}, Overfitting: []experiment.Estimate{{N: 2}, {N: 2}}, Methods: make([]samplesize.SizeMethod, samplesize.SizeQuadratic)}
	for k, lead := range []float64{.01, .3, .02} {
		at := experiment.Estimate{Mean: lead, Margin: .01, N: 2}
		r.Methods = append(r.Methods, samplesize.SizeMethod{Name: strconv.Itoa(k), Full: samplesize.SizeComparison{BySize: []experiment.Estimate{at, at}}})
	}
	f := SampleSizeRivals(r)
	if title, want := f.Panels[0][0].Plot.Title.Text, "0\nwith 20 examples: 1.00 ± 1.00"; title != want {
		t.Errorf("the title is %q, want %q", title, want)
	}
	var axes []chart.Box
	f.LayOut(draw.New(vgsvg.New(f.Width, f.Height)), func(p *Panel, _ draw.Canvas, box chart.Box) { axes = append(axes, box) })
	if axes[0] != axes[2] || axes[0].Ymax > 10 || axes[1].Ymax < 30 {
		t.Errorf("the axes are %v", axes)
	}
}

// The end of a line that stops before the last step is arbitrary, so its title has the step. The
// caption explains the cross only if a line stops.
func TestLinesThatStop(t *testing.T) {
	run := kernels.Run{Variant: kernels.Detached, CVLoss: []float64{.7, .6, .5}, Accuracy: []float64{.5, .6, .7}, Cosine: []float64{1, .5, .25}, Perturbed: []float64{.7, .6, .5}}
	for k, want := range []string{"CV loss: 0.700 → 0.500", "CV loss: 0.700, stops at step 1"} {
		stop := k > 0
		if stop {
			run.Perturbed = []float64{.7, .6, .4}
		}
		f := XOR.Variants(&kernels.LearnedKernelResult{Runs: []kernels.Run{run}, Bayes: kernels.BayesAccuracy{Test: .708, Population: .7222}}, 16)
		if got := f.Panels[1][0].Plot.Title.Text; got != want {
			t.Errorf("the title is %q, want %q", got, want)
		}
		if strings.Contains(f.Panels[1][1].Plot.Title.Text, "Bayes") == stop || strings.Contains(f.Caption, "×") != stop {
			t.Errorf("stops: %v; title %q, caption %q", stop, f.Panels[1][1].Plot.Title.Text, f.Caption)
		}
		if want := "0.851 for the Bayes rule, which has 0.722 over the population and 0.708 on these"; !strings.Contains(f.Caption, want) || !strings.Contains(f.Caption, "K = 16 ") {
			t.Errorf("no %q in %q", want, f.Caption)
		}
	}
}
