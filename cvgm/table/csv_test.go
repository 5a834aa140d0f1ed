package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// readTable reads a table with the target y.
func readTable(t *testing.T, c CSV, text string) *Table {
	t.Helper()
	c.Target = "y"
	table, err := c.Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return table
}

func TestReadCSV(t *testing.T) {
	table := casetest.Must(ReadCSV(strings.NewReader("a, price ,b, c\n1,2,3,u \n-4e1,5,\" 6\",v\n\n0,0,0,u\n"), "price"))(t)
	if !mat.Equal(table.x, mat.NewDense(3, 3, []float64{1, 3, 0, -40, 6, 1, 0, 0, 0})) || !cmp.Equal(table.Y, []float64{2, 5, 0}) || !cmp.Equal(table.Lines, []int{2, 3, 5}) {
		t.Errorf("%v %v %v", table.x, table.Y, table.Lines)
	}
	want := []Column{{Name: "a"}, {Name: "b"}, {Name: "c", Kind: Categorical, Levels: []string{"u", "v"}}}
	if diff := cmp.Diff(want, table.Columns); diff != "" {
		t.Error(diff)
	}
}

// Read skips a byte-order mark before the first name.
func TestReadCSVSkipsAByteOrderMark(t *testing.T) {
	for _, text := range []string{"\ufeffy,a\n1,2\n", "\ufeff\"y\",a\n1,2\n", "y,a\r\n1,2\r\n"} {
		if table := readTable(t, CSV{}, text); table.Y[0] != 1 || len(table.Columns) != 1 || table.Columns[0].Name != "a" {
			t.Errorf("%q: %+v", text, table)
		}
	}
}

// Read finds the separator that splits all lines into the same number of fields.
func TestSeparatorOfAText(t *testing.T) {
	wide := "y" // the first line is longer than the part in which the separator is searched
	for k := range 10_000 {
		wide += fmt.Sprintf(";\"one, %d\"", k)
	}
	for text, want := range map[string]rune{
		"a,y\n1,2\n":                                ',',
		"a;y\n1,5;1\n2,5;2\n":                       ';',
		"\ufeffa\ty\r\n1;2\t3\r\n":                  '\t',
		"a|b|y\n1,2|2|3\n":                          '|',
		"price, in €;size, in m²;rooms\n1;2;3\n":    ';',
		"name;y, in €\n\"Smith; John\";1\n":         ';',
		"name,y; in €\n\"Smith, John\",1\n":         ',',
		"a;b, of c;y\n\"1\n2\";2;3\n":               ';', // a line end within quotes
		"a;b;y\n1;2\n":                              ';', // no separator makes them equal
		"y\n1\n2\n":                                 ',',
		"":                                          ',',
		"a;y\n" + strings.Repeat("1,5;2\n", 10_000): ';',
		wide + "\n1" + strings.Repeat(";2", 10_000) + "\n": ';',
	} {
		c := CSV{}
		head, err := c.header(strings.NewReader(text))
		if err != nil && text != "" {
			t.Errorf("%.30q: %v", text, err)
		}
		if err == nil && head.reader.comma != want {
			t.Errorf("%.30q: %q, want %q", text, head.reader.comma, want)
		}
	}
	if names, err := (CSV{}).Header(strings.NewReader("a; y\n1;2\n")); err != nil || !slices.Equal(names, []string{"a", "y"}) {
		t.Errorf("%q, %v", names, err)
	}
}

