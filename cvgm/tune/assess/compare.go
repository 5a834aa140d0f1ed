package assess

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"cvgm/cvgm/internal/args"
)

// A Comparison is the difference between the risks of two models on the same rows: the risk of one
// model minus the risk of the other model.
type Comparison struct {
	With string // the other model, in words
	// Percent is the difference of the two risks, in per cent of the risk of a constant prediction.
	// With a probability of .95, the intervals of all comparisons on the same rows contain their
	// true differences. Percent is −Inf if the other model failed.
	Percent Estimate
	// Shown is the size of a true difference, in per cent, that Better or Worse detects in four of
	// five cases on data like these. They detect smaller differences less often.
	Shown float64
}

// roundingPercent is the largest difference, in per cent, that counts as rounding: two computations
// of the same predictions may differ by this much. Fits end within 1e-12 of their solution.
const roundingPercent = 1e-7

// Better reports whether the interval of the difference lies below 0, by more than roundingPercent.
func (c Comparison) Better() bool { return c.Percent.High < -roundingPercent }

// Worse reports whether the interval of the difference lies above 0, by more than roundingPercent.
func (c Comparison) Worse() bool { return c.Percent.Low > roundingPercent }

// Gain returns the difference with the opposite sign: a gain above 0 means that the model has a
// lower risk than the other model. Texts and tables show gains.
func (c Comparison) Gain() Estimate {
	e := c.Percent
	return Estimate{Mean: 0 - e.Mean, Low: 0 - e.High, High: 0 - e.Low} // −e.Mean may be −0
}

// GainText describes the gain with its interval and its unit.
func (c Comparison) GainText() string {
	g := c.Gain()
	return fmt.Sprintf("gain %s %% [%s, %s] of a constant's risk", FormatPercent(g.Mean), FormatPercent(g.Low), FormatPercent(g.High))
}

// String describes the gain. If the difference is not decided, String also contains Shown.
func (c Comparison) String() string {
	switch {
	case math.IsInf(c.Percent.Mean, -1):
		return "better than " + c.With + ", which failed"
	case c.Better():
		return fmt.Sprintf("better than %s: %s", c.With, c.GainText())
	case c.Worse():
		return fmt.Sprintf("worse than %s: %s", c.With, c.GainText())
	}
	if max(-c.Percent.Low, c.Percent.High) <= roundingPercent {
		return "equal to " + c.With + " up to rounding"
	}
	shown := "no gain"
	if args.Finite(c.Shown) {
		shown = FormatPercent(c.Shown) + " %"
	}
	return fmt.Sprintf("undecided against %s: %s; %s would show", c.With, c.GainText(), shown)
}

