package figures

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/stability"
	"cvgm/figures/internal/chart"
)

// Every output of differentiability can be drawn from small and unusual results and contains their
// numbers.
func TestDifferentiabilityOutputs(t *testing.T) {
	for _, c := range []struct {
		name                                 string
		draw                                 int
		train, features                      int
		noise, flips                         float64
		points, k, evaluations, grid, losses int
		test                                 int
	}{
		{"small", 0, 40, 6, .5, .1, 31, 8, 6, 4, 2, 100},
		{"smallest", 3, 8, 3, .5, .1, 2, 8, 1, 2, 1, 5},
		{"noisy", 8, 30, 6, 5, .4, 31, 8, 6, 4, 2, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			derivatives, path, limit := differentiability.DefaultDerivatives(), differentiability.DefaultSolutionPaths(), differentiability.DefaultDifferentiabilityLimits()
			erratum, learn := differentiability.DefaultErrata(), differentiability.DefaultLearning()
			for _, p := range []*differentiability.LinearExamples{&derivatives.LinearExamples, &path.LinearExamples, &limit.LinearExamples, &erratum.LinearExamples, &learn.LinearExamples} {
				p.Draw, p.Train, p.Features, p.Noise = c.draw, c.train, c.features, c.noise
			}
			path.PathPoints, derivatives.K, limit.K, limit.DataSets, erratum.Test = c.points, c.k, c.k, c.losses, c.test
			learn.K, learn.Test, learn.Flips, learn.Evaluations, learn.GridPoints, learn.LossSeeds = c.k, c.test, c.flips, c.evaluations, c.grid, c.losses

			checks := mustRun[*differentiability.DerivativeChecks](t)(derivatives.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, checks, map[string]string{
				"derivative_errors": chart.FormatFull(math.Log10(checks.Checks[0].Errors()[0])),
				"derivative_checks": chart.FormatFull(checks.Checks[3].VJP),
			})
			paths := mustRun[*differentiability.SolutionPaths](t)(path.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, paths, map[string]string{"solution_paths": chart.FormatFull(paths.Paths[2].Value[movingEntries(paths.Paths[2])[0]][1])})
			testLegendOfPaths(t, SolutionPaths(paths))
			limits := mustRun[*differentiability.Limits](t)(limit.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, limits, map[string]string{
				"differentiability_kinks":   chart.FormatFull(limits.ElasticNet.Left),
				"differentiability_limits":  chart.FormatFull(math.Log10(limits.Ridge.Twice[0])),
				"differentiability_answers": limits.Ridge.TwiceRefusal,
			})
			errata := mustRun[*differentiability.ErrataResult](t)(erratum.Run(t.Context(), experiment.Hooks{}))
			stability := &stability.Result{Learners: []stability.Learner{{Name: "ridge", Hyper: "λ2", At: []float64{1},
				Parts: []stability.Parts{{Risk: experiment.Estimate{Mean: 7}, Delta: experiment.Estimate{Mean: .25}}}}}}
			testOutputs(t, errata, map[string]string{
				"incomplete_jacobian": chart.FormatFull(errata.Jacobian.Data.X.At(0, 0)),
				"jacobian_errors":     chart.FormatFull(errata.Jacobian.Cosine),
				"errata":              "as printed 7.250",
			}, func(r *differentiability.ErrataResult) Output { return ErrataTable(r, stability) })
			if rows := ErrataTable(errata, nil).Rows; len(rows) != 20 || slices.ContainsFunc(rows, func(r []any) bool { return strings.Contains(r[0].(string), "Stability") }) {
				t.Errorf("without the stability's result the errata are %v", rows)
			}
			learning := mustRun[*differentiability.Learning](t)(learn.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, learning, map[string]string{
				"learning_paths":    chart.FormatFull(learning.Runs[2].CVLoss[0]),
				"learning":          chart.FormatFull(learning.Runs[0].Lowest),
				"learned_loss":      chart.FormatFull(learning.Loss.Alpha[0][0]),
				"learned_loss_gain": chart.FormatFull(learning.Loss.Methods[2].Test.Mean),
			})
		})
	}
}

