package tune

import (
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/stat"
)

var (
	tuneSets   = flag.Int("sets", 30, "data sets of the trials of Tuner; above 30 they have the sizes that the README's numbers are for")
	tuneReport = flag.String("report", "", "folder of the tables of the trials of Tuner: each row is appended as soon as it is there, and a trial takes the rows that are there already, if the present sources made them")
	tuneAgain  = flag.Int("again", 0, "sets whose kept rows are computed again and compared")
	tuneChoice = flag.String("choice", "", "text, such as a commit's hash, that chooses the sets of -again")
)

// keptRows is the folder of tables. The numbers of README come from these tables.
const keptRows = "testdata/tune_trials"

// A trialTable maps the number of a data set to its row, which ends with a hash of the sources.
type trialTable struct {
	columns []string
	rows    map[int][]string
}

func (tr tuneTrial) table() *trialTable {
	return &trialTable{slices.Concat([]string{"set", "trait", "N", "n"}, tr.columns, []string{"source"}), map[int][]string{}}
}

// rowSource returns a hash of the Go files and of go.mod that determine a row. Comments and layout
// do not change the hash.
func rowSource(size trialSize) (string, error) {
	if size == smallTrial {
		return smallSource()
	}
	return hashSources(size, "../..")
}

// smallSource returns the hash for small trials, which several tests share.
var smallSource = sync.OnceValues(func() (string, error) { return hashSources(smallTrial, "../..") })

// hashSources computes rowSource for a module in the folder root.
func hashSources(size trialSize, root string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, size)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	h.Write(mod)
	for packages := []string{"cvgm/cvgm/tune"}; len(packages) > 0; {
		var imported []string
		for _, p := range packages {
			i, err := hashPackage(h, root, strings.TrimPrefix(p, "cvgm/"))
			if err != nil {
				return "", err
			}
			imported = append(imported, i...)
		}
		slices.Sort(imported)
		packages = slices.Compact(imported) // imports have no circles
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:12], nil
}

// hashPackage hashes the Go files of a folder and returns the packages of this module that they
// import.
func hashPackage(h io.Writer, root, folder string) (imported []string, err error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no Go files in %s (%v)", folder, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") && filepath.Base(name) != "trial_test.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(h, folder, filepath.Base(name))
		hashTokens(h, text)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, i := range file.Imports {
			if path := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(path, "cvgm/") {
				imported = append(imported, path)
			}
		}
	}
	return imported, nil
}

func hashTokens(h io.Writer, text []byte) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	for {
		_, kind, literal := s.Scan()
		if kind == token.EOF {
			return
		}
		if kind == token.SEMICOLON { // written, or the end of a line
			literal = ""
		}
		fmt.Fprintf(h, "%v %q\n", kind, literal)
	}
}

// workersFor returns 1 for few sets, and 0 for many sets, which means one worker per processor. The
// race detector skips a trial of few sets.
func workersFor(t *testing.T, few bool) int {
	t.Helper()
	if !few {
		return 0
	}
	serial.Test(t)
	return 1
}

