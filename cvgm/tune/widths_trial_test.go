//go:build unix

package tune

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

var (
	widthSets   = flag.Int("widths", 1, "data sets of each kind in the trial of widths of features; from 2 on all kinds, and 1 is the first kind alone")
	widthFolder = flag.String("widthfiles", "", "folder to which the trial of widths writes its data sets, for testdata/widths_gp.py")
)

// A widthKind is a kind of data sets for the trial of widths.
type widthKind struct {
	name     string
	features int
	label    func(x []float64, noise float64) float64 // may scale x
}

// widthKinds holds Friedman's three functions (1991), an additive function, and a function of one
// of 50 features.
var widthKinds = []widthKind{
	{"Friedman 1", 20, func(x []float64, noise float64) float64 {
		return 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-.5)*(x[2]-.5) + 10*x[3] + 5*x[4] + noise
	}},
	{"Friedman 2", 4, func(x []float64, noise float64) float64 {
		q := circuit(x)
		return math.Sqrt(x[0]*x[0]+q*q) + 125*noise
	}},
	{"Friedman 3", 4, func(x []float64, noise float64) float64 { return math.Atan(circuit(x)/x[0]) + .1*noise }},
	{"additive", 6, func(x []float64, noise float64) float64 {
		sum := .3 * noise
		for j, v := range x {
			sum += math.Sin(2*math.Pi*v + float64(j))
		}
		return sum
	}},
	{"one of 50", 50, func(x []float64, noise float64) float64 { return math.Sin(2*math.Pi*x[0]) + .2*noise }},
}

// circuit scales x in place and returns the reactance of Friedman's circuit.
func circuit(x []float64) float64 {
	x[0], x[1], x[3] = 100*x[0], 40*math.Pi+520*math.Pi*x[1], 1+10*x[3]
	return x[1]*x[2] - 1/(x[1]*x[3])
}

func (k widthKind) draw(rng *rand.Rand, rows int) learn.Data {
	x, y := mat.NewDense(rows, k.features, nil), make([]float64, rows)
	for i := range y {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.Float64()
		}
		y[i] = k.label(row, rng.NormFloat64())
	}
	return learn.Data{X: x, Y: y}
}

// A widthTrial collects the results of one kind.
type widthTrial struct {
	errors  [2]float64 // the mean test error with one width, and the mean test error with a width for each feature
	seconds [2]float64 // of one processor
	lower   int        // sets with a lower error with a width for each feature
	sets    int
}

func (w *widthTrial) add(t *testing.T, train, test learn.Data) {
	t.Helper()
	var errors [2]float64
	for k, kind := range []kernel.Kernel{nil, kernel.ARD{}} {
		tuner := widthTuner(kind)
		tuner.Workers = 1
		began := cpuSeconds(t)
		tuned := mustTune(t, tuner, train)
		w.seconds[k] += cpuSeconds(t) - began
		errors[k] = casetest.Must(tuned.Model.Risk(cvgm.SquaredError{}, test))(t)
		w.errors[k] += errors[k]
	}
	if w.sets++; errors[1] < errors[0] {
		w.lower++
	}
}

func (w *widthTrial) ratio() float64 { return w.errors[1] / w.errors[0] }

func (w *widthTrial) log(t *testing.T, name string) {
	t.Helper()
	n := float64(w.sets)
	t.Logf("%-12s test error %.4g with one width, %.4g with all: ratio %.3f, lower on %d of %d sets; CPU %.0f and %.0f ms",
		name, w.errors[0]/n, w.errors[1]/n, w.ratio(), w.lower, w.sets, 1e3*w.seconds[0]/n, 1e3*w.seconds[1]/n)
}

