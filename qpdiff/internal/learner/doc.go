// Package learner holds the parts that all learners share but users do not need: the state of a
// fit, the checks of arguments, and sets of equal rows.
package learner
