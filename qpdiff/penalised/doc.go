// Package penalised has generalised linear models, and multinomial models of several classes. Both
// have any number of quadratic penalties: ridge penalties of groups or bands of features, random
// effects, and smooth functions of a feature.
package penalised
