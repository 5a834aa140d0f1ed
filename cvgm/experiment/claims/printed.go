package claims

import "strconv"

// Quoted is a printed number, digit by digit. One field holds the number as the paper prints it.
// The other field holds the number in the saved output of the published code. A field is empty if
// its source does not print the number.
type Quoted struct{ Paper, Code string }

// number64 parses a printed number. All texts that it parses are constants in this file, so it
// panics if a text is not a number.
func number64(printed string) float64 {
	v, err := strconv.ParseFloat(printed, 64)
	if err != nil {
		panic("experiment: " + err.Error())
	}
	return v
}

// Number returns the number that the paper prints. If the paper prints none, the second result is
// false.
func (q Quoted) Number() (float64, bool) {
	if q.Paper == "" {
		return 0, false
	}
	return number64(q.Paper), true
}

// PrintedKernel holds the printed numbers for an experiment with a learned kernel.
type PrintedKernel struct {
	Hyperparameters    Quoted
	LastLoss           Quoted // CV loss before the last step
	Accuracy10         Quoted // test accuracy after about ten steps
	Accuracy           Quoted // test accuracy after the last step
	Bayes, BayesOnTest Quoted // accuracy of the Bayes rule: over the population, and on the test set
	Linear             Quoted // error of the best linear rule, over the population
	Radius             Quoted // radius at which the Bayes rule changes its class
}

// Printed holds every printed number that the package compares with a measurement. The first fields
// are the numbers of the elastic net, in Table 1 and in its learning curves.
var Printed = struct {
	LeastSquares, TrueCoefficients, CVGM, Exhaustive, Random, CVGMSteps Quoted

	Rings, XOR PrintedKernel
	// SampleSizeWins is the share of data sets on which CVGM is more accurate than the network of
	// the published code. The published code computes this share from fewer sizes and repetitions
	// than the paper, and counts ties as losses.
	SampleSizeWins Quoted
	// Seeds and LargestSize are parameters of the comparison of sizes.
	Seeds, LargestSize Quoted
}{
	LeastSquares:     Quoted{Code: "1.2847221015464214"},
	TrueCoefficients: Quoted{Code: ".960613829513703"},
	CVGM:             Quoted{Paper: "1.080", Code: "1.078"},
	Exhaustive:       Quoted{Paper: "1.207", Code: "1.2074096202850342"},
	Random:           Quoted{Paper: "1.084", Code: "1.083789587"},
	CVGMSteps:        Quoted{Paper: "100", Code: "99"},
	Rings: PrintedKernel{
		Hyperparameters: Quoted{Paper: "322"},
		LastLoss:        Quoted{Code: ".33595"},
		Accuracy10:      Quoted{Paper: ".865", Code: ".725"},
		Accuracy:        Quoted{Paper: ".898", Code: ".899"},
		Bayes:           Quoted{Paper: ".894"},
		BayesOnTest:     Quoted{Paper: ".892"},
		Linear:          Quoted{Paper: ".5"},
		Radius:          Quoted{Paper: "1.5"},
	},
	XOR: PrintedKernel{
		Hyperparameters: Quoted{Paper: "4482"},
		LastLoss:        Quoted{Code: ".3172"},
		Accuracy:        Quoted{Paper: ".72", Code: ".716"},
		// The method xor in claims_kernels.go compares this number with synth.XOR.Bayes. The
		// published code computes the number from predictions in {0, 1} and labels in {−1, 1}, so
		// all examples of class −1 count as correct. XORCoded in
		// cvgm/experiment/differentiability/errata.go has the same mistake on purpose.
		Bayes: Quoted{Paper: ".851", Code: ".851"},
	},
	SampleSizeWins: Quoted{Code: ".782608695652174"},
	Seeds:          Quoted{Paper: "25", Code: "10"},
	LargestSize:    Quoted{Paper: "200", Code: "96"},
}
