//go:build ignore

// This program writes the assembly of package dense; go generate runs it. The program is a separate
// module, so that users of the library do not depend on avo. Its files belong to no package of the
// library, so that a copy of the sources without this module compiles. The assembly rounds each
// product before adding it, as the Go code next to each call does. Both therefore give the same
// bits.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const lanes = 4 // number of float64 in a YMM register

// A unit describes a size of vector registers.
type unit struct {
	suffix   string // suffix of the names of functions
	lanes    int
	register func() reg.VecVirtual
}

var (
	narrow = unit{"", lanes, func() reg.VecVirtual { return YMM() }}
	wide   = unit{"Wide", 2 * lanes, func() reg.VecVirtual { return ZMM() }} // AVX-512F
)

func main() {
	for _, u := range []unit{narrow, wide} {
		subtractPairs(u)
		gramTile(u)
		productTile(u)
	}
	productTileSingle()
	dot4()
	add4(false)
	add4(true)
	small()
	inLanes()
	logistic()
	distances()
	widths()
	declarePlaces()
	highest()
	steepest()
	dots()
	addRowsTo()
	forwardRows()
	backRows()
	rotateRows()
	descendBox()
	compareHalves()
	workingSets()
	Generate()
}

// subtractPairs writes a function that keeps a part of dst in registers while it subtracts all
// pairs of rows from this part.
func subtractPairs(u unit) {
	name := "subtractPairs" + u.suffix
	TEXT(name, NOSPLIT, "func(dst *float64, n int, a *float64, stride int, f *float64, pairs int)")
	Pragma("noescape")
	Doc(name+" subtracts multiples of rows from dst, pair by pair. The rows have n entries each. The first",
		"row begins at a, and each of the others begins stride entries after the one before it. The first pair",
		"has the factors f[0] and f[1], and so on for the given number of pairs.")
	dst, n, a, stride := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), Load(Param("a"), GP64()), Load(Param("stride"), GP64())
	f, pairs := Load(Param("f"), GP64()), Load(Param("pairs"), GP64())
	SHLQ(Imm(3), stride)
	row, factor, left := GP64(), GP64(), GP64()
	// take writes a loop over dst. Each pass processes registers·perRegister entries, and the loop
	// ends when fewer entries are left. A register holds perRegister entries: a whole vector or a
	// single entry.
	take := func(name string, registers, perRegister int) {
		entries := registers * perRegister
		Label(name)
		CMPQ(n, Imm(uint64(entries)))
		JL(LabelRef(name + "End"))
		load, multiply, add, subtract, broadcast := VMOVUPD, VMULPD, VADDPD, VSUBPD, VBROADCASTSD
		register := u.register
		switch perRegister {
		case lanes:
			register = narrow.register
		case 1:
			load, multiply, add, subtract, broadcast = VMOVSD, VMULSD, VADDSD, VSUBSD, VMOVSD
			register = func() reg.VecVirtual { return XMM() }
		}
		sums := make([]reg.VecVirtual, registers)
		for k := range sums {
			sums[k] = register()
			load(Mem{Base: dst, Disp: k * perRegister * 8}, sums[k])
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
			multiply(Mem{Base: row, Disp: k * perRegister * 8}, f0, u)
			multiply(Mem{Base: row, Index: stride, Scale: 1, Disp: k * perRegister * 8}, f1, v)
			add(v, u, u)
			subtract(u, sum, sum)
		}
		LEAQ(Mem{Base: row, Index: stride, Scale: 2}, row)
		ADDQ(Imm(16), factor)
		DECQ(left)
		JNE(LabelRef(name + "Pair"))
		for k, sum := range sums {
			load(sum, Mem{Base: dst, Disp: k * perRegister * 8})
		}
		ADDQ(U32(8*entries), dst)
		ADDQ(U32(8*entries), a)
		SUBQ(Imm(uint64(entries)), n)
		JMP(LabelRef(name))
		Label(name + "End")
	}
	take("four", 4, u.lanes)
	take("one", 1, u.lanes)
	if u.lanes > lanes {
		take("half", 1, lanes)
	}
	take("rest", 1, 1)
	VZEROUPPER()
	RET()
}

// tileRows and tileColumns are the size of a tile of a Gram matrix.
const (
	tileRows    = 2
	tileColumns = 2 * lanes
)

