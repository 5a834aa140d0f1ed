package claims

import (
	"fmt"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
)

// A Finding is what a reader takes home: a sentence of ours, and its number.
type Finding struct {
	Text     string
	Ours     experiment.Estimate
	Notebook string // that shows it
}

// Findings are the seven that matter most. One whose result is nil is left out.
func Findings(r Results) []Finding {
	var all []Finding
	add := func(notebook string, ours experiment.Estimate, format string, args ...any) {
		all = append(all, Finding{fmt.Sprintf(format, args...), ours, notebook})
	}
	measure(r.Derivatives, func(r *differentiability.DerivativeChecks) {
		worst, _, n := worstDerivative(r, "")
		add("05_differentiability", worst, "The CV loss has exact gradients: the largest relative distance of %d derivatives from finite differences", n)
	})
	measure(r.Errata, func(r *differentiability.ErrataResult) {
		add("05_differentiability", once(r.Jacobian.PrintedError), "The paper's Jacobian of logistic regression lacks a term: its relative error")
	})
	measure(r.Ablation, func(r *samplesize.AblationResult) {
		row := func(problem string) samplesize.AblationRow {
			return r.Rows[slices.IndexFunc(r.Rows, func(row samplesize.AblationRow) bool { return row.Problem == problem })]
		}
		add("03_sample_size", row(samplesize.ProblemNet).CVLessTraining.Difference, "For penalties the gradient of the CV loss is what helps: test loss of the elastic net after its descent less that after the descent of the training loss")
		k := slices.Index(r.Params.Rings.Budgets, 100)
		if k >= 0 {
			add("03_sample_size", r.Rings[k].Difference, "For a network's weights no such help is seen: test error on the rings of all sizes after the descent of the CV loss less that after the descent of the training loss")
		}
	})
	measure(r.ElasticNetSeeds, func(r *elasticnet.Seeds) {
		m := r.Methods[elasticnet.Exhaustive].CVGMMinusTest.Difference
		add("01_elastic_net", m, "Table 1 shows one favourable data set: test loss of CVGM less that of exhaustive search on %d others", m.N)
	})
	measure(r.Searches, func(r *searches.Result) {
		share, within, budget := quasiNewtonBelowGrid(r)
		add("06_searches", share, "The gradient needs a method that uses it: share of the data sets on which a quasi-Newton search is lower after %d evaluations than exhaustive search after %d", within, budget)
	})
	measure(r.XOR, func(r *kernels.XORResult) {
		add("04_xor", once(r.Bayes.Population), "The best rule for XOR has this accuracy, not %s: CVGM with %.3f comes close to it", Printed.XOR.Bayes.Paper, r.Run(kernels.Published).FinalAccuracy())
	})
	return all
}