// A frequent text in a column with few different numbers is a level, but a rare text is an error.
func TestLevelsBesideNumbers(t *testing.T) {
	file := func(texts ...string) string { return "a,y\n4,3\n" + strings.Join(texts, ",1\n") + ",2\n" }
	repeated := func(n int, more ...string) string {
		texts := slices.Repeat([]string{"1", "2", "3+", "4"}, n)
		return file(append(texts, more...)...)
	}
	table := readTable(t, CSV{}, repeated(leastRows))
	if c := table.Columns[0]; c.Kind != Categorical || !slices.Equal(c.Levels, []string{"4", "1", "2", "3+"}) {
		t.Errorf("%+v", c)
	}
	if len(table.Notes) != 1 || !table.Notes[0].Check || table.Notes[0].Field != "CSV.MissingTexts" || !strings.Contains(table.Notes[0].Text, `["3+"]`) {
		t.Errorf("%v", table.Notes)
	}
	if n := readTable(t, CSV{MissingTexts: []string{"3+"}, Missing: MissingIsMean}, repeated(leastRows)); n.Columns[0].Kind != Numeric {
		t.Errorf("%+v", n.Columns)
	}
	many := make([]string, 0, 60)
	for i := range 50 {
		many = append(many, strconv.Itoa(i))
	}
	for name, text := range map[string]string{
		"rare":           repeated(leastRows - 1),
		"a mistake, too": repeated(leastRows, "4o"),
		"infinite":       repeated(leastRows, "inf"),
		"many numbers":   file(append(many, slices.Repeat([]string{"unknown"}, leastRows)...)...),
		"as the target":  repeated(leastRows),
	} {
		c := CSV{Target: "y"}
		if name == "as the target" {
			c.Target = "a"
		}
		if _, err := c.Read(strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReadCSVNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "header",
		"y,a\n":                            "no examples",
		"y\n1\n":                           "no features",
		"b,y\nx,3\nz,3":                    `"y", without the identifiers ["b"]`,
		"a,y\n1,1\n2,1\nx,1\n":             `"x" in line 4, column "a"`,
		"a,y\n1,1\n2,2\n3,x\n":             `"x" in line 4, column "y"`,
		"a:y\n1,5:1\n2,5:2\n":              "not a column",
		"a,y\n1.5,1\n\"2,5\",2\n":          `"2,5" in line 3, column "a"`,
		"a,y\n\"1,2,3\",1\n\"2,5\",2\n":    `"1,2,3" in line 2, column "a"`,
		"a,y\n1,\n":                        `"" in line 2, column "y"`,
		"a,y\n1,1\n na ,2\n":               `"na" in line 3, column "a"`,
		"a,y\n1,NaN\n":                     `"NaN" in line 2`,
		"a,y\n1,-inf\n":                    `"-inf" in line 2`,
		"a,y\n1,2,3\n":                     "line 2",
		"a,b\n1,2\n ":                      `"y", which is not a column`,
		"y,a,y\n1,2,1\n":                   `"y" in the columns 1 and 3`,
		"a,y, a\n1,2,1\n":                  `"a" in the columns 1 and 3`,
		",y,\n1,2,1\n":                     `"" in the columns 1 and 3`,
		",a,y\n1,2,1\n":                    "no name for column 1",
		"\xff\xfea\x00,y\n1,2":             "not UTF-8 text",
		"a\x00,y\n1,2":                     "not UTF-8 text",
		"a,y\n\xff,2\n\xff,2\n":            `"\xff" in line 2, column "a", which is not UTF-8 text`,
		"\ufeff":                           "header",
		"a,y\n1e999,2":                     `"1e999" in line 2, column "a"`,
		"a,y\n1,0x1p-2":                    `"0x1p-2" in line 2, column "y"`,
		"a,y\n1,one\n2,one\n":              `"one" in all rows of column "y"`,
		"a,y\n" + numberedLines(21, "1,k"): `21 different texts in column "y", first "k0" in line 2`,
	} {
		_, err := ReadCSV(strings.NewReader(text), "y")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v lacks %q", text, err, want)
		}
	}
}

// numberedLines returns n lines, each of which is the text start and a number.
func numberedLines(n int, start string) string {
	var b strings.Builder
	for k := range n {
		fmt.Fprintf(&b, "%s%d\n", start, k)
	}
	return b.String()
}

