package differentiability

import (
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/stability"
	"cvgm/qpdiff/learn"
	"cvgm/synth"
)

// LinearExamples describes data with normally distributed features. The labels are x₁ − x₂ + ½x₃ +
// noise·ε for the features x and standard normal noise ε, or the signs of these numbers. Other
// features have no effect.
type LinearExamples struct {
	experiment.FreshData
	Train    int     `help:"training examples N" range:"[8,∞)" small:"[16,30]" setting:"N = %v examples"`
	Features int     `help:"features n of the linear learners" range:"[3,∞)" small:"[3,5]" setting:"%v standard normal features as drawn, not standardised, no intercept"`
	Noise    float64 `help:"standard deviation of the noise in the scores whose signs are the labels" unit:"scores" range:"[0,∞)" small:"[.1,1]" setting:"labels x₁ − x₂ + ½x₃ + %v·ε, for classes their signs"`
}

// The paper does not state how many examples it uses. With the numbers chosen here, all experiments
// run within a minute.
var defaultLinearExamples = LinearExamples{Train: 40, Features: 6, Noise: .5}

// firstSeed is the seed of all streams in draw 0. A stream for a numbered data set has this seed in
// every draw, because its name contains the number.
const firstSeed = 1

// stream returns the stream of random numbers for one purpose. Each draw has one data set for each
// purpose.
func (p LinearExamples) stream(purpose string) *synth.Stream {
	return synth.NewStream(uint64(firstSeed+p.Draw), purpose)
}

func (p LinearExamples) population(sign bool) stability.Population {
	coef := make([]float64, p.Features)
	copy(coef, []float64{1, -1, .5})
	return stability.Population{Coef: coef, Noise: p.Noise, Sign: sign}
}

// regression draws n examples with numbers as labels.
func (p LinearExamples) regression(src synth.Source, n int) learn.Data {
	return p.population(false).Draw(src, n)
}

// classes draws n examples with signs as labels.
func (p LinearExamples) classes(src synth.Source, n int) learn.Data {
	return p.population(true).Draw(src, n)
}

// LinearProblem is LinearExamples with the penalties of a learner.
type LinearProblem struct {
	LinearExamples
	Lambda1 float64 `help:"weight of the l1 penalty" range:"[1e-300,∞)" small:"[.02,.1]" setting:"λ1 = %v"`
	Lambda2 float64 `help:"weight of the squared l2 penalty" range:"(0,∞)" small:"[.05,.5]" setting:"λ2 = %v"`
}

var defaultLinearProblem = LinearProblem{LinearExamples: defaultLinearExamples, Lambda1: .05, Lambda2: .1}

func normals(src synth.Source, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = src.NormFloat64()
	}
	return v
}
