// Package synth makes the synthetic data sets of the paper. It has all random number generators of
// the project.
//
// # Generators
//
// [Stream] is the project's own generator: one independent stream for each seed and purpose, with
// the same numbers on every machine. The others replay programs written elsewhere, digit by digit.
// [NumPy] is np.random after np.random.seed. [Python] is the standard library's random module after
// random.seed. [Torch] is PyTorch's CPU generator after torch.manual_seed, to the extent that
// torch.nn.Linear needs it. None of them is safe for concurrent use; give each goroutine its own
// stream.
//
// # Data
//
// [MakeRegression] is scikit-learn's make_regression, draw for draw. [MakeRings] and [MakeXOR] draw
// the two classification problems of the paper. [Rings.Bayes] and [XOR.Bayes] return the best
// possible rule for each, with its exact accuracy. All of them take the generator as an interface.
// [Stream], [NumPy] and your own generators satisfy it.
//
// # Errors
//
// Options with which no data can be made return an [ArgError]. A destination or a point of the
// wrong length is a bug of the caller, and panics with a message that begins with "synth: ".
package synth
