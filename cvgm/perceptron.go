package cvgm

import (
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Perceptron is a feature map made of fully connected layers with rectified linear units
// between them. Each layer computes z = W·h + b, and each but the last h = max(z, 0). The paper
// learns kernels of Widths 2-64-2 (322 parameters) and 2-64-64-2 (4482).
//
// The parameters are ordered by layer: the weights W row by row (one row of inputs per output),
// then the constants b. At z = 0, a kink, the derivative of max(z, 0) is taken to be 0; see
// Generalised.
//
// A Perceptron keeps a reference to the x of the last Forward until Backward.
type Perceptron struct {
	// Widths are the numbers of inputs, of the units of every hidden layer,
	// and of features: at least two positive numbers.
	Widths []int

	params []float64 // a copy of the parameters of the last Forward
	layers []layer
	x      blas64.General // the input of the last Forward
	out    mat.Dense      // view of the last layer's h
	dz, dh []float64      // work: the cotangents of z and of the h before it
	kinked bool           // see Generalised
}

// layer is one W·h + b of a Perceptron. Vectors shorter than wideLayer are not worth a separate
// call, so the products with W run along its longer side, with W or its transpose.
type layer struct {
	in, out int
	w, b    []float64 // within Perceptron.params
	wt, dwt []float64 // W transposed (in×out) and work for its cotangent
	h       []float64 // N×out, rectified but in the last layer
	kinks   []int     // the entries of h with z = 0, ascending
}

// wideLayer is the length from which the vector kernels pay.
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

// Init draws initial parameters: the weights and constants of a layer with n inputs uniformly
// from ±1/√n, in the order of the parameters. A params of the wrong length panics.
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

// Forward maps the N rows of x. Errors match ErrDomain for Widths that do not make a network,
// ErrShape for params or x of another size, and ErrNotFinite for features that overflow.
func (p *Perceptron) Forward(params []float64, x *mat.Dense) (*mat.Dense, error) {
	if err := p.prepare(params, x); err != nil {
		return nil, err
	}
	h := p.x
	for l := range p.layers {
		y := &p.layers[l]
		y.h = sample.Resize(y.h, h.Rows*y.out)
		for i := range h.Rows {
			y.forward(y.h[i*y.out:(i+1)*y.out], h.Data[i*h.Stride:i*h.Stride+y.in])
		}
		y.kinks = y.kinks[:0]
		if l < len(p.layers)-1 {
			for i, z := range y.h {
				if z == 0 {
					y.kinks = append(y.kinks, i)
				}
				y.h[i] = max(z, 0) // and NaN if z is
			}
		}
		h = blas64.General{Rows: h.Rows, Cols: y.out, Stride: y.out, Data: y.h}
	}
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
	rest := p.params
	for l := range p.layers {
		y := &p.layers[l]
		y.in, y.out = p.Widths[l], p.Widths[l+1]
		n := y.in * y.out
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

// hiddenEntries counts the entries of the layers without the output of the last one, and the
// entries of the transposed matrices.
func (p *Perceptron) hiddenEntries(rows float64) float64 {
	entries := 2 * float64(p.NumParams())
	for l := 1; l < len(p.Widths)-1; l++ {
		entries += rows * float64(p.Widths[l])
	}
	return entries
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

// Backward takes the derivative of a scalar with respect to the features of the last Forward.
// It adds to dparams the derivative with respect to the parameters and, if dx is not nil, to dx
// the derivative with respect to the rows. Slices of another size, or a missing Forward, panic.
func (p *Perceptron) Backward(dparams []float64, dx, dfeatures *mat.Dense) {
	rows, _ := p.out.Dims()
	checkBackward(p, rows, dparams, dx, dfeatures)
	widest := slices.Max(p.Widths)
	p.dz, p.dh = sample.Resize(p.dz, widest), sample.Resize(p.dh, widest)
	p.kinked = false
	for l := range p.layers {
		y := &p.layers[l]
		if y.in < wideLayer {
			y.dwt = sample.Resize(y.dwt, y.in*y.out)
			clear(y.dwt)
		}
	}
	d := dfeatures.RawMatrix()
	for i := range rows {
		copy(p.dz, d.Data[i*d.Stride:i*d.Stride+d.Cols])
		if dh := p.rowBackward(dparams, i, dx != nil); dx != nil {
			floats.Add(dx.RawRowView(i), dh)
		}
	}
	end := 0
	for l := range p.layers {
		y := &p.layers[l]
		if y.in < wideLayer {
			dw := dparams[end : end+y.in*y.out]
			for o := range y.out {
				for j := range y.in {
					dw[o*y.in+j] += y.dwt[j*y.out+o]
				}
			}
		}
		end += (y.in + 1) * y.out
	}
}

// rowBackward adds the part of row i in the derivatives to dparams. dz begins with the
// cotangent of its features. It returns the cotangent of the row, which is empty unless it is
// wanted.
func (p *Perceptron) rowBackward(dparams []float64, i int, wanted bool) (dh []float64) {
	end := len(dparams)
	for l := len(p.layers) - 1; l >= 0; l-- {
		y := &p.layers[l]
		h := p.x.Data[i*p.x.Stride : i*p.x.Stride+p.x.Cols]
		if l > 0 {
			h = p.layers[l-1].h[i*y.in : (i+1)*y.in]
		}
		dh = p.dh[:0]
		if l > 0 || wanted {
			dh = p.dh[:y.in]
		}
		start := end - (y.in+1)*y.out
		y.backward(dparams[start:end], dh, p.dz[:y.out], h)
		if l > 0 && p.layers[l-1].rectify(dh, i) {
			p.kinked = true
		}
		p.dz, p.dh = p.dh, p.dz
		end = start
	}
	return dh
}

// Generalised reports whether the last Backward met a unit at its kink, z = 0,
// with a cotangent other than 0. The derivative does not exist there; Backward
// took it to be the one of z < 0.
func (p *Perceptron) Generalised() bool { return p.kinked }

// rectify replaces dh, the cotangent of row i of h, by the cotangent of z, and reports whether
// dh was not 0 at a kink.
func (y *layer) rectify(dh []float64, i int) (kinked bool) {
	at, _ := slices.BinarySearch(y.kinks, i*y.out)
	for _, k := range y.kinks[at:] {
		if k >= (i+1)*y.out {
			break
		}
		kinked = kinked || dh[k-i*y.out] != 0
	}
	for j, h := range y.h[i*y.out : (i+1)*y.out] {
		if h == 0 {
			dh[j] = 0
		}
	}
	return kinked
}

// backward adds dz·hᵀ and dz to the cotangents of W and b and, unless dh is
// empty, sets it to Wᵀdz.
func (y *layer) backward(dparams, dh, dz, h []float64) {
	floats.Add(dparams[y.in*y.out:], dz)
	if y.in < wideLayer {
		for j, v := range h {
			floats.AddScaled(y.dwt[j*y.out:(j+1)*y.out], v, dz)
		}
		if len(dh) == 0 {
			return
		}
	}
	clear(dh)
	for o, v := range dz {
		if v == 0 { // about half of the rectified units
			continue
		}
		row := o * y.in
		if y.in >= wideLayer {
			floats.AddScaled(dparams[row:row+y.in], v, h)
		}
		if len(dh) > 0 {
			floats.AddScaled(dh, v, y.w[row:row+y.in])
		}
	}
}
