package experiment_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/registry"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/qpdiff"
)

// Check refuses numbers of examples, points or steps that exceed any memory. The error names the
// parameter, the value and the range.
func TestHugeCountsAreRefused(t *testing.T) {
	huge := int64(experiment.MaxCount) + 1
	if int64(int(huge)) != huge {
		t.Skip("no int is larger than maxCount here")
	}
	for _, e := range registry.All() {
		p := e.Params()
		_ = experiment.EachField(p, func(name string, v reflect.Value, tag reflect.StructTag) error {
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
			err := experiment.Check(p)
			var arg *qpdiff.ArgError
			if !errors.As(err, &arg) || !strings.HasPrefix(arg.Arg, name) || !strings.Contains(err.Error(), "2147483648") {
				t.Errorf("%s with a huge %s: error %v", e.Name, name, err)
			}
			return nil
		})
	}
}

// Check refuses values for which package synth returns an error and values that overflow a seed.
func TestRangesOfGeneratorsAndSeeds(t *testing.T) {
	for _, c := range []struct {
		p    any
		want string
	}{
		{&kernels.RingsParams{RingsData: kernels.RingsData{InnerRadius: 1, OuterRadius: 1e51, RadiusSD: .4}}, "OuterRadius is 1e+51 (outside its domain): use a value in (0,1e50]"},
		{&kernels.RingsParams{RingsData: kernels.RingsData{OuterRadius: 1, RadiusSD: 1e-51}}, "RadiusSD is 1e-51 (outside its domain): use a value in [1e-50,1e50]"},
		{&kernels.XORParams{XORData: kernels.XORData{Overlap: 1e-51, Scale: 1e51}}, "Overlap is 1e-51 (outside its domain): use a value in [1e-50,1]\nScale is 1e+51"},
		{&elasticnet.ElasticNetParams{PublishedRegression: experiment.PublishedRegression{RegressionData: experiment.RegressionData{Noise: 1e301}}}, "Noise is 1e+301 (outside its domain): use a value in [0,1e300]"},
	} {
		if err := experiment.Check(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v lacks %q", err, c.want)
		}
	}
	for _, e := range registry.All() {
		_ = experiment.EachField(e.Params(), func(name string, v reflect.Value, tag reflect.StructTag) error {
			if v.Kind() == reflect.Uint32 && tag.Get("range") != fmt.Sprintf("[0,%d]", uint32(math.MaxUint32)) {
				t.Errorf("%s: the range of %s is %s", e.Name, name, tag.Get("range"))
			}
			return nil
		})
	}
}

// If parameters do not fit together, the error names the parameter to be changed.
func TestCombinationsAreRefusedByName(t *testing.T) {
	gap, splits, searches, net := splits.DefaultGap(), splits.DefaultSplits(), searches.DefaultSearches(), elasticnet.DefaultElasticNet()
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
		if err := experiment.Check(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v lacks %q", err, c.want)
		}
	}
}

func TestNoExperimentOfNil(t *testing.T) {
	if e := registry.Of(nil); e != nil {
		t.Errorf("nil is a parameter of %s", e.Name)
	}
	for _, p := range []any{nil, (*splits.GapParams)(nil)} {
		if _, err := registry.Of(splits.GapParams{}).Run(t.Context(), experiment.Hooks{}, p); err == nil {
			t.Errorf("%T nil is taken", p)
		}
	}
}

func TestSearchesRefuseBadParams(t *testing.T) {
	for name, run := range map[string]func() error{
		"SurfaceDataSet": func() error {
			p := searches.DefaultSearches()
			p.SurfaceDataSet = p.DataSets
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
		"BoxLow": func() error {
			p := searches.DefaultSearches()
			p.BoxLow = p.BoxHigh
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
		"Groups": func() error {
			p := searches.DefaultSearchDimensions()
			p.Groups = []int{3}
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
		"Rings.K": func() error {
			p := searches.DefaultSearchDimensions()
			p.Rings.K = 0
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
		"Draws": func() error {
			p := splits.DefaultSplits()
			p.Draws = 1
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
		"Rings.InnerRadius": func() error {
			p := splits.DefaultSplits()
			p.Rings.InnerRadius = p.Rings.OuterRadius
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
		"Patience": func() error {
			p := splits.DefaultGap()
			p.Patience = 0
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
		"Folds": func() error {
			p := splits.DefaultGap()
			p.Folds = p.Train + 1
			_, err := p.Run(t.Context(), experiment.Hooks{})
			return err
		},
	} {
		var arg *qpdiff.ArgError
		if err := run(); !errors.Is(err, qpdiff.ErrDomain) || !errors.As(err, &arg) || arg.Arg != name {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
