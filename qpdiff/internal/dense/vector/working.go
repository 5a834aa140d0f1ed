//go:build ignore

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// workingSets writes functions for the rows of a working set. Each does several steps in one call,
// because for rows of about ten entries a call costs as much as a step.
func workingSets() {
	splitRow()
	appendRow()
	normaliseRows()
	forwardRow()
	choleskyRows()
	addListed()
}

// splitRow writes a function that subtracts a projection from a vector, and returns the squared
// norm of the remainder. Up to sixteen entries of the remainder are in registers at a time. If the
// number of entries is not a multiple of four, the last vector of the remainder overlaps the vector
// before it.
func splitRow() {
	TEXT("splitRow", NOSPLIT, "func(t, w, m, q *float64, n, k int) (norm2 float64)")
	Pragma("noescape")
	Doc("splitRow is SplitRow for n ≥ 4. The slice t has at least four entries, and entries behind the first k may change.")
	k, n := Load(Param("k"), GP64()), Load(Param("n"), GP64())
	TESTQ(k, k)
	JE(LabelRef("products"))
	t, count, m, stride := Load(Param("t"), GP64()), GP64(), Load(Param("m"), GP64()), GP64()
	MOVQ(n, stride)
	MOVQ(U32(dotRows), count)
	CMPQ(k, count)
	CMOVQGT(k, count)
	dotGroups(t, count, rowsFrom(Load(Param("q"), GP64()), stride), stride, m, n)
	Label("products")
	k, n = Load(Param("k"), GP64()), Load(Param("n"), GP64())
	m, w, q := Load(Param("m"), GP64()), Load(Param("w"), GP64()), Load(Param("q"), GP64())
	t = Load(Param("t"), GP64())
	stride, left, row, i := GP64(), GP64(), GP64(), GP64()
	MOVQ(n, left)
	MOVQ(n, stride)
	SHLQ(Imm(3), stride)
	// place returns the address of vector v in a run of vectors. If endsAtLast is true, the last
	// vector of the run consists of the last four entries of the row, and may overlap the vector
	// before it. subtract writes code that computes the remainder in a run.
	place := func(base reg.Register, v, vectors int, endsAtLast bool) Mem {
		if endsAtLast && v == vectors-1 {
			return Mem{Base: base, Index: left, Scale: 8, Disp: -8 * lanes}
		}
		return Mem{Base: base, Disp: 8 * lanes * v}
	}
	subtract := func(name string, vectors int, endsAtLast bool) []reg.VecVirtual {
		sums := make([]reg.VecVirtual, vectors)
		for v := range sums {
			sums[v] = YMM()
			VMOVUPD(place(m, v, vectors, endsAtLast), sums[v])
		}
		MOVQ(q, row)
		XORQ(i, i)
		Label(name + "Row")
		CMPQ(i, k)
		JE(LabelRef(name + "Store"))
		f := YMM()
		VBROADCASTSD(Mem{Base: t, Index: i, Scale: 8}, f)
		for v, sum := range sums {
			p := YMM()
			VMULPD(place(row, v, vectors, endsAtLast), f, p)
			VSUBPD(p, sum, sum)
		}
		ADDQ(stride, row)
		INCQ(i)
		JMP(LabelRef(name + "Row"))
		Label(name + "Store")
		return sums
	}
	// store writes code that stores the results of subtract, in reverse order: the last vector may
	// overlap the vector before it. A later load of any vector but the last thus takes all entries
	// from one store.
	store := func(sums []reg.VecVirtual, endsAtLast bool) {
		for v := len(sums) - 1; v >= 0; v-- {
			VMOVUPD(sums[v], place(w, v, len(sums), endsAtLast))
		}
	}
	const most = 4
	tail, last := YMM(), GP64()
	CMPQ(left, Imm(most*lanes))
	JLE(LabelRef("few"))
	TESTQ(U32(lanes-1), left)
	JE(LabelRef("many"))
	// If w is m, storing the results changes m. The last vector overlaps some of the changed
	// entries, so it is computed first.
	VMOVAPD(subtract("tail", 1, true)[0], tail)
	ANDQ(I32(-lanes), left)
	Label("many")
	store(subtract("manyFour", most, false), false)
	for _, r := range []reg.Register{m, w, q} {
		ADDQ(Imm(8*most*lanes), r)
	}
	SUBQ(Imm(most*lanes), left)
	CMPQ(left, Imm(most*lanes))
	JGE(LabelRef("many"))
	Label("few")
	for vectors := 1; vectors <= most; vectors++ {
		name := []string{"one", "two", "three", "four"}[vectors-1]
		CMPQ(left, Imm(uint64((vectors-1)*lanes)))
		JLE(LabelRef("stored"))
		CMPQ(left, Imm(uint64(vectors*lanes)))
		JG(LabelRef(name + "Not"))
		store(subtract(name, vectors, true), true)
		JMP(LabelRef("stored"))
		Label(name + "Not")
	}
	Label("stored")
	CMPQ(n, Imm(most*lanes))
	JLE(LabelRef("norm"))
	TESTQ(U32(lanes-1), n)
	JE(LabelRef("norm"))
	w = Load(Param("w"), GP64())
	LEAQ(Mem{Base: w, Index: n, Scale: 8, Disp: -8 * lanes}, last)
	VMOVUPD(tail, Mem{Base: last})
	Label("norm")
	w = Load(Param("w"), GP64())
	sum := ownDot(w, n)
	VZEROUPPER()
	Store(sum, ReturnIndex(0))
	RET()
}

