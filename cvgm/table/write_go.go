package table

import (
	"bytes"
	"fmt"
	"go/format"
	"go/token"
	"io"
	"maps"
	"slices"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// WriteGo writes the pipeline as one formatted Go file. The file is a separate package with the
// name pkg, and imports only the standard library. It has the following functions. Their argument,
// row, is a map from the names of the columns to the texts of a CSV.
//
//	func Predict(row map[string]string) (float64, error)     // if the target is a number
//	func Decision(row map[string]string) (float64, error)    // for two classes: above 0 for Classes[1]; with Model.LogMean: the logarithm of Predict
//	func Class(row map[string]string) (string, error)        // for two classes
//	func Probability(row map[string]string) (float64, error) // of Classes[1], if Model.LogOdds is set
//	func Interval(row map[string]string, level float64) (low, high float64, err error) // if Intervals is set
//
// The functions PredictValues, DecisionValues and IntervalValues take a list of values in place of
// a row. The list has one value for each of Columns. For a numeric column the value is the number,
// and for a categorical column it is the index of the level. A missing value is NaN. These
// functions are faster, because they do not parse texts.
//
// On amd64 and arm64, the functions return the same bits as the methods Predict, Decision, Class,
// Probability and Interval, and an error for the same rows. They are safe for concurrent use.
//
// The file contains only the code that its columns and its model need. For a kernel machine, it
// contains the support rows. For kernel.Ridge, these are all training rows. For Interval, it
// contains the model of each fold.
//
// The file has no function main. If pkg is "main", another file of the same folder must declare the
// function main.
//
// The error is of kind ErrDomain if pkg is not a valid package name. It is also of kind ErrDomain
// if the kernel or the predictor is of another package, because WriteGo has no Go code for it.
// Other errors come from Decision, Interval and w.
func (p *Pipeline) WriteGo(w io.Writer, pkg string) error {
	m, kernel, err := p.portable()
	if err != nil {
		return err
	}
	f := goFile{target: p.Target, classes: p.Classes}
	f.addModel(m, kernel)
	switch {
	case p.Model.LogMean:
		f.addFunctions("Decision", fmt.Sprintf("the logarithm of the prediction of %q", p.Target))
		f.text(logMeans)
	case len(p.Classes) == 0:
		f.addFunctions("Predict", fmt.Sprintf("the prediction of %q", p.Target))
	default:
		f.addFunctions("Decision", fmt.Sprintf("the decision between %q (above 0) and %q (otherwise)", p.Classes[1], p.Classes[0]))
		f.text(twoClasses)
		if p.Model.LogOdds {
			f.text(twoProbabilities)
		}
	}
	if err := p.writeIntervals(&f); err != nil {
		return err
	}
	return f.write(w, pkg)
}

// WriteGo writes a Go file as [Pipeline.WriteGo] does, for three or more classes. The file has the
// functions
//
//	func Decisions(row map[string]string) ([]float64, error) // one for each class, in the order of Classes
//	func Class(row map[string]string) (string, error)
//	func Probabilities(row map[string]string) ([]float64, error) // only if Joint or each pipeline has Model.LogOdds
//
// and DecisionsValues, which takes values in place of a row.
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
		f.addModel(m, kernel)
		odds = odds && p.Model.LogOdds
	}
	f.text(manyClasses)
	switch {
	case c.Joint:
		f.text(jointProbabilities)
	case odds:
		f.text(manyProbabilities)
	}
	return f.write(w, pkg)
}

// A goFile collects the parts of a Go file.
type goFile struct {
	target  string
	classes []string
	api     bytes.Buffer // the functions
	data    bytes.Buffer
	columns [][]portable.Column // the different lists of columns of the models
	models  int
	widths  bytes.Buffer // variables with the widths of kernels
	folds   bytes.Buffer // the folds of intervals
}

// text adds the code of functions.
func (f *goFile) text(code string) { f.api.WriteString(code) }

// addFunctions adds the functions for one decision to the file. The names of these functions begin
// with the given name, and their comments contain the description.
func (f *goFile) addFunctions(name, description string) {
	f.text(strings.NewReplacer("NAME", name, "WHAT", description).Replace(oneDecision))
}

