//go:build ignore

// The program writes the assembly of package dense, which go generate runs it for. It is a
// module of its own, so that users of the library do not depend on avo, and no part of a
// package, so that a copy of the sources without that module compiles. Products are rounded
// before they are added, as in the Go code beside each call, so that both have the same bits.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const lanes = 4 // float64 in a register

func main() {
	subtractPairs()
	gramTile()
	dot4()
	add4(false)
	add4(true)
	small()
	logistic()
	productTile()
	distances()
	declarePlaces()
	highest()
	steepest()
	Generate()
}

// subtractPairs keeps a part of dst in registers while all pairs of rows are taken from it.
func subtractPairs() {
	TEXT("subtractPairs", NOSPLIT, "func(dst *float64, n int, a *float64, stride int, f *float64, pairs int)")
	Pragma("noescape")
	Doc("subtractPairs subtracts f[0] times the row of n entries at a plus f[1] times that stride entries",
		"further from dst, and so on for so many pairs of rows.")
	dst, n, a, stride := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), Load(Param("a"), GP64()), Load(Param("stride"), GP64())
	f, pairs := Load(Param("f"), GP64()), Load(Param("pairs"), GP64())
	SHLQ(Imm(3), stride)
	row, factor, left := GP64(), GP64(), GP64()
	// take repeats itself while dst has so many registers of entries, of a vector each or of one.
	take := func(name string, registers, each int) {
		entries := registers * each
		Label(name)
		CMPQ(n, Imm(uint64(entries)))
		JL(LabelRef(name + "End"))
		load, multiply, add, subtract, broadcast := VMOVUPD, VMULPD, VADDPD, VSUBPD, VBROADCASTSD
		register := func() reg.VecVirtual { return YMM() }
		if each == 1 {
			load, multiply, add, subtract, broadcast = VMOVSD, VMULSD, VADDSD, VSUBSD, VMOVSD
			register = func() reg.VecVirtual { return XMM() }
		}
		sums := make([]reg.VecVirtual, registers)
		for k := range sums {
			sums[k] = register()
			load(Mem{Base: dst, Disp: k * each * 8}, sums[k])
		}
		MOVQ(a, row)
		MOVQ(f, factor)
		MOVQ(pairs, left)
		Label(name + "Pair")
		f0, f1 := register(), register()
		broadcast(Mem{Base: factor}, f0)
		broadcast(Mem{Base: factor, Disp: 8}, f1)
		for k, sum := range sums {
			u, v := register(), register()
			multiply(Mem{Base: row, Disp: k * each * 8}, f0, u)
			multiply(Mem{Base: row, Index: stride, Scale: 1, Disp: k * each * 8}, f1, v)
			add(v, u, u)
			subtract(u, sum, sum)
		}
		LEAQ(Mem{Base: row, Index: stride, Scale: 2}, row)
		ADDQ(Imm(16), factor)
		DECQ(left)
		JNE(LabelRef(name + "Pair"))
		for k, sum := range sums {
			load(sum, Mem{Base: dst, Disp: k * each * 8})
		}
		ADDQ(Imm(uint64(8*entries)), dst)
		ADDQ(Imm(uint64(8*entries)), a)
		SUBQ(Imm(uint64(entries)), n)
		JMP(LabelRef(name))
		Label(name + "End")
	}
	take("four", 4, lanes)
	take("one", 1, lanes)
	take("rest", 1, 1)
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

// dotRows is how many rows dot4 and add4 take, and rowNames are their parameters.
const dotRows = 4

var rowNames = [dotRows]string{"a", "b", "c", "d"}

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

// rows returns the parameters that point to rows.
func rows() (at [dotRows]reg.Register) {
	for k, name := range rowNames {
		at[k] = Load(Param(name), GP64())
	}
	return at
}

// dot4 has a sum of four lanes for each row, as gonum's dot product of two vectors has: four
// rows at a time hide the time that an addition takes.
func dot4() {
	TEXT("dot4", NOSPLIT, "func(dst, a, b, c, d, x *float64, n int)")
	Pragma("noescape")
	Doc("dot4 sets the four entries of dst to the products of x with the rows of n entries at a, b, c",
		"and d, in the order of gonum's DotUnitary.")
	x, n, rows := Load(Param("x"), GP64()), Load(Param("n"), GP64()), rows()
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
// once for all. With less, a row is subtracted from each of them first.
func add4(less bool) {
	name, params, what := "add4", "dst *float64, n int, f, a, b, c, d *float64", "the row of n entries at a"
	if less {
		name, params, what = "add4Less", params+", e *float64", "the row of n entries at a less that at e"
	}
	TEXT(name, NOSPLIT, "func("+params+")")
	Pragma("noescape")
	Doc(name+" adds f[0] times "+what+" to dst, then f[1] times that at b, and so on for",
		"c and d.")
	dst, n, f, rows := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), Load(Param("f"), GP64()), rows()
	pointers := append([]reg.Register{dst}, rows[:]...)
	var shift reg.Register
	if less {
		shift = Load(Param("e"), GP64())
		pointers = append(pointers, shift)
	}
	var factors [dotRows]reg.VecVirtual
	for k := range rows {
		factors[k] = YMM()
		VBROADCASTSD(Mem{Base: f, Disp: k * 8}, factors[k])
	}
	take := func(label, end string, entries int, register func() reg.VecVirtual, load, multiply, add, subtract func(ops ...Op), factor func(k int) reg.Register) {
		Label(label)
		CMPQ(n, Imm(uint64(entries)))
		JL(LabelRef(end))
		v := register()
		load(Mem{Base: dst}, v)
		for k, row := range rows {
			p := register()
			if less {
				u, e := register(), register()
				load(Mem{Base: row}, u)
				load(Mem{Base: shift}, e)
				subtract(e, u, u)
				multiply(u, factor(k), p)
			} else {
				multiply(Mem{Base: row}, factor(k), p)
			}
			add(p, v, v)
		}
		load(v, Mem{Base: dst})
		for _, p := range pointers {
			ADDQ(Imm(uint64(8*entries)), p)
		}
		SUBQ(Imm(uint64(entries)), n)
		JMP(LabelRef(label))
	}
	take("lanes", "one", lanes, func() reg.VecVirtual { return YMM() }, VMOVUPD, VMULPD, VADDPD, VSUBPD, func(k int) reg.Register { return factors[k] })
	take("one", "end", 1, func() reg.VecVirtual { return XMM() }, VMOVSD, VMULSD, VADDSD, VSUBSD, func(k int) reg.Register { return factors[k].AsX() })
	Label("end")
	VZEROUPPER()
	RET()
}

