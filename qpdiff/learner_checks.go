package qpdiff

import (
	"cmp"
	"fmt"
)

// errNotLoaded is the error of a Fit before the first successful Load.
var errNotLoaded = &ArgError{Arg: "Data", Why: ErrNotFitted, Problem: "is missing", Remedy: "call Load before Fit"}

// checkHyper reports a wrong number of hyperparameters, or one that is not
// finite or below 0.
func checkHyper(hyper []float64, want int) error {
	if len(hyper) != want {
		return argErrorf("hyper", ErrShape, "give as many as Dims says", "has %d entries instead of %d", len(hyper), want)
	}
	if err := checkFinite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	for i, v := range hyper {
		if v < 0 {
			return argErrorf("hyper", ErrDomain, "give a hyperparameter at or above 0", "holds %v at index %d", v, i)
		}
	}
	return nil
}

// checkTangent reports the first entry of d that is not finite.
func checkTangent(d *Grad) error {
	const remedy = "give a finite tangent"
	return cmp.Or(checkFinite("d.Hyper", remedy, d.Hyper), checkFiniteRows("d.X", remedy, d.X), checkFinite("d.Y", remedy, d.Y))
}

// errOverflow is the error of a product beyond the range of float64.
var errOverflow = &ArgError{Arg: "Data", Why: ErrNotFinite, Problem: "gives a derivative that overflows", Remedy: "scale the data, the hyperparameters or the cotangent"}

// checkProduct reports an entry of g that is not finite. A VJP that can bound its
// entries does so instead, which saves a pass over the rows.
func checkProduct(g *Grad) error {
	if !allFinite(g.Hyper) || !allFinite(g.Y) || checkFiniteRows("", "", g.X) != nil {
		return errOverflow
	}
	return nil
}

// checkTangentOut reports an entry of a JVP that is not finite.
func checkTangentOut(dtheta []float64) error { return checkProduct(&Grad{Hyper: dtheta}) }

// checkPlain reports Rows or Weights that are not nil, for the named learner.
func checkPlain(d Data, learner string) error {
	arg := "Data.Weights"
	if d.Rows != nil {
		arg = "Data.Rows"
	}
	if !plain(d) {
		return argErrorf(arg, ErrDomain, "select and repeat rows of X and Y instead", "is not nil, which %s cannot use", learner)
	}
	return nil
}

// checkAll is Check for the named learner, in which each row counts once.
func checkAll(d Data, learner string) error { return cmp.Or(checkPlain(d, learner), d.Check()) }

// counts returns what each row of X counts, in dst if that is long enough, and nil
// where each counts once.
func counts(d Data, dst []float64) []float64 {
	if plain(d) {
		return nil
	}
	dst = grow(dst, len(d.Y))
	if d.Rows == nil {
		copy(dst, d.Weights)
		return dst
	}
	clear(dst)
	for _, i := range d.Rows {
		dst[i] += countAt(d.Weights, i)
	}
	return dst
}

// plain reports whether each row of d counts once.
func plain(d Data) bool { return d.Rows == nil && d.Weights == nil }

// wants reports whether any cotangent is wanted.
func wants(g *Grad) bool { return g.Hyper != nil || g.X != nil || g.Y != nil }

// errNotFitted is the error of a VJP or JVP before the first successful Fit
// after Load, after Reset, and after a Fit that failed.
var errNotFitted = fmt.Errorf("qpdiff: %w: call Load and Fit first", ErrNotFitted)

// decisionTol bounds the error that rounding may leave in a classifier's decision
// values at its training rows, by an estimate with a safety factor, relative to the
// margin 1 that they are compared with. Rounding of a kernel's values or of the
// margins' terms alone can exceed it, and no solver recovers that.
const decisionTol = 1e-3
