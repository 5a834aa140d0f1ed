package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
)

// Params applies the overrides of ParamsVar to the parameters of a notebook's experiments, each a
// pointer to an experiment's Params, and checks the result. A name sets the parameter in all
// experiments that have it. With the experiment's name and a dot before it, it sets the parameter
// in one: K, elastic_net_seeds.K. An unknown name or a bad value of ParamsVar, and the name help,
// end the cell with a list of the valid ones. Values that the experiments would refuse end the cell
// with one line each.
//
// Params ends every cell with an error if the last run of the parameters' cell has not reached the
// end of [Accept].
//
//	net, seeds := experiment.DefaultElasticNet(), experiment.DefaultElasticNetSeeds()
//	notebook.Params(&net, &seeds)
func Params(all ...any) {
	NoteCopy()
	Check(refuseUnaccepted())
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

// unaccepted is the name of a file in the kernel's folder. The first line of the parameters' cell
// makes it; the shell runs that line before the cell is compiled. While an edit of the cell does
// not compile, GoNB keeps the declarations of an earlier run.
const unaccepted = "unaccepted"

// accepting is set while Accept runs.
var accepting bool

// Accept calls params, a function without arguments that calls Params, and then removes the mark of
// the parameters' cell. An error of Params ends the cell, and the mark remains. The first and the
// last line of that cell are
//
//	!*touch unaccepted # until the last line of this cell has run
//	notebook.Accept(params)
func Accept(params any) {
	Check(accept(params))
}

func accept(params any) error {
	f := reflect.ValueOf(params)
	if f.Kind() != reflect.Func || f.Type().NumIn() > 0 {
		return fmt.Errorf("notebook: Accept: params is of type %T: pass a function without arguments", params)
	}
	accepting = true
	defer func() { accepting = false }()
	f.Call(nil)
	err := os.Remove(markPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// refuseUnaccepted returns an error while the mark exists, except to Accept.
func refuseUnaccepted() error {
	if _, err := os.Stat(markPath()); err != nil || accepting {
		return nil
	}
	return errors.New("the cell of params() did not run to its end: correct it and run it again")
}

// markPath returns the path of the mark, or "" outside a kernel.
func markPath() string {
	folder := os.Getenv(kernelFolderVar)
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, unaccepted)
}

// checkAll returns one error for all parameters that their experiments would refuse, with a line
// for each.
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
			fmt.Fprintf(&b, "  %-*s %-10s %-12s %s\n", width, f.Name, f.Value, f.Range, help)
		}
	}
	return b.String()
}
