// Package stop ends long computations when a context ends.
package stop

import (
	"context"
	"errors"
)

// A Stop holds the context of long computations. They look at it where a step has taken some 10⁶
// operations, most often deep below the call that takes the context's error. A look then ends them
// by a panic, which this call turns into the error: see [Recovered]. A nil Stop and the zero value
// end nothing.
type Stop struct{ ctx context.Context }

// Watch makes ctx the context. A nil ctx, and one that never ends, end nothing.
func (s *Stop) Watch(ctx context.Context) {
	if ctx != nil && ctx.Done() == nil {
		ctx = nil
	}
	s.ctx = ctx
}

// Err returns the error of the context if it has ended.
func (s *Stop) Err() error {
	if s.ctx == nil {
		return nil
	}
	return s.err()
}

func (s *Stop) err() error {
	if err := s.ctx.Err(); err != nil {
		return ended{err}
	}
	return nil
}

// Context returns the context, nil if nothing ends.
func (s *Stop) Context() context.Context {
	if s == nil {
		return nil
	}
	return s.ctx
}

// Look panics with the error of the context if it has ended.
func (s *Stop) Look() {
	if s != nil && s.ctx != nil {
		s.look()
	}
}

func (s *Stop) look() {
	if err := s.err(); err != nil {
		panic(err)
	}
}

// ended is the error of a context that has ended.
type ended struct{ error }

func (e ended) Unwrap() error { return e.error }

// Recovered returns the error of a Look that panicked, for the value of its recover. It panics
// with any other value.
func Recovered(value any) error {
	err, ok := value.(ended)
	if !ok {
		panic(value)
	}
	return err
}

// Ended reports whether err is of a Stop whose context has ended.
func Ended(err error) bool { return err != nil && errors.As(err, new(ended)) }
