//go:build ignore

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// inLanes writes functions that solve four problems at once. The four entries of a vector belong to
// the four problems. One operation with a long latency, such as a division, then serves all four
// problems.
func inLanes() {
	laneRows()
	rowsOfLanes()
	laneUpper()
	ldlLanes()
	ldlLanesSolve()
	laneSums()
	descendLanes()
	prefetch()
}

// vector is the number of bytes of a vector, which holds one entry of each of the four problems.
const vector = 8 * lanes

// laneRows writes a function that transposes four entries of each problem at a time.
func laneRows() {
	TEXT("laneRows", NOSPLIT, "func(dst *float64, step int, a, b, c, d *float64, n int)")
	Pragma("noescape")
	Doc("laneRows writes the first n entries of a, b, c and d to dst. Each vector of dst has one entry of each. The",
		"distance between these vectors is step vectors.")
	dst, step := Load(Param("dst"), GP64()), Load(Param("step"), GP64())
	SHLQ(Imm(5), step)
	src := rows()
	n := Load(Param("n"), GP64())
	Label("four")
	CMPQ(n, Imm(lanes))
	JL(LabelRef("one"))
	transpose(func(i int) Mem { return Mem{Base: src[i]} }, func(i int, v reg.VecVirtual) {
		VMOVUPD(v, Mem{Base: dst})
		ADDQ(step, dst)
		ADDQ(Imm(vector), src[i])
	})
	SUBQ(Imm(lanes), n)
	JMP(LabelRef("four"))
	Label("one")
	TESTQ(n, n)
	JE(LabelRef("end"))
	for i := range lanes {
		x := GP64()
		MOVQ(Mem{Base: src[i]}, x)
		MOVQ(x, Mem{Base: dst, Disp: 8 * i})
		ADDQ(Imm(8), src[i])
	}
	ADDQ(step, dst)
	DECQ(n)
	JMP(LabelRef("one"))
	Label("end")
	VZEROUPPER()
	RET()
}

// rowsOfLanes writes a function that reverses laneRows. The written function transposes four
// entries of each problem at a time.
func rowsOfLanes() {
	TEXT("rowsOfLanes", NOSPLIT, "func(a, b, c, d, src *float64, n int)")
	Pragma("noescape")
	Doc("rowsOfLanes sets n entries of a, b, c and d. Each vector of src has one entry of each.")
	src := Load(Param("src"), GP64())
	dst := rows()
	n := Load(Param("n"), GP64())
	Label("four")
	CMPQ(n, Imm(lanes))
	JL(LabelRef("one"))
	transpose(func(i int) Mem { return Mem{Base: src, Disp: vector * i} }, func(i int, v reg.VecVirtual) {
		VMOVUPD(v, Mem{Base: dst[i]})
		ADDQ(Imm(vector), dst[i])
	})
	ADDQ(U32(vector*lanes), src)
	SUBQ(Imm(lanes), n)
	JMP(LabelRef("four"))
	Label("one")
	TESTQ(n, n)
	JE(LabelRef("end"))
	for i := range lanes {
		x := GP64()
		MOVQ(Mem{Base: src, Disp: 8 * i}, x)
		MOVQ(x, Mem{Base: dst[i]})
		ADDQ(Imm(8), dst[i])
	}
	ADDQ(Imm(vector), src)
	DECQ(n)
	JMP(LabelRef("one"))
	Label("end")
	VZEROUPPER()
	RET()
}

