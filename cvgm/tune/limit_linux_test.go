package tune

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
)

// limitVariable holds the MaxBytes of a process that TestWithinALimit starts.
const limitVariable = "CVGM_TEST_MAXBYTES"

// TestWithinALimit tests that Tune returns an error if memory does not suffice in a process of at
// most 4 GB of addresses.
//
// As a control, a process without MaxBytes runs out of memory.
func TestWithinALimit(t *testing.T) {
	if most := os.Getenv(limitVariable); most != "" {
		var bytes int64
		fmt.Sscan(most, &bytes)
		withinALimit(t, bytes)
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	for most, want := range map[string]string{"0": "PASS", fmt.Sprint(int64(1) << 60): "out of memory"} {
		command := exec.Command("sh", "-c", `ulimit -v 4000000 && exec "$0" "$@"`, os.Args[0], "-test.run=^TestWithinALimit$", "-test.v")
		command.Env = append(os.Environ(), limitVariable+"="+most, "GOMAXPROCS=1")
		out, err := command.CombinedOutput()
		if !strings.Contains(string(out), want) || (err == nil) != (most == "0") {
			t.Errorf("with MaxBytes %s the process ends with %v: %.4000s", most, err, out)
		}
	}
}

// withinALimit runs TestWithinALimit inside the limited process.
func withinALimit(t *testing.T, most int64) {
	path := filepath.Join(t.TempDir(), "wide.csv")
	casetest.OK(t, os.WriteFile(path, []byte(wideText(12, 20_000)), 0o600))
	data := casetest.Must(table.CSV{Target: "y", MaxBytes: most}.ReadFile(path))(t)
	ctx := context.Background()
	tuner := Tuner{OuterFolds: -1, MaxEvals: 2, MaxBytes: most, Workers: 1}
	for _, l := range []learn.Learner{nil, new(linear.Huber), new(linear.Logistic), new(linear.SparseLogistic), new(margin.SVM)} {
		tuner.Learner, tuner.Loss = l, nil
		if l != nil {
			data.Y = []float64{1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1}
		}
		var want error
		if _, squares := l.(*margin.SVM); squares { // of the number of features
			want = qpdiff.ErrTooLarge
		}
		if _, err := tuner.TuneTable(ctx, data); !errors.Is(err, want) {
			t.Errorf("%T for 20 000 features: %v", l, err)
		}
	}
	tuner.Learner = new(kernel.Ridge)
	if _, err := tuner.Tune(ctx, casetest.Regression(1, 20_000, 2)); !errors.Is(err, qpdiff.ErrTooLarge) {
		t.Errorf("a kernel for 20 000 rows: %v", err)
	}
	// The file has the size of 10⁵ rows of 10⁴ numbers, but only its first rows contain text.
	casetest.OK(t, os.WriteFile(path, []byte(wideText(3, 10_000)), 0o600), os.Truncate(path, 9e9))
	if _, err := (table.CSV{Target: "y", MaxBytes: most}).ReadFile(path); !errors.Is(err, qpdiff.ErrTooLarge) {
		t.Errorf("a file of 9 GB: %v", err)
	}
}

// wideVariable is set in the process that TestWideWithinALimit starts.
const wideVariable = "CVGM_TEST_WIDE"

// widePeakBytes is the largest accepted memory of the process, which needs 300 to 380 MB. A
// needless vector of all features in each split would exceed it.
const widePeakBytes = 430e6

// TestWideWithinALimit tests that Tune needs at most widePeakBytes of memory for 100,000 columns.
func TestWideWithinALimit(t *testing.T) {
	if path := os.Getenv(wideVariable); path != "" {
		data := casetest.Must(table.CSV{Target: "y"}.ReadFile(path))(t)
		casetest.Must(Tuner{OuterFolds: -1, MaxEvals: 12}.TuneTable(t.Context(), data))(t)
		return
	}
	if testing.Short() {
		t.Skip("starts a process")
	}
	path := filepath.Join(t.TempDir(), "wide.csv")
	casetest.OK(t, os.WriteFile(path, []byte(wideText(12, 100_000)), 0o600))
	command := exec.Command("sh", "-c", `ulimit -v 4000000 && exec "$0" "$@"`, os.Args[0], "-test.run=^TestWideWithinALimit$", "-test.v")
	command.Env = append(os.Environ(), wideVariable+"="+path)
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("the process ends with %v: %.4000s", err, out)
	}
	if most := 1024 * command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; most > widePeakBytes {
		t.Errorf("the process held %d bytes", most)
	}
}

// levelsVariable is the environment variable that holds the path of a table for
// TestLevelsWithinALimit.
const levelsVariable = "CVGM_TEST_LEVELS"

// TestLevelsWithinALimit tests that Tune needs no dense copy of a column with many levels.
//
// The process may use 2 GB of addresses, and a dense copy would take 1.4 GB.
func TestLevelsWithinALimit(t *testing.T) {
	if os.Getenv(levelsVariable) != "" {
		levelsWithinALimit(t)
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	path := filepath.Join(t.TempDir(), "levels.csv")
	casetest.OK(t, os.WriteFile(path, []byte(levelsText(rand.New(rand.NewPCG(8, 8)), 20_000, 6, 1500)), 0o600))
	command := exec.Command("sh", "-c", `ulimit -v 2000000 && exec "$0" "$@"`, os.Args[0], "-test.run=^TestLevelsWithinALimit$", "-test.v")
	command.Env = append(os.Environ(), levelsVariable+"="+path, "GOMAXPROCS=1")
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("the process ends with %v: %.4000s", err, out)
	}
}

// levelsWithinALimit runs TestLevelsWithinALimit inside the limited process.
func levelsWithinALimit(t *testing.T) {
	text := string(casetest.Must(os.ReadFile(os.Getenv(levelsVariable)))(t))
	data := readLevels(t, text)
	for _, test := range []struct {
		learner learn.Learner
		bytes   int64
		want    error
	}{{new(linear.ElasticNet), 0, nil}, {new(linear.ElasticNet), 60e6, qpdiff.ErrTooLarge}, {new(linear.Huber), 0, qpdiff.ErrTooLarge}} {
		tuner := Tuner{Learner: test.learner, OuterFolds: -1, MaxEvals: 2, Workers: 1, MaxBytes: test.bytes}
		_, err := tuner.TuneTable(t.Context(), data)
		if !errors.Is(err, test.want) {
			t.Errorf("%T with MaxBytes %d: %v", test.learner, test.bytes, err)
		}
		if named := `9001 features in 5 splits, 1500 of them of column "c0"`; test.want != nil && !strings.Contains(fmt.Sprint(err), named) {
			t.Errorf("%T with MaxBytes %d: the error lacks %q: %v", test.learner, test.bytes, named, err)
		}
	}
}

// wideText returns a CSV of numbers.
func wideText(rows, columns int) string {
	var b strings.Builder
	b.WriteString("y")
	for j := range columns - 1 {
		fmt.Fprintf(&b, ",x%d", j)
	}
	for i := range rows {
		b.WriteByte('\n')
		for j := range columns {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, (i*7919+j*104729)%1000)
		}
	}
	return b.String() + "\n"
}
