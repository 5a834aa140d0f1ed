package mydata

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Model is a tuned model: of the target, or of one class against the others.
type Model struct {
	Class string // the class +1; empty: the target is a number
	Hyper []Hyper
	// LossName names the validation loss that the following are of: CV losses at the tuned
	// hyperparameters, with its standard error, at the default ones and of the best constant
	// prediction, and the training loss. They judge the search, also where a constant prediction or
	// the defaults are better and make the pipeline, the coefficients and the predictions.
	LossName                                                  string
	Verdict                                                   string // the model to use, in a sentence
	Loss, StandardError, DefaultLoss, ConstantLoss, TrainLoss float64
	Risk                                                      *tune.Risk  // the nested estimate; nil: none
	Evaluations                                               int         // of the CV loss, in all searches
	Warnings                                                  []string    // sentences
	Curves                                                    []Curve     // of the hyperparameters that were searched
	Axes                                                      [][]float64 // of Surface, ascending; nil: there are not two hyperparameters
	Surface                                                   [][]float64 // the CV loss [i][j] at Axes[0][i], Axes[1][j]; NaN if the fit fails
	Path                                                      []tune.Step // the search
	Features                                                  []string    // that the columns become
	Coefficients                                              []float64   // of the features per standard deviation; nil for a kernel
	Y, OutOfFold                                              []float64   // target and out-of-fold prediction of each row
	ROC                                                       ROC         // empty for a target that is a number
	Pipeline                                                  string      // as JSON
}

// Hyper is a hyperparameter with its bounds.
type Hyper struct {
	Name                         string
	Lower, Default, Tuned, Upper float64
	Zero                         bool // 0 was tried, too
}

// Curve is the CV loss along one hyperparameter through the tuned point, with its standard
// error. Loss and Error are NaN if the fit fails.
type Curve struct {
	Hyper           string
	At, Loss, Error []float64
	Tuned           float64
}

// ROC is the receiver operating characteristic of out-of-fold decisions: the rates of +1
// among the decisions above each threshold, from (0, 0) to (1, 1).
type ROC struct {
	FalsePositive, TruePositive []float64
	Area                        float64 // under it
}

// Boundary holds decisions over two numeric columns.
type Boundary struct {
	Names  [2]string
	Axes   [2][]float64
	Margin [][][]float64 // [k][i][j] with two classes the decision value, else the one of class k minus the largest other one
	X      [2][]float64  // the rows; NaN for a missing value
	Class  []int         // of each row
}

// model returns the numbers of a table's tuned model.
func (p MyDataParams) model(ctx context.Context, tuned *tune.Tuned, t *table.Table, surface bool) (Model, error) {
	m := Model{
		LossName: lossName(tuned.Config.Loss), Verdict: tuned.Verdict(), Loss: tuned.Winner.Loss, StandardError: tuned.Winner.StandardError, DefaultLoss: tuned.DefaultLoss, ConstantLoss: tuned.ConstantLoss,
		TrainLoss: tuned.Winner.TrainLoss, Risk: tuned.Risk, Evaluations: tuned.Evaluations, Path: tuned.Path, Y: slices.Clone(t.Y), OutOfFold: tuned.OutOfFold,
		Warnings: warnings(tuned, t),
	}
	if len(t.Classes) > 0 {
		m.Class, m.ROC = t.Classes[1], roc(t.Y, tuned.OutOfFold)
	}
	for i, h := range tuned.Searched {
		m.Hyper = append(m.Hyper, Hyper{h.Name, h.Lower, h.Default, tuned.Winner.Hyper[i], h.Upper, h.Zero})
	}
	if encoder, ok := tuned.Model.Prepared.(*table.Encoder); ok {
		m.Features = encoder.Names()
	}
	if tuned.Winner.Model.Kernel == nil {
		m.Coefficients = slices.Clone(tuned.Model.Theta[:len(m.Features)])
	}
	text, err := json.MarshalIndent(tuned.Pipeline, "", "\t")
	if err != nil {
		return m, err
	}
	m.Pipeline = string(text) + "\n"
	return m, p.around(ctx, &m, tuned, surface)
}

