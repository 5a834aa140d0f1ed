package store

import (
	"bufio"
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

// A Record is one line of a file of records. It has a kind, the number of a cell, a checksum, and a
// payload in base64. The checksum also depends on the key of the result. So a record of another
// result is never accepted.
type Record struct {
	Kind    string
	Cell    int
	Payload []byte
}

// KindCell is the Kind of a record with a finished cell. The Payload of the record is the value of
// the cell, encoded by Encode.
const KindCell = "cell"

// kindParams is the Kind of the first record of a file. The Payload of this record is the
// parameters.
const kindParams = "params"

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

// parseLine returns the record in a line, which is given without its line break. The second result
// is true if the record is complete and undamaged.
func parseLine(key string, line []byte) (r Record, isIntact bool) {
	parts := strings.Split(string(line), " ")
	if len(parts) != 4 {
		return r, false
	}
	cell, err := strconv.Atoi(parts[1])
	payload, bad := base64.StdEncoding.DecodeString(parts[3])
	r = Record{parts[0], cell, payload}
	return r, err == nil && bad == nil && r.sum(key) == parts[2]
}

// readFile calls f for each complete record of a file. It skips incomplete and damaged records. The
// cells of the skipped records are computed again.
func readFile(path, key string, f func(Record) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed after it was listed
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

// ReadCells reads the cells in a folder of records. It returns the payload of each cell, by the
// number of the cell. It reads only files whose names begin with the given prefix, and calls
// onOther for each record that is not a cell. It returns an error if two records of a cell differ,
// or if the parameters in a file differ from params, which is JSON. If the folder is missing, there
// are no cells.
func ReadCells(folder, prefix, key string, params []byte, onOther func(file string, r Record) error) (map[int][]byte, error) {
	files, err := recordFiles(folder, prefix)
	if err != nil {
		return nil, err
	}
	cells, from := map[int][]byte{}, map[int]string{}
	for _, file := range files {
		err := readFile(file, key, func(r Record) error {
			if r.Kind == kindParams {
				return checkParams(file, r, params)
			}
			if r.Kind != KindCell {
				return onOther(file, r)
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

// checkParams checks the first record r of a file. If its parameters are not equal to params, it
// returns an error.
func checkParams(file string, r Record, params []byte) error {
	if bytes.Equal(r.Payload, params) {
		return nil
	}
	return fmt.Errorf("%s has cells of the same key with the parameters %s, not %s: use another key, or remove the file", file, r.Payload, params)
}

// refuseOthers returns an error if a file in the folder has other parameters than params. It reads
// only the first record of each file.
func refuseOthers(folder, key string, params []byte) error {
	files, err := recordFiles(folder, "")
	for _, file := range files {
		f, bad := os.Open(file)
		if errors.Is(bad, fs.ErrNotExist) {
			continue // removed after it was listed
		}
		if bad != nil {
			return bad
		}
		line, _ := bufio.NewReader(f).ReadBytes('\n') // a torn record is not a record of other parameters
		_ = f.Close()
		if r, whole := parseLine(key, bytes.TrimSuffix(line, []byte("\n"))); whole && r.Kind == kindParams {
			err = errors.Join(err, checkParams(file, r, params))
		}
	}
	return err
}

// recordFiles lists the files of records in a folder. It lists only files whose names begin with
// the given prefix.
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

// A Journal is a file of records of one process. No other process writes to this file. The methods
// of a Journal are safe for concurrent use.
type Journal struct {
	mu     sync.Mutex
	file   *os.File
	key    string
	size   int64
	synced time.Time
}

// NewJournal makes a file for records of one result. The file has a new name that begins with the
// given prefix. The argument key is the key of the result, and params is the parameters in JSON. If
// the folder has records with other parameters, NewJournal returns an error.
func NewJournal(folder, prefix, key string, params []byte) (*Journal, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	if err := refuseOthers(folder, key, params); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	f, err := os.CreateTemp(folder, fmt.Sprintf("%s%s.%d.*%s", prefix, host, os.Getpid(), suffix))
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, key: key, synced: time.Now()}
	if err := j.Add(Record{Kind: kindParams, Payload: params}); err != nil {
		return nil, errors.Join(err, j.Close(), os.Remove(f.Name()))
	}
	return j, nil
}

// syncEvery is the interval between syncs of the file. If a node fails, the cells of at most one
// interval are lost and have to be computed again.
const syncEvery = time.Second

// Name returns the name of the file.
func (j *Journal) Name() string { return j.file.Name() }

// Add appends a record. After an error, for example because the disk is full, the file still has
// its earlier records.
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

// Close closes the file. A network file system may report a full disk only when the file is closed.
func (j *Journal) Close() error {
	return errors.Join(j.file.Sync(), j.file.Close())
}
