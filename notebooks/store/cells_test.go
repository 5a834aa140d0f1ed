package store

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type cellOfTest struct {
	Loss  float64
	Steps []int
	Path  []float64
	Nets  [][1]float64
	Sub   []struct{ A, B float64 }
}

// A row has the label, all digits of the numbers, and a digest that one bit changes, also
// where the number has no column.
func TestCellsAsCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells")
	long := make([]float64, 40)
	write := func(cells ...*cellOfTest) []string {
		var c Cells
		for i, cell := range cells {
			c.Add("data set, "+string(rune('a'+i)), cell)
		}
		if err := c.Write(path); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	first := &cellOfTest{Loss: 1. / 3, Path: long, Nets: [][1]float64{{7}}, Sub: []struct{ A, B float64 }{{1, math.NaN()}}}
	second := &cellOfTest{Loss: 2, Steps: []int{3, 4}, Path: long}
	rows := write(first, second)
	if len(rows) != 3 || rows[0] != "cell,digest,Loss,Nets 1 1,Sub 1.A,Steps 1,Steps 2" {
		t.Fatalf("%q", rows)
	}
	if !strings.HasPrefix(rows[1], `"data set, a",`) || !strings.HasSuffix(rows[1], ",0.3333333333333333,7,1,,") || !strings.HasSuffix(rows[2], ",2,,,3,4") {
		t.Errorf("%q", rows)
	}
	changed := *second
	changed.Path = append([]float64{math.Nextafter(0, 1)}, long[1:]...)
	again := write(first, &changed)
	if again[1] != rows[1] || again[2] == rows[2] || again[2][strings.Index(again[2], ",2,"):] != rows[2][strings.Index(rows[2], ",2,"):] {
		t.Errorf("%q, after one bit %q", rows, again)
	}
	var bad Cells
	bad.Add("x", &struct{ F func() }{})
	if err := bad.Write(path); err == nil {
		t.Error("a cell that cannot be kept is written")
	}
}

// Lists of up to longList elements have columns.
func TestCellsOfLongLists(t *testing.T) {
	for _, n := range []int{longList, longList + 1} {
		var c Cells
		c.Add("a", &cellOfTest{Path: make([]float64, n)})
		if has := slices.Contains(c.columns, fmt.Sprint("Path ", n)); has != (n == longList) || has != slices.Contains(c.columns, "Path 1") {
			t.Errorf("%d elements: columns %q", n, c.columns)
		}
	}
}
