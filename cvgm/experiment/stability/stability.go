// Package stability holds the experiment [StabilityParams] of notebook 08_stability.
package stability

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// StabilityParams are the parameters of a check of the supplement's section "Connections to
// Stability". The check tests the identity of Bousquet and Elisseeff,
//
//	E[R − R_emp] = Δ,   Δ = E[l(A(S), z_i') − l(A(Sⁱ), z_i')].
//
// Here l is the loss, and A(S) is the result of a learner on the data S. R is the risk of this
// result, and R_emp is its empirical risk. The data Sⁱ are S with the i-th example replaced by a
// fresh example z_i'. The identity holds at fixed hyperparameters, for every algorithm whose result
// does not depend on the order of the examples.
type StabilityParams struct {
	experiment.FreshData
	DataSets      int `help:"data sets on each side of the identity" range:"[2,∞)" small:"[2,4]" setting:"means over %v data sets of N rows"`
	FreshExamples int `help:"fresh examples on which each risk R is measured" range:"[1,∞)" small:"[5,30]" setting:"R on %v fresh examples"`

	RidgeLambda2      []float64 `help:"λ2 of the ridge regressions" range:"(0,∞)" small:"[1e-2,10]" setting:"ridge regression with λ2 = %v"`
	ElasticNetLambda1 []float64 `help:"λ1 of the elastic nets" range:"(0,∞)" small:"[1e-3,1]" setting:"elastic net with λ1 = %v"`
	ElasticNetLambda2 float64   `help:"λ2 of the elastic nets" range:"[0,∞)" small:"[1e-2,1]" setting:"and λ2 = %v"`
	LogisticC         []float64 `help:"C of the logistic regressions" range:"(0,∞)" small:"[1e-2,3]" setting:"logistic regression of the labels' signs with C = %v"`

	// PublishedRegression defines the population of the data sets. PenaltyCVGM defines the problem
	// that CVGM solves.
	experiment.PublishedRegression
	elasticnet.PenaltyCVGM
	PathSteps []int `help:"ascending steps of that path at which the identity's parts are measured, the first being 1" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[1,20]" setting:"elastic net at the evaluations %v of CVGM's path on the published data"`
	// The following fields describe paths from other starts.
	StartsLambda1 []float64 `help:"starts of other paths, weight of the l1 penalty" range:"[0,∞)" len:"[1,∞)" small:"[1e-3,1]"`
	StartsLambda2 []float64 `help:"starts of other paths, weight of the squared l2 penalty, as many" range:"[0,∞)" len:"[1,∞)" small:"[1e-3,1]"`
	StartsSteps   int       `help:"evaluations of the gradient method from each of these starts" range:"[2,∞)" small:"[2,20]"`
}

// DefaultStability returns parameters for which the error of each part is about one per cent.
func DefaultStability() StabilityParams {
	return StabilityParams{
		DataSets: 1000, FreshExamples: 300,
		RidgeLambda2:      []float64{.01, .03, .1, .3, 1, 3, 10},
		ElasticNetLambda1: []float64{.003, .01, .03, .1, .3, .5, 1}, ElasticNetLambda2: .01,
		LogisticC:           []float64{.003, .01, .03, .1, .3, 1, 3},
		PublishedRegression: experiment.PaperData, PenaltyCVGM: elasticnet.PaperPenaltyCVGM,
		PathSteps:     []int{1, 10, 20, 30, 40, 50, 60, 80, 99, 130, 200, 300, 500, 1000},
		StartsLambda1: []float64{.001, .01, .1, .3, .6}, StartsLambda2: []float64{.001, .0001, .1, 1, .6}, StartsSteps: 400,
	}
}

func (StabilityParams) Defaults() any { return DefaultStability() }

func (p StabilityParams) Check() error {
	if p.PathSteps[0] != 1 {
		return experiment.Invalid("PathSteps", p.PathSteps, "let the first be 1")
	}
	if len(p.StartsLambda1) != len(p.StartsLambda2) {
		return experiment.Invalid("StartsLambda2", p.StartsLambda2, fmt.Sprintf("give as many values as StartsLambda1, %d", len(p.StartsLambda1)))
	}
	return nil
}

