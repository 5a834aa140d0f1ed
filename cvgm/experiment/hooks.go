package experiment

// Hooks are what a run calls while its cells are computed. A cell is a part of an experiment, for
// example one repetition, or one size with one seed. The zero value reports nothing and stores
// nothing.
type Hooks struct {
	// Progress is called with the number of cells that are done and the number of all cells. Several
	// goroutines call Progress. nil is no report.
	Progress func(done, total int)
	// Keeper stores each cell as soon as it is done. The Keeper must belong to one experiment with
	// one set of parameters. nil stores no cells.
	Keeper Keeper
}

// A Keeper stores finished cells, so that a run that was interrupted computes only the missing
// cells when it resumes. Several goroutines call the methods of a Keeper.
type Keeper interface {
	// Load fills *cell, a pointer, with the stored cell i, and reports whether a cell was stored.
	Load(i int, cell any) bool
	// Keep stores *cell, a pointer, as cell i.
	Keep(i int, cell any)
}
