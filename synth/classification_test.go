package synth_test

import (
	"math"
	"testing"

	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type classificationGolden struct {
	X            [][]float64
	Y            []float64
	XTest        [][]float64 `json:"X_test"`
	YTest        []float64   `json:"y_test"`
	Permutations [][]int
}

// TestPublishedRings reproduces the draws of the published experiment. The published code prints
// the Bayes accuracy .915 for this test set.
func TestPublishedRings(t *testing.T) {
	var golden classificationGolden
	readJSON(t, "rings.json.gz", &golden)
	src := synth.NewNumPy(0)
	train := wantClassification(t, golden.X, golden.Y, 1e-15, func(n int) (synth.Data, error) {
		return synth.MakeRings(src, n, synth.Rings{})
	})
	test := wantClassification(t, golden.XTest, golden.YTest, 1e-15, func(n int) (synth.Data, error) {
		return synth.MakeRings(src, n, synth.Rings{})
	})
	wantPermutations(t, src, len(train.Y), golden.Permutations)

	rule, err := synth.Rings{}.Bayes()
	if err != nil {
		t.Fatal(err)
	}
	if got := rule.SampleAccuracy(test); got != .915 {
		t.Errorf("accuracy of the Bayes rule on the test set is %v, want .915", got)
	}
}

// TestPublishedXOR compares all bits with the published draws. Rounding cannot differ, because
// products and sums give the coordinates.
func TestPublishedXOR(t *testing.T) {
	var golden classificationGolden
	readJSON(t, "xor.json.gz", &golden)
	src, square := synth.NewNumPy(0), synth.NewPython(0)
	train := wantClassification(t, golden.X, golden.Y, 0, func(n int) (synth.Data, error) {
		return synth.MakeXOR(square, src, n, synth.XOR{})
	})
	test := wantClassification(t, golden.XTest, golden.YTest, 0, func(n int) (synth.Data, error) {
		return synth.MakeXOR(square, src, n, synth.XOR{})
	})
	wantPermutations(t, src, len(train.Y), golden.Permutations)

	rule, err := synth.XOR{}.Bayes()
	if err != nil {
		t.Fatal(err)
	}
	if got := rule.SampleAccuracy(test); got != .708 {
		t.Errorf("accuracy of the sign rule on the test set is %v, want .708", got)
	}
}

func wantClassification(t *testing.T, x [][]float64, y []float64, tol float64, make func(n int) (synth.Data, error)) synth.Data {
	t.Helper()
	if len(y) == 0 {
		t.Fatal("no reference")
	}
	d, err := make(len(y))
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, "X", d.X, x, tol)
	if diff := cmp.Diff(y, d.Y); diff != "" {
		t.Errorf("y: %s", diff)
	}
	return d
}

func wantPermutations(t *testing.T, src synth.Source, n int, want [][]int) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("no reference")
	}
	for i, p := range want {
		if diff := cmp.Diff(p, src.Perm(n)); diff != "" {
			t.Fatalf("split %d: %s", i, diff)
		}
	}
}

// A bayesProblem is a way to draw labelled points, with its Bayes rule.
type bayesProblem struct {
	name string
	make func(src synth.Source, n int) (synth.Data, error)
	rule func() (*synth.BayesRule, error)
}

func problems() []bayesProblem {
	var all []bayesProblem
	rings := func(name string, o synth.Rings) {
		all = append(all, bayesProblem{name, func(src synth.Source, n int) (synth.Data, error) {
			return synth.MakeRings(src, n, o)
		}, o.Bayes})
	}
	xor := func(name string, o synth.XOR) {
		all = append(all, bayesProblem{name, func(src synth.Source, n int) (synth.Data, error) {
			return synth.MakeXOR(src, src, n, o)
		}, o.Bayes})
	}
	rings("rings", synth.Rings{})
	rings("wide rings", synth.Rings{SD: 1.5})
	rings("blob and ring", synth.Rings{Radii: [2]float64{0, 3}, SD: 2})
	xor("XOR", synth.XOR{})
	xor("wide XOR", synth.XOR{Overlap: .6, Scale: .1})
	xor("all ties", synth.XOR{Overlap: 1})
	return all
}

