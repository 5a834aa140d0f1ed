package terms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

// smooths are functions on [0, 1], of deviations near 1.
var smooths = []func(float64) float64{
	func(x float64) float64 { return 2 * math.Sin(math.Pi*x) },
	func(x float64) float64 { return math.Exp(2*x) / 2 },
	func(x float64) float64 { return 3 * x },
	func(x float64) float64 { return math.Sin(9*x) + x },
	func(float64) float64 { return 0 },
}

// manySmooths returns a table whose target is a sum of smooth functions plus noise of variance 1.
// The slice holds the targets without noise.
func manySmooths(t *testing.T, rows, count int) (*table.Table, []float64) {
	t.Helper()
	src := synth.NewStream(40, "smooths")
	columns, names := []any{}, []string{}
	y, truth := make([]float64, rows), make([]float64, rows)
	for j := range count {
		x := make([]float64, rows)
		for i := range x {
			x[i] = src.Float64()
			truth[i] += smooths[j%len(smooths)](x[i])
		}
		columns, names = append(columns, x), append(names, fmt.Sprintf("x%d", j))
	}
	for i := range y {
		y[i] = truth[i] + src.NormFloat64()
	}
	return casetest.Must(table.ReadCSV(strings.NewReader(csvText(strings.Join(names, ",")+",y", append(columns, y)...)), "y"))(t), truth
}

func allSmooth(count int) (all []Term) {
	for j := range count {
		all = append(all, Smooth(fmt.Sprintf("x%d", j)))
	}
	return all
}

// With 20 penalties, a quasi-Newton search comes close to the lowest known CV loss in 30 evaluations,
// and Newton's method in 16.
func TestTwentySmoothsInThirtyEvaluations(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of evaluations")
	}
	const near, looks, budget, newtonBudget, long = 1e-3, 8, 30, 16, 60
	tbl, _ := manySmooths(t, 250, 20)
	part, l, err := Additive(tbl, penalised.Squared, allSmooth(20)...)
	casetest.OK(t, err)
	tuned := casetest.Must(tune.Tuner{Learner: l, MaxEvals: 1, OuterFolds: -1, Folds: 5}.TuneTable(context.Background(), part))(t)
	cv := casetest.Must(cvgm.New(tuned.Config))(t)
	p := search.Problem{Objective: cv.Eval, Hessian: cv.Hessian, Lower: make([]float64, 20), Upper: make([]float64, 20)}
	for j, h := range tuned.Searched {
		p.Lower[j], p.Upper[j] = h.Lower, h.Upper
	}
	by := func(s search.Searcher, start []float64) search.Step {
		return casetest.Must(search.Best(search.LogSpace{Searcher: s}.Search(p, start)))(t)
	}
	from := func(start []float64, evals int) search.Step {
		return by(search.QuasiNewton{MaxEvals: evals, Tol: 1e-7}, start)
	}
	commonShare := search.Step{Loss: math.Inf(1)} // the best of points with one share of all ranges
	for k := range looks {
		x := make([]float64, 20)
		for j, low := range p.Lower {
			x[j] = low * math.Pow(p.Upper[j]/low, (float64(k)+.5)/looks)
		}
		if loss := casetest.Must(cv.Eval(nil, x))(t); loss < commonShare.Loss {
			commonShare = search.Step{X: x, Loss: loss}
		}
	}
	some := from(commonShare.X, budget-looks)
	newton := by(search.Newton{MaxEvals: newtonBudget - looks, Tol: 1e-7}, commonShare.X)
	best := min(from(some.X, long).Loss, from(newton.X, long).Loss)
	for _, factor := range []float64{.01, 100} { // other starts
		start := slices.Clone(tuned.DefaultHyper)
		floats.Scale(factor, start)
		best = min(best, from(start, long).Loss)
	}
	for evals, loss := range map[int]float64{budget: some.Loss, newtonBudget: newton.Loss} {
		gap := (loss - best) / tuned.ConstantLoss
		if t.Logf("%d evaluations: gap %.2e of a constant's loss %.3f, CV loss %.4f", evals, gap, tuned.ConstantLoss, best); !(gap <= near) {
			t.Errorf("after %d evaluations the CV loss is %v above the lowest one, in units of the loss of a constant, %v", evals, gap, tuned.ConstantLoss)
		}
	}
}

