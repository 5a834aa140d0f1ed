package synth_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// readJSON sets v from a file in testdata, and decompresses a file with the ending .gz.
func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		dec = json.NewDecoder(z)
	}
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
}

// wantClose fails the test if an entry of got differs from want by more than tol·(1+|want|). Its
// errors begin with the quantity.
func wantClose(t testing.TB, quantity string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", quantity, len(got), len(want))
	}
	for i, w := range want {
		if d := math.Abs(got[i] - w); !(d <= tol*(1+math.Abs(w))) {
			t.Fatalf("%s[%d] = %v, want %v (difference %.3g)", quantity, i, got[i], w, d)
		}
	}
}

// wantRows is wantClose for the rows of a matrix.
func wantRows(t testing.TB, quantity string, got *mat.Dense, want [][]float64, tol float64) {
	t.Helper()
	if r, c := got.Dims(); r < len(want) || c != len(want[0]) {
		t.Fatalf("%s is %d×%d, want %d×%d", quantity, r, c, len(want), len(want[0]))
	}
	for i, row := range want {
		wantClose(t, quantity, got.RawRowView(i), row, tol)
	}
}

// checkFuzzed fails the test unless err is an ArgError, or err is nil and the data is finite.
func checkFuzzed(t testing.TB, d synth.Data, err error) {
	t.Helper()
	if err != nil {
		var arg *synth.ArgError
		if !errors.As(err, &arg) {
			t.Fatalf("error %v is no ArgError", err)
		}
		return
	}
	for _, v := range slices.Concat(d.X.RawMatrix().Data, d.Y) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("data holds %v", v)
		}
	}
}
