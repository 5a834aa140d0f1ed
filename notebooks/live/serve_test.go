package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakePage is a page that draws every frame in the order of arrival.
type fakePage struct {
	t      *testing.T
	in     *inbox
	name   string
	frames chan frame
	seq    int64
	// seen is the last frame that the page drew, with the problems and controls of an earlier frame
	// if it has none.
	seen frame
}

func (p *fakePage) sendEvent(kind EventKind, change func(*Event)) {
	p.seq++
	m := message{Event{Kind: kind}, p.name, p.seq}
	if change != nil {
		change(&m.Event)
	}
	text, err := json.Marshal([]message{m})
	if err != nil {
		p.t.Error(err)
	}
	p.in.addMessages(string(text))
}

// drawFrame processes a frame as the page does: missing parts of the frame keep their last value.
func (p *fakePage) drawFrame(f frame) {
	if f.Number != p.seen.Number+1 {
		p.t.Errorf("frame %d follows frame %d", f.Number, p.seen.Number)
	}
	if f.Problems == nil {
		f.Problems = p.seen.Problems
	}
	if f.Controls == nil {
		f.Controls = p.seen.Controls
	}
	p.seen = f
	p.sendEvent(drawn, func(e *Event) { e.Value = f.Number })
}

// awaitFrame draws frames until one satisfies the condition.
func (p *fakePage) awaitFrame(what string, met func(f frame) bool) frame {
	p.t.Helper()
	late := time.After(5 * time.Minute)
	for {
		select {
		case f := <-p.frames:
			if p.drawFrame(f); met(p.seen) {
				return p.seen
			}
		case <-late:
			p.t.Fatalf("no frame with %s", what)
		}
	}
}

