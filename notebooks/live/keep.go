package live

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"cvgm/notebooks/source"
)

// kept is the stored state of a [Machine]. It has the settings by name, and the numbers of steps of
// the runs. The runs themselves are not stored. They are computed again.
type kept struct {
	Problem  string                  `json:"problem"`
	Sessions map[string]*keptSession `json:"sessions"` // by the name of the problem
}

type keptSession struct {
	Values  map[string]string `json:"values"` // by the label of the control
	Shown   int               `json:"shown"`
	Steps   int               `json:"steps"`
	Playing bool              `json:"playing"`
	Pinned  *keptRun          `json:"pinned,omitempty"`
}

type keptRun struct {
	Values map[string]string `json:"values"`
	Steps  int               `json:"steps"`
}

func (s *session) keep() *keptSession {
	k := &keptSession{Values: s.settings.controlValues(), Shown: s.visibleStep, Steps: max(s.run.asked(), s.runSteps), Playing: s.playing}
	if s.pinnedRun != nil {
		k.Pinned = &keptRun{s.pinnedRun.settings.controlValues(), max(s.pinnedRun.lastStep(), s.pinnedSteps)}
	}
	return k
}

// restore sets the session s to the stored state k. Before the call, the session must have the
// paper's settings.
func (s *session) restore(k *keptSession) {
	within := func(steps int) int { return min(max(steps, 0), MaxSteps) }
	s.settings = s.settings.withValues(k.Values)
	s.start(false)
	s.visibleStep, s.runSteps, s.playing = within(k.Shown), within(k.Steps), k.Playing
	if k.Pinned == nil {
		return
	}
	if r := newRun(Paper(s.settings.Problem).withValues(k.Pinned.Values), false); r.extend() {
		s.pin(r, within(k.Pinned.Steps))
	} else {
		r.stop()
	}
}

// controlValues returns the values of the controls. The keys of the result are the labels of the
// controls.
func (s Settings) controlValues() map[string]string {
	all := map[string]string{}
	for i, c := range controls[s.Problem] {
		all[c.Label] = c.Values[s.at[i]]
	}
	return all
}

// withValues returns the settings with the given values. The keys of the map values are the labels
// of controls. A control whose label is not in the map keeps its position.
func (s Settings) withValues(values map[string]string) Settings {
	for i, c := range controls[s.Problem] {
		if at := slices.Index(c.Values, values[c.Label]); at >= 0 {
			s = s.withControl(i, at)
		}
	}
	return s
}

// A keeper writes the stored state of a machine to a file.
type keeper struct {
	name    string
	written string
	err     error // error of the first failed write
}

// openKeeper returns a keeper for a file in the folder .work of the checkout. It also returns the
// state in this file.
func openKeeper() (*keeper, []byte, error) {
	root, err := source.Root()
	if err != nil {
		return nil, nil, err
	}
	k := &keeper{name: filepath.Join(root, ".work", "explore", "state.json")}
	text, err := os.ReadFile(k.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	k.written = string(text)
	return k, text, err
}

// keep writes the text to the file. If the text is the same as the last written text, keep does
// nothing.
func (k *keeper) keep(text []byte) {
	if string(text) == k.written {
		return
	}
	k.written, k.err = string(text), cmp.Or(k.err, source.WriteFile(k.name, text))
}
