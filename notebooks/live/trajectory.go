package live

import (
	"iter"
	"math"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/figures"
)

// MaxSteps is the largest number of steps of a run. It limits the memory that the states need.
const MaxSteps = 1000

// state is the state of the gradient method after a number of steps.
type state struct {
	CV, Train, Test experiment.Metrics // CV has no accuracy; in a regression, none has
	// Angle is the angle, in degrees, between the direction of the descent and the exact gradient.
	// It is NaN if one of the two is zero.
	Angle  float64
	Lambda [2]float64 // penalties of the elastic net
	Model  *cvgm.Model
}

// classifies reports whether the problem is a classification.
func (s state) classifies() bool { return !math.IsNaN(s.Test.Accuracy) }

// A trajectory is one run of the gradient method, from its start to the last step that was
// requested.
type trajectory struct {
	settings Settings
	// isPreview is true for a preview. A preview has fewer splits and fewer test examples.
	isPreview    bool
	states       []state // after 0, 1, … steps
	err          error   // error that ended the run
	hasConverged bool    // the method has converged
	trial
	next func() (state, error, bool)
	stop func()
	// perStep is the mean computing time of the latest steps. It is 0 before the first step.
	perStep time.Duration
}

// trial is the part of a run that depends on the problem.
type trial interface {
	// walk yields the states of the run. It needs no context, because it stops when its caller
	// takes no further state.
	walk() iter.Seq2[state, error]
	panels(v view) layout
	describe() string // returns a description of the panels; it is the same for all runs
}

// A view is the visible part of the state: the steps of a run as far as the visible step, and a
// second run for comparison.
type view struct {
	run    *trajectory
	shown  int         // at most run.lastStep()
	pinned *trajectory // nil: none
	// pinnedName is the name of the pinned run in the key; it may be empty. The titles of the large
	// panels begin with the field prefix, which may also be empty.
	pinnedName, prefix string
}

// A layout is the arrangement of a picture. The large panels are side by side. The small panels are
// one below the other, to the right of the large panels. The key is below all panels.
type layout struct {
	large, small []*figures.Panel
	key          []figures.LegendEntry
}

// extend computes one more state, and reports whether this was possible.
func (r *trajectory) extend() bool {
	if r.err != nil || r.hasConverged || len(r.states) > MaxSteps {
		return false
	}
	start := time.Now()
	s, err, more := r.next()
	if r.err, r.hasConverged = err, !more; err != nil || !more {
		return false
	}
	r.states = append(r.states, s)
	switch took := time.Since(start); r.lastStep() {
	case 0: // the first call sets up the run
	case 1:
		r.perStep = took
	default:
		r.perStep += (took - r.perStep) / 8
	}
	return true
}

// lastStep returns the number of steps taken. It returns −1 before the first state.
func (r *trajectory) lastStep() int { return len(r.states) - 1 }

// asked returns the number of steps to request when the run is computed again. If the run has
// ended, this is the number of its steps plus one. The request for one more step shows that the new
// run also ends there.
func (r *trajectory) asked() int {
	if r.hasConverged || r.err != nil {
		return len(r.states)
	}
	return r.lastStep()
}

// A preview uses 1/coarseSplits of the splits, but at least minSplits splits. It uses 1/coarseTest
// of the test examples.
const (
	coarseSplits = 8
	minSplits    = 8
	coarseTest   = 5
)
