package qpdiff

// Workspace is the storage of derivatives: what they prepare once for each solution
// or fit, and their scratch. Its zero value is ready for use. It serves any
// solutions and learners, one goroutine at a time, and is best kept for one of
// them: a change of the solution, or a new solve, costs a preparation. It must not be
// copied after its first use.
type Workspace struct {
	home
	qp        qpDerivative
	penalised penalisedDerivative
	smooth    smoothDerivative
	unrolled  unrolledDerivative
	logistic  logisticDerivative
	margin    marginDerivative
	kernel    kernelDerivative
	ridge     kernelRidgeDerivative
	huber     huberDerivative
}

// orNew returns w, or a new workspace where w is nil.
func (w *Workspace) orNew() *Workspace {
	if w == nil {
		w = new(Workspace)
	}
	w.take()
	return w
}
