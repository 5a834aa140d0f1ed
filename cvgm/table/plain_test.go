package table_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// A table of numbers without a missing one takes no copies of its rows, gives what its values give
// without the encoder, and its model fills in later missing values.
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
		if !encoder.Plain(c.Data.Dense()) || c.Bytes() != alone.Bytes() {
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
		// One missing value, and the encoder has something to do.
		first := strings.IndexByte(text.String(), '\n')
		at := first + strings.IndexByte(text.String()[first:], ',') + 1
		end := at + strings.IndexByte(text.String()[at:], ',')
		if c, encoder := own(text.String()[:at] + text.String()[end:]); encoder.Plain(c.Data.Dense()) {
			t.Errorf("%d columns: a table that lacks a value is plain", columns)
		}
	}
}
