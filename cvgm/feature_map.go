package cvgm

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A FeatureMap is a differentiable map φ from raw features to the learner's features. The gradient
// method learns the parameters of the map. This map is the learned kernel of the paper. A
// FeatureMap contains its workspace, so goroutines must not share it.
type FeatureMap interface {
	// Dims returns the number of raw and of mapped features.
	Dims() (in, out int)
	// NumParams returns the number of parameters.
	NumParams() int
	// Forward maps the N rows of x. The N×out result belongs to the map and is valid until the next
	// call. A feature that is not finite is an error.
	Forward(params []float64, x *mat.Dense) (*mat.Dense, error)
	// Backward takes dfeatures, the derivative of a scalar with respect to the N×out features that the
	// last Forward returned. It adds the derivative of this scalar with respect to the parameters to
	// dparams. If dx is not nil, it adds the derivative with respect to the N×in rows to dx.
	// Derivatives that overflow are ±Inf or NaN.
	Backward(dparams []float64, dx, dfeatures *mat.Dense)
}

// A KinkedMap is a FeatureMap with kinks. At a kink, Backward adds an element of the generalised
// derivative. Unless Config.Generalised is set, a CV returns an error for such a gradient.
type KinkedMap interface {
	FeatureMap
	// Generalised reports whether the last Backward was at a kink, at which the derivative does not
	// exist.
	Generalised() bool
}

// features returns the rows of x mapped by f, or x itself if f is nil.
func features(f FeatureMap, params []float64, x *mat.Dense) (*mat.Dense, error) {
	if f == nil {
		return x, nil
	}
	phi, err := f.Forward(params, x)
	if err != nil {
		return nil, err
	}
	rows, _ := x.Dims()
	_, out := f.Dims()
	if r, c := phi.Dims(); r != rows || c != out {
		return nil, args.Bad("Features", qpdiff.ErrShape, "let Forward return one row for each of x and as many columns as Dims says",
			"maps %d rows to %d×%d features instead of %d×%d", rows, r, c, rows, out)
	}
	return checkFeatures(phi)
}

// checkFeatures returns phi, or an error for the first feature that is not finite.
func checkFeatures(phi *mat.Dense) (*mat.Dense, error) {
	for i := range phi.RawMatrix().Rows {
		for j, v := range phi.RawRowView(i) {
			if !args.Finite(v) {
				return nil, args.Bad("params", qpdiff.ErrNotFinite, "use smaller parameters, or scale the features",
					"maps example %d to %v in feature %d", i, v, j)
			}
		}
	}
	return phi, nil
}

// checkForward returns an error if an argument does not fit the map.
func checkForward(f FeatureMap, params []float64, x *mat.Dense) error {
	if x == nil || x.IsEmpty() {
		return args.Bad("x", qpdiff.ErrEmpty, "give at least one row", "is empty")
	}
	if n := f.NumParams(); len(params) != n {
		return args.Bad("params", qpdiff.ErrShape, "give as many as NumParams says", "has %d entries instead of %d", len(params), n)
	}
	in, _ := f.Dims()
	if _, n := x.Dims(); n != in {
		return args.Bad("x", qpdiff.ErrShape, "give as many columns as the map has inputs", "has %d columns instead of %d", n, in)
	}
	return nil
}

// checkBackward panics if an argument does not fit the last Forward. The caller gives the number of
// rows in this Forward.
func checkBackward(f FeatureMap, rows int, dparams []float64, dx, dfeatures *mat.Dense) {
	if rows == 0 {
		panic("cvgm: Backward before Forward")
	}
	if len(dparams) != f.NumParams() {
		panic("cvgm: dparams has the wrong length")
	}
	in, out := f.Dims()
	if r, c := dfeatures.Dims(); r != rows || c != out {
		panic("cvgm: dfeatures has the wrong shape")
	}
	if dx != nil {
		if r, c := dx.Dims(); r != rows || c != in {
			panic("cvgm: dx has the wrong shape")
		}
	}
}

// A LinearMap is the feature map φ(x) = W·x. Its parameters are the rows of W (Out×In), one after
// the other. It adds no constants, because the intercept of the learner has the same effect. A
// [Perceptron] with two widths is the same map with constants.
//
// After Forward, a LinearMap keeps a reference to x until Backward.
type LinearMap struct {
	In, Out int

	params []float64
	x      *mat.Dense
	out    []float64
	f      mat.Dense // view of out
}

// Dims returns In and Out.
func (l *LinearMap) Dims() (in, out int) { return l.In, l.Out }

// NumParams returns In·Out.
func (l *LinearMap) NumParams() int { return l.In * l.Out }

// Forward maps the N rows of x. If In or Out is below 1, the error matches ErrDomain. If params or
// x has the wrong size, it matches ErrShape. If features overflow, it matches ErrNotFinite.
func (l *LinearMap) Forward(params []float64, x *mat.Dense) (*mat.Dense, error) {
	if l.In < 1 || l.Out < 1 || l.Out > math.MaxInt32/l.In {
		return nil, args.Bad("LinearMap", qpdiff.ErrDomain, "give it at least one input and one output, and less than 2³¹ parameters", "has In = %d, Out = %d", l.In, l.Out)
	}
	if err := checkForward(l, params, x); err != nil {
		return nil, err
	}
	rows, _ := x.Dims()
	l.x, l.out = x, sample.Resize(l.out, rows*l.Out)
	l.params = append(l.params[:0], params...)
	for i := range rows {
		for o := range l.Out {
			l.out[i*l.Out+o] = floats.Dot(params[o*l.In:(o+1)*l.In], x.RawRowView(i))
		}
	}
	l.f.SetRawMatrix(blas64.General{Rows: rows, Cols: l.Out, Stride: l.Out, Data: l.out})
	return checkFeatures(&l.f)
}

// Backward adds dfeaturesᵀ·x to dparams. It adds dfeatures·W to dx, unless dx is nil. It panics if
// an argument has the wrong size, or if there was no Forward.
func (l *LinearMap) Backward(dparams []float64, dx, dfeatures *mat.Dense) {
	rows, _ := l.f.Dims()
	checkBackward(l, rows, dparams, dx, dfeatures)
	for i := range rows {
		for o, d := range dfeatures.RawRowView(i) {
			floats.AddScaled(dparams[o*l.In:(o+1)*l.In], d, l.x.RawRowView(i))
			if dx != nil {
				floats.AddScaled(dx.RawRowView(i), d, l.params[o*l.In:(o+1)*l.In])
			}
		}
	}
}
