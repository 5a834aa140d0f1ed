// Peers tunes a learner on the data and folds of a CSV file, for the comparison with scikit-learn
// in notebooks/runner/compare_peers.py.
//
//	go run ./notebooks/peers [-learner elastic-net|logistic|svc] FILE
//
// FILE has a header line, a column y with the labels, a column fold with the name of each example's
// fold, and the features. Peers prints JSON. It has the tuned hyperparameters and their CV loss,
// the numbers of evaluations and fits, the warnings, and the out-of-fold predictions (decision
// values). It also has the processor seconds of Tune, with one worker.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"cvgm/cvgm"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// result is the output of the program.
type result struct {
	Names       []string
	Hyper       []float64
	Loss        float64 // the CV loss
	Evaluations int     // number of evaluations of the CV loss
	Fits        int     // number of fits of the learner, including the final model
	Seconds     float64 // processor time
	Warnings    []string
	Predictions []float64
}

// learners are the learners of the comparison, by name.
var learners = map[string]func() learn.Learner{
	"elastic-net": func() learn.Learner { return &linear.ElasticNet{} },
	"logistic":    func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} },
	"svc":         func() learn.Learner { return &kernel.SVM{Intercept: true} },
}

const usage = `usage: go run ./notebooks/peers [-learner elastic-net|logistic|svc] FILE
Tunes a learner on the data and folds of a CSV file and prints JSON: the hyperparameters, their
CV loss, the predictions and the seconds of processor time. FILE has a header line, the labels in
column y, a name of each row's fold in column fold, and the features in the others.
`

func main() {
	log.SetFlags(0)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	learner := flag.String("learner", "elastic-net", "the model to tune: elastic-net, logistic or svc")
	flag.Parse()
	if flag.NArg() != 1 || learners[*learner] == nil {
		flag.Usage()
		os.Exit(2)
	}
	file, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	r, err := tuneOne(file, learners[*learner]())
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// tuneOne tunes the learner on the folds of the CSV in text.
func tuneOne(text io.Reader, learner learn.Learner) (*result, error) {
	table, err := table.CSV{Target: "y", Group: "fold"}.Read(text)
	if err != nil {
		return nil, err
	}
	d, _, err := table.Data()
	if err != nil {
		return nil, err
	}
	splits := foldSplits(table.Groups)
	t := tune.Tuner{Learner: learner, Splits: splits, OuterFolds: -1, Workers: 1, KeepWinner: true}
	start := cpuSeconds()
	tuned, err := t.Tune(context.Background(), d)
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
