package table

import (
	"fmt"

	"cvgm/cvgm/internal/args"
)

// A Note reports a choice that [CSV.Read] made for a column.
type Note struct {
	Column string // the column of the file
	Text   string // one sentence
	Field  string // the field of [CSV] that overrules the choice
	// LeftOut is set if this choice leaves the column out of the features.
	LeftOut bool
	// Check is set if the file does not settle the choice: the column is left out, or nothing else
	// in the file confirms its format. A wrong choice may spoil the model.
	Check bool
}

func (n Note) String() string { return n.Text + " " + n.Field + " overrules this choice." }

// firstOf returns the first few texts of a list, shortened for a message. If the list has more
// texts, firstOf appends a text with their number.
func firstOf(texts []string) (first []string) {
	const most = 8
	for _, text := range texts[:min(most, len(texts))] {
		first = append(first, args.Short(text))
	}
	if more := len(texts) - len(first); more > 0 {
		first = append(first, fmt.Sprintf("… %d more", more))
	}
	return first
}

// nameOf returns the name of the constant v.
func nameOf[T ~int](names []string, v T) string {
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("%T(%d)", v, int(v))
	}
	return names[v]
}
