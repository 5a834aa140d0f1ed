package manyhyper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/search"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

// GradientMapParams are the parameters of a map of two comparisons. The first compares the gradient
// of the CV loss with the gradient of the training loss, like the ablation of package samplesize.
// The second compares searches for many hyperparameters with searches for one hyperparameter.
//
// A cell of the map is a problem with a value for each of four factors:
//
//   - the number of training examples,
//   - the number of hyperparameters,
//   - the share of the rows that the splits fit,
//   - the noise.
//
// The values come from the lists of the problem and from Shares. The cells of a problem are all
// combinations of these values.
type GradientMapParams struct {
	Penalties MapPenalties
	Widths    MapWidths
	Weights   MapWeights
	Shares    []float64 `help:"shares of the rows that splits fit" range:"(0,1)" len:"[1,∞)" order:"ascending" small:"[.4,.8]" setting:"p = %v"`
	K         int       `help:"balanced splits of the penalties and widths, uniform ones of the weights" range:"[1,∞)" small:"[2,4]" setting:"K = %v"`
	// If Fraction is 2, only some cells are computed: the cells whose indices in the lists have an
	// even sum. If each list has two entries, these are half of the cells. The design is then
	// balanced: each pair of entries from two different lists has the same number of cells.
	Fraction      int `help:"1: all cells; 2: half of them, balanced over all pairs of lists" range:"[1,2]" small:"[1,2]"`
	Evaluations   int `help:"evaluations of each search of penalties and widths" range:"[1,∞)" small:"[1,4]" setting:"%v evaluations of each search"`
	DataSets      int `help:"data sets of each cell of penalties and widths" range:"[2,∞)" small:"[2,3]" setting:"%v data sets of each size"`
	RingsDataSets int `help:"data sets of each cell of weights" range:"[2,∞)" small:"[2,3]" setting:"%v data sets of each size"`
	experiment.FreshData
}

// MapPenalties describes ridge regressions with a penalty for each group of features. The features
// form bands, and the sizes of the coefficients differ between bands.
type MapPenalties struct {
	Sizes    []int     `help:"training examples" range:"[4,∞)" len:"[1,∞)" order:"ascending" small:"[12,20]" setting:"N = %v"`
	Groups   []int     `help:"numbers of groups of features, each with its own penalty; divisors of Features" range:"[2,∞)" len:"[1,∞)" order:"ascending" small:"{2,3,6}" setting:"a ridge penalty for each of %v groups of neighbouring features"`
	Noises   []float64 `help:"standard deviations of the noise; that of the labels without it is 1 on average" range:"[0,1e50]" len:"[1,∞)" order:"ascending" small:"[.1,2]" setting:"noise of standard deviation %v"`
	Features int       `help:"features" range:"[1,∞)" small:"{6}" setting:"%v standard normal features"`
	Bands    int       `help:"bands of neighbouring features; a divisor of Features" range:"[1,∞)" most:"Features" small:"{1,2,3}" setting:"in %v bands"`
	Decay    float64   `help:"deviation of a band's coefficients, as a multiple of those of the band before" range:"[0,1]" small:"[.1,1]" setting:"normal coefficients, each band's deviation %v of the one before"`
	Test     int       `help:"test examples" range:"[1,∞)" small:"[10,30]" setting:"%v test examples"`
}

// MapWidths describes kernel ridge regressions with a width for each group of features. The labels
// are Friedman's function of the features, plus noise.
type MapWidths struct {
	Sizes    []int     `help:"training examples" range:"[4,∞)" len:"[1,∞)" order:"ascending" small:"[12,20]" setting:"N = %v"`
	Groups   []int     `help:"numbers of groups of features, each with its own width; divisors of Features" range:"[2,∞)" len:"[1,∞)" order:"ascending" small:"{2,3,6}" setting:"kernel ridge regression with a width for each of %v groups of neighbouring features"`
	Noises   []float64 `help:"standard deviations of the noise" range:"[0,1e50]" len:"[1,∞)" order:"ascending" small:"[.1,2]" setting:"noise of standard deviation %v"`
	Features int       `help:"features, of which the first five have an effect" range:"[5,∞)" small:"{6}" setting:"Friedman's first function on %v features, uniform on [0, 1)"`
	Test     int       `help:"test examples" range:"[1,∞)" small:"[10,30]" setting:"%v test examples"`
}

