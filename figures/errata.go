package figures

import (
	"fmt"
	"math"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *experiment.ErrataResult) []Output {
		return []Output{IncompleteJacobian(r), JacobianTable(r), ErrataTable(r, nil)}
	})
}

// IncompleteJacobian shows where the loss on fresh examples would push each
// training example of a logistic regression: by the complete Jacobian, and by
// the one that the paper prints.
func IncompleteJacobian(r *experiment.ErrataResult) *Figure {
	e := r.Jacobian
	p := NewPanel("arrows", "", "x₁", "x₂")
	p.Equal = true
	p.Across("separator", e.Theta[0], e.Theta[1], 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{4, 3}})
	x, y := columns(e.Data.X)
	classes(p, x, y, e.Data.Y, 3)
	var longest float64
	for i := range e.Data.Y {
		longest = math.Max(longest, math.Hypot(e.Complete.At(i, 0), e.Complete.At(i, 1)))
	}
	scale := -.8 / longest // downhill
	for _, a := range []struct {
		name  string
		at    func(i, j int) float64
		style Style
	}{{"−∂loss/∂x, complete Jacobian", e.Complete.At, Style{Color: Black, Width: 1.4, Glyph: arrowGlyph{}, GlyphRadius: 9}}, {"−∂loss/∂x, Jacobian as printed", e.Printed.At, Style{Color: Orange, Width: 1.4, Glyph: arrowGlyph{}, GlyphRadius: 9}}} {
		var dx, dy []float64
		for i := range e.Data.Y {
			dx, dy = append(dx, scale*a.at(i, 0)), append(dy, scale*a.at(i, 1))
		}
		p.arrows(a.name, x, y, dx, dy, a.style)
	}
	return &Figure{Name: "incomplete_jacobian", Width: 5.6 * vg.Inch, Height: 5.4 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: "Logistic regression: the direction in which a move of each training example lowers the loss on fresh examples, by the complete Jacobian ∂θ/∂x and by the one that the paper prints. Each arrow starts at its example. Lengths are in proportion to the derivatives, with one factor for all arrows."}
}

// arrowGlyph is the sample of an arrow in a key.
type arrowGlyph struct{}

func (arrowGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	line := draw.LineStyle{Color: s.Color, Width: 1.4}
	tip := vg.Point{X: at.X + s.Radius, Y: at.Y}
	c.StrokeLine2(line, at.X-s.Radius, at.Y, tip.X, tip.Y)
	for _, side := range []vg.Length{-1, 1} {
		c.StrokeLine2(line, tip.X, tip.Y, tip.X-.45*s.Radius, tip.Y+.25*side*s.Radius)
	}
}

// JacobianTable is the same in numbers.
func JacobianTable(r *experiment.ErrataResult) *Table {
	e := r.Jacobian
	return &Table{
		Name: "jacobian_errors", Caption: "Logistic regression: the Jacobian ∂θ/∂X as printed and complete",
		Header: []string{"", "complete", "as printed"},
		Rows: [][]any{
			{"distance from central differences, relative", formatExp(e.CompleteError), Number{Value: e.PrintedError, Digits: 3}},
			{"cosine with the complete Jacobian", Number{Value: 1, Digits: 3}, Number{Value: e.Cosine, Digits: 3}},
			{"cosine of the gradients of the loss on fresh examples", Number{Value: 1, Digits: 3}, Number{Value: e.GradientCosine, Digits: 3}},
			{"examples pushed against the complete gradient", "0.0 %", fmt.Sprintf("%.1f %%", 100*e.OpposedShare)},
		},
	}
}

