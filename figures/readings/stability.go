package readings

import (
	"fmt"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/stability"
)

// directions counts the starts of CVGM from which Δ clearly rises, and the starts from which Δ
// clearly falls.
func directions(r *stability.Result) (numRaised, numLowered int) {
	for _, s := range r.Starts {
		switch s.DeltaChange.Sign() {
		case 1:
			numRaised++
		case -1:
			numLowered++
		}
	}
	return numRaised, numLowered
}

// lowestSetting returns the index of the setting for which the mean of a part is lowest. The
// function partOf selects the part.
func lowestSetting(settings []stability.Parts, partOf func(stability.Parts) experiment.Estimate) int {
	best := 0
	for k, s := range settings {
		if partOf(s).Mean < partOf(settings[best]).Mean {
			best = k
		}
	}
	return best
}

func risk(s stability.Parts) experiment.Estimate  { return s.Risk }
func delta(s stability.Parts) experiment.Estimate { return s.Delta }

// Stability states whether the identity holds, and how CVGM changes Δ.
func Stability(r *stability.Result) string {
	holds, widest := 0, 0.
	for _, s := range r.Settings() {
		if s.Holds() {
			holds++
		}
		widest = max(widest, s.Difference.Margin/s.Delta.Mean)
	}
	raised, lowered := directions(r)
	return fmt.Sprintf("**The two sides of the identity E[R − R_emp] = Δ agree in %d of %d settings,** %d at fixed hyperparameters and %d along a path: the interval of their difference contains 0. The widest interval is ±%.0f %% of its Δ. **CVGM makes the learner less stable from %d of %d starts,** and more stable from %d.",
		holds, len(r.Settings()), len(r.Settings())-len(r.Path), len(r.Path), 100*widest, raised, len(r.Starts), lowered)
}

// StabilitySweeps explains the figure.
func StabilitySweeps(r *stability.Result) string {
	texts := []string{"More regularisation, to the right for λ1 and λ2 and to the left for C, lowers Δ and raises the training risk. The risk is their sum. It is lowest where their slopes cancel."}
	for _, l := range r.Learners {
		texts = append(texts, fmt.Sprintf("*%s:* among the measured values, the risk is lowest at %s = %g, and Δ is lowest at %s = %g.", l.Name,
			l.Hyper, l.At[lowestSetting(l.Parts, risk)], l.Hyper, l.At[lowestSetting(l.Parts, delta)]))
	}
	return paragraphs(texts...)
}

// StabilityPath explains the figure.
func StabilityPath(r *stability.Result) string {
	at := func(v []float64) int { return r.Steps[slices.Index(v, slices.Min(v))] }
	return paragraphs(
		"*Left:* the solid line is the sum of the dash-dotted training risk and the dotted Δ. It is lowest where their slopes cancel. *Right:* the CV loss and the test loss of the run itself. The run descends the CV loss. Its test loss need not fall with it.",
		fmt.Sprintf("The risk E[R] is lowest at step %d, the test loss on the published data at step %d, and the CV loss at step %d.", r.Steps[lowestSetting(r.Path, risk)], at(r.TestLoss), at(r.CVLoss)))
}

// StabilityStartsTable counts two kinds of starts: starts from which Δ rises, and starts from which
// Δ falls.
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
	return fmt.Sprintf("A positive *change of Δ* means that the learner has become less stable. CVGM raises Δ from %d of %d starts and lowers it from %d. It descends the CV loss, which estimates the risk, Δ + E[R_emp], from one data set. Over the population the risk rises on the way from %d of the starts, and falls on the way from %d.", raised, len(r.Starts), lowered, risen, fallen)
}
