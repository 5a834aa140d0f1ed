package differentiability

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// DifferentiabilityLimitsParams are the parameters of experiments at points without a derivative.
// At these points, the paper's conditions for a derivative fail or do not suffice.
type DifferentiabilityLimitsParams struct {
	LinearProblem
	K        int     `help:"cross-validation splits" range:"[1,∞)" small:"[2,6]" setting:"CV loss of K = %v uniform splits"`
	P        float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.7,.9]" setting:"p = %v"`
	DataSets int     `help:"data sets on which jumps of the 0-1 loss are sought" range:"[1,∞)" small:"[1,3]"`
}

// DefaultDifferentiabilityLimits returns parameters of our own, because the paper gives none.
func DefaultDifferentiabilityLimits() DifferentiabilityLimitsParams {
	return DifferentiabilityLimitsParams{LinearProblem: defaultLinearProblem, K: 32, P: .8, DataSets: 28}
}

func (DifferentiabilityLimitsParams) Defaults() any { return DefaultDifferentiabilityLimits() }

// A RangeCounterexample describes the problem min ½(x − a)² subject to x ≤ 0. At a = 0 the solution
// x has a kink, and both x and the multiplier λ are 0. The paper's condition for a derivative is
// that ∇_a g lies in the range of ∇_z g. Here z is (x, λ), and
//
//	g = (x − a + λ, λx),   ∇_z g = [1 1; λ x] = [1 1; 0 0],   ∇_a g = (−1, 0).
type RangeCounterexample struct {
	Kink
	// RangeResidual is the least-squares distance of ∇_a g from the range of ∇_z g. If it is 0, the
	// paper's condition holds.
	RangeResidual float64
	// Rule is the text of the error at the kink. The general rule for convex programs returns this
	// error.
	Rule string
}

// VanishingRidge holds norms of an elastic net's derivative as λ2 goes to 0. Each is the norm of
// the derivative of θ along one random change of X. The norms in the field Independent are for
// independent features. The norms in the field Twice are for the same data with the first feature
// duplicated.
type VanishingRidge struct {
	Lambda2            []float64
	Independent, Twice []float64
	// IndependentAtZero is the norm at λ2 = 0 for independent features, if the derivative exists.
	// TwiceRefusal is the library's error for the derivative at λ2 = 0 with a duplicated feature.
	// SVMRefusal is the library's error for a support vector machine at λ2 = 0.
	IndependentAtZero        float64
	TwiceRefusal, SVMRefusal string
}

// DiscontinuousLoss compares two CV losses along one hyperparameter: the share of
// misclassifications, and a smooth loss. Both losses judge the same fits.
type DiscontinuousLoss struct {
	C                 []float64 // ascending, with equal ratios
	ZeroOne, Logistic []float64
	Slope             []float64 // derivative of Logistic with respect to C
	// Jumps counts the neighbouring values of C between which ZeroOne changes.
	Jumps   int
	Refusal string // error for a gradient of ZeroOne
	// ZeroOneJump and LogisticJump are the largest jumps of the two losses, for each data set. A
	// jump is the change of a loss between two values of C with the relative difference JumpWidth;
	// see largestJump.
	ZeroOneJump, LogisticJump []float64
}

// Limits is the result of the experiment.
type Limits struct {
	Params DifferentiabilityLimitsParams
	Range  RangeCounterexample
	// ElasticNet and SVM are kinks in λ1 at λ2 > 0.
	ElasticNet, SVM Kink
	Ridge           VanishingRidge
	Loss            DiscontinuousLoss
	// These fields describe a program with a duplicated constraint, which has several solutions for
	// the multipliers. The derivative of the multipliers does not exist, and the field Multipliers
	// is the text of the library's error. The derivative of the solution with respect to the
	// parameter p exists, and the field Primal is its value.
	Multipliers string
	Primal      float64
}

