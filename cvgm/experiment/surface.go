package experiment

import "context"

// SurfaceGrid is the grid of penalties on which a loss surface is evaluated.
type SurfaceGrid struct {
	SurfacePoints int     `help:"points of the loss surfaces per hyperparameter" range:"[2,∞)" small:"[2,5]"`
	SurfaceLow    float64 `help:"lower end of the surfaces" unit:"log10 of the penalty" range:"[-300,300]" below:"SurfaceHigh" small:"[-5,-2]"`
	SurfaceHigh   float64 `help:"upper end of the surfaces" unit:"log10 of the penalty" range:"[-300,300]" small:"[-1,1]"`
}

var defaultSurface = SurfaceGrid{SurfacePoints: 46, SurfaceLow: -4, SurfaceHigh: .5}

// ElasticNetSurface holds the CV loss and the test loss on a grid of (λ1, λ2):
// what the searches see, and what they are judged by.
type ElasticNetSurface struct {
	Lambda1, Lambda2 []float64   // the grid's values, ascending
	CV, Test         [][]float64 // [i][j] at Lambda1[i], Lambda2[j]; Test is nil where it is not asked for
}

// evaluate evaluates the CV loss on the grid, and the test loss if test.
func (g SurfaceGrid) evaluate(ctx context.Context, s *Setup, test bool) (ElasticNetSurface, error) {
	axis := logspace(g.SurfaceLow, g.SurfaceHigh, g.SurfacePoints)
	e := ElasticNetSurface{Lambda1: axis, Lambda2: axis}
	for _, l1 := range axis {
		var cv, risk []float64
		for _, l2 := range axis {
			if err := ctx.Err(); err != nil {
				return e, err
			}
			loss, err := s.CV.Eval(nil, []float64{l1, l2})
			if err != nil {
				return e, err
			}
			cv = append(cv, loss)
			if test {
				if loss, err = s.TestLoss([]float64{l1, l2}); err != nil {
					return e, err
				}
				risk = append(risk, loss)
			}
		}
		e.CV = append(e.CV, cv)
		if test {
			e.Test = append(e.Test, risk)
		}
	}
	return e, nil
}
