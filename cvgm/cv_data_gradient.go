package cvgm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// DataGradient returns L_cv(α) and overwrites dx (N×n) and dy (N) with its gradient in
// the rows of Config.Data.X and in the labels: through the fits, the standardisation,
// the centring, the feature map and the predictions. A nil dx or dy is not wanted;
// neither may share memory with Config.Data or α. Another shape panics. For learners
// and losses of labels ±1, dy is the derivative of their formulas in y.
//
// Errors are those of Eval with a gradient; then the loss, dx and dy are NaN. A block
// that has no derivative is an error of kind ErrNotDifferentiable that names it and the
// lowest such split, and is set to NaN; loss and the other block are given. Without a
// derivative are
//   - dx with Config.Prepare,
//   - dx where Standardise is set and a feature is constant on a split's training rows,
//   - dx and dy with FixedLeastSquares without Standardise,
//   - dy with a Loss that is no [LabelLoss],
//   - and, unless Config.Generalised is set, what meets a kink of the learner or dx at one
//     of the feature map, and training rows of a [learn.TiedLearner] that are equal to it
//     and that moves of the rows (dx) or of the labels (dy) part.
//
// With Config.Generalised these give an element of the generalised derivative, and
// [CV.Generalised] reports it: the multipliers of equal rows are shared equally.
//
// It costs a gradient by Eval, with a fit for each split, and one Backward of the feature map in the rows, and
// allocates the gradients of each split. The results do not depend on Config.Workers.
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
	loss, err := cv.eval(context.Background(), nil, d, alpha)
	if err != nil {
		d.errX, d.errY = err, err
	} else {
		err = cv.addSplits(d, dx)
	}
	if d.wantX && d.errX != nil {
		dx.Apply(func(_, _ int, _ float64) float64 { return math.NaN() }, dx)
	}
	if d.wantY {
		copy(dy, d.y)
		for i := range dy {
			if d.errY != nil {
				dy[i] = math.NaN()
			}
		}
	}
	return loss, err
}

// addSplits completes d and dx, and returns the errors of the blocks that are wanted.
func (cv *CV) addSplits(d *dataGradient, dx *mat.Dense) error {
	ties := new(tieTest)
	if _, ok := cv.fits[0].learner.(learn.TiedLearner); ok {
		ties.prepare(&cv.c, cv.features, true)
	}
	for j := range cv.fits {
		cv.addSplit(d, j, ties)
	}
	if d.wantX && d.errX == nil {
		d.errX = cv.rowsFromFeatures(d, dx)
	}
	if d.wantY && d.errY == nil && !args.AllFinite(d.y) {
		d.errY = overflow("the derivative in the labels is not finite")
	}
	switch wrongX, wrongY := d.wantX && d.errX != nil, d.wantY && d.errY != nil; {
	case wrongX && wrongY:
		return fmt.Errorf("dx: %w; dy: %w", d.errX, d.errY)
	case wrongX:
		return fmt.Errorf("dx: %w", d.errX)
	case wrongY:
		return fmt.Errorf("dy: %w", d.errY)
	}
	return nil
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
	grad       learn.Grad // of its training rows and labels
	val        *mat.Dense // cotangent of the validation rows
	label      []float64  // cotangent of the validation labels
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
		d.errY = args.Bad("Config.Loss", qpdiff.ErrNotDifferentiable, "give it the method LabelSlope", "has no derivative in the label: %T is no LabelLoss", c.Loss)
		return d
	}
	kinks, _ := c.Loss.(KinkedLoss)
	d.label = make([]float64, len(f.valY))
	total := f.valWeights.Total(len(f.valY))
	for i, y := range f.valY {
		p := f.prediction[i]
		slope := loss.LabelSlope(p, y)
		if kinks != nil {
			if distance, at := kinks.Kink(p, y); at == 0 && f.atKink(i, p, y, distance) {
				slope = 0 // as that in the prediction; Config.Generalised allows it or not
			}
		}
		if !args.Finite(slope) && d.errY == nil {
			d.errY = args.Bad("Config.Loss", qpdiff.ErrNotDifferentiable, "use a smooth loss", "has the slope %v in the label of example %d", slope, f.split.Val[i])
		}
		d.label[i] = f.valWeights.At(i) * slope / total
	}
	return d
}

