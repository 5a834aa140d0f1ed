package cvgm

import (
	"context"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
)

// A Stochastic is a random objective: the CV loss of splits that are drawn anew at each evaluation,
// from a seeded stream. Its mean over the draws is the CV loss of all splits that the rule can
// draw. An evaluation costs one fit for each split that is drawn, and a rule may draw a single
// split. A search cannot over-fit the validation rows, because no splits are fixed. Use a searcher
// that tolerates noise, such as [search.Adam]:
//
//	steps := search.Adam{StepSize: .02, MaxEvals: 200}.Search(s.Problem(), start)
//	at, err := search.Average(steps, 50)
//	model, err := s.CV().Final(at.X)
//
// The value and the gradient of an evaluation have the same bits as the results of a new [CV] with
// the same splits, for any GOMAXPROCS. Goroutines must not share a Stochastic.
type Stochastic struct {
	c           Config
	source      func() Source
	draw        func(src Source) ([]Split, error)
	src         Source
	evaluations int // since Restart
	cv          *CV
}

// NewStochastic returns the CV loss of c with splits drawn at each evaluation. c.Splits must be
// nil. At every call, the function source must return a new source of random numbers, always in the
// same state. The function draw is a rule such as
//
//	func(src cvgm.Source) ([]cvgm.Split, error) { return cvgm.RandomSplits(src, n, 4, .9) }
//
// NewStochastic draws splits once to check the configuration, and returns the errors of [New]. In a
// later draw, the training rows may lack a class or a level of a feature. If the learner then has
// no solution, the search ends with an error. With few examples, draw folds by [StratifiedKFold] to
// avoid this.
//
// An evaluation costs as much as [New] and [CV.Eval] for the drawn splits, without warm starts. The
// CV of the last evaluation is kept until the next CV is made. So two CVs may exist at a time, and
// Config.MaxBytes bounds each of them.
func NewStochastic(c Config, source func() Source, draw func(src Source) ([]Split, error)) (*Stochastic, error) {
	if err := args.First(
		args.BadIf(c.Splits != nil, "Config.Splits", qpdiff.ErrDomain, "leave them nil, or use New for fixed splits", "holds %d splits, and draw draws others", len(c.Splits)),
		args.BadIf(source == nil, "source", qpdiff.ErrEmpty, "give a function that returns a new source of random numbers", "is nil"),
		args.BadIf(draw == nil, "draw", qpdiff.ErrEmpty, "give a rule, for example one that calls RandomSplits", "is nil"),
	); err != nil {
		return nil, err
	}
	s := &Stochastic{c: c, source: source, draw: draw}
	if err := s.drawSplits(context.Background()); err != nil {
		return nil, err
	}
	s.Restart()
	return s, nil
}

// drawSplits draws the next splits and sets cv to their CV.
func (s *Stochastic) drawSplits(ctx context.Context) error {
	if s.src == nil {
		if s.src = s.source(); s.src == nil {
			return args.Bad("source", qpdiff.ErrEmpty, "return a new source of random numbers from each call", "returned nil")
		}
	}
	splits, err := s.draw(s.src)
	if err != nil {
		return err
	}
	c := s.c
	c.Splits = splits
	cv, err := NewContext(ctx, c)
	if err == nil {
		s.cv = cv
	}
	return err
}

// Dims returns the length of α; see [CV.Dims].
func (s *Stochastic) Dims() int { return s.cv.Dims() }

// Eval draws the next splits and returns their CV loss at α. If grad is not nil, it overwrites grad
// with the gradient of this loss. Eval is a [search.Objective]. It returns the errors of draw, of
// [New] and of [CV.Eval]. The error contains the number of the evaluation since the last Restart.
// After an error the loss is NaN.
func (s *Stochastic) Eval(grad, alpha []float64) (float64, error) {
	return s.EvalContext(context.Background(), grad, alpha)
}

// EvalContext is Eval with a context; see [CV.EvalContext].
func (s *Stochastic) EvalContext(ctx context.Context, grad, alpha []float64) (float64, error) {
	s.evaluations++
	loss, err := math.NaN(), s.drawSplits(ctx)
	if err == nil {
		loss, err = s.cv.EvalContext(ctx, grad, alpha)
	}
	if err != nil {
		err = args.At(err, "draw %d of the splits", s.evaluations)
	}
	return loss, err
}

// Restart starts the stream of splits again: the next evaluation draws the first splits.
func (s *Stochastic) Restart() { s.src, s.evaluations = nil, 0 }

// Problem returns the problem of a search. It has no bounds, but the caller may add bounds. It
// marks the objective as random, so that each search restarts the stream.
func (s *Stochastic) Problem() search.Problem {
	return search.Problem{Objective: s.Eval, Generalised: func() bool { return s.cv.Generalised() }, Restart: s.Restart}
}

// CV returns the CV of the last evaluation or, before the first evaluation, the CV of the first
// splits. All results of this CV belong to its splits, but [CV.Final] fits all examples. Each
// evaluation makes a new CV.
func (s *Stochastic) CV() *CV { return s.cv }
