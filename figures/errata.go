package figures

import (
	"fmt"
	"math"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/stability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *differentiability.ErrataResult) []Output {
		return []Output{IncompleteJacobian(r), JacobianTable(r), ErrataTable(r, nil)}
	})
}

// IncompleteJacobian shows arrows at the training examples of a logistic regression. An arrow shows
// the direction −∂loss/∂x for the loss on fresh examples. A move of the example x in this direction
// lowers this loss fastest. There are two arrows at each example. One is computed with the complete
// Jacobian, and the other with the Jacobian that the paper prints, which lacks a term.
func IncompleteJacobian(r *differentiability.ErrataResult) *Figure {
	e := r.Jacobian
	p := NewPanel("arrows", "", "x₁", "x₂")
	p.Equal = true
	p.Across("separator", e.Theta[0], e.Theta[1], 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{4, 3}})
	x, y := columns(e.Data.X)
	plotClasses(p, x, y, e.Data.Y, 3)
	var longest float64
	for i := range e.Data.Y {
		longest = math.Max(longest, math.Hypot(e.Complete.At(i, 0), e.Complete.At(i, 1)))
	}
	scale := -.8 / longest // negative, because the arrows point downhill
	for _, a := range []struct {
		name  string
		at    func(i, j int) float64
		style Style
	}{
		{"−∂loss/∂x, complete Jacobian", e.Complete.At, Style{Color: Orange, Width: 2.2, Glyph: arrowGlyph{2.2}, GlyphRadius: 9}},
		{"−∂loss/∂x, Jacobian as printed", e.Printed.At, Style{Color: Black, Width: 1, Glyph: arrowGlyph{1}, GlyphRadius: 9}},
	} {
		var dx, dy []float64
		for i := range e.Data.Y {
			dx, dy = append(dx, scale*a.at(i, 0)), append(dy, scale*a.at(i, 1))
		}
		p.Arrows(a.name, x, y, dx, dy, a.style)
	}
	return &Figure{Name: "incomplete_jacobian", Width: 5.6 * vg.Inch, Height: 5.4 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: "Logistic regression: for each training example, the direction of the move that lowers the loss on fresh examples fastest, by the complete Jacobian ∂θ/∂x and by the one that the paper prints. Each arrow starts at its example. All lengths have the same scale."}
}

// arrowGlyph is the sample of an arrow in a key.
type arrowGlyph struct{ width vg.Length }

func (a arrowGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	line := draw.LineStyle{Color: s.Color, Width: a.width}
	tip := vg.Point{X: at.X + s.Radius, Y: at.Y}
	c.StrokeLine2(line, at.X-s.Radius, at.Y, tip.X, tip.Y)
	for _, side := range []vg.Length{-1, 1} {
		c.StrokeLine2(line, tip.X, tip.Y, tip.X-.45*s.Radius, tip.Y+.25*side*s.Radius)
	}
}

// JacobianTable lists the numbers of IncompleteJacobian.
func JacobianTable(r *differentiability.ErrataResult) *Table {
	e := r.Jacobian
	return &Table{
		Name: "jacobian_errors", Caption: "Logistic regression: the Jacobian ∂θ/∂X as printed and complete",
		Header: []string{"", "complete", "as printed"},
		Rows: [][]any{
			{"distance from central differences, relative", chart.FormatExp(e.CompleteError), Number{Value: e.PrintedError, Digits: 3}},
			{"cosine with the complete Jacobian", Number{Value: 1, Digits: 3}, Number{Value: e.Cosine, Digits: 3}},
			{"cosine of the gradients of the loss on fresh examples", Number{Value: 1, Digits: 3}, Number{Value: e.GradientCosine, Digits: 3}},
			{"examples pushed against the complete gradient", "0.0 %", fmt.Sprintf("%.1f %%", 100*e.OpposedShare)},
		},
	}
}

