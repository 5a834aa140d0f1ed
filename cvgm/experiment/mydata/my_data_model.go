package mydata

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Model is a tuned model. It predicts the target, or one class against all others, or it is the
// part of a multinomial model for one class.
type Model struct {
	Class string // the class with the label +1; empty: the target is a number, or the model is for all classes
	Hyper []Hyper
	// LossName is the name of the validation loss. Loss is the CV loss at the tuned
	// hyperparameters, and StandardError is its standard error. DefaultLoss is the CV loss at the
	// default hyperparameters. ConstantLoss is the CV loss of the best constant prediction.
	// TrainLoss is the training loss. These losses describe the search. If a constant prediction or
	// the defaults are better than the tuned model, the pipeline, the coefficients and the
	// predictions are from the better model.
	LossName                                                  string
	Verdict                                                   string // one sentence that names the model to use
	Loss, StandardError, DefaultLoss, ConstantLoss, TrainLoss float64
	Risk                                                      *tune.Risk  // the nested estimate; nil: no estimate
	Evaluations                                               int         // number of evaluations of the CV loss in all searches
	Doubts                                                    []string    // warnings that the tuned model is or may be worse than a simpler one
	Warnings                                                  []string    // all other warnings
	Curves                                                    []Curve     // of the searched hyperparameters
	Axes                                                      [][]float64 // of Surface, ascending; nil if there are not two hyperparameters
	Surface                                                   [][]float64 // CV loss: [i][j] is at (Axes[0][i], Axes[1][j]); NaN if the fit fails
	Descent                                                   [][]float64 // points of the descent to the lowest loss, without its first long steps; only with a Surface
	Learning                                                  Learning
	Features                                                  []string    // names of the features that are made from the columns
	Coefficients                                              []float64   // per standard deviation of each feature; nil for a kernel
	PerUnit                                                   []float64   // coefficients in the units of the file; nil for a kernel, and if a coefficient overflows
	FoldCoefficients                                          [][]float64 // of the fits to each split's training rows, in the units of Coefficients
	Path                                                      *Path       // coefficients along the main penalty; nil for a kernel, and if nothing is searched
	Y                                                         []float64   // target of each row
	Judged                                                    Judged
	Pipeline                                                  string // as JSON
}

// Curve is the CV loss with its standard error along one hyperparameter. The other hyperparameters
// have their tuned values. Loss and Error are NaN if the fit fails.
type Curve struct {
	Hyper           string
	At, Loss, Error []float64
	Tuned           float64
}

// Boundary holds decisions as a function of two numeric columns.
type Boundary struct {
	Names  [2]string
	Axes   [2][]float64
	Margin [][][]float64 // [k][i][j]; with two classes the decision, otherwise the decision of class k minus the largest other decision
	X      [2][]float64  // values of the rows; NaN for a missing value
	Class  []int         // class of each row
}

// model returns the results for a model that is tuned on a table.
func (p MyDataParams) model(ctx context.Context, tuned *tune.Tuned, t *table.Table, surface bool) (Model, error) {
	m := commonParts(tuned, t)
	m.Judged = p.judgedPredictions(tuned)
	if len(t.Classes) > 0 {
		m.Class = t.Classes[1]
	}
	m.describe(tuned.Pipeline, tuned.Model, tuned.Winner.Model.Kernel == nil)
	cv, err := cvgm.NewContext(ctx, tuned.Config)
	if err != nil {
		return m, err
	}
	coefficients, err := foldCoefficients(ctx, cv, tuned)
	if err != nil {
		return m, err
	}
	for _, fold := range coefficients {
		m.FoldCoefficients = append(m.FoldCoefficients, fold[0])
	}
	paths, err := p.paths(ctx, cv, tuned, len(m.Features))
	if err != nil {
		return m, err
	}
	if paths != nil {
		m.Path = paths[0]
	}
	return m, p.surroundings(ctx, cv, &m, tuned, tuned.Pipeline, surface)
}

