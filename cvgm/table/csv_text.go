package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// csvReader holds the settings of [CSV] that are also needed to read rows for predictions.
type csvReader struct {
	comma        rune
	missingTexts []string
	unknown      UnknownRule
	maxBytes     int64 // the value of CSV.MaxBytes; 0, the default, if the settings come from JSON
}

// validComma reports whether package encoding/csv accepts r as the character between fields.
func validComma(r rune) bool {
	return r != 0 && r != '"' && r != '\r' && r != '\n' && r != utf8.RuneError && utf8.ValidRune(r)
}

// isMissing reports whether a field denotes a missing value.
func (r *csvReader) isMissing(field string) bool { return portable.IsMissing(r.missingTexts, field) }

// portable returns the description of a column for package portable, without the values that are
// learned from training rows.
func (r *csvReader) portable(c *Column) portable.Column {
	p := c.portable()
	p.MissingTexts, p.Unknown = r.missingTexts, r.unknown == UnknownIsZero
	return p
}

// code returns the portable descriptions of the columns.
func (r *csvReader) code(columns []Column) []portable.Column {
	code := make([]portable.Column, len(columns))
	for j := range columns {
		code[j] = r.portable(&columns[j])
	}
	return code
}

// value returns the value of a field: a number, or the index of a level. If the rules of the column
// allow it, a missing value gives NaN, and an unknown level gives len(Levels).
func (c *Column) value(code *portable.Column, field string) (float64, error) {
	v, fault := code.Value(field)
	switch fault {
	case portable.None:
		return v, nil
	case portable.Missing:
		return 0, c.errMissing()
	case portable.NoMissing:
		return 0, args.Bad("column", qpdiff.ErrDomain, "fill it in, or train with UnknownIsZero",
			"%q lacks a value, but every row that the model was trained on has one", c.Name)
	case portable.NoDate:
		return 0, args.Bad("column", qpdiff.ErrDomain, fmt.Sprintf("put a date in the format %q there", c.Date.Layout), "%q holds %q", c.Date.Source, field)
	case portable.NoNumber:
		remedy := "put a finite number there"
		if c.Number != nil {
			remedy = fmt.Sprintf("put a finite number such as %q there", c.Number.exampleOf())
		}
		return 0, args.Bad("column", qpdiff.ErrNotFinite, remedy, "%q holds %q", c.Name, field)
	}
	if c.Date != nil {
		_, field, _ = code.Date.Read(field)
	}
	return 0, args.Bad("column", qpdiff.ErrDomain, "correct it, or train with UnknownIsZero", "%q holds %q, which is none of the levels %q", c.Name, field, c.firstLevels())
}

// csvText is the text of a CSV, divided into fields. The spaces around each field are removed.
type csvText struct {
	reader  *csvReader
	in      *csv.Reader
	meter   *meter
	header  []string
	at      map[string]int // the index of a column by its name
	records [][]string
	lines   []int // the lines on which the records begin
}

// header reads the first line, which names the columns.
func (r *csvReader) header(from io.Reader) (*csvText, error) {
	if from == nil {
		return nil, args.Bad("r", qpdiff.ErrEmpty, "give a reader of the CSV's text", "is nil")
	}
	size, text := sizeOf(from), bufio.NewReaderSize(from, headBytes)
	const mark = "\ufeff"
	if start, _ := text.Peek(len(mark)); string(start) == mark {
		text.Discard(len(mark))
	}
	if r.comma == 0 {
		first, err := text.Peek(headBytes)
		r.comma = commaOf(string(first), err == nil)
	}
	m := newMeter(text, size, r.comma, r.maxBytes)
	in := csv.NewReader(m)
	in.Comma = r.comma
	header, err := in.Read()
	if errors.Is(err, qpdiff.ErrTooLarge) {
		return nil, err
	}
	if m.hasBareReturn {
		return nil, args.Bad("CSV", qpdiff.ErrDomain, returnRemedy, "holds a carriage return without a line feed in line 1")
	}
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cvgm: the CSV has no header line (%w): name the columns in the first line", err)
	}
	if err != nil {
		return nil, r.errParse(err, header, 0)
	}
	if err := m.addRecord(len(header)); err != nil {
		return nil, err
	}
	t := &csvText{reader: r, in: in, meter: m, header: header, at: make(map[string]int, len(header))}
	for i := range header {
		header[i] = strings.TrimSpace(header[i])
		if j, ok := t.at[header[i]]; ok {
			return nil, args.Bad("CSV", qpdiff.ErrDomain, "rename or remove one of them", "has the name %q in the columns %d and %d", header[i], j+1, i+1)
		}
		t.at[header[i]] = i
		if !utf8.ValidString(header[i]) || strings.ContainsRune(header[i], 0) {
			return nil, args.Bad("CSV", qpdiff.ErrDomain, "save the file as UTF-8", "has %q as the name of column %d, which is not UTF-8 text", header[i], i+1)
		}
	}
	return t, nil
}

