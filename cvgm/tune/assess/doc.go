// Package assess judges predictions that were made out of fold: by metrics that people know
// ([Regress], [Classify]). It reads labels and predictions alone, of any learner.
package assess
