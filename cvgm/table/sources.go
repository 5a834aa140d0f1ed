package table

// Sources returns, for each column of the table, the column of the file from which it is made. All
// parts of a date are made from the same column of the file.
func (e *Encoder) Sources() []string {
	sources := make([]string, len(e.columns))
	for j := range e.columns {
		sources[j] = e.columns[j].source()
	}
	return sources
}
