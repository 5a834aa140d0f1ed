package terms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// drawJoint returns a table whose target depends on a joint function of a and b and a joint
// function of c and d. The slices hold the four columns before the change of units.
func drawJoint(t *testing.T, n int, loss penalised.Loss, of unitChange) (tbl *table.Table, columns [4][]float64) {
	t.Helper()
	src := synth.NewStream(12, "joint")
	y := make([]string, n)
	var written [4][]float64
	for i := range n {
		var x [4]float64
		for j := range x {
			x[j] = src.NormFloat64()
			columns[j], written[j] = append(columns[j], x[j]), append(written[j], of.scale*(x[j]+of.shift))
		}
		f := 2*math.Sin(x[0]*x[1]) + math.Cos(x[2]+2*x[3])
		switch loss {
		case penalised.Logistic:
			y[i] = fmt.Sprint("class ", f+src.NormFloat64() > 0)
		case penalised.Poisson:
			y[i] = fmt.Sprint(math.Floor(math.Exp(f/2) + src.Float64()))
		default:
			y[i] = fmt.Sprint(f + .3*src.NormFloat64())
		}
	}
	return casetest.Must(table.ReadCSV(strings.NewReader(csvText("a,b,c,d,y", written[0], written[1], written[2], written[3], y)), "y"))(t), columns
}

// gaussian computes the Gaussian kernel matrix of the rows by definition.
func gaussian(length float64, columns ...[]float64) [][]float64 {
	k := make([][]float64, len(columns[0]))
	for i := range k {
		k[i] = make([]float64, len(k))
		for m := range k {
			for _, c := range columns {
				d := (c[i] - c[m]) / stat.PopStdDev(c, nil) / length
				k[i][m] += d * d
			}
			k[i][m] = math.Exp(-k[i][m] / 2)
		}
	}
	return k
}

// Kernel terms solve the exact dual problem if all rows are inducing rows. For the decisions f, the
// dual problem is f = Kα + b with K = K1/λ1 + K2/λ2, where α_i is minus the slope of the loss of
// row i and Σα = 0.
func TestKernelsSolveTheDualProblem(t *testing.T) {
	const n, tol = 70, 1e-8 // of the tolerance of the remainders, 1e-10, times sums over α/λ
	lambda := []float64{.02, .3}
	for _, loss := range []penalised.Loss{penalised.Squared, penalised.Logistic, penalised.Poisson} {
		tbl, x := drawJoint(t, n, loss, unitChange{1, 0})
		short := Kernel("cd", "c", "d")
		short.Length = .7
		part, l, err := Additive(tbl, loss, Kernel("ab", "a", "b"), short)
		casetest.OK(t, err)
		p, _ := finalModel(t, part, l, lambda)
		f := casetest.Must(p.Decision(part))(t)
		alpha := make([]float64, n)
		for i, y := range tbl.Y {
			switch loss {
			case penalised.Logistic:
				alpha[i] = y / (1 + math.Exp(y*f[i]))
			case penalised.Poisson:
				alpha[i] = y - math.Exp(f[i])
			default:
				alpha[i] = y - f[i]
			}
		}
		ab, cd := gaussian(math.Sqrt2, x[0], x[1]), gaussian(.7, x[2], x[3])
		b := make([]float64, n)
		for i := range b {
			b[i] = f[i] - floats.Dot(ab[i], alpha)/lambda[0] - floats.Dot(cd[i], alpha)/lambda[1]
		}
		if spread := floats.Max(b) - floats.Min(b); !(spread <= tol) || !(math.Abs(floats.Sum(alpha)) <= tol) {
			t.Errorf("loss %v: the constants differ by %v, and the sum of α is %v", loss, spread, floats.Sum(alpha))
		}
		if spread := stat.StdDev(f, nil); !(spread > .3) {
			t.Errorf("loss %v: decisions have the deviation %v", loss, spread)
		}
	}
}

// The derivatives of the CV loss in λ are the limits of differences.
func TestGradientOfKernels(t *testing.T) {
	const step, tol = 1e-5, 1e-6 // of central differences of relative step
	for _, loss := range []penalised.Loss{penalised.Squared, penalised.Logistic, penalised.Poisson} {
		tbl, _ := drawJoint(t, 60, loss, unitChange{1, 0})
		few := Kernel("ab", "a", "b")
		few.Bases = 12
		part, l, err := Additive(tbl, loss, few, Kernel("cd", "c", "d"))
		casetest.OK(t, err)
		lambda := []float64{.5, 2}
		_, cv := finalModel(t, part, l, lambda)
		grad := make([]float64, 2)
		value := casetest.Must(cv.Eval(grad, lambda))(t)
		for j, g := range grad {
			at := func(factor float64) float64 {
				x := []float64{lambda[0], lambda[1]}
				x[j] *= factor
				return casetest.Must(cv.Eval(nil, x))(t)
			}
			want := (at(1+step) - at(1-step)) / (2 * step * lambda[j])
			if !(math.Abs(g-want) <= tol*value) {
				t.Errorf("loss %v: derivative %v in λ%d, not %v", loss, g, j, want)
			}
		}
	}
}

