package claims

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat/distuv"
)

// meanAndLossClaim returns a claim with a row for the mean of n normal numbers and a row for a loss
// that is small relative to a bad choice.
func meanAndLossClaim(src *synth.Stream, n int, mean float64) []Claim {
	var v, loss, worst []float64
	for range n {
		v = append(v, mean+src.NormFloat64())
		hard := 1 + src.Float64()
		loss, worst = append(loss, .1*hard), append(worst, hard+.01*src.NormFloat64())
	}
	var all measurements
	all.add(saysEfficient, Measurement{Text: "a mean", Ours: experiment.EstimateOf(v), Control: &Control{Text: "none", Ours: once(0)}}, belowRule(0, difference{.1, "a tenth"}))
	all.add(saysEfficient, Measurement{Text: "little", Ours: experiment.EstimateOf(loss), Beyond: paired(loss, worst)}, littleOf(experiment.EstimateOf(worst), "the worst"))
	c := Claim{Number: int(saysEfficient) + 1, Measured: all[saysEfficient]}
	c.judge()
	return []Claim{c}
}

// Moved lists the rows whose estimates differ from the record by more than rounding errors.
func TestMoved(t *testing.T) {
	first := meanAndLossClaim(synth.NewStream(1, "moved"), 60, -.2)
	m := first[0].Measured
	m = append(m, Measurement{Text: "computed once", Ours: once(3)}, Measurement{Text: "a time", Ours: once(5), timed: true})
	first[0].Measured = m
	record := RecordOf(first)
	whole, mean := m[2].Ours.Mean, m[0].Ours.Mean
	for _, c := range []struct {
		errors, size float64
		want         []string
	}{
		{0, 0, nil},
		{.05, 1e-7, nil},
		{.2, 1e-7, []string{"2a"}},
		{-.2, -1e-5, []string{"2a", "2c"}},
		{0, math.NaN(), []string{"2c"}},
	} {
		m[0].Ours.Mean, m[2].Ours.Mean, m[3].Ours.Mean = mean+c.errors*m[0].Ours.SE(), whole*(1+c.size), 7
		if got := Moved(first, record); !slices.Equal(got, c.want) {
			t.Errorf("by %v standard errors and %v: %q, want %q", c.errors, c.size, got, c.want)
		}
	}
	if got := Moved(first, Record{}); got != nil {
		t.Errorf("rows that no record has: %q", got)
	}
}

// pooledDraws returns the claims of the first draw, the records of all draws, and the claims judged
// by all draws.
func pooledDraws(t *testing.T, draws int, draw func(d int) []Claim) (first []Claim, records []Record, pooled []Claim) {
	t.Helper()
	for d := range draws {
		c := draw(d)
		if d == 0 {
			first = c
		}
		records = append(records, RecordOf(c))
	}
	pooled, err := Pool(first, records)
	if err != nil {
		t.Fatal(err)
	}
	return first, records, pooled
}

// Ten pooled draws decide a row that the first draw leaves undecided. The number of flips between
// draws agrees with their scatter.
func TestDrawsArePooled(t *testing.T) {
	const draws, n = 10, 60
	src := synth.NewStream(1, "draws")
	first, records, pooled := pooledDraws(t, draws, func(int) []Claim { return meanAndLossClaim(src, n, -.2) })
	m, little := pooled[0].Measured[0], pooled[0].Measured[1]
	if m.Ours.N != draws*n || m.Verdict != Confirmed || m.Control.Verdict != Differs || little.Verdict != Confirmed || little.Ours.N != draws*n {
		t.Errorf("%+v\n%+v", m, little)
	}
	if first[0].Measured[0].Verdict != NotDecided || first[0].Measured[0].Draws != nil {
		t.Errorf("the draw itself: %+v", first[0].Measured[0].Judgement)
	}
	// The interval of a single draw is −.2 ± .26, so about two of three draws are undecided.
	if d := m.Draws; d.N != draws || d.Flips < 3 || d.Expected < 4 || d.Expected > 8 || d.Chance < .01 {
		t.Errorf("%+v", d)
	}
	if d := little.Draws; d.Flips != 0 || d.Expected > .01 || d.Chance != 1 {
		t.Errorf("%+v", d)
	}
	first[0].Measured[1].Ours.Scale = experiment.Positive
	if other, err := Pool(first, records); err != nil || other[0].Measured[1].Ours.Scale != experiment.Positive || other[0].Measured[1].Ours.Mean != little.Ours.Mean {
		t.Errorf("of another scale than the records': %v", err)
	}
	first[0].Measured[1].Ours.Scale = experiment.AnyNumber
	was := records[5]["2b"][partOurs]
	records[5]["2b"][partOurs] = once(was.Mean)
	if _, err := Pool(first, records); !errors.Is(err, experiment.ErrSpread) || !strings.Contains(err.Error(), "2b") {
		t.Errorf("a draw without a spread: %v", err)
	}
	delete(records[3], "2b")
	if _, err := Pool(first, records); err == nil || !strings.Contains(err.Error(), "draw 3") {
		t.Errorf("a record that lacks a row: %v", err)
	}
}