// around evaluates the CV loss around the tuned hyperparameters.
func (p MyDataParams) around(ctx context.Context, m *Model, tuned *tune.Tuned, surface bool) error {
	cv, err := cvgm.New(tuned.Config)
	if err != nil {
		return err
	}
	lowest, at := math.Inf(1), []float64(nil)
	eval := func(x []float64) (loss, se float64, err error) {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if loss, err = cv.Eval(nil, x); err == nil {
			se, err = cv.StandardError()
		}
		if err != nil {
			return math.NaN(), math.NaN(), nil // a gap
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
		c := Curve{Hyper: h.Name, At: h.within(p.CurvePoints), Tuned: h.Tuned}
		if h.Tuned > h.Lower && h.Tuned < h.Upper {
			at, _ := slices.BinarySearch(c.At, h.Tuned)
			c.At = slices.Insert(c.At, at, h.Tuned)
		}
		x := slices.Clone(tuned.Winner.Hyper)
		for _, v := range c.At {
			x[i] = v
			loss, se, err := eval(x)
			if err != nil {
				return err
			}
			c.Loss, c.Error = append(c.Loss, loss), append(c.Error, se)
		}
		m.Curves = append(m.Curves, c)
	}
	if surface && len(m.Hyper) == 2 && len(m.Curves) == 2 {
		m.Axes = [][]float64{m.Hyper[0].within(p.SurfacePoints), m.Hyper[1].within(p.SurfacePoints)}
		if m.Surface, err = experiment.OnGrid(ctx, m.Axes, func(x []float64) (float64, error) {
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

// noticeable is the share of the CV loss by which a lower one beside the search is reported.
const noticeable = 1e-2

// within returns n points between the bounds of a hyperparameter, at equal ratios.
func (h Hyper) within(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = min(max(h.Lower*math.Pow(h.Upper/h.Lower, float64(i)/float64(n-1)), h.Lower), h.Upper)
	}
	return v
}

// lossName returns the name of a validation loss.
func lossName(l cvgm.Loss) string {
	switch l.(type) {
	case cvgm.SquaredError:
		return "squared error"
	case cvgm.AbsoluteError:
		return "absolute error"
	case cvgm.LogisticLoss:
		return "logistic loss"
	case cvgm.Hinge:
		return "hinge loss"
	}
	return "loss"
}

// warnings returns the tuner's, the table's notes, and that a target of two numbers may be meant as classes.
func warnings(tuned *tune.Tuned, t *table.Table) []string {
	var all []string
	for _, w := range tuned.Warnings {
		all = append(all, w.Text)
	}
	for _, n := range t.Notes {
		all = append(all, n.Text)
	}
	values := map[float64]bool{}
	for _, y := range t.Y {
		values[y] = true
	}
	if len(t.Classes) == 0 && len(values) == 2 {
		all = append(all, fmt.Sprintf("The target %q has two values only: set Positive to one of them to make them classes.", t.Target))
	}
	return all
}

// roc returns the receiver operating characteristic of decisions for labels ±1. Equal
// decisions are one step. Decisions that are NaN are left out.
func roc(y, decisions []float64) ROC {
	var order []int
	var positives, negatives float64
	for i, d := range decisions {
		if d != d {
			continue
		}
		order = append(order, i)
		if y[i] > 0 {
			positives++
		} else {
			negatives++
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(decisions[b], decisions[a]) })
	r := ROC{FalsePositive: []float64{0}, TruePositive: []float64{0}}
	var falses, trues float64
	for k, i := range order {
		if y[i] > 0 {
			trues++
		} else {
			falses++
		}
		if k+1 < len(order) && decisions[order[k+1]] == decisions[i] {
			continue
		}
		f, t := falses/max(negatives, 1), trues/max(positives, 1)
		last := len(r.FalsePositive) - 1
		r.Area += (f - r.FalsePositive[last]) * (t + r.TruePositive[last]) / 2
		r.FalsePositive, r.TruePositive = append(r.FalsePositive, f), append(r.TruePositive, t)
	}
	return r
}

// confusion counts the rows of each class by the class of their out-of-fold decisions: of two
// classes by the sign, of more by the largest decision.
func confusion(t *table.Table, models []Model) [][]int {
	n := len(t.Classes)
	if n == 0 {
		return nil
	}
	counts := make([][]int, n)
	for k := range counts {
		counts[k] = make([]int, n)
	}
	for i := range t.Y {
		decisions := []float64{0, models[0].OutOfFold[i]}
		if n > 2 {
			decisions = decisions[:0]
			for _, m := range models {
				decisions = append(decisions, m.OutOfFold[i])
			}
		}
		predicted := 0
		for k, d := range decisions {
			if d > decisions[predicted] {
				predicted = k
			}
		}
		if !slices.ContainsFunc(decisions, math.IsNaN) {
			counts[classOf(t, i)][predicted]++
		}
	}
	return counts
}

// classOf returns the number of a row's class.
func classOf(t *table.Table, i int) int {
	if len(t.Classes) == 2 {
		return int(t.Y[i]+1) / 2
	}
	return int(t.Y[i])
}

// boundary returns the decisions over the plane of exactly two numeric columns, or nil.
func (p MyDataParams) boundary(t *table.Table, d learn.Data, tuned []*tune.Tuned) (*Boundary, error) {
	if len(t.Classes) == 0 || len(t.Columns) != 2 || t.Columns[0].Kind != table.Numeric || t.Columns[1].Kind != table.Numeric {
		return nil, nil
	}
	b := &Boundary{Names: [2]string{t.Columns[0].Name, t.Columns[1].Name}}
	for j := range b.Names {
		b.X[j] = mat.Col(nil, j, d.X)
		low, high := math.Inf(1), math.Inf(-1)
		for _, v := range b.X[j] {
			if v == v {
				low, high = min(low, v), max(high, v)
			}
		}
		const margin = .05 // of the range, on either side
		by := margin * (high - low)
		if !(by > 0) {
			by = 1
		}
		b.Axes[j] = make([]float64, p.CurvePoints)
		for i := range b.Axes[j] {
			share := float64(i) / float64(p.CurvePoints-1)
			b.Axes[j][i] = (1-share)*(low-by) + share*(high+by)
		}
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
	decisions := make([][]float64, len(tuned))
	for k := range tuned {
		decisions[k] = make([]float64, p.CurvePoints*p.CurvePoints)
		if err := tuned[k].Model.Predict(decisions[k], points); err != nil {
			return nil, err
		}
	}
	for k := range decisions {
		margin := slices.Clone(decisions[k])
		for at := range margin {
			other := math.Inf(-1)
			for l := range decisions {
				if l != k {
					other = max(other, decisions[l][at])
				}
			}
			if len(decisions) > 1 {
				margin[at] -= other
			}
		}
		b.Margin = append(b.Margin, slices.Collect(slices.Chunk(margin, p.CurvePoints)))
	}
	return b, nil
}
