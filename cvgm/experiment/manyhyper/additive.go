package manyhyper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/mydata"
	"cvgm/cvgm/table"
	"cvgm/cvgm/terms"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

// AdditiveParams are the parameters of a comparison of three kinds of models: linear models,
// additive models of package terms, and kernel machines. Each model is tuned on the same tables,
// with the same calls of package tune. There are three kinds of tables. The first has a sum of
// known smooth functions as its target. The second has the made-up houses of notebook my_data. The
// third has the paper's rings, with the labels ±1 as numbers.
type AdditiveParams struct {
	Smooths     Smooths
	HousesP     float64 `help:"share of the houses for training, drawn anew for each data set" range:"(0,1)" small:"[.5,.8]" setting:"share %v of the houses for training"`
	Rings       AdditiveRings
	Points      int `help:"points of each drawn function" range:"[2,∞)" small:"[2,5]"`
	Evaluations int `help:"evaluations of the CV loss in each search at most" range:"[1,∞)" small:"[4,8]" setting:"up to %v evaluations"`
	DataSets    int `help:"data sets of each kind" range:"[2,∞)" small:"[2,3]" setting:"%v data sets"`
	experiment.FreshData
}

// AdditiveRings are the rings as a table of two columns.
type AdditiveRings struct {
	kernels.RingsData
	Train int `help:"training examples of the rings" range:"[4,∞)" small:"[16,24]" setting:"N = %v"`
	Test  int `help:"test examples of the rings" range:"[1,∞)" small:"[10,30]" setting:"%v test examples"`
}

// DefaultAdditive returns the default parameters. The smooth functions are the functions of
// DefaultLevers.
func DefaultAdditive() AdditiveParams {
	return AdditiveParams{
		Smooths: DefaultLevers().Smooths.Smooths, HousesP: .7,
		Rings:  AdditiveRings{kernels.PaperRings().RingsData, 60, 1000},
		Points: 41, Evaluations: 500, DataSets: 24,
	}
}

func (AdditiveParams) Defaults() any { return DefaultAdditive() }

func (p AdditiveParams) Check() error {
	if n, err := cvgm.TrainRows(strings.Count(mydata.Houses(), "\n")-1, p.HousesP); err != nil || n < leastHouses {
		return experiment.Invalid("HousesP", p.HousesP, fmt.Sprintf("use a share that leaves at least %d training rows and one test row of the houses", leastHouses))
	}
	return nil
}

// leastHouses is the smallest allowed number of training rows from the data of the houses. With
// this number, almost every random choice of training rows has a value in each column. It also has
// all levels in each column of texts.
const leastHouses = 20

// AdditiveResult is the result of Run.
type AdditiveResult struct {
	Params AdditiveParams
	Sets   []AdditiveSet
	Terms  []AdditiveTerm // of the known functions
}

// An AdditiveSet holds the results of all models on one kind of data. Losses are mean squared
// errors.
type AdditiveSet struct {
	Name        string
	Train, Test int
	Constant    experiment.Estimate // test loss of the mean of the training labels
	Models      []AdditiveModel     // in the order of the constants ModelLinear to ModelWidths
}

// These constants are the indices in AdditiveSet.Models.
const (
	ModelLinear   = iota // ridge regression
	ModelShared          // additive model with one penalty for all terms
	ModelAdditive        // additive model with a penalty for each term
	ModelWidth           // kernel ridge regression with one width
	ModelWidths          // kernel ridge regression with a width for each feature
	models
)

var modelNames = [models]string{"linear, one penalty", "additive, one penalty", "additive, a penalty for each term", "kernel, one width", "kernel, a width for each feature"}

// oneOf maps each model with many hyperparameters to the model of the same kind with one
// hyperparameter.
var oneOf = map[int]int{ModelAdditive: ModelShared, ModelWidths: ModelWidth}

// An AdditiveModel holds the results of one model over the data sets.
type AdditiveModel struct {
	Name            string
	Hyperparameters int
	Evaluations     experiment.Estimate
	CV, Test        experiment.Estimate
	TestLessLinear  experiment.Comparison
	// TestLessOne is the test loss of the model minus the test loss of the model of the same kind
	// with one hyperparameter. For models without such a counterpart, TestLessOne.N is 0.
	TestLessOne experiment.Comparison
}

// An AdditiveTerm is a known function at Places, minus its mean over Places. Fits holds two fits,
// as means over the data sets. The first has one penalty for all terms, and the second has one
// penalty for each term.
type AdditiveTerm struct {
	Name          string
	Places, Truth []float64
	Fits          [2][]experiment.Estimate
}

// additiveSet describes one kind of data.
type additiveSet struct {
	name string
	// draw returns the lines of a CSV, beginning with the header, and the number of training rows.
	draw   func(stream func(purpose string) *synth.Stream) (lines []string, train int, err error)
	target string
	// terms are the terms of the additive models.
	terms []terms.Term
}

