// Package stop ends long computations when a context ends.
package stop

import (
	"context"
	"errors"
)

// A Stop holds the context of a long computation. The computation calls the method Look about every
// 10⁶ operations, usually deep below the call that received the context. If the context has ended,
// Look panics. The call that received the context turns the panic into an error: see [Recovered]. A
// nil Stop and the zero value never end a computation.
type Stop struct{ ctx context.Context }

// Watch makes ctx the context of the computation. If ctx is nil or cannot end, the computation is
// never stopped.
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

// Context returns the context, or nil if the computation is never stopped.
func (s *Stop) Context() context.Context {
	if s == nil {
		return nil
	}
	return s.ctx
}

// Look panics if the context has ended. The value of the panic is the error of the context.
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

// Recovered takes the result of recover. If the panic came from Look, Recovered returns the error
// of the context. Otherwise it panics again with the same value.
func Recovered(value any) error {
	err, ok := value.(ended)
	if !ok {
		panic(value)
	}
	return err
}

// Ended reports whether err comes from a Stop whose context has ended.
func Ended(err error) bool { return err != nil && errors.As(err, new(ended)) }
