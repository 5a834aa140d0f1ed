// Package casetest holds checks that tests of several packages share.
package casetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cvgm/cvgm/internal/strictjson"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/synth"
)

// Regression draws n examples with the given number of features, most of them informative.
func Regression(seed uint64, n, features int) learn.Data {
	src := synth.NewStream(seed, "test data")
	d, _, err := synth.MakeRegression(src, synth.Regression{Samples: n, Features: features, Informative: max(1, features-2), Noise: 100})
	if err != nil {
		panic(err)
	}
	for i := range d.Y {
		d.Y[i] /= 100
	}
	return learn.Data{X: d.X, Y: d.Y}
}

// A fatal is a test that OK and Must can end.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

// OK ends the test at the first of the errors that is not nil.
func OK(t fatal, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Must returns a function that ends the test if err is not nil, and otherwise returns v:
// Must(f())(t).
func Must[T any](v T, err error) func(t fatal) T {
	return func(t fatal) T {
		t.Helper()
		OK(t, err)
		return v
	}
}

// Sets returns the number of data sets of a test: the argument shortCount with -short, and
// otherwise the argument fullCount. Tests under the race detector and tests in an emulator run with
// -short. They look for mistakes in the code, and a few data sets reach the same code as many data
// sets.
func Sets(fullCount, shortCount int) int {
	if testing.Short() {
		return shortCount
	}
	return fullCount
}

// Trial skips the test t if it runs with -short, as tests under the race detector and in an
// emulator do. A trial measures how often a statement is true over many random data sets. It takes
// long, and other tests reach its code.
func Trial(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("judges chances over random data sets")
	}
}

// Near reports whether a and b differ by at most tol of their size.
func Near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*(math.Abs(a)+math.Abs(b)) }

// This pattern matches the problem of an argument that is nil or empty.
var nothing = regexp.MustCompile(`^((is|are) (nil|empty)|(has|have) no )`)

// WantArgErrors fails in four cases: a call panics, a call returns no ArgError, the message does
// not begin with the name of the library, or the error for a nil or empty argument reports a wrong
// shape.
func WantArgErrors(t *testing.T, calls map[string]func() error) {
	t.Helper()
	for name, call := range calls {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: panics: %v", name, r)
				}
			}()
			var arg *qpdiff.ArgError
			if err := call(); !errors.As(err, &arg) || !strings.HasPrefix(err.Error(), "cvgm: ") || nothing.MatchString(arg.Problem) && arg.Why != qpdiff.ErrEmpty {
				t.Errorf("%s: error %v", name, err)
			}
		}()
	}
}

// CheckChangedJSON changes bytes of JSON texts. Each changed text must cause an error, or be read
// as the same values; otherwise the test fails. The keys of the map kinds are the texts. The value
// of a text is a function that returns a new variable into which the text can be read.
func CheckChangedJSON(t *testing.T, kinds map[string]func() json.Unmarshaler) {
	t.Helper()
	changes := Sets(1500, 300) // of each text
	src := rand.New(rand.NewPCG(1, 1))
	read := 0
	for good, into := range kinds {
		for range changes {
			text := []byte(good)
			i := src.IntN(len(text))
			switch src.IntN(4) {
			case 0:
				text = slices.Delete(text, i, i+1)
			case 1:
				text = slices.Insert(text, i, "0123456789 .-e"[src.IntN(14)])
			case 2:
				text[i] = byte(src.IntN(256))
			default: // replace a digit, so that the text still has a number
				if i = bytes.IndexAny(text[i:], "0123456789") + i; text[i] >= '0' {
					text[i] = '0' + byte(src.IntN(10))
				}
			}
			back := into()
			if json.Unmarshal(text, back) != nil {
				continue
			}
			read++
			if again, err := json.Marshal(back); err != nil || string(again) != good {
				t.Fatalf("%s is read as %s, error %v", text, again, err)
			}
		}
	}
	if read == 0 {
		t.Error("no change left the values as they are")
	}
}

// CheckFormsOfJSON changes the form of JSON texts, but not their values. It fails if a changed text
// is not read. It also fails if a text without a checksum, or with the checksum of another text,
// does not cause an error with a remedy.
func CheckFormsOfJSON(t *testing.T, kinds map[string]func() json.Unmarshaler) {
	t.Helper()
	for good, into := range kinds {
		for _, text := range formsOf(t, good) {
			back := into()
			if err := json.Unmarshal([]byte(text), back); err != nil {
				t.Errorf("%v:\n%s", err, text)
				continue
			}
			if again, err := json.Marshal(back); err != nil || string(again) != good {
				t.Errorf("%s is read as %s, error %v", text, again, err)
			}
		}
		without := regexp.MustCompile(`,"checksum":"[^"]*"`).ReplaceAllString(good, "")
		other := regexp.MustCompile(`"crc64:..`).ReplaceAllString(good, `"crc64:xx`)
		for text, want := range map[string]string{without: "checksum is missing", other: "checksum does not fit"} {
			var arg *qpdiff.ArgError
			if err := json.Unmarshal([]byte(text), into()); !errors.As(err, &arg) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "undamaged copy") {
				t.Errorf("%v lacks %q", err, want)
			}
		}
	}
}

var number = regexp.MustCompile(`[:,\[]-?[0-9]+\.[0-9]+(e[+-][0-9]+)?`)

// formsOf returns JSON texts with the same values as text. They have additional spaces, another
// order of keys, longer numbers or escapes.
func formsOf(t *testing.T, text string) []string {
	t.Helper()
	var spaced bytes.Buffer
	var values map[string]any
	OK(t, json.Indent(&spaced, []byte(text), "", "\t"), json.Unmarshal([]byte(text), &values))
	longer := number.ReplaceAllStringFunc(text, func(v string) string {
		return fmt.Sprintf("%s%.20e", v[:1], Must(strconv.ParseFloat(v[1:], 64))(t))
	})
	return []string{spaced.String(), string(Must(json.Marshal(values))(t)), longer, strings.ReplaceAll(text, `"format"`, `"\u0066ormat"`)}
}

var checksumPair = regexp.MustCompile(`"checksum" *: *"[^"]*"`)

// Rechecked returns the JSON of a model or pipeline with correct checksums, so that tests reach the
// other checks. It does not change a text without checksums.
func Rechecked(text []byte) []byte {
	var parts struct {
		Model json.RawMessage `json:"model"`
	}
	if json.Unmarshal(text, &parts) != nil {
		return text
	}
	if parts.Model != nil {
		text = bytes.Replace(text, parts.Model, Rechecked(parts.Model), 1)
	}
	sum, _, err := strictjson.Checksum(text)
	at := checksumPair.FindAllIndex(text, -1)
	if err != nil || at == nil {
		return text
	}
	last := at[len(at)-1]
	return slices.Concat(text[:last[0]], fmt.Appendf(nil, "%q:%q", strictjson.ChecksumKey, sum), text[last[1]:])
}
