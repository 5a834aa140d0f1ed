package mydata

import (
	"context"
	"fmt"
	"math"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
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
	// Confusion counts the examples of each class (row) by the class that is predicted for them
	// out of fold (column).
	Confusion [][]int
	Boundary  *Boundary // of classes of exactly two numeric columns; nil: there is none
	Houses    string    // the CSV of the made-up houses, if they are the data
}

// Column describes a column of the table.
type Column struct {
	Name      string
	Numeric   bool
	Levels    []string // of a categorical column
	Missing   int      // rows without a value
	Low, High float64  // of the values of a numeric column
	Counts    bool     // the numbers count the rows, each one more than the one before
}

// Run tunes the learner. Without Read it reads the file from the working folder.
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
	r := &Result{Name: p.Name(), Target: whole.Target, Classes: whole.Classes, Rows: rows, Dropped: p.dropped(whole)}
	if p.File == "" {
		r.Houses = p.content.text
	}
	for _, g := range whole.Groups {
		r.Groups = max(r.Groups, g+1)
	}
	single := []*table.Table{whole}
	if len(whole.Classes) > 2 {
		single = nil
		for _, class := range whole.Classes {
			binary, err := whole.Binary(class)
			if err != nil {
				return nil, err
			}
			single = append(single, binary)
		}
	}
	d, _, err := single[0].Data()
	if err != nil {
		return nil, err
	}
	r.Columns = myColumns(whole.Columns, d)
	prototype, name := p.learner(len(whole.Classes) > 0)
	r.Learner = name
	models, tuned := make([]Model, len(single)), make([]*tune.Tuned, len(single))
	for k, binary := range single {
		report := experiment.Progress(ctx)
		tuner := tune.Tuner{Learner: prototype, Seed: p.Seed, OuterFolds: p.OuterFolds, MaxTime: time.Duration(p.Seconds * float64(time.Second)),
			Progress: func(t tune.Progress) {
				if report != nil && t.Left > 0 {
					share := (float64(k) + t.Elapsed.Seconds()/(t.Elapsed+t.Left).Seconds()) / float64(len(single))
					report(int(100*share), 100)
				}
			}}
		switch p.OuterFolds {
		case 0:
			tuner.OuterFolds = -1
		case DefaultMyData().OuterFolds:
			tuner.OuterFolds = 0 // the default number, or as many as the data allow
		}
		if tuned[k], err = tuner.TuneTable(ctx, binary); err == nil {
			models[k], err = p.model(ctx, tuned[k], binary, len(single) == 1)
		}
		if err != nil {
			if len(single) > 1 {
				err = fmt.Errorf("class %q: %w", whole.Classes[k], err)
			}
			return nil, err
		}
	}
	r.Models = models
	r.Confusion = confusion(whole, models)
	r.Boundary, err = p.boundary(whole, d, tuned)
	return r, err
}

// learner returns the learner to tune and its name in words.
func (p MyDataParams) learner(classes bool) (learn.Learner, string) {
	word := p.Learner
	if word == "auto" {
		word = map[bool]string{true: "logistic", false: "elastic_net"}[classes]
	}
	switch word {
	case "logistic":
		return &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, "logistic regression"
	case "sparse_logistic":
		return &linear.SparseLogistic{Intercept: true}, "sparse logistic regression"
	case "svm":
		return &margin.SVM{}, "support vector machine"
	case "kernel_svm":
		return &kernel.SVM{Intercept: true}, "kernel support vector machine"
	case "huber":
		return &linear.Huber{Intercept: true}, "Huber regression"
	case "kernel_ridge":
		return &kernel.Ridge{Intercept: true}, "kernel ridge regression"
	}
	return &linear.ElasticNet{}, "elastic net"
}

// dropped returns the number of records of the text that are not rows of the table.
func (p MyDataParams) dropped(t *table.Table) int {
	comma, _ := p.comma()
	r := records(p.content.text, comma)
	n := -1 // the header
	for {
		if _, err := r.Read(); err != nil {
			break // the end: the table was read from the same text
		}
		n++
	}
	return n - len(t.Lines)
}

// myColumns describes the columns of the values that Table.Data returns.
func myColumns(columns []table.Column, d learn.Data) []Column {
	var all []Column
	n := len(d.Y)
	for j, c := range columns {
		m := Column{Name: c.Name, Numeric: c.Kind == table.Numeric, Levels: c.Levels, Low: math.Inf(1), High: math.Inf(-1)}
		for i := range n {
			v := d.X.At(i, j)
			if v != v {
				m.Missing++
				continue
			}
			m.Low, m.High = min(m.Low, v), max(m.High, v)
		}
		if !m.Numeric {
			m.Low, m.High = math.NaN(), math.NaN()
		}
		m.Counts = m.Numeric
		for i := 1; i < n && m.Counts; i++ {
			m.Counts = d.X.At(i, j) == d.X.At(i-1, j)+1
		}
		all = append(all, m)
	}
	return all
}

// Sentences describes the result of each model in words: the verdict, the warnings, the gain of the
// search, and the nested estimate.
func (r *Result) Sentences() []string {
	var all []string
	for _, m := range r.Models {
		of := ""
		if len(r.Models) > 1 {
			of = m.Class + " against the others: "
		}
		all = append(all, of+m.Verdict)
		for _, w := range m.Warnings {
			all = append(all, of+w)
		}
		if len(m.Warnings) == 0 {
			all = append(all, of+"There are no warnings.")
		}
		all = append(all, fmt.Sprintf("%sThe CV loss (%s) is %.4g ± %.3g (standard error), at the defaults %.4g, of the best constant prediction %.4g.", of, m.LossName, m.Loss, m.StandardError, m.DefaultLoss, m.ConstantLoss))
		if risk := m.Risk; risk != nil {
			all = append(all, fmt.Sprintf("%sThe nested estimate of the risk from %d outer folds is %v with its 95 %% interval, of the defaults %v, of a constant prediction %v.", of, risk.Folds, risk.Tuned, risk.Default, risk.Constant))
			for _, c := range risk.Comparisons {
				all = append(all, fmt.Sprintf("%sThe tuned model: %v.", of, c))
			}
			if metrics := risk.Metrics(); metrics != "" {
				all = append(all, fmt.Sprintf("%sPredictions of the outer folds: %s.", of, metrics))
			}
		}
	}
	for i, sentence := range all {
		all[i] = experiment.Visible(sentence)
	}
	return all
}

// File is a file to write beside the outputs.
type File struct{ Name, Text, About string }

// Files returns the models as JSON for [table.Pipeline], and the CSV of the made-up houses if
// they are the data. About describes each file in a sentence.
func (r *Result) Files() []File {
	var all []File
	for k, m := range r.Models {
		f := File{Name: "my_data_pipeline.json", Text: m.Pipeline, About: fmt.Sprintf("predicts %s", r.Target)}
		switch {
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
