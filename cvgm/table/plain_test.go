package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// A CV does not copy a table of numbers without missing values, which gives the same results as a
// matrix.
func TestPlainTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 36))
	for _, columns := range []int{3, 250} {
		text := strings.Builder{}
		text.WriteString("y")
		for j := range columns {
			fmt.Fprintf(&text, ",x%d", j)
		}
		for range 40 {
			fmt.Fprintf(&text, "\n%v", rng.NormFloat64())
			for range columns {
				fmt.Fprintf(&text, ",%v", 5+rng.NormFloat64())
			}
		}
		read := func(text string) *table.Table {
			return casetest.Must(table.CSV{Target: "y", Missing: table.MissingIsMean}.Read(strings.NewReader(text)))(t)
		}
		own := func(text string) (cvgm.Config, *table.Encoder) {
			d, encoder, err := read(text).Data()
			casetest.OK(t, err)
			splits := casetest.Must(cvgm.KFold(rand.New(rand.NewPCG(1, 1)), len(d.Y), 4))(t)
			return cvgm.Config{Data: d, Prepare: encoder, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
				Learner: func() learn.Learner { return new(linear.ElasticNet) }}, encoder
		}
		c, encoder := own(text.String())
		alone := c
		alone.Prepare = nil
		if !encoder.Plain(encoder, c.Data.Dense()) || c.Bytes() != alone.Bytes() {
			t.Errorf("%d columns: %d bytes with the encoder, %d without", columns, c.Bytes(), alone.Bytes())
		}
		alpha := []float64{.1, .2}
		cv := casetest.Must(cvgm.New(c))(t)
		loss, err := cv.Eval(nil, alpha)
		want, e := casetest.Must(cvgm.New(alone))(t).Eval(nil, alpha)
		if err != nil || e != nil || loss != want {
			t.Errorf("%d columns: the loss is %v, %v with the encoder and %v, %v without", columns, loss, err, want, e)
		}
		p := casetest.Must(table.NewPipeline(casetest.Must(cv.Final(alpha))(t)))(t)
		record := map[string]string{"x0": ""}
		for j := 1; j < columns; j++ {
			record[fmt.Sprintf("x%d", j)] = "5"
		}
		lacking := casetest.Must(p.PredictRecord(record))(t)
		mean := 0.0
		for i := range 40 {
			mean += c.Data.X.At(i, 0) / 40
		}
		record["x0"] = fmt.Sprint(mean)
		if filled := casetest.Must(p.PredictRecord(record))(t); !(math.Abs(lacking-filled) <= 1e-12) {
			t.Errorf("%d columns: a missing value predicts %v, and the mean %v", columns, lacking, filled)
		}
		// A table with a missing value is not plain.
		first := strings.IndexByte(text.String(), '\n')
		at := first + strings.IndexByte(text.String()[first:], ',') + 1
		end := at + strings.IndexByte(text.String()[at:], ',')
		if c, encoder := own(text.String()[:at] + text.String()[end:]); encoder.Plain(encoder, c.Data.Dense()) {
			t.Errorf("%d columns: a table that lacks a value is plain", columns)
		}
	}
}

