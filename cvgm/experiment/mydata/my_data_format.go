package mydata

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
)

// columnFormats reads the entries COLUMN=FORMAT of a parameter. The last = of an entry separates
// the column from the format, because the name of a column may contain =.
func columnFormats[F any](parameter string, entries []string, like string, format func(text string) (F, bool)) (map[string]F, error) {
	var all map[string]F
	for _, entry := range entries {
		at := strings.LastIndex(entry, "=")
		if at < 0 {
			return nil, experiment.Invalid(parameter, fmt.Sprintf("%q, without a format", entry), "give COLUMN=FORMAT, as in "+like)
		}
		f, ok := format(strings.TrimSpace(entry[at+1:]))
		if !ok {
			return nil, experiment.Invalid(parameter, fmt.Sprintf("%q", entry), "give COLUMN=FORMAT, as in "+like)
		}
		if all == nil {
			all = map[string]F{}
		}
		all[strings.TrimSpace(entry[:at])] = f
	}
	return all, nil
}

// numberFormat reads a format of numbers from words. The words "point" and "comma" name the decimal
// sign. A further word without a colon is the unit. A word such as "g:0.001" names another unit,
// and gives its size in multiples of the first unit.
func numberFormat(text string) (n table.Number, ok bool) {
	for _, word := range strings.Fields(text) {
		unit, size, other := strings.Cut(word, ":")
		switch {
		case word == "point":
			n.Decimal = '.'
		case word == "comma":
			n.Decimal = ','
		case other:
			v, err := strconv.ParseFloat(size, 64)
			if err != nil {
				return n, false
			}
			if n.Units == nil {
				n.Units = map[string]float64{}
			}
			n.Units[unit] = v
		case n.Unit != "":
			return n, false
		default:
			n.Unit = word
		}
	}
	return n, strings.TrimSpace(text) != ""
}

// dateFormat returns text as a layout of [table.CSV.Dates], and whether it is not empty.
func dateFormat(text string) (string, bool) { return text, text != "" }

// withoutRepeats returns the names without repetitions. On a command line, a lone comma denotes the
// column without a name. It is read as two empty names.
func withoutRepeats(names []string) []string {
	var all []string
	for _, n := range names {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// worded is an error of the library with another text. In this text, names of parameters replace
// the names of the library's fields.
type worded struct {
	error
	text string
}

func (w *worded) Error() string { return w.text }
func (w *worded) Unwrap() error { return w.error }

// inParameters returns the error with the names of parameters in its text.
func inParameters(err error) error {
	if err == nil {
		return nil
	}
	if text := byParameters(err.Error()); text != err.Error() {
		return &worded{err, text}
	}
	return err
}

var (
	overrules  = regexp.MustCompile(`\bCSV\.(\w+) overrules`)
	csvField   = regexp.MustCompile(`\bCSV\.(Target|Positive|Numeric|Categorical|Numbers|Dates|Ignore|Group|Weights|Missing|MissingTexts|Comma)\b`)
	tunerField = strings.NewReplacer("Tuner.OuterFolds", "OuterFolds", "OuterFolds: -1", "OuterFolds=0", "OuterFolds −1", "OuterFolds=0", "MaxTime,", "Seconds,", "MaxTime ended", "Seconds ended",
		", and use Table.Binary", "", `put "" into Ignore`, `put "" into Ignore (-p Ignore=, does)`,
		`use "\t"`, `use "tab"`, "Tuner.Splits to cvgm.TimeSplits", "Tuner.Splits to cvgm.TimeSplits in a program of your own")
)

// byParameters returns text with the names of parameters in place of the names of the library's
// fields.
func byParameters(text string) string {
	text = overrules.ReplaceAllString(text, "The parameter $1 overrules")
	return tunerField.Replace(csvField.ReplaceAllString(text, "$1"))
}
