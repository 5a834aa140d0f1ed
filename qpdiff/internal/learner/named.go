package learner

import (
	"fmt"
	"strings"
)

// namedError is an error of a learner, whose name it puts in front.
type namedError struct {
	error
	name string
}

func (e *namedError) Error() string {
	return e.name + ": " + strings.TrimPrefix(e.error.Error(), "qpdiff: ")
}

func (e *namedError) Unwrap() error { return e.error }

// Named returns err, unless it is nil, with the package and name of the learner l in front.
func Named(l any, err error) error {
	if err == nil {
		return nil
	}
	return &namedError{err, strings.TrimLeft(fmt.Sprintf("%T", l), "*")}
}

// Name is Named for the result of a method, deferred.
func Name(l any, err *error) { *err = Named(l, *err) }
