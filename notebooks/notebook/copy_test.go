package notebook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// If ./reproduce.sh refuses a name, only its line is printed.
func TestResetOfAnUnknownName(t *testing.T) {
	const again = "CVGM_TEST_RESET"
	if os.Getenv(again) != "" {
		Reset("no such notebook")
		return
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not on PATH")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestResetOfAnUnknownName$", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), again+"=1")
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || !strings.Contains(text, "no notebook is called") || strings.Count(text, "\n") != 1 {
		t.Errorf("%v: %s", err, text)
	}
}

// A copy is older if the cells of its original have changed. A damaged file, or a file without an
// original in the folder, is no copy.
func TestNewerOriginal(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(root, "notebooks", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	original := `{"cells": [{"cell_type": "markdown", "source": ["a <b> & \"\\ é\n", "\u0001\u2028\\u2029"]}, {"cell_type": "code", "source": "x := 1\n\t// 中 🎲", "outputs": [3]}], "metadata": {}}`
	digest, err := cellsDigest([]byte(original))
	if err != nil {
		t.Fatal(err)
	}
	write("01_net.ipynb", original)
	write("../out.ipynb", `{"cells": []}`)
	copied := func(name, digest string) string {
		return `{"cells": [], "metadata": {"cvgm_copy": {"original": "` + name + `", "digest": "` + digest + `"}}}`
	}
	for text, want := range map[string]string{
		copied("01_net.ipynb", digest): "", copied("01_net.ipynb", "0"): "01_net.ipynb",
		copied("02.ipynb", "0"): "", copied("../../out.ipynb", "0"): "", copied("..", "0"): "",
		original: "", "": "", "[]": "", `{"metadata": {"cvgm_copy": 3}}`: "",
	} {
		if got := newerOriginal(root, write("copies/01_net.ipynb", text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := newerOriginal(root, filepath.Join(root, "nowhere.ipynb")); got != "" {
		t.Errorf("no file: %q", got)
	}
	// The digest depends only on cells. ./reproduce.sh computes the same digest.
	if same, err := cellsDigest([]byte(strings.Replace(original, "[3]", "[4]", 1))); err != nil || same != digest {
		t.Errorf("outputs change the digest (%v)", err)
	}
	const program = "import sys, json; sys.path.insert(0, 'notebooks/runner'); import copies; print(copies.digest(json.load(open(sys.argv[1]))), end='')"
	python := exec.Command("python3", "-B", "-c", program, filepath.Join(root, "notebooks", "01_net.ipynb"))
	python.Dir = filepath.Join("..", "..")
	if out, err := python.Output(); err != nil {
		t.Logf("without Python: %v", err)
	} else if string(out) != digest {
		t.Errorf("digest %s, Python's %s", digest, out)
	}
}
