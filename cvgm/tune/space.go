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

// A space is a box of hyperparameters in logarithms, which a search explores.
type space struct {
	hyper []learn.Hyperparameter
	free  []bool // those that Fixed does not hold
	kind  []int  // of each: hyperparameters of one kind vary together at the looks
	kinds int
}

func newSpace(hyper []learn.Hyperparameter, kind []int, fixed map[string]float64) (space, error) {
	s := space{hyper: hyper, free: slices.Repeat([]bool{true}, len(hyper)), kind: kind}
	for _, k := range kind {
		s.kinds = max(s.kinds, k+1)
	}
	for _, name := range slices.Sorted(maps.Keys(fixed)) { // λ1 before λ1[0], whose value counts
		if err := s.fix(name, fixed[name]); err != nil {
			return s, err
		}
	}
	return s, nil
}

// greek replaces the names of Greek letters by the letters.
var greek = strings.NewReplacer("lambda", "λ", "gamma", "γ", "delta", "δ")

// fix holds the hyperparameters of that name, with an index or without.
func (s space) fix(name string, v float64) error {
	name, found := greek.Replace(name), false
	for i, h := range s.hyper {
		if known := greek.Replace(h.Name); known != name && !strings.HasPrefix(known, name+"[") {
			continue
		}
		if !(v > 0 || v == 0 && h.Zero) || !args.Finite(v) {
			return args.Bad("Tuner.Fixed", qpdiff.ErrDomain, "use a positive number", "holds %v for %s", v, h.Name)
		}
		s.free[i], found = false, true
		s.hyper[i].Lower, s.hyper[i].Default, s.hyper[i].Upper = v, v, v
	}
	if !found {
		var names []string
		for _, h := range s.hyper {
			names = append(names, h.Name)
		}
		return args.Bad("Tuner.Fixed", qpdiff.ErrDomain, fmt.Sprintf("use one of %q", names), "names %q, which is no hyperparameter", name)
	}
	return nil
}

// design returns so many points: the default, then points that fill the box evenly (the
// sequence of Roberts, an extension of the golden ratio). Hyperparameters of one kind are at
// the same share of their ranges.
func (s space) design(count int) [][]float64 {
	first := make([]float64, len(s.hyper))
	for i, h := range s.hyper {
		first[i] = h.Default
	}
	points := [][]float64{first}
	if !slices.Contains(s.free, true) {
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

// at returns the value of hyperparameter i at a share of its range, in logarithms.
func (s space) at(i int, share float64) float64 {
	h := s.hyper[i]
	if !s.free[i] {
		return h.Default
	}
	return min(max(h.Lower*math.Pow(h.Upper/h.Lower, share), h.Lower), h.Upper)
}

// share is the inverse of at, between 0 and 1.
func (s space) share(i int, v float64) float64 {
	h := s.hyper[i]
	if !s.free[i] || h.Lower == h.Upper {
		return 0
	}
	return min(max(math.Log(v/h.Lower)/math.Log(h.Upper/h.Lower), 0), 1)
}

// distance is the largest difference of the shares of two points.
func (s space) distance(a, b []float64) float64 {
	var d float64
	for i := range a {
		d = max(d, math.Abs(s.share(i, a[i])-s.share(i, b[i])))
	}
	return d
}

// triesZero reports whether a free hyperparameter is 0. Such a fit may fail,
// because collinear features leave it without a unique solution: that is no failure of the learner.
func (s space) triesZero(hyper []float64) bool {
	for i, v := range hyper {
		if s.free[i] && v == 0 {
			return true
		}
	}
	return false
}
