package table

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// WriteGo writes the pipeline as one Go file of package pkg, formatted, which imports the standard
// library alone. The file has a package of its own, with these functions of a row, which is given
// by the names of its columns as the texts that a CSV would hold:
//
//	func Predict(row map[string]string) (float64, error)     // if the target is a number
//	func Decision(row map[string]string) (float64, error)    // if it is one of two classes: above 0 for Classes[1]; with Model.LogMean the logarithm of Predict
//	func Class(row map[string]string) (string, error)
//	func Probability(row map[string]string) (float64, error) // of Classes[1], if Model.LogOdds is set
//
// PredictValues and DecisionValues take numbers instead: the values of Columns, of a categorical
// column the index of its level, NaN for a missing value. They are faster, because no text is read.
//
// The results have the bits of Predict, Decision, Class and Probability on amd64 and arm64, and a row is an
// error of the file if it is one of the pipeline. The functions may be called at the same time.
// The file holds the support rows of a kernel machine: all its training rows, for kernel.Ridge.
//
// Effects of columns are written, too. Errors are of kind ErrDomain for a pkg that is no name of a
// package, for Intervals, which have no Go code, and so for a feature map, a kernel of another package,
// and a predictor; others are those of Decision and of w.
func (p *Pipeline) WriteGo(w io.Writer, pkg string) error {
	m, kernel, err := p.portable()
	if err != nil {
		return err
	}
	f := goFile{target: p.Target, classes: p.Classes}
	f.model(m, kernel)
	switch {
	case p.Model.LogMean:
		f.functions("Decision", fmt.Sprintf("the logarithm of the prediction of %q", p.Target))
		f.text(logMeans)
	case len(p.Classes) == 0:
		f.functions("Predict", fmt.Sprintf("the prediction of %q", p.Target))
	default:
		f.functions("Decision", fmt.Sprintf("a number that is above 0 for the class %q, else for %q,", p.Classes[1], p.Classes[0]))
		f.text(twoClasses)
		if p.Model.LogOdds {
			f.text(twoProbabilities)
		}
	}
	return f.write(w, pkg)
}

// WriteGo is [Pipeline.WriteGo] for three or more classes, with the functions
//
//	func Decisions(row map[string]string) ([]float64, error) // of each class, in the order of Classes
//	func Class(row map[string]string) (string, error)
//	func Probabilities(row map[string]string) ([]float64, error) // if Model.LogOdds is set in each pipeline
//
// and DecisionsValues, which takes numbers.
func (c *OneVsRest) WriteGo(w io.Writer, pkg string) error {
	if err := c.check(); err != nil {
		return err
	}
	f := goFile{target: c.Pipelines[0].Target, classes: c.Classes()}
	odds := true
	for k, p := range c.Pipelines {
		m, kernel, err := p.portable()
		if err != nil {
			return args.At(err, "OneVsRest.Pipelines[%d]", k)
		}
		f.model(m, kernel)
		odds = odds && p.Model.LogOdds
	}
	f.text(manyClasses)
	if odds {
		f.text(manyProbabilities)
	}
	return f.write(w, pkg)
}

// A goFile is a Go file that is written.
type goFile struct {
	target  string
	classes []string
	api     bytes.Buffer // functions
	data    bytes.Buffer
	columns [][]portable.Column // the different ones
	models  int
	widths  bytes.Buffer // of kernels
}

// text adds functions.
func (f *goFile) text(code string) { f.api.WriteString(code) }

// functions adds the functions of one decision.
func (f *goFile) functions(name, what string) {
	f.text(strings.NewReplacer("NAME", name, "WHAT", what).Replace(oneDecision))
}

const oneDecision = `
// NAME returns WHAT for a row, which is given by the names of its columns as the texts
// that a CSV would hold. Other names are ignored. An error names the column that is missing, or
// the field that has no value.
func NAME(row map[string]string) (float64, error) {
	values, err := Values(models[0].Columns, row)
	if err != nil {
		return math.NaN(), err
	}
	return NAMEValues(values)
}

// NAMEValues is NAME for the values of Columns: of a column of numbers its number, of
// a column of levels the index of the row's level, and NaN for a missing value.
func NAMEValues(values []float64) (float64, error) {
	return models[0].Decision(values)
}
`

const logMeans = `
// Predict returns the prediction for a row, e to the power Decision.
func Predict(row map[string]string) (float64, error) {
	d, err := Decision(row)
	if err != nil {
		return math.NaN(), err
	}
	return Expected(d)
}

// PredictValues is Predict for the values of Columns, as DecisionValues has them.
func PredictValues(values []float64) (float64, error) {
	d, err := DecisionValues(values)
	if err != nil {
		return math.NaN(), err
	}
	return Expected(d)
}
`

const twoClasses = `
// Class returns the class of a row, by Decision.
func Class(row map[string]string) (string, error) {
	d, err := Decision(row)
	switch {
	case err != nil:
		return "", err
	case d > 0:
		return Classes[1], nil
	}
	return Classes[0], nil
}
`

