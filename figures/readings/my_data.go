package readings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/mydata"
)

// mostLetters is the largest number of letters of a name in a sentence.
const mostLetters = 40

// nameOf returns a name from a user's file for use in a sentence.
func nameOf(name string) string {
	return "“" + experiment.Shortened(experiment.Visible(strings.TrimSpace(name)), mostLetters) + "”"
}

// MyDataPredictions describes the predictions. For a numeric target, it describes the size and the
// pattern of the residuals. For classes, it describes the area under the receiver operating
// characteristic, and the calibration.
func MyDataPredictions(r *mydata.Result) string {
	if len(r.Models) == 0 {
		return ""
	}
	if len(r.Classes) > 0 {
		return paragraphs(myShares(r), myArea(r), myCalibration(r))
	}
	m := r.Models[0]
	var rows []residual
	for i, v := range nth(m.Judged.Predictions, 0) {
		if v == v && i < len(m.Y) {
			rows = append(rows, residual{v, m.Y[i] - v})
		}
	}
	if len(rows) == 0 {
		return ""
	}
	sizes := make([]float64, len(rows))
	for i, row := range rows {
		sizes[i] = math.Abs(row.off)
	}
	slices.Sort(sizes)
	left := fmt.Sprintf("*Left:* a point on the diagonal is predicted exactly. Half of the %d rows lie within %.3g of it, and nine in ten within %.3g.", len(rows), quantile(sizes, .5), quantile(sizes, .9))
	return paragraphs(left, "*Right:* "+residuals(rows))
}

// myShares compares the accuracy for several classes with the share of the largest class. It also
// names the class for which the share of correctly predicted rows is smallest.
func myShares(r *mydata.Result) string {
	m := r.Multiclass
	if m == nil {
		return ""
	}
	text := fmt.Sprintf("The predicted class is right for %.0f %% of the rows; always the largest class would be right for %.0f %%.", 100*m.Accuracy, 100*m.Majority)
	worst, share := -1, math.Inf(1)
	for k, row := range m.Confusion {
		var all float64
		for _, n := range row {
			all += n
		}
		if own := nth(row, k) / all; own < share {
			worst, share = k, own
		}
	}
	if worst >= 0 && worst < len(r.Classes) {
		text += fmt.Sprintf(" Of %s, %.0f %% are found, the least of all classes.", nameOf(r.Classes[worst]), 100*share)
	}
	return text
}

// A residual holds a prediction and its error.
type residual struct{ prediction, off float64 }

// residuals compares the residuals of two groups: one third of the rows has the lowest predictions,
// and one third has the highest predictions.
func residuals(rows []residual) string {
	// With fewer than minRows rows, residuals looks for no pattern. There are two patterns. In the
	// first, the scatters of the two groups differ by more than the factor spreadRatio. In the
	// second, the residuals bend by more than bendErrors standard errors of a mean.
	const minRows, spreadRatio, bendErrors = 30, 1.5, 3.
	slices.SortStableFunc(rows, func(a, b residual) int { return cmp.Compare(a.prediction, b.prediction) })
	n := len(rows) / 3
	switch {
	case rows[0].prediction == rows[len(rows)-1].prediction:
		return "the model predicts the same for all rows, so the residuals have no pattern to see."
	case len(rows) < minRows:
		return fmt.Sprintf("%d rows are too few to see a pattern of the residuals.", len(rows))
	}
	scatter := func(part []residual) (mean, spread, se float64) {
		sizes := make([]float64, len(part))
		var squares float64
		for _, row := range part {
			mean += row.off / float64(len(part))
		}
		for i, row := range part {
			sizes[i] = math.Abs(row.off - mean)
			squares += (row.off - mean) * (row.off - mean) / float64(len(part))
		}
		slices.Sort(sizes)
		return mean, quantile(sizes, .5), math.Sqrt(squares / float64(len(part)))
	}
	lowMean, low, lowSE := scatter(rows[:n])
	midMean, _, midSE := scatter(rows[n : len(rows)-n])
	highMean, high, highSE := scatter(rows[len(rows)-n:])
	sentence := fmt.Sprintf("the residuals scatter alike for low and for high predictions: half of those in the lowest third of the predictions lie within %.3g of their mean, and half of those in the highest third within %.3g.", low, high)
	switch {
	case low == 0 && high == 0:
	case high > spreadRatio*low:
		sentence = fmt.Sprintf("the residuals scatter %s as much in the highest third of the predictions as in the lowest: the errors grow with the prediction, and a logarithm of the target may help.", times(high/low))
	case low > spreadRatio*high:
		sentence = fmt.Sprintf("the residuals scatter %s as much in the lowest third of the predictions as in the highest.", times(low/high))
	}
	bend := (lowMean+highMean)/2 - midMean
	if se := math.Sqrt((lowSE*lowSE+highSE*highSE)/4 + midSE*midSE); math.Abs(bend) > bendErrors*se && se > 0 {
		sentence += fmt.Sprintf(" On average they bend: %+.3g and %+.3g in the outer thirds, %+.3g in the middle one. A learner with kernels may fit that.", lowMean, highMean, midMean)
	}
	return sentence
}

