package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// An Experiment is one entry of the registry: a name, the type of its
// parameters with their defaults, and the function that turns parameters into a
// result.
type Experiment struct {
	Name string // lower case, with underscores
	Help string // one sentence
	// Params returns a pointer to new parameters with the default values.
	Params func() any
	// Run runs the experiment. The type of params is that of Params, or the struct
	// itself. It checks the parameters first. The result is a pointer.
	Run func(ctx context.Context, params any) (any, error)
}

var registry = make(map[reflect.Type]*Experiment)

// register adds an experiment. Each experiment calls it in an init function of
// its own file.
func register[P interface {
	Run(ctx context.Context) (*R, error)
	defaults() any
}, R any](name, help string) {
	t := reflect.TypeFor[P]()
	if registry[t] != nil {
		panic(fmt.Sprintf("experiment: %s and %s have the same parameters", registry[t].Name, name))
	}
	registry[t] = &Experiment{
		Name: name, Help: help,
		Params: func() any {
			var zero P
			p := zero.defaults().(P)
			return &p
		},
		Run: func(ctx context.Context, params any) (any, error) {
			if pointer, ok := params.(*P); ok && pointer != nil {
				params = *pointer
			}
			p, ok := params.(P)
			if !ok {
				return nil, fmt.Errorf("experiment: %s takes %v, not %T", name, t, params)
			}
			return p.Run(ctx)
		},
	}
}

// All returns the experiments in the order of their names.
func All() []*Experiment {
	return slices.SortedFunc(maps.Values(registry), func(a, b *Experiment) int { return cmp.Compare(a.Name, b.Name) })
}

// Lookup returns the experiment of that name. The error lists the names that
// there are.
func Lookup(name string) (*Experiment, error) {
	var names []string
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("there is no experiment %q; there are: %s", name, strings.Join(names, ", "))
}

// Of returns the experiment that takes these parameters, a struct or a pointer
// to one, or nil.
func Of(params any) *Experiment {
	t := reflect.TypeOf(params)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return registry[t]
}
