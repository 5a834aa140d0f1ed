package samplesize

import (
	"math"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// The CV loss and gradient of the resubstitution split equal the training loss and its gradient.
func TestResubstitutionIsTheTrainingLoss(t *testing.T) {
	p := DefaultAblation()
	s, err := p.machine(4, 3)
	if err != nil {
		t.Fatal(err)
	}
	s.Loss = cvgm.SquaredHinge{}
	at := []float64{1.7, .6}
	gradient := make([]float64, 2)
	loss, err := s.training(gradient, at)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Risk(at, s.Train)
	if err != nil || !scalar.EqualWithinAbsOrRel(loss, want, 1e-12, 1e-9) {
		t.Errorf("loss %v, training loss %v (%v)", loss, want, err)
	}
	for i := range at {
		const h = 1e-5
		around := func(step float64) float64 {
			x := []float64{at[0], at[1]}
			x[i] += step
			risk, err := s.Risk(x, s.Train)
			if err != nil {
				t.Fatal(err)
			}
			return risk
		}
		if slope := (around(h) - around(-h)) / (2 * h); math.Abs(slope-gradient[i]) > 1e-5*(math.Abs(slope)+1e-3) {
			t.Errorf("derivative %d is %v, by differences %v", i, gradient[i], slope)
		}
	}
}

// fewAblations returns parameters for all problems of the ablation, with few splits and small sets.
func fewAblations() AblationParams {
	p := DefaultAblation()
	p.Rings.Sizes, p.Rings.Ks, p.XOR.Ks = []int{8, 20}, []int{16}, []int{16}
	return p
}

// Both descents end at the same risk if both descend the CV loss.
func TestAblationComparesTheTwoGradients(t *testing.T) {
	p := fewAblations()
	for _, problem := range p.problems() {
		s, err := problem.setup(1)
		if err != nil {
			t.Fatal(err)
		}
		same := problem
		same.budgets, same.setup = []int{2}, func(seed uint64) (*ablationData, error) {
			s, err := problem.setup(seed)
			s.training = s.Problem(t.Context()).Objective
			return s, err
		}
		c, err := same.measure(t.Context(), 1, 0)
		if err != nil || c.CV[0] != c.Training[0] {
			t.Errorf("%s: one loss, two risks: %v (%v)", problem.name, c, err)
		}
		own, errOwn := s.Problem(t.Context()).Objective(nil, s.Start)
		other, errOther := s.training(nil, s.Start)
		if errOwn != nil || errOther != nil || own == other {
			t.Errorf("%s: CV loss %v (%v), training loss %v (%v)", problem.name, own, errOwn, other, errOther)
		}
	}
}

// Random search reports the risk at the lowest CV loss within each budget up to the limit.
func TestAblationWithoutAGradient(t *testing.T) {
	p := fewAblations()
	for _, problem := range p.problems() {
		problem.budgets = []int{2, 5, 9}
		s, err := problem.setup(1)
		if err != nil {
			t.Fatal(err)
		}
		lowest, want := math.Inf(1), []float64(nil)
		again, err := problem.setup(1)
		if err != nil {
			t.Fatal(err)
		}
		again.Loss = problem.risk
		for n := 1; n <= 5+problem.first; n++ {
			x := make([]float64, len(s.Start))
			s.draw(s.source, x)
			for i := range s.Lower {
				x[i] = max(x[i], s.Lower[i])
			}
			loss, err := again.Problem(t.Context()).Objective(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			if loss < lowest {
				risk, err := again.TestLoss(x)
				if err != nil {
					t.Fatal(err)
				}
				lowest, want = loss, append(want, risk)
			}
			if n == 2+problem.first {
				want = want[len(want)-1:]
			}
		}
		c, err := problem.measure(t.Context(), 1, 5)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Random) != 2 || c.Random[0] != want[0] || c.Random[1] != want[len(want)-1] {
			t.Errorf("%s: risks %v of a random search, want the first and the last of %v", problem.name, c.Random, want)
		}
	}
}

func TestResubstitutionKeepsRowsApart(t *testing.T) {
	d, splits := experiment.Resubstitution(learn.Data{X: mat.NewDense(3, 1, []float64{1, 2, 3}), Y: []float64{1, -1, 1}})
	if len(splits) != 1 || len(splits[0].Train) != 3 || len(splits[0].Val) != 3 {
		t.Fatal(splits)
	}
	for k := range 3 {
		i, j := splits[0].Train[k], splits[0].Val[k]
		if i == j || d.Y[i] != d.Y[j] || d.X.At(i, 0) != d.X.At(j, 0) {
			t.Errorf("rows %d and %d differ", i, j)
		}
	}
}

// The comparison over the rings at a budget pools all rows with this budget.
func TestAblationPoolsTheRings(t *testing.T) {
	p := *casetest.Drawn[AblationParams]("ablation")
	p.Rings.Sizes, p.Rings.Budgets, p.Rings.Ks = []int{8, 12}, []int{1, 3}, []int{3, 5}
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range r.Rings {
		splits, budget := p.Rings.Ks[i/len(p.Rings.Budgets)], p.Rings.Budgets[i%len(p.Rings.Budgets)]
		var sum float64
		for _, row := range r.Rows {
			if row.Problem == kernels.ProblemRings && row.K == splits && row.Budget == budget {
				sum += row.CVLessTraining.Difference.Mean
			}
		}
		if c.Difference.N != 2*p.Seeds || !scalar.EqualWithinAbsOrRel(c.Difference.Mean, sum/2, 1e-12, 1e-12) {
			t.Errorf("%d splits, budget %d: %+v, mean of the sizes %v", splits, budget, c, sum/2)
		}
	}
	if len(r.Rings) != 4 {
		t.Errorf("%d comparisons of the rings, want one for each number of splits and budget", len(r.Rings))
	}
}
