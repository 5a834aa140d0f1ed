package readings

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
)

// Rings states the result on the rings: the accuracy after a descent along the exact gradient, the
// accuracy after a descent along the published direction, and the difference.
func Rings(r *kernels.LearnedKernelResult) string {
	published, full := r.Run(kernels.Published), r.Run(kernels.Full)
	return paragraphs(
		fmt.Sprintf("**After %d steps the test accuracy is %.3f along the exact gradient and %.3f along the published direction.** At the start it is %.3f. The best rule has %.3f on the same test examples and %.3f over the population.",
			len(full.CVLoss)-1, full.FinalAccuracy(), published.FinalAccuracy(), full.Accuracy[0], r.Bayes.Test, r.Bayes.Population),
		fmt.Sprintf("Along the published path, the cosine between its direction and the gradient lies between %.2f and %.2f.", slices.Min(published.Cosine), slices.Max(published.Cosine)))
}

// RingsBoundary explains the figure.
func RingsBoundary() string {
	return "The dashed circle is the best rule. A solid line that stays near it among the examples has nearly the best accuracy. Far from all examples the data do not determine the solid line."
}

// RingsVariantsTable lists two kinds of variants: variants that do not learn, and variants whose
// first step raises the loss.
func RingsVariantsTable(r *kernels.LearnedKernelResult) string {
	var not, uphill []string
	for _, run := range r.Runs {
		if run.LastLoss() >= run.CVLoss[0] {
			not = append(not, run.Variant.String())
		}
		if run.Cosine[0] < 0 {
			uphill = append(uphill, run.Variant.String())
		}
	}
	return fmt.Sprintf("Variants whose CV loss does not fall from start to end: %s. Variants whose first step points uphill, with a negative cosine: %s.", Listed(not), Listed(uphill))
}

// RingsVariants explains the figure, and lists steps of the published run.
func RingsVariants(r *kernels.LearnedKernelResult) string {
	published, full := r.Run(kernels.Published), r.Run(kernels.Full)
	rises := func(run *kernels.Run) (n int) {
		for k, loss := range run.CVLoss[1:] {
			if loss > run.CVLoss[k] {
				n++
			}
		}
		return n
	}
	below := 0
	for k, loss := range full.CVLoss[1:] {
		if loss < published.CVLoss[k+1] {
			below++
		}
	}
	last := len(full.CVLoss) - 1
	exceeds := "never exceeds this"
	if k := slices.IndexFunc(published.Accuracy, func(a float64) bool { return a > .865 }); k >= 0 {
		exceeds = fmt.Sprintf("first exceeds this at step %d", k)
	}
	var steps list
	for k := 1; k < len(published.CVLoss); k++ {
		if k == 1 || k == 10 || k == 11 || k == 15 || k == 21 || k == last {
			steps.item("step %d: CV loss before %.4f, test accuracy after %.3f", k, published.CVLoss[k-1], published.Accuracy[k])
		}
	}
	return paragraphs(
		fmt.Sprintf("*Left:* if a line jumps up, the step was too long. Of %d steps, the CV loss rises in %d along the full gradient, and in %d along the published direction. At %d of %d steps the full gradient has the lower CV loss.", last, rises(full), rises(published), below, last),
		fmt.Sprintf("*Middle:* the paper gives the published run 86.5 %% \"after about 10 iterations\". Here the accuracy %s. *Right:* where a line lies below 0, the step points uphill. Steps of the published run:", exceeds),
		steps.String())
}

// GradientParts explains the figure of the same name. It compares the first step of the replayed run
// with the first steps on other data. It also compares the two omitted parts of the gradient, to see
// whether they cancel each other.
func GradientParts(r *kernels.GradientPartsResult, replay *kernels.LearnedKernelResult) string {
	var ends list
	var left []float64
	var first, uphill experiment.Estimate // first cosine of the published direction on the rings, with the largest number of splits, and the share of data sets on which it is negative
	most := 0
	for _, path := range r.Paths {
		start, end := path.At[0], path.At[len(path.At)-1]
		for _, at := range path.At {
			left = append(left, at.Left.Mean)
		}
		if path.Problem == kernels.ProblemRings && path.Variant == kernels.Published && path.K > most {
			first, uphill, most = start.PrintedWhole, start.PrintedUphill, path.K
		}
		ends.item("%s, %d splits, path along %v: the test error goes from %.3f to %.3f, and at the end it %s. $|D+T_2|/|D|$ goes from %.2f ± %.2f to %.2f ± %.2f.", path.Problem, path.K, path.Variant,
			start.Error.Mean, end.Error.Mean, Described(path.Learned.Difference, 3), start.Left.Mean, start.Left.Margin, end.Left.Mean, end.Left.Margin)
	}
	return paragraphs(
		"The published direction points downhill where the dashed line is above 0. The detached direction does where the dotted line is above 0. The solid line is the cosine between the two omitted parts, $D$ and $T_2$. At −1 they would be opposite.",
		fmt.Sprintf("**Is the replayed run typical?** %s: the cosine of its first published step is %.2f. The rings of the figure have other data, splits and initial weights: their mean is %.2f ± %.2f, with %.0f %% uphill.",
			typical(replay.Run(kernels.Published).Cosine[0], uphill), replay.Run(kernels.Published).Cosine[0], first.Mean, first.Margin, 100*uphill.Mean),
		fmt.Sprintf("**Do the omissions cancel?** %s: at the points of these paths the mean of $|D+T_2|/|D|$ lies between %.2f and %.2f.", cancel(slices.Min(left), slices.Max(left)), slices.Min(left), slices.Max(left)),
		"<details><summary>All paths</summary>\n\n"+strings.TrimSpace(ends.String())+"\n\n</details>")
}

