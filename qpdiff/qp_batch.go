package qpdiff

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"cvgm/qpdiff/internal/check"
)

// SolveBatch solves the program qps[i] with the Solution sols[i], for all i and on all cores. The
// pair of qps[i] and sols[i] is called item i. If some items fail, SolveBatch still solves all
// others, and returns an error that names the failed item with the lowest index. Each Solution has
// its own Status. Programs may share matrices. Each item starts warm from its own Solution. The
// results have the same bits for any GOMAXPROCS. SolveBatch panics if the lengths of qps and sols
// differ.
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

// VJPBatch calls sols[i].VJP(&ws[i], &grads[i], dz[i], dlambda[i], dnu[i]) for all items i, on all
// cores. ws, dz, dlambda and dnu may be nil. If items fail, VJPBatch still differentiates all other
// items, and returns an error that names the failed item with the lowest index. VJPBatch panics if
// the lengths of its arguments differ.
//
// Programs may share any of their data, and items may share cotangents. If programs share an input,
// the fields for this input in their grads may hold the same matrix or slice. VJPBatch then adds
// the derivatives of all these programs to this matrix or slice. It adds them in the order of the
// items, so the result has the same bits for any GOMAXPROCS. Any fields of grads may overlap: for
// example the L of one item and the H of another item, or two windows of one matrix. One goroutine
// writes all fields that overlap. A field of grads must not overlap with a cotangent or with a
// slice of a Solution.
func VJPBatch(ws []Workspace, grads []QPGrad, sols []Solution, dz, dlambda, dnu [][]float64) error {
	if len(grads) != len(sols) {
		panic("qpdiff: VJPBatch needs one QPGrad per Solution")
	}
	at := func(x [][]float64, i int) []float64 { return cotangentOf(x, i, len(sols)) }
	if ws == nil {
		ws = make([]Workspace, len(sols))
	}
	if len(ws) != len(sols) {
		panic("qpdiff: VJPBatch needs one Workspace per Solution")
	}
	unshared, groups := shareStorage(grads)
	exist := make([]qpInputs, len(sols))
	for i := range sols {
		if sols[i].Status == Optimal {
			_ = sols[i].set.checkShapes("grads", &grads[i], at(dz, i), at(dlambda, i), at(dnu, i)) // no gradient is nil
		}
	}
	err := ForEach(0, len(sols), func(i int) error {
		s, g := &sols[i], &grads[i]
		d, err := s.derivative(&ws[i], s.Generalised)
		if err == nil {
			exist[i], err = d.adjoint(g, at(dz, i), at(dlambda, i), at(dnu, i))
			for input := range unshared[i] {
				unshared[i][input] = unshared[i][input] && exist[i][input]
			}
			d.addCotangents(g, unshared[i])
		}
		if err != nil {
			return check.Named(fmt.Sprintf("qpdiff: batch item %d", i), err)
		}
		return nil
	})
	_ = ForEach(0, len(groups), func(k int) error {
		for _, b := range groups[k] {
			var only qpInputs
			if only[b.input] = exist[b.item][b.input]; only[b.input] {
				ws[b.item].qp.addCotangents(&grads[b.item], only)
			}
		}
		return nil
	})
	return err
}

// cotangentOf returns x[i], or nil if x is nil. It panics if a non-nil x does not have n entries.
func cotangentOf(x [][]float64, i, n int) []float64 {
	if x == nil {
		return nil
	}
	if len(x) != n {
		panic("qpdiff: VJPBatch needs one cotangent per Solution")
	}
	return x[i]
}

// A gradBlock is one field of the QPGrad of one item of a batch.
type gradBlock struct {
	item     int
	input    QPInput
	from, to uintptr // the addresses of the field's first and last entry
}

// shareStorage sorts the fields of all items by storage. The result named unshared marks each field
// whose storage overlaps with no other field. The result groups has the other fields. The fields of
// a group overlap in storage and are in the order of the items.
func shareStorage(grads []QPGrad) (unshared []qpInputs, groups [][]gradBlock) {
	unshared = make([]qpInputs, len(grads))
	blocks := make([]gradBlock, 0, len(grads)*int(InputL))
	for i := range grads {
		for input := range QPInput(inputCount) {
			if v := grads[i].storage(input); len(v) > 0 {
				blocks = append(blocks, gradBlock{i, input, address(&v[0]), address(&v[len(v)-1])})
			}
		}
	}
	slices.SortFunc(blocks, func(a, b gradBlock) int { return cmp.Compare(a.from, b.from) })
	for len(blocks) > 0 {
		k, to := 1, blocks[0].to
		for ; k < len(blocks) && blocks[k].from <= to; k++ {
			to = max(to, blocks[k].to)
		}
		if k == 1 {
			unshared[blocks[0].item][blocks[0].input] = true
		} else {
			slices.SortFunc(blocks[:k], func(a, b gradBlock) int {
				return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.input, b.input))
			})
			groups = append(groups, blocks[:k])
		}
		blocks = blocks[k:]
	}
	return unshared, groups
}

// storage returns the storage of the field of g for the given input. For a window of a matrix the
// storage includes the entries between the rows of the window.
func (g *QPGrad) storage(input QPInput) []float64 {
	if m := g.matrix(input); m != nil {
		return m.RawMatrix().Data
	}
	return g.vector(input)
}

func address(v *float64) uintptr { return reflect.ValueOf(v).Pointer() }