// FormatPercent writes a percentage without the sign %. Below 10 it writes two significant digits,
// and otherwise a whole number.
func FormatPercent(v float64) string {
	if math.Abs(v) >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// shownPower is the probability that Better or Worse returns true if the true difference has the
// size Comparison.Shown.
const shownPower = .8

// Compare compares the risk of a model with the risk of another model. The result is in per cent of
// the risk of a constant prediction. The parameters a, b and constant hold the losses of the model,
// of the other model and of the constant prediction, with the indices [repeat][row]. The parameter
// otherName is the name of the other model, and comparisons is the number of all comparisons of the
// model on these rows. With a probability of .95, the intervals of all these comparisons contain
// their true differences (Bonferroni).
//
// The risk of the constant prediction is an estimate, too. The standard error is therefore computed
// for the ratio θ of the difference to this risk, to first order. For row i, let a_i, b_i and c_i
// be the losses of the model, of the other model and of the constant prediction, and let c̄ be the
// mean of the c_i. The standard error is the standard error of the mean of (a_i−b_i−θc_i)/c̄. If b
// holds the losses of the constant prediction and no loss in a is negative, the difference is at
// least −100 %, and the interval ends there. A loss of +Inf in b means that the other model failed.
// The result ok is false if the risk of the constant prediction is not above 0.
func (r Rows) Compare(otherName string, a, b, constant [][]float64, comparisons int) (c Comparison, ok bool) {
	unit, _, _ := r.mean(constant, ofRisk)
	if !(unit > 0) || !args.Finite(unit) {
		return Comparison{}, false
	}
	combine := func(theta float64) [][]float64 {
		d := make([][]float64, len(a))
		for k := range a {
			for i := range a[k] {
				d[k] = append(d[k], a[k][i]/unit-b[k][i]/unit-theta*(constant[k][i]/unit))
			}
		}
		return d
	}
	ratio, _, _ := r.mean(combine(0), ofDifference)
	if !args.Finite(ratio) {
		return Comparison{With: otherName, Percent: Estimate{ratio, ratio, ratio}}, true
	}
	_, se, freedom := r.mean(combine(ratio), ofDifference)
	reach := 100 * se * quantile(freedom, 1-(1-Confidence)/2/float64(comparisons))
	c = Comparison{With: otherName, Percent: Estimate{100 * ratio, 100*ratio - reach, 100*ratio + reach}, Shown: reach}
	if args.Finite(se) {
		c.Shown += 100 * se * quantile(freedom, shownPower)
	}
	c.Shown = max(c.Shown, roundingPercent)
	if lowest := slices.Min(slices.Concat(a...)); lowest >= 0 && slices.EqualFunc(b, constant, slices.Equal[[]float64]) {
		e := &c.Percent
		e.Low, e.Mean, e.High = max(e.Low, -100), max(e.Mean, -100), max(e.High, -100) // rounding may lower all three
	}
	return c, true
}

// Selected estimates the risk of a procedure that selects the candidate with the lowest mean loss.
// The slice losses has the indices [candidate][repeat][row]. The mean loss of the selected
// candidate is too low an estimate, because it comes from the rows that selected the candidate.
//
// Selected therefore repeats the selection on bootstrap samples of the units (Tsamardinos,
// Greasidou and Borboudakis 2018). For each sample, it computes the loss of the selected candidate
// on the units outside the sample. The field Mean of the result is the mean of these losses. The
// interval comes from the interval of Risk for the candidate with the lowest mean loss on all rows.
// Its ends are multiplied by the ratio of the two means or, if an end is negative, shifted by the
// difference of the two means. The samples come from the generator rand.NewPCG(seed, 2). The time
// is proportional to the number of candidates times the number of rows times the number of samples.
func (r Rows) Selected(losses [][][]float64, seed uint64) Estimate {
	// There are minSamples to maxSamples samples. Within these limits, the product of the numbers
	// of samples, units and candidates is at most maxWork.
	const minSamples, maxSamples, maxWork = 50, 200, 1e7
	best := math.Inf(1)
	var selected Estimate
	for _, l := range losses {
		if e := r.Risk(l); e.Mean < best {
			best, selected = e.Mean, e
		}
	}
	shares := r.shares(len(r.Folds[0]))
	weights := r.unitSums(func(i int) float64 { return shares[i] }, len(shares))
	sums := make([][]float64, len(losses))
	for c, l := range losses {
		sums[c] = r.unitSums(func(i int) (sum float64) {
			for _, one := range l {
				sum += shares[i] * one[i] / float64(len(l))
			}
			return sum
		}, len(shares))
	}
	n := len(weights)
	if n < 2 || !args.Finite(best) {
		return selected
	}
	src := rand.New(rand.NewPCG(seed, 2))
	samples := int(max(minSamples, min(maxSamples, maxWork/float64(n*len(losses)))))
	counts := make([]float64, n)
	var mean, judged float64
	for range samples {
		clear(counts)
		for range n {
			counts[src.IntN(n)]++
		}
		if loss, ok := outOfBag(counts, weights, sums); ok {
			judged++
			mean += (loss - mean) / judged
		}
	}
	if judged == 0 {
		return selected
	}
	// If no end of the interval is negative, both ends are multiplied by the same factor. Any other
	// interval is shifted.
	if selected.Low >= 0 && best > 0 && mean > 0 {
		return Estimate{mean, selected.Low * (mean / best), selected.High * (mean / best)}
	}
	return Estimate{mean, selected.Low + mean - best, selected.High + mean - best}
}

// outOfBag selects the candidate with the lowest loss on a bootstrap sample of the units. It
// returns the loss of this candidate on the units outside the sample. The result ok is false if no
// unit is outside the sample.
func outOfBag(counts, weights []float64, sums [][]float64) (loss float64, ok bool) {
	best, lowest := -1, math.Inf(1)
	for c, s := range sums {
		var within float64
		for k, count := range counts {
			if count > 0 { // losses may be infinite
				within += count * s[k]
			}
		}
		if within < lowest {
			best, lowest = c, within
		}
	}
	if best < 0 {
		return 0, false
	}
	var total float64
	for k, count := range counts {
		if count == 0 {
			loss += sums[best][k]
			total += weights[k]
		}
	}
	return loss / total, total > 0
}
