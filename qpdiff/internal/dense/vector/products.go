//go:build ignore

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

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
