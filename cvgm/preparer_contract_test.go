package cvgm_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/cvgmtest"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// meanPreparer subtracts the mean from its only column. The field faulty selects a fault.
type meanPreparer struct {
	faulty string
	mean   *float64
	fits   *int
}

func newMeanPreparer(faulty string) meanPreparer { return meanPreparer{faulty, new(float64), new(int)} }

func (meanPreparer) Dims() (in, out int) { return 1, 1 }

func (m meanPreparer) Fit(train *mat.Dense, weights []float64) (cvgm.Prepared, error) {
	var s, total float64
	for i := range train.RawMatrix().Rows {
		w := 1.0
		if weights != nil && m.faulty != "weights" {
			w = weights[i]
		}
		s, total = s+w*train.At(i, 0), total+w
	}
	*m.fits++
	mean := s / total
	switch m.faulty {
	case "shared": // between the fits
		*m.mean = mean
		return m, nil
	case "memory": // of rows of other splits
		*m.mean += mean
		mean = *m.mean / float64(*m.fits)
	case "argument":
		train.Set(0, 0, mean)
	case "infinite":
		mean = math.Inf(1)
	}
	return meanPreparer{m.faulty, &mean, m.fits}, nil
}

func (m meanPreparer) Apply(dst, row []float64) error {
	switch m.faulty {
	case "silent":
		return nil
	case "row":
		row[0] -= *m.mean
		dst[0] = row[0]
		return nil
	case "error":
		return fmt.Errorf("no ink")
	}
	dst[0] = row[0] - *m.mean
	return nil
}

// oneHotPreparer turns its only column into 70 features: feature v is 1 for the value v. The text
// names a fault.
type oneHotPreparer string

func (oneHotPreparer) Dims() (in, out int) { return 1, 70 }

func (oneHotPreparer) MostStored() int { return 2 }

func (l oneHotPreparer) Fit(*mat.Dense, []float64) (cvgm.Prepared, error) {
	switch l {
	case "dense":
		return struct{ cvgm.Prepared }{l}, nil
	case "other":
		return anotherMost{l}, nil
	}
	return l, nil
}

// anotherMost is a oneHotPreparer with another bound.
type anotherMost struct{ oneHotPreparer }

func (anotherMost) MostStored() int { return 1 }

func (oneHotPreparer) Apply(dst, row []float64) error {
	clear(dst)
	dst[int(row[0])] = 1
	return nil
}

func (l oneHotPreparer) ApplyStored(row []float64, set func(feature int, v float64)) error {
	at := int(row[0])
	switch l {
	case "column":
		at = 70
	case "twice":
		set(at, 1)
	case "more":
		set(0, 0)
		set(69, 0)
	case "value":
		set(at, 2)
		return nil
	case "row":
		row[0] = 0
	case "error":
		return fmt.Errorf("no shelf")
	}
	set(at, 1)
	return nil
}

func TestPreparerContract(t *testing.T) {
	x := mat.NewDense(7, 1, []float64{1, 2, 4, 8, 16, 32, 65})
	cvgmtest.Preparer(t, newMeanPreparer(""), x)
	for faulty, want := range map[string]string{
		"shared": "after another Fit", "memory": "fitted again", "argument": "changes its arguments", "infinite": "is -Inf", "silent": "is NaN",
		"row": "Apply changes row", "error": "no ink", "weights": "weights of 0",
	} {
		if got := failuresOf(t, func(t cvgmtest.TB) { cvgmtest.Preparer(t, newMeanPreparer(faulty), x) }); !strings.Contains(got, want) {
			t.Errorf("%s: the contract reports %q, which lacks %q", faulty, got, want)
		}
	}
	cvgmtest.Preparer(t, oneHotPreparer(""), x)
	for faulty, want := range map[string]string{
		"dense": "not a StoredPrepared", "other": "same MostStored", "column": "sets feature 70 of 70", "twice": "sets it twice", "more": "MostStored is 2",
		"value": "and Apply", "row": "ApplyStored changes row", "error": "no shelf",
	} {
		if got := failuresOf(t, func(t cvgmtest.TB) { cvgmtest.Preparer(t, oneHotPreparer(faulty), x) }); !strings.Contains(got, want) {
			t.Errorf("%s: the contract reports %q, which lacks %q", faulty, got, want)
		}
	}
	var text strings.Builder
	text.WriteString("a,b,c,y\n")
	for i := range 20 {
		fmt.Fprintf(&text, "%s,%d,%s,1\n", []string{"", "1", "2.5", "-7e3"}[i*i%4], i, []string{"u", "?", "v"}[i%3])
	}
	table := casetest.Must(table.CSV{Target: "y", Missing: table.MissingIsMean}.Read(strings.NewReader(text.String())))(t)
	d, encoder, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	cvgmtest.Preparer(t, encoder, d.Dense())
	if slices.Contains(encoder.Names(), "") {
		t.Error(encoder.Names())
	}
}

// positiveOneHot is a oneHotPreparer that refuses negative numbers.
type positiveOneHot struct{ oneHotPreparer }

func (p positiveOneHot) Apply(dst, row []float64) error {
	if row[0] < 0 {
		return fmt.Errorf("negative")
	}
	return p.oneHotPreparer.Apply(dst, row)
}

// A linear model predicts many prepared rows in blocks, so its memory does not grow with the number
// of rows.
func TestPredictManyPreparedRows(t *testing.T) {
	serial.Test(t)
	const rows, features, entries = 40000, 70, 1 << 18 // of all features: 2.8e6
	x := mat.NewDense(rows, 1, nil)
	m := cvgm.Model{Prepared: positiveOneHot{}, Theta: make([]float64, features), Mean: make([]float64, features), Std: slices.Repeat([]float64{1}, features)}
	for j := range features {
		m.Theta[j] = float64(j)
	}
	for i := range rows {
		x.Set(i, 0, float64(i%features))
	}
	dst := make([]float64, rows)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	casetest.OK(t, m.Predict(dst, x))
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) / 8; made > entries {
		t.Errorf("%d entries are allocated", made)
	}
	for i, p := range dst {
		if p != x.At(i, 0) {
			t.Fatalf("row %d: %v, not %v", i, p, x.At(i, 0))
		}
	}
	x.Set(rows-1, 0, -1)
	if err := m.Predict(dst, x); err == nil || !strings.Contains(err.Error(), fmt.Sprint("row ", rows-1)) {
		t.Errorf("error %v", err)
	}
}
