package tune

import (
	"math"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// This file draws the data sets of the simulation in coverage_test.go.

// A population draws rows of features and labels. Its coefficients are drawn once for each data
// set.
type population struct {
	name    string
	classes bool // labels ±1
	chance  bool // labels and features are independent
	set     func(src *synth.Stream, n int) func() (x []float64, y float64)
}

// The populations chosenOn determined the rules of the nested estimate. The populations checkedOn
// test the rules.
var (
	chosenOn = []population{
		{"linear", false, false, linearSet(func(_ *synth.Stream, _ []float64, e float64) float64 { return e })},
		{"heteroscedastic", false, false, linearSet(func(_ *synth.Stream, x []float64, e float64) float64 { return e * math.Exp(x[0]-.5) })},
		{"heavy tails", false, false, linearSet(func(src *synth.Stream, _ []float64, e float64) float64 {
			return e / math.Sqrt((square(src)+square(src)+square(src)+square(src)+square(src))/5)
		})},
		{"friedman 1", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
			noise := .5 + 2*src.Float64()
			return func() ([]float64, float64) {
				x := uniforms(src, max(n, 5))
				return x, 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-.5)*(x[2]-.5) + 10*x[3] + 5*x[4] + noise*src.NormFloat64()
			}
		}},
		{"noise", false, true, func(src *synth.Stream, n int) func() ([]float64, float64) {
			return func() ([]float64, float64) { return normals(src, n), src.NormFloat64() }
		}},
		{"logistic", true, false, logitSet(0, 1.5)},
		{"imbalanced", true, false, logitSet(-2, 1.5)},
		{"near-separable", true, false, logitSet(0, 8)},
		{"labels by chance", true, true, logitSet(0, 0)},
	}
	checkedOn = []population{
		{"skewed noise", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
			theta, noise := normals(src, n), .3+src.Float64()
			return func() ([]float64, float64) {
				x := correlatedNormals(src, n, .7)
				return x, dot(theta, x)/math.Sqrt(float64(n)) + noise*(math.Exp(.7*src.NormFloat64())-math.Exp(.245))
			}
		}},
		{"noise by level", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
			theta := normals(src, n)
			return func() ([]float64, float64) {
				x := normals(src, n)
				f := dot(theta, x) / math.Sqrt(float64(n))
				return x, f + (.2+.6*math.Abs(f))*src.NormFloat64()
			}
		}},
		{"friedman 2", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
			noise := 20 + 100*src.Float64()
			return func() ([]float64, float64) {
				x := uniforms(src, max(n, 4))
				a, b := 100*x[0], (40+520*x[1])*math.Pi*x[2]
				return x, math.Hypot(a, b) + noise*src.NormFloat64()
			}
		}},
		{"few of many", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
			noise := .5 + 1.5*src.Float64()
			return func() ([]float64, float64) {
				x := correlatedNormals(src, n, .3)
				return x, 1.5*x[0] - x[1] + noise*src.NormFloat64()
			}
		}},
		{"targets by chance", false, true, func(src *synth.Stream, n int) func() ([]float64, float64) {
			return func() ([]float64, float64) { return correlatedNormals(src, n, .5), math.Exp(.5 * src.NormFloat64()) }
		}},
		{"two clouds", true, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
			shift, apart := normals(src, n), .4+1.6*src.Float64()
			length := math.Sqrt(dot(shift, shift))
			return func() ([]float64, float64) {
				x, y := normals(src, n), sign(src.Float64()-.4)
				for j := range x {
					x[j] += y * apart * shift[j] / length
				}
				return x, y
			}
		}},
		{"flipped labels", true, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
			theta, flipped := normals(src, n), .05+.2*src.Float64()
			return func() ([]float64, float64) {
				x := correlatedNormals(src, n, .5)
				y := sign(dot(theta, x))
				if src.Float64() < flipped {
					y = -y
				}
				return x, y
			}
		}},
		{"coins", true, true, func(src *synth.Stream, n int) func() ([]float64, float64) {
			share := .15 + .35*src.Float64()
			return func() ([]float64, float64) { return uniforms(src, n), sign(src.Float64() - share) }
		}},
	}
)

// faintOn holds populations with much noise, on which the best model reduces the constant
// prediction's loss by a fifth to a half.
var faintOn = []population{
	{"faint line", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
		theta, noise := normals(src, n), 1+src.Float64()
		return func() ([]float64, float64) {
			x := normals(src, n)
			return x, dot(theta, x)/math.Sqrt(dot(theta, theta)) + noise*src.NormFloat64()
		}
	}},
	{"faint clouds", true, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
		apart := .7 + .6*src.Float64()
		return func() ([]float64, float64) {
			x, y := normals(src, n), sign(src.Float64()-.5)
			x[0] += y * apart
			return x, y
		}
	}},
	{"faint waves", false, false, func(src *synth.Stream, n int) func() ([]float64, float64) {
		noise := .8 + .6*src.Float64()
		return func() ([]float64, float64) {
			x := uniforms(src, n)
			return x, math.Sin(4*x[0]) + 2*x[1]*x[2] + noise*src.NormFloat64()
		}
	}},
}

