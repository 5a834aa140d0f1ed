package cvgm_test

import (
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/cvgmtest"
)

func init() {
	cvgm.SearcherContract = func(t *testing.T, make func(budget int) cvgm.Searcher, gradient, fixed, restarts bool) {
		t.Helper()
		cvgmtest.Searcher(t, make, cvgmtest.Search{Gradient: gradient, Fixed: fixed, Restarts: restarts})
	}
}