// addModel adds a model to the file. k is the code of its kernel, if it has one.
func (f *goFile) addModel(m portable.Model, k kernelCode) {
	fmt.Fprintf(&f.data, "\t{\n\t\tColumns: columns%d,\n\t\tMean: %s,\n\t\tDeviation: %s,\n\t\tConstant: %s,\n", indexOf(&f.columns, m.Columns), literals(m.Mean), literals(m.Deviation), literal(m.Constant))
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

// writeIntervals adds the function Interval, with the models and errors of the folds, if p has
// intervals.
func (p *Pipeline) writeIntervals(f *goFile) error {
	if p.Intervals == nil {
		return nil
	}
	e, err := p.encoder()
	if err != nil {
		return err
	}
	if err := args.First(p.Intervals.Check(), p.checkIntervals(e)); err != nil {
		return err
	}
	f.text(strings.NewReplacer("UNITS", fmt.Sprint(p.Intervals.Units), "HIGHEST", fmt.Sprintf("%.3g", p.Intervals.Highest())).Replace(intervals))
	f.folds.WriteString("\nvar folds = []Fold{\n")
	for k, fold := range p.Intervals.Folds {
		own := portable.NewFold(fold.Spread.At, fold.Spread.Size, fold.Scores, fold.Weights)
		part := Pipeline{Model: fold.Model, Target: p.Target}
		m, kernel, err := part.portable()
		if err != nil {
			return args.At(err, "Pipeline.Intervals.Folds[%d]", k)
		}
		f.addModel(m, kernel)
		fmt.Fprintf(&f.folds, "\t{\n\t\tAt: %s,\n\t\tSize: %s,\n\t\tScores: %s,\n\t\tBelow: %s,\n\t},\n", literals(own.At), literals(own.Size), literals(own.Scores), literals(own.Below))
	}
	f.folds.WriteString("}\n")
	return nil
}

// write writes the file, as package pkg, to w.
func (f *goFile) write(w io.Writer, pkg string) error {
	if !token.IsIdentifier(pkg) || pkg == "_" {
		return args.Bad("pkg", qpdiff.ErrDomain, "give the name of a Go package", "is %q", pkg)
	}
	var code, out bytes.Buffer
	fmt.Fprintf(&code, "// Target is the column that is predicted.\nconst Target = %q\n\n", f.target)
	if len(f.classes) > 0 {
		fmt.Fprintf(&code, "// Classes are the classes of the target.\nvar Classes = []string{%s}\n\n", quoteTexts(f.classes))
	}
	var names []string
	for j := range f.columns[0] {
		names = append(names, f.columns[0][j].Source)
	}
	fmt.Fprintf(&code, "// Columns has the column of each value. A date has a value for each of its parts, and each has the date's column.\nvar Columns = []string{%s}\n", quoteTexts(names))
	code.Write(f.api.Bytes())
	var bases []portable.JointBasis
	for k, columns := range f.columns {
		fmt.Fprintf(&code, "\nvar columns%d = []Column{\n", k)
		for j := range columns {
			writeColumn(&code, &columns[j], &bases)
		}
		code.WriteString("}\n")
	}
	for k, basis := range bases {
		if g, ok := basis.(*portable.GaussianBasis); ok {
			fmt.Fprintf(&code, "\nvar joint%d = NewGaussianBasis(%s, %s, %s)\n", k, literal(g.Length), literals(g.Deviations), literals(g.Points))
		}
	}
	fmt.Fprintf(&code, "\nvar models = []Model{\n%s}\n", f.data.Bytes())
	code.Write(f.widths.Bytes())
	code.Write(f.folds.Bytes())
	imports, exported, err := appendNeeded(&code)
	if err != nil {
		return err
	}
	beside := ""
	if pkg == "main" {
		beside = " Another file of the folder has the function main."
	}
	fmt.Fprintf(&out, "// Code generated by table.WriteGo. DO NOT EDIT.\n\n// Package %s predicts %q from the texts of a row.%s\npackage %s\n\nimport (\n", pkg, f.target, beside, pkg)
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&out, "\t%s\n", path)
	}
	out.WriteString(")\n\n")
	out.WriteString(lowerNames(code.Bytes(), exported))
	formatted, err := format.Source(out.Bytes())
	if err != nil {
		return fmt.Errorf("cvgm: WriteGo: %w", err)
	}
	_, err = w.Write(formatted)
	return err
}