// ErrataTable lists what the paper prints wrongly with the numbers that prove it.
// The stability row needs the stability's result; nil leaves it out.
func ErrataTable(r *experiment.ErrataResult, stability *experiment.StabilityResult) *Table {
	t := &Table{
		Name: "errata", Caption: "Errata of the paper, each with its proof",
		Header: []string{"Place", "Printed", "Right", "Measured"},
	}
	add := func(place, printed, right, format string, values ...any) {
		t.Rows = append(t.Rows, []any{place, printed, right, fmt.Sprintf(format, values...)})
	}
	add("Section 1", "K-fold cross-validation, provided the T_j form a partition of the examples", "… provided the V_j do",
		"K sets of N − N/K examples hold (K−1)·N in all")
	add("Section 3", "the solution is differentiable where ∇_α g lies in the range of ∇_z g", "strict complementarity is needed as well",
		"min ½(x−a)², x ≤ 0, at a = 0: distance from the range %.1e, yet the slopes are %g from the left and %g from the right", r.Range.RangeResidual, r.Range.Left, r.Range.Right)
	j := r.Jacobian
	add("Example, logistic regression", "∇_x ∇_θ L = C(π−1)y I", "… + C π(1−π) x θᵀ, for π depends on x",
		"off central differences by %.0f %% as printed, by %.0e with the term; cosine between the two %.3f", 100*j.PrintedError, j.CompleteError, j.Cosine)
	add("Example, logistic regression", "Prob(x = 1)", "Prob(y = 1)", "x is a vector of features")
	add("Example, elastic net", "linear term with + λ1 I", "+ λ1·1, a vector of ones", "a matrix cannot be added to a vector")
	add("Example, elastic net", "differentiable provided λ2 > 0", "… except where a coefficient is weakly active",
		"at λ2 = %g, λ1 = %.6f: slopes of θ%d %.4f and %.4f", r.Params.Lambda2, r.ElasticNet.At, r.ElasticNet.Entry+1, r.ElasticNet.Left, r.ElasticNet.Right)
	add("Supplement A", "the same, of the support vector machine", "… except where a row or coefficient is weakly active",
		"at λ2 = %g, λ1 = %.6f: slopes of θ%d %.4f and %.4f", r.Params.Lambda2, r.SVM.At, r.SVM.Entry+1, r.SVM.Left, r.SVM.Right)
	add("Supplement A", "by differentiability of positive-definite QPs", "its QP is only semidefinite",
		"smallest eigenvalue %.3g; of the elastic net's QP it is %.3g", r.Program.SVM, r.Program.ElasticNet)
	l := r.Labels
	add("Supplement A", "labels in {0, 1}", "labels in {−1, 1}: at y = 0 the loss max(0, 1−yŷ) is 1 whatever ŷ is",
		"slope of that loss %g; moving every example labelled 0 moves θ by %g (labelled −1: %.3f); test accuracy %.3f against %.3f", l.ZeroSlope, l.ZeroMoves, l.SignMoves, l.ZeroAccuracy, l.SignAccuracy)
	if stability != nil {
		s := stability.Learners[0].Parts[0]
		add("supplement, Connections to Stability", "third term l(A(S), z′) of the display of Δ + E[R_emp]", "l(A(Sⁱ), z′), which the second term cancels",
			"%s at %s = %g: E[R] = %.3f ± %.3f, with the right term %.3f ± %.3f, as printed %.3f", stability.Learners[0].Name, stability.Learners[0].Hyper, stability.Learners[0].At[0],
			s.Risk.Mean, s.Risk.Margin, s.Sum.Mean, s.Sum.Margin, s.Delta.Mean+s.Risk.Mean)
	}
	b := r.Bayes
	add("figure of XOR, caption", "Bayes accuracy 85.1 %", "72.2 %",
		"exactly %.4f; on the published test set the sign rule scores %.3f, and %.3f if every example of the class −1 counts as right", b.XOR, b.XORTest, b.XORCoded)
	add("figure of the rings, caption", "89.8 % beside a Bayes accuracy of 89.4 %; in the text 89.2 % on that test set", "two different sets of examples",
		"population %.4f, that test set %.3f", b.Rings, b.RingsTest)
	add("Synthetic Classification Data", "a linear classifier errs on half of the rings at best", "with an intercept on fewer",
		"x1 > %.2f errs on %.3f of the population, on %.3f of the published test set", b.Offset, 1-b.HalfPlane, 1-b.HalfPlaneTest)
	add("Synthetic Classification Data", "of the sizes: the CVGM model was trained with a step size of 1e-2 for 100 steps", "the neural network was",
		"CVGM's step size is 1e-1 in the text, and 1e-2 is that of the network in the code")
	add("figure of dataset sizes, caption", "test loss", "test accuracy, as the text says",
		"its level of the Bayes rule is the accuracy %.3f; the Bayes loss is %.3f", b.Rings, 1-b.Rings)
	return t
}
