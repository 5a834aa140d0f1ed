package qpdiff

import "cmp"

// fitState is the part that all learners share: the data, the state of the last fit,
// and the checks of the arguments of Load, Fit, VJP and JVP.
type fitState struct {
	home   home
	data   Data   // X is nil without a successful Load
	params int    // entries of θ as of the last Fit
	hypers int    // hyperparameters, likewise
	fit    uint64 // the number of the last fit, of newState; 0 without one
}

// unload forgets data and fit, as a Load does first.
func (f *fitState) unload() {
	f.home.take()
	f.data, f.fit = Data{}, 0
}

// forget forgets the fit.
func (f *fitState) forget() {
	f.home.check()
	f.fit = 0
}

// begin forgets the fit, as a Fit does first, and checks its arguments for learners
// whose hyperparameters are at or above 0.
func (f *fitState) begin(theta, hyper []float64, params, hypers int) error {
	if err := f.beginTheta(theta, params, hypers); err != nil {
		return err
	}
	return checkHyper(hyper, hypers)
}

// beginTheta is begin without a check of the hyperparameters.
func (f *fitState) beginTheta(theta []float64, params, hypers int) error {
	f.forget()
	if f.data.X == nil {
		return errNotLoaded
	}
	checkLength("theta", theta, params)
	f.params, f.hypers = params, hypers
	return nil
}

// finish ends a successful Fit.
func (f *fitState) finish() { f.fit = newState() }

// fitted returns an error where there is no fit.
func (f *fitState) fitted() error {
	if f.home.check(); f.fit == 0 {
		return errNotFitted
	}
	return nil
}

// checkAdjoint checks the arguments of a VJP.
func (f *fitState) checkAdjoint(g *Grad, dtheta []float64) error {
	return cmp.Or(f.checkDerivative("g", g, dtheta), checkFinite("dtheta", "give a finite cotangent", dtheta))
}

// checkForward checks the arguments of a JVP.
func (f *fitState) checkForward(dtheta []float64, d *Grad) error {
	if err := f.checkDerivative("d", d, dtheta); err != nil {
		return err
	}
	return checkTangent(d)
}

// checkDerivative checks what the arguments of a VJP and of a JVP have in common; arg names g.
func (f *fitState) checkDerivative(arg string, g *Grad, dtheta []float64) error {
	if err := f.fitted(); err != nil {
		return err
	}
	checkLength("dtheta", dtheta, f.params)
	return f.checkShape(arg, g)
}

// checkShape panics where a field of g that is not nil has another shape than its
// input. A nil g, named arg, is an error.
func (f *fitState) checkShape(arg string, g *Grad) error {
	if g == nil {
		return argErrorf(arg, ErrShape, "give a Grad with the wanted fields", "is nil")
	}
	rows, cols := f.data.X.Dims()
	checkVector("Grad.Hyper", g.Hyper, f.hypers)
	checkMatrix("Grad.X", g.X, rows, cols)
	checkVector("Grad.Y", g.Y, rows)
	return nil
}

// notDifferentiable is the error of the fields of g that are wanted and have no
// derivative; hyper names the hyperparameters among them.
func notDifferentiable(g *Grad, weak Weak, remedy string, hyper ...Input) *NotDifferentiableError {
	var inputs []Input
	if g.Hyper != nil {
		inputs = append(inputs, hyper...)
	}
	if g.X != nil {
		inputs = append(inputs, "X")
	}
	if g.Y != nil {
		inputs = append(inputs, "y")
	}
	return &NotDifferentiableError{Inputs: inputs, Weak: weak, Remedy: remedy}
}

// checkClasses reports the first label in d that a classifier cannot use, and where
// only one class counts.
func checkClasses(d Data) error {
	least, most := 1.0, -1.0 // of the labels that count
	see := func(i int) {
		if countAt(d.Weights, i) > 0 {
			least, most = min(least, d.Y[i]), max(most, d.Y[i])
		}
	}
	for i, y := range d.Y {
		if y != 1 && y != -1 {
			return argErrorf("Data.Y", ErrDomain, "use the labels -1 and 1", "holds %v at index %d", y, i)
		}
		if d.Rows == nil {
			see(i)
		}
	}
	for _, i := range d.Rows {
		see(i)
	}
	if least == most {
		return argErrorf("Data.Y", ErrIllPosed, "give examples of both classes", "holds only the label %v", least)
	}
	return nil
}
