package experiment

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"
)

// A Field describes one parameter of an experiment to the user. The description comes from the tags
// of the parameter's field in the Params struct:
//
//	K int `help:"cross-validation splits" range:"[1,∞)" small:"[2,6]"`
//
// The tags are:
//
//   - help, required: the description.
//   - unit: the unit of the value, if it has one.
//   - range, required: the set of allowed values. A set is an interval [a,b], (a,b), [a,b) or
//     (a,b], or a list {a,b,c}. For a text, it is the set of the allowed words, {mean,drop,error},
//     or the word text if all texts are allowed.
//   - small: the set from which small random runs draw the value.
//   - len: for a parameter that is a list, the range of its length. The other tags apply to each
//     entry of the list.
//   - below: a field of the same group that must be larger.
//   - most: a field of the same group that must not be smaller.
//   - order: "ascending" if each entry of a list must be larger than the entry before it.
//   - splits: set if the values are fractions of the examples, on which splits train. The tag lists
//     fields of the same group. The first of these fields that exists is the number of examples.
//   - setting: a phrase, with %v for the value. Package claims describes the parameter with this
//     phrase to readers who repeat a measurement. A parameter without effect on measurements has no
//     phrase.
//
// Unexported fields and fields with the tag param:"-" are not parameters.
type Field struct {
	Name  string // such as K, or Rings.K for a field K in a group Rings that is not embedded
	Value string // in the form that Set reads
	Help  string
	Unit  string
	Range string
}

// Fields lists the parameters in p. The argument p is a struct or a pointer to a struct. The names
// of the parameters are the same as in Check and Changes.
func Fields(p any) []Field {
	var all []Field
	eachField(p, func(name string, v reflect.Value, tag reflect.StructTag) error {
		all = append(all, Field{name, format(v), tag.Get("help"), tag.Get("unit"), tag.Get("range")})
		return nil
	})
	return all
}

// format returns a value in the form that Set reads.
func format(v reflect.Value) string {
	if v.Kind() != reflect.Slice {
		return fmt.Sprint(v)
	}
	entries := make([]string, v.Len())
	for i := range entries {
		entries[i] = fmt.Sprint(v.Index(i))
	}
	return strings.Join(entries, ",")
}

// isText reports whether a parameter of type t is a text or a list of texts.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}

// wordsOf returns the words of a range that is a set of words, such as {mean,drop,error}. For other
// ranges its second result is false.
func wordsOf(tag string) ([]string, bool) {
	inner, open := strings.CutPrefix(tag, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	return strings.Split(inner, ","), open && closed
}

// A Change is a parameter that differs from its default. Value and Default have the form that Set
// reads.
type Change struct{ Name, Value, Default string }

// Changes lists the parameters in p that differ from their defaults. If the type of p has no
// defaults, there are no changes.
func Changes(p any) []Change {
	own, ok := p.(interface{ Defaults() any })
	if !ok {
		return nil
	}
	var changes []Change
	defaults := Fields(own.Defaults())
	for i, f := range Fields(p) {
		if f.Value != defaults[i].Value {
			changes = append(changes, Change{f.Name, f.Value, defaults[i].Value})
		}
	}
	return changes
}

// eachField calls f for each parameter in p, and joins the errors. The argument p is a struct or a
// pointer to a struct. If p is a pointer, f can set the values.
func eachField(p any, f func(name string, v reflect.Value, tag reflect.StructTag) error) error {
	var errs []error
	var visit func(prefix string, v reflect.Value)
	visit = func(prefix string, v reflect.Value) {
		for _, field := range reflect.VisibleFields(v.Type()) {
			value := v.FieldByIndex(field.Index)
			switch {
			case field.Anonymous, !field.IsExported(), field.Tag.Get("param") == "-":
			case value.Kind() == reflect.Struct:
				visit(prefix+field.Name+".", value)
			default:
				errs = append(errs, f(prefix+field.Name, value, field.Tag))
			}
		}
	}
	visit("", reflect.Indirect(reflect.ValueOf(p)))
	return errors.Join(errs...)
}

// Set sets the parameter with the given name in the struct to which p points. The argument text has
// the form that a user writes after ./reproduce.sh -p NAME=, with commas between the entries of a
// list. Set does not check the range of the parameter; Run checks it.
func Set(p any, name, text string) error {
	found := false
	err := eachField(p, func(field string, v reflect.Value, _ reflect.StructTag) error {
		if field != name {
			return nil
		}
		found = true
		if err := parse(v, text); err != nil {
			return fmt.Errorf("%s=%s: %v", name, text, err)
		}
		return nil
	})
	if !found {
		return fmt.Errorf("there is no parameter %s", name)
	}
	return err
}

// parse sets v to the value that the text represents.
func parse(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("want a whole number up to %d", maxCount)
		}
		v.SetInt(int64(n))
	case reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		if err != nil {
			return fmt.Errorf("want a whole number from 0 to %d", uint64(1)<<v.Type().Bits()-1)
		}
		v.SetUint(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("want a finite number")
		}
		v.SetFloat(x)
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		if text == "" && isText(v.Type()) {
			v.SetZero()
			return nil
		}
		parts := strings.Split(text, ",")
		list := reflect.MakeSlice(v.Type(), len(parts), len(parts))
		for i, part := range parts {
			if err := parse(list.Index(i), strings.TrimSpace(part)); err != nil {
				return fmt.Errorf("%w, or several with commas between them", err)
			}
		}
		v.Set(list)
	default:
		return fmt.Errorf("a %s cannot be set from text", v.Type())
	}
	return nil
}

