package claims

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/gob"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/registry"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
)

// scramble sets every float of the value v to a random number and extends empty slices to 60
// entries.
func scramble(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && strings.HasPrefix(v.Type().Elem().PkgPath(), reflect.TypeFor[experiment.Estimate]().PkgPath()) {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() {
			scramble(v.Elem(), rng)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				scramble(v.Field(i), rng)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 60, 60))
		}
		for i := range v.Len() {
			scramble(v.Index(i), rng)
		}
	case reflect.Array:
		for i := range v.Len() {
			scramble(v.Index(i), rng)
		}
	case reflect.Float64:
		v.SetFloat(rng.Float64())
	}
}

// fakeResults returns results of the right shape with random numbers.
func fakeResults(seed uint64) Results {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := Results{SampleSize: &samplesize.Result{Params: samplesize.DefaultSampleSize(), Sizes: []int{8, 20, 24},
		Methods: make([]samplesize.SizeMethod, samplesize.SizeAdamLong+1), Overfitting: []experiment.Estimate{{N: 1}, {N: 1}, {N: 1}}}}
	for k := range r.SampleSize.Methods {
		r.SampleSize.Methods[k].Accuracy = make([][]float64, 3)
		r.SampleSize.Methods[k].Mean = make([]experiment.Estimate, 3)
	}
	r.ElasticNetSeeds = &elasticnet.Seeds{Methods: make([]elasticnet.Method, elasticnet.TrueCoefficients+1)}
	r.Rings, r.XOR = new(kernels.RingsResult), new(kernels.XORResult)
	for _, k := range []*kernels.LearnedKernelResult{&r.Rings.LearnedKernelResult, &r.XOR.LearnedKernelResult} {
		k.Runs = make([]kernels.Run, len(kernels.Variants))
		for i, v := range kernels.Variants {
			k.Runs[i].Variant = v
		}
	}
	r.Searches = new(searches.Result)
	for _, name := range []string{"exhaustive", "random", "Bayesian", "Nesterov", "Adam", searches.QuasiNewton, searches.PaperStep} {
		r.Searches.Methods = append(r.Searches.Methods, searches.Method{Name: name})
	}
	r.Learning = &differentiability.Learning{Loss: differentiability.LearnedLosses{Methods: []differentiability.LossMethod{{Name: "learned"}, {Name: "hinge"}, {Name: "logistic"}}}}
	for _, n := range []int{2, 5} {
		if r.Dimensions == nil {
			r.Dimensions = new(searches.DimensionsResult)
		}
		r.Dimensions.Dimensions = append(r.Dimensions.Dimensions, searches.Dimension{Hyperparameters: n, Methods: []searches.DimensionMethod{{Name: "exhaustive"}, {Name: "random"}, {Name: searches.QuasiNewton}}})
	}
	r.Timings = &Timings{Benchmarks: map[string]map[string]BenchStat{}}
	for _, name := range []string{"ElasticNetCold/value", "ElasticNetCold/gradient", "LearnedKernelStep/rings/value", "LearnedKernelStep/rings/step",
		"LearnedKernelStep/XOR/value", "LearnedKernelStep/XOR/step"} {
		r.Timings.Benchmarks["cvgm."+name] = map[string]BenchStat{"ns/op": {Median: rng.Float64()}}
	}
	r.Ablation = &samplesize.AblationResult{Rows: []samplesize.AblationRow{{Problem: kernels.ProblemRings}, {Problem: kernels.ProblemXOR}, {Problem: samplesize.ProblemNet}}, Rings: make([]experiment.Comparison, 1)}
	r.GradientParts = &kernels.GradientPartsResult{Paths: []kernels.GradientPath{{Problem: kernels.ProblemRings, Variant: kernels.Full}, {Problem: kernels.ProblemRings, Variant: kernels.Published, At: []kernels.GradientParts{{Steps: 10, Error: experiment.Estimate{N: 24}}}}}}
	r.FewDimensions = &searches.FewDimensionsResult{Rows: []searches.FewDimensionsRow{{Matter: 1}, {Matter: 4}}}
	r.Regret = &searches.RegretResult{Rows: []searches.RegretRow{{Hyperparameters: 2}, {Hyperparameters: 5}}}
	r.Printed = &elasticnet.RegressionPrinted{Tests: make([]elasticnet.RegressionTest, elasticnet.TestPrintedCall+1)}
	r.Ablation.Params.Rings.Budgets = []int{100}
	r.Map = new(manyhyper.MapResult)
	for _, problem := range manyhyper.MapProblems {
		for _, n := range []int{8, 60} {
			for _, hyperparameters := range []int{4, 20} {
				r.Map.Cells = append(r.Map.Cells, manyhyper.MapCell{MapPlace: manyhyper.MapPlace{Problem: problem, Train: n, Hyperparameters: hyperparameters}})
			}
		}
	}
	r.Splits = &splits.Result{ByK: []splits.Setting{{K: 15}, {K: 120}, {K: 240}}, ByP: []splits.Setting{{P: .65}, {P: .95}}}
	scramble(reflect.ValueOf(&r).Elem(), rng)
	for i := range r.Derivatives.Checks {
		r.Derivatives.Checks[i].Input = "X"
	}
	for i := range r.Stability.Starts {
		r.Stability.Starts[i].Start.Hyper = []float64{float64(i), 1}
	}
	for i := range 20 * seed { // more settings satisfy the identity
		r.Stability.Learners[0].Parts[i].Difference = experiment.Estimate{Mean: 0, Margin: 1, N: 9}
	}
	for i := range r.Searches.LocalMinima {
		r.Searches.LocalMinima[i] = 1 + i%int(1+seed)
	}
	for i := range 10 * seed { // more losses are continuous
		r.Limits.Loss.ZeroOneJump[i] = 0
	}
	r.ElasticNet.Params.Train, r.Rings.Params.Test = 30+int(seed), 1000
	r.ElasticNet.Params.Samples = 1000 + int(seed)
	r.Learning.Loss.Methods[1].Test.Mean = -1 // the lowest, so the best
	// These parameters are the same for every seed, because the texts of the claims contain them.
	for i := range r.Unrolled.ByRate {
		r.Unrolled.ByRate[i].Rate = .1 * float64(i)
	}
	r.Unrolled.Params.Conditions = []float64{1, 2}
	r.Searches.Params.Budget, r.Searches.Params.Tol = 60, 1e-6
	for i := range 10 * seed { // more CV losses are convex
		r.Searches.Above[i] = 0
	}
	r.GradientParts.Paths[1].At = append(slices.Clone(r.GradientParts.Paths[1].At[:1]), r.GradientParts.Paths[1].At...)
	r.GradientParts.Paths[1].At[0].Steps = 0
	r.Regret.Rows[0].BoxHigh, r.Regret.Rows[1].BoxHigh = -1, 1
	r.Splits.ByP[0].P, r.Splits.ByP[1].P = .65, .95
	r.Stability.Learners[0].At[0] = 1
	r.ElasticNet.CVGM.TestLoss = r.ElasticNet.CVGM.TestLoss[:50+seed]
	r.Dimensions.Dimensions[0].Hyperparameters, r.Dimensions.Dimensions[1].Hyperparameters = 2, 5
	r.Rings.Params.Hidden = []int{int(seed)}
	r.XOR.Params.Hidden = []int{int(seed), 3}
	return r
}

