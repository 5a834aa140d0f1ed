package readings

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/differentiability"
)

// Derivatives returns the answer on derivatives: which formulas are correct.
func Derivatives(checks *differentiability.DerivativeChecks, e *differentiability.ErrataResult) string {
	var worst float64
	for _, c := range checks.Checks {
		_, best := c.Best()
		worst = max(worst, best)
	}
	return fmt.Sprintf("**In this draw %d exact derivatives differ from central differences by at most %.1e, relative.** The paper's Jacobian of logistic regression is off by %.0f %%; with the term that it lacks, by %.1e, relative. %s",
		len(checks.Checks), worst, 100*e.Jacobian.PrintedError, e.Jacobian.CompleteError, pooled(claims.JacobianClaim))
}

// IncompleteJacobian explains the figure.
func IncompleteJacobian() string {
	return "The arrows of the printed Jacobian are all parallel. The arrows of the complete one have different directions."
}

// DerivativeErrors explains the figure.
func DerivativeErrors() string {
	return "As δ shrinks, the line of a correct derivative falls along the dashed guide and rises again along the dash-dotted one. A wrong derivative stays level, high above their crossing."
}

// SolutionPaths explains the figure.
func SolutionPaths(paths *differentiability.SolutionPaths) string {
	return paragraphs(
		"A solution is computed point by point, a tangent from the derivative at its dot alone. The tangent of a correct derivative lies along its line.",
		fmt.Sprintf("The support vector machine agrees with the supplement's quadratic program: θ differs by %.1e and its derivatives by %.1e, relative.", paths.SolverGap, paths.SolverSlopeGap))
}

// DifferentiabilityKinks explains the figure.
func DifferentiabilityKinks(l *differentiability.Limits) string {
	holds := ""
	if l.Range.RangeResidual < 1e-6 { // far above rounding, and far below the entries of ∂g/∂a
		holds = " So the paper's condition holds there."
	}
	return fmt.Sprintf("Where a slope has one value on the left and another on the right, there is no derivative. The distance of ∂g/∂a from the range of ∂g/∂z at a = 0 is %.1e.%s", l.Range.RangeResidual, holds)
}

// DifferentiabilityLimits explains the figure.
func DifferentiabilityLimits(l *differentiability.Limits) string {
	return fmt.Sprintf("*Left:* where a line becomes level, the derivative has a limit. *Right:* the misclassification rate jumps %d times. Between jumps its derivative is 0. The logistic loss of the same fits is smooth.", l.Loss.Jumps)
}

// Unrolled explains the figure of iterative differentiation.
func Unrolled(r *differentiability.UnrolledResult) string {
	const same = 1e-10
	runs := slices.Concat(r.ByRate, r.ByPenalty)
	exact := 0
	for _, run := range runs {
		if e := run.Error(); len(e) > 0 && e[len(e)-1] < same { // the errors are empty if the first step overflows
			exact++
		}
	}
	return paragraphs(
		"On the grey line the derivative has no correct digit. A line that ends at the top belongs to a descent that diverges, without any error message.",
		fmt.Sprintf("At their last step %d of %d lines are within %.0e of the implicit derivative.", exact, len(runs), same))
}

// LearningPaths explains the figure, and compares the ends of the searches with the grids.
func LearningPaths(l *differentiability.Learning) string {
	above, better := math.Inf(-1), 0
	for _, run := range l.Runs {
		above = max(above, run.CVLoss[run.Last()]-run.Lowest)
		if run.TestLoss[run.Last()] < run.TestLoss[0] {
			better++
		}
	}
	const shown = 1e-4
	return fmt.Sprintf("No search ends more than %.4f above the lowest CV loss on the grid of its contours. The test loss falls from start to end in %d of %d searches.", max(above, shown), better, len(l.Runs))
}

// LearnedLossPath explains the figure.
func LearnedLossPath(l *differentiability.Learning) string {
	end := l.Loss.Alpha[len(l.Loss.Alpha)-1]
	most := slices.Index(end, slices.Max(end))
	return fmt.Sprintf("On the first data set, the search from equal weights ends with the largest weight, %.2f, on the %s loss.", end[most], differentiability.LossNames[most])
}

// LearnedLossTable compares the learned loss with each of its four parts.
func LearnedLossTable(l *differentiability.Learning) string {
	var against list
	for _, m := range l.Loss.Methods[len(l.Loss.Methods)-len(differentiability.LossNames):] {
		against.item("%s: the test loss %s, and the test error %s.", m.Name, Described(m.LearnedMinusTest.Difference, 3), Described(m.LearnedMinusError.Difference, 3))
	}
	return paragraphs("The learned loss against each single one (test loss: the logistic loss):", against.String())
}