// The scatter between draws of a value without repetitions predicts its flips: one in ten is not
// unusual here.
func TestDrawsOfWhatIsComputedOnce(t *testing.T) {
	claim := func(v float64) []Claim {
		var all measurements
		all.add(saysEfficient, Measurement{Text: "once"}, belowRule(2, computedDifference))
		all[saysEfficient][0].Ours = once(v)
		c := Claim{Number: int(saysEfficient) + 1, Measured: all[saysEfficient]}
		c.Measured[0].judge()
		c.judge()
		return []Claim{c}
	}
	var records []Record
	for d := range 10 {
		records = append(records, RecordOf(claim([]float64{0, 1, .5, .2, 1.5, 2.1, 0, .3, .7, 1}[d])))
	}
	pooled, err := Pool(claim(0), records)
	if err != nil {
		t.Fatal(err)
	}
	if d := pooled[0].Measured[0].Draws; pooled[0].Verdict != Confirmed || d.Flips != 1 || d.Expected < .1 || d.Expected > 1 || d.Chance < .05 {
		t.Errorf("%s, %+v", pooled[0].Verdict, d)
	}
}

// flipProbability is 0 for a share of 1 over all data sets, because the scatter stays on the scale
// of the estimate.
func TestExpectedFlipsAtTheEndsOfScales(t *testing.T) {
	all := make([]float64, 100)
	for i := range all {
		all[i] = 1
	}
	small := experiment.RatioOf([]float64{.001, .004, .02, .1})
	for _, c := range []struct {
		of experiment.Estimate
		r  rule
	}{{experiment.ShareOf(all), aboveRule(.5, ofSets)}, {experiment.ShareOf(make([]float64, 100)), belowRule(.5, ofSets)}, {small, aboveRule(-.01, difference{.005, ""})}} {
		m := Measurement{Ours: c.of}
		m.setRule(c.r)
		if m.judge(); m.Verdict != Confirmed && c.of.Scale == experiment.Share || m.flipProbability(&m) != 0 {
			t.Errorf("%+v: %s, and another verdict in a share %v of draws", c.of, m.Verdict, m.flipProbability(&m))
		}
	}
}

// Reckon reports a row whose draws differ by more than its repetitions explain.
func TestDrawsThatFlipTooOftenAreFound(t *testing.T) {
	src := synth.NewStream(2, "draws")
	_, _, pooled := pooledDraws(t, 10, func(d int) []Claim { // alternately above and below the bound
		return meanAndLossClaim(src, 2000, .3*float64(1-2*(d%2))+.02)
	})
	if d := pooled[0].Measured[0].Draws; d.Flips < 5 || d.Chance > .01 {
		t.Errorf("%+v", d)
	}
	if r := Reckon(pooled); r.Draws != 10 || r.Verdicts != 20 || r.Flips < 5 || !slices.Equal(r.Unsteady, []string{"2a"}) {
		t.Errorf("%+v", r)
	}
}

