package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"cvgm/cvgm/table"
	"cvgm/cvgm/terms"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/penalised"
)

// smooths returns a smooth function of each column.
func smooths(t *table.Table) (all []terms.Term) {
	for _, c := range t.Columns {
		all = append(all, terms.Smooth(c.Name))
	}
	return all
}

// bands returns a band for each beginning of the columns' names up to a hyphen.
func bands(t *table.Table) (all []terms.Term) {
	for _, c := range t.Columns {
		name, _, _ := strings.Cut(c.Name, "-")
		i := slices.IndexFunc(all, func(b terms.Term) bool { return b.Name == name })
		if i < 0 {
			all = append(all, terms.Band(name, c.Name))
		} else {
			all[i].Columns = append(all[i].Columns, c.Name)
		}
	}
	return all
}

// tunedTerms tunes the penalties of an additive model on the folds of the CSV in text. The time
// includes the construction of the model.
func tunedTerms(text io.Reader, of func(*table.Table) []terms.Term) (*result, error) {
	t, splits, err := readTable(text)
	if err != nil {
		return nil, err
	}
	return timed(splits, func() (*tune.Tuned, error) {
		additive, learner, err := terms.Additive(t, penalised.Squared, of(t)...)
		if err != nil {
			return nil, err
		}
		search := tuner(splits)
		search.Learner = learner
		return search.TuneTable(context.Background(), additive)
	})
}