// A tuned additive model approximates the true functions, and uses straight lines for linear
// functions.
func TestAdditiveModelFindsSmooths(t *testing.T) {
	tbl, truth := manySmooths(t, 300, 5)
	part, l, err := Additive(tbl, penalised.Squared, allSmooth(5)...)
	casetest.OK(t, err)
	tuned := casetest.Must(tune.Tuner{Learner: l, OuterFolds: -1}.TuneTable(context.Background(), part))(t)
	got := casetest.Must(tuned.Pipeline.Decision(part))(t)
	missed := floats.Distance(got, truth, 2)
	if missed = missed * missed / float64(len(truth)); !(missed < .1) { // of noise of variance 1
		t.Errorf("mean squared distance %v from the truth", missed)
	}
	if tuned.Names[2] != "λ(x2)" {
		t.Errorf("names %q", tuned.Names)
	}
	all := casetest.Must(Summarise(tuned.Pipeline))(t)
	if len(all) != 5 || !(all[2].Freedom < 1.6) || !(all[3].Freedom > 4) || !(all[4].Freedom < 1.6) || all[3].Features != 9 || all[3].Lambda != tuned.Hyper[3] {
		t.Errorf("summaries\n%v", all)
	}
}

// A unitChange adds shift to a column and then multiplies it by scale.
type unitChange struct{ scale, shift float64 }

