package experiment

import (
	"context"
	"fmt"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// FreshData holds the number of a draw. A draw is a repetition of an experiment's random data.
// Different draws have different data sets.
type FreshData struct {
	Draw int `help:"draw of the random data, whose data sets follow those of the draw before" range:"[0,∞)" small:"[0,3]"`
}

// Number returns the number of data set i of this draw. The data sets of all draws, n for each
// draw, are numbered consecutively. So draws 0 to 9 with n data sets each have the same data sets
// as draw 0 with 10·n data sets.
func (f FreshData) Number(i, n int) int { return f.Draw*n + i }

// RegressionData describes the population and the size of the paper's regression data.
type RegressionData struct {
	Samples     int     `help:"examples drawn; those not used for training are the test set" range:"[2,∞)" small:"[30,60]" setting:"make_regression: %v rows, the first N for training and the others for the test"`
	Train       int     `help:"training examples N, the first rows of the data" range:"[2,∞)" below:"Samples" small:"[6,20]" setting:"N = %v"`
	Features    int     `help:"features n" range:"[1,∞)" small:"[2,6]" setting:"%v standard normal features"`
	Informative int     `help:"features with a nonzero coefficient" range:"[1,∞)" most:"Features" small:"[1,4]" setting:"%v coefficients uniform on [0, 100) and the others 0"`
	Noise       float64 `help:"standard deviation of the labels' noise, before Scale" unit:"labels" range:"[0,1e300]" small:"[1,200]" setting:"noise of standard deviation %v"`
	Scale       float64 `help:"labels and coefficients are divided by this" range:"(0,∞)" small:"[1,1000]" setting:"labels and coefficients divided by %v"`
}

var PaperRegression = RegressionData{Samples: 1000, Train: 30, Features: 10, Informative: 8, Noise: 100, Scale: 100}

// CheckLeastSquares returns an error if there are too few examples for least squares on centred
// features. Experiments that have least squares as a baseline call CheckLeastSquares.
func (d RegressionData) CheckLeastSquares() error {
	if d.Train < d.Features+2 {
		return Invalid("Train", d.Train, fmt.Sprintf("use at least %d examples, two more than Features: least squares is one of the baselines", d.Features+2))
	}
	return nil
}

// Examples draws examples and divides them into training and test rows.
func (d RegressionData) Examples(src synth.Source) (train, test learn.Data, coef []float64, err error) {
	all, coef, err := synth.MakeRegression(src, synth.Regression{Samples: d.Samples, Features: d.Features, Informative: d.Informative, Noise: d.Noise})
	if err != nil {
		return train, test, nil, err
	}
	for i := range all.Y {
		all.Y[i] /= d.Scale
	}
	for j := range coef {
		coef[j] /= d.Scale
	}
	return Rows(all, 0, d.Train), Rows(all, d.Train, d.Samples), coef, nil
}

// PublishedRegression is RegressionData, drawn in the same way as in the published code.
type PublishedRegression struct {
	Seed                 uint32 `help:"seed of NumPy's generator, which draws data, splits and random search" range:"[0,4294967295]" small:"[0,1000]" setting:"the published data: NumPy's generator with seed %v"`
	DiscardedSets        int    `help:"data sets drawn and thrown away before the one used" range:"[0,∞)" small:"[0,2]" setting:"after %v data sets that are not used"`
	DiscardedInformative int    `help:"informative features of those data sets" range:"[1,∞)" most:"Features" small:"[1,4]" setting:"those with %v coefficients that are not 0"`
	RegressionData
}

var PaperData = PublishedRegression{DiscardedSets: 2, DiscardedInformative: 5, RegressionData: PaperRegression}

// Source returns the generator of random numbers in its state after the draws of the discarded data
// sets.
func (d PublishedRegression) Source(ctx context.Context) (*synth.NumPy, error) {
	src := synth.NewNumPy(d.Seed)
	for range d.DiscardedSets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, _, err := synth.MakeRegression(src, synth.Regression{Samples: d.Samples, Features: d.Features, Informative: d.DiscardedInformative, Noise: d.Noise}); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// Rows returns the examples d[start:end]. The result has the type that learners accept.
func Rows(d synth.Data, start, end int) learn.Data {
	_, n := d.X.Dims()
	return learn.Data{X: d.X.Slice(start, end, 0, n).(*mat.Dense), Y: d.Y[start:end]}
}

// Pick copies the given rows of d. If rows is nil, Pick returns d.
func Pick(d learn.Data, rows []int) learn.Data {
	if rows == nil {
		return d
	}
	_, n := d.X.Dims()
	p := learn.Data{X: mat.NewDense(len(rows), n, nil), Y: make([]float64, len(rows))}
	for i, row := range rows {
		p.Dense().SetRow(i, d.Dense().RawRowView(row))
		p.Y[i] = d.Y[row]
	}
	return p
}

// Fit loads the data d into the learner l and fits theta to d. If l is a [learn.ContextLearner],
// ctx becomes its context.
func Fit(ctx context.Context, l learn.Learner, d learn.Data, theta, hyper []float64) error {
	if stops, ok := l.(learn.ContextLearner); ok {
		stops.SetContext(ctx)
	}
	if err := l.Load(d); err != nil {
		return err
	}
	return l.Fit(theta, hyper)
}

// AsDrawn converts d to a [synth.Data], the type in which results store data.
func AsDrawn(d learn.Data) synth.Data { return synth.Data{X: d.Dense(), Y: d.Y} }

// Resubstitution returns data with one split. The data are two copies of d, one below the other.
// The split trains on the first copy and validates on the second copy. The CV loss on these data is
// therefore the training loss on d.
func Resubstitution(d learn.Data) (learn.Data, []cvgm.Split) {
	n := len(d.Y)
	rows := make([]int, 2*n)
	var split cvgm.Split
	for i := range n {
		rows[i], rows[n+i] = i, i
		split.Train, split.Val = append(split.Train, i), append(split.Val, n+i)
	}
	return Pick(d, rows), []cvgm.Split{split}
}