// measurementsOf maps the sentence and the text of each measurement to the measurement.
func measurementsOf(claims []Claim) map[string]Measurement {
	all := make(map[string]Measurement)
	for _, c := range claims {
		for _, m := range c.Measured {
			all[c.Sentence+" "+m.Text] = m
		}
	}
	return all
}

// Every number comes from a result. With other results, the number is different.
func TestClaimsAreReadFromResults(t *testing.T) {
	serial.Test(t)
	printed := quotations[saysSeeds].text // this sentence compares two printed numbers
	a, b := measurementsOf(Claims(fakeResults(1))), measurementsOf(Claims(fakeResults(2)))
	if len(a) != len(b) || len(a) < 60 {
		t.Fatalf("%d and %d measurements", len(a), len(b))
	}
	for text, m := range a {
		other, ok := b[text]
		switch {
		case !ok:
			t.Errorf("%q has no counterpart", text)
		case m.Rule == "":
			t.Errorf("%q: no rule", text)
		case m.Ours.Mean == other.Ours.Mean && !strings.HasPrefix(text, printed), math.IsNaN(m.Ours.Mean) && m.Verdict != NotTestable:
			t.Errorf("%q: %v from two different results", text, m.Ours.Mean)
		}
	}
}

// The setting of a measurement changes with the parameters. Results without parameters have
// constant settings.
func TestSettingsAreReadFromParameters(t *testing.T) {
	serial.Test(t)
	constant := []sentence{saysUnion, saysRange, saysSeeds, saysLinear, saysLittleOnTop, saysMostTime, saysSplitUp, saysSpecialised, saysFiveOrSix, saysBayesRule, saysSmoothInAlpha}
	a, b := Claims(fakeResults(1)), Claims(fakeResults(2))
	for i, c := range a {
		for k, m := range c.Measured {
			switch {
			case math.IsNaN(m.Ours.Mean):
			case m.Setting == "":
				t.Errorf("%q has no setting", m.Text)
			case m.Setting == b[i].Measured[k].Setting && !slices.Contains(constant, sentence(i)) && !strings.HasPrefix(m.Text, "smallest eigenvalue"):
				t.Errorf("%q: one setting from two sets of parameters: %s", m.Text, m.Setting)
			}
		}
	}
	p := splits.DefaultSplits()
	p.At, p.Ps = .5, nil
	if got, want := pick(p, "P", "At"), "p = 0.95, λ1 = λ2 = 0.5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFindingsAreReadFromResults(t *testing.T) {
	serial.Test(t)
	a, b := Findings(Claims(fakeResults(1))), Findings(Claims(fakeResults(2)))
	if len(a) != 7 || len(b) != 7 || len(Findings(nil)) != 0 {
		t.Fatalf("%d and %d findings", len(a), len(b))
	}
	for i, f := range a {
		if f.Row.Ours.Mean == b[i].Row.Ours.Mean || f.Text == "" || f.Notebook == "" {
			t.Errorf("%q: %v from two different results", f.Text, f.Row.Ours.Mean)
		}
	}
}

func TestEverySentenceIsJudged(t *testing.T) {
	serial.Test(t)
	claims := Claims(fakeResults(1))
	if len(claims) != int(sentences) {
		t.Fatalf("%d claims of %d sentences", len(claims), sentences)
	}
	seen := map[string]bool{}
	for i, c := range claims {
		if words := strings.Fields(c.Short); len(words) == 0 || len(words) > 12 {
			t.Errorf("claim %d: %d words: %s", i+1, len(words), c.Short)
		}
		if c.Section == "" || c.Sentence == "" || c.Sentence != quotations[i].text || seen[c.Sentence] {
			t.Errorf("claim %d: %q in %q", i+1, c.Sentence, c.Section)
		}
		seen[c.Sentence] = true
	}
}

// keepResults is the command that writes the results that keptClaims reads.
const keepResults = "go test ./notebooks/notebook -run TestResultsOfTheClaims -timeout 0 -keep-results"

