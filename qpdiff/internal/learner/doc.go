// Package learner holds the parts of learners that all share and no user sees: the state of
// a fit, the checks of arguments, and sets of equal rows.
package learner
