package claims

import "math"

// A Position is the position of an estimate relative to the bound of its rule. The bound is at 0,
// and the unit is the smallest difference that matters, so a distance below 1 from the bound does
// not matter. The rule holds above 0. If the rule requires a value near a number, this number is at
// 0 and the estimate below it.
type Position struct{ Low, At, High float64 } // Low and High are the ends of the 95 % interval

// Position returns the position of the estimate. If the estimate has no interval, the second result
// is false.
func (m *Measurement) Position() (Position, bool) {
	p, ok := m.Place()
	return p, ok && m.testedEstimate().Repeated()
}

// Place returns the position of the estimate as Position does, but also for an estimate without an
// interval. Low and High then equal At. If there is no position, the second result is false.
func (m *Measurement) Place() (Position, bool) {
	e, middle := m.testedEstimate(), m.middleOfRule()
	if !(m.Smallest > 0) || math.IsNaN(e.Mean) {
		return Position{}, false
	}
	at := func(v float64) float64 { return (v - middle) / m.Smallest }
	p := Position{at(e.Mean), at(e.Mean), at(e.Mean)}
	if e.Repeated() {
		low, high := e.Interval(.95)
		p.Low, p.High = at(low), at(high)
	}
	if _, oneSided := m.rule.oneSided(); oneSided && math.IsInf(m.rule.low, -1) || !oneSided && p.At > 0 {
		p = Position{-p.High, -p.At, -p.Low}
	}
	return p, true
}