// Parts holds the parts of the identity for one learner at fixed hyperparameters. Gap and Delta
// come from separate data, so their errors are independent, and their equality is a test of the
// identity. If the identity holds, the interval of Difference contains 0 in nineteen of twenty
// cases.
type Parts struct {
	Hyper          []float64
	Risk, Training experiment.Estimate // R and R_emp
	Gap            experiment.Estimate // R − R_emp
	Delta          experiment.Estimate
	// Difference is Gap − Delta.
	Difference experiment.Estimate
	// Sum is Δ + R_emp. Both terms are measured on the data of Delta. CVGM minimises an estimate of
	// this sum.
	Sum experiment.Estimate
}

// Start is the result of the gradient method from one start, on the published data. It also holds
// the changes of R, Δ and R_emp from the start to the end of the path. Each change is measured on
// data sets of the population. The hyperparameters at the start and at the end are compared on the
// same data sets.
type Start struct {
	CVLoss                             [2]float64 // at the start and at the end
	Start, End                         Parts
	RiskChange, DeltaChange, EmpChange experiment.Estimate // changes of R, Δ and R_emp, paired
}

// Holds reports whether the interval of the difference contains 0.
func (s Parts) Holds() bool { return math.Abs(s.Difference.Mean) <= s.Difference.Margin }

// Learner holds the parts for one learner at several hyperparameters.
type Learner struct {
	Name  string // name of the learner
	Hyper string // name of the hyperparameter that varies
	At    []float64
	Parts []Parts
}

// Result is the result of Run.
type Result struct {
	Params   StabilityParams
	Learners []Learner
	// Path holds the parts at points of CVGM's path on the published data. Steps holds the step
	// numbers of these points. They are those entries of Params.PathSteps that the search reaches.
	// CVLoss and TestLoss are the losses at the points.
	Steps            []int
	Path             []Parts
	CVLoss, TestLoss []float64
	// DeltaChange and EmpChange are the changes of Δ and R_emp along Path, from its first point to
	// its last point. They are paired by data set.
	DeltaChange, EmpChange experiment.Estimate
	Starts                 []Start
}

// Settings returns the parts for all learners and for the path.
func (r *Result) Settings() []Parts {
	var all []Parts
	for _, l := range r.Learners {
		all = append(all, l.Parts...)
	}
	return append(all, r.Path...)
}

// Population draws examples of the published regression problem: x ~ N(0, I) and y = coefᵀx +
// noise·ε, for a standard normal ε. If Sign is true, the label is the sign of y.
type Population struct {
	Coef  []float64
	Noise float64
	Sign  bool
}

func (p Population) Draw(src synth.Source, n int) learn.Data {
	d := learn.Data{X: mat.NewDense(n, len(p.Coef), nil), Y: make([]float64, n)}
	for i := range d.Y {
		y := p.Noise * src.NormFloat64()
		for j, c := range p.Coef {
			x := src.NormFloat64()
			d.Dense().Set(i, j, x)
			y += c * x
		}
		if p.Sign {
			y = math.Copysign(1, y)
		}
		d.Y[i] = y
	}
	return d
}

// stabilityCase is a learner at fixed hyperparameters, with its population and its loss.
type stabilityCase struct {
	hyper      []float64
	population Population
	learner    func() learn.Learner
	loss       cvgm.Loss
}

// net returns the case of an elastic net with the given penalties.
func (p Population) net(lambda1, lambda2 float64) stabilityCase {
	return stabilityCase{[]float64{lambda1, lambda2}, p, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}}
}

// stabilityFamily is a learner at several values of one hyperparameter.
type stabilityFamily struct {
	name, hyper string
	at          []float64
	setting     func(v float64) stabilityCase
}

func (p StabilityParams) families(regression Population) []stabilityFamily {
	classification := regression
	classification.Sign = true
	return []stabilityFamily{
		{"ridge regression", "λ2", p.RidgeLambda2, func(v float64) stabilityCase { return regression.net(0, v) }},
		{"elastic net", "λ1", p.ElasticNetLambda1, func(v float64) stabilityCase { return regression.net(v, p.ElasticNetLambda2) }},
		{"logistic regression", "C", p.LogisticC, func(v float64) stabilityCase {
			return stabilityCase{[]float64{v}, classification, func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}}
		}},
	}
}

