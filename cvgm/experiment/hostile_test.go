package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"cvgm/qpdiff"
	"cvgm/synth"
)

// drawn returns small parameters of an experiment, always the same.
func drawn[P any](t *testing.T) *P {
	t.Helper()
	e := Of(new(P))
	return e.Draw(synth.NewStream(7, "attack"+e.Name)).(*P)
}

// A search over a network's weights ends at kinks of its units, as CV losses of ridge
// regressions end at bounds: it steps over them.
func TestSearchesOverWeightsStepOverKinks(t *testing.T) {
	p := drawn[GapParams](t)
	p.Budget = 108
	if _, err := p.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

// The reference of the searches is found at losses whose rounding exceeds Tol, too.
func TestReferenceOfLargeLosses(t *testing.T) {
	p := drawn[SearchesParams](t)
	p.Noise, p.Scale, p.Tol = 1e9, 1, 1e-6
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := p.Run(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the descent does not end")
	}
}

// A whole number that no memory holds is refused by name, value and range.
func TestHugeCountsAreRefused(t *testing.T) {
	huge := int64(maxCount) + 1
	if int64(int(huge)) != huge {
		t.Skip("no int is larger than maxCount here")
	}
	for _, e := range All() {
		p := e.Params()
		_ = eachField(p, func(name string, v reflect.Value, tag reflect.StructTag) error {
			before := reflect.New(v.Type()).Elem()
			before.Set(v)
			defer v.Set(before)
			switch v.Interface().(type) {
			case int:
				v.SetInt(huge)
			case []int:
				v.Set(reflect.ValueOf([]int{1, int(huge)}))
			default:
				return nil
			}
			err := Check(p)
			var arg *qpdiff.ArgError
			if !errors.As(err, &arg) || !strings.HasPrefix(arg.Arg, name) || !strings.Contains(err.Error(), "2147483648") {
				t.Errorf("%s with a huge %s: error %v", e.Name, name, err)
			}
			return nil
		})
	}
}

// What package synth refuses is outside the range, and what the type of a seed does not
// hold, too.
func TestRangesOfGeneratorsAndSeeds(t *testing.T) {
	for _, c := range []struct {
		p    any
		want string
	}{
		{&RingsParams{RingsData: RingsData{InnerRadius: 1, OuterRadius: 1e51, RadiusSD: .4}}, "OuterRadius is 1e+51 (outside its domain): use a value in (0,1e50]"},
		{&RingsParams{RingsData: RingsData{OuterRadius: 1, RadiusSD: 1e-51}}, "RadiusSD is 1e-51 (outside its domain): use a value in [1e-50,1e50]"},
		{&XORParams{XORData: XORData{Overlap: 1e-51, Scale: 1e51}}, "Overlap is 1e-51 (outside its domain): use a value in [1e-50,1]\nScale is 1e+51"},
		{&ElasticNetParams{PublishedRegression: PublishedRegression{RegressionData: RegressionData{Noise: 1e301}}}, "Noise is 1e+301 (outside its domain): use a value in [0,1e300]"},
	} {
		if err := Check(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v lacks %q", err, c.want)
		}
	}
	for _, e := range All() {
		_ = eachField(e.Params(), func(name string, v reflect.Value, tag reflect.StructTag) error {
			if v.Kind() == reflect.Uint32 && tag.Get("range") != fmt.Sprintf("[0,%d]", uint32(math.MaxUint32)) {
				t.Errorf("%s: the range of %s is %s", e.Name, name, tag.Get("range"))
			}
			return nil
		})
	}
}

// Parameters that do not go together are refused by the name that sets them.
func TestCombinationsAreRefusedByName(t *testing.T) {
	gap, splits, searches, net := DefaultGap(), DefaultSplits(), DefaultSearches(), DefaultElasticNet()
	net.Informative = 99
	gap.Rings.InnerRadius, splits.Rings.InnerRadius, searches.MinLambda2 = 3, 3, 4
	for _, c := range []struct {
		p    any
		want string
	}{
		{&gap, "Rings.InnerRadius is 3 (outside its domain): use a value below OuterRadius, 2"},
		{&splits, "Rings.InnerRadius is 3"},
		{&net, "Informative is 99 (outside its domain): use at most Features, 10"},
		{&searches, "MinLambda2 is 4 (outside its domain): use at most 10 to the power of BoxHigh, 3.16"},
	} {
		if err := Check(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v lacks %q", err, c.want)
		}
	}
}

// A learner without any coefficient has derivatives of 0, which agree with their
// differences, but no kink, and one that jumps has none either.
func TestExtremePenalties(t *testing.T) {
	p := drawn[DerivativesParams](t)
	p.Lambda1 = 10
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if _, e := c.Best(); math.IsNaN(e) || math.IsNaN(c.Apart()) != math.IsNaN(c.JVP) {
			t.Errorf("%s in %s: best error %v, JVP off by %v", c.Example, c.Input, e, c.Apart())
		}
	}
	for want, change := range map[string]func(p *LinearProblem){
		"elastic net: Lambda1 is 10 ":               func(p *LinearProblem) { p.Lambda1 = 10 },
		"Lambda1 is 5e-324 ":                        func(p *LinearProblem) { p.Lambda1 = 5e-324 },
		"support vector machine: Lambda2 is 1e-09 ": func(p *LinearProblem) { p.Lambda2 = 1e-9 },
	} {
		p := drawn[DifferentiabilityLimitsParams](t)
		change(&p.LinearProblem)
		if _, err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestNoExperimentOfNil(t *testing.T) {
	if e := Of(nil); e != nil {
		t.Errorf("nil is a parameter of %s", e.Name)
	}
	for _, p := range []any{nil, (*GapParams)(nil)} {
		if _, err := Of(GapParams{}).Run(t.Context(), p); err == nil {
			t.Errorf("%T nil is taken", p)
		}
	}
}

// What was not measured is NaN and makes a claim that is not testable.
func TestWithoutMeasurement(t *testing.T) {
	run := new(KernelRun)
	for name, v := range map[string]float64{"LastLoss": run.LastLoss(), "FinalAccuracy": run.FinalAccuracy(), "Final": ElasticNetSearch{}.Final()} {
		if !math.IsNaN(v) {
			t.Errorf("%s of nothing is %v", name, v)
		}
	}
	dimensions := &SearchDimensionsResult{Dimensions: []SearchDimension{{Hyperparameters: 5, Methods: []SearchDimensionMethod{{Name: "exhaustive", CV: []float64{1}, Excess: once(1)}, {Name: "random"}, {Name: SearchQuasiNewton}}}}}
	for _, r := range []any{new(SearchDimensionsResult), dimensions, &UnrolledResult{ByRate: []UnrolledRun{{Rate: 3}}}} {
		for text, m := range measured(claimsOf(r)) {
			if m.Verdict != NotTestable {
				t.Errorf("%T: %q is %s, measured %v", r, text, m.Verdict, m.Ours)
			}
		}
	}
}
