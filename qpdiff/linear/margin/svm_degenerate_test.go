package margin

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// degenerateKinds lists kinds of features that put many rows on the elbow at once.
var degenerateKinds = []string{"bias", "one-hot and bias", "binary and bias", "binary", "integer and bias", "equal columns", "constants"}

func degenerateData(rng *rand.Rand, kind string, rows, n int) learn.Data {
	x, y := mat.NewDense(rows, n, nil), make([]float64, rows)
	for i := range rows {
		row := x.RawRowView(i)
		switch kind {
		case "one-hot and bias":
			row[rng.IntN(n)] = 1
		case "binary and bias", "binary":
			for j := range row {
				row[j] = float64(rng.IntN(2))
			}
		case "integer and bias":
			for j := range row {
				row[j] = float64(rng.IntN(5) - 2)
			}
		case "equal columns":
			for j := range row {
				row[j] = math.Round(4*rng.NormFloat64()) / 4
				if j >= n/2 {
					row[j] = row[j-n/2]
				}
			}
		default:
			for j := range row {
				row[j] = rng.NormFloat64()
				if kind == "constants" && j%3 == 0 {
					row[j] = float64(j % 4)
				}
			}
		}
		if kind != "binary" && kind != "constants" {
			row[0] = 1
		}
		y[i] = 1
		if rng.Float64() < .35 {
			y[i] = -1
		}
	}
	y[0], y[1] = 1, -1
	return learn.Data{X: x, Y: y}
}

// degenerateRounds is the largest allowed number of faces for each row and coordinate. A primal
// method that cycles visits 50.
const degenerateRounds = 3

// fitDegenerate fits l, checks how many faces its solver p visited, and reports success.
func fitDegenerate(t *testing.T, name string, l learn.Learner, p *marginSolver, d learn.Data, hyper []float64) (theta []float64, ok bool) {
	t.Helper()
	_, n := d.X.Dims()
	theta = make([]float64, n)
	numtest.OK(t, l.Load(d))
	if err := l.Fit(theta, hyper); err != nil {
		t.Errorf("%s: %v", name, err)
		return nil, false
	}
	if p.rounds > degenerateRounds*(p.rows+n) {
		t.Errorf("%s: %d faces", name, p.rounds)
	}
	return theta, true
}

// A fit ends at an optimum after few faces, even if more kinks meet than θ has coordinates.
func TestSVMDegenerate(t *testing.T) {
	serial.Test(t)
	sizes := [][2]int{{20, 5}, {60, 12}, {100, 20}, {30, 60}, {100, 100}, {150, 60}, {160, 137}}
	l1s := []float64{0, .02, .05, .08, .1, .12, .15, .18, .2, .5, 2}
	rng := rand.New(rand.NewPCG(3, 19))
	for trial := range numtest.Long(300) {
		size := sizes[trial%len(sizes)]
		rows, n := size[0], size[1]
		kind := degenerateKinds[rng.IntN(len(degenerateKinds))]
		d := degenerateData(rng, kind, rows, n)
		hyper := []float64{l1s[rng.IntN(len(l1s))], math.Pow(10, -2+3*rng.Float64())}
		name := fmt.Sprintf("%s %d×%d at %v", kind, rows, n, hyper)
		var l SVM
		theta, ok := fitDegenerate(t, name, &l, &l.p, d, hyper)
		if !ok {
			continue
		}
		if gap := svmGap(&l, d, theta); !(math.Abs(gap) <= 1e-12) {
			t.Errorf("%s: duality gap %g", name, gap)
		}
	}
}

// The multipliers make the gradient 0, even if the smooth part of the loss is tiny.
func TestLearnedLossDegenerate(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(100, 5))
	for trial := range numtest.Long(120) {
		rows, n := 100, 20
		if trial%2 > 0 {
			rows, n = 60, 12
		}
		kind := degenerateKinds[rng.IntN(len(degenerateKinds))]
		d := degenerateData(rng, kind, rows, n)
		if trial%3 == 0 { // rows that coincide, some of them with other labels
			for i := rows / 2; i < rows; i++ {
				d.Dense().SetRow(i, d.Dense().RawRowView(i-rows/2))
			}
		}
		hyper := []float64{1, 0, 0, 0, math.Pow(10, -3+2*rng.Float64())}
		hyper[1+rng.IntN(3)] = math.Pow(10, -4*rng.Float64())
		name := fmt.Sprintf("%s %d×%d at %v", kind, rows, n, hyper)
		var l LearnedLoss
		p := &l.p
		if _, ok := fitDegenerate(t, name, &l, p, d, hyper); !ok {
			continue
		}
		for j, v := range p.subgradients() {
			if math.Abs(v) > 1e-11*(1+p.gradSize(j)) {
				t.Errorf("%s: gradient %g in coordinate %d", name, v, j)
			}
		}
	}
}
