package live

// session is the state of the machine for one problem.
type session struct {
	settings    Settings
	run         *trajectory
	visibleStep int // visible step; if the run has fewer steps, the last step is visible
	playing     bool
	pinnedRun   *trajectory
	// After a restart, the run and the pinned run are computed again. The numbers of their steps
	// are runSteps and pinnedSteps.
	runSteps, pinnedSteps int
	// If no run can start with the current settings, the field failed holds the error, and the
	// field run still holds the previous run.
	failed error
}

// pin replaces the pinned run by the run r. The argument steps is the number of steps up to which r
// has to be computed.
func (s *session) pin(r *trajectory, steps int) {
	if s.pinnedRun != nil {
		s.pinnedRun.stop()
	}
	s.pinnedRun, s.pinnedSteps = r, steps
}

// start replaces the run by a new run with the current settings.
func (s *session) start(coarse bool) {
	r := newRun(s.settings, coarse)
	r.extend()
	if s.failed = r.err; s.failed != nil && s.run != nil {
		r.stop()
		return
	}
	if s.run != nil {
		s.run.stop()
	}
	s.run, s.runSteps = r, 0
}

// showNext shows the next step. It first computes this step if necessary.
func (s *session) showNext() bool {
	if s.visibleStep >= s.run.lastStep() && !s.run.extend() {
		s.playing = false
		return false
	}
	s.visibleStep = min(s.visibleStep+1, s.run.lastStep())
	return true
}

// pinLags reports whether steps of the pinned run are still to be computed.
func (s *session) pinLags() bool { return s.pinnedRun != nil && s.pinnedRun.lastStep() < s.pinnedSteps }
