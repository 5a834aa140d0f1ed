//go:build ignore

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// back writes code for back substitution, which computes the unknowns x from the last to the first.
// On entry, the register rowEnd holds the address of the end of the last unknown's row. rowBytes is
// the number of bytes from the end of a row to the end of the row above it, and n is the number of
// bytes of all unknowns. For each of the last laneMost unknowns the code is written once, and the
// computed unknowns stay in registers. A loop computes the other unknowns.
func back(rowEnd, rowBytes, n, dinv, x reg.Register, rhs func(k reg.Register) Mem) {
	k := GP64()
	LEAQ(Mem{Base: n, Disp: -vector}, k)
	here := func(base, index reg.Register) Mem { return Mem{Base: base, Index: index, Scale: 1} }
	nextRow := func() {
		SUBQ(Imm(vector), k)
		JL(LabelRef("found"))
		SUBQ(rowBytes, rowEnd)
	}
	finish := func(s reg.VecVirtual) {
		VMULPD(here(dinv, k), s, s)
		VMOVUPD(s, here(x, k))
	}
	var known []reg.VecVirtual
	for {
		s := YMM()
		VMOVUPD(rhs(k), s)
		for l, v := range known {
			p := YMM()
			VMULPD(Mem{Base: rowEnd, Disp: -vector * (l + 1)}, v, p)
			VSUBPD(p, s, s)
		}
		finish(s)
		nextRow()
		if known = append(known, s); len(known) == laneMost {
			break
		}
	}
	// The unknown that was computed last is still in a register, so its product does not wait for
	// memory.
	last, end, index, stop := known[laneMost-1], GP64(), GP64(), GP64()
	LEAQ(Mem{Base: x, Index: n, Scale: 1}, end)
	Label("unknown")
	s, p := YMM(), YMM()
	VMOVUPD(rhs(k), s)
	MOVQ(k, stop)
	SUBQ(n, stop)
	ADDQ(Imm(vector), stop) // the index of the unknown computed last, from the end
	MOVQ(I32(-vector), index)
	Label("known")
	VMOVUPD(here(end, index), p)
	VMULPD(here(rowEnd, index), p, p)
	VSUBPD(p, s, s)
	SUBQ(Imm(vector), index)
	CMPQ(index, stop)
	JNE(LabelRef("known"))
	VMULPD(here(rowEnd, index), last, p)
	VSUBPD(p, s, last)
	finish(last)
	nextRow()
	JMP(LabelRef("unknown"))
	Label("found")
}

// endOfRows returns the address of the right-hand side in the last row. It follows the coefficients
// of the n unknowns. endOfRows replaces n by the number of bytes of n vectors.
func endOfRows(a, n, stride reg.Register) reg.GPVirtual {
	end := GP64()
	LEAQ(Mem{Base: n, Disp: -1}, end)
	IMULQ(stride, end)
	ADDQ(a, end)
	SHLQ(Imm(5), n)
	ADDQ(n, end)
	return end
}

// laneMost is the number of unknowns that stay in registers.
const laneMost = 15

