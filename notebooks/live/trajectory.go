package live

import (
	"iter"
	"math"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/figures"
)

// MaxSteps is the largest number of steps of a run. It bounds the memory of the states.
const MaxSteps = 1000

// state is the gradient method's state after a number of steps.
type state struct {
	CV, Train, Test experiment.Metrics // CV has no accuracy; a regression has none at all
	// Angle is the angle between the descent direction and the exact gradient, in degrees. It is
	// NaN if one of them is zero.
	Angle  float64
	Lambda [2]float64 // the elastic net's penalties
	Model  *cvgm.Model
}

// classifies reports whether the problem is one of classification.
func (s state) classifies() bool { return !math.IsNaN(s.Test.Accuracy) }

// trajectory is one run of the gradient method, from its start up to the last step that was
// requested.
type trajectory struct {
	settings Settings
	// coarse marks a preview, with fewer splits and fewer test examples.
	coarse bool
	states []state // after 0, 1, … steps
	err    error   // the error that ended the run
	done   bool    // the method has converged
	trial
	next func() (state, error, bool)
	stop func()
	// perStep is the average computing time of the latest steps. It is 0 before the first step.
	perStep time.Duration
}

// trial is the part of a run that depends on the problem.
type trial interface {
	walk() iter.Seq2[state, error]
	panels(v view) layout
	describe() string // the panels in words, the same for all runs
}

// view is the visible part: a run up to a step, and another run for comparison.
type view struct {
	run    *trajectory
	shown  int         // at most run.last()
	pinned *trajectory // nil: none
	// pinnedName is the pinned run's name in the key, and prefix comes before the large panels'
	// titles. Both may be empty.
	pinnedName, prefix string
}

// layout is a picture: large panels side by side, small ones below each other to their right, and
// the key below them all.
type layout struct {
	large, small []*figures.Panel
	key          []figures.LegendEntry
}

// extend computes one more state, and reports whether it could.
func (r *trajectory) extend() bool {
	if r.err != nil || r.done || len(r.states) > MaxSteps {
		return false
	}
	start := time.Now()
	s, err, more := r.next()
	if r.err, r.done = err, !more; err != nil || !more {
		return false
	}
	r.states = append(r.states, s)
	switch took := time.Since(start); r.last() {
	case 0: // sets up the run
	case 1:
		r.perStep = took
	default:
		r.perStep += (took - r.perStep) / 8
	}
	return true
}

// last returns the number of steps taken; −1 before the first state.
func (r *trajectory) last() int { return len(r.states) - 1 }

// asked returns the number of steps requested from the run. For a run that has ended it is one more
// than the run has; with fewer, a new computation would not reach the end.
func (r *trajectory) asked() int {
	if r.done || r.err != nil {
		return len(r.states)
	}
	return r.last()
}

// A preview uses one of coarseSplits splits, but at least minSplits, and one of coarseTest test
// examples.
const (
	coarseSplits = 8
	minSplits    = 8
	coarseTest   = 5
)