// times returns a ratio in words.
func times(ratio float64) string {
	if math.IsInf(ratio, 0) || ratio >= 100 {
		return "more than 100 times"
	}
	return fmt.Sprintf("%.2g times", ratio)
}

// quantile returns the quantile q of ascending numbers.
func quantile(sorted []float64, q float64) float64 {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// nth returns v[i]. If the index i is out of range, it returns the zero value.
func nth[T any](v []T, i int) (x T) {
	if i < len(v) {
		x = v[i]
	}
	return x
}

// myArea describes the receiver operating characteristic.
func myArea(r *mydata.Result) string {
	if len(r.Models) > 1 {
		worst := slices.MinFunc(r.Models, func(a, b mydata.Model) int { return cmp.Compare(myAUC(a), myAUC(b)) })
		return fmt.Sprintf("*ROC:* the nearer a line comes to the upper left corner, the better its class is told from the others. The hardest class to tell from the others is %s (AUC %.3g).", nameOf(worst.Class), myAUC(worst))
	}
	m := r.Models[0]
	at := m.Judged.ROC.At
	return fmt.Sprintf("*ROC:* for a row of %s and a row of %s, the model gives the first row the higher decision value in %.0f %% of all pairs. At the threshold it finds %.0f %% of the rows of %s, and wrongly takes %.0f %% of the other rows for it.",
		nameOf(m.Class), nameOf(r.Classes[0]), 100*myAUC(m), 100*at[1], nameOf(m.Class), 100*at[0])
}

// myAUC returns the area under the curve, computed within the folds. If this area is not known, it
// returns the area for the predictions of all folds together.
func myAUC(m mydata.Model) float64 {
	if c := m.Judged.Classes; c != nil && c.AUC == c.AUC {
		return c.AUC
	}
	return m.Judged.ROC.Area
}

// myCalibration describes the calibration, if there are probabilities.
func myCalibration(r *mydata.Result) string {
	const alike = .05
	var over, rows float64
	for _, m := range r.Models {
		if m.Judged.Classes == nil || m.Judged.Classes.Probabilities == nil {
			return ""
		}
		for _, b := range m.Judged.Classes.Probabilities.Calibration {
			// A prediction is too certain if it is on the same side of one half as the observed
			// share, but farther away. The factor sign makes the difference positive for these
			// predictions on both sides of one half.
			sign := 1.0
			if b.Predicted < .5 {
				sign = -1
			}
			over += sign * (b.Predicted - b.Observed) * float64(b.Rows)
			rows += float64(b.Rows)
		}
	}
	if rows == 0 {
		return ""
	}
	text := "*Calibration:* on the dashed line, a probability of 0.8 is right for 80 of 100 rows."
	switch share := over / rows; {
	case share > alike:
		return text + fmt.Sprintf(" The probabilities are too extreme, by %.2g on average.", share)
	case share < -alike:
		return text + fmt.Sprintf(" The probabilities are too cautious, by %.2g on average.", -share)
	}
	return text + " On average the probabilities are neither too extreme nor too cautious by more than 0.05."
}

// MyDataCoefficients returns text with the name of the largest coefficient. The text also names the
// coefficients whose sign is uncertain.
func MyDataCoefficients(r *mydata.Result) string {
	var all []string
	for _, m := range r.Models {
		best, some := -1, 0
		var uncertain []int
		for i, c := range m.Coefficients {
			if i >= len(m.Features) || c == 0 || c != c {
				continue
			}
			if some++; best < 0 || math.Abs(c) > math.Abs(m.Coefficients[best]) {
				best = i
			}
			if slices.ContainsFunc(m.FoldCoefficients, func(fold []float64) bool { return nth(fold, i)*c <= 0 }) {
				uncertain = append(uncertain, i)
			}
		}
		if best < 0 {
			continue
		}
		low, high := m.Coefficients[best], m.Coefficients[best]
		for _, fold := range m.FoldCoefficients {
			low, high = min(low, nth(fold, best)), max(high, nth(fold, best))
		}
		what := "the prediction"
		if m.Class != "" {
			what = "the decision value for " + nameOf(m.Class)
		}
		name := nameOf(m.Features[best])
		if baseline := r.Baseline(best, mostLetters); baseline != "" {
			name += ", compared with " + baseline + ","
		}
		text := fmt.Sprintf("One standard deviation more of %s moves %s by %+.3g (%+.3g to %+.3g over the folds), the most of all features.", name, what, m.Coefficients[best], low, high)
		if len(m.FoldCoefficients) > 0 {
			text += signs(m, uncertain, some)
		}
		if all = append(all, text); len(all) == shownModels {
			break
		}
	}
	return paragraphs(all...)
}

// signs names the coefficients whose sign is uncertain, of some coefficients. The largest comes
// first.
func signs(m mydata.Model, uncertain []int, some int) string {
	const most = 5
	if len(uncertain) == 0 {
		return " Each coefficient that is not 0 has the same sign in every fold."
	}
	slices.SortStableFunc(uncertain, func(i, j int) int {
		return cmp.Compare(math.Abs(m.Coefficients[j]), math.Abs(m.Coefficients[i]))
	})
	var names []string
	for _, i := range uncertain[:min(len(uncertain), most)] {
		names = append(names, nameOf(m.Features[i]))
	}
	text := strings.Join(names, ", ")
	if n := len(uncertain) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf(" Do not rely on %d of %d coefficients (%s): in some fold they are 0 or have the other sign.", len(uncertain), some, text)
}

// A reading describes at most shownModels models. For several classes, each class has a model.
const shownModels = 4

// ofClass returns the first words of a sentence on the model m: the class of m, or "" if there is
// only one model.
func ofClass(m mydata.Model, models []mydata.Model) string {
	if m.Class == "" || len(models) < 2 {
		return ""
	}
	return nameOf(m.Class) + ": "
}

// MyDataPath describes how the coefficients depend on the main penalty.
func MyDataPath(r *mydata.Result) string {
	var all []string
	for _, m := range r.Models {
		if m.Path == nil || len(m.Path.Coefficients) == 0 {
			continue
		}
		if all = append(all, ofClass(m, r.Models)+pathOf(m)); len(all) == shownModels {
			break
		}
	}
	return paragraphs(all...)
}

// pathOf describes in one sentence how the coefficients of a model depend on the penalty. If
// coefficients become 0 along this path, the sentence is about the point with the fewest
// coefficients, and names the largest coefficient there. Otherwise, the sentence states how the
// largest coefficient changes between a tenth of the tuned penalty and ten times the tuned penalty.
func pathOf(m mydata.Model) string {
	path := m.Path
	fewest := -1 // the point with the fewest coefficients that are not 0
	for i, n := range path.Nonzero {
		if n > 0 && n < len(m.Features) && (fewest < 0 || n < path.Nonzero[fewest]) {
			fewest = i
		}
	}
	if fewest >= 0 {
		last := 0 // the feature with the largest coefficient there
		for k, line := range path.Coefficients {
			if math.Abs(nth(line, fewest)) > math.Abs(nth(path.Coefficients[last], fewest)) {
				last = k
			}
		}
		left, name := "only the coefficient of %s is left", nameOf(m.Features[path.Features[last]])
		if n := path.Nonzero[fewest]; n > 1 {
			left = fmt.Sprintf("%d are left, and the coefficient of %%s is the largest", n)
		}
		return fmt.Sprintf("At the tuned %s = %.3g, %d of %d coefficients are not 0; at %.3g "+left+".", path.Hyper, path.Tuned, path.NonzeroTuned, len(m.Features), path.At[fewest], name)
	}
	low, high := len(path.At)-1, 0
	for i, v := range path.At {
		if v >= path.Tuned/10 {
			low = min(low, i)
		}
		if v <= path.Tuned*10 {
			high = max(high, i)
		}
	}
	return fmt.Sprintf("From %s = %.3g to %.3g, around the tuned %.3g, the coefficient of %s, the largest, moves from %+.3g to %+.3g.",
		path.Hyper, path.At[low], path.At[high], path.Tuned, nameOf(m.Features[path.Features[0]]), nth(path.Coefficients[0], low), nth(path.Coefficients[0], high))
}

// MyDataLearning says whether more rows would help.
func MyDataLearning(r *mydata.Result) string {
	var all []string
	models := r.Searched()
	for _, m := range models {
		l := m.Learning
		n := len(l.Rows)
		if n < 2 || l.Gain != l.Gain || l.GainError != l.GainError {
			continue
		}
		const little = .03 // a share of the constant prediction's loss
		share := ""
		if m.ConstantLoss > 0 {
			share = fmt.Sprintf(" (%.2g %% of a constant prediction's loss)", 100*math.Abs(l.Gain)/m.ConstantLoss)
		}
		what, sum := "falls", fmt.Sprintf("The change is within %d standard errors: more rows of this kind promise little.", mydata.ClearGain)
		if l.Gain < 0 {
			what = "rises"
		}
		switch {
		case math.Abs(l.Gain) <= mydata.ClearGain*l.GainError && l.Gain+mydata.ClearGain*l.GainError > little*m.ConstantLoss:
			sum = fmt.Sprintf("The change is within %d standard errors, so it is open whether more rows would help.", mydata.ClearGain)
		case l.Gain > mydata.ClearGain*l.GainError:
			sum = "More rows are likely to help."
		case l.Gain < -mydata.ClearGain*l.GainError:
			sum = "The hyperparameters fit fewer rows better by chance, or the rows differ: do not read more from this picture."
		}
		all = append(all, fmt.Sprintf("%sFrom %.0f to %.0f training rows the CV loss %s by %.3g%s, with a standard error of %.3g. %s", ofClass(m, models), l.Rows[n-2], l.Rows[n-1], what, math.Abs(l.Gain), share, l.GainError, sum))
		if len(all) == shownModels {
			break
		}
	}
	return paragraphs(all...)
}

// MyDataSearch explains the curves.
func MyDataSearch(r *mydata.Result) string {
	const flat = .01 // as a share of the loss
	var all []string
	models := r.Searched()
	for _, m := range models[:min(len(models), shownModels)] {
		for _, c := range m.Curves {
			low, high := math.Inf(1), math.Inf(-1)
			for i, v := range c.Loss {
				if v <= m.Loss*(1+flat) {
					low, high = min(low, c.At[i]), max(high, c.At[i])
				}
			}
			if low < high {
				all = append(all, fmt.Sprintf("%sThe CV loss stays within 1 %% of the tuned one for %s.", ofClass(m, models), within(c, low, high)))
			}
		}
	}
	return strings.Join(all, " ")
}

// within returns the values of a curve from low to high in words. An end of the curve is no limit.
func within(c mydata.Curve, low, high float64) string {
	switch all, none := low == slices.Min(c.At), high == slices.Max(c.At); {
	case all && none:
		return fmt.Sprintf("all shown values of %s", c.Hyper)
	case all:
		return fmt.Sprintf("%s up to %.2g", c.Hyper, high)
	case none:
		return fmt.Sprintf("%s from %.2g on", c.Hyper, low)
	}
	return fmt.Sprintf("%s from %.2g to %.2g, a factor of %.2g", c.Hyper, low, high, high/low)
}
