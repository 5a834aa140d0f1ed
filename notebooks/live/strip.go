package live

import (
	"fmt"
	"strings"

	"cvgm/cvgm/experiment/kernels"
	"cvgm/figures"

	"gonum.org/v1/plot/vg"
)

// stripSteps are the steps that the strip of a problem shows.
var stripSteps = [problems][]int{Rings: {0, 5, 20, 100}, XOR: {0, 2, 5, 50}, ElasticNet: {0, 20, 98, 500}}

// A Strip shows a problem without controls. It shows one run with the paper's settings: its curves,
// and the large panels at each of several steps. If the gradient has variants, the strip compares
// the published direction with the full gradient.
type Strip struct {
	Figure *figures.Figure
	PNG    []byte // the figure as PNG
	// States lists the numbers in the figure.
	States *figures.Table
}

// NewStrip computes the strip of a problem.
func NewStrip(p Problem) (*Strip, error) { return newStrip(Paper(p), stripSteps[p]) }

func newStrip(settings Settings, steps []int) (*Strip, error) {
	p := settings.Problem
	full, err := settings.run(steps[len(steps)-1])
	if err != nil {
		return nil, err
	}
	v := view{run: full, pinnedName: "published gradient"}
	runs := []*trajectory{full}
	for i, c := range controls[p] {
		if c.Field == "" {
			if v.pinned, err = settings.withControl(i, int(kernels.Published)).run(steps[len(steps)-1]); err != nil {
				return nil, err
			}
			runs = append(runs, v.pinned)
		}
	}
	strip := &Strip{States: &figures.Table{
		Name:    "explore_" + p.String(),
		Caption: p.Title() + " under the paper's settings",
		Header:  full.states[0].header(),
	}}
	for _, r := range runs {
		for _, step := range steps {
			strip.States.Rows = append(strip.States.Rows, r.states[step].row(r.settings.variant().String(), step))
		}
	}
	var rows [][]*figures.Panel
	var l layout
	for _, step := range steps {
		v.shown, v.prefix = step, fmt.Sprintf("step %d: ", step)
		l = v.layout()
		for i, panel := range l.large {
			if i == len(rows) {
				rows = append(rows, nil)
			}
			rows[i] = append(rows[i], panel)
		}
	}
	f := &figures.Figure{Panels: append(rows, l.small), Legend: figures.LegendBelow, Entries: l.key, Width: 12 * vg.Inch,
		Caption: fmt.Sprintf("%s under the paper's settings after %s steps, from left to right. Last row: the curves of the run, with the last of these steps marked.", p.Title(), listed(steps))}
	strip.Figure = f
	strip.PNG, err = asPNG(f.Width, 8*vg.Inch, f.Draw)
	return strip, err
}

// listed returns numbers as they are written in a sentence: 0, 5 and 20.
func listed(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteString(map[bool]string{true: " and ", false: ", "}[i == len(numbers)-1])
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// run returns a run with the given number of steps.
func (s Settings) run(steps int) (*trajectory, error) {
	r := newRun(s, false)
	defer r.stop()
	for r.lastStep() < steps {
		if !r.extend() {
			return nil, fmt.Errorf("live: %v ends at step %d: %w", s.Problem, r.lastStep(), r.err)
		}
	}
	return r, nil
}

// row returns the numbers of a state, in the order of the table's header.
func (s state) row(gradient string, step int) []any {
	n := func(v float64, digits int) any { return figures.Number{Value: v, Digits: digits} }
	row := []any{gradient, step, n(s.CV.Loss, 4), n(s.Train.Loss, 4), n(s.Test.Loss, 4)}
	if s.classifies() {
		return append(row, n(s.Train.Accuracy, 3), n(s.Test.Accuracy, 3), n(s.Angle, 1))
	}
	return append(row, n(s.Lambda[0], 5), n(s.Lambda[1], 5))
}

func (s state) header() []string {
	header := []string{"Gradient", "Step", "CV loss", "Training loss", "Test loss"}
	if s.classifies() {
		return append(header, "Training accuracy", "Test accuracy", "Angle (°)")
	}
	return append(header, "λ1", "λ2")
}
