package mydata

import (
	"context"
	"fmt"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune/assess"

	"gonum.org/v1/gonum/mat"
)

// Result is the result of tuning a model on a table.
type Result struct {
	Name    string // name of the data
	Target  string
	Classes []string // classes of the target; the second of two is +1; none: the target is a number
	Rows    int      // rows that are used
	Dropped int      // rows that are left out, because they lack a value
	Groups  int      // number of groups of rows that stay together; 0: no groups
	Columns []Column
	// Baselines has, for each feature of a level, the level with which its coefficient compares it.
	// For other features the entry is zero. All models have the same features.
	Baselines []Baseline
	Learner   string  // name of the learner in words
	Models    []Model // one model; with separate models for three or more classes, one for each class
	// Joint has the results that all classes of one multinomial model share: verdict, losses,
	// hyperparameters and learning curve. If Joint is set, each entry of Models is the part of this
	// model for one class. This part has the coefficients, the features, and the decisions for the
	// class against all others. If Joint is nil, the models in Models are tuned separately.
	Joint *Model
	// Multiclass has the metrics of the predicted classes, if there are three or more classes. It
	// uses the same predictions as Confusion.
	Multiclass *assess.Multiclass
	// Confusion counts the rows of each true class (row) and predicted class (column), as a mean
	// over the repeats of the outer folds; see Judged.
	Confusion [][]float64
	Boundary  *Boundary // for classes and exactly two numeric columns; otherwise nil
	Houses    string    // the CSV of the made-up houses, if they are the data; otherwise empty
}

// Column describes a column of the file that is not ignored.
type Column struct {
	table.Described
	Numeric bool     // Low and High are numbers; otherwise they are 0
	Choices []Choice // choices that the file leaves open
}

// Baseline is the level of a column of levels that has no feature; see [table.Encoder].
type Baseline struct {
	Column string // of the table; a column of dates makes several
	Level  string
	Rows   int // rows without a feature of the column; almost always all rows of the level
}

// baselines returns the baseline of each feature of the table, whose values are x.
func baselines(t *table.Table, x mat.Matrix) (all []Baseline) {
	rows, _ := x.Dims()
	for j := range t.Columns {
		c, b := &t.Columns[j], Baseline{}
		if c.Kind == table.Categorical {
			b = Baseline{Column: c.Name, Level: c.Levels[0]}
			for i := range rows {
				if x.At(i, j) == 0 {
					b.Rows++
				}
			}
		}
		for range c.Features() {
			all = append(all, b)
		}
	}
	return all
}

// Choice is a choice that CSV.Read made for a column.
type Choice struct {
	Text      string // one sentence
	Parameter string // the parameter that overrules the choice
}

// Run tunes the learner. If Read was not called, Run reads the file. A relative path then begins in
// the working folder.
func (p MyDataParams) Run(ctx context.Context, hooks experiment.Hooks) (*Result, error) {
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
	r.Columns, r.Baselines = myColumns(description), baselines(whole, d.X)
	var predictors []*cvgm.Model // for each class, or for the one model
	if len(whole.Classes) > 2 {
		var all *classModel
		if all, err = p.severalClasses(ctx, hooks, whole); err == nil {
			r.Learner, r.Models, r.Joint, r.Multiclass, predictors = all.learner, all.models, all.joint, all.metrics, all.predictors
		}
	} else {
		predictors, err = p.oneModel(ctx, hooks, r, whole)
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

// oneModel tunes one model, for a numeric target or two classes.
func (p MyDataParams) oneModel(ctx context.Context, hooks experiment.Hooks, r *Result, t *table.Table) ([]*cvgm.Model, error) {
	tuner := p.tuner(hooks, 1)
	tuner.Learner, r.Learner = p.learner(len(t.Classes) > 0)
	tuned, err := tuner.TuneTable(ctx, t)
	if err != nil {
		return nil, err
	}
	m, err := p.model(ctx, tuned, t, true)
	r.Models = []Model{m}
	return []*cvgm.Model{tuned.Model}, err
}

// Searched returns the models that were tuned separately: Joint if it is not nil, and otherwise
// Models.
func (r *Result) Searched() []Model {
	if r.Joint != nil {
		return []Model{*r.Joint}
	}
	return r.Models
}

// ratesOf returns two shares of rows that are predicted as the given class. The first is the share
// among the rows of the other classes. The second is the share among the rows of the class itself.
func ratesOf(confusion [][]float64, class int) (rates [2]float64) {
	var called, all [2]float64 // of the other classes, and of the class
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

// myColumns returns the columns of a description, with the choices of its notes.
func myColumns(d *table.Description) []Column {
	var all []Column
	for _, described := range d.Columns {
		c := Column{Described: described, Numeric: described.Low == described.Low}
		if !c.Numeric {
			c.Low, c.High = 0, 0 // results are compared, and NaN equals nothing
		}
		for _, n := range d.Notes {
			if n.Column == c.Name {
				c.Choices = append(c.Choices, Choice{byParameters(n.Text), byParameters(n.Field)})
			}
		}
		all = append(all, c)
	}
	return all
}

// File is a file that is written into the folder of the outputs.
type File struct{ Name, Text, About string }

// Files returns the files of a result. They are the models as JSON and, if the data are the made-up
// houses, the CSV of these data. The JSON of one model is for [table.Pipeline]. The JSON of one
// model of several classes is for [table.OneVsRest]. About describes each file in one sentence.
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
