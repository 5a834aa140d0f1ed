package tune

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
)

// sameLoss is a share of the constant prediction's loss. Two losses with a smaller difference count
// as equal.
const sameLoss = 1e-6

// A space is the box of hyperparameters that a search explores, in logarithms.
type space struct {
	hyper  []learn.Hyperparameter
	isFree []bool // isFree[i] is false if Fixed holds hyperparameter i
	kind   []int  // the kind of each hyperparameter; hyperparameters of one kind vary together in the design
	kinds  int
}

func newSpace(hyper []learn.Hyperparameter, kind []int, fixed map[string]float64) (space, error) {
	s := space{hyper: hyper, isFree: slices.Repeat([]bool{true}, len(hyper)), kind: kind}
	for _, k := range kind {
		s.kinds = max(s.kinds, k+1)
	}
	given := map[string]string{} // the spelling in fixed of each name
	// The names are sorted, so λ1 comes before λ1[0]. The value for λ1 is set first, and the value
	// for λ1[0] then replaces it for one hyperparameter.
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		letters := greek.Replace(name)
		if other, twice := given[letters]; twice {
			return s, args.Bad("Tuner.Fixed", qpdiff.ErrDomain, "give one of them", "holds %s twice, as %q and %q", letters, other, name)
		}
		given[letters] = name
		if err := s.fix(name, fixed[name]); err != nil {
			return s, err
		}
	}
	return s, nil
}

// greek replaces the names of Greek letters by the letters.
var greek = strings.NewReplacer("alpha", "α", "gamma", "γ", "delta", "δ", "lambda", "λ")

// fix sets a hyperparameter, or all hyperparameters with a common name, to the value v. A name with
// an index, such as λ1[0], denotes one hyperparameter.
func (s space) fix(name string, v float64) error {
	wanted, found := greek.Replace(name), false
	for i, h := range s.hyper {
		if known := greek.Replace(h.Name); known != wanted && !strings.HasPrefix(known, wanted+"[") {
			continue
		}
		if !(v > 0 || v == 0 && h.Zero) || !args.Finite(v) {
			return args.Bad("Tuner.Fixed", qpdiff.ErrDomain, "use a positive number", "holds %v for %s", v, h.Name)
		}
		s.isFree[i], found = false, true
		s.hyper[i].Lower, s.hyper[i].Default, s.hyper[i].Upper = v, v, v
	}
	if !found {
		var names []string
		for _, h := range s.hyper {
			names = append(names, h.Name)
		}
		return args.Bad("Tuner.Fixed", qpdiff.ErrDomain, fmt.Sprintf("use one of %q", names), "names %q, which is not a hyperparameter", name)
	}
	return nil
}

// design returns points of the box. The argument count is their number. The first point has the
// defaults. The other points fill the box evenly. They come from the sequence of Roberts, which
// generalises the golden ratio. At each of these points, all hyperparameters of one kind have the
// same share of their ranges.
func (s space) design(count int) [][]float64 {
	first := make([]float64, len(s.hyper))
	for i, h := range s.hyper {
		first[i] = h.Default
	}
	points := [][]float64{first}
	if !slices.Contains(s.isFree, true) {
		return points
	}
	ratio := 2. // the root of r^(kinds+1) = r + 1
	for range 60 {
		ratio = math.Pow(1+ratio, 1/float64(s.kinds+1))
	}
	for k := 1; k < count; k++ {
		x := make([]float64, len(s.hyper))
		for i := range s.hyper {
			_, share := math.Modf(.5 + float64(k)*math.Pow(ratio, -float64(s.kind[i]+1)))
			x[i] = s.at(i, share)
		}
		points = append(points, x)
	}
	return points
}

// at returns the value of hyperparameter i at a position in its logarithmic range: 0 is the lower
// bound and 1 is the upper bound.
func (s space) at(i int, share float64) float64 {
	h := s.hyper[i]
	if !s.isFree[i] {
		return h.Default
	}
	return min(max(h.Lower*math.Pow(h.Upper/h.Lower, share), h.Lower), h.Upper)
}

// logShare returns the position of the value v in the logarithmic range of hyperparameter i,
// between 0 and 1. The method at is its inverse.
func (s space) logShare(i int, v float64) float64 {
	h := s.hyper[i]
	if !s.isFree[i] || h.Lower == h.Upper {
		return 0
	}
	return min(max(math.Log(v/h.Lower)/math.Log(h.Upper/h.Lower), 0), 1)
}