// commonParts returns the parts of a model that need no fit: losses, risk, hyperparameters and
// warnings.
func commonParts(tuned *tune.Tuned, t *table.Table) Model {
	doubts, others := warnings(tuned)
	m := Model{
		LossName: tuned.LossName(), Verdict: tuned.Verdict(), Loss: tuned.Winner.Loss, StandardError: tuned.Winner.StandardError, DefaultLoss: tuned.DefaultLoss, ConstantLoss: tuned.ConstantLoss,
		TrainLoss: tuned.Winner.TrainLoss, Risk: tuned.Risk, Evaluations: tuned.Evaluations, Y: slices.Clone(t.Y), Doubts: doubts, Warnings: others,
	}
	for i, h := range tuned.Searched {
		m.Hyper = append(m.Hyper, Hyper{h.Name, h.Lower, h.Default, tuned.Winner.Hyper[i], h.Upper, h.Zero})
	}
	return m
}

// describe sets the names of the features and, for a linear model, the coefficients.
func (m *Model) describe(pipeline *table.Pipeline, fitted *cvgm.Model, linear bool) {
	if encoder, ok := fitted.Prepared.(*table.Encoder); ok {
		m.Features = encoder.Names()
	}
	if !linear {
		return
	}
	m.Coefficients = slices.Clone(fitted.Theta[:len(m.Features)])
	if _, perUnit, err := pipeline.Coefficients(); err == nil {
		m.PerUnit = perUnit
	}
}

// surroundings stores three results in m: the learning curve, the JSON of the pipeline, and the CV
// loss near the tuned hyperparameters.
func (p MyDataParams) surroundings(ctx context.Context, cv *cvgm.CV, m *Model, tuned *tune.Tuned, pipeline json.Marshaler, surface bool) (err error) {
	if m.Learning, err = p.learning(ctx, tuned); err != nil {
		return err
	}
	text, err := json.MarshalIndent(pipeline, "", "\t")
	if err != nil {
		return err
	}
	m.Pipeline = string(text) + "\n"
	return p.curvesAround(ctx, cv, m, tuned, surface)
}

// curvesAround evaluates the CV loss around the tuned hyperparameters. It sets the curves, the axes
// and the surface.
func (p MyDataParams) curvesAround(ctx context.Context, cv *cvgm.CV, m *Model, tuned *tune.Tuned, surface bool) (err error) {
	cv.Reset() // the losses then have the same bits as from a new CV
	lowest, at := math.Inf(1), []float64(nil)
	eval := func(x []float64) (loss, se float64, err error) {
		if loss, err = cv.EvalContext(ctx, nil, x); err == nil {
			se, err = cv.StandardError()
		}
		if ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		if err != nil {
			return math.NaN(), math.NaN(), nil // a gap in the curve
		}
		if loss < lowest {
			lowest, at = loss, slices.Clone(x)
		}
		return loss, se, nil
	}
	for i, h := range m.Hyper {
		if h.Lower == h.Upper {
			continue
		}
		c := Curve{Hyper: h.Name, At: h.gridWithTuned(p.CurvePoints), Tuned: h.Tuned}
		if err := c.evaluate(eval, tuned.Winner.Hyper, i); err != nil {
			return err
		}
		m.Curves = append(m.Curves, c)
	}
	if surface && len(m.Hyper) == 2 && len(m.Curves) == 2 {
		m.Descent = finalDescent(tuned)
		m.Axes = window(m, p.SurfacePoints)
		if m.Surface, err = experiment.OnGrid(ctx, m.Axes, func(_ context.Context, x []float64) (float64, error) {
			loss, _, err := eval(x)
			return loss, err
		}); err != nil {
			return err
		}
	}
	if lowest < (1-noticeable)*m.Loss {
		var where []string
		for i, h := range m.Hyper {
			where = append(where, fmt.Sprintf("%s = %.3g", h.Name, at[i]))
		}
		m.Warnings = append(m.Warnings, fmt.Sprintf("The search missed a lower CV loss: a point of the pictures, %s, has %.4g, the tuned one %.4g.", strings.Join(where, ", "), lowest, m.Loss))
	}
	return nil
}

// evaluate sets the losses at the values of hyperparameter i, and the standard errors of these
// losses, from the results of the function eval. The other hyperparameters have their tuned values.
func (c *Curve) evaluate(eval func(x []float64) (loss, se float64, err error), tuned []float64, i int) error {
	x := slices.Clone(tuned)
	for _, v := range c.At {
		x[i] = v
		loss, se, err := eval(x)
		if err != nil {
			return err
		}
		c.Loss, c.Error = append(c.Loss, loss), append(c.Error, se)
	}
	return nil
}