func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	src := synth.NewStream(3, "draws")
	claims := [][]Claim{meanAndLossClaim(src, 60, 0), meanAndLossClaim(src, 60, 0)}
	want := []Record{RecordOf(claims[0]), RecordOf(claims[1])}
	b := bytes.NewBufferString("# a source\n")
	for d, r := range want {
		var one bytes.Buffer
		if err := r.Write(&one, d+4); err != nil {
			t.Fatal(err)
		}
		text := one.String()
		if d > 0 {
			_, text, _ = strings.Cut(text, "\n")
		}
		b.WriteString(text)
	}
	got, first, err := ReadRecords(bytes.NewReader(b.Bytes()))
	if err != nil || first != 4 {
		t.Fatalf("from draw %d, %v", first, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
	if _, err := Pool(claims[0], got); err != nil {
		t.Error(err)
	}
	if _, err := Pool(claims[0], nil); err == nil {
		t.Error("no draw: no error")
	}
}

// ReadRecords refuses a record that no run writes, and names its line.
func TestDamagedRecords(t *testing.T) {
	heading := strings.Join(recordHeader, ",") + "\n"
	for text, want := range map[string]string{
		"":                                                "not a table",
		"a,b\n":                                           "not a table",
		heading:                                           "none below the heading",
		heading + "0,1a,here,1,NaN":                       "wrong number of fields",
		heading + "0,1a,here,x,NaN,1,0\n":                 `record 1: "x" is not a number`,
		heading + "0,1a,here,1,NaN,1a,0\n":                `record 1: "1a" is not a number`,
		heading + "0,1a,here,1,NaN,1.5,0\n":               `record 1: "1.5" is not a number`,
		heading + "0,1a,here,1,NaN,-1,0\n":                "-1 repetitions",
		heading + "0,1a,here,1,NaN,0,0\n":                 "0 repetitions",
		heading + "0,1a,here,1,-1,9,0\n":                  "margin",
		heading + "0,1a,here,1,+Inf,9,0\n":                "margin",
		heading + "0,1a,here,1,1,1,0\n":                   "margin",
		heading + "0,1a,here,1,0,1,0\n":                   "margin",
		heading + "0,1a,here,1,0,9223372036854775807,0\n": "9223372036854775807 repetitions",
		heading + "0,1a,here,-Inf,1,9,0\n":                "-Inf",
		heading + "0,1a,here,12,1,9,1\n":                  "12, outside of its scale",
		heading + "0,1a,here,-1,1,9,2\n":                  "-1, outside of its scale",
		heading + "0,1a,here,1,1,9,3\n":                   "scale 3",
		heading + "0,1a,here,1,NaN,1,0\n0,1b,here,1,NaN,1,0\n0,1a,here,2,NaN,1,0\n": `record 3: "here" of row 1a is there twice`,
		heading + "1,1a,here,1,NaN,1,0\n0,1a,here,1,NaN,1,0\n":                      "draw 0 after draw 1",
		heading + "0,1a,here,1,NaN,1,0\n2,1a,here,1,NaN,1,0\n":                      "draw 2 after draw 0",
	} {
		if _, _, err := ReadRecords(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Reckon applies Holm's correction: the smallest of three p-values is compared with .05/3, and the
// next with .05/2.
func TestReckon(t *testing.T) {
	row := func(z float64) Measurement {
		n := 100000 // so many that t is normal
		e := experiment.Estimate{Mean: -z, N: n}
		e.Margin = 1.959963984540054
		m := Measurement{Ours: e}
		m.setRule(belowRule(0, difference{1e-3, ""}))
		m.judge()
		return m
	}
	rows := []Measurement{row(2.1), row(4), row(2.2), row(1)} // p = .036, 6e-5, .028, not decided
	r := Reckon([]Claim{{Number: 7, Measured: rows}})
	if r.Decided != 3 || math.Abs(r.Chance-.15) > 1e-12 || !slices.Equal(r.Opened, []string{"7a", "7c"}) {
		t.Errorf("%+v", r)
	}
	// Outside the range of a rule with two bounds, p refers to the nearer bound. It is .0139 at 2.2
	// standard errors.
	far := Measurement{Ours: experiment.Estimate{Mean: .1 + 2.2e-3, Margin: 1.96e-3, N: 100000}}
	far.setRule(equalsRule(0, .1, ""))
	if far.judge(); far.Verdict != Differs || math.Abs(far.chance()-.0139) > 1e-4 {
		t.Errorf("%s by chance %v", far.Verdict, far.chance())
	}
	rows = append(rows[:1], row(2.6)) // p = .036 < .05 after .0093 < .025
	if r := Reckon([]Claim{{Number: 7, Measured: rows}}); r.Decided != 2 || r.Opened != nil {
		t.Errorf("%+v", r)
	}
}

// The recorded draws distinguish the smallest difference that matters from 0, in each row that
// decides a sentence. No row flips more often than its errors predict.
func TestRecordedDrawsHavePower(t *testing.T) {
	serial.Test(t)
	pooled := pooledClaims(t)
	judged := 0
	rows(pooled, func(name string, m *Measurement) {
		if m.Draws == nil || !m.Ours.Repeated() || m.Ours.N == m.Draws.N { // computed once in each draw
			return
		}
		judged++
		// Tells is itself estimated, so the test allows two relative standard errors of its result.
		slack := 1 + 2/math.Sqrt(2*float64(m.Ours.N))
		if !m.Aside && m.Smallest > 0 && m.Tells() > slack*m.Smallest {
			t.Errorf("%s: %d repetitions tell %.3g from none, and %.3g matters: %s", name, m.Ours.N, m.Tells(), m.Smallest, m.Text)
		}
	})
	if judged < 60 {
		t.Errorf("%d rows have repetitions", judged)
	}
	if r := Reckon(pooled); len(r.Unsteady) > 0 {
		t.Errorf("rows that flip more often than their errors predict: %v", r.Unsteady)
	}
}

// pooledClaims returns the claims, judged with all recorded draws together.
func pooledClaims(t *testing.T) []Claim {
	t.Helper()
	return pooledBy(t, readDraws(t, filepath.Join("..", "..", "..", "figures", "out", "draws.csv"), 0))
}

// readDraws reads a record whose first draw has the given number.
func readDraws(t *testing.T, path string, first int) []Record {
	t.Helper()
	recorded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	draws, from, err := ReadRecords(bytes.NewReader(recorded))
	if err != nil || from != first {
		t.Fatalf("draws from %d, want from %d: %v", from, first, err)
	}
	return draws
}

func pooledBy(t *testing.T, draws []Record) []Claim {
	t.Helper()
	pooled, err := Pool(keptClaims(t), draws)
	if err != nil {
		t.Fatal(err)
	}
	return pooled
}

// Ten fresh draws, from draw 10 on, reach the verdicts of the recorded draws. They did not affect
// the choice of any rule, size or sentence.
//
// More rows may differ only if the errors of their estimates predict this.
func TestFreshDrawsDecideTheSame(t *testing.T) {
	serial.Test(t)
	fresh := readDraws(t, filepath.Join("testdata", "fresh.csv"), 10)
	again, byName := pooledBy(t, fresh), map[string]*Measurement{}
	rows(again, func(name string, m *Measurement) { byName[name] = m })
	decided, expected := 0, 0.0
	var differ []string
	rows(pooledClaims(t), func(name string, m *Measurement) {
		if m.Draws == nil || m.Verdict == NotDecided {
			return
		}
		decided++
		if m.Ours.Repeated() {
			expected += byName[name].flipProbability(m)
		}
		if verdict := byName[name].Verdict; verdict != m.Verdict {
			differ = append(differ, fmt.Sprintf("%s: %s, but %s by other draws: %s", name, m.Verdict, verdict, m.Text))
		}
	})
	t.Logf("%d fresh draws: of %d decided rows, %d have another verdict, and %.1f are expected:\n%s", len(fresh), decided, len(differ), expected, strings.Join(differ, "\n"))
	if most := (distuv.Poisson{Lambda: expected}); most.Survival(float64(len(differ)-1)) < Unlikely {
		t.Errorf("%d rows differ, %.1f are expected", len(differ), expected)
	}
	if r := Reckon(again); len(r.Unsteady) > 0 {
		t.Errorf("rows that flip more often than their errors predict: %v", r.Unsteady)
	}
	findings := Findings(again)
	for k, f := range Findings(pooledClaims(t)) {
		if findings[k].Row.Verdict != f.Row.Verdict {
			t.Errorf("finding %s: %s, but %s by other draws", f.Name, f.Row.Verdict, findings[k].Row.Verdict)
		}
	}
}

// The words of a finding change with the smallest difference only if the finding is near a bound.
func TestLimitsOfFindings(t *testing.T) {
	all := pooledClaims(t)
	l := LimitsOf(all)
	if slices.Contains(l.Chosen, "XOR") || !slices.Contains(l.Chosen, "Table 1") || !slices.Contains(l.NotThePapers, "searches") || !slices.Contains(l.NotThePapers, "two penalties") || slices.Contains(l.NotThePapers, "Table 1") {
		t.Errorf("%+v", l)
	}
	rows(all, func(_ string, m *Measurement) {
		if m.role == table1 { // the difference is then too small to matter, but not if the smallest difference is halved
			m.Ours = experiment.Estimate{Mean: -.75 * m.Smallest, Margin: .05 * m.Smallest, N: 100}
			m.judge()
		}
	})
	if moved := LimitsOf(all).Moved; !slices.Contains(moved, "Table 1") || slices.Contains(moved, "searches") || slices.Contains(moved, "exact gradients") {
		t.Errorf("moved: %v", moved)
	}
}

// With other smallest differences, the best value on the scale of a row still differs from the
// bound by as much as matters.
func TestOtherDifferencesLeaveRoom(t *testing.T) {
	best := func(m *Measurement) experiment.Estimate {
		e := m.Ours
		bound, _ := m.rule.oneSided()
		switch below := math.IsInf(m.rule.low, -1); {
		case e.Scale == experiment.Share:
			e.Mean, e.N = choose(below, 0., 1.), 1e9
		case e.Scale == experiment.Positive && below:
			e.Mean, e.Margin = 1e-6*bound, 1e-9*bound
		default:
			e.Mean, e.Margin = bound+choose(below, -9., 9.)*m.Smallest, .01*m.Smallest
		}
		return e
	}
	judged := 0
	for _, factor := range []float64{.5, 1, 2} {
		rows(withDifferences(pooledClaims(t), factor), func(name string, m *Measurement) {
			if _, oneSided := m.rule.oneSided(); !oneSided || m.rule.bound != nil || !m.Ours.Repeated() {
				return
			}
			judged++
			if e := best(m); m.rule.judge(e, nil).Size != Matters {
				t.Errorf("%s: with the smallest difference %g even %g does not matter: %s", name, m.Smallest, e.Mean, m.Text)
			}
		})
	}
	if judged < 100 {
		t.Errorf("%d rows", judged)
	}
}

// Ten draws with as many repetitions as the pilot, draw 20, distinguish the smallest difference
// that matters from 0.
func TestPilotHasPower(t *testing.T) {
	const draws = 10
	cannot := []string{"27b"} // the smallest difference is the rounding error of a printed number, on one data set
	pilot := readDraws(t, filepath.Join("testdata", "pilot.csv"), 20)
	if len(pilot) != 1 {
		t.Fatalf("%d draws", len(pilot))
	}
	judged := 0
	rows(keptClaims(t), func(name string, m *Measurement) {
		e, is := pilot[0][name][partOurs]
		if !is || !e.Repeated() {
			return
		}
		m.Ours = e
		if beyond, is := pilot[0][name][partBeyond]; is {
			m.Beyond = &beyond
		}
		judged++
		slack := 1 + 2/math.Sqrt(2*float64(e.N)) // as in TestRecordedDrawsHavePower
		if tells := m.Tells() / math.Sqrt(draws); tells > slack*m.Smallest != slices.Contains(cannot, name) {
			t.Errorf("%s: ten times %d repetitions tell %.3g from none, and %.3g matters: %s", name, e.N, tells, m.Smallest, m.Text)
		}
	})
	if judged < 4 {
		t.Errorf("the pilot has %d rows with repetitions", judged)
	}
}
