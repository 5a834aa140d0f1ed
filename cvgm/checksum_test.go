package cvgm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cvgm/qpdiff"
)

// jsonKinds returns the JSON of a model of every kind and of a pipeline, and what reads it.
func jsonKinds(t *testing.T) map[string]func() json.Unmarshaler {
	t.Helper()
	kinds := map[string]func() json.Unmarshaler{}
	add := func(v any, read func() json.Unmarshaler) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		kinds[string(text)] = read
	}
	for _, m := range tuned(t) {
		add(m, func() json.Unmarshaler { return new(Model) })
	}
	add(pears(t), func() json.Unmarshaler { return new(Pipeline) })
	return kinds
}

// A text with a changed byte is refused, or is read as the same values.
func TestChangedJSONIsRefused(t *testing.T) {
	const changes = 1500 // of each text
	src := rand.New(rand.NewPCG(1, 1))
	read := 0
	for good, into := range jsonKinds(t) {
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
			default: // a digit, which leaves a number
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

// A text in another form is read; one without a checksum, or with another text's, is refused with a remedy.
func TestChecksumIsOfTheValues(t *testing.T) {
	number := regexp.MustCompile(`[:,\[]-?[0-9]+\.[0-9]+(e[+-][0-9]+)?`)
	for good, into := range jsonKinds(t) {
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, []byte(good), "", "\t"); err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := json.Unmarshal([]byte(good), &values); err != nil {
			t.Fatal(err)
		}
		sorted, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		longer := number.ReplaceAllStringFunc(good, func(v string) string {
			f, err := strconv.ParseFloat(v[1:], 64)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s%.20e", v[:1], f)
		})
		escaped := strings.ReplaceAll(good, `"format"`, `"\u0066ormat"`)
		for _, text := range []string{spaced.String(), string(sorted), longer, escaped} {
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
		other := regexp.MustCompile(`"sha256:..`).ReplaceAllString(good, `"sha256:xx`)
		for text, want := range map[string]string{without: "checksum is missing", other: "checksum does not fit"} {
			var arg *qpdiff.ArgError
			if err := json.Unmarshal([]byte(text), into()); !errors.As(err, &arg) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "undamaged copy") {
				t.Errorf("%v lacks %q", err, want)
			}
		}
	}
}
