package qpdiff

import "slices"

// A programPart is a part of the program that is independent of the rest: a set of variables, and
// the rows with these variables. No entry of Q and no row of G or A connects a variable of the part
// with a variable outside it. The units of different parts are unrelated. Numbers of different
// parts are therefore not compared.
type programPart struct {
	variables []int
	// psize is the size of the linear term, qsize is the size of Q, and zsize is the size of z, as
	// implied by the bounds of the rows. weight is the weight of the proximal term, computed from
	// these three sizes. oldWeight is the value of weight before its last change.
	psize, zsize, qsize, weight, oldWeight float64
	// noise bounds the size of the terms of perp.
	noise float64
	partResidual
	rayResidual
}

// partResidual holds the terms of the residuals of a part, see [KKTResidual].
type partResidual struct {
	z, dual       float64 // Z and D
	rawZ, rawDual float64 // Z and D in the units of the caller's program
	gradient      float64 // the largest entry of the Lagrangian's gradient
	zqz, pz, hl   float64 // zᵀQz, pᵀz and hᵀλ + bᵀν
	gapTerm       float64 // the largest term of hᵀλ + bᵀν
	primal        float64 // the largest relative violation
	relative      float64 // the largest of all relative residuals
	ownRatio      float64 // the largest ratio of a gradient entry to its own terms
}

// rayResidual describes a direction in one part of the program. The field dirSize is the size of
// the direction, pmax is the size of the linear term p, and qmax is the size of Q. The field
// deviation is the direction's largest violation of the conditions that unboundedTol lists. The
// field slope is the slope of pᵀz along the direction.
type rayResidual struct {
	dirSize, pmax, qmax, deviation, slope float64
}

func nonzero(v float64) bool { return v != 0 }

// connectVariables finds the parts of a program with the matrix q and the rows c. It sets
// lowestVar[j] to the lowest variable in the part of variable j. A nonzero entry of q connects its
// two variables, and a row of c connects all variables of its nonzero entries. connectVariables
// returns the number of parts.
func connectVariables(lowestVar []int, q, c []float64) (count int) {
	n := len(lowestVar)
	if !slices.Contains(q[:n], 0) { // the usual case
		clear(lowestVar)
		return 1
	}
	for j := range lowestVar {
		lowestVar[j] = j
	}
	find := func(j int) int {
		for lowestVar[j] != j {
			lowestVar[j] = lowestVar[lowestVar[j]]
			j = lowestVar[j]
		}
		return j
	}
	count = n
	joinAll := func(row []float64, i int) {
		for j, v := range row {
			if v == 0 {
				continue
			}
			if i < 0 {
				i = j
			}
			if x, y := find(i), find(j); x != y {
				lowestVar[max(x, y)] = min(x, y)
				count--
			}
		}
	}
	for i := 0; i < n && count > 1; i++ {
		joinAll(q[i*n:(i+1)*n], i)
	}
	for at := 0; at < len(c) && count > 1; at += n {
		joinAll(c[at:at+n], -1)
	}
	for j := range lowestVar {
		lowestVar[j] = find(j)
	}
	return count
}
