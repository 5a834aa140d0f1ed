package synth_test

import (
	"errors"
	"fmt"

	"cvgm/synth"
)

func ExampleStream() {
	// One stream for each use of random numbers: drawing more for one of them
	// leaves the numbers of the other as they are.
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
	// The same numbers as in Python:
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
