//go:build unix

package store

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// After a write that fails in the middle of a record, the journal ends with the record before, and
// the next record is complete.
func TestJournalAfterAFailedWrite(t *testing.T) {
	j, err := NewJournal(t.TempDir(), "", testKey, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Add(Record{KindCell, 1, []byte("first")}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(j.Name())
	if err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	short := limit
	short.Cur = uint64(len(whole)) + 100
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &short); err != nil {
		t.Fatal(err)
	}
	failed := j.Add(Record{KindCell, 2, []byte(strings.Repeat("long", 100))})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(j.Name())
	if failed == nil || err != nil || string(text) != string(whole) {
		t.Errorf("write error %v; the file holds %q (%v)", failed, text, err)
	}
	third := Record{KindCell, 3, []byte("third")}
	err = errors.Join(j.Add(third), j.Close())
	if text, _ := os.ReadFile(j.Name()); err != nil || string(text) != string(whole)+string(third.line(testKey)) {
		t.Errorf("after it the file holds %q (%v)", text, err)
	}
}
