package notebook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/notebooks/source"
	"cvgm/notebooks/store"
)

// StoreVar names the environment variable with the folder that results are
// kept in. Unset: .work/store in the module's folder.
const StoreVar = "CVGM_STORE"

// RecordVar names the environment variable with a file to which a line of JSON
// is added for each result that a notebook used, when its computation begins and
// ends, for parameters that were overridden, and for warnings. Unset, warnings go to standard error and the
// others nowhere.
const RecordVar = "CVGM_RECORD"

// TwinVar names the environment variable that, where it is set, makes every
// Compute run the experiment's twin: the same with all real parameters moved by
// 2⁻⁴⁰ of themselves. What the twin's outputs differ in is what rounding, which
// is not the same on all processors, may change.
const TwinVar = "CVGM_TWIN"

// FullVar names the environment variable that, where it is set, makes every Compute run the
// experiment at its full size, and Show and Save write tables alone. ./reproduce.sh --full sets it.
const FullVar = "CVGM_FULL"

// Compute returns the result of the experiment with the parameters p, computed
// or from the store. The store's key is made of the parameters, the experiment's
// Run and all source that it reaches (package source), so that a stale result is
// never found; time stamps play no part. So p has to be of a type of this module,
// not of the notebook. Each cell of a repeated experiment is kept as soon as it is
// done, and cells that workers of package worker have computed are used. An error ends the notebook's cell, and so does an interrupt. Under
// ./reproduce.sh parameters other than the default ones and those of -p are refused.
// The values of the cells of an experiment that has a full size are written as CSV to the
// folder full of the output folder, for ./reproduce.sh to keep or to compare.
//
//	result := notebook.Compute(params())
func Compute[R any](p interface {
	Run(ctx context.Context) (R, error)
}) R {
	result, e := obtain(p)
	Check(e.showCells(nameOf(p)))
	return result
}

// obtain is Compute, less the CSV of the cells; it returns the result's place, too.
func obtain[R any](p interface {
	Run(ctx context.Context) (R, error)
}) (R, *entry) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	NoteCopy()
	Check(noteComputed(p))
	if os.Getenv(TwinVar) != "" {
		p = twin(p)
	}
	if os.Getenv(FullVar) != "" {
		p = fullSize(p)
	}
	noteSize(p)
	t := reflect.TypeOf(p)
	function := t.PkgPath() + "." + t.Name() + ".Run"
	source := Must(module().Function(function))
	e := Must(newEntry(storeDir(), function, source, p))
	line := map[string]any{"function": e.function, "parameters": e.params, "key": e.key, "source": source}
	if experiment.HasFull(p) {
		line["experiment"] = nameOf(p)
	}
	Check(record(line))
	var result R
	if e.load(e.path, &result) {
		return result, e
	}
	if listed(e, p) {
		os.Exit(0)
	}
	began := time.Now()
	Check(record(map[string]any{"computing": e.function}))
	report, end := progress()
	ctx = experiment.WithKeeper(experiment.WithProgress(ctx, report), e)
	var cells store.Cells
	if experiment.HasFull(p) {
		ctx = experiment.WithCells(ctx, cells.Add)
	}
	result, err := p.Run(ctx)
	end()
	if err != nil {
		e.close(false)
		if ctx.Err() != nil {
			err = errors.New("interrupted; what was finished is kept")
		}
	}
	Check(err)
	Check(record(map[string]any{"computed": e.key, "seconds": time.Since(began).Seconds()}))
	if experiment.HasFull(p) {
		e.noteUnkept(cells.Write(store.CellsPath(e.path)))
	}
	e.close(e.save(e.path, &result))
	return result, e
}

// FullFolder is the folder in a notebook's output folder that holds what ./reproduce.sh --full
// keeps: tables and cells of the full size.
const FullFolder = "full"

