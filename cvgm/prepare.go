package cvgm

import (
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Preparer makes the features of a learner from the columns of Config.Data.X,
// with constants that it learns from training rows: means in place of missing
// values, for example. A CV fits it to the training rows of each split alone, so
// that no validation row has a part in the features that predict it. The rows must
// not be prepared before the CV splits them. [table.Encoder] is a Preparer.
type Preparer interface {
	// Dims returns the number of columns of X and of features. The number of
	// features must not depend on the rows.
	Dims() (in, out int)
	// Fit learns from the rows of train (T×in), which hold NaN where a value is
	// missing. Row i counts as weights[i] equal rows, or once where weights is nil.
	// Fit must neither keep nor change its arguments, and must not change what
	// earlier calls returned.
	Fit(train *mat.Dense, weights []float64) (Prepared, error)
}

// Prepared is a fitted [Preparer]. It is safe for concurrent use.
type Prepared interface {
	// Dims returns the number of columns of a row and of features.
	Dims() (in, out int)
	// Apply writes the features of a row, which may hold NaN, to dst. It changes
	// neither the row nor the receiver.
	Apply(dst, row []float64) error
}

// gather copies the split's rows of x, through Config.Prepare where there is one.
func (f *splitFit) gather(c *Config, x *mat.Dense) error {
	train := f.train.X.RawMatrix()
	if c.Prepare == nil {
		sample.Gather(train.Data, x, f.split.Train)
		sample.Gather(f.val, x, f.split.Val)
		return nil
	}
	_, n := x.Dims()
	raw := mat.NewDense(len(f.split.Train), n, nil)
	sample.Gather(raw.RawMatrix().Data, x, f.split.Train)
	var err error
	if f.prepared, err = c.Prepare.Fit(raw, f.train.Weights); err != nil {
		return err
	}
	if err := checkPrepared(f.prepared, n, train.Cols); err != nil {
		return err
	}
	if err := sample.Prepare(train.Data, f.prepared, x, f.split.Train); err != nil {
		return err
	}
	return sample.Prepare(f.val, f.prepared, x, f.split.Val)
}

// checkPrepared reports a Prepared of another shape than in columns and out features.
func checkPrepared(p Prepared, in, out int) error {
	const remedy = "let Fit return a Prepared with the Dims of the Preparer"
	if p == nil {
		return args.Bad("Config.Prepare", qpdiff.ErrShape, remedy, "returns nil from Fit")
	}
	if i, o := p.Dims(); i != in || o != out {
		return args.Bad("Config.Prepare", qpdiff.ErrShape, remedy, "maps %d columns to %d features after Fit instead of %d to %d", i, o, in, out)
	}
	return nil
}

// checkPreparer reports a Preparer that does not fit the configuration with n columns of X.
func (c *Config) checkPreparer(n int) error {
	if c.Prepare == nil {
		return nil
	}
	in, out := c.Prepare.Dims()
	return args.First(
		args.BadIf(c.Features != nil, "Config.Prepare", qpdiff.ErrDomain, "make the features in the Preparer, or prepare the rows of each part yourself",
			"is set together with Config.Features, which maps all rows at once"),
		args.BadIf(in != n, "Config.Prepare", qpdiff.ErrShape, "match the Preparer's columns to those of Data.X", "takes %d columns where Data.X has %d", in, n),
		args.BadIf(out < 1, "Config.Prepare", qpdiff.ErrShape, "give the Preparer at least one feature", "has %d features", out),
	)
}
