package learn_test

import (
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Dense reads only the stored entries of a sparse matrix. numtest.Stored panics at any other entry.
func TestDenseOfSparse(t *testing.T) {
	x := numtest.DrawStored(rand.New(rand.NewPCG(1, 36)), 30, 8)
	if !mat.Equal(learn.Data{X: x}.Dense(), x.Seen(nil, nil)) {
		t.Error("the dense copy differs from the matrix")
	}
}
