// Package terms builds models that are sums of several terms. Each term depends on columns of a
// [table.Table] and has its own penalty. There are five kinds of terms: smooth functions of a
// number, joint functions of several numbers by a kernel, random effects of the levels of a
// category, bands of numbers with one ridge penalty, and linear terms without penalty. Generalised
// additive models, multiple kernel ridge regression, banded ridge regression and models with random
// effects consist of such terms. The learner is a [penalised.GLM]. Package tune chooses the
// penalties. A [table.Pipeline] makes predictions from rows of text.
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

// A Term is one summand of the prediction of an [Additive] model. [Smooth], [Kernel], [Groups], [Band]
// and [Linear] make Terms, whose fields may then be changed.
type Term struct {
	// Name is the name of the term. The penalty of the term has the name λ(Name). All terms of a
	// model have different names.
	Name string
	// Columns names the columns of the table on which the term depends. A column is in at most one
	// term of a model.
	Columns []string
	// Kind is the effect of each column.
	Kind table.EffectKind
	// Bases, Low, High and Length have the meanings of the same fields of [table.Effect]. A smooth
	// term uses Bases, Low and High, and a kernel uses Bases and Length.
	Bases     int
	Low, High float64
	Length    float64
}

// Smooth returns a smooth function of a numeric column. The function is a P-spline (Eilers and Marx
// 1996) of 10 cubic B-splines, with equally spaced knots over the range of the column. The penalty
// is λ times the sum of the squared second differences of the splines' weights. For a straight line
// this sum is 0, so a larger λ brings the function closer to a straight line. Outside the range,
// the function continues along its tangent. Neither the unit nor the zero of the column affects a
// prediction. A single outlier widens the range, so that few splines remain for the other values.
// In that case, set the range by Low and High.
func Smooth(column string) Term {
	return Term{Name: column, Columns: []string{column}, Kind: table.SmoothEffect}
}

// Kernel returns a smooth joint function of numeric columns, which may have any interactions of the
// columns. The function f is in the space of a Gaussian kernel k, and the penalty is λ times ‖f‖², the
// square of its norm in this space. Each column is in units of its standard deviation in the whole
// table, so that no unit affects a prediction. In these units, k has the length scale Term.Length, by
// default √d for d columns; see [table.Effect].
//
// A model of several kernels is multiple kernel ridge regression: with the squared loss, the
// prediction is b + Σ_iα_iK(x, x_i) with K = Σ_jk_j/λ_j, and, if the table has no weights, α = y −
// b − Kα at its rows. The loss may also be logistic or Poisson.
//
// The features are the Nyström approximation of k at the inducing rows: at most Term.Bases rows of
// the table, by default 200, at most 1000. Pivoted Cholesky factorisation chooses them (Fine and
// Scheinberg 2001); see [table.Table.WithEffects]. If the remainders of all rows are negligible,
// the model is exact kernel ridge regression. They always are if the table has at most Term.Bases
// rows, and usually if there are only one or two columns. For many rows of more columns, a larger
// Term.Bases may lower the CV loss. A fit with n features costs O(Nn² + n³) for N rows, and a
// prediction O(n²).
//
// Far from all inducing rows, the function is 0. A pipeline stores the inducing rows, and so do its
// JSON and its Go file.
func Kernel(name string, columns ...string) Term {
	return Term{Name: name, Columns: slices.Clone(columns), Kind: table.KernelEffect}
}

// Groups returns random effects of the levels of a categorical column: one constant for each level.
// The penalty is λ times the sum of the squares of these constants. It shrinks the levels towards
// the intercept. The setting table.UnknownIsZero allows predictions for a level that the training
// data do not contain. The effect of such a level is 0.
func Groups(column string) Term {
	return Term{Name: column, Columns: []string{column}, Kind: table.LevelsEffect}
}

// Band returns a linear function of several numeric columns with one ridge penalty. The penalty is
// λ times the sum of the squares of the weights. Each column is in units of its standard deviation
// on the training rows. A model of several Bands is banded ridge regression.
func Band(name string, columns ...string) Term {
	return Term{Name: name, Columns: slices.Clone(columns), Kind: table.ScaledEffect}
}

// Linear returns a linear function of the given columns, without a penalty. The columns may be
// numeric or categorical. A categorical column has a weight for each level except the baseline.
func Linear(columns ...string) Term {
	return Term{Name: strings.Join(columns, ", "), Columns: slices.Clone(columns), Kind: table.PlainEffect}
}

// Additive returns a model for the target of the table t. The model is the sum of the terms and an
// intercept. It consists of two parts: a table of the terms' columns, which makes the features, and
// a learner for these features. The learner has one hyperparameter for each term with a penalty, in
// the order of the terms. The model does not use columns that are in no term.
//
// A [tune.Tuner] takes the table and the learner. A [cvgm.Config] takes the learner and the data
// that [table.Table.Data] returns. The loss of the learner is a sum over the rows, not a mean, so a
// suitable λ grows with the number of rows. The loss must suit the target: [penalised.Logistic]
// requires two classes, and [penalised.Poisson] requires numbers of at least 0.
//
// Two parts of a model have no penalty: linear terms, and the straight lines in smooth terms. The
// data must therefore determine the weights of these parts. If they do not, a fit returns an error
// of kind [qpdiff.ErrIllPosed]. The error names a feature that is a linear combination of others.
//
// Additive returns the errors of [table.Table.WithEffects]. It returns an error of kind
// [qpdiff.ErrDomain] if two terms have the same name, if a term has no column, or if no term has a
// penalty.
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
			effects = append(effects, table.Effect{Column: c, Kind: term.Kind, Term: term.Name, Bases: term.Bases, Low: term.Low, High: term.High, Length: term.Length})
		}
	}
	if !slices.ContainsFunc(all, func(t Term) bool { return t.Kind != table.PlainEffect }) {
		return nil, nil, args.Bad("terms", qpdiff.ErrDomain, "give a Smooth, Kernel, Groups or Band, or learn from the table without terms", "have no penalty: %s", quoteNames(all))
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

// quoteNames lists the names of terms.
func quoteNames(all []Term) string {
	if len(all) == 0 {
		return "there are none"
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("%q", names)
}