// noticeable is a share of the lowest CV loss of the search. A point outside of the search is
// reported if its CV loss is lower by more than this share.
const noticeable = 1e-2

// finalDescent returns points of the descent that ends with the lowest CV loss. It skips the points
// up to the last leap of this descent, and the points that do not lower the CV loss. A leap is a
// long step: in the logarithm of a hyperparameter, it exceeds a fixed share of the range. The line
// search takes leaps to find the unit of its steps.
func finalDescent(tuned *tune.Tuned) [][]float64 {
	const leap = .2
	best, lowest := 0, math.Inf(1)
	for _, s := range tuned.Path {
		if s.Start > 0 && s.Loss < lowest {
			best, lowest = s.Start, s.Loss
		}
	}
	var descent [][]float64
	far := func(a, b []float64) bool {
		for i, h := range tuned.Searched {
			if math.Abs(math.Log(a[i]/b[i])) > leap*math.Log(h.Upper/h.Lower) {
				return true
			}
		}
		return false
	}
	below := math.Inf(1)
	for _, s := range tuned.Path {
		if s.Start != best || best == 0 || !(s.Loss < below) || slices.Contains(s.Hyper, 0) {
			continue
		}
		below = s.Loss
		if n := len(descent); n > 0 && far(descent[n-1], s.Hyper) {
			descent = nil
		}
		descent = append(descent, s.Hyper)
	}
	return descent
}

// window returns axes with the given number of points. They contain the final descent and the tuned
// values. An axis is at least a decade wide, and stays within the bounds of the hyperparameter. A
// tuned value of 0 is ignored.
func window(m *Model, points int) [][]float64 {
	const beside, least = .25, .5 // of the margin on each side of an axis: beside is a share of the axis's length, and least is the smallest margin in decades
	var axes [][]float64
	for i, h := range m.Hyper {
		low, high := math.Inf(1), math.Inf(-1)
		if h.Tuned > 0 {
			low, high = h.Tuned, h.Tuned
		}
		for _, at := range m.Descent {
			low, high = min(low, at[i]), max(high, at[i])
		}
		if low > high {
			low, high = h.Lower, h.Upper
		}
		by := max(beside*math.Log10(high/low), least)
		h.Lower, h.Upper = max(h.Lower, low*math.Pow(10, -by)), min(h.Upper, high*math.Pow(10, by))
		axes = append(axes, h.grid(points))
	}
	return axes
}

// warnings returns the warnings of the tuner: doubts, that the tuned model is or may be worse than a
// simpler one, and others.
func warnings(tuned *tune.Tuned) (doubts, others []string) {
	for _, w := range tuned.Warnings {
		if text := byParameters(w.Text); w.Kind == tune.Worse || w.Kind == tune.MaybeWorse {
			doubts = append(doubts, text)
		} else {
			others = append(others, text)
		}
	}
	return doubts, others
}

// confusion returns the weight of the rows of each true class and predicted class, as a mean over
// the repeats. With two classes, a decision above threshold predicts the second class. With more
// classes, the class with the largest decision is predicted.
func confusion(t *table.Table, models []Model, threshold float64) [][]float64 {
	n := len(t.Classes)
	if n == 0 {
		return nil
	}
	counts := make([][]float64, n)
	for k := range counts {
		counts[k] = make([]float64, n)
	}
	repeats := math.MaxInt
	for _, m := range models {
		repeats = min(repeats, len(m.Judged.Predictions))
	}
	for r := range repeats {
		for i := range t.Y {
			decisions := []float64{threshold, models[0].Judged.Predictions[r][i]}
			if n > 2 {
				decisions = decisions[:0]
				for _, m := range models {
					decisions = append(decisions, m.Judged.Predictions[r][i])
				}
			}
			if !slices.ContainsFunc(decisions, math.IsNaN) {
				counts[classOf(t, i)][floats.MaxIdx(decisions)] += weightOf(t.Weights, i) / float64(repeats)
			}
		}
	}
	return counts
}

// classOf returns the index of a row's class.
func classOf(t *table.Table, i int) int {
	if len(t.Classes) == 2 {
		return int(t.Y[i]+1) / 2
	}
	return int(t.Y[i])
}

