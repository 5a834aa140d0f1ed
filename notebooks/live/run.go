package live

import (
	"fmt"
	"iter"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// MaxSteps is where a run ends. It bounds what its states take in memory.
const MaxSteps = 1000

// State is where the gradient method stands after a number of steps.
type State struct {
	CV, Train, Test experiment.Performance // CV knows no accuracy; a regression none at all
	// Angle is that between the direction descended and the exact gradient, in
	// degrees; NaN where one of them is zero.
	Angle  float64
	Lambda [2]float64 // the elastic net's penalties
	Model  *cvgm.Model
}

// classifies tells whether the problem is one of classification.
func (s State) classifies() bool { return !math.IsNaN(s.Test.Accuracy) }

// A Run is the gradient method under some settings, from its start as far as it
// has been asked to go.
type Run struct {
	Settings Settings
	// Coarse says that it is a preview: fewer splits, fewer test examples.
	Coarse bool
	States []State // after 0, 1, … steps
	Err    error   // what ended the run
	trial
	next func() (State, error, bool)
	stop func()
}

// trial is what is particular to a problem.
type trial interface {
	states() iter.Seq2[State, error]
	panels(v view) layout
}

// newRun prepares a run. What is wrong with the settings is its Err.
func newRun(s Settings, coarse bool) *Run {
	r := &Run{Settings: s, Coarse: coarse, stop: func() {}}
	if r.trial, r.Err = newTrial(s, coarse); r.Err == nil {
		r.next, r.stop = iter.Pull2(r.trial.states())
	}
	return r
}

// extend computes one state more, and tells whether it could.
func (r *Run) extend() bool {
	if r.Err != nil || len(r.States) > MaxSteps {
		return false
	}
	s, err, _ := r.next()
	if err != nil {
		r.Err = err
		return false
	}
	r.States = append(r.States, s)
	return true
}

// last returns the number of steps taken; −1 before the first state.
func (r *Run) last() int { return len(r.States) - 1 }

// A preview has 1 of coarseSplits splits, but at least minSplits, and 1 of
// coarseTest test examples.
const (
	coarseSplits = 8
	minSplits    = 8
	coarseTest   = 5
)

func newTrial(s Settings, coarse bool) (trial, error) {
	thin := func(k *int) {
		if coarse {
			*k = min(*k, max(minSplits, *k/coarseSplits))
		}
	}
	switch p := s.params().(type) {
	case *experiment.RingsParams:
		thin(&p.K)
		w, err := p.Walk(s.variant())
		return newKernelTrial(w, math.Ceil(p.OuterRadius+2.5*p.RadiusSD), coarse), err
	case *experiment.XORParams:
		thin(&p.K)
		w, err := p.Walk(s.variant())
		return newKernelTrial(w, 1.05*p.Scale, coarse), err
	case *experiment.ElasticNetParams:
		thin(&p.K)
		return newElasticNetTrial(*p, coarse)
	default:
		panic(fmt.Sprintf("live: a problem with %T", p))
	}
}

// kernelTrial is a learned kernel on points of the plane.
type kernelTrial struct {
	*experiment.KernelWalk
	half   float64 // the plane is shown from −half to half
	coarse bool
	judged qpdiff.Data // test examples that accuracy is measured on
	best   [][]float64 // the Bayes rule's labels on the grid; nil until it is drawn
}

func newKernelTrial(w *experiment.KernelWalk, half float64, coarse bool) *kernelTrial {
	if w == nil {
		return nil
	}
	t := &kernelTrial{KernelWalk: w, half: half, coarse: coarse, judged: w.Test}
	if coarse {
		n := len(w.Test.Y) / coarseTest
		t.judged = qpdiff.Data{X: mat.NewDense(n, 2, nil), Y: make([]float64, n)}
		for i := range n {
			t.judged.X.SetRow(i, w.Test.X.RawRowView(i*coarseTest))
			t.judged.Y[i] = w.Test.Y[i*coarseTest]
		}
	}
	return t
}

func (t *kernelTrial) states() iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		for k, err := range t.States() {
			s := State{CV: experiment.Performance{Loss: k.CVLoss, Accuracy: math.NaN()}, Model: k.Model,
				Angle: math.Acos(max(-1, min(1, k.Cosine))) * 180 / math.Pi}
			if err == nil {
				s.Train, err = experiment.Judge(k.Model, t.Train)
			}
			if err == nil {
				s.Test, err = experiment.Judge(k.Model, t.judged)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// elasticNetTrial is an elastic net.
type elasticNetTrial struct {
	*experiment.ElasticNetWalk
	coarse bool
	// ground evaluates the CV loss for the surface: apart from the walk, whose
	// warm starts its evaluations would move.
	ground  *experiment.ElasticNetWalk
	surface *experiment.ElasticNetSurface // nil until it is drawn
}

func newElasticNetTrial(p experiment.ElasticNetParams, coarse bool) (trial, error) {
	w, err := p.Walk()
	if err != nil {
		return nil, err
	}
	ground, err := p.Walk()
	return &elasticNetTrial{ElasticNetWalk: w, coarse: coarse, ground: ground}, err
}

func (t *elasticNetTrial) states() iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		for e, err := range t.States() {
			loss := func(v float64) experiment.Performance {
				return experiment.Performance{Loss: v, Accuracy: math.NaN()}
			}
			s := State{CV: loss(e.CVLoss), Train: loss(e.TrainLoss), Test: loss(e.TestLoss), Lambda: e.Lambda, Model: e.Model}
			if !yield(s, err) {
				return
			}
		}
	}
}
