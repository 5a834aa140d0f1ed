package notebook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cvgm/cvgm/experiment/kernels"
)

// While the mark exists, Params returns an error. Accept removes the mark.
func TestAcceptRemovesTheMark(t *testing.T) {
	newCell(t)
	folder := t.TempDir()
	t.Setenv(kernelFolderVar, folder)
	mark := filepath.Join(folder, unaccepted)
	calls := 0
	params := func() (kernels.RingsParams, int) {
		p := kernels.DefaultRings()
		Params(&p)
		calls++
		return p, calls
	}
	if err := refuseUnaccepted(); err != nil {
		t.Errorf("without a mark: %v", err)
	}
	for range 2 { // once with a mark, and once without, as in a copy without marks
		if err := accept(params); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := refuseUnaccepted(); err == nil || err.Error() != "the cell of params() did not run to its end: correct it and run it again" {
			t.Errorf("with a mark: %v", err)
		}
		if err := accept(params); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(mark); !os.IsNotExist(err) {
			t.Errorf("the mark was not removed: %v", err)
		}
		if err := refuseUnaccepted(); err != nil {
			t.Errorf("after Accept: %v", err)
		}
	}
	if calls != 4 {
		t.Errorf("params was called %d times", calls)
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []any{nil, 3, func(int) {}, kernels.DefaultRings()} {
		if err := accept(wrong); err == nil || !strings.HasSuffix(err.Error(), ": pass a function without arguments") {
			t.Errorf("%T: %v", wrong, err)
		}
	}
	// If params panics, the mark remains.
	func() {
		defer func() { _ = recover() }()
		_ = accept(func() { panic("out of range") })
	}()
	if err := refuseUnaccepted(); err == nil {
		t.Error("the mark was removed after a panic")
	}
	t.Setenv(kernelFolderVar, "")
	if err := refuseUnaccepted(); err != nil {
		t.Errorf("outside a kernel: %v", err)
	}
	if err := accept(params); err != nil {
		t.Errorf("outside a kernel: %v", err)
	}
}

// A cell of parameters that other cells use begins with the unaccepted file and ends with Accept.
// Cells without declarations need neither.
func TestCellsOfParametersAccept(t *testing.T) {
	const (
		first = "!*touch " + unaccepted + " # until the last line of this cell has run\n"
		last  = "\n}\n\n%%\nnotebook.Accept(params)"
	)
	found := 0
	for name, all := range cellsOf(t, "*.ipynb") {
		for _, c := range all {
			if text := c.text(); strings.Contains(text, "notebook.Params(") {
				found++
				if !strings.HasPrefix(text, "%%\n") && !(strings.HasPrefix(text, first) && strings.HasSuffix(text, last)) {
					t.Errorf("%s: a cell of parameters begins with %q and ends with %q; this is\n%s", name, first, last, text)
				}
			}
		}
	}
	if found < 9 {
		t.Errorf("%d cells of parameters", found)
	}
}
