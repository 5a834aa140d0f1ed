package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
)

// ParamsVar names the environment variable with the parameters to override: a
// JSON object of names and values as text. ./reproduce.sh sets it from -p.
const ParamsVar = "CVGM_PARAMS"

// Params applies the overrides of ParamsVar to the parameters of a notebook's
// experiments, each a pointer to an experiment's Params. A name sets the
// parameter in all experiments that have it, and with the experiment's name and a
// dot before it in one: K, elastic_net_seeds.K. An unknown name or a bad value
// ends the cell with a list of the valid ones, and so does the name help.
//
//	net, seeds := experiment.DefaultElasticNet(), experiment.DefaultElasticNetSeeds()
//	notebook.Params(&net, &seeds)
func Params(all ...any) {
	overrides := os.Getenv(ParamsVar)
	if overrides == "" {
		return
	}
	if err := override(overrides, all...); err != nil {
		Check(fmt.Errorf("-p: %w", err)) // ./reproduce.sh recognises it by this
	}
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

// nameOf returns the name of the experiment that p is the Params of, which the
// type has, too: elastic_net for ElasticNetParams. The registry, in which it also
// stands, makes all experiments inputs of whatever looks there.
func nameOf(p any) string {
	title := strings.TrimSuffix(reflect.TypeOf(p).Elem().Name(), "Params")
	return strings.ToLower(wordEnd.ReplaceAllString(title, "${1}_$2"))
}

var wordEnd = regexp.MustCompile(`([a-z])([A-Z])`)

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
			fmt.Fprintf(&b, "  %-*s %-10s %-12s %s\n", width, f.Name, f.Value, f.Range, help)
		}
	}
	return b.String()
}
