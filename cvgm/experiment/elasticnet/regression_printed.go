package elasticnet

import (
	"context"
	"fmt"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff/learn"
	"cvgm/synth"
)

// RegressionPrintedParams are the parameters of a comparison between two ways to draw the
// regression data. The paper prints a command that draws data. The published code draws its data in
// another way.
type RegressionPrintedParams struct {
	experiment.RegressionData
	PenaltyCVGM
	Steps int `help:"evaluations of the gradient method" range:"[1,∞)" small:"[1,6]" setting:"%v evaluations of CVGM, the last of which counts"`
	Test  int `help:"test examples of the printed command" range:"[1,∞)" small:"[20,50]"`
	Seeds int `help:"data sets" range:"[1,∞)" small:"[1,4]"`
	experiment.FreshData
}

// DefaultRegressionPrinted returns the parameters of [DefaultElasticNet], with 110 data sets.
func DefaultRegressionPrinted() RegressionPrintedParams {
	return RegressionPrintedParams{RegressionData: experiment.PaperRegression, PenaltyCVGM: PaperPenaltyCVGM, Steps: 99, Test: 1000, Seeds: 110}
}

func (RegressionPrintedParams) Defaults() any { return DefaultRegressionPrinted() }

func (p RegressionPrintedParams) Check() error { return p.CheckLeastSquares() }

// RegressionPrinted holds test losses of models. All these models are fitted to the same training
// rows.
type RegressionPrinted struct {
	Params RegressionPrintedParams
	Tests  []RegressionTest // in the order of the constants TestOtherRows to TestPrintedCall
}

// These constants are the indices in RegressionPrinted.Tests.
const (
	TestOtherRows   = iota // the rows of the same draw that are not training rows, with labels divided by Scale: the test set of the published code
	TestFreshRows          // further rows of the same draw, as many as in the command's test set
	TestSecondCall         // rows of a second call of the command, which draws other coefficients
	TestPrintedCall        // rows of a second call, with all labels exactly as the command returns them
)

// RegressionTest holds the losses on one kind of test rows. The losses are mean squared errors, one
// for each data set.
type RegressionTest struct {
	Name                            string
	CVGM, LeastSquares              []float64
	Coefficients                    []float64 // loss of the coefficients that made the training labels, divided by the variance of the noise
	CVGMMean, SquaresMean, CoefMean experiment.Estimate
	CVGMLessCode                    experiment.Comparison // CVGM's loss minus its loss on the rows of TestOtherRows
}

var regressionTests = []string{
	TestOtherRows:   "rows of the same draw (the code)",
	TestFreshRows:   "further rows of the same draw",
	TestSecondCall:  "a second call of the command",
	TestPrintedCall: "a second call, labels not divided (the paper)",
}

// regressionCell holds three losses for each kind of test rows.
type regressionCell [4][3]float64

// Run measures all data sets, in parallel.
func (p RegressionPrintedParams) Run(ctx context.Context, hooks experiment.Hooks) (*RegressionPrinted, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	measured, err := experiment.Cells(ctx, hooks, p.Seeds,
		func(i int) string { return fmt.Sprintf("data set %d", p.Number(i, p.Seeds)) },
		func(i int) (regressionCell, error) { return p.measure(ctx, uint64(p.Number(i, p.Seeds))) })
	if err != nil {
		return nil, err
	}
	r := &RegressionPrinted{Params: p}
	for k, name := range regressionTests {
		m := RegressionTest{Name: name}
		for _, c := range measured {
			m.CVGM, m.LeastSquares, m.Coefficients = append(m.CVGM, c[k][0]), append(m.LeastSquares, c[k][1]), append(m.Coefficients, c[k][2])
		}
		m.CVGMMean, m.SquaresMean, m.CoefMean = experiment.EstimateOf(m.CVGM), experiment.EstimateOf(m.LeastSquares), experiment.EstimateOf(m.Coefficients)
		r.Tests = append(r.Tests, m)
		r.Tests[k].CVGMLessCode = experiment.Compare(m.CVGM, r.Tests[TestOtherRows].CVGM)
	}
	return r, nil
}

func (p RegressionPrintedParams) measure(ctx context.Context, seed uint64) (c regressionCell, err error) {
	for _, scale := range []float64{p.Scale, 1} {
		// The streams are the same for both ways, so both draw the same numbers.
		stream := func(purpose string) *synth.Stream { return synth.NewStream(seed, "regression as printed: "+purpose) }
		draw := p.RegressionData
		draw.Scale, draw.Samples = scale, p.Samples+p.Test
		s, err := p.PenaltyCVGM.Setup(draw, stream("data"), stream("splits"), 1)
		if err != nil {
			return c, err
		}
		draw.Train, draw.Samples = 1, 1+p.Test
		_, second, _, err := draw.Examples(stream("second call"))
		if err != nil {
			return c, err
		}
		last := slices.Clone(s.Start)
		for step, err := range s.Search(ctx, p.Gradient(p.Steps)) {
			if err != nil {
				return c, err
			}
			copy(last, step.X)
		}
		others := p.Samples - p.Train
		tests := map[int]learn.Data{
			TestOtherRows: experiment.Pick(s.Test, countFrom(0, others)), TestFreshRows: experiment.Pick(s.Test, countFrom(others, p.Test)), TestSecondCall: second,
		}
		if scale == 1 {
			tests = map[int]learn.Data{TestPrintedCall: second}
		}
		for k, test := range tests {
			if c[k], err = risks(s, test, last); err != nil {
				return c, err
			}
			c[k][2] /= p.Noise / scale * p.Noise / scale
		}
	}
	return c, nil
}

// risks returns the risks of three models on the rows test: CVGM after its last step, least
// squares, and the true coefficients.
func risks(s *experiment.Setup, test learn.Data, last []float64) (r [3]float64, err error) {
	for j, x := range [][]float64{last, leastSquares} {
		if r[j], err = s.Risk(x, test); err != nil {
			return r, err
		}
	}
	r[2] = linearRisk(test, s.Coef, asIs)
	return r, nil
}

// countFrom returns the n numbers start, start + 1, ….
func countFrom(start, n int) []int {
	v := make([]int, n)
	for i := range v {
		v[i] = start + i
	}
	return v
}
