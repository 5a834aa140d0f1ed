package table

// Sources returns the column of the file for each column of values: that of a date for its parts.
func (e *Encoder) Sources() []string {
	sources := make([]string, len(e.columns))
	for j := range e.columns {
		sources[j] = e.columns[j].source()
	}
	return sources
}
