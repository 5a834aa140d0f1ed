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

// GoNB runs each cell as a separate process. The variable knownParameters holds the parameters that
// this process has used, for each type of parameters.
var knownParameters struct {
	sync.Mutex
	all map[reflect.Type]*parameters
}

// parameters are the parameters of one experiment.
type parameters struct {
	name     string
	values   map[string]string   // last values; each key is the name of a field
	given    bool                // whether Params has received the parameters
	set      []experiment.Change // changes by -p
	computed []experiment.Change // changes with which Compute ran
}

// entryOf returns the entry of the map knownParameters.all for the type of p. If there is none, it
// makes the entry. It stores the present values of p's fields in the entry.
func entryOf(p any) *parameters {
	t := reflect.Indirect(reflect.ValueOf(p)).Type()
	of := knownParameters.all[t]
	if of == nil {
		of = &parameters{name: nameOf(p)}
		if knownParameters.all == nil {
			knownParameters.all = map[reflect.Type]*parameters{}
		}
		knownParameters.all[t] = of
	}
	of.values = map[string]string{}
	for _, f := range experiment.Fields(p) {
		of.values[f.Name] = f.Value
	}
	return of
}

// nameOf returns the name of the experiment that has the parameters p. It derives the name from the
// name of the type, for example elastic_net from ElasticNetParams. It does not use the registry,
// because all experiments would then be inputs of the cell.
func nameOf(p any) string {
	title := strings.TrimSuffix(reflect.Indirect(reflect.ValueOf(p)).Type().Name(), "Params")
	return strings.ToLower(wordEnd.ReplaceAllString(title, "${1}_$2"))
}

var wordEnd = regexp.MustCompile(`([a-z])([A-Z])`)

// noteSet records the changes that -p has made to the parameters of a notebook. The argument params
// holds pointers to the parameters. The argument ownChanges holds the changes from the defaults
// that the notebook itself makes. Under ./reproduce.sh, a change by the notebook is an error.
func noteSet(ownChanges [][]experiment.Change, params []any) error {
	knownParameters.Lock()
	defer knownParameters.Unlock()
	for _, p := range params {
		of := entryOf(p)
		of.given, of.set = true, experiment.Changes(p)
	}
	for i, p := range params {
		if err := entryOf(p).refuse(ownChanges[i], nil); err != nil {
			return err
		}
	}
	return nil
}

// noteComputed records that the experiment runs with the parameters p.
func noteComputed(p any) error {
	knownParameters.Lock()
	defer knownParameters.Unlock()
	of, changes := entryOf(p), experiment.Changes(p)
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

// refuse compares changes of parameters with the expected changes. Under ./reproduce.sh, it returns
// an error if they differ, because the names of the output folders contain only changes by -p. The
// runner recognises the error by its first word.
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

// title returns the name of a field in the form that -p uses. Another experiment of the cell may
// have a field with this name, but with another value. In this case, the title begins with the name
// of the experiment.
func (of *parameters) title(field string) string {
	for _, other := range knownParameters.all {
		if value, has := other.values[field]; has && value != of.values[field] {
			return of.name + "." + field
		}
	}
	return field
}

// changes returns those parameters that differ from their defaults, sorted by name. It omits
// parameters with which this cell has computed no result.
func changes() []experiment.Change {
	knownParameters.Lock()
	defer knownParameters.Unlock()
	var all []experiment.Change
	for _, of := range knownParameters.all {
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

// changedLine describes changes of parameters on one line. Readers see this line with a figure or
// table.
func changedLine(changes []experiment.Change) string {
	parts := make([]string, len(changes))
	for i, c := range changes {
		parts[i] = fmt.Sprintf("%s = %s (default %s)", c.Name, shortened(c.Value), shortened(c.Default))
	}
	return strings.Join(parts, "; ")
}

// shortened returns the value of a parameter. If the value is long, it returns only a part: the
// beginning of a list, or the end of a text.
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
