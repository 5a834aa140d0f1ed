package runner_test

import (
	"os/exec"
	"testing"
)

// The runner's own tests of what needs no kernel.
func TestRunnerLogic(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on PATH")
	}
	out, err := exec.Command(python, "-I", "test_logic.py").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
