package learner

import (
	"fmt"
	"strings"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/stop"
)

// Named returns err with a prefix: the package and name of the learner l. It returns nil if err is
// nil.
func Named(l any, err error) error {
	if err == nil {
		return nil
	}
	return check.Named(strings.TrimLeft(fmt.Sprintf("%T", l), "*"), err)
}

// Name is Named as a deferred call, for the result of a method. It turns the panic of a [stop.Stop]
// into the error.
func Name(l any, err *error) {
	if value := recover(); value != nil {
		*err = stop.Recovered(value)
	}
	*err = Named(l, *err)
}

// End is Name for a Load, a Fit, or a similar call. If a [stop.Stop] ended the call, its work is
// incomplete, and End resets l.
func End(l interface{ Reset() }, err *error) {
	if value := recover(); value != nil {
		*err = stop.Recovered(value)
	}
	*err = Ended(l, *err)
}

// Ended is End for an error that part of a fit returned without a panic.
func Ended(l interface{ Reset() }, err error) error {
	if stop.Ended(err) {
		l.Reset()
	}
	return Named(l, err)
}
