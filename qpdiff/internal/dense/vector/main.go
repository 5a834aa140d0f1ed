//go:build ignore

// The program writes the assembly of package dense, which go generate runs it for. It is a
// module of its own, so that users of the library do not depend on avo, and no part of a
// package, so that a copy of the sources without that module compiles. Products are rounded
// before they are added, as in the Go code beside each call, so that both have the same bits.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const lanes = 4 // float64 in a register

func main() {
	subtract2()
	gramTile()
	dot4()
	add4()
	Generate()
}

// subtract2 writes dst − (a·x + b·y) to dst.
func subtract2() {
	TEXT("subtract2", NOSPLIT, "func(dst, x, y *float64, n int, a, b float64)")
	Pragma("noescape")
	Doc("subtract2 sets the n entries of dst to dst − (a·x + b·y).")
	dst, x, y, n := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("y"), GP64()), Load(Param("n"), GP64())
	a, b := YMM(), YMM()
	VBROADCASTSD(parameter("a"), a)
	VBROADCASTSD(parameter("b"), b)
	entry := func(p reg.Register, at int) Mem { return Mem{Base: p, Disp: at * 8} }
	step := func(count int) {
		for k := range count {
			u, v := YMM(), YMM()
			VMULPD(entry(x, k*lanes), a, u)
			VMULPD(entry(y, k*lanes), b, v)
			VADDPD(v, u, u)
			VMOVUPD(entry(dst, k*lanes), v)
			VSUBPD(u, v, v)
			VMOVUPD(v, entry(dst, k*lanes))
		}
		for _, p := range []reg.Register{dst, x, y} {
			ADDQ(Imm(uint64(count*lanes*8)), p)
		}
		SUBQ(Imm(uint64(count*lanes)), n)
	}
	Label("four")
	CMPQ(n, Imm(4*lanes))
	JL(LabelRef("one"))
	step(4)
	JMP(LabelRef("four"))
	Label("one")
	CMPQ(n, Imm(lanes))
	JL(LabelRef("rest"))
	step(1)
	JMP(LabelRef("one"))
	Label("rest")
	TESTQ(n, n)
	JE(LabelRef("end"))
	u, v := XMM(), XMM()
	VMULSD(entry(x, 0), a.AsX(), u)
	VMULSD(entry(y, 0), b.AsX(), v)
	VADDSD(v, u, u)
	VMOVSD(entry(dst, 0), v)
	VSUBSD(u, v, v)
	VMOVSD(v, entry(dst, 0))
	for _, p := range []reg.Register{dst, x, y} {
		ADDQ(Imm(8), p)
	}
	DECQ(n)
	JMP(LabelRef("rest"))
	Label("end")
	VZEROUPPER()
	RET()
}

// The size of a tile of a Gram matrix.
const (
	tileRows    = 2
	tileColumns = 2 * lanes
)

