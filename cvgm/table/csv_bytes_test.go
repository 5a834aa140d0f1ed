package table

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/memory"
)

// numbersCSV returns a CSV of numbers.
func numbersCSV(rows, columns int) string {
	var b strings.Builder
	b.WriteString("y")
	for j := range columns - 1 {
		fmt.Fprintf(&b, ",x%d", j)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range rows {
		b.WriteByte('\n')
		for j := range columns {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.FormatFloat(rng.NormFloat64(), 'f', 4, 64))
		}
	}
	return b.String() + "\n"
}

// endNotifier calls a function at the end of a text.
type endNotifier struct {
	io.Reader
	call func()
}

func (r endNotifier) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		r.call()
	}
	return n, err
}

// formattedCSV returns a CSV of dates with times, amounts of money, and texts.
func formattedCSV(rows, columns int) string {
	var b strings.Builder
	b.WriteString("y")
	for j := range columns - 1 {
		fmt.Fprintf(&b, ",x%d", j)
	}
	rng := rand.New(rand.NewPCG(1, 3))
	for i := range rows {
		fmt.Fprintf(&b, "\n%d", i%50)
		for j := range columns - 1 {
			switch j % 4 {
			case 0, 1:
				b.WriteString("," + time.Unix(int64(1e9)+rng.Int64N(1e8), 0).UTC().Format("2006-01-02 15:04"))
			case 2:
				fmt.Fprintf(&b, ",$%d.%02d", rng.IntN(1000), rng.IntN(100))
			case 3:
				fmt.Fprintf(&b, ",text %02d", rng.IntN(min(20, rows/2)))
			}
		}
	}
	return b.String() + "\n"
}

// Read needs a MaxBytes of at most twice the memory that the table uses.
func TestBytesOfRead(t *testing.T) {
	serial.Test(t)
	for name, text := range map[string]string{
		"long": numbersCSV(2000, 8), "wide": numbersCSV(20, 5000), "square": numbersCSV(300, 300),
		"long, formatted": formattedCSV(400, 9), "wide, formatted": formattedCSV(20, 401), "square, formatted": formattedCSV(80, 61),
	} {
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		start, held := heap(), int64(0)
		want := casetest.Must(CSV{Target: "y"}.Read(endNotifier{strings.NewReader(text), func() { held = heap() - start }}))(t)
		rows, columns := want.Dims()
		held += int64(8 * rows * (columns + 1)) // the values, which are allocated later
		low, high := int64(0), 8*held
		for high-low > held/50 {
			middle := (low + high) / 2
			got, err := CSV{Target: "y", MaxBytes: middle}.Read(strings.NewReader(text))
			switch {
			case err == nil:
				got.reader.maxBytes = 0
				if high = middle; !reflect.DeepEqual(got, want) {
					t.Errorf("%s: another table within %d bytes", name, middle)
				}
			case errors.Is(err, qpdiff.ErrTooLarge):
				low = middle
			default:
				t.Fatal(err)
			}
		}
		if high < held || float64(high) > 2*float64(held) {
			t.Errorf("%s: counts %d bytes and holds %d, a factor of %.2f", name, high, held, float64(high)/float64(held))
		}
	}
}

// A table keeps its levels in memory, but not the lines of the file.
func TestBytesOfLevels(t *testing.T) {
	serial.Test(t)
	const rows, note = 400, 10_000
	var b strings.Builder
	b.WriteString("y,place,note\n")
	for i := range rows {
		fmt.Fprintf(&b, "class %d,level %d,%s\n", i%20, i/2, strings.Repeat("n", note))
	}
	text := strings.NewReader(b.String())
	b = strings.Builder{}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table, err := CSV{Target: "y", Ignore: []string{"note"}, Categorical: []string{"place"}}.Read(text)
	casetest.OK(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > rows*note/10 {
		t.Errorf("a table of %d levels and %d classes holds %d bytes", len(table.Columns[0].Levels), len(table.Classes), held)
	}
	runtime.KeepAlive(text)
	runtime.KeepAlive(table)
}

// endlessReader repeats a text without end, and counts the bytes that were read.
type endlessReader struct {
	text string
	read int
}

func (r *endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.read%len(r.text)]
		r.read++
	}
	return len(p), nil
}

// For an endless text, Read returns an error after it has read at most MaxBytes.
func TestReadOfEndlessTexts(t *testing.T) {
	serial.Test(t)
	const bound = 4 << 20
	for name, text := range map[string]string{
		"a header without end": "x,", "a name without end": "x", "separators": ",",
		"rows": "1,2,3\n", "empty rows of one field": "a\n", "long fields": strings.Repeat("7", 3000) + ",1\n",
	} {
		for _, header := range []string{"", "\"", "a,b,c\n", "a,y\n", "a\n"} {
			r := &endlessReader{text: text}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := CSV{Target: "y", Ignore: []string{"z"}, MaxBytes: bound}.Read(io.MultiReader(strings.NewReader(header), r))
			runtime.ReadMemStats(&after)
			var arg *qpdiff.ArgError
			if !errors.As(err, &arg) || r.read > bound || after.TotalAlloc-before.TotalAlloc > 4*bound {
				t.Errorf("%s after %q: %d bytes are read and %d allocated in all: %v", name, header, r.read, after.TotalAlloc-before.TotalAlloc, err)
			}
		}
	}
}

// If a file needs more than MaxBytes, the error estimates the necessary memory within a factor of
// 2.
func TestBytesNeededByAFile(t *testing.T) {
	serial.Test(t)
	text := numbersCSV(3000, 40)
	path := filepath.Join(t.TempDir(), "large.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	need := float64(len(text) + 24*3000*40)
	for _, bound := range []int64{400_000, int64(len(text) - 1), int64(need / 2), int64(need * .9)} {
		for name, err := range map[string]error{
			"file":   second(CSV{Target: "y", MaxBytes: bound}.ReadFile(path)),
			"string": second(CSV{Target: "y", MaxBytes: bound}.Read(strings.NewReader(text))),
		} {
			var named float64
			if !errors.Is(err, qpdiff.ErrTooLarge) {
				t.Errorf("%s, MaxBytes %d: %v", name, bound, err)
				continue
			}
			message := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "cvgm: "), path+": ")
			if _, e := fmt.Sscanf(message, "CSV needs %f bytes", &named); e != nil || named < .5*need || named > 2*need {
				t.Errorf("%s, MaxBytes %d: it needs %.0f bytes: %v", name, bound, need, err)
			}
			if !strings.Contains(err.Error(), fmt.Sprint(bound)) || !strings.Contains(err.Error(), "by its size and its first ") || !strings.Contains(err.Error(), "rows of 40 columns") {
				t.Errorf("%s, MaxBytes %d: %v", name, bound, err)
			}
			if bound < int64(len(text)) && !strings.Contains(err.Error(), "first 1 rows") {
				t.Errorf("%s, MaxBytes %d: more is read than one row: %v", name, bound, err)
			}
		}
	}
	if err := second(CSV{Target: "y", MaxBytes: -1}.ReadFile(path)); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("a negative MaxBytes: %v", err)
	}
	defer memory.SetDefault(memory.SetDefault(100_000))
	if err := second(CSV{Target: "y"}.ReadFile(path)); !errors.Is(err, qpdiff.ErrTooLarge) {
		t.Errorf("beyond the default: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