// additiveCell holds the results of all models on one data set.
type additiveCell struct {
	Train, Test int
	Constant    float64
	Models      [models]additiveSearch
	Terms       [2][][]float64 // by model and function; nil for other data
}

type additiveSearch struct {
	CV, Test           float64
	Evaluations, Hyper int
}

// Run tunes all models on all data sets. The data sets run in parallel.
func (p AdditiveParams) Run(ctx context.Context, hooks experiment.Hooks) (*AdditiveResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	sets := p.sets()
	measured, err := experiment.CellTable(ctx, hooks, len(sets), p.DataSets,
		func(i, set int) string {
			return fmt.Sprintf("%s, data set %d", sets[i].name, p.Number(set, p.DataSets))
		},
		func(i, set int) (additiveCell, error) {
			return p.measure(ctx, sets[i], uint64(p.Number(set, p.DataSets)))
		})
	if err != nil {
		return nil, err
	}
	r := &AdditiveResult{Params: p}
	for i, s := range sets {
		r.Sets = append(r.Sets, summarise(s.name, measured[i]))
	}
	for j, f := range Truths {
		term := AdditiveTerm{Name: f.Name, Places: p.places()}
		for _, x := range term.Places {
			term.Truth = append(term.Truth, f.Of(x))
		}
		centre(term.Truth)
		for k := range term.Fits {
			for i := range term.Places {
				fitted := experiment.Column(measured[0], func(c additiveCell) float64 { return c.Terms[k][j][i] })
				term.Fits[k] = append(term.Fits[k], experiment.EstimateOf(fitted))
			}
		}
		r.Terms = append(r.Terms, term)
	}
	return r, nil
}

// summarise compares the models over the data sets.
func summarise(name string, cells []additiveCell) AdditiveSet {
	out := AdditiveSet{Name: name, Train: cells[0].Train, Test: cells[0].Test}
	test := func(k int) []float64 {
		return experiment.Column(cells, func(c additiveCell) float64 { return c.Models[k].Test })
	}
	out.Constant = experiment.EstimateOf(experiment.Column(cells, func(c additiveCell) float64 { return c.Constant }))
	for k, name := range modelNames {
		m := AdditiveModel{Name: name, Hyperparameters: cells[0].Models[k].Hyper, Test: experiment.EstimateOf(test(k)),
			CV:             experiment.EstimateOf(experiment.Column(cells, func(c additiveCell) float64 { return c.Models[k].CV })),
			Evaluations:    experiment.EstimateOf(experiment.Column(cells, func(c additiveCell) float64 { return float64(c.Models[k].Evaluations) })),
			TestLessLinear: experiment.Compare(test(k), test(ModelLinear))}
		if one, ok := oneOf[k]; ok {
			m.TestLessOne = experiment.Compare(test(k), test(one))
		}
		out.Models = append(out.Models, m)
	}
	return out
}