// The legend of the paths has each coordinate and each example once, and all panels show these. So a
// colour has one meaning in all panels.
func testLegendOfPaths(t *testing.T, f *Figure) {
	t.Helper()
	inLegend := make(map[string]color.NRGBA)
	for _, e := range f.Entries {
		inLegend[e.Name] = e.Style.Color
	}
	for _, p := range slices.Concat(f.Panels...) {
		for _, s := range p.Series {
			name, _, marks := strings.Cut(s.Name, ",")
			if strings.HasPrefix(name, "θ") {
				name = chart.Subscripted(name)
			}
			if _, listed := inLegend[name]; !listed && !marks {
				t.Errorf("panel %q: the legend lacks %q", p.Name, s.Name)
			}
		}
	}
	if len(inLegend) != len(f.Entries) {
		t.Errorf("the legend repeats a name: %v", f.Entries)
	}
}

// A panel with too many dual variables shows the variables that move over the longest parts of the
// path.
func TestPathsShowWhatMoves(t *testing.T) {
	s := differentiability.SolutionPath{Name: "dual variables", Hyper: "λ1", At: []float64{1, 2, 3}}
	slopes := [][]float64{{0, 0, 1e-14}, {1, 0, 0}, {math.NaN(), 1, -1}, {0, 0, 0}, {2, 2, 2}, {1, -1, 0}, {0, 0, 0}}
	for k, slope := range slopes {
		s.Entries, s.Slope = append(s.Entries, "example "+string(rune('a'+k))), append(s.Slope, slope)
		s.Value = append(s.Value, []float64{1, 0, 1})
	}
	if got := movingEntries(s); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("the entries %v move", got)
	}
}

// A line of errors is named, at its right end, if it crosses a kink or belongs to a linear solution.
func TestNamedDerivativeErrors(t *testing.T) {
	r := &differentiability.DerivativeChecks{Steps: []float64{.1, .01, .001}}
	for input, errors := range map[string][]float64{"smooth": {1e-2, 1e-4, 1e-6}, "linear": {1e-15, 1e-14, 1e-13}, "kink": {.5, 1e-6, 1e-8}} {
		check := differentiability.DerivativeCheck{Example: "e", Input: input, VJP: 1}
		for _, e := range errors {
			check.Difference = append(check.Difference, 1+e)
		}
		r.Checks = append(r.Checks, check)
	}
	named := map[string]float64{}
	f := DerivativeErrors(r, nil)
	if want := "All lines of correct derivatives fall with the guide of rounding, typically to 10⁻⁶. "; !strings.HasPrefix(f.Caption, want) {
		t.Errorf("the caption does not begin with the lowest error of the smooth line: %q", f.Caption)
	}
	for _, l := range f.Panels[0][0].DirectLabels() {
		named[l.Name] = l.End[0]
	}
	if at := math.Log10(r.Steps[0]); len(named) != 2 || named["linear"] != at || named["kink"] != at {
		t.Errorf("the names are at %v, want those of the linear line and of the kink at %v", named, at)
	}
}

// With the errata, the first panel has a level at the error of the paper's Jacobian, and the legend
// explains it. Without them, neither the figure nor its caption mentions a wrong derivative.
func TestLevelOfAWrongDerivative(t *testing.T) {
	r := &differentiability.DerivativeChecks{Steps: []float64{.1, .01}}
	for _, example := range []string{"logistic regression", "elastic net"} {
		r.Checks = append(r.Checks, differentiability.DerivativeCheck{Example: example, Input: "X", VJP: 1, Difference: []float64{1.1, 1.01}})
	}
	var errata differentiability.ErrataResult
	errata.Jacobian.PrintedError = .01
	for _, e := range []*differentiability.ErrataResult{nil, &errata} {
		f := DerivativeErrors(r, e)
		for k, p := range f.Panels[0] {
			want := e != nil && k == 0
			level := slices.ContainsFunc(p.Series, func(s chart.Series) bool {
				ends := s.Ends(p.Axes())
				return len(ends) == 2 && ends[0][1] == -2 && ends[1][1] == -2
			})
			if level != want || (len(p.Notes) > 0) != want {
				t.Errorf("panel %q: level %v and notes %v, want %v", p.Name, level, p.Notes, want)
			}
		}
		listed := slices.ContainsFunc(f.Entries, func(e LegendEntry) bool { return strings.HasPrefix(e.Name, "wrong") })
		if listed != (e != nil) || strings.Contains(f.Caption, "wrong") != (e != nil) {
			t.Errorf("with errata %v: wrong in the legend %v, in the caption %q", e != nil, listed, f.Caption)
		}
	}
}

