package figures

import (
	"reflect"
)

// drawers holds, by type of result, the functions that draw it.
var drawers = make(map[reflect.Type]func(result any) []Output)

// register adds all figures and tables of an experiment's result. Each file that draws one calls it
// in an init function. It leaves out a figure or table of two results that needs both, because Of
// has only one.
func register[R any](of func(r *R) []Output) {
	drawers[reflect.TypeFor[*R]()] = func(result any) []Output { return of(result.(*R)) }
}

// Of returns the figures and tables of an experiment's result, given as a pointer. It returns nil
// if there are none.
func Of(result any) []Output {
	if of := drawers[reflect.TypeOf(result)]; of != nil {
		return of(result)
	}
	return nil
}