// runTrial computes the rows of a trial, and keeps them in a file if a folder is given.
func runTrial(t *testing.T, tr tuneTrial, workers int) *trialTable {
	size := smallTrial
	if *tuneSets > 30 {
		size = fullTrial
	}
	table, source := tr.table(), ""
	out := io.Discard
	file := filepath.Join(*tuneReport, tr.file)
	if *tuneReport != "" {
		source = casetest.Must(rowSource(size))(t)
		if err := table.readFile(file); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out = f
	}
	var mu sync.Mutex
	err := qpdiff.ForEach(workers, *tuneSets, func(k int) error {
		mu.Lock()
		kept := table.rows[k]
		mu.Unlock()
		if kept != nil && kept[len(kept)-1] == source {
			return nil
		}
		row, err := tr.row(t.Context(), k, size)
		if err != nil {
			return err
		}
		row = append(row, source)
		mu.Lock()
		defer mu.Unlock()
		table.rows[k] = row
		_, err = fmt.Fprintln(out, strings.Join(row, ","))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if *tuneReport != "" {
		if err := os.WriteFile(file, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// readFile reads the rows of a file, if the file exists. A later row replaces an earlier row of the
// same set.
func (t *trialTable) readFile(file string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment, r.FieldsPerRecord = '#', len(t.columns)
	rows, err := r.ReadAll()
	for _, row := range rows {
		if k, err := strconv.Atoi(row[0]); err == nil { // not the head
			t.rows[k] = row
		}
	}
	return err
}

func (t *trialTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# go test ./cvgm/tune -run 'TestTune(Finds|Risk)' -sets %d -timeout 0 -v -report %s\n%s\n", *tuneSets, keptRows, strings.Join(t.columns, ","))
	for k := range *tuneSets {
		fmt.Fprintln(&b, strings.Join(t.rows[k], ","))
	}
	return b.String()
}

// text returns the cell of set k in a column.
func (t *trialTable) text(k int, column string) string {
	return t.rows[k][slices.Index(t.columns, column)]
}

func (t *trialTable) number(k int, column string) float64 {
	v, err := strconv.ParseFloat(t.text(k, column), 64)
	if err != nil {
		panic(err)
	}
	return v
}

// countCells returns the number of rows with the given cell in a column.
func (t *trialTable) countCells(column, cell string) int {
	count := 0
	for k := range t.rows {
		if t.text(k, column) == cell {
			count++
		}
	}
	return count
}

// name describes set k.
func (t *trialTable) name(k int) string {
	return fmt.Sprintf("%d %s N=%s n=%s", k, t.text(k, "trait"), t.text(k, "N"), t.text(k, "n"))
}

// processorTol is the largest accepted difference between losses on two processors,
// because rounding moves the end of a search.
const processorTol = 1e-3

// cellDifferences describes the cells in which a new row differs from the kept row. If exact is
// false, losses may differ by processorTol.
func (t *trialTable) cellDifferences(kept, now []string, exact bool) []string {
	var all []string
	for i, column := range t.columns[:len(t.columns)-1] {
		same := kept[i] == now[i]
		if estimate := strings.HasPrefix(column, "risk") || strings.HasPrefix(column, "difference"); !exact && (column == "excess" || estimate && !strings.HasSuffix(column, "held")) {
			a, errA := strconv.ParseFloat(kept[i], 64)
			b, errB := strconv.ParseFloat(now[i], 64)
			same = errA == nil && errB == nil && math.Abs(a-b) <= processorTol*max(1, math.Abs(a))
		} else if !exact && i >= 4 {
			same = true
		}
		if !same {
			all = append(all, fmt.Sprintf("%s is %s, kept as %s", column, now[i], kept[i]))
		}
	}
	return all
}

// Kept rows, which -choice selects at random, equal rows computed by the present sources.
func TestTuneRowsAgain(t *testing.T) {
	if *tuneAgain == 0 {
		t.Skip("-again computes kept rows again")
	}
	seed := sha256.Sum256([]byte(*tuneChoice))
	rng := rand.New(rand.NewChaCha8(seed))
	for _, tr := range []tuneTrial{findsTrial, risksTrial, shuffledTrial} {
		table := tr.table()
		casetest.OK(t, table.readFile(filepath.Join(keptRows, tr.file)))
		sets := rng.Perm(len(table.rows))[:*tuneAgain]
		slices.Sort(sets)
		t.Logf("%s: sets %v", tr.file, sets)
		err := qpdiff.ForEach(0, len(sets), func(i int) error {
			kept := table.rows[sets[i]]
			if kept == nil {
				return fmt.Errorf("no row of set %d", sets[i])
			}
			now, err := tr.row(t.Context(), sets[i], fullTrial)
			if err == nil {
				for _, d := range table.cellDifferences(kept, now, runtime.GOOS+"/"+runtime.GOARCH == "linux/amd64") {
					t.Errorf("%s, set %s: %s", tr.file, table.name(sets[i]), d)
				}
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", tr.file, err)
		}
	}
}

func TestTuneRowsDiffer(t *testing.T) {
	table := findsTrial.table()
	kept := strings.Split("7,noise,40,3,0.00010,52,0.1 0.2,0.1 0.3,,aaa", ",")
	for _, c := range []struct {
		cell             int
		now              string
		exactly, rounded int
	}{
		{9, "bbb", 0, 0}, // other sources alone are no difference
		{4, "0.00011", 1, 0},
		{4, fmt.Sprint(.0001 + .9*processorTol), 1, 0},
		{4, fmt.Sprint(.0001 + 1.1*processorTol), 1, 1},
		{4, "NaN", 1, 1},
		{5, "53", 1, 0},
		{8, "budget", 1, 0},
		{2, "41", 1, 1},
	} {
		now := slices.Clone(kept)
		now[c.cell] = c.now
		if exactly, rounded := table.cellDifferences(kept, now, true), table.cellDifferences(kept, now, false); len(exactly) != c.exactly || len(rounded) != c.rounded {
			t.Errorf("%s %s: %q and with another rounding %q", table.columns[c.cell], c.now, exactly, rounded)
		}
	}
}

// The hash of the sources changes if and only if the code that computes a row changes.
func TestTuneRowsGoStale(t *testing.T) {
	root := t.TempDir()
	hash := func() string {
		sum := casetest.Must(hashSources(fullTrial, root))(t)
		return sum
	}
	write := func(name, text string) {
		file := filepath.Join(root, name)
		casetest.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		casetest.OK(t, os.WriteFile(file, []byte(text), 0o644))
	}
	write("go.mod", "module cvgm\n")
	write("cvgm/tune/a.go", "package tune\n\nimport \"cvgm/qpdiff\"\n\nvar a = 1\n")
	write("qpdiff/b.go", "package qpdiff\n\nimport \"cvgm/qpdiff/learn\"\n")
	write("qpdiff/learn/c.go", "package learn\n")
	write("figures/d.go", "package figures\n")
	last := hash()
	for _, c := range []struct {
		name, text string
		stale      bool
	}{
		{"cvgm/tune/a.go", "// Package tune.\npackage tune\n\nimport \"cvgm/qpdiff\"\n\n\nvar a   = 1 // one\n", false},
		{"cvgm/tune/a_test.go", "package tune\n", false},
		{"cvgm/tune/a.go", "package tune\n\nimport \"cvgm/qpdiff\"\n\nvar a = 2\n", true},
		{"qpdiff/b.go", "package qpdiff\n\nimport \"cvgm/qpdiff/learn\"\n\nfunc b() {}\n", true},
		{"qpdiff/learn/c.go", "package learn\n\nfunc c() {}\n", true},
		{"figures/d.go", "package figures\n\nfunc d() {}\n", false},
		{"cvgm/tune/trial_test.go", "package tune\n", true},
		{"go.mod", "module cvgm\n\nrequire x v1.0.1\n", true},
	} {
		write(c.name, c.text)
		now := hash()
		if stale := now != last; stale != c.stale {
			t.Errorf("%s %q: stale %v", c.name, c.text, stale)
		}
		last = now
	}
	small, err := hashSources(smallTrial, root)
	if err != nil || small == last {
		t.Errorf("rows of another size pass (%v)", err)
	}
}

// A trial keeps the rows of the present sources and computes all other rows.
func TestTuneRowsOfOtherSourcesAreComputed(t *testing.T) {
	serial.Test(t)
	defer func(sets int, report string) { *tuneSets, *tuneReport = sets, report }(*tuneSets, *tuneReport)
	*tuneSets, *tuneReport = 2, t.TempDir()
	source := casetest.Must(rowSource(smallTrial))(t)
	rows := "0,kept,40,3,0,1,0,0,," + source + "\n1,kept,40,3,0,1,0,0,,123456789abc\n"
	file := filepath.Join(*tuneReport, findsTrial.file)
	casetest.OK(t, os.WriteFile(file, []byte(rows), 0o644))
	runTrial(t, findsTrial, 1)
	after := findsTrial.table()
	casetest.OK(t, after.readFile(file))
	if after.text(0, "trait") != "kept" || after.text(1, "trait") == "kept" || after.text(1, "source") != source {
		t.Errorf("rows %v", after.rows)
	}
}

// Tune ends near the lowest CV loss of random search and grid search, after far fewer evaluations.
func TestTuneFindsTheMinimum(t *testing.T) {
	table := runTrial(t, findsTrial, 0) // also for the race detector, which the other trials do without
	var far []string
	var counts []float64
	for k := range *tuneSets {
		if table.number(k, "excess") > nearLowest {
			far = append(far, fmt.Sprintf("%s: %s above, after %s evaluations, at %s, the lowest at %s: %s", table.name(k), table.text(k, "excess"), table.text(k, "evaluations"), table.text(k, "end"), table.text(k, "lowest"), table.text(k, "cause")))
		}
		counts = append(counts, table.number(k, "evaluations"))
	}
	slices.Sort(counts)
	median := stat.Quantile(.5, stat.Empirical, counts, nil)
	t.Logf("%d sets; %d further than %g of the constant prediction's CV loss from the lowest; evaluations: median %v, at most %v\n%s",
		*tuneSets, len(far), nearLowest, median, counts[len(counts)-1], strings.Join(far, "\n"))
	if 20*len(far) > *tuneSets+10 || median > 60 {
		t.Errorf("too many, or too slow")
	}
}

// The intervals of the nested estimate contain the true risk as often as their level requires.
func TestTuneRiskIntervals(t *testing.T) { judgeRisks(t, risksTrial) }

// If labels and features are independent, the nested estimate rarely decides that tuning is better.
func TestTuneRiskShuffled(t *testing.T) {
	table := judgeRisks(t, shuffledTrial)
	if improved := table.countCells("verdict", "tuned is lower than default"); 20*improved > *tuneSets {
		t.Errorf("%d of %d shuffled sets are called improved", improved, *tuneSets)
	}
}

func judgeRisks(t *testing.T, tr tuneTrial) *trialTable {
	t.Helper()
	casetest.Trial(t)
	table := runTrial(t, tr, workersFor(t, *tuneSets <= 30))
	held := func(column string) int { return table.countCells(column, "true") }
	var misses []string
	lower, wrong := 0, 0
	for k := range *tuneSets {
		if table.text(k, "risk held") == "false" {
			misses = append(misses, fmt.Sprintf("%s: risk %s, estimate %s [%s, %s]", table.name(k), table.text(k, "risk of the outer models"), table.text(k, "risk"), table.text(k, "risk low"), table.text(k, "risk high")))
		}
		if table.number(k, "difference high") < 0 {
			lower++
			if table.number(k, "difference of the final models") >= 0 {
				wrong++
			}
		}
	}
	t.Logf("%d sets; of the intervals of the risk %d hold that of the outer models and %d that of the final one, of the intervals of the difference to the default %d and %d; %d called lower than the default (%d wrongly), %d of them lower than the constant prediction, %d higher than the default\n%s",
		*tuneSets, held("risk held"), held("final risk held"), held("difference held"), held("final difference held"),
		lower, wrong, table.countCells("verdict", "tuned is lower than default"), table.countCells("verdict", "tuned is higher than default"), strings.Join(misses, "\n"))
	const claim = .95
	sets := float64(*tuneSets)
	least := claim*sets - 3*math.Sqrt(claim*(1-claim)*sets)
	for _, column := range []string{"risk held", "difference held"} {
		if float64(held(column)) < least {
			t.Errorf("%s: %d of %d, less than %.0f", column, held(column), *tuneSets, least)
		}
	}
	return table
}
