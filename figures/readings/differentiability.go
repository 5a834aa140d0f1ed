package readings

import (
	"fmt"
	"slices"

	"cvgm/cvgm/experiment/differentiability"
)

// Derivatives returns the answer on derivatives: which formulas are correct.
func Derivatives(checks *differentiability.DerivativeChecks, e *differentiability.ErrataResult) string {
	var worst float64
	for _, c := range checks.Checks {
		_, best := c.Best()
		worst = max(worst, best)
	}
	return fmt.Sprintf("**%d exact derivatives differ from central differences by at most %.1e, relative.** The paper's Jacobian of logistic regression is off by %.0f %%; with the term that it lacks, by %.1e, relative.",
		len(checks.Checks), worst, 100*e.Jacobian.PrintedError, e.Jacobian.CompleteError)
}

// IncompleteJacobian explains the figure.
func IncompleteJacobian() string {
	return "Each arrow shows how to move one training example so that the loss on fresh examples falls. The arrows of the printed Jacobian are all parallel. The arrows of the complete one have different directions."
}

// DerivativeErrors explains the figure.
func DerivativeErrors() string {
	return "If the derivative is right, its line falls to the floor of rounding and rises again along the dash-dotted guide. The line of a wrong derivative would stay level, high above the floor. A line without a slope of h² belongs to a solution that depends *linearly* on the input. Where a line jumps on the right, the step is so long that it crosses a kink."
}

// SolutionPaths explains the figure.
func SolutionPaths(paths *differentiability.SolutionPaths) string {
	return paragraphs(
		"Thin lines are solutions, computed point by point. Thick lines are tangents, from the derivative at one point alone. The tangent of a right derivative lies along its line. On a logarithmic axis the slope is the derivative in the logarithm.",
		fmt.Sprintf("The support vector machine agrees with the supplement's quadratic program: θ differs by %.1e and its derivatives by %.1e, relative.", paths.SolverGap, paths.SolverSlopeGap))
}

// DifferentiabilityKinks explains the figure.
func DifferentiabilityKinks(l *differentiability.Limits) string {
	holds := ""
	if l.Range.RangeResidual < 1e-6 { // far above rounding, and far below the entries of ∂g/∂a
		holds = " So the paper's condition holds there."
	}
	return fmt.Sprintf("Above are solutions, below their slopes. Where a slope has one value on the left and another on the right, there is no derivative. The distance of ∂g/∂a from the range of ∂g/∂z at a = 0 is %.1e.%s", l.Range.RangeResidual, holds)
}

// DifferentiabilityLimits explains the figure.
func DifferentiabilityLimits(l *differentiability.Limits) string {
	return fmt.Sprintf("*Left:* where a line becomes level, the derivative has a limit as λ2 goes to 0. A line that rises like 1/λ2 has no limit. *Right:* the misclassification rate is level between jumps, so its derivative is 0 or does not exist. It jumps %d times here. The logistic loss of the same fits is smooth.", l.Loss.Jumps)
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
		"At 1 the error is as large as the derivative itself. A line falls as the descent converges, and ends at the floor of rounding. A line that rises belongs to a descent that diverges, without any error message.",
		fmt.Sprintf("At their last step %d of %d lines are within %.0e of the implicit derivative.", exact, len(runs), same))
}

// LearningPaths explains the figure, and lists the results of each search.
func LearningPaths(l *differentiability.Learning) string {
	texts := []string{"Light shades are low CV losses. Each path begins at the ring and ends at the square. A path that ends in the lightest shade has found the minimum of the grid."}
	for _, run := range l.Runs {
		points := len(run.Surface) * len(run.Surface[0])
		texts = append(texts, fmt.Sprintf("*%s:* the search goes from the CV loss %.4f to %.4f in %d evaluations. The lowest of %d points of a grid is %.4f. The test loss goes from %.4f to %.4f, the test accuracy from %.3f to %.3f.",
			run.Name, run.CVLoss[0], run.CVLoss[run.Last()], run.Last()+1, points, run.Lowest, run.TestLoss[0], run.TestLoss[run.Last()], run.Accuracy[0], run.Accuracy[run.Last()]))
	}
	return paragraphs(texts...)
}

// LearnedLossPath explains the figure.
func LearnedLossPath(l *differentiability.Learning) string {
	end := l.Loss.Alpha[len(l.Loss.Alpha)-1]
	most := slices.Index(end, slices.Max(end))
	return paragraphs(
		"*Left:* the weights of the four losses along the search from equal weights on the first data set. *Right:* the learned loss, broad and grey, beside the single ones. If one of the four has all the weight, its line runs along the middle of the grey one.",
		fmt.Sprintf("At the end of that search the largest weight, %.2f, is that of the %s loss.", end[most], differentiability.LossNames[most]))
}

// LearnedLossTable compares the learned loss with each of its four parts.
func LearnedLossTable(l *differentiability.Learning) string {
	var against list
	for _, m := range l.Loss.Methods[len(l.Loss.Methods)-len(differentiability.LossNames):] {
		against.item("Against the %s loss alone, the test loss of the learned one %s. Its test error %s.", m.Name, Described(m.LearnedMinusTest.Difference, 3), Described(m.LearnedMinusError.Difference, 3))
	}
	return against.String()
}