const twoProbabilities = `
// Probability returns the probability of Classes[1] for a row, 1/(1 + exp(−Decision)).
func Probability(row map[string]string) (float64, error) {
	d, err := Decision(row)
	if err != nil {
		return math.NaN(), err
	}
	return Logistic(d), nil
}
`

const manyClasses = `
// Decisions returns a number for each of Classes, the largest for the class of the row. The row is
// given by the names of its columns as the texts that a CSV would hold. Other names are ignored. An
// error names the column that is missing, or the field that has no value.
func Decisions(row map[string]string) ([]float64, error) {
	values, err := Values(models[0].Columns, row)
	if err != nil {
		return nil, err
	}
	return DecisionsValues(values)
}

// DecisionsValues is Decisions for the values of Columns: of a column of numbers its number, of
// a column of levels the index of the row's level, and NaN for a missing value.
func DecisionsValues(values []float64) ([]float64, error) {
	decisions := make([]float64, len(models))
	for k := range models {
		d, err := models[k].Decision(values)
		if err != nil {
			return nil, err
		}
		decisions[k] = d
	}
	return decisions, nil
}

// Class returns the class with the largest of Decisions, of equal ones the first.
func Class(row map[string]string) (string, error) {
	decisions, err := Decisions(row)
	if err != nil {
		return "", err
	}
	most := 0
	for k, d := range decisions {
		if d > decisions[most] {
			most = k
		}
	}
	return Classes[most], nil
}
`

const manyProbabilities = `
// Probabilities returns the probability of each of Classes: 1/(1 + exp(−decision)) over their sum.
func Probabilities(row map[string]string) ([]float64, error) {
	p, err := Decisions(row)
	if err != nil {
		return nil, err
	}
	Shares(p)
	return p, nil
}
`

// model adds a model.
func (f *goFile) model(m portable.Model, k kernelCode) {
	at := slices.IndexFunc(f.columns, func(c []portable.Column) bool { return reflect.DeepEqual(c, m.Columns) })
	if at < 0 {
		at = len(f.columns)
		f.columns = append(f.columns, m.Columns)
	}
	fmt.Fprintf(&f.data, "\t{\n\t\tColumns: columns%d,\n\t\tMean: %s,\n\t\tDeviation: %s,\n\t\tConstant: %s,\n", at, literals(m.Mean), literals(m.Deviation), literal(m.Constant))
	switch {
	case m.Kernel == nil:
		fmt.Fprintf(&f.data, "\t\tWeights: %s,\n", literals(m.Weights))
		if m.Stored {
			f.data.WriteString("\t\tStored: true,\n")
		}
	default:
		if k.widths != nil {
			name := fmt.Sprintf("widths%d", f.models)
			k.code = strings.Replace(k.code, "widths", name, 1)
			fmt.Fprintf(&f.widths, "\nvar %s = %s\n", name, literals(k.widths))
		}
		fmt.Fprintf(&f.data, "\t\tKernel: func(x, z []float64) float64 { return %s },\n\t\tCoefficients: %s,\n\t\tPoints: %s,\n\t\tIntercept: %s,\n",
			k.code, literals(m.Coefficients), literals(m.Points), literal(m.Intercept))
	}
	f.data.WriteString("\t},\n")
	f.models++
}

// write writes the file.
func (f *goFile) write(w io.Writer, pkg string) error {
	if !token.IsIdentifier(pkg) || pkg == "_" {
		return args.Bad("pkg", qpdiff.ErrDomain, "give the name of a Go package", "is %q", pkg)
	}
	var code, out bytes.Buffer
	fmt.Fprintf(&code, "// Target is the column that is predicted.\nconst Target = %q\n\n", f.target)
	if len(f.classes) > 0 {
		fmt.Fprintf(&code, "// Classes are the classes of the target.\nvar Classes = []string{%s}\n\n", quoted(f.classes))
	}
	var names []string
	for j := range f.columns[0] {
		names = append(names, f.columns[0][j].Source)
	}
	fmt.Fprintf(&code, "// Columns are the columns of the values, those of a row's texts. Parts of a date have its column.\nvar Columns = []string{%s}\n", quoted(names))
	code.Write(f.api.Bytes())
	for k, columns := range f.columns {
		fmt.Fprintf(&code, "\nvar columns%d = []Column{\n", k)
		for j := range columns {
			writeColumn(&code, &columns[j])
		}
		code.WriteString("}\n")
	}
	fmt.Fprintf(&code, "\nvar models = []Model{\n%s}\n", f.data.Bytes())
	code.Write(f.widths.Bytes())
	imports, exported, err := carried(&code)
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "// Code generated by table.WriteGo. DO NOT EDIT.\n\n// Package %s predicts %q from the texts of a row.\npackage %s\n\nimport (\n", pkg, f.target, pkg)
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&out, "\t%s\n", path)
	}
	out.WriteString(")\n\n")
	out.WriteString(unexport(code.Bytes(), exported))
	formatted, err := format.Source(out.Bytes())
	if err != nil {
		return fmt.Errorf("cvgm: WriteGo: %w", err)
	}
	_, err = w.Write(formatted)
	return err
}