// typical answers whether most data sets have a first cosine of the same sign.
func typical(cosine float64, uphill experiment.Estimate) string {
	if (cosine < 0) == (uphill.Mean > .5) {
		return "Yes"
	}
	return "No"
}

// cancel answers whether two parts of the gradient cancel, from the lowest and the highest share
// that their sum has of the length of one of them.
func cancel(low, high float64) string {
	const little, much = .1, .5
	switch {
	case high < little:
		return "Yes"
	case low > much:
		return "No"
	}
	return "In part"
}

// RingsManifold explains the figure.
func RingsManifold() string {
	return "Read each row from left to right. Where learning succeeds, the inner ring comes to lie on one side of the line and the outer ring on the other. The network folds the plane, so that two sides of the outer ring can lie on each other."
}

// RingsBayesTable compares the accuracy of the kernel with the accuracy of the Bayes rule.
func RingsBayesTable(r *kernels.LearnedKernelResult) string {
	return fmt.Sprintf("On these test examples the Bayes rule has the accuracy %.3f. The kernel has %.3f along the published direction and %.3f along the full gradient. The Bayes rule's accuracy over the population is %.3f. A kernel can exceed it only by chance, on a lucky test set.",
		r.Bayes.Test, r.Run(kernels.Published).FinalAccuracy(), r.Run(kernels.Full).FinalAccuracy(), r.Bayes.Population)
}

// deviation returns the standard deviation of the accuracy on the test examples. The classifier's
// true accuracy is taken to be the accuracy of the Bayes rule.
func deviation(r *kernels.LearnedKernelResult) float64 {
	return math.Sqrt(r.Bayes.Population * (1 - r.Bayes.Population) / float64(len(r.Test.Y)))
}

// XOR returns the answer on XOR: the accuracy of the kernel, and the accuracy of the Bayes rule.
func XOR(r *kernels.LearnedKernelResult) string {
	return fmt.Sprintf("**The best rule has the accuracy %.4f over the population and %.3f on the test examples.** The learned kernel has %.3f along the direction of the published code, which lacks parts of the gradient (*published*), and %.3f along the exact gradient (*full*). One standard deviation of an accuracy on %d examples is %.3f.",
		r.Bayes.Population, r.Bayes.Test, r.Run(kernels.Published).FinalAccuracy(), r.Run(kernels.Full).FinalAccuracy(), len(r.Test.Y), deviation(r))
}

// XORVariantsTable compares the CV losses of the full gradient and of the published direction before
// the last step, which are in the table.
func XORVariantsTable(r *kernels.LearnedKernelResult) string {
	published, full := r.Run(kernels.Published), r.Run(kernels.Full)
	return fmt.Sprintf("After %d steps, before the last one, the CV loss is %.4f along the full gradient and %.4f along the published direction. The cosine of the published direction with the exact gradient is %.2f at the start.", len(full.CVLoss)-2, full.LastLoss(), published.LastLoss(), published.Cosine[0])
}

// XORVariants explains the figure of the same name. For each run, it gives the number of steps up
// to which the run does not depend on rounding.
func XORVariants(r *kernels.LearnedKernelResult) string {
	var cut []string
	var determined list
	for _, run := range r.Runs {
		k := run.StableSteps()
		if drawn := run.Variant == kernels.Published || run.Variant == kernels.Full || run.Variant == kernels.Detached; drawn && k < len(run.CVLoss)-1 {
			cut = append(cut, fmt.Sprintf("%v (after step %d)", run.Variant, k))
		}
		determined.item("%v: determined for %d of %d steps; after step %d the CV loss is %.3f and the test accuracy %.3f", run.Variant, k, len(run.CVLoss)-1, k, run.CVLoss[k], run.Accuracy[k])
	}
	return paragraphs(
		fmt.Sprintf("Lines of the figure that end at a cross, because rounding decides their further path: %s. A line that jumps up and down belongs to steps that are too long for its direction.", Listed(cut)),
		determined.String())
}

// XORBoundary explains the figure.
func XORBoundary() string {
	return "Inside the dashed corners the label is certain, and a good boundary keeps out of them. In the cross between them both classes are equally likely, and no boundary is better than another."
}

// XORManifold explains the figure.
func XORManifold() string {
	return "Read each row from left to right. Where learning succeeds, the two squares of a class come to lie on its own side of the line. The grey examples lie in the cross between the corners, and no map can separate their classes."
}

// XORBayesTable derives the accuracy of the Bayes rule. It also counts correct predictions in the
// same way as the published code.
func XORBayesTable(r *kernels.LearnedKernelResult, p kernels.XORParams) string {
	counted, negative := 0, 0
	for i, y := range r.Test.Y {
		prediction := 0.0 // exclusive or in the published code, with 0 for false and 1 for true
		if (r.Test.X.At(i, 0) > 0) != (r.Test.X.At(i, 1) > 0) {
			prediction = 1
		}
		if prediction != y {
			counted++
		}
		if y < 0 {
			negative++
		}
	}
	n, corners := len(r.Test.Y), math.Pow((1-p.Overlap)/(1+p.Overlap), 2)
	published := r.Run(kernels.Published).FinalAccuracy()
	return paragraphs(
		fmt.Sprintf("The published code counts %d of %d predictions of the sign rule as right, among them all %d of the class −1.", counted, n, negative),
		fmt.Sprintf("**A point falls in a corner, where its label is certain, with probability %.4f. Elsewhere any guess is right half the time: %.4f + %.4f/2 = %.4f.** The kernel's accuracy along the published direction, %.3f, differs from this by %.1f standard deviations of an accuracy on %d examples.",
			corners, corners, 1-corners, r.Bayes.Population, published, math.Abs(published-r.Bayes.Population)/deviation(r), n))
}
