package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Record is one line of a file of records: kind, number of the cell, checksum,
// payload in base64. The checksum covers the result's key, too, so a record of
// another result is never read.
type Record struct {
	Kind    string
	Cell    int
	Payload []byte
}

// KindCell is the Kind of a cell that is done. The Payload is what Encode returns for it.
const KindCell = "cell"

const suffix = ".records"

func (r Record) sum(key string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %d\n", key, r.Kind, r.Cell)
	h.Write(r.Payload)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (r Record) line(key string) []byte {
	return fmt.Appendf(nil, "%s %d %s %s\n", r.Kind, r.Cell, r.sum(key), base64.StdEncoding.EncodeToString(r.Payload))
}

// parseLine returns the record in a line without its end, and whether it is whole.
func parseLine(key string, line []byte) (r Record, whole bool) {
	parts := strings.Split(string(line), " ")
	if len(parts) != 4 {
		return r, false
	}
	cell, err := strconv.Atoi(parts[1])
	payload, bad := base64.StdEncoding.DecodeString(parts[3])
	r = Record{parts[0], cell, payload}
	return r, err == nil && bad == nil && r.sum(key) == parts[2]
}

// readFile calls f for each whole record of a file. Torn and damaged records are
// dropped: their cells are computed again.
func readFile(path, key string, f func(Record) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since it was listed
	}
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data) {
		if line, ended := bytes.CutSuffix(line, []byte("\n")); ended {
			if r, whole := parseLine(key, line); whole {
				if err := f(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ReadCells returns the payloads of the cells in the files of records in a folder whose names
// begin with prefix, and calls other for each record of another kind. Two records of one cell
// must have the same bytes. A folder that does not exist has no cells.
func ReadCells(folder, prefix, key string, other func(file string, r Record) error) (map[int][]byte, error) {
	files, err := recordFiles(folder, prefix)
	if err != nil {
		return nil, err
	}
	cells, from := map[int][]byte{}, map[int]string{}
	for _, file := range files {
		err := readFile(file, key, func(r Record) error {
			if r.Kind != KindCell {
				return other(file, r)
			}
			if before, twice := cells[r.Cell]; twice && !bytes.Equal(before, r.Payload) {
				return fmt.Errorf("cell %d differs between %s and %s: the processes or their machines are not alike; remove the wrong file", r.Cell, from[r.Cell], file)
			}
			cells[r.Cell], from[r.Cell] = r.Payload, file
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// recordFiles lists the files of records in a folder whose names begin with prefix.
func recordFiles(folder, prefix string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), suffix) {
			files = append(files, filepath.Join(folder, e.Name()))
		}
	}
	return files, nil
}

// A Journal is the file of records of one process. No other process writes to it. Its
// methods may be called from several goroutines.
type Journal struct {
	mu     sync.Mutex
	file   *os.File
	key    string
	size   int64
	synced time.Time
}

// NewJournal makes a file of a new name, which begins with prefix, for records under a
// result's key.
func NewJournal(folder, prefix, key string) (*Journal, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	f, err := os.CreateTemp(folder, fmt.Sprintf("%s%s.%d.*%s", prefix, host, os.Getpid(), suffix))
	if err != nil {
		return nil, err
	}
	return &Journal{file: f, key: key, synced: time.Now()}, nil
}

// syncEvery bounds the time whose cells a failing node loses. They are computed again.
const syncEvery = time.Second

// Name returns the file's name.
func (j *Journal) Name() string { return j.file.Name() }

// Add appends a record. After an error, such as a full disk, the file has the records
// that it had.
func (j *Journal) Add(r Record) error {
	line := r.line(j.key)
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		_ = j.file.Truncate(j.size)
		return err
	}
	j.size += int64(len(line))
	if time.Since(j.synced) < syncEvery {
		return nil
	}
	j.synced = time.Now()
	return j.file.Sync()
}

// Close closes the file. Network file systems report a full disk only now.
func (j *Journal) Close() error {
	return errors.Join(j.file.Sync(), j.file.Close())
}