// ldlLanesSolve writes a function with forward and back substitution. For up to laneMost unknowns,
// the code of the forward substitution is written once for each unknown, as in the function back.
// This code keeps the quotients of all earlier unknowns in registers. For a larger system, the code
// has a loop over the rows.
func ldlLanesSolve() {
	TEXT("ldlLanesSolve", NOSPLIT, "func(a, dinv, x *float64, n int)")
	Pragma("noescape")
	Doc("ldlLanesSolve is LDLSolve for four systems of n ≥ 1 unknowns, with the factors of ldlLanes.")
	a, dinv, x := Load(Param("a"), GP64()), Load(Param("dinv"), GP64()), Load(Param("x"), GP64())
	n, stride, third := Load(Param("n"), GP64()), GP64(), GP64()
	LEAQ(Mem{Base: n, Disp: 1}, stride)
	SHLQ(Imm(5), stride)
	CMPQ(n, Imm(laneMost))
	JG(LabelRef("rows"))
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, third)
	rows := []reg.Register{a} // of unknowns 0, 4, 8, …
	entry := func(k, l int) Mem {
		m := Mem{Base: rows[k/4], Disp: vector * l}
		switch k % 4 {
		case 1, 2:
			m.Index, m.Scale = stride, uint8(k%4)
		case 3:
			m.Index, m.Scale = third, 1
		}
		return m
	}
	var above []reg.VecVirtual
	for l := range laneMost {
		s := YMM()
		VMOVUPD(Mem{Base: x, Disp: vector * l}, s)
		if l%4 == 1 && l > 1 {
			next := GP64()
			LEAQ(Mem{Base: rows[len(rows)-1], Index: stride, Scale: 4}, next)
			rows = append(rows, next)
		}
		for k, f := range above {
			p := YMM()
			VMULPD(entry(k, l), f, p)
			VSUBPD(p, s, s)
		}
		VMOVUPD(s, Mem{Base: x, Disp: vector * l})
		if l == laneMost-1 {
			break
		}
		CMPQ(n, Imm(uint64(l+1)))
		JE(LabelRef("turn"))
		VMULPD(Mem{Base: dinv, Disp: vector * l}, s, s)
		above = append(above, s)
	}
	Label("turn")
	end := endOfRows(a, n, stride)
	back(end, stride, n, dinv, x, func(k reg.Register) Mem { return Mem{Base: x, Index: k, Scale: 1} })
	VZEROUPPER()
	RET()
	Label("rows")
	row, size, k, j := GP64(), GP64(), GP64(), GP64()
	MOVQ(a, row)
	MOVQ(n, size)
	SHLQ(Imm(5), size)
	XORQ(k, k)
	here := func(base, index reg.Register) Mem { return Mem{Base: base, Index: index, Scale: 1} }
	next, f, q := YMM(), YMM(), YMM()
	VMOVUPD(here(x, k), next)
	Label("pivot")
	VMULPD(here(dinv, k), next, f)
	ADDQ(Imm(vector), k)
	CMPQ(k, size)
	JE(LabelRef("turn"))
	VMOVUPD(here(x, k), next)
	VMULPD(here(row, k), f, q)
	VSUBPD(q, next, next)
	MOVQ(k, j)
	Label("rest")
	v, p := YMM(), YMM()
	VMOVUPD(here(x, j), v)
	VMULPD(here(row, j), f, p)
	VSUBPD(p, v, v)
	VMOVUPD(v, here(x, j))
	ADDQ(Imm(vector), j)
	CMPQ(j, size)
	JNE(LabelRef("rest"))
	ADDQ(stride, row)
	JMP(LabelRef("pivot"))
}

// forwardRows writes a function for forward substitution, which processes groups of four rows.
// First it sums, for each row of a group, the terms of the unknowns before the group. The four sums
// are independent, so no addition waits for another row. Then it subtracts the terms of the
// unknowns in the group, one at a time.
func forwardRows() {
	TEXT("forwardRows", NOSPLIT, "func(x, l *float64, stride int, inv *float64, n int)")
	Pragma("noescape")
	Doc("forwardRows replaces the n entries of x by L⁻¹x for the lower triangle L, whose row i begins at l[i·stride].",
		"The slice inv has the inverses of L's diagonal. The products of a row with entries before the last multiple",
		"of four are summed in the order of gonum's DotUnitary.")
	x, l, stride := Load(Param("x"), GP64()), Load(Param("l"), GP64()), Load(Param("stride"), GP64())
	inv, n := Load(Param("inv"), GP64()), Load(Param("n"), GP64())
	forwardGroups(x, x, rowsFrom(l, stride), stride, inv, n)
	VZEROUPPER()
	RET()
}