// Predictions, degrees of freedom and the CV loss do not depend on the units and zeros of columns.
func TestUnitsOfColumnsChangeNothing(t *testing.T) {
	const tol = 1e-6 // for rounding errors, which the shifts magnify by up to 1e6; they make a search stop at other points
	run := func(u unitChange) (decisions, freedom []float64, loss float64) {
		src := synth.NewStream(3, "units")
		n := 80
		columns := [3][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
		y, g := make([]float64, n), make([]string, n)
		for i := range n {
			level := int(4 * src.Float64())
			for j := range columns {
				v := src.NormFloat64()
				y[i] += math.Sin(v + float64(j))
				columns[j][i] = u.scale*v + u.shift*u.scale
			}
			y[i] += float64(level) / 3
			g[i] = fmt.Sprint("g", level)
		}
		tbl := casetest.Must(table.ReadCSV(strings.NewReader(csvText("a,b,c,g,y", columns[0], columns[1], columns[2], g, y)), "y"))(t)
		part, l, err := Additive(tbl, penalised.Squared, Smooth("a"), Band("b", "b"), Linear("c"), Groups("g"))
		casetest.OK(t, err)
		p, cv := finalModel(t, part, l, []float64{.5, 2, 3})
		loss = casetest.Must(cv.Eval(nil, []float64{.5, 2, 3}))(t)
		return casetest.Must(p.Decision(part))(t), p.Model.Freedom, loss
	}
	want, freedom, loss := run(unitChange{1, 0})
	for _, u := range []unitChange{{1e6, 0}, {1e-6, 0}, {-3, 0}, {1, 1e4}, {1e-150, 1}, {1e150, -1}} {
		got, f, l := run(u)
		if d := floats.Distance(got, want, math.Inf(1)); !(d <= tol) || !casetest.Near(l, loss, tol) {
			t.Errorf("%+v: predictions differ by %v, CV losses %v and %v", u, d, l, loss)
		}
		if u.scale > 0 && !(math.Abs(floats.Sum(f)-floats.Sum(freedom)) <= tol) {
			t.Errorf("%+v: degrees of freedom %v, not %v", u, f, freedom)
		}
	}
}

// For each hostile column, the tuner returns a model with finite predictions or an error with a
// remedy.
func TestHostileColumns(t *testing.T) {
	n := 40
	column := func(f func(i int) string) []string {
		s := make([]string, n)
		for i := range s {
			s[i] = f(i)
		}
		return s
	}
	number := func(f func(i int) float64) []string {
		return column(func(i int) string { return fmt.Sprint(f(i)) })
	}
	y := number(func(i int) float64 { return math.Sin(float64(i)) })
	wave := func(i int) float64 { return math.Cos(1.3 * float64(i)) }
	for _, c := range []struct {
		name  string
		x     []string
		term  func(string) Term
		wrong string // part of the error; empty: there is a model
	}{
		{"constant smooth", number(func(int) float64 { return 3 }), Smooth, `"x", which is constant`},
		{"constant zero smooth", number(func(int) float64 { return 0 }), Smooth, `"x", which is constant`},
		{"constant band", number(func(int) float64 { return 3 }), band, ""},
		{"two values", number(func(i int) float64 { return float64(i % 2) }), Smooth, ""},
		{"three values", number(func(i int) float64 { return float64(i % 3) }), Smooth, ""},
		{"one odd value", number(func(i int) float64 { return float64(i / (n - 1)) }), Smooth, `"x", which is constant on 36 rows`},
		{"an outlier", number(func(i int) float64 { return wave(i) + 1e7*float64(i/(n-1)) }), Smooth, ""},
		{"a huge outlier in a band", number(func(i int) float64 { return wave(i) + 1e150*float64(i/(n-1)) }), band, ""},
		{"a huge column", number(func(i int) float64 { return 1.6e308 * wave(i) }), Smooth, ""},
		{"a tiny column", number(func(i int) float64 { return 1e-300 * wave(i) }), Smooth, ""},
		{"missing values", column(func(i int) string {
			if i%5 == 0 {
				return "NaN"
			}
			return fmt.Sprint(wave(i))
		}), Smooth, ""},
		{"all missing but one", column(func(i int) string {
			if i > 0 {
				return ""
			}
			return "1"
		}), Smooth, `"x", which is constant`},
		{"constant in a kernel", number(func(int) float64 { return 3 }), joint, `"x", which is constant`},
		{"two values in a kernel", number(func(i int) float64 { return float64(i % 2) }), joint, ""},
		{"one odd value in a kernel", number(func(i int) float64 { return float64(i / (n - 1)) }), joint, ""},
		{"an outlier in a kernel", number(func(i int) float64 { return wave(i) + 1e300*float64(i/(n-1)) }), joint, ""},
		{"a huge column in a kernel", number(func(i int) float64 { return 1.6e308 * wave(i) }), joint, ""},
		{"a tiny column in a kernel", number(func(i int) float64 { return 1e-310 * wave(i) }), joint, ""},
		{"missing values in a kernel", column(func(i int) string {
			if i%5 == 0 {
				return "NaN"
			}
			return fmt.Sprint(wave(i))
		}), joint, ""},
		{"one value in a kernel", column(func(i int) string {
			if i > 0 {
				return ""
			}
			return "1"
		}), joint, `"x", which is constant`},
		{"levels in a kernel", column(func(i int) string { return "l" + fmt.Sprint(i%4) }), joint, `"x", a categorical column`},
		{"levels in a smooth", column(func(i int) string { return "l" + fmt.Sprint(i%4) }), Smooth, `"x", a categorical column`},
		{"numbers in groups", number(wave), Groups, `"x", a numeric column`},
		{"a level of one row", column(func(i int) string { return "l" + fmt.Sprint(i/(n-1)) }), Groups, ""},
		{"one level", column(func(int) string { return "l" }), Groups, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			csv := table.CSV{Target: "y", Missing: table.MissingIsMean, MissingIn: map[string]table.MissingRule{"y": table.MissingIsError}}
			tbl, err := csv.Read(strings.NewReader(csvText("x,u,z,y", c.x, number(func(i int) float64 { return float64(i * i % 7) }), number(wave), y)))
			casetest.OK(t, err)
			part, l, err := Additive(tbl, penalised.Squared, c.term("x"), Band("z", "z"))
			var tuned *tune.Tuned
			if err == nil {
				tuned, err = tune.Tuner{Learner: l, Starts: 1, OuterFolds: -1, MaxEvals: 30}.TuneTable(context.Background(), part)
			}
			var arg *qpdiff.ArgError
			switch {
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || !errors.As(err, &arg) || arg.Remedy == ""):
				t.Errorf("error %v, not one with %q", err, c.wrong)
			case c.wrong == "" && err != nil:
				t.Error(err)
			case err == nil:
				for i, v := range casetest.Must(tuned.Winner.Pipeline.Decision(part))(t) {
					if !(math.Abs(v) < 100) {
						t.Errorf("row %d: prediction %v", i, v)
					}
				}
			}
		})
	}
}

