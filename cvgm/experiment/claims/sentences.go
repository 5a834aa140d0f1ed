package claims

// A sentence of the paper that is judged. The order is the paper's.
type sentence int

const (
	saysDifferentiable sentence = iota
	saysEfficient
	saysUnion
	saysNotContinuous
	saysProhibitive
	saysRandomBeatsGrid
	saysFewMatter
	saysFierceCompetitor
	saysFinitePrecision
	saysExploding
	saysRange
	saysLogisticJacobian
	saysElasticNetDifferentiable
	saysFirstDerivation
	saysMuchFaster
	saysLittleOnTop
	saysMostTime
	saysSplitUp
	saysSeveralStarts
	saysBalanced
	saysOtherMethods
	saysKAndP
	saysLargerK
	saysTestSet
	saysSpecialised
	saysCompetitive
	saysTable
	saysTestLoss
	saysLinear
	saysBayesRings
	saysChainRule
	saysAfterTen
	saysSeeds
	saysOverfitting
	saysOutperforms
	saysFewExamples
	saysFeatures
	saysSVMLabels
	saysSVMDifferentiable
	saysConvexCombination
	saysStabilityTheorem
	saysCancel
	saysStability
	saysXORParameters
	saysXOR
	sentences
)

// quotations are the sentences, or the clause of a long one that is judged, each
// with its section.
var quotations = [sentences]struct{ section, text string }{
	saysDifferentiable:           {"Abstract", "we show that the cross-validation risk is differentiable with respect to the hyperparameters and training data for many common machine learning algorithms, including logistic regression, elastic-net regression, and support vector machines."},
	saysEfficient:                {"Abstract", "Our method enables efficient optimization in high-dimensional hyperparameter spaces of the cross-validation risk"},
	saysUnion:                    {"1 Introduction", "𝒯ⱼ ∩ 𝒱ⱼ = ∅ and 𝒯ⱼ ∪ 𝒱ⱼ = [n]"},
	saysNotContinuous:            {"1 Introduction", "in many cases not even continuous (e.g., the 0−1 classification loss)"},
	saysProhibitive:              {"1.1 Summary of Results", "if we want to design our machine learning algorithms with more expressive regularizations or feature maps, exhaustive search over our hyperparameter space becomes prohibitive."},
	saysRandomBeatsGrid:          {"2.1 Gradient-Free Methods", "Quite unintuitively, random search can be more efficient than exhaustive search, even with a simple probability distribution."},
	saysFewMatter:                {"2.1 Gradient-Free Methods", "This is because, in practice, only a few of the hyperparameter dimensions matter"},
	saysFierceCompetitor:         {"2.1 Gradient-Free Methods", "random search still remains a fierce competitor to the (substantially more complicated) Bayesian optimization approach."},
	saysFinitePrecision:          {"2.2 Gradient-Based Methods", "the use of finite precision arithmetic when recursively applying the chain rule can lead to inaccuracies in the gradient calculation"},
	saysExploding:                {"2.2 Gradient-Based Methods", "one can encounter exploding or vanishing gradients from repeated application of the chain rule."},
	saysRange:                    {"3 Exact Differentiability", "under the assumption that both fᵢ and g are twice differentiable in x and α, strong duality holds, and ∇_α g([…]) ∈ R(∇_x g([…]))."},
	saysLogisticJacobian:         {"Example 3.1", "We can also take the derivative with respect to the training examples […] using the fact that ∇_{xᵢ}∇_θ f(θ, C) = C(πᵢ−1)yᵢI."},
	saysElasticNetDifferentiable: {"Example 3.2", "Since we can differentiate the solution to positive-definite QPs, we can find the gradient of the optimal solution θ = θₚ−θₙ with respect to the hyperparameters λ₁ and λ₂, provided λ₂ > 0."},
	saysFirstDerivation:          {"Example 3.2", "To the best knowledge of the authors, this is the first derivation of the gradients of the elastic-net solution with respect to elastic-net's hyperparameters."},
	saysMuchFaster:               {"4 Cross-Validation Gradient Method", "it directly optimizes the quantity of interest using a gradient-based method, which can be much faster than exhaustive search."},
	saysLittleOnTop:              {"4 Cross-Validation Gradient Method", "computing the gradient in line 4 of the algorithm costs little on top of evaluating the function L_cv(α) itself."},
	saysMostTime:                 {"4 Cross-Validation Gradient Method", "The majority of computation time is spent finding the gradient in line 4 of the algorithm."},
	saysSplitUp:                  {"4 Cross-Validation Gradient Method", "we can split up K runs of the learning algorithm on the K datasets over K processors or compute nodes and then average the resulting gradients."},
	saysSeveralStarts:            {"4 Cross-Validation Gradient Method", "the algorithm can be run in parallel with different random initializations of α to find multiple hyperparameter settings."},
	saysBalanced:                 {"4 Cross-Validation Gradient Method", "One improvement would be to make the sampling of cross-validation splits uniform, that is, each index appears an equal number of times in all of the 𝒱ⱼ and 𝒱ⱼ."},
	saysOtherMethods:             {"4 Cross-Validation Gradient Method", "Another improvement would be to use a more sophisticated optimization method, e.g., accelerated or adaptive methods, but in our experiments we just use a gradient method with constant step size and found that it works quite well."},
	saysKAndP:                    {"4 Cross-Validation Gradient Method", "We expect that a value of K between 16 and 128 and p > ½ should work well in almost all scenarios."},
	saysLargerK:                  {"4 Cross-Validation Gradient Method", "A larger K leads to reduced variance, and a larger p leads to a reduced number of examples held out for validation."},
	saysTestSet:                  {"5.1 Synthetic Regression Data", "We also generate a test set of 1000 examples with the same command for evaluation."},
	saysSpecialised:              {"5.1 Synthetic Regression Data", "one could create a much faster implementation by making the solver specialized for elastic-net regression."},
	saysCompetitive:              {"5.1 Synthetic Regression Data", "the hyperparameter optimization problem is in two dimensions and exhaustive/random search are likely to be quite competitive."},
	saysTable:                    {"5.1 Synthetic Regression Data, Table 1", "The resulting final test losses (at iteration 100) of this experiment are in Table 1"},
	saysTestLoss:                 {"5.1 Synthetic Regression Data", "CVGM ultimately achieves a test loss of 1.080, lower than the other two methods, and the test loss […] is for the most part monotonically decreasing throughout the procedure."},
	saysLinear:                   {"5.2 Synthetic Classification Data", "the best a linear classifier can do is 50% test error."},
	saysBayesRings:               {"5.2 Synthetic Classification Data, figure 1", "The CVGM achieves 89.8% test accuracy on the test set with only 60 training examples, and the Bayes (optimal) accuracy is 89.4%."},
	saysChainRule:                {"5.2 Synthetic Classification Data", "We can then find the Jacobian of the optimal solution θ* of this objective ∂θ*/vᵢ using arguments in Example 3.1, and then using the chain rule to find derivatives of the optimal solution with respect to the neural network's parameters."},
	saysAfterTen:                 {"5.2 Synthetic Classification Data", "After about 10 iterations, the method […] achieves a test accuracy of 86.5%, in comparison to the Bayes-optimal accuracy on that test set of 89.2%."},
	saysSeeds:                    {"5.2 Synthetic Classification Data", "Training was done on dataset sizes from 8 to 200 over 25 random seeds."},
	saysOverfitting:              {"5.2 Synthetic Classification Data", "optimizing to convergence led to severe overfitting […] this overfitting is more pronounced when there is less data"},
	saysOutperforms:              {"5.2 Synthetic Classification Data", "CVGM outperforms the two other methods, especially in the low-data regime."},
	saysFewExamples:              {"6 Conclusion", "we optimized 322 hyperparameters with as few as 20 training examples."},
	saysFeatures:                 {"6 Conclusion", "practitioners can design differentiable parameterized feature engineering functions for their class of problems, and optimize the feature engineering pipeline directly for generalization capability using gradient descent."},
	saysSVMLabels:                {"Supplement A, Support Vector Machine", "Support vector machines perform classification, where 𝒳 = Rⁿ and 𝒴 = {0,1}."},
	saysSVMDifferentiable:        {"Supplement A, Support Vector Machine", "Thus the solution θ is differentiable with respect to λ₁ and λ₂, again provided λ₂ > 0."},
	saysConvexCombination:        {"Supplement B, Learning Loss Functions", "a reasonable loss function is a convex combination of such convex surrogates."},
	saysStabilityTheorem:         {"Supplement C, Connections to Stability", "The main theorem of the paper relates the empirical risk to population risk E[R−R_emp] = Δ."},
	saysCancel:                   {"Supplement C, Connections to Stability", "The last two terms cancel"},
	saysStability:                {"Supplement C, Connections to Stability", "our CVGM algorithm is implicitly choosing the hyperparameters to optimize the stability of the learning algorithm."},
	saysXORParameters:            {"Supplement E, XOR Experiment", "(This corresponds to 4482 hyperparameters.)"},
	saysXOR:                      {"Supplement E, XOR Experiment", "The classifier achieves 72% test accuracy, where the Bayes accuracy is 85.1%."},
}
