package claims

import "math"

// A Position is the position of an estimate relative to the bound of its rule. The unit is the
// smallest difference that matters. The bound is at 0. A distance below 1 from the bound does not
// matter.
type Position struct{ Low, At, High float64 } // Low and High are the ends of the 95 % interval

// Position returns the position of the estimate. If the estimate has no interval, the second result
// is false.
func (m *Measurement) Position() (Position, bool) {
	e, middle := m.testedEstimate(), m.middleOfRule()
	if !e.Repeated() || !(m.Smallest > 0) || math.IsNaN(e.Mean) {
		return Position{}, false
	}
	low, high := e.Interval(.95)
	at := func(v float64) float64 { return (v - middle) / m.Smallest }
	return Position{at(low), at(e.Mean), at(high)}, true
}
