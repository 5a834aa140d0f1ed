package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// StabilityParams are the parameters of the check of the supplement's
// "Connections to Stability": Bousquet and Elisseeff's identity
//
//	E[R − R_emp] = Δ,   Δ = E[l(A(S), z_i') − l(A(Sⁱ), z_i')],
//
// for the risk R and the empirical risk R_emp of A(S), where Sⁱ is S with its
// i-th example replaced by the fresh z_i'. It holds for every algorithm that
// does not mind the order of the examples, at fixed hyperparameters.
type StabilityParams struct {
	Seed    uint64 `help:"seed of all streams"`
	Samples int    `help:"data sets on each side of the identity"`
	Fresh   int    `help:"fresh examples on which each risk R is measured"`

	Ridge      []float64 `help:"lambda2 of the ridge regressions"`
	ElasticNet []float64 `help:"lambda1 of the elastic nets"`
	Lambda2    float64   `help:"lambda2 of the elastic nets"`
	Logistic   []float64 `help:"C of the logistic regressions"`

	Path  ElasticNetParams `help:"the experiment whose population the data sets are drawn from and whose path CVGM walks"`
	Steps []int            `help:"steps of that path at which the identity's parts are measured, the first being 1"`
}

// DefaultStability returns parameters under which the parts are known to
// about one in a hundred.
func DefaultStability() StabilityParams {
	return StabilityParams{
		Samples: 1000, Fresh: 300,
		Ridge:      []float64{.01, .03, .1, .3, 1, 3, 10},
		ElasticNet: []float64{.003, .01, .03, .1, .3, .5, 1}, Lambda2: .01,
		Logistic: []float64{.003, .01, .03, .1, .3, 1, 3},
		Path:     PaperElasticNet(),
		Steps:    []int{1, 10, 20, 30, 40, 50, 60, 80, 99, 130, 200, 300, 500, 1000},
	}
}

// StabilityParts are the parts of the identity for one learner at fixed
// hyperparameters. Gap and Delta come from separate data, so that their
// difference has an independent error on each side: its interval contains 0
// nineteen times in twenty if the identity holds, whatever the two have in
// common by construction.
type StabilityParts struct {
	Hyper          []float64
	Risk, Training Estimate // R and R_emp
	Gap            Estimate // R − R_emp
	Delta          Estimate
	// Difference is Gap − Delta.
	Difference Estimate
	// Sum is Δ + R_emp with Delta's own data: what CVGM descends.
	Sum Estimate
}

// Holds reports whether the interval of the difference contains 0.
func (s StabilityParts) Holds() bool { return math.Abs(s.Difference.Mean) <= s.Difference.Margin }

// StabilityLearner is one learner at several hyperparameters.
type StabilityLearner struct {
	Name  string // of the learner
	Hyper string // of the hyperparameter that varies
	At    []float64
	Parts []StabilityParts
}

// StabilityResult is what Run measures.
type StabilityResult struct {
	Params   StabilityParams
	Learners []StabilityLearner
	// Path has the parts at Params.Steps of CVGM's path over the published
	// data, CVLoss and TestLoss what that run itself measures there.
	Path             []StabilityParts
	CVLoss, TestLoss []float64
}

// Settings returns the parts of all learners and of the path.
func (r *StabilityResult) Settings() []StabilityParts {
	var all []StabilityParts
	for _, l := range r.Learners {
		all = append(all, l.Parts...)
	}
	return append(all, r.Path...)
}

// population draws examples of the published regression problem: x ~ N(0, I)
// and y = coefᵀx + noise·ε, or the sign of that.
type population struct {
	coef  []float64
	noise float64
	sign  bool
}

func (p population) draw(src synth.Source, n int) qpdiff.Data {
	d := qpdiff.Data{X: mat.NewDense(n, len(p.coef), nil), Y: make([]float64, n)}
	for i := range d.Y {
		y := p.noise * src.NormFloat64()
		for j, c := range p.coef {
			x := src.NormFloat64()
			d.X.Set(i, j, x)
			y += c * x
		}
		if p.sign {
			y = math.Copysign(1, y)
		}
		d.Y[i] = y
	}
	return d
}

