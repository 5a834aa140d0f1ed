package table

// Sources returns, for each column of values, its column in the file. All parts of a date come from
// the same one.
func (e *Encoder) Sources() []string {
	sources := make([]string, len(e.columns))
	for j := range e.columns {
		sources[j] = e.columns[j].source()
	}
	return sources
}
