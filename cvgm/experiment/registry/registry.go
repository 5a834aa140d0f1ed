// Package registry lists the experiments.
package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/mydata"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/cvgm/experiment/stability"
)

// registered lists the experiments in the order of their names.
var registered = []*experiment.Experiment{
	experiment.New[samplesize.AblationParams]("ablation", "the gradient of the CV loss against that of the training loss, all else equal"),
	experiment.New[manyhyper.AdditiveParams]("additive", "additive models of tables against linear ones and kernel machines, on known functions, houses and rings"),
	experiment.New[differentiability.DerivativesParams]("derivatives", "derivatives of all learners and programs against finite differences"),
	experiment.New[differentiability.DifferentiabilityLimitsParams]("differentiability_limits", "solutions where the paper's conditions for a derivative do not suffice or do not hold"),
	experiment.New[elasticnet.ElasticNetParams]("elastic_net", "Table 1 and its learning curves: CVGM, exhaustive and random search on the published regression data"),
	experiment.New[elasticnet.ElasticNetSeedsParams]("elastic_net_seeds", "Table 1 repeated on fresh data sets"),
	experiment.New[differentiability.ErrataParams]("errata", "what the paper prints wrongly, each with a proof, a measurement or a source"),
	experiment.New[searches.FewDimensionsParams]("few_dimensions", "random against exhaustive search where few of the hyperparameters matter, and how many do"),
	experiment.New[splits.GapParams]("gap", "over-fitting of the CV loss against the number of hyperparameters, and stopping by a nested estimate"),
	experiment.New[manyhyper.GradientMapParams]("gradient_map", "a map of when the gradient of the CV loss helps, and when many hyperparameters do"),
	experiment.New[kernels.GradientPartsParams]("gradient_parts", "the parts of the exact gradient along the paths of three directions, for rings and XOR over many seeds"),
	experiment.New[differentiability.LearningParams]("learning", "hyperparameters of the paper's examples, and a loss itself, learned by the gradient of the CV loss"),
	experiment.New[manyhyper.LeversParams]("levers", "one hyperparameter against several of a kind: widths of a kernel, penalties of features and of smooth terms"),
	experiment.New[mydata.MyDataParams]("my_data", "a model tuned on the rows of a CSV file"),
	experiment.New[elasticnet.RegressionPrintedParams]("regression_printed", "the paper's first experiment with data from the printed command, and as its code draws them"),
	experiment.New[searches.RegretParams]("regret", "Bayesian optimisation against random search by their regret, in two boxes and several dimensions"),
	experiment.New[kernels.RingsParams]("rings", "A kernel learned for two rings, along five variants of the gradient"),
	experiment.New[samplesize.SampleSizeParams]("sample_size", "CVGM against networks and logistic regression over training sets of many sizes"),
	experiment.New[searches.SearchDimensionsParams]("search_dimensions", "searchers for the lowest CV loss against the number of hyperparameters"),
	experiment.New[searches.SearchesParams]("searches", "searchers for the lowest CV loss of the elastic net, on fresh data sets"),
	experiment.New[differentiability.SolutionPathsParams]("solution_paths", "paths of an elastic net and of a support vector machine in their penalties, with exact tangents"),
	experiment.New[splits.SplitsParams]("splits", "the number and size of the splits, and balanced against random splits"),
	experiment.New[stability.StabilityParams]("stability", "Bousquet and Elisseeff's identity at fixed hyperparameters and along CVGM's path"),
	experiment.New[searches.StochasticParams]("stochastic", "stochastic CVGM and an outer penalty for the weights of a network, against plain CVGM and others"),
	experiment.New[differentiability.UnrolledParams]("unrolled", "implicit against iterative differentiation of a ridge regression"),
	experiment.New[kernels.XORParams]("xor", "A kernel learned for XOR, along five variants of the gradient"),
}

// All returns the experiments in the order of their names.
func All() []*experiment.Experiment { return slices.Clone(registered) }

// Lookup returns the experiment with the given name. If there is none, the error lists the known
// names.
func Lookup(name string) (*experiment.Experiment, error) {
	var names []string
	for _, e := range registered {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("there is no experiment %q; there are: %s", name, strings.Join(names, ", "))
}

// Of returns the experiment whose parameters have the type of params, or nil if there is none. The
// argument params is a struct or a pointer to a struct.
func Of(params any) *experiment.Experiment {
	t := reflect.TypeOf(params)
	if t != nil && t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	for _, e := range registered {
		if reflect.TypeOf(e.Params()) == t {
			return e
		}
	}
	return nil
}
