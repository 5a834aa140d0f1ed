package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
)

// ParamsVar names the environment variable with the parameters to override: a
// JSON object of names and values as text. ./reproduce.sh sets it from -p.
const ParamsVar = "CVGM_PARAMS"

// Params applies the overrides of ParamsVar to the parameters of a notebook's
// experiments, each a pointer to an experiment's Params, and checks the result. A
// name sets the parameter in all experiments that have it, and with the experiment's
// name and a dot before it in one: K, elastic_net_seeds.K. An unknown name or a bad
// value of ParamsVar ends the cell with a list of the valid ones, and so does the
// name help. Values that the experiments would refuse end the cell with a line each.
//
//	net, seeds := experiment.DefaultElasticNet(), experiment.DefaultElasticNetSeeds()
//	notebook.Params(&net, &seeds)
func Params(all ...any) {
	NoteCopy()
	before := make([][]experiment.Change, len(all))
	for i, p := range all {
		before[i] = experiment.Changes(p)
	}
	overrides, by := os.Getenv(ParamsVar), ""
	if overrides != "" {
		by = "-p: " // ./reproduce.sh recognises it by this
		if err := override(overrides, all...); err != nil {
			Check(fmt.Errorf("%s%w", by, err))
		}
	}
	Check(noteSet(before, all))
	if err := checkAll(all); err != nil {
		Check(fmt.Errorf("%s%w", by, err))
	}
}

// checkAll returns the errors of all parameters that their experiments would refuse,
// each on a line.
func checkAll(all []any) error {
	var problems []error
	for _, p := range all {
		err := experiment.Check(p)
		if err != nil && len(all) > 1 {
			err = errors.New(nameOf(p) + "." + strings.ReplaceAll(err.Error(), "\n", "\n"+nameOf(p)+"."))
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func override(overrides string, all ...any) error {
	valid := "the parameters, with default, unit, range and meaning, are\n" + describe(all)
	var values map[string]string
	if err := json.Unmarshal([]byte(overrides), &values); err != nil {
		return fmt.Errorf("%s is not a JSON object of texts: %w", ParamsVar, err)
	}
	if _, asked := values["help"]; asked {
		return errors.New(valid)
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known := false
		for _, p := range all {
			field := strings.TrimPrefix(name, nameOf(p)+".")
			if !slices.ContainsFunc(experiment.Fields(p), func(f experiment.Field) bool { return f.Name == field }) {
				continue
			}
			known = true
			if err := experiment.Set(p, field, values[name]); err != nil {
				problems = append(problems, err.Error())
				break
			}
		}
		if !known {
			problems = append(problems, "there is no parameter "+name)
		}
	}
	if problems == nil {
		return nil
	}
	return fmt.Errorf("%s\n%s", strings.Join(problems, "\n"), valid)
}

// describe lists the parameters.
func describe(all []any) string {
	var b strings.Builder
	for _, p := range all {
		if len(all) > 1 {
			fmt.Fprintf(&b, "%s:\n", nameOf(p))
		}
		width := 18
		for _, f := range experiment.Fields(p) {
			width = max(width, len(f.Name))
		}
		for _, f := range experiment.Fields(p) {
			help := f.Help
			if f.Unit != "" {
				help += ", in " + f.Unit
			}
			if f.Full != "" {
				help += "; full size " + f.Full
			}
			fmt.Fprintf(&b, "  %-*s %-10s %-12s %s\n", width, f.Name, f.Value, f.Range, help)
		}
	}
	return b.String()
}
