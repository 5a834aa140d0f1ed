package mydata

import (
	"context"
	"fmt"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff/learn"
)

// Result is the result of tuning on a table.
type Result struct {
	Name    string // of the data
	Target  string
	Classes []string // of the target: of two the second is +1; none: the target is a number
	Rows    int      // used
	Dropped int      // left out, because they lack a value
	Groups  int      // of rows that stay together; 0: none
	Columns []Column
	Learner string  // in words
	Models  []Model // one, or with three and more classes one for each
	// Joint has what the classes of one multinomial model share: verdict, losses, hyperparameters and
	// learning curve. Each of Models then has the part of a class: its decisions against all others,
	// its coefficients and features. Nil: each of Models is tuned by itself.
	Joint *Model
	// Multiclass judges the predicted classes of three and more, by the same predictions as
	// Confusion.
	Multiclass *assess.Multiclass
	// Confusion counts the rows of each true class (row) and predicted class (column), as a mean
	// over the repeats of the outer folds; see Judged.
	Confusion [][]float64
	Boundary  *Boundary // of classes of exactly two numeric columns; nil: there is none
	Houses    string    // the CSV of the made-up houses, if they are the data
}

// Column describes a column of the file that is not ignored.
type Column struct {
	table.Described
	Numeric bool     // Low and High are numbers; else they are 0
	Choices []Choice // that the file left open
	Counts  bool     // the numbers count the rows, each one more than the one before
}

// Choice is a choice that reading a column made.
type Choice struct {
	Text      string // a sentence
	Parameter string // overrules it
}

// Run tunes the learner. Unless Read was called, it reads the file from the working folder.
func (p MyDataParams) Run(ctx context.Context) (*Result, error) {
	if p.content == nil {
		var err error
		if p, err = p.Read(""); err != nil {
			return nil, err
		}
	}
	if err := experiment.FirstError(experiment.Check(&p), ctx.Err()); err != nil {
		return nil, err
	}
	whole := p.content.table
	rows, _ := whole.Dims()
	description := whole.Describe()
	r := &Result{Name: p.Name(), Target: whole.Target, Classes: whole.Classes, Rows: rows, Dropped: description.Dropped}
	if p.File == "" {
		r.Houses = p.content.text
	}
	for _, g := range whole.Groups {
		r.Groups = max(r.Groups, g+1)
	}
	data := whole.Data
	if len(whole.Classes) > 2 {
		data = whole.ClassData
	}
	d, _, err := data()
	if err != nil {
		return nil, err
	}
	r.Columns = myColumns(description, whole.Columns, d)
	var predictors []*cvgm.Model // of the classes, or of the one model
	if len(whole.Classes) > 2 {
		var all *classModel
		if all, err = p.severalClasses(ctx, whole); err == nil {
			r.Learner, r.Models, r.Joint, r.Multiclass, predictors = all.learner, all.models, all.joint, all.metrics, all.predictors
		}
	} else {
		predictors, err = p.oneModel(ctx, r, whole)
	}
	if err != nil {
		return nil, inParameters(err)
	}
	r.Confusion = confusion(whole, r.Models, p.Threshold)
	if len(r.Models) > 1 {
		for k := range r.Models {
			r.Models[k].Judged.ROC.At = ratesOf(r.Confusion, k)
		}
	}
	r.Boundary, err = p.boundary(whole, d, predictors)
	return r, err
}

// oneModel tunes for a number or two classes.
func (p MyDataParams) oneModel(ctx context.Context, r *Result, t *table.Table) ([]*cvgm.Model, error) {
	tuner := p.tuner(ctx, 1)
	tuner.Learner, r.Learner = p.learner(len(t.Classes) > 0)
	tuned, err := tuner.TuneTable(ctx, t)
	if err != nil {
		return nil, err
	}
	m, err := p.model(ctx, tuned, t, true)
	r.Models = []Model{m}
	return []*cvgm.Model{tuned.Model}, err
}

// Searched returns the models that were tuned, each by itself: Joint, or Models.
func (r *Result) Searched() []Model {
	if r.Joint != nil {
		return []Model{*r.Joint}
	}
	return r.Models
}

// ratesOf returns two rates by a confusion: the share of the other classes' rows that are assigned
// to a class, and the share of its own rows.
func ratesOf(confusion [][]float64, class int) (rates [2]float64) {
	var called, all [2]float64 // of the others, and of the class
	for k, row := range confusion {
		own := 0
		if k == class {
			own = 1
		}
		for l, n := range row {
			all[own] += n
			if l == class {
				called[own] += n
			}
		}
	}
	for own := range rates {
		if all[own] > 0 {
			rates[own] = called[own] / all[own]
		}
	}
	return rates
}

// myColumns describes the columns of the file, from the description of the table and the values
// that Table.Data returns.
func myColumns(d *table.Description, columns []table.Column, data learn.Data) []Column {
	var all []Column
	for _, described := range d.Columns {
		c := Column{Described: described, Numeric: described.Low == described.Low}
		if !c.Numeric {
			c.Low, c.High = 0, 0 // results are compared
		}
		for _, n := range d.Notes {
			if n.Column == c.Name {
				c.Choices = append(c.Choices, Choice{n.Text, byParameters(n.Field)})
			}
		}
		j := slices.IndexFunc(columns, func(of table.Column) bool { return of.Name == c.Name && of.Kind == table.Numeric && of.Date == nil })
		c.Counts = j >= 0 && len(data.Y) > 1
		for i := 1; c.Counts && i < len(data.Y); i++ {
			c.Counts = data.X.At(i, j) == data.X.At(i-1, j)+1
		}
		all = append(all, c)
	}
	return all
}

// File is a file to write beside the outputs.
type File struct{ Name, Text, About string }

// Files returns the models as JSON for [table.Pipeline], one of several classes for
// [table.OneVsRest], and the CSV of the made-up houses if they
// are the data. About describes each file in one sentence.
func (r *Result) Files() []File {
	var all []File
	for k, m := range r.Searched() {
		f := File{Name: "my_data_pipeline.json", Text: m.Pipeline, About: fmt.Sprintf("predicts %s", r.Target)}
		switch {
		case r.Joint != nil:
			f.About = fmt.Sprintf("predicts %s, one of %d classes with their probabilities", r.Target, len(r.Classes))
		case len(r.Models) > 1:
			f.Name = fmt.Sprintf("my_data_pipeline_%d.json", k+1)
			f.About = fmt.Sprintf("tells %q from the other classes of %s", m.Class, r.Target)
		case m.Class != "":
			f.About = fmt.Sprintf("tells %q, which is +1, from %q in %s", m.Class, r.Classes[0], r.Target)
		}
		f.About = f.Name + " " + experiment.Visible(f.About) + "."
		all = append(all, f)
	}
	if r.Houses != "" {
		all = append(all, File{"houses.csv", r.Houses, "houses.csv holds the made-up houses."})
	}
	return all
}
