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
// # Origins and licences
//
// All code of this package is written for the project and has the project's licence, MIT. The
// following software defines the numbers that the package replays. Its authors and licences are:
//
//   - The Mersenne Twister and its two initialisations are by Makoto Matsumoto and Takuji
//     Nishimura. Their reference implementation of 2002 has the 3-clause BSD licence.
//   - NumPy (np.random): 3-clause BSD licence, NumPy Developers.
//   - CPython (the module random): Python Software Foundation License, version 2.
//   - PyTorch (the CPU generator and the initial values of torch.nn.Linear): 3-clause BSD licence,
//     its contributors.
//   - scikit-learn (make_regression and make_low_rank_matrix): 3-clause BSD licence, the
//     scikit-learn developers.
//   - PCG-DXSM is a variant of PCG, both by Melissa O'Neill. [Stream] calls the implementation in
//     Go's package math/rand/v2, which has Go's 3-clause BSD licence.
//
// # Errors
//
// If the options do not define data, functions return an [ArgError]. A destination or a point of
// the wrong length is a bug of the caller. It causes a panic with a message that begins with
// "synth: ".
package synth
