package cvgm

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

func TestReadCSV(t *testing.T) {
	d, names, err := ReadCSV(strings.NewReader("a, price ,b\n1,2,3\n-4e1,5,\" 6\"\n"), "price")
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(d.X, mat.NewDense(2, 2, []float64{1, 3, -40, 6})) || !cmp.Equal(d.Y, []float64{2, 5}) || !cmp.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v %v %v", d.X, d.Y, names)
	}
}

// A byte-order mark is no part of the first name, quoted or not.
func TestReadCSVSkipsAByteOrderMark(t *testing.T) {
	for _, text := range []string{"\ufeffy,a\n1,2\n", "\ufeff\"y\",a\n1,2\n", "y,a\r\n1,2\r\n"} {
		d, names, err := ReadCSV(strings.NewReader(text), "y")
		if err != nil || d.Y[0] != 1 || !cmp.Equal(names, []string{"a"}) {
			t.Errorf("%q: %v, features %q, error %v", text, d.Y, names, err)
		}
	}
}

func TestReadCSVNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "header",
		"a,b\n":                "no examples",
		"y\n1\n":               "no features",
		"a,b,y\n1,2,3\n1,x,3":  `"x" in line 3, column b`,
		"a,y\n1,\n":            `"" in line 2, column y`,
		"a,y\n1,NaN\n":         `"NaN" in line 2`,
		"a,y\n1,2,3\n":         "line 2",
		"a,b\n1,2\n ":          `"y", which is no column`,
		"y,a,y\n1,2,1\n":       `"y" in the columns 1 and 3`,
		"a,y, a\n1,2,1\n":      `"a" in the columns 1 and 3`,
		",y,\n1,2,1\n":         `"" in the columns 1 and 3`,
		"\xff\xfea\x00,y\n1,2": "not UTF-8 text",
		"a\x00,y\n1,2":         "not UTF-8 text",
		"\ufeff":               "header",
		"a,y\n1e999,2":         `"1e999" in line 2, column a`,
		"a,y\n1,0x1p-2":        `"0x1p-2" in line 2, column y`,
	} {
		_, _, err := ReadCSV(strings.NewReader(text), "y")
		if text == "a,b\n" {
			_, _, err = ReadCSV(strings.NewReader(text), "b")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v lacks %q", text, err, want)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add("a,y\n1,2\n")
	f.Add("y,y\n1,\"2\n")
	f.Add("\ufeff\"y\",a, a\n1,2,3\n")
	f.Add("\xff\xfey\x00,\x00a\x00")
	f.Fuzz(func(t *testing.T, text string) {
		d, names, err := ReadCSV(strings.NewReader(text), "y")
		if err != nil {
			return
		}
		if err := d.Check(); err != nil && !errors.Is(err, qpdiff.ErrShape) {
			t.Errorf("read %v", err)
		}
		if _, n := d.X.Dims(); n != len(names) {
			t.Errorf("%d names for %d features", len(names), n)
		}
		if slices.Sort(names); slices.Contains(names, "y") || len(slices.Compact(names)) < len(names) {
			t.Errorf("features %q repeat a name or hold the target", names)
		}
	})
}