// servePage serves a machine to a fake page until the test ends.
func servePage(t *testing.T) *fakePage {
	p := &fakePage{t: t, in: newInbox(), frames: make(chan frame)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	m := quickMachine(t, Rings, 3)
	go func() {
		defer close(done)
		newServer(m, p.in, func(text string) {
			if strings.HasPrefix(text, "ping ") {
				p.in.addMessages(`[{"kind":"here"}]`)
				return
			}
			var f frame
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				t.Error(err)
			}
			select {
			case p.frames <- f:
			case <-ctx.Done():
			}
		}).run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	p.sendEvent(hello, nil)
	return p
}

func TestServing(t *testing.T) {
	p := servePage(t)
	f := p.awaitFrame("the first picture", func(f frame) bool { return f.Shown == 3 })
	if len(f.Problems) != int(problems) || len(f.Controls) != len(Rings.Controls()) || !strings.HasPrefix(f.SVG, "<svg") || f.Playing {
		t.Fatalf("first frame: %d problems, %d controls, playing %v", len(f.Problems), len(f.Controls), f.Playing)
	}
	if f.Controls[0].Help == "" || f.Controls[0].Values[f.At[0]] != "60" {
		t.Errorf("first control: %+v", f.Controls[0])
	}
	p.sendEvent(Play, nil)
	f = p.awaitFrame("step 12", func(f frame) bool { return f.Shown >= 12 })
	if !f.Playing || !strings.Contains(f.Speed, "ms per step") {
		t.Errorf("playing is %v at %q", f.Playing, f.Speed)
	}
	p.sendEvent(Pause, nil)
	p.awaitFrame("a pause", func(f frame) bool { return !f.Playing })
	p.sendEvent(Scrub, func(e *Event) { e.Value = 2 })
	before := p.awaitFrame("step 2", func(f frame) bool { return f.Shown == 2 })

	// While a slider moves, there are previews. The exact picture follows.
	noise := controlIndex(t, Rings, "RadiusSD")
	for at := range 10 {
		p.sendEvent(Set, func(e *Event) { e.Control, e.Value, e.Dragging = noise, at, true })
	}
	p.awaitFrame("a preview", func(f frame) bool { return strings.Contains(f.Readout, "preview") })
	p.sendEvent(Set, func(e *Event) { e.Control, e.Value = noise, 3 })
	f = p.awaitFrame("the exact picture", func(f frame) bool { return !strings.Contains(f.Readout, "preview") && f.Shown == 2 })
	if f.SVG == before.SVG || !strings.Contains(f.Command, "-p RadiusSD=.2") {
		t.Errorf("the released slider leads to %q", f.Command)
	}
	p.sendEvent(Select, func(e *Event) { e.Value = int(ElasticNet) })
	f = p.awaitFrame("the elastic net", func(f frame) bool { return f.Problem == ElasticNet && f.Shown == firstShown })
	if f.Controls[2].Field != "StartLambda1" {
		t.Errorf("its controls: %+v", f.Controls)
	}
}

// A page that does not draw receives at most one frame in each period of patienceTime.
func TestServingWaitsForThePage(t *testing.T) {
	for _, c := range []struct {
		waits       time.Duration
		least, most int
	}{{patienceTime / 2, 1, 1}, {20 * patienceTime, 2, 21}} {
		synctest.Test(t, func(t *testing.T) { // so that computation takes no time
			in := newInbox()
			var frames []string
			ctx, stop := context.WithTimeout(t.Context(), c.waits)
			defer stop()
			in.addMessages(`[{"kind":"hello","seq":1}]`)
			in.addMessages(`[{"kind":"play","seq":2}]`)
			in.addMessages(`no message at all`)
			m := quickMachine(t, ElasticNet, 1)
			defer m.Close()
			newServer(m, in, func(text string) {
				if strings.HasPrefix(text, "ping ") {
					in.addMessages(`[{"kind":"here","seq":3}]`)
				} else {
					frames = append(frames, text)
				}
			}).run(ctx)
			if n := len(frames); n < c.least || n > c.most {
				t.Errorf("%d frames in %v were sent to a page that drew none", n, c.waits)
			}
		})
	}
}

// The cell ends when its page has gone, so that it can be run again.
func TestServingEndsWithThePage(t *testing.T) {
	in := newInbox()
	in.addMessages(`[{"kind":"hello","seq":1}]`)
	in.addMessages(`[{"kind":"play","seq":2}]`)
	in.addMessages(`[{"kind":"leave","seq":3}]`)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	newServer(quickMachine(t, Rings, 1), in, func(string) {}).run(ctx)
	if ctx.Err() != nil {
		t.Error("served a page that had gone")
	}
}

// A run that several pages show is served until each page has left or has not answered for a while.
func TestServingEndsWithTheLastPage(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers func(now time.Duration) []string
		ends    time.Duration
	}{
		{"the second page stays", func(now time.Duration) []string {
			if now > 10*absenceTime {
				return nil
			}
			return []string{`[{"kind":"here","page":"b"}]`}
		}, 11 * absenceTime},
		{"the second page is loaded again and does not come back", func(now time.Duration) []string {
			if now < 2*absenceTime {
				return []string{`[{"kind":"here","page":"b"}]`}
			}
			if now < 2*absenceTime+pingTime {
				return []string{`[{"kind":"hide","page":"b"}]`}
			}
			return nil
		}, 2*absenceTime + returnTime},
		{"both pages are silent", func(time.Duration) []string { return nil }, absenceTime},
		{"the second page leaves too", func(now time.Duration) []string {
			if now < 2*absenceTime {
				return []string{`[{"kind":"here","page":"b"}]`}
			}
			return []string{`[{"kind":"leave","page":"b"}]`}
		}, 2 * absenceTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, unanswered := time.Now(), 0
				in := newInbox()
				m := quickMachine(t, ElasticNet, 1)
				defer m.Close()
				in.addMessages(`[{"kind":"hello","page":"a","seq":1}]`)
				in.addMessages(`[{"kind":"hello","page":"b","seq":2}]`)
				in.addMessages(`[{"kind":"leave","page":"a","seq":3}]`)
				newServer(m, in, func(text string) {
					if strings.HasPrefix(text, "ping ") {
						unanswered++
						for _, answer := range c.answers(time.Since(start)) {
							unanswered = 0
							in.addMessages(answer)
						}
					}
				}).run(t.Context())
				if took := time.Since(start); took < c.ends || took > c.ends+2*pingTime {
					t.Errorf("ended after %v, want %v", took, c.ends)
				}
				if unanswered > 8 { // each may take 3 s
					t.Errorf("%d pings to pages that are silent", unanswered)
				}
			})
		})
	}
}

// A page that opens later receives all that it needs, and all pages receive positions of controls.
func TestServingTwoPages(t *testing.T) {
	p := servePage(t)
	p.awaitFrame("the first picture", func(f frame) bool { return f.Shown == 3 })
	splits := controlIndex(t, Rings, "K")
	p.sendEvent(Set, func(e *Event) { e.Control, e.Value = splits, 2 })
	p.awaitFrame("the control where it was set", func(f frame) bool { return f.At[splits] == 2 && f.Answers[""] == p.seq-1 })
	p.seen.Problems, p.seen.Controls, p.name = nil, nil, "second"
	p.sendEvent(hello, nil)
	f := p.awaitFrame("all that a page needs", func(f frame) bool { return f.Controls != nil })
	if len(f.Problems) != int(problems) || f.At[splits] != 2 || !strings.Contains(f.Alt, "after 3 steps") {
		t.Errorf("the second page is told %+v", f)
	}
}

