package notebook

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport lists, for each package of the module, the others that it may
// import: data walks one way, and no package reaches back.
var mayImport = map[string][]string{
	"cvgm/qpdiff/hostile":     {"cvgm/qpdiff"},
	"cvgm/qpdiff/qpdifftest":  {"cvgm/qpdiff"},
	"cvgm/synth":              nil,
	"cvgm/qpdiff":             nil,
	"cvgm/cvgm":               {"cvgm/qpdiff"},
	"cvgm/cvgm/cvgmtest":      {"cvgm/qpdiff", "cvgm/cvgm"},
	"cvgm/cvgm/experiment":    {"cvgm/qpdiff", "cvgm/cvgm", "cvgm/synth"},
	"cvgm/figures":            {"cvgm/qpdiff", "cvgm/cvgm", "cvgm/cvgm/experiment"},
	"cvgm/notebooks/notebook": {"cvgm/qpdiff", "cvgm/cvgm", "cvgm/synth", "cvgm/cvgm/experiment", "cvgm/figures", "cvgm/notebooks/source"},
	"cvgm/notebooks/source":   nil,
	"cvgm/notebooks/stale":    {"cvgm/notebooks/source"},
	"cvgm/notebooks/runner":   nil, // only tests
	"cvgm/notebooks/live":     {"cvgm/qpdiff", "cvgm/cvgm", "cvgm/synth", "cvgm/cvgm/experiment", "cvgm/figures", "cvgm/notebooks/notebook"},
}

func TestImportsRunOneWay(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "cvgm/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		allowed, known := mayImport[p.ImportPath]
		if !known {
			t.Errorf("package %s has no place in the order of imports; give it one in this test", p.ImportPath)
		}
		seen++
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "cvgm/") && !slices.Contains(allowed, i) {
				t.Errorf("%s imports %s, against the order", p.ImportPath, i)
			}
		}
	}
	if seen < len(mayImport) {
		t.Errorf("go list names %d packages, the order %d", seen, len(mayImport))
	}
}
