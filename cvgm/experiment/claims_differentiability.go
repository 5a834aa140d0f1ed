package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

func (all *measurements) unrolled(r *UnrolledResult) {
	byRate := func(a, b UnrolledRun) int { return cmp.Compare(a.Rate, b.Rate) }
	last := func(u UnrolledRun) Estimate { return once(fromEnd(u.Error(), 1)) }
	fast, slow := slices.MaxFunc(r.ByRate, byRate), slices.MinFunc(r.ByRate, byRate)
	good := slices.MinFunc(r.ByRate, func(a, b UnrolledRun) int { return cmp.Compare(math.Abs(a.Rate-1), math.Abs(b.Rate-1)) })
	all.add(saysFinitePrecision, Measurement{Text: fmt.Sprintf("relative error of the unrolled gradient after the last step, ηL = %g", good.Rate), Ours: last(good),
		Remark: "There the descent has converged, and what is left is rounding."}, above(1e-8))
	all.add(saysExploding, Measurement{Text: fmt.Sprintf("relative error of the unrolled gradient after the last step, ηL = %g", fast.Rate), Ours: last(fast),
		Control: &Control{Text: fmt.Sprintf("ηL = %g", good.Rate), Ours: last(good)},
		Remark:  "There the descent itself diverges. At a rate at which it converges the derivative does, too."}, above(1))
	share := func(u UnrolledRun) Estimate { return once(math.Abs(fromEnd(u.Gradient, 1) / u.Exact)) }
	all.add(saysExploding, Measurement{Text: fmt.Sprintf("unrolled gradient after the last step as a share of the exact one, ηL = %g", slow.Rate), Ours: share(slow),
		Control: &Control{Text: fmt.Sprintf("ηL = %g", good.Rate), Ours: share(good)}}, below(.5))
}

// worst returns the largest relative distance of the derivatives in an input, or in
// all for "", from the best finite difference; the least one from that in the next
// input; and how many derivatives these are.
func (r *DerivativeChecks) worst(input string) (worst, mixed Estimate, n int) {
	worst, mixed = once(0), once(math.Inf(1))
	for i, c := range r.Checks {
		if input != "" && c.Input != input {
			continue
		}
		n++
		k, e := c.Best()
		worst.Mean = math.Max(worst.Mean, e)
		other := r.Checks[(i+1)%len(r.Checks)]
		mixed.Mean = math.Min(mixed.Mean, c.relative(other.Difference[k]))
	}
	return worst, mixed, n
}

func (all *measurements) derivatives(r *DerivativeChecks) {
	apart := 0.
	for _, c := range r.Checks {
		if !math.IsNaN(c.JVP) {
			apart = math.Max(apart, c.Apart())
		}
	}
	for _, what := range []struct{ input, name string }{{"", "all"}, {"X", "in the training data"}} {
		e, mixed, n := r.worst(what.input)
		m := Measurement{Text: fmt.Sprintf("largest relative distance from the best finite difference, %d derivatives (%s)", n, what.name), Ours: e,
			Control: &Control{Text: "from the difference in the next input, the least", Ours: mixed}}
		if what.input == "" {
			m.Remark = fmt.Sprintf("That is the rounding error of the difference. From the cotangent's and from the direction's side the derivatives agree to %.0e.", apart)
		}
		all.add(saysDifferentiable, m, below(1e-8))
	}
	all.add(saysFirstDerivation, Measurement{Text: "who was first", Ours: once(math.NaN()),
		Remark: "Doubtful: LARS-EN, in the article that the paper cites for the elastic net, follows the solution along λ₁ for a fixed λ₂ by its derivative."}, above(0))
}

