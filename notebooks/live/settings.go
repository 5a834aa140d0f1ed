package live

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/registry"
)

// A Problem is one of the experiments that can be explored.
type Problem int

// These constants are the problems, in the order of the reader's menu.
const (
	Rings Problem = iota
	XOR
	ElasticNet
	problems
)

// String returns the name of the problem on the command line of ./reproduce.sh.
func (p Problem) String() string { return [...]string{"rings", "xor", "elastic_net"}[p] }

// Title returns the name of the problem for readers.
func (p Problem) Title() string { return [...]string{"Rings", "XOR", "Elastic net"}[p] }

// paper returns the parameters of the paper's experiment.
func (p Problem) paper() any {
	e, err := registry.Lookup(p.String())
	if err != nil {
		panic("live: " + err.Error())
	}
	return e.Params()
}

// A Control changes one parameter. A slider has only integer positions, so the Control maps each
// position to a value.
type Control struct {
	// Field is the name of the parameter, in the experiment's Params and on the command line. The
	// control that selects the variant of the gradient has an empty Field, because an experiment
	// runs all variants.
	Field  string
	Label  string
	Values []string // in the form of the command line
	Unit   string   // plural of the unit of the values; may be empty
}

// Help returns the description of the parameter that a control changes. The description comes from
// the experiment's Params.
func (p Problem) Help(c Control) string {
	if c.Field == "" {
		return "the direction that is descended"
	}
	fields := experiment.Fields(p.paper())
	return fields[slices.IndexFunc(fields, func(f experiment.Field) bool { return f.Name == c.Field })].Help
}

// Controls returns the controls of the problem. The paper's value of a parameter is among the
// values of its control.
func (p Problem) Controls() []Control { return controls[p] }

var controls = func() (all [problems][]Control) {
	control := func(field, label, values string) Control {
		return Control{Field: field, Label: label, Values: strings.Fields(values)}
	}
	count := func(field, label, values, unit string) Control {
		return Control{field, label, strings.Fields(values), unit}
	}
	const examples, units = "training examples", "hidden units"
	size := count("Train", "N", "10 20 30 40 60 80 100 150 200 300", examples)
	splits := count("K", "K splits", "4 8 16 32 64 128 256 512", "splits")
	fraction := control("P", "split fraction", ".5 .6 .7 .8 .85 .9 .95 .98")
	c := control("C", "C", ".1 .2 .5 1 2 5 10 20 50 100 200 500")
	step := control("StepSize", "step size", ".005 .01 .02 .05 .1 .2 .5 1 2")
	seed := control("Seed", "seed", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20")
	penalties := "1e-4 3e-4 1e-3 3e-3 1e-2 3e-2 .1 .3 1"
	variant := Control{Label: "gradient"}
	for _, v := range kernels.Variants {
		variant.Values = append(variant.Values, v.String())
	}
	all[Rings] = []Control{
		size, control("RadiusSD", "noise", ".05 .1 .15 .2 .25 .3 .35 .4 .45 .5 .6 .7 .8 1"), c, splits, fraction, step,
		count("Hidden", "hidden width", "2 4 8 16 32 64 128", units), seed, variant,
	}
	all[XOR] = []Control{
		size, control("Overlap", "noise (overlap)", ".01 .05 .1 .15 .2 .25 .3 .4 .5 .7 .9"), c, splits, fraction, step,
		count("Hidden", "hidden width", "2,2 4,4 8,8 16,16 32,32 64,64 128,128", units), seed, variant,
	}
	all[ElasticNet] = []Control{
		count("Train", "N", "15 20 25 30 40 50 70 100 150 200", examples), control("Noise", "noise", "5 10 20 50 70 100 150 200 300"),
		control("StartLambda1", "λ1 at start", penalties), control("StartLambda2", "λ2 at start", penalties), splits, fraction,
		control("StepSize", "step size", "2e-5 5e-5 1e-4 2e-4 5e-4 1e-3 2e-3 5e-3 1e-2"),
		count("Informative", "informative", "1 2 3 4 5 6 7 8 9 10", "features"), seed,
	}
	return all
}()

// Settings are the positions of a problem's controls.
type Settings struct {
	Problem Problem
	at      []int
}

// Paper returns the paper's settings of a problem. The variant of the gradient is the full
// gradient.
func Paper(p Problem) Settings {
	s := Settings{p, make([]int, len(controls[p]))}
	for i, c := range controls[p] {
		s.at[i] = slices.IndexFunc(c.Values, func(value string) bool {
			params := p.paper()
			apply(params, c, value)
			return reflect.DeepEqual(params, p.paper()) && (c.Field != "" || value == kernels.Full.String())
		})
	}
	return s
}

// apply sets the parameter of a control to a value.
func apply(params any, c Control, value string) {
	if c.Field == "" {
		return
	}
	if err := experiment.Set(params, c.Field, value); err != nil {
		panic("live: " + err.Error())
	}
}

// At returns the position of control i.
func (s Settings) At(i int) int { return s.at[i] }

// withControl returns a copy of the settings with a new position of control i. If the position is
// out of range, the control gets the nearest valid position.
func (s Settings) withControl(i, at int) Settings {
	s.at = slices.Clone(s.at)
	s.at[i] = min(max(at, 0), len(controls[s.Problem][i].Values)-1)
	return s
}

func (s Settings) equal(t Settings) bool { return s.Problem == t.Problem && slices.Equal(s.at, t.at) }

// params returns the parameters of the experiment for the settings.
func (s Settings) params() any {
	params := s.Problem.paper()
	for i, c := range controls[s.Problem] {
		apply(params, c, c.Values[s.at[i]])
	}
	return params
}

// variant returns the variant of the gradient.
func (s Settings) variant() kernels.Variant {
	for i, c := range controls[s.Problem] {
		if c.Field == "" {
			return kernels.Variants[s.at[i]]
		}
	}
	return kernels.Full
}

// Command returns a command line that runs the experiment with the settings. The run has at least
// the given number of steps.
func (s Settings) Command(steps int) string {
	words := []string{"./reproduce.sh", s.Problem.String()}
	paper := Paper(s.Problem)
	for i, c := range controls[s.Problem] {
		if c.Field != "" && s.at[i] != paper.at[i] {
			words = append(words, "-p", c.Field+"="+c.Values[s.at[i]])
		}
	}
	if s.Problem == ElasticNet {
		steps++ // Steps counts evaluations, and the first evaluation is at the start
	}
	if int64(steps) > reflect.ValueOf(s.params()).Elem().FieldByName("Steps").Int() {
		words = append(words, "-p", fmt.Sprintf("Steps=%d", steps))
	}
	return strings.Join(words, " ")
}
