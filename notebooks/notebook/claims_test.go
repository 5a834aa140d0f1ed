package notebook

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cvgm/cvgm/experiment/claims"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var keepResults = flag.Bool("keep-results", false, "TestResultsOfTheClaims writes the results that the claims are judged by, less all that no claim reads; those that the store lacks it computes, which takes some minutes")

// TestResultsOfTheClaims writes results that take minutes to a file, which the tests of claims'
// rules read.
func TestResultsOfTheClaims(t *testing.T) {
	if !*keepResults {
		t.Skip("-keep-results writes the file")
	}
	results := Results(ResultsParams{})
	want := claims.Claims(results)
	pruneValue(reflect.ValueOf(&results).Elem(), func() (same bool) {
		defer func() { _ = recover() }() // a claim may read the removed part
		return cmp.Equal(claims.Claims(results), want, equalNaN)
	})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := gob.NewEncoder(z).Encode(&results); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	back, err := gzip.NewReader(bytes.NewReader(packed.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var read claims.Results
	if err := gob.NewDecoder(back).Decode(&read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, claims.Claims(read), equalNaN); diff != "" {
		t.Fatal(diff)
	}
	if err := os.WriteFile(filepath.Join("..", "..", "cvgm", "experiment", "claims", "testdata", "results.gob.gz"), packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", packed.Len())
}

// pruneValue keeps exactly the parts that same needs.
func TestPrune(t *testing.T) {
	type part struct{ A, B []float64 }
	type whole struct {
		P, Q *part
		L    []part
		N    float64
	}
	v := whole{&part{[]float64{1}, []float64{2}}, &part{[]float64{3}, nil}, []part{{A: []float64{4}}, {B: []float64{5}}}, 6}
	pruneValue(reflect.ValueOf(&v).Elem(), func() (same bool) {
		defer func() { _ = recover() }()
		return v.P.B[0] == 2 && v.L[1].B[0] == 5
	})
	if diff := cmp.Diff(whole{P: &part{B: []float64{2}}, L: []part{{}, {B: []float64{5}}}}, v); diff != "" {
		t.Error(diff)
	}
}

// equalNaN compares only the exported parts of claims, because the rules affect no other parts.
var equalNaN = cmp.Options{cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b }), cmpopts.IgnoreUnexported(claims.Measurement{})}

// pruneValue sets each part of v to zero for which the function same still returns true.
func pruneValue(v reflect.Value, same func() bool) {
	if v.IsZero() {
		return
	}
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	if v.SetZero(); same() {
		return
	}
	v.Set(old)
	switch v.Kind() {
	case reflect.Pointer:
		pruneValue(v.Elem(), same)
	case reflect.Struct:
		for i := range v.NumField() {
			pruneValue(v.Field(i), same)
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Array:
			for i := range v.Len() {
				pruneValue(v.Index(i), same)
			}
		}
	}
}
