package tune

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// This file computes the rows of the trials of Tuner. A change of its code makes the kept rows
// stale.

// A trialSize holds the largest numbers of rows and columns, and the sizes of the random and grid
// searches.
type trialSize struct{ rows, columns, random, grid int }

var (
	smallTrial = trialSize{120, 20, 200, 12}
	fullTrial  = trialSize{2000, 200, 1000, 20} // the size of the kept rows
)

// A tuneTrial computes a row for each generated data set, which describes the set and the outcome.
type tuneTrial struct {
	file     string
	shuffled bool // all sets are, or none
	columns  []string
	cells    func(ctx context.Context, s trialSet, size trialSize) ([]string, error)
}

var (
	findsTrial    = tuneTrial{"finds.csv", false, []string{"excess", "evaluations", "end", "lowest", "cause"}, findsCells}
	risksTrial    = tuneTrial{"risks.csv", false, riskColumns, riskCells}
	shuffledTrial = tuneTrial{"shuffled.csv", true, riskColumns, riskCells}

	riskColumns = slices.Concat(estimateColumns("risk"), estimateColumns("difference"), []string{"verdict"})
)

func estimateColumns(of string) []string {
	return []string{of + " low", of, of + " high", of + " of the outer models", of + " held", of + " of the final models", "final " + of + " held"}
}

// row computes the row of set k.
func (tr tuneTrial) row(ctx context.Context, k int, size trialSize) ([]string, error) {
	s := drawTrial(k, size, tr.shuffled)
	cells, err := tr.cells(ctx, s, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return append([]string{strconv.Itoa(k), s.trait, strconv.Itoa(len(s.data.Y)), strconv.Itoa(s.columns())}, cells...), nil
}

// A trialSet is a generated data set of a trial.
type trialSet struct {
	name  string
	trait string
	data  learn.Data
	fresh learn.Data // of the same population, for the risk
}

// drawTrial draws the data set number k, which has one of eight traits, such as collinear features.
func drawTrial(k int, size trialSize, shuffled bool) trialSet {
	rng := rand.New(rand.NewPCG(uint64(k), 22))
	n := int(math.Round(20 * math.Pow(float64(size.rows)/20, rng.Float64())))
	p := int(math.Round(2 * math.Pow(float64(size.columns)/2, rng.Float64())))
	const fresh = 4000
	traits := []string{"plain", "collinear", "constant", "heavy-tailed", "imbalanced", "classes", "sparse", "noise"}
	trait := traits[k%len(traits)]
	scale := math.Pow(10, 12*rng.Float64()-6)
	units := make([]float64, p)
	theta := make([]float64, p)
	for j := range p {
		units[j] = math.Pow(10, 4*rng.Float64()-2)
		if trait != "sparse" || j < 3 {
			theta[j] = rng.NormFloat64() / math.Sqrt(float64(p))
		}
	}
	noise := math.Pow(10, 1.5*rng.Float64()-1)
	draw := func(rows int) learn.Data {
		d := learn.Data{X: mat.NewDense(rows, p, nil), Y: make([]float64, rows)}
		for i := range rows {
			var f float64
			common := rng.NormFloat64()
			for j := range p {
				z := rng.NormFloat64()
				switch {
				case trait == "collinear" && j%2 == 1:
					z = d.X.At(i, j-1)/units[j-1] + 1e-6*float64(j%3)*z
				case trait == "collinear":
					z = (z + 3*common) / 3
				case trait == "constant" && j%3 == 0:
					z = 1
				case trait == "heavy-tailed": // Student's t with 2 degrees of freedom: its square has no mean, and neither has the risk
					z /= math.Sqrt((math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2)) / 2)
				}
				f += theta[j] * z
				d.Dense().Set(i, j, z*units[j])
			}
			e := rng.NormFloat64()
			if trait == "heavy-tailed" {
				e /= math.Sqrt((math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2)) / 3)
			}
			if trait == "noise" {
				f = 0
			}
			d.Y[i] = scale * (f + noise*e + 3)
			switch trait {
			case "imbalanced":
				d.Y[i] = math.Copysign(1, f+noise*e-1.2)
			case "classes":
				d.Y[i] = math.Copysign(1, f+noise*e)
			}
		}
		return d
	}
	s := trialSet{name: fmt.Sprintf("%d %s N=%d n=%d", k, trait, n, p), trait: trait, data: draw(n)}
	for classes := trait == "imbalanced" || trait == "classes"; classes && s.smaller() < 3; {
		s.data = draw(n)
	}
	s.fresh = draw(fresh)
	if shuffled {
		for _, y := range [][]float64{s.data.Y, s.fresh.Y} {
			rng.Shuffle(len(y), func(a, b int) { y[a], y[b] = y[b], y[a] })
		}
	}
	return s
}

