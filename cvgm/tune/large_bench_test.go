package tune_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// The constant informative is the number of features of largeData that affect the labels.
const informative = 50

// largeData draws data like make_regression of scikit-learn and divides the labels by their
// standard deviation. If classes is true, the labels are signs.
func largeData(rows, n int, classes bool) learn.Data {
	src := synth.NewStream(1, "large")
	weights := make([]float64, n)
	for j := range min(n, informative) {
		weights[j] = 100 * src.Float64()
	}
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	var sum, squares float64
	for i := range d.Y {
		y := 10 * src.NormFloat64()
		for j, w := range weights {
			x := src.NormFloat64()
			d.Dense().Set(i, j, x)
			y += w * x
		}
		d.Y[i] = y
		sum, squares = sum+y, squares+y*y
	}
	mean := sum / float64(rows)
	deviation := math.Sqrt(squares/float64(rows) - mean*mean)
	for i, y := range d.Y {
		if d.Y[i] = y / deviation; classes {
			d.Y[i] = math.Copysign(1, y)
		}
	}
	return d
}

// levelsOfTruth is the number of levels of oneHot that affect the labels.
const levelsOfTruth = 50

// oneHot draws categorical columns as a sparse matrix of zeros and ones, and labels.
func oneHot(rows, columns, levels int) learn.Data {
	src := synth.NewStream(1, "one-hot")
	x, effect := sample.NewStored(columns*levels), make([]float64, columns*levels)
	for range levelsOfTruth {
		effect[src.IntN(len(effect))] = 2 * src.NormFloat64()
	}
	d := learn.Data{X: x, Y: make([]float64, rows)}
	for i := range d.Y {
		d.Y[i] = .3 * src.NormFloat64()
		for c := range columns {
			j := c*levels + src.IntN(levels)
			x.Set(j, 1)
			d.Y[i] += effect[j]
		}
		x.EndRow()
	}
	return d
}

// oneHotClasses returns the data of oneHot, whose labels are replaced by their signs.
func oneHotClasses(rows, columns, levels int) learn.Data {
	d := oneHot(rows, columns, levels)
	for i, y := range d.Y {
		d.Y[i] = math.Copysign(1, y)
	}
	return d
}

// zeroPenalty returns the smallest λ1 for which all coefficients of an elastic net or a sparse
// logistic regression are 0.
func zeroPenalty(d learn.Data, classes bool) (most float64) {
	rows, n := d.X.Dims()
	for j := range n {
		sum := 0.0
		for i, y := range d.Y {
			sum += d.X.At(i, j) * y
		}
		most = max(most, math.Abs(sum)/float64(rows))
	}
	if classes {
		most /= 2
	}
	return most
}

// verifiedResidual is the largest residual of the optimality conditions of a verified fit.
// Conjugate gradients leave a residual of 1e-12.
const verifiedResidual = 1e-11

// reportVerified reports the number of verified fits and the largest residual in units of the
// machine precision.
func reportVerified(b *testing.B, splits int, residual float64, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	verified := 0
	if residual <= verifiedResidual {
		verified = splits
	}
	b.ReportMetric(float64(verified), "verified-fits")
	b.ReportMetric(residual/0x1p-52, "residual/eps")
}

// reportCosts runs f in the benchmark's loop and reports its least processor time and the largest
// memory of the process.
func reportCosts(b *testing.B, f func() error) {
	b.Helper()
	resetPeak(b)
	least := math.Inf(1)
	for b.Loop() {
		start := cpuSeconds(b)
		if err := f(); err != nil {
			b.Fatal(err)
		}
		least = min(least, cpuSeconds(b)-start)
	}
	b.ReportMetric(least, "cpu-s/op")
	b.ReportMetric(peakBytes(b)/1e6, "peak-MB")
}

// BenchmarkLargeCV measures one evaluation of the CV loss and its gradient for large tables.
func BenchmarkLargeCV(b *testing.B) {
	elasticNet := func() learn.Learner { return new(linear.ElasticNet) }
	logistic := func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	sparse := func() learn.Learner { return &linear.SparseLogistic{Intercept: true} }
	huber := func() learn.Learner { return &linear.Huber{Intercept: true} }
	for _, c := range []struct {
		name     string
		rows, n  int
		learner  func() learn.Learner
		loss     cvgm.Loss
		centring cvgm.Centring
		hyper    []float64
		share    float64 // of the strongest λ1, in place of the first of hyper
	}{
		{"elastic net", 500, 5000, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .1},
		{"elastic net", 500, 5000, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .03},
		{"elastic net", 500, 5000, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .01},
		{"elastic net", 2000, 500, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .1},
		{"elastic net", 2000, 500, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .03},
		{"elastic net", 2000, 500, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .01},
		{"elastic net", 20_000, 50, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .1},
		{"elastic net", 20_000, 50, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .03},
		{"elastic net", 20_000, 50, elasticNet, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{0, 1e-3}, .01},
		{"logistic", 2000, 500, logistic, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1}, 0},
		{"logistic", 100, 2000, logistic, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1}, 0},
		{"sparse logistic", 100, 2000, sparse, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{0, 1e-3}, .1},
		{"Huber", 500, 2000, huber, cvgm.HuberLoss{Delta: .5}, cvgm.NoCentring, []float64{.1, .5}, 0},
		{"Huber", 2000, 100, huber, cvgm.HuberLoss{Delta: .5}, cvgm.NoCentring, []float64{.1, .5}, 0},
		{"Huber", 20_000, 50, huber, cvgm.HuberLoss{Delta: .5}, cvgm.NoCentring, []float64{.1, .5}, 0},
	} {
		name := fmt.Sprintf("%s %d × %d", c.name, c.rows, c.n)
		if c.share > 0 {
			name += fmt.Sprintf(", %v of the strongest λ1", c.share)
		}
		b.Run(name, func(b *testing.B) {
			_, classes := c.loss.(cvgm.LogisticLoss)
			d := largeData(c.rows, c.n, classes)
			if c.share > 0 {
				c.hyper[0] = c.share * zeroPenalty(d, classes)
			}
			splits, err := cvgm.KFold(synth.NewStream(1, "folds"), c.rows, 5)
			grad := make([]float64, len(c.hyper))
			var cv *cvgm.CV
			reportCosts(b, func() error {
				if err != nil {
					return err
				}
				if cv, err = cvgm.New(cvgm.Config{Data: d, Splits: splits, Learner: c.learner, Loss: c.loss, Standardise: true, Centring: c.centring, Workers: 1}); err == nil {
					_, err = cv.Eval(grad, c.hyper)
				}
				return err
			})
			residual, err := cv.Residual()
			reportVerified(b, len(splits), residual, err)
		})
	}
}

