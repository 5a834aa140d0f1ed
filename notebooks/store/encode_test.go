package store

import (
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"
)

type inner struct {
	Name string
	At   []float64
}

type outer struct {
	On     bool
	N      int8
	U      uint64
	Pair   [2]float64
	Inner  *inner
	Nil    *inner
	All    []inner
	None   []inner
	Empty  []float64
	ByName map[string]int
	X      *mat.Dense
}

func example() *outer {
	return &outer{
		On: true, N: -128, U: math.MaxUint64, Pair: [2]float64{math.NaN(), math.Copysign(0, -1)}, Inner: &inner{"ä\n", []float64{math.Inf(-1), 5e-324}},
		All: []inner{{"a", nil}, {}}, Empty: []float64{}, ByName: map[string]int{"b": 1, "a": -1, "": 1 << 30}, X: mat.NewDense(1, 2, []float64{1, 2}),
	}
}

func TestDecodedIsEncoded(t *testing.T) {
	data, err := Encode(example())
	if err != nil {
		t.Fatal(err)
	}
	var got *outer
	if err := Decode(data, &got); err != nil {
		t.Fatal(err)
	}
	equal := cmp.Comparer(func(a, b *mat.Dense) bool { return mat.Equal(a, b) })
	if diff := cmp.Diff(example(), got, cmpopts.EquateNaNs(), equal); diff != "" {
		t.Error(diff)
	}
	if again, err := Encode(&got); err != nil || !cmp.Equal(data, again) { // also compares the sign of zero and the bits of NaN
		t.Errorf("the decoded value has other bytes (%v)", err)
	}
	for n := range data {
		if Decode(data[:n], new(outer)) == nil {
			t.Errorf("%d of %d bytes are decoded", n, len(data))
		}
	}
	if Decode(append(data, 0), new(outer)) == nil {
		t.Error("a byte too many is decoded")
	}
}

// The bytes of a value do not depend on values that the process has encoded before.
func TestBytesAreThoseOfEveryProcess(t *testing.T) {
	const variable = "STORE_TEST_FIRST"
	switch os.Getenv(variable) {
	case "other":
		for _, v := range []any{&inner{}, &[]inner{}, &map[string]inner{}} {
			if _, err := Encode(v); err != nil {
				t.Fatal(err)
			}
		}
		fallthrough
	case "own":
		data, err := Encode(example())
		t.Logf("bytes=%s= %v", hex.EncodeToString(data), err)
		return
	}
	found := map[string]bool{}
	for _, first := range []string{"own", "other"} {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
		c.Env = append(os.Environ(), variable+"="+first)
		out, err := c.CombinedOutput()
		_, text, is := strings.Cut(string(out), "bytes=")
		text, _, _ = strings.Cut(text, "=")
		if err != nil || !is || text == "" {
			t.Fatalf("%v: %s", err, out)
		}
		found[text] = true
	}
	if len(found) != 1 {
		t.Error("two processes encode one value otherwise")
	}
}

// If a value cannot be stored completely, the error names its type.
func TestEncodeRefuses(t *testing.T) {
	for name, v := range map[string]any{
		"have int": 3, "func()": &struct{ F func() }{}, "chan int": &struct{ C chan int }{}, "interface {}": &[]any{1},
		"hidden": &struct{ hidden int }{}, "[]struct {}": &[]struct{}{{}}, "store.outer": (*outer)(nil),
	} {
		if _, err := Encode(v); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v does not name %s", reflect.TypeOf(v), err, name)
		}
	}
}

// Decode returns an error for the bytes of a hostile file, without a panic or a large allocation.
func FuzzDecode(f *testing.F) {
	data, err := Encode(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = Decode(data, new(outer))
	})
}
