// Package synth makes the synthetic data sets of the paper. It also has all random number
// generators of the project.
//
// # Generators
//
// [Stream] is the project's own generator. Each seed and purpose has an independent stream, with
// the same numbers on every machine. The other generators reproduce the numbers of other software
// exactly. [NumPy] is np.random after np.random.seed. [Python] is the standard library's module
// random after random.seed. [Torch] is PyTorch's CPU generator after torch.manual_seed, with only
// the functions that torch.nn.Linear needs. No generator is safe for concurrent use. Give each
// goroutine its own generator.
//
// # Data
//
// [MakeRegression] makes the same draws as scikit-learn's make_regression. [MakeRings] and
// [MakeXOR] draw data of the two classification problems of the paper. [Rings.Bayes] and
// [XOR.Bayes] return the best possible rule for each problem, with its exact accuracy. The
// functions that draw data take an interface, which [Stream], [NumPy] and user-defined generators
// implement.
//
// # Errors
//
// If the options do not define data, functions return an [ArgError]. A destination or a point of
// the wrong length is a bug of the caller. It causes a panic with a message that begins with
// "synth: ".
package synth