// Check returns the errors that Run would return for p. There is one error for each parameter
// outside its range. If all parameters are in their ranges, and p has a method Check, this method
// checks combinations of parameters.
func Check(p any) error {
	numbers := make(map[string]float64) // the values of those parameters that are in their ranges; for a list, the smallest entry
	errRange := eachField(p, func(name string, v reflect.Value, tag reflect.StructTag) error {
		if isText(v.Type()) {
			return checkText(name, v, tag.Get("range"))
		}
		if v.Kind() != reflect.Slice {
			err := checkValue(name, v, tag.Get("range"))
			if err == nil {
				numbers[name] = number(v)
			}
			return err
		}
		if n := tag.Get("len"); n != "" && !domainOf(n).contains(float64(v.Len())) {
			return Invalid(name, v, fmt.Sprintf("give a number of values in %s", n))
		}
		var errs []error
		for i := range v.Len() {
			errs = append(errs, checkValue(fmt.Sprintf("%s[%d]", name, i), v.Index(i), tag.Get("range")))
			if i > 0 && tag.Get("order") == "ascending" && number(v.Index(i)) <= number(v.Index(i-1)) {
				errs = append(errs, Invalid(name, v, "give ascending numbers"))
			}
		}
		err := errors.Join(errs...)
		if err == nil && v.Len() > 0 {
			least := number(v.Index(0))
			for i := range v.Len() {
				least = min(least, number(v.Index(i)))
			}
			numbers[name] = least
		}
		return err
	})
	errOrder := eachField(p, func(name string, v reflect.Value, tag reflect.StructTag) error {
		group := name[:strings.LastIndex(name, ".")+1]
		own, known := numbers[name]
		if other, ok := numbers[group+tag.Get("below")]; known && ok && own >= other {
			return Invalid(name, v, fmt.Sprintf("use a value below %s, %v", tag.Get("below"), other))
		}
		if other, ok := numbers[group+tag.Get("most")]; known && ok && own > other {
			return Invalid(name, v, fmt.Sprintf("use at most %s, %v", tag.Get("most"), other))
		}
		if examples := tag.Get("splits"); examples != "" && known {
			return checkFraction(name, v, group, strings.Split(examples, ","), numbers)
		}
		return nil
	})
	err := errors.Join(errRange, errOrder)
	if own, ok := p.(interface{ Check() error }); ok && err == nil {
		err = own.Check()
	}
	return err
}

// checkFraction checks fractions of the examples: each must leave training and validation rows. The
// value v is one fraction or a list of fractions. The number of examples is the first field of the
// group whose name is in sizeFields.
func checkFraction(name string, v reflect.Value, group string, sizeFields []string, numbers map[string]float64) error {
	fractions := []reflect.Value{v}
	if v.Kind() == reflect.Slice {
		fractions = nil
		for i := range v.Len() {
			fractions = append(fractions, v.Index(i))
		}
	}
	for _, field := range sizeFields {
		n, ok := numbers[group+field]
		if !ok {
			continue
		}
		for _, p := range fractions {
			if _, err := cvgm.TrainRows(int(n), p.Float()); err != nil {
				return Invalid(name, p, fmt.Sprintf("use a fraction that leaves training and validation rows of %s = %v examples", field, n))
			}
		}
		return nil
	}
	return nil
}

// maxCount bounds all whole numbers except seeds. More examples, points or steps would not fit into
// any memory. The sum of two such numbers does not overflow.
const maxCount = math.MaxInt32