func (s trialSet) columns() int {
	_, n := s.data.X.Dims()
	return n
}

// smaller is the number of examples in the smaller class.
func (s trialSet) smaller() int {
	positive := 0
	for _, y := range s.data.Y {
		if y > 0 {
			positive++
		}
	}
	return min(positive, len(s.data.Y)-positive)
}

// nearLowest is the largest excess of a CV loss over the lowest known loss, in units of the
// constant prediction's loss.
const nearLowest = 1e-3

// findsCells compares the CV loss of a search with the lowest loss of random search and grid
// search.
func findsCells(ctx context.Context, s trialSet, size trialSize) ([]string, error) {
	tuner := Tuner{OuterFolds: -1, Workers: 1, KeepWinner: true}
	tuned, err := tuner.Tune(ctx, s.data)
	if err != nil {
		return nil, err
	}
	low, err := tuner.lowest(ctx, s.data, tuned, size)
	if err != nil {
		return nil, err
	}
	excess := (tuned.Loss - low.loss) / tuned.ConstantLoss
	cause := ""
	if excess > nearLowest {
		cause = low.cause(tuned)
	}
	return []string{fmt.Sprintf("%.2g", excess), strconv.Itoa(len(tuned.Path)), low.place(tuned.Hyper), low.place(low.x), cause}, nil
}

// The type lowest holds the point with the lowest CV loss of random search and grid search.
type lowest struct {
	*tuneSearch
	loss float64
	x    []float64 // the point
}

func (t Tuner) lowest(ctx context.Context, d learn.Data, tuned *Tuned, size trialSize) (*lowest, error) {
	w, err := t.begin(ctx, cvgm.Config{Data: d}, nil)
	if err != nil {
		return nil, err
	}
	s, err := w.newSearch(w.rows(), tuned.Splits)
	if err != nil {
		return nil, err
	}
	low := &lowest{s, math.Inf(1), nil}
	var points [][]float64
	add := func(share func(i int) float64) {
		x := make([]float64, len(s.hyper))
		for i := range x {
			x[i] = s.at(i, share(i))
		}
		points = append(points, x)
	}
	src := synth.NewStream(9, "points")
	for range size.random {
		add(func(int) float64 { return src.Float64() })
	}
	for g := range int(math.Pow(float64(size.grid), float64(len(s.hyper)))) {
		rest := g
		add(func(int) float64 {
			digit := rest % size.grid
			rest /= size.grid
			return float64(digit) / float64(size.grid-1)
		})
	}
	slices.SortFunc(points, slices.Compare[[]float64]) // a warm start near by saves most of a fit
	for _, x := range points {
		if loss, err := s.cv.Eval(nil, x); err == nil && loss < low.loss {
			low.loss, low.x = loss, x
		}
	}
	return low, nil
}

// place describes a point as shares of the ranges.
func (l *lowest) place(x []float64) string {
	var shares []string
	for i, v := range x {
		shares = append(shares, fmt.Sprintf("%.3f", l.logShare(i, v)))
	}
	return strings.Join(shares, " ")
}