// stabilityCase is a learner at one setting of its hyperparameters.
type stabilityCase struct {
	hyper      []float64
	population population
	learner    func() qpdiff.Learner
	loss       cvgm.Loss
}

// Run measures the parts at every setting, in parallel over the data sets.
func (p StabilityParams) Run(ctx context.Context) (*StabilityResult, error) {
	if p.Samples < 2 || p.Fresh < 1 || len(p.Steps) == 0 || p.Steps[0] < 1 || !slices.IsSorted(p.Steps) {
		return nil, &qpdiff.ArgError{Arg: "StabilityParams", Why: qpdiff.ErrDomain,
			Problem: fmt.Sprintf("has %d Samples, %d Fresh, Steps %v", p.Samples, p.Fresh, p.Steps),
			Remedy:  "use at least two samples, one fresh example and ascending steps from 1"}
	}
	c, _, err := p.Path.published()
	if err != nil {
		return nil, err
	}
	r := &StabilityResult{Params: p}
	var cases []stabilityCase
	regression := population{coef: c.coef, noise: p.Path.Noise / p.Path.Scale}
	classification := regression
	classification.sign = true
	net := func() qpdiff.Learner { return new(qpdiff.ElasticNet) }
	logistic := func() qpdiff.Learner { return new(qpdiff.Logistic) }
	for _, v := range p.Ridge {
		cases = append(cases, stabilityCase{[]float64{0, v}, regression, net, cvgm.SquaredError{}})
	}
	for _, v := range p.ElasticNet {
		cases = append(cases, stabilityCase{[]float64{v, p.Lambda2}, regression, net, cvgm.SquaredError{}})
	}
	for _, v := range p.Logistic {
		cases = append(cases, stabilityCase{[]float64{v}, classification, logistic, cvgm.LogisticLoss{}})
	}
	path := len(cases)
	for step, err := range c.gradient(p.Steps[len(p.Steps)-1]) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(p.Steps, step.Evaluations) {
			continue
		}
		test, err := c.testLoss(step.X)
		if err != nil {
			return nil, err
		}
		r.CVLoss, r.TestLoss = append(r.CVLoss, step.Loss), append(r.TestLoss, test)
		cases = append(cases, stabilityCase{slices.Clone(step.X), regression, net, cvgm.SquaredError{}})
	}
	parts, err := p.measure(ctx, cases)
	if err != nil {
		return nil, err
	}
	take := func(name, hyper string, at []float64) {
		r.Learners = append(r.Learners, StabilityLearner{name, hyper, at, parts[:len(at)]})
		parts = parts[len(at):]
	}
	r.Path = parts[path:]
	take("ridge regression", "λ2", p.Ridge)
	take("elastic net", "λ1", p.ElasticNet)
	take("logistic regression", "C", p.Logistic)
	return r, nil
}