// Run measures all parts of the result.
func (p DifferentiabilityLimitsParams) Run(ctx context.Context, _ experiment.Hooks) (*Limits, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	r := &Limits{Params: p}
	err := experiment.InTurn(ctx,
		r.Range.measure,
		func() error { return p.kinks(ctx, &r.ElasticNet, &r.SVM) },
		func() error { return p.vanishingRidge(ctx, &r.Ridge) },
		func() error { return p.discontinuousLoss(ctx, &r.Loss) },
		func() error { return p.jumps(ctx, &r.Loss) },
		func() error { return sharedMultipliers(r) },
	)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// clip returns the program min ½(x − a)² subject to x ≤ 0, without the constant ½a².
func clip(a float64) *qpdiff.QP {
	one := mat.NewDense(1, 1, []float64{1})
	return &qpdiff.QP{Q: one, P: []float64{-a}, G: one, H: []float64{0}}
}

func (k *RangeCounterexample) measure() error {
	var s qpdiff.Solution
	derivative := func() (float64, error) {
		g := qpdiff.QPGrad{P: make([]float64, 1)}
		err := s.VJP(nil, &g, []float64{1}, nil, nil)
		return -g.P[0], err // p = −a
	}
	for _, a := range linspace(-1, 1, 41) {
		a = math.Round(20*a) / 20
		if err := s.Solve(clip(a)); err != nil {
			return err
		}
		slope, err := derivative()
		if err != nil {
			slope = math.NaN()
		}
		k.Input, k.Value, k.Slope = append(k.Input, a), append(k.Value, s.Z[0]), append(k.Slope, slope)
	}
	if err := s.Solve(clip(0)); err != nil {
		return err
	}
	x, lambda := s.Z[0], s.Lambda[0]
	_, err := derivative()
	if k.Weak, k.Refusal, err = refusal(err); err != nil {
		return err
	}
	dz := make([]float64, 1)
	for _, side := range []struct {
		da                float64
		slope, difference *float64
	}{{-1, &k.Left, &k.LeftDifference}, {1, &k.Right, &k.RightDifference}} {
		if err := s.DirectionalDerivative(nil, dz, nil, nil, &qpdiff.QPGrad{P: []float64{-side.da}}); err != nil {
			return err
		}
		*side.slope = dz[0] * side.da
		const h = 1e-6
		var moved qpdiff.Solution
		if err := moved.Solve(clip(side.da * h)); err != nil {
			return err
		}
		*side.difference = (moved.Z[0] - x) / (side.da * h)
	}
	s.Generalised = true
	if k.Generalised, err = derivative(); err != nil {
		return err
	}

	k.RangeResidual = outsideRange(mat.NewDense(2, 2, []float64{1, 1, lambda, x}), []float64{-1, 0})
	rule := qpdiff.ConvexProgram{
		Objective: func(d *qpdiff.Partials, x, a []float64) float64 {
			d.X[0] = x[0] - a[0]
			d.XX.Set(0, 0, 1)
			d.XAlpha.Set(0, 0, -1)
			return (x[0] - a[0]) * (x[0] - a[0]) / 2
		},
		Inequalities: []qpdiff.ParamFunc{func(d *qpdiff.Partials, x, a []float64) float64 {
			d.X[0] = 1
			return x[0]
		}},
	}
	_, err = rule.Differentiate([]float64{x}, []float64{lambda}, nil, []float64{0})
	_, k.Rule, err = refusal(err)
	return err
}

// outsideRange returns the distance of b from the range of a. It uses a singular value
// decomposition.
func outsideRange(a *mat.Dense, b []float64) float64 {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThinU) {
		return math.NaN()
	}
	var u mat.Dense
	svd.UTo(&u)
	left := slices.Clone(b)
	for j := range svd.Rank(1e-12) {
		column := mat.Col(nil, j, &u)
		floats.AddScaled(left, -floats.Dot(column, b), column)
	}
	return floats.Norm(left, 2)
}

func (p LinearProblem) vanishingRidge(ctx context.Context, v *VanishingRidge) error {
	src := p.stream("vanishing ridge")
	d := p.regression(src, p.Train)
	twice := learn.Data{X: mat.NewDense(p.Train, p.Features+1, nil), Y: d.Y}
	for i := range p.Train {
		row := d.Dense().RawRowView(i)
		twice.Dense().SetRow(i, append([]float64{row[0]}, row...))
	}
	change := normals(src, p.Train*(p.Features+1))
	norm := func(d learn.Data, lambda2 float64) (float64, error) {
		rows, n := d.X.Dims()
		var l linear.ElasticNet
		theta := make([]float64, n)
		if err := experiment.Fit(ctx, &l, d, theta, []float64{p.Lambda1, lambda2}); err != nil {
			return 0, err
		}
		err := l.JVP(nil, theta, &learn.Grad{X: mat.NewDense(rows, n, change[:rows*n])})
		return floats.Norm(theta, 2), err
	}
	for _, l := range experiment.Logspace(-8, 1, 55) {
		a, err := norm(d, l)
		b, errTwice := norm(twice, l)
		if err := experiment.FirstError(err, errTwice); err != nil {
			return err
		}
		v.Lambda2, v.Independent, v.Twice = append(v.Lambda2, l), append(v.Independent, a), append(v.Twice, b)
	}
	var err error
	if v.IndependentAtZero, err = norm(d, 0); err != nil {
		return err
	}
	if _, err = norm(twice, 0); err == nil {
		return errors.New("experiment: the derivative of a solution that is not unique succeeded")
	}
	v.TwiceRefusal = err.Error()
	if err := experiment.Fit(ctx, new(margin.SVM), p.classes(src, p.Train), make([]float64, p.Features), []float64{p.Lambda1, 0}); err != nil {
		v.SVMRefusal = err.Error()
	}
	return nil
}