// isWidth reports whether hyperparameter i is a width of features.
func (s space) isWidth(i int) bool { return s.hyper[i].Features != nil }

// freeWidths returns the number of widths that are free hyperparameters.
func (s space) freeWidths() (count int) {
	for i := range s.hyper {
		if s.isFree[i] && s.isWidth(i) {
			count++
		}
	}
	return count
}

// largestKind returns the number of free hyperparameters of the largest kind. It does not count
// widths.
func (s space) largestKind() (most int) {
	count := make([]int, s.kinds)
	for i, k := range s.kind {
		if s.isFree[i] && !s.isWidth(i) {
			count[k]++
			most = max(most, count[k])
		}
	}
	return most
}

// countFree returns the number of free hyperparameters of x. Widths of 0 do not count, and equal
// widths count once. If the parameter commonFactors is true, the other hyperparameters of each kind
// count once, too.
func (s space) countFree(x []float64, commonFactors bool) (count int) {
	var widths []float64
	seen := make([]bool, s.kinds)
	for i, v := range x {
		switch {
		case !s.isFree[i]:
		case !s.isWidth(i):
			if !commonFactors || !seen[s.kind[i]] {
				count++
			}
			seen[s.kind[i]] = true
		case v > 0 && !slices.Contains(widths, v):
			widths = append(widths, v)
		}
	}
	return count + len(widths)
}

// A coordinate of a search stands for one free hyperparameter, or for several hyperparameters with
// fixed ratios. The hyperparameter index[k] has the value units[k] times the value of the
// coordinate.
type coordinate struct {
	index []int
	units []float64
	start float64
}

// coordinates returns the coordinates of a search that begins at x. Widths of 0 have no coordinate.
// If tied is true, the hyperparameters of each kind form one coordinate and keep their ratios.
// Hyperparameters of 0 get the ratios of their lower bounds.
func (s space) coordinates(x []float64, tied bool) (all []coordinate) {
	ofKind := map[int]int{} // the coordinate of a kind
	for i, free := range s.isFree {
		if !free || s.isWidth(i) && x[i] == 0 {
			continue
		}
		unit := s.hyper[i].Lower
		if k, found := ofKind[s.kind[i]]; found && tied {
			c := &all[k]
			if c.start > 0 {
				unit = x[i] / c.start
			}
			c.index, c.units = append(c.index, i), append(c.units, unit)
			continue
		}
		ofKind[s.kind[i]] = len(all)
		all = append(all, coordinate{[]int{i}, []float64{unit}, x[i] / unit})
	}
	return all
}

// The method bounds returns the lower bound low and the upper bound high of the coordinate. At the
// value high, a hyperparameter of the coordinate is at its upper bound, and none is above. At the
// value low, all of them are at their lower bounds.
func (c coordinate) bounds(boundsOf func(i int) (lower, upper float64)) (low, high float64) {
	low, high = math.Inf(1), math.Inf(1)
	for k, i := range c.index {
		lower, upper := boundsOf(i)
		low, high = min(low, lower/c.units[k]), min(high, upper/c.units[k])
	}
	return low, high
}

// set sets the hyperparameters for the value v of the coordinate.
func (c coordinate) set(hyper []float64, v float64, atUpper bool, bounds func(i int) (lower, upper float64)) {
	for k, i := range c.index {
		lower, upper := bounds(i)
		if hyper[i] = min(max(v*c.units[k], lower), upper); atUpper && len(c.index) == 1 {
			hyper[i] = upper // the product may miss the bound by rounding
		}
	}
}

// slope returns the derivative with respect to the coordinate, times 2^exponent.
func (c coordinate) slope(grad []float64, exponent int) (sum float64) {
	for k, i := range c.index {
		sum += math.Ldexp(grad[i], exponent) * c.units[k]
	}
	return sum
}

// distance returns the largest difference between two points in any one hyperparameter. The unit of
// a difference is the logarithmic range of the hyperparameter.
func (s space) distance(a, b []float64) float64 {
	var d float64
	for i := range a {
		d = max(d, math.Abs(s.logShare(i, a[i])-s.logShare(i, b[i])))
	}
	return d
}

// triesZero reports whether a free hyperparameter is 0. A fit may then fail only because the
// solution for collinear features is not unique without a penalty. The search does not count this
// as a failure of the learner.
func (s space) triesZero(hyper []float64) bool {
	for i, v := range hyper {
		if s.isFree[i] && v == 0 {
			return true
		}
	}
	return false
}
