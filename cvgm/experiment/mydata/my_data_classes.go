package mydata

import (
	"context"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/cvgm/tune/assess"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A classModel is the result of tuning for three or more classes: some fields of a [Result], and
// also the models that predict the classes.
type classModel struct {
	learner    string
	models     []Model
	joint      *Model
	metrics    *assess.Multiclass
	predictors []*cvgm.Model
}

// severalClasses tunes for three or more classes.
func (p MyDataParams) severalClasses(ctx context.Context, hooks experiment.Hooks, t *table.Table) (*classModel, error) {
	r := &classModel{}
	tuner := p.tuner(hooks, len(t.Classes))
	tuner.Learner, r.learner = p.learner(true)
	if p.Learner == "auto" {
		tuner.Learner = nil // the tuner's default for three or more classes
	}
	tuned, err := tuner.TuneClasses(ctx, t)
	if err != nil {
		return nil, err
	}
	r.metrics = tuned.Metrics
	if tuned.Joint != nil {
		r.learner, r.predictors = "multinomial logistic regression", tuned.Joint.ClassModels
		return r, p.jointModel(ctx, r, t, tuned.Joint)
	}
	for k, one := range tuned.Tuned {
		binary, err := t.Binary(t.Classes[k])
		if err != nil {
			return nil, err
		}
		m, err := p.model(ctx, one, binary, false)
		if err != nil {
			return nil, err
		}
		r.models, r.predictors = append(r.models, m), append(r.predictors, one.Model)
	}
	if r.metrics == nil {
		r.metrics = multiclass(t, false, func(i, c int) float64 { return r.models[c].Judged.Predictions[0][i] })
	}
	return r, nil
}

// multiclass returns the metrics of the decisions decision(i, c) for all rows i and classes c. If
// the metrics cannot be computed, multiclass returns nil.
func multiclass(t *table.Table, probabilities bool, decision func(i, c int) float64) *assess.Multiclass {
	s := assess.ClassSample{Y: t.Y, Weights: t.Weights, Decisions: mat.NewDense(len(t.Y), len(t.Classes), nil)}
	for i := range t.Y {
		for c := range t.Classes {
			s.Decisions.Set(i, c, decision(i, c))
		}
	}
	m, err := assess.ClassifyMulti(probabilities, s)
	if err != nil { // with a prediction that is not finite, there are no metrics
		return nil
	}
	return &m
}

// jointModel sets, in r, the joint model of all classes and a model for each class.
func (p MyDataParams) jointModel(ctx context.Context, r *classModel, t *table.Table, tuned *tune.Tuned) error {
	joint := commonParts(tuned, t)
	joint.LossName = "multinomial log loss"
	cv, err := cvgm.NewContext(ctx, tuned.Config)
	if err != nil {
		return err
	}
	probabilities, folds, err := jointProbabilities(ctx, cv, tuned)
	if err != nil {
		return err
	}
	if r.metrics == nil {
		r.metrics = multiclass(t, true, func(i, c int) float64 { return probabilities[0][i][c] })
	}
	coefficients, err := foldCoefficients(ctx, cv, tuned)
	if err != nil {
		return err
	}
	for c, class := range t.Classes {
		m := Model{Class: class, ConstantLoss: joint.ConstantLoss, Verdict: joint.Verdict}
		for _, y := range t.Y {
			m.Y = append(m.Y, sign(y == float64(c)))
		}
		m.Judged = judgedClass(tuned, c, m.Y, probabilities, folds)
		m.describe(tuned.ClassPipeline.Pipelines[c], tuned.ClassModels[c], true)
		for _, fold := range coefficients {
			m.FoldCoefficients = append(m.FoldCoefficients, fold[c])
		}
		r.models = append(r.models, m)
	}
	paths, err := p.paths(ctx, cv, tuned, len(r.models[0].Features))
	if err != nil {
		return err
	}
	for c, path := range paths {
		r.models[c].Path = path
	}
	r.joint = &joint
	return p.surroundings(ctx, cv, r.joint, tuned, tuned.ClassPipeline, true)
}

// sign returns +1 for true and −1 for false.
func sign(positive bool) float64 {
	if positive {
		return 1
	}
	return -1
}

// jointProbabilities returns probabilities as [repeat][row][class]. It also returns the folds of
// each repeat. They are the outer folds or, without a nested estimate, the splits of the search.
func jointProbabilities(ctx context.Context, cv *cvgm.CV, tuned *tune.Tuned) (all [][][]float64, folds [][]cvgm.Split, err error) {
	if r := tuned.Risk; r != nil {
		return r.OutOfFoldClasses, r.Outer, nil
	}
	if _, err := cv.EvalContext(ctx, nil, tuned.Winner.Hyper); err != nil {
		return nil, nil, err
	}
	p := mat.NewDense(len(tuned.Config.Data.Y), len(tuned.Winner.ClassModels), nil)
	if err := cv.OutOfFoldClasses(p); err != nil {
		return nil, nil, err
	}
	one := make([][]float64, len(tuned.Config.Data.Y))
	for i := range one {
		one[i] = p.RawRowView(i)
	}
	return [][][]float64{one}, [][]cvgm.Split{tuned.Splits}, nil
}

// judgedClass returns the metrics of the log odds of a class against all others. The log odds are
// computed from the probabilities. y is 1 for rows of the class, and −1 for other rows.
func judgedClass(tuned *tune.Tuned, class int, y []float64, probabilities [][][]float64, folds [][]cvgm.Split) Judged {
	d := tuned.Config.Data
	j := Judged{Nested: tuned.Risk != nil, Weights: d.Weights}
	var samples []assess.Sample
	for r, rows := range probabilities {
		s := assess.Sample{Y: y, Weights: d.Weights}
		for _, row := range rows {
			// A probability of 0 is replaced by leastProbability, so that its logarithm is finite.
			others := floats.Sum(row[:class]) + floats.Sum(row[class+1:])
			s.Predictions = append(s.Predictions, math.Log(max(row[class], leastProbability))-math.Log(max(others, leastProbability)))
		}
		for _, fold := range folds[r] {
			s.Folds = append(s.Folds, fold.Val)
		}
		samples, j.Predictions = append(samples, s), append(j.Predictions, s.Predictions)
	}
	if m, err := assess.Classify(0, true, samples...); err == nil {
		j.Classes = &m
	}
	j.ROC = roc(y, j.Weights, 0, j.Predictions...)
	return j
}

// leastProbability is the smallest probability with full precision.
const leastProbability = 0x1p-1022
