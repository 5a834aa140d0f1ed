package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// Classes holds metrics of decision values for the labels ±1.
type Classes struct {
	// Threshold is a decision value. Rows with a higher decision value are classified as +1 in
	// Accuracy, Balanced and Confusion. AUC and Probabilities do not depend on Threshold.
	Threshold float64
	Accuracy  float64 // the share of rows that are classified as their label
	// Balanced is the mean of two shares: the shares of correctly classified rows in class −1 and
	// in class +1. It is NaN if a class has no row.
	Balanced float64
	// AUC is the area under the ROC curve. It is averaged over the folds that have rows of both
	// classes. Within a fold, AUC is the probability that a random row of class +1 has a higher
	// decision value than a random row of class −1. Two equal values count ½. AUC is NaN if no fold
	// has both classes.
	AUC float64
	// Confusion[a][b] is the total weight of the rows with label a that are classified as b. The
	// index 0 means −1, and the index 1 means +1. With several samples, the totals are averaged.
	Confusion [2][2]float64
	// If the decision values are log odds of class +1, Probabilities holds metrics of the
	// probabilities of class +1. Otherwise it is nil.
	Probabilities *Probabilities
}

// Probabilities holds metrics of predicted probabilities of +1.
type Probabilities struct {
	LogLoss float64 // the mean of −log of the probability of the label
	Brier   float64 // the mean squared difference between the probability and the label (1 or 0)
	// Calibration compares predicted probabilities with observed rates, in groups of rows with
	// similar probabilities.
	Calibration []Bin
}

// A Bin is a group of rows with neighbouring probabilities, from all samples.
type Bin struct {
	Rows      int     // in it
	Predicted float64 // the mean probability
	Observed  float64 // the rate of +1
}

// maxBins is the largest number of groups in Calibration. There are fewer groups if they would have
// less than minBinRows rows, because the observed rate of so few rows is too uncertain.
const maxBins, minBinRows = 10, 10

// Classify returns metrics of decision values for labels ±1. It computes the metrics for each
// sample, and returns their averages over the samples. Only Calibration pools the rows of the
// samples. The samples may be repeats of cross-validation with different folds. A row is classified
// as +1 if its decision value is above the parameter threshold. For log odds and for support vector
// machines, the usual threshold is 0. Set the parameter logOdds to true if the decision values are
// log odds of +1.
//
// Classify returns the errors of [Regress]. If a label is not ±1, the error is of kind
// qpdiff.ErrDomain. If threshold is not finite, the error is of kind qpdiff.ErrNotFinite. For n
// rows, the time is proportional to n log n.
func Classify(threshold float64, logOdds bool, samples ...Sample) (Classes, error) {
	if err := args.First(
		args.BadIf(!args.Finite(threshold), "threshold", qpdiff.ErrNotFinite, "use a number, such as 0", "is %v", threshold),
		check(samples, true),
	); err != nil {
		return Classes{}, err
	}
	mean := Classes{Threshold: threshold}
	if logOdds {
		mean.Probabilities = &Probabilities{Calibration: calibration(samples)}
	}
	share := 1 / float64(len(samples))
	var areas, areaCount float64
	for _, s := range samples {
		counts := s.confusion(threshold)
		for a := range counts {
			for b, v := range counts[a] {
				mean.Confusion[a][b] += share * v
			}
		}
		negative, positive := counts[0][0]+counts[0][1], counts[1][0]+counts[1][1]
		mean.Accuracy += share * (counts[0][0] + counts[1][1]) / (negative + positive)
		mean.Balanced += share * (counts[0][0]/negative + counts[1][1]/positive) / 2
		if area := s.area(); area == area {
			areas += area
			areaCount++
		}
		if logOdds {
			logLoss, brier := s.probabilities()
			mean.Probabilities.LogLoss += share * logLoss
			mean.Probabilities.Brier += share * brier
		}
	}
	mean.AUC = areas / areaCount
	return mean, nil
}

// confusion returns the weights of the rows by label and predicted label.
func (s Sample) confusion(threshold float64) (counts [2][2]float64) {
	index := map[bool]int{true: 1}
	for _, i := range s.rows() {
		counts[index[s.Y[i] > 0]][index[s.Predictions[i] > threshold]] += s.weight(i)
	}
	return counts
}