// ErrataTable quotes the paper's errors, and one sentence that nothing can test. For each of them,
// it gives the numbers, the argument or the source. If the parameter stability is nil, the table omits the row on stability.
func ErrataTable(r *differentiability.ErrataResult, stability *stability.Result) *Table {
	t := &Table{
		Name: "errata", Caption: "Errata of the paper, each with a proof, a measurement or a source",
		Header: []string{"Place", "Printed", "Right", "Proof, measurement or source"},
	}
	add := func(place, printed, right, format string, values ...any) {
		t.Rows = append(t.Rows, []any{place, quotation(printed), right, fmt.Sprintf(format, values...)})
	}
	first := elasticnet.DefaultElasticNet()
	add("1 Introduction", "𝒯ⱼ ∪ 𝒱ⱼ = [n]", "𝒯ⱼ ∪ 𝒱ⱼ = [N]", "N counts the examples and n the features: %d and %d in the first experiment", first.Train, first.Features)
	add("1 Introduction", "provided Tⱼ form a partition of {1,…,N} and |Tⱼ| = N−N/K", "provided the 𝒱ⱼ do",
		"K sets of N − N/K examples hold (K−1)·N in all")
	add("3 Exact Differentiability", "∇_α g([…]) ∈ R(∇_x g([…]))", "the range is that of ∇_z g, and strict complementarity is needed as well",
		"min ½(x−a)², x ≤ 0, at a = 0: ∇_a g = (−1, 0) is −1 times ∇_x g = (1, 0), and its distance from the range of ∇_z g is %.1e; yet the slopes are %g from the left and %g from the right", r.Range.RangeResidual, r.Range.Left, r.Range.Right)
	j := r.Jacobian
	add("Example 3.1", "∇_{xᵢ}∇_θ f(θ, C) = C(πᵢ−1)yᵢI.", "… + C πᵢ(1−πᵢ) xᵢθᵀ, for πᵢ depends on xᵢ",
		"on the %d fresh examples of draw 0 (claim %d has all draws): off central differences by %.0f %% as printed, by %.0e with the term; cosine between the two %.3f", r.Params.Train, claims.JacobianClaim, 100*j.PrintedError, j.CompleteError, j.Cosine)
	add("Example 3.1", "∇_C∇_θ f(θ, C)", "∇_C∇_θ L(θ, C)", "f is the prediction function, L the loss that θ minimises")
	add("Example 3.1", "we model Prob(x = 1)", "we model Prob(y = 1)", "x is a vector of features")
	add("Example 3.1", "a loss function that is proportional to the likelihood of the dataset", "to the negative logarithm of the likelihood", "each term is log(exp(−yᵢxᵢᵀθ)+1) = −log πᵢ")
	add("Example 3.2", "+ λ₁I", "+ λ₁1, a vector of ones", "a matrix cannot be added to the vector −Xᵀy/N")
	add("Example 3.2", "provided λ₂ > 0", "… except where a coefficient is weakly active",
		"at λ2 = %g, λ1 = %.6f: slopes of θ%d %.4f and %.4f", r.Params.Lambda2, r.ElasticNet.At, r.ElasticNet.Entry+1, r.ElasticNet.Left, r.ElasticNet.Right)
	add("Example 3.2", "this is the first derivation of the gradients of the elastic-net solution", fmt.Sprintf("%s; an earlier derivative is known", claims.NotTestable),
		"LARS-EN, in the article cited there for the elastic net, follows the solution along λ₁ for a fixed λ₂ by its derivative")
	add("4 Cross-Validation Gradient Method", "an equal number of times in all of the 𝒱ⱼ and 𝒱ⱼ", "in all of the 𝒯ⱼ and 𝒱ⱼ", "one set is named twice")
	add("5.2 Synthetic Classification Data", "∂θ*/vᵢ", "∂θ*/∂vᵢ", "it is called a Jacobian")
	b := r.Bayes
	add("5.2 Synthetic Classification Data", "the best a linear classifier can do is 50% test error", "lower with an intercept",
		"x1 > %.2f errs on %.3f of the population, on %.3f of the published test set", b.Offset, 1-b.HalfPlane, 1-b.HalfPlaneTest)
	add("5.2 Synthetic Classification Data, figure 1", "the Bayes (optimal) accuracy is 89.4%", "beside 89.8% on a test set: the Bayes rule's accuracy on that set, which the text gives as 89.2%",
		"population %.4f, that test set %.3f", b.Rings, b.RingsTest)
	add("5.2 Synthetic Classification Data", "The CVGM model was trained using gradient descent on the binary cross entropy loss with a step size of 1e-2 for 100 steps", "the neural network was",
		"CVGM's step size is 1e-1 in the text, and 1e-2 is that of the network in the code")
	add("5.2 Synthetic Classification Data, figure 2", "Test loss of the CVGM method, a neural network, and vanilla logistic regression", "test accuracy, as the text says",
		"its level of the Bayes rule is the accuracy %.3f; the Bayes loss is %.3f", b.Rings, 1-b.Rings)
	l := r.Labels
	add("Supplement A", "𝒴 = {0,1}", "{−1, 1}: at y = 0 the loss max(0, 1−yŷ) is 1 whatever ŷ is",
		"slope of that loss %g; moving every example labelled 0 moves θ by %g (labelled −1: %.3f); test accuracy %.3f against %.3f", l.ZeroSlope, l.ZeroMoves, l.SignMoves, l.ZeroAccuracy, l.SignAccuracy)
	add("Supplement A", "Thus the solution θ is differentiable with respect to λ₁ and λ₂, again provided λ₂ > 0.", "… except where a row or coefficient is weakly active",
		"at λ2 = %g, λ1 = %.6f: slopes of θ%d %.4f and %.4f", r.Params.Lambda2, r.SVM.At, r.SVM.Entry+1, r.SVM.Left, r.SVM.Right)
	add("Supplement A", "which is a QP with considerable structure. Thus", "the rule is that of positive-definite QPs, and this one is semidefinite",
		"smallest eigenvalue %.3g (of the elastic net's QP %.3g): neither the tᵢ nor θₚ + θₙ have curvature. At λ₁ = 0 any vector of entries above 0 may be added to both θₚ and θₙ: they are not unique", r.Program.SVM, r.Program.ElasticNet)
	if stability != nil {
		s := stability.Learners[0].Parts[0]
		add("Supplement C, Connections to Stability", "l(A(S), z_i′)−l(A(Sⁱ), z_i′)+l(A(S), z_i′)", "the third term is l(A(Sⁱ), z_i′), which the second cancels",
			"%s at %s = %g: E[R] = %.3f ± %.3f, with the right term %.3f ± %.3f, as printed %.3f", stability.Learners[0].Name, stability.Learners[0].Hyper, stability.Learners[0].At[0],
			s.Risk.Mean, s.Risk.Margin, s.Sum.Mean, s.Sum.Margin, s.Delta.Mean+s.Risk.Mean)
	}
	add("Supplement E, figure 4", "the Bayes accuracy is 85.1%", fmt.Sprintf("%.1f %%", 100*b.XOR),
		"exactly %.4f; on the published test set the sign rule scores %.3f. %.3f if a prediction of 0 or 1 counts as right where it differs from the label, as in the code: then every example of the class −1 counts as right", b.XOR, b.XORTest, b.XORCoded)
	return t
}
