package cvgm

import (
	"context"
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
		row := append([]string{strconv.Itoa(k), s.trait, strconv.Itoa(len(s.data.Y)), strconv.Itoa(s.columns())}, cells...)
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
	fmt.Fprintf(&b, "# go test ./cvgm -run 'TestTune(Finds|Risk)' -sets %d -timeout 0 -v -report testdata/tune_trials\n%s\n", *tuneSets, strings.Join(t.columns, ","))
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

// count returns the number of sets with that cell in a column.
func (t *trialTable) count(column, cell string) int {
	count := 0
	for k := range t.rows {
		if t.text(k, column) == cell {
			count++
		}
	}
	return count
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
				case trait == "heavy-tailed": // Student's t with 2 degrees of freedom: its square, and so the risk, has no mean
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
	table := runTrial(t, "finds.csv", false, []string{"excess", "evaluations", "end", "lowest", "cause"}, func(s trialSet) ([]string, error) {
		tuner := Tuner{OuterFolds: -1, Workers: 1}
		tuned, err := tuner.Tune(t.Context(), s.data)
		if err != nil {
			return nil, err
		}
		low, err := tuner.lowest(s.data, tuned, random, grid)
		if err != nil {
			return nil, err
		}
		excess := (tuned.Loss - low.loss) / tuned.ConstantLoss
		cause := ""
		if excess > near {
			cause = low.cause(tuned)
		}
		return []string{fmt.Sprintf("%.2g", excess), strconv.Itoa(len(tuned.Path)), low.place(tuned.Hyper), low.place(low.x), cause}, nil
	})
	var far []string
	var counts []float64
	for k := range *tuneSets {
		if table.number(k, "excess") > near {
			far = append(far, fmt.Sprintf("%s: %s above, after %s evaluations, at %s, the lowest at %s: %s", table.name(k), table.text(k, "excess"), table.text(k, "evaluations"), table.text(k, "end"), table.text(k, "lowest"), table.text(k, "cause")))
		}
		counts = append(counts, table.number(k, "evaluations"))
	}
	slices.Sort(counts)
	median := stat.Quantile(.5, stat.Empirical, counts, nil)
	t.Logf("%d sets; %d further than %g of the constant prediction's CV loss from the lowest of %d random points and a grid of %d values of each hyperparameter; evaluations: median %v, at most %v\n%s",
		*tuneSets, len(far), near, random, grid, median, counts[len(counts)-1], strings.Join(far, "\n"))
	if 20*len(far) > *tuneSets+10 || median > 60 {
		t.Errorf("too many, or too slow")
	}
}

// A lowest point of the CV loss is what random search and exhaustive search find together within the tuner's
// bounds.
type lowest struct {
	*tuneSearch
	loss float64
	x    []float64 // where
}

func (t Tuner) lowest(d qpdiff.Data, tuned *Tuned, random, grid int) (*lowest, error) {
	w, err := t.begin(context.Background(), Config{Data: d})
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
	for range random {
		add(func(int) float64 { return src.Float64() })
	}
	for g := range int(math.Pow(float64(grid), float64(len(s.hyper)))) {
		rest := g
		add(func(int) float64 {
			digit := rest % grid
			rest /= grid
			return float64(digit) / float64(grid-1)
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
		shares = append(shares, fmt.Sprintf("%.3f", l.share(i, v)))
	}
	return strings.Join(shares, " ")
}

// cause returns why the tuned point is not the lowest: between the two, along a line in logarithms, the CV loss
// rises above that of the tuned point, or it does not.
func (l *lowest) cause(tuned *Tuned) string {
	const points = 50
	for p := range points {
		x := make([]float64, len(tuned.Hyper))
		for i, v := range tuned.Hyper {
			from, to := l.share(i, v), l.share(i, l.x[i])
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

// The intervals of the nested estimate hold, as often as they claim, the mean risk on fresh examples of the models
// of the outer folds, and the mean difference to the risks of the defaults.
func TestTuneRiskIntervals(t *testing.T) { riskTrial(t, "risks.csv", false) }

// So they do where labels and features have nothing in common, and few tuned models are called lower
// than the default and the constant prediction.
func TestTuneRiskShuffled(t *testing.T) {
	table := riskTrial(t, "shuffled.csv", true)
	if improved := table.count("verdict", "tuned is lower than default"); 20*improved > *tuneSets {
		t.Errorf("%d of %d shuffled sets are called improved", improved, *tuneSets)
	}
}

// riskTrial makes the table of the nested estimates and of the true risks, which are means over fresh examples, in
// units of the constant prediction's CV loss.
func riskTrial(t *testing.T, name string, shuffled bool) *trialTable {
	estimated := func(of string) []string {
		return []string{of + " low", of, of + " high", of + " of the outer models", of + " held", of + " of the final models", "final " + of + " held"}
	}
	columns := slices.Concat(estimated("risk"), estimated("difference"), []string{"verdict"})
	table := runTrial(t, name, shuffled, columns, func(s trialSet) ([]string, error) {
		w, err := Tuner{Workers: 1}.begin(t.Context(), Config{Data: s.data})
		if err != nil {
			return nil, err
		}
		tuned, err := w.run()
		if err != nil {
			return nil, err
		}
		all := complement(nil, len(s.data.Y))
		var final, outer [2]float64 // risks of tuned and default models
		for _, models := range append(w.judged, judged{Split{all, all}, tuned.Hyper, tuned.DefaultHyper}) {
			c := tuned.Config
			c.Data = qpdiff.Data{X: mat.NewDense(len(models.fold.Train), s.columns(), nil), Y: pick(s.data.Y, models.fold.Train)}
			gather(c.Data.X.RawMatrix().Data, s.data.X, models.fold.Train)
			if c.Splits, err = LeaveOneOut(len(c.Data.Y)); err != nil { // any: no CV loss is evaluated
				return nil, err
			}
			c.Splits = c.Splits[:1]
			cv, err := New(c)
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
		var cells []string
		for _, v := range []struct {
			e            Estimate
			outer, final float64
		}{{tuned.Risk.Tuned, outer[0], final[0]}, {tuned.Risk.LessDefault, outer[0] - outer[1], final[0] - final[1]}} {
			for _, x := range []float64{v.e.Low, v.e.Mean, v.e.High} {
				cells = append(cells, fmt.Sprintf("%.4g", x/tuned.ConstantLoss))
			}
			for _, x := range []float64{v.outer, v.final} {
				cells = append(cells, fmt.Sprintf("%.4g", x/tuned.ConstantLoss), strconv.FormatBool(v.e.Low <= x && x <= v.e.High))
			}
		}
		return append(cells, strings.ReplaceAll(tuned.Risk.Verdict(), ",", ";")), nil
	})
	held := func(column string) int { return table.count(column, "true") }
	var misses []string
	lower, wrong := 0, 0
	for k := range *tuneSets {
		if table.text(k, "risk held") == "false" {
			misses = append(misses, fmt.Sprintf("%s: risk %s, estimate %s [%s, %s]", table.name(k), table.text(k, "risk of the outer models"), table.text(k, "risk"), table.text(k, "risk low"), table.text(k, "risk high")))
		}
		if table.number(k, "difference high") < 0 {
			lower++
			if table.number(k, "difference of the final models") >= 0 {
				wrong++
			}
		}
	}
	t.Logf("%d sets; of the intervals of the risk %d hold that of the outer models and %d that of the final one, of the intervals of the difference to the default %d and %d; %d called lower than the default (%d wrongly), %d of them lower than the constant prediction, %d higher than the default\n%s",
		*tuneSets, held("risk held"), held("final risk held"), held("difference held"), held("final difference held"),
		lower, wrong, table.count("verdict", "tuned is lower than default"), table.count("verdict", "tuned is higher than default"), strings.Join(misses, "\n"))
	const claim = .95
	sets := float64(*tuneSets)
	least := claim*sets - 3*math.Sqrt(claim*(1-claim)*sets)
	for _, column := range []string{"risk held", "difference held"} {
		if float64(held(column)) < least {
			t.Errorf("%s: %d of %d, less than %.0f", column, held(column), *tuneSets, least)
		}
	}
	return table
}
