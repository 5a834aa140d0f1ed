package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/notebooks/store"
)

// These constants are the kinds of a worker's records that are not records of cells.
const (
	kindStart  = "start"  // payload: JSON of type started
	kindFailed = "failed" // payload: JSON of type failure
	kindEnd    = "end"    // payload: JSON of type ended
)

// errComplete is the cause with which a worker cancels the experiment when the cells of the shard
// are done.
var errComplete = errors.New("the cells of this shard are done")

// A shardKeeper is an experiment.Keeper that computes the cells of one shard and skips all other
// cells. It appends the computed cells to a journal.
type shardKeeper struct {
	journal *store.Journal
	wanted  func(i int) bool
	cancel  context.CancelCauseFunc

	mu          sync.Mutex
	open        map[int]bool // cells that have begun and are not stored
	kept        int
	err         error // error of the journal
	first, last time.Time
}

func (k *shardKeeper) Load(i int, _ any) bool {
	if !k.wanted(i) {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.first.IsZero() {
		k.first = time.Now()
	}
	k.open[i] = true
	return false
}

func (k *shardKeeper) Keep(i int, cell any) {
	payload, err := store.Encode(cell)
	if err == nil {
		err = k.journal.Add(store.Record{Kind: store.KindCell, Cell: i, Payload: payload})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.err = fmt.Errorf("cell %d cannot be kept: %w", i, err)
		k.cancel(k.err)
		return
	}
	delete(k.open, i)
	k.kept++
	k.last = time.Now()
}

// progress cancels the experiment when the cells of the shard are done. The experiment has no
// result then, because the cells of other shards are missing. If a cell has failed, the experiment
// itself returns the error.
func (k *shardKeeper) progress(done, total int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if done == total && len(k.open) == 0 {
		k.cancel(errComplete)
	}
}

// runShard computes, for each sweep, the cells of the given shard. If a cell fails, the other cells
// are still computed.
func (p *plan) runShard(ctx context.Context, shard int) error {
	var errs []error
	for _, s := range p.Sweeps {
		if err := p.runSweep(ctx, s, shard); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (p *plan) runSweep(ctx context.Context, s *sweep, shard int) (err error) {
	if s.hasResult() {
		return nil
	}
	start := started{Shard: shard, Job: job(), Time: time.Now()}
	start.Host = host()
	prefix := fmt.Sprintf("%s.%d.", p.Name, shard)
	wanted, err := p.cellsOf(s, shard, prefix)
	if err != nil {
		return err
	}
	j, err := store.NewJournal(s.folder(), prefix, s.Key, s.text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if err := addJSON(j, kindStart, 0, start); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := &shardKeeper{journal: j, wanted: wanted, cancel: cancel, open: map[int]bool{}}
	_, failed := s.experiment.Run(ctx, experiment.Hooks{Progress: k.progress, Keeper: k}, s.params)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errComplete):
		return addJSON(j, kindEnd, 0, ended{start, k.kept, k.first, k.last})
	case cause != nil:
		return cause // a signal, or an error of writing a record
	case failed == nil:
		return errors.New("has no cells to share out; leave it to -gather")
	}
	cells := slices.Sorted(maps.Keys(k.open))
	if len(cells) == 0 {
		return failed
	}
	for n, i := range cells {
		why := failed.Error()
		if n > 0 {
			why = fmt.Sprintf("failed like cell %d or otherwise; the experiment returns the error of the first alone", cells[0])
		}
		if err := addJSON(j, kindFailed, i, failure{i, start.Host, start.Job, why}); err != nil {
			return err
		}
	}
	return errors.Join(
		fmt.Errorf("cells %v failed on %s: %w", ranges{cells}, start.Host, failed),
		addJSON(j, kindEnd, 0, ended{start, k.kept, k.first, k.last}))
}

// cellsOf returns a function that reports whether this worker must compute a cell. The function
// returns true only for cells of the shard. Neighbouring cells belong to different shards, so that
// costly neighbours are divided among the workers. After a requeue, an earlier worker with the same
// shard of the same plan may already have recorded the cell. In this case, the function returns
// false.
func (p *plan) cellsOf(s *sweep, shard int, prefix string) (func(i int) bool, error) {
	done, err := store.ReadCells(s.folder(), prefix, s.Key, s.text, func(string, store.Record) error { return nil })
	if err != nil {
		return nil, err
	}
	open := func(i int) bool { _, is := done[i]; return !is }
	if s.Cells == nil {
		return func(i int) bool { return i%p.Shards == shard && open(i) }, nil
	}
	own := map[int]bool{}
	for n, i := range s.Cells.list {
		if n%p.Shards == shard && open(i) {
			own[i] = true
		}
	}
	return func(i int) bool { return own[i] }, nil
}

func addJSON(j *store.Journal, kind string, cell int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return j.Add(store.Record{Kind: kind, Cell: cell, Payload: text})
}

// host returns the name of the node, from Slurm or from the system.
func host() string {
	if name := os.Getenv("SLURMD_NODENAME"); name != "" {
		return name
	}
	name, _ := os.Hostname()
	return name
}

// job returns the name of this task in Slurm. Outside of Slurm, it returns "".
func job() string {
	if id := os.Getenv("SLURM_ARRAY_JOB_ID"); id != "" {
		return id + "_" + os.Getenv("SLURM_ARRAY_TASK_ID")
	}
	return os.Getenv("SLURM_JOB_ID")
}