// BenchmarkStoredCV measures one evaluation of the CV loss and its gradient for a sparse matrix.
func BenchmarkStoredCV(b *testing.B) {
	d := oneHotClasses(50_000, 10, 2000)
	for _, c := range []struct {
		name    string
		learner func() learn.Learner
		hyper   []float64
	}{
		{"logistic", func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, []float64{.1}},
		{"sparse logistic", func() learn.Learner { return &linear.SparseLogistic{Intercept: true} }, []float64{.0014, 0}}, // a tenth of the strongest
	} {
		b.Run(c.name+", one-hot 50 000 × 20 000", func(b *testing.B) {
			splits, err := cvgm.KFold(synth.NewStream(1, "folds"), len(d.Y), 5)
			grad := make([]float64, len(c.hyper))
			var cv *cvgm.CV
			reportCosts(b, func() error {
				if err != nil {
					return err
				}
				if cv, err = cvgm.New(cvgm.Config{Data: d, Splits: splits, Learner: c.learner, Loss: cvgm.LogisticLoss{}, Standardise: true, Workers: 1}); err == nil {
					_, err = cv.Eval(grad, c.hyper)
				}
				return err
			})
			residual, err := cv.Residual()
			reportVerified(b, len(splits), residual, err)
		})
	}
}

// BenchmarkLargeTune measures searches on large data and, for some elastic nets, also the nested
// estimate.
func BenchmarkLargeTune(b *testing.B) {
	tuner := tune.Tuner{Workers: 1}
	run := func(name string, d learn.Data, outer int) {
		b.Run(name, func(b *testing.B) {
			tuner.OuterFolds = outer
			var tuned *tune.Tuned
			reportCosts(b, func() (err error) {
				tuned, err = tuner.Tune(b.Context(), d)
				return err
			})
			reportVerified(b, len(tuned.Config.Splits), tuned.Residual, nil)
		})
	}
	for _, size := range [][2]int{{60, 200}, {38, 600}, {38, 7129}, {200, 2000}} {
		d := largeData(size[0], size[1], false)
		name := fmt.Sprintf("elastic net %d × %d, ", size[0], size[1])
		run(name+"search", d, -1)
		run(name+"with the nested estimate", d, 0)
	}
	run("elastic net 38 × 30 000, search", largeData(38, 30_000, false), -1)
	run("elastic net 1000 × 5000, search", largeData(1000, 5000, false), -1)
	run("logistic 2000 × 500, search", largeData(2000, 500, true), -1)
	tuner.Fixed = map[string]float64{"λ2": 0}
	run("lasso 38 × 7129, search", largeData(38, 7129, false), -1)
	run("lasso, one-hot 50 000 × 20 000, search", oneHot(50_000, 10, 2000), -1)
	tuner = tune.Tuner{Workers: 1, Learner: &linear.SparseLogistic{Intercept: true}}
	run("sparse logistic, one-hot 10 000 × 4 000, search", oneHotClasses(10_000, 10, 400), -1)
}

// BenchmarkLargeTable measures reading and tuning of a CSV file with many more columns than rows.
func BenchmarkLargeTable(b *testing.B) {
	const rows, n = 12, 100_000
	b.Run(fmt.Sprintf("elastic net %d × %d, file and search", rows, n), func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "wide.csv")
		if err := os.WriteFile(path, csvText(largeData(rows, n, false)), 0o600); err != nil {
			b.Fatal(err)
		}
		var tuned *tune.Tuned
		reportCosts(b, func() error {
			data, err := table.CSV{Target: "y"}.ReadFile(path)
			if err == nil {
				tuned, err = tune.Tuner{Workers: 1, OuterFolds: -1}.TuneTable(b.Context(), data)
			}
			return err
		})
		reportVerified(b, len(tuned.Config.Splits), tuned.Residual, nil)
	})
}

// csvText returns the data as a CSV file whose column y holds the labels.
func csvText(d learn.Data) []byte {
	_, n := d.X.Dims()
	text := []byte("y")
	for j := range n {
		text = fmt.Appendf(text, ",x%d", j)
	}
	for i, y := range d.Y {
		text = fmt.Appendf(text, "\n%.6g", y)
		for j := range n {
			text = fmt.Appendf(text, ",%.6g", d.X.At(i, j))
		}
	}
	return append(text, '\n')
}
