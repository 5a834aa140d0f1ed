package experiment

import (
	"context"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sameForAnyGOMAXPROCS runs an experiment on one processor and on five, and
// returns what it gives, which must be the same.
func sameForAnyGOMAXPROCS[R any](t *testing.T, run func(context.Context) (R, error), opts ...cmp.Option) R {
	t.Helper()
	with := func(procs int) R {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		r, err := run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := with(1)
	if diff := cmp.Diff(r, with(5), opts...); diff != "" {
		t.Error(diff)
	}
	return r
}
