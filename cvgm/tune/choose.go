package tune

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff"
)

// candidate fits the model at hyper, and computes its CV loss.
func (w *tuning) candidate(cv *cvgm.CV, hyper []float64) (c Candidate, err error) {
	c.Hyper, c.Residual = hyper, math.NaN()
	cv.Reset() // Loss then has the same bits as from a new CV; a warm start may change them
	c.Loss, err = cv.EvalContext(w.ctx, nil, hyper)
	if w.ctx.Err() != nil {
		return c, context.Cause(w.ctx)
	}
	if err != nil {
		return c, err
	}
	if c.StandardError, err = cv.StandardError(); err != nil {
		return c, err
	}
	if r, err := cv.Residual(); err == nil {
		c.Residual = r
	}
	c.OutOfFold = make([]float64, len(w.c.Data.Y))
	if err := cv.OutOfFold(c.OutOfFold); err != nil {
		return c, err
	}
	rows := sample.Complement(nil, len(w.c.Data.Y))
	if w.isJoint() {
		models, err := cv.FinalClasses(w.ctx, rows, hyper)
		if err != nil {
			return c, err
		}
		return w.withModels(c, models)
	}
	model, err := cv.FinalContext(w.ctx, rows, hyper)
	if err != nil {
		return c, err
	}
	return w.withModel(c, model)
}

// withModel sets the model of a candidate, its pipeline and its training loss.
func (w *tuning) withModel(c Candidate, model *cvgm.Model) (Candidate, error) {
	var err error
	if w.table != nil {
		if c.Pipeline, err = table.NewPipeline(model); err != nil {
			return c, err
		}
	}
	c.Model = model
	c.TrainLoss, err = model.Risk(w.c.Loss, w.c.Data)
	return c, err
}

// withModels is withModel for the models of several classes.
func (w *tuning) withModels(c Candidate, models []*cvgm.Model) (Candidate, error) {
	var err error
	if w.table != nil {
		if c.ClassPipeline, err = table.NewJoint(models); err != nil {
			return c, err
		}
	}
	c.ClassModels = models
	c.TrainLoss, err = cvgm.ClassRisk(models, w.c.Loss, w.c.Data)
	return c, err
}

// setResult makes c the result.
func (w *tuning) setResult(c Candidate) {
	out := w.result
	out.Hyper, out.Loss, out.StandardError, out.TrainLoss, out.Residual = c.Hyper, c.Loss, c.StandardError, c.TrainLoss, c.Residual
	out.OutOfFold, out.Model, out.Pipeline = c.OutOfFold, c.Model, c.Pipeline
	out.ClassModels, out.ClassPipeline = c.ClassModels, c.ClassPipeline
}

// chooseModel compares the winner with a constant prediction and with the defaults. If one of these
// is better, chooseModel replaces the winner and warns. It also warns if one of these may be
// better. chooseModel returns an error only if ctx ends.
func (w *tuning) chooseModel() error {
	choice, why := w.result.best()
	if choice == ChoseWinner {
		if why != "" {
			w.warnFirst(MaybeWorse, "%s", why)
		}
		return nil
	}
	name := map[Choice]string{ChoseDefault: defaultName, ChoseConstant: constantName}[choice]
	if w.KeepWinner {
		w.warnFirst(Worse, "%s. Model is the tuned one, because KeepWinner is set.", why)
		return nil
	}
	var c Candidate
	var err error
	if choice == ChoseConstant {
		c, err = w.constantCandidate()
	} else {
		var cv *cvgm.CV
		// MaxTime may be over, but these fits at one more point are still made.
		if cv, err = cvgm.NewContext(w.ctx, w.result.Config); err == nil {
			c, err = w.candidate(cv, w.result.DefaultHyper)
		}
	}
	switch {
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx)
	case err != nil:
		w.warnFirst(Worse, "%s. Model is the tuned one, because %s cannot be fitted: %v.", why, name, err)
		return nil
	}
	w.setResult(c)
	w.result.Choice = choice
	w.warnFirst(Worse, "%s. Model is %s, and Winner has the tuned model.", why, name)
	return nil
}

// warnFirst puts a warning before all others.
func (w *tuning) warnFirst(kind WarningKind, format string, args ...any) {
	w.result.Warnings = slices.Insert(w.result.Warnings, 0, Warning{kind, fmt.Sprintf(format, args...)})
}

// constantCandidate returns the best constant prediction for all data.
func (w *tuning) constantCandidate() (Candidate, error) {
	out := w.result
	if !out.hasModel() {
		return Candidate{}, args.Bad("Model", qpdiff.ErrEmpty, "let the search end", "is nil")
	}
	c := Candidate{Hyper: out.Hyper, Loss: out.ConstantLoss, Residual: math.NaN(), OutOfFold: slices.Repeat([]float64{math.NaN()}, len(w.c.Data.Y))}
	var rows []int
	for _, s := range out.Splits {
		rows = append(rows, s.Val...)
	}
	rows = sample.Positive(rows, w.c.Data.Weights)
	slices.Sort(rows)
	rows = slices.Compact(rows)
	losses, counts := make([]float64, len(w.c.Data.Y)), make([]float64, len(w.c.Data.Y))
	for _, s := range out.Splits {
		constant := w.constantOn(s.Train)
		for _, i := range s.Val {
			p := w.baselineAt(constant, i)
			loss := w.loss(p, i)
			if counts[i]++; counts[i] == 1 {
				c.OutOfFold[i] = 0
			}
			losses[i] += (loss - losses[i]) / counts[i]
			c.OutOfFold[i] += (p - c.OutOfFold[i]) / counts[i]
		}
	}
	c.StandardError = assess.Rows{Weights: sample.Relative(w.c.Data.Weights, rows)}.StandardError(sample.Pick(losses, rows))
	if w.isJoint() {
		return w.withModels(c, w.constantModels(w.rows()))
	}
	return w.withModel(c, w.constantModel(w.rows()))
}

// constantModel returns the best constant prediction on the rows, as a model with the same columns
// as the tuned model.
func (w *tuning) constantModel(rows []int) *cvgm.Model {
	return withoutFeatures(w.result.Winner.Model, w.constantOn(rows)[0])
}

// constantModels is constantModel for several classes.
func (w *tuning) constantModels(rows []int) []*cvgm.Model {
	models := slices.Clone(w.result.Winner.ClassModels)
	for c, share := range classShares(sample.Pick(w.c.Data.Y, rows), sample.Relative(w.c.Data.Weights, rows), w.outputs) {
		models[c] = withoutFeatures(models[c], math.Log(share))
	}
	return models
}

// withoutFeatures returns m with the same prediction for all rows.
func withoutFeatures(m *cvgm.Model, prediction float64) *cvgm.Model {
	flat := *m
	flat.Kernel, flat.Predictor, flat.Hyper, flat.Freedom = nil, nil, nil, nil
	flat.Theta, flat.Intercept = make([]float64, len(m.Mean)), prediction
	return &flat
}
