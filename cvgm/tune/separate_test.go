package tune

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

var penaltySets = flag.Int("penalties", 0, "data sets of each kind in the trial of separate penalties; zero: few")

// A penaltyKind is a population of linear data for the trial of penalties.
type penaltyKind struct {
	name       string
	rows       int
	more       int  // rows at most in addition to them
	active     int  // features with an effect, the first of 20
	signs      bool // true: the sizes of the effects are from .5 to 1.5; false: the effects are Laplace distributed
	logistic   bool
	least      int     // smallest number of sets; with fewer sets, the mean is noise, or a run has no time for the kind
	most, many float64 // bounds of the mean test loss, divided by the mean test loss with one penalty: with penalties of 4 groups, and of 20 features
}

const penaltyFeatures, freshPenaltyRows = 20, 1000

// leastLower is the smallest accepted share of sets on which 4 penalties have a lower test loss
// than one penalty. mostHigher is the largest accepted increase of the mean test loss, in units of
// the constant prediction's loss.
const leastLower, mostHigher = .8, .02

// In the kinds called alike, unchecked separate penalties would raise the test loss by up to 20 %,
// because all features have similar effects.
var penaltyKinds = []penaltyKind{
	{"half of the groups", 50, 0, 10, false, false, 8, .99, 1.03},
	{"half of the groups, more rows", 150, 0, 10, false, false, 0, .97, 1},
	{"alike", 50, 0, 20, true, false, 0, 1.05, 1.05},
	{"alike, more rows", 150, 0, 20, true, false, 0, 1.01, 1.01},
	{"alike, classes", 100, 0, 20, true, true, 20, 1.03, 1.03},
	{"half of the groups, 60 to 200 rows", 60, 140, 10, false, false, 20, .97, 1.01},
	{"alike, 60 to 200 rows", 60, 140, 20, true, false, 20, 1.02, 1.02},
}

// draw returns rows whose neighbouring features have the correlation .5.
func (k penaltyKind) draw(rng *rand.Rand, effects []float64, rows int) learn.Data {
	x, y := mat.NewDense(rows, penaltyFeatures, nil), make([]float64, rows)
	for i := range y {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
			if j > 0 {
				row[j] = .5*row[j-1] + math.Sqrt(.75)*row[j]
			}
			y[i] += row[j] * effects[j]
		}
		if k.logistic {
			y[i] = math.Copysign(1, 1/(1+math.Exp(-2*y[i]))-rng.Float64())
		} else {
			y[i] += .7 * rng.NormFloat64()
		}
	}
	return learn.Data{X: x, Y: y}
}

// drawEffects draws the effects, whose squares sum to 1.
func (k penaltyKind) drawEffects(rng *rand.Rand) []float64 {
	all, sum := make([]float64, penaltyFeatures), 0.0
	for j := range k.active {
		size := rng.ExpFloat64()
		if k.signs {
			size = .5 + rng.Float64()
		}
		all[j] = size * float64(2*rng.IntN(2)-1)
		sum += size * size
	}
	for j := range all {
		all[j] /= math.Sqrt(sum)
	}
	return all
}

// Separate penalties lower the test loss if groups of features differ, and otherwise hardly raise
// it.
//
// With -penalties 60 -v, the test prints the test losses.
func TestPenaltiesTrial(t *testing.T) {
	casetest.Trial(t)
	serial.Test(t)
	sets := *penaltySets
	if sets == 0 {
		sets = 8
	}
	for k, kind := range penaltyKinds {
		if sets < kind.least {
			continue
		}
		losses, common, null := map[int][]float64{}, map[int][]bool{}, 0.0
		for set := range sets {
			rng := rand.New(rand.NewPCG(uint64(set), uint64(3000+k)))
			effects := kind.drawEffects(rng)
			rows := kind.rows
			if kind.more > 0 {
				rows += rng.IntN(kind.more + 1)
			}
			train, test := kind.draw(rng, effects, rows), kind.draw(rng, effects, freshPenaltyRows)
			for _, groups := range []int{1, 4, penaltyFeatures} {
				tuned := mustTune(t, groupTuner(groups, kind.logistic), train)
				losses[groups] = append(losses[groups], casetest.Must(tuned.Model.Risk(tuned.Config.Loss, test))(t))
				common[groups] = append(common[groups], warned(tuned, CommonFactor))
				if groups == 1 {
					null += tuned.ConstantLoss / float64(sets)
				}
			}
		}
		ratio := func(groups int) (of, share, ofConstant float64) {
			difference, one := slices.Clone(losses[groups]), stat.Mean(losses[1], nil)
			floats.Sub(difference, losses[1])
			mean, deviation := stat.MeanStdDev(difference, nil)
			separate, lower := 0, 0
			for set, common := range common[groups] {
				if !common { // else the models differ by rounding, or as much as two descents may
					separate++
					if difference[set] < 0 {
						lower++
					}
				}
			}
			low, high := experiment.Wilson(float64(lower)/float64(sets), float64(sets), .95)
			t.Logf("%s: %.3f ± %.3f of one penalty's test loss with %d penalties, separate on %d of %d sets; lower on %d, %.2f to %.2f of the sets; the difference is %+.2f %% of a constant's CV loss",
				kind.name, 1+mean/one, 1.96*deviation/one/math.Sqrt(float64(sets)), groups, separate, sets, lower, low, high, 100*mean/null)
			return 1 + mean/one, float64(lower) / float64(sets), mean / null
		}
		four, share, ofConstant := ratio(4)
		all, _, _ := ratio(penaltyFeatures)
		if kind.more > 0 && (kind.active < penaltyFeatures && share < leastLower || ofConstant > mostHigher) {
			t.Errorf("%s: 4 penalties are lower on a share %.2f of the sets, and the difference is %.3f of a constant's CV loss", kind.name, share, ofConstant)
		}
		if four > kind.most || all > kind.many {
			t.Errorf("%s: %.3f and %.3f of one penalty's test loss, at most %v and %v are right", kind.name, four, all, kind.most, kind.many)
		}
	}
}

