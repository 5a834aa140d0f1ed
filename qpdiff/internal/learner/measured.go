package learner

import "math"

// Measured does the work of the method Residual of a learner l. The function residual measures the
// violation of the optimality conditions at the last fit. If there is no fit, Measured returns NaN
// and an error.
func Measured(l any, s *State, residual func() float64) (worst float64, err error) {
	defer Name(l, &err)
	if err := s.Fitted(); err != nil {
		return math.NaN(), err
	}
	worst = math.NaN() // if the context ends
	return residual(), nil
}

// Relative returns the violation of an optimality condition, divided by the size of the condition's
// terms. It returns 0 if the violation is not above 0. The violation is a sum of these terms, so it
// cannot exceed their size, unless products of very small numbers underflow.
func Relative(violation, size float64) float64 {
	if violation <= 0 {
		return 0
	}
	return violation / max(violation, size)
}
