package figures

import (
	"reflect"
)

// drawers maps the type of a result to the function that draws the result.
var drawers = make(map[reflect.Type]func(result any) []Output)

// register adds all figures and tables of an experiment's result. The files of this package call it
// in init functions. A figure or table that needs two results is not registered, because Of takes
// only one result.
func register[R any](of func(r *R) []Output) {
	drawers[reflect.TypeFor[*R]()] = func(result any) []Output { return of(result.(*R)) }
}

// Of returns the figures and tables of an experiment's result, which is a pointer. It returns nil
// if there are none.
func Of(result any) []Output {
	if of := drawers[reflect.TypeOf(result)]; of != nil {
		return of(result)
	}
	return nil
}
