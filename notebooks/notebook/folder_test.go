package notebook

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// A person who opens the folder in JupyterLab sees notebooks and folders.
func TestFolderShowsNotebooks(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"live", "notebook", "runner", "source", "stale"}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, ".") && (path.Ext(name) != ".ipynb" || e.IsDir()) && !slices.Contains(folders, name) {
			t.Errorf("notebooks/%s is neither a notebook nor one of the folders %v", name, folders)
		}
	}
}
