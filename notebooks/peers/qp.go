package main

import (
	"encoding/json"
	"fmt"
	"io"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A program is a quadratic program from the file that compare_qp.py writes. Matrices are lists of
// rows. CotangentOfZ is the vector by which the derivative of the minimiser is multiplied.
type program struct {
	Q, G, A      [][]float64
	P, H, B      []float64
	CotangentOfZ []float64

	problem   qpdiff.QP
	gradient  qpdiff.QPGrad
	solution  qpdiff.Solution
	workspace qpdiff.Workspace
}

// answers holds the solutions and derivatives of all programs. SolveSeconds is the processor time
// of one solution. Seconds is the processor time of one solution and its derivatives with respect
// to all data.
type answers struct {
	Z, GradP              [][]float64
	SolveSeconds, Seconds float64
}

// differentiateAll makes two measurements. The first is the time to solve the programs of a JSON
// text from scratch. The second is the time to solve them and to differentiate the solutions with
// respect to all data. Each measurement consists of numRounds rounds over all programs, after a
// round that is not timed and allocates memory.
func differentiateAll(text io.Reader, numRounds int) (*answers, error) {
	var programs []*program
	if err := json.NewDecoder(text).Decode(&programs); err != nil {
		return nil, err
	}
	if len(programs) == 0 || numRounds < 1 {
		return nil, fmt.Errorf("peers: %d programs, %d rounds: give at least one of each", len(programs), numRounds)
	}
	for _, p := range programs {
		p.problem = qpdiff.QP{Q: rowsOf(p.Q), P: p.P, G: rowsOf(p.G), H: p.H, A: rowsOf(p.A), B: p.B}
		p.gradient = qpdiff.QPGrad{Q: zerosLike(p.problem.Q), P: make([]float64, len(p.P)), G: zerosLike(p.problem.G),
			H: make([]float64, len(p.H)), A: zerosLike(p.problem.A), B: make([]float64, len(p.B))}
	}
	a := new(answers)
	var err error
	if a.SolveSeconds, err = secondsEach(programs, numRounds, (*program).solve); err != nil {
		return nil, err
	}
	if a.Seconds, err = secondsEach(programs, numRounds, (*program).differentiate); err != nil {
		return nil, err
	}
	for _, p := range programs {
		a.Z, a.GradP = append(a.Z, p.solution.Z), append(a.GradP, p.gradient.P)
	}
	return a, nil
}

// secondsEach returns the processor seconds of one call of the function work. It calls this
// function for each program in numRounds rounds, after a first round that is not timed.
func secondsEach(programs []*program, numRounds int, work func(*program) error) (float64, error) {
	began := 0.0
	for round := range numRounds + 1 {
		if round == 1 {
			began = cpuSeconds()
		}
		for i, p := range programs {
			if err := work(p); err != nil {
				return 0, fmt.Errorf("program %d: %w", i, err)
			}
		}
	}
	return (cpuSeconds() - began) / float64(numRounds*len(programs)), nil
}

func (p *program) solve() error {
	p.solution.Reset()
	return p.solution.Solve(&p.problem)
}

func (p *program) differentiate() error {
	p.clearGradient() // VJP adds to it
	if err := p.solve(); err != nil {
		return err
	}
	return p.solution.VJP(&p.workspace, &p.gradient, p.CotangentOfZ, nil, nil)
}

func (p *program) clearGradient() {
	for _, m := range []*mat.Dense{p.gradient.Q, p.gradient.G, p.gradient.A} {
		if m != nil {
			m.Zero()
		}
	}
	clear(p.gradient.P)
	clear(p.gradient.H)
	clear(p.gradient.B)
}

// rowsOf returns the matrix with those rows, nil without rows.
func rowsOf(rows [][]float64) *mat.Dense {
	if len(rows) == 0 {
		return nil
	}
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		m.SetRow(i, row)
	}
	return m
}

// zerosLike returns zeros of the shape of m, nil for nil.
func zerosLike(m *mat.Dense) *mat.Dense {
	if m == nil {
		return nil
	}
	rows, columns := m.Dims()
	return mat.NewDense(rows, columns, nil)
}
