package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/registry"
	"cvgm/notebooks/store"
	"cvgm/synth"
)

const testKey = "0123456789abcdef0123456789abcdef"

// newPlan returns a plan with one sweep, in a new folder.
func newPlan(t *testing.T, shards int, name, params string) *plan {
	t.Helper()
	p := &plan{Name: "test", Out: t.TempDir(), Shards: shards, Sweeps: []*sweep{{Name: name, Params: json.RawMessage(params), Key: testKey}}}
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	return p
}

const smallParams = `{"Seeds":7,"Steps":4,"LongSteps":8}`

// gatheredBytes returns the bytes of the plan's result in the store.
func gatheredBytes(t *testing.T, p *plan) []byte {
	t.Helper()
	if err := p.gatherAll(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	if err := p.missingError(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(p.Sweeps[0].path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func runShards(t *testing.T, p *plan, shards ...int) {
	t.Helper()
	for _, i := range shards {
		if err := p.runShard(context.Background(), i); err != nil {
			t.Fatal(err)
		}
	}
}

// recordFiles returns the names of the workers' files.
func recordFiles(t *testing.T, p *plan) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.Sweeps[0].folder(), "*.records"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The gathered result of any number of shards, in any order, equals the result of the experiment's
// own Run.
func TestShardsGatherToTheSameBytes(t *testing.T) {
	for _, e := range registry.All() {
		params := e.Draw(synth.NewStream(1, "worker "+e.Name))
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := e.Run(context.Background(), experiment.Hooks{}, params)
		if err != nil {
			t.Fatalf("%s with %s: %v", e.Name, text, err)
		}
		p := newPlan(t, 3, e.Name, string(text))
		if err := p.gatherAll(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
		if len(p.Sweeps[0].Cells.list) > 0 { // otherwise the experiment has no cells, and gather has computed it
			runShards(t, p, 2, 0, 0, 1)
		}
		got := gatheredBytes(t, p)
		path := filepath.Join(t.TempDir(), "whole")
		if err := store.Write(path, whole); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s with %s: the gathered result differs", e.Name, text)
		}
	}
}

// A damaged or incomplete record is skipped, and a second submission computes only the missing
// cells.
func TestTornRecordsAreComputedAgain(t *testing.T) {
	p := newPlan(t, 1, "elastic_net_seeds", smallParams)
	runShards(t, p, 0)
	file := recordFiles(t, p)[0]
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole := gatheredBytes(t, p)
	for cut := range len(data) {
		if cut%97 != 0 && cut != len(data)-1 {
			continue
		}
		changed := bytes.Clone(data)
		changed[cut] ^= 1
		for _, damaged := range [][]byte{data[:cut], changed} {
			q := newPlan(t, 1, "elastic_net_seeds", smallParams)
			if err := os.MkdirAll(q.Sweeps[0].folder(), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(q.Sweeps[0].folder(), filepath.Base(file)), damaged, 0o644); err != nil {
				t.Fatal(err)
			}
			before, err := q.Sweeps[0].read()
			if err != nil {
				t.Fatal(err)
			}
			if len(before.cells) == 7 {
				continue // the damaged record has another kind
			}
			q.Name = "second"
			if err := q.gatherAll(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
			runShards(t, q, 0)
			after, err := q.Sweeps[0].read()
			if err != nil || len(after.ended) == 0 || after.ended[len(after.ended)-1].Cells+len(before.cells) != 7 && after.ended[0].Cells+len(before.cells) != 7 {
				t.Fatalf("cut at %d: %d cells were whole, then %+v (%v)", cut, len(before.cells), after.ended, err)
			}
			if !bytes.Equal(gatheredBytes(t, q), whole) {
				t.Errorf("cut at %d: another result", cut)
			}
		}
	}
}

// If two records of one cell have different bytes, the error names both files.
func TestDuplicatesMustAgree(t *testing.T) {
	p := newPlan(t, 1, "elastic_net_seeds", smallParams)
	runShards(t, p, 0)
	j, err := store.NewJournal(p.Sweeps[0].folder(), "other.0.", testKey, p.Sweeps[0].text)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Add(store.Record{Kind: store.KindCell, Cell: 3, Payload: []byte("other")}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	err = p.gatherAll(context.Background(), 0)
	for _, name := range append(recordFiles(t, p), "cell 3") {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// A cancelled worker keeps its cells in its file and returns an error.
func TestStoppedWorkerIsNoSuccess(t *testing.T) {
	p := newPlan(t, 1, "elastic_net_seeds", smallParams)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p.runShard(ctx, 0) == nil {
		t.Error("a stopped worker reports success")
	}
	if err := p.gatherAll(context.Background(), 0); err != nil || p.missingError() == nil {
		t.Errorf("nothing is missing after a stopped worker (%v)", err)
	}
	if lost := p.Sweeps[0].Lost; len(lost) != 1 || lost[0].Host == "" {
		t.Errorf("the stopped worker is not listed: %+v", lost)
	}
}

// gatherAll waits for record files and results that a shared folder lists late.
func TestGatherWaitsForLateFiles(t *testing.T) {
	for _, late := range []string{"records", "result"} {
		p := newPlan(t, 1, "elastic_net_seeds", smallParams)
		runShards(t, p, 0)
		s := p.Sweeps[0]
		hidden := filepath.Join(t.TempDir(), "hidden")
		place := s.folder()
		if late == "result" {
			gatheredBytes(t, p)
			place = s.path
		}
		if err := os.Rename(place, hidden); err != nil {
			t.Fatal(err)
		}
		if err := p.gatherAll(t.Context(), 0); err != nil || p.missingError() == nil {
			t.Fatalf("%s: nothing is missing (%v)", late, err)
		}
		shown := make(chan error)
		go func() {
			time.Sleep(readPause / 2)
			shown <- os.Rename(hidden, place)
		}()
		if err := errors.Join(p.gatherAll(t.Context(), time.Minute), p.missingError(), <-shown); err != nil {
			t.Errorf("%s: %v", late, err)
		}
		if !s.hasResult() {
			t.Errorf("%s: there is no result", late)
		}
	}
}

// Results do not depend on clocks, because files and records may have times in any year.
func TestClocksMayDiffer(t *testing.T) {
	p := newPlan(t, 2, "elastic_net_seeds", smallParams)
	runShards(t, p, 0, 1)
	for i, file := range recordFiles(t, p) {
		year := time.Date(1970+130*i, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(file, year, year); err != nil {
			t.Fatal(err)
		}
		j, err := store.NewJournal(p.Sweeps[0].folder(), "late.", testKey, p.Sweeps[0].text)
		if err != nil {
			t.Fatal(err)
		}
		s := started{Host: "n1", Shard: i, Time: year}
		if err := errors.Join(addJSON(j, kindStart, 0, s), addJSON(j, kindEnd, 0, ended{s, 0, year, year.AddDate(-1, 0, 0)}), j.Close()); err != nil {
			t.Fatal(err)
		}
	}
	q := newPlan(t, 1, "elastic_net_seeds", smallParams)
	runShards(t, q, 0)
	if !bytes.Equal(gatheredBytes(t, p), gatheredBytes(t, q)) {
		t.Error("another result")
	}
}

// Shards that are stopped at any cell and run again give the bytes of one worker.
func TestRetriesGatherToTheSameBytes(t *testing.T) {
	one := newPlan(t, 1, "elastic_net_seeds", smallParams)
	runShards(t, one, 0)
	want := gatheredBytes(t, one)
	const draws, most = 4, 5
	stream := synth.NewStream(1, "retries")
	for draw := range draws {
		p := newPlan(t, 1+stream.IntN(most), "elastic_net_seeds", smallParams)
		for range 2 * p.Shards {
			shard := stream.IntN(p.Shards)
			runShards(t, p, shard)
			file := recordFiles(t, p)[stream.IntN(len(recordFiles(t, p)))]
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(file, int64(stream.IntN(len(whole)+1))); err != nil {
				t.Fatal(err)
			}
		}
		for shard := range p.Shards {
			runShards(t, p, p.Shards-1-shard)
		}
		if !bytes.Equal(gatheredBytes(t, p), want) {
			t.Errorf("draw %d with %d shards: other bytes", draw, p.Shards)
		}
	}
}

func TestRanges(t *testing.T) {
	for text, n := range map[string]int{"": 0, "0": 1, "0-9,12,15-20": 17} {
		var r ranges
		if err := r.UnmarshalText([]byte(text)); err != nil || len(r.list) != n || r.String() != text {
			t.Errorf("%q is %v (%v)", text, r.list, err)
		}
	}
	for _, text := range []string{"-", "1,1", "3-1", "a", "1-", "5,2", "0-99999999999"} {
		if err := new(ranges).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// Errors list the failed cells with node, job and reason. Gathering does not wait for late files
// after a recorded failure.
func TestFailedCellsAreNamed(t *testing.T) {
	t.Setenv("SLURMD_NODENAME", "n7")
	t.Setenv("SLURM_JOB_ID", "321")
	p := newPlan(t, 2, "elastic_net_seeds", `{"Seeds":4,"Steps":1,"LongSteps":1,"Noise":1e200}`) // X'X overflows
	err := p.runShard(t.Context(), 1)
	if err == nil || !strings.Contains(err.Error(), "cells 1,3 failed on n7: ") || !strings.Contains(err.Error(), "overflows") {
		t.Errorf("the shard's error: %v", err)
	}
	looks, own := 0, *p.Sweeps[0].experiment
	p.Sweeps[0].experiment = &experiment.Experiment{Name: own.Name, Run: func(ctx context.Context, hooks experiment.Hooks, params any) (any, error) {
		looks++
		return own.Run(ctx, hooks, params)
	}}
	if err := p.gatherAll(t.Context(), readPause); err != nil || looks != 1 {
		t.Errorf("%d looks at the records, want 1; error %v", looks, err)
	}
	err = p.missingError()
	for _, part := range []string{"elastic_net_seeds: 4 of 4 cells are missing: 0-3", "cell 1 failed on n7 (job 321): ", "cell 3 failed on n7 (job 321): ", "overflows"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the missing cells' error lacks %q: %v", part, err)
		}
	}
}

// A requeued shard computes exactly the cells that are missing from its records.
func TestRequeuedShardComputesTheMissingCells(t *testing.T) {
	for _, listed := range []*ranges{nil, {[]int{0, 2, 3, 5}}} {
		p := newPlan(t, 2, "elastic_net_seeds", smallParams)
		s := p.Sweeps[0]
		s.Cells = listed
		runShards(t, p, 0)
		file := recordFiles(t, p)[0]
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{len(whole), len(whole) / 2, 0} {
			for _, f := range recordFiles(t, p) {
				if f != file {
					os.Remove(f)
				}
			}
			if err := os.WriteFile(file, whole[:size], 0o644); err != nil {
				t.Fatal(err)
			}
			before, err := s.read()
			if err != nil {
				t.Fatal(err)
			}
			runShards(t, p, 0)
			after, err := s.read()
			if err != nil {
				t.Fatal(err)
			}
			computed, want := 0, len(after.cells)
			for _, e := range after.ended { // the record of the first worker's end is in the whole file
				computed += e.Cells
			}
			if size < len(whole) {
				want -= len(before.cells)
			}
			if computed != want {
				t.Errorf("cells %v, %d bytes left: %d cells were there and %d are, but the workers computed %+v", listed, size, len(before.cells), len(after.cells), after.ended)
			}
		}
	}
}

// Only workers that have written no end are listed as lost.
func TestEndedWorkersAreNotLost(t *testing.T) {
	p := newPlan(t, 3, "elastic_net_seeds", smallParams)
	p.Sweeps[0].Cells = &ranges{[]int{0, 1, 2, 3, 4, 5, 6}}
	runShards(t, p, 0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p.runShard(ctx, 2) == nil {
		t.Error("a stopped worker reports success")
	}
	s := p.Sweeps[0]
	if err := p.count(); err != nil || len(s.Ended) != 2 || len(s.Lost) != 1 || s.Lost[0].Shard != 2 || s.Done != 5 {
		t.Errorf("%d cells done, ended %+v, lost %+v, error %v", s.Done, s.Ended, s.Lost, err)
	}
}