// alongPath follows the path of CVGM. At the steps in PathSteps, it appends the losses to r and
// returns the cases.
func (p StabilityParams) alongPath(ctx context.Context, s *experiment.Setup, r *Result, regression Population) ([]stabilityCase, error) {
	var cases []stabilityCase
	for step, err := range s.Search(ctx, p.Gradient(slices.Max(p.PathSteps))) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(p.PathSteps, step.Evaluations) {
			continue
		}
		test, err := s.TestLoss(step.X)
		if err != nil {
			return nil, err
		}
		r.Steps, r.CVLoss, r.TestLoss = append(r.Steps, step.Evaluations), append(r.CVLoss, step.Loss), append(r.TestLoss, test)
		cases = append(cases, regression.net(step.X[0], step.X[1]))
	}
	return cases, nil
}

// fromStarts follows the paths from the other starts. It appends the CV losses of these paths to r,
// and returns the cases at the start and at the end of each path.
func (p StabilityParams) fromStarts(ctx context.Context, s *experiment.Setup, r *Result, regression Population) ([]stabilityCase, error) {
	var cases []stabilityCase
	for i, lambda1 := range p.StartsLambda1 {
		from := *s
		from.Start = []float64{lambda1, p.StartsLambda2[i]}
		var start Start
		first := true
		var x []float64
		for step, err := range from.Search(ctx, p.Gradient(p.StartsSteps)) {
			if err != nil {
				return nil, err
			}
			if first {
				cases = append(cases, regression.net(step.X[0], step.X[1]))
				start.CVLoss[0], first = step.Loss, false
			}
			x, start.CVLoss[1] = append(x[:0], step.X...), step.Loss
		}
		cases, r.Starts = append(cases, regression.net(x[0], x[1])), append(r.Starts, start)
	}
	return cases, nil
}

// Run measures the parts for every case. The data sets run in parallel.
func (p StabilityParams) Run(ctx context.Context, hooks experiment.Hooks) (*Result, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	s, _, err := p.Published(ctx, p.PublishedRegression)
	if err != nil {
		return nil, err
	}
	r := &Result{Params: p}
	regression := Population{Coef: s.Coef, Noise: p.Noise / p.Scale}
	families := p.families(regression)
	var cases []stabilityCase
	for _, f := range families {
		for _, v := range f.at {
			cases = append(cases, f.setting(v))
		}
	}
	path, err := p.alongPath(ctx, s, r, regression)
	if err != nil {
		return nil, err
	}
	ends, err := p.fromStarts(ctx, s, r, regression)
	if err != nil {
		return nil, err
	}
	cases = slices.Concat(cases, path, ends)
	parts, sets, err := p.measure(ctx, hooks, cases)
	if err != nil {
		return nil, err
	}
	before := len(parts) - 2*len(r.Starts)
	first, last := before-len(r.Steps), before-1
	change := func(part int) experiment.Estimate {
		return experiment.Compare(valuesOf(sets, last, part), valuesOf(sets, first, part)).Difference
	}
	r.EmpChange, r.DeltaChange = change(1), change(3)
	for i := range r.Starts {
		c, k := &r.Starts[i], before+2*i
		c.Start, c.End = parts[k], parts[k+1]
		for part, to := range map[int]*experiment.Estimate{0: &c.RiskChange, 1: &c.EmpChange, 3: &c.DeltaChange} {
			*to = experiment.Compare(valuesOf(sets, k+1, part), valuesOf(sets, k, part)).Difference
		}
	}
	parts = parts[:before]
	for _, l := range families {
		r.Learners = append(r.Learners, Learner{l.name, l.hyper, l.at, parts[:len(l.at)]})
		parts = parts[len(l.at):]
	}
	r.Path = parts
	return r, nil
}

// stabilityValues holds the values of R, R_emp, R − R_emp, Δ and Δ + R_emp, in this order, for one
// case on one data set.
type stabilityValues [5]float64

