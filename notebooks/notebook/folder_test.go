package notebook

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/notebooks/source"
)

// The folder shows only notebooks and folders in JupyterLab, apart from files that git does not
// track.
func TestFolderShowsNotebooks(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	tracked, git := source.Tracked(filepath.Join("..", ".."))
	folders := []string{"copies", "live", "notebook", "peers", "runner", "source", "stale", "store", "worker"}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || e.IsDir() && slices.Contains(folders, name) || !e.IsDir() && (path.Ext(name) == ".ipynb" || name == "README.md") {
			continue
		}
		ours := func(file string) bool {
			return file == "notebooks/"+name || strings.HasPrefix(file, "notebooks/"+name+"/")
		}
		if !git || slices.ContainsFunc(tracked, ours) {
			t.Errorf("notebooks/%s is neither a notebook nor one of the folders %v", name, folders)
		}
	}
}
