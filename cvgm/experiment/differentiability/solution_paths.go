package differentiability

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// SolutionPathsParams are the parameters of the paths of solutions.
type SolutionPathsParams struct {
	LinearProblem
	PathPoints int `help:"points of each solution path" range:"[2,∞)" small:"[2,12]"`
}

// DefaultSolutionPaths returns parameters of our own, because the paper gives none.
func DefaultSolutionPaths() SolutionPathsParams {
	return SolutionPathsParams{LinearProblem: defaultLinearProblem, PathPoints: 241}
}

func (SolutionPathsParams) Defaults() any { return DefaultSolutionPaths() }

// A SolutionPath holds the entries of a solution as functions of one hyperparameter. It has the
// exact derivative at every point. If Logarithmic is true, neighbouring values of the
// hyperparameter have equal ratios.
type SolutionPath struct {
	Name, Hyper string
	Logarithmic bool
	Entries     []string    // names of the entries
	At          []float64   // values of the hyperparameter, ascending
	Value       [][]float64 // [entry][point]
	Slope       [][]float64 // [entry][point], the derivative in the hyperparameter; NaN if there is none
}

// SolutionPaths is the result of the experiment.
type SolutionPaths struct {
	Params SolutionPathsParams
	Paths  []SolutionPath
	// SolverGap and SolverSlopeGap compare two solvers of a support vector machine on the paths in
	// λ1 and λ2: the learner of this library, and a solver of the quadratic program in the paper's
	// supplement. SolverGap is the largest difference in θ, and SolverSlopeGap is the largest
	// difference in the derivatives of θ. Both are relative to the largest entry.
	SolverGap, SolverSlopeGap float64
}

// Run computes the coefficients of an elastic net as functions of λ1. It also computes the
// coefficients and the dual variables of a support vector machine as functions of λ1 and of λ2.
func (p SolutionPathsParams) Run(ctx context.Context, _ experiment.Hooks) (*SolutionPaths, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	r := &SolutionPaths{Params: p}
	src := p.stream("solution paths")
	regression, classes := p.regression(src, p.Train), p.classes(src, p.Train)
	net, err := learnerPath(ctx, "elastic net", "λ1", new(linear.ElasticNet), regression, linspace(.001, 1.2, p.PathPoints), func(v float64) []float64 { return []float64{v, p.Lambda2} })
	if err != nil {
		return nil, err
	}
	r.Paths = append(r.Paths, net)
	for k, hyper := range []string{"λ1", "λ2"} {
		at := linspace(.001, .5, p.PathPoints)
		if k == 1 {
			at = experiment.Logspace(-3, 1, p.PathPoints)
		}
		penalties := func(v float64) []float64 {
			h := []float64{p.Lambda1, p.Lambda2}
			h[k] = v
			return h
		}
		learner, err := learnerPath(ctx, "support vector machine", hyper, new(margin.SVM), classes, at, penalties)
		if err != nil {
			return nil, err
		}
		primal, dual, err := svmProgramPaths(ctx, hyper, k, classes, at, penalties)
		if err != nil {
			return nil, err
		}
		learner.Logarithmic, dual.Logarithmic = k == 1, k == 1
		r.Paths = append(r.Paths, learner, dual)
		r.SolverGap = math.Max(r.SolverGap, largestDifference(learner.Value, primal.Value))
		r.SolverSlopeGap = math.Max(r.SolverSlopeGap, largestDifference(learner.Slope, primal.Slope))
	}
	return r, nil
}

func linspace(low, high float64, n int) []float64 { return floats.Span(make([]float64, n), low, high) }

// largestDifference returns max|a − b|/max|a| over the entries that are not NaN.
func largestDifference(a, b [][]float64) float64 {
	var most, size float64
	for i, row := range a {
		for j, v := range row {
			if d := math.Abs(v - b[i][j]); !math.IsNaN(d) {
				most, size = math.Max(most, d), math.Max(size, math.Abs(v))
			}
		}
	}
	return most / size
}

// newPath returns a path with the given number of entries, whose values are not set yet.
func newPath(name, hyper string, at []float64, entries int, label string) SolutionPath {
	s := SolutionPath{Name: name, Hyper: hyper, At: at, Value: make([][]float64, entries), Slope: make([][]float64, entries)}
	for k := range entries {
		s.Entries = append(s.Entries, fmt.Sprintf("%s%d", label, k+1))
		s.Value[k], s.Slope[k] = make([]float64, len(at)), make([]float64, len(at))
	}
	return s
}

