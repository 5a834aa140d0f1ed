package source

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Experiments returns the notebooks of the checkout root that are experiments, in their order.
// These are the notebooks in its folder notebooks that git tracks. Without git, they are the
// notebooks whose name JupyterLab has not given, such as Untitled1 or 01_net-Copy1. All others are
// scratch notebooks. ./reproduce.sh has the same rule.
func Experiments(root string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb"))
	if err != nil {
		return nil, err
	}
	tracked, git := Tracked(root)
	return slices.DeleteFunc(found, func(file string) bool {
		name := filepath.Base(file)
		if git {
			return !slices.Contains(tracked, "notebooks/"+name)
		}
		return scratch.MatchString(name)
	}), nil
}

var scratch = regexp.MustCompile(`^Untitled|-Copy\d+\.ipynb$`)

// Tracked returns the names below root of the files that git tracks, including staged ones. It also
// returns whether git tracks the checkout at all.
func Tracked(root string) (names []string, git bool) {
	out, err := exec.Command("git", "-c", "safe.directory="+root, "-C", root, "ls-files", "-z").Output()
	names = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	// Without its go.mod the repository is one of something else around the checkout.
	return names, err == nil && slices.Contains(names, "go.mod")
}
