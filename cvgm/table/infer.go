package table

import (
	"fmt"
	"slices"
)

// kinds infers the kind and the format of each column of a file.
type kinds struct {
	csv  CSV
	text *csvText
	t    *Table // receives the columns
	at   []int  // the index in a record of each column of t
	// points and commas count the columns whose numbers prove a decimal point or a decimal comma.
	// unresolved lists the columns that can be read with either sign.
	points, commas int
	unresolved     []openNumber
}

// openNumber is a column whose numbers can be read with either decimal sign.
type openNumber struct {
	name, example string
	number        *Number
}

// note adds a note on a column.
func (k *kinds) note(column, field, format string, args ...any) {
	k.t.Notes = append(k.t.Notes, Note{Column: column, Text: fmt.Sprintf(format, args...), Field: field})
}

// doubt adds a note on a choice that the file does not settle.
func (k *kinds) doubt(column, field, format string, args ...any) {
	k.note(column, field, format, args...)
	k.t.Notes[len(k.t.Notes)-1].Check = true
}

// leaveOut adds a note on a column that is left out of the features.
func (k *kinds) leaveOut(column, field, format string, args ...any) {
	k.doubt(column, field, format, args...)
	k.t.Notes[len(k.t.Notes)-1].LeftOut = true
}

// leftOut returns a phrase for an error that names the columns that were left out.
func (k *kinds) leftOut() string {
	var names []string
	for _, n := range k.t.Notes {
		if n.LeftOut {
			names = append(names, n.Column)
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf(", without the identifiers %q", firstOf(names))
}

// fresh returns a name that no column has. It is name, if necessary with apostrophes at the end.
func (k *kinds) fresh(name string) string {
	for {
		if _, ok := k.text.at[name]; !ok && !slices.ContainsFunc(k.t.Columns, func(c Column) bool { return c.Name == name }) {
			return name
		}
		name += "'"
	}
}
