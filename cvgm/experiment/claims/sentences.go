package claims

// A value of type sentence is the number of a judged sentence of the paper. The numbers are in the
// order of the paper.
type sentence int

const (
	saysDifferentiable sentence = iota
	saysEfficient
	saysSurrogate
	saysUnion
	saysNonconvex
	saysNotContinuous
	saysProhibitive
	saysFiveOrSix
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
	saysBayesRule
	saysLinear
	saysBayesRings
	saysChainRule
	saysManifold
	saysAfterTen
	saysSeeds
	saysOverfitting
	saysOutperforms
	saysFewExamples
	saysFeatures
	saysSVMLabels
	saysSVMDifferentiable
	saysConvexCombination
	saysSmoothInAlpha
	saysStabilityTheorem
	saysCancel
	saysStability
	saysXORParameters
	saysXOR
	sentences
)

// These constants are the numbers of claims to which notebooks refer.
const (
	JacobianClaim = int(saysLogisticJacobian) + 1
	BalancedClaim = int(saysBalanced) + 1
	TestLossClaim = int(saysTestLoss) + 1
	FeaturesClaim = int(saysFeatures) + 1
)

// quotations holds the section and the text of each judged sentence, or of a clause if the sentence
// is long. The field summary describes the sentence in at most twelve words of our own.
var quotations = [sentences]struct{ section, summary, text string }{
	saysDifferentiable:           {"Abstract", "The CV risk of logistic regression, elastic net and SVM is differentiable", "we show that the cross-validation risk is differentiable with respect to the hyperparameters and training data for many common machine learning algorithms, including logistic regression, elastic-net regression, and support vector machines."},
	saysEfficient:                {"Abstract", "CVGM optimizes many hyperparameters efficiently", "Our method enables efficient optimization in high-dimensional hyperparameter spaces of the cross-validation risk"},
	saysSurrogate:                {"Abstract", "The CV risk is the best surrogate of generalization", "the cross-validation risk, the best surrogate of the true generalization ability of our learning algorithm."},
	saysUnion:                    {"1 Introduction", "Training and validation rows make up [n]", "𝒯ⱼ ∩ 𝒱ⱼ = ∅ and 𝒯ⱼ ∪ 𝒱ⱼ = [n]"},
	saysNonconvex:                {"1 Introduction", "The CV loss is nonconvex even in the simplest cases", "Even in the simplest cases, however, the objective […] is nonconvex in α"},
	saysNotContinuous:            {"1 Introduction", "With the 0–1 loss it is not even continuous", "in many cases not even continuous (e.g., the 0−1 classification loss)"},
	saysProhibitive:              {"1.1 Summary of Results", "Exhaustive search is prohibitive with more hyperparameters", "if we want to design our machine learning algorithms with more expressive regularizations or feature maps, exhaustive search over our hyperparameter space becomes prohibitive."},
	saysFiveOrSix:                {"2.1 Gradient-Free Methods", "Exhaustive search is prohibitive above 5 or 6 dimensions", "its complexity (to find an approximate minimum) scales exponentially with the dimension d, making it prohibitive for practitioners to successfully apply exhaustive search to d greater than 5 or 6."},
	saysRandomBeatsGrid:          {"2.1 Gradient-Free Methods", "Random search can be more efficient than exhaustive search", "Quite unintuitively, random search can be more efficient than exhaustive search, even with a simple probability distribution."},
	saysFewMatter:                {"2.1 Gradient-Free Methods", "That is because few of the dimensions matter", "This is because, in practice, only a few of the hyperparameter dimensions matter"},
	saysFierceCompetitor:         {"2.1 Gradient-Free Methods", "Random search remains a fierce competitor to Bayesian optimization", "random search still remains a fierce competitor to the (substantially more complicated) Bayesian optimization approach."},
	saysFinitePrecision:          {"2.2 Gradient-Based Methods", "Finite precision makes the chain rule inaccurate", "the use of finite precision arithmetic when recursively applying the chain rule can lead to inaccuracies in the gradient calculation"},
	saysExploding:                {"2.2 Gradient-Based Methods", "Gradients explode or vanish by the chain rule", "one can encounter exploding or vanishing gradients from repeated application of the chain rule."},
	saysRange:                    {"3 Exact Differentiability", "The range condition suffices for differentiability", "under the assumption that both fᵢ and g are twice differentiable in x and α, strong duality holds, and ∇_α g([…]) ∈ R(∇_x g([…]))."},
	saysLogisticJacobian:         {"Example 3.1", "The Jacobian of logistic regression in its features is C(πᵢ−1)yᵢI", "We can also take the derivative with respect to the training examples […] using the fact that ∇_{xᵢ}∇_θ f(θ, C) = C(πᵢ−1)yᵢI."},
	saysElasticNetDifferentiable: {"Example 3.2", "The elastic net is differentiable where λ₂ > 0", "Since we can differentiate the solution to positive-definite QPs, we can find the gradient of the optimal solution θ = θₚ−θₙ with respect to the hyperparameters λ₁ and λ₂, provided λ₂ > 0."},
	saysFirstDerivation:          {"Example 3.2", "This is the first derivation of the elastic net's gradients", "To the best knowledge of the authors, this is the first derivation of the gradients of the elastic-net solution with respect to elastic-net's hyperparameters."},
	saysMuchFaster:               {"4 Cross-Validation Gradient Method", "CVGM can be much faster than exhaustive search", "it directly optimizes the quantity of interest using a gradient-based method, which can be much faster than exhaustive search."},
	saysLittleOnTop:              {"4 Cross-Validation Gradient Method", "The gradient costs little on top of the loss", "computing the gradient in line 4 of the algorithm costs little on top of evaluating the function L_cv(α) itself."},
	saysMostTime:                 {"4 Cross-Validation Gradient Method", "Most time is spent on the gradient, line 4", "The majority of computation time is spent finding the gradient in line 4 of the algorithm. Since the gradient operation is linear, we can split up K runs of the learning algorithm […]"},
	saysSplitUp:                  {"4 Cross-Validation Gradient Method", "The K fits can be shared by several processors", "we can split up K runs of the learning algorithm on the K datasets over K processors or compute nodes and then average the resulting gradients."},
	saysSeveralStarts:            {"4 Cross-Validation Gradient Method", "Several starts find several hyperparameter settings", "the algorithm can be run in parallel with different random initializations of α to find multiple hyperparameter settings."},
	saysBalanced:                 {"4 Cross-Validation Gradient Method", "Balanced (“uniform”) sampling of the splits is an improvement", "One improvement would be to make the sampling of cross-validation splits uniform, that is, each index appears an equal number of times in all of the 𝒱ⱼ and 𝒱ⱼ."},
	saysOtherMethods:             {"4 Cross-Validation Gradient Method", "Accelerated methods are better; a constant step works quite well", "Another improvement would be to use a more sophisticated optimization method, e.g., accelerated or adaptive methods, but in our experiments we just use a gradient method with constant step size and found that it works quite well."},
	saysKAndP:                    {"4 Cross-Validation Gradient Method", "K of 16 to 128 and p > ½ work well", "We expect that a value of K between 16 and 128 and p > ½ should work well in almost all scenarios."},
	saysLargerK:                  {"4 Cross-Validation Gradient Method", "A larger K reduces the variance", "A larger K leads to reduced variance, and a larger p leads to a reduced number of examples held out for validation."},
	saysTestSet:                  {"5.1 Synthetic Regression Data", "The test set comes from the same command", "We also generate a test set of 1000 examples with the same command for evaluation."},
	saysSpecialised:              {"5.1 Synthetic Regression Data", "A specialised solver is much faster", "one could create a much faster implementation by making the solver specialized for elastic-net regression."},
	saysCompetitive:              {"5.1 Synthetic Regression Data", "Exhaustive and random search are quite competitive in two dimensions", "the hyperparameter optimization problem is in two dimensions and exhaustive/random search are likely to be quite competitive."},
	saysTable:                    {"5.1 Synthetic Regression Data, Table 1", "Table 1: the final test losses", "The resulting final test losses (at iteration 100) of this experiment are in Table 1"},
	saysTestLoss:                 {"5.1 Synthetic Regression Data", "CVGM's test loss is lower than both others' and mostly falls", "CVGM ultimately achieves a test loss of 1.080, lower than the other two methods, and the test loss […] is for the most part monotonically decreasing throughout the procedure."},
	saysBayesRule:                {"5.2 Synthetic Classification Data", "The Bayes rule separates the rings at ‖x‖ = 1.5", "Clearly, the Bayes decision rule for this dataset is to separate the classes at ‖x‖₂ = 1.5"},
	saysLinear:                   {"5.2 Synthetic Classification Data", "The best linear classifier has 50 % test error", "the best a linear classifier can do is 50% test error."},
	saysBayesRings:               {"5.2 Synthetic Classification Data, figure 1", "CVGM has 89.8 % accuracy on the rings, Bayes 89.4 %", "The CVGM achieves 89.8% test accuracy on the test set with only 60 training examples, and the Bayes (optimal) accuracy is 89.4%."},
	saysChainRule:                {"5.2 Synthetic Classification Data", "The chain rule gives the derivatives in the network", "We can then find the Jacobian of the optimal solution θ* of this objective ∂θ*/vᵢ using arguments in Example 3.1, and then using the chain rule to find derivatives of the optimal solution with respect to the neural network's parameters."},
	saysManifold:                 {"5.2 Synthetic Classification Data", "After about 10 iterations the classes are linearly separable", "After about 10 iterations, the method is able to learn a manifold under which the data is (approximately) linearly separable"},
	saysAfterTen:                 {"5.2 Synthetic Classification Data", "After about 10 iterations the accuracy is 86.5 %", "[After about 10 iterations, the method] achieves a test accuracy of 86.5%, in comparison to the Bayes-optimal accuracy on that test set of 89.2%."},
	saysSeeds:                    {"5.2 Synthetic Classification Data", "Sizes from 8 to 200, 25 random seeds", "Training was done on dataset sizes from 8 to 200 over 25 random seeds."},
	saysOverfitting:              {"5.2 Synthetic Classification Data", "Convergence over-fits severely, more with less data", "optimizing to convergence led to severe overfitting […] this overfitting is more pronounced when there is less data"},
	saysOutperforms:              {"5.2 Synthetic Classification Data", "CVGM outperforms both others, especially with little data", "CVGM outperforms the two other methods, especially in the low-data regime."},
	saysFewExamples:              {"6 Conclusion", "322 hyperparameters are optimized with 20 examples", "we optimized 322 hyperparameters with as few as 20 training examples."},
	saysFeatures:                 {"6 Conclusion", "Feature maps can be optimized for generalization by gradient descent", "practitioners can design differentiable parameterized feature engineering functions for their class of problems, and optimize the feature engineering pipeline directly for generalization capability using gradient descent."},
	saysSVMLabels:                {"Supplement A, Support Vector Machine", "The labels of the support vector machine are {0, 1}", "Support vector machines perform classification, where 𝒳 = Rⁿ and 𝒴 = {0,1}."},
	saysSVMDifferentiable:        {"Supplement A, Support Vector Machine", "The support vector machine is differentiable where λ₂ > 0", "Thus the solution θ is differentiable with respect to λ₁ and λ₂, again provided λ₂ > 0."},
	saysConvexCombination:        {"Supplement B, Learning Loss Functions", "A convex combination of surrogates is a reasonable loss", "a reasonable loss function is a convex combination of such convex surrogates."},
	saysSmoothInAlpha:            {"Supplement B, Learning Loss Functions", "The learned loss is convex and differentiable in α", "we can define the optimization problem […] that is convex and differentiable in α."},
	saysStabilityTheorem:         {"Supplement C, Connections to Stability", "E[R − R_emp] = Δ", "The main theorem of the paper relates the empirical risk to population risk E[R−R_emp] = Δ."},
	saysCancel:                   {"Supplement C, Connections to Stability", "The last two terms cancel", "The last two terms cancel"},
	saysStability:                {"Supplement C, Connections to Stability", "CVGM chooses hyperparameters that optimize stability", "our CVGM algorithm is implicitly choosing the hyperparameters to optimize the stability of the learning algorithm."},
	saysXORParameters:            {"Supplement E, XOR Experiment", "XOR's network has 4482 hyperparameters", "(This corresponds to 4482 hyperparameters.)"},
	saysXOR:                      {"Supplement E, XOR Experiment", "CVGM has 72 % accuracy on XOR, Bayes 85.1 %", "The classifier achieves 72% test accuracy, where the Bayes accuracy is 85.1%."},
}
