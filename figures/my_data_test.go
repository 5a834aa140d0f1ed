package figures

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/mydata"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/cvgm/tune/assess"
	"cvgm/figures/internal/chart"
	"cvgm/figures/readings"
	"cvgm/synth"
)

// myResult returns the result of my_data for a CSV. Its curves have few points.
func myResult(t *testing.T, text string, change func(p *mydata.MyDataParams)) *mydata.Result {
	t.Helper()
	p := mydata.DefaultMyData()
	p.File = filepath.Join(t.TempDir(), "of_mine.csv")
	p.CurvePoints, p.SurfacePoints = 9, 5
	change(&p)
	if err := os.WriteFile(p.File, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return mustRun[*mydata.Result](t)(p.Run(t.Context(), experiment.Hooks{}))
}

// myTable returns a CSV of 45 rows with two numeric columns and the given classes.
func myTable(classes ...string) string {
	src := synth.NewStream(4, "my table")
	text := "\"length, or\nso | $x_1$\",<b>width</b>,kind\n"
	for i := range 45 {
		k := i % len(classes)
		text += fmt.Sprintf("%.3f,%.3f,%s\n", float64(k%2)+.4*src.NormFloat64(), 1e4*(float64(k/2)+.4*src.NormFloat64()), classes[k])
	}
	return text
}

// Every kind of table has its outputs, even if some values are not finite.
func TestMyDataOutputs(t *testing.T) {
	fast := func(p *mydata.MyDataParams) { p.OuterFolds = 2 }
	for name, c := range map[string]struct {
		text    string
		change  func(p *mydata.MyDataParams)
		outputs string
		wants   map[string]string
	}{
		"two classes": {myTable("no", "yes"), fast, "columns comparisons hyperparameters losses curves roc confusion boundary coefficients path learning",
			map[string]string{"my_data_confusion": "Class,predicted no,predicted yes,Share that is right\n", "my_data_hyperparameters": "logistic regression,C,", "my_data_losses": "nested risk,"}},
		"three classes": {myTable("a\tvery long name of a class that is longer than a label can be", "b", "☃"), fast, "columns comparisons hyperparameters losses curves roc confusion boundary coefficients path learning",
			map[string]string{"my_data_losses": "multinomial logistic regression,CV loss: multinomial log loss,"}},
		"three classes of a kernel": {myTable("a", "b", "c"), func(p *mydata.MyDataParams) { p.Learner, p.OuterFolds = "kernel_svm", 0 }, "columns comparisons hyperparameters losses curves roc confusion boundary learning",
			map[string]string{"my_data_losses": "b against the others,CV loss: hinge loss,"}},
		"eight classes": {myTable("a", "b", "c", "d", "e", "f", "g", "h"), func(p *mydata.MyDataParams) { p.OuterFolds = 0 }, "columns comparisons hyperparameters losses curves roc confusion boundary coefficients path learning", nil},
		"kernel": {myTable("no", "yes"), func(p *mydata.MyDataParams) { p.Learner, p.OuterFolds = "kernel_svm", 0 },
			"columns comparisons hyperparameters losses curves surface roc confusion boundary learning", map[string]string{"my_data_hyperparameters": "kernel support vector machine,γ,"}},
		"numbers": {"x,y\n1,2\n2,3\n3,5\n4,4\n5,6\n6,5\n7,9\n", fast, "columns comparisons hyperparameters losses curves predictions coefficients path learning", map[string]string{"my_data_columns": "x,number,1 to 7,0,\"1 feature, the mean for a missing value\",\"Column \"\"x\"\" seems to number the rows, and is read as a feature.\",Ignore\n"}},
		"robust": {"x,y\n1,2\n2,3\n3,5\n4,40\n5,6\n6,5\n7,9\n", func(p *mydata.MyDataParams) { p.Learner, p.OuterFolds = "huber", 0 },
			"columns comparisons hyperparameters losses curves surface predictions coefficients path learning", map[string]string{"my_data_losses": "CV loss: absolute error,", "my_data_hyperparameters": ",δ,"}},
		"no signal": {"x,y\n1,2\n2,2\n3,2\n4,2\n5,2\n6,2\n7,2\n", fast, "columns comparisons hyperparameters losses curves predictions coefficients learning", nil},
		"kernel of numbers": {"x,y\n1,2\n2,3\n3,5\n4,4\n5,6\n6,5\n7,9\n", func(p *mydata.MyDataParams) { p.Learner = "kernel_ridge" },
			"columns comparisons hyperparameters losses curves surface predictions learning", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := myResult(t, c.text, c.change)
			var got []string
			for _, o := range Of(r) {
				name, _ := o.Describe()
				got = append(got, strings.TrimPrefix(name, "my_data_"))
			}
			if !slices.Equal(got, strings.Fields(c.outputs)) {
				t.Errorf("outputs %q", got)
			}
			testOutputs(t, r, c.wants)
		})
	}
}

