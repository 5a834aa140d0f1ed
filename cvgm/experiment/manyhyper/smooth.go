package manyhyper

import (
	"math"

	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/spline"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// Smooths describes data by a sum of smooth functions of single features. The functions [Truths]
// act on the first four features. The other features have no effect. All features are uniform on
// [0, 1).
type Smooths struct {
	Train    int     `help:"training examples" range:"[4,∞)" small:"[24,30]" setting:"N = %v"`
	Test     int     `help:"test examples" range:"[1,∞)" small:"[10,30]" setting:"%v test examples"`
	Features int     `help:"features, of which the first four have an effect" range:"[4,∞)" small:"{4,6}" setting:"%v features, uniform on [0, 1)"`
	Noise    float64 `help:"standard deviation of the noise" range:"[0,1e50]" small:"[.1,2]" setting:"noise of standard deviation %v"`
}

// A Truth is a smooth function of a number in [0, 1].
type Truth struct {
	Name string
	Of   func(x float64) float64
}

// Truths are the functions of Smooths: three functions of Gu and Wahba (1991), and a straight line.
var Truths = []Truth{
	{"2 sin(πx)", func(x float64) float64 { return 2 * math.Sin(math.Pi*x) }},
	{"exp(2x)", func(x float64) float64 { return math.Exp(2 * x) }},
	{"two peaks", func(x float64) float64 {
		return .2*math.Pow(x, 11)*math.Pow(10*(1-x), 6) + 10*math.Pow(10*x, 3)*math.Pow(1-x, 10)
	}},
	{"3x", func(x float64) float64 { return 3 * x }},
}

// raw draws features, and computes labels with noise.
func (s Smooths) raw(src synth.Source, rows int) (x *mat.Dense, y []float64) {
	x, y = uniformRows(src, rows, s.Features), make([]float64, rows)
	for i := range y {
		for j, f := range Truths {
			y[i] += f.Of(x.At(i, j))
		}
		y[i] += s.Noise * src.NormFloat64()
	}
	return x, y
}

// bases is the number of B-splines of a smooth term.
const bases = 10

// problem returns an additive model with a penalty for each group of smooth terms.
func (s Smooths) problem(name string) problem {
	splines := portable.CentredSplines{Count: bases, High: 1}
	draw := func(src synth.Source, rows int) learn.Data {
		raw, y := s.raw(src, rows)
		x := mat.NewDense(rows, s.Features*splines.Width(), nil)
		for i := range rows {
			row := x.RawRowView(i)
			for j, v := range raw.RawRowView(i) {
				splines.Set(v, j*splines.Width(), func(k int, v float64) { row[k] = v })
			}
		}
		return learn.Data{X: x, Y: y}
	}
	return problem{
		name: name, features: s.Features, box: []interval{smoothBox},
		draw: func(stream func(string) *synth.Stream) (train, test learn.Data) {
			return draw(stream("training data"), s.Train), draw(stream("test data"), s.Test)
		},
		learner: func(groups int) learn.Learner {
			l := &penalised.GLM{Intercept: true, Raw: true}
			for g := range groups {
				terms := s.Features / groups
				group := make([]penalised.Penalty, terms)
				for j := range group {
					group[j] = penalised.Penalty{First: (g*terms + j) * splines.Width(), S: spline.Penalty(bases)}
				}
				l.Penalties = append(l.Penalties, oneOfPenalties("", group))
			}
			return l
		},
	}
}

// oneOfPenalties combines the penalties of neighbouring features to one penalty, their sum, with
// the given name.
func oneOfPenalties(name string, all []penalised.Penalty) penalised.Penalty {
	first, last := all[0], all[len(all)-1]
	n := last.First + last.S.SymmetricDim() - first.First
	sum := mat.NewSymDense(n, nil)
	for _, p := range all {
		at := p.First - first.First
		for i := range p.S.SymmetricDim() {
			for j := i; j < p.S.SymmetricDim(); j++ {
				sum.SetSym(at+i, at+j, p.S.At(i, j))
			}
		}
	}
	return penalised.Penalty{Name: name, First: first.First, S: sum}
}
