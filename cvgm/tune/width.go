package tune

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/table"
)

// A Width is the width ℓ that a kernel has for some features. Predictions change over distances of
// about ℓ in these features.
type Width struct {
	// Features holds the names of the features. With a table, they are the names that
	// [table.Encoder.Names] returns. Without a table, they are "feature 0" and so on.
	Features []string
	// Length is ℓ = 1/√(2γ) for the kernel's parameter γ. Its unit is the standard deviation of a
	// feature or, with Tuner.Raw, the unit of the feature. If Length is +Inf, the features have no
	// effect.
	Length float64
}

// Widths returns the widths of the model, one for each feature or group of features of its kernel.
// All widths are equal if Tune kept one common width. Widths returns nil for a constant prediction,
// and if the learner's kernel does not have several widths.
func (t *Tuned) Widths() (all []Width) {
	if t.Choice == ChoseConstant {
		return nil
	}
	var names []string
	if e, ok := t.Config.Prepare.(*table.Encoder); ok {
		names = e.Names()
	}
	for i, h := range t.Searched {
		if h.Features == nil {
			continue
		}
		w := Width{Length: 1 / math.Sqrt(2*t.Hyper[i])}
		for _, j := range h.Features {
			name := fmt.Sprintf("feature %d", j)
			if names != nil {
				name = names[j]
			}
			w.Features = append(w.Features, name)
		}
		all = append(all, w)
	}
	return all
}

// widthLines describes widths in up to two lines. The first line lists the features that have an
// effect, with their widths. The second line lists the features without an effect.
func widthLines(all []Width) string {
	var with, without []string
	one := true
	for _, w := range all {
		features := strings.Join(w.Features, ", ")
		if len(w.Features) > 1 {
			features = "(" + features + ")"
		}
		if one = one && w.Length == all[0].Length; math.IsInf(w.Length, 1) {
			without = append(without, features)
		} else {
			with = append(with, fmt.Sprintf("%s %.3g", features, w.Length))
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case one && len(all) > 1:
		return fmt.Sprintf("one width for all features: %.3g\n", all[0].Length)
	case without == nil:
		return fmt.Sprintf("widths: %s\n", strings.Join(with, ", "))
	}
	return fmt.Sprintf("widths: %s\nwithout effect: %s\n", strings.Join(with, ", "), strings.Join(without, ", "))
}
