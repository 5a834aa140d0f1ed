package live

import (
	"fmt"
	"iter"
	"math"

	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
)

// newRun prepares a run. If the settings are invalid, it sets the field err of the run.
func newRun(s Settings, coarse bool) *trajectory {
	r := &trajectory{settings: s, isPreview: coarse, stop: func() {}}
	if r.trial, r.err = newTrial(s, coarse); r.err == nil {
		r.next, r.stop = iter.Pull2(r.trial.walk())
	}
	return r
}

func newTrial(s Settings, coarse bool) (trial, error) {
	thin := func(k *int) {
		if coarse {
			*k = min(*k, max(minSplits, *k/coarseSplits))
		}
	}
	switch p := s.params().(type) {
	case *kernels.RingsParams:
		thin(&p.K)
		w, err := p.Stepper(s.variant())
		return newKernelTrial(w, math.Ceil(p.OuterRadius+2.5*p.RadiusSD), coarse), err
	case *kernels.XORParams:
		thin(&p.K)
		w, err := p.Stepper(s.variant())
		return newKernelTrial(w, 1.05*p.Scale, coarse), err
	case *elasticnet.ElasticNetParams:
		thin(&p.K)
		return newElasticNetTrial(*p)
	default:
		panic(fmt.Sprintf("live: a problem with %T", p))
	}
}
