package cvgm

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
)

// A Stochastic is the CV loss of splits that are drawn anew at each evaluation, from a seeded
// stream: a random objective, whose mean over the draws is the CV loss of all splits that the
// rule can draw. With one split or a few, an evaluation costs as many fits, and a search cannot
// fit the validation rows of any fixed splits. [search.Adam] and the other searchers that live
// with noise descend it:
//
//	steps := search.Adam{StepSize: .02, MaxEvals: 200}.Search(s.Problem(), start)
//	at, err := search.Average(steps, 50)
//	model, err := s.CV().Final(at.X)
//
// A new [CV] of an evaluation's splits gives the same bits for value and gradient, with any
// GOMAXPROCS. A Stochastic must not be shared between goroutines.
type Stochastic struct {
	c           Config
	source      func() Source
	draw        func(src Source) ([]Split, error)
	src         Source
	evaluations int // since Restart
	cv          *CV
}

// NewStochastic returns the CV loss of c with the splits that draw draws at each evaluation;
// c.Splits is nil. Source returns a new source in the same state at every call, and draw is a
// rule such as
//
//	func(src cvgm.Source) ([]cvgm.Split, error) { return cvgm.RandomSplits(src, n, 4, .9) }
//
// It draws once, to check the configuration, and returns the errors of [New]. Among many draws
// one may leave a class, or a level of a feature, out of the training rows. A learner that
// then has no solution ends the search: of few examples draw folds by [StratifiedKFold].
//
// An evaluation costs what [New] and [CV.Eval] cost for the splits drawn, without warm starts.
// The CV of the last evaluation stays until the next one is made, so that Config.MaxBytes
// bounds each of two.
func NewStochastic(c Config, source func() Source, draw func(src Source) ([]Split, error)) (*Stochastic, error) {
	if err := args.First(
		args.BadIf(c.Splits != nil, "Config.Splits", qpdiff.ErrDomain, "leave them nil, or use New for fixed splits", "holds %d splits, and draw draws others", len(c.Splits)),
		args.BadIf(source == nil, "source", qpdiff.ErrEmpty, "give a function that returns a new source of random numbers", "is nil"),
		args.BadIf(draw == nil, "draw", qpdiff.ErrEmpty, "give a rule, for example one that calls RandomSplits", "is nil"),
	); err != nil {
		return nil, err
	}
	s := &Stochastic{c: c, source: source, draw: draw}
	if err := s.redraw(context.Background()); err != nil {
		return nil, err
	}
	s.Restart()
	return s, nil
}

// redraw draws the next splits and sets cv to their CV.
func (s *Stochastic) redraw(ctx context.Context) error {
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

// Eval draws the next splits and returns their CV loss at α. If grad is not nil it overwrites
// grad with the gradient of that loss. It is a [search.Objective], and returns the errors of
// the rule, of [New] and of [CV.Eval], with the number of the evaluation since Restart. After an
// error the loss is NaN.
func (s *Stochastic) Eval(grad, alpha []float64) (float64, error) {
	return s.EvalContext(context.Background(), grad, alpha)
}

// EvalContext is Eval that ends when ctx does; see [CV.EvalContext].
func (s *Stochastic) EvalContext(ctx context.Context, grad, alpha []float64) (float64, error) {
	s.evaluations++
	loss, err := math.NaN(), s.redraw(ctx)
	if err == nil {
		loss, err = s.cv.EvalContext(ctx, grad, alpha)
	}
	if err != nil {
		err = fmt.Errorf("draw %d of the splits: %w", s.evaluations, err)
	}
	return loss, err
}

// Restart begins the stream of splits anew: the next evaluation draws the first ones again.
func (s *Stochastic) Restart() { s.src, s.evaluations = nil, 0 }

// Problem returns the problem of a search without bounds, to which the caller adds them. It
// marks the objective as random, so that each search restarts the stream.
func (s *Stochastic) Problem() search.Problem {
	return search.Problem{Objective: s.Eval, Generalised: func() bool { return s.cv.Generalised() }, Restart: s.Restart}
}

// CV returns the CV of the last evaluation or, before the first, of the first splits. Its
// [CV.Final] fits all examples, whatever the splits; its other results belong to the splits
// drawn last. An evaluation makes another CV.
func (s *Stochastic) CV() *CV { return s.cv }
