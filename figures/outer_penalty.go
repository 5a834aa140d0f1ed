package figures

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// OuterPenalty shows the risk as a function of the weight of the outer penalty, for both gradients.
// To the left is the weight 0, at which there are also methods without an outer penalty. To the right
// is the weight that is chosen without test data.
func OuterPenalty(r *searches.StochasticResult) *Figure {
	p := r.Params
	panel := NewPanel("risk", "", "weight of the outer penalty", "mean logistic loss on test examples").Grid()
	weights := Log10s(p.Weights)
	low, high := chart.Nth(weights, 0), chart.Nth(weights, len(weights)-1)
	span := max(high-low, 1)
	without, chosen := low-span/2, high+span/3 // places beside the weights
	risk := func(name string) experiment.Estimate {
		m, _ := r.Find(name)
		return m.Risk
	}
	type series struct {
		name  string
		x     []float64
		risks []experiment.Estimate
		style Style
	}
	var all []series
	apart := .015 * span // so that marks do not cover each other
	for k, s := range []struct {
		alone, penalty string
		series
	}{
		{searches.StochasticAlone, searches.StochasticPenalty, series{"stochastic CVGM", nil, r.Stochastic, Style{Color: Blue, GlyphRadius: 3}}},
		{searches.StochasticTraining, searches.StochasticTrainPenalty, series{"training gradient", nil, r.Training, Style{Color: Vermilion, Dash: []vg.Length{6, 3}, Glyph: draw.PyramidGlyph{}, GlyphRadius: 3.5}}},
	} {
		for _, x := range slices.Concat([]float64{without}, weights, []float64{math.NaN(), chosen}) {
			s.x = append(s.x, x+float64(2*k-1)*apart)
		}
		s.risks = slices.Concat([]experiment.Estimate{risk(s.alone)}, s.risks, []experiment.Estimate{{}, risk(s.penalty)})
		all = append(all, s.series)
	}
	for k, s := range []series{
		{name: searches.StochasticPlain, style: Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 3}},
		{name: searches.StochasticRandom, style: Style{Color: Grey, Glyph: draw.RingGlyph{}, GlyphRadius: 3.5}},
		{name: searches.StochasticCMAES, style: Style{Color: Green, Glyph: draw.CrossGlyph{}, GlyphRadius: 3.5}},
	} {
		s.x, s.risks = []float64{without - float64(3+2*k)*apart}, []experiment.Estimate{risk(s.name)}
		all = append(all, s)
	}
	var ends []float64
	for _, s := range all {
		_, low, high := meansAndEnds(s.risks)
		ends = slices.Concat(ends, low, high)
	}
	steep := chart.IsSteep(ends)
	panel.LogAxes(true, steep).Beside(low, high, plot.Tick{Value: without, Label: "0"}, plot.Tick{Value: chosen, Label: "chosen"})
	for k, s := range all {
		mean, low, high := meansAndEnds(s.risks)
		if steep {
			mean, low, high = Log10s(mean), Log10s(low), Log10s(high)
		}
		if k < 2 {
			panel.Measured(s.name, s.x, mean, low, high, s.style)
			continue
		}
		style := s.style
		style.Unlisted, style.Width = true, 1
		panel.Strokes(s.name+", 95 % interval", s.x, low, s.x, high, style)
		panel.Scatter(s.name, s.x, mean, s.style)
	}
	return &Figure{Name: "outer_penalty", Width: 8 * vg.Inch, Height: 4.2 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{panel}},
		Caption: fmt.Sprintf("Risk of a model whose kernel is a network of %d weights, against the weight of the penalty that keeps these near their start. All marks near 0 have the weight 0. The chosen weight has the lowest nested risk on each data set. Means over %d data sets, with 95 %% intervals.", p.Rings.NumHyperparameters(), p.DataSets)}
}

// StochasticTable lists the methods with their numbers of fits.
func StochasticTable(r *searches.StochasticResult) *Table {
	p := r.Params
	t := &Table{
		Name: "stochastic", Caption: fmt.Sprintf("%d weights of a network as hyperparameters, over %d data sets", p.Rings.NumHyperparameters(), p.DataSets),
		Header: []string{"Method", "Fits", "Risk", "Stochastic CVGM with penalty minus it", "Lower on"},
		Note: fmt.Sprintf("Mean logistic losses on test examples, with 95 %% confidence intervals; differences are paired. The fits include the choice of the penalty's weight, among %d weights by %d outer folds. "+
			"Plain CVGM is a quasi-Newton search on the CV loss of %d fixed splits. CMA-ES and random search minimise the same loss without a gradient. Stochastic CVGM draws %d splits that fit the share %.2g of the rows at each of its %d steps. The training gradient descends the loss of the fit on its own rows.",
			len(p.Weights), p.OuterFolds, p.Rings.K, p.Fresh, p.FreshP, p.Steps),
	}
	for _, m := range r.Methods {
		difference, wins := any(nil), any(nil)
		if m.Name != searches.StochasticPenalty {
			difference, wins = chart.Estimated(m.PenaltyLess.Difference, 3), fmt.Sprintf("%.0f %%", 100*m.PenaltyLess.Wins)
		}
		t.Rows = append(t.Rows, []any{m.Name, m.Fits, chart.Estimated(m.Risk, 3), difference, wins})
	}
	return t
}
