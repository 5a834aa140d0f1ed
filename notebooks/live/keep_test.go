package live

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// drawEvents draws random events of readers: events whose effects a machine stores.
func drawEvents(t *rapid.T) []Event {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Event {
		return Event{
			Kind:    rapid.SampledFrom([]EventKind{Set, Set, Step, Step, Scrub, Play, Pause, Pin, Unpin, Reset}).Draw(t, "kind"),
			Control: rapid.IntRange(0, 8).Draw(t, "control"),
			Value:   rapid.IntRange(0, 8).Draw(t, "value"),
		}
	}), 1, 8).Draw(t, "moves")
}

func TestRestoredMachinesShowTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]Problem{Rings, ElasticNet}).Draw(t, "problem")
		m := quickMachine(t, p, 2)
		defer m.Close()
		for _, e := range drawEvents(t) {
			m.Handle(e)
			catchUp(m)
		}
		if m.now().failed != nil {
			t.Skip("the run before settings that fail is not kept")
		}
		for range 2 { // the second time, the state is stored before the runs have been computed again
			back := Restore(m.Keep())
			defer back.Close()
			early := Restore(back.Keep())
			defer early.Close()
			for _, r := range []*Machine{back, early} {
				catchUp(r)
				if r.Playing() != m.Playing() || r.Readout() != m.Readout() || !bytes.Equal(r.Draw(), m.Draw()) {
					t.Fatalf("restored:\n%s\nwant\n%s", r.Readout(), m.Readout())
				}
				if got, want := stateNumbers(r.view().run.states), stateNumbers(m.view().run.states); !slices.Equal(got, want) {
					t.Fatalf("the restored run has %d states, want %d", len(got), len(want))
				}
			}
		}
	})
}

// A run that has converged is restored as a run that has converged.
func TestRestoredRunsHaveConverged(t *testing.T) {
	m := convergedMachine(t)
	m.Handle(Event{Kind: Step})
	back := Restore(Restore(m.Keep()).Keep())
	defer back.Close()
	catchUp(back)
	if got, want := back.Readout(), m.Readout(); got != want || !strings.Contains(want, "converged at step 0") {
		t.Errorf("restored:\n%s\nwant\n%s", got, want)
	}
}

// Restore also restores hidden problems, even if the state is stored again before they are opened.
func TestRestoredMachinesHaveAllProblems(t *testing.T) {
	m := quickMachine(t, XOR, 1)
	defer m.Close()
	xor := m.Settings()
	m.Handle(Event{Kind: Select, Value: int(ElasticNet)})
	catchUp(m)
	back := Restore(Restore(m.Keep()).Keep())
	defer back.Close()
	if back.Settings().Problem != ElasticNet {
		t.Errorf("%v is shown", back.Settings().Problem)
	}
	back.Handle(Event{Kind: Select, Value: int(XOR)})
	catchUp(back)
	if v := back.view(); !back.Settings().equal(xor) || v.shown != 1 || v.run.lastStep() != 1 {
		t.Errorf("step %d of %d under %v", v.shown, v.run.lastStep(), back.Settings())
	}
}

// Settings with which no run can start are stored too, and the paper's run is shown.
func TestRestoredSettingsThatFail(t *testing.T) {
	m := Restore([]byte(`{"problem": "rings", "sessions": {"rings": {"values": {"N": "10", "noise": "1", "K splits": "512", "split fraction": ".5"}, "shown": 0, "steps": 0}}}`))
	defer m.Close()
	catchUp(m)
	if !strings.Contains(m.Readout(), "these settings fail") || m.view().shown != 0 {
		t.Errorf("readout %q", m.Readout())
	}
	checkSVG(t, m.Draw())
}