// MapWeights describes a learned kernel for the rings. The many hyperparameters are the weights of
// its network. The alternative with one hyperparameter searches for C and keeps the initial
// weights.
type MapWeights struct {
	Sizes       []int     `help:"training examples of the rings" range:"[4,∞)" len:"[1,∞)" order:"ascending" small:"[8,20]" setting:"N = %v"`
	Hidden      []int     `help:"units of the hidden layer" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[2,8]" setting:"network: 2 inputs, one hidden layer of %v rectified linear units, 2 outputs"`
	Noises      []float64 `help:"standard deviations of the radii" range:"[1e-50,1e50]" len:"[1,∞)" order:"ascending" small:"[.1,.6]" setting:"radii of standard deviation %v"`
	InnerRadius float64   `help:"mean radius of the class -1" range:"[0,1e50]" below:"OuterRadius" small:"[.5,1]" setting:"mean %v for the label −1"`
	OuterRadius float64   `help:"mean radius of the class +1" range:"(0,1e50]" small:"[1.5,3]" setting:"mean %v for the label 1"`
	C           float64   `help:"weight of the logistic losses against the ridge penalty, of many hyperparameters" range:"(0,∞)" small:"[.1,50]" setting:"logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ)) on a network's outputs, C = %v"`
	StepSize    float64   `help:"step size of both gradient methods" range:"(0,∞)" small:"[.01,.3]" setting:"steps of the gradient times %v"`
	Steps       int       `help:"steps of both gradient methods" range:"[1,∞)" small:"[1,4]" setting:"%v steps"`
	Test        int       `help:"test examples of the rings" range:"[1,∞)" small:"[10,50]" setting:"%v test examples"`
}

// DefaultGradientMap returns three problems with eight cells each. With Fraction 1, each problem
// has 16 cells.
func DefaultGradientMap() GradientMapParams {
	q := kernels.PaperRings()
	return GradientMapParams{
		Penalties: MapPenalties{Sizes: []int{20, 80}, Groups: []int{4, 20}, Noises: []float64{.3, 1}, Features: 20, Bands: 4, Decay: .3, Test: 1000},
		Widths:    MapWidths{Sizes: []int{20, 80}, Groups: []int{4, 20}, Noises: []float64{1, 4}, Features: 20, Test: 1000},
		Weights: MapWeights{Sizes: []int{8, 60}, Hidden: []int{8, 64}, Noises: []float64{.2, .4}, InnerRadius: q.InnerRadius, OuterRadius: q.OuterRadius,
			C: q.C, StepSize: q.StepSize, Steps: q.Steps, Test: 1000},
		Shares: []float64{.5, .9}, K: 32, Fraction: 2, Evaluations: 60, DataSets: 40, RingsDataSets: 80,
	}
}

func (GradientMapParams) Defaults() any { return DefaultGradientMap() }

func (p GradientMapParams) Check() error {
	shares := []float64{p.Shares[0], p.Shares[len(p.Shares)-1]}
	for k, sizes := range [][]int{p.Penalties.Sizes, p.Widths.Sizes, p.Weights.Sizes} {
		for _, share := range shares {
			rows, err := cvgm.TrainRows(sizes[0], share)
			if err != nil || k == 2 && rows < 2 { // for the weights, one row of each class
				return experiment.Invalid("Shares", p.Shares, fmt.Sprintf("use shares that leave training rows, two of the rings, and validation rows of %d examples", sizes[0]))
			}
		}
	}
	return experiment.FirstError(
		p.bands(p.Penalties.Sizes[0], p.Penalties.Noises[0]).check("Penalties."),
		checkDivisors("Penalties.Groups", p.Penalties.Groups, p.Penalties.Features),
		checkDivisors("Widths.Groups", p.Widths.Groups, p.Widths.Features))
}

func (p GradientMapParams) bands(train int, noise float64) Banded {
	m := p.Penalties
	return Banded{Train: train, Test: m.Test, Features: m.Features, Bands: m.Bands, Decay: m.Decay, Noise: noise}
}

