package live

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cvgm/figures"

	"pgregory.net/rapid"
)

// quickMachine returns a machine that shows a problem of few splits after the given number of
// steps.
func quickMachine(t rapid.TB, p Problem, steps int) *Machine {
	t.Helper()
	m := NewMachine()
	m.Handle(Event{Kind: Select, Value: int(p)})
	m.Handle(Event{Kind: Scrub})
	m.Handle(Event{Kind: Set, Control: controlIndex(t, p, "K"), Value: 1})
	for range steps {
		m.Handle(Event{Kind: Step})
	}
	if v := m.view(); v.shown != steps {
		t.Fatalf("%v shows step %d after %d: %v", p, v.shown, steps, v.run.err)
	}
	return m
}

func controlIndex(t rapid.TB, p Problem, field string) int {
	t.Helper()
	i := slices.IndexFunc(p.Controls(), func(c Control) bool { return c.Field == field })
	if i < 0 {
		t.Fatalf("%v has no control of %q", p, field)
	}
	return i
}

func catchUp(m *Machine) {
	for !m.CatchUp() {
	}
}

// stateNumbers returns the numbers of some states as texts, so that NaN equals NaN.
func stateNumbers(states []state) []string {
	var text []string
	for _, s := range states {
		text = append(text, fmt.Sprintln(s.CV, s.Train, s.Test, s.Angle, s.Lambda, s.Model.Theta))
	}
	return text
}

func forEachProblem(t *testing.T, f func(t *testing.T, p Problem)) {
	for p := range problems {
		t.Run(p.String(), func(t *testing.T) { f(t, p) })
	}
}

func TestControlsKnowThePapersParameters(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p Problem) {
		s := Paper(p)
		if !reflect.DeepEqual(s.params(), p.paper()) {
			t.Errorf("the paper's settings give %+v", s.params())
		}
		if got, want := s.Command(0), "./reproduce.sh "+p.String(); got != want {
			t.Errorf("the paper's command is %q, want %q", got, want)
		}
		for i, c := range p.Controls() {
			if p.Help(c) == "" || c.Label == "" {
				t.Errorf("control %+v has help %q", c, p.Help(c))
			}
			seen := map[string]bool{}
			for at, value := range c.Values {
				moved := s.withControl(i, at)
				params := fmt.Sprintf("%+v %v", moved.params(), moved.variant())
				if seen[params] {
					t.Errorf("%s has two positions for %s", c.Label, value)
				}
				seen[params] = true
				if c.Field == "" || at == s.at[i] {
					continue
				}
				if want := fmt.Sprintf("./reproduce.sh %v -p %s=%s", p, c.Field, value); moved.Command(0) != want {
					t.Errorf("command %q, want %q", moved.Command(0), want)
				}
			}
		}
	})
	for steps, want := range map[int]string{98: "./reproduce.sh elastic_net", 99: "./reproduce.sh elastic_net -p Steps=100"} {
		if got := Paper(ElasticNet).Command(steps); got != want {
			t.Errorf("command %q, want %q", got, want)
		}
	}
	if got, want := Paper(XOR).withControl(controlIndex(t, XOR, "Hidden"), 3).Command(70), "./reproduce.sh xor -p Hidden=16,16 -p Steps=70"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
}

func TestPlayStepAndCatchUpGoTheSameWay(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p Problem) {
		stepped := quickMachine(t, p, 6)
		played := quickMachine(t, p, 0)
		played.Handle(Event{Kind: Play})
		for range 6 {
			played.Tick()
		}
		moved := quickMachine(t, p, 6)
		moved.Handle(Event{Kind: Set, Control: controlIndex(t, p, "K"), Value: 0, Dragging: true})
		catchUp(moved)
		if !moved.view().run.isPreview {
			t.Error("a drag shows no preview")
		}
		moved.Handle(Event{Kind: Set, Control: controlIndex(t, p, "K"), Value: 1})
		catchUp(moved)
		if moved.view().run.isPreview || moved.view().shown != 6 {
			t.Errorf("after the release: coarse is %v, step %d", moved.view().run.isPreview, moved.view().shown)
		}
		want := stateNumbers(stepped.view().run.states)
		for name, m := range map[string]*Machine{"played": played, "moved": moved} {
			if got := stateNumbers(m.view().run.states); !slices.Equal(got, want) {
				t.Errorf("%s:\n%v\nwant\n%v", name, got, want)
			}
			if !bytes.Equal(m.Draw(), stepped.Draw()) {
				t.Errorf("%s: another picture", name)
			}
		}
	})
}

