package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ParamsVar names the environment variable with the parameters to override: a
// JSON object of names and values as text. ./reproduce.sh sets it from -p.
const ParamsVar = "CVGM_PARAMS"

// Params returns the parameters of an experiment, a struct with a help tag for
// each field, with the overrides of ParamsVar applied. An unknown name or a bad
// value ends the cell with a list of the valid ones, and so does the name help.
func Params[P any](paper P) P {
	overrides := os.Getenv(ParamsVar)
	if overrides == "" {
		return paper
	}
	if err := override(&paper, overrides); err != nil {
		Check(fmt.Errorf("-p: %w", err)) // ./reproduce.sh knows it by this
	}
	Check(record(map[string]any{"overrides": json.RawMessage(overrides)}))
	return paper
}

func override(p any, overrides string) error {
	valid := "the parameters, with default and meaning, are\n" + describe(reflect.ValueOf(p).Elem())
	var values map[string]string
	if err := json.Unmarshal([]byte(overrides), &values); err != nil {
		return fmt.Errorf("%s is not a JSON object of texts: %w", ParamsVar, err)
	}
	if _, asked := values["help"]; asked {
		return errors.New(valid)
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := SetParam(p, name, values[name]); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if problems == nil {
		return nil
	}
	return fmt.Errorf("%s\n%s", strings.Join(problems, "\n"), valid)
}

// SetParam sets the parameter of that name in the struct that p points to, from
// text as it stands after ./reproduce.sh -p NAME=. Those of a struct within the
// struct have names with a dot: Rings.K.
func SetParam(p any, name, text string) error {
	v := reflect.ValueOf(p).Elem()
	for _, part := range strings.Split(name, ".") {
		if v.Kind() != reflect.Struct {
			return fmt.Errorf("there is no parameter %s", name)
		}
		field, known := v.Type().FieldByName(part)
		if !known || field.Anonymous {
			return fmt.Errorf("there is no parameter %s", name)
		}
		v = v.FieldByIndex(field.Index)
	}
	if err := set(v, text); err != nil {
		return fmt.Errorf("%s=%s: %v", name, text, err)
	}
	return nil
}

// set parses text as the kind of v.
func set(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("want a whole number")
		}
		v.SetInt(int64(n))
	case reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("want a whole number that is not negative")
		}
		v.SetUint(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("want a number")
		}
		v.SetFloat(x)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("want true or false")
		}
		v.SetBool(b)
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		parts := strings.Split(text, ",")
		list := reflect.MakeSlice(v.Type(), len(parts), len(parts))
		for i, part := range parts {
			if err := set(list.Index(i), strings.TrimSpace(part)); err != nil {
				return fmt.Errorf("%w, or several with commas between them", err)
			}
		}
		v.Set(list)
	case reflect.Struct:
		return fmt.Errorf("that is a group: set one of its parameters, with a dot between")
	default:
		return fmt.Errorf("a %s cannot be set from text", v.Type())
	}
	return nil
}

// describe lists the parameters in the struct v with their values and meanings.
func describe(v reflect.Value) string {
	var rows [][3]string
	width := 18
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for _, field := range reflect.VisibleFields(v.Type()) {
			name, value := prefix+field.Name, v.FieldByIndex(field.Index)
			switch {
			case field.Anonymous:
			case value.Kind() == reflect.Struct:
				walk(name+".", value)
			default:
				text := strings.ReplaceAll(strings.Trim(fmt.Sprint(value), "[]"), " ", ",")
				rows = append(rows, [3]string{name, text, field.Tag.Get("help")})
				width = max(width, len(name))
			}
		}
	}
	walk("", v)
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "  %-*s %-10s %s\n", width, row[0], row[1], row[2])
	}
	return b.String()
}
