package experiment

import (
	"context"
	"fmt"
	"reflect"
)

// An Experiment is one entry of the registry. It has a name, parameters with their defaults, and a
// function that turns parameters into a result.
type Experiment struct {
	Name string // lower case, with underscores
	Help string // one sentence
	// Params returns a pointer to new parameters with the default values.
	Params func() any
	// Run checks the parameters and runs the experiment. The argument params has the type of the
	// parameters, or is a pointer to this type. The result is a pointer. If ctx ends, the run ends.
	Run func(ctx context.Context, hooks Hooks, params any) (any, error)
}

// New returns the experiment with parameters of type P. It calls the method Defaults of P for the
// default parameters.
func New[P interface {
	Run(ctx context.Context, hooks Hooks) (*R, error)
	Defaults() any
}, R any](name, help string) *Experiment {
	return &Experiment{
		Name: name, Help: help,
		Params: func() any {
			var zero P
			p := zero.Defaults().(P)
			return &p
		},
		Run: func(ctx context.Context, hooks Hooks, params any) (any, error) {
			if pointer, ok := params.(*P); ok && pointer != nil {
				params = *pointer
			}
			p, ok := params.(P)
			if !ok {
				return nil, fmt.Errorf("experiment: %s takes %v, not %T", name, reflect.TypeFor[P](), params)
			}
			return p.Run(ctx, hooks)
		},
	}
}
