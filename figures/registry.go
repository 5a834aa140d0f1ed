package figures

import (
	"reflect"
)

// The variable drawers holds a function for each type of result. The function draws results of this
// type.
var drawers = make(map[reflect.Type]func(result any) []Output)

// register adds all figures and tables of an experiment's result. The files of this package call
// register in init functions. The function Of takes only one result, so a figure or table that
// needs two results is not registered.
func register[R any](of func(r *R) []Output) {
	drawers[reflect.TypeFor[*R]()] = func(result any) []Output { return of(result.(*R)) }
}

// Of returns the figures and tables of an experiment's result. The argument result is a pointer. If
// there are no figures and tables, Of returns nil.
func Of(result any) []Output {
	if of := drawers[reflect.TypeOf(result)]; of != nil {
		return of(result)
	}
	return nil
}