// Predictions of kernel terms do not depend on the units of columns or the order of rows.
func TestUnitsOfKernels(t *testing.T) {
	const tol = 1e-6 // for rounding errors, which the shifts magnify by up to 1e4 and the last features by up to 1e5
	for _, bases := range []int{8, 0} {
		term := Kernel("ab", "a", "b")
		term.Bases = bases
		run := func(of unitChange, order []int) []float64 {
			tbl, _ := drawJoint(t, 50, penalised.Squared, of)
			if order != nil {
				tbl = tbl.Rows(order)
			}
			part, l, err := Additive(tbl, penalised.Squared, term, Kernel("cd", "c", "d"))
			casetest.OK(t, err)
			p, _ := finalModel(t, part, l, []float64{.1, 1})
			return casetest.Must(p.Decision(part))(t)
		}
		want := run(unitChange{1, 0}, nil)
		for _, of := range []unitChange{{1e6, 0}, {1e-6, 0}, {-3, 0}, {1, 1e4}, {1e-150, 1}, {1e150, -1}, {1e307, 0}} {
			if d := floats.Distance(run(of, nil), want, math.Inf(1)); !(d <= tol) {
				t.Errorf("%d bases, %+v: predictions differ by %v", bases, of, d)
			}
		}
		order := make([]int, len(want))
		for i := range order {
			order[i] = len(want) - 1 - i
		}
		got := run(unitChange{1, 0}, order)
		slices.Reverse(got)
		if d := floats.Distance(got, want, math.Inf(1)); !(d <= tol) {
			t.Errorf("%d bases, reversed rows: predictions differ by %v", bases, d)
		}
	}
}

// Each feature of the tuner and of pipelines accepts models of kernel terms.
func TestTunedKernels(t *testing.T) {
	tbl, _ := drawJoint(t, 120, penalised.Squared, unitChange{1, 0})
	part, l, err := Additive(tbl, penalised.Squared, Kernel("ab", "a", "b"), Kernel("cd", "c", "d"))
	casetest.OK(t, err)
	tuned := casetest.Must(tune.Tuner{Learner: l, OuterFolds: 2, Repeats: 1, Starts: 1, Folds: 4, Intervals: true}.TuneTable(t.Context(), part))(t)
	if !(tuned.Loss < .6*tuned.ConstantLoss) || strings.Join(tuned.Names, " ") != "λ(ab) λ(cd)" {
		t.Errorf("%q: CV loss %v, of a constant %v", tuned.Names, tuned.Loss, tuned.ConstantLoss)
	}
	importance := casetest.Must(tuned.Importance(t.Context(), 2, 1))(t)
	if len(importance) != 4 || !(importance[3].Increase.Mean > 0) {
		t.Errorf("importance %v", importance)
	}
	row := map[string]string{"a": "1", "b": "-.5", "c": "0", "d": "1e300"}
	low, high, err := tuned.Pipeline.IntervalRecord(row, .8)
	casetest.OK(t, err)
	y := casetest.Must(tuned.Pipeline.PredictRecord(row))(t)
	if !(low < y && y < high && high < low+10) {
		t.Errorf("%v in [%v, %v]", y, low, high)
	}
	text := casetest.Must(json.Marshal(tuned.Pipeline))(t)
	var back table.Pipeline
	casetest.OK(t, json.Unmarshal(text, &back))
	var code, again bytes.Buffer
	casetest.OK(t, tuned.Pipeline.WriteGo(&code, "model"), back.WriteGo(&again, "model"))
	if !bytes.Equal(code.Bytes(), again.Bytes()) {
		t.Error("the Go file is another one after JSON")
	}
	all := casetest.Must(Summarise(&back))(t)
	if len(all) != 2 || all[0].Term != "ab" || all[1].Kind != table.KernelEffect || all[1].Features != part.Columns[2].Features() || all[1].Lambda != tuned.Hyper[1] {
		t.Errorf("summaries\n%v", all)
	}
	features := casetest.Must(back.Features())(t)
	if last := features[len(features)-1]; features[0].Name != "ab kernel 1" || last.Name != fmt.Sprintf("cd kernel %d", all[1].Features) || last.Column != "c" {
		t.Errorf("features %v to %v", features[0], last)
	}
	if text := part.Describe().String(); !strings.Contains(text, fmt.Sprintf("%d features", all[0].Features)) || !strings.Contains(text, `in the kernel "ab"`) {
		t.Error(text)
	}
}

// Rows of weight 0 have no influence on a one-vs-rest classifier of kernel terms.
func TestKernelsOfClassesAndWeights(t *testing.T) {
	tbl, x := drawJoint(t, 90, penalised.Squared, unitChange{1, 0})
	class, weights := make([]string, len(tbl.Y)), make([]float64, len(tbl.Y))
	for i := range class {
		weights[i] = float64(min(i%5, 1))
		class[i] = fmt.Sprint("class ", i%3)
		if weights[i] > 0 {
			class[i] = fmt.Sprint("class ", min(max(math.Floor(x[0][i]*x[1][i]+1), 0), 2))
		}
	}
	c := table.CSV{Target: "y", Weights: "w"}
	full := casetest.Must(c.Read(strings.NewReader(csvText("a,b,w,y", x[0], x[1], weights, class))))(t)
	part, l, err := Additive(full, penalised.Logistic, Kernel("ab", "a", "b"))
	casetest.OK(t, err)
	tuned := casetest.Must(tune.Tuner{Learner: l, OuterFolds: -1, Starts: 1}.TuneClasses(t.Context(), part))(t)
	many := casetest.Must(tuned.Pipeline())(t)
	got := casetest.Must(many.Class(part))(t)
	var back table.OneVsRest
	casetest.OK(t, json.Unmarshal(casetest.Must(json.Marshal(many))(t), &back), back.WriteGo(new(bytes.Buffer), "model"))
	if again := casetest.Must(back.Class(part))(t); !slices.Equal(got, again) {
		t.Errorf("the classes are %q after JSON, not %q", again, got)
	}
	right := 0.
	for i, text := range got {
		if text == class[i] {
			right += weights[i]
		}
	}
	if share := right / floats.Sum(weights); !(share > .8) {
		t.Errorf("%.2f of the classes are right", share)
	}
}
