//go:build ignore

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dots writes a function that computes four dot products at a time. This hides the latency of an
// addition. Each sum has four lanes, like the sum in gonum's dot product of two vectors. If the
// number of rows is not a multiple of four, the last four rows overlap the rows before them.
func dots() {
	TEXT("dots", NOSPLIT, "func(dst *float64, count int, a *float64, stride int, x *float64, n int)")
	Pragma("noescape")
	Doc("dots sets the entries of dst to the inner products of x with the rows of a matrix. The matrix has count rows, at",
		"least four, of n entries each; row i begins at a[i·stride]. Terms are added in the order of gonum's",
		"DotUnitary.")
	dst, count := Load(Param("dst"), GP64()), Load(Param("count"), GP64())
	a, stride, x, n := Load(Param("a"), GP64()), Load(Param("stride"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	rows := rowsFrom(a, stride)
	dotGroups(dst, count, rows, stride, x, n)
	VZEROUPPER()
	RET()
}

// dotGroups writes the code of dots. The parameter rows has the addresses of the first four rows,
// and stride is the number of bytes from one row to the next. The code changes the registers dst,
// count and rows.
func dotGroups(dst, count reg.Register, rows [dotRows]reg.Register, stride, x, n reg.Register) {
	whole, at := GP64(), GP64() // in whole: the number of entries that fill whole registers
	MOVQ(n, whole)
	ANDQ(I32(-lanes), whole)
	Label("dotsGroup")
	var sums [dotRows]reg.VecVirtual
	for k := range sums {
		sums[k] = YMM()
		VXORPD(sums[k], sums[k], sums[k])
	}
	XORQ(at, at)
	Label("dotsLanes")
	CMPQ(at, whole)
	JE(LabelRef("dotsRest"))
	v := YMM()
	VMOVUPD(Mem{Base: x, Index: at, Scale: 8}, v)
	for k, row := range rows {
		p := YMM()
		VMULPD(Mem{Base: row, Index: at, Scale: 8}, v, p)
		VADDPD(p, sums[k], sums[k])
	}
	ADDQ(Imm(lanes), at)
	JMP(LabelRef("dotsLanes"))
	Label("dotsRest")
	// The remaining entries are added to the first lane. An instruction that adds one
	// entry clears the upper two lanes of its result. These lanes are therefore kept in other
	// registers.
	var high [dotRows]reg.VecVirtual
	for k := range sums {
		high[k] = XMM()
		VEXTRACTF128(Imm(1), sums[k], high[k])
	}
	Label("dotsOne")
	CMPQ(at, n)
	JE(LabelRef("dotsStore"))
	w := XMM()
	VMOVSD(Mem{Base: x, Index: at, Scale: 8}, w)
	for k, row := range rows {
		p := XMM()
		VMULSD(Mem{Base: row, Index: at, Scale: 8}, w, p)
		VADDSD(p, sums[k].AsX(), sums[k].AsX())
	}
	INCQ(at)
	JMP(LabelRef("dotsOne"))
	Label("dotsStore")
	for k := range sums {
		low := sums[k].AsX()
		VADDPD(high[k], low, low)
		VUNPCKHPD(low, low, high[k])
		VADDSD(high[k], low, low)
		VMOVSD(low, Mem{Base: dst, Disp: k * 8})
	}
	SUBQ(Imm(dotRows), count)
	JE(LabelRef("dotsEnd"))
	move := GP64() // number of rows to the next group
	MOVQ(U32(dotRows), move)
	CMPQ(count, move)
	CMOVQLT(count, move)
	LEAQ(Mem{Base: dst, Index: move, Scale: 8}, dst)
	SUBQ(move, count)
	ADDQ(Imm(dotRows), count)
	IMULQ(stride, move)
	for _, row := range rows {
		ADDQ(move, row)
	}
	JMP(LabelRef("dotsGroup"))
	Label("dotsEnd")
}

// addRowsTo writes a function that keeps a part of dst in registers while it adds all rows to this
// part. If the number of entries is not a multiple of four, the last four entries are computed
// first, from the old values of dst.
func addRowsTo() {
	TEXT("addRowsTo", NOSPLIT, "func(dst *float64, n int, f, a *float64, stride, count int)")
	Pragma("noescape")
	Doc("addRowsTo adds f[i] times row i to dst, for each row of a matrix. The matrix has count rows of n ≥ 4 entries;",
		"row i begins at a[i·stride].")
	dst, n, f, a := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), Load(Param("f"), GP64()), Load(Param("a"), GP64())
	stride, count := Load(Param("stride"), GP64()), Load(Param("count"), GP64())
	SHLQ(Imm(3), stride)
	row, k := GP64(), GP64()
	// The function add writes code that adds all rows to a part of dst, which has registers·lanes
	// entries. The part begins at firstEntry, or at firstEntry + index if index is not nil. The
	// function returns the registers that hold the sums.
	add := func(name string, firstEntry int, index reg.Register, registers int) []reg.VecVirtual {
		sums := make([]reg.VecVirtual, registers)
		for i := range sums {
			sums[i] = YMM()
			m := Mem{Base: dst, Disp: 8 * (firstEntry + i*lanes)}
			if index != nil {
				m.Index, m.Scale = index, 8
			}
			VMOVUPD(m, sums[i])
		}
		if index == nil {
			MOVQ(a, row)
		} else {
			LEAQ(Mem{Base: a, Index: index, Scale: 8, Disp: 8 * firstEntry}, row)
			firstEntry = 0
		}
		XORQ(k, k)
		Label(name + "Row")
		factor := YMM()
		VBROADCASTSD(Mem{Base: f, Index: k, Scale: 8}, factor)
		for i, sum := range sums {
			p := YMM()
			VMULPD(Mem{Base: row, Disp: 8 * (firstEntry + i*lanes)}, factor, p)
			VADDPD(p, sum, sum)
		}
		ADDQ(stride, row)
		INCQ(k)
		CMPQ(k, count)
		JNE(LabelRef(name + "Row"))
		return sums
	}
	tail, last := YMM(), GP64()
	LEAQ(Mem{Base: dst, Index: n, Scale: 8, Disp: -8 * lanes}, last)
	TESTQ(U32(lanes-1), n)
	JE(LabelRef("four"))
	VMOVAPD(add("tail", -lanes, n, 1)[0], tail)
	take := func(name string, registers int) {
		Label(name)
		CMPQ(n, Imm(uint64(registers*lanes)))
		JL(LabelRef(name + "End"))
		for i, sum := range add(name, 0, nil, registers) {
			VMOVUPD(sum, Mem{Base: dst, Disp: 8 * i * lanes})
		}
		ADDQ(Imm(uint64(8*registers*lanes)), dst)
		ADDQ(Imm(uint64(8*registers*lanes)), a)
		SUBQ(Imm(uint64(registers*lanes)), n)
		JMP(LabelRef(name))
		Label(name + "End")
	}
	take("four", 4)
	take("two", 2)
	take("one", 1)
	TESTQ(n, n)
	JE(LabelRef("end"))
	VMOVUPD(tail, Mem{Base: last})
	Label("end")
	VZEROUPPER()
	RET()
}

// distances writes a function that keeps the sum for each point in a lane. For one feature after
// the other, the function adds the squared differences to the sums.
func distances() {
	TEXT("distances", NOSPLIT, "func(dst *float64, count int, x *float64, n int, points *float64, stride int)")
	Pragma("noescape")
	Doc("distances sets each entry of dst to the squared distance between the vector x, of n entries, and one column of",
		"the matrix points. Row i of the n rows begins at points[i·stride]. The length of dst is a multiple of four.")
	dst, count := Load(Param("dst"), GP64()), Load(Param("count"), GP64())
	x, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	points, stride := Load(Param("points"), GP64()), Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	at, row := GP64(), GP64()
	take := func(name string, registers int) {
		entries := registers * lanes
		Label(name)
		CMPQ(count, Imm(uint64(entries)))
		JL(LabelRef(name + "End"))
		sums := make([]reg.VecVirtual, registers)
		for k := range sums {
			sums[k] = YMM()
			VXORPD(sums[k], sums[k], sums[k])
		}
		MOVQ(points, row)
		XORQ(at, at)
		Label(name + "Feature")
		CMPQ(at, n)
		JGE(LabelRef(name + "Store"))
		f := YMM()
		VBROADCASTSD(Mem{Base: x, Index: at, Scale: 8}, f)
		for k, sum := range sums {
			v := YMM()
			VSUBPD(Mem{Base: row, Disp: k * lanes * 8}, f, v)
			VMULPD(v, v, v)
			VADDPD(v, sum, sum)
		}
		ADDQ(stride, row)
		INCQ(at)
		JMP(LabelRef(name + "Feature"))
		Label(name + "Store")
		for k, sum := range sums {
			VMOVUPD(sum, Mem{Base: dst, Disp: k * lanes * 8})
		}
		ADDQ(Imm(uint64(8*entries)), dst)
		ADDQ(Imm(uint64(8*entries)), points)
		SUBQ(Imm(uint64(entries)), count)
		JMP(LabelRef(name))
		Label(name + "End")
	}
	take("four", 4)
	take("one", 1)
	VZEROUPPER()
	RET()
}