// Each event takes effect once, although messages may be lost, repeated or reordered.
func TestServingRepeatedEvents(t *testing.T) {
	p := servePage(t)
	p.awaitFrame("the first picture", func(f frame) bool { return f.Shown == 3 })
	p.in.addMessages(`[{"kind":"step","page":"a","seq":11}, {"kind":"step","page":"a","seq":12}, {"kind":"here","page":"a","seq":13}]`)
	p.awaitFrame("two steps", func(f frame) bool { return f.Shown == 5 && f.Answers["a"] == 12 })
	p.in.addMessages(`[{"kind":"step","page":"a","seq":11}]`)
	p.in.addMessages(`[{"kind":"step","page":"a","seq":12}, {"kind":"step","page":"a","seq":14}]`)
	f := p.awaitFrame("one step more", func(f frame) bool { return f.Answers["a"] == 14 })
	if f.Shown != 6 || !f.Done {
		t.Errorf("shows step %d, want 6; done is %v", f.Shown, f.Done)
	}
}

// A ping has the number of the last frame, so that a page can request a lost frame.
func TestPingNumbersTheFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInbox()
		in.addMessages(`[{"kind":"hello","page":"a","seq":1}]`)
		m := quickMachine(t, ElasticNet, 1)
		defer m.Close()
		ctx, stop := context.WithTimeout(t.Context(), 4*pingTime)
		defer stop()
		frames, pings := 0, 0
		newServer(m, in, func(text string) {
			if !strings.HasPrefix(text, "ping ") {
				frames++
				return
			}
			if want := fmt.Sprintf(ping, frames); text != want {
				t.Errorf("%q after frame %d, want %q", text, frames, want)
			}
			if pings++; pings == 2 { // the frame was lost
				in.addMessages(`[{"kind":"hello","page":"a","seq":2}]`)
			}
		}).run(ctx)
		if frames != 2 {
			t.Errorf("%d frames for two pages that have nothing to show", frames)
		}
	})
}

// The time of a step is measured for each run separately, without the set-up of the run.
func TestTimePerStep(t *testing.T) {
	m := quickMachine(t, Rings, 0)
	if took := m.view().run.perStep; took != 0 {
		t.Errorf("a step took %v before there was one", took)
	}
	for range 3 {
		m.Handle(Event{Kind: Step})
	}
	rings := m.view().run.perStep
	m.Handle(Event{Kind: Select, Value: int(XOR)})
	if rings <= 0 || m.view().run.perStep != 0 {
		t.Errorf("time per step: %v, and %v of another run", rings, m.view().run.perStep)
	}
}

func TestInboxSortsAndKeepsTheLatest(t *testing.T) {
	b := newInbox()
	for _, m := range []string{
		`[{"kind":"set","control":1,"value":5,"seq":4}]`, `[{"kind":"set","control":1,"value":3,"seq":2}]`,
		`[{"kind":"play","seq":1}]`, `[{"kind":"set","control":1,"value":4,"seq":3}]`, `[{"kind":"set","control":2,"value":9,"seq":5}]`,
		`[{"kind":"step","seq":6}]`, `[{"kind":"step","seq":7}]`,
	} {
		b.addMessages(m)
	}
	var seqs []int64
	for _, m := range b.takeMessages() {
		seqs = append(seqs, m.Seq)
	}
	if want := []int64{1, 4, 5, 6, 7}; !slices.Equal(seqs, want) {
		t.Errorf("took %v, want %v", seqs, want)
	}
	if len(b.takeMessages()) != 0 {
		t.Error("messages are given twice")
	}
	s := newServer(quickMachine(t, Rings, 0), b, nil)
	s.handle(message{Event{Kind: Set, Control: 0, Value: 2}, "", 9})
	s.handle(message{Event{Kind: Set, Control: 0, Value: 1}, "", 8})
	if got := s.Settings().At(0); got != 2 {
		t.Errorf("a late message moved the control to %d", got)
	}
}

func FuzzInbox(f *testing.F) {
	f.Add(`[{"kind":"set","control":-1,"value":99,"dragging":true,"seq":1}]`)
	f.Add(`[{"kind":"scrub","value":-1}]`)
	f.Add(`[]`)
	m := NewMachine()
	f.Fuzz(func(t *testing.T, text string) {
		b := newInbox()
		b.addMessages(text)
		s := newServer(m, b, nil)
		for _, msg := range b.takeMessages() {
			if msg.Kind != Play {
				s.handle(msg)
			}
		}
		if v := m.view(); v.shown < 0 || v.shown > v.run.lastStep() {
			t.Fatalf("shows step %d of %d", v.shown, v.run.lastStep())
		}
	})
}