func band(column string) Term { return Band(column, column) }

func joint(column string) Term { return Kernel("kernel", column, "u") }

func TestTermsThatMakeNoModel(t *testing.T) {
	tbl := mixed(t, penalised.Squared, 20)
	wide, bad, range0 := Smooth("x"), Smooth("x"), Smooth("x")
	none, long, straight, most := Kernel("k", "a"), Kernel("k", "a"), Kernel("k", "a"), Kernel("k", "a")
	none.Length, long.Length, straight.Low, most.Bases = -1, math.Inf(1), 1, 1001
	linear := Linear("a")
	linear.Length = 1
	wide.Columns, bad.Bases, range0.Low, range0.High = []string{"x", "a"}, 3, 2, 1
	unnamed := Band("", "a")
	for want, all := range map[string][]Term{
		`terms have no penalty: there are none`:       nil,
		`terms have no penalty: ["c"]`:                {Linear("c")},
		`Term.Name is "a" twice`:                      {Smooth("a"), Band("a", "b")},
		`Effect.Column is "a" twice`:                  {Smooth("a"), Band("band", "b", "a")},
		`Effect.Column is "q", which is not a column`: {Smooth("q")},
		`Term.Columns is empty in term "none"`:        {Band("none")},
		`Term.Columns has 2 columns in the smooth`:    {wide},
		`Effect.Bases is 3 for column "x"`:            {bad},
		`Effect.Length is -1 for column "a"`:          {none},
		`Effect.Length is +Inf for column "a"`:        {long},
		`Effect.Length is set for the plain effect`:   {Smooth("x"), linear},
		`Effect.Bases or its range is set for the k`:  {straight},
		`Effect.Bases is 1001 for column "a"`:         {most},
		`"g", a categorical column, which has no ker`: {Kernel("k", "a", "g")},
		`Effect.Column is "b" twice`:                  {Kernel("k", "a", "b"), Kernel("m", "b")},
		`Effect.Low is 2 with High 1`:                 {range0},
		`Term.Name is empty in term 1`:                {Smooth("x"), unnamed},
		`Effect.Column is "g", a categorical`:         {Band("g", "g")},
	} {
		if _, _, err := Additive(tbl, penalised.Squared, all...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, not one with %q", err, want)
		}
	}
}

