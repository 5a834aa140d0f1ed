//go:build ignore

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// back writes the code that computes the unknowns x from the last to the first. The register with
// the name row holds the address of the end of the last unknown's row, and step is the number of
// bytes from the end of a row to the end of the row above it. n is the number of bytes of all
// unknowns. The code is written once for each unknown, and the known ones stay in registers.
func back(row, step, n, dinv, x reg.Register, rhs func(k reg.Register) Mem) {
	k := GP64()
	LEAQ(Mem{Base: n, Disp: -vector}, k)
	here := func(base reg.Register) Mem { return Mem{Base: base, Index: k, Scale: 1} }
	var known []reg.VecVirtual
	for {
		s := YMM()
		VMOVUPD(rhs(k), s)
		for l, v := range known {
			p := YMM()
			VMULPD(Mem{Base: row, Disp: -vector * (l + 1)}, v, p)
			VSUBPD(p, s, s)
		}
		VMULPD(here(dinv), s, s)
		VMOVUPD(s, here(x))
		if known = append(known, s); len(known) == laneMost {
			break
		}
		SUBQ(Imm(vector), k)
		JL(LabelRef("found"))
		SUBQ(step, row)
	}
	Label("found")
}

// endOfRows returns the address of the end of row n, without the right-hand side. It multiplies n
// by the number of bytes of a vector.
func endOfRows(a, n, stride reg.Register) reg.GPVirtual {
	end := GP64()
	LEAQ(Mem{Base: n, Disp: -1}, end)
	IMULQ(stride, end)
	ADDQ(a, end)
	SHLQ(Imm(5), n)
	ADDQ(n, end)
	return end
}

// laneMost is the number of unknowns of the largest system in lanes.
const laneMost = 15

// ldlLanesSolve writes a function with forward and back substitution. The forward substitution is
// written once for each unknown, too. It keeps the quotients of the unknowns above in registers.
func ldlLanesSolve() {
	TEXT("ldlLanesSolve", NOSPLIT, "func(a, dinv, x *float64, n int)")
	Pragma("noescape")
	Doc("ldlLanesSolve is LDLSolve for four systems of 1 ≤ n ≤ 15 unknowns, with the factors of ldlLanes.")
	a, dinv, x := Load(Param("a"), GP64()), Load(Param("dinv"), GP64()), Load(Param("x"), GP64())
	n, stride, third := Load(Param("n"), GP64()), GP64(), GP64()
	LEAQ(Mem{Base: n, Disp: 1}, stride)
	SHLQ(Imm(5), stride)
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
}
