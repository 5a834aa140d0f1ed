package cvgm

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// DataGradient returns L_cv(α). It overwrites dx (N×n) and dy (N) with the gradient with respect to
// the rows of Config.Data.X and to the labels. The gradient goes through the fits, the
// standardisation, the centring, the feature map and the predictions. If dx or dy is nil, it is not
// computed. dx and dy may not share memory with Config.Data or α. If dx or dy has another shape,
// DataGradient panics. For learners and losses of labels ±1, dy is the derivative of their formulas
// with respect to y.
//
// If the evaluation fails, DataGradient returns the same error as Eval with a gradient, and the
// loss, dx and dy are NaN. If only one of the blocks dx and dy has no derivative, DataGradient sets
// this block to NaN. The error is then of kind ErrNotDifferentiable and names the block and the
// first split without a derivative. The loss and the other block are still returned. These blocks
// have no derivative:
//   - dx with Config.Prepare,
//   - dx with a sparse Config.Data.X that the learner reads in place (see [learn.ViewLearner]),
//   - dx if Standardise is set and a feature is constant on a split's training rows,
//   - dx and dy with FixedLeastSquares without Standardise,
//   - dy with a Loss that is not a [LabelLoss],
//   - the blocks of the next list, unless Config.Generalised is set.
//
// If Config.Generalised is set, these blocks are an element of the generalised derivative, and
// [CV.Generalised] returns true:
//   - a block at a kink of the learner,
//   - dx at a kink of the feature map,
//   - dx, if moves of the rows make training rows unequal that a [learn.TiedLearner] treats as
//     equal. The multiplier of equal rows is then divided equally among them.
//   - dy, if moves of the labels make such rows unequal, with the same division.
//
// DataGradient costs as much as an Eval that fits each split separately and computes a gradient,
// plus one Backward of the feature map for the rows. It allocates the gradients of each split. The
// results do not depend on Config.Workers.
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
	loss, err := math.NaN(), cv.c.tooLarge(memory.Add(cv.count.total(), memory.Bytes(cv.countData(d.wantX))))
	if err == nil {
		if d.wantX {
			d.features = mat.NewDense(rows, cv.features, nil)
		}
		loss, err = cv.eval(context.Background(), nil, d, alpha)
	}
	if err != nil {
		d.errX, d.errY = err, err
	} else {
		err = cv.addSplits(d, dx)
	}
	if d.wantX && d.errX != nil {
		dx.Apply(func(_, _ int, _ float64) float64 { return math.NaN() }, dx)
	}
	if d.wantY {
		if copy(dy, d.y); d.errY != nil {
			copy(dy, slices.Repeat([]float64{math.NaN()}, rows))
		}
	}
	return loss, err
}

// addSplits adds the contributions of all splits to d and dx, and returns the errors of the wanted
// blocks.
func (cv *CV) addSplits(d *dataGradient, dx *mat.Dense) error {
	ties := new(tieTest)
	if _, ok := cv.fits[0].learner.(learn.TiedLearner); ok {
		ties.prepare(&cv.c, cv.features, true)
	}
	for j := range cv.fits {
		cv.addSplitData(d, j, ties)
	}
	if d.wantX && d.errX == nil {
		d.errX = cv.rowsFromFeatures(d, dx)
	}
	if d.wantY && d.errY == nil && !args.AllFinite(d.y) {
		d.errY = overflow("the derivative in the labels is not finite")
	}
	switch wrongX, wrongY := d.wantX && d.errX != nil, d.wantY && d.errY != nil; {
	case wrongX && wrongY:
		return fmt.Errorf("%w; %w", args.At(d.errX, "dx"), args.At(d.errY, "dy"))
	case wrongX:
		return args.At(d.errX, "dx")
	case wrongY:
		return args.At(d.errY, "dy")
	}
	return nil
}

// addSplitData adds the cotangents of split j to d.
func (cv *CV) addSplitData(d *dataGradient, j int, ties *tieTest) {
	f := &cv.fits[j]
	part, scale := f.data, 1/float64(len(cv.fits))
	f.data = nil
	cv.isGeneralised = cv.isGeneralised || f.metKink || part.grad.Generalised
	if ties.findTies(f); cv.c.Generalised {
		cv.isGeneralised = cv.isGeneralised || d.wantX && ties.makesUnequal || d.wantY && ties.hasTies
	} else {
		const equal, remedy = "examples %d and %d, which are equal to the learner: moves that part them have no derivative", "move one of them, or set Config.Generalised"
		part.errX = args.First(part.errX, args.BadIf(ties.makesUnequal, "Config.Data.X", qpdiff.ErrNotDifferentiable, remedy, "has the "+equal, ties.i, ties.k))
		part.errY = args.First(part.errY, args.BadIf(ties.hasTies, "Config.Data.Y", qpdiff.ErrNotDifferentiable, remedy, "has the labels of the "+equal, ties.i, ties.k))
	}
	if d.errX == nil && part.errX != nil {
		d.errX = &SplitError{j, part.errX}
	}
	if d.errY == nil && part.errY != nil {
		d.errY = &SplitError{j, part.errY}
	}
	add := func(dst *mat.Dense, train, val []float64, all bool) {
		if all { // the learner has the shape of all examples
			floats.AddScaled(dst.RawMatrix().Data, scale, train)
		} else {
			sample.ScatterAdd(dst, train, f.split.Train, scale)
		}
		sample.ScatterAdd(dst, val, f.split.Val, scale)
	}
	if d.wantX && d.errX == nil {
		add(d.features, part.grad.X.RawMatrix().Data, part.val.RawMatrix().Data, f.leftOut != nil)
	}
	if d.wantY && d.errY == nil {
		add(mat.NewDense(len(d.y), 1, d.y), part.grad.Y, part.label, f.leftOut != nil || f.readsInPlace)
	}
}

// rowsFromFeatures computes dx from the cotangent of the features.
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
		cv.isGeneralised = true
	}
	for i := range dx.RawMatrix().Rows {
		if j := slices.IndexFunc(dx.RawRowView(i), func(v float64) bool { return !args.Finite(v) }); j >= 0 {
			return overflow("the derivative in feature %d of example %d is %v", j, i, dx.At(i, j))
		}
	}
	return nil
}