func moveVector(from Mem, to reg.VecVirtual) { VMOVUPD(from, to) }
func moveSingle(from Mem, to reg.VecVirtual) { VMOVSD(from, to) }

// singleDot writes a dot product of n entries, which adds its terms in the order of gonum's
// DotUnitary. The function loadTerms loads entries of the first factor into the register v. The
// register named at holds the index of the first loaded entry. loadTerms returns the address of the
// same entries of the second factor.
func singleDot(n reg.Register, loadTerms func(at reg.Register, v reg.VecVirtual, load func(Mem, reg.VecVirtual)) Op) reg.VecVirtual {
	sum, at, whole := YMM(), GP64(), GP64()
	VXORPD(sum, sum, sum)
	XORQ(at, at)
	MOVQ(n, whole)
	ANDQ(I32(-lanes), whole)
	JE(LabelRef("dotRest"))
	Label("dotLanes")
	v := YMM()
	VMULPD(loadTerms(at, v, moveVector), v, v)
	VADDPD(v, sum, sum)
	ADDQ(Imm(lanes), at)
	CMPQ(at, whole)
	JNE(LabelRef("dotLanes"))
	Label("dotRest")
	high, low := XMM(), sum.AsX()
	VEXTRACTF128(Imm(1), sum, high)
	Label("dotOne")
	CMPQ(at, n)
	JE(LabelRef("dotEnd"))
	x := XMM()
	VMULSD(loadTerms(at, x, moveSingle), x, x)
	VADDSD(x, low, low)
	INCQ(at)
	JMP(LabelRef("dotOne"))
	Label("dotEnd")
	VADDPD(high, low, low)
	VUNPCKHPD(low, low, high)
	VADDSD(high, low, low)
	return low.(reg.VecVirtual)
}

// appendRow writes a function that normalises a vector and subtracts the projection on it.
func appendRow() {
	TEXT("appendRow", NOSPLIT, "func(q, w, perp *float64, n int, inv float64) (product float64)")
	Pragma("noescape")
	Doc("appendRow sets q to inv times w, subtracts the projection product·q from perp, and returns product = qᵀperp.",
		"The vectors have n ≥ 1 entries.")
	q, w, perp := Load(Param("q"), GP64()), Load(Param("w"), GP64()), Load(Param("perp"), GP64())
	n := Load(Param("n"), GP64())
	inv, all := Load(Param("inv"), XMM()).(reg.VecVirtual), YMM()
	broadcast(inv, all)
	g := singleDot(n, func(at reg.Register, v reg.VecVirtual, load func(Mem, reg.VecVirtual)) Op {
		load(Mem{Base: w, Index: at, Scale: 8}, v)
		if v.Size() == 32 {
			VMULPD(all, v, v)
			VMOVUPD(v, Mem{Base: q, Index: at, Scale: 8})
		} else {
			VMULSD(inv, v, v)
			VMOVSD(v, Mem{Base: q, Index: at, Scale: 8})
		}
		return Mem{Base: perp, Index: at, Scale: 8}
	})
	factor, at := YMM(), GP64()
	broadcast(g, factor)
	XORQ(at, at)
	whole := GP64()
	MOVQ(n, whole)
	ANDQ(I32(-lanes), whole)
	JE(LabelRef("one"))
	Label("lanes")
	v, p := YMM(), YMM()
	VMULPD(Mem{Base: q, Index: at, Scale: 8}, factor, p)
	VMOVUPD(Mem{Base: perp, Index: at, Scale: 8}, v)
	VSUBPD(p, v, v)
	VMOVUPD(v, Mem{Base: perp, Index: at, Scale: 8})
	ADDQ(Imm(lanes), at)
	CMPQ(at, whole)
	JNE(LabelRef("lanes"))
	Label("one")
	CMPQ(at, n)
	JE(LabelRef("end"))
	x, y := XMM(), XMM()
	VMULSD(Mem{Base: q, Index: at, Scale: 8}, g, y)
	VMOVSD(Mem{Base: perp, Index: at, Scale: 8}, x)
	VSUBSD(y, x, x)
	VMOVSD(x, Mem{Base: perp, Index: at, Scale: 8})
	INCQ(at)
	JMP(LabelRef("one"))
	Label("end")
	VZEROUPPER()
	Store(g, ReturnIndex(0))
	RET()
}