func checkValue(name string, v reflect.Value, allowed string) error {
	if !domainOf(allowed).contains(number(v)) {
		return Invalid(name, v, "use a value in "+allowed)
	}
	if v.Kind() == reflect.Int && v.Int() > maxCount {
		return Invalid(name, v, fmt.Sprintf("use a value in %s up to %d", allowed, maxCount))
	}
	return nil
}

// checkText checks a parameter that is a text. If its range is a set of words, the text must be one
// of these words.
func checkText(name string, v reflect.Value, allowed string) error {
	if words, ok := wordsOf(allowed); ok && !slices.Contains(words, v.String()) {
		return Invalid(name, fmt.Sprintf("%q", v), "use a word of "+allowed)
	}
	return nil
}

// Invalid returns the error for a parameter with an invalid value.
func Invalid(name string, value any, remedy string) error {
	return &qpdiff.ArgError{Arg: name, Why: qpdiff.ErrDomain, Problem: fmt.Sprintf("is %v", value), Remedy: remedy}
}

// number returns v as a float64.
func number(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }

// A domain is a set of numbers: an interval, or a list.
type domain struct {
	low, high         float64
	lowOpen, highOpen bool
	listed            []float64 // the numbers of a list; nil for an interval
}

// domainOf parses the range in a tag. A malformed range is a programming error in the experiments,
// so domainOf panics.
func domainOf(tag string) domain {
	inner := []rune(tag)
	if len(inner) < 2 {
		panic(fmt.Sprintf("experiment: %q is not a range", tag))
	}
	first, last := inner[0], inner[len(inner)-1]
	var ends []float64
	for _, part := range strings.Split(string(inner[1:len(inner)-1]), ",") {
		v, err := strconv.ParseFloat(strings.Replace(part, "∞", "Inf", 1), 64)
		if err != nil {
			panic(fmt.Sprintf("experiment: %q is not a range", tag))
		}
		ends = append(ends, v)
	}
	if first == '{' {
		return domain{listed: ends}
	}
	return domain{low: ends[0], high: ends[1], lowOpen: first == '(', highOpen: last == ')'}
}

func (d domain) contains(v float64) bool {
	if d.listed != nil {
		return slices.Contains(d.listed, v)
	}
	return (v > d.low || v == d.low && !d.lowOpen) && (v < d.high || v == d.high && !d.highOpen)
}

// draw returns a random number from a bounded domain. On an interval of positive numbers that spans
// more than a decade, the logarithm of the number is uniform, unless the number must be an integer.
// Otherwise the number itself is uniform.
func (d domain) draw(src synth.Source, integer bool) float64 {
	u := src.Float64()
	switch {
	case d.listed != nil:
		return d.listed[int(u*float64(len(d.listed)))]
	case integer:
		return math.Floor(d.low + u*(d.high-d.low+1))
	case d.low > 0 && d.high > 10*d.low:
		return d.low * math.Pow(d.high/d.low, u)
	}
	return d.low + u*(d.high-d.low)
}

// Draw returns random parameters for a small run of the experiment, as a pointer like Params. It
// draws each parameter from the set of small values in the parameter's tag, and repeats the draw
// until Run accepts the combination. A parameter without such a set keeps its default.
func (e *Experiment) Draw(src synth.Source) any {
	const tries = 10000
	for range tries {
		p := e.Params()
		_ = eachField(p, func(_ string, v reflect.Value, tag reflect.StructTag) error {
			small := tag.Get("small")
			if words, ok := wordsOf(small); ok && isText(v.Type()) {
				v.SetString(words[int(src.Float64()*float64(len(words)))])
			} else if small != "" {
				drawInto(src, v, domainOf(small))
			}
			return nil
		})
		if Check(p) == nil {
			return p
		}
	}
	panic(fmt.Sprintf("experiment: %d draws of small parameters of %s were all refused", tries, e.Name))
}

// drawInto sets v to a random number. If v is a list, it sets v to one to three ascending numbers.
func drawInto(src synth.Source, v reflect.Value, d domain) {
	if v.Kind() != reflect.Slice {
		x := d.draw(src, v.Kind() != reflect.Float64)
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
		return
	}
	const most = 3
	t := v.Type().Elem()
	entries := make([]float64, 1+int(most*src.Float64()))
	for i := range entries {
		entries[i] = d.draw(src, t.Kind() != reflect.Float64)
	}
	slices.Sort(entries)
	v.SetZero()
	for _, x := range slices.Compact(entries) {
		v.Set(reflect.Append(v, reflect.ValueOf(x).Convert(t)))
	}
}