// cpuSeconds returns the processor time of this process.
func cpuSeconds(t *testing.T) float64 {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

const (
	widthRows    = 80   // of a training set
	freshRows    = 2000 // of a test set, with the noise of the training sets
	mostRatio    = 1.03 // bound of the mean test error of any kind, divided by the mean test error with one width
	mostFriedman = .45  // of Friedman 1, where twenty sets have .27 to .39
)

// Separate widths lower the test error if features differ, and otherwise hardly raise it.
//
// With -widths 20 -v, the test prints the errors of all kinds.
func TestWidthsTrial(t *testing.T) {
	casetest.Trial(t)
	serial.Test(t)
	kinds := widthKinds
	if *widthSets == 1 {
		kinds = kinds[:1]
	}
	for k, kind := range kinds {
		var w widthTrial
		for set := range *widthSets {
			rng := rand.New(rand.NewPCG(uint64(set), uint64(1000+k)))
			train, test := kind.draw(rng, widthRows), kind.draw(rng, freshRows)
			if *widthFolder != "" {
				writeSet(t, fmt.Sprintf("%s, set %d, train.csv", kind.name, set), train)
				writeSet(t, fmt.Sprintf("%s, set %d, test.csv", kind.name, set), test)
				continue
			}
			w.add(t, train, test)
		}
		if *widthFolder != "" {
			continue
		}
		w.log(t, kind.name)
		most := mostRatio
		if k == 0 && *widthSets > 1 {
			most = mostFriedman
		}
		if w.ratio() > most {
			t.Errorf("%s: ratio %.3f", kind.name, w.ratio())
		}
	}
	if *widthSets == 1 || *widthFolder != "" {
		return
	}
	for name, d := range map[string]learn.Data{"houses": housesFile(t), "rings": ringData(t)} {
		var w widthTrial
		for set := range *widthSets {
			rng := rand.New(rand.NewPCG(uint64(set), 2000))
			split := casetest.Must(cvgm.RandomSplits(rng, len(d.Y), 1, .7))(t)[0]
			w.add(t, pickRows(d, split.Train), pickRows(d, split.Val))
		}
		if w.log(t, name); w.ratio() > mostRatio {
			t.Errorf("%s: ratio %.3f", name, w.ratio())
		}
	}
}

// Tune finds the five features of Friedman's first function, because it tries to add and to remove
// single features.
func TestStepsFindTheFeatures(t *testing.T) {
	casetest.Trial(t)
	serial.Test(t)
	sets, exact := []uint64{2, 8, 10, 12, 15, 16}, 0
	tuner := widthTuner(kernel.ARD{})
	tuner.Workers = 1
	for _, set := range sets {
		d := widthKinds[0].draw(rand.New(rand.NewPCG(set, 1000)), widthRows)
		var with []int
		for j, w := range mustTune(t, tuner, d).Widths() {
			if !math.IsInf(w.Length, 1) {
				with = append(with, j)
			}
		}
		if slices.Equal(with, []int{0, 1, 2, 3, 4}) {
			exact++
		}
	}
	if 3*exact < 2*len(sets) { // without steps they are found on one of six
		t.Errorf("on %d of %d sets", exact, len(sets))
	}
}

// Tune tries no single features if there are more features than widthTrials.
func TestStepsOfManyFeatures(t *testing.T) {
	serial.Test(t)
	d, tuner := waveData(60, widthTrials+1, 3), widthTuner(kernel.ARD{})
	tuner.Workers = 1
	if tuned := mustTune(t, tuner, d); len(tuned.Widths()) != widthTrials+1 || tuned.Evaluations > defaultEvals+widthEvals {
		t.Errorf("%d widths, %d evaluations", len(tuned.Widths()), tuned.Evaluations)
	}
}

// housesFile returns the features and labels of testdata/houses.csv.
func housesFile(t *testing.T) learn.Data {
	t.Helper()
	houses := casetest.Must(table.CSV{Target: "price", Missing: table.MissingIsMean}.ReadFile("testdata/houses.csv"))(t)
	d, encoder, err := houses.Data()
	if err != nil {
		t.Fatal(err)
	}
	all := sample.Complement(nil, len(d.Y))
	prepared := casetest.Must(encoder.Fit(d.Dense(), nil))(t)
	_, n := prepared.Dims()
	x := mat.NewDense(len(d.Y), n, nil)
	if err := sample.Prepare(x.RawMatrix().Data, prepared, d.Dense(), all); err != nil {
		t.Fatal(err)
	}
	return learn.Data{X: x, Y: d.Y}
}

// ringData returns two classes of rings with the labels ±1.
func ringData(t *testing.T) learn.Data {
	t.Helper()
	d := casetest.Must(synth.MakeRings(synth.NewStream(1, "rings"), 100, synth.Rings{}))(t)
	return learn.Data{X: d.X, Y: d.Y}
}

func pickRows(d learn.Data, rows []int) learn.Data {
	_, n := d.X.Dims()
	x := mat.NewDense(len(rows), n, nil)
	sample.Gather(x.RawMatrix().Data, d.Dense(), rows)
	return learn.Data{X: x, Y: sample.Pick(d.Y, rows)}
}

// writeSet writes a CSV file whose last column is the label.
func writeSet(t *testing.T, name string, d learn.Data) {
	t.Helper()
	f := casetest.Must(os.Create(filepath.Join(*widthFolder, name)))(t)
	defer f.Close()
	w := csv.NewWriter(f)
	for i, y := range d.Y {
		var fields []string
		for _, v := range append(slices.Clone(d.Dense().RawRowView(i)), y) {
			fields = append(fields, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if err := w.Write(fields); err != nil {
			t.Fatal(err)
		}
	}
	if w.Flush(); w.Error() != nil {
		t.Fatal(w.Error())
	}
}