// keptClaims applies the current rules to the stored results.
func keptClaims(t *testing.T) []Claim {
	f, err := os.Open(filepath.Join("testdata", "results.gob.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var r Results
	if err := gob.NewDecoder(z).Decode(&r); err != nil {
		t.Fatal(err)
	}
	return Claims(r)
}

// If a measurement disagrees with the paper, a remark gives the reason.
func TestClaimsThatDoNotHoldHaveARemark(t *testing.T) {
	serial.Test(t)
	for _, c := range keptClaims(t) {
		for _, m := range c.Measured {
			if slices.Contains([]Verdict{Differs, PaperError, NotTestable}, m.Verdict) && m.Remark == "" {
				t.Errorf("%s: %s, without a reason", m.Text, m.Verdict)
			}
		}
	}
}

// Every rule rejects either its measurement or its control, for which the sentence is false.
func TestEveryRuleCanFail(t *testing.T) {
	serial.Test(t)
	fails := []Verdict{Differs, PaperError, Slip}
	for _, c := range keptClaims(t) {
		for _, m := range c.Measured {
			if m.Verdict == NotTestable || slices.Contains(fails, m.Verdict) {
				continue
			}
			if m.Control == nil || !slices.Contains(fails, m.Control.Verdict) {
				t.Errorf("%s: %s; and of the control: %+v", m.Text, m.Verdict, m.Control)
			}
		}
	}
}

// The current rules give the verdicts of the committed table, whose numbers are pooled over the
// recorded draws.
func TestVerdictsAreThoseOfTheTable(t *testing.T) {
	serial.Test(t)
	f, err := os.Open(filepath.Join("..", "..", "..", "figures", "out", "00_start", "claims.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cell := func(row []string, column string) string { return row[slices.Index(rows[0], column)] }
	type verdicts struct{ Own, Control Verdict }
	want, got := map[string]verdicts{}, map[string]verdicts{} // by sentence and measurement
	sentence := ""
	for _, row := range rows[1:] {
		text := cell(row, "Sentence or measurement")
		if cell(row, "Section") != "" {
			sentence = strings.Trim(text, "“”")
			continue
		}
		want[sentence+" "+text] = verdicts{Verdict(strings.Trim(cell(row, "Verdict"), "()")), Verdict(cell(row, "Control's verdict"))}
	}
	for text, m := range measurementsOf(pooledClaims(t)) {
		v := verdicts{Own: m.Verdict}
		if m.Control != nil && !slices.Contains([]Verdict{Differs, PaperError, Slip}, m.Verdict) { // the verdict shows that the rule can fail
			v.Control = m.Control.Verdict
		}
		got[text] = v
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a rule changed, or the results are older than the table; write them again: %s\n%s", keepResults, diff)
	}
}

// Every rule for repetitions has a smallest difference that matters, with a reason.
func TestEveryRuleHasASmallestDifference(t *testing.T) {
	judged := 0
	rows(pooledClaims(t), func(name string, m *Measurement) {
		if !m.Ours.Repeated() {
			return
		}
		judged++
		if _, ok := m.Position(); !ok || !(m.Smallest > 0) || m.Reason == "" {
			t.Errorf("%s: %v, %q: %s", name, m.Smallest, m.Reason, m.Text)
		}
	})
	if judged < 90 {
		t.Errorf("%d rows have repetitions", judged)
	}
}

// Intervals over several draws stay on their scale: above 0, and below 1 for shares.
func TestIntervalsOfDrawsStayOnTheirScale(t *testing.T) {
	ends := map[string][2]float64{"1a": {0, math.Inf(1)}, "1b": {0, math.Inf(1)}, "15a": {0, math.Inf(1)}, "16a": {0, math.Inf(1)}, "22a": {0, 1}, "44a": {0, math.Inf(1)}, "47a": {0, 1}}
	found := 0
	rows(pooledClaims(t), func(name string, m *Measurement) {
		want, is := ends[name]
		if !is {
			return
		}
		found++
		if low, high := m.Ours.Interval(.95); !m.Ours.Repeated() || low <= want[0] || high >= want[1] || !(low < m.Ours.Mean && m.Ours.Mean < high) {
			t.Errorf("%s: %v to %v of %+v", name, low, high, m.Ours)
		}
	})
	if found != len(ends) {
		t.Errorf("%d rows of %d", found, len(ends))
	}
}

// The setting of a learned kernel begins with its number of splits if it has fewer than the paper's
// 256.
func TestSettingsBeginWithOtherSplitsThanThePapers(t *testing.T) {
	few := regexp.MustCompile("CV loss: logistic loss of K = ([0-9]+) uniform splits, p = 0.95, logistic regression")
	found := 0
	rows(keptClaims(t), func(name string, m *Measurement) {
		k := few.FindStringSubmatch(m.Setting)
		if k == nil {
			return
		}
		begins := strings.HasPrefix(m.Setting, "K = "+k[1]+" splits in the place of the paper's 256; ")
		if found++; begins == (k[1] == "256") {
			t.Errorf("%s: %s", name, m.Setting)
		}
	})
	if found < 20 {
		t.Errorf("%d settings of learned kernels", found)
	}
}

// The setting of a search begins with its start or box if they differ from the paper's.
func TestSettingsBeginWithAnotherSearchThanThePapers(t *testing.T) {
	start, box := "start λ1 = 0.1, λ2 = 0.1 in the place of the paper's 0.01, 0.0001; ", "box up to 3.16228 in the place of the paper's 0.1; "
	want := map[string]string{"5a": box, "11a": start + box, "18a": start + box, "18b": start + box, "18m": box, "22a": box, "24c": start, "24d": start, "24e": start, "24a": "", "30a": "", "31d": ""}
	found := 0
	rows(keptClaims(t), func(name string, m *Measurement) {
		begins, is := want[name]
		if !is {
			return
		}
		if found++; !strings.HasPrefix(m.Setting, begins+"elastic net ") {
			t.Errorf("%s: %s", name, m.Setting)
		}
	})
	if found != len(want) {
		t.Errorf("%d rows of %d", found, len(want))
	}
}

// The rule of "nearly linearly separable" has its bound a quarter of the way from the accuracy of
// the Bayes rule to the accuracy of the best line.
func TestNearBayes(t *testing.T) {
	rings := kernels.DefaultRings().RingsData
	_, line := differentiability.HalfPlane(rings)
	r := nearBayes(rings, line)
	if want := .89435 - .25*(.89435-line); math.Abs(r.low-want) > 1e-4 {
		t.Errorf("above %v, want %v", r.low, want)
	}
	for accuracy, want := range map[float64]Verdict{line: Differs, (line + .894) / 2: Differs, .8: Differs, .82: Differs, .87: Confirmed} {
		if got := r.judge(experiment.Estimate{Mean: accuracy, Margin: .01, N: 100}, nil).Verdict; got != want {
			t.Errorf("%v: %s, want %s", accuracy, got, want)
		}
	}
}

func TestEveryResultHasClaims(t *testing.T) {
	serial.Test(t)
	results := fakeResults(1)
	all := len(measurementsOf(Claims(results)))
	for i := range reflect.TypeFor[Results]().NumField() {
		r := results
		reflect.ValueOf(&r).Elem().Field(i).SetZero()
		if len(measurementsOf(Claims(r))) >= all {
			t.Errorf("no claim is judged by %s", reflect.TypeFor[Results]().Field(i).Name)
		}
	}
}

func TestRules(t *testing.T) {
	nan := math.NaN()
	tenth := difference{.1, "a tenth"}
	estimate := func(mean, margin float64) experiment.Estimate {
		return experiment.Estimate{Mean: mean, Margin: margin, N: 9}
	}
	for _, c := range []struct {
		rule rule
		m    experiment.Estimate
		want Judgement
	}{
		{equalsRule(1, .1, ""), once(1.05), Judgement{"", "", Confirmed}},
		{equalsRule(1, .1, ""), once(1.2), Judgement{"", "", Differs}},
		{equalsRule(1, .1, "").or(PaperError), once(1.2), Judgement{"", "", PaperError}},
		{equalsRule(1, .1, ""), estimate(1.05, .04), Judgement{Above, Negligible, Confirmed}},
		{equalsRule(1, .1, ""), estimate(1.05, .07), Judgement{Even, Unclear, NotDecided}},
		{equalsRule(1, .1, ""), estimate(1.2, .07), Judgement{Above, Matters, Differs}},
		{zeroRule(tenth).or(PaperError), estimate(-.2, .07), Judgement{Below, Matters, PaperError}},
		{countRule(322), once(322), Judgement{"", "", Confirmed}},
		{countRule(322), once(323), Judgement{"", "", Differs}},
		{asPrinted(Quoted{Paper: ".72"}), once(.716), Judgement{"", "", Confirmed}},
		{asPrinted(Quoted{Paper: ".72"}), once(.725), Judgement{"", "", Confirmed}},
		{asPrinted(Quoted{Paper: ".72"}), once(.7251), Judgement{"", "", Differs}},
		{asPrinted(Quoted{Paper: "1.080"}), once(1.0795), Judgement{"", "", Confirmed}},
		{asPrinted(Quoted{Paper: "1.080"}), once(1.0780), Judgement{"", "", Differs}},
		{withinOne(Quoted{Paper: ".898"}, 1000), once(.899), Judgement{"", "", Confirmed}},
		{withinOne(Quoted{Paper: ".898"}, 1000), once(.9), Judgement{"", "", Differs}},
		{aboveRule(0, tenth), estimate(1, .5), Judgement{Above, Matters, Confirmed}},
		{aboveRule(0, tenth), estimate(.2, .15), Judgement{Above, Unclear, Confirmed}},
		{aboveRule(0, tenth), estimate(.5, .5), Judgement{Even, Unclear, NotDecided}}, // the interval contains 0
		{aboveRule(0, tenth), estimate(.5, .499), Judgement{Above, Unclear, Confirmed}},
		{aboveRule(0, tenth), estimate(.1, 1e-9), Judgement{Above, Unclear, Confirmed}}, // up to the smallest difference that matters
		{zeroRule(tenth), estimate(.1, 1e-9), Judgement{Above, Unclear, NotDecided}},
		{aboveRule(0, tenth), estimate(.05, .03), Judgement{Above, Negligible, TooLittle}},
		{aboveRule(0, tenth), estimate(.02, .04), Judgement{Even, Negligible, Differs}},
		{aboveRule(0, tenth), estimate(1, 1.5), Judgement{Even, Unclear, NotDecided}},
		{aboveRule(0, tenth), estimate(-.05, .03), Judgement{Below, Negligible, Differs}},
		{aboveRule(0, tenth), estimate(-1, .5), Judgement{Below, Matters, Differs}},
		{aboveRule(0, computedDifference), once(0), Judgement{"", "", Differs}},
		{belowRule(0, tenth), estimate(-1, .5), Judgement{Below, Matters, Confirmed}},
		{belowRule(0, tenth), estimate(-1, 1.5), Judgement{Even, Unclear, NotDecided}},
		{belowRule(0, tenth), estimate(0, 0), Judgement{"", "", Differs}},
		{belowRule(0, computedDifference), once(-1), Judgement{"", "", Confirmed}},
		{littleOf(once(4), "the start"), estimate(.5, .4), Judgement{Above, Negligible, Confirmed}},
		{littleOf(once(4), "the start"), estimate(.5, .65), Judgement{Even, Unclear, NotDecided}},
		{littleOf(once(4), "the start"), estimate(1.5, .4), Judgement{Above, Matters, Differs}},
		{littleOf(once(4), "the start"), once(4), Judgement{Above, Matters, Differs}},
		{littleOf(estimate(4, 1), "the start"), once(0), Judgement{Even, Negligible, Confirmed}},
		{littleOf(estimate(4, 1), "the start"), once(1.1), Judgement{Above, Unclear, NotDecided}},
		{aboveRule(0, tenth), once(nan), Judgement{"", "", NotTestable}},
	} {
		if got := c.rule.judge(c.m, nil); got != c.want {
			t.Errorf("%s at %+v: %+v, want %+v", c.rule.text, c.m, got, c.want)
		}
	}
	// Six successes of six do not decide that a share is above .9.
	all := experiment.ShareOf([]float64{1, 1, 1, 1, 1, 1})
	if got := aboveRule(.9, ofSets).judge(all, nil); got.Verdict != NotDecided {
		t.Errorf("6 of 6: %+v", got)
	}
}

// A rule whose bound is measured on the same data as the estimate uses paired differences, in which
// common errors cancel.
func TestMeasuredBoundsEnterPaired(t *testing.T) {
	src := synth.NewStream(1, "bounds")
	var loss, worst []float64
	for range 40 {
		hard := 20 * (1 + src.Float64()) // both methods lose the same share of this number
		loss, worst = append(loss, .2*hard+.1*src.NormFloat64()), append(worst, hard)
	}
	r := littleOf(experiment.EstimateOf(worst), "the worst")
	if got := r.judge(experiment.EstimateOf(loss), paired(loss, worst)); got.Verdict != Confirmed {
		t.Errorf("paired: %+v", got)
	}
	if got := r.judge(experiment.EstimateOf(loss).Times(1.2), nil); got.Verdict != NotDecided {
		t.Errorf("as independent: %+v", got)
	}
}

func TestConjunction(t *testing.T) {
	for _, c := range []struct {
		of   []Verdict
		want Verdict
	}{
		{[]Verdict{Confirmed, Confirmed}, Confirmed},
		{[]Verdict{Confirmed, NotTestable}, Confirmed},
		{[]Verdict{Confirmed, NotDecided}, NotDecided},
		{[]Verdict{NotDecided, Differs, Confirmed}, Differs},
		{[]Verdict{Differs, PaperError}, PaperError},
		{[]Verdict{Confirmed, TooLittle}, TooLittle},
		{[]Verdict{TooLittle, NotDecided}, NotDecided},
		{[]Verdict{NotTestable}, NotTestable},
		{nil, NotTestable},
	} {
		if got := conjunction(c.of); got != c.want {
			t.Errorf("%v: %s, want %s", c.of, got, c.want)
		}
	}
}

// No row and no control is decided if its interval contains all numbers, so verdicts depend on
// intervals and not on means.
func TestWideIntervalsDecideNothing(t *testing.T) {
	serial.Test(t)
	r, means := fakeResults(1), map[float64]bool{}
	var widen func(v reflect.Value)
	widen = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				widen(v.Elem())
			}
		case reflect.Struct:
			if v.CanAddr() {
				if e, is := v.Addr().Interface().(*experiment.Estimate); is {
					e.Margin, e.N = math.MaxFloat64, 9
					means[e.Mean] = true
				}
			}
			for i := range v.NumField() {
				if v.Field(i).CanSet() {
					widen(v.Field(i))
				}
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				widen(v.Index(i))
			}
		}
	}
	r.Timings.RunsOfEach = 7
	widen(reflect.ValueOf(&r).Elem())
	judged, controls := 0, 0
	for text, m := range measurementsOf(Claims(r)) {
		if mean := math.Abs(m.Ours.Mean); mean > 0 && means[mean] && math.IsNaN(m.Ours.Margin) {
			t.Errorf("%q: the mean %v has lost its interval", text, m.Ours.Mean)
		}
		if m.Beyond != nil {
			continue // judged by an estimate from the data sets
		}
		if m.Ours.Margin > 1e300 {
			judged++
			if m.Verdict != NotDecided {
				t.Errorf("%q is %s by the interval %v ± %v", text, m.Verdict, m.Ours.Mean, m.Ours.Margin)
			}
		}
		if m.Control != nil && m.Control.Ours.Margin > 1e300 {
			controls++
			if m.Control.Verdict != NotDecided {
				t.Errorf("%q: the control %q is %s by the interval %v ± %v", text, m.Control.Text, m.Control.Verdict, m.Control.Ours.Mean, m.Control.Ours.Margin)
			}
		}
	}
	if judged < 20 || controls < 3 {
		t.Errorf("only %d measurements and %d controls have intervals", judged, controls)
	}
}

// The excess of grids is compared data set by data set. A difference that is the same on each data
// set has no error.
func TestExcessOfGridsIsPaired(t *testing.T) {
	of := func(n int, excess float64) searches.Dimension {
		lowest := []float64{1, 2, 4}
		cv := []float64{1 + 3 + excess, 2 + 7 + excess, 4 + excess}
		return searches.Dimension{Hyperparameters: n, Lowest: lowest, Methods: []searches.DimensionMethod{{Name: "exhaustive", CV: cv}, {Name: "random", CV: cv}, {Name: searches.QuasiNewton, CV: lowest}}}
	}
	for text, m := range measurementsOf(claimsOf(&searches.DimensionsResult{Dimensions: []searches.Dimension{of(1, 0), of(5, .25)}})) {
		if strings.Contains(text, "exhaustive search above the lowest known") && (math.Abs(m.Ours.Mean-.25) > 1e-12 || m.Ours.Margin > 1e-12) {
			t.Errorf("%+v", m.Ours)
		}
	}
}

// A claim on a value that was not measured is not testable.
func TestWithoutMeasurement(t *testing.T) {
	run := new(kernels.Run)
	for name, v := range map[string]float64{"LastLoss": run.LastLoss(), "FinalAccuracy": run.FinalAccuracy(), "Final": elasticnet.Search{}.Final()} {
		if !math.IsNaN(v) {
			t.Errorf("%s of nothing is %v", name, v)
		}
	}
	dimensions := &searches.DimensionsResult{Dimensions: []searches.Dimension{{Hyperparameters: 5, Methods: []searches.DimensionMethod{{Name: "exhaustive", CV: []float64{1}, Excess: once(1)}, {Name: "random"}, {Name: searches.QuasiNewton}}}}}
	for _, r := range []any{new(searches.DimensionsResult), dimensions, &differentiability.UnrolledResult{ByRate: []differentiability.UnrolledRun{{Rate: 3}}}} {
		for text, m := range measurementsOf(claimsOf(r)) {
			if m.Verdict != NotTestable {
				t.Errorf("%T: %q is %s, measured %v", r, text, m.Verdict, m.Ours)
			}
		}
	}
}

var draws = flag.Int("draws", 3, "random small runs of each experiment")

// Every experiment runs with random small parameters and returns a result that the claims accept.
func TestRandomSmallRuns(t *testing.T) {
	many := *draws
	if testing.Short() {
		many = 1
	}
	for _, e := range registry.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			src := synth.NewStream(1, "small runs of "+e.Name)
			for i := range many {
				p := e.Draw(src)
				r, err := e.Run(t.Context(), experiment.Hooks{}, p)
				if err != nil || reflect.ValueOf(r).IsNil() {
					t.Fatalf("%d: %+v: %v", i, p, err)
				}
				claimsOf(r) // must not panic
			}
		})
	}
}