// groupTuner tunes ridge penalties for groups of neighbouring features.
func groupTuner(groups int, logistic bool) Tuner {
	l := &penalised.GLM{Intercept: true}
	if logistic {
		l.Loss = penalised.Logistic
	}
	for g := range groups {
		l.Penalties = append(l.Penalties, penalised.Ridge(g*penaltyFeatures/groups, penaltyFeatures/groups))
	}
	return Tuner{Learner: l, OuterFolds: -1, Workers: 1, KeepWinner: true}
}

func warned(t *Tuned, kind WarningKind) bool {
	return slices.ContainsFunc(t.Warnings, func(w Warning) bool { return w.Kind == kind })
}

// If separate penalties do not lower the loss, Tune keeps the ratios of their defaults and warns of
// it.
func TestCommonFactor(t *testing.T) {
	kind := penaltyKinds[2]
	rng := rand.New(rand.NewPCG(1, 1))
	d := kind.draw(rng, kind.drawEffects(rng), kind.rows)
	groups := make([]int, kind.rows)
	for i := range groups {
		groups[i] = i % 3
	}
	for name, change := range map[string]func(t *Tuner){
		"folds":  func(*Tuner) {},
		"groups": func(t *Tuner) { t.Groups = groups },
		"splits": func(tuner *Tuner) {
			tuner.Splits = casetest.Must(cvgm.RandomSplits(rand.New(rand.NewPCG(2, 2)), kind.rows, 6, .7))(t)
		},
		"order of time": func(tuner *Tuner) { tuner.Splits = casetest.Must(cvgm.TimeSplits(kind.rows, 6, 0))(t) },
	} {
		tuner := groupTuner(penaltyFeatures, false)
		change(&tuner)
		tuned := mustTune(t, tuner, d)
		if !warned(tuned, CommonFactor) || warned(tuned, ManyHyperparameters) {
			t.Errorf("%s: %v", name, tuned.Warnings)
		}
		first := tuned.Hyper[0] / tuned.DefaultHyper[0]
		for j, v := range tuned.Hyper {
			if r := v / tuned.DefaultHyper[j] / first; math.Abs(r-1) > 1e-9 {
				t.Errorf("%s: ratio %v of penalty %d", name, r, j)
			}
		}
	}
}

// If the penalties of an elastic net have a common factor, either all or none of them are 0.
func TestCommonZeros(t *testing.T) {
	groups := make([]int, penaltyFeatures)
	for j := range groups {
		groups[j] = j / 5
	}
	zeros, kept := 0, 0
	for set := range 12 {
		kind := penaltyKinds[1+set%2]
		rng := rand.New(rand.NewPCG(uint64(set), 1))
		d := kind.draw(rng, kind.drawEffects(rng), 50)
		tuned := mustTune(t, Tuner{Learner: &linear.ElasticNet{Groups: groups}, OuterFolds: -1, Workers: 1, KeepWinner: true}, d)
		if !warned(tuned, CommonFactor) {
			continue
		}
		kept++
		for _, of := range [][]float64{tuned.Hyper[:4], tuned.Hyper[4:]} {
			if of[0] == 0 {
				zeros++
			}
			if lowest, highest := slices.Min(of), slices.Max(of); !(highest-lowest <= 1e-9*highest) {
				t.Errorf("set %d: %v", set, tuned.Hyper)
			}
		}
	}
	if kept < 4 || zeros < 2 {
		t.Errorf("%d sets keep a common factor, %d of their kinds vanish", kept, zeros)
	}
}

// With many rows for each penalty, separate penalties are not judged.
func TestPlentyOfRows(t *testing.T) {
	kind := penaltyKinds[1]
	rng := rand.New(rand.NewPCG(1, 1))
	d := kind.draw(rng, kind.drawEffects(rng), plenty*4)
	tuned := mustTune(t, groupTuner(4, false), d)
	if warned(tuned, CommonFactor) || !(tuned.Hyper[3] > 10*tuned.Hyper[0]) || tuned.Evaluations > defaultEvals {
		t.Errorf("%v of %v evaluations: %v", tuned.Hyper, tuned.Evaluations, tuned.Warnings)
	}
	few := groupTuner(4, false)
	few.MaxEvals = 30 // which end before the judgement
	if tuned := mustTune(t, few, kind.draw(rng, kind.drawEffects(rng), kind.rows)); fmt.Sprintf("%.6g", tuned.Hyper[3]/tuned.DefaultHyper[3]) != fmt.Sprintf("%.6g", tuned.Hyper[0]/tuned.DefaultHyper[0]) {
		t.Errorf("%v without a judgement", tuned.Hyper)
	}
}
