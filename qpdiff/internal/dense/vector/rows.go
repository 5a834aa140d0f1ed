//go:build ignore

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rotateRows writes a function that keeps a part of a row in registers from one rotation to the
// next.
func rotateRows() {
	TEXT("rotateRows", NOSPLIT, "func(rows *float64, stride, n int, cos, sin *float64, count int)")
	Pragma("noescape")
	Doc("rotateRows makes count plane rotations of neighbouring rows of a matrix. Row i has n entries and begins at",
		"rows[i·stride]. The first rotation replaces rows x and y, the first two, by cos[0]·x + sin[0]·y and",
		"cos[0]·y − sin[0]·x. The next rotation changes the second and the third row with cos[1] and sin[1], and so on.")
	rows, stride, n := Load(Param("rows"), GP64()), Load(Param("stride"), GP64()), Load(Param("n"), GP64())
	cos, sin, count := Load(Param("cos"), GP64()), Load(Param("sin"), GP64()), Load(Param("count"), GP64())
	SHLQ(Imm(3), stride)
	row, at := GP64(), GP64()
	take := func(name string, registers, perRegister int) {
		entries := registers * perRegister
		Label(name)
		CMPQ(n, Imm(uint64(entries)))
		JL(LabelRef(name + "End"))
		load, multiply, add, subtract, broadcast := VMOVUPD, VMULPD, VADDPD, VSUBPD, VBROADCASTSD
		register := func() reg.VecVirtual { return YMM() }
		if perRegister == 1 {
			load, multiply, add, subtract, broadcast = VMOVSD, VMULSD, VADDSD, VSUBSD, VMOVSD
			register = func() reg.VecVirtual { return XMM() }
		}
		x := make([]reg.VecVirtual, registers)
		for i := range x {
			x[i] = register()
			load(Mem{Base: rows, Disp: 8 * i * perRegister}, x[i])
		}
		MOVQ(rows, row)
		XORQ(at, at)
		Label(name + "Rotation")
		c, s := register(), register()
		broadcast(Mem{Base: cos, Index: at, Scale: 8}, c)
		broadcast(Mem{Base: sin, Index: at, Scale: 8}, s)
		for i := range x {
			y, cy, sy := register(), register(), register()
			load(Mem{Base: row, Index: stride, Scale: 1, Disp: 8 * i * perRegister}, y)
			multiply(y, s, sy)
			multiply(y, c, cy)
			cx := register()
			multiply(x[i], c, cx)
			add(sy, cx, cx)
			load(cx, Mem{Base: row, Disp: 8 * i * perRegister})
			multiply(x[i], s, x[i])
			subtract(x[i], cy, x[i])
		}
		ADDQ(stride, row)
		INCQ(at)
		CMPQ(at, count)
		JNE(LabelRef(name + "Rotation"))
		for i := range x {
			load(x[i], Mem{Base: row, Disp: 8 * i * perRegister})
		}
		ADDQ(Imm(uint64(8*entries)), rows)
		SUBQ(Imm(uint64(entries)), n)
		JMP(LabelRef(name))
		Label(name + "End")
	}
	take("two", 2, lanes)
	take("one", 1, lanes)
	take("rest", 1, 1)
	VZEROUPPER()
	RET()
}

// addRow writes code that adds f·row to dst, for vectors of n entries. The code then jumps to the
// label "next". The registers named at and left are scratch.
func addRow(dst, row reg.Register, f reg.VecVirtual, at, left, n reg.Register) {
	entry := func(base reg.Register) Mem { return Mem{Base: base, Index: at, Scale: 8} }
	XORQ(at, at)
	MOVQ(n, left)
	Label("lanes")
	CMPQ(left, Imm(lanes))
	JL(LabelRef("one"))
	p := YMM()
	VMULPD(entry(row), f, p)
	VADDPD(entry(dst), p, p)
	VMOVUPD(p, entry(dst))
	ADDQ(Imm(lanes), at)
	SUBQ(Imm(lanes), left)
	JMP(LabelRef("lanes"))
	Label("one")
	TESTQ(left, left)
	JE(LabelRef("next"))
	w := XMM()
	VMULSD(entry(row), f.AsX(), w)
	VADDSD(entry(dst), w, w)
	VMOVSD(w, entry(dst))
	INCQ(at)
	DECQ(left)
	JMP(LabelRef("one"))
}

// descendBox writes a function for a sweep of coordinate descent. It updates the gradient after
// each move of a coordinate.
func descendBox() {
	TEXT("descendBox", NOSPLIT, "func(z, grad, q, steps, lo, hi *float64, n int) (met int)")
	Pragma("noescape")
	Doc("descendBox makes a sweep of coordinate descent; see DescendBox. It returns the number of moves from a bound or to",
		"a bound.")
	z, grad, q, steps := Load(Param("z"), GP64()), Load(Param("grad"), GP64()), Load(Param("q"), GP64()), Load(Param("steps"), GP64())
	lo, hi, n := Load(Param("lo"), GP64()), Load(Param("hi"), GP64()), Load(Param("n"), GP64())
	j, at, left, met := GP64(), GP64(), GP64(), GP64()
	XORQ(j, j)
	XORQ(met, met)
	Label("coordinate")
	entry := func(base reg.Register, k reg.Register) Mem { return Mem{Base: base, Index: k, Scale: 8} }
	old, v, low, high := XMM(), XMM(), XMM(), XMM()
	VMOVSD(entry(z, j), old)
	VMOVSD(entry(grad, j), v)
	VMULSD(entry(steps, j), v, v)
	VSUBSD(v, old, v)
	VMOVSD(entry(lo, j), low)
	VMOVSD(entry(hi, j), high)
	VMINSD(v, high, v) // min(v, high)
	VMAXSD(v, low, v)
	VUCOMISD(old, v)
	JE(LabelRef("next"))
	for _, x := range []reg.VecVirtual{v, old} {
		for _, bound := range []reg.VecVirtual{low, high} {
			VUCOMISD(bound, x)
			JE(LabelRef("met"))
		}
	}
	JMP(LabelRef("move"))
	Label("met")
	INCQ(met)
	Label("move")
	VMOVSD(v, entry(z, j))
	step, f := XMM(), YMM()
	VSUBSD(old, v, step)
	broadcast(step, f)
	addRow(grad, q, f, at, left, n)
	Label("next")
	LEAQ(Mem{Base: q, Index: n, Scale: 8}, q)
	INCQ(j)
	CMPQ(j, n)
	JNE(LabelRef("coordinate"))
	VZEROUPPER()
	Store(met, ReturnIndex(0))
	RET()
}
