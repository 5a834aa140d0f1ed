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
// is a list of rows. A step evaluates the CV loss of an elastic net, and the gradient of this loss,
// at the next pair (λ1, λ2).
type steps struct {
	X         [][]float64
	Y         []float64
	Splits    []cvgm.Split
	Penalties [][]float64
}

// takenSteps holds the CV losses and the gradients at all penalties, and the processor seconds of
// one step. A warm step starts from the fits of the previous step. A cold step starts from no fits.
type takenSteps struct {
	Losses                   []float64
	Gradients                [][]float64
	WarmSeconds, ColdSeconds float64
}

// takeSteps measures how long the steps in a JSON text take, first with cold starts and then with
// warm starts. Each measurement consists of numRounds rounds over all steps, after a round that is
// not timed. The time does not include the Gram matrices, which New computes.
func takeSteps(text io.Reader, numRounds int) (*takenSteps, error) {
	var s steps
	if err := json.NewDecoder(text).Decode(&s); err != nil {
		return nil, err
	}
	if len(s.Penalties) == 0 || numRounds < 1 {
		return nil, fmt.Errorf("peers: %d pairs of penalties, %d rounds: give at least one of each", len(s.Penalties), numRounds)
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
	if t.ColdSeconds, err = s.secondsOfStep(cv, t, numRounds, true); err != nil {
		return nil, err
	}
	t.WarmSeconds, err = s.secondsOfStep(cv, t, numRounds, false)
	return t, err
}

// secondsOfStep returns the processor seconds of one step. It times every step once in each of
// numRounds rounds, after a first round that is not timed. If cold is true, each step starts
// without earlier fits.
func (s steps) secondsOfStep(cv *cvgm.CV, t *takenSteps, numRounds int, cold bool) (seconds float64, err error) {
	began := 0.0
	for round := range numRounds + 1 {
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
	return (cpuSeconds() - began) / float64(numRounds*len(s.Penalties)), nil
}