// forwardGroups writes the code of forwardRows. The right-hand side rhs may be x. The parameter row
// has the addresses of the first four rows, and stride is the number of bytes from one row to the
// next. The registers row and n change.
func forwardGroups(x, rhs reg.Register, row [dotRows]reg.Register, stride, inv, n reg.Register) {
	known, at := GP64(), GP64() // in bytes of x
	XORQ(known, known)
	place := func(base reg.Register, k int) Mem { return Mem{Base: base, Index: known, Scale: 1, Disp: 8 * k} }
	// find writes code that replaces v by one unknown of the group. On entry, v is the right-hand
	// side minus the terms of the unknowns before the group. The slice named found holds the
	// earlier unknowns of the group.
	find := func(v reg.Register, r reg.Register, found []reg.Register) {
		for i, u := range found {
			p := XMM()
			VMULSD(place(r, i), u, p)
			VSUBSD(p, v, v)
		}
		VMULSD(place(inv, len(found)), v, v)
	}
	Label("forwardGroup")
	CMPQ(n, Imm(dotRows))
	JL(LabelRef("forwardRest"))
	halves := halfSums("lanes", x, known, at, row[:])
	var found []reg.Register
	for k := 0; k < dotRows; k += 2 { // two sums, followed by the products with the unknowns of the group
		VHADDPD(halves[k+1], halves[k], halves[k])
		v, w := XMM(), XMM()
		VMOVUPD(place(rhs, k), v)
		VSUBPD(halves[k], v, v)
		VUNPCKHPD(v, v, w)
		for i, u := range []reg.Register{v, w} {
			find(u, row[k+i], found)
			found = append(found, u)
		}
	}
	// One store of four entries lets the next load take its value from the store buffer. A load
	// cannot combine four stores.
	VUNPCKLPD(found[1], found[0], found[0])
	VUNPCKLPD(found[3], found[2], found[2])
	four := YMM()
	VINSERTF128(Imm(1), found[2], found[0].(reg.Vec).AsY(), four)
	VMOVUPD(four, place(x, 0))
	for _, r := range row {
		LEAQ(Mem{Base: r, Index: stride, Scale: 4}, r)
	}
	ADDQ(Imm(lanes*8), known)
	SUBQ(Imm(dotRows), n)
	JMP(LabelRef("forwardGroup"))
	Label("forwardRest")
	found = nil
	for k := range dotRows - 1 {
		CMPQ(n, Imm(uint64(k)))
		JE(LabelRef("forwardEnd"))
		half := halfSums([]string{"first", "second", "third"}[k], x, known, at, row[k:k+1])[0]
		VHADDPD(half, half, half)
		v := XMM()
		VMOVSD(place(rhs, k), v)
		VSUBSD(half, v, v)
		find(v, row[k], found)
		VMOVSD(v, place(x, k))
		found = append(found, v)
	}
	Label("forwardEnd")
}

// halfSums returns the products of the rows with the first knownBytes bytes of x. Each product is
// the sum of the two lanes of a returned register.
func halfSums(name string, x, knownBytes, at reg.Register, rows []reg.Register) []reg.Register {
	sums := make([]reg.VecVirtual, len(rows))
	for k := range sums {
		sums[k] = YMM()
		VXORPD(sums[k], sums[k], sums[k])
	}
	XORQ(at, at)
	Label(name)
	CMPQ(at, knownBytes)
	JE(LabelRef(name + "End"))
	v := YMM()
	VMOVUPD(Mem{Base: x, Index: at, Scale: 1}, v)
	for k, r := range rows {
		p := YMM()
		VMULPD(Mem{Base: r, Index: at, Scale: 1}, v, p)
		VADDPD(p, sums[k], sums[k])
	}
	ADDQ(Imm(lanes*8), at)
	JMP(LabelRef(name))
	Label(name + "End")
	halves := make([]reg.Register, len(rows))
	for k, sum := range sums {
		high := XMM()
		VEXTRACTF128(Imm(1), sum, high)
		halves[k] = sum.AsX()
		VADDPD(high, halves[k], halves[k])
	}
	return halves
}

