// Package readings describes results in words. It makes the answers in the notebooks, and the
// sentences below figures and tables. All texts are Markdown, with an empty line between
// paragraphs. The numbers, and words such as "higher", depend on the result. If a function
// describes a figure or table, it has the same name as the function of package figures that draws
// the figure or table.
package readings

import (
	"fmt"
	"strings"
)

// paragraphs joins those texts that are not empty. It puts an empty line between them.
func paragraphs(texts ...string) string {
	var all []string
	for _, text := range texts {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}

// A list is a Markdown list with one item on each line.
type list struct{ strings.Builder }

func (l *list) item(format string, args ...any) {
	fmt.Fprintf(l, "* "+format+"\n", args...)
}
