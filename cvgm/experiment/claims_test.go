package experiment

import (
	"cmp"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// scramble fills every float of v with another number, and every empty slice
// with enough entries to be read.
func scramble(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && v.Type().Elem().PkgPath() == reflect.TypeFor[Estimate]().PkgPath() {
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

// fakeResults are results of the right shape with random numbers in them.
func fakeResults(seed uint64) Results {
	rng := rand.New(rand.NewPCG(seed, 1))
	r := Results{SampleSize: &SampleSizeResult{Params: DefaultSampleSize(), Sizes: []int{8, 20, 24},
		Methods: make([]SizeMethod, SizeLogistic+1)}}
	for k := range r.SampleSize.Methods {
		r.SampleSize.Methods[k].Accuracy = make([][]float64, 3)
		r.SampleSize.Methods[k].Mean = make([]Estimate, 3)
	}
	r.ElasticNetSeeds = &ElasticNetSeeds{Methods: make([]ElasticNetMethod, ElasticNetTrue+1)}
	r.Rings, r.XOR = new(RingsResult), new(XORResult)
	for _, k := range []*LearnedKernelResult{&r.Rings.LearnedKernelResult, &r.XOR.LearnedKernelResult} {
		k.Runs = make([]KernelRun, len(Variants))
		for i, v := range Variants {
			k.Runs[i].Variant = v
		}
	}
	r.Searches = &SearchesResult{Methods: []SearchMethod{{Name: "exhaustive"}, {Name: "random"}, {Name: "Bayesian"}, {Name: SearchQuasiNewton}}}
	for _, n := range []int{2, 5} {
		r.Dimensions = cmp.Or(r.Dimensions, new(SearchDimensionsResult))
		r.Dimensions.Dimensions = append(r.Dimensions.Dimensions, SearchDimension{Hyperparameters: n, Methods: []SearchDimensionMethod{{Name: "exhaustive"}}})
	}
	r.Timings = &Timings{Benchmarks: map[string]map[string]BenchStat{}}
	for _, name := range []string{"ElasticNetCold/value", "ElasticNetCold/gradient", "LearnedKernelStep/rings/value", "LearnedKernelStep/rings/step",
		"LearnedKernelStep/XOR/value", "LearnedKernelStep/XOR/step"} {
		r.Timings.Benchmarks["cvgm."+name] = map[string]BenchStat{"ns/op": {Lowest: rng.Float64()}}
	}
	r.Splits = &SplitsResult{ByK: []SplitsSetting{{K: 15}, {K: 120}, {K: 240}}, ByP: []SplitsSetting{{P: .65}, {P: .95}}}
	scramble(reflect.ValueOf(&r).Elem(), rng)
	// What the claims' texts name is the same.
	r.Searches.Params.Budget = 60
	r.Splits.ByP[0].P, r.Splits.ByP[1].P = .65, .95
	r.Stability.Learners[0].At[0] = 1
	r.ElasticNet.CVGM.TestLoss = r.ElasticNet.CVGM.TestLoss[:50+seed]
	r.Dimensions.Dimensions[0].Hyperparameters, r.Dimensions.Dimensions[1].Hyperparameters = 2, 5
	r.Rings.Params.Hidden = []int{int(seed)}
	r.XOR.Params.Hidden = []int{int(seed), 3}
	return r
}

// A claim's own number must come from a result: other results, another number.
func TestClaimsAreReadFromResults(t *testing.T) {
	a, b := Claims(fakeResults(1)), Claims(fakeResults(2))
	if len(a) != len(b) || len(a) < 25 {
		t.Fatalf("%d and %d claims", len(a), len(b))
	}
	for i := range a {
		if a[i].Ours.Mean == b[i].Ours.Mean || math.IsNaN(a[i].Ours.Mean) && a[i].Verdict != NotTestable {
			t.Errorf("%q: %v from two different results", a[i].Text, a[i].Ours.Mean)
		}
		if a[i].Text != b[i].Text || a[i].Rule == "" || a[i].Place == "" {
			t.Errorf("claim %d: %+v, %+v", i, a[i], b[i])
		}
	}
}

// Where the paper and the measurement part, a reader is told why.
func TestClaimsThatDoNotHoldHaveARemark(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "figures", "out", "00_start", "claims.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	verdict, remark := slices.Index(rows[0], "Verdict"), slices.Index(rows[0], "Remark")
	for _, row := range rows[1:] {
		if v := Verdict(row[verdict]); v != Confirmed && v != NotTestable && row[remark] == "" {
			t.Errorf("%s: %s, without a reason", row[0], v)
		}
	}
}

func TestEveryResultHasClaims(t *testing.T) {
	all := len(Claims(fakeResults(1)))
	for i := range reflect.TypeFor[Results]().NumField() {
		r := fakeResults(1)
		reflect.ValueOf(&r).Elem().Field(i).SetZero()
		if len(Claims(r)) >= all {
			t.Errorf("no claim is judged by %s", reflect.TypeFor[Results]().Field(i).Name)
		}
	}
}

func TestRules(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		rule rule
		m    Estimate
		want Verdict
	}{
		{equals(1, .1), once(1.05), Confirmed},
		{equals(1, .1), once(1.2), Differs},
		{equals(1, .1).or(PaperError), once(1.2), PaperError},
		{above(0), Estimate{1, .5, 9}, Confirmed},
		{above(0), Estimate{1, 1.5, 9}, Differs},
		{below(0), Estimate{-1, .5, 9}, Confirmed},
		{below(0), Estimate{-1, 1.5, 9}, Differs},
		{below(0), once(-1), Confirmed},
		{contains(0), Estimate{1, 1.5, 9}, Confirmed},
		{contains(0), Estimate{1, .5, 9}, Differs},
		{withinTenth(10), Estimate{.5, .4, 9}, Confirmed},
		{withinTenth(10), Estimate{.5, .6, 9}, Differs},
		{above(0), once(nan), NotTestable},
	} {
		if got := c.rule.judge(c.m); got != c.want {
			t.Errorf("%s at %+v: %s, want %s", c.rule.text, c.m, got, c.want)
		}
	}
}