// A pipeline of terms makes the same predictions and summaries after a round trip through JSON.
func TestTermsInJSON(t *testing.T) {
	for _, loss := range []penalised.Loss{penalised.Squared, penalised.Logistic, penalised.Poisson} {
		tbl := mixed(t, loss, 60)
		part, l, err := Additive(tbl, loss, Smooth("x"), Groups("g"), Band("ab", "a", "b"), Linear("c"))
		casetest.OK(t, err)
		p, _ := finalModel(t, part, l, []float64{1, 2, 3})
		text := casetest.Must(json.Marshal(p))(t)
		var back table.Pipeline
		casetest.OK(t, json.Unmarshal(text, &back))
		again := casetest.Must(json.Marshal(back))(t)
		if string(again) != string(text) || !strings.Contains(string(text), `"version":3`) {
			t.Errorf("written again as\n%s, not\n%s", again, text)
		}
		want, got := casetest.Must(p.Predict(part))(t), casetest.Must(back.Predict(part))(t)
		if !hostile.SameBits(want, got) {
			t.Errorf("%v, not %v", got, want)
		}
		if loss == penalised.Poisson && !(floats.Min(got) > 0) {
			t.Errorf("negative counts in %v", got)
		}
		a, b := casetest.Must(Summarise(p))(t), casetest.Must(Summarise(&back))(t)
		if a.String() != b.String() || len(a) != 4 || a[3].Freedom != 1 || a[1].Features != 5 {
			t.Errorf("summaries\n%v and\n%v", a, b)
		}
		for key, bad := range map[string][2]string{
			"effect":                  {`"kind":"smooth"`, `"kind":"wavy"`},
			"Effect.Bases":            {`"bases":10`, `"bases":2`},
			"effect of column":        {`"low":`, `"deviation":1,"low":`},
			"deviation":               {`"deviation":`, `"deviation":-`},
			"degrees_of_freedom have": {`"degrees_of_freedom":[`, `"degrees_of_freedom":[1,`},
			`unknown key "term`:       {`"term":`, `"terms":1,"term":`},
		} {
			wrong := strings.Replace(string(text), bad[0], bad[1], 1)
			if err := json.Unmarshal([]byte(wrong), new(table.Pipeline)); err == nil || !strings.Contains(err.Error(), key) || wrong == string(text) {
				t.Errorf("%s: error %v", key, err)
			}
		}
	}
}

// The tuner accepts additive models of classes and counts.
func TestTunedTermsOfOtherLosses(t *testing.T) {
	for _, loss := range []penalised.Loss{penalised.Logistic, penalised.Poisson} {
		part, l, err := Additive(mixed(t, loss, 90), loss, Smooth("x"), Groups("g"), Linear("a", "c"))
		casetest.OK(t, err)
		tuned := casetest.Must(tune.Tuner{Learner: l, Folds: 4, OuterFolds: 3, Repeats: 1, Starts: 1}.TuneTable(context.Background(), part))(t)
		if !(tuned.Winner.Loss < tuned.ConstantLoss) || tuned.Risk == nil || (tuned.Risk.Classes != nil) != (loss == penalised.Logistic) {
			t.Errorf("loss %v: CV loss %v, of a constant %v, risk %+v", loss, tuned.Winner.Loss, tuned.ConstantLoss, tuned.Risk)
		}
		if r := tuned.Risk.Regression; loss == penalised.Poisson && !(r.R2 > .1) {
			t.Errorf("R² %v of counts", r.R2)
		}
		for _, w := range tuned.Warnings {
			if w.Kind == tune.OtherLoss || w.Kind == tune.FailedFits {
				t.Errorf("loss %v: %v", loss, w)
			}
		}
	}
}

// A smooth function tends to a straight line as λ grows, and to the unpenalised fit as λ falls.
func TestSmoothingHasItsLimits(t *testing.T) {
	part, l, err := Additive(mixed(t, penalised.Squared, 60), penalised.Squared, Smooth("x"))
	casetest.OK(t, err)
	for lambda, want := range map[float64]float64{1e9: 1, 1e-9: 9} {
		p, _ := finalModel(t, part, l, []float64{lambda})
		if s := casetest.Must(Summarise(p))(t); !(math.Abs(s[0].Freedom-want) < 1e-3) {
			t.Errorf("λ = %v: %v", lambda, s)
		}
	}
	if _, err := Summarise(nil); err == nil {
		t.Error("no error for nil")
	}
}