// boundary returns the decisions over the plane of the features. It returns nil unless the features
// are exactly two numeric columns.
func (p MyDataParams) boundary(t *table.Table, d learn.Data, models []*cvgm.Model) (*Boundary, error) {
	if len(t.Classes) == 0 || len(t.Columns) != 2 || t.Columns[0].Kind != table.Numeric || t.Columns[1].Kind != table.Numeric {
		return nil, nil
	}
	b := &Boundary{Names: [2]string{t.Columns[0].Name, t.Columns[1].Name}}
	for j := range b.Names {
		b.X[j] = mat.Col(nil, j, d.X)
		b.Axes[j] = axisAround(b.X[j], p.CurvePoints)
	}
	for i := range t.Y {
		b.Class = append(b.Class, classOf(t, i))
	}
	points := mat.NewDense(p.CurvePoints*p.CurvePoints, 2, nil)
	for i, x := range b.Axes[0] {
		for j, y := range b.Axes[1] {
			points.SetRow(i*p.CurvePoints+j, []float64{x, y})
		}
	}
	decisions := make([][]float64, len(models))
	for k := range models {
		decisions[k] = make([]float64, p.CurvePoints*p.CurvePoints)
		if err := models[k].Predict(decisions[k], points); err != nil {
			return nil, err
		}
	}
	for k := range decisions {
		b.Margin = append(b.Margin, slices.Collect(slices.Chunk(marginOf(decisions, k), p.CurvePoints)))
	}
	return b, nil
}

// axisAround returns evenly spaced values from a little below to a little above the values in x that
// are not NaN.
func axisAround(x []float64, points int) []float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		if v == v {
			low, high = min(low, v), max(high, v)
		}
	}
	const margin = .05 // share of the range, on each side
	by := margin * (high - low)
	if !(by > 0) {
		by = 1
	}
	axis := make([]float64, points)
	for i := range axis {
		share := float64(i) / float64(points-1)
		axis[i] = (1-share)*(low-by) + share*(high+by)
	}
	return axis
}

// marginOf returns the decision of model k minus the largest decision of the others, at each point.
// A single model has no others, and its margin is its decision.
func marginOf(decisions [][]float64, k int) []float64 {
	margin := slices.Clone(decisions[k])
	if len(decisions) == 1 {
		return margin
	}
	for at := range margin {
		other := math.Inf(-1)
		for l := range decisions {
			if l != k {
				other = max(other, decisions[l][at])
			}
		}
		margin[at] -= other
	}
	return margin
}

// tuner returns a tuner for the given number of models. The tuner reports to hooks.Progress.
func (p MyDataParams) tuner(hooks experiment.Hooks, models int) tune.Tuner {
	report, k, before := hooks.Progress, 0, time.Duration(0)
	tuner := tune.Tuner{Seed: p.Seed, OuterFolds: p.OuterFolds, Threshold: p.Threshold, MaxTime: time.Duration(p.Seconds * float64(time.Second)),
		Progress: func(t tune.Progress) {
			if t.Elapsed < before { // the next model has begun
				k = min(k+1, models-1)
			}
			if before = t.Elapsed; report != nil && t.Left > 0 {
				share := (float64(k) + t.Elapsed.Seconds()/(t.Elapsed+t.Left).Seconds()) / float64(models)
				report(int(100*share), 100)
			}
		}}
	switch p.OuterFolds {
	case 0:
		tuner.OuterFolds = -1
	case DefaultMyData().OuterFolds:
		tuner.OuterFolds = 0 // the default number, or as many folds as the data allows
	}
	return tuner
}

// learner returns the learner to tune, and its name in words.
func (p MyDataParams) learner(classes bool) (learn.Learner, string) {
	word := p.Learner
	if word == "auto" {
		word = map[bool]string{true: "logistic", false: "elastic_net"}[classes]
	}
	switch word {
	case "logistic":
		return &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, "logistic regression"
	case "sparse_logistic":
		return &linear.SparseLogistic{Intercept: true}, "sparse logistic regression"
	case "svm":
		return &margin.SVM{}, "support vector machine"
	case "kernel_svm":
		return &kernel.SVM{Intercept: true}, "kernel support vector machine"
	case "huber":
		return &linear.Huber{Intercept: true}, "Huber regression"
	case "kernel_ridge":
		return &kernel.Ridge{Intercept: true}, "kernel ridge regression"
	}
	return &linear.ElasticNet{}, "elastic net"
}