// measure estimates the parts for every case. All cases use the same data sets. It also returns the
// values as [data set][case].
func (p StabilityParams) measure(ctx context.Context, hooks experiment.Hooks, cases []stabilityCase) ([]Parts, [][]stabilityValues, error) {
	label := func(i int) string { return fmt.Sprintf("data set %d", p.Number(i, p.DataSets)) }
	sets, err := experiment.Cells(ctx, hooks, p.DataSets, label, func(i int) ([]stabilityValues, error) {
		drawn := make(map[bool]stabilityData)
		values := make([]stabilityValues, len(cases))
		for k, c := range cases {
			d, ok := drawn[c.population.Sign]
			if !ok {
				d = p.drawData(c.population, p.Number(i, p.DataSets))
				drawn[c.population.Sign] = d
			}
			f, err := c.fit(ctx, d.data)
			if err != nil {
				return nil, experiment.Wrap(err, "hyperparameters %v", c.hyper)
			}
			delta, replaced, err := c.replaceOne(ctx, d.originals, d.replacements)
			if err != nil {
				return nil, experiment.Wrap(err, "replacements, hyperparameters %v", c.hyper)
			}
			risk, training := f.risk(d.freshData), f.risk(d.data)
			values[k] = stabilityValues{risk, training, risk - training, delta, delta + replaced}
		}
		return values, nil
	})
	if err != nil {
		return nil, nil, err
	}
	parts := make([]Parts, len(cases))
	for k, c := range cases {
		var e [len(stabilityValues{})]experiment.Estimate
		for part := range e {
			e[part] = experiment.EstimateOf(valuesOf(sets, k, part))
		}
		parts[k] = Parts{
			Hyper: c.hyper, Risk: e[0], Training: e[1], Gap: e[2], Delta: e[3], Sum: e[4], Difference: experiment.Difference(e[2], e[3])}
	}
	return parts, sets, nil
}

// valuesOf returns, for each data set, one of the values of case k.
func valuesOf(sets [][]stabilityValues, k, part int) []float64 {
	var v []float64
	for _, values := range sets {
		v = append(v, values[k][part])
	}
	return v
}

// stabilityData holds separate data for the two sides of the identity. The side R − R_emp uses data
// and freshData. The side Δ uses originals and replacements.
type stabilityData struct{ data, freshData, originals, replacements learn.Data }

func (p StabilityParams) drawData(from Population, i int) stabilityData {
	draw := func(purpose string, n int) learn.Data {
		return from.Draw(synth.NewStream(0, fmt.Sprintf("stability %d: %s", i, purpose)), n)
	}
	n := p.Train
	return stabilityData{draw("data", n), draw("fresh examples", p.FreshExamples), draw("data in which one example is replaced", n), draw("replacements", n)}
}

// replaceOne returns Δ and R_emp for the data s. R_emp is the empirical risk of the fit to s. Δ is
// a mean over the examples of s. For each example in turn, the learner is fitted to the data with a
// fresh example in place of this example.
func (c stabilityCase) replaceOne(ctx context.Context, s, fresh learn.Data) (delta, training float64, err error) {
	f, err := c.fit(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	training = f.risk(s)
	without := f.risk(fresh)
	var with float64
	for k, y := range s.Y {
		row := slices.Clone(s.Dense().RawRowView(k))
		s.Dense().SetRow(k, fresh.Dense().RawRowView(k))
		s.Y[k] = fresh.Y[k]
		if err := experiment.Fit(ctx, f.learner, s, f.theta, f.hyper); err != nil {
			return 0, 0, err
		}
		with += f.lossAt(fresh, k)
		s.Dense().SetRow(k, row)
		s.Y[k] = y
	}
	return without - with/float64(len(s.Y)), training, nil
}

// fitted is the learner of a case with its last fit.
type fitted struct {
	stabilityCase
	learner learn.Learner
	theta   []float64
}

func (c stabilityCase) fit(ctx context.Context, d learn.Data) (*fitted, error) {
	f := &fitted{c, c.learner(), nil}
	_, n := d.X.Dims()
	size, _ := f.learner.Dims(n)
	f.theta = make([]float64, size)
	return f, experiment.Fit(ctx, f.learner, d, f.theta, f.hyper)
}

func (f *fitted) lossAt(d learn.Data, k int) float64 {
	var prediction float64
	for j, x := range d.Dense().RawRowView(k) {
		prediction += f.theta[j] * x
	}
	loss, _ := f.loss.Eval(prediction, d.Y[k])
	return loss
}

func (f *fitted) risk(d learn.Data) float64 {
	var total float64
	for k := range d.Y {
		total += f.lossAt(d, k)
	}
	return total / float64(len(d.Y))
}
