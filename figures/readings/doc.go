// Package readings words the results: for a notebook its answer, and for a figure or table the
// sentences that read it. All texts are Markdown, paragraphs apart by an empty line; numbers and
// words such as "higher" follow from the result. A function has the name of the function in
// package figures that draws what it reads.
package readings

import (
	"fmt"
	"strings"
)

// paragraphs joins the texts that are not empty.
func paragraphs(texts ...string) string {
	var all []string
	for _, text := range texts {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}

// A list is a Markdown list, of an item a line.
type list struct{ strings.Builder }

func (l *list) item(format string, args ...any) {
	fmt.Fprintf(l, "* "+format+"\n", args...)
}
