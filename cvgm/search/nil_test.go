package search

import (
	"errors"
	"testing"

	"cvgm/qpdiff"
)

func TestBestOfNil(t *testing.T) {
	var arg *qpdiff.ArgError
	if _, err := Best(nil); !errors.As(err, &arg) {
		t.Error(err)
	}
}
