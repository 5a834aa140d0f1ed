package claims

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Record holds the measurements of one draw of the data. Record[row][part] is the estimate for
// one part of a row. The key row is the name of the row in the table of claims, such as 28d.
type Record map[string]map[string]experiment.Estimate

// These constants are the names of the parts of a row in a Record.
const (
	partOurs    = "here"
	partBeyond  = "beyond the bound"
	partBound   = "bound"
	partControl = "control"
)

// parts returns pointers to the estimates of a row, by part.
func (m *Measurement) parts() map[string]*experiment.Estimate {
	all := map[string]*experiment.Estimate{partOurs: &m.Ours}
	if m.Beyond != nil {
		all[partBeyond] = m.Beyond
	}
	if m.rule.bound != nil {
		all[partBound] = m.rule.bound
	}
	if m.Control != nil {
		all[partControl] = &m.Control.Ours
	}
	return all
}

// RowName returns the name of measurement k of claim i, both counted from 0.
func RowName(i, k int) string { return fmt.Sprintf("%d%c", i+1, 'a'+k) }

// The function rows calls the function f for each measurement.
func rows(claims []Claim, f func(name string, m *Measurement)) {
	for i := range claims {
		for k := range claims[i].Measured {
			f(RowName(claims[i].Number-1, k), &claims[i].Measured[k])
		}
	}
}

// RecordOf returns the claims' measurements.
func RecordOf(claims []Claim) Record {
	r := make(Record)
	rows(claims, func(name string, m *Measurement) {
		r[name] = make(map[string]experiment.Estimate)
		for part, e := range m.parts() {
			r[name][part] = *e
		}
	})
	return r
}

// An estimate counts as unchanged if its change is at most unmovedError standard errors. For an
// estimate that is computed once, the bound is unmovedSize times its value. Rounding causes smaller
// changes. Other data, other splits or other search steps cause larger changes.
const (
	unmovedError = .1
	unmovedSize  = 1e-6
)

// Moved returns the names of the rows with changed estimates. It compares the estimates on draw 0
// with the record draw0. An estimate has changed if it differs from the record by more than a tenth
// of its standard error. For an estimate that is computed once, the limit is a millionth of its
// value. Moved omits times, and rows that are not in the record.
func Moved(claims []Claim, draw0 Record) []string {
	var moved []string
	rows(claims, func(name string, m *Measurement) {
		was, ok := draw0[name][partOurs]
		if m.timed || !ok {
			return
		}
		allowed := unmovedSize * math.Abs(was.Mean)
		if was.Repeated() {
			allowed = max(allowed, unmovedError*was.SE())
		}
		if math.IsNaN(m.Ours.Mean) != math.IsNaN(was.Mean) || math.Abs(m.Ours.Mean-was.Mean) > allowed {
			moved = append(moved, name)
		}
	})
	return moved
}