// showCells copies the CSV of the cells to the output folder, as cells_EXPERIMENT.csv, where
// ./reproduce.sh has set one and the store has the CSV.
func (e *entry) showCells(experiment string) error {
	if os.Getenv(OutVar) == "" {
		return nil
	}
	text, err := os.ReadFile(store.CellsPath(e.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return source.WriteFile(filepath.Join(os.Getenv(OutVar), FullFolder, "cells_"+experiment+".csv"), text)
}

// fullSize returns a copy of p with the full sizes of its parameters.
func fullSize[P any](p P) P {
	full := reflect.New(reflect.TypeOf(p))
	full.Elem().Set(reflect.ValueOf(p))
	experiment.SetFull(full.Interface())
	return full.Elem().Interface().(P)
}

// twinShift is far above one rounding, 2⁻⁵³, so that the twin shows the sum of a
// path's roundings at least, and far below what any parameter is known to.
const twinShift = 1.0 / (1 << 40)

// twin returns a copy of p in which each floating-point number is larger by
// twinShift of itself. What p holds must have no pointers or maps.
func twin[P any](p P) P {
	var move func(v reflect.Value)
	move = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Float64:
			v.SetFloat(v.Float() * (1 + twinShift))
		case reflect.Struct:
			for i := range v.NumField() {
				move(v.Field(i))
			}
		case reflect.Slice:
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			v.Set(own)
			for i := range v.Len() {
				move(v.Index(i))
			}
		}
	}
	moved := reflect.New(reflect.TypeOf(p)).Elem()
	moved.Set(reflect.ValueOf(p))
	move(moved)
	return moved.Interface().(P)
}

// storeDir returns the folder that results are kept in.
func storeDir() string {
	if dir := os.Getenv(StoreVar); dir != "" {
		return dir
	}
	return filepath.Join(Must(source.Root()), ".work", "store")
}

// module returns the source as it was when the cell first asked.
var module = sync.OnceValue(func() *source.Module { return Must(source.Open(Must(source.Root()))) })

// An entry is the place of one result in the store.
type entry struct {
	path     string
	function string
	params   json.RawMessage
	key      string
	unkept   atomic.Bool // whether that was said

	once    sync.Once // opens the two below
	cells   map[int][]byte
	journal *store.Journal
}

// newEntry returns the place of a function's result for params. Source is a hash of
// all that the function depends on.
func newEntry(dir, function, source string, params any) (*entry, error) {
	function = path.Base(function) // experiment.ElasticNetParams.Run
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%T\n%s\n", store.Format, source, function, params, text))
	key := hex.EncodeToString(sum[:])
	return &entry{path: store.Path(dir, function, key), function: function, params: text, key: key}, nil
}

// Load and Keep make an entry the experiment.Keeper of its cells: those that earlier
// runs and workers of package worker have left in the store. Both add files of records
// to the same folder.

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
		note("the stored cells of %s cannot be used (%v); all are computed", e.function, err)
	}
	e.cells = cells
	e.journal, err = store.NewJournal(store.Shards(e.path), "local.", e.key, e.params)
	e.noteUnkept(err)
}

// close removes the cells, which are part of the result now if there is one.
func (e *entry) close(complete bool) {
	if e.journal != nil {
		e.noteUnkept(e.journal.Close())
	}
	if complete {
		_ = os.RemoveAll(store.Shards(e.path))
	}
}

// record adds a line to the file of RecordVar.
func record(line map[string]any) error {
	name := os.Getenv(RecordVar)
	if name == "" {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// note warns the user without failing the cell.
func note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if os.Getenv(RecordVar) == "" || record(map[string]any{"note": text}) != nil {
		fmt.Fprintln(os.Stderr, text)
	}
}

// load reads what save wrote. What is damaged is named and as good as absent.
func (e *entry) load(path string, to any) bool {
	err := store.Read(path, to)
	if err == nil {
		return true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		reflect.ValueOf(to).Elem().SetZero()
		note("the stored result %s is damaged (%v) and is computed again", path, err)
	}
	return false
}

// save writes a result under its checksum, whole or not at all, and reports whether it
// has. The result is used also where the store cannot be written to.
func (e *entry) save(path string, from any) bool {
	err := store.Write(path, from)
	e.noteUnkept(err)
	return err == nil
}

// noteUnkept notes an error, as of a full disk, once.
func (e *entry) noteUnkept(err error) {
	if err != nil && !e.unkept.Swap(true) {
		note("the result of %s is not kept: %v", e.function, err)
	}
}
