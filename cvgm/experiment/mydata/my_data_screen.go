package mydata

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/gonum/floats"
)

// ScreenLines is the largest number of lines of [Result.Screen], and ScreenColumns is the largest
// number of letters in a line. The notebook adds one line, about the folder of the outputs.
const ScreenLines, ScreenColumns = 38, 100

// Screen returns a summary of the result for one screen: the model to use and the reason, metrics,
// hyperparameters, the largest coefficients in the units of the file, and warnings. It has at most
// ScreenLines lines of at most ScreenColumns letters. Longer lines end with "…".
func (r *Result) Screen() string {
	s := &screen{}
	learner := cmp.Or(r.Learner, "no learner")
	s.text("", "%s: %d rows, target %s, %s", r.Name, r.Rows, r.Target, learner)
	if len(r.Models) == 1 {
		s.model(r, r.Models[0])
	} else {
		s.models(r)
	}
	warnings := r.warnings()
	switch {
	case len(warnings) > 0:
	case slices.ContainsFunc(r.Searched(), func(m Model) bool { return len(m.Doubts) > 0 }):
		s.text("", "No other warnings.")
	default:
		s.text("", "No warnings.")
	}
	for k, w := range warnings {
		if left := len(warnings) - k; len(s.lines) >= ScreenLines-1 && left > 1 {
			s.text("", "… %d more warnings are in the notebook.", left)
			break
		}
		s.text("", "Warning: %s", w)
	}
	if len(s.lines) > ScreenLines {
		s.lines = append(s.lines[:ScreenLines-1], "…")
	}
	return strings.Join(s.lines, "\n") + "\n"
}

// warnings returns the warnings of all models without Doubts, each once. If a warning concerns only one of several
// models, its text names the class of this model.
func (r *Result) warnings() []string {
	var all []string
	seen := map[string]int{}
	models := r.Searched()
	for _, m := range models {
		for _, w := range m.Warnings {
			seen[w]++
		}
	}
	for _, m := range models {
		for _, w := range m.Warnings {
			switch n := seen[w]; {
			case n == 0: // the warning is listed already
			case n == len(models):
				all = append(all, w)
				seen[w] = 0
			default:
				all = append(all, m.Class+": "+w)
			}
		}
	}
	return all
}

// shownModels and shownCoefficients are the largest numbers of models and coefficients on a screen.
const shownModels, shownCoefficients = 4, 8

// model adds the lines for the only model of a result.
func (s *screen) model(r *Result, m Model) {
	s.verdict(m)
	s.metrics(m)
	for _, line := range s.confusion(r) {
		s.text("  ", "%s", line)
	}
	s.losses(m)
	order := m.largestFirst()
	if len(order) == 0 || m.PerUnit == nil {
		return
	}
	of := "the prediction"
	if len(r.Classes) > 0 {
		of = fmt.Sprintf("the decision value for %s", r.Classes[len(r.Classes)-1])
	}
	s.text("", "Coefficients: change of %s for one unit more, or for a level compared with the one named; largest effect first", of)
	width := 0
	for _, i := range order[:min(len(order), shownCoefficients)] {
		width = max(width, utf8.RuneCountInString(shortened(m.Features[i], mostName)))
	}
	for _, i := range order[:min(len(order), shownCoefficients)] {
		name := shortened(m.Features[i], mostName)
		line := fmt.Sprintf("  %s%s  %+.4g", name, strings.Repeat(" ", width-utf8.RuneCountInString(name)), m.PerUnit[i])
		const words = len("compared with  (1234567 rows)")
		to := width + len("    +1.234e-05  ")
		if baseline := r.Baseline(i, ScreenColumns-to-words); baseline != "" {
			line += strings.Repeat(" ", max(2, to-utf8.RuneCountInString(line))) + "compared with " + baseline
		}
		s.lines = append(s.lines, line)
	}
	if n := len(order) - shownCoefficients; n > 0 {
		s.text("  ", "… %d more that are not 0", n)
	}
}

// verdict adds the verdict of a model, its doubts and the comparisons, in the order of
// [tune.Tuned.String].
func (s *screen) verdict(m Model) {
	s.text("", "%s", m.Verdict)
	s.doubts("", m)
	if m.Risk != nil {
		for _, c := range m.Risk.Comparisons {
			s.text("  ", "%v", c)
		}
	}
}

// doubts adds the warnings that the model is or may be worse than a simpler one.
func (s *screen) doubts(indent string, m Model) {
	for _, d := range m.Doubts {
		s.text(indent, "Warning: %s", d)
	}
}

// Baseline returns the level with which the coefficient of a feature compares, and its rows, such as
// "gas (31 rows)". The level's name has at most the given number of letters. If the feature is no
// level, Baseline returns "".
func (r *Result) Baseline(feature, letters int) string {
	if feature >= len(r.Baselines) || r.Baselines[feature] == (Baseline{}) {
		return ""
	}
	b := r.Baselines[feature]
	rows := "rows"
	if b.Rows == 1 {
		rows = "row"
	}
	return fmt.Sprintf("%s (%d %s)", shortened(b.Level, letters), b.Rows, rows)
}

