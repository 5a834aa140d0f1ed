package cvgm

import (
	"errors"
	"math"
	"slices"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// DataGradient returns L_cv(α) and overwrites dx (N×n) and dy (N) with its gradient in
// the rows of Config.Data.X and in the labels: through the fits, the standardisation,
// the centring, the feature map and the predictions. A nil dx or dy is not wanted.
//
// Errors are those of Eval. A block that has no derivative is an error as well, joined
// with that of the other block, and is set to NaN; the other block is given. That of X
// names the split, and the column where there is one: with Standardise, a column that
// is constant on a split's training rows; with FixedLeastSquares without Standardise,
// both blocks; a kink of the learner, the loss or the feature map without
// Config.Generalised; equal rows of a [qpdiff.TiedLearner]. That of y needs a
// [LabelLoss]. It allocates, and costs one more Backward than Eval's gradient.
func (cv *CV) DataGradient(dx *mat.Dense, dy, alpha []float64) (float64, error) {
	rows, n := cv.c.Data.X.Dims()
	if dx != nil {
		if r, c := dx.Dims(); r != rows || c != n {
			panic("cvgm: dx has the wrong shape")
		}
	}
	if dy != nil && len(dy) != rows {
		panic("cvgm: dy has the wrong length")
	}
	d := &dataGradient{wantX: dx != nil, wantY: dy != nil, y: make([]float64, rows)}
	if d.wantX {
		d.features = mat.NewDense(rows, cv.features, nil)
	}
	cv.run.data = d
	loss, err := cv.Eval(nil, alpha)
	cv.run.data = nil
	if err != nil {
		return loss, err
	}
	cv.generalised = false
	for j := range cv.fits {
		cv.addData(d, j)
	}
	var problems []error
	if d.wantX {
		if d.errX == nil {
			d.errX = cv.rowsFromFeatures(d, dx)
		}
		if d.errX != nil {
			dx.Apply(func(_, _ int, _ float64) float64 { return math.NaN() }, dx)
		}
		problems = append(problems, d.errX)
	}
	if d.wantY {
		copy(dy, d.y)
		if d.errY == nil && !allFinite(dy) {
			d.errY = overflow("the derivative in the labels is not finite")
		}
		if d.errY != nil {
			for i := range dy {
				dy[i] = math.NaN()
			}
		}
		problems = append(problems, d.errY)
	}
	return loss, errors.Join(problems...)
}

// dataGradient is one call of DataGradient under way.
type dataGradient struct {
	wantX, wantY bool
	features     *mat.Dense // cotangent of the N×m features
	y            []float64
	errX, errY   error // of the lowest split that has one
}

// splitData is what one split adds to a dataGradient.
type splitData struct {
	grad       qpdiff.Grad // of its training rows and labels
	val        *mat.Dense  // cotangent of the validation rows
	label      []float64   // cotangent of the validation labels
	errX, errY error
}

// newSplitData begins with the slopes of the loss in the labels, at the predictions.
func (f *splitFit) newSplitData(c *Config, want *dataGradient) *splitData {
	d := &splitData{}
	if !want.wantY {
		return d
	}
	loss, ok := c.Loss.(LabelLoss)
	if !ok {
		d.errY = badArg("Config.Loss", qpdiff.ErrNotDifferentiable, "give it the method LabelSlope", "has no derivative in the label: %T is no LabelLoss", c.Loss)
		return d
	}
	kinks, _ := c.Loss.(KinkedLoss)
	d.label = make([]float64, len(f.valY))
	for i, y := range f.valY {
		p := f.dprediction[i] // the prediction itself, as yet
		slope := loss.LabelSlope(p, y)
		if kinks != nil {
			if distance, at := kinks.Kink(p, y); at == 0 && distance <= lossKinkTol*f.size(i, p) {
				slope = 0 // as that in the prediction; Config.Generalised allows it or not
			}
		}
		if !finite(slope) && d.errY == nil {
			d.errY = badArg("Config.Loss", qpdiff.ErrNotDifferentiable, "use a smooth loss", "has the slope %v in the label of example %d", slope, f.split.Val[i])
		}
		d.label[i] = slope / float64(len(f.valY))
	}
	return d
}

// dataBackward completes f.data: the cotangents of the split's rows and labels.
func (f *splitFit) dataBackward(c *Config, want *dataGradient) error {
	d := f.data
	if c.Centring == FixedLeastSquares && !c.Standardise {
		err := badArg("Config.Centring", qpdiff.ErrNotDifferentiable, "use MeanCentring, or set Standardise",
			"is FixedLeastSquares, through which no derivative goes")
		d.errX, d.errY = err, err
		return nil
	}
	if f.norm.scale && want.wantX {
		train, m := f.train.X.RawMatrix().Data, f.train.X.RawMatrix().Cols
		for j := range m {
			if constantColumn(train, m, j) {
				d.errX = badArg("Config.Data.X", qpdiff.ErrNotDifferentiable, "do not standardise, or drop the feature",
					"has a feature %d that is constant on the training rows, where the standardised feature jumps", j)
				break
			}
		}
	}
	rows, m := f.train.X.Dims()
	if f.out != nil { // the learner has the shape of all examples
		rows = len(c.Data.Y)
	}
	wantedX, wantedY := want.wantX && d.errX == nil, want.wantY && d.errY == nil
	if !wantedX && !wantedY {
		return nil
	}
	if wantedX {
		d.grad.X, d.val = mat.NewDense(rows, m, nil), mat.NewDense(len(f.valY), m, nil)
	}
	if wantedY {
		d.grad.Y = make([]float64, rows)
	}
	err := f.backward(&d.grad, d.val)
	var kink *qpdiff.NotDifferentiableError
	switch {
	case errors.As(err, &kink):
		for _, in := range kink.Inputs {
			if in == "X" && wantedX {
				d.errX = err
			}
			if in == "y" && wantedY {
				d.errY = err
			}
		}
		if d.errX == nil && d.errY == nil {
			return err
		}
	case err != nil:
		return err
	}
	if wantedY && c.Centring != NoCentring { // the mean of y is subtracted, and added to predictions
		mean := -floats.Sum(d.grad.Y)
		for _, slope := range f.dprediction {
			mean += slope
		}
		floats.AddConst(mean/float64(rows), d.grad.Y)
	}
	if wantedX && f.out == nil {
		f.norm.backward(f.train.X.RawMatrix().Data, f.val, d.grad.X.RawMatrix().Data, d.val.RawMatrix().Data)
	}
	return nil
}

// addData adds what split j has found.
func (cv *CV) addData(d *dataGradient, j int) {
	f := &cv.fits[j]
	part, scale := f.data, 1/float64(len(cv.fits))
	cv.generalised = cv.generalised || f.kinked || part.grad.Generalised
	if d.wantX && part.errX == nil && !cv.c.Generalised {
		part.errX = cv.tied(f)
	}
	if d.errX == nil && part.errX != nil {
		d.errX = &SplitError{j, part.errX}
	}
	if d.errY == nil && part.errY != nil {
		d.errY = &SplitError{j, part.errY}
	}
	add := func(dst *mat.Dense, train, val []float64) {
		if f.out != nil { // the learner has the shape of all examples
			floats.AddScaled(dst.RawMatrix().Data, scale, train)
		} else {
			scatterAdd(dst, train, f.split.Train, scale)
		}
		scatterAdd(dst, val, f.split.Val, scale)
	}
	if d.wantX && d.errX == nil {
		add(d.features, part.grad.X.RawMatrix().Data, part.val.RawMatrix().Data)
	}
	if d.wantY && d.errY == nil {
		add(mat.NewDense(len(d.y), 1, d.y), part.grad.Y, part.label)
	}
	f.data = nil
}

// tied is the error of equal training rows of f that moves of the examples part, and
// whose derivative holds for moves that do not.
func (cv *CV) tied(f *splitFit) (err error) {
	l, ok := f.learner.(qpdiff.TiedLearner)
	if !ok {
		return nil
	}
	rows, n := cv.c.Data.X.Dims()
	dfeatures := mat.NewDense(rows, cv.features, nil)
	l.Ties(&f.work, func(i, k int, _ float64, d []float64) bool {
		if f.out == nil {
			i, k = f.split.Train[i], f.split.Train[k]
		}
		for _, example := range [2]int{i, k} {
			moves := d // the moves of the example that part it from the other are along it
			if cv.c.Features != nil {
				dx := mat.NewDense(rows, n, nil)
				dfeatures.SetRow(example, d)
				cv.c.Features.Backward(make([]float64, cv.c.Features.NumParams()), dx, dfeatures)
				dfeatures.Zero()
				moves = dx.RawRowView(example)
			}
			if slices.ContainsFunc(moves, func(v float64) bool { return v != 0 }) {
				err = badArg("Config.Data.X", qpdiff.ErrNotDifferentiable, "move one of them, or set Config.Generalised",
					"has the examples %d and %d of equal features, of which only moves that keep them equal have a derivative", i, k)
			}
		}
		return err == nil
	})
	return err
}

// rowsFromFeatures sets dx from the cotangent of the features.
func (cv *CV) rowsFromFeatures(d *dataGradient, dx *mat.Dense) error {
	if cv.c.Features == nil {
		dx.Copy(d.features)
	} else {
		dx.Zero()
		cv.c.Features.Backward(make([]float64, cv.c.Features.NumParams()), dx, d.features)
		if m, ok := cv.c.Features.(KinkedMap); ok && m.Generalised() {
			if !cv.c.Generalised {
				return badArg("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised", "has a kink at these rows")
			}
			cv.generalised = true
		}
	}
	for i := range dx.RawMatrix().Rows {
		if j := slices.IndexFunc(dx.RawRowView(i), func(v float64) bool { return !finite(v) }); j >= 0 {
			return overflow("the derivative in feature %d of example %d is %v", j, i, dx.At(i, j))
		}
	}
	return nil
}
