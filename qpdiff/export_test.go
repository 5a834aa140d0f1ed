package qpdiff

// The external tests of the package use these helpers of the internal tests.
var (
	Regression   = regression
	ElasticNetQP = elasticNetQP
	AffineRow    = affineRow
	NewQPGrad    = newQPGrad
	MaxDiff      = maxDiff
)
