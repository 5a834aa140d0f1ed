// Package terms builds models of several terms, each with a penalty of its own, on the columns of a
// [table.Table]: smooth functions of a number, random effects of the levels of a category, bands of
// numbers that share a ridge penalty, and linear terms without a penalty. Generalised additive models,
// banded ridge regression and models with random effects are such models. The learner is a
// [penalised.GLM], package tune chooses its penalties, and a [table.Pipeline] predicts from texts.
package terms

import (
	"fmt"
	"slices"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/spline"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/penalised"
)

// A Term is a part of the sum that a model of [Additive] predicts by. [Smooth], [Groups], [Band] and
// [Linear] make Terms, of which fields may then be changed.
type Term struct {
	// Name is the name of the term and of its penalty, λ(Name). No two terms of a model have the
	// same.
	Name string
	// Columns names the columns of the table that the term depends on. A column is in one term of a model
	// at most.
	Columns []string
	// Kind is the effect of each column.
	Kind table.EffectKind
	// Bases, Low and High set the [table.Effect] of a smooth term.
	Bases     int
	Low, High float64
}

// Smooth returns a smooth function of a numeric column: a P-spline (Eilers and Marx 1996) of 10 cubic
// B-splines with equally spaced knots over the range of the column. The penalty is the sum of
// squared differences of order 2 of their weights: a straight line has the penalty 0, and the larger
// λ, the closer is the function to one. Beyond the range the function continues on its tangent.
// Neither the unit nor the zero of the column changes a prediction.
//
// A single outlier stretches the range, and leaves few splines for the other values: set Low and High
// then.
func Smooth(column string) Term {
	return Term{Name: column, Columns: []string{column}, Kind: table.SmoothEffect}
}

// Groups returns random effects of the levels of a categorical column: a constant for each level,
// with the sum of their squares as the penalty. The larger λ, the more are the levels shrunk towards
// the intercept. A level that table.UnknownIsZero admits at a prediction has the effect 0.
func Groups(column string) Term {
	return Term{Name: column, Columns: []string{column}, Kind: table.LevelsEffect}
}

// Band returns a linear function of some numeric columns, with a ridge penalty: the sum of squares of
// their weights, in units of the columns' standard deviations on the training rows. Several Bands
// are banded ridge regression.
func Band(name string, columns ...string) Term {
	return Term{Name: name, Columns: slices.Clone(columns), Kind: table.ScaledEffect}
}

// Linear returns a linear function of some columns without a penalty: numbers, and of categorical
// columns the levels but the first.
func Linear(columns ...string) Term {
	return Term{Name: strings.Join(columns, ", "), Columns: slices.Clone(columns), Kind: table.PlainEffect}
}

// Additive returns the model that is the sum of the terms and an intercept, for the target of the
// table: the table of the terms' columns, which makes the features, and the learner of these, with a
// penalty for each term that has one, in their order. Columns in no term are no part of the model.
//
// The two go together into [tune.Tuner] or, by [table.Table.Data], into a [cvgm.Config]. The learner's
// loss is a sum over the rows, so that λ has the unit of a number of rows. The loss must
// suit the target: [penalised.Logistic] two classes, [penalised.Poisson] numbers at or above 0. The
// model of a linear term must be unique, and so must be the straight lines of smooth terms: an error
// of kind [qpdiff.ErrIllPosed] from a fit names a feature that is a linear combination of others.
//
// Errors come from [table.Table.WithEffects], or are of kind [qpdiff.ErrDomain] for terms of the same
// name, terms without a column, and terms without any penalty.
func Additive(t *table.Table, loss penalised.Loss, all ...Term) (*table.Table, *penalised.GLM, error) {
	var effects []table.Effect
	names := map[string]bool{}
	for k, term := range all {
		if err := args.First(
			args.BadIf(names[term.Name], "Term.Name", qpdiff.ErrDomain, "name each term once", "is %q twice", term.Name),
			args.BadIf(term.Name == "", "Term.Name", qpdiff.ErrEmpty, "name each term", "is empty in term %d", k),
			args.BadIf(len(term.Columns) == 0, "Term.Columns", qpdiff.ErrEmpty, "name at least one", "is empty in term %q", term.Name),
			args.BadIf(term.Kind == table.SmoothEffect && len(term.Columns) > 1, "Term.Columns", qpdiff.ErrDomain, "make a smooth term of each", "has %d columns in the smooth term %q", len(term.Columns), term.Name),
		); err != nil {
			return nil, nil, err
		}
		names[term.Name] = true
		for _, c := range term.Columns {
			effects = append(effects, table.Effect{Column: c, Kind: term.Kind, Term: term.Name, Bases: term.Bases, Low: term.Low, High: term.High})
		}
	}
	if !slices.ContainsFunc(all, func(t Term) bool { return t.Kind != table.PlainEffect }) {
		return nil, nil, args.Bad("terms", qpdiff.ErrDomain, "give a Smooth, Groups or Band, or learn from the table without terms", "have no penalty: %s", quoted(all))
	}
	part, err := t.WithEffects(effects...)
	if err != nil {
		return nil, nil, err
	}
	l := &penalised.GLM{Loss: loss, Intercept: true, Raw: true}
	at, column := 0, 0
	for _, term := range all {
		first := at
		for range term.Columns {
			at += part.Columns[column].Features()
			column++
		}
		var p penalised.Penalty
		switch term.Kind {
		case table.PlainEffect:
			continue
		case table.SmoothEffect:
			p = penalised.Penalty{First: first, S: spline.Penalty(at - first + 1)}
		default:
			p = penalised.Ridge(first, at-first)
		}
		p.Name = term.Name
		l.Penalties = append(l.Penalties, p)
	}
	return part, l, nil
}

// quoted lists the names of terms.
func quoted(all []Term) string {
	if len(all) == 0 {
		return "there are none"
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("%q", names)
}
