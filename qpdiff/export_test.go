package qpdiff

// These helpers belong to the package's own tests. The external tests of the package use them too.
var (
	Regression   = regression
	ElasticNetQP = elasticNetQP
	AffineRow    = affineRow
	NewQPGrad    = newQPGrad
	MaxDiff      = maxDiff
)
