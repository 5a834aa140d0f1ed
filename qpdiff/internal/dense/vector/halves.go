//go:build ignore

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// compareHalves writes a function that compares each block of four rows and columns with the block
// on the other side of the diagonal. The last blocks may overlap the blocks before them.
func compareHalves() {
	TEXT("compareHalves", NOSPLIT, "func(q *float64, n int) (largest float64, differ int)")
	Pragma("noescape")
	Doc("compareHalves returns the largest absolute entry of the n×n matrix q that is not NaN, for n ≥ 4. The result differ",
		"is not 0 if q has a NaN, or if a bit of q differs from the transpose of q.")
	q, n := Load(Param("q"), GP64()), Load(Param("n"), GP64())
	stride, three := GP64(), GP64()
	LEAQ(Mem{Base: n, Index: n, Scale: 1}, stride)
	SHLQ(Imm(2), stride)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	last := GP64()
	LEAQ(Mem{Base: n, Disp: -lanes}, last)
	half, modulus := XMM(), YMM()
	VPCMPEQD(half, half, half)
	VPSRLQ(Imm(1), half, half)
	VINSERTF128(Imm(1), half, half.AsY(), modulus)
	largest, differ := YMM(), YMM()
	VXORPD(largest, largest, largest)
	VXORPD(differ, differ, differ)
	row, i, column, j := GP64(), GP64(), GP64(), GP64() // i and j are at most last
	XORQ(row, row)
	Label("rows")
	MOVQ(row, i)
	CMPQ(last, i)
	CMOVQLT(last, i)
	XORQ(column, column)
	Label("columns")
	MOVQ(column, j)
	CMPQ(i, j)
	CMOVQLT(i, j)
	block := func(i, j reg.Register) reg.Register { // the address of entry (i, j)
		at := GP64()
		MOVQ(i, at)
		IMULQ(stride, at)
		LEAQ(Mem{Base: at, Index: j, Scale: 8}, at)
		ADDQ(q, at)
		return at
	}
	rows := func(base reg.Register) [lanes]Mem {
		return [lanes]Mem{{Base: base}, {Base: base, Index: stride, Scale: 1}, {Base: base, Index: stride, Scale: 2}, {Base: base, Index: three, Scale: 1}}
	}
	compareBlock(rows(block(i, j)), rows(block(j, i)), modulus, largest, differ)
	ADDQ(Imm(lanes), column)
	end := GP64()
	LEAQ(Mem{Base: i, Disp: lanes}, end)
	CMPQ(column, end)
	JL(LabelRef("columns"))
	ADDQ(Imm(lanes), row)
	CMPQ(row, n)
	JL(LabelRef("rows"))
	high := XMM()
	VEXTRACTF128(Imm(1), largest, high)
	VMAXPD(high, largest.AsX(), largest.AsX())
	VUNPCKHPD(largest.AsX(), largest.AsX(), high)
	VMAXSD(high, largest.AsX(), largest.AsX())
	found := GP64()
	XORQ(found, found)
	VPTEST(differ, differ)
	SETNE(found.As8())
	VZEROUPPER()
	Store(largest.AsX(), ReturnIndex(0))
	Store(found, ReturnIndex(1))
	RET()
}

// compareBlock writes code that compares the block below with the transpose of the block above. The
// register named modulus holds a mask that clears the sign of each lane.
func compareBlock(below, above [lanes]Mem, modulus, largest, differ reg.VecVirtual) {
	take := func(v reg.VecVirtual) {
		m := YMM()
		VANDPD(v, modulus, m)
		VMAXPD(largest, m, largest) // if m is NaN, the result is largest
	}
	var u, pairs, transposed [lanes]reg.VecVirtual
	for k := range u {
		u[k], pairs[k], transposed[k] = YMM(), YMM(), YMM()
		VMOVUPD(above[k], u[k])
		take(u[k])
	}
	for k := 0; k < lanes; k += 2 {
		VUNPCKLPD(u[k+1], u[k], pairs[k])
		VUNPCKHPD(u[k+1], u[k], pairs[k+1])
	}
	for k := range transposed {
		VPERM2F128(Imm(uint64([]int{0x20, 0x20, 0x31, 0x31}[k])), pairs[k%2+2], pairs[k%2], transposed[k])
	}
	for k, t := range transposed {
		v, nan := YMM(), YMM()
		VMOVUPD(below[k], v)
		take(v)
		VCMPPD(Imm(3), v, v, nan)
		VORPD(nan, differ, differ)
		VXORPD(v, t, t)
		VORPD(t, differ, differ)
	}
}
