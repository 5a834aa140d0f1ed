//go:build ignore

package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// logistic writes functions that process the rows of a logistic regression. The functions take four
// rows at a time, and Go code processes the remaining rows.
func logistic() {
	near("logisticTaylor", func(s0, w0, dm reg.VecVirtual) (s, w reg.VecVirtual) {
		w2 := times(w0, minus(all(1), times(all(2), s0)))
		w3 := times(w0, minus(all(1), times(all(6), w0)))
		s = minus(s0, times(dm, minus(w0, times(dm, minus(times(w2, all(1./2)), times(dm, times(w3, all(1./6))))))))
		w4 := times(times(w2, minus(all(1), times(all(12), w0))), all(1./6))
		w = minus(w0, times(dm, minus(w2, times(dm, minus(times(w3, all(1./2)), times(dm, w4))))))
		return s, w
	})
	near("logisticNext", func(s0, w0, dm reg.VecVirtual) (s, w reg.VecVirtual) {
		s = minus(s0, times(dm, w0))
		w = minus(w0, times(times(dm, w0), minus(all(1), times(all(2), s0))))
		return s, w
	})
	for _, short := range []bool{true, false} {
		near(map[bool]string{true: "logisticShort", false: "logisticLong"}[short], func(s0, w0, dm reg.VecVirtual) (s, w reg.VecVirtual) {
			q := expm1(negative(dm), short)
			inv := over(all(1), plus(all(1), times(s0, q)))
			q = times(plus(all(1), q), inv)
			return times(s0, q), times(times(w0, q), inv)
		})
	}
	combine3()
	sums3()
}

// expm1 returns eʸ − 1, computed from the same terms in the same order as in the Go code. If short
// is true, it computes expm1Short.
func expm1(y reg.VecVirtual, short bool) reg.VecVirtual {
	y2 := times(y, y)
	y4 := times(y2, y2)
	terms := func(constant, factor float64) reg.VecVirtual { return plus(all(constant), times(y, all(factor))) }
	four := func(a, b, c, d float64) reg.VecVirtual { return plus(terms(a, b), times(y2, terms(c, d))) }
	low := four(1, 1./2, 1./6, 1./24)
	if short {
		middle := plus(four(1./120, 1./720, 1./5040, 1./40320), times(y4, all(1./362880)))
		return times(y, plus(low, times(y4, middle)))
	}
	high := plus(four(1./362880, 1./3628800, 1./39916800, 1./479001600), times(y4, terms(1./6227020800, 1./87178291200)))
	middle := plus(four(1./120, 1./720, 1./5040, 1./40320), times(y4, high))
	return times(y, plus(low, times(y4, middle)))
}

