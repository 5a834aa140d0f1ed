package notebook

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cvgm/cvgm/experiment"
)

// known holds, for each type of parameters, the parameters that this process of a cell has used.
var known struct {
	sync.Mutex
	all map[reflect.Type]*parameters
}

// parameters are the parameters of one experiment.
type parameters struct {
	name     string
	values   map[string]string   // last values, by the names of the fields
	given    bool                // whether Params has received the parameters
	set      []experiment.Change // changes by -p
	computed []experiment.Change // changes with which Compute ran
}

// seen returns the entry of the map known for the type of p. It makes the entry if there is none,
// and stores the present values of p's fields in it.
func seen(p any) *parameters {
	t := reflect.Indirect(reflect.ValueOf(p)).Type()
	of := known.all[t]
	if of == nil {
		of = &parameters{name: nameOf(p)}
		if known.all == nil {
			known.all = map[reflect.Type]*parameters{}
		}
		known.all[t] = of
	}
	of.values = map[string]string{}
	for _, f := range experiment.Fields(p) {
		of.values[f.Name] = f.Value
	}
	return of
}

// nameOf returns the name of the experiment with the parameters p. It derives the name from the
// name of the type, for example elastic_net from ElasticNetParams. A look-up in the registry would
// make all experiments inputs of the cell.
func nameOf(p any) string {
	title := strings.TrimSuffix(reflect.Indirect(reflect.ValueOf(p)).Type().Name(), "Params")
	return strings.ToLower(wordEnd.ReplaceAllString(title, "${1}_$2"))
}

var wordEnd = regexp.MustCompile(`([a-z])([A-Z])`)

// noteSet records how -p has changed the parameters of a notebook. The argument params holds
// pointers to these parameters. ownChanges holds the changes from the defaults that the notebook
// itself makes. Under ./reproduce.sh, the notebook must make no changes itself.
func noteSet(ownChanges [][]experiment.Change, params []any) error {
	known.Lock()
	defer known.Unlock()
	for _, p := range params {
		of := seen(p)
		of.given, of.set = true, experiment.Changes(p)
	}
	for i, p := range params {
		if err := seen(p).refuse(ownChanges[i], nil); err != nil {
			return err
		}
	}
	return nil
}

// noteComputed records that the experiment runs with the parameters p.
func noteComputed(p any) error {
	known.Lock()
	defer known.Unlock()
	of, changes := seen(p), experiment.Changes(p)
	if err := of.refuse(changes, of.set); err != nil {
		return err
	}
	for _, c := range changes {
		if !slices.Contains(of.computed, c) {
			of.computed = append(of.computed, c)
		}
	}
	return nil
}

// refuse returns an error under ./reproduce.sh if changes and expected differ. Outputs of
// ./reproduce.sh must have the default parameters, or the parameters that -p has written into the
// names of their folders. The runner recognises the error by its first word.
func (of *parameters) refuse(changes, expected []experiment.Change) error {
	if os.Getenv(RecordVar) == "" {
		return nil
	}
	var edits, options []string
	for _, c := range changes {
		if !slices.Contains(expected, c) {
			edits = append(edits, fmt.Sprintf("%s = %s where the default is %s", of.title(c.Name), shortened(c.Value), shortened(c.Default)))
			if of.given {
				options = append(options, fmt.Sprintf("-p %s=%s", of.title(c.Name), c.Value))
			}
		}
	}
	for _, c := range expected {
		if !slices.ContainsFunc(changes, func(d experiment.Change) bool { return d.Name == c.Name }) {
			edits = append(edits, fmt.Sprintf("%s = %s where -p sets %s", of.title(c.Name), shortened(c.Default), shortened(c.Value)))
		}
	}
	if edits == nil {
		return nil
	}
	remedy := "restore the default"
	if options != nil {
		remedy += ", or run ./reproduce.sh " + cmp.Or(os.Getenv(NotebookVar), "NAME") + " " + strings.Join(options, " ")
	}
	return fmt.Errorf("edited: its parameters were edited: %s; %s", strings.Join(edits, ", "), remedy)
}

// title returns the name of a field in the form that -p uses. The name begins with the name of the
// experiment if another experiment of the cell has a field with this name, but with another value.
func (of *parameters) title(field string) string {
	for _, other := range known.all {
		if value, has := other.values[field]; has && value != of.values[field] {
			return of.name + "." + field
		}
	}
	return field
}

// changes returns parameters that differ from their defaults, sorted by name. It returns only
// parameters with which this cell has computed a result.
func changes() []experiment.Change {
	known.Lock()
	defer known.Unlock()
	var all []experiment.Change
	for _, of := range known.all {
		for _, c := range of.computed {
			c.Name = of.title(c.Name)
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b experiment.Change) int {
		return strings.Compare(a.Name+"\n"+a.Value, b.Name+"\n"+b.Value)
	})
	return all
}

// changedLine describes changes on one line, for readers of a figure or table.
func changedLine(changes []experiment.Change) string {
	parts := make([]string, len(changes))
	for i, c := range changes {
		parts[i] = fmt.Sprintf("%s = %s (default %s)", c.Name, shortened(c.Value), shortened(c.Default))
	}
	return strings.Join(parts, "; ")
}

// shortened returns the value of a parameter, shortened if it is long: the beginning of a long
// list, or the end of a long text.
func shortened(value string) string {
	const most = 80
	if value == "" {
		return "empty"
	}
	if len(value) <= most {
		return strings.ReplaceAll(value, ",", ", ")
	}
	if end := strings.LastIndex(value[:most], ","); end >= 0 {
		return strings.ReplaceAll(value[:end+1], ",", ", ") + "…"
	}
	return "…" + strings.ToValidUTF8(value[len(value)-most:], "") // for a path, the end is what distinguishes it from others
}
