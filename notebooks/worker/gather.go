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

// records holds everything that the workers of a sweep have written.
type records struct {
	cells map[int][]byte
	// failed holds the failures of cells that no worker has computed.
	failed      []failure
	ended       []ended
	lostWorkers []started // workers that have not written an end
}

// read reads the files of all workers of the sweep. It includes workers that ran with other plans.
func (s *sweep) read() (*records, error) {
	all := &records{}
	failed, started := map[int]failure{}, map[string]started{}
	cells, err := store.ReadCells(s.folder(), "", s.Key, s.text, func(file string, r store.Record) error {
		switch r.Kind {
		case kindStart:
			return readStart(started, file, r.Payload)
		case kindFailed:
			var f failure
			err := json.Unmarshal(r.Payload, &f)
			failed[f.Cell] = f
			return err
		case kindEnd:
			var e ended
			err := json.Unmarshal(r.Payload, &e)
			all.ended = append(all.ended, e)
			delete(started, file)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	all.cells = cells
	for cell, f := range failed {
		if _, done := cells[cell]; !done {
			all.failed = append(all.failed, f)
		}
	}
	slices.SortFunc(all.failed, func(a, b failure) int { return a.Cell - b.Cell })
	for _, file := range slices.Sorted(maps.Keys(started)) {
		all.lostWorkers = append(all.lostWorkers, started[file])
	}
	return all, nil
}

func readStart(all map[string]started, file string, payload []byte) error {
	var s started
	err := json.Unmarshal(payload, &s)
	s.File = file
	all[file] = s
	return err
}

// errMissing ends an experiment if a cell is missing.
var errMissing = errors.New("cells are missing")

// A gatherKeeper is an experiment.Keeper that loads the recorded cells. It computes no cells.
type gatherKeeper struct {
	all    *records
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	missing []int
	total   int
}

func (k *gatherKeeper) Load(i int, cell any) bool {
	if payload, is := k.all.cells[i]; is && store.Decode(payload, cell) == nil {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.missing = append(k.missing, i)
	return true
}

func (k *gatherKeeper) Keep(int, any) {}

func (k *gatherKeeper) progress(done, total int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total = total
	if done == total && k.missing != nil {
		k.cancel(errMissing)
	}
}

// gather writes the result of the sweep to the store if no cell is missing. Otherwise, it sets the
// field Cells to the missing cells. If an experiment has no cells, gather itself computes the
// experiment.
func (s *sweep) gather(ctx context.Context) error {
	s.Cells = &ranges{}
	if s.hasResult() {
		_ = os.RemoveAll(s.folder()) // a late worker may have made the folder again
		return nil
	}
	all, err := s.read()
	if err != nil {
		return err
	}
	s.describe(all)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := &gatherKeeper{all: all, cancel: cancel}
	result, err := s.experiment.Run(ctx, experiment.Hooks{Progress: k.progress, Keeper: k}, s.params)
	s.Total = k.total
	if errors.Is(context.Cause(ctx), errMissing) {
		slices.Sort(k.missing)
		s.Cells = &ranges{k.missing}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if err := store.Write(s.path, result); err != nil {
		return fmt.Errorf("%s: the result is not kept: %w", s.Name, err)
	}
	_ = os.RemoveAll(s.folder()) // the result contains the cells
	return nil
}

func (s *sweep) describe(all *records) {
	s.Failed, s.Ended, s.Lost = all.failed, all.ended, all.lostWorkers
}

// readPause is the time between two readings of a folder. A shared folder may list a new file late,
// so one reading is not enough.
const readPause = 2 * time.Second

// gatherAll gathers the sweeps. A shared folder may list a new file late, so gatherAll reads the
// records again while cells are missing. It stops after timeout.
func (p *plan) gatherAll(ctx context.Context, timeout time.Duration) error {
	var errs []error
	for _, s := range p.Sweeps {
		err := s.gather(ctx)
		for ; err == nil && len(s.Cells.list) > 0 && len(s.Failed) == 0 && timeout > 0 && ctx.Err() == nil; timeout -= readPause {
			time.Sleep(readPause)
			err = s.gather(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// missingError returns an error that lists the missing cells and the reasons why they are missing.
// If no cells are missing, it returns nil.
func (p *plan) missingError() error {
	var errs []error
	for _, s := range p.Sweeps {
		if len(s.Cells.list) == 0 {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %d of %d cells are missing: %v", s.Name, len(s.Cells.list), s.Total, s.Cells))
		for _, f := range s.Failed {
			errs = append(errs, fmt.Errorf("  cell %d failed on %s (job %s): %s", f.Cell, f.Host, f.Job, f.Why))
		}
		for _, w := range s.Lost {
			errs = append(errs, fmt.Errorf("  shard %d on %s (job %s) was stopped or is at work: %s", w.Shard, w.Host, w.Job, w.File))
		}
	}
	return errors.Join(errs...)
}

// count sets the field Done to the number of the plan's cells that are done. It does not run an
// experiment.
func (p *plan) count() error {
	for _, s := range p.Sweeps {
		if s.Cells == nil {
			return fmt.Errorf("%s: the plan lists no Cells, which -status needs: give -plan a file that ./reproduce.sh --on slurm wrote", s.Name)
		}
		if s.hasResult() {
			s.Done = len(s.Cells.list)
			continue
		}
		all, err := s.read()
		if err != nil {
			return err
		}
		s.describe(all)
		s.Done = 0
		for _, i := range s.Cells.list {
			if _, done := all.cells[i]; done {
				s.Done++
			}
		}
	}
	return nil
}
