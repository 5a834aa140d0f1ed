// Package synth makes the synthetic data sets of the paper, and owns every
// random number generator of the project.
//
// # Generators
//
// [Stream] is the project's own generator: one independent stream for each
// seed and purpose, the same numbers on every machine. The others replay
// programs written elsewhere, digit by digit: [NumPy] is np.random after
// np.random.seed, [Python] is the standard library's random module after
// random.seed, and [Torch] is PyTorch's CPU generator after torch.manual_seed,
// as far as torch.nn.Linear needs it. None of them is safe for concurrent use;
// give each goroutine its own stream.
//
// # Data
//
// [MakeRegression] is scikit-learn's make_regression, draw for draw.
// [MakeRings] and [MakeXOR] draw the two classification problems of the paper;
// [Rings.Bayes] and [XOR.Bayes] give the best rule there is for each, and its
// exact accuracy. All of them take the generator as an interface, which
// [Stream], [NumPy] and the caller's own generators satisfy.
//
// # Errors
//
// Options that no data can be made from come back as an [ArgError]. A
// destination or a point of the wrong length is the caller's bug and panics
// with a message that begins with "synth: ".
package synth