// The tables name the model, and show gains: above 0, the tuned model has the lower risk or loss.
func TestMyDataComparisons(t *testing.T) {
	m := mydata.Model{Verdict: "Use it.", LossName: "squared error", Loss: 2, DefaultLoss: 3, ConstantLoss: 7, Risk: &tune.Risk{Comparisons: []assess.Comparison{
		{With: "a constant prediction", Percent: assess.Estimate{Mean: -80, Low: -90, High: -70}, Shown: 12},
		{With: "ridge regression", Percent: assess.Estimate{Mean: 1, Low: -2, High: 4}, Shown: 5},
	}}}
	all := MyDataTuning(&mydata.Result{Name: "n", Target: "price", Learner: "elastic net", Models: []mydata.Model{m}})
	for i, want := range []string{
		"[[elastic net a constant prediction 80.0 70.0 90.0 better 12.0] [elastic net ridge regression -1.00 -4.00 2.00 no 5.00]]",
		"[]",
		"[[elastic net CV loss: squared error 2.000 0 3.000 7.000 1.000 5.000]",
	} {
		if got := fmt.Sprint(all[i].(*Table).Rows); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A surface is drawn only if it has the tuned values, and if the CV loss depends on both
// hyperparameters. It then has a path that ends at the tuned values.
func TestMyDataSurface(t *testing.T) {
	along := func(loss func(a, b float64) float64) (z [][]float64) {
		for _, a := range []float64{1, 10, 100} {
			z = append(z, []float64{loss(a, 1), loss(a, 10)})
		}
		return z
	}
	both := along(func(a, b float64) float64 { return a + b })
	for name, c := range map[string]struct {
		surface [][]float64
		tuned   float64
		want    bool
	}{
		"both": {both, 1, true}, "tuned at 0": {both, 0, false}, "tuned outside": {both, 11, false}, "none": {nil, 1, false},
		"first alone": {along(func(a, b float64) float64 { return a + b/1e6 }), 1, false}, "second alone": {along(func(a, b float64) float64 { return b + a/1e6 }), 1, false},
		"gaps": {along(func(a, b float64) float64 { return math.NaN() }), 1, false},
	} {
		m := mydata.Model{Axes: [][]float64{{1, 10, 100}, {1, 10}}, Surface: c.surface, Descent: [][]float64{{100, 10}, {5, 2}},
			Hyper: []mydata.Hyper{{Name: "λ", Default: 50, Tuned: 1}, {Name: "γ", Default: 500, Tuned: c.tuned}}}
		all := MyDataSearch(&mydata.Result{Name: "n", Models: []mydata.Model{m}})
		if got := len(all) == 1; got != c.want {
			t.Errorf("%s: %d figures", name, len(all))
		} else if got {
			f := all[0].(*Figure)
			checkFigure(t, f)
			if text := f.CSV(); !strings.Contains(text, "end of the descent,0,0,") || !strings.Contains(f.Caption, "The default, 50 and 500, lies outside.") {
				t.Errorf("caption %q, points\n%s", f.Caption, text)
			}
		}
	}
}

// A tuned value of 0 has a place of its own beside the logarithmic axis.
func TestMyDataCurveToZero(t *testing.T) {
	c := mydata.Curve{Hyper: "λ2", At: []float64{.01, 1, 100}, Loss: []float64{2, 3, 4}, Error: []float64{.1, .1, .1}}
	f := MyDataSearch(&mydata.Result{Name: "n", Target: "y", Models: []mydata.Model{{Loss: 1.5, ConstantLoss: 4, Curves: []mydata.Curve{c}}}})[0].(*Figure)
	checkFigure(t, f)
	p := f.Panels[0][0]
	ticks := p.Plot.X.Tick.Marker.Ticks(p.Axes().Xmin, p.Axes().Xmax)
	if !strings.Contains(f.CSV(), ",tuned,-2.4,1.5,") || ticks[0].Label != "0" || math.Abs(ticks[0].Value+2.4) > 1e-9 || p.Plot.Title.Text != "target y, along λ₂" {
		t.Errorf("ticks %v, title %q, points\n%s", ticks, p.Plot.Title.Text, f.CSV())
	}
}

// The learning curve has ticks at its numbers of rows, and the last change in its title.
func TestMyDataLearning(t *testing.T) {
	for _, c := range []struct {
		loss []float64
		want string
	}{{[]float64{2, 1.5}, "CV loss,2,1.5,"}, {[]float64{100, 1}, "CV loss,2,0,"}} { // the second axis is logarithmic
		m := mydata.Model{ConstantLoss: 3, Learning: mydata.Learning{Rows: []float64{10, 100}, Loss: c.loss, Error: []float64{.25, .25}, Gain: c.loss[0] - c.loss[1], GainError: .5}}
		f := MyDataLearning(&mydata.Result{Name: "n", Target: "y", Models: []mydata.Model{m}})[0].(*Figure)
		checkFigure(t, f)
		p := f.Panels[0][0]
		ticks := p.Plot.X.Tick.Marker.Ticks(0, 3)
		if want := fmt.Sprintf("target y\nfrom 10 to 100 rows: −%.3g ± 1 (2 standard errors)", m.Learning.Gain); p.Plot.Title.Text != want || len(ticks) != 2 || ticks[1].Label != "100" {
			t.Errorf("title %q, want %q; ticks %v", p.Plot.Title.Text, want, ticks)
		}
		if !strings.Contains(f.CSV(), c.want) {
			t.Errorf("no %s in\n%s", c.want, f.CSV())
		}
	}
}

// Lines of a committed figure are ghosts only if they come from the same data, with any seed.
func TestMyDataHasNoGhostsOfOtherData(t *testing.T) {
	curves := func(r *mydata.Result) *Figure { return MyDataSearch(r)[0].(*Figure) }
	first := myResult(t, myTable("no", "yes"), func(*mydata.MyDataParams) {})
	other, seed := *first, *first
	other.Name = "another.csv"
	seed.Models = slices.Clone(first.Models)
	seed.Models[0].Curves = slices.Clone(first.Models[0].Curves)
	seed.Models[0].Curves[0].Loss = slices.Clone(first.Models[0].Curves[0].Loss)
	seed.Models[0].Curves[0].Loss[0] *= 2
	for r, want := range map[*mydata.Result]int{&other: 0, &seed: 1} {
		f := curves(r)
		f.Ghosts(curves(first).CSV())
		if got := len(f.Panels[0][0].Ghosts); got != want {
			t.Errorf("%s: %d ghosts, want %d", r.Name, got, want)
		}
	}
}

// The figure of coefficients marks the fit to all rows, with the largest coefficient at the top.
func TestMyDataCoefficients(t *testing.T) {
	r := &mydata.Result{Name: "n", Target: "y", Models: []mydata.Model{{Features: []string{"a", "b", "c"}, Coefficients: []float64{-2, 0, 1}}}}
	f := MyDataCoefficients(r)[0].(*Figure)
	checkFigure(t, f)
	for _, want := range []string{"fit to all rows,1,2", "fit to all rows,-2,3", "fit to all rows,0,1"} {
		if !strings.Contains(f.CSV(), want) {
			t.Errorf("no %s in\n%s", want, f.CSV())
		}
	}
	var labels []string
	for _, tick := range f.Panels[0][0].Plot.Y.Tick.Marker.Ticks(0, 4) {
		labels = append(labels, tick.Label)
	}
	if !slices.Equal(labels, []string{"b", "c", "a"}) {
		t.Errorf("labels %q", labels)
	}
}

// The path labels each feature at its weakest penalty, and marks the tuned value. A tuned penalty
// of 0 is marked at the weakest penalty.
func TestMyDataPath(t *testing.T) {
	for tuned, at := range map[float64]string{10: "-1", 0: "0"} {
		r := &mydata.Result{Name: "n", Target: "y", Models: []mydata.Model{{Features: []string{"a", "b", "c"}, Path: &mydata.Path{Hyper: "λ1", At: []float64{1, 10, 100}, Tuned: tuned,
			Features: []int{2, 0}, Coefficients: [][]float64{{3, 2, 0}, {1, -1, 0}}, AtTuned: []float64{2, -1}}}}}
		f := MyDataPath(r)[0].(*Figure)
		checkFigure(t, f)
		for _, want := range []string{"\"tuned, c\"," + at + ",2", "\"tuned, a\"," + at + ",-1"} {
			if !strings.Contains(f.CSV(), want) {
				t.Errorf("no %s in\n%s", want, f.CSV())
			}
		}
		p := f.Panels[0][0]
		if ticks := p.Plot.X.Tick.Marker.Ticks(-2, 0); p.Plot.X.Label.Text != "λ₁" || ticks[0].Label != "100" { // not its inverse, because the text has λ1
			t.Errorf("the axis of %s begins with %v", p.Plot.X.Label.Text, ticks)
		}
		i := slices.IndexFunc(p.Series, func(s chart.Series) bool { return s.Name == "tuned value" })
		if top := p.Series[i].Stretches[0][1][1]; top < 3.2 || top >= p.Axes().Ymax || len(p.Notes) != 1 || p.Notes[0].Text != "tuned" {
			t.Errorf("the line of the tuned value ends at %v of %v, with the notes %v", top, p.Axes(), p.Notes)
		}
		var labels []string
		for _, l := range f.Panels[0][0].DirectLabels() {
			labels = append(labels, l.Name)
		}
		if !slices.Equal(labels, []string{"c", "a"}) || !strings.Contains(f.Caption, "Only the largest") {
			t.Errorf("labels %q, caption %q", labels, f.Caption)
		}
	}
}

// Outputs show only the first levels and the largest coefficients, and give the number of others.
func TestMyDataOfManyLevels(t *testing.T) {
	const levels = 20_000
	r := &mydata.Result{Name: "n", Target: "y", Columns: []mydata.Column{{Described: table.Described{Name: "c"}}}, Models: []mydata.Model{{}}}
	for j := range levels {
		name := fmt.Sprintf("level %05d", j)
		r.Columns[0].Levels = append(r.Columns[0].Levels, name)
		r.Models[0].Features, r.Models[0].Coefficients = append(r.Models[0].Features, "c="+name), append(r.Models[0].Coefficients, float64(j%7))
	}
	f, columns := MyDataCoefficients(r)[0].(*Figure), MyDataColumns(r)
	checkFigure(t, f)
	if n := strings.Count(f.CSV(), "\n"); n > 100 || !strings.Contains(f.Caption, "Of 20000 coefficients the 15 largest are shown.") {
		t.Errorf("%d lines with the caption %q", n, f.Caption)
	}
	if text := columns.CSV(); len(text) > 1000 || !strings.Contains(text, "… 19992 more") {
		t.Errorf("the columns take %d bytes: %.1000s", len(text), text)
	}
}

// The note below the table of columns gives the number of rows left out and the number of groups.
func TestMyDataColumnsNote(t *testing.T) {
	r := myResult(t, "id,x,g,y\n1,4,a,2\n2,2,a,3\n3,5,b,5\n4,1,b,4\n5,7,c,6\n6,5,c,\n", func(p *mydata.MyDataParams) { p.Group, p.OuterFolds = "g", 0 })
	want := "Rows left out for lack of a value: 1. The rows form 3 groups, each of which stays together in all folds."
	if got := MyDataColumns(r).Note; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 123456: "123456", 1.23456: "1.235", .0012347: "0.001235", 1.5e-9: "1.5e-09"} {
		if got := chart.Cell(significant(v, 4), "", ""); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// The caption of the coefficients, and the text about them, name the level of each comparison.
func TestMyDataNamesBaselines(t *testing.T) {
	var b, weighted strings.Builder
	b.WriteString("town,x,y\n")
	weighted.WriteString("weight,town,x,y\n")
	for i := range 24 {
		town := []string{"Ulm", "Bonn", "Ulm", "Trier"}[i%4]
		row := fmt.Sprintf("%s,%d,%d\n", town, i*i%7, i*i%7+map[string]int{"Trier": 40}[town])
		b.WriteString(row)
		fmt.Fprintf(&weighted, "%d,%s", 1+map[string]int{"Trier": 8}[town], row)
	}
	r := myResult(t, b.String(), func(p *mydata.MyDataParams) { p.OuterFolds = 0 })
	caption := MyDataCoefficients(r)[0].(*Figure).Caption
	if want := " Each level is compared with the level of its column that has the most rows or weight: Ulm (12 rows) of town."; !strings.Contains(caption, want) {
		t.Errorf("%s lacks%s", caption, want)
	}
	heavy := myResult(t, weighted.String(), func(p *mydata.MyDataParams) { p.OuterFolds, p.Weights = 0, "weight" })
	if caption, want := MyDataCoefficients(heavy)[0].(*Figure).Caption, "has the most rows or weight: Trier (6 rows) of town."; !strings.Contains(caption, want) {
		t.Errorf("%s lacks %s", caption, want)
	}
	long := strings.Repeat("a long name ", 9)
	named := myResult(t, strings.Replace(b.String(), "town", long+"of towns", 1), func(p *mydata.MyDataParams) { p.OuterFolds = 0 })
	for _, text := range []string{named.Screen(), readings.MyDataCoefficients(named), labelName(named.Models[0].Features[1])} {
		if !strings.Contains(text, "towns=Trier") {
			t.Errorf("%s lacks the level Trier", text)
		}
	}
	text := readings.MyDataCoefficients(r)
	if want := "One standard deviation more of “town=Trier”, compared with Ulm (12 rows), moves the prediction by "; !strings.Contains(text, want) {
		t.Errorf("%s lacks %s", text, want)
	}
}
