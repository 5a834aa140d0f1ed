package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Errors that only another system has are found: in files of that system, in their tests, and in
// constants that its int does not hold.
func TestErrorsOfAnotherSystem(t *testing.T) {
	for _, c := range []struct{ goos, goarch, name, text, want string }{
		{"windows", "arm64", "a_windows.go", "package a\n\nvar x int = \"\"\n", "cannot use"},
		{"windows", "arm64", "a_windows_test.go", "package a_test\n\nimport (\n\t\"testing\"\n\n\t\"m\"\n)\n\nfunc TestA(t *testing.T) { a.Missing() }\n", "undefined: a.Missing"},
		{"linux", "386", "a_more.go", "package a\n\nvar x = 1 << 40\n", "overflows"},
		{"darwin", "arm64", "a_darwin.go", "package a\n\nimport \"os\"\n", "imported and not used"},
		{"darwin", "arm64", "a_linux.go", "package a\n\nvar x int = \"\"\n", ""},
		{"linux", "amd64", "a_more.go", "package a\n\nvar x = 1 << 40\n", ""},
	} {
		t.Run(c.goos+" "+c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"go.mod": "module m\n\ngo 1.25\n",
				"a.go":   "package a\n\nimport \"strings\"\n\nvar _ = strings.ToUpper\n",
				c.name:   c.text,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			t.Setenv("GOOS", c.goos)
			t.Setenv("GOARCH", c.goarch)
			t.Setenv("CGO_ENABLED", "0")
			t.Setenv("GOFLAGS", "")
			errs, err := errorsOf(c.goarch, []string{"./..."})
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, err := range errs {
				found = append(found, err.Error())
			}
			if c.want == "" && len(found) > 0 || c.want != "" && !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("found %q", found)
			}
		})
	}
}