// measure estimates the parts of every case over the same data sets.
func (p StabilityParams) measure(ctx context.Context, cases []stabilityCase) ([]StabilityParts, error) {
	type slots struct{ risk, training, gap, delta, sum []float64 }
	all := make([]slots, len(cases))
	for k := range all {
		for _, to := range []*[]float64{&all[k].risk, &all[k].training, &all[k].gap, &all[k].delta, &all[k].sum} {
			*to = make([]float64, p.Samples)
		}
	}
	err := eachCell(ctx, p.Samples, func(i int) error {
		drawn := make(map[bool]stabilityData)
		for k, c := range cases {
			d, ok := drawn[c.population.sign]
			if !ok {
				d = p.draw(c.population, i)
				drawn[c.population.sign] = d
			}
			s := &all[k]
			var err error
			if s.risk[i], s.training[i], err = c.risks(d.data, d.fresh); err != nil {
				return fmt.Errorf("data set %d, hyperparameters %v: %w", i, c.hyper, err)
			}
			var training float64
			if s.delta[i], training, err = c.replaceOne(d.replaced, d.replacements); err != nil {
				return fmt.Errorf("data set %d with replacements, hyperparameters %v: %w", i, c.hyper, err)
			}
			s.gap[i], s.sum[i] = s.risk[i]-s.training[i], s.delta[i]+training
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parts := make([]StabilityParts, len(cases))
	for k, s := range all {
		parts[k] = StabilityParts{Hyper: cases[k].hyper, Risk: estimate(s.risk), Training: estimate(s.training),
			Gap: estimate(s.gap), Delta: estimate(s.delta), Sum: estimate(s.sum)}
		gap, delta := parts[k].Gap, parts[k].Delta
		parts[k].Difference = Estimate{Mean: gap.Mean - delta.Mean, Margin: math.Hypot(gap.Margin, delta.Margin), N: p.Samples}
	}
	return parts, nil
}

// stabilityData is what the parts are measured on: S and fresh examples for the
// one side of the identity, another S and its replacements for the other.
type stabilityData struct{ data, fresh, replaced, replacements qpdiff.Data }

func (p StabilityParams) draw(from population, i int) stabilityData {
	draw := func(purpose string, n int) qpdiff.Data {
		return from.draw(synth.NewStream(p.Seed, fmt.Sprintf("stability %d: %s", i, purpose)), n)
	}
	n := p.Path.Train
	return stabilityData{draw("data", n), draw("fresh examples", p.Fresh), draw("data in which one example is replaced", n), draw("replacements", n)}
}

// risks returns R and R_emp of the fit to s.
func (c stabilityCase) risks(s, fresh qpdiff.Data) (risk, training float64, err error) {
	f, err := c.fit(s)
	if err != nil {
		return 0, 0, err
	}
	return f.risk(fresh), f.risk(s), nil
}

// replaceOne returns Δ's mean over the replacement of each example of s, every
// one with a true refit, and R_emp of the fit to s.
func (c stabilityCase) replaceOne(s, fresh qpdiff.Data) (delta, training float64, err error) {
	f, err := c.fit(s)
	if err != nil {
		return 0, 0, err
	}
	training = f.risk(s)
	without := f.risk(fresh)
	var with float64
	for k, y := range s.Y {
		row := slices.Clone(s.X.RawRowView(k))
		s.X.SetRow(k, fresh.X.RawRowView(k))
		s.Y[k] = fresh.Y[k]
		if err := f.refit(s); err != nil {
			return 0, 0, err
		}
		with += f.lossAt(fresh, k)
		s.X.SetRow(k, row)
		s.Y[k] = y
	}
	return without - with/float64(len(s.Y)), training, nil
}

// fitted is a case's learner with its last fit.
type fitted struct {
	stabilityCase
	learner qpdiff.Learner
	theta   []float64
}

func (c stabilityCase) fit(d qpdiff.Data) (*fitted, error) {
	f := &fitted{c, c.learner(), nil}
	_, n := d.X.Dims()
	size, _ := f.learner.Dims(n)
	f.theta = make([]float64, size)
	return f, f.refit(d)
}

func (f *fitted) refit(d qpdiff.Data) error {
	if err := f.learner.Load(d); err != nil {
		return err
	}
	return f.learner.Fit(f.theta, f.hyper)
}

func (f *fitted) lossAt(d qpdiff.Data, k int) float64 {
	var prediction float64
	for j, x := range d.X.RawRowView(k) {
		prediction += f.theta[j] * x
	}
	loss, _ := f.loss.Eval(prediction, d.Y[k])
	return loss
}

func (f *fitted) risk(d qpdiff.Data) float64 {
	var total float64
	for k := range d.Y {
		total += f.lossAt(d, k)
	}
	return total / float64(len(d.Y))
}
