// Package linear has the learners whose prediction is θᵀx: elastic-net regression,
// Huber regression, and logistic regression with ridge and with elastic-net penalties.
// Package margin beside it has those with a hinge loss.
package linear