func TestScrubbingGoesBackThroughEveryState(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p Problem) {
		m := quickMachine(t, p, 0)
		pictures := [][]byte{m.Draw()}
		for range 5 {
			m.Handle(Event{Kind: Step})
			pictures = append(pictures, m.Draw())
		}
		states := len(m.view().run.states)
		for at := 5; at >= 0; at-- {
			m.Handle(Event{Kind: Scrub, Value: at})
			if m.view().shown != at {
				t.Fatalf("shows step %d, want %d", m.view().shown, at)
			}
			last := m.view()
			last.run = &trajectory{settings: last.run.settings, states: last.run.states[:at+1], trial: last.run.trial}
			// After this step, the picture differs only in the later parts of the curves.
			if got, want := m.Readout(), last.readout(); got != want {
				t.Errorf("readout %q, want %q", got, want)
			}
		}
		for at := 1; at <= 5; at++ { // forward again through the computed states
			m.Handle(Event{Kind: Step})
		}
		if !bytes.Equal(m.Draw(), pictures[5]) || len(m.view().run.states) != states {
			t.Error("stepping forward again does not end where it was")
		}
		m.Handle(Event{Kind: Scrub, Value: 99})
		if m.view().shown != 5 {
			t.Errorf("scrubbing beyond the last state shows step %d", m.view().shown)
		}
		if bytes.Equal(pictures[0], pictures[5]) {
			t.Error("five steps change nothing in the picture")
		}
	})
}

func TestOnlyTheSeedAndTheWidthChangeTheInitialWeights(t *testing.T) {
	for _, p := range []Problem{Rings, XOR} {
		start := func(field string, move int) []float64 {
			m := quickMachine(t, p, 0)
			if move != 0 {
				i := controlIndex(t, p, field)
				m.Handle(Event{Kind: Set, Control: i, Value: m.Settings().At(i) + move})
			}
			return m.view().run.states[0].Model.Params
		}
		want := start("", 0)
		for _, c := range p.Controls() {
			same := slices.Equal(start(c.Field, -1), want) && slices.Equal(start(c.Field, 1), want)
			if wanted := c.Field != "Hidden" && c.Field != "Seed"; same != wanted {
				t.Errorf("%v: moving %s keeps the initial weights: %v", p, c.Label, same)
			}
		}
	}
}

func TestPinnedRunStays(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p Problem) {
		m := quickMachine(t, p, 4)
		plain := m.Draw()
		m.Handle(Event{Kind: Pin})
		pinned := stateNumbers(m.view().pinned.states)
		before := m.Draw()
		m.Handle(Event{Kind: Set, Control: 1, Value: 0})
		catchUp(m)
		m.Handle(Event{Kind: Step})
		if got := stateNumbers(m.view().pinned.states); !slices.Equal(got, pinned) {
			t.Error("the pinned run has changed")
		}
		if bytes.Equal(m.Draw(), before) || !strings.Contains(m.Readout(), "pinned step 4") {
			t.Errorf("the picture does not show the other run; readout %q", m.Readout())
		}
		m.Handle(Event{Kind: Unpin})
		m.Handle(Event{Kind: Set, Control: 1, Value: Paper(p).At(1)})
		m.Handle(Event{Kind: Scrub})
		for range 4 {
			m.Handle(Event{Kind: Step})
		}
		if !bytes.Equal(m.Draw(), plain) {
			t.Error("the picture under the old settings is another")
		}
	})
}

func TestEachProblemKeepsItsState(t *testing.T) {
	m := quickMachine(t, Rings, 3)
	rings := m.Draw()
	m.Handle(Event{Kind: Play})
	m.Handle(Event{Kind: Select, Value: int(ElasticNet)})
	catchUp(m)
	if m.Playing() || m.Settings().Problem != ElasticNet || bytes.Equal(m.Draw(), rings) {
		t.Error("the elastic net is not shown")
	}
	m.Handle(Event{Kind: Select, Value: int(Rings)})
	if !bytes.Equal(m.Draw(), rings) || m.Playing() {
		t.Error("the rings are not as they were")
	}
	m.Handle(Event{Kind: Reset})
	catchUp(m)
	if v := m.view(); !m.Settings().equal(Paper(Rings)) || v.shown != 3 || v.run.lastStep() != 3 || !v.run.settings.equal(Paper(Rings)) {
		t.Errorf("reset shows step %d of %d", v.shown, v.run.lastStep())
	}
}

