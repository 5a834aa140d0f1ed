package source

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Experiments returns the notebooks of experiments in a checkout, in their order. The argument root
// is the root of the checkout. With git, these notebooks are the tracked notebooks in the folder
// notebooks. Without git, they are all notebooks in this folder, except notebooks with names that
// JupyterLab gives, such as Untitled1 or 01_net-Copy1. All other notebooks are scratch notebooks.
// ./reproduce.sh uses the same rule.
func Experiments(root string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb"))
	if err != nil {
		return nil, err
	}
	tracked, hasGit := Tracked(root)
	return slices.DeleteFunc(found, func(file string) bool {
		name := filepath.Base(file)
		if hasGit {
			return !slices.Contains(tracked, "notebooks/"+name)
		}
		return scratch.MatchString(name)
	}), nil
}

var scratch = regexp.MustCompile(`^Untitled|-Copy\d+\.ipynb$`)

// Tracked returns the files that git tracks, including staged files. The names of the files are
// relative to root. The result hasGit is true if git tracks the checkout.
func Tracked(root string) (names []string, hasGit bool) {
	out, err := exec.Command("git", "-c", "safe.directory="+root, "-C", root, "ls-files", "-z").Output()
	names = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	// If git does not track go.mod, the repository belongs to another project, whose folder
	// contains the checkout.
	return names, err == nil && slices.Contains(names, "go.mod")
}
