package cvgm

import (
	"errors"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// newSplitData returns a splitData with the derivatives of the loss with respect to the labels,
// evaluated at the predictions.
func (f *splitFit) newSplitData(c *Config, want *dataGradient) *splitData {
	d := &splitData{}
	if !want.wantY {
		return d
	}
	if f.joint != nil {
		d.errY = args.Bad("Config.Data.Y", qpdiff.ErrNotDifferentiable, "ask for dx alone", "holds numbers of classes, in which the CV loss has no derivative")
		return d
	}
	loss, ok := c.Loss.(LabelLoss)
	if !ok {
		d.errY = args.Bad("Config.Loss", qpdiff.ErrNotDifferentiable, "give it the method LabelSlope", "has no derivative in the label: %T is not a LabelLoss", c.Loss)
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
				slope = 0 // as in the prediction; judge decides whether this kink is allowed
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
	fixed := args.BadIf(c.Centring == FixedLeastSquares && !c.Standardise, "Config.Centring", qpdiff.ErrNotDifferentiable, "use MeanCentring, or set Standardise",
		"is FixedLeastSquares, through which no derivative goes")
	d.errX = args.First(fixed,
		args.BadIf(want.wantX && c.Prepare != nil, "Config.Data.X", qpdiff.ErrNotDifferentiable, "ask for dy alone, or prepare the rows of each part yourself",
			"reaches the learner through Config.Prepare, through which no derivative goes"),
		args.BadIf(want.wantX && f.readsInPlace && c.Data.Sparse(), "Config.Data.X", qpdiff.ErrNotDifferentiable, "ask for dy alone, or give Data.Dense()", "is sparse, and its derivative is not"),
		args.BadIf(want.wantX && f.normaliser.Scale && f.normaliser.Jump >= 0, "Config.Data.X", qpdiff.ErrNotDifferentiable, "do not standardise, or drop the feature",
			"has a feature %d that is constant on the training rows, where the standardised feature jumps", f.normaliser.Jump))
	d.errY = args.First(fixed, d.errY)
	rows, m := len(f.split.Train), f.features
	if f.leftOut != nil || f.readsInPlace { // the derivatives of the learner have the rows of all examples
		rows = len(c.Data.Y)
	}
	wantedX, wantedY := want.wantX && d.errX == nil, want.wantY && d.errY == nil
	if !wantedX && !wantedY {
		return nil
	}
	// Ties needs the derivatives with respect to the rows.
	if _, tied := f.learner.(learn.TiedLearner); wantedX || tied {
		d.grad.X, d.val = mat.NewDense(rows, m, nil), mat.NewDense(len(f.valY), m, nil)
	}
	if wantedY {
		d.grad.Y = make([]float64, rows)
	}
	if err := f.backward(c, &d.grad, d.val); err != nil && !d.storeError(err, wantedX, wantedY) {
		return err
	}
	if wantedY && c.Centring != NoCentring { // the mean of y is subtracted, and added to predictions
		mean := sample.Sum(-floats.Sum(d.grad.Y), f.dprediction)
		total := f.normaliser.Weights.Total(len(f.split.Train))
		for at, i := range f.split.Train {
			if !f.readsInPlace {
				i = at
			}
			d.grad.Y[i] += f.normaliser.Weights.At(at) * mean / total
		}
	}
	if wantedX && f.readsInPlace {
		f.ownRows(c)
	} else if wantedX && f.leftOut == nil {
		f.normaliser.Backward(f.train.Dense().RawMatrix().Data, f.val, d.grad.X.RawMatrix().Data, d.val.RawMatrix().Data)
	}
	return nil
}

// ownRows is for a split whose learner reads the rows of all examples in place. The cotangents in
// d.grad.X are then those of all examples, as the learner reads them. ownRows replaces d.grad.X by
// the cotangents of the split's training rows of Data.X, and d.val by the cotangents of its
// validation rows.
func (f *splitFit) ownRows(c *Config) {
	d, x := f.data, c.dense()
	gather := func(src *mat.Dense, rows []int) []float64 {
		dst := make([]float64, len(rows)*f.features)
		sample.Gather(dst, src, rows)
		return dst
	}
	train, val, dtrain := gather(x, f.split.Train), gather(x, f.split.Val), gather(d.grad.X, f.split.Train)
	f.normaliser.Apply(train)
	f.normaliser.Apply(val)
	if f.normaliser.Centre { // cotangents of the rows as the learner receives them
		for i := range f.split.Train {
			floats.Mul(dtrain[i*f.features:(i+1)*f.features], f.normaliser.Std)
		}
	}
	f.normaliser.Backward(train, val, dtrain, d.val.RawMatrix().Data)
	d.grad.X = mat.NewDense(len(f.split.Train), f.features, dtrain)
}

// storeError stores err, the error of a derivative, for each wanted block (X or y) that err names.
// It reports whether a block has an error.
func (d *splitData) storeError(err error, wantedX, wantedY bool) bool {
	var kink *qpdiff.NotDifferentiableError
	if !errors.As(err, &kink) {
		return false
	}
	if wantedX && slices.Contains(kink.Inputs, "X") {
		d.errX = err
	}
	if wantedY && slices.Contains(kink.Inputs, "y") {
		d.errY = err
	}
	return d.errX != nil || d.errY != nil
}