// These constants are the values of MapCell.Problem.
const (
	MapOfPenalties = "penalties"
	MapOfWidths    = "widths of a kernel"
	MapOfWeights   = "weights of a network"
)

// MapProblems are the problems in the order of the cells.
var MapProblems = []string{MapOfPenalties, MapOfWidths, MapOfWeights}

// MapResult is the result of Run.
type MapResult struct {
	Params  GradientMapParams
	Cells   []MapCell // in the order of MapProblems
	Effects []MapEffect
}

// A MapPlace is the position of a cell in the map.
type MapPlace struct {
	Problem         string
	Train           int
	Hyperparameters int // with many hyperparameters
	Share           float64
	Noise           float64
}

// A MapCell is a cell of the map with the results of its searches on all data sets. Each test loss
// is a ratio: the loss of the model, divided by the loss of a constant prediction. For the
// penalties and the widths, these losses are mean squared errors. For the weights they are error
// rates, and the divisor is ConstantError.
type MapCell struct {
	MapPlace
	Losses              MapLosses
	One, Many, Training experiment.Estimate // test losses of searches: One and Many with the CV gradient, Training with the training gradient and many hyperparameters
	OneCV, ManyCV       experiment.Estimate // the lowest CV losses, which the searches found
	// The paired differences are Many minus another test loss. CVLessTraining is Many minus
	// Training, and ManyLessOne is Many minus One. Each difference is a share of the larger of its
	// two losses, and lies from −1 to 1. For example, −.3 means that the first loss is 30 % lower
	// than the second.
	CVLessTraining, ManyLessOne experiment.Estimate
}

// ConstantError is the error rate of a constant prediction of the rings, whose classes have equal
// size.
const ConstantError = .5

// MapLosses are the test losses of a cell, one for each data set, in the units of [MapCell]. Cells
// of one problem with the same size and noise have the same data sets, in the same order.
type MapLosses struct{ One, Many, Training []float64 }

// CVLessTraining returns the differences of [MapCell], one for each data set.
func (l MapLosses) CVLessTraining() []float64 { return relativeDifferences(l.Many, l.Training) }

// ManyLessOne returns the differences of [MapCell], one for each data set.
func (l MapLosses) ManyLessOne() []float64 { return relativeDifferences(l.Many, l.One) }

// A MapEffect compares the searches of a problem at one value of one factor. Each difference is the
// mean of the numbers that [MapResult.Means] returns, with its interval.
type MapEffect struct {
	Problem        string
	Factor         int // index in Factors
	Level          float64
	CVLessTraining experiment.Estimate
	ManyLessOne    experiment.Estimate
}

// Factors are the names of the lists that are combined.
var Factors = []string{"training examples", "hyperparameters", "share of the rows that splits fit", "noise"}

// The method at returns the value of a factor. The parameter factor is the index of the factor in
// Factors.
func (m MapPlace) at(factor int) float64 {
	return []float64{float64(m.Train), float64(m.Hyperparameters), m.Share, m.Noise}[factor]
}

// Run measures all cells. Cells and data sets run in parallel.
func (p GradientMapParams) Run(ctx context.Context, hooks experiment.Hooks) (*MapResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	places := p.places()
	sets := func(i int) int {
		if places[i].Problem == MapOfWeights {
			return p.RingsDataSets
		}
		return p.DataSets
	}
	measured, err := experiment.CellTable(ctx, hooks, len(places), max(p.DataSets, p.RingsDataSets),
		func(i, set int) string {
			m := places[i].MapPlace
			return fmt.Sprintf("%s, N = %d, %d hyperparameters, share %g, noise %g, data set %d", m.Problem, m.Train, m.Hyperparameters, m.Share, m.Noise, p.Number(set, sets(i)))
		},
		func(i, set int) (mapRisks, error) {
			if set >= sets(i) {
				return mapRisks{}, nil
			}
			return p.measure(ctx, places[i], uint64(p.Number(set, sets(i))))
		})
	if err != nil {
		return nil, err
	}
	for i := range measured {
		measured[i] = measured[i][:sets(i)]
	}
	return p.summarise(places, measured), nil
}

