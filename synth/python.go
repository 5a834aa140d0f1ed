package synth

// Python is the generator of Python's standard module "random", after random.seed(seed). It has
// only uniform numbers. The zero value is NewPython(0). A copy of a Python value has its own copy
// of the state.
type Python struct{ mt mt19937 }

// NewPython returns the generator in the state after random.seed(seed) for an integer seed. As in
// Python, seed and −seed give the same state.
func NewPython(seed int64) *Python {
	abs := uint64(seed)
	if seed < 0 {
		abs = -abs
	}
	key := []uint32{uint32(abs), uint32(abs >> 32)}
	if key[1] == 0 {
		key = key[:1]
	}
	p := new(Python)
	p.mt.seedSlice(key)
	return p
}

// Float64 returns the next number of random.random(). It is uniform on [0, 1), and a multiple of
// 2⁻⁵³.
func (p *Python) Float64() float64 {
	if !p.mt.seeded {
		*p = *NewPython(0)
	}
	return p.mt.float64()
}
