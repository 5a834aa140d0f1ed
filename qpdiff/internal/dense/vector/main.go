//go:build ignore

// This program writes the assembly of package dense; go generate runs it. The program is a separate
// module, so that users of the library do not depend on avo. Its files belong to no package of the
// library, so that a copy of the sources without this module compiles. The assembly rounds each
// product before adding it, as the Go code next to each call does. Both therefore give the same
// bits.
package main

import (
	. "github.com/mmcloughlin/avo/build"
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
