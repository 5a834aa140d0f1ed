package main

import (
	"encoding/json"
	"fmt"
	"io"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// steps holds the data, the splits and the penalties from the file that compare_steps.py writes. X
// is a list of rows. A step evaluates the CV loss of an elastic net and its gradient at the next
// pair (λ1, λ2).
type steps struct {
	X         [][]float64
	Y         []float64
	Splits    []cvgm.Split
	Penalties [][]float64
}

// takenSteps holds the CV losses and the gradients at all penalties, and the processor seconds of
// one step. A warm step starts from the fits of the step before. A cold step starts from no fits.
type takenSteps struct {
	Losses                   []float64
	Gradients                [][]float64
	WarmSeconds, ColdSeconds float64
}

// takeSteps takes the steps in text, rounds times with cold starts and rounds times with warm
// starts. Each time there is one more round before, which is not timed. The time does not include
// the Gram matrices, which New computes.
func takeSteps(text io.Reader, rounds int) (*takenSteps, error) {
	var s steps
	if err := json.NewDecoder(text).Decode(&s); err != nil {
		return nil, err
	}
	if len(s.Penalties) == 0 || rounds < 1 {
		return nil, fmt.Errorf("peers: %d pairs of penalties, %d rounds: give at least one of each", len(s.Penalties), rounds)
	}
	cv, err := cvgm.New(cvgm.Config{Data: learn.Data{X: rowsOf(s.X), Y: s.Y}, Splits: s.Splits, Loss: cvgm.SquaredError{},
		Learner: func() learn.Learner { return new(linear.ElasticNet) }, Standardise: true, Centring: cvgm.MeanCentring, Workers: 1})
	if err != nil {
		return nil, err
	}
	t := &takenSteps{Losses: make([]float64, len(s.Penalties)), Gradients: make([][]float64, len(s.Penalties))}
	for i := range t.Gradients {
		t.Gradients[i] = make([]float64, len(s.Penalties[i]))
	}
	if t.ColdSeconds, err = s.secondsOfStep(cv, t, rounds, true); err != nil {
		return nil, err
	}
	t.WarmSeconds, err = s.secondsOfStep(cv, t, rounds, false)
	return t, err
}

// secondsOfStep takes the steps rounds times, after a first round that is not timed. It returns the
// processor seconds of a step. If cold is true, each step starts from no fits.
func (s steps) secondsOfStep(cv *cvgm.CV, t *takenSteps, rounds int, cold bool) (seconds float64, err error) {
	began := 0.0
	for round := range rounds + 1 {
		if round == 1 {
			began = cpuSeconds()
		}
		for i, penalties := range s.Penalties {
			if cold {
				cv.Reset()
			}
			if t.Losses[i], err = cv.Eval(t.Gradients[i], penalties); err != nil {
				return 0, err
			}
		}
	}
	return (cpuSeconds() - began) / float64(rounds*len(s.Penalties)), nil
}