// The mark of the end has no dots of steps around it, and the start keeps its dot.
func TestNoDotsAtTheEndOfASearch(t *testing.T) {
	run := differentiability.LearningRun{Name: "r", Hyper: []string{"C"}, Axes: [][]float64{{.01, .1, 1, 10}}, Surface: [][]float64{{4}, {3}, {1}, {2}}}
	for k := range 21 {
		run.X, run.CVLoss = append(run.X, []float64{max(1, 10-float64(k))}), append(run.CVLoss, max(1, 2-float64(k)/9))
	}
	for _, s := range learningPanel(run).Series {
		if n := len(slices.Concat(s.Stretches...)); s.Name == "every 5th step" && n != 2 {
			t.Errorf("%d dots, want those of the steps 0 and 5", n)
		}
	}
}

// A tangent touches a path where it extends farthest on both sides, and not at a kink.
func TestTangentsKeepAwayFromKinks(t *testing.T) {
	s := differentiability.SolutionPath{Name: "s", Hyper: "λ1", Entries: []string{"θ1"}, Value: [][]float64{nil}, Slope: [][]float64{nil}}
	const points, kink = 321, 81 // the first part of the axis has its middle at point 80
	for i := range points {
		s.At = append(s.At, float64(i))
		s.Value[0] = append(s.Value[0], math.Abs(float64(i-kink))+.5)
		s.Slope[0] = append(s.Slope[0], math.Copysign(1, float64(i-kink)))
	}
	for _, series := range pathPanel(s, []int{0}, coordinateStyles).Series {
		if strings.HasSuffix(series.Name, "points of tangents") {
			if at := series.Stretches[0][0][0]; math.Abs(at-kink) < 5 {
				t.Errorf("the first tangent touches at %v, at the kink", at)
			}
		}
	}
}

// A tangent at a steep piece would look like a tick, so a gentler piece of the same part has the
// tangent, and a part without one has none.
func TestNoTangentsOnSteepPieces(t *testing.T) {
	s := differentiability.SolutionPath{Name: "s", Hyper: "λ1", Entries: []string{"θ1"}, Value: [][]float64{nil}, Slope: [][]float64{nil}}
	value := 0.
	for i := range 321 {
		slope := 0.
		switch {
		case i >= 60 && i < 120:
			slope = .1
		case i >= 240 && i < 242:
			slope = 50
		}
		s.At, s.Value[0], s.Slope[0] = append(s.At, float64(i)), append(s.Value[0], value), append(s.Slope[0], slope)
		value += slope
	}
	for _, series := range pathPanel(s, []int{0}, coordinateStyles).Series {
		if points := slices.Concat(series.Stretches...); strings.HasSuffix(series.Name, "points of tangents") && (len(points) != 1 || points[0][0] < 60 || points[0][0] > 120) {
			t.Errorf("the tangents touch at %v, want one on the gentle piece", points)
		}
	}
}

// The caption of the learned loss lists the losses whose weights are not rounded to 0.
func TestCombinationAtTheEnd(t *testing.T) {
	for want, weights := range map[string][]float64{
		", the logistic loss alone":       {0, 1e-9, 0, 1 - 1e-9},
		": 0.25 hinge + 0.75 exponential": {.25, .749, .001, 0},
		"":                                {math.NaN(), 1, 0, 0},
	} {
		if got := combination(weights); got != want {
			t.Errorf("weights %v: %q, want %q", weights, got, want)
		}
	}
}

// Each line has its own dashes, so that lines differ in grey and no line hides another where they are
// equal.
func TestPathsHaveTheirOwnDashes(t *testing.T) {
	s := differentiability.SolutionPath{Name: "s", Hyper: "λ1", At: []float64{1, 2, 3, 4}}
	for _, name := range []string{"θ1", "θ2", "θ3"} {
		s.Entries, s.Value, s.Slope = append(s.Entries, name), append(s.Value, []float64{1, 2, 3, 3}), append(s.Slope, []float64{1, 1, 1, 0})
	}
	dual := s
	dual.Name, dual.Entries = dualPrefix, []string{"example 1", "example 2", "example 3"}
	f := SolutionPaths(&differentiability.SolutionPaths{Paths: []differentiability.SolutionPath{s, dual}})
	for k, e := range f.Entries {
		for _, other := range f.Entries[:k] {
			if !strings.HasPrefix(e.Name, "exact") && slices.Equal(e.Style.Dash, other.Style.Dash) {
				t.Errorf("%q has the dashes of %q", e.Name, other.Name)
			}
		}
	}
	if len(f.Entries) < 5 {
		t.Errorf("%d entries of the legend", len(f.Entries))
	}
}
