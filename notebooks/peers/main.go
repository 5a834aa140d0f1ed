// Peers computes numbers of this project for notebooks/runner/compare_peers.py, which compares them
// with other programs. It tunes a learner on the data and folds of a CSV file. With -hyper, it
// instead computes the CV loss and its gradient.
//
//	go run ./notebooks/peers [-learner NAME] [-hyper NUMBER,… [-value]] FILE
//
// NAME is elastic-net, lasso, logistic, svc, huber, smooth or bands. The learner huber needs
// -hyper. The model smooth is the sum of a smooth function of each feature. The model bands has one
// ridge penalty for each band of features. The name of a feature begins with the name of its band
// and a hyphen.
//
// FILE has a header line, a column y with the labels, a column fold with the name of each example's
// fold, and columns with the features. Peers prints JSON. Without -hyper, the JSON has the tuned
// hyperparameters and their CV loss, the numbers of evaluations and fits, the warnings, and the
// out-of-fold predictions (decision values). It also has the processor seconds of Tune, with one
// worker. With -hyper, it has the CV loss at these hyperparameters, the gradient of this loss
// unless -value is given, and the processor seconds of New and Eval.
//
//	go run ./notebooks/peers -qp ROUNDS FILE
//
// With -qp, Peers makes numbers for notebooks/runner/compare_qp.py. FILE is a JSON file of
// quadratic programs. Peers solves these programs, and repeats this ROUNDS times. Then it solves
// and differentiates them, also ROUNDS times. It prints the minimisers, the derivatives with
// respect to the linear terms, and the processor seconds of one program, with and without
// derivatives.
//
//	go run ./notebooks/peers -steps ROUNDS FILE
//
// With -steps, Peers makes numbers for notebooks/runner/compare_steps.py. FILE is a JSON file with
// data and penalties. At these penalties, Peers evaluates the CV loss of an elastic net and the
// gradient of this loss, and repeats this ROUNDS times. It prints the CV losses, the gradients, and
// the processor seconds of one evaluation, with warm starts and without them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/table"
	"cvgm/cvgm/terms"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
)

// result is the output of the program.
type result struct {
	Names       []string
	Hyper       []float64
	Loss        float64   // the CV loss
	Gradient    []float64 `json:",omitempty"`
	Evaluations int       // number of evaluations of the CV loss
	Fits        int       // number of fits of the learner, including the final model
	Seconds     float64   // processor time
	Warnings    []string
	Predictions []float64
}

// model is a learner of the comparison.
type model struct {
	learner  func() learn.Learner
	loss     cvgm.Loss // of an evaluation; Tune chooses the same one
	centring cvgm.Centring
	fixed    map[string]float64              // hyperparameters that Tune keeps
	terms    func(*table.Table) []terms.Term // of an additive model, which has its own learner
}

// huberDelta is δ of the validation loss of huber.
const huberDelta = .5

// models are the learners of the comparison, by name.
var models = map[string]model{
	"elastic-net": {func() learn.Learner { return &linear.ElasticNet{} }, cvgm.SquaredError{}, cvgm.MeanCentring, nil, nil},
	"lasso":       {func() learn.Learner { return &linear.ElasticNet{} }, cvgm.SquaredError{}, cvgm.MeanCentring, map[string]float64{"λ2": 0}, nil},
	"logistic":    {func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, cvgm.LogisticLoss{}, cvgm.NoCentring, nil, nil},
	"svc":         {func() learn.Learner { return &kernel.SVM{Intercept: true} }, cvgm.Hinge{}, cvgm.NoCentring, nil, nil},
	"huber":       {func() learn.Learner { return &linear.Huber{Intercept: true} }, cvgm.HuberLoss{Delta: huberDelta}, cvgm.NoCentring, nil, nil},
	"smooth":      {terms: smooths},
	"bands":       {terms: bands},
}

const usage = `usage: go run ./notebooks/peers [-learner elastic-net|lasso|logistic|svc|huber|smooth|bands] [-hyper NUMBER,… [-value]] FILE
Tunes a learner on the data and folds of a CSV file and prints JSON: the hyperparameters, their
CV loss, the predictions and the seconds of processor time. With -hyper, it computes the CV loss
and its gradient at these hyperparameters instead. FILE has a header line, the labels in column y,
a name of each row's fold in column fold, and the features in the others.
With -qp, FILE has quadratic programs in JSON, which are solved and differentiated. With -steps,
FILE has data, splits and penalties in JSON, at which an elastic net's CV loss is evaluated.
`

