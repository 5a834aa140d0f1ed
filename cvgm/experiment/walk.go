package experiment

import (
	"iter"
	"math"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// A KernelWalk is one variant of the gradient method on a learned kernel, one
// step at a time and without end. Its first steps are those that Run takes.
type KernelWalk struct {
	Train, Test qpdiff.Data
	Bayes       *synth.BayesRule

	method      KernelMethod
	start       []float64
	loss, exact *kernelLoss
}

// Walk draws what Run draws.
func (p RingsParams) Walk(v Variant) (*KernelWalk, error) {
	k, err := p.draw()
	if err != nil {
		return nil, err
	}
	return p.newWalk(v, k)
}

// Walk draws what Run draws.
func (p XORParams) Walk(v Variant) (*KernelWalk, error) {
	k, err := p.draw()
	if err != nil {
		return nil, err
	}
	return p.newWalk(v, k)
}

func (p LearnedKernelParams) newWalk(v Variant, k kernelProblem) (*KernelWalk, error) {
	w := &KernelWalk{Train: k.train, Test: k.test, Bayes: k.rule, method: p.KernelMethod, start: k.start}
	var err error
	if w.loss, err = p.newKernelLoss(v, k.train, k.splits); err != nil {
		return nil, err
	}
	if v.detached() {
		w.exact, err = p.newKernelLoss(v.exact(), k.train, k.splits)
	}
	return w, err
}

// KernelState is where a walk stands after a number of steps.
type KernelState struct {
	Step   int
	CVLoss float64
	Model  *cvgm.Model // fitted to all training examples
	// Cosine is that between the variant's direction and the exact gradient of
	// the same loss: 1 where the variant is that gradient.
	Cosine float64
}

// Performance is what a classifier achieves on some examples: its mean
// logistic loss, and the share of the examples whose label its prediction has
// the sign of.
type Performance struct{ Loss, Accuracy float64 }

// Judge measures a model on the examples.
func Judge(m *cvgm.Model, d qpdiff.Data) (Performance, error) { return judge(m.Predict, d) }

// judge measures a prediction function.
func judge(predict func(dst []float64, x *mat.Dense) error, d qpdiff.Data) (Performance, error) {
	predictions := make([]float64, len(d.Y))
	if err := predict(predictions, d.X); err != nil {
		return Performance{}, err
	}
	var p Performance
	for i, v := range predictions {
		loss, _ := cvgm.LogisticLoss{}.Eval(v, d.Y[i])
		p.Loss += loss
		if v*d.Y[i] > 0 {
			p.Accuracy++
		}
	}
	n := float64(len(d.Y))
	return Performance{p.Loss / n, p.Accuracy / n}, nil
}

// States yields the states after 0, 1, 2, … steps, to the first error. All
// their models share the walk's feature map, and with it one goroutine.
func (w *KernelWalk) States() iter.Seq2[KernelState, error] {
	return func(yield func(KernelState, error) bool) {
		endless := w.method
		endless.Steps = math.MaxInt - 1
		gradient := make([]float64, len(w.start))
		for step, err := range endless.search(w.loss, w.start) {
			s := KernelState{Step: step.Evaluations - 1, CVLoss: step.Loss, Cosine: 1}
			if err == nil && w.exact != nil {
				if _, err = w.exact.Eval(gradient, step.X); err == nil {
					s.Cosine = cosine(step.Grad, gradient)
				}
			}
			if err == nil {
				s.Model, err = w.loss.cv.Final(step.X)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// An ElasticNetWalk is the gradient method on an elastic net's penalties, one
// step at a time and without end. Its first steps are those that Run takes.
type ElasticNetWalk struct {
	Train, Test qpdiff.Data
	Coef        []float64 // that made the data
	// LeastSquares and TrueCoefficients are the test losses of the fit without
	// penalties and of Coef.
	LeastSquares, TrueCoefficients float64

	contest *contest
}

// Walk draws what Run draws.
func (p ElasticNetParams) Walk() (*ElasticNetWalk, error) {
	c, _, err := p.published()
	if err != nil {
		return nil, err
	}
	w := &ElasticNetWalk{Train: c.train, Test: c.test, Coef: c.coef, TrueCoefficients: linearRisk(c.test, c.coef, asIs), contest: c}
	w.LeastSquares, err = c.testLoss(leastSquares)
	return w, err
}

// ElasticNetState is where a walk stands after a number of steps. The losses
// are mean squared errors.
type ElasticNetState struct {
	Step                        int
	Lambda                      [2]float64
	CVLoss, TrainLoss, TestLoss float64
	Model                       *cvgm.Model // fitted to all training examples
}

// States yields the states after 0, 1, 2, … steps, to the first error.
func (w *ElasticNetWalk) States() iter.Seq2[ElasticNetState, error] {
	return func(yield func(ElasticNetState, error) bool) {
		for step, err := range w.contest.gradient(math.MaxInt) {
			s := ElasticNetState{Step: step.Evaluations - 1, Lambda: [2]float64(step.X), CVLoss: step.Loss}
			if err == nil {
				s.Model, err = w.contest.cv.Final(step.X)
			}
			if err == nil {
				s.TrainLoss, err = s.Model.Risk(cvgm.SquaredError{}, w.Train)
			}
			if err == nil {
				s.TestLoss, err = s.Model.Risk(cvgm.SquaredError{}, w.Test)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// CVSurface evaluates the CV loss, which the walk descends, at n values of each
// penalty from 10^low to 10^high.
func (w *ElasticNetWalk) CVSurface(low, high float64, n int) (ElasticNetSurface, error) {
	axis := logspace(low, high, n)
	s := ElasticNetSurface{Lambda1: axis, Lambda2: axis}
	for _, l1 := range axis {
		row := make([]float64, n)
		for j, l2 := range axis {
			var err error
			if row[j], err = w.contest.cv.Eval(nil, []float64{l1, l2}); err != nil {
				return s, err
			}
		}
		s.CV = append(s.CV, row)
	}
	return s, nil
}