// TestBayes checks on a large sample that a rule has its stated Accuracy and that its scores are
// calibrated.
func TestBayes(t *testing.T) {
	const n = 200_000
	for _, p := range problems() {
		t.Run(p.name, func(t *testing.T) {
			rule, err := p.rule()
			if err != nil {
				t.Fatal(err)
			}
			d, err := p.make(synth.NewStream(3, p.name), n)
			if err != nil {
				t.Fatal(err)
			}
			if z := (rule.SampleAccuracy(d) - rule.Accuracy) / math.Sqrt(rule.Accuracy*(1-rule.Accuracy)/n); math.Abs(z) > 3.3 {
				t.Errorf("accuracy %v on the sample, %v over the population: %.1f standard errors apart", rule.SampleAccuracy(d), rule.Accuracy, z)
			}
			const bins = 10
			var count, excess, variance [bins + 1]float64
			var size float64
			for i, y := range d.Y {
				s := rule.Score(d.X.RawRowView(i))
				if !(math.Abs(s) <= 1) || s*rule.Label(d.X.RawRowView(i)) < 0 {
					t.Fatalf("score %v, label %v", s, rule.Label(d.X.RawRowView(i)))
				}
				b := int((s + 1) / 2 * bins)
				count[b]++
				excess[b] += y - s
				variance[b] += 1 - s*s
				size += math.Abs(s) / n
			}
			if math.Abs((1+size)/2-rule.Accuracy) > 3.3*.5/math.Sqrt(n) {
				t.Errorf("mean |score| %v for accuracy %v", size, rule.Accuracy)
			}
			for b := range count {
				// The sizes of the classes are fixed, which only decreases the variance.
				if math.Abs(excess[b]) > 3.5*math.Sqrt(variance[b]) {
					t.Errorf("bin %d: labels exceed scores by %v in sum, standard error %v", b, excess[b], math.Sqrt(variance[b]))
				}
			}
		})
	}
}

func TestBayesAccuracies(t *testing.T) {
	rings, err := synth.Rings{}.Bayes()
	if err != nil {
		t.Fatal(err)
	}
	// The accuracy is Φ(1.25), minus (Φ(−6.25) − Φ(−8.75))/2 for negative radii.
	if want := normalCDF(1.25) - (normalCDF(-6.25)-normalCDF(-8.75))/2; math.Abs(rings.Accuracy-want) > 1e-15 {
		t.Errorf("rings: accuracy %v, want %v", rings.Accuracy, want)
	}
	if rings.Accuracy >= normalCDF(1.25) {
		t.Errorf("rings: accuracy %v ignores the negative radii", rings.Accuracy)
	}
	// The radius of the circle is between 1.5 + 1.1e-9 and 1.5 + 1.2e-9.
	for r, want := range map[float64]float64{1.5 + 1.1e-9: -1, 1.5 + 1.2e-9: 1} {
		if got := rings.Label([]float64{0, -r}); got != want {
			t.Errorf("rings: label %v at radius %.11f, want %v", got, r, want)
		}
	}
	xor, err := synth.XOR{}.Bayes()
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(xor.Accuracy-13./18) > 1e-15 {
		t.Errorf("XOR: accuracy %v, want 13/18", xor.Accuracy)
	}
	for _, c := range []struct {
		x            []float64
		score, label float64
	}{
		{[]float64{-1, -2}, 1, 1}, {[]float64{1, 2}, 1, 1}, {[]float64{1, -2}, -1, -1}, {[]float64{-1, 2}, -1, -1},
		{[]float64{.5, -2}, 0, -1}, {[]float64{.5, 2}, 0, 1}, {[]float64{-.5, .5}, 0, -1}, // scores of 0
		{[]float64{4, 1}, 0, 1}, // outside of all squares
	} {
		if s, l := xor.Score(c.x), xor.Label(c.x); s != c.score || l != c.label {
			t.Errorf("XOR at %v: score %v and label %v, want %v and %v", c.x, s, l, c.score, c.label)
		}
	}
}

// TestClassificationShape checks properties that every sample has.
func TestClassificationShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(problems()).Draw(t, "problem")
		n := rapid.IntRange(1, 200).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		d, err := p.make(synth.NewStream(seed, "data"), n)
		if err != nil {
			t.Fatal(err)
		}
		if r, c := d.X.Dims(); r != n || c != 2 || len(d.Y) != n {
			t.Fatalf("X is %d×%d with %d labels, want %d×2", r, c, len(d.Y), n)
		}
		for i, y := range d.Y {
			if want := i >= n/2; (y == 1) != want || (y == -1) == want {
				t.Fatalf("label %v at %d of %d", y, i, n)
			}
		}
	})
}

