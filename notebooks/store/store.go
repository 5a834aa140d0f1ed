// Package store reads and writes the results of experiments. A complete result has one file. Before
// a result is complete, its finished cells are in files of records, one file for each process that
// computes cells.
package store

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"

	"cvgm/notebooks/source"
)

// Path returns the path, in the folder dir, of the file for a function's result. The argument key
// is a hexadecimal hash of all inputs of the result.
func Path(dir, function, key string) string {
	return filepath.Join(dir, function+"-"+key[:min(16, len(key))])
}

// Shards returns the folder with the records of a result's cells. The argument path is the name of
// the result's file.
func Shards(path string) string { return path + ".shards" }

// Write writes a value with its checksum, either completely or not at all.
func Write(path string, from any) error {
	data, err := Encode(from)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return source.WriteFile(path, append(sum[:], data...))
}

// Read reads a file that Write has written. If the file is missing, the error is an fs.ErrNotExist.
func Read(path string, to any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(data) < sha256.Size || sha256.Sum256(data[sha256.Size:]) != [sha256.Size]byte(data) {
		return errors.New("its checksum is wrong")
	}
	return Decode(data[sha256.Size:], to)
}
