// Package learner holds what the learners share and their users do not see: the state of
// a fit, the checks of arguments, and sets of equal rows.
package learner
