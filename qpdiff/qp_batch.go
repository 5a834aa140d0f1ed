package qpdiff

import (
	"fmt"

	"cvgm/qpdiff/internal/check"
)

// SolveBatch solves qps[i] into sols[i], spread over the cores, and returns an
// error that names the lowest failing item, if any. The others are solved all
// the same, and each Solution has its own Status. Problems may share matrices,
// and each item starts warm from its own Solution: the results have the same
// bits for any GOMAXPROCS. It panics if the lengths differ.
func SolveBatch(sols []Solution, qps []QP) error {
	if len(sols) != len(qps) {
		panic("qpdiff: SolveBatch needs one Solution per QP")
	}
	return ForEach(0, len(qps), func(i int) error {
		if err := sols[i].Solve(&qps[i]); err != nil {
			return check.Named(fmt.Sprintf("qpdiff: batch item %d", i), err)
		}
		return nil
	})
}

// VJPBatch calls sols[i].VJP(&ws[i], &grads[i], dz[i], dlambda[i], dnu[i]) for all items,
// spread over the cores; ws, dz, dlambda and dnu may be nil. If problems share an input, let
// the fields of their grads be the same matrix or slice: it receives the sum, added in the
// order of the items, so that the bits are the same for any GOMAXPROCS. The error names the
// lowest failing item; the others are differentiated nevertheless. It panics if the lengths
// differ.
func VJPBatch(ws []Workspace, grads []QPGrad, sols []Solution, dz, dlambda, dnu [][]float64) error {
	if len(grads) != len(sols) {
		panic("qpdiff: VJPBatch needs one QPGrad per Solution")
	}
	at := func(x [][]float64, i int) []float64 {
		if x == nil {
			return nil
		}
		if len(x) != len(sols) {
			panic("qpdiff: VJPBatch needs one cotangent per Solution")
		}
		return x[i]
	}
	users := usersOf(grads)
	if ws == nil {
		ws = make([]Workspace, len(sols))
	}
	if len(ws) != len(sols) {
		panic("qpdiff: VJPBatch needs one Workspace per Solution")
	}
	exist := make([]qpInputs, len(sols))
	for i := range sols {
		if sols[i].Status == Optimal {
			_ = sols[i].set.checkShapes("grads", &grads[i], at(dz, i), at(dlambda, i), at(dnu, i)) // none is nil
		}
	}
	err := ForEach(0, len(sols), func(i int) error {
		s, g := &sols[i], &grads[i]
		d, err := s.derivative(&ws[i], s.Generalised)
		if err == nil {
			exist[i], err = d.adjoint(g, at(dz, i), at(dlambda, i), at(dnu, i))
			own := exist[i]
			for in, key := range g.keys() {
				own[in] = own[in] && users[key] == 1
			}
			d.addCotangents(g, own)
		}
		if err != nil {
			return check.Named(fmt.Sprintf("qpdiff: batch item %d", i), err)
		}
		return nil
	})
	addShared(ws, grads, exist, users)
	return err
}

// addShared adds to the blocks that several items use, one goroutine per block.
func addShared(ws []Workspace, grads []QPGrad, exist []qpInputs, users map[any]int) {
	_ = ForEach(0, inputCount, func(in int) error {
		for i := range grads {
			var only qpInputs
			key := grads[i].keys()[in]
			only[in] = exist[i][in] && key != nil && users[key] > 1
			if only[in] {
				ws[i].qp.addCotangents(&grads[i], only)
			}
		}
		return nil
	})
}

// usersOf counts the items that use each block.
func usersOf(grads []QPGrad) map[any]int {
	users := map[any]int{}
	for i := range grads {
		for _, key := range grads[i].keys() {
			if key != nil {
				users[key]++
			}
		}
	}
	return users
}

// keys identifies the storage behind each field.
func (g *QPGrad) keys() (k [inputCount]any) {
	for in := range k {
		if m := g.matrix(QPInput(in)); m != nil {
			k[in] = m
		} else if v := g.vector(QPInput(in)); len(v) > 0 {
			k[in] = &v[0]
		}
	}
	return k
}
