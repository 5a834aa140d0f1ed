package samplesize

import (
	"context"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// network is the neural network with which the paper compares CVGM. It consists of the layers of
// the kernel, and of one linear unit on the two features of the kernel. All layers are trained
// together on the training examples. The objective is the mean logistic loss, which is the binary
// cross entropy of the logit for labels ±1.
type network struct {
	data learn.Data
	phi  *cvgm.Perceptron
	dphi *mat.Dense
}

func newNetwork(m kernels.KernelCVGM, d learn.Data) *network {
	n, _ := d.X.Dims()
	return &network{d, m.Kernel(), mat.NewDense(n, 2, nil)}
}

// numParams returns the number of the network's parameters: the parameters of the kernel, two
// weights and a constant.
func (n *network) numParams() int { return n.phi.NumParams() + 3 }

// init draws initial parameters from PyTorch's distribution. For a layer with n inputs, this is the
// uniform distribution on ±1/√n.
func (n *network) init(params []float64, src cvgm.Source) {
	kernel := len(params) - 3
	n.phi.Init(params[:kernel], src)
	for i := kernel; i < len(params); i++ {
		params[i] = (2*src.Float64() - 1) / math.Sqrt2
	}
}

// Eval is a search.Objective. It returns the mean logistic loss.
func (n *network) Eval(grad, params []float64) (float64, error) {
	kernel := len(params) - 3
	w := params[kernel:]
	phi, err := n.phi.Forward(params[:kernel], n.data.Dense())
	if err != nil {
		return math.NaN(), err
	}
	clear(grad)
	var total float64
	scale := 1 / float64(len(n.data.Y))
	for i, y := range n.data.Y {
		f := phi.RawRowView(i)
		loss, slope := cvgm.LogisticLoss{}.Eval(w[0]*f[0]+w[1]*f[1]+w[2], y)
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
		n.phi.Backward(grad[:kernel], nil, n.dphi)
	}
	return total, nil
}

// predict returns a function that computes the logits of the rows of x.
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

// accumulated returns the objective f with a wrong gradient: the sum of all gradients that f has
// returned so far. A program uses this sum if it never resets its gradients to zero.
func accumulated(f search.Objective) search.Objective {
	var total []float64
	return func(grad, x []float64) (float64, error) {
		loss, err := f(grad, x)
		if err == nil && grad != nil {
			if total == nil {
				total = make([]float64, len(grad))
			}
			floats.Add(total, grad)
			copy(grad, total)
		}
		return loss, err
	}
}

// accuracy returns the test accuracy of the network after a search that minimises f from s.Start.
func (n *network) accuracy(ctx context.Context, s experiment.Setup, searcher search.Searcher, f search.Objective) (float64, error) {
	s.Objective = f
	x, err := kernels.LastPoint(s.Search(ctx, searcher))
	if err != nil {
		return 0, err
	}
	on, err := experiment.EvaluateFunc(n.predict(x), s.Test)
	return on.Accuracy, err
}