// mapRisks holds the results on one data set. The risks are divided by the risk of a constant
// prediction.
type mapRisks struct{ One, Many, Training, OneCV, ManyCV float64 }

// summarise compares the searches of each cell over its data sets. It also compares them over all
// cells of a problem that have the same value of a factor.
func (p GradientMapParams) summarise(places []mapPlace, measured [][]mapRisks) *MapResult {
	r := &MapResult{Params: p}
	for i, place := range places {
		var columns [5][]float64
		for _, c := range measured[i] {
			for k, v := range []float64{c.One, c.Many, c.Training, c.OneCV, c.ManyCV} {
				columns[k] = append(columns[k], v)
			}
		}
		losses := MapLosses{One: columns[0], Many: columns[1], Training: columns[2]}
		r.Cells = append(r.Cells, MapCell{MapPlace: place.MapPlace, Losses: losses,
			One: experiment.EstimateOf(losses.One), Many: experiment.EstimateOf(losses.Many), Training: experiment.EstimateOf(losses.Training),
			OneCV: experiment.EstimateOf(columns[3]), ManyCV: experiment.EstimateOf(columns[4]),
			CVLessTraining: experiment.EstimateOf(losses.CVLessTraining()), ManyLessOne: experiment.EstimateOf(losses.ManyLessOne())})
	}
	for _, problem := range MapProblems {
		for factor := range Factors {
			for _, level := range r.Levels(problem, factor) {
				r.Effects = append(r.Effects, MapEffect{Problem: problem, Factor: factor, Level: level,
					CVLessTraining: experiment.EstimateOf(r.Means(problem, factor, level, MapLosses.CVLessTraining)),
					ManyLessOne:    experiment.EstimateOf(r.Means(problem, factor, level, MapLosses.ManyLessOne))})
			}
		}
	}
	return r
}

// CellsOf returns the cells of a problem.
func (r *MapResult) CellsOf(problem string) (cells []MapCell) {
	for _, c := range r.Cells {
		if c.Problem == problem {
			cells = append(cells, c)
		}
	}
	return cells
}

// Levels returns the values of a factor in the cells of a problem, in ascending order. The argument
// factor is an index in Factors.
func (r *MapResult) Levels(problem string, factor int) (levels []float64) {
	for _, c := range r.Cells {
		if c.Problem == problem {
			levels = append(levels, c.at(factor))
		}
	}
	slices.Sort(levels)
	return slices.Compact(levels)
}

// CountSigns counts the cells with a difference clearly below 0, and the cells with a difference
// clearly above 0.
func CountSigns(cells []MapCell, difference func(c MapCell) experiment.Estimate) (numBelow, numAbove int) {
	for _, c := range cells {
		switch difference(c).Sign() {
		case -1:
			numBelow++
		case 1:
			numAbove++
		}
	}
	return numBelow, numAbove
}

// Means averages a difference over those cells of a problem in which a factor has the given level.
// The argument factor is the index of the factor in Factors. Means returns one mean for each data
// set, in the order of the data sets' numbers. Cells with the same size and noise share their data
// sets, so their differences are dependent. The means are independent.
func (r *MapResult) Means(problem string, factor int, level float64, difference func(MapLosses) []float64) (means []float64) {
	var cells float64
	for _, c := range r.Cells {
		if c.Problem == problem && c.at(factor) == level {
			differences := difference(c.Losses)
			if means == nil {
				means = make([]float64, len(differences))
			}
			floats.Add(means, differences)
			cells++
		}
	}
	floats.Scale(1/cells, means)
	return means
}

// relativeDifferences returns the differences of losses, first minus second. Each difference is
// divided by the larger of its two losses, so data sets with large losses do not dominate the mean.
// The difference of two losses of 0 is 0.
func relativeDifferences(first, second []float64) []float64 {
	all := experiment.Less(first, second)
	for i, d := range all {
		if d != 0 {
			all[i] = d / max(first[i], second[i])
		}
	}
	return all
}

