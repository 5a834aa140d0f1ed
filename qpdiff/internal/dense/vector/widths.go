//go:build ignore

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// widths writes the functions of kernels with a width for each feature.
func widths() {
	addWeightedSquares()
	addPairSquares()
	expNegatives()
}

// addWeightedSquares writes a function that skips the features with the weight 0.
func addWeightedSquares() {
	TEXT("addWeightedSquares", NOSPLIT, "func(dst *float64, count int, w, x *float64, n int, points *float64, stride int)")
	Pragma("noescape")
	Doc("addWeightedSquares is AddWeightedSquares for count entries of dst, a multiple of four.")
	dst, count := Load(Param("dst"), GP64()), Load(Param("count"), GP64())
	w, x, n := Load(Param("w"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	points, stride := Load(Param("points"), GP64()), Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	at, row, bits := GP64(), GP64(), GP64()
	take := func(name string, registers int) {
		entries := registers * lanes
		Label(name)
		CMPQ(count, Imm(uint64(entries)))
		JL(LabelRef(name + "End"))
		sums := make([]reg.VecVirtual, registers)
		for k := range sums {
			sums[k] = YMM()
			VMOVUPD(Mem{Base: dst, Disp: k * lanes * 8}, sums[k])
		}
		MOVQ(points, row)
		XORQ(at, at)
		Label(name + "Feature")
		CMPQ(at, n)
		JGE(LabelRef(name + "Store"))
		MOVQ(Mem{Base: w, Index: at, Scale: 8}, bits)
		ADDQ(bits, bits) // 0 for ±0
		JE(LabelRef(name + "Next"))
		f, g := YMM(), YMM()
		VBROADCASTSD(Mem{Base: w, Index: at, Scale: 8}, g)
		VBROADCASTSD(Mem{Base: x, Index: at, Scale: 8}, f)
		for k, sum := range sums {
			v, p := YMM(), YMM()
			VSUBPD(Mem{Base: row, Disp: k * lanes * 8}, f, v)
			VMULPD(v, g, p)
			VMULPD(v, p, p)
			VADDPD(p, sum, sum)
		}
		Label(name + "Next")
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

// addPairSquares writes a function with one sum for each lane.
func addPairSquares() {
	TEXT("addPairSquares", NOSPLIT, "func(sums, s *float64, count int, x *float64, n int, points *float64, stride int)")
	Pragma("noescape")
	Doc("addPairSquares sets four entries of sums for each of n ≥ 1 features: the sums of AddPairSquares in the four lanes. The",
		"number count of entries of s is a multiple of four, and at least four.")
	sums, s, count := Load(Param("sums"), GP64()), Load(Param("s"), GP64()), Load(Param("count"), GP64())
	x, n := Load(Param("x"), GP64()), Load(Param("n"), GP64())
	points, stride := Load(Param("points"), GP64()), Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	zero, i := YMM(), GP64()
	VXORPD(zero, zero, zero)
	Label("feature")
	f, sum := YMM(), YMM()
	VBROADCASTSD(Mem{Base: x}, f)
	VXORPD(sum, sum, sum)
	XORQ(i, i)
	Label("rows")
	v, p, mask := YMM(), YMM(), YMM()
	VMOVUPD(Mem{Base: s, Index: i, Scale: 8}, p)
	VCMPPD(Imm(unorderedNotEqual), zero, p, mask)
	VSUBPD(Mem{Base: points, Index: i, Scale: 8}, f, v)
	VMULPD(v, p, p)
	VMULPD(v, p, p)
	VANDPD(mask, p, p)
	VADDPD(p, sum, sum)
	ADDQ(Imm(lanes), i)
	CMPQ(i, count)
	JNE(LabelRef("rows"))
	VMOVUPD(sum, Mem{Base: sums})
	ADDQ(Imm(8*lanes), sums)
	ADDQ(Imm(8), x)
	ADDQ(stride, points)
	DECQ(n)
	JNE(LabelRef("feature"))
	VZEROUPPER()
	RET()
}

// Predicates of VCMPPD.
const unorderedNotEqual, unorderedNotLess = 4, 5

// expNegatives writes the same operations as expNegative.
func expNegatives() {
	TEXT("expNegatives", NOSPLIT, "func(q *float64, count int)")
	Pragma("noescape")
	Doc("expNegatives is ExpNegatives for count entries of q, a multiple of four, and at least four.")
	q, count := Load(Param("q"), GP64()), Load(Param("count"), GP64())
	Label("rows")
	x := negative(load(Mem{Base: q}))
	mask := YMM()
	VCMPPD(Imm(unorderedNotLess), all(-708), x, mask)
	shifted := plus(times(x, all(math.Log2E)), all(0x1.8p52))
	k := minus(shifted, all(0x1.8p52))
	r := minus(minus(x, times(k, all(6.93147180369123816490e-01))), times(k, all(1.90821492927058770002e-10)))
	e := plus(expm1(r, false), all(1))
	// AVX has no operations on four integers.
	low, high, power := shifted.AsX(), XMM(), YMM()
	VEXTRACTF128(Imm(1), shifted.AsY(), high)
	one := all(1)
	for _, half := range []reg.Register{low, high} {
		VPSLLQ(Imm(52), half, half)
		VPADDQ(one, half, half)
	}
	VINSERTF128(Imm(1), high, low.(reg.VecVirtual).AsY(), power)
	e = times(e, power)
	VANDPD(mask, e, e)
	VMOVUPD(e, Mem{Base: q})
	ADDQ(Imm(8*lanes), q)
	SUBQ(Imm(lanes), count)
	JNE(LabelRef("rows"))
	VZEROUPPER()
	RET()
}