// measure tunes all models on one data set.
func (p AdditiveParams) measure(ctx context.Context, s additiveSet, set uint64) (c additiveCell, err error) {
	lines, rows, err := s.draw(func(purpose string) *synth.Stream {
		return synth.NewStream(set, "additive models, "+s.name+": "+purpose)
	})
	if err != nil {
		return c, err
	}
	part := func(of []string) *strings.Reader { return strings.NewReader(lines[0] + strings.Join(of, "")) }
	train, err := table.CSV{Target: s.target, Missing: table.MissingIsMean}.Read(part(lines[1 : 1+rows]))
	if err != nil {
		return c, err
	}
	for k := range models {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		tuned, err := p.tuned(ctx, k, train, s.terms)
		if err != nil {
			return c, experiment.Wrap(err, "%s", modelNames[k])
		}
		test, err := tuned.Pipeline.Read(part(lines[1+rows:]))
		if err != nil {
			return c, err
		}
		predicted, err := tuned.Pipeline.Decision(test)
		if err != nil {
			return c, err
		}
		c.Models[k] = additiveSearch{CV: tuned.Loss, Test: meanSquare(predicted, test.Y), Evaluations: tuned.Evaluations, Hyper: searched(tuned)}
		c.Train, c.Test = len(train.Y), len(test.Y)
		c.Constant = constantLoss(learn.Data{Y: train.Y}, learn.Data{Y: test.Y})
		if of := k - ModelShared; of >= 0 && of < len(c.Terms) && s.name == setSmooths {
			if c.Terms[of], err = p.fittedTerms(tuned.Pipeline); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// searched returns the number of hyperparameters that were searched for.
func searched(t *tune.Tuned) (n int) {
	for _, h := range t.Searched {
		if h.Lower < h.Upper {
			n++
		}
	}
	return n
}

// tuned tunes a model on a table. termList holds the terms of the additive models.
func (p AdditiveParams) tuned(ctx context.Context, model int, train *table.Table, termList []terms.Term) (*tune.Tuned, error) {
	t := tune.Tuner{MaxEvals: p.Evaluations, OuterFolds: -1, Workers: 1, KeepWinner: true}
	switch model {
	case ModelLinear:
		t.Learner, t.Fixed = new(linear.ElasticNet), map[string]float64{"λ1": 0}
	case ModelWidth:
		t.Learner = &kernel.Ridge{Intercept: true}
	case ModelWidths:
		t.Learner = &kernel.Ridge{Kernel: kernel.ARD{}, Intercept: true}
	default:
		part, l, err := terms.Additive(train, penalised.Squared, termList...)
		if err != nil {
			return nil, err
		}
		if train, t.Learner = part, l; model == ModelShared {
			l.Penalties = []penalised.Penalty{oneOfPenalties("all terms", l.Penalties)}
		}
	}
	return t.TuneTable(ctx, train)
}

// places returns the points of [0, 1] at which functions are recorded.
func (p AdditiveParams) places() []float64 { return floats.Span(make([]float64, p.Points), 0, 1) }

// fittedTerms returns, for each known function, the fitted term at the points of p.places, minus
// its mean over these points.
func (p AdditiveParams) fittedTerms(pipeline *table.Pipeline) (all [][]float64, err error) {
	for j := range Truths {
		var b strings.Builder
		fmt.Fprintln(&b, strings.Join(smoothNames(p.Smooths.Features), ","))
		for _, x := range p.places() {
			row := slices.Repeat([]float64{.5}, p.Smooths.Features)
			row[j] = x
			b.WriteString(line(row...))
		}
		t, err := pipeline.Read(strings.NewReader(b.String()))
		if err != nil {
			return nil, err
		}
		values, err := pipeline.Decision(t)
		if err != nil {
			return nil, err
		}
		all = append(all, centre(values))
	}
	return all, nil
}

// centre subtracts the mean of v from v.
func centre(v []float64) []float64 {
	floats.AddConst(-floats.Sum(v)/float64(len(v)), v)
	return v
}

// These constants are the values of AdditiveSet.Name.
const (
	setSmooths = "sum of known functions"
	setHouses  = "made-up houses"
	setRings   = "rings, labels as numbers"
)

// sets lists the kinds of data.
func (p AdditiveParams) sets() []additiveSet {
	smooth := func(names ...string) (all []terms.Term) {
		for _, name := range names {
			all = append(all, terms.Smooth(name))
		}
		return all
	}
	return []additiveSet{
		{setSmooths, p.drawSmooths, "y", smooth(smoothNames(p.Smooths.Features)...)},
		{setHouses, p.drawHouses, "price", append(smooth("area", "rooms", "age", "distance", "door", "day", "steps"), terms.Groups("district"), terms.Groups("heating"))},
		{setRings, p.drawRings, "y", smooth("x1", "x2")},
	}
}

// smoothNames returns the names of the feature columns.
func smoothNames(features int) (names []string) {
	for j := range features {
		names = append(names, fmt.Sprintf("x%d", j+1))
	}
	return names
}

// line returns a line of a CSV.
func line(values ...float64) string {
	fields := make([]string, len(values))
	for j, v := range values {
		fields[j] = fmt.Sprintf("%.17g", v)
	}
	return strings.Join(fields, ",") + "\n"
}

func (p AdditiveParams) drawSmooths(stream func(string) *synth.Stream) (lines []string, train int, err error) {
	lines = []string{strings.Join(append(smoothNames(p.Smooths.Features), "y"), ",") + "\n"}
	for _, of := range []struct {
		purpose string
		rows    int
	}{{"training data", p.Smooths.Train}, {"test data", p.Smooths.Test}} {
		x, y := p.Smooths.raw(stream(of.purpose), of.rows)
		for i, v := range y {
			lines = append(lines, line(append(slices.Clone(x.RawRowView(i)), v)...))
		}
	}
	return lines, p.Smooths.Train, nil
}

func (p AdditiveParams) drawHouses(stream func(string) *synth.Stream) (lines []string, train int, err error) {
	all := slices.Collect(strings.Lines(mydata.Houses()))
	lines = all[:1:1]
	for _, i := range stream("rows").Perm(len(all) - 1) {
		lines = append(lines, all[1+i])
	}
	train, err = cvgm.TrainRows(len(all)-1, p.HousesP)
	return lines, train, err
}

func (p AdditiveParams) drawRings(stream func(string) *synth.Stream) (lines []string, train int, err error) {
	s, err := p.Rings.Examples(stream("training data"), stream("test data"), p.Rings.Train, p.Rings.Test)
	if err != nil {
		return nil, 0, err
	}
	lines = []string{"x1,x2,y\n"}
	for _, d := range []learn.Data{s.Train, s.Test} {
		for i, y := range d.Y {
			lines = append(lines, line(append(slices.Clone(d.Dense().RawRowView(i)), y)...))
		}
	}
	return lines, p.Rings.Train, nil
}