func main() {
	log.SetFlags(0)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	learner := flag.String("learner", "elastic-net", "the model: elastic-net, lasso, logistic, svc, huber, smooth or bands")
	values := flag.String("hyper", "", "the hyperparameters of an evaluation")
	value := flag.Bool("value", false, "the CV loss of an evaluation alone, without its gradient")
	rounds := flag.Int("qp", 0, "how often to solve and differentiate each program of FILE")
	passes := flag.Int("steps", 0, "how often to evaluate the CV loss at each pair of penalties of FILE")
	flag.Parse()
	hyper, err := parseNumbers(*values)
	m, known := models[*learner]
	if flag.NArg() != 1 || !known || err != nil {
		flag.Usage()
		os.Exit(2)
	}
	file, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	var r any
	switch {
	case *rounds != 0:
		r, err = differentiateAll(file, *rounds)
	case *passes != 0:
		r, err = takeSteps(file, *passes)
	case hyper != nil:
		r, err = m.evaluated(file, hyper, !*value)
	default:
		r, err = m.tuned(file)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// parseNumbers returns the numbers in a text, which are separated by commas. For an empty text it
// returns nil.
func parseNumbers(text string) (values []float64, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// read reads a CSV. It returns the data, and the folds as splits.
func read(text io.Reader) (learn.Data, []cvgm.Split, error) {
	table, splits, err := readTable(text)
	if err != nil {
		return learn.Data{}, nil, err
	}
	d, _, err := table.Data()
	return d, splits, err
}

// readTable reads a CSV as a table. It returns the table, and the folds as splits.
func readTable(text io.Reader) (*table.Table, []cvgm.Split, error) {
	table, err := table.CSV{Target: "y", Group: "fold"}.Read(text)
	if err != nil {
		return nil, nil, err
	}
	return table, foldSplits(table.Groups), nil
}

// evaluated computes the CV loss at the given hyperparameters, on the folds of a CSV. If
// withGradient is true, it also computes the gradient of the CV loss.
func (m model) evaluated(text io.Reader, hyper []float64, withGradient bool) (*result, error) {
	d, splits, err := read(text)
	if err != nil {
		return nil, err
	}
	r := &result{Hyper: hyper, Evaluations: 1, Fits: len(splits)}
	if withGradient {
		r.Gradient = make([]float64, len(hyper))
	}
	start := cpuSeconds()
	cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Learner: m.learner, Loss: m.loss, Standardise: true, Centring: m.centring, Workers: 1})
	if err == nil {
		r.Loss, err = cv.Eval(r.Gradient, hyper)
	}
	r.Seconds = cpuSeconds() - start
	return r, err
}

// tuned tunes the learner on the folds of a CSV.
func (m model) tuned(text io.Reader) (*result, error) {
	if m.terms != nil {
		return tunedTerms(text, m.terms)
	}
	d, splits, err := read(text)
	if err != nil {
		return nil, err
	}
	t := tuner(splits)
	t.Learner, t.Fixed = m.learner(), m.fixed
	return timedSearch(splits, func() (*tune.Tuned, error) { return t.Tune(context.Background(), d) })
}

// tunedTerms tunes the penalties of an additive model on the folds of a CSV. The measured time
// includes the construction of the model.
func tunedTerms(text io.Reader, of func(*table.Table) []terms.Term) (*result, error) {
	t, splits, err := readTable(text)
	if err != nil {
		return nil, err
	}
	return timedSearch(splits, func() (*tune.Tuned, error) {
		additive, learner, err := terms.Additive(t, penalised.Squared, of(t)...)
		if err != nil {
			return nil, err
		}
		search := tuner(splits)
		search.Learner = learner
		return search.TuneTable(context.Background(), additive)
	})
}

// tuner returns the Tuner of the comparison, without a learner.
func tuner(splits []cvgm.Split) tune.Tuner {
	return tune.Tuner{Splits: splits, OuterFolds: -1, Workers: 1, KeepWinner: true}
}

// timedSearch returns the result of a search on the splits.
func timedSearch(splits []cvgm.Split, search func() (*tune.Tuned, error)) (*result, error) {
	start := cpuSeconds()
	tuned, err := search()
	if err != nil {
		return nil, err
	}
	r := &result{Seconds: cpuSeconds() - start, Names: tuned.Names, Hyper: tuned.Hyper, Loss: tuned.Loss,
		Evaluations: tuned.Evaluations, Fits: tuned.Evaluations*len(splits) + 1, Predictions: tuned.OutOfFold}
	for _, w := range tuned.Warnings {
		r.Warnings = append(r.Warnings, w.Text)
	}
	return r, nil
}

// foldSplits returns one split for each fold. The split validates on the fold, and trains on all
// other folds.
func foldSplits(fold []int) []cvgm.Split {
	count := 0
	for _, f := range fold {
		count = max(count, f+1)
	}
	splits := make([]cvgm.Split, count)
	for i, f := range fold {
		for k := range splits {
			if k == f {
				splits[k].Val = append(splits[k].Val, i)
			} else {
				splits[k].Train = append(splits[k].Train, i)
			}
		}
	}
	return splits
}