func (p DifferentiabilityLimitsParams) discontinuousLoss(ctx context.Context, l *DiscontinuousLoss) error {
	zeroOne, soft, err := p.lossesOfC(p.stream("discontinuous loss"), linear.UnpenalisedIntercept)
	if err != nil {
		return err
	}
	grad := make([]float64, 1)
	for i, c := range experiment.Logspace(-3, 2, 401) {
		alpha := []float64{c}
		z, err := zeroOne.EvalContext(ctx, nil, alpha)
		s, errSoft := soft.EvalContext(ctx, grad, alpha)
		if err := experiment.FirstError(err, errSoft); err != nil {
			return err
		}
		if i > 0 && z != l.ZeroOne[i-1] {
			l.Jumps++
		}
		l.C, l.ZeroOne, l.Logistic, l.Slope = append(l.C, c), append(l.ZeroOne, z), append(l.Logistic, s), append(l.Slope, grad[0])
	}
	_, err = zeroOne.EvalContext(ctx, grad, l.C[:1])
	_, l.Refusal, err = refusal(err)
	return err
}

// jumps finds the largest jumps of both losses on several data sets.
func (p DifferentiabilityLimitsParams) jumps(ctx context.Context, l *DiscontinuousLoss) error {
	for set := range p.DataSets {
		zeroOne, soft, err := p.lossesOfC(synth.NewStream(firstSeed, fmt.Sprintf("jumps of the loss, data set %d", p.Number(set, p.DataSets))), linear.NoIntercept)
		if err != nil {
			return err
		}
		for _, of := range []struct {
			cv    *cvgm.CV
			jumps *[]float64
		}{{zeroOne, &l.ZeroOneJump}, {soft, &l.LogisticJump}} {
			jump, err := largestJump(ctx, of.cv)
			if err != nil {
				return err
			}
			*of.jumps = append(*of.jumps, jump)
		}
	}
	return nil
}

// lossesOfC draws examples of two classes. It returns two CV losses of logistic regression as
// functions of C: zeroOne is the share of misclassifications, and soft is the logistic loss.
func (p DifferentiabilityLimitsParams) lossesOfC(src synth.Source, intercept linear.Intercept) (zeroOne, soft *cvgm.CV, err error) {
	d := p.classes(src, p.Train)
	splits, err := cvgm.RandomSplits(src, p.Train, p.K, p.P)
	if err != nil {
		return nil, nil, err
	}
	config := cvgm.Config{Data: d, Splits: splits, Learner: func() learn.Learner { return &linear.Logistic{Intercept: intercept} }, Workers: 1}
	config.Loss = cvgm.ZeroOne{}
	zeroOne, err = cvgm.New(config)
	config.Loss = cvgm.LogisticLoss{}
	soft, errSoft := cvgm.New(config)
	return zeroOne, soft, experiment.FirstError(err, errSoft)
}

// JumpWidth is a relative difference between two values of C. If a loss changes noticeably between
// two such values, the change counts as a jump. A smooth loss changes far less over so small a
// difference. Rounding does not cause a jump, because JumpWidth is far above the rounding error of
// a fit.
const JumpWidth = 1e-9

// largestJump returns the change of a CV loss at its largest jump. It finds the interval of a grid
// of C on which the loss changes most. It halves this interval repeatedly, until its relative
// length is JumpWidth. It returns the change of the loss on the last interval.
func largestJump(ctx context.Context, cv *cvgm.CV) (jump float64, err error) {
	type point struct{ c, loss float64 }
	at := func(c float64) point {
		loss, failed := cv.EvalContext(ctx, nil, []float64{c})
		err = experiment.FirstError(err, failed)
		return point{c, loss}
	}
	change := func(a, b point) float64 { return math.Abs(b.loss - a.loss) }
	var low, high point
	before := at(1e-3)
	for _, c := range experiment.Logspace(-3, 2, 41)[1:] {
		next := at(c)
		if low.c == 0 || change(before, next) > change(low, high) {
			low, high = before, next
		}
		before = next
	}
	for err == nil && high.c-low.c > JumpWidth*high.c {
		mid := at(low.c + (high.c-low.c)/2)
		if change(low, mid) > change(mid, high) {
			high = mid
		} else {
			low = mid
		}
	}
	return change(low, high), err
}

func sharedMultipliers(r *Limits) error {
	q := qpdiff.QP{Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{-3, -1},
		G: mat.NewDense(2, 2, []float64{1, 0, 1, 0}), H: []float64{1, 1}}
	var s qpdiff.Solution
	if err := s.Solve(&q); err != nil {
		return err
	}
	g := qpdiff.QPGrad{P: make([]float64, 2)}
	if err := s.VJP(nil, &g, []float64{0, 1}, nil, nil); err != nil {
		return fmt.Errorf("derivative of z in p with a constraint given twice: %w", err)
	}
	r.Primal = g.P[1]
	g = qpdiff.QPGrad{P: make([]float64, 2)}
	var err error
	_, r.Multipliers, err = refusal(s.VJP(nil, &g, nil, []float64{1, 0}, nil))
	return err
}