func TestClassificationErrors(t *testing.T) {
	for _, p := range problems() {
		for _, n := range []int{0, -5, math.MaxInt} {
			wantArgError(t, "n", func() error { _, err := p.make(synth.NewNumPy(0), n); return err })
		}
	}
	for _, c := range []struct {
		arg   string
		rings synth.Rings
	}{
		{"Rings.SD", synth.Rings{SD: -1}},
		{"Rings.SD", synth.Rings{SD: math.NaN()}},
		{"Rings.Radii[0]", synth.Rings{Radii: [2]float64{-1, 1}}},
		{"Rings.Radii[1]", synth.Rings{Radii: [2]float64{1, math.Inf(1)}}},
		{"Rings.Radii", synth.Rings{Radii: [2]float64{2, 1}}},
	} {
		wantArgError(t, c.arg, func() error { _, err := c.rings.Bayes(); return err })
		wantArgError(t, c.arg, func() error { _, err := synth.MakeRings(synth.NewNumPy(0), 2, c.rings); return err })
	}
	for _, c := range []struct {
		arg string
		xor synth.XOR
	}{
		{"XOR.Overlap", synth.XOR{Overlap: -.1}},
		{"XOR.Overlap", synth.XOR{Overlap: 1.1}},
		{"XOR.Scale", synth.XOR{Scale: math.Inf(1)}},
	} {
		wantArgError(t, c.arg, func() error { _, err := c.xor.Bayes(); return err })
		wantArgError(t, c.arg, func() error {
			_, err := synth.MakeXOR(synth.NewPython(0), synth.NewNumPy(0), 2, c.xor)
			return err
		})
	}
}

// FuzzRings expects an ArgError, or finite data and a rule that is defined everywhere.
func FuzzRings(f *testing.F) {
	f.Add(uint64(0), 10, 1., 2., .4, .1, -.3)
	f.Add(uint64(1), 3, 0., 1e50, 1e-50, 1e300, 1e-300)
	f.Add(uint64(2), 1, 0., 1e-50, 1e50, 1.7e308, 1.7e308)
	f.Fuzz(func(t *testing.T, seed uint64, n int, inner, outer, sd, x0, x1 float64) {
		o := synth.Rings{Radii: [2]float64{inner, outer}, SD: sd}
		d, err := synth.MakeRings(synth.NewStream(seed, "fuzz"), n%1000, o)
		checkFuzzed(t, d, err)
		rule, err := o.Bayes()
		checkRule(t, rule, err, x0, x1)
	})
}

// FuzzXOR is FuzzRings for XOR.
func FuzzXOR(f *testing.F) {
	f.Add(uint64(0), 10, .2, 3., .1, -.3)
	f.Add(uint64(1), 3, 1., 1e50, 1e300, 1e-300)
	f.Fuzz(func(t *testing.T, seed uint64, n int, overlap, scale, x0, x1 float64) {
		o := synth.XOR{Overlap: overlap, Scale: scale}
		s := synth.NewStream(seed, "fuzz")
		d, err := synth.MakeXOR(s, s, n%1000, o)
		checkFuzzed(t, d, err)
		rule, err := o.Bayes()
		checkRule(t, rule, err, x0, x1)
	})
}

func checkRule(t *testing.T, rule *synth.BayesRule, err error, x0, x1 float64) {
	t.Helper()
	if err != nil {
		checkFuzzed(t, synth.Data{}, err)
		return
	}
	if !(rule.Accuracy >= .5 && rule.Accuracy <= 1) {
		t.Fatalf("accuracy %v", rule.Accuracy)
	}
	if math.IsInf(x0, 0) || math.IsInf(x1, 0) || math.IsNaN(x0+x1) {
		return
	}
	x := []float64{x0, x1}
	s, l := rule.Score(x), rule.Label(x)
	if !(math.Abs(s) <= 1) || l*l != 1 || s*l < 0 {
		t.Fatalf("score %v and label %v at %v", s, l, x)
	}
}