func TestRunsEnd(t *testing.T) {
	m := quickMachine(t, ElasticNet, 0)
	m.Handle(Event{Kind: Play})
	for range MaxSteps + 5 {
		m.Tick()
	}
	if v := m.view(); m.Playing() || v.shown != MaxSteps || len(v.run.states) != MaxSteps+1 {
		t.Errorf("playing is %v at step %d of %d", m.Playing(), v.shown, len(v.run.states))
	}
	m.Handle(Event{Kind: Step})
	if v := m.view(); v.shown != MaxSteps || !strings.Contains(m.Readout(), "runs end at step 1000") {
		t.Errorf("shows step %d: %q", v.shown, m.Readout())
	}
}

// convergedMachine returns a machine whose run converges at the first point. Its penalties are so
// large that all coefficients are zero.
func convergedMachine(t *testing.T) *Machine {
	m := quickMachine(t, ElasticNet, 0)
	for field, at := range map[string]int{"StartLambda1": 8, "StartLambda2": 8, "Train": 4, "Noise": 1, "Informative": 9, "P": 4, "StepSize": 8, "Seed": 1} {
		m.Handle(Event{Kind: Set, Control: controlIndex(t, ElasticNet, field), Value: at})
	}
	return m
}

func TestConvergedRunsEnd(t *testing.T) {
	m := convergedMachine(t)
	m.Handle(Event{Kind: Play})
	for range 3 {
		m.Tick()
	}
	if m.Playing() || m.view().shown != 0 || !strings.Contains(m.Readout(), "converged at step 0") {
		t.Errorf("playing is %v: %q", m.Playing(), m.Readout())
	}
	checkSVG(t, m.Draw())
}

// An error ends the run. The steps before the error remain visible.
func TestFailuresAreReported(t *testing.T) {
	m := quickMachine(t, Rings, 2)
	s := m.now()
	broken := errors.New("no more")
	next := s.run.next
	s.run.next = func() (state, error, bool) {
		if len(s.run.states) == 4 {
			return state{}, broken, true
		}
		return next()
	}
	m.Handle(Event{Kind: Play})
	for range 5 {
		m.Tick()
	}
	if m.Playing() || m.view().shown != 3 || !strings.Contains(m.Readout(), broken.Error()) {
		t.Errorf("playing is %v at step %d: %q", m.Playing(), m.view().shown, m.Readout())
	}
	checkSVG(t, m.Draw())
	m.Handle(Event{Kind: Scrub, Value: 1})
	if m.view().shown != 1 {
		t.Error("cannot scrub after a failure")
	}
}

// If no run can start with new settings, the picture stays, and a message appears. A preview may
// fail where an exact run does not, so both try the settings.
func TestSettingsThatFail(t *testing.T) {
	m := quickMachine(t, Rings, 0)
	var where []Event
	for _, c := range []struct{ field, value string }{{"RadiusSD", "1"}, {"P", ".5"}, {"K", "512"}, {"Train", "10"}} {
		i := controlIndex(t, Rings, c.field)
		where = append(where, Event{Kind: Set, Control: i, Value: slices.Index(Rings.Controls()[i].Values, c.value)})
	}
	for _, e := range where[:3] {
		m.Handle(e)
	}
	before := m.Draw()
	m.Handle(where[3])
	if !strings.Contains(m.Readout(), "these settings fail") || !bytes.Equal(m.Draw(), before) {
		t.Errorf("ten examples of which some splits have one class only: %q", m.Readout())
	}
	m.now().failed = errors.New("as if the preview had failed")
	m.now().settings = m.view().run.settings
	m.Handle(Event{Kind: Set, Control: where[3].Control, Value: m.Settings().At(where[3].Control)})
	if strings.Contains(m.Readout(), "fail") {
		t.Errorf("settings that do not fail: %q", m.Readout())
	}
}

