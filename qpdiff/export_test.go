package qpdiff

// Helpers of the package's own tests that its external tests use as well.
var (
	Regression   = regression
	ElasticNetQP = elasticNetQP
	AffineRow    = affineRow
	NewQPGrad    = newQPGrad
	MaxDiff      = maxDiff
)
