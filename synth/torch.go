package synth

import "math"

// Torch is PyTorch's generator on the CPU after torch.manual_seed. It has only the uniform float32
// numbers of the default initialisation of torch.nn.Linear. The zero value is NewTorch(0). A copy
// of a Torch value has its own copy of the state.
type Torch struct{ mt mt19937 }

// NewTorch returns the generator in the state after torch.manual_seed(seed). As in PyTorch, only
// the low 32 bits of the seed have an effect.
func NewTorch(seed uint64) *Torch {
	t := new(Torch)
	t.mt.seed(uint32(seed))
	return t
}

// uniform returns the next number that uniform_(−bound, bound) draws for a float32 tensor. It
// scales the low 24 bits of a word and rounds once to float32, like PyTorch with fused
// multiply-add. In float64, the product and the sum are exact.
func (t *Torch) uniform(bound float32) float64 {
	u := float64(t.mt.uint32()&(1<<24-1)) * 0x1p-24
	return float64(float32(u*float64(2*bound) - float64(bound)))
}

// Linear sets w and b to the initial weights and bias of a layer torch.nn.Linear. The layer has
// len(b) outputs and k = len(w)/len(b) inputs. The matrix w has one row for each output, in
// row-major order. Weights and bias are float32 numbers that are uniform on ±1/√k. (PyTorch calls
// the distribution of the weights kaiming_uniform with a = √5.) The weights are drawn before the
// bias. To get PyTorch's initial network, call Linear for all layers, from the first to the last.
// Linear panics unless the lengths of w and b fit a layer with at least one input and one output.
func (t *Torch) Linear(w, b []float64) {
	if len(b) == 0 || len(w) == 0 || len(w)%len(b) != 0 {
		panic("synth: Linear: the length of w is not a multiple of the length of b")
	}
	root := math.Sqrt(float64(len(w) / len(b)))
	// PyTorch computes the bound of the weights from the gain √(2/(1+a²)). The float32 value of this
	// bound may differ from the float32 value of 1/√k for k inputs.
	a := math.Sqrt(5)
	gain := math.Sqrt(2 / (1 + float64(a*a)))
	weight, bias := float32(math.Sqrt(3)*(gain/root)), float32(1/root)
	for i := range w {
		w[i] = t.uniform(weight)
	}
	for i := range b {
		b[i] = t.uniform(bias)
	}
}