// productRows is how many rows a tile of a product has; it is two vectors wide.
const productRows = 4

// productTile keeps a tile in registers while it takes all terms of its sums, one after the other.
func productTile() {
	TEXT("productTile", NOSPLIT, "func(dst *float64, width int, a *float64, stride int, b *float64, depth int)")
	Pragma("noescape")
	Doc("productTile adds to four rows of eight entries of dst, width entries apart, the products of the",
		"four rows of depth entries at a, stride entries apart, with the depth rows of eight at b.")
	dst, width := Load(Param("dst"), GP64()), Load(Param("width"), GP64())
	a, stride := Load(Param("a"), GP64()), Load(Param("stride"), GP64())
	b, depth := Load(Param("b"), GP64()), Load(Param("depth"), GP64())
	rows, places := rowsFrom(a, stride), rowsFrom(dst, width)
	var sums [productRows][2]reg.VecVirtual
	for i := range sums {
		for k := range sums[i] {
			sums[i][k] = YMM()
			VMOVUPD(Mem{Base: places[i], Disp: k * lanes * 8}, sums[i][k])
		}
	}
	at := GP64()
	XORQ(at, at)
	Label("term")
	CMPQ(at, depth)
	JGE(LabelRef("store"))
	var x [2]reg.VecVirtual
	for k := range x {
		x[k] = YMM()
		VMOVUPD(Mem{Base: b, Disp: k * lanes * 8}, x[k])
	}
	for i, row := range rows {
		f := YMM()
		VBROADCASTSD(Mem{Base: row, Index: at, Scale: 8}, f)
		for k := range x {
			p := YMM()
			VMULPD(x[k], f, p)
			VADDPD(p, sums[i][k], sums[i][k])
		}
	}
	ADDQ(Imm(2*lanes*8), b)
	INCQ(at)
	JMP(LabelRef("term"))
	Label("store")
	for i := range sums {
		for k := range sums[i] {
			VMOVUPD(sums[i][k], Mem{Base: places[i], Disp: k * lanes * 8})
		}
	}
	VZEROUPPER()
	RET()
}

// distances has a sum for each point, to which the features add in turn.
func distances() {
	TEXT("distances", NOSPLIT, "func(dst *float64, count int, x *float64, n int, points *float64, stride int)")
	Pragma("noescape")
	Doc("distances sets dst, of a multiple of four entries, to the sums of the squared differences between",
		"the n entries at x and a column each at points, whose n rows are stride entries apart.")
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

// best has the largest value of each lane so far and its place.
type best struct{ value, at, place, step reg.VecVirtual }

// startBest begins at place 0 with the value of first in each lane.
func startBest(first reg.VecVirtual) best {
	b := best{value: first, at: YMM(), place: YMM(), step: YMM()}
	VMOVUPD(places, b.place)
	VBROADCASTSD(places.Offset(8*lanes), b.step)
	VXORPD(b.at, b.at, b.at)
	return b
}

// places are the first places, then how far the next ones are.
var places Mem

func declarePlaces() {
	places = GLOBL("places", RODATA|NOPTR)
	for k := range lanes + 1 {
		DATA(8*k, U64(math.Float64bits(float64(k))))
	}
}

// take compares the values at the next places, of which the first of the largest stays.
func (b best) take(values reg.VecVirtual) {
	larger := YMM()
	VCMPPD(Imm(orderedLess), values, b.value, larger)
	VBLENDVPD(larger, values, b.value, b.value)
	VBLENDVPD(larger, b.place, b.at, b.at)
	VADDPD(b.step, b.place, b.place)
}

// orderedLess is the predicate of VCMPPD that its last source is less than the other, and none is
// NaN.
const orderedLess = 17

// highest takes −Inf at places that do not count.
func highest() {
	TEXT("highest", NOSPLIT, "func(dst, x, a, b *float64, n int)")
	Pragma("noescape")
	Doc("highest sets the first four entries of dst to the largest entries of x at places equal modulo four",
		"at which a is less than b, or −Inf, and the next four to the first places of those. n is a multiple",
		"of four.")
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

// steepest divides by the curvature at all places, and clears what does not count.
func steepest() {
	TEXT("steepest", NOSPLIT, "func(dst, terms, r, diagonal, row, a, b *float64, n int)")
	Pragma("noescape")
	Doc("steepest sets the first four entries of dst to the largest d²/max(h + diagonal − 2·row, least) at",
		"places equal modulo four at which a is greater than b and d = top − r is positive, or 0, the next",
		"four to the first places of those, and four more to the largest d. terms are top, h, least and 2. n is",
		"a multiple of four.")
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
	VMAXPD(least, curvature, curvature)
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