// near writes a function with the given name that computes s and w from s0, w0 and dm. The function
// writeRows writes the code for four rows, and returns the registers that hold s and w.
func near(name string, writeRows func(s0, w0, dm reg.VecVirtual) (s, w reg.VecVirtual)) {
	TEXT(name, NOSPLIT, "func(s, w, s0, w0, dm *float64, n int)")
	Pragma("noescape")
	Doc(name + " is a branch of LogisticNear or LogisticNext for n rows, a positive multiple of four.")
	var at []reg.Register
	for _, p := range []string{"s", "w", "s0", "w0", "dm"} {
		at = append(at, Load(Param(p), GP64()))
	}
	n, i := Load(Param("n"), GP64()), GP64()
	XORQ(i, i)
	Label("rows")
	here := func(k int) Mem { return Mem{Base: at[k], Index: i, Scale: 8} }
	var v [3]reg.VecVirtual
	for k := range v {
		v[k] = YMM()
		VMOVUPD(here(2+k), v[k])
	}
	s, w := writeRows(v[0], v[1], v[2])
	VMOVUPD(s, here(0))
	VMOVUPD(w, here(1))
	ADDQ(Imm(lanes), i)
	CMPQ(i, n)
	JNE(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// An operand is a register, or a constant in memory.
type operand = Op

var constants = map[float64]Mem{}

// all returns a constant in memory with v in all lanes.
func all(v float64) operand {
	m, ok := constants[v]
	if !ok {
		m = GLOBL(fmt.Sprintf("lanes%d", len(constants)), RODATA|NOPTR)
		for k := range lanes {
			DATA(8*k, U64(math.Float64bits(v)))
		}
		constants[v] = m
	}
	return m
}

// binary applies an instruction to x and y, and returns the result. y may be in memory. If x is in
// memory, binary swaps the operands if they commute, and otherwise loads x.
func binary(instruction func(ops ...Op), x, y operand, commute bool) reg.VecVirtual {
	if _, ok := x.(Mem); ok {
		if commute {
			x, y = y, x
		} else {
			r := YMM()
			VMOVUPD(x, r)
			x = r
		}
	}
	to := YMM()
	instruction(y, x, to)
	return to
}

func times(x, y operand) reg.VecVirtual { return binary(VMULPD, x, y, true) }
func plus(x, y operand) reg.VecVirtual  { return binary(VADDPD, x, y, true) }
func minus(x, y operand) reg.VecVirtual { return binary(VSUBPD, x, y, false) }
func over(x, y operand) reg.VecVirtual  { return binary(VDIVPD, x, y, false) }

// negative returns −x. It also changes the sign of zeros.
func negative(x reg.VecVirtual) reg.VecVirtual {
	return binary(VXORPD, x, all(math.Copysign(0, -1)), true)
}

// combine3 writes a linear combination of three columns.
func combine3() {
	TEXT("combine3", NOSPLIT, "func(dst, v, z *float64, stride, n int)")
	Pragma("noescape")
	Doc("combine3 is Combine3 for n rows, a positive multiple of four.")
	dst, v, z := Load(Param("dst"), GP64()), Load(Param("v"), GP64()), Load(Param("z"), GP64())
	stride, n, i := Load(Param("stride"), GP64()), Load(Param("n"), GP64()), GP64()
	columns := columns3(z, stride)
	var f [3]reg.VecVirtual
	for k := range f {
		f[k] = YMM()
		VBROADCASTSD(Mem{Base: v, Disp: 8 * k}, f[k])
	}
	XORQ(i, i)
	Label("rows")
	here := func(base reg.Register) Mem { return Mem{Base: base, Index: i, Scale: 8} }
	sum := times(f[0], here(columns[0]))
	sum = plus(sum, times(f[1], here(columns[1])))
	sum = plus(sum, times(f[2], here(columns[2])))
	VMOVUPD(sum, here(dst))
	ADDQ(Imm(lanes), i)
	CMPQ(i, n)
	JNE(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// columns3 returns pointers to three columns, the first of which begins at z. It also converts the
// register stride from entries to bytes.
func columns3(z, stride reg.Register) [3]reg.Register {
	SHLQ(Imm(3), stride)
	c := [3]reg.Register{z, GP64(), GP64()}
	LEAQ(Mem{Base: z, Index: stride, Scale: 1}, c[1])
	LEAQ(Mem{Base: z, Index: stride, Scale: 2}, c[2])
	return c
}

// sums3 writes moments3 and products3. These functions compute the products of four rows at once,
// and transpose them. Each register then holds the products of one row. The functions add one row
// after the other.
func sums3() {
	TEXT("moments3", NOSPLIT, "func(h, w, z *float64, stride, n int)")
	Pragma("noescape")
	Doc("moments3 is Moments3 for n rows, a positive multiple of four.")
	h, w, z := Load(Param("h"), GP64()), Load(Param("w"), GP64()), Load(Param("z"), GP64())
	stride, n, i := Load(Param("stride"), GP64()), Load(Param("n"), GP64()), GP64()
	columns := columns3(z, stride)
	high, low := YMM(), XMM() // for the sums: the first four in high, and the other two in low
	VXORPD(high, high, high)
	VXORPD(low, low, low)
	XORQ(i, i)
	Label("rows")
	here := func(base reg.Register) Mem { return Mem{Base: base, Index: i, Scale: 8} }
	c := load(here(columns[2]))
	weights := load(here(w))
	wa, wb, wc := times(weights, here(columns[0])), times(weights, here(columns[1])), times(weights, c)
	// The order of the sums in h is 00, 01, 11, 02; 12, 22.
	four := [4]reg.VecVirtual{times(wa, here(columns[0])), times(wa, here(columns[1])), times(wb, here(columns[1])), times(wa, c)}
	two := [2]reg.VecVirtual{times(wb, c), times(wc, c)}
	for _, row := range turned(four) {
		VADDPD(row, high, high)
	}
	even, odd := YMM(), YMM()
	VUNPCKLPD(two[1], two[0], even)
	VUNPCKHPD(two[1], two[0], odd)
	late := XMM()
	VADDPD(even.AsX(), low, low)
	VADDPD(odd.AsX(), low, low)
	VEXTRACTF128(Imm(1), even, late)
	VADDPD(late, low, low)
	VEXTRACTF128(Imm(1), odd, late)
	VADDPD(late, low, low)
	ADDQ(Imm(lanes), i)
	CMPQ(i, n)
	JNE(LabelRef("rows"))
	VMOVUPD(high, Mem{Base: h})
	VMOVUPD(low, Mem{Base: h, Disp: 8 * lanes})
	VZEROUPPER()
	RET()

	TEXT("products3", NOSPLIT, "func(sums, s, z *float64, stride, n int)")
	Pragma("noescape")
	Doc("products3 is Products3 for n rows, a positive multiple of four. It sets four entries of sums. The last",
		"entry is the third product once more.")
	g, s, z := Load(Param("sums"), GP64()), Load(Param("s"), GP64()), Load(Param("z"), GP64())
	stride, n, i = Load(Param("stride"), GP64()), Load(Param("n"), GP64()), GP64()
	columns = columns3(z, stride)
	sum := YMM()
	VXORPD(sum, sum, sum)
	XORQ(i, i)
	Label("rows")
	v := load(Mem{Base: s, Index: i, Scale: 8})
	third := times(v, here(columns[2]))
	for _, row := range turned([4]reg.VecVirtual{times(v, here(columns[0])), times(v, here(columns[1])), third, third}) {
		VADDPD(row, sum, sum)
	}
	ADDQ(Imm(lanes), i)
	CMPQ(i, n)
	JNE(LabelRef("rows"))
	VMOVUPD(sum, Mem{Base: g})
	VZEROUPPER()
	RET()
}

func load(m Mem) reg.VecVirtual {
	v := YMM()
	VMOVUPD(m, v)
	return v
}

// turned returns the transpose of four columns with four entries.
func turned(c [4]reg.VecVirtual) (rows [4]reg.VecVirtual) {
	var pairs [4]reg.VecVirtual
	for k := range pairs {
		pairs[k], rows[k] = YMM(), YMM()
	}
	VUNPCKLPD(c[1], c[0], pairs[0]) // rows 0 and 2 of the first two columns
	VUNPCKHPD(c[1], c[0], pairs[1]) // rows 1 and 3 of the first two columns
	VUNPCKLPD(c[3], c[2], pairs[2])
	VUNPCKHPD(c[3], c[2], pairs[3])
	VPERM2F128(Imm(0x20), pairs[2], pairs[0], rows[0])
	VPERM2F128(Imm(0x20), pairs[3], pairs[1], rows[1])
	VPERM2F128(Imm(0x31), pairs[2], pairs[0], rows[2])
	VPERM2F128(Imm(0x31), pairs[3], pairs[1], rows[3])
	return rows
}
