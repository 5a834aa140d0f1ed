package runner_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestRunnerLogic runs the tests of the runner that need no kernel.
func TestRunnerLogic(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH")
	}
	// Each file is examined, because Go runs a cached test again only if an examined file changes.
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".py", ".txt", ".mod"}, filepath.Ext(path)) {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	trials, err := filepath.Glob(filepath.Join("..", "..", "cvgm", "tune", "testdata", "tune_trials", "*.csv"))
	if err != nil || len(trials) == 0 {
		t.Fatal(trials, err)
	}
	for _, name := range append(trials, filepath.Join("..", "..", "README.md"), filepath.Join("..", "..", "cvgm", "tune", "README.md"), filepath.Join("..", "..", "go.mod")) {
		if _, err := os.Stat(name); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(python, "-I", "test_logic.py").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
