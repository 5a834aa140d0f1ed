package table_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"
)

// countedFits counts the fits of a GLM.
type countedFits struct {
	penalised.GLM
	fits *atomic.Int64
}

func (l *countedFits) Fit(theta, hyper []float64) error {
	l.fits.Add(1)
	return l.GLM.Fit(theta, hyper)
}

// If no number is missing, a CV fits all splits of a table together, with the same results as
// separate fits.
func TestFixedTable(t *testing.T) {
	const tol = 1e-10 // of rounding and of the condition of the fits
	rng := rand.New(rand.NewPCG(5, 40))
	text := strings.Builder{}
	text.WriteString("y,a,b,colour")
	for i := range 60 {
		fmt.Fprintf(&text, "\n%v,%v,%v,%s", rng.NormFloat64(), 40+rng.NormFloat64(), rng.Float64(), []string{"red", "blue", "green"}[i%7%3])
	}
	for _, c := range []struct {
		name        string
		effects     []table.Effect
		standardise bool
		lacks, once bool
	}{
		{name: "plain features", standardise: true, once: true},
		{name: "smooth and scaled features", effects: []table.Effect{{Column: "a", Kind: table.ScaledEffect}, {Column: "b", Kind: table.SmoothEffect}, {Column: "colour", Kind: table.LevelsEffect}}, once: true},
		{name: "joint features", effects: []table.Effect{{Column: "a", Kind: table.KernelEffect, Bases: 8}, {Column: "b", Kind: table.KernelEffect, Bases: 8}, {Column: "colour", Kind: table.LevelsEffect}}, once: true},
		{name: "without a number", standardise: true, lacks: true},
	} {
		rows := text.String()
		if c.lacks {
			rows += "\n1,,.5,red"
		}
		read := casetest.Must(table.CSV{Target: "y", Missing: table.MissingIsMean}.Read(strings.NewReader(rows)))(t)
		if c.effects != nil {
			read = casetest.Must(read.WithEffects(c.effects...))(t)
		}
		d, encoder, err := read.Data()
		casetest.OK(t, err)
		_, features := encoder.Dims()
		splits := casetest.Must(cvgm.KFold(rng, len(d.Y), 6))(t)
		var losses [2]float64
		var grads [2][2]float64
		for k, p := range []cvgm.Preparer{encoder, struct{ cvgm.Preparer }{encoder}} {
			var fits atomic.Int64
			cv := casetest.Must(cvgm.New(cvgm.Config{Data: d, Prepare: p, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: c.standardise, Learner: func() learn.Learner {
				return &countedFits{penalised.GLM{Intercept: true, Penalties: []penalised.Penalty{penalised.Ridge(0, features), penalised.Differences(1, features-1, 1)}}, &fits}
			}}))(t)
			losses[k] = casetest.Must(cv.Eval(grads[k][:], []float64{.5, 2}))(t)
			if once := fits.Load() == 0; once != (c.once && k == 0) {
				t.Errorf("%s, preparer %d: %d fits", c.name, k, fits.Load())
			}
			casetest.Must(cv.Final([]float64{.5, 2}))(t)
		}
		if !casetest.Near(losses[0], losses[1], tol) || !casetest.Near(grads[0][0], grads[1][0], tol) || !casetest.Near(grads[0][1], grads[1][1], tol) {
			t.Errorf("%s: %v, %v at once and one by one, with gradients %v, %v", c.name, losses[0], losses[1], grads[0], grads[1])
		}
	}
}
