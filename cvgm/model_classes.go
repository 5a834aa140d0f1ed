package cvgm

import (
	"context"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// FinalClasses does the work of FinalContext for a [learn.ClassLearner]. It returns a model for
// each class. The prediction of each model is the decision value of its class. Model.LogOdds is not
// set, because only the difference of two decision values is a log odds.
func (cv *CV) FinalClasses(ctx context.Context, rows []int, alpha []float64) ([]*Model, error) {
	l, ok := cv.fits[0].learner.(learn.ClassLearner)
	if !ok {
		return nil, args.Bad("Config.Learner", qpdiff.ErrDomain, "use Final", "is a %T, which has one model", cv.fits[0].learner)
	}
	whole, err := cv.fitModel(ctx, rows, alpha)
	if err != nil {
		return nil, err
	}
	models := make([]*Model, l.Outputs())
	size := len(whole.Theta) / len(models)
	for c := range models {
		m := *whole
		m.Theta, m.LogOdds = whole.Theta[c*size:][:size:size], false
		if m.Freedom != nil {
			m.Freedom = whole.Freedom[c*size:][:size:size]
		}
		if err := m.check(); err != nil {
			return nil, args.At(err, "class %d", c)
		}
		models[c] = &m
	}
	return models, nil
}

// ClassProbabilities returns the probability of each class for each row of x. The models come from
// [CV.FinalClasses]. The result has one row for each row of x and one column for each class. A
// probability is exp(decision) divided by the sum of exp(decision) over the classes.
// ClassProbabilities returns the errors of [Model.Predict], and adds the class to the message. If
// there is only one model, the error is of kind ErrShape; if there is no model, the error is of
// kind ErrEmpty.
func ClassProbabilities(models []*Model, x mat.Matrix) (*mat.Dense, error) {
	if err := args.TooFew("models", len(models), 2, "give all of CV.FinalClasses"); err != nil {
		return nil, err
	}
	rows := 0
	if x != nil {
		rows, _ = x.Dims()
	}
	if rows == 0 {
		return nil, args.Bad("x", qpdiff.ErrEmpty, "give a matrix of rows", "is nil or has no row")
	}
	decisions, err := classDecisions(models, rows, x)
	if err != nil {
		return nil, err
	}
	all := mat.NewDense(rows, len(models), nil)
	for c := range models {
		all.SetCol(c, block(decisions, c, rows))
	}
	for i := range rows {
		portable.Softmax(all.RawRowView(i))
	}
	return all, nil
}

// classDecisions returns the decisions of the first class for all rows, followed by the decisions
// of the next class, and so on.
func classDecisions(models []*Model, rows int, x mat.Matrix) ([]float64, error) {
	decisions := make([]float64, rows*len(models))
	for c, m := range models {
		if err := m.check(); err != nil {
			return nil, args.At(err, "class %d", c)
		}
		if err := m.Predict(block(decisions, c, rows), x); err != nil {
			return nil, args.At(err, "class %d", c)
		}
	}
	return decisions, nil
}

// ClassRisk is [Model.Risk] for the models of [CV.FinalClasses]. The labels of d are the numbers of
// the classes. The loss gets the log odds of each row's class as prediction, and 1 as label.
func ClassRisk(models []*Model, loss Loss, d learn.Data) (float64, error) {
	if err := args.First(args.TooFew("models", len(models), 2, "give all of CV.FinalClasses"), args.Data("d", d, true), checkLoss(loss), checkLabels("d.Y", d.Y, len(models))); err != nil {
		return math.NaN(), err
	}
	decisions, err := classDecisions(models, len(d.Y), d.X)
	if err != nil {
		return math.NaN(), err
	}
	j := &jointFit{decisions: decisions, slopes: make([]float64, len(decisions))}
	for _, y := range d.Y {
		j.ownClass = append(j.ownClass, int(y))
	}
	losses := make([]float64, len(d.Y)) // first the log odds
	j.logOdds(losses)
	for i, p := range losses {
		losses[i], _ = loss.Eval(p, 1)
	}
	return weightedMean(losses, d.Weights)
}
