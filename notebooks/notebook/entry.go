package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"sync"
	"sync/atomic"

	"cvgm/notebooks/store"
)

// An entry is the place of one result in the store.
type entry struct {
	path     string
	function string
	params   json.RawMessage
	key      string
	unkept   atomic.Bool // whether an error of storing has been reported

	once    sync.Once // opens the following two fields
	cells   map[int][]byte
	journal *store.Journal
}

// newEntry returns the entry for the result of a function. The argument source is a hash of all
// inputs of the function except params. The key of the entry is a hash of store.Format, source,
// function, the type of params, and the JSON of params. The cells of the result have the same key.
func newEntry(dir, function, source string, params any) (*entry, error) {
	function = path.Base(function) // such as experiment.ElasticNetParams.Run
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%T\n%s\n", store.Format, source, function, params, text))
	key := hex.EncodeToString(sum[:])
	return &entry{path: store.Path(dir, function, key), function: function, params: text, key: key}, nil
}

// The methods Load and Keep implement experiment.Keeper for the cells of the entry. The store has
// cells of two kinds: cells from earlier runs, and cells from workers of package worker. Both kinds
// are in files of records in the same folder.

func (e *entry) Load(i int, cell any) bool {
	e.once.Do(e.open)
	payload, is := e.cells[i]
	return is && store.Decode(payload, cell) == nil
}

func (e *entry) Keep(i int, cell any) {
	e.once.Do(e.open)
	if e.journal == nil {
		return
	}
	payload, err := store.Encode(cell)
	if err == nil {
		err = e.journal.Add(store.Record{Kind: store.KindCell, Cell: i, Payload: payload})
	}
	e.noteUnkept(err)
}

func (e *entry) open() {
	cells, err := store.ReadCells(store.Shards(e.path), "", e.key, e.params, func(string, store.Record) error { return nil })
	if err != nil {
		warn("the stored cells of %s cannot be used (%v); all are computed", e.function, err)
	}
	e.cells = cells
	e.journal, err = store.NewJournal(store.Shards(e.path), "local.", e.key, e.params)
	e.noteUnkept(err)
}

// close closes the file of the cells. The argument complete is true if the result is complete. In
// this case, close removes the cells, because the result includes them.
func (e *entry) close(complete bool) {
	if e.journal != nil {
		e.noteUnkept(e.journal.Close())
	}
	if complete {
		_ = os.RemoveAll(store.Shards(e.path))
	}
}

// load reads a file that save has written. If the file is missing, load returns false. If the file
// is damaged, load also prints a note.
func (e *entry) load(path string, to any) bool {
	err := store.Read(path, to)
	if err == nil {
		return true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		reflect.ValueOf(to).Elem().SetZero()
		warn("the stored result %s is damaged (%v) and is computed again", path, err)
	}
	return false
}

// save writes a result with its checksum, either completely or not at all. It reports whether it
// has written the result. If the store is not writable, the cell uses the result without storing
// it.
func (e *entry) save(path string, from any) bool {
	err := store.Write(path, from)
	e.noteUnkept(err)
	return err == nil
}

// noteUnkept prints a note if storing has failed, for example because the disk is full. It prints
// only one note for each entry.
func (e *entry) noteUnkept(err error) {
	if err != nil && !e.unkept.Swap(true) {
		warn("the result of %s is not kept: %v", e.function, err)
	}
}
