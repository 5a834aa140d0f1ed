//go:build ignore

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The function small writes functions that factorise or solve a whole system in one call. The
// single call saves most time for systems of about ten unknowns.
func small() {
	gatherUpper()
	ldlSmall()
	ldlForward()
	ldlBack()
	descendKinks()
}

// gatherUpper writes a function that gathers rows and columns. It copies four entries at a time if
// their columns are neighbours in m.
func gatherUpper() {
	TEXT("gatherUpper", NOSPLIT, "func(dst *float64, stride int, m *float64, n int, r *float64, indices *int, count int)")
	Pragma("noescape")
	Doc("gatherUpper sets the upper triangle of dst to some rows and columns of the n×n matrix m, and adds the same",
		"entries of r to the diagonal. The list indices has count entries. Entries below the diagonal may change.")
	dst, stride, m := Load(Param("dst"), GP64()), Load(Param("stride"), GP64()), Load(Param("m"), GP64())
	n, r, at, count := Load(Param("n"), GP64()), Load(Param("r"), GP64()), Load(Param("indices"), GP64()), Load(Param("count"), GP64())
	i, k, row, from, to := GP64(), GP64(), GP64(), GP64(), GP64()
	SHLQ(Imm(3), stride)
	SHLQ(Imm(3), n)
	XORQ(i, i)
	Label("row")
	MOVQ(Mem{Base: at, Index: i, Scale: 8}, row)
	IMULQ(n, row)
	ADDQ(m, row)
	MOVQ(i, k)
	ANDQ(I32(-lanes), k)
	Label("entries")
	MOVQ(Mem{Base: at, Index: k, Scale: 8}, from)
	LEAQ(Mem{Base: k, Disp: lanes}, to)
	CMPQ(to, count)
	JG(LabelRef("single"))
	LEAQ(Mem{Base: from, Disp: lanes - 1}, to)
	CMPQ(to, Mem{Base: at, Index: k, Scale: 8, Disp: 8 * (lanes - 1)})
	JNE(LabelRef("single"))
	v := YMM()
	VMOVUPD(Mem{Base: row, Index: from, Scale: 8}, v)
	VMOVUPD(v, Mem{Base: dst, Index: k, Scale: 8})
	ADDQ(Imm(lanes), k)
	CMPQ(k, count)
	JL(LabelRef("entries"))
	JMP(LabelRef("diagonal"))
	Label("single")
	x := XMM()
	VMOVSD(Mem{Base: row, Index: from, Scale: 8}, x)
	VMOVSD(x, Mem{Base: dst, Index: k, Scale: 8})
	INCQ(k)
	CMPQ(k, count)
	JGE(LabelRef("diagonal"))
	MOVQ(Mem{Base: at, Index: k, Scale: 8}, from)
	TESTQ(U32(lanes-1), k)
	JNE(LabelRef("single"))
	JMP(LabelRef("entries"))
	Label("diagonal")
	d := XMM()
	MOVQ(Mem{Base: at, Index: i, Scale: 8}, from)
	VMOVSD(Mem{Base: dst, Index: i, Scale: 8}, d)
	VADDSD(Mem{Base: r, Index: from, Scale: 8}, d, d)
	VMOVSD(d, Mem{Base: dst, Index: i, Scale: 8})
	ADDQ(stride, dst)
	INCQ(i)
	CMPQ(i, count)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// ldlSmall writes a factorisation that applies two pivots at a time, like the Go code. The vectors
// of a row always begin at multiples of four columns. So for every load, one store has written all
// entries that the load reads. The written function computes the next pivot before the other
// entries of the pivot's row, so that the division by the pivot begins early.
func ldlSmall() {
	TEXT("ldlSmall", NOSPLIT, "func(a, dinv *float64, n, stride int, tol float64) (row int)")
	Pragma("noescape")
	Doc("ldlSmall is LDLFactor for n ≥ 1, with rows that consist of whole vectors. Entries below the diagonal may",
		"change.")
	r0, dinv := Load(Param("a"), GP64()), Load(Param("dinv"), GP64())
	n, stride := Load(Param("n"), GP64()), Load(Param("stride"), GP64())
	tol := Load(Param("tol"), XMM())
	k, at, r1, dst, i, index := GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	SHLQ(Imm(3), stride)
	MOVQ(r0, at)
	XORQ(k, k)
	Label("diagonal")
	d := XMM()
	VMOVSD(Mem{Base: at, Index: k, Scale: 8}, d)
	VMOVSD(d, Mem{Base: dinv, Index: k, Scale: 8})
	ADDQ(stride, at)
	INCQ(k)
	CMPQ(k, n)
	JNE(LabelRef("diagonal"))
	smallest, one := XMM(), XMM()
	constant(smallest, 0x1p-1022)
	constant(one, 1)
	XORQ(k, k)
	// pivot returns the reciprocal of a pivot, in one lane (inv) and in all lanes (all).
	pivot := func(d reg.VecVirtual) (inv, all reg.VecVirtual) {
		least := XMM()
		inv, all = XMM(), YMM()
		VMULSD(Mem{Base: dinv, Index: k, Scale: 8}, tol, least)
		VUCOMISD(least, d)
		JBE(LabelRef("stop"))
		VUCOMISD(smallest, d)
		JB(LabelRef("stop"))
		VDIVSD(d, one, inv)
		VMOVSD(inv, Mem{Base: dinv, Index: k, Scale: 8})
		broadcast(inv, all)
		INCQ(k)
		CMPQ(k, n)
		JE(LabelRef("stop"))
		return inv, all
	}
	entry := func(row reg.Register) reg.VecVirtual {
		v := XMM()
		VMOVSD(Mem{Base: row, Index: k, Scale: 8}, v)
		return v
	}
	// term returns the number that the row of a pivot subtracts from diagonal entry k. inv is the
	// reciprocal of the pivot.
	term := func(row reg.Register, inv reg.VecVirtual) reg.VecVirtual {
		v, f := entry(row), XMM()
		VMULSD(inv, v, f)
		VMULSD(v, f, f)
		return f
	}
	// vectors writes a loop over the vectors of a row, beginning with the vector that contains column
	// c. For each vector v, the function writeChange writes the code that changes v.
	vectors := func(name string, c, row reg.Register, writeChange func(here func(base reg.Register) Mem, v reg.VecVirtual)) {
		MOVQ(c, index)
		ANDQ(I32(-lanes), index)
		SHLQ(Imm(3), index)
		here := func(base reg.Register) Mem { return Mem{Base: base, Index: index, Scale: 1} }
		Label(name)
		v := YMM()
		VMOVUPD(here(row), v)
		writeChange(here, v)
		VMOVUPD(v, here(row))
		ADDQ(Imm(8*lanes), index)
		CMPQ(index, stride)
		JNE(LabelRef(name))
	}
	factor := func(row, c reg.Register, inv reg.VecVirtual) reg.VecVirtual {
		f := YMM()
		VBROADCASTSD(Mem{Base: row, Index: c, Scale: 8}, f)
		VMULPD(inv, f, f)
		return f
	}
	next := entry(r0)
	Label("pair")
	one0, inv0 := pivot(next)
	LEAQ(Mem{Base: r0, Index: stride, Scale: 1}, r1)
	second := entry(r1)
	VSUBSD(term(r0, one0), second, second)
	f := factor(r0, k, inv0)
	vectors("second", k, r1, func(here func(base reg.Register) Mem, v reg.VecVirtual) {
		p := YMM()
		VMULPD(here(r0), f, p)
		VSUBPD(p, v, v)
	})
	one1, inv1 := pivot(second)
	LEAQ(Mem{Base: r1, Index: stride, Scale: 1}, dst)
	taken := term(r0, one0)
	VADDSD(term(r1, one1), taken, taken)
	VMOVSD(Mem{Base: dst, Index: k, Scale: 8}, next)
	VSUBSD(taken, next, next)
	MOVQ(k, i)
	Label("row")
	f0, f1 := factor(r0, i, inv0), factor(r1, i, inv1)
	vectors("rest", i, dst, func(here func(base reg.Register) Mem, v reg.VecVirtual) {
		p, q := YMM(), YMM()
		VMULPD(here(r0), f0, p)
		VMULPD(here(r1), f1, q)
		VADDPD(q, p, p)
		VSUBPD(p, v, v)
	})
	ADDQ(stride, dst)
	INCQ(i)
	CMPQ(i, n)
	JNE(LabelRef("row"))
	LEAQ(Mem{Base: r1, Index: stride, Scale: 1}, r0)
	JMP(LabelRef("pair"))
	Label("stop")
	VZEROUPPER()
	Store(k, ReturnIndex(0))
	RET()
}

// constant writes code that sets a register to v.
func constant(to reg.VecVirtual, v float64) {
	bits := GP64()
	MOVQ(U64(math.Float64bits(v)), bits)
	MOVQ(bits, to)
}

// ldlForward writes a function for forward substitution. It processes four rows at a time, so that
// it reads and writes the later entries of x once for four rows.
func ldlForward() {
	TEXT("ldlForward", NOSPLIT, "func(a, dinv *float64, n, stride int, x *float64)")
	Pragma("noescape")
	Doc("ldlForward is LDLForward for n ≥ 1.")
	a, dinv, n := Load(Param("a"), GP64()), Load(Param("dinv"), GP64()), Load(Param("n"), GP64())
	stride, x := Load(Param("stride"), GP64()), Load(Param("x"), GP64())
	k, j := GP64(), GP64()
	XORQ(k, k)
	SHLQ(Imm(3), stride)
	rows := [dotRows]reg.Register{a}
	for i := 1; i < dotRows; i++ {
		next := GP64()
		LEAQ(Mem{Base: rows[i-1], Index: stride, Scale: 1}, next)
		rows[i] = next
	}
	SHLQ(Imm(2), stride)
	place := func(base reg.Register, i int) Mem { return Mem{Base: base, Index: k, Scale: 8, Disp: 8 * i} }
	// find writes code that computes the first numUnknowns unknowns of a group. It subtracts the
	// terms of earlier unknowns of the group. find returns the quotients of these unknowns and the
	// pivots. They multiply the rows for the later entries.
	find := func(numUnknowns int) (f [dotRows]reg.VecVirtual) {
		for i := range numUnknowns {
			v := XMM()
			VMOVSD(place(x, i), v)
			for before := range i {
				p := XMM()
				VMULSD(place(rows[before], i), f[before], p)
				VSUBSD(p, v, v)
			}
			if i > 0 {
				VMOVSD(v, place(x, i))
			}
			f[i] = XMM()
			VMULSD(place(dinv, i), v, f[i])
		}
		return f
	}
	left := GP64()
	Label("group")
	MOVQ(n, left)
	SUBQ(k, left)
	CMPQ(left, Imm(dotRows))
	JLE(LabelRef("last"))
	f := find(dotRows)
	LEAQ(Mem{Base: k, Disp: dotRows}, j)
	SUBQ(Imm(dotRows), left)
	at := func(base reg.Register) Mem { return Mem{Base: base, Index: j, Scale: 8} }
	all := f
	for i, v := range f {
		all[i] = YMM()
		broadcast(v, all[i])
	}
	Label("lanes")
	CMPQ(left, Imm(lanes))
	JL(LabelRef("one"))
	v := YMM()
	VMOVUPD(at(x), v)
	for i, row := range rows {
		p := YMM()
		VMULPD(at(row), all[i], p)
		VSUBPD(p, v, v)
	}
	VMOVUPD(v, at(x))
	ADDQ(Imm(lanes), j)
	SUBQ(Imm(lanes), left)
	JMP(LabelRef("lanes"))
	Label("one")
	TESTQ(left, left)
	JE(LabelRef("next"))
	w := XMM()
	VMOVSD(at(x), w)
	for i, row := range rows {
		p := XMM()
		VMULSD(at(row), f[i], p)
		VSUBSD(p, w, w)
	}
	VMOVSD(w, at(x))
	INCQ(j)
	DECQ(left)
	JMP(LabelRef("one"))
	Label("next")
	ADDQ(Imm(dotRows), k)
	for _, row := range rows {
		ADDQ(stride, row)
	}
	JMP(LabelRef("group"))
	Label("last")
	for count := 2; count <= dotRows; count++ {
		name := []string{"two", "three", "four"}[count-2]
		CMPQ(left, Imm(uint64(count)))
		JNE(LabelRef(name + "Not"))
		find(count)
		JMP(LabelRef("end"))
		Label(name + "Not")
	}
	Label("end")
	VZEROUPPER()
	RET()
}

// ldlBack writes a function for back substitution. It computes four unknowns at a time, and then
// the remaining unknowns one by one. Each addition to a sum waits for the previous addition, so
// four sums are computed at a time.
func ldlBack() {
	TEXT("ldlBack", NOSPLIT, "func(a, dinv *float64, n, stride int, x *float64)")
	Pragma("noescape")
	Doc("ldlBack is LDLBack for n ≥ 1.")
	a, dinv, n := Load(Param("a"), GP64()), Load(Param("dinv"), GP64()), Load(Param("n"), GP64())
	stride, x := Load(Param("stride"), GP64()), Load(Param("x"), GP64())
	k, row, j := GP64(), GP64(), GP64()
	MOVQ(n, k)
	SHLQ(Imm(3), stride)
	// block writes code that computes the numUnknowns unknowns directly before x[k].
	block := func(name string, numUnknowns int) {
		SUBQ(Imm(uint64(numUnknowns)), k)
		MOVQ(k, row)
		IMULQ(stride, row)
		ADDQ(a, row)
		rows := []reg.Register{row}
		for i := 1; i < numUnknowns; i++ {
			next := GP64()
			LEAQ(Mem{Base: rows[i-1], Index: stride, Scale: 1}, next)
			rows = append(rows, next)
		}
		place := func(base reg.Register, i int) Mem { return Mem{Base: base, Index: k, Scale: 8, Disp: 8 * i} }
		var sums []reg.VecVirtual
		for i := range numUnknowns {
			s := XMM()
			VMOVSD(place(x, i), s)
			sums = append(sums, s)
		}
		first := GP64()
		LEAQ(Mem{Base: k, Disp: numUnknowns}, first)
		MOVQ(n, j)
		Label(name + "Known")
		CMPQ(j, first)
		JE(LabelRef(name + "Find"))
		DECQ(j)
		v := XMM()
		VMOVSD(Mem{Base: x, Index: j, Scale: 8}, v)
		for i, s := range sums {
			p := XMM()
			VMULSD(Mem{Base: rows[i], Index: j, Scale: 8}, v, p)
			VSUBSD(p, s, s)
		}
		JMP(LabelRef(name + "Known"))
		Label(name + "Find")
		for i := numUnknowns - 1; i >= 0; i-- {
			for later := numUnknowns - 1; later > i; later-- {
				p := XMM()
				VMULSD(place(rows[i], later), sums[later], p)
				VSUBSD(p, sums[i], sums[i])
			}
			VMULSD(place(dinv, i), sums[i], sums[i])
			VMOVSD(sums[i], place(x, i))
		}
	}
	Label("group")
	CMPQ(k, Imm(lanes))
	JL(LabelRef("rest"))
	block("four", lanes)
	JMP(LabelRef("group"))
	Label("rest")
	for _, size := range []int{3, 2} {
		name := []string{"two", "three"}[size-2]
		CMPQ(k, Imm(uint64(size)))
		JNE(LabelRef(name + "Not"))
		block(name, size)
		JMP(LabelRef("end"))
		Label(name + "Not")
	}
	TESTQ(k, k)
	JE(LabelRef("end"))
	block("single", 1)
	Label("end")
	VZEROUPPER()
	RET()
}

// descendKinks writes a function for coordinate descent. It updates the slopes after each move of a
// coordinate.
func descendKinks() {
	TEXT("descendKinks", NOSPLIT, "func(x, rest, m, r, up, lo *float64, n int) (moved bool)")
	Pragma("noescape")
	Doc("descendKinks is DescendKinks for n ≥ 1.")
	x, rest, row := Load(Param("x"), GP64()), Load(Param("rest"), GP64()), Load(Param("m"), GP64())
	r, up, lo := Load(Param("r"), GP64()), Load(Param("up"), GP64()), Load(Param("lo"), GP64())
	n, j, at, left := Load(Param("n"), GP64()), GP64(), GP64(), GP64()
	moved := GP8()
	XORB(moved, moved)
	zero, sign := XMM(), XMM()
	VXORPD(zero, zero, zero)
	constant(sign, math.Copysign(0, -1))
	XORQ(j, j)
	Label("coordinate")
	entry := func(base, k reg.Register) Mem { return Mem{Base: base, Index: k, Scale: 8} }
	h, old, rho, v := XMM(), XMM(), XMM(), XMM()
	VMOVSD(entry(row, j), rho)
	VADDSD(entry(r, j), rho, h)
	VUCOMISD(zero, h)
	JBE(LabelRef("next"))
	VMOVSD(entry(x, j), old)
	VMULSD(old, rho, rho)
	VADDSD(entry(rest, j), rho, rho)
	bound, minus := XMM(), XMM()
	VXORPD(v, v, v)
	VMOVSD(entry(up, j), bound)
	VUCOMISD(bound, rho)
	JBE(LabelRef("below"))
	VSUBSD(bound, rho, v)
	VDIVSD(h, v, v)
	JMP(LabelRef("found"))
	Label("below")
	VXORPD(sign, rho, minus)
	VMOVSD(entry(lo, j), bound)
	VUCOMISD(bound, minus)
	JBE(LabelRef("found"))
	VADDSD(bound, rho, v)
	VDIVSD(h, v, v)
	Label("found")
	VUCOMISD(old, v)
	JPS(LabelRef("move")) // a number is NaN
	JE(LabelRef("next"))
	Label("move")
	// These comparisons find changes between the signs of old and v.
	VMOVSD(v, entry(x, j))
	var signs [4]reg.GPVirtual
	for k, pair := range [][2]reg.VecVirtual{{zero, v}, {zero, old}, {v, zero}, {old, zero}} {
		signs[k] = GP8()
		VUCOMISD(pair[0], pair[1])
		SETHI(signs[k])
	}
	XORB(signs[1], signs[0])
	XORB(signs[3], signs[2])
	ORB(signs[0], moved)
	ORB(signs[2], moved)
	step, f := XMM(), YMM()
	VSUBSD(v, old, step)
	broadcast(step, f)
	addRow(rest, row, f, at, left, n)
	Label("next")
	LEAQ(Mem{Base: row, Index: n, Scale: 8}, row)
	INCQ(j)
	CMPQ(j, n)
	JNE(LabelRef("coordinate"))
	VZEROUPPER()
	Store(moved, ReturnIndex(0))
	RET()
}
