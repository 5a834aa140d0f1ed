package cvgm

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

var (
	tuneSets   = flag.Int("sets", 30, "data sets of the trials of Tuner; above 30 they have the sizes that the README's table has")
	tuneReport = flag.String("report", "", "file that the trials of Tuner write their tables to")
)

// A trialSet is a generated data set of a trial.
type trialSet struct {
	name  string
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
	s := trialSet{name: fmt.Sprintf("%d %s N=%d n=%d", k, trait, n, p), data: draw(n)}
	for classes := trait == "imbalanced" || trait == "classes"; classes && s.smaller() < 3; {
		s.data = draw(n)
	}
	s.fresh = draw(fresh)
	if shuffled {
		rng.Shuffle(n, func(a, b int) { s.data.Y[a], s.data.Y[b] = s.data.Y[b], s.data.Y[a] })
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
	most, wide, random, grid := trialSizes()
	type outcome struct {
		name        string
		excess      float64
		evaluations int
		warnings    string
	}
	outcomes := make([]outcome, *tuneSets)
	err := qpdiff.ForEach(0, *tuneSets, func(k int) error {
		s := trial(k, most, wide, false)
		tuner := Tuner{OuterFolds: -1, Workers: 1}
		tuned, err := tuner.Tune(t.Context(), s.data)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		lowest, err := tuner.lowest(s.data, tuned.Splits, random, grid)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		o := outcome{name: s.name, excess: (tuned.Loss - lowest) / tuned.ConstantLoss, evaluations: len(tuned.Path)}
		for _, w := range tuned.Warnings {
			o.warnings += " " + w.Text
		}
		outcomes[k] = o
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var far []string
	var counts []float64
	for _, o := range outcomes {
		if o.excess > near {
			far = append(far, fmt.Sprintf("%s: %.2g above, after %d evaluations;%s", o.name, o.excess, o.evaluations, o.warnings))
		}
		counts = append(counts, float64(o.evaluations))
	}
	slices.Sort(counts)
	median := stat.Quantile(.5, stat.Empirical, counts, nil)
	report := fmt.Sprintf("%d sets; %d further than %g of the constant prediction's CV loss from the lowest of %d random points and a grid of %d; evaluations: median %v, at most %v\n%s",
		*tuneSets, len(far), near, random, grid*grid, median, counts[len(counts)-1], strings.Join(far, "\n"))
	t.Log(report)
	if *tuneReport != "" {
		if err := os.WriteFile(*tuneReport, []byte(report+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if 20*len(far) > *tuneSets+10 || median > 60 {
		t.Errorf("too many, or too slow")
	}
}

// lowest returns the lowest CV loss on the splits that random search and exhaustive search
// find together within the tuner's bounds.
func (t Tuner) lowest(d qpdiff.Data, splits []Split, random, grid int) (float64, error) {
	c := Config{Data: d, Generalised: true, Workers: 1, Standardise: true}
	learner, err := t.prototype(d.Y)
	if err != nil {
		return 0, err
	}
	c.Learner, c.Loss = learner.make, learner.loss
	if learner.centred {
		c.Centring = MeanCentring
	}
	w := &tuning{Tuner: t, c: c, learner: learner}
	s, err := w.newSearch(complement(nil, len(d.Y)), splits)
	if err != nil {
		return 0, err
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
	lowest := math.Inf(1)
	for _, x := range points {
		if loss, err := s.cv.Eval(nil, x); err == nil {
			lowest = min(lowest, loss)
		}
	}
	return lowest, nil
}

// The intervals of the nested estimate hold the risk on fresh examples, and the difference of the risks,
// of tuned and default models that are fitted to all examples.
func TestTuneRiskIntervals(t *testing.T) {
	most, wide, _, _ := trialSizes()
	type outcome struct {
		name                string
		trait               string
		risk, difference    bool
		verdict             string
		lower               bool // the tuned model's risk is truly below the default's
		estimate, estimated string
	}
	outcomes := make([]outcome, *tuneSets)
	err := qpdiff.ForEach(0, *tuneSets, func(k int) error {
		s := trial(k, most, wide, false)
		tuned, err := Tuner{Workers: 1}.Tune(t.Context(), s.data)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		byDefault, err := New(tuned.Config)
		if err != nil {
			return err
		}
		model, err := byDefault.Final(tuned.DefaultHyper)
		if err != nil {
			return err
		}
		risk, err := tuned.Model.Risk(tuned.Config.Loss, s.fresh)
		if err != nil {
			return err
		}
		other, err := model.Risk(tuned.Config.Loss, s.fresh)
		if err != nil {
			return err
		}
		r := tuned.Risk
		outcomes[k] = outcome{
			name: s.name, trait: strings.Fields(s.name)[1], risk: r.Tuned.Low <= risk && risk <= r.Tuned.High, difference: r.LessDefault.Low <= risk-other && risk-other <= r.LessDefault.High,
			verdict: r.Verdict(), lower: risk < other, estimate: r.Tuned.String(), estimated: fmt.Sprintf("%.4g", risk),
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var misses []string
	risks, differences, improved, worse, wrong := 0, 0, 0, 0, 0
	for _, o := range outcomes {
		if o.risk {
			risks++
		} else {
			misses = append(misses, fmt.Sprintf("%s: risk %s, estimate %s", o.name, o.estimated, o.estimate))
		}
		if o.difference {
			differences++
		}
		switch o.verdict {
		case "tuned is lower than default":
			improved++
			if !o.lower {
				wrong++
			}
		case "tuned is higher than default":
			worse++
		}
	}
	t.Logf("%d sets: %d intervals hold the risk, %d the difference to the default; %d called lower than the default (%d wrongly), %d higher\n%s",
		len(outcomes), risks, differences, improved, wrong, worse, strings.Join(misses, "\n"))
	if 100*risks < 85*len(outcomes) || 100*differences < 85*len(outcomes) {
		t.Error("too few")
	}
}
