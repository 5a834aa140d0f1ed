package learn_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// After a cancelled call of Sums, the next call returns the bits of a new Gram.
func TestGramAfterAContext(t *testing.T) {
	const rows, n = 30, 4
	x := mat.NewDense(rows, n, numtest.Normals(rand.New(rand.NewPCG(1, 1)), rows*n))
	want, centre, err := learn.NewGram(x, nil).Sums(context.Background())
	numtest.OK(t, err)
	g := learn.NewGram(x, nil)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if sums, c, err := g.Sums(ended); sums != nil || c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("sums %v, centre %v, error %v with a context that has ended", sums, c, err)
	}
	for _, ctx := range []context.Context{nil, ended} { // once made, they are there
		sums, c, err := g.Sums(ctx)
		numtest.OK(t, err)
		if !numtest.SameBits(sums.RawSymmetric().Data, want.RawSymmetric().Data) || !numtest.SameBits(c, centre) {
			t.Error("the sums differ from those of a new Gram")
		}
	}
}