// claimsOf returns the claims that a result affects.
func claimsOf(result any) []Claim {
	var all Results
	v := reflect.ValueOf(&all).Elem()
	for i := range v.NumField() {
		if r := reflect.ValueOf(result); v.Field(i).Type() == r.Type() {
			v.Field(i).Set(r)
		}
	}
	return Claims(all)
}

// The words of a finding follow from the verdict on its row.
func TestFindingsChangeTheirWordsWithTheirVerdicts(t *testing.T) {
	row := func(r rule, mean, margin float64, m Measurement) *Measurement {
		m.Ours = experiment.Estimate{Mean: mean, Margin: margin, N: 100}
		m.setRule(r)
		m.judge()
		return &m
	}
	tenth := difference{.1, ""}
	loss := func(mean float64) *Measurement { return row(belowRule(0, tenth), mean, .05, Measurement{}) }
	for _, c := range []struct {
		loss     float64
		gradient []*Measurement
		paperBox []*Measurement
		want     string
	}{
		{-.5, nil, nil, "the CV loss helps"},
		{-.5, []*Measurement{loss(-.5)}, nil, "the CV loss helps, and its gradient helps further"},
		{-.5, []*Measurement{loss(-.5)}, []*Measurement{loss(-.5)}, "the CV loss helps, and its gradient helps further"},
		{-.5, []*Measurement{loss(-.5)}, []*Measurement{loss(.01)}, "the CV loss helps; in a wide box its gradient helps more than random search, but not in the paper's box (notebook 01)"},
		{-.5, []*Measurement{loss(-.5)}, []*Measurement{row(belowRule(0, tenth), 0, .5, Measurement{})}, "the CV loss helps; in a wide box its gradient helps more than random search, and in the paper's box that is open (notebook 01)"},
		{-.5, []*Measurement{loss(0)}, nil, "the CV loss helps, and a search without its gradient does as well"},
		{-.5, []*Measurement{row(belowRule(0, tenth), 0, .5, Measurement{})}, nil, "the CV loss helps; it is open whether its gradient helps further"},
		{.5, nil, nil, "the CV loss does not help"},
	} {
		if got := penaltiesText(loss(c.loss), c.gradient, c.paperBox); got != c.want {
			t.Errorf("%v: %q, want %q", c.loss, got, c.want)
		}
	}
	sizes := []*Measurement{
		row(belowRule(0, tenth), -.5, .05, Measurement{size: "8"}), row(belowRule(0, tenth), .01, .05, Measurement{size: "20"}),
		row(belowRule(0, tenth), .3, .05, Measurement{size: "60"}), row(belowRule(0, tenth), .1, .3, Measurement{size: "200"}), row(belowRule(0, tenth), .4, .05, Measurement{size: "300"}),
	}
	if got, want := bySize(sizes), "helps at N = 8; harms at N = 60, 300; makes no difference that matters at N = 20, and is not decided at N = 200"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	share := func(holds, n int) experiment.Estimate {
		v := make([]float64, n)
		for i := range holds {
			v[i] = 1
		}
		return experiment.ShareOf(v)
	}
	for want, shares := range map[string][2]int{"The gradient needs a method that uses it": {39, 3}, "The gradient makes any search faster than a grid": {39, 38}, "The gradient does not make a search faster than a grid": {5, 3},
		"It is open whether the gradient makes a search faster than a grid": {22, 3}, "A quasi-Newton search is faster than a grid": {39, 22}} {
		quick, paper := Measurement{role: quasiNewtonFaster, Ours: share(shares[0], 40)}, Measurement{role: paperStepFaster, Ours: share(shares[1], 40)}
		for _, m := range []*Measurement{&quick, &paper} {
			m.setRule(aboveRule(.5, ofSets))
			m.judge()
		}
		if got := Findings([]Claim{{Measured: []Measurement{quick, paper}}}); len(got) != 1 || !strings.HasPrefix(got[0].Text, want+": ") {
			t.Errorf("%v: %+v, want %q", shares, got, want)
		}
	}
}