// Pool judges the claims anew, from the repetitions of all draws together. The texts, the settings,
// the rules and the scales of the intervals come from the given claims. If there are no draws, Pool
// returns an error. If a draw lacks a row or a part of a row, Pool also returns an error, because
// the record comes from another version of the program.
func Pool(claims []Claim, draws []Record) ([]Claim, error) {
	if len(draws) == 0 {
		return nil, errors.New("claims: no draw to pool: record some")
	}
	pooled := make([]Claim, len(claims))
	for i, c := range claims {
		c.Measured = slices.Clone(c.Measured)
		pooled[i] = c
	}
	var err error
	rows(pooled, func(name string, m *Measurement) {
		if math.IsNaN(m.Ours.Mean) || m.timed {
			return
		}
		of := make(map[string][]experiment.Estimate)
		for d, r := range draws {
			for part, here := range m.parts() {
				e, ok := r[name][part]
				if !ok && err == nil {
					err = fmt.Errorf("claims: draw %d has no %q of row %s: record all draws again", d, part, name)
				}
				e.Scale = here.Scale
				of[part] = append(of[part], e)
			}
		}
		all := make(map[string]experiment.Estimate)
		for part, estimates := range of {
			e, failed := experiment.Pool(estimates...)
			if failed != nil && err == nil {
				err = fmt.Errorf("claims: %q of row %s: %w", part, name, failed)
			}
			all[part] = e
		}
		if err == nil {
			m.pool(of, all)
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range pooled {
		pooled[i].judge()
	}
	return pooled, nil
}

// pool judges the row anew, from the estimates of all draws. For a part of the row, byPart[part]
// holds the estimates of the draws, and pooled[part] holds their pooled estimate.
func (m *Measurement) pool(byPart map[string][]experiment.Estimate, pooled map[string]experiment.Estimate) {
	oneDraw := *m // holds the estimates of one draw after the other
	m.Ours = pooled[partOurs]
	if m.Control != nil {
		control := *m.Control
		control.Ours = pooled[partControl]
		m.Control = &control
	}
	if m.Beyond != nil {
		beyond := pooled[partBeyond]
		m.Beyond = &beyond
	}
	if m.rule.bound != nil {
		m.setRule(m.rule.withBound(pooled[partBound]))
	}
	m.judge()
	d := Draws{N: len(byPart[partOurs])}
	for k, ours := range byPart[partOurs] {
		oneDraw.Ours = ours
		if oneDraw.rule.bound != nil {
			oneDraw.rule = oneDraw.rule.withBound(byPart[partBound][k])
		}
		if oneDraw.Beyond != nil {
			oneDraw.Beyond = &byPart[partBeyond][k]
		}
		if oneDraw.rule.judge(oneDraw.Ours, oneDraw.Beyond).Verdict != m.Verdict {
			d.Flips++
		}
		d.Expected += oneDraw.flipProbability(m)
	}
	d.Chance = 1
	if d.Flips > 0 {
		d.Chance = 1 - distuv.Binomial{N: float64(d.N), P: d.Expected / float64(d.N)}.CDF(float64(d.Flips-1))
	}
	m.Draws = &d
}

// withBound returns the rule with the measured bound replaced.
func (r rule) withBound(bound experiment.Estimate) rule {
	other := littleBound(bound, r.badChoice)
	other.ifHolds, other.ifFails = r.ifHolds, r.ifFails
	return other
}

// flipProbability returns the probability that the verdict on a single draw differs from the
// verdict on the pooled draws. It assumes that the pooled estimate is the true value. It also
// assumes that the estimate of a draw is normally distributed around this value, with the standard
// error of m. The probability is a mean over quantiles of this distribution.
func (m Measurement) flipProbability(pooled *Measurement) float64 {
	const points = 200
	beyond, n := m.Beyond, 0
	spread := m.Ours.SE()
	if !m.Ours.Repeated() && pooled.Ours.Repeated() { // computed once in each draw, so the draws are the repetitions
		spread = experiment.Deviation(pooled.Ours)
	}
	for k := range points {
		z := distuv.UnitNormal.Quantile((float64(k) + .5) / points)
		ours := m.Ours
		ours.Mean = pooled.Ours.Shifted(z, spread).Mean
		if beyond != nil {
			shifted := *m.Beyond
			shifted.Mean = pooled.Beyond.Shifted(z, m.Beyond.SE()).Mean
			beyond = &shifted
		}
		if m.rule.judge(ours, beyond).Verdict != pooled.Verdict {
			n++
		}
	}
	return float64(n) / points
}

var recordHeader = []string{"draw", "row", "part", "mean", "margin", "repetitions", "scale"}

// Write writes the record of a draw as CSV with a heading.
func (r Record) Write(w io.Writer, draw int) error {
	c := csv.NewWriter(w)
	_ = c.Write(recordHeader) // Error reports the error of Write or Flush
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, name := range slices.SortedFunc(maps.Keys(r), compareRows) {
		for _, part := range slices.Sorted(maps.Keys(r[name])) {
			e := r[name][part]
			_ = c.Write([]string{strconv.Itoa(draw), name, part, exact(e.Mean), exact(e.Margin), strconv.Itoa(e.N), strconv.Itoa(int(e.Scale))})
		}
	}
	c.Flush()
	return c.Error()
}

// compareRows orders the names of rows as they are ordered in the table of claims: 9a, 9b, 10a.
func compareRows(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

// recordAgain is the remedy for damaged records.
const recordAgain = "restore the file, or record all draws again"

// ReadRecords reads the records of consecutive draws from one table with one heading. It returns
// the records in the order of the draws, and the number of the first draw. It skips lines that
// begin with #. It returns an error for a line that [Record.Write] cannot have written. If two
// lines have the same draw, row and part of the row, it also returns an error.
func ReadRecords(from io.Reader) (draws []Record, first int, err error) {
	c := csv.NewReader(from)
	c.Comment = '#'
	lines, err := c.ReadAll()
	switch {
	case err != nil || len(lines) == 0 || !slices.Equal(lines[0], recordHeader):
		return nil, 0, fmt.Errorf("claims: records of draws: not a table of %v (%v): %s", recordHeader, err, recordAgain)
	case len(lines) == 1:
		return nil, 0, errors.New("claims: records of draws: there is none below the heading")
	}
	for k, line := range lines[1:] {
		draw, name, part, e, err := readRecord(line)
		switch last := first + len(draws) - 1; {
		case err != nil:
		case draws == nil:
			draws, first = []Record{make(Record)}, draw
		case draw == last+1:
			draws = append(draws, make(Record))
		case draw != last:
			err = fmt.Errorf("draw %d after draw %d", draw, last)
		case hasPart(draws[len(draws)-1], name, part):
			err = fmt.Errorf("%q of row %s is there twice", part, name)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("claims: records of draws: record %d: %w: %s", k+1, err, recordAgain)
		}
		r := draws[len(draws)-1]
		if r[name] == nil {
			r[name] = make(map[string]experiment.Estimate)
		}
		r[name][part] = e
	}
	return draws, first, nil
}

func hasPart(r Record, name, part string) bool {
	_, is := r[name][part]
	return is
}

// readRecord parses a line of Write.
func readRecord(line []string) (draw int, name, part string, e experiment.Estimate, err error) {
	var scale int
	for _, f := range []struct {
		text string
		to   any
	}{{line[0], &draw}, {line[3], &e.Mean}, {line[4], &e.Margin}, {line[5], &e.N}, {line[6], &scale}} {
		var failed error
		switch to := f.to.(type) {
		case *int:
			*to, failed = strconv.Atoi(f.text)
		case *float64:
			*to, failed = strconv.ParseFloat(f.text, 64)
		}
		if failed != nil {
			return 0, "", "", e, fmt.Errorf("%q is not a number", f.text)
		}
	}
	e.Scale = experiment.Scale(scale)
	return draw, line[1], line[2], e, e.Check()
}