// backRows writes a function for back substitution. It processes four rows at a time, so that it
// reads and writes x once for four rows. If the number of rows is not a multiple of four, it first
// processes the extra rows one by one.
func backRows() {
	TEXT("backRows", NOSPLIT, "func(x, l *float64, stride int, inv *float64, k int)")
	Pragma("noescape")
	Doc("backRows replaces the k entries of x by L⁻ᵀx for the lower triangle L, row by row from the last. Row i of L",
		"begins at l[i·stride], and inv has the inverses of L's diagonal.")
	x, l, stride := Load(Param("x"), GP64()), Load(Param("l"), GP64()), Load(Param("stride"), GP64())
	inv, k := Load(Param("inv"), GP64()), Load(Param("k"), GP64())
	SHLQ(Imm(3), stride)
	row, at, left := GP64(), GP64(), GP64()
	MOVQ(k, row)
	DECQ(row)
	IMULQ(stride, row)
	ADDQ(l, row) // the last row
	backSingles(x, inv, row, stride, k, at, left)
	Label("rows")
	rows := [dotRows]reg.Register{row} // in reverse order
	for i := 1; i < dotRows; i++ {
		next := GP64()
		MOVQ(rows[i-1], next)
		SUBQ(stride, next)
		rows[i] = next
	}
	SHLQ(Imm(2), stride)
	Label("group")
	TESTQ(k, k)
	JE(LabelRef("end"))
	SUBQ(Imm(dotRows), k)
	var found, factors [dotRows]reg.VecVirtual
	place := func(base reg.Register, j int) Mem {
		return Mem{Base: base, Index: k, Scale: 8, Disp: 8 * (dotRows - 1 - j)}
	}
	for i := range rows {
		v := XMM()
		VMOVSD(place(x, i), v)
		for j := range i {
			p := XMM()
			VMULSD(place(rows[j], i), found[j], p)
			VSUBSD(p, v, v)
		}
		VMULSD(place(inv, i), v, v)
		VMOVSD(v, place(x, i))
		found[i], factors[i] = v, YMM()
		broadcast(v, factors[i])
	}
	XORQ(at, at)
	Label("groupLanes")
	CMPQ(at, k)
	JE(LabelRef("groupEnd"))
	sums := YMM()
	VMOVUPD(Mem{Base: x, Index: at, Scale: 8}, sums)
	for i, r := range rows {
		p := YMM()
		VMULPD(Mem{Base: r, Index: at, Scale: 8}, factors[i], p)
		VSUBPD(p, sums, sums)
	}
	VMOVUPD(sums, Mem{Base: x, Index: at, Scale: 8})
	ADDQ(Imm(lanes), at)
	JMP(LabelRef("groupLanes"))
	Label("groupEnd")
	for _, r := range rows {
		SUBQ(stride, r)
	}
	JMP(LabelRef("group"))
	Label("end")
	VZEROUPPER()
	RET()
}

// backSingles writes a loop that processes rows one by one, beginning with the last row, until the
// number of remaining rows is a multiple of four.
func backSingles(x, inv, row, stride, k, at, left reg.Register) {
	Label("single")
	TESTQ(U32(lanes-1), k)
	JE(LabelRef("rows"))
	DECQ(k)
	v, f := XMM(), YMM()
	VMOVSD(Mem{Base: x, Index: k, Scale: 8}, v)
	VMULSD(Mem{Base: inv, Index: k, Scale: 8}, v, v)
	VMOVSD(v, Mem{Base: x, Index: k, Scale: 8})
	broadcast(v, f)
	XORQ(at, at)
	MOVQ(k, left)
	Label("singleLanes")
	CMPQ(left, Imm(lanes))
	JL(LabelRef("singleOne"))
	p, sum := YMM(), YMM()
	VMULPD(Mem{Base: row, Index: at, Scale: 8}, f, p)
	VMOVUPD(Mem{Base: x, Index: at, Scale: 8}, sum)
	VSUBPD(p, sum, sum)
	VMOVUPD(sum, Mem{Base: x, Index: at, Scale: 8})
	ADDQ(Imm(lanes), at)
	SUBQ(Imm(lanes), left)
	JMP(LabelRef("singleLanes"))
	Label("singleOne")
	TESTQ(left, left)
	JE(LabelRef("singleEnd"))
	q, w := XMM(), XMM()
	VMULSD(Mem{Base: row, Index: at, Scale: 8}, v, q)
	VMOVSD(Mem{Base: x, Index: at, Scale: 8}, w)
	VSUBSD(q, w, w)
	VMOVSD(w, Mem{Base: x, Index: at, Scale: 8})
	INCQ(at)
	DECQ(left)
	JMP(LabelRef("singleOne"))
	Label("singleEnd")
	SUBQ(stride, row)
	JMP(LabelRef("single"))
}

// broadcast copies the value of its first argument to all lanes of its second argument. It uses two
// instructions, because the broadcast instruction of AVX reads only from memory.
func broadcast(v, to reg.VecVirtual) {
	m := XMM()
	VMOVDDUP(v, m)
	VINSERTF128(Imm(1), m, m.AsY(), to)
}
