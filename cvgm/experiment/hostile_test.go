package experiment

import (
	"context"
	"testing"
	"time"

	"cvgm/synth"
)

// drawn returns small parameters of an experiment, always the same.
func drawn[P any](t *testing.T) *P {
	t.Helper()
	e := Of(new(P))
	return e.Draw(synth.NewStream(7, "attack"+e.Name)).(*P)
}

// A search over a network's weights ends at kinks of its units, as CV losses of ridge
// regressions end at bounds: it steps over them.
func TestSearchesOverWeightsStepOverKinks(t *testing.T) {
	p := drawn[GapParams](t)
	p.Budget = 108
	if _, err := p.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// The reference of the searches is found at losses whose rounding exceeds Tol, too.
func TestReferenceOfLargeLosses(t *testing.T) {
	p := drawn[SearchesParams](t)
	p.Noise, p.Scale, p.Tol = 1e9, 1, 1e-6
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := p.Run(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the descent does not end")
	}
}