// mapOf returns a map of one problem for two sizes and two numbers of hyperparameters. The test
// losses are 1 for the training gradient, 1 + lossChange plus noise for the CV gradient, and
// oneLoss for one hyperparameter.
func mapOf(seed uint64, problem string, oneLoss, scatter float64, lossChange func(many, large bool) float64) *manyhyper.MapResult {
	src, r := synth.NewStream(seed, "map"), &manyhyper.MapResult{Params: manyhyper.DefaultGradientMap()}
	for _, n := range []int{8, 60} {
		for _, hyperparameters := range []int{42, 322} {
			c := manyhyper.MapCell{MapPlace: manyhyper.MapPlace{Problem: problem, Train: n, Hyperparameters: hyperparameters}}
			for range 80 {
				c.Losses.One = append(c.Losses.One, oneLoss)
				c.Losses.Training = append(c.Losses.Training, 1)
				c.Losses.Many = append(c.Losses.Many, 1+lossChange(n == 60, hyperparameters == 322)+scatter*src.NormFloat64())
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

// rowOf returns a result's row whose text contains some words.
func rowOf(t *testing.T, result any, contains string) *Measurement {
	t.Helper()
	var found *Measurement
	rows(claimsOf(result), func(_ string, m *Measurement) {
		if strings.Contains(m.Text, contains) {
			found = m
		}
	})
	if found == nil {
		t.Fatalf("no row with %q", contains)
	}
	return found
}

// The verdict on a row of the map and the words of its finding follow the sign of the row's number.
func TestRowsOfTheMapTurnWithItsNumbers(t *testing.T) {
	helpsFew := func(by float64) func(many, large bool) float64 {
		return func(many, _ bool) float64 { return choose(many, 0, -by) }
	}
	helpsLarge := func(by float64) func(many, large bool) float64 {
		return func(_, large bool) float64 { return choose(large, -by, 0) }
	}
	const few, large = "at N = 8 minus at N = 60", "with 322 hyperparameters minus with 42"
	for _, c := range []struct {
		of   *manyhyper.MapResult
		row  string
		want Verdict
	}{
		{mapOf(1, manyhyper.MapOfWeights, 2, .01, helpsFew(.1)), "weights of a network, N = 8", Confirmed},
		{mapOf(1, manyhyper.MapOfWeights, 2, .01, helpsFew(.1)), "weights of a network, N = 60", Differs},
		{mapOf(1, manyhyper.MapOfWeights, 2, .01, helpsFew(-.1)), "weights of a network, N = 8", Differs},
		{mapOf(1, manyhyper.MapOfWeights, 2, .01, helpsFew(.005)), "weights of a network, N = 8", TooLittle}, // an error rate of .0025
		{mapOf(1, manyhyper.MapOfWeights, 2, .5, helpsFew(.05)), "weights of a network, N = 8", NotDecided},
		{mapOf(1, manyhyper.MapOfPenalties, 2, .01, helpsFew(.4)), few, Confirmed},
		{mapOf(1, manyhyper.MapOfPenalties, 2, .01, helpsFew(-.4)), few, Differs},
		{mapOf(1, manyhyper.MapOfPenalties, 2, .01, helpsFew(.05)), few, TooLittle},
		{mapOf(1, manyhyper.MapOfPenalties, 2, .01, helpsFew(.4)), large, Differs},
		{mapOf(1, manyhyper.MapOfWidths, 2, .01, helpsLarge(.4)), large, Confirmed},
		{mapOf(1, manyhyper.MapOfWidths, 2, .01, helpsLarge(-.4)), large, Differs},
	} {
		if m := rowOf(t, c.of, c.row); m.Verdict != c.want || !m.Aside {
			t.Errorf("%s: %+v is %s, want %s", m.Text, m.Ours, m.Verdict, c.want)
		}
	}
	// The rule confirms the control if one hyperparameter is better than many.
	for one, want := range map[float64]Verdict{2: Differs, .5: Confirmed} {
		if m := rowOf(t, mapOf(1, manyhyper.MapOfWeights, one, .01, helpsFew(0)), "weights of a network, N = 8"); m.Control.Verdict != want || math.Abs(m.Control.Ours.Mean-(one-1)/2) > .01 {
			t.Errorf("one hyperparameter with the loss %v: the control is %+v, want %s", one, m.Control, want)
		}
	}
	for want, change := range map[string]func(many, large bool) float64{
		"; more so from 42 to 322 weights (notebook 09)":        helpsLarge(.4),
		"; less so from 42 to 322 weights (notebook 09)":        helpsLarge(-.4),
		"; about the same from 42 to 322 weights (notebook 09)": helpsLarge(.01),
	} {
		if got := withMoreWeights([]*Measurement{rowOf(t, mapOf(1, manyhyper.MapOfWeights, 2, .01, change), large)}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	open := mapOf(1, manyhyper.MapOfWeights, 9, 2, helpsLarge(.1))
	if got, want := withMoreWeights([]*Measurement{rowOf(t, open, large)}), "; undecided from 42 to 322 weights (notebook 09)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A map of one size or of one number of hyperparameters has no rows that compare them.
	one := mapOf(1, manyhyper.MapOfWidths, 2, .01, helpsFew(.1))
	one.Cells = one.Cells[:2]
	rows(claimsOf(one), func(_ string, m *Measurement) {
		if strings.Contains(m.Text, "at N") {
			t.Errorf("with one size: %s", m.Text)
		}
	})
}

// Ten draws of the map decide what one leaves open.
func TestDrawsOfTheMapArePooled(t *testing.T) {
	change := func(many, _ bool) float64 { return choose(many, 0, -.04) }
	first, _, pooled := pooledDraws(t, 10, func(d int) []Claim { return claimsOf(mapOf(uint64(d), manyhyper.MapOfWeights, 2, .25, change)) })
	alone, all := first[0].Measured[0], pooled[0].Measured[0]
	if alone.Verdict != NotDecided || all.Verdict != Confirmed || all.Ours.N != 10*alone.Ours.N || all.Control.Verdict != Differs {
		t.Errorf("alone %s, together %s of %d sets; the control %s", alone.Verdict, all.Verdict, all.Ours.N, all.Control.Verdict)
	}
}

// The setting of a row of the map begins with the differences from the paper's kernel.
func TestSettingsOfTheMap(t *testing.T) {
	none := func(bool, bool) float64 { return 0 }
	for problem, want := range map[string]string{
		manyhyper.MapOfPenalties: "not a problem of the paper; N = 20, 80, a ridge penalty for each of 4, 20 groups of neighbouring features, noise of standard deviation 0.3, 1, ",
		manyhyper.MapOfWidths:    "not a problem of the paper; N = 20, 80, kernel ridge regression with a width for each of 4, 20 groups of neighbouring features, noise of standard deviation 1, 4, ",
		manyhyper.MapOfWeights:   "K = 32 splits in the place of the paper's 256; p = 0.5, 0.9 in the place of the paper's 0.95; N = 8, 60, network: 2 inputs, one hidden layer of 8, 64 rectified linear units, 2 outputs, radii of standard deviation 0.2, 0.4, ",
	} {
		if m := rowOf(t, mapOf(1, problem, 2, .1, none), "hyperparameters minus with"); !strings.HasPrefix(m.Setting, want) || !strings.Contains(m.Setting, "; half of all combinations of these lists") {
			t.Errorf("%s: %s", problem, m.Setting)
		}
	}
	if m := rowOf(t, mapOf(1, manyhyper.MapOfWeights, 2, .1, none), "network, N = 60"); !strings.Contains(m.Setting, "; N = 60, network") {
		t.Errorf("of one size: %s", m.Setting)
	}
}

// A finding whose row decides nothing is told as open.
func TestFindingsOfOpenRows(t *testing.T) {
	for r, want := range map[role]string{exactGradients: "It is open whether the CV loss has exact gradients: ", printedJacobian: "It is open whether the paper's Jacobian of logistic regression is right: "} {
		m := Measurement{role: r, Ours: experiment.Estimate{Mean: 1, Margin: 2, N: 9}}
		m.setRule(belowRule(1, computedDifference))
		m.judge()
		if got := Findings([]Claim{{Measured: []Measurement{m}}}); len(got) != 1 || !strings.HasPrefix(got[0].Text, want) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

// A remark contains numbers of the result that it describes.
func TestRemarksFollowFromResults(t *testing.T) {
	serial.Test(t)
	e := func(mean, margin float64) experiment.Estimate {
		return experiment.Estimate{Mean: mean, Margin: margin, N: 9}
	}
	for _, c := range []struct{ got, want string }{
		{sumChange(e(-.2, .01), e(.25, .01)), "that sum rises by 0.05 along"},
		{sumChange(e(-.25, .01), e(.2, .01)), "that sum falls by 0.05 along"},
		{sumChange(e(-.2, .03), e(.25, .03)), "that sum is not seen to change (0.05) along"},
		{lowestAt([]float64{3, 1, 2}), "Of 3 steps the test loss is lowest at step 2."},
		{besideCode(Quoted{Code: ".899"}, .8991), "the same as here."},
		{besideCode(Quoted{Code: ".899"}, .901), "is .899."},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
	for _, c := range []struct {
		mean, margin float64
		want         string
	}{{-.5, .1, "lower"}, {.5, .1, "higher"}, {0, .01, "even"}, {.02, .01, "even"}, {0, .5, "open"}} {
		m := Measurement{Ours: e(c.mean, c.margin)}
		m.setRule(belowRule(0, difference{.1, ""}))
		m.judge()
		if got := (byVerdict{ifHolds: "lower", ifFails: "higher", ifOpen: "open", ifNegligible: "even"}).text(&m); got != c.want {
			t.Errorf("%v ± %v: %s, want %s", c.mean, c.margin, got, c.want)
		}
	}
	for rate, want := range map[float64]string{1.9: "", 2.1: "There the descent itself diverges."} {
		r := fakeResults(1)
		for i := range r.Unrolled.ByRate {
			r.Unrolled.ByRate[i].Rate = rate
		}
		for _, c := range Claims(r) {
			if m := c.Measured[0]; c.Number == int(saysExploding)+1 && m.Remark != want {
				t.Errorf("at the rate %v: %q, want %q", rate, m.Remark, want)
			}
		}
	}
}

// The card of a sentence with two printed accuracies names each number that the published data do
// not give.
func TestAccuraciesNotOnPublishedData(t *testing.T) {
	p := Printed.Rings
	for _, c := range []struct {
		accuracy, bayes float64
		want            string
	}{
		{.865, .892, ""},
		{.725, .892, "The paper's own data give an accuracy of 0.725 after 11 steps, not .865. "},
		{.865, .915, "The paper's own data give a Bayes accuracy of 0.915 on that test set, not .892. "},
		{.725, .915, "The paper's own data give an accuracy of 0.725 after 11 steps, not .865, and a Bayes accuracy of 0.915 on that test set, not .892. "},
	} {
		if got := notOnPublishedData(p, c.accuracy, c.bayes); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v, %v: %q", c.accuracy, c.bayes, got)
		}
	}
}

// The caveats of the recorded claims name the results that the verdicts do not show.
func TestCaveats(t *testing.T) {
	serial.Test(t)
	caveats := make(map[sentence]string)
	for _, c := range keptClaims(t) {
		for _, m := range c.Measured {
			caveats[sentence(c.Number-1)] += m.Caveat
		}
	}
	for s, want := range map[sentence]string{saysEfficient: "The test loss is higher than by random search: 0.", saysMostTime: "By that reading the sentence does not hold.", saysAfterTen: "not .865, and a Bayes accuracy of "} {
		if !strings.Contains(caveats[s], want) {
			t.Errorf("claim %d: %q lacks %q", int(s)+1, caveats[s], want)
		}
	}
}

// Each measured quantity that may decide a claim has a name in a few words.
func TestQuantitiesInBrief(t *testing.T) {
	serial.Test(t)
	const most = 55 // characters
	for _, c := range keptClaims(t) {
		for k, m := range c.Measured {
			if n := utf8.RuneCountInString(m.InBrief()); n > most && (!m.Aside || k == 0) {
				t.Errorf("claim %d: %d characters: %s", c.Number, n, m.InBrief())
			}
			if m.Brief != "" && utf8.RuneCountInString(m.Brief) > utf8.RuneCountInString(m.Text) {
				t.Errorf("claim %d: %q is longer than %q", c.Number, m.Brief, m.Text)
			}
		}
	}
}

// HelpOf judges a row of the ablation by its interval and the smallest difference that matters.
func TestHelpOf(t *testing.T) {
	for _, c := range []struct {
		mean, margin float64
		want         Help
	}{{-2, 1, Helps}, {2, 1, Harms}, {-.5, 1, Undecided}, {-.001, .0005, Slight}, {.001, .0005, Slight}, {0, .002, Slight}} {
		row := samplesize.AblationRow{Problem: kernels.ProblemRings, CVLessTraining: experiment.Comparison{Difference: experiment.Estimate{Mean: c.mean, Margin: c.margin, N: 9}}}
		if got := HelpOf(row); got != c.want {
			t.Errorf("%v ± %v: %q, want %q", c.mean, c.margin, got, c.want)
		}
	}
	if got := HelpOf(samplesize.AblationRow{CVLessTraining: experiment.Compare([]float64{1}, []float64{2})}); got != Undecided {
		t.Errorf("one data set: %q", got)
	}
}

// A single slow run of a benchmark does not widen the interval of the median. For records without
// an interval, the extreme runs are its ends.
func TestTimingsOfOneSlowRun(t *testing.T) {
	two := func(slow BenchStat) experiment.Estimate {
		timings := &Timings{RunsOfEach: 9, Benchmarks: map[string]map[string]BenchStat{
			"one": {"ns/op": {Median: 100, Lowest: 98, Low: 99, High: 101, Highest: 102}}, "two": {"ns/op": slow}}}
		return timings.estimate("one", "two", func(one, two float64) float64 { return one / two })
	}
	steady := two(BenchStat{Median: 50, Lowest: 49, Low: 49.5, High: 50.5, Highest: 51})
	if got := two(BenchStat{Median: 50, Lowest: 49, Low: 49.5, High: 50.5, Highest: 500}); got != steady || got.Mean != 2 || got.Margin > .05 {
		t.Errorf("%+v, and without a slow run %+v", got, steady)
	}
	if got := two(BenchStat{Median: 50, Lowest: 40}); got.Margin < .4 {
		t.Errorf("an old record: %+v", got)
	}
	if got := two(BenchStat{}); !math.IsNaN(got.Mean) {
		t.Errorf("no record: %+v", got)
	}
}

// A position is above 0 if the rule holds, for a rule of any kind.
func TestPositionsPointToTheClaim(t *testing.T) {
	e := func(mean float64) experiment.Estimate { return experiment.Estimate{Mean: mean, Margin: .1, N: 1e6} }
	once := experiment.Estimate{Mean: 3, Margin: math.NaN(), N: 1}
	unit := difference{.5, "half"}
	for k, c := range []struct {
		rule     rule
		ours     experiment.Estimate
		want     float64
		repeated bool
	}{
		{aboveRule(1, unit), e(2), 2, true}, {aboveRule(1, unit), e(0), -2, true}, {belowRule(1, unit), e(2), -2, true}, {belowRule(1, unit), e(0), 2, true},
		{equalsRule(1, .5, "half"), e(2), -2, true}, {equalsRule(1, .5, "half"), e(0), -2, true}, {belowRule(1, unit), once, -4, false}, {equalsRule(1, .5, "half"), once, -4, false},
	} {
		m := &Measurement{Ours: c.ours, rule: c.rule, Smallest: c.rule.minSize.size}
		at, ok := m.Place()
		if _, repeated := m.Position(); !ok || repeated != c.repeated || math.Abs(at.At-c.want) > 1e-9 || !(at.Low <= at.At && at.At <= at.High) || (at.Low < at.High) != c.repeated {
			t.Errorf("case %d: %+v, %v, %v; the estimate is at %v", k, at, ok, repeated, c.want)
		}
	}
}
