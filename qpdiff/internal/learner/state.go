package learner

import (
	"cmp"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// State is the part that all learners share. It has the data and the state of the last fit, and it
// checks the arguments of Load, Fit, VJP and JVP. The fields that a fit reads or writes come first.
type State struct {
	Home   check.Home
	Params int        // number of entries of θ in the last Fit
	Hypers int        // number of hyperparameters in the last Fit
	Fit    uint64     // the number of the last fit; 0 if there is no fit
	Stop   stop.Stop  // loads, fits and derivatives check it
	Data   learn.Data // X is nil without a successful Load
}

// Unload discards the data and the fit. It panics if the context of Stop has ended. Every Load
// begins with Unload.
func (f *State) Unload() {
	f.Home.Take()
	f.Data, f.Fit = learn.Data{}, 0
	f.Stop.Look()
}

// Take begins a Load of the learner l. It returns the data d in the form in which l holds them; see
// Held. It returns the errors of CheckBytes, Held and Check. If the data are classes, as the
// argument classes specifies, it also returns the errors of CheckClasses.
func (f *State) Take(l Sized, d learn.Data, classes bool) (learn.Data, error) {
	f.Unload()
	if err := CheckBytes(l, d); err != nil {
		return d, err
	}
	d, err := Held(l, d)
	if err == nil {
		err = d.Check()
	}
	if err == nil && classes {
		err = CheckClasses(d)
	}
	return d, err
}

// Held returns the data d with X in the form in which the learner l holds it. If d.X is sparse and
// l reads sparse matrices in place, the X of the result is d.X itself, and otherwise a *mat.Dense.
// Held returns an error if l cannot use d.Centre or d.Scale, or if d.X must be copied and fails
// CheckStored.
func Held(l any, d learn.Data) (learn.Data, error) {
	if d.X == nil {
		return d, nil
	}
	if x, ok := d.X.(*mat.Dense); ok && x == nil {
		return d, nil
	}
	v, ok := l.(learn.ViewLearner)
	views := ok && v.Views(d.Size())
	if (d.Centre != nil || d.Scale != nil) && !views {
		return d, check.ArgErrorf("Data.Centre and Data.Scale", qpdiff.ErrDomain, "give centred and scaled features", "are not nil, which %T cannot use for data of this size", l)
	}
	if !views || !d.Sparse() {
		if err := d.CheckStored(); err != nil {
			return d, err
		}
		d.X = d.Dense()
	}
	return d, nil
}

// Forget discards the last fit.
func (f *State) Forget() {
	f.Home.Check()
	f.Fit = 0
}

// Begin starts a Fit: it discards the last fit and checks the arguments of Fit. If a hyperparameter
// is negative, it returns an error.
func (f *State) Begin(theta, hyper []float64, params, hypers int) error {
	if err := f.BeginTheta(theta, params, hypers); err != nil {
		return err
	}
	return CheckHyper(hyper, hypers)
}

// BeginTheta is Begin without a check of the hyperparameters.
func (f *State) BeginTheta(theta []float64, params, hypers int) error {
	f.Forget()
	if f.Data.X == nil {
		return ErrNoData
	}
	check.Length("theta", theta, params)
	f.Params, f.Hypers = params, hypers
	return nil
}

// Finish ends a successful Fit.
func (f *State) Finish() { f.Fit = check.NewState() }

// Fitted returns an error if there is no fit.
func (f *State) Fitted() error {
	if f.Home.Check(); f.Fit == 0 {
		return ErrNoFit
	}
	return nil
}

// CheckAdjoint checks the arguments of a VJP.
func (f *State) CheckAdjoint(g *learn.Grad, dtheta []float64) error {
	return cmp.Or(f.checkDerivative("g", g, dtheta), check.Finite("dtheta", "give a finite cotangent", dtheta))
}

// HyperAlone reports whether Hyper is the only field of g that is not nil, and whether the
// arguments of the VJP have the right shapes. This is the usual case. The caller may then skip
// CheckAdjoint if it checks the entries of dtheta itself.
func (f *State) HyperAlone(g *learn.Grad, dtheta []float64) bool {
	f.Home.Check()
	return f.Fit != 0 && g != nil && g.X == nil && g.Stored == nil && g.Y == nil && g.HyperSize == nil && len(g.Hyper) == f.Hypers && len(dtheta) == f.Params
}

// CheckForward checks the arguments of a JVP.
func (f *State) CheckForward(dtheta []float64, d *learn.Grad) error {
	if err := f.checkDerivative("d", d, dtheta); err != nil {
		return err
	}
	return CheckTangent(d)
}

// checkDerivative makes the checks that VJP and JVP have in common. In its error messages, arg is
// the name of g.
func (f *State) checkDerivative(arg string, g *learn.Grad, dtheta []float64) error {
	if err := f.Fitted(); err != nil {
		return err
	}
	check.Length("dtheta", dtheta, f.Params)
	return f.CheckShape(arg, g)
}

// CheckShape panics if a field of g has the wrong shape, that is if it is not nil and does not have
// the shape of its input. If g itself is nil, CheckShape returns an error, in which arg is the name
// of g.
func (f *State) CheckShape(arg string, g *learn.Grad) error {
	if g == nil {
		return check.ArgErrorf(arg, check.ErrEmpty, "give a Grad with the wanted fields", "is nil")
	}
	check.Vector("Grad.Hyper", g.Hyper, f.Hypers)
	check.Vector("Grad.HyperSize", g.HyperSize, f.Hypers)
	if !WantsRows(g) && g.Y == nil { // the usual case
		return nil
	}
	rows, cols := f.Data.X.Dims()
	if _, dense := f.Data.X.(*mat.Dense); dense {
		if g.Stored != nil {
			panic("qpdiff: Grad.Stored is set for an X that is not sparse")
		}
	} else {
		if g.X != nil {
			panic("qpdiff: Grad.X is set for a sparse X, whose derivative goes to Grad.Stored")
		}
		if g.Stored != nil {
			check.Vector("Grad.Stored", g.Stored, f.Data.Stored())
		}
	}
	check.Matrix("Grad.X", g.X, rows, cols)
	check.Vector("Grad.Y", g.Y, rows)
	return nil
}

// NotDifferentiable returns an error that names the inputs without a derivative. These are the
// inputs whose fields of g are not nil. Of the hyperparameters, it names only those that hyper
// lists. An index i in weakSet.Rows stands for row rows[i] of the data.
func NotDifferentiable(g *learn.Grad, weakSet qpdiff.Weak, rows []int, remedy string, hyper ...qpdiff.Input) *qpdiff.NotDifferentiableError {
	weakSet = qpdiff.Weak{Rows: slices.Clone(weakSet.Rows), Coords: slices.Clone(weakSet.Coords)}
	for at, i := range weakSet.Rows {
		weakSet.Rows[at] = rows[i]
	}
	var inputs []qpdiff.Input
	if g.Hyper != nil {
		inputs = append(inputs, hyper...)
	}
	if g.X != nil || g.Stored != nil {
		inputs = append(inputs, "X")
	}
	if g.Y != nil {
		inputs = append(inputs, "y")
	}
	return &qpdiff.NotDifferentiableError{Inputs: inputs, Weak: weakSet, Remedy: remedy}
}

// CheckClasses returns an error if a classifier cannot use a label in d, or if all rows with a
// weight above 0 have the same label.
func CheckClasses(d learn.Data) error {
	least, most := 1.0, -1.0 // the smallest and the largest label among the rows with a weight above 0
	see := func(i int) {
		if dense.CountAt(d.Weights, i) > 0 {
			least, most = min(least, d.Y[i]), max(most, d.Y[i])
		}
	}
	for i, y := range d.Y {
		if y != 1 && y != -1 {
			return check.ArgErrorf("Data.Y", qpdiff.ErrDomain, "use the labels -1 and 1", "holds %v at index %d", y, i)
		}
		if d.Rows == nil {
			see(i)
		}
	}
	for _, i := range d.Rows {
		see(i)
	}
	if least == most {
		return check.ArgErrorf("Data.Y", qpdiff.ErrIllPosed, "give examples of both classes", "holds only the label %v", least)
	}
	return nil
}

// See sets dst to (x − d.Centre)/d.Scale for a row x of X, and returns dst. It extends dst as
// needed.
func See(dst []float64, d *learn.Data, x []float64) []float64 {
	dst = append(dst[:0], x...)
	if d.Centre != nil {
		floats.Sub(dst, d.Centre)
	}
	if d.Scale != nil {
		floats.Div(dst, d.Scale)
	}
	return dst
}