// returnRemedy is the remedy for lines that end with a carriage return alone.
const returnRemedy = "save the file with line feeds (LF or CR LF) at the ends of its lines"

// errParse adds a remedy to the error err, with which package encoding/csv refuses a record. The
// error err names the line. The parameter columns is the number of columns in the header, or 0 if
// the record is the header.
func (r *csvReader) errParse(err error, record []string, columns int) error {
	remedy := ""
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		err = fmt.Errorf("%w, %d with the separator %q, where the header has %d", err, len(record), r.comma, columns)
		remedy = fmt.Sprintf("complete the line, or put fields that contain %q into quotes; CSV.Comma sets the separator of a table for training", r.comma)
		if slices.ContainsFunc(record, func(field string) bool { return strings.ContainsRune(strings.TrimSpace(field), '\r') }) {
			err, remedy = fmt.Errorf("%w; it holds a carriage return without a line feed", err), returnRemedy
		}
	case errors.Is(err, csv.ErrBareQuote):
		remedy = `put the whole field into quotes, and write each quote in it twice, as in "a 5"" disk"`
	case errors.Is(err, csv.ErrQuote):
		remedy = fmt.Sprintf("end the field with one quote before %q or the end of the line, and write each quote in it twice", r.comma)
	default:
		return fmt.Errorf("cvgm: %w", err) // of the reader of the text
	}
	return fmt.Errorf("cvgm: CSV: %w: %s", err, remedy)
}

// otherComma returns a separator that a header of one column contains, or 0. A separator in the
// only name of a header probably separates columns.
func (t *csvText) otherComma() rune {
	if len(t.header) > 1 {
		return 0
	}
	if at := strings.IndexAny(t.header[0], separatorsOfFields); at >= 0 {
		return rune(t.header[0][at])
	}
	return 0
}

// separatorsOfFields are the separators that commaOf finds.
const separatorsOfFields = ",;\t|"

// headLines and headBytes bound the part of a text in which the separator of fields is found.
const (
	headBytes = 4096
	headLines = 20
)

// commaOf returns the separator of fields of a text, from the beginning of the text. The parameter
// truncated is set if the text is longer than this beginning. A separator must split each of the
// first lines into the same number of fields. A character that is part of texts or numbers seldom
// splits all lines alike. If there are several separators, commaOf takes the one with the most
// fields. If there is none, the first line decides.
func commaOf(head string, truncated bool) rune {
	end := strings.LastIndexByte(head, '\n')
	if truncated && end >= 0 {
		head = head[:end] // without an incomplete line
	}
	for _, lines := range []int{headLines, 1} {
		comma, most := ',', 1
		for _, c := range separatorsOfFields {
			part := head
			if truncated && end < 0 {
				part = wholeFields(head, byte(c))
			}
			if fields := equalFields(part, c, lines); fields > most {
				comma, most = c, fields
			}
		}
		if most > 1 {
			return comma
		}
	}
	return ','
}

// wholeFields returns the part of a line before its last unquoted separator.
func wholeFields(line string, comma byte) string {
	end, quoted := 0, false
	for i := range len(line) {
		switch line[i] {
		case '"':
			quoted = !quoted
		case comma:
			if !quoted {
				end = i
			}
		}
	}
	return line[:end]
}

// equalFields returns the number of fields in each of the first lines. It returns 0 if lines have
// different numbers of fields, or if a quote is misplaced.
func equalFields(head string, comma rune, lines int) int {
	in, fields := csv.NewReader(strings.NewReader(head)), 0
	in.Comma = comma
	for range lines {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0
		}
		fields = len(record)
	}
	return fields
}

