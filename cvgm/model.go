package cvgm

import (
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Model is a learner fitted to all data at chosen hyperparameters: the
// prediction function A_α(S).
type Model struct {
	Hyper     []float64 // the learner's hyperparameters
	Theta     []float64 // weights of the m features, then the learner's own intercept if it has one
	Intercept float64   // the constant of Config.Intercept; 0 with NoIntercept
	Mean, Dev []float64 // features are (φ(x) − Mean)/Dev
	Features  FeatureMap
	Params    []float64 // of the feature map
	Decider   Decider   // predicts in place of θᵀx; nil for a linear learner
}

// Final fits a new learner to all examples at α, with features normalised and
// the intercept taken as Config says: the last step of the method, after α has
// been found.
func (cv *CV) Final(alpha []float64) (*Model, error) {
	if err := cv.checkAlpha(alpha); err != nil {
		return nil, err
	}
	hyper, params := cv.cut(alpha)
	n, _ := cv.c.Data.X.Dims()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	m := &Model{Hyper: append([]float64(nil), hyper...), Features: cv.c.Features}
	x := cv.c.Data.X
	if m.Features != nil {
		m.Params = append([]float64(nil), params...)
		var err error
		if x, err = m.Features.Forward(m.Params, x); err != nil {
			return nil, err
		}
	}
	f := fold{split: Split{Train: all}, learner: cv.c.Learner()}
	theta, hypers := f.learner.Dims(cv.features)
	f.prepare(cv.c, cv.features, theta, hypers)
	if err := f.load(cv.c, x); err != nil {
		return nil, err
	}
	if err := f.learner.Fit(f.theta, hyper); err != nil {
		return nil, err
	}
	m.Theta, m.Intercept, m.Mean, m.Dev = f.theta, f.intercept, f.norm.mean, f.norm.dev
	m.Decider, _ = f.learner.(Decider)
	return m, nil
}

// Predict writes the prediction for each row of x to dst.
func (m *Model) Predict(dst []float64, x *mat.Dense) error {
	rows, cols := x.Dims()
	if len(dst) != rows {
		panic("cvgm: dst has the wrong length")
	}
	if m.Features != nil {
		var err error
		if x, err = m.Features.Forward(m.Params, x); err != nil {
			return err
		}
	} else if cols != len(m.Mean) {
		return badArg("x", qpdiff.ErrShape, "give the features that the model was fitted to", "has %d columns instead of %d", cols, len(m.Mean))
	}
	raw := x.RawMatrix()
	row := normaliser{center: true, scale: true, mean: m.Mean, dev: m.Dev}
	scaled := mat.NewDense(rows, raw.Cols, nil)
	for i := range rows {
		copy(scaled.RawRowView(i), raw.Data[i*raw.Stride:])
		row.apply(scaled.RawRowView(i))
	}
	if m.Decider != nil {
		if err := m.Decider.Decide(dst, scaled); err != nil {
			return err
		}
		for i := range dst {
			dst[i] += m.Intercept
		}
		return nil
	}
	constant := sum(m.Intercept, m.Theta[raw.Cols:])
	for i := range dst {
		dst[i] = predict(constant, m.Theta, scaled.RawRowView(i))
	}
	return nil
}

// Risk returns the mean loss of the model's predictions on d.
func (m *Model) Risk(loss Loss, d qpdiff.Data) (float64, error) {
	if err := d.Check(); err != nil {
		return 0, err
	}
	predictions := make([]float64, len(d.Y))
	if err := m.Predict(predictions, d.X); err != nil {
		return 0, err
	}
	var total float64
	for i, p := range predictions {
		c, _ := loss.Eval(p, d.Y[i])
		total += c
	}
	return total / float64(len(d.Y)), nil
}