// The method area returns the AUC (see the field AUC) of one sample.
func (s Sample) area() float64 {
	counts := make([]bool, len(s.Y))
	for _, i := range s.rows() {
		counts[i] = true
	}
	folds := s.Folds
	if folds == nil {
		folds = [][]int{s.rows()}
	}
	var total, number float64
	for _, fold := range folds {
		rows := slices.DeleteFunc(slices.Clone(fold), func(i int) bool { return !counts[i] })
		slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(s.Predictions[a], s.Predictions[b]) })
		// A pair is a row of class −1 and a row of class +1. Its weight is the product of their
		// weights. wonPairs is the total weight of the pairs in which the row of class +1 has the
		// larger decision value, plus half the weight of tied pairs.
		var below, positive, wonPairs float64
		for from := 0; from < len(rows); {
			to := from
			var tied [2]float64
			for ; to < len(rows) && s.Predictions[rows[to]] == s.Predictions[rows[from]]; to++ {
				tied[map[bool]int{true: 1}[s.Y[rows[to]] > 0]] += s.weight(rows[to])
			}
			wonPairs += tied[1] * (below + tied[0]/2)
			below, positive, from = below+tied[0], positive+tied[1], to
		}
		if below > 0 && positive > 0 {
			total += wonPairs / (below * positive)
			number++
		}
	}
	return total / number
}

// probability returns the probability of +1 at log odds d.
func probability(d float64) float64 { return 1 / (1 + math.Exp(-d)) }

// probabilities returns the log loss and the Brier score of one sample.
func (s Sample) probabilities() (logLoss, brier float64) {
	var total float64
	for _, i := range s.rows() {
		w, margin := s.weight(i), s.Y[i]*s.Predictions[i]
		total += w
		loss := math.Log1p(math.Exp(-math.Abs(margin))) + max(0, -margin)
		miss := probability(-margin)
		logLoss += w / total * (loss - logLoss)
		brier += w / total * (miss*miss - brier)
	}
	return logLoss, brier
}

// calibration groups the rows of all samples by ascending probability. Rows with equal
// probabilities share a group.
func calibration(samples []Sample) []Bin {
	type row struct{ odds, y, weight float64 }
	var rows []row
	for _, s := range samples {
		for _, i := range s.rows() {
			rows = append(rows, row{s.Predictions[i], s.Y[i], s.weight(i)})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.odds, b.odds) })
	count := max(1, min(maxBins, len(rows)/minBinRows/len(samples)))
	var all []Bin
	for from := 0; from < len(rows); {
		to := max(from+1, (len(all)+1)*len(rows)/count)
		for to < len(rows) && rows[to].odds == rows[to-1].odds {
			to++
		}
		b := Bin{Rows: to - from}
		var total float64
		for _, r := range rows[from:to] {
			total += r.weight
			b.Predicted += r.weight / total * (probability(r.odds) - b.Predicted)
			b.Observed += r.weight / total * (max(0, r.y) - b.Observed)
		}
		all, from = append(all, b), to
	}
	return all
}

// String describes the metrics in one line. It leaves out metrics that are NaN.
func (r Regression) String() string {
	return fmt.Sprintf("RMSE %.4g, MAE %.4g", r.RMSE, r.MAE) + knownMetric("R²", r.R2)
}

// String describes the metrics in one line. It leaves out metrics that are NaN.
func (c Classes) String() string {
	return fmt.Sprintf("%s; of label −1 %.4g right and %.4g wrong, of label +1 %.4g right and %.4g wrong",
		c.Metrics(), c.Confusion[0][0], c.Confusion[0][1], c.Confusion[1][1], c.Confusion[1][0])
}

// Metrics is String without Confusion.
func (c Classes) Metrics() string {
	text := fmt.Sprintf("accuracy %.3g", c.Accuracy) + knownMetric("balanced accuracy", c.Balanced) + knownMetric("AUC", c.AUC)
	if p := c.Probabilities; p != nil {
		text += knownMetric("log loss", p.LogLoss) + knownMetric("Brier score", p.Brier)
	}
	return text
}

// knownMetric returns a comma followed by the name and the value of a metric, or "" if the value is
// NaN.
func knownMetric(name string, v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf(", %s %.3g", name, v)
}