func TestDamagedStatesHaveNoEffect(t *testing.T) {
	paper := NewMachine()
	defer paper.Close()
	catchUp(paper)
	for _, text := range []string{
		"", "{", "null", "[]", `{"problem": 3}`, `{"problem": "nonsense", "sessions": {"nonsense": {}}}`, `{"sessions": {"rings": null}}`,
		`{"sessions": {"rings": {"values": {"N": "61", "colour": "red", "gradient": ""}, "shown": 20}}}`, "\x00\xff",
	} {
		m := Restore([]byte(text))
		catchUp(m)
		if !m.Settings().equal(Paper(Rings)) || m.Readout() != paper.Readout() {
			t.Errorf("%q leads to %v: %s", text, m.Settings(), m.Readout())
		}
		m.Close()
	}
	m := Restore([]byte(`{"sessions": {"rings": {"values": {"K splits": "4"}, "shown": -5, "steps": -9, "pinned": {"values": {"K splits": "4"}, "steps": -1}}}}`))
	defer m.Close()
	catchUp(m)
	if v := m.view(); v.shown != 0 || v.pinned == nil || v.pinned.lastStep() != 0 {
		t.Errorf("negative steps show step %d: %s", v.shown, m.Readout())
	}
	m = Restore([]byte(`{"problem": "elastic_net", "sessions": {"elastic_net": {"values": {"K splits": "4"}, "shown": 5000, "steps": 1000000000}}}`))
	defer m.Close()
	catchUp(m)
	if v := m.view(); v.shown != MaxSteps || v.run.lastStep() != MaxSteps {
		t.Errorf("too many steps show step %d of %d", v.shown, v.run.lastStep())
	}
}

func TestKeeperWritesChanges(t *testing.T) {
	k := &keeper{name: filepath.Join(t.TempDir(), "new", "state.json")}
	k.keep([]byte("a"))
	if text, err := os.ReadFile(k.name); err != nil || string(text) != "a" {
		t.Fatalf("kept %q, %v", text, err)
	}
	if err := os.Remove(k.name); err != nil {
		t.Fatal(err)
	}
	k.keep([]byte("a"))
	if _, err := os.Stat(k.name); err == nil {
		t.Error("what is kept is written again")
	}
	k.name = filepath.Join(k.name, "below a file", "state.json")
	if err := os.WriteFile(filepath.Dir(filepath.Dir(k.name)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if k.keep([]byte("b")); k.err == nil {
		t.Error("no error from a file in place of a folder")
	}
}

// The state is written while the machine plays, and when serving ends.
func TestServingKeepsTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := quickMachine(t, ElasticNet, 1)
		defer m.Close()
		in := newInbox()
		var kept []string
		ctx, stop := context.WithTimeout(t.Context(), 5*patienceTime)
		defer stop()
		s := newServer(m, in, func(text string) {
			if strings.HasPrefix(text, "ping ") {
				in.addMessages(`[{"kind":"here"}]`)
			} else {
				in.addMessages(`[{"kind":"drawn","value":` + strings.Split(strings.Split(text, `"number":`)[1], ",")[0] + `}]`)
				time.Sleep(20 * time.Millisecond) // without the pause, playing would take no time
			}
		})
		s.keep = func(state []byte) { kept = append(kept, string(state)) }
		in.addMessages(`[{"kind":"hello","seq":1}]`)
		in.addMessages(`[{"kind":"play","seq":2}]`)
		s.run(ctx)
		if len(kept) < 3 || kept[len(kept)-1] != string(m.Keep()) || !strings.Contains(kept[1], `"playing": true`) {
			t.Errorf("%d states were kept; the last:\n%s", len(kept), kept[len(kept)-1])
		}
	})
}

// The process of a cell ends when the pipe from its kernel ends, and not earlier.
func TestEndsWithItsKernel(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, orphaned := whileOpen(t.Context(), r)
	select {
	case <-ctx.Done():
		t.Fatal("ends while its kernel runs")
	case <-time.After(50 * time.Millisecond):
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("does not end with its kernel")
	}
	if !orphaned() {
		t.Error("takes its kernel's end for an interrupt")
	}
}