// losses adds the hyperparameters and the losses of a model.
func (s *screen) losses(m Model) {
	s.text("", "%s", hyperparameters(m))
	s.text("", "CV loss (%s): tuned %.4g ± %.3g, default %.4g, constant prediction %.4g", m.LossName, m.Loss, m.StandardError, m.DefaultLoss, m.ConstantLoss)
	if m.Risk != nil {
		s.text("", "Risk with 95 %% interval: tuned %v, default %v, constant prediction %v", m.Risk.Tuned, m.Risk.Default, m.Risk.Constant)
	}
}

// mostName is the largest number of letters of a name in a list.
const mostName = 40

// models adds the lines for the models of several classes.
func (s *screen) models(r *Result) {
	if r.Joint != nil {
		s.verdict(*r.Joint)
	}
	if r.Multiclass != nil {
		s.text("", "%s: %v", judgedBy(r.Models[0]), r.Multiclass)
	}
	for _, line := range s.confusion(r) {
		s.text("  ", "%s", line)
	}
	if r.Joint != nil {
		s.losses(*r.Joint)
	}
	for k, m := range r.Models {
		if k == shownModels {
			s.text("", "… %d more classes are in the notebook.", len(r.Models)-k)
			break
		}
		s.class(r, m)
	}
}

// class adds the lines for the model of one class. If the models of all classes were tuned jointly,
// it leaves out the verdict and the hyperparameters, which they share.
func (s *screen) class(r *Result, m Model) {
	jointly := r.Joint != nil
	if jointly {
		s.text("", "%s against the others.", shortened(m.Class, mostName))
	} else {
		s.text("", "%s against the others. %s", shortened(m.Class, mostName), m.Verdict)
		s.doubts("  ", m)
	}
	s.metrics(m)
	if !jointly {
		s.text("  ", "%s", hyperparameters(m))
	}
	var largest []string
	for _, i := range m.largestFirst() {
		if len(largest) < 3 && i < len(m.PerUnit) {
			text := fmt.Sprintf("%s %+.3g", shortened(m.Features[i], mostName/2), m.PerUnit[i])
			if baseline := r.Baseline(i, mostName/2); baseline != "" {
				text += " compared with " + baseline
			}
			largest = append(largest, text)
		}
	}
	if largest != nil {
		s.text("  ", "Largest coefficients: %s", strings.Join(largest, ", "))
	}
}

// judgedBy returns words for the kind of the predictions in m.Judged.
func judgedBy(m Model) string {
	if !m.Judged.Nested {
		return "Predictions out of fold (no nested estimate)"
	}
	return "Predictions of the outer folds"
}

// metrics adds the metrics of a model's predictions.
func (s *screen) metrics(m Model) {
	by := judgedBy(m)
	switch {
	case m.Judged.Regression != nil:
		s.text("", "%s: %v", by, m.Judged.Regression)
	case m.Judged.Classes != nil:
		s.text("", "%s: %s", by, m.Judged.Classes.Metrics())
	}
}

// confusion returns one line for each class, with the number of its rows and the number of correct
// predictions.
func (s *screen) confusion(r *Result) (lines []string) {
	for k, row := range r.Confusion {
		own := floats.Sum(row)
		if k < shownModels && k < len(r.Classes) {
			lines = append(lines, fmt.Sprintf("of %.4g rows of %s, %.4g are predicted as such", own, shortened(r.Classes[k], mostName), row[k]))
		}
	}
	return lines
}

// hyperparameters returns the names and values of the hyperparameters.
func hyperparameters(m Model) string {
	var all []string
	for _, h := range m.Hyper {
		all = append(all, fmt.Sprintf("%s = %.4g", h.Name, h.Tuned))
	}
	return "Hyperparameters: " + strings.Join(all, ", ")
}

// largestFirst returns the indices of the coefficients that are not 0. The coefficient whose
// feature has the largest effect per standard deviation comes first.
func (m Model) largestFirst() []int {
	var order []int
	for i, c := range m.Coefficients {
		if c != 0 && i < len(m.Features) && i < len(m.PerUnit) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(m.Coefficients[b]), math.Abs(m.Coefficients[a]))
	})
	return order
}

// shortened returns name on one line, without invisible characters and with at most maxLetters
// letters.
func shortened(name string, maxLetters int) string {
	return experiment.Shortened(experiment.Visible(strings.TrimSpace(name)), maxLetters)
}

// A screen collects the lines of the text.
type screen struct{ lines []string }

// text adds a text, broken at spaces into at most four lines. The first line has the given indent.
// The others have two more spaces.
func (s *screen) text(indent, format string, args ...any) {
	const most = 4
	line, lines := indent, []string(nil)
	for _, word := range strings.Fields(experiment.Visible(strings.TrimSpace(fmt.Sprintf(format, args...)))) {
		word = shortened(word, ScreenColumns-len(indent)-4)
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > ScreenColumns-2 {
			lines, line = append(lines, line), indent+"  "
		}
		if strings.TrimSpace(line) != "" {
			line += " "
		}
		line += word
	}
	if lines = append(lines, line); len(lines) > most {
		lines = lines[:most]
		lines[most-1] += " …"
	}
	s.lines = append(s.lines, lines...)
}
