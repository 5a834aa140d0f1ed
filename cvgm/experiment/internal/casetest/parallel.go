// Package casetest holds helpers that the tests of several experiments share.
package casetest

import (
	"context"
	"math"
	"runtime"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
)

// SameForAnyGOMAXPROCS runs an experiment on one processor and on five processors, and returns the
// result. If the two results differ, it fails the test. With -short, it runs the experiment only on
// five processors. Tests under the race detector and under emulation use -short. They look for
// races and for different rounding, and a run on one processor shows neither.
func SameForAnyGOMAXPROCS[R any](t *testing.T, run func(context.Context, experiment.Hooks) (R, error), opts ...cmp.Option) R {
	t.Helper()
	with := func(procs int) R {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		r, err := run(t.Context(), experiment.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if testing.Short() {
		return with(5)
	}
	r := with(1)
	if diff := cmp.Diff(r, with(5), opts...); diff != "" {
		t.Error(diff)
	}
	return r
}

// Near fails the test if the computed value differs from the expected value by more than tol.
func Near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s is %.12g, want %.12g ± %g", what, got, want, tol)
	}
}

// Drawn returns small random parameters for the experiment with the given name. The parameters are
// the same at each call.
func Drawn[P interface {
	Run(ctx context.Context, hooks experiment.Hooks) (*R, error)
	Defaults() any
}, R any](name string) *P {
	return experiment.New[P](name, "").Draw(synth.NewStream(7, "attack"+name)).(*P)
}
