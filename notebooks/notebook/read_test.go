package notebook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cvgm/cvgm/experiment/mydata"
	"cvgm/notebooks/source"
)

// A result is computed again if the content of its file changes, because the record has the file's
// digest.
func TestReadOfAFile(t *testing.T) {
	newCell(t)
	store, record := t.TempDir(), filepath.Join(t.TempDir(), "record")
	t.Setenv(StoreVar, store)
	p := mydata.DefaultMyData()
	p.File, p.CurvePoints, p.SurfacePoints, p.OuterFolds = filepath.Join(t.TempDir(), "a.csv"), 2, 2, 0
	losses := map[float64]bool{}
	for _, text := range []string{"x,y\n1,2\n2,3\n3,5\n4,4\n5,6\n", "x,y\n1,2\n2,3\n3,5\n4,4\n5,7\n", "x,y\n1,2\n2,3\n3,5\n4,4\n5,6\n"} {
		if err := os.WriteFile(p.File, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		losses[Compute(Read(p)).Models[0].Loss] = true
	}
	if found, err := os.ReadDir(store); len(losses) != 2 || err != nil || len(found) != 2 {
		t.Errorf("losses %v, %d results in the store, %v", losses, len(found), err)
	}
	t.Setenv(RecordVar, record)
	read, err := readFile(p)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(record)
	if want := `{"file":"` + p.File + `","sha256":"` + read.Digest + `"}`; err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("recorded %s, want %s", text, want)
	}
	// A relative path begins at the root of the checkout.
	root, err := source.Root()
	if err != nil {
		t.Fatal(err)
	}
	p.File = "no/such.csv"
	if _, err := readFile(p); err == nil || !strings.Contains(err.Error(), filepath.Join(root, "no", "such.csv")) {
		t.Errorf("error %v", err)
	}
	t.Setenv(ParamsVar, `{"File": "no/such.csv"}`)
	if _, err := readFile(p); err == nil || !strings.HasPrefix(err.Error(), `-p: File is "`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