// measure runs the searches of a cell on one data set.
func (p GradientMapParams) measure(ctx context.Context, place mapPlace, set uint64) (c mapRisks, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(set, place.stream(purpose))
	}
	s, err := place.setup(p, place, stream)
	if err != nil {
		return c, err
	}
	cv, training, err := samplesize.Descents(ctx, s.many, s.training, s.searcher)
	if err != nil {
		return c, err
	}
	one, err := search.Best(s.one.Search(ctx, searcher(p.Evaluations)))
	if err != nil {
		return c, err
	}
	many, resubstituted := lowestStep(cv), lowestStep(training)
	c.OneCV, c.ManyCV = one.Loss/s.constant, many.Loss/s.constant
	for _, at := range []struct {
		of   *experiment.Setup
		x    []float64
		risk *float64
	}{{s.one, one.X, &c.One}, {s.many, many.X, &c.Many}, {s.many, resubstituted.X, &c.Training}} {
		risk, err := at.of.TestLoss(at.x)
		if err != nil {
			return c, err
		}
		*at.risk = risk / s.constantRisk
	}
	return c, nil
}

// lowestStep returns the step with the lowest value.
func lowestStep(path []search.Step) search.Step {
	best := search.Step{Loss: math.Inf(1)}
	for _, s := range path {
		if s.Loss < best.Loss {
			best = s
		}
	}
	return best
}

// mapSetup holds the problems of one data set.
type mapSetup struct {
	many, one *experiment.Setup
	training  search.Objective // with many hyperparameters
	searcher  search.Searcher  // with many hyperparameters
	// These fields are the CV loss and the test loss of a constant prediction. They are the units
	// of the CV losses and of the test losses.
	constant, constantRisk float64
}

// mapPlace is a cell with its setup.
type mapPlace struct {
	MapPlace
	setup        func(p GradientMapParams, m mapPlace, stream func(purpose string) *synth.Stream) (*mapSetup, error)
	level        int // number of groups or of hidden units
	share, noise int // indices in the lists; the names of streams contain them
}

// stream names a stream of random numbers. Cells with the same problem, size and noise share their
// streams.
func (m mapPlace) stream(purpose string) string {
	return fmt.Sprintf("map, %s of %d examples, noise %d: %s", m.Problem, m.Train, m.noise, purpose)
}

// places lists the cells.
func (p GradientMapParams) places() (all []mapPlace) {
	for _, of := range []struct {
		problem string
		sizes   []int
		levels  []int
		noises  []float64
		count   func(level int) int
		setup   func(p GradientMapParams, m mapPlace, stream func(purpose string) *synth.Stream) (*mapSetup, error)
	}{
		{MapOfPenalties, p.Penalties.Sizes, p.Penalties.Groups, p.Penalties.Noises, func(groups int) int { return groups }, GradientMapParams.regression},
		{MapOfWidths, p.Widths.Sizes, p.Widths.Groups, p.Widths.Noises, func(groups int) int { return 1 + groups }, GradientMapParams.regression},
		{MapOfWeights, p.Weights.Sizes, p.Weights.Hidden, p.Weights.Noises, func(hidden int) int { return p.Weights.cvgm(hidden, p.K, .5).NumHyperparameters() }, GradientMapParams.rings},
	} {
		for a, size := range of.sizes {
			for b, level := range of.levels {
				for c, share := range p.Shares {
					for d, noise := range of.noises {
						if (a+b+c+d)%p.Fraction == 0 {
							all = append(all, mapPlace{MapPlace{of.problem, size, of.count(level), share, noise}, of.setup, level, c, d})
						}
					}
				}
			}
		}
	}
	return all
}

// regression returns the setup for penalties or widths.
func (p GradientMapParams) regression(m mapPlace, stream func(purpose string) *synth.Stream) (*mapSetup, error) {
	of := Friedman{Train: m.Train, Test: p.Widths.Test, Features: p.Widths.Features, Noise: m.Noise}.problem("")
	if m.Problem == MapOfPenalties {
		of = p.bands(m.Train, m.Noise).problem("")
	}
	train, test := of.draw(stream)
	splits, err := cvgm.BalancedSplits(stream(fmt.Sprintf("splits %d", m.share)), m.Train, p.K, m.Share)
	if err != nil {
		return nil, err
	}
	s := &mapSetup{searcher: searcher(p.Evaluations), constantRisk: constantLoss(train, test)}
	s.constant = s.constantRisk
	many, errMany := of.setup(m.level, train, test, splits)
	one, errOne := of.setup(1, train, test, splits)
	if err := experiment.FirstError(errMany, errOne); err != nil {
		return nil, err
	}
	twice, split := experiment.Resubstitution(train)
	training, err := of.loss(m.level, twice, split)
	if err != nil {
		return nil, err
	}
	s.many, s.one, s.training = many, one, training.Eval
	return s, nil
}

