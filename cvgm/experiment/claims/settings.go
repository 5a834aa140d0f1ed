package claims

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/samplesize"
	"cvgm/cvgm/experiment/stability"
)

// This file describes parameters in words, for the field Measurement.Setting. With these words, a
// reader can repeat a measurement with another program.

// describe joins the parts of a setting. A part is a text or a struct of parameters. Empty texts
// are omitted.
func describe(parts ...any) string {
	var all []string
	for _, part := range parts {
		text, is := part.(string)
		if !is {
			text = pick(part)
		}
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// otherSetting is a phrase in the setting of a row whose splits, start or box are not the paper's.
const otherSetting = "in the place of the paper's"

// splitsBesidePaper returns a note on the number k of splits of a row. The text of the row's
// setting begins with this note. If k is the paper's number, splitsBesidePaper returns "".
func splitsBesidePaper(k, paper int) string {
	if k == paper {
		return ""
	}
	return fmt.Sprintf("K = %d splits %s %d", k, otherSetting, paper)
}

// pick returns phrases that describe the parameters of p with the given names. If no names are
// given, it describes all parameters. The phrases come from the tags of the fields. A semicolon
// separates the phrases of one embedded struct from the phrases of the next. Fields of struct type
// that are not embedded are skipped, because they describe other problems.
func pick(p any, names ...string) string {
	var groups []string
	found, last := 0, []int{-1}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(p)) {
		phrase, group := f.Tag.Get("setting"), f.Index[:len(f.Index)-1]
		if phrase == "" || len(names) > 0 && !slices.Contains(names, f.Name) {
			continue
		}
		phrase = strings.ReplaceAll(phrase, "%v", digits(reflect.ValueOf(p).FieldByIndex(f.Index), f.Tag.Get("unit")))
		if slices.Equal(group, last) {
			groups[len(groups)-1] += ", " + phrase
		} else {
			groups = append(groups, phrase)
		}
		found, last = found+1, group
	}
	if found < max(1, len(names)) {
		panic(fmt.Sprintf("claims: %T lacks a phrase for one of %q", p, names))
	}
	return strings.Join(groups, "; ")
}

// digits returns a parameter as text, with commas between the entries of a list. If the parameter
// is a logarithm, the text is the number without the logarithm. It has six digits, so that changes
// by rounding are not visible; see ./reproduce.sh --sensitivities.
func digits(v reflect.Value, unit string) string {
	x, verb := v.Interface(), "%v"
	if strings.HasPrefix(unit, "log10") {
		x = math.Pow(10, v.Float())
	}
	switch x.(type) {
	case float64, []float64:
		verb = "%.6g"
	}
	return strings.NewReplacer("[", "", " ", ", ", "]", "").Replace(fmt.Sprintf(verb, x))
}

const (
	standardised    = ", features standardised on the training rows of each split, with an intercept"
	netSetting      = "elastic net 1/(2N)·‖Xθ−y‖² + λ1·‖θ‖₁ + ½·λ2·‖θ‖²" + standardised
	ridgeSetting    = "ridge regression 1/(2N)·‖Xθ−y‖² + ½·λ2·‖θ‖²"
	groupsSetting   = ridgeSetting + standardised + ", the features in %v groups of equal size, each with its own λ2"
	logisticSetting = "logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ))"
	rawSetting      = "features as drawn, not standardised, no intercept"
	freshSetting    = "coefficients drawn anew for each data set"
	bayesSetting    = "the rule that takes the likelier class at each point, integrated over the population"
	ratioSetting    = "the ratio of each data set, then the mean"
	slopeSetting    = "slope of the least-squares line on log₂ N for each seed, then the mean over the seeds"
	quasiNewton     = "quasi-Newton: L-BFGS with bounds, an evaluation is a loss with its gradient"
	improvement     = "Bayesian search: Gaussian process with a Matérn 5/2 kernel and expected improvement, in "
	sameLayers      = "trained network: the same layers and one linear unit on their outputs, all weights trained together"
	trainingSetting = "training loss: the loss of the same learner on the rows to which it is fitted, all N, descended through the fit in the same way"
)

// gradients describes the directions along which kernels are learned.
var gradients = map[kernels.Variant]string{
	kernels.Published: "published gradient: validation features held constant, Jacobian as printed, intercept penalised in the fit",
	kernels.Full:      "exact gradient, intercept not penalised",
}

// startBesidePaper and boxBesidePaper return texts with which the setting of a search for penalties
// begins. The texts state a start or a box that differs from the paper's. For the paper's start and
// box, the functions return "".
func startBesidePaper(p elasticnet.PenaltyCVGM) string {
	paper := elasticnet.PaperPenaltyCVGM
	if p.StartLambda1 == paper.StartLambda1 && p.StartLambda2 == paper.StartLambda2 {
		return ""
	}
	return fmt.Sprintf("start λ1 = %.6g, λ2 = %.6g %s %g, %g", p.StartLambda1, p.StartLambda2, otherSetting, paper.StartLambda1, paper.StartLambda2)
}

func boxBesidePaper(high float64) string {
	paper := elasticnet.DefaultElasticNetSeeds().BoxHigh
	if high == paper {
		return ""
	}
	return fmt.Sprintf("box up to %.6g %s %g", math.Pow(10, high), otherSetting, math.Pow(10, paper))
}

func stabilitySides(p stability.StabilityParams) string {
	return describe(pick(p, "DataSets", "FreshExamples")+", rows drawn anew, with the coefficients and the noise of the published data", p.PublishedRegression, rawSetting)
}

// pathSetting describes the path along which Δ changes, with its ends.
func pathSetting(p stability.StabilityParams, first, last []float64, evaluations int) string {
	return describe(fmt.Sprintf("from λ1 = %.4g, λ2 = %.4g to λ1 = %.4g, λ2 = %.4g, the first and the last of %d evaluations of CVGM on the published data, standardised", first[0], first[1], last[0], last[1], evaluations),
		pick(p, "K", "P", "MinLambda1", "MinLambda2", "StepSize"), "Δ and R_emp at these fixed λ", stabilitySides(p))
}

// ablationSetting describes the two descents of a row of the ablation.
func ablationSetting(p samplesize.AblationParams, row samplesize.AblationRow) string {
	kernel := func(m kernels.KernelCVGM) string {
		m.Steps = row.Budget
		return describe(m, gradients[kernels.Full], trainingSetting)
	}
	p.Net.K = row.K
	switch row.Problem {
	case kernels.ProblemRings:
		return describe(splitsBesidePaper(row.K, kernels.DefaultRings().K), p.Rings, p, kernel(p.Rings.CVGM(row.K)))
	case kernels.ProblemXOR:
		return describe(splitsBesidePaper(row.K, kernels.DefaultXOR().K), p.XOR, kernel(p.XOR.CVGM(row.K)), "test loss: share of errors")
	case samplesize.ProblemNet:
		return describe(netSetting, freshSetting, p.Net, fmt.Sprintf("%d evaluations, the last of which counts", row.Budget), trainingSetting)
	case samplesize.ProblemNetLog:
		return describe(netSetting, freshSetting, p.Net.RegressionData, pick(p.Net, "K", "P"), p.NetLog, trainingSetting)
	}
	return describe(p.Rings.RingsData, pick(p.Rings, "Test"), p.Machine, "support vector machine ½·‖f‖² + C·Σ max(0, 1−yᵢ(f(xᵢ)+b)) with the kernel exp(−γ·‖x−x′‖²)", fmt.Sprintf("CV loss: squared hinge loss of K = %d random splits, p = %.6g", row.K, p.Rings.P), "test loss: share of errors", trainingSetting, "it is 0 to rounding where C and γ separate the rows with a margin, and the search ends at its first point there, so that another line search ends at other C and γ")
}

// rivalSetting describes the method with which CVGM is compared.
func rivalSetting(p samplesize.SampleSizeParams, rival int) string {
	switch descent := pick(p, "NetworkStepSize", "NetworkSteps"); rival {
	case samplesize.SizeNetworkPublished:
		return describe(sameLayers, descent+", where gradients are never set back to 0, so that each step takes the sum of all gradients so far")
	case samplesize.SizeNetworkText:
		return describe(sameLayers, descent)
	case samplesize.SizeAdam:
		return describe(sameLayers, pick(p, "AdamStepSize", "AdamSteps"))
	}
	return pick(p, "LinearC")
}

// setting describes the conditions of the benchmark of a problem. It includes the machine if the
// record names one.
func (t *Timings) setting(problem ...any) string {
	text := fmt.Sprintf("%s; median of %d runs, the interval reaches over all of them", describe(problem...), t.RunsOfEach)
	if t.Machine.Cores > 0 {
		text += fmt.Sprintf("; %s, %d cores", t.Machine.Processor, t.Machine.Cores)
	}
	return text
}

// netTiming describes the elastic net of the benchmark. The data have the size of the first
// experiment's data.
func netTiming(k int) string {
	p := elasticnet.DefaultElasticNet()
	p.K = k
	return "elastic net, " + pick(p, "Train", "Features", "K", "P", "StartLambda1", "StartLambda2")
}