// laneUpper writes a function that transposes four entries of each row at a time, beginning with
// the last four. The block with the first entries of a row also holds some entries below the
// diagonal, which the function moves, too.
func laneUpper() {
	TEXT("laneUpper", NOSPLIT, "func(dst, a, b, c, d *float64, n int, r *float64, size int)")
	Pragma("noescape")
	Doc("laneUpper copies the upper triangles of the n×n matrices a, b, c and d to dst, and adds r to the diagonals. It",
		"copies size rows and columns, at least four. Each vector of dst has one entry of each matrix. The matrix in",
		"dst has one more column. Entries below the diagonal may change.")
	dst := Load(Param("dst"), GP64())
	src := rows()
	n, r, size := Load(Param("n"), GP64()), Load(Param("r"), GP64()), Load(Param("size"), GP64())
	i, k, to, last := GP64(), GP64(), GP64(), GP64()
	SHLQ(Imm(3), n)
	LEAQ(Mem{Base: size, Disp: -lanes}, last)
	XORQ(i, i)
	Label("row")
	MOVQ(last, k)
	Label("entries")
	MOVQ(k, to)
	SHLQ(Imm(5), to)
	ADDQ(dst, to)
	transpose(func(i int) Mem { return Mem{Base: src[i], Index: k, Scale: 8} }, func(i int, v reg.VecVirtual) {
		VMOVUPD(v, Mem{Base: to, Disp: vector * i})
	})
	CMPQ(k, i)
	JLE(LabelRef("diagonal"))
	SUBQ(Imm(lanes), k)
	JGE(LabelRef("entries"))
	XORQ(k, k)
	JMP(LabelRef("entries"))
	Label("diagonal")
	v := YMM()
	MOVQ(i, to)
	SHLQ(Imm(5), to)
	VMOVUPD(Mem{Base: dst, Index: to, Scale: 1}, v)
	VADDPD(Mem{Base: r, Index: to, Scale: 1}, v, v)
	VMOVUPD(v, Mem{Base: dst, Index: to, Scale: 1})
	for _, row := range src {
		ADDQ(n, row)
	}
	LEAQ(Mem{Base: size, Disp: 1}, to)
	SHLQ(Imm(5), to)
	ADDQ(to, dst)
	INCQ(i)
	CMPQ(i, size)
	JNE(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// transpose loads four entries of each of four rows. It calls take(i, v) for each i, where the
// vector v holds entry i of the four rows.
func transpose(rows func(i int) Mem, take func(i int, v reg.VecVirtual)) {
	var row, pair [lanes]reg.VecVirtual
	for i := range row {
		row[i], pair[i] = YMM(), YMM()
		VMOVUPD(rows(i), row[i])
	}
	VUNPCKLPD(row[1], row[0], pair[0]) // a0 b0 a2 b2, with the rows a, b, c and d
	VUNPCKHPD(row[1], row[0], pair[1]) // a1 b1 a3 b3
	VUNPCKLPD(row[3], row[2], pair[2])
	VUNPCKHPD(row[3], row[2], pair[3])
	for i := range lanes {
		out := YMM()
		VPERM2F128(Imm(uint64(0x20+0x11*(i/2))), pair[2+i%2], pair[i%2], out)
		take(i, out)
	}
}

// eachLane returns a register with v in all lanes.
func eachLane(v float64) reg.VecVirtual {
	bits, x, all := GP64(), XMM(), YMM()
	MOVQ(U64(math.Float64bits(v)), bits)
	MOVQ(bits, x)
	broadcast(x, all)
	return all
}

// ldlLanes writes a factorisation that applies two pivots at a time, like the Go code of LDLFactor.
// The written function computes the next pivot before the other entries of the pivot's row, so that
// the division by the pivot begins early.
func ldlLanes() {
	TEXT("ldlLanes", NOSPLIT, "func(a, dinv, x, pivots *float64, n int, tol float64) (regular int)")
	Pragma("noescape")
	Doc("ldlLanes is LDLFactor and LDLBack for four systems of n ≥ 1 unknowns. Column n of a system is its",
		"right-hand side. ldlLanes sets x to the solutions. Each entry of pivots belongs to one system. It",
		"is the product of all quotients of a diagonal entry and its pivot. Bit i of the result is set if",
		"system i has all its pivots.")
	p0, dinv, x := Load(Param("a"), GP64()), Load(Param("dinv"), GP64()), Load(Param("x"), GP64())
	left, small, tol := Load(Param("n"), GP64()), XMM(), YMM()
	Load(Param("tol"), small)
	broadcast(small, tol)
	smallest, one := eachLane(0x1p-1022), eachLane(1)
	product, regular := eachLane(1), YMM()
	VCMPPD(Imm(0), one, one, regular)
	stride, step, at, k := GP64(), GP64(), GP64(), GP64()
	LEAQ(Mem{Base: left, Disp: 1}, stride)
	SHLQ(Imm(5), stride)
	LEAQ(Mem{Base: stride, Disp: vector}, step) // from one diagonal entry to the next
	XORQ(k, k)
	MOVQ(p0, at)
	of := func(base reg.Register, disp int) Mem { return Mem{Base: base, Disp: disp} }
	here := func(base, index reg.Register) Mem { return Mem{Base: base, Index: index, Scale: 1} }
	// pivot returns the reciprocals of the pivots d, and records which of the four systems are
	// regular.
	pivot := func(d reg.VecVirtual, end string) reg.VecVirtual {
		least, enough, inv, v := YMM(), YMM(), YMM(), YMM()
		VMOVUPD(here(dinv, k), v) // the original diagonal entry
		VMULPD(v, tol, least)
		VCMPPD(Imm(orderedLess), d, least, enough)
		VANDPD(enough, regular, regular)
		VCMPPD(Imm(orderedLessEqual), d, smallest, enough)
		VANDPD(enough, regular, regular)
		VDIVPD(d, one, inv)
		VMOVUPD(inv, here(dinv, k))
		VMULPD(inv, v, v)
		VMULPD(v, product, product)
		ADDQ(Imm(vector), k)
		DECQ(left)
		JE(LabelRef(end))
		return inv
	}
	// The diagonals are copied to dinv.
	count := GP64()
	MOVQ(left, count)
	Label("diagonal")
	d := YMM()
	VMOVUPD(of(at, 0), d)
	VMOVUPD(d, here(dinv, k))
	ADDQ(step, at)
	ADDQ(Imm(vector), k)
	DECQ(count)
	JNE(LabelRef("diagonal"))
	XORQ(k, k)
	p1, s0, s1, dst, rows, length, index := GP64(), GP64(), GP64(), GP64(), GP64(), GP64(), GP64()
	next := YMM()
	VMOVUPD(of(p0, 0), next)
	Label("pair")
	inv0 := pivot(next, "back")
	LEAQ(Mem{Base: p0, Index: step, Scale: 1}, p1)
	MOVQ(left, length)
	INCQ(length)
	SHLQ(Imm(5), length) // number of bytes of the row from the second pivot on
	f := YMM()
	VMULPD(of(p0, vector), inv0, f)
	second, p := YMM(), YMM()
	VMOVUPD(of(p1, 0), second)
	VMULPD(of(p0, vector), f, p)
	VSUBPD(p, second, second)
	LEAQ(Mem{Base: p0, Disp: vector}, s0)
	XORQ(index, index)
	Label("second")
	v := YMM()
	VMOVUPD(here(p1, index), v)
	VMULPD(here(s0, index), f, p)
	VSUBPD(p, v, v)
	VMOVUPD(v, here(p1, index))
	ADDQ(Imm(vector), index)
	CMPQ(index, length)
	JNE(LabelRef("second"))
	inv1 := pivot(second, "back")
	LEAQ(Mem{Base: p0, Disp: 2 * vector}, s0)
	LEAQ(Mem{Base: p1, Disp: vector}, s1)
	LEAQ(Mem{Base: p1, Index: step, Scale: 1}, dst)
	MOVQ(dst, p0)
	MOVQ(left, rows)
	SUBQ(Imm(vector), length)
	f0, f1, q0, q1 := YMM(), YMM(), YMM(), YMM()
	factors := func() {
		VMULPD(of(s0, 0), inv0, f0)
		VMULPD(of(s1, 0), inv1, f1)
	}
	factors()
	VMULPD(of(s0, 0), f0, q0)
	VMULPD(of(s1, 0), f1, q1)
	VADDPD(q1, q0, q0)
	VMOVUPD(of(dst, 0), next)
	VSUBPD(q0, next, next)
	Label("row")
	factors()
	XORQ(index, index)
	Label("rest")
	w := YMM()
	VMULPD(here(s0, index), f0, q0)
	VMULPD(here(s1, index), f1, q1)
	VMOVUPD(here(dst, index), w)
	VADDPD(q1, q0, q0)
	VSUBPD(q0, w, w)
	VMOVUPD(w, here(dst, index))
	ADDQ(Imm(vector), index)
	CMPQ(index, length)
	JNE(LabelRef("rest"))
	ADDQ(Imm(vector), s0)
	ADDQ(Imm(vector), s1)
	ADDQ(step, dst)
	SUBQ(Imm(vector), length)
	DECQ(rows)
	JNE(LabelRef("row"))
	JMP(LabelRef("pair"))
	Label("back")
	out := GP64()
	Load(Param("pivots"), out)
	VMOVUPD(product, of(out, 0))
	VMOVMSKPD(regular, out.As32())
	Store(out, ReturnIndex(0))
	// The unknowns are computed in reverse order. The last entry of each row is the right-hand
	// side.
	n := Load(Param("n"), GP64())
	end := endOfRows(Load(Param("a"), GP64()), n, stride)
	back(end, stride, n, dinv, x, func(reg.Register) Mem { return of(end, 0) })
	VZEROUPPER()
	RET()
}

// laneSums writes a function that computes sums in the order of the entries.
func laneSums() {
	TEXT("laneSums", NOSPLIT, "func(sums, u, x *float64, n int)")
	Pragma("noescape")
	Doc("laneSums sets the first four entries of sums to the sums of u in the four lanes, where each entry is multiplied",
		"by the sign of the entry of x. It sets the next four entries to the inner products of u and x. Each lane has",
		"n entries.")
	sums, u, x := Load(Param("sums"), GP64()), Load(Param("u"), GP64()), Load(Param("x"), GP64())
	n, k, sign := Load(Param("n"), GP64()), GP64(), eachLane(math.Copysign(0, -1))
	first, second, v, p, q := YMM(), YMM(), YMM(), YMM(), YMM()
	VXORPD(first, first, first)
	VXORPD(second, second, second)
	SHLQ(Imm(5), n)
	XORQ(k, k)
	here := func(base reg.Register) Mem { return Mem{Base: base, Index: k, Scale: 1} }
	Label("entry")
	VMOVUPD(here(u), v)
	VANDPD(here(x), sign, p)
	VMULPD(here(x), v, q)
	VXORPD(v, p, p)
	VADDPD(p, first, first)
	VADDPD(q, second, second)
	ADDQ(Imm(vector), k)
	CMPQ(k, n)
	JNE(LabelRef("entry"))
	VMOVUPD(first, Mem{Base: sums})
	VMOVUPD(second, Mem{Base: sums, Disp: vector})
	VZEROUPPER()
	RET()
}

// These constants are predicates of VCMPPD. They compare the last source operand, on the left side,
// with the other source operand.
const (
	orderedLessEqual = 18
	notEqual         = 4 // true also if an operand is NaN
)

// descendLanes writes a function for coordinate descent. It moves the same coordinate of all four
// problems at once.
func descendLanes() {
	TEXT("descendLanes", NOSPLIT, "func(x, rest, m, r, bound *float64, n int, live *float64) (moved int)")
	Pragma("noescape")
	Doc("descendLanes is DescendKinks for four problems of n ≥ 1 coordinates. A problem changes only if its entry of live",
		"is below 0. Each kink has the same strength on both sides. Bit i of the result is set if a sign of problem i",
		"has changed.")
	x, rest, row := Load(Param("x"), GP64()), Load(Param("rest"), GP64()), Load(Param("m"), GP64())
	r, bound, n := Load(Param("r"), GP64()), Load(Param("bound"), GP64()), Load(Param("n"), GP64())
	live := YMM()
	VMOVUPD(Mem{Base: Load(Param("live"), GP64())}, live)
	here := func(base, index reg.Register) Mem { return Mem{Base: base, Index: index, Scale: 1} }
	moved, zero, sign := YMM(), YMM(), eachLane(math.Copysign(0, -1))
	VXORPD(moved, moved, moved)
	VXORPD(zero, zero, zero)
	VCMPPD(Imm(orderedLess), zero, live, live)
	j, k, bits := GP64(), GP64(), GP64()
	SHLQ(Imm(5), n)
	XORQ(j, j)
	h, old, rho, b, v, open, next := YMM(), YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVUPD(here(rest, j), next)
	Label("coordinate")
	VMOVUPD(here(row, j), rho)
	VADDPD(here(r, j), rho, h)
	VCMPPD(Imm(orderedLess), h, zero, open)
	VANDPD(live, open, open)
	VMOVUPD(here(x, j), old)
	VMULPD(old, rho, rho)
	VADDPD(next, rho, rho)
	VMOVUPD(here(bound, j), b)
	above, minus, below, low := YMM(), YMM(), YMM(), YMM()
	VCMPPD(Imm(orderedLess), rho, b, above)
	VXORPD(sign, rho, minus)
	VCMPPD(Imm(orderedLess), minus, b, below)
	VADDPD(b, rho, low)
	VSUBPD(b, rho, v)
	VBLENDVPD(above, v, low, v)
	VORPD(above, below, below)
	VDIVPD(h, v, v)
	VANDPD(below, v, v)
	VBLENDVPD(open, v, old, v)
	step, p, changed := YMM(), YMM(), YMM()
	VSUBPD(v, old, step)
	VMOVUPD(v, here(x, j))
	// The slope of the next coordinate is kept in a register, so the next step does not wait for
	// memory.
	LEAQ(Mem{Base: j, Disp: vector}, k)
	CMPQ(k, n)
	JE(LabelRef("last"))
	VMULPD(here(row, k), step, p)
	VADDPD(here(rest, k), p, next)
	Label("last")
	VCMPPD(Imm(notEqual), old, v, changed)
	VMOVMSKPD(changed, bits.As32())
	TESTQ(bits, bits)
	JE(LabelRef("next"))
	// These comparisons find out whether the signs of old and v differ.
	one, two := YMM(), YMM()
	for _, positive := range []bool{true, false} {
		for _, side := range []struct{ of, to reg.VecVirtual }{{v, one}, {old, two}} {
			if positive {
				VCMPPD(Imm(orderedLess), side.of, zero, side.to)
			} else {
				VCMPPD(Imm(orderedLess), zero, side.of, side.to)
			}
		}
		VXORPD(two, one, one)
		VORPD(one, moved, moved)
	}
	XORQ(k, k)
	Label("rest")
	t := YMM()
	VMULPD(here(row, k), step, p)
	VADDPD(here(rest, k), p, t)
	VMOVUPD(t, here(rest, k))
	ADDQ(Imm(vector), k)
	CMPQ(k, n)
	JNE(LabelRef("rest"))
	Label("next")
	ADDQ(n, row)
	ADDQ(Imm(vector), j)
	CMPQ(j, n)
	JNE(LabelRef("coordinate"))
	VMOVMSKPD(moved, bits.As32())
	Store(bits, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// prefetch writes a function that asks for lines of memory, of 64 bytes each.
func prefetch() {
	const together = 4
	TEXT("prefetch", NOSPLIT, "func(p *float64, lines int)")
	Pragma("noescape")
	Doc("prefetch asks for cache lines of memory, beginning with the line of p. The parameter lines is their number, which",
		"prefetch rounds up to a multiple of four.")
	p, n := Load(Param("p"), GP64()), Load(Param("lines"), GP64())
	Label("next")
	for i := range together {
		PREFETCHT0(Mem{Base: p, Disp: 64 * i})
	}
	ADDQ(U32(64*together), p)
	SUBQ(U8(together), n)
	JG(LabelRef("next"))
	RET()
}
