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

// SameForAnyGOMAXPROCS runs an experiment on one processor and on five, and fails the test unless
// both results are equal. It returns the result. With -short it runs on five alone. Tests under the
// race detector and under emulation use -short: they look for races and for different rounding,
// which a second run does not show.
func SameForAnyGOMAXPROCS[R any](t *testing.T, run func(context.Context) (R, error), opts ...cmp.Option) R {
	t.Helper()
	with := func(procs int) R {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		r, err := run(t.Context())
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

// Near checks that a number differs from the expected one by at most tol.
func Near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s is %.12g, want %.12g ± %g", what, got, want, tol)
	}
}

// Drawn returns small parameters of an experiment of that name, always the same.
func Drawn[P interface {
	Run(ctx context.Context) (*R, error)
	Defaults() any
}, R any](name string) *P {
	return experiment.New[P](name, "").Draw(synth.NewStream(7, "attack"+name)).(*P)
}