// The method cause returns a reason why a search ended above the lowest CV loss. The reason is
// another valley if the loss rises between the two points.
func (l *lowest) cause(tuned *Tuned) string {
	const points = 50
	for p := range points {
		x := make([]float64, len(tuned.Hyper))
		for i, v := range tuned.Hyper {
			from, to := l.logShare(i, v), l.logShare(i, l.x[i])
			x[i] = l.at(i, from+(to-from)*float64(p+1)/points)
		}
		if loss, err := l.cv.Eval(nil, x); err != nil || loss > tuned.Loss*(1+sameLoss) {
			return "another valley"
		}
	}
	if slices.Contains(tuned.kinds(), OutOfBudget) {
		return "budget"
	}
	return "ended early"
}

// riskCells compares the nested estimates with the true risks, in units of the constant
// prediction's loss.
func riskCells(ctx context.Context, s trialSet, _ trialSize) ([]string, error) {
	w, err := Tuner{Workers: 1, Repeats: 1, KeepWinner: true}.begin(ctx, cvgm.Config{Data: s.data}, nil)
	if err != nil {
		return nil, err
	}
	tuned, err := w.run()
	if err != nil {
		return nil, err
	}
	all := sample.Complement(nil, len(s.data.Y))
	var final, outer [2]float64 // risks of tuned and default models
	for _, models := range append(w.judgedModels, judgedModel{cvgm.Split{Train: all, Val: all}, tuned.Hyper, tuned.DefaultHyper}) {
		c := tuned.Config
		c.Data = learn.Data{X: mat.NewDense(len(models.fold.Train), s.columns(), nil), Y: sample.Pick(s.data.Y, models.fold.Train)}
		sample.Gather(c.Data.Dense().RawMatrix().Data, s.data.Dense(), models.fold.Train)
		if c.Splits, err = cvgm.LeaveOneOut(len(c.Data.Y)); err != nil { // any: no CV loss is evaluated
			return nil, err
		}
		c.Splits = c.Splits[:1]
		cv, err := cvgm.New(c)
		if err != nil {
			return nil, err
		}
		for k, hyper := range [][]float64{models.tuned, models.byDefault} {
			model, err := cv.Final(hyper)
			if err != nil {
				return nil, err
			}
			if final[k], err = model.Risk(c.Loss, s.fresh); err != nil {
				return nil, err
			}
			if len(models.fold.Train) < len(all) {
				outer[k] += final[k] * float64(len(models.fold.Val)) / float64(len(all))
			}
		}
	}
	// The row has the difference in the unit of the loss, but the comparison has it in per cent.
	byDefault, _ := tuned.Risk.comparisonWith(defaultName)
	constant, _ := tuned.Risk.comparisonWith(constantName)
	unit := tuned.Risk.Constant.Mean / 100
	less := Estimate{Mean: unit * byDefault.Percent.Mean, Low: unit * byDefault.Percent.Low, High: unit * byDefault.Percent.High}
	var cells []string
	for _, v := range []struct {
		e            Estimate
		outer, final float64
	}{{tuned.Risk.Tuned, outer[0], final[0]}, {less, outer[0] - outer[1], final[0] - final[1]}} {
		for _, x := range []float64{v.e.Low, v.e.Mean, v.e.High} {
			cells = append(cells, fmt.Sprintf("%.4g", x/tuned.ConstantLoss))
		}
		for _, x := range []float64{v.outer, v.final} {
			cells = append(cells, fmt.Sprintf("%.4g", x/tuned.ConstantLoss), strconv.FormatBool(v.e.Low <= x && x <= v.e.High))
		}
	}
	verdict := "not decided"
	switch {
	case byDefault.Better() && constant.Better():
		verdict = "tuned is lower than default"
	case byDefault.Better() && constant.Worse():
		verdict = "tuned is lower than default; but higher than a constant prediction"
	case byDefault.Better():
		verdict = "tuned is lower than default; but not decided against a constant prediction"
	case byDefault.Worse():
		verdict = "tuned is higher than default"
	}
	return append(cells, verdict), nil
}
