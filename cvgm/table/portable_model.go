package table

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// portable returns the model in the form of package portable, with the code of its kernel. This
// model makes the same predictions as Decision, bit for bit.
func (p *Pipeline) portable() (m portable.Model, code kernelCode, err error) {
	e, err := p.encoder()
	if err != nil {
		return m, code, err
	}
	own := p.Model
	want, rows, err := p.probes(e)
	if err != nil { // the error may also be that the parts of the model do not fit together
		return m, code, err
	}
	m = portable.Model{Columns: e.code, Mean: own.Mean, Deviation: own.Std}
	switch features := len(own.Mean); {
	case own.Predictor != nil:
		return m, code, errCode("predicts by a %T, which has no Go code", own.Predictor)
	case own.Kernel != nil:
		k := own.Kernel
		code = codeOf(k)
		if m.Kernel = code.eval; m.Kernel == nil {
			return m, code, errCode("has a kernel %T, which has no Go code", k.Kernel)
		}
		m.Constant, m.Coefficients, m.Intercept = k.Intercept, k.Coef, own.Intercept
		if k.X != nil {
			rows, _ := k.X.Dims()
			m.Points = make([]float64, rows*features)
			sample.Gather(m.Points, k.X, sample.Complement(nil, rows))
		}
	case sample.MostStored(e) > 0:
		none := sample.NewStored(features) // a row without stored features
		none.EndRow()
		var constant [1]float64
		norm := normalise.Normaliser{Centre: true, Mean: own.Mean, Std: own.Std}
		norm.PredictStored(constant[:], none, []int{0}, own.Theta, own.Intercept)
		m.Stored, m.Constant, m.Weights = true, constant[0], own.Theta[:features]
	default:
		m.Constant, m.Weights = sample.Sum(own.Intercept, own.Theta[features:]), own.Theta[:features]
	}
	for i := range want {
		if got, err := m.Decision(rows.RawRowView(i)); err != nil || math.Float64bits(got) != math.Float64bits(want[i]) {
			return m, code, errCode("predicts %v where its Go code gives %v", want[i], got)
		}
	}
	return m, code, nil
}

// errCode returns the error for a pipeline that cannot be written as Go code.
func errCode(format string, a ...any) error {
	return args.Bad("Pipeline.Model", qpdiff.ErrDomain, "write the pipeline as JSON", format, a...)
}

// probeRows is the number of rows on which the method portable compares the decisions of its result
// with the decisions of the pipeline.
const probeRows = 16

// probes returns test rows and the pipeline's decisions for them. The numbers in the rows are near
// the means of their columns. Each level of a column appears in turn.
func (p *Pipeline) probes(e *Encoder) (want []float64, rows *mat.Dense, err error) {
	rows = mat.NewDense(probeRows, len(e.columns), nil)
	at := 0
	for j := range e.columns {
		c, code := &e.columns[j], &e.code[j]
		for i := range probeRows {
			smooth, _ := code.Splines.(*portable.CentredSplines)
			switch step := float64(i%5 - 2); { // −2 to 2
			case c.Kind == Categorical:
				rows.Set(i, j, float64((i+j)%len(c.Levels)))
			case smooth != nil:
				rows.Set(i, j, (smooth.Low/2+smooth.High/2)+step/3*(smooth.High-smooth.Low)) // also beyond both ends
			case c.Effect.is(KernelEffect):
				points := c.Effect.kernel.points
				rows.Set(i, j, points[i%len(points)]/2+points[(i+1)%len(points)]/2)
			case code.Deviation != 0:
				rows.Set(i, j, code.Centre+probeStep(step, code.Deviation))
			case at < len(p.Model.Mean) && at < len(p.Model.Std):
				rows.Set(i, j, p.Model.Mean[at]+probeStep(step, p.Model.Std[at]))
			}
		}
		at += code.Width()
	}
	t := p.table(e, make([]int, probeRows))
	t.x = rows
	want, err = p.Decision(t)
	return want, rows, err
}

// probeStep returns step·deviation, or step for a constant column, whose deviation is 0.
func probeStep(step, deviation float64) float64 {
	if deviation == normalise.Flat {
		return step
	}
	return step * deviation
}