// normaliseRows writes a function that scales rows by powers of two. The bits of a power of two
// are the bits of its exponent alone.
func normaliseRows() {
	TEXT("normaliseRows", NOSPLIT, "func(dst, scale, norm2, a *float64, stride, n, rows int)")
	Pragma("noescape")
	Doc("normaliseRows is NormaliseRows for n ≥ 1 and at least one row.")
	dst, scale, norm2, a := Load(Param("dst"), GP64()), Load(Param("scale"), GP64()), Load(Param("norm2"), GP64()), Load(Param("a"), GP64())
	stride, n, rows := Load(Param("stride"), GP64()), Load(Param("n"), GP64()), Load(Param("rows"), GP64())
	exponent, twice := GP64(), GP64()
	MOVQ(U64(0xfff<<52), exponent)
	MOVQ(U64((2*1023-1)<<52), twice)
	Label("row")
	sum := ownDot(a, n)
	VMOVSD(sum, Mem{Base: norm2})
	VSQRTSD(sum, sum, sum)
	bits, power := GP64(), GP64()
	MOVQ(sum, bits)
	ANDQ(exponent, bits)
	MOVQ(twice, power)
	SUBQ(bits, power)
	MOVQ(power, Mem{Base: scale})
	f := YMM()
	VBROADCASTSD(Mem{Base: scale}, f)
	at, whole := GP64(), GP64()
	XORQ(at, at)
	MOVQ(n, whole)
	ANDQ(I32(-lanes), whole)
	JE(LabelRef("one"))
	Label("lanes")
	v := YMM()
	VMULPD(Mem{Base: a, Index: at, Scale: 8}, f, v)
	VMOVUPD(v, Mem{Base: dst, Index: at, Scale: 8})
	ADDQ(Imm(lanes), at)
	CMPQ(at, whole)
	JNE(LabelRef("lanes"))
	Label("one")
	CMPQ(at, n)
	JE(LabelRef("next"))
	x := XMM()
	VMULSD(Mem{Base: a, Index: at, Scale: 8}, f.AsX(), x)
	VMOVSD(x, Mem{Base: dst, Index: at, Scale: 8})
	INCQ(at)
	JMP(LabelRef("one"))
	Label("next")
	LEAQ(Mem{Base: a, Index: stride, Scale: 8}, a)
	LEAQ(Mem{Base: dst, Index: n, Scale: 8}, dst)
	ADDQ(Imm(8), scale)
	ADDQ(Imm(8), norm2)
	DECQ(rows)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// forwardRow writes a function for forward substitution that keeps the right-hand side.
func forwardRow() {
	TEXT("forwardRow", NOSPLIT, "func(x, rhs, l *float64, stride int, inv *float64, n int) (norm2 float64)")
	Pragma("noescape")
	Doc("forwardRow is ForwardRow for n ≥ 1.")
	x, rhs, l, stride := Load(Param("x"), GP64()), Load(Param("rhs"), GP64()), Load(Param("l"), GP64()), Load(Param("stride"), GP64())
	inv, n := Load(Param("inv"), GP64()), Load(Param("n"), GP64())
	forwardGroups(x, rhs, rowsFrom(l, stride), stride, inv, n)
	n = Load(Param("n"), GP64())
	sum := ownDot(x, n)
	VZEROUPPER()
	Store(sum, ReturnIndex(0))
	RET()
}

// ownDot writes a dot product of x with itself.
func ownDot(x, n reg.Register) reg.VecVirtual {
	return singleDot(n, func(at reg.Register, v reg.VecVirtual, load func(Mem, reg.VecVirtual)) Op {
		load(Mem{Base: x, Index: at, Scale: 8}, v)
		return v
	})
}

// choleskyRows writes a factorisation of a whole matrix, row by row.
func choleskyRows() {
	TEXT("cholesky", NOSPLIT, "func(l *float64, stride int, inv *float64, n int, tol float64) (row int)")
	Pragma("noescape")
	Doc("cholesky is choleskyRows for n ≥ 1, without a stopper.")
	i, x := GP64(), Load(Param("l"), GP64()) // the row and its number
	XORQ(i, i)
	Label("row")
	l, step := Load(Param("l"), GP64()), Load(Param("stride"), GP64())
	unknowns, inv := GP64(), Load(Param("inv"), GP64())
	MOVQ(i, unknowns)
	forwardGroups(x, x, rowsFrom(l, step), step, inv, unknowns)
	sum := ownDot(x, i)
	diagonal := Mem{Base: x, Index: i, Scale: 8}
	d, least := XMM(), XMM()
	VMOVSD(diagonal, d)
	VSUBSD(sum, d, d)
	VMOVSD(d, diagonal)
	bits := GP64()
	inv = Load(Param("inv"), GP64())
	MOVQ(Mem{Base: inv, Index: i, Scale: 8}, bits)
	BTRQ(Imm(63), bits)
	MOVQ(bits, least)
	VMULSD(Load(Param("tol"), XMM()).(reg.VecVirtual), least, least)
	VUCOMISD(least, d)
	JBE(LabelRef("end"))
	largest := XMM()
	constant(largest, math.MaxFloat64)
	VUCOMISD(largest, d)
	JA(LabelRef("end"))
	root, one := XMM(), XMM()
	VSQRTSD(d, d, root)
	VMOVSD(root, diagonal)
	constant(one, 1)
	VDIVSD(root, one, one)
	VMOVSD(one, Mem{Base: inv, Index: i, Scale: 8})
	LEAQ(Mem{Base: x, Index: Load(Param("stride"), GP64()), Scale: 8}, x)
	INCQ(i)
	CMPQ(i, Load(Param("n"), GP64()))
	JNE(LabelRef("row"))
	Label("end")
	VZEROUPPER()
	Store(i, ReturnIndex(0))
	RET()
}

// addListed writes a function that keeps a part of dst in registers while it adds rows to this
// part.
func addListed() {
	TEXT("addListed", NOSPLIT, "func(dst *float64, n int, f, a *float64, rows *int, count int)")
	Pragma("noescape")
	Doc("addListed is AddListed for n ≥ 1 and at least one row.")
	dst, n, a := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), Load(Param("a"), GP64())
	f, rows, count := Load(Param("f"), GP64()), Load(Param("rows"), GP64()), Load(Param("count"), GP64())
	stride, left, k, row := GP64(), GP64(), GP64(), GP64()
	MOVQ(n, stride)
	SHLQ(Imm(3), stride)
	MOVQ(n, left)
	take := func(name string, registers, each int) {
		Label(name)
		CMPQ(left, Imm(uint64(registers*each)))
		JL(LabelRef(name + "End"))
		sums := make([]reg.VecVirtual, registers)
		for v := range sums {
			if each == 1 {
				sums[v] = XMM()
				VMOVSD(Mem{Base: dst}, sums[v])
				continue
			}
			sums[v] = YMM()
			VMOVUPD(Mem{Base: dst, Disp: 8 * lanes * v}, sums[v])
		}
		XORQ(k, k)
		Label(name + "Row")
		MOVQ(Mem{Base: rows, Index: k, Scale: 8}, row)
		IMULQ(stride, row)
		if each == 1 {
			p := XMM()
			VMOVSD(Mem{Base: f, Index: k, Scale: 8}, p)
			VMULSD(Mem{Base: a, Index: row, Scale: 1}, p, p)
			VADDSD(p, sums[0], sums[0])
		} else {
			factor := YMM()
			VBROADCASTSD(Mem{Base: f, Index: k, Scale: 8}, factor)
			for v, sum := range sums {
				p := YMM()
				VMULPD(Mem{Base: a, Index: row, Scale: 1, Disp: 8 * lanes * v}, factor, p)
				VADDPD(p, sum, sum)
			}
		}
		INCQ(k)
		CMPQ(k, count)
		JNE(LabelRef(name + "Row"))
		for v, sum := range sums {
			if each == 1 {
				VMOVSD(sum, Mem{Base: dst})
			} else {
				VMOVUPD(sum, Mem{Base: dst, Disp: 8 * lanes * v})
			}
		}
		ADDQ(Imm(uint64(8*registers*each)), dst)
		ADDQ(Imm(uint64(8*registers*each)), a)
		SUBQ(Imm(uint64(registers*each)), left)
		JMP(LabelRef(name))
		Label(name + "End")
	}
	take("four", 4, lanes)
	take("two", 2, lanes)
	take("one", 1, lanes)
	take("rest", 1, 1)
	VZEROUPPER()
	RET()
}
