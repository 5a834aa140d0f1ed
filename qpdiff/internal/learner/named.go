package learner

import (
	"fmt"
	"strings"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/stop"
)

// Named returns err with a prefix: the package and the name of the learner l. If err is nil, Named
// returns nil.
func Named(l any, err error) error {
	if err == nil {
		return nil
	}
	return check.Named(strings.TrimLeft(fmt.Sprintf("%T", l), "*"), err)
}

// Name does the work of Named in a deferred call. It replaces *err, the error that a method
// returns, by Named(l, *err). If the method Look of a [stop.Stop] panicked, Name first sets *err to
// the error of the context.
func Name(l any, err *error) {
	if value := recover(); value != nil {
		*err = stop.Recovered(value)
	}
	*err = Named(l, *err)
}

// End does the work of Name for a Load, a Fit, or a similar call. If a [stop.Stop] ended the call,
// End also resets the learner l, because the call did not complete its work.
func End(l interface{ Reset() }, err *error) {
	if value := recover(); value != nil {
		*err = stop.Recovered(value)
	}
	*err = Ended(l, *err)
}

// Ended does the work of End for a call that did not panic. It resets the learner l if err is the
// error of a [stop.Stop].
func Ended(l interface{ Reset() }, err error) error {
	if stop.Ended(err) {
		l.Reset()
	}
	return Named(l, err)
}
