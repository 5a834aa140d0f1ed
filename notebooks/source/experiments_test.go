package source

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScratchNotebooksAreNoExperiments(t *testing.T) {
	for _, c := range []struct {
		name, steps, want string
	}{
		{"without git", "", "a b x"},
		{"tracked or staged", "init; add go.mod notebooks/a.ipynb; -c user.name=n -c user.email=e commit -m m; add notebooks/Untitled1.ipynb", "Untitled1 a"},
		{"a repository of something else", "init; add notebooks/a.ipynb", "a b x"},
		{"deleted but tracked", "init; add go.mod notebooks; rm -f notebooks/b.ipynb", "Untitled Untitled1 a-Copy1 a x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "a b")
			for _, name := range []string{"a", "b", "x", "Untitled", "Untitled1", "a-Copy1"} {
				writeFile(t, root, "notebooks/"+name+".ipynb", "{}")
			}
			writeFile(t, root, "notebooks/copies/c.ipynb", "{}")
			writeFile(t, root, "go.mod", "module cvgm\n")
			for _, step := range strings.Split(c.steps, "; ") {
				if step == "" {
					continue
				}
				if out, err := exec.Command("git", append([]string{"-C", root}, strings.Fields(step)...)...).CombinedOutput(); err != nil {
					t.Skipf("git %s: %v\n%s", step, err, out)
				}
			}
			found, err := Experiments(root)
			if err != nil {
				t.Fatal(err)
			}
			for i, file := range found {
				found[i] = strings.TrimSuffix(filepath.Base(file), ".ipynb")
			}
			if diff := cmp.Diff(strings.Fields(c.want), found); diff != "" {
				t.Error(diff)
			}
		})
	}
}