// gramTile sums products of two columns with eight, four rows of the data at a time.
func gramTile() {
	TEXT("gramTile", NOSPLIT, "func(dst *float64, width int, a, b *float64, stride, groups int)")
	Pragma("noescape")
	Doc("gramTile adds to two rows of eight entries of dst, a matrix with the given width, the products",
		"of the two columns at a with the eight at b, both in rows stride entries apart, four in each",
		"group: the sum of four products is added at a time.")
	dst, width := Load(Param("dst"), GP64()), Load(Param("width"), GP64())
	next := GP64() // the second row of dst
	LEAQ(Mem{Base: dst, Index: width, Scale: 8}, next)
	place := func(row, k int) Mem { return Mem{Base: []reg.Register{dst, next}[row], Disp: k * lanes * 8} }
	a, b, groups := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("groups"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	var sum [tileRows][2]reg.VecVirtual
	for i := range sum {
		for k := range sum[i] {
			sum[i][k] = YMM()
			VMOVUPD(place(i, k), sum[i][k])
		}
	}
	Label("group")
	TESTQ(groups, groups)
	JE(LabelRef("store"))
	var part [tileRows][2]reg.VecVirtual // of the first two rows, then of all four
	for pair := range 2 {
		var term [tileRows][2]reg.VecVirtual
		for row := range 2 {
			var x [2]reg.VecVirtual
			for k := range x {
				x[k] = YMM()
				VMOVUPD(Mem{Base: b, Disp: k * lanes * 8}, x[k])
			}
			for i := range sum {
				f := YMM()
				VBROADCASTSD(Mem{Base: a, Disp: i * 8}, f)
				for k := range x {
					p := YMM()
					VMULPD(x[k], f, p)
					if row == 0 {
						term[i][k] = p
					} else {
						VADDPD(p, term[i][k], term[i][k])
					}
				}
			}
			ADDQ(stride, a)
			ADDQ(stride, b)
		}
		for i := range sum {
			for k := range sum[i] {
				if pair == 0 {
					part[i][k] = term[i][k]
				} else {
					VADDPD(term[i][k], part[i][k], part[i][k])
				}
			}
		}
	}
	for i := range sum {
		for k := range sum[i] {
			VADDPD(part[i][k], sum[i][k], sum[i][k])
		}
	}
	DECQ(groups)
	JMP(LabelRef("group"))
	Label("store")
	for i := range sum {
		for k := range sum[i] {
			VMOVUPD(sum[i][k], place(i, k))
		}
	}
	VZEROUPPER()
	RET()
}

// dotRows is how many rows dot4 and add4 take.
const dotRows = 4

// rowsFrom returns the rows from a on, stride entries apart; stride becomes bytes.
func rowsFrom(a, stride reg.Register) [dotRows]reg.Register {
	SHLQ(Imm(3), stride)
	rows := [dotRows]reg.Register{a}
	for k := 1; k < dotRows; k++ {
		next := GP64()
		LEAQ(Mem{Base: rows[k-1], Index: stride, Scale: 1}, next)
		rows[k] = next
	}
	return rows
}

// dot4 has a sum of four lanes for each row, as gonum's dot product of two vectors has: four
// rows at a time hide the time that an addition takes.
func dot4() {
	TEXT("dot4", NOSPLIT, "func(dst, a *float64, stride int, x *float64, n int)")
	Pragma("noescape")
	Doc("dot4 sets the four entries of dst to the products of x with the rows of n entries at a, stride",
		"entries apart, in the order of gonum's DotUnitary.")
	a, stride, x, n := Load(Param("a"), GP64()), Load(Param("stride"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
	rows := rowsFrom(a, stride)
	var sums [dotRows]reg.VecVirtual
	for k := range sums {
		sums[k] = YMM()
		VXORPD(sums[k], sums[k], sums[k])
	}
	Label("lanes")
	CMPQ(n, Imm(lanes))
	JL(LabelRef("rest"))
	v := YMM()
	VMOVUPD(Mem{Base: x}, v)
	for k, row := range rows {
		p := YMM()
		VMULPD(Mem{Base: row}, v, p)
		VADDPD(p, sums[k], sums[k])
		ADDQ(Imm(lanes*8), row)
	}
	ADDQ(Imm(lanes*8), x)
	SUBQ(Imm(lanes), n)
	JMP(LabelRef("lanes"))
	Label("rest")
	// What is left is added to the first lane, whose register an addition of one entry clears
	// beyond the first two: the others are kept apart.
	var high [dotRows]reg.VecVirtual
	for k := range sums {
		high[k] = XMM()
		VEXTRACTF128(Imm(1), sums[k], high[k])
	}
	Label("one")
	TESTQ(n, n)
	JE(LabelRef("end"))
	w := XMM()
	VMOVSD(Mem{Base: x}, w)
	for k, row := range rows {
		p := XMM()
		VMULSD(Mem{Base: row}, w, p)
		VADDSD(p, sums[k].AsX(), sums[k].AsX())
		ADDQ(Imm(8), row)
	}
	ADDQ(Imm(8), x)
	DECQ(n)
	JMP(LabelRef("one"))
	Label("end")
	dst := Load(Param("dst"), GP64())
	for k := range sums {
		low := sums[k].AsX()
		VADDPD(high[k], low, low)
		VUNPCKHPD(low, low, high[k])
		VADDSD(high[k], low, low)
		VMOVSD(low, Mem{Base: dst, Disp: k * 8})
	}
	VZEROUPPER()
	RET()
}

// add4 adds rows to dst one after the other, entry by entry, so that dst is read and written
// once for all.
func add4() {
	TEXT("add4", NOSPLIT, "func(dst *float64, n int, f, a *float64, stride int)")
	Pragma("noescape")
	Doc("add4 adds f[0] times the row of n entries at a to dst, then f[1] times that stride entries further,",
		"and so on for four rows.")
	dst, n, f, a, stride := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), Load(Param("f"), GP64()), Load(Param("a"), GP64()), Load(Param("stride"), GP64())
	rows := rowsFrom(a, stride)
	var factors [dotRows]reg.VecVirtual
	for k := range rows {
		factors[k] = YMM()
		VBROADCASTSD(Mem{Base: f, Disp: k * 8}, factors[k])
	}
	advance := func(entries int) {
		for _, p := range append([]reg.Register{dst}, rows[:]...) {
			ADDQ(Imm(uint64(8*entries)), p)
		}
		SUBQ(Imm(uint64(entries)), n)
	}
	Label("lanes")
	CMPQ(n, Imm(lanes))
	JL(LabelRef("one"))
	v := YMM()
	VMOVUPD(Mem{Base: dst}, v)
	for k, row := range rows {
		p := YMM()
		VMULPD(Mem{Base: row}, factors[k], p)
		VADDPD(p, v, v)
	}
	VMOVUPD(v, Mem{Base: dst})
	advance(lanes)
	JMP(LabelRef("lanes"))
	Label("one")
	TESTQ(n, n)
	JE(LabelRef("end"))
	w := XMM()
	VMOVSD(Mem{Base: dst}, w)
	for k, row := range rows {
		p := XMM()
		VMULSD(Mem{Base: row}, factors[k].AsX(), p)
		VADDSD(p, w, w)
	}
	VMOVSD(w, Mem{Base: dst})
	advance(1)
	JMP(LabelRef("one"))
	Label("end")
	VZEROUPPER()
	RET()
}

// parameter returns the place of a parameter.
func parameter(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}
