package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

const testKey = "0123456789abcdef0123456789abcdef"

// A record of another result is not read.
func TestRecordsBelongToAKey(t *testing.T) {
	r := Record{KindCell, 3, []byte("payload")}
	line := bytes.TrimSuffix(r.line(testKey), []byte("\n"))
	if got, whole := parseLine(testKey, line); !whole || got.Cell != 3 || string(got.Payload) != "payload" {
		t.Errorf("%+v, %v", got, whole)
	}
	if _, whole := parseLine("another", line); whole {
		t.Error("the record of another key is read")
	}
}

// Cells are read from several files, even if the last record of a file is incomplete.
func TestReadCells(t *testing.T) {
	dir := t.TempDir()
	for i, prefix := range []string{"a.", "a.", "b."} {
		j, err := NewJournal(dir, prefix, testKey, []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range []int{i, i + 1} {
			if err := j.Add(Record{KindCell, cell, []byte{byte(cell)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(j.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(j.Name(), whole[:len(whole)-1-i], 0o644); err != nil { // tears the record of cell i+1
			t.Fatal(err)
		}
	}
	none := func(string, Record) error { return nil }
	for prefix, want := range map[string]int{"": 3, "a.": 2, "b.": 1, "c.": 0} {
		if cells, err := ReadCells(dir, prefix, testKey, []byte("{}"), none); err != nil || len(cells) != want {
			t.Errorf("prefix %q: %v (%v)", prefix, cells, err)
		}
	}
	if cells, err := ReadCells(filepath.Join(dir, "absent"), "", testKey, nil, none); err != nil || len(cells) > 0 {
		t.Errorf("no folder: %v (%v)", cells, err)
	}
}

// Two equal records of one cell count as one cell, and two different records are an error.
func TestRecordsOfOneCellMustAgree(t *testing.T) {
	for second, alike := range map[string]bool{"payload": true, "pAyload": false, "payload ": false} {
		dir := t.TempDir()
		for _, payload := range []string{"payload", second} {
			j, err := NewJournal(dir, "", testKey, []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(j.Add(Record{KindCell, 3, []byte(payload)}), j.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if cells, err := ReadCells(dir, "", testKey, []byte("{}"), nil); (err == nil) != alike || alike && string(cells[3]) != "payload" {
			t.Errorf("%q beside %q: %v, error %v", second, "payload", cells, err)
		}
	}
}
