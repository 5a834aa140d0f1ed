package cvgm

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

var (
	tuneSets   = flag.Int("sets", 30, "data sets of the trials of Tuner; above 30 they have the sizes that the README's numbers are for")
	tuneReport = flag.String("report", "", "folder of the tables of the trials of Tuner: each row is appended as soon as it is there, and a trial takes the rows that are there already")
)

// A trialTable has a row for each set: its number, trait, rows and columns, then the cells of the outcome.
type trialTable struct {
	columns []string
	rows    map[int][]string
}

// runTrial makes a table of *tuneSets rows with the outcome of each set, in the file of that name where
// there is a folder for it. All sets are shuffled, or none.
func runTrial(t *testing.T, name string, shuffled bool, columns []string, outcome func(s trialSet) ([]string, error)) *trialTable {
	most, wide, _, _ := trialSizes()
	table := &trialTable{columns: append([]string{"set", "trait", "N", "n"}, columns...), rows: map[int][]string{}}
	var out io.Writer = io.Discard
	file := filepath.Join(*tuneReport, name)
	if *tuneReport != "" {
		if err := table.read(file); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out = f
	}
	var mu sync.Mutex
	err := qpdiff.ForEach(0, *tuneSets, func(k int) error {
		mu.Lock()
		_, done := table.rows[k]
		mu.Unlock()
		if done {
			return nil
		}
		s := trial(k, most, wide, shuffled)
		cells, err := outcome(s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		n, p := s.data.X.Dims()
		row := append([]string{strconv.Itoa(k), s.trait, strconv.Itoa(n), strconv.Itoa(p)}, cells...)
		mu.Lock()
		defer mu.Unlock()
		table.rows[k] = row
		_, err = fmt.Fprintln(out, strings.Join(row, ","))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if *tuneReport != "" {
		if err := os.WriteFile(file, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// read takes the rows of a file, if it is there.
func (t *trialTable) read(file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment, r.FieldsPerRecord = '#', len(t.columns)
	rows, err := r.ReadAll()
	for _, row := range rows {
		if k, err := strconv.Atoi(row[0]); err == nil { // not the head
			t.rows[k] = row
		}
	}
	return err
}

func (t *trialTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# go test ./cvgm -run 'TestTune(Finds|Risk)' -sets %d -timeout 0 -report testdata/tune_trials\n%s\n", *tuneSets, strings.Join(t.columns, ","))
	for k := range *tuneSets {
		fmt.Fprintln(&b, strings.Join(t.rows[k], ","))
	}
	return b.String()
}

// text returns the cell of set k in a column.
func (t *trialTable) text(k int, column string) string {
	return t.rows[k][slices.Index(t.columns, column)]
}

func (t *trialTable) number(k int, column string) float64 {
	v, err := strconv.ParseFloat(t.text(k, column), 64)
	if err != nil {
		panic(err)
	}
	return v
}

// name describes set k.
func (t *trialTable) name(k int) string {
	return fmt.Sprintf("%d %s N=%s n=%s", k, t.text(k, "trait"), t.text(k, "N"), t.text(k, "n"))
}

// A trialSet is a generated data set of a trial.
type trialSet struct {
	name  string
	trait string
	data  qpdiff.Data
	fresh qpdiff.Data // of the same population, for the risk
}

// trial draws data set number k: 20 to most rows, 2 to wide columns, with the traits that
// stop searches.
func trial(k, most, wide int, shuffled bool) trialSet {
	rng := rand.New(rand.NewPCG(uint64(k), 22))
	n := int(math.Round(20 * math.Pow(float64(most)/20, rng.Float64())))
	p := int(math.Round(2 * math.Pow(float64(wide)/2, rng.Float64())))
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
	draw := func(rows int) qpdiff.Data {
		d := qpdiff.Data{X: mat.NewDense(rows, p, nil), Y: make([]float64, rows)}
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
				case trait == "heavy-tailed":
					z /= math.Sqrt((math.Pow(rng.NormFloat64(), 2) + math.Pow(rng.NormFloat64(), 2)) / 2)
				}
				f += theta[j] * z
				d.X.Set(i, j, z*units[j])
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

func trialSizes() (most, wide, random, grid int) {
	if *tuneSets > 30 {
		return 2000, 200, 1000, 20
	}
	return 120, 20, 200, 12
}

// Tune ends near the lowest CV loss that random and exhaustive search find together, with far
// fewer evaluations.
func TestTuneFindsTheMinimum(t *testing.T) {
	const near = 1e-3 // of the CV loss of the constant prediction
	_, _, random, grid := trialSizes()
	table := runTrial(t, "finds.csv", false, []string{"excess", "evaluations", "end", "lowest", "warnings"}, func(s trialSet) ([]string, error) {
		tuner := Tuner{OuterFolds: -1, Workers: 1}
		tuned, err := tuner.Tune(t.Context(), s.data)
		if err != nil {
			return nil, err
		}
		lowest, end, at, err := tuner.lowest(s.data, tuned, random, grid)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("%.2g", (tuned.Loss-lowest)/tuned.ConstantLoss), strconv.Itoa(len(tuned.Path)), end, at, fmt.Sprint(tuned.kinds())}, nil
	})
	var far []string
	var counts []float64
	for k := range *tuneSets {
		if excess := table.number(k, "excess"); excess > near {
			far = append(far, fmt.Sprintf("%s: %.2g above, after %s evaluations; at %s, the lowest at %s; warnings %s", table.name(k), excess, table.text(k, "evaluations"), table.text(k, "end"), table.text(k, "lowest"), table.text(k, "warnings")))
		}
		counts = append(counts, table.number(k, "evaluations"))
	}
	slices.Sort(counts)
	median := stat.Quantile(.5, stat.Empirical, counts, nil)
	t.Logf("%d sets; %d further than %g of the constant prediction's CV loss from the lowest of %d random points and a grid of %d; evaluations: median %v, at most %v\n%s",
		*tuneSets, len(far), near, random, grid*grid, median, counts[len(counts)-1], strings.Join(far, "\n"))
	if 20*len(far) > *tuneSets+10 || median > 60 {
		t.Errorf("too many, or too slow")
	}
}

// lowest returns the lowest CV loss on the splits that random search and exhaustive search
// find together within the tuner's bounds, and where the tuned point and that one are, as shares of the
// ranges.
func (t Tuner) lowest(d qpdiff.Data, tuned *Tuned, random, grid int) (lowest float64, end, at string, err error) {
	c := Config{Data: d, Generalised: true, Workers: 1, Standardise: true}
	learner, err := t.prototype(d.Y)
	if err != nil {
		return 0, "", "", err
	}
	c.Learner, c.Loss = learner.make, learner.loss
	if learner.centred {
		c.Centring = MeanCentring
	}
	w := &tuning{Tuner: t, c: c, learner: learner}
	s, err := w.newSearch(complement(nil, len(d.Y)), tuned.Splits)
	if err != nil {
		return 0, "", "", err
	}
	place := func(x []float64) string {
		var shares []string
		for i, v := range x {
			shares = append(shares, fmt.Sprintf("%.3f", s.share(i, v)))
		}
		return strings.Join(shares, " ")
	}
	var points [][]float64
	src := synth.NewStream(9, "points")
	for range random {
		x := make([]float64, len(s.hyper))
		for i := range x {
			x[i] = s.at(i, src.Float64())
		}
		points = append(points, x)
	}
	total := int(math.Pow(float64(grid), float64(len(s.hyper))))
	for g := range total {
		x := make([]float64, len(s.hyper))
		for i, rest := 0, g; i < len(x); i, rest = i+1, rest/grid {
			x[i] = s.at(i, float64(rest%grid)/float64(grid-1))
		}
		points = append(points, x)
	}
	lowest = math.Inf(1)
	for _, x := range points {
		if loss, err := s.cv.Eval(nil, x); err == nil && loss < lowest {
			lowest, at = loss, place(x)
		}
	}
	return lowest, place(tuned.Hyper), at, nil
}

// The intervals of the nested estimate hold the risk on fresh examples, and the difference of the risks,
// of tuned and default models that are fitted to all examples.
func TestTuneRiskIntervals(t *testing.T) { riskTrial(t, "risks.csv", false) }

// Where labels and features have nothing in common, few tuned models are called better than the default.
func TestTuneRiskShuffled(t *testing.T) { riskTrial(t, "shuffled.csv", true) }

func riskTrial(t *testing.T, name string, shuffled bool) {
	table := runTrial(t, name, shuffled, []string{"tuned low", "tuned", "tuned high", "risk", "covers", "difference low", "difference", "difference high", "true difference", "covers difference", "verdict", "truth"}, func(s trialSet) ([]string, error) {
		tuned, err := Tuner{Workers: 1}.Tune(t.Context(), s.data)
		if err != nil {
			return nil, err
		}
		byDefault, err := New(tuned.Config)
		if err != nil {
			return nil, err
		}
		model, err := byDefault.Final(tuned.DefaultHyper)
		if err != nil {
			return nil, err
		}
		risk, err := tuned.Model.Risk(tuned.Config.Loss, s.fresh)
		if err != nil {
			return nil, err
		}
		other, err := model.Risk(tuned.Config.Loss, s.fresh)
		if err != nil {
			return nil, err
		}
		r := tuned.Risk
		truth := "lower"
		if risk >= other {
			truth = "not lower"
		}
		cells := []string{}
		for _, pair := range []struct {
			e Estimate
			v float64
		}{{r.Tuned, risk}, {r.LessDefault, risk - other}} {
			for _, v := range []float64{pair.e.Low, pair.e.Mean, pair.e.High, pair.v} {
				cells = append(cells, fmt.Sprintf("%.4g", v/tuned.ConstantLoss))
			}
			cells = append(cells, strconv.FormatBool(pair.e.Low <= pair.v && pair.v <= pair.e.High))
		}
		return append(cells, r.Verdict(), truth), nil
	})
	var misses []string
	risks, differences, improved, worse, wrong := 0, 0, 0, 0, 0
	for k := range *tuneSets {
		if table.text(k, "covers") == "true" {
			risks++
		} else {
			misses = append(misses, fmt.Sprintf("%s: risk %s, estimate %s [%s, %s]", table.name(k), table.text(k, "risk"), table.text(k, "tuned"), table.text(k, "tuned low"), table.text(k, "tuned high")))
		}
		if table.text(k, "covers difference") == "true" {
			differences++
		}
		switch table.text(k, "verdict") {
		case "tuned is lower than default":
			improved++
			if table.text(k, "truth") != "lower" {
				wrong++
			}
		case "tuned is higher than default":
			worse++
		}
	}
	t.Logf("%d sets: %d intervals hold the risk, %d the difference to the default; %d called lower than the default (%d wrongly), %d higher\n%s",
		*tuneSets, risks, differences, improved, wrong, worse, strings.Join(misses, "\n"))
	if 100*risks < 85**tuneSets || 100*differences < 85**tuneSets {
		t.Error("too few")
	}
}