// A CV rejects a preparer together with a feature map before the final fit.
func TestPlainTableWithFeatures(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("y,a,b\n")
	rng := rand.New(rand.NewPCG(3, 36))
	for range 40 {
		fmt.Fprintf(&text, "%v,%v,%v\n", rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
	}
	d, encoder, err := casetest.Must(table.CSV{Target: "y"}.Read(strings.NewReader(text.String())))(t).Data()
	casetest.OK(t, err)
	splits := casetest.Must(cvgm.KFold(rng, 40, 4))(t)
	cv, err := cvgm.New(cvgm.Config{Data: d, Prepare: encoder, Features: &cvgm.LinearMap{In: 2, Out: 2}, Hyper: []float64{.1, .1}, Splits: splits,
		Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring, Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	if err != nil {
		return
	}
	alpha := []float64{1, .2, -.3, .7}
	_, err = cv.Eval(make([]float64, 4), alpha)
	_, last := cv.Final(alpha)
	t.Errorf("New has no error, Eval %v, and Final %v", err, last)
}

// heapRecorder is an encoder that records the size of the heap in Fit.
type heapRecorder struct {
	*table.Encoder
	heap *uint64
}

func (m heapRecorder) Fit(train *mat.Dense, weights []float64) (cvgm.Prepared, error) {
	*m.heap = heap()
	return m.Encoder.Fit(train, weights)
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// For a table of numbers, Final uses at most the memory that Config.Bytes returns.
func TestPlainTableBytes(t *testing.T) {
	const rows, columns = 8000, 60
	rng := rand.New(rand.NewPCG(3, 36))
	text := strings.Builder{}
	text.WriteString("y")
	for j := range columns {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for range rows {
		fmt.Fprintf(&text, "\n%.3f", rng.NormFloat64())
		for range columns {
			fmt.Fprintf(&text, ",%.3f", rng.NormFloat64())
		}
	}
	d, encoder, err := casetest.Must(table.CSV{Target: "y", Missing: table.MissingIsMean}.Read(strings.NewReader(text.String())))(t).Data()
	casetest.OK(t, err)
	text.Reset()
	at := uint64(0)
	c := cvgm.Config{Data: d, Prepare: heapRecorder{encoder, &at}, Splits: casetest.Must(cvgm.KFold(rng, rows, 3))(t), Loss: cvgm.SquaredError{},
		Standardise: true, Centring: cvgm.MeanCentring, Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	c.MaxBytes = c.Bytes()
	before := heap()
	cv := casetest.Must(cvgm.New(c))(t)
	_, err = cv.Eval(nil, []float64{.01, .1})
	casetest.OK(t, err)
	casetest.Must(cv.Final([]float64{.01, .1}))(t)
	if held := int64(at - before); held > c.MaxBytes {
		t.Errorf("Final holds %d bytes, and Bytes counts %d", held, c.MaxBytes)
	}
	runtime.KeepAlive(cv)
}

// squaringPreparer is a user-defined preparer that squares the features of an encoder.
type squaringPreparer struct{ *table.Encoder }

type squaredFeatures struct{ cvgm.Prepared }

func (s squaringPreparer) Fit(train *mat.Dense, weights []float64) (cvgm.Prepared, error) {
	p, err := s.Encoder.Fit(train, weights)
	return squaredFeatures{p}, err
}

func (s squaredFeatures) Apply(dst, row []float64) error {
	err := s.Prepared.Apply(dst, row)
	for i, v := range dst {
		dst[i] = v * v
	}
	return err
}

// A preparer that embeds an Encoder is not plain, even if the Encoder is.
func TestPlainTableInAnotherPreparer(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("y,a,b\n")
	rng := rand.New(rand.NewPCG(3, 36))
	for range 60 {
		a := rng.NormFloat64()
		fmt.Fprintf(&text, "%v,%v,%v\n", a*a+.1*rng.NormFloat64(), a, rng.NormFloat64())
	}
	d, encoder, err := casetest.Must(table.CSV{Target: "y"}.Read(strings.NewReader(text.String())))(t).Data()
	casetest.OK(t, err)
	c := cvgm.Config{Data: d, Prepare: squaringPreparer{encoder}, Splits: casetest.Must(cvgm.KFold(rng, 60, 4))(t), Loss: cvgm.SquaredError{},
		Standardise: true, Centring: cvgm.MeanCentring, Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	alpha := []float64{.01, .01}
	cv := casetest.Must(cvgm.New(c))(t)
	loss := casetest.Must(cv.Eval(nil, alpha))(t)
	training := casetest.Must(casetest.Must(cv.Final(alpha))(t).Risk(cvgm.SquaredError{}, d))(t)
	squares := c
	squares.Prepare, squares.Data.X = nil, mat.NewDense(60, 2, nil)
	squares.Data.Dense().MulElem(d.X, d.X)
	want := casetest.Must(casetest.Must(cvgm.New(squares))(t).Eval(nil, alpha))(t)
	if !casetest.Near(loss, want, 1e-9) || !(training < 2*want) {
		t.Errorf("the CV loss is %v instead of %v, and that of the model on its rows %v", loss, want, training)
	}
}
