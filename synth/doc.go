// Package synth makes the synthetic data sets of the paper. It also has all random number
// generators of the project.
//
// # Generators
//
// [Stream] is the project's own generator. It has an independent stream for each pair of a seed and
// a purpose. The numbers of a stream are the same on every machine. The other generators reproduce
// the numbers of other software exactly. [NumPy] is np.random after np.random.seed. [Python] is the
// standard library's module random after random.seed. [Torch] is PyTorch's CPU generator after
// torch.manual_seed, with only the functions that torch.nn.Linear needs. No generator is safe for
// concurrent use. Give each goroutine its own generator.
//
// # Data
//
// [MakeRegression] makes the same draws as scikit-learn's make_regression. [MakeRings] and
// [MakeXOR] draw data of the two classification problems of the paper. For each of these two
// problems, [Rings.Bayes] and [XOR.Bayes] return the best possible rule, with its exact accuracy.
// The functions that draw data take an interface, which [Stream], [NumPy] and user-defined
// generators implement.
//
// # Origins and licences
//
// All code of this package is written for the project and has the project's licence, MIT. The
// package reproduces the numbers of the following software. The authors and licences of this
// software are:
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
// If options are invalid, functions return an [ArgError]. A destination or a point of the wrong
// length is a bug of the caller. It causes a panic with a message that begins with "synth: ".
package synth
