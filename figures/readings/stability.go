package readings

import (
	"fmt"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/stability"
)

// directions counts the starts from which CVGM raises Δ, and the starts from which it lowers it.
func directions(r *stability.Result) (raised, lowered int) {
	for _, s := range r.Starts {
		switch s.DeltaChange.Sign() {
		case 1:
			raised++
		case -1:
			lowered++
		}
	}
	return raised, lowered
}

// lowest returns the number of the setting with the lowest mean of one part.
func lowest(settings []stability.Parts, part func(stability.Parts) experiment.Estimate) int {
	best := 0
	for k, s := range settings {
		if part(s).Mean < part(settings[best]).Mean {
			best = k
		}
	}
	return best
}

func risk(s stability.Parts) experiment.Estimate  { return s.Risk }
func delta(s stability.Parts) experiment.Estimate { return s.Delta }

// Stability is the answer on the identity and on the effect of CVGM on Δ.
func Stability(r *stability.Result) string {
	holds, widest := 0, 0.
	for _, s := range r.Settings() {
		if s.Holds() {
			holds++
		}
		widest = max(widest, s.Difference.Margin/s.Delta.Mean)
	}
	raised, lowered := directions(r)
	return fmt.Sprintf("**The identity E[R − R_emp] = Δ holds in %d of %d settings:** there the interval of the difference of its sides contains 0. The widest of these intervals is ±%.0f %% of its Δ. **CVGM makes the learner less stable from %d of %d starts,** and more stable from %d.",
		holds, len(r.Settings()), 100*widest, raised, len(r.Starts), lowered)
}

// StabilitySweeps reads the figure.
func StabilitySweeps(r *stability.Result) string {
	texts := []string{"Where the identity holds, each square lies on the dotted line and each ring on the solid one. More regularisation, to the right for λ1 and λ2 and to the left for C, lowers Δ and raises the training risk. The risk is their sum. It turns where their slopes are opposite."}
	for _, l := range r.Learners {
		texts = append(texts, fmt.Sprintf("*%s:* of the values measured, the risk is lowest at %s = %g, and Δ at %s = %g.", l.Name,
			l.Hyper, l.At[lowest(l.Parts, risk)], l.Hyper, l.At[lowest(l.Parts, delta)]))
	}
	return paragraphs(texts...)
}

// StabilityPath reads the figure.
func StabilityPath(r *stability.Result) string {
	at := func(v []float64) int { return r.Steps[slices.Index(v, slices.Min(v))] }
	return paragraphs(
		"*Left:* the solid line is the sum of the dash-dotted training risk and the dotted Δ. It is lowest where their slopes are opposite. *Right:* the CV loss and the test loss of the run itself. The run descends the CV loss. Its test loss need not fall with it.",
		fmt.Sprintf("Of these steps the risk E[R] is lowest at %d, the test loss of the published data at %d, and the CV loss at %d.", r.Steps[lowest(r.Path, risk)], at(r.TestLoss), at(r.CVLoss)))
}

// StabilityStartsTable counts the starts from which Δ rises and falls.
func StabilityStartsTable(r *stability.Result) string {
	raised, lowered := directions(r)
	risen, fallen := 0, 0
	for _, s := range r.Starts {
		switch s.RiskChange.Sign() {
		case 1:
			risen++
		case -1:
			fallen++
		}
	}
	return fmt.Sprintf("A positive *change of Δ* means that the learner has become less stable. CVGM raises Δ from %d of %d starts and lowers it from %d. It descends the CV loss, which estimates the sum of Δ and E[R_emp], the risk, on one data set. Over the population the risk rises from %d of the starts and falls from %d.", raised, len(r.Starts), lowered, risen, fallen)
}
