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