// gramTile writes a function that sums the products of two columns with eight columns. The function
// processes four rows of the data at a time.
func gramTile(u unit) {
	name := "gramTile" + u.suffix
	TEXT(name, NOSPLIT, "func(dst *float64, width int, a, b *float64, stride, groups int)")
	Pragma("noescape")
	Doc(name+" adds products to two rows of eight entries of dst, a matrix with the given width. These are the",
		"products of two columns, which begin at a, with eight columns, which begin at b. Each row begins stride",
		"entries after the row before it. Each group has four rows, and the sum of four products is added at a time.")
	dst, width := Load(Param("dst"), GP64()), Load(Param("width"), GP64())
	next := GP64() // the second row of dst
	LEAQ(Mem{Base: dst, Index: width, Scale: 8}, next)
	place := func(row, k int) Mem { return Mem{Base: []reg.Register{dst, next}[row], Disp: k * u.lanes * 8} }
	a, b, groups := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("groups"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(Imm(3), stride)
	vectors := tileColumns / u.lanes // number of vectors in a row of the tile
	block := func() (v [tileRows][]reg.VecVirtual) {
		for i := range v {
			v[i] = make([]reg.VecVirtual, vectors)
		}
		return v
	}
	sum := block()
	for i := range sum {
		for k := range sum[i] {
			sum[i][k] = u.register()
			VMOVUPD(place(i, k), sum[i][k])
		}
	}
	Label("group")
	TESTQ(groups, groups)
	JE(LabelRef("store"))
	part := block() // the sum over the first two rows, and then over all four rows
	for pair := range 2 {
		term := block()
		for row := range 2 {
			x := make([]reg.VecVirtual, vectors)
			for k := range x {
				x[k] = u.register()
				VMOVUPD(Mem{Base: b, Disp: k * u.lanes * 8}, x[k])
			}
			for i := range sum {
				f := u.register()
				VBROADCASTSD(Mem{Base: a, Disp: i * 8}, f)
				for k := range x {
					p := u.register()
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

// dotRows is the number of rows that dot4 and add4 take. rowNames lists the names of their
// parameters for the rows.
const dotRows = 4

var rowNames = [dotRows]string{"a", "b", "c", "d"}

// rowsFrom returns pointers to four rows. The first row begins at a, and each other row begins
// stride entries after the row before it. rowsFrom also converts the register stride from entries
// to bytes.
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

// rows loads the parameters that rowNames lists, which point to rows.
func rows() (at [dotRows]reg.Register) {
	for k, name := range rowNames {
		at[k] = Load(Param(name), GP64())
	}
	return at
}

// dot4 writes a function that computes four dot products at a time. This hides the latency of an
// addition. Each sum has four lanes, like the sum in gonum's dot product of two vectors.
func dot4() {
	TEXT("dot4", NOSPLIT, "func(dst, a, b, c, d, x *float64, n int)")
	Pragma("noescape")
	Doc("dot4 sets the four entries of dst to the inner products of x with the vectors a, b, c and d of n entries. The",
		"terms are added in the order of gonum's DotUnitary.")
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
	// The remaining entries are added to the first lane. An instruction that adds one
	// entry clears the upper two lanes of its result. These lanes are therefore kept in other
	// registers.
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

// add4 writes a function that adds four rows to dst. For each entry of dst, it adds the four
// products one after the other, so that the entry is read and written only once. If subtractFirst
// is true, the function first subtracts another row from each row.
func add4(subtractFirst bool) {
	name, params, what := "add4", "dst *float64, n int, f, a, b, c, d *float64", "the vector a of n entries"
	if subtractFirst {
		name, params, what = "add4Less", params+", e *float64", "the difference a − e of two vectors of n entries"
	}
	TEXT(name, NOSPLIT, "func("+params+")")
	Pragma("noescape")
	Doc(name+" adds f[0] times "+what+" to dst. It then does the same with f[1] and b,",
		"with f[2] and c, and with f[3] and d.")
	dst, n, f, rows := Load(Param("dst"), GP64()), Load(Param("n"), GP64()), Load(Param("f"), GP64()), rows()
	pointers := append([]reg.Register{dst}, rows[:]...)
	var shift reg.Register
	if subtractFirst {
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
			if subtractFirst {
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

// productRows is the number of rows of a product's tile. A tile is two YMM vectors wide.
const productRows = 4

// productTile writes a function that keeps a tile in registers. Each pass of its loop adds one term
// to every entry of the tile.
func productTile(u unit) {
	name := "productTile" + u.suffix
	TEXT(name, NOSPLIT, "func(dst *float64, width int, a *float64, stride int, b *float64, depth int)")
	Pragma("noescape")
	Doc(name+" adds a matrix product to four rows of eight entries of dst; row i begins at dst[i·width]. The left",
		"factor has four rows of depth entries; row i begins at a[i·stride]. The right factor begins at b, and has",
		"eight columns.")
	dst, width := Load(Param("dst"), GP64()), Load(Param("width"), GP64())
	a, stride := Load(Param("a"), GP64()), Load(Param("stride"), GP64())
	b, depth := Load(Param("b"), GP64()), Load(Param("depth"), GP64())
	rows, places := rowsFrom(a, stride), rowsFrom(dst, width)
	var sums [productRows][]reg.VecVirtual
	vectors := 2 * lanes / u.lanes // number of vectors in a row of the tile
	for i := range sums {
		sums[i] = make([]reg.VecVirtual, vectors)
		for k := range sums[i] {
			sums[i][k] = u.register()
			VMOVUPD(Mem{Base: places[i], Disp: k * u.lanes * 8}, sums[i][k])
		}
	}
	at := GP64()
	XORQ(at, at)
	Label("term")
	CMPQ(at, depth)
	JGE(LabelRef("store"))
	x := make([]reg.VecVirtual, vectors)
	for k := range x {
		x[k] = u.register()
		VMOVUPD(Mem{Base: b, Disp: k * u.lanes * 8}, x[k])
	}
	for i, row := range rows {
		f := u.register()
		VBROADCASTSD(Mem{Base: row, Index: at, Scale: 8}, f)
		for k := range x {
			p := u.register()
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
			VMOVUPD(sums[i][k], Mem{Base: places[i], Disp: k * u.lanes * 8})
		}
	}
	VZEROUPPER()
	RET()
}

// singleColumns is the number of columns of productTileSingle.
const singleColumns = 16

// productTileSingle writes a function that does the work of productTile with float32 entries.
func productTileSingle() {
	TEXT("productTileSingle", NOSPLIT, "func(dst *float32, a, b *float32, depth int)")
	Pragma("noescape")
	Doc("productTileSingle sets four rows of sixteen entries of dst to the products of four columns, which begin at a,",
		"with sixteen columns, which begin at b. The number of rows is depth, and each row has sixteen entries.")
	dst := Load(Param("dst"), GP64())
	a, b, depth := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("depth"), GP64())
	const each, vectors = 2 * lanes, singleColumns / (2 * lanes) // entries of a register, and registers of a row
	var sums [productRows][vectors]reg.VecVirtual
	for i := range sums {
		for k := range sums[i] {
			sums[i][k] = YMM()
			VXORPS(sums[i][k], sums[i][k], sums[i][k])
		}
	}
	Label("term")
	TESTQ(depth, depth)
	JE(LabelRef("store"))
	var x [vectors]reg.VecVirtual
	for k := range x {
		x[k] = YMM()
		VMOVUPS(Mem{Base: b, Disp: k * each * 4}, x[k])
	}
	for i := range sums {
		f := YMM()
		VBROADCASTSS(Mem{Base: a, Disp: i * 4}, f)
		for k := range x {
			p := YMM()
			VMULPS(x[k], f, p)
			VADDPS(p, sums[i][k], sums[i][k])
		}
	}
	ADDQ(Imm(singleColumns*4), a)
	ADDQ(Imm(singleColumns*4), b)
	DECQ(depth)
	JMP(LabelRef("term"))
	Label("store")
	for i := range sums {
		for k := range sums[i] {
			VMOVUPS(sums[i][k], Mem{Base: dst, Disp: (i*singleColumns + k*each) * 4})
		}
	}
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

// forwardRows writes a function for forward substitution, which processes groups of four rows.
// First it sums, for each row of a group, the terms of the unknowns before the group. The four sums
// are independent, so no addition waits for another row. Then it subtracts the terms of the
// unknowns in the group, one at a time.
func forwardRows() {
	TEXT("forwardRows", NOSPLIT, "func(x, l *float64, stride int, inv *float64, n int)")
	Pragma("noescape")
	Doc("forwardRows replaces the n entries of x by L⁻¹x for the lower triangle L, whose row i begins at l[i·stride].",
		"The slice inv has the inverses of L's diagonal. The products of a row with entries before the last multiple",
		"of four are summed in the order of gonum's DotUnitary.")
	x, l, stride := Load(Param("x"), GP64()), Load(Param("l"), GP64()), Load(Param("stride"), GP64())
	inv, n := Load(Param("inv"), GP64()), Load(Param("n"), GP64())
	forwardGroups(x, x, rowsFrom(l, stride), stride, inv, n)
	VZEROUPPER()
	RET()
}

// forwardGroups writes the code of forwardRows. The right-hand side rhs may be x. The parameter row
// has the addresses of the first four rows, and stride is the number of bytes from one row to the
// next. The registers row and n change.
func forwardGroups(x, rhs reg.Register, row [dotRows]reg.Register, stride, inv, n reg.Register) {
	known, at := GP64(), GP64() // in bytes of x
	XORQ(known, known)
	place := func(base reg.Register, k int) Mem { return Mem{Base: base, Index: known, Scale: 1, Disp: 8 * k} }
	// find writes code that replaces v by one unknown of the group. On entry, v is the right-hand
	// side minus the terms of the unknowns before the group. The slice named found holds the
	// earlier unknowns of the group.
	find := func(v reg.Register, r reg.Register, found []reg.Register) {
		for i, u := range found {
			p := XMM()
			VMULSD(place(r, i), u, p)
			VSUBSD(p, v, v)
		}
		VMULSD(place(inv, len(found)), v, v)
	}
	Label("forwardGroup")
	CMPQ(n, Imm(dotRows))
	JL(LabelRef("forwardRest"))
	halves := halfSums("lanes", x, known, at, row[:])
	var found []reg.Register
	for k := 0; k < dotRows; k += 2 { // two sums, followed by the products with the unknowns of the group
		VHADDPD(halves[k+1], halves[k], halves[k])
		v, w := XMM(), XMM()
		VMOVUPD(place(rhs, k), v)
		VSUBPD(halves[k], v, v)
		VUNPCKHPD(v, v, w)
		for i, u := range []reg.Register{v, w} {
			find(u, row[k+i], found)
			found = append(found, u)
		}
	}
	// One store of four entries lets the next load take its value from the store buffer. A load
	// cannot combine four stores.
	VUNPCKLPD(found[1], found[0], found[0])
	VUNPCKLPD(found[3], found[2], found[2])
	four := YMM()
	VINSERTF128(Imm(1), found[2], found[0].(reg.Vec).AsY(), four)
	VMOVUPD(four, place(x, 0))
	for _, r := range row {
		LEAQ(Mem{Base: r, Index: stride, Scale: 4}, r)
	}
	ADDQ(Imm(lanes*8), known)
	SUBQ(Imm(dotRows), n)
	JMP(LabelRef("forwardGroup"))
	Label("forwardRest")
	found = nil
	for k := range dotRows - 1 {
		CMPQ(n, Imm(uint64(k)))
		JE(LabelRef("forwardEnd"))
		half := halfSums([]string{"first", "second", "third"}[k], x, known, at, row[k:k+1])[0]
		VHADDPD(half, half, half)
		v := XMM()
		VMOVSD(place(rhs, k), v)
		VSUBSD(half, v, v)
		find(v, row[k], found)
		VMOVSD(v, place(x, k))
		found = append(found, v)
	}
	Label("forwardEnd")
}

// halfSums returns the products of the rows with the first knownBytes bytes of x. Each product is
// the sum of the two lanes of a returned register.
func halfSums(name string, x, knownBytes, at reg.Register, rows []reg.Register) []reg.Register {
	sums := make([]reg.VecVirtual, len(rows))
	for k := range sums {
		sums[k] = YMM()
		VXORPD(sums[k], sums[k], sums[k])
	}
	XORQ(at, at)
	Label(name)
	CMPQ(at, knownBytes)
	JE(LabelRef(name + "End"))
	v := YMM()
	VMOVUPD(Mem{Base: x, Index: at, Scale: 1}, v)
	for k, r := range rows {
		p := YMM()
		VMULPD(Mem{Base: r, Index: at, Scale: 1}, v, p)
		VADDPD(p, sums[k], sums[k])
	}
	ADDQ(Imm(lanes*8), at)
	JMP(LabelRef(name))
	Label(name + "End")
	halves := make([]reg.Register, len(rows))
	for k, sum := range sums {
		high := XMM()
		VEXTRACTF128(Imm(1), sum, high)
		halves[k] = sum.AsX()
		VADDPD(high, halves[k], halves[k])
	}
	return halves
}

// backRows writes a function for back substitution. It processes four rows at a time, so that it
// reads and writes x once for four rows. If the number of rows is not a multiple of four, it first
// processes the extra rows one by one.
func backRows() {
	TEXT("backRows", NOSPLIT, "func(x, l *float64, stride int, inv *float64, k int)")
	Pragma("noescape")
	Doc("backRows replaces the k entries of x by L⁻ᵀx for the lower triangle L, row by row from the last. Row i of L",
		"begins at l[i·stride], and inv has the inverses of L's diagonal.")
	x, l, stride := Load(Param("x"), GP64()), Load(Param("l"), GP64()), Load(Param("stride"), GP64())
	inv, k := Load(Param("inv"), GP64()), Load(Param("k"), GP64())
	SHLQ(Imm(3), stride)
	row, at, left := GP64(), GP64(), GP64()
	MOVQ(k, row)
	DECQ(row)
	IMULQ(stride, row)
	ADDQ(l, row) // the last row
	backSingles(x, inv, row, stride, k, at, left)
	Label("rows")
	rows := [dotRows]reg.Register{row} // in reverse order
	for i := 1; i < dotRows; i++ {
		next := GP64()
		MOVQ(rows[i-1], next)
		SUBQ(stride, next)
		rows[i] = next
	}
	SHLQ(Imm(2), stride)
	Label("group")
	TESTQ(k, k)
	JE(LabelRef("end"))
	SUBQ(Imm(dotRows), k)
	var found, factors [dotRows]reg.VecVirtual
	place := func(base reg.Register, j int) Mem {
		return Mem{Base: base, Index: k, Scale: 8, Disp: 8 * (dotRows - 1 - j)}
	}
	for i := range rows {
		v := XMM()
		VMOVSD(place(x, i), v)
		for j := range i {
			p := XMM()
			VMULSD(place(rows[j], i), found[j], p)
			VSUBSD(p, v, v)
		}
		VMULSD(place(inv, i), v, v)
		VMOVSD(v, place(x, i))
		found[i], factors[i] = v, YMM()
		broadcast(v, factors[i])
	}
	XORQ(at, at)
	Label("groupLanes")
	CMPQ(at, k)
	JE(LabelRef("groupEnd"))
	sums := YMM()
	VMOVUPD(Mem{Base: x, Index: at, Scale: 8}, sums)
	for i, r := range rows {
		p := YMM()
		VMULPD(Mem{Base: r, Index: at, Scale: 8}, factors[i], p)
		VSUBPD(p, sums, sums)
	}
	VMOVUPD(sums, Mem{Base: x, Index: at, Scale: 8})
	ADDQ(Imm(lanes), at)
	JMP(LabelRef("groupLanes"))
	Label("groupEnd")
	for _, r := range rows {
		SUBQ(stride, r)
	}
	JMP(LabelRef("group"))
	Label("end")
	VZEROUPPER()
	RET()
}

// backSingles writes a loop that processes rows one by one, beginning with the last row, until the
// number of remaining rows is a multiple of four.
func backSingles(x, inv, row, stride, k, at, left reg.Register) {
	Label("single")
	TESTQ(U32(lanes-1), k)
	JE(LabelRef("rows"))
	DECQ(k)
	v, f := XMM(), YMM()
	VMOVSD(Mem{Base: x, Index: k, Scale: 8}, v)
	VMULSD(Mem{Base: inv, Index: k, Scale: 8}, v, v)
	VMOVSD(v, Mem{Base: x, Index: k, Scale: 8})
	broadcast(v, f)
	XORQ(at, at)
	MOVQ(k, left)
	Label("singleLanes")
	CMPQ(left, Imm(lanes))
	JL(LabelRef("singleOne"))
	p, sum := YMM(), YMM()
	VMULPD(Mem{Base: row, Index: at, Scale: 8}, f, p)
	VMOVUPD(Mem{Base: x, Index: at, Scale: 8}, sum)
	VSUBPD(p, sum, sum)
	VMOVUPD(sum, Mem{Base: x, Index: at, Scale: 8})
	ADDQ(Imm(lanes), at)
	SUBQ(Imm(lanes), left)
	JMP(LabelRef("singleLanes"))
	Label("singleOne")
	TESTQ(left, left)
	JE(LabelRef("singleEnd"))
	q, w := XMM(), XMM()
	VMULSD(Mem{Base: row, Index: at, Scale: 8}, v, q)
	VMOVSD(Mem{Base: x, Index: at, Scale: 8}, w)
	VSUBSD(q, w, w)
	VMOVSD(w, Mem{Base: x, Index: at, Scale: 8})
	INCQ(at)
	DECQ(left)
	JMP(LabelRef("singleOne"))
	Label("singleEnd")
	SUBQ(stride, row)
	JMP(LabelRef("single"))
}

// broadcast copies the value of its first argument to all lanes of its second argument. It uses two
// instructions, because the broadcast instruction of AVX reads only from memory.
func broadcast(v, to reg.VecVirtual) {
	m := XMM()
	VMOVDDUP(v, m)
	VINSERTF128(Imm(1), m, m.AsY(), to)
}

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