// readRecords reads all records. Each must have as many fields as the header.
func (t *csvText) readRecords() error {
	for {
		record, err := t.in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, qpdiff.ErrTooLarge) {
			return err
		}
		if err != nil {
			return t.reader.errParse(err, record, len(t.header))
		}
		if err := t.meter.addRecord(len(record)); err != nil {
			return err
		}
		line, _ := t.in.FieldPos(0)
		for i := range record {
			record[i] = strings.TrimSpace(record[i])
			if !utf8.ValidString(record[i]) {
				return args.Bad("CSV", qpdiff.ErrDomain, "save the file as UTF-8", "holds %q in line %d, column %q, which is not UTF-8 text", record[i], line, t.header[i])
			}
		}
		t.records = append(t.records, record)
		t.lines = append(t.lines, line)
	}
	if len(t.records) == 0 {
		return args.Bad("CSV", qpdiff.ErrEmpty, "give examples below the header line", "has no examples")
	}
	return nil
}

// countNumbers returns the number of present values in column i, and whether all of them are
// numbers.
func (t *csvText) countNumbers(i int) (presentCount int, numbers bool) {
	numbers = true
	for _, record := range t.records {
		if t.reader.isMissing(record[i]) {
			continue
		}
		presentCount++
		if numbers {
			_, numbers = number(record[i])
		}
	}
	return presentCount, numbers
}

// levels returns the different present values of column i, sorted.
func (t *csvText) levels(i int) []string {
	texts := make(map[string]bool)
	for _, record := range t.records {
		if !texts[record[i]] && !t.reader.isMissing(record[i]) {
			texts[strings.Clone(record[i])] = true // a copy, because a part of the line would keep the whole line in memory
		}
	}
	return sortedKeys(texts)
}

func sortedKeys(texts map[string]bool) []string { return slices.Sorted(maps.Keys(texts)) }

// mostlyNumbers reports whether more than half of the different values of a column are numbers. The
// column is then probably meant as numbers. If there are more than fewLevels values, texts that are
// numbers with one common unit also count as numbers.
func mostlyNumbers(levels []string) bool {
	like, count := 0, newCensus()
	for _, text := range levels {
		if numberLike(text) {
			like++
		} else if len(levels) > fewLevels {
			count.add(text)
		}
	}
	_, same := count.commonUnit()
	return 2*(like+same) > len(levels)
}

// errNumber returns the error for the first value of column i that is not a number in the format.
// If format is nil, it is the first value that is not a number in any format.
func (t *csvText) errNumber(i int, format *Number) error {
	first := func(wrong func(field string) bool) int {
		return slices.IndexFunc(t.records, func(record []string) bool { return !t.reader.isMissing(record[i]) && wrong(record[i]) })
	}
	k := -1
	if format == nil {
		k = first(func(field string) bool { return !newCensus().add(field) })
	}
	if k < 0 {
		k = first(func(field string) bool { _, ok := numberBy(format, field); return !ok })
	}
	return args.Bad("CSV", qpdiff.ErrNotFinite, "put a number there, remove the line, or set CSV.MissingTexts, Numbers, Categorical or Ignore",
		"holds %q in line %d, column %q, in place of a finite number", t.records[k][i], t.lines[k], t.header[i])
}

// numberBy parses a finite number in a format. If format is nil, it parses a plain decimal number.
func numberBy(format *Number, field string) (float64, bool) {
	if format == nil {
		return number(field)
	}
	return format.parse(field)
}

// number parses a finite decimal number.
func number(field string) (float64, bool) { return portable.ParseDecimal(field) }

// If a column of texts has at most fewLevels levels, its rare levels are not joined, and dates or
// numbers may be among its levels.
const fewLevels = 20

// numberLike reports whether a text may be meant as a number. It also accepts numbers that are too
// large, infinite or hexadecimal, and numbers with commas or separators of thousands.
func numberLike(field string) bool {
	_, err := strconv.ParseFloat(separators.Replace(field), 64)
	e, ok := err.(*strconv.NumError)
	return err == nil || ok && e.Err == strconv.ErrRange
}

// separators removes commas and separators of thousands, which include non-breaking spaces.
var separators = strings.NewReplacer(",", "", "'", "", "’", "", " ", "", "\u00a0", "", "\u2009", "", "\u202f", "")
