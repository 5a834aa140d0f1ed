package learner

import (
	"fmt"
	"strings"

	"cvgm/qpdiff/internal/check"
)

// Named returns err, unless it is nil, with the package and name of the learner l in front.
func Named(l any, err error) error {
	if err == nil {
		return nil
	}
	return check.Named(strings.TrimLeft(fmt.Sprintf("%T", l), "*"), err)
}

// Name is Named for the result of a method, deferred.
func Name(l any, err *error) { *err = Named(l, *err) }
