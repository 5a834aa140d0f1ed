// Package synth makes the synthetic data sets of the paper. It also has all random number
// generators of the project.
//
// # Generators
//
// [Stream] is the project's own generator. It has one independent stream for each seed and purpose,
// with the same numbers on every machine. The other generators replay generators of other software,
// digit by digit. [NumPy] is np.random after np.random.seed. [Python] is the standard library's
// random module after random.seed. [Torch] is PyTorch's CPU generator after torch.manual_seed, to
// the extent that torch.nn.Linear needs it. No generator is safe for concurrent use, so each
// goroutine needs its own.
//
// # Data
//
// [MakeRegression] is scikit-learn's make_regression, draw for draw. [MakeRings] and [MakeXOR] draw
// data of the two classification problems of the paper. [Rings.Bayes] and [XOR.Bayes] return the
// best possible rule for each problem, with its exact accuracy. The functions that draw data take
// the generator as an interface. [Stream], [NumPy] and user-defined generators can implement it.
//
// # Errors
//
// If no data can be made with the given options, functions return an [ArgError]. A destination or a
// point of the wrong length is a bug of the caller. It causes a panic with a message that begins
// with "synth: ".
package synth