// decimal returns the shortest decimal number that is read back as v.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Errors and notes on long fields are short, and begin with the field.
func TestLongFields(t *testing.T) {
	long := strings.Repeat("9é", 100_000)
	digits := strings.Repeat("9", 100_000)
	for _, c := range []struct {
		csv  CSV
		text string
	}{
		{CSV{Target: "y"}, "y,a\n1," + digits + "\n2,3\n4,5\n"},
		{CSV{Target: "y", Numeric: []string{"a"}}, "y,a\n1," + long + "\n2,3\n4,5\n"},
		{CSV{Target: "y"}, "y,a\n" + long + ",1\n" + long + ",2\n"},
		{CSV{Target: "y"}, "y," + long + "\n1,\n2,\n"},
		{CSV{Target: "z"}, "y," + long + "\n1,2\n2,3\n"},
		{CSV{Target: "y", Ignore: []string{long}}, "y,a\n1,2\n2,3\n"},
	} {
		_, err := c.csv.Read(strings.NewReader(c.text))
		if text := fmt.Sprint(err); err == nil || len(text) > 2000 || !strings.Contains(text, "99999") && !strings.Contains(text, "9é9é9é") {
			t.Errorf("an error of %d bytes: %.200s", len(text), text)
		}
	}
	table, err := CSV{Target: "y"}.Read(strings.NewReader("y," + long + "\n" + strings.Repeat("1,a\n2,A\n", 20)))
	if err != nil || len(table.Notes) == 0 {
		t.Fatalf("%v, notes %v", err, table)
	}
	for _, n := range table.Notes {
		if len(n.Text) > 2000 {
			t.Errorf("a note of %d bytes", len(n.Text))
		}
	}
}

// The error for a file names the file's path.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good.csv": "a,y\n1,2\n2,3\n", "bad.csv": "a,y\n1,\n"} {
		casetest.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for name, good := range map[string]bool{"good.csv": true, "bad.csv": false, "none.csv": false} {
		table, err := CSV{Target: "y"}.ReadFile(filepath.Join(dir, name))
		if (err == nil) != good || (table != nil) != good || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, error %v", name, table, err)
		}
	}
}

// The error for a malformed record names the line, the cause and a remedy.
func TestErrorsOfRecords(t *testing.T) {
	pears := pears(t)
	for name, c := range map[string]struct {
		read  func(text string) error
		text  string
		parse bool // the error wraps a *csv.ParseError
		words []string
	}{
		"too many":             {nil, "a,y\n1,2\n1,2,3\n", true, []string{"record on line 3", "3 with the separator ',', where the header has 2", "put fields that contain ',' into quotes; CSV.Comma sets the separator"}},
		"too few":              {nil, "a;y\n1;2\n1\n", true, []string{"record on line 3", "1 with the separator ';'", "complete the line"}},
		"a bare quote":         {nil, "a,y\n1,2\n5\" disk,2\n", true, []string{"line 3", `bare "`, "put the whole field into quotes"}},
		"a quote too many":     {nil, "a,y\n\"5\" disk\",2\n", true, []string{"line 2", "end the field with one quote before ','"}},
		"an open quote":        {nil, "a,y\n\"5,2\n6,2\n", true, []string{"record on line 2", "end the field with one quote"}},
		"a quote in the names": {nil, "a\",y\n1,2\n", true, []string{"line 1", "put the whole field into quotes"}},
		"returns":              {nil, "a,y\r1,2\r3,4\r", false, []string{"in line 1", "carriage return", "save the file with line feeds"}},
		"returns and quotes":   {nil, "a,y\r\"1\",2\r3,4\r", false, []string{"in line 1", "carriage return", "save the file with line feeds"}},
		"returns below":        {nil, "a,y\n1,2\r3,4\n", true, []string{"record on line 2", "carriage return", "save the file with line feeds"}},
		"another comma": {func(text string) error {
			_, err := CSV{Target: "y", Comma: ','}.Read(strings.NewReader(text))
			return err
		}, "a;y\n1;2\n", false, []string{`CSV.Comma is ","`, `line 1, "a;y", lacks`, `use ";"`}},
		"another comma of a pipeline": {func(text string) error {
			_, err := pears.Read(strings.NewReader(text))
			return err
		}, "weight;colour;spots\n1;red;2\n", false, []string{`lacks column "`, `line 1, "weight;colour;spots"`, `unless ";" separates fields`, `separate the fields by ","`}},
		"fewer columns of a pipeline": {func(text string) error {
			_, err := pears.Read(strings.NewReader(text))
			return err
		}, "weight,colour\n1,red,2\n", false, []string{`add it to ["weight" "colour"]`}},
	} {
		if c.read == nil {
			c.read = func(text string) error { _, err := ReadCSV(strings.NewReader(text), "y"); return err }
		}
		err := c.read(c.text)
		var parse *csv.ParseError
		if err == nil || errors.As(err, &parse) != c.parse || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "cvgm: ") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v lacks %q", name, err, w)
			}
		}
	}
}
