package experiment

import "context"

// ElasticNetSurface holds the CV loss and the test loss on a grid of (λ1, λ2):
// what the searches see, and what they are judged by.
type ElasticNetSurface struct {
	Lambda1, Lambda2 []float64   // the grid's values, ascending
	CV, Test         [][]float64 // [i][j] at Lambda1[i], Lambda2[j]
}

func (c *contest) surface(ctx context.Context) (ElasticNetSurface, error) {
	p := c.params
	axis := logspace(p.SurfaceLow, p.SurfaceHigh, p.SurfacePoints)
	s := ElasticNetSurface{Lambda1: axis, Lambda2: axis}
	for _, l1 := range axis {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		cv, test := make([]float64, len(axis)), make([]float64, len(axis))
		for j, l2 := range axis {
			lambda := []float64{l1, l2}
			var err error
			if cv[j], err = c.cv.Eval(nil, lambda); err != nil {
				return s, err
			}
			if test[j], err = c.testLoss(lambda); err != nil {
				return s, err
			}
		}
		s.CV, s.Test = append(s.CV, cv), append(s.Test, test)
	}
	return s, nil
}