func (all *measurements) limits(r *DifferentiabilityLimits) {
	// flat is the share of neighbours in C between which a loss does not change.
	flat := func(v []float64) Estimate {
		n := 0
		for i := 1; i < len(v); i++ {
			if v[i] == v[i-1] {
				n++
			}
		}
		return once(float64(n) / float64(len(v)-1))
	}
	all.add(saysNotContinuous, Measurement{Text: fmt.Sprintf("share of neighbours among %d values of C between which the 0–1 loss stays as it is; it jumps %d times", len(r.Loss.C), r.Loss.Jumps), Ours: flat(r.Loss.ZeroOne),
		Control: &Control{Text: "the logistic loss", Ours: flat(r.Loss.Logistic)}}, above(.5))
}

func (all *measurements) learning(r *Learning) {
	single := slices.DeleteFunc(slices.Clone(r.Loss.Methods), func(m LossMethod) bool { return strings.HasPrefix(m.Name, "learned") })
	byTest := func(a, b LossMethod) int { return cmp.Compare(a.Test.Mean, b.Test.Mean) }
	best, worst := slices.MinFunc(single, byTest), slices.MaxFunc(single, byTest)
	loses := difference(worst.Test, best.Test)
	all.add(saysConvexCombination, Measurement{Text: fmt.Sprintf("test loss of the learned combination less that of the best single loss, %s", best.Name), Ours: best.LearnedMinusTest.Difference,
		Control: &Control{Text: fmt.Sprintf("the worst single loss, %s, in its place", worst.Name), Ours: loses}}, littleOf(loses, worst.Name))
}

func (all *measurements) errata(r *ErrataResult) {
	jump := func(left, right float64) Estimate { return once(math.Abs(left - right)) }
	smooth := equals(0, 1e-6).or(PaperError)
	all.add(saysRange, Measurement{Text: "jump of the slope of min ½(x−a)², x ≤ 0, at a = 0, where all of that holds", Ours: jump(r.Range.Left, r.Range.Right),
		Remark: "Strict complementarity is needed as well. The derivative of s is in all of z, and so the range is that of ∇_z g; the printed ∇_x g contains ∇_α g at this point, too."}, smooth)
	all.add(saysLogisticJacobian, Measurement{Text: "relative distance of the printed Jacobian from central differences", Ours: once(r.Jacobian.PrintedError),
		Remark: fmt.Sprintf("It lacks the term Cπ(1−π)xθᵀ, with which the distance is %.0e.", r.Jacobian.CompleteError)}, below(1e-6).or(PaperError))
	all.add(saysElasticNetDifferentiable, Measurement{Text: "jump of the elastic net's slope at such a point", Ours: jump(r.ElasticNet.Left, r.ElasticNet.Right),
		Remark: "There is no derivative where a coefficient is weakly active."}, smooth)
	all.add(saysSVMDifferentiable, Measurement{Text: "jump of the support vector machine's slope at such a point", Ours: jump(r.SVM.Left, r.SVM.Right),
		Remark: "There is no derivative where a row or a coefficient is weakly active."}, smooth)
	all.add(saysSVMDifferentiable, Measurement{Text: "smallest eigenvalue of its quadratic program, which is to be positive definite", Ours: once(r.Program.SVM),
		Remark: "The slacks have no curvature, and neither has θₚ + θₙ: at λ₁ = 0 the two are not unique."}, above(1e-9).or(PaperError))
	all.add(saysSVMLabels, Measurement{Text: "largest change of θ when every example labelled 0 is replaced", Ours: once(r.Labels.ZeroMoves),
		Remark: "At y = 0 the hinge loss is constant: ±1 is meant."}, above(1e-6).or(PaperError))
	all.add(saysLinear, Measurement{Text: "error of the best linear rule on the rings, population", Quoted: Printed.Rings.Linear, Ours: once(1 - r.Bayes.HalfPlane),
		Remark: fmt.Sprintf("With an intercept: beyond x₁ = %.2f lie mostly points of the outer ring.", r.Bayes.Offset)}, equals(number64(Printed.Rings.Linear.Paper), .005).or(PaperError))
}
