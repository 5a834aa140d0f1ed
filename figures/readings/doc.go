// Package readings puts results into words: the answer of a notebook, and the sentences below a
// figure or table. All texts are Markdown, with an empty line between paragraphs. Numbers and words
// such as "higher" follow from the result. A function has the same name as the function of package
// figures whose drawing it describes.
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
