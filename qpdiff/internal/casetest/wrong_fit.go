package casetest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// A WrongFit is a fit whose solution is changed on purpose. Test checks that the learner's residual
// reveals the change.
type WrongFit struct {
	Name  string
	Data  learn.Data
	Hyper []float64
	// Powers describes the unit of each hyperparameter by two exponents. The first is the exponent of
	// the features' unit, and the second the exponent of the labels' unit. If Powers is nil, no
	// hyperparameter has a unit.
	Powers  [][2]float64
	Classes bool // the labels have no unit
	// New returns a new learner l, and a function named solution. After a Fit, this function returns
	// pointers to the entries of the solution that the learner holds: parameters, dual variables and
	// multipliers.
	New func() (l learn.VerifiedLearner, solution func() []*float64)
}

// Entries returns the addresses of the entries of s.
func Entries(s []float64) []*float64 {
	all := make([]*float64, len(s))
	for i := range s {
		all[i] = &s[i]
	}
	return all
}

// Test multiplies one entry of the solution by 1 + wrongPart, and the residual must exceed
// seenPart·wrongPart. The factor seenPart is small, because a small entry makes up only a small
// part of the terms of a condition.
const wrongPart, seenPart = 1e-6, 1e-4

// Test checks that the residual is small after a fit. It also checks that a small change of any
// nonzero entry of the solution makes the residual large enough. The residual of a changed solution
// must be the same, up to rounding of its terms, if units change by powers of two.
func (w WrongFit) Test(t *testing.T) {
	t.Helper()
	want := w.residuals(t, 1, 1)
	for at, r := range want {
		if !(r > seenPart*wrongPart) {
			t.Errorf("%s: residual %g with a wrong entry %d", w.Name, r, at)
		}
	}
	for _, unit := range [][2]float64{{0x1p30, 1}, {0x1p-30, 1}, {1, 0x1p30}, {0x1p-30, 0x1p-10}} {
		if w.Classes && unit[1] != 1 {
			continue
		}
		got := w.residuals(t, unit[0], unit[1])
		for at, r := range got {
			if len(got) != len(want) || !(math.Abs(r-want[at]) <= seenPart*want[at]) {
				t.Errorf("%s, units %v: residual %g with a wrong entry, and %g in other units", w.Name, unit, got, want)
				break
			}
		}
	}
}

// residuals changes one entry of the solution at a time, for each entry that is not 0. It returns
// the residual after each change. The features are in units of a and the labels in units of b.
func (w WrongFit) residuals(t *testing.T, a, b float64) (all []float64) {
	t.Helper()
	d, hyper := CloneData(w.Data), slices.Clone(w.Hyper)
	d.Weights = w.Data.Weights
	d.Dense().Scale(a, d.X)
	floats.Scale(b, d.Y)
	for k, of := range w.Powers {
		hyper[k] *= math.Pow(a, of[0]) * math.Pow(b, of[1])
	}
	l, solution := w.New()
	_, n := d.X.Dims()
	theta, _ := l.Dims(n)
	numtest.OK(t, l.Load(d), l.Fit(make([]float64, theta), hyper))
	before, err := l.Residual()
	for _, entry := range solution() {
		v := *entry
		if v == 0 {
			continue
		}
		*entry *= 1 + wrongPart
		after, err2 := l.Residual()
		err = errors.Join(err, err2)
		*entry = v
		all = append(all, after)
	}
	if err != nil || !(before < 1e-13) || len(all) == 0 {
		t.Errorf("%s, units %g and %g: residual %g of a fit with %d entries, error %v", w.Name, a, b, before, len(all), err)
	}
	return all
}
