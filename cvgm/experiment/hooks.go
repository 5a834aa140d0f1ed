package experiment

// Hooks holds what a run of an experiment calls while it computes its cells. A cell is a part of an
// experiment, for example one repetition, or one size with one seed. The zero value reports nothing
// and stores nothing.
type Hooks struct {
	// A run calls Progress with two numbers: the number of cells that are done, and the number of
	// all cells. Several goroutines call Progress. If Progress is nil, the run reports nothing.
	Progress func(done, total int)
	// Keeper stores each cell as soon as it is done. The Keeper must belong to one experiment with
	// one set of parameters. If Keeper is nil, the run stores no cells.
	Keeper Keeper
}

// A Keeper stores finished cells. A run that was interrupted then computes only the missing cells
// when it resumes. Several goroutines call the methods of a Keeper.
type Keeper interface {
	// Load reports whether cell i is stored. If so, it fills *cell with the stored cell. The
	// argument cell is a pointer.
	Load(i int, cell any) bool
	// Keep stores *cell, a pointer, as cell i.
	Keep(i int, cell any)
}
