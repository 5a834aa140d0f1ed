package live

// session is the machine's state for one problem.
type session struct {
	settings Settings
	run      *trajectory
	shown    int // the step to be shown; the last one if the run has fewer
	playing  bool
	pinned   *trajectory
	// A restored run is computed again up to the steps that it had.
	runSteps, pinnedSteps int
	// failed is the error of settings that allow no run. run is then still the previous run.
	failed error
}

// pin replaces the pinned run by one that will have that many steps.
func (s *session) pin(r *trajectory, steps int) {
	if s.pinned != nil {
		s.pinned.stop()
	}
	s.pinned, s.pinnedSteps = r, steps
}

// start replaces the run by one under the settings.
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

// forward shows the next step, which it computes if need be.
func (s *session) forward() bool {
	if s.shown >= s.run.last() && !s.run.extend() {
		s.playing = false
		return false
	}
	s.shown = min(s.shown+1, s.run.last())
	return true
}

// pinLags reports whether the pinned run has fewer steps than it should have.
func (s *session) pinLags() bool { return s.pinned != nil && s.pinned.last() < s.pinnedSteps }
