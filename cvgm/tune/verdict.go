package tune

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/tune/assess"
)

// These are the names of the models with which tuning is compared.
const (
	constantName = "a constant prediction"
	defaultName  = "the default hyperparameters"
)

// comparisonWith returns the comparison with the named model. It returns false if there is none.
func (r *Risk) comparisonWith(name string) (assess.Comparison, bool) {
	if r != nil {
		for _, c := range r.Comparisons {
			if c.With == name {
				return c, true
			}
		}
	}
	return assess.Comparison{}, false
}

// maybeWorse reports whether the estimated risk of tuning is above the risk of the other model, but
// the interval contains 0.
func maybeWorse(c assess.Comparison) bool {
	return c.Percent.Mean > 100*improvementUnit && !c.Worse()
}

// distinctTexts formats two numbers with four digits, or with more if the texts would otherwise be
// equal.
func distinctTexts(a, b float64) (string, string) {
	const usual, all = 4, 17
	for digits := usual; ; digits++ {
		s, t := fmt.Sprintf("%.*g", digits, a), fmt.Sprintf("%.*g", digits, b)
		if s != t || digits == all {
			return s, t
		}
	}
}

// best returns the best choice and a text, for a result whose Model is the winner's. If the winner
// is the best choice, the text is a doubt about the winner, or "" if there is none. Otherwise the
// text is the reason for the choice.
func (t *Tuned) best() (Choice, string) {
	constant, _ := t.Risk.comparisonWith(constantName)
	byDefault, _ := t.Risk.comparisonWith(defaultName)
	above := t.Loss > t.ConstantLoss+improvementUnit*math.Abs(t.ConstantLoss)
	reason := ""
	switch {
	case above:
		tuned, constant := distinctTexts(t.Loss, t.ConstantLoss)
		reason = fmt.Sprintf("The CV loss of the tuned model, %s, is above the loss of a constant prediction, %s", tuned, constant)
	case constant.Worse():
		reason = fmt.Sprintf("Tuning is %v", constant)
	case byDefault.Worse():
		reason = fmt.Sprintf("Tuning is %v", byDefault)
		if t.DefaultLoss <= t.ConstantLoss {
			return ChoseDefault, reason
		}
	case maybeWorse(constant):
		return ChoseWinner, doubt(constant)
	case maybeWorse(byDefault):
		return ChoseWinner, doubt(byDefault)
	default:
		return ChoseWinner, ""
	}
	if byDefault.Worse() && t.DefaultLoss <= t.ConstantLoss && t.Risk.Default.Mean < t.Risk.Constant.Mean {
		return ChoseDefault, reason
	}
	return ChoseConstant, reason
}

// doubt returns the warning about a comparison for which maybeWorse is true.
func doubt(c assess.Comparison) string {
	return fmt.Sprintf("The tuned model may be worse than %s: %s.", c.With, c.GainText())
}

// Verdict returns a sentence that names the model to use, or two models if nothing decides between
// them. The sentence follows from Choice, the CV losses and Risk. It names the same model with and
// without Tuner.KeepWinner.
func (t *Tuned) Verdict() string {
	constant, compared := t.Risk.comparisonWith(constantName)
	byDefault, _ := t.Risk.comparisonWith(defaultName)
	rival, _ := t.Risk.comparisonWith(rivalName(t.Risk))
	choice, asConstant, asDefault := t.Choice, ", which Model is", ", with which Model is fitted"
	if choice == ChoseWinner { // Model is the winner's also with KeepWinner, or if the better model cannot be fitted
		choice, _ = t.best()
		asConstant, asDefault = "", ""
	}
	switch {
	case choice == ChoseConstant && (constant.Worse() || byDefault.Worse()):
		return "Use a constant prediction" + asConstant + ": the tuned model is worse."
	case choice == ChoseConstant:
		return "Use a constant prediction" + asConstant + ": the CV loss of the tuned model is higher."
	case choice == ChoseDefault:
		return "Use the default hyperparameters" + asDefault + ": the tuned model is worse."
	case t.ConstantLoss == 0:
		return "Use a constant prediction: its CV loss is 0."
	case !compared:
		return "Not decided: there is no nested estimate that compares the tuned model with a constant prediction."
	case rival.Worse():
		return fmt.Sprintf("Use %s: the tuned model is worse.", rival.With)
	case !constant.Better():
		return "Not decided: a constant prediction may be as good as the tuned model."
	case byDefault.Better():
		return "Use the tuned model: it is better than a constant prediction and than the default hyperparameters."
	case maybeWorse(byDefault):
		return "Use the tuned model or the default hyperparameters: nothing decides between them, and the defaults have the lower estimated risk."
	}
	return "Use the tuned model: it is better than a constant prediction; against the default hyperparameters nothing is decided."
}

func rivalName(r *Risk) string {
	if r == nil {
		return ""
	}
	return r.RivalName
}

// String describes the result in some lines: the verdict, a warning if the tuned model is worse or
// may be worse, the comparisons, metrics, hyperparameters, losses and all other warnings.
func (t *Tuned) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.Verdict())
	t.writeWarnings(&b, true)
	if t.Risk != nil {
		for _, c := range t.Risk.Comparisons {
			fmt.Fprintf(&b, "  %v\n", c)
		}
		if metrics := t.Risk.Metrics(); metrics != "" {
			fmt.Fprintf(&b, "tuned predictions of the outer folds: %s\n", metrics)
		}
	}
	widths, separator := t.Widths(), ""
	for i, name := range t.Names {
		if widths == nil || t.Searched[i].Features == nil {
			fmt.Fprintf(&b, "%s%s = %.4g", separator, name, t.Hyper[i])
			separator = ", "
		}
	}
	fmt.Fprintf(&b, "\n%sCV loss %.4g", widthLines(widths), t.Loss)
	if t.hasModel() {
		fmt.Fprintf(&b, " ± %.2g", t.StandardError)
	}
	switch t.Choice {
	case ChoseWinner:
		b.WriteString(" (optimistic: it was minimised)")
	case ChoseDefault:
		fmt.Fprintf(&b, " with the default hyperparameters; tuned %.4g", t.Winner.Loss)
	case ChoseConstant:
		fmt.Fprintf(&b, " of a constant prediction; tuned %.4g", t.Winner.Loss)
	}
	fmt.Fprintf(&b, "; default %.4g, constant prediction %.4g\n", t.DefaultLoss, t.ConstantLoss)
	if r := t.Risk; r != nil {
		fmt.Fprintf(&b, "risk by %s, with 95 %% intervals: tuned %v, default %v, constant prediction %v\n", r.foldsInWords(), r.Tuned, r.Default, r.Constant)
		if t.Choice != ChoseWinner {
			fmt.Fprintf(&b, "risk of the choice between them: %v\n", r.Selected)
		}
	}
	t.writeWarnings(&b, false)
	return b.String()
}

// writeWarnings writes one of two kinds of warnings. If doubts is true, it writes the warnings of
// the kinds Worse and MaybeWorse. Otherwise it writes all other warnings.
func (t *Tuned) writeWarnings(b *strings.Builder, doubts bool) {
	for _, w := range t.Warnings {
		if doubts == (w.Kind == Worse || w.Kind == MaybeWorse) {
			fmt.Fprintf(b, "warning: %s\n", w.Text)
		}
	}
}

// foldsInWords describes the number of outer folds in words.
func (r *Risk) foldsInWords() string {
	if r.Repeats > 1 {
		return fmt.Sprintf("%d repeats of %d outer folds", r.Repeats, r.Folds)
	}
	return fmt.Sprintf("%d outer folds", r.Folds)
}
