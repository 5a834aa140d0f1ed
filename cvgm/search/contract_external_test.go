package search_test

import (
	"testing"

	"cvgm/cvgm/cvgmtest"
	"cvgm/cvgm/search"
)

func init() {
	search.SearcherContract = func(t *testing.T, make func(budget int) search.Searcher, gradient, fixed, restarts bool) {
		t.Helper()
		cvgmtest.Searcher(t, make, cvgmtest.Search{Gradient: gradient, Fixed: fixed, Restarts: restarts})
	}
}
