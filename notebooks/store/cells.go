package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"cvgm/notebooks/source"
)

// CellsPath returns the file with the values of the cells of a result, which Cells writes.
func CellsPath(path string) string { return path + ".cells" }

// Cells are the cells of an experiment as rows of CSV. A row has the cell's label, a digest of
// all bits of its value, and in columns of their own the numbers in it, with all digits, but
// those of long lists.
type Cells struct {
	rows    []map[string]string // by column
	columns []string            // in the order in which they were met
	known   map[string]bool     // these columns
	err     error
}

const (
	labelColumn  = "cell"
	digestColumn = "digest"
	longList     = 16 // elements that a list may have for its numbers to have columns
)

// Add adds a cell, a pointer to its value, as [cvgm/cvgm/experiment.WithCells] gives it.
func (c *Cells) Add(label string, cell any) {
	data, err := Encode(cell)
	if err != nil {
		c.err = errors.Join(c.err, fmt.Errorf("cell %s: %w", label, err))
		return
	}
	sum := sha256.Sum256(data)
	row := map[string]string{labelColumn: label, digestColumn: fmt.Sprintf("%x", sum[:16])}
	c.rows = append(c.rows, row)
	c.fill(row, "", reflect.ValueOf(cell).Elem())
}

// fill sets the columns of the numbers in v.
func (c *Cells) fill(row map[string]string, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			c.fill(row, joined(name, ".", v.Type().Field(i).Name), v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && v.Len() <= longList; i++ {
			c.fill(row, joined(name, " ", strconv.Itoa(i+1)), v.Index(i))
		}
		return
	case reflect.Float64:
		if f := v.Float(); !math.IsNaN(f) {
			c.set(row, name, strconv.FormatFloat(f, 'g', -1, 64))
		}
	case reflect.Int:
		c.set(row, name, strconv.FormatInt(v.Int(), 10))
	}
}

func joined(name, separator, part string) string {
	if name == "" {
		return part
	}
	return name + separator + part
}

func (c *Cells) set(row map[string]string, column, text string) {
	if !c.known[column] {
		if c.known == nil {
			c.known = map[string]bool{}
		}
		c.known[column] = true
		c.columns = append(c.columns, column)
	}
	row[column] = text
}

// Write writes the rows whole or not at all.
func (c *Cells) Write(path string) error {
	if c.err != nil {
		return c.err
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	columns := append([]string{labelColumn, digestColumn}, c.columns...)
	_ = w.Write(columns) // a buffer never fails
	for _, row := range c.rows {
		fields := make([]string, len(columns))
		for i, name := range columns {
			fields[i] = row[name]
		}
		_ = w.Write(fields)
	}
	w.Flush()
	return source.WriteFile(path, b.Bytes())
}
