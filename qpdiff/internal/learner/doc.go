// Package learner holds parts that all learners share and that users do not need: the state of a
// fit, the checks of arguments, and sets of equal rows.
package learner
