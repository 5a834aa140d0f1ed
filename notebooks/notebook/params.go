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

// Params sets parameters of a notebook's experiments as the environment variable ParamsVar
// requires, and checks the result. Each argument is a pointer to the Params of an experiment. A
// name such as K sets this parameter in all experiments that have it. A name such as
// elastic_net_seeds.K sets it only in the named experiment. If a name is unknown or a value is
// invalid, or if the name is help, the cell ends with a list of the valid names. If experiments do
// not accept some values, the cell ends with one line for each of these values.
//
// Params also ends the cell with an error if the cell that sets the parameters did not complete its
// call of [Accept] in its last run.
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
		by = "-p: " // ./reproduce.sh recognises the error by this prefix
		if err := override(overrides, all...); err != nil {
			Check(fmt.Errorf("%s%w", by, err))
		}
	}
	Check(noteSet(before, all))
	if err := checkAll(all); err != nil {
		Check(fmt.Errorf("%s%w", by, err))
	}
}

// The parameters are set in one cell. The first line of this cell makes a file named "unaccepted"
// in the folder of the kernel. The shell runs this line before GoNB compiles the cell. So the file
// exists even if the cell does not compile. In this case GoNB keeps the declarations of an earlier
// run.
const unaccepted = "unaccepted"

// accepting is set while Accept runs.
var accepting bool

// Accept calls params, a function without arguments that calls Params. Accept then removes the file
// named "unaccepted". If Params ends the cell with an error, the file remains. The cell that sets
// the parameters has this first line and this last line:
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

// refuseUnaccepted returns an error if the file unaccepted exists. During Accept it returns no
// error.
func refuseUnaccepted() error {
	if _, err := os.Stat(markPath()); err != nil || accepting {
		return nil
	}
	return errors.New("the cell of params() did not run to its end: correct it and run it again")
}

// markPath returns the path of the file named "unaccepted". Outside of a kernel it returns "".
func markPath() string {
	folder := os.Getenv(kernelFolderVar)
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, unaccepted)
}

// checkAll returns one error for all parameters that experiments do not accept. The error has one
// line for each of these parameters.
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

// describe returns a text that lists the parameters.
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