// cvgm returns the learned kernel with the given number of hidden units.
func (w MapWeights) cvgm(hidden, splits int, share float64) kernels.KernelCVGM {
	return kernels.KernelCVGM{K: splits, P: share, C: w.C, Hidden: []int{hidden}, StepSize: w.StepSize, Steps: w.Steps}
}

// boxC bounds the search for C.
var boxC = interval{1e-3, 1, 1e4}

// rings returns the setup for weights.
func (p GradientMapParams) rings(m mapPlace, stream func(purpose string) *synth.Stream) (*mapSetup, error) {
	w := p.Weights
	kernel := w.cvgm(m.level, p.K, m.Share)
	data := kernels.RingsData{InnerRadius: w.InnerRadius, OuterRadius: w.OuterRadius, RadiusSD: m.Noise}
	many, err := data.Examples(stream("training data"), stream("test data"), m.Train, w.Test)
	if err != nil {
		return nil, err
	}
	phi := kernel.Kernel()
	many.Start = make([]float64, phi.NumParams())
	phi.Init(many.Start, stream("weights"))
	if many.Splits, err = ofBothClasses(stream(fmt.Sprintf("splits %d", m.share)), many.Train.Y, p.K, m.Share); err != nil {
		return nil, err
	}
	if many.CV, err = kernel.Loss(phi, kernels.Full.Learner, many.Loss, many.Train, many.Splits); err != nil {
		return nil, err
	}
	twice, split := experiment.Resubstitution(many.Train)
	training, errTraining := kernel.Loss(phi, kernels.Full.Learner, cvgm.LogisticLoss{}, twice, split)
	cv, errCV := cvgm.New(cvgm.Config{
		Data: many.Train, Splits: many.Splits, Learner: kernels.Full.Learner, Loss: cvgm.LogisticLoss{}, Features: phi, Workers: 1, Generalised: true,
	})
	if err := experiment.FirstError(errTraining, errCV); err != nil {
		return nil, err
	}
	// The hyperparameters of cv are C and the weights. The weights do not change.
	one := &experiment.Setup{Train: many.Train, Test: many.Test, CV: cv, Start: []float64{boxC.start}, Lower: []float64{boxC.low}, Upper: []float64{boxC.high}}
	alpha, grad := append([]float64{0}, many.Start...), make([]float64, 1+len(many.Start))
	one.Hyper = func(x []float64) []float64 {
		alpha[0] = x[0]
		return alpha
	}
	one.Objective = func(g, x []float64) (float64, error) {
		if g == nil {
			return cv.Eval(nil, one.Hyper(x))
		}
		loss, err := cv.Eval(grad, one.Hyper(x))
		g[0] = grad[0]
		return loss, err
	}
	many.Loss, one.Loss = cvgm.ZeroOne{}, cvgm.ZeroOne{}
	return &mapSetup{many: many, one: one, training: training.Eval, searcher: kernels.GradientDescent(kernel.StepSize, kernel.Steps),
		constant: math.Ln2, constantRisk: ConstantError}, nil
}

// ofBothClasses draws uniform splits whose training rows have both classes. A learner with rows of
// only one class would have an infinite intercept.
func ofBothClasses(src cvgm.Source, labels []float64, k int, share float64) (splits []cvgm.Split, err error) {
	for len(splits) < k {
		one, err := cvgm.RandomSplits(src, len(labels), 1, share)
		if err != nil {
			return nil, err
		}
		var seen [2]bool
		for _, i := range one[0].Train {
			seen[int(labels[i]+1)/2] = true
		}
		if seen[0] && seen[1] {
			splits = append(splits, one...)
		}
	}
	return splits, nil
}
