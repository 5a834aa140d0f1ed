// Package search minimises functions of a few to some hundred variables, with or without their
// gradients. A [Problem] is an [Objective] with bounds or a projection. A [Searcher] yields its
// evaluations one by one; each is a [Step]. [Best] runs a search to its end. The cross-validation
// loss of package cvgm is an Objective.
package search
