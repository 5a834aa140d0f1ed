package table

import (
	"cmp"
	"fmt"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff/kernel"
)

// portableKernel is a kernel whose values have the same bits on every processor.
type portableKernel struct {
	kernel.Kernel
	eval func(x, z []float64) float64
}

func (k portableKernel) Eval(_, x, z []float64) float64 { return k.eval(x, z) }

// kernelCode is a kernel with its parameters, as a function and as Go code.
type kernelCode struct {
	eval   func(x, z []float64) float64
	code   string
	widths []float64 // the variable widths in code; nil: code does not use it
}

// codeOf returns the code of the kernel of a valid machine. If the kernel is of another package, it
// returns the zero value.
func codeOf(m *kernel.Model) kernelCode {
	p := m.Params
	if len(m.Coef) == 0 { // the machine has no parameters, and its kernel is never evaluated
		return kernelCode{eval: func(_, _ []float64) float64 { return 0 }, code: "0"}
	}
	switch k := m.Kernel.(type) {
	case nil, kernel.RBF:
		return kernelCode{eval: func(x, z []float64) float64 { return portable.RBF(p[0], x, z) }, code: fmt.Sprintf("RBF(%s, x, z)", literal(p[0]))}
	case kernel.Polynomial:
		n := cmp.Or(k.Degree, 3)
		return kernelCode{eval: func(x, z []float64) float64 { return portable.Polynomial(p[0], p[1], n, x, z) },
			code: fmt.Sprintf("Polynomial(%s, %s, %d, x, z)", literal(p[0]), literal(p[1]), n)}
	case kernel.ARD:
		widths := p
		if k.Groups != nil {
			widths = make([]float64, len(k.Groups))
			for j, g := range k.Groups {
				widths[j] = p[g]
			}
		}
		f := [...]func(float64) float64{kernel.Gaussian: portable.Gaussian, kernel.Matern32: portable.Matern32, kernel.Matern52: portable.Matern52}[k.Shape]
		return kernelCode{func(x, z []float64) float64 { return f(portable.Distance(widths, x, z)) }, fmt.Sprintf("%v(Distance(widths, x, z))", k.Shape), widths}
	}
	return kernelCode{}
}

// portableModel returns m with a portable kernel, if the kernel of m is of package kernel.
// Otherwise it returns m.
func portableModel(m *cvgm.Model) *cvgm.Model {
	if m.Kernel == nil || m.Kernel.Check() != nil { // Predict reports the error
		return m
	}
	part, machine := *m, *m.Kernel
	if part.Kernel = &machine; machine.Kernel == nil {
		machine.Kernel = kernel.RBF{}
	}
	if k := codeOf(m.Kernel); k.eval != nil {
		machine.Kernel = portableKernel{machine.Kernel, k.eval}
	}
	return &part
}
