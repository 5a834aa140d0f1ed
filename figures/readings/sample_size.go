package readings

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/samplesize"
)

// AblationAnswer returns the effect of the CV loss on the weights of a network: the mean over all
// numbers of examples of the rings, for the largest numbers of splits and steps, and the range of the
// means for the other numbers.
func AblationAnswer(d *samplesize.AblationResult) string {
	p, last := d.Params.Rings, len(d.Rings)-1
	others := ""
	if last > 0 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, c := range d.Rings[:last] {
			low, high = min(low, Points(c.Difference).Mean), max(high, Points(c.Difference).Mean)
		}
		others = fmt.Sprintf(", and from %s to %s with other ones", signed(low, 2), signed(high, 2))
	}
	return fmt.Sprintf("**If the weights of the network are learned from the CV loss in place of the training loss, the test error in points %s.** This is the mean for the rings with %d splits and %d steps%s.",
		inPoints(d.Rings[last], 2), p.Ks[last/len(p.Budgets)], p.Budgets[last%len(p.Budgets)], others)
}

// Ablation states the effect of the CV loss and of its gradient, separately for penalties and for
// the weights of a network.
func Ablation(d *samplesize.AblationResult) string {
	var penalties list
	p, weights := d.Params.Rings, make(map[claims.Help]int)
	for _, row := range d.Rows {
		if strings.HasSuffix(row.Problem, "learned kernel") {
			weights[claims.HelpOf(row)]++
			continue
		}
		penalties.item("%s, %d splits, %d evaluations: %s; %s.", row.Problem, row.K, row.Budget, Signed(row.CVLessTraining.Difference, 3), Signed(row.CVLessRandom.Difference, 3))
	}
	box := ""
	if p := d.Params.Net; p.BoxHigh > p.BoxLow {
		box = fmt.Sprintf(" (elastic net: up to λ = %.3g)", math.Pow(10, p.BoxHigh))
	}
	return paragraphs(
		fmt.Sprintf("**Weights of a network.** The rings and XOR are tried in %d cases, each with its own numbers of examples, steps and splits. The CV loss helps in %d of them and harms in %d. In %d the difference is too small to matter, and in %d nothing is decided. With %d splits and %d steps, the mean test error for the rings %s. %s %s",
			weights[claims.Helps]+weights[claims.Harms]+weights[claims.Slight]+weights[claims.Undecided], weights[claims.Helps], weights[claims.Harms], weights[claims.Slight], weights[claims.Undecided],
			p.Ks[0], p.Budgets[0], inPoints(d.Rings[0], 2), CouldShow(pointsMatter, Points(d.Rings[0].Difference)), pooled(claims.FeaturesClaim)),
		"**Penalties and widths.** Test risk after a descent of the CV loss, minus the risk after one of the training loss; and minus the risk at the lowest CV loss of a random search"+box+", on the same data:",
		penalties.String())
}

// AblationBySize returns a table of the difference over all sizes, for each number of splits and
// each number of steps.
func AblationBySize(d *samplesize.AblationResult) string {
	p := d.Params.Rings
	head, rule := "| |", "| :-- |"
	for _, steps := range p.Budgets {
		head, rule = head+fmt.Sprintf(" %d steps |", steps), rule+" --: |"
	}
	rows := []string{head, rule}
	for k, splits := range p.Ks {
		row := fmt.Sprintf("| %d splits |", splits)
		for _, c := range d.Rings[k*len(p.Budgets):][:len(p.Budgets)] {
			row += " " + Signed(Points(c.Difference), 2) + " |"
		}
		rows = append(rows, row)
	}
	return paragraphs(
		"Test error after a descent of the CV loss minus test error after a descent of the training loss, in percentage points, mean over all numbers of examples of the rings:",
		strings.Join(rows, "\n"))
}

// SampleSize returns the answer on other methods.
func SampleSize(r *samplesize.Result) string {
	var rivals list
	var leads []experiment.Estimate
	for _, k := range []int{samplesize.SizeAdam, samplesize.SizeNetworkPublished, samplesize.SizeLogistic, samplesize.SizeQuadratic} {
		m := r.Methods[k]
		rivals.item("*%s:* the accuracy of CVGM %s.", m.Name, inPoints(m.Full.Small, 2))
		leads = append(leads, Points(m.Full.Small.Difference))
	}
	return paragraphs(
		fmt.Sprintf("**Other methods.** CVGM along the full gradient against them, in percentage points, with at most %d examples. %s", r.Params.SmallSize, CouldShow(pointsMatter, leads...)),
		rivals.String())
}

// pointsMatter is the smallest difference of accuracies that matters. Its unit is a percentage
// point.
const pointsMatter = 100 * claims.AccuracyMatters

// inPoints describes a difference of accuracies in percentage points.
func inPoints(c experiment.Comparison, digits int) string {
	return Weighed(Points(c.Difference), digits, pointsMatter)
}

// SampleSizeCurves explains the figure.
func SampleSizeCurves(r *samplesize.Result) string {
	return fmt.Sprintf("The dotted line is the best possible rule. A method whose line stays level near 0.5 does not learn. Fits failed on %d of %d data sets.", len(r.Failures), len(r.Sizes)*r.Params.Seeds)
}

// SampleSizeLead explains the figure of the same name. It gives the leads separately for few and
// for many training examples.
func SampleSizeLead(r *samplesize.Result) string {
	published, full := r.Methods[samplesize.SizeCVGMPublished], r.Methods[samplesize.SizeNetworkPublished]
	texts := []string{
		"The lead is clear where the band does not touch the dotted line.",
		fmt.Sprintf("* **Which gradient.** In percentage points against the published gradient, the accuracy of the full gradient with at most %d examples %s. With more examples it %s.",
			r.Params.SmallSize, inPoints(published.Full.Small, 2), inPoints(published.Full.Large, 2))}
	for _, m := range []samplesize.SizeMethod{r.Methods[samplesize.SizeAdam], full} {
		texts = append(texts, fmt.Sprintf("* **Few examples; lead over** *%s*. Along the full gradient it is %.1f points with at most %d examples and %.1f with more, along the published gradient %.1f and %.1f.",
			m.Name, 100*m.Full.Small.Difference.Mean, r.Params.SmallSize, 100*m.Full.Large.Difference.Mean, 100*m.Published.Small.Difference.Mean, 100*m.Published.Large.Difference.Mean))
	}
	if counted, err := strconv.ParseFloat(claims.Printed.SampleSizeWins.Code, 64); err == nil {
		texts = append(texts, fmt.Sprintf("* **The published code's count.** Its CVGM is more accurate than its network on %.0f %% of its data sets. Here the share is %.0f %%.", 100*counted, 100*full.Published.All.Wins))
	}
	return paragraphs(texts...)
}

// SampleSizeRivals explains the figure, and compares CVGM with each rival.
func SampleSizeRivals(r *samplesize.Result) string {
	var rivals list
	for _, m := range r.Methods[samplesize.SizeQuadratic:] {
		rivals.item("*%s:* %s; with more examples %s.", m.Name, inPoints(m.Full.Small, 2), inPoints(m.Full.Large, 2))
	}
	return paragraphs(
		fmt.Sprintf("The accuracy of CVGM against the rival, in percentage points, with at most %d examples and with more:", r.Params.SmallSize),
		rivals.String())
}
