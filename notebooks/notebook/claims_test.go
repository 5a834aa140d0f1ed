package notebook

import (
	"bytes"
	"compress/gzip"
	"encoding/gob"
	"flag"
	"os"
	"reflect"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/notebooks/source"

	"github.com/google/go-cmp/cmp"
)

var keepResults = flag.String("results", "", "file for the results that the claims are judged by; TestResultsOfTheClaims computes those that the store lacks, some minutes, and leaves out all that no claim reads")

// The tests of the claims' rules, in cvgm/experiment, read the file that this one writes.
func TestResultsOfTheClaims(t *testing.T) {
	if *keepResults == "" {
		t.Skip("-results writes the file")
	}
	results := Results()
	want := experiment.Claims(results)
	prune(reflect.ValueOf(&results).Elem(), func() (same bool) {
		defer func() { recover() }() // a claim that reads what is gone
		return cmp.Equal(experiment.Claims(results), want, equalNaN)
	})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if err := gob.NewEncoder(z).Encode(&results); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := source.WriteFile(*keepResults, packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(*keepResults, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", packed.Len())
}

var equalNaN = cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })

// prune sets to zero the parts of v without which same holds.
func prune(v reflect.Value, same func() bool) {
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
		prune(v.Elem(), same)
	case reflect.Struct:
		for i := range v.NumField() {
			prune(v.Field(i), same)
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Pointer, reflect.Slice, reflect.Array:
			for i := range v.Len() {
				prune(v.Index(i), same)
			}
		}
	}
}