func sign(v float64) float64 { return math.Copysign(1, v) }

func square(src *synth.Stream) float64 { v := src.NormFloat64(); return v * v }

func dot(a, b []float64) (s float64) {
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func normals(src *synth.Stream, n int) []float64 {
	x := make([]float64, n)
	for j := range x {
		x[j] = src.NormFloat64()
	}
	return x
}

func uniforms(src *synth.Stream, n int) []float64 {
	x := make([]float64, n)
	for j := range x {
		x[j] = src.Float64()
	}
	return x
}

// correlatedNormals returns normal numbers. The correlation of neighbours is rho.
func correlatedNormals(src *synth.Stream, n int, rho float64) []float64 {
	x := normals(src, n)
	for j := 1; j < n; j++ {
		x[j] = rho*x[j-1] + math.Sqrt(1-rho*rho)*x[j]
	}
	return x
}

// linearSet draws labels y = θᵀx + noise. The function shape turns a standard normal number into
// noise.
func linearSet(shape func(src *synth.Stream, x []float64, e float64) float64) func(*synth.Stream, int) func() ([]float64, float64) {
	return func(src *synth.Stream, n int) func() ([]float64, float64) {
		theta, noise := normals(src, n), math.Pow(10, src.Float64()-.7)
		return func() ([]float64, float64) {
			x := normals(src, n)
			return x, dot(theta, x)/math.Sqrt(float64(n)) + noise*shape(src, x, src.NormFloat64())
		}
	}
}

// logitSet draws labels of log odds offset + size·θᵀx.
func logitSet(offset, size float64) func(*synth.Stream, int) func() ([]float64, float64) {
	return func(src *synth.Stream, n int) func() ([]float64, float64) {
		theta := normals(src, n)
		return func() ([]float64, float64) {
			x := normals(src, n)
			odds := offset + size*dot(theta, x)/math.Sqrt(float64(n))
			return x, sign(1/(1+math.Exp(-odds)) - src.Float64())
		}
	}
}

// A namedLearner is a learner of a simulation.
type namedLearner struct {
	name    string
	learner learn.Learner
}

// trialLearners maps false to the learners for numeric labels, and true to the learners for
// classes.
var trialLearners = map[bool][]namedLearner{
	false: {{"elastic net", &linear.ElasticNet{}}, {"Huber", &linear.Huber{Intercept: true}}, {"kernel ridge", &kernel.Ridge{Intercept: true}}},
	true:  {{"logistic", &linear.Logistic{Intercept: linear.UnpenalisedIntercept}}, {"sparse logistic", &linear.SparseLogistic{Intercept: true}}, {"linear SVM", &margin.SVM{}}},
}

// A drawnSet is a data set of a population, together with a learner.
type drawnSet struct {
	population
	learner     string
	tuner       Tuner
	data, fresh learn.Data
}

// drawSet draws the data set number k and the given number of fresh rows.
func drawSet(from []population, k, fresh int) drawnSet {
	return drawSetOf(from, trialLearners, 50, k, fresh)
}

// drawSetOf draws the data set number k with minRows to 4·minRows rows. Populations and learners
// alternate.
func drawSetOf(from []population, of map[bool][]namedLearner, minRows, k, fresh int) drawnSet {
	src := synth.NewStream(uint64(k), from[0].name)
	p := from[k%len(from)]
	rows, n := int(float64(minRows)*math.Pow(4, src.Float64())), int(5*math.Pow(4, src.Float64()))
	row := p.set(src, n)
	draw := func(rows int) learn.Data {
		var x []float64
		d := learn.Data{Y: make([]float64, rows)}
		for i := range rows {
			one, y := row()
			x, d.Y[i] = append(x, one...), y
		}
		d.X = mat.NewDense(rows, len(x)/rows, x)
		return d
	}
	learners := of[p.classes]
	l := learners[k/len(from)%len(learners)]
	s := drawnSet{population: p, learner: l.name, tuner: Tuner{Learner: l.learner, Workers: 1}, data: draw(rows)}
	for p.classes && min(countOf(s.data.Y, 1), countOf(s.data.Y, -1)) < 4 {
		s.data = draw(rows)
	}
	s.fresh = draw(fresh)
	return s
}
