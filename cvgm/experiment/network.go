package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// network is the neural network that the paper compares with: the kernel's
// layers and one linear unit on their two features, all trained together on
// the training examples, by the mean softmargin loss (for labels ±1 the binary
// cross entropy of the logit).
type network struct {
	data qpdiff.Data
	phi  *cvgm.Perceptron
	dphi *mat.Dense
}

func newNetwork(m KernelMethod, d qpdiff.Data) *network {
	n, _ := d.X.Dims()
	return &network{d, m.kernel(), mat.NewDense(n, 2, nil)}
}

// numParams counts the kernel's parameters, two weights and a constant.
func (n *network) numParams() int { return n.phi.NumParams() + 3 }

// init draws initial parameters as PyTorch distributes them: uniform on ±1/√n
// for a layer with n inputs.
func (n *network) init(params []float64, src cvgm.Source) {
	kernel := len(params) - 3
	n.phi.Init(params[:kernel], src)
	for i := kernel; i < len(params); i++ {
		params[i] = (2*src.Float64() - 1) / math.Sqrt2
	}
}

// Eval is a cvgm.Objective: the mean softmargin loss.
func (n *network) Eval(grad, params []float64) (float64, error) {
	kernel := len(params) - 3
	w := params[kernel:]
	phi, err := n.phi.Forward(params[:kernel], n.data.X)
	if err != nil {
		return math.NaN(), err
	}
	clear(grad)
	var total float64
	scale := 1 / float64(len(n.data.Y))
	for i, y := range n.data.Y {
		f := phi.RawRowView(i)
		loss, slope := cvgm.SoftMargin{}.Eval(w[0]*f[0]+w[1]*f[1]+w[2], y)
		total += loss * scale
		if grad == nil {
			continue
		}
		slope *= scale
		df, dw := n.dphi.RawRowView(i), grad[kernel:]
		for j := range 2 {
			df[j] = slope * w[j]
			dw[j] += slope * f[j]
		}
		dw[2] += slope
	}
	if grad != nil {
		n.phi.Backward(grad[:kernel], n.dphi)
	}
	return total, nil
}

// predict returns the logits of the rows of x.
func (n *network) predict(params []float64) func(dst []float64, x *mat.Dense) error {
	kernel := len(params) - 3
	w := params[kernel:]
	return func(dst []float64, x *mat.Dense) error {
		phi, err := n.phi.Forward(params[:kernel], x)
		if err != nil {
			return err
		}
		for i := range dst {
			f := phi.RawRowView(i)
			dst[i] = w[0]*f[0] + w[1]*f[1] + w[2]
		}
		return nil
	}
}

// An updateRule moves x along −grad; it may keep what it needs between steps.
type updateRule func(x, grad []float64)

// train takes a number of steps from x, in place.
func train(ctx context.Context, f cvgm.Objective, x []float64, steps int, update updateRule) error {
	grad := make([]float64, len(x))
	for k := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		loss, err := f(grad, x)
		if err == nil && math.IsNaN(loss) {
			err = errors.New("the loss is not a number")
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", k+1, err)
		}
		update(x, grad)
	}
	return nil
}

// gradientDescent is x ← x − s·∇f.
func gradientDescent(s float64) updateRule {
	return func(x, grad []float64) { floats.AddScaled(x, -s, grad) }
}

// accumulatedDescent is x ← x − s·(the sum of all gradients so far): what
// becomes of gradient descent where gradients are never set back to zero.
func accumulatedDescent(s float64) updateRule {
	var total []float64
	return func(x, grad []float64) {
		if total == nil {
			total = make([]float64, len(x))
		}
		floats.Add(total, grad)
		floats.AddScaled(x, -s, total)
	}
}

// adam is the method of Kingma and Ba ("Adam: A Method for Stochastic
// Optimization", ICLR 2015, Algorithm 1) with their constants.
func adam(s float64) updateRule {
	const beta1, beta2, epsilon = .9, .999, 1e-8
	var m, v []float64
	bias1, bias2 := 1., 1.
	return func(x, grad []float64) {
		if m == nil {
			m, v = make([]float64, len(x)), make([]float64, len(x))
		}
		bias1 *= beta1
		bias2 *= beta2
		for i, g := range grad {
			m[i] = beta1*m[i] + (1-beta1)*g
			v[i] = beta2*v[i] + (1-beta2)*g*g
			x[i] -= s * (m[i] / (1 - bias1)) / (math.Sqrt(v[i]/(1-bias2)) + epsilon)
		}
	}
}
