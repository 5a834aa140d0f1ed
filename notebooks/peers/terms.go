package main

import (
	"slices"
	"strings"

	"cvgm/cvgm/table"
	"cvgm/cvgm/terms"
)

// smooths returns a smooth function of each column.
func smooths(t *table.Table) (all []terms.Term) {
	for _, c := range t.Columns {
		all = append(all, terms.Smooth(c.Name))
	}
	return all
}

// bands returns the bands of the columns. The name of a column begins with the name of its band and
// a hyphen.
func bands(t *table.Table) (all []terms.Term) {
	for _, c := range t.Columns {
		name, _, _ := strings.Cut(c.Name, "-")
		i := slices.IndexFunc(all, func(b terms.Term) bool { return b.Name == name })
		if i < 0 {
			all = append(all, terms.Band(name, c.Name))
		} else {
			all[i].Columns = append(all[i].Columns, c.Name)
		}
	}
	return all
}
