package cvgm

import (
	"math"
	"runtime"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Perceptron is a feature map of fully connected layers with rectified linear units between them.
// Each layer computes z = W·h + b from its inputs h. Each layer except the last passes max(z, 0) to
// the next layer. The paper learns kernels of Widths 2-64-2 (322 parameters) and 2-64-64-2 (4482).
//
// The parameters are ordered by layer. Within a layer, the matrix W comes first, row by row, and b
// follows. Each row of W belongs to an output and has an entry for each input. At the kink z = 0,
// Backward uses 0 as the derivative of max(z, 0); see Generalised.
//
// After Forward, a Perceptron keeps a reference to x until Backward.
type Perceptron struct {
	// Widths are the number of inputs, the numbers of units of the hidden layers, and the number of
	// features. There are at least two widths, all positive.
	Widths []int
	// Workers is the largest number of goroutines that share one call of Forward or Backward. If
	// Workers is zero, the number is GOMAXPROCS. Small networks on few rows use one goroutine. The
	// results do not depend on Workers.
	Workers int

	params []float64 // a copy of the parameters of the last Forward
	layers []layer
	x      blas64.General // the input of the last Forward
	out    mat.Dense      // view of the last layer's h
	kinked bool           // see Generalised

	// These fields hold the arguments of Backward and the methods that compute its parts. They are
	// stored, so that a call of Backward allocates nothing.
	dparams              []float64
	dx, dfeatures        *mat.Dense
	parts                int
	forward, rows, units func(part int) error
	dh                   []float64 // by part, the cotangent of a row of x
	atKink               []bool    // by part
}

// layer is one affine map W·h + b of a Perceptron. Products with W use either the rows of W or the
// rows of its transpose. The longer rows are used, because vector operations on short rows are
// slower than loops: see wideLayer.
type layer struct {
	in, out int
	w, b    []float64 // within Perceptron.params
	wt, dwt []float64 // W transposed (in×out) and work for its cotangent
	h       []float64 // N×out, rectified but in the last layer
	dz      []float64 // N×out, the cotangent of z
	kinks   [][]int   // by part, the entries of h with z = 0, ascending
	start   int       // of W in the parameters
}

// wideLayer is the smallest number of entries on which a vector operation is faster than a
// loop.
const wideLayer = 8

// Dims returns the first and the last of Widths.
func (p *Perceptron) Dims() (in, out int) {
	if len(p.Widths) == 0 {
		return 0, 0
	}
	return p.Widths[0], p.Widths[len(p.Widths)-1]
}

// NumParams returns the sum of (inputs + 1)·outputs over the layers.
func (p *Perceptron) NumParams() int {
	n := 0
	for l := 1; l < len(p.Widths); l++ {
		n += (p.Widths[l-1] + 1) * p.Widths[l]
	}
	return n
}

// Init draws initial parameters in their order. The weights and constants of a layer with n inputs
// are uniform on [−1/√n, 1/√n]. If params has the wrong length, Init panics.
func (p *Perceptron) Init(params []float64, src Source) {
	if len(params) != p.NumParams() {
		panic("cvgm: params has the wrong length")
	}
	for l := 1; l < len(p.Widths); l++ {
		n := (p.Widths[l-1] + 1) * p.Widths[l]
		bound := 1 / math.Sqrt(float64(p.Widths[l-1]))
		for i := range params[:n] {
			params[i] = bound * (2*src.Float64() - 1)
		}
		params = params[n:]
	}
}

// Forward maps the N rows of x. If Widths does not describe a network, the error matches ErrDomain.
// If params or x has the wrong size, it matches ErrShape. If features overflow, it matches
// ErrNotFinite.
func (p *Perceptron) Forward(params []float64, x *mat.Dense) (*mat.Dense, error) {
	if err := p.prepare(params, x); err != nil {
		return nil, err
	}
	if err := qpdiff.ForEach(p.parts, p.parts, p.forward); err != nil {
		return nil, err
	}
	last := &p.layers[len(p.layers)-1]
	h := blas64.General{Rows: p.x.Rows, Cols: last.out, Stride: last.out, Data: last.h}
	p.out.SetRawMatrix(h)
	return checkFeatures(&p.out)
}

// prepare checks the arguments of Forward and lays out the layers.
func (p *Perceptron) prepare(params []float64, x *mat.Dense) error {
	if len(p.Widths) < 2 {
		return args.Bad("Perceptron.Widths", qpdiff.ErrDomain, "give at least the numbers of inputs and of features", "has %d entries", len(p.Widths))
	}
	for i, n := range p.Widths {
		if n <= 0 {
			return args.Bad("Perceptron.Widths", qpdiff.ErrDomain, "give every layer at least one unit", "holds %d at index %d", n, i)
		}
	}
	if err := checkForward(p, params, x); err != nil {
		return err
	}
	p.x = x.RawMatrix()
	p.params = append(p.params[:0], params...)
	if len(p.layers) != len(p.Widths)-1 {
		p.layers = make([]layer, len(p.Widths)-1)
	}
	p.share()
	rest, start := p.params, 0
	for l := range p.layers {
		y := &p.layers[l]
		y.in, y.out, y.start = p.Widths[l], p.Widths[l+1], start
		n := y.in * y.out
		start += n + y.out
		y.h, y.kinks = sample.Resize(y.h, p.x.Rows*y.out), sample.Resize(y.kinks, p.parts)
		y.w, y.b, rest = rest[:n], rest[n:n+y.out], rest[n+y.out:]
		if y.out >= wideLayer {
			y.wt = sample.Resize(y.wt, n)
			for o := range y.out {
				for j, v := range y.w[o*y.in : (o+1)*y.in] {
					y.wt[j*y.out+o] = v
				}
			}
		}
	}
	return nil
}

// One more goroutine is used for every smallPart multiplications. This many multiplications take
// about twenty times as long as waking a goroutine. The number of multiplications is the number of
// rows times the number of parameters.
const smallPart = 1 << 17

// share sets the number of parts into which the rows are divided. Backward also divides the units
// of each layer into this number of parts. Every sum over rows is computed within one part, in the
// order of the rows. So the number of parts does not affect the bits of the results.
func (p *Perceptron) share() {
	workers := p.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p.parts = max(1, min(workers, p.x.Rows, p.x.Rows*len(p.params)/smallPart))
	if p.forward == nil {
		p.forward, p.rows, p.units = p.forwardPart, p.rowsPart, p.unitsPart
	}
}

// part divides n indices among the parts, and returns the range of the indices of part k.
func (p *Perceptron) part(k, n int) (lo, hi int) { return k * n / p.parts, (k + 1) * n / p.parts }

// hiddenEntries returns the number of float64s that a Perceptron stores for the given number of
// rows: outputs of all layers except the last, cotangents of the outputs of all layers, and
// transposed matrices.
func (p *Perceptron) hiddenEntries(rows float64) float64 {
	entries := 2 * float64(p.NumParams())
	for l, width := range p.Widths[1:] {
		entries += rows * float64(width) // the cotangents
		if l < len(p.Widths)-2 {
			entries += rows * float64(width)
		}
	}
	return entries
}

// input returns the input of layer l for row i.
func (p *Perceptron) input(l, i int) []float64 {
	if l == 0 {
		return p.x.Data[i*p.x.Stride : i*p.x.Stride+p.x.Cols]
	}
	return p.layers[l-1].row(p.layers[l-1].h, i)
}

// row returns row i of a, which is h or dz.
func (y *layer) row(a []float64, i int) []float64 { return a[i*y.out : (i+1)*y.out] }

// forwardPart computes the h of a part of the rows.
func (p *Perceptron) forwardPart(part int) error {
	lo, hi := p.part(part, p.x.Rows)
	for l := range p.layers {
		y := &p.layers[l]
		for i := lo; i < hi; i++ {
			y.forward(y.row(y.h, i), p.input(l, i))
		}
		if l == len(p.layers)-1 {
			break
		}
		kinks := y.kinks[part][:0]
		h := y.h[lo*y.out : hi*y.out]
		for i, z := range h {
			if z == 0 {
				kinks = append(kinks, lo*y.out+i)
			}
			h[i] = max(z, 0) // and NaN if z is
		}
		y.kinks[part] = kinks
	}
	return nil
}

// forward sets z = W·h + b.
func (y *layer) forward(z, h []float64) {
	copy(z, y.b)
	if y.out < wideLayer {
		for o := range z {
			z[o] += floats.Dot(y.w[o*y.in:(o+1)*y.in], h)
		}
		return
	}
	for j, v := range h {
		if v != 0 { // about half of the rectified units
			floats.AddScaled(z, v, y.wt[j*y.out:(j+1)*y.out])
		}
	}
}

// Backward takes dfeatures, the derivative of a scalar with respect to the features that the last
// Forward returned. It adds the scalar's derivative with respect to the parameters to dparams. If
// dx is not nil, it adds the derivative with respect to x to dx. It panics if an argument has the
// wrong size, or if there was no Forward.
func (p *Perceptron) Backward(dparams []float64, dx, dfeatures *mat.Dense) {
	rows, _ := p.out.Dims()
	checkBackward(p, rows, dparams, dx, dfeatures)
	p.dparams, p.dx, p.dfeatures = dparams, dx, dfeatures
	p.dh, p.atKink = sample.Resize(p.dh, p.parts*p.x.Cols), sample.Resize(p.atKink, p.parts)
	for l := range p.layers {
		y := &p.layers[l]
		y.dz = sample.Resize(y.dz, rows*y.out)
		if y.in < wideLayer {
			y.dwt = sample.Resize(y.dwt, y.in*y.out)
			clear(y.dwt)
		}
	}
	_ = qpdiff.ForEach(p.parts, p.parts, p.rows)
	_ = qpdiff.ForEach(p.parts, p.parts, p.units)
	p.kinked = slices.Contains(p.atKink, true)
	p.dparams, p.dx, p.dfeatures = nil, nil, nil
}

// rowsPart computes the cotangents of z for a part of the rows. If Backward has a dx, rowsPart adds
// the cotangents of x to dx.
func (p *Perceptron) rowsPart(part int) error {
	lo, hi := p.part(part, p.x.Rows)
	last := len(p.layers) - 1
	kinked := false
	for i := lo; i < hi; i++ {
		copy(p.layers[last].row(p.layers[last].dz, i), p.dfeatures.RawRowView(i))
		for l := last; l > 0; l-- {
			y, below := &p.layers[l], &p.layers[l-1]
			dh := below.row(below.dz, i)
			y.backward(dh, y.row(y.dz, i))
			kinked = below.applyReLUSlope(dh, i, below.kinks[part]) || kinked
		}
		if p.dx != nil {
			y, dh := &p.layers[0], p.dh[part*p.x.Cols:(part+1)*p.x.Cols]
			y.backward(dh, y.row(y.dz, i))
			floats.Add(p.dx.RawRowView(i), dh)
		}
	}
	p.atKink[part] = kinked
	return nil
}

// unitsPart computes the derivative with respect to the parameters of some units of each layer: the
// units of the given part. It adds this derivative to dparams. It sums over the rows in their
// order.
func (p *Perceptron) unitsPart(part int) error {
	for l := range p.layers {
		y := &p.layers[l]
		lo, hi := p.part(part, y.out)
		dw := p.dparams[y.start : y.start+y.in*y.out]
		db := p.dparams[y.start+y.in*y.out:][:y.out]
		for i := range p.x.Rows {
			dz := y.row(y.dz, i)[lo:hi]
			y.addProduct(dw[lo*y.in:hi*y.in], dz, p.input(l, i), lo)
			floats.Add(db[lo:hi], dz)
		}
		if y.in < wideLayer {
			for o := lo; o < hi; o++ {
				for j := range y.in {
					dw[o*y.in+j] += y.dwt[j*y.out+o]
				}
			}
		}
	}
	return nil
}

// Generalised reports whether the last Backward met a unit at its kink, z = 0, with a cotangent
// other than 0. The derivative does not exist at such a kink, and Backward used the derivative for
// z < 0.
func (p *Perceptron) Generalised() bool { return p.kinked }

// applyReLUSlope replaces dh, the cotangent of row i of h, by the cotangent of row i of z. It
// reports whether dh was different from 0 at one of the kinks.
func (y *layer) applyReLUSlope(dh []float64, i int, kinks []int) (metKink bool) {
	at, _ := slices.BinarySearch(kinks, i*y.out)
	for _, k := range kinks[at:] {
		if k >= (i+1)*y.out {
			break
		}
		metKink = metKink || dh[k-i*y.out] != 0
	}
	for j, h := range y.row(y.h, i) {
		if h == 0 {
			dh[j] = 0
		}
	}
	return metKink
}

// backward sets dh = Wᵀdz.
func (y *layer) backward(dh, dz []float64) {
	clear(dh)
	for o, v := range dz {
		if v != 0 { // about half of the rectified units
			floats.AddScaled(dh, v, y.w[o*y.in:(o+1)*y.in])
		}
	}
}

// addProduct adds dz·hᵀ to dw. dz belongs to consecutive units, the first of which is unit
// firstUnit. If the layer has few inputs, addProduct adds the transpose to dwt instead.
func (y *layer) addProduct(dw, dz, h []float64, firstUnit int) {
	if y.in < wideLayer {
		for j, v := range h {
			floats.AddScaled(y.dwt[j*y.out+firstUnit:][:len(dz)], v, dz)
		}
		return
	}
	for _, v := range dz {
		if v != 0 { // about half of the rectified units
			floats.AddScaled(dw[:len(h)], v, h)
		}
		dw = dw[len(h):]
	}
}
