package casetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// A Steer changes one hyperparameter of a learner until the solution is at a kink. If a learner has
// different active rows or coordinates at two values of the hyperparameter, some row or coordinate
// is weakly active at a value between the two.
type Steer struct {
	Learner learn.KinkedLearner
	Data    learn.Data
	Hyper   []float64
	Which   int // the hyperparameter that moves
	// Face lists the active rows and coordinates of the last fit. Gap returns two numbers, gap and
	// cond. gap is the distance of the last fit from its nearest kink, relative to the size of the
	// terms. cond is the condition number of the fit's system.
	Face func() []int
	Gap  func() (gap, cond float64)
	// Cond and Slack are limits for the checks of a VJP. If the condition number of the fit's system
	// is above Cond, nothing is checked. Away from kinks, the VJP must succeed if the gap is at least
	// 1e-6. Next to a kink, the VJP must return an error if the gap is at most Slack. A larger gap can
	// occur next to a kink, because a fit may keep its active rows a little beyond the kink.
	Cond, Slack float64
}

// Crossing bisects the interval from lo to hi until it finds two neighbouring float64 values of the
// hyperparameter at which the active rows or coordinates differ. It returns two counts of VJPs:
// refused counts the VJPs next to a kink that returned an error, and answered counts the successful
// VJPs away from kinks.
func (s *Steer) Crossing(t *testing.T, lo, hi float64) (refused, answered int) {
	t.Helper()
	answered += s.awayFromKinks(t, lo)
	left := s.face(t, lo)
	if slices.Equal(left, s.face(t, hi)) {
		return refused, answered
	}
	for mid := lo + (hi-lo)/2; mid != lo && mid != hi; mid = lo + (hi-lo)/2 {
		if slices.Equal(left, s.face(t, mid)) {
			lo = mid
		} else {
			hi = mid
		}
	}
	for _, h := range []float64{lo, hi} {
		s.face(t, h)
		err := s.vjp(false)
		if gap, cond := s.Gap(); errors.Is(err, qpdiff.ErrNotDifferentiable) {
			refused++
			if err := s.vjp(true); err != nil {
				t.Errorf("generalised, at %v of %v: %v", s.Hyper, s.Data, err)
			}
		} else if cond <= s.Cond && (err != nil || !(gap > s.Slack)) {
			t.Fatalf("between %v and %v of hyperparameter %d the face changes, error %v; gap %.2g, condition %.2g, at %v", lo, hi, s.Which, err, gap, cond, s.Hyper)
		}
	}
	return refused, answered + s.awayFromKinks(t, lo*(1-1e-5)) + s.awayFromKinks(t, hi*(1+1e-5))
}

func (s *Steer) face(t *testing.T, h float64) []int {
	t.Helper()
	_, n := s.Data.X.Dims()
	s.Hyper[s.Which] = h
	numtest.OK(t, s.Learner.Fit(make([]float64, numtest.First(s.Learner.Dims(n))), s.Hyper))
	return slices.Clone(s.Face())
}

func (s *Steer) vjp(generalised bool) error {
	_, n := s.Data.X.Dims()
	s.Learner.SetGeneralised(generalised)
	g := NewGrad(s.Data, len(s.Hyper))
	err := s.Learner.VJP(nil, g, numtest.Normals(rand.New(rand.NewPCG(2, 2)), numtest.First(s.Learner.Dims(n))))
	s.Learner.SetGeneralised(false)
	if err == nil && g.Generalised != generalised {
		return errors.New("the product is generalised without need, or not marked")
	}
	return err
}

// awayFromKinks checks that a VJP at the hyperparameter h succeeds, and then returns 1. If h is too
// close to a kink for this check, awayFromKinks returns 0.
func (s *Steer) awayFromKinks(t *testing.T, h float64) int {
	t.Helper()
	s.face(t, h)
	if gap, cond := s.Gap(); !(gap >= 1e-6 && cond <= s.Cond) {
		return 0
	} else if err := s.vjp(false); err != nil {
		t.Fatalf("gap %.2g, condition %.2g: %v", gap, cond, err)
	}
	return 1
}

// WorkingSets is a learner that always uses the methods for data with many features, even if the
// data have few features.
type WorkingSets struct{ learn.ForwardLearner }

func (l WorkingSets) Load(d learn.Data) error {
	defer ways.SetGramFeatures(ways.SetGramFeatures(0))
	defer ways.SetProductFeatures(ways.SetProductFeatures(0))
	return l.ForwardLearner.Load(d)
}

// SetContext implements [learn.ContextLearner].
func (l WorkingSets) SetContext(ctx context.Context) {
	l.ForwardLearner.(learn.ContextLearner).SetContext(ctx)
}

// Residual implements [learn.VerifiedLearner].
func (l WorkingSets) Residual() (float64, error) {
	return l.ForwardLearner.(learn.VerifiedLearner).Residual()
}