// dataBackward completes f.data: the cotangents of the split's rows and labels.
func (f *splitFit) dataBackward(c *Config, want *dataGradient) error {
	d := f.data
	if c.Centring == FixedLeastSquares && !c.Standardise {
		err := args.Bad("Config.Centring", qpdiff.ErrNotDifferentiable, "use MeanCentring, or set Standardise",
			"is FixedLeastSquares, through which no derivative goes")
		d.errX, d.errY = err, err
		return nil
	}
	if c.Prepare != nil && want.wantX {
		d.errX = args.Bad("Config.Data.X", qpdiff.ErrNotDifferentiable, "ask for dy alone, or prepare the rows of each part yourself",
			"reaches the learner through Config.Prepare, through which no derivative goes")
	}
	if j := f.norm.Jump; f.norm.Scale && j >= 0 && want.wantX && d.errX == nil {
		d.errX = args.Bad("Config.Data.X", qpdiff.ErrNotDifferentiable, "do not standardise, or drop the feature",
			"has a feature %d that is constant on the training rows, where the standardised feature jumps", j)
	}
	rows, m := f.train.X.Dims()
	if f.out != nil { // the learner has the shape of all examples
		rows = len(c.Data.Y)
	}
	wantedX, wantedY := want.wantX && d.errX == nil, want.wantY && d.errY == nil
	if !wantedX && !wantedY {
		return nil
	}
	if _, tied := f.learner.(learn.TiedLearner); wantedX || tied { // Ties looks at the rows
		d.grad.X, d.val = mat.NewDense(rows, m, nil), mat.NewDense(len(f.valY), m, nil)
	}
	if wantedY {
		d.grad.Y = make([]float64, rows)
	}
	err := f.backward(c, &d.grad, d.val)
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
		mean := sample.Sum(-floats.Sum(d.grad.Y), f.dprediction)
		total := f.norm.Weights.Total(rows)
		for i := range d.grad.Y {
			d.grad.Y[i] += f.norm.Weights.At(i) * mean / total
		}
	}
	if wantedX && f.out == nil {
		f.norm.Backward(f.train.X.RawMatrix().Data, f.val, d.grad.X.RawMatrix().Data, d.val.RawMatrix().Data)
	}
	return nil
}

// addSplit adds what split j has found.
func (cv *CV) addSplit(d *dataGradient, j int, ties *tieTest) {
	f := &cv.fits[j]
	part, scale := f.data, 1/float64(len(cv.fits))
	f.data = nil
	cv.generalised = cv.generalised || f.kinked || part.grad.Generalised
	ties.find(f)
	if cv.c.Generalised {
		cv.generalised = cv.generalised || d.wantX && ties.parted || d.wantY && ties.tied
	} else {
		const equal, remedy = "examples %d and %d, which are equal to the learner: moves that part them have no derivative", "move one of them, or set Config.Generalised"
		if ties.parted && part.errX == nil {
			part.errX = args.Bad("Config.Data.X", qpdiff.ErrNotDifferentiable, remedy, "has the "+equal, ties.i, ties.k)
		}
		if ties.tied && part.errY == nil {
			part.errY = args.Bad("Config.Data.Y", qpdiff.ErrNotDifferentiable, remedy, "has the labels of the "+equal, ties.i, ties.k)
		}
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
			sample.ScatterAdd(dst, train, f.split.Train, scale)
		}
		sample.ScatterAdd(dst, val, f.split.Val, scale)
	}
	if d.wantX && d.errX == nil {
		add(d.features, part.grad.X.RawMatrix().Data, part.val.RawMatrix().Data)
	}
	if d.wantY && d.errY == nil {
		add(mat.NewDense(len(d.y), 1, d.y), part.grad.Y, part.label)
	}
}

// rowsFromFeatures sets dx from the cotangent of the features.
func (cv *CV) rowsFromFeatures(d *dataGradient, dx *mat.Dense) error {
	var dparams []float64
	if cv.c.Features != nil {
		dparams = make([]float64, cv.c.Features.NumParams())
	}
	dx.Zero()
	if backwardMap(cv.c.Features, dparams, dx, d.features) {
		if !cv.c.Generalised {
			return args.Bad("Config.Features", qpdiff.ErrNotDifferentiable, "move the parameters, or set Config.Generalised", "has a kink at these rows")
		}
		cv.generalised = true
	}
	for i := range dx.RawMatrix().Rows {
		if j := slices.IndexFunc(dx.RawRowView(i), func(v float64) bool { return !args.Finite(v) }); j >= 0 {
			return overflow("the derivative in feature %d of example %d is %v", j, i, dx.At(i, j))
		}
	}
	return nil
}