// learnerPath returns the path of θ along the hyperparameter param. The function hyper returns all
// hyperparameters for a value of param.
func learnerPath(ctx context.Context, name, param string, l learn.ForwardLearner, d learn.Data, at []float64, hyper func(v float64) []float64) (SolutionPath, error) {
	_, n := d.X.Dims()
	s := newPath(name, param, at, n, "θ")
	if err := l.Load(d); err != nil {
		return s, err
	}
	theta, slope := make([]float64, n), make([]float64, n)
	for i, v := range at {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		here := hyper(v)
		if err := l.Fit(theta, here); err != nil {
			return s, err
		}
		along := hyper(v + 1)
		floats.Sub(along, here)
		if err := l.JVP(nil, slope, &learn.Grad{Hyper: along}); err != nil {
			floats.AddConst(math.NaN(), slope)
		}
		for k := range n {
			s.Value[k][i], s.Slope[k][i] = theta[k], slope[k]
		}
	}
	return s, nil
}

// svmProgram returns the quadratic program of the paper's supplement A in the variables (θp, θn, t),
//
//	minimise 1/N·Σ t_i + λ1·1ᵀ(θp + θn) + λ2/2·‖θp − θn‖²,
//
// with the constraints in the order θp ≥ 0, θn ≥ 0, t ≥ 0 and 1 − y_i(θp − θn)ᵀx_i ≤ t_i. Labels
// that are not ±1 are used as they are.
func svmProgram(d learn.Data, hyper []float64) *qpdiff.QP {
	rows, n := d.X.Dims()
	size := 2*n + rows
	q := &qpdiff.QP{Q: mat.NewDense(size, size, nil), P: make([]float64, size), G: mat.NewDense(size+rows, size, nil), H: make([]float64, size+rows)}
	for j := range n {
		q.Q.Set(j, j, hyper[1])
		q.Q.Set(n+j, n+j, hyper[1])
		q.Q.Set(j, n+j, -hyper[1])
		q.Q.Set(n+j, j, -hyper[1])
		q.P[j], q.P[n+j] = hyper[0], hyper[0]
	}
	for k := range size {
		q.G.Set(k, k, -1)
	}
	for i, y := range d.Y {
		q.P[2*n+i] = 1 / float64(rows)
		row := q.G.RawRowView(size + i)
		for j, x := range d.Dense().RawRowView(i) {
			row[j], row[n+j] = -y*x, y*x
		}
		row[2*n+i] = -1
		q.H[size+i] = -1
	}
	return q
}

// svmProgramPaths returns two paths of the program. The first is the path of θ = θp − θn. The
// second is the path of N times the multipliers of the margin constraints. N times the multiplier
// of an example is the weight of the example in the solution. The weight is 0 beyond the margin,
// and at most 1 on the wrong side of the margin.
func svmProgramPaths(ctx context.Context, hyper string, k int, d learn.Data, at []float64, penalties func(float64) []float64) (primal, dual SolutionPath, err error) {
	rows, n := d.X.Dims()
	primal, dual = newPath("program of the machine", hyper, at, n, "θ"), newPath("dual variables of the machine", hyper, at, rows, "example ")
	var s qpdiff.Solution
	size := 2*n + rows
	for i, v := range at {
		if err := ctx.Err(); err != nil {
			return primal, dual, err
		}
		q := svmProgram(d, penalties(v))
		if err := s.Solve(q); err != nil {
			return primal, dual, err
		}
		var t qpdiff.QPGrad
		if k == 0 {
			t.P = make([]float64, size)
			for j := range 2 * n {
				t.P[j] = 1
			}
		} else {
			t.Q = mat.NewDense(size, size, nil)
			t.Q.Scale(1/v, q.Q)
		}
		dz, dlambda := make([]float64, size), make([]float64, size+rows)
		if err := s.JVP(nil, dz, dlambda, nil, &t); err != nil {
			floats.AddConst(math.NaN(), dz)
			floats.AddConst(math.NaN(), dlambda)
		}
		for j := range n {
			primal.Value[j][i], primal.Slope[j][i] = s.Z[j]-s.Z[n+j], dz[j]-dz[n+j]
		}
		for e := range rows {
			dual.Value[e][i], dual.Slope[e][i] = float64(rows)*s.Lambda[size+e], float64(rows)*dlambda[size+e]
		}
	}
	return primal, dual, nil
}
