package terms

import (
	"fmt"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
)

// A Summary describes a term of a fitted model.
type Summary struct {
	Term string
	Kind table.EffectKind
	// Lambda is the multiplier λ of the term's penalty. It is 0 for a linear term.
	Lambda float64
	// Features is the number of features of the term. Freedom is the effective number of degrees of
	// freedom of these features at the penalty Lambda: see [penalised.GLM.Freedom]. A smooth term
	// with a Freedom of 1 is a straight line.
	Features int
	Freedom  float64
}

// Summaries describe a fitted model: one Summary for each term, in the order of the terms. The
// method String formats the summaries as lines.
type Summaries []Summary

// String returns one line for each term: the name, the kind, λ and the degrees of freedom of the
// term.
func (all Summaries) String() string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s (%v): ", s.Term, s.Kind)
		if s.Kind != table.PlainEffect {
			fmt.Fprintf(&b, "λ = %.3g, ", s.Lambda)
		}
		fmt.Fprintf(&b, "%.2f of %d degrees of freedom\n", s.Freedom, s.Features)
	}
	return b.String()
}

// Summarise describes the terms of a fitted model that [Additive] has made. The model may have been
// read from JSON. For a model of another learner, Summarise returns an error of kind
// [qpdiff.ErrDomain]. It also returns the errors of [table.Pipeline.Features].
func Summarise(p *table.Pipeline) (Summaries, error) {
	features, err := p.Features()
	if err != nil {
		return nil, err
	}
	var all Summaries
	penalties := 0
	for j, f := range features {
		if f.Effect == nil || len(p.Model.Freedom) < len(features) {
			return nil, args.Bad("Pipeline", qpdiff.ErrDomain, "tune the table and the learner of terms.Additive", "has no terms")
		}
		if n := len(all); n == 0 || all[n-1].Term != f.Effect.Term {
			s := Summary{Term: f.Effect.Term, Kind: f.Effect.Kind}
			if s.Kind != table.PlainEffect {
				if penalties == len(p.Model.Hyper) {
					return nil, args.Bad("Model.Hyper", qpdiff.ErrShape, "use the hyperparameters with the model that they fitted", "has %d entries for more terms with a penalty", penalties)
				}
				s.Lambda = p.Model.Hyper[penalties]
				penalties++
			}
			all = append(all, s)
		}
		s := &all[len(all)-1]
		s.Features++
		s.Freedom += p.Model.Freedom[j]
	}
	return all, nil
}
