package synth_test

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

func ExampleStream() {
	// Each use of random numbers has its own stream, so more draws for one use do not change
	// another use.
	splits := synth.NewStream(1, "splits")
	weights := synth.NewStream(1, "weights")
	fmt.Println(splits.Perm(6), splits.Perm(6))
	fmt.Printf("%.4f %.4f\n", weights.NormFloat64(), synth.Uniform(weights, -1, 1))
	// Output:
	// [2 5 3 4 1 0] [2 5 4 1 3 0]
	// 0.9241 0.0897
}

func ExampleNumPy() {
	r := synth.NewNumPy(0) // np.random.seed(0)
	fmt.Println(r.Float64())
	fmt.Printf("%.12f\n", synth.Normal(r, 1, .4)) // np.random.normal(1, .4)
	fmt.Println(r.Perm(8))                        // np.random.permutation(8)
	// Output:
	// 0.5488135039273248
	// 1.296636696324
	// [6 5 4 0 2 7 1 3]
}

func ExamplePython() {
	fmt.Println(synth.NewPython(0).Float64()) // random.seed(0); random.random()
	// Output:
	// 0.8444218515250481
}

func ExampleMakeRegression() {
	// Python draws the same numbers:
	//	np.random.seed(0)
	//	X, y, w = make_regression(4, 3, n_informative=2, noise=1, coef=True)
	d, w, err := synth.MakeRegression(synth.NewNumPy(0), synth.Regression{
		Samples: 4, Features: 3, Informative: 2, Noise: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, y := range d.Y {
		fmt.Printf("%6.3f %8.3f\n", d.X.RawRowView(i), y)
	}
	fmt.Printf("%.3f\n", w)
	// Output:
	// [ 0.411  1.454  0.144]   36.451
	// [ 2.241 -0.977  1.868]  300.487
	// [ 1.764  0.979  0.400]  137.688
	// [ 0.950 -0.103 -0.151]   41.454
	// [56.804 0.000 92.560]
}

func ExampleArgError() {
	_, _, err := synth.MakeRegression(synth.NewNumPy(0), synth.Regression{Noise: -1})
	var arg *synth.ArgError
	fmt.Println(errors.As(err, &arg), arg.Arg)
	fmt.Println(err)
	// Output:
	// true Regression.Noise
	// synth: Regression.Noise is -1: give a value between 0 and 1e+300
}

func ExampleRegression() {
	// For effective rank 2, the singular values decrease quickly, except for a tail of weight .1.
	d, _, err := synth.MakeRegression(synth.NewStream(0, "data"), synth.Regression{
		Samples: 50, Features: 6, EffectiveRank: 2, TailStrength: .1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var svd mat.SVD
	svd.Factorize(d.X, mat.SVDNone)
	fmt.Printf("%.3f\n", svd.Values(nil))
	// Output:
	// [1.000 0.796 0.422 0.181 0.098 0.080]
}

func ExampleSource() {
	// Every generator with three such methods is a Source, for example math/rand/v2's Rand.
	var src synth.Source = rand.New(rand.NewPCG(1, 2))
	d, err := synth.MakeRings(src, 40, synth.Rings{})
	fmt.Println(len(d.Y), err)
	// Output:
	// 40 <nil>
}

func ExampleFloat64Source() {
	// Random search draws numbers that are uniform on a logarithmic scale.
	var src synth.Float64Source = synth.NewStream(0, "search")
	fmt.Printf("1e%.3f\n", synth.Uniform(src, -4, -1))
	// Output:
	// 1e-1.536
}

func ExampleRings() {
	// One generator draws the training set and then the test set of the published experiment.
	src := synth.NewNumPy(0)
	rings := synth.Rings{}
	train, err := synth.MakeRings(src, 60, rings)
	if err != nil {
		fmt.Println(err)
		return
	}
	test, err := synth.MakeRings(src, 1000, rings)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("first point %.4f with label %v\n", train.X.RawRowView(0), train.Y[0])

	rule, err := rings.Bayes()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("Bayes accuracy: %.5f, on the test set %.3f\n", rule.Accuracy, rule.SampleAccuracy(test))
	// Output:
	// first point [-1.6002 0.5904] with label -1
	// Bayes accuracy: 0.89435, on the test set 0.915
}

func ExampleXOR() {
	// As in the published code, Python's generator selects the squares, and NumPy's generator draws
	// the points.
	d, err := synth.MakeXOR(synth.NewPython(0), synth.NewNumPy(0), 100, synth.XOR{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("first point %.4f with label %v\n", d.X.RawRowView(0), d.Y[0])
	// Output:
	// first point [1.3757 -0.4253] with label -1
}

func ExampleBayesRule() {
	rule, err := synth.XOR{}.Bayes()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("accuracy %.4f\n", rule.Accuracy)
	for _, x := range [][]float64{{2, 1}, {-2, 1}, {2, -.5}} {
		fmt.Println(x, "score", rule.Score(x), "label", rule.Label(x))
	}
	// Output:
	// accuracy 0.7222
	// [2 1] score 1 label 1
	// [-2 1] score -1 label -1
	// [2 -0.5] score 0 label -1
}

func ExampleData() {
	d, err := synth.MakeRings(synth.NewStream(0, "data"), 4, synth.Rings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, columns := d.X.Dims()
	fmt.Println(rows, columns, d.Y)
	// Output:
	// 4 2 [-1 -1 1 1]
}

func ExampleTorch() {
	// torch.manual_seed(0); torch.nn.Linear(2, 3)
	w, b := make([]float64, 3*2), make([]float64, 3)
	synth.NewTorch(0).Linear(w, b)
	fmt.Printf("%.4f\n%.4f\n", w, b)
	// Output:
	// [-0.0053 0.3793 -0.5820 -0.5204 -0.2723 0.1896]
	// [-0.0140 0.5607 -0.0628]
}
