//go:build ignore

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A value of type best holds, for each lane, the largest value so far and the place of this value.
type best struct{ value, at, place, step reg.VecVirtual }

// startBest returns a value of type best. Its largest values are firstValues, and the place is 0 in
// each lane.
func startBest(firstValues reg.VecVirtual) best {
	b := best{value: firstValues, at: YMM(), place: YMM(), step: YMM()}
	VMOVUPD(places, b.place)
	VBROADCASTSD(places.Offset(8*lanes), b.step)
	VXORPD(b.at, b.at, b.at)
	return b
}

// places is a constant in memory. It holds the place of the first value of each lane, followed by
// the difference between two successive places of a lane.
var places Mem

func declarePlaces() {
	places = GLOBL("places", RODATA|NOPTR)
	for k := range lanes + 1 {
		DATA(8*k, U64(math.Float64bits(float64(k))))
	}
}

// take compares the values at the next places with the largest values so far. If two values are
// equal, the first value remains.
func (b best) take(values reg.VecVirtual) {
	larger := YMM()
	VCMPPD(Imm(orderedLess), values, b.value, larger)
	VBLENDVPD(larger, values, b.value, b.value)
	VBLENDVPD(larger, b.place, b.at, b.at)
	VADDPD(b.step, b.place, b.place)
}

// orderedLess is a predicate of VCMPPD. It is true if the last source operand is less than the
// other source operand, and neither operand is NaN.
const orderedLess = 17

// highest writes a function that finds the largest entries. Places at which a ≥ b count as −Inf.
func highest() {
	TEXT("highest", NOSPLIT, "func(dst, x, a, b *float64, n int)")
	Pragma("noescape")
	Doc("highest considers the indices i with a[i] < b[i], in four classes: one for each value of i modulo four. It sets",
		"the first four entries of dst to the largest x[i] of each class, or to −Inf. It sets the next four entries to",
		"the first indices with these x[i]. The length n is a multiple of four.")
	x, a, b := Load(Param("x"), GP64()), Load(Param("a"), GP64()), Load(Param("b"), GP64())
	n := Load(Param("n"), GP64())
	none, value := YMM(), YMM()
	infinity := GLOBL("infinity", RODATA|NOPTR)
	DATA(0, U64(math.Float64bits(math.Inf(-1))))
	VBROADCASTSD(infinity, none)
	VMOVUPD(none, value)
	largest := startBest(value)
	at := GP64()
	XORQ(at, at)
	Label("lanes")
	CMPQ(at, n)
	JGE(LabelRef("end"))
	entries := func(p reg.Register) Mem { return Mem{Base: p, Index: at, Scale: 8} }
	counts, v := YMM(), YMM()
	VMOVUPD(entries(a), counts)
	VCMPPD(Imm(orderedLess), entries(b), counts, counts)
	VBLENDVPD(counts, entries(x), none, v)
	largest.take(v)
	ADDQ(Imm(lanes), at)
	JMP(LabelRef("lanes"))
	Label("end")
	dst := Load(Param("dst"), GP64())
	VMOVUPD(largest.value, Mem{Base: dst})
	VMOVUPD(largest.at, Mem{Base: dst, Disp: 8 * lanes})
	VZEROUPPER()
	RET()
}

// steepest writes a function that finds the largest gains. It computes the gain at all places, and
// then sets the gain to 0 at places that are not considered.
func steepest() {
	TEXT("steepest", NOSPLIT, "func(dst, terms, r, diagonal, row, a, b *float64, n int)")
	Pragma("noescape")
	Doc("steepest considers the indices i with a[i] > b[i] and d[i] > 0, where d[i] = rtop − r[i], in four classes: one for",
		"each value of i modulo four. The gain of an index is d[i]²/max(h + diagonal[i] − 2·row[i], minCurv). steepest sets",
		"the first four entries of dst to the largest gain of each class, or to 0. It sets the next four entries to the",
		"first indices with these gains, and the last four to the largest d[i]. The entries of terms are rtop, h, minCurv",
		"and 2. The length n is a multiple of four.")
	terms, r, diagonal, row := Load(Param("terms"), GP64()), Load(Param("r"), GP64()), Load(Param("diagonal"), GP64()), Load(Param("row"), GP64())
	a, b, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
	top, h, least, two := YMM(), YMM(), YMM(), YMM()
	for k, term := range []reg.VecVirtual{top, h, least, two} {
		VBROADCASTSD(Mem{Base: terms, Disp: 8 * k}, term)
	}
	zero, widest, value := YMM(), YMM(), YMM()
	for _, v := range []reg.VecVirtual{zero, widest, value} {
		VXORPD(v, v, v)
	}
	gain := startBest(value)
	at := GP64()
	XORQ(at, at)
	Label("lanes")
	CMPQ(at, n)
	JGE(LabelRef("end"))
	entries := func(p reg.Register) Mem { return Mem{Base: p, Index: at, Scale: 8} }
	d, counts, positive, curvature := YMM(), YMM(), YMM(), YMM()
	VSUBPD(entries(r), top, d)
	VMOVUPD(entries(b), counts)
	VCMPPD(Imm(orderedLess), entries(a), counts, counts)
	VCMPPD(Imm(orderedLess), d, zero, positive)
	VANDPD(positive, counts, counts)
	VANDPD(counts, d, d)
	VMAXPD(d, widest, widest)
	VMULPD(entries(row), two, curvature)
	VADDPD(entries(diagonal), h, positive)
	VSUBPD(curvature, positive, curvature)
	VMAXPD(curvature, least, curvature) // if curvature is NaN, the result is curvature
	VMULPD(d, d, d)
	VDIVPD(curvature, d, d)
	gain.take(d)
	ADDQ(Imm(lanes), at)
	JMP(LabelRef("lanes"))
	Label("end")
	dst := Load(Param("dst"), GP64())
	for k, v := range []reg.VecVirtual{gain.value, gain.at, widest} {
		VMOVUPD(v, Mem{Base: dst, Disp: 8 * lanes * k})
	}
	VZEROUPPER()
	RET()
}
