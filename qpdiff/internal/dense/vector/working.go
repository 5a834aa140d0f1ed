//go:build ignore

package main

import (
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
}

// splitRow writes a function that subtracts a projection. Up to sixteen entries of the remainder
// are in registers at a time. If the number of entries is not a multiple of four, the last vector
// of the remainder overlaps the vector before it.
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
	// subtract writes code that computes the next entries, in as many vectors as given. If last is
	// set, the last of these vectors consists of the last four entries that are left.
	place := func(base reg.Register, v, vectors int, last bool) Mem {
		if last && v == vectors-1 {
			return Mem{Base: base, Index: left, Scale: 8, Disp: -8 * lanes}
		}
		return Mem{Base: base, Disp: 8 * lanes * v}
	}
	subtract := func(name string, vectors int, last bool) []reg.VecVirtual {
		sums := make([]reg.VecVirtual, vectors)
		for v := range sums {
			sums[v] = YMM()
			VMOVUPD(place(m, v, vectors, last), sums[v])
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
			VMULPD(place(row, v, vectors, last), f, p)
			VSUBPD(p, sum, sum)
		}
		ADDQ(stride, row)
		INCQ(i)
		JMP(LabelRef(name + "Row"))
		Label(name + "Store")
		return sums
	}
	// store stores the sums of subtract. It stores the overlapping vector first, so that each later
	// load takes its value from one store.
	store := func(sums []reg.VecVirtual, last bool) {
		for v := len(sums) - 1; v >= 0; v-- {
			VMOVUPD(sums[v], place(w, v, len(sums), last))
		}
	}
	const most = 4
	tail, last := YMM(), GP64()
	CMPQ(left, Imm(most*lanes))
	JLE(LabelRef("few"))
	TESTQ(U32(lanes-1), left)
	JE(LabelRef("many"))
	// The last vector is computed before entries that it overlaps change, in case w is m.
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
	sum := singleDot(n, func(at reg.Register, v reg.VecVirtual, load func(Mem, reg.VecVirtual)) Op {
		load(Mem{Base: w, Index: at, Scale: 8}, v)
		return v
	})
	VZEROUPPER()
	Store(sum, ReturnIndex(0))
	RET()
}

func moveVector(from Mem, to reg.VecVirtual) { VMOVUPD(from, to) }
func moveSingle(from Mem, to reg.VecVirtual) { VMOVSD(from, to) }

// singleDot writes a dot product of n entries, which adds its terms in the order of gonum's
// DotUnitary. The function terms loads the entries at the index at of the first factor to v. It
// returns the same entries of the second factor.
func singleDot(n reg.Register, terms func(at reg.Register, v reg.VecVirtual, load func(Mem, reg.VecVirtual)) Op) reg.VecVirtual {
	sum, at, whole := YMM(), GP64(), GP64()
	VXORPD(sum, sum, sum)
	XORQ(at, at)
	MOVQ(n, whole)
	ANDQ(I32(-lanes), whole)
	JE(LabelRef("dotRest"))
	Label("dotLanes")
	v := YMM()
	VMULPD(terms(at, v, moveVector), v, v)
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
	VMULSD(terms(at, x, moveSingle), x, x)
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
	TEXT("appendRow", NOSPLIT, "func(q, w, perp *float64, n int, norm2 float64) (norm, inv, product float64)")
	Pragma("noescape")
	Doc("appendRow is AppendRow for n ≥ 1.")
	q, w, perp := Load(Param("q"), GP64()), Load(Param("w"), GP64()), Load(Param("perp"), GP64())
	n := Load(Param("n"), GP64())
	norm, inv, all := Load(Param("norm2"), XMM()).(reg.VecVirtual), XMM(), YMM()
	VSQRTSD(norm, norm, norm)
	constant(inv, 1)
	VDIVSD(norm, inv, inv)
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
	Store(norm, ReturnIndex(0))
	Store(inv, ReturnIndex(1))
	Store(g, ReturnIndex(2))
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
	sum := singleDot(n, func(at reg.Register, v reg.VecVirtual, load func(Mem, reg.VecVirtual)) Op {
		load(Mem{Base: a, Index: at, Scale: 8}, v)
		return v
	})
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