// After any events, the picture is well formed, and repeated events give the same picture.
func TestAnyEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	if err := flag.Set("rapid.checks", "20"); err != nil { // a hundred runs take a while
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "events")
		var events []Event
		for range n {
			events = append(events, Event{
				Kind:     rapid.SampledFrom([]EventKind{Set, Set, Set, Play, Pause, Step, Scrub, Pin, Unpin, Reset, "nonsense"}).Draw(t, "kind"),
				Control:  rapid.IntRange(-1, 9).Draw(t, "control"),
				Value:    rapid.IntRange(-1, 9).Draw(t, "value"),
				Dragging: rapid.Bool().Draw(t, "dragging"),
			})
		}
		p := rapid.SampledFrom([]Problem{Rings, ElasticNet}).Draw(t, "problem")
		var pictures [2][]byte
		for i := range pictures {
			m := quickMachine(t, p, 1)
			for _, e := range events {
				m.Handle(e)
				m.Tick()
				catchUp(m)
				if v := m.view(); v.shown < 0 || v.shown > v.run.lastStep() || v.run.lastStep() > 20 {
					t.Fatalf("shows step %d of %d", v.shown, v.run.lastStep())
				}
			}
			pictures[i] = m.Draw()
			checkSVG(t, pictures[i])
			if !strings.Contains(m.Readout(), "step ") {
				t.Fatalf("readout %q", m.Readout())
			}
		}
		if !bytes.Equal(pictures[0], pictures[1]) {
			t.Fatal("the same events lead to two pictures")
		}
	})
}

// embeddedPicture matches a picture within a picture, because its base64 may contain any text.
var embeddedPicture = regexp.MustCompile(`base64,[^"]*`)

func checkSVG(t rapid.TB, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	drawn := embeddedPicture.ReplaceAll(svg, nil)
	for _, bad := range []string{"NaN", "Inf"} {
		if bytes.Contains(drawn, []byte(bad)) {
			t.Fatalf("the picture holds %s", bad)
		}
	}
}

func ExampleProblem() {
	for _, p := range []Problem{Rings, XOR, ElasticNet} {
		fmt.Printf("%s: ./reproduce.sh %v, %d controls\n", p.Title(), p, len(p.Controls()))
	}
	// Output:
	// Rings: ./reproduce.sh rings, 9 controls
	// XOR: ./reproduce.sh xor, 9 controls
	// Elastic net: ./reproduce.sh elastic_net, 9 controls
}

func ExampleControl() {
	paper := Paper(XOR)
	for i, c := range XOR.Controls()[:4] {
		fmt.Printf("%s = %s: %s\n", c.Label, c.Values[paper.At(i)], XOR.Help(c))
	}
	// Output:
	// N = 100: training examples N
	// noise (overlap) = .2: how far a square reaches beyond the axes, as a share of its reach on its own side
	// C = 50: weight of the logistic losses against the ridge penalty
	// K splits = 256: cross-validation splits
}

func ExampleSettings() {
	fmt.Println(Paper(XOR).Command(80)) // 80 steps are more than the paper's
	// Output: ./reproduce.sh xor -p Steps=80
}

func ExampleEvent() {
	m := NewMachine()
	defer m.Close()
	for _, e := range []Event{{Kind: Step}, {Kind: Pin}, {Kind: Scrub, Value: 0}} {
		m.Handle(e)
	}
	fmt.Println(m.Readout())
	// Output:
	// this   step 0     CV loss 0.7013   training 0.6401 (63.3 %)   test 0.6847 (56.7 %)   angle 0°
	// pinned step 0     CV loss 0.7013   training 0.6401 (63.3 %)   test 0.6847 (56.7 %)   angle 0°
}

func ExampleStrip() {
	strip, err := NewStrip(ElasticNet)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range strip.States.Rows {
		fmt.Printf("step %v: test loss %.3f\n", row[1], row[4].(figures.Number).Value)
	}
	// Output:
	// step 0: test loss 1.222
	// step 20: test loss 1.131
	// step 98: test loss 1.078
	// step 500: test loss 1.226
}

func ExampleMachine() {
	m := NewMachine()
	defer m.Close()
	m.Handle(Event{Kind: Select, Value: int(ElasticNet)})
	m.Handle(Event{Kind: Set, Control: 0, Value: 5}) // N = 50
	for !m.CatchUp() {
	}
	m.Handle(Event{Kind: Step})
	fmt.Println(m.Readout())
	fmt.Println(m.Settings().Command(0))
	// Output:
	// step 21    CV loss 1.0276   training 0.6289   test 1.0907   λ1 0.01203   λ2 0.002618
	// ./reproduce.sh elastic_net -p Train=50
}
