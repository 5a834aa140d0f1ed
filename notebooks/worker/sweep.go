package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/registry"
	"cvgm/notebooks/store"
)

// A plan describes the work of one submission.
type plan struct {
	Name   string   // beginning of the names of the workers' files
	Out    string   // folder of the store
	Shards int      // number of shards
	Sweeps []*sweep // each shard computes its cells of all sweeps
}

// A sweep is one experiment with one set of parameters.
type sweep struct {
	Name   string          // name of the experiment
	Params json.RawMessage // all parameters
	Key    string          // key of the result in the store
	Cells  *ranges         // cells to compute; nil: all
	Total  int             // number of cells of the experiment; 0 if unknown
	Failed []failure       `json:",omitempty"`
	Ended  []ended         `json:",omitempty"`
	Lost   []started       `json:",omitempty"`
	Done   int             // number of cells in the records

	experiment *experiment.Experiment
	params     any    // a pointer
	text       []byte // the value of params with all parameters, as JSON
	path       string // name of the result's file
}

// started describes a worker that has started. The field Time is only for people, because the
// clocks of nodes differ.
type started struct {
	Host, Job string
	Shard     int
	File      string
	Time      time.Time
}

// ended describes the work of a worker that was not stopped. Time is the time at which the worker
// started. First is the time at which its first cell started, and Last is the time at which its
// last cell ended.
type ended struct {
	started
	Cells       int
	First, Last time.Time
}

// failure describes a cell that failed.
type failure struct {
	Cell      int
	Host, Job string
	Why       string
}

// readPlan reads a plan from a file.
func readPlan(name string) (*plan, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := new(plan)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s: is not a plan (%w): give a file that ./reproduce.sh --on slurm wrote", name, err)
	}
	if p.Shards < 1 || p.Shards > experiment.MaxCells || p.Name == "" || strings.ContainsAny(p.Name, "./") {
		return nil, fmt.Errorf("%s: is not a plan (Name is %q, Shards is %d): give a file that ./reproduce.sh --on slurm wrote", name, p.Name, p.Shards)
	}
	return p, p.open()
}

// open finds the experiments of the sweeps. It also finds, in the store, the files with the results
// of these experiments.
func (p *plan) open() error {
	for _, s := range p.Sweeps {
		e, err := registry.Lookup(s.Name)
		if err != nil {
			return fmt.Errorf("-name: %w", err)
		}
		if len(s.Key) < 16 || strings.ContainsAny(s.Key, "./\\") {
			return fmt.Errorf("-key of %s is %q: use the result's key in the store, a hash of at least 16 digits", s.Name, s.Key)
		}
		s.experiment, s.params = e, e.Params()
		d := json.NewDecoder(strings.NewReader(string(s.Params)))
		d.DisallowUnknownFields()
		if err := d.Decode(s.params); err != nil {
			return fmt.Errorf("-params of %s: %w: worker -h explains", s.Name, err)
		}
		if err := experiment.Check(s.params); err != nil {
			return fmt.Errorf("-params of %s: %w", s.Name, err)
		}
		if s.text, err = json.Marshal(s.params); err != nil {
			return fmt.Errorf("-params of %s: %w", s.Name, err)
		}
		t := reflect.TypeOf(s.params).Elem()
		s.path = store.Path(p.Out, path.Base(t.PkgPath())+"."+t.Name()+".Run", s.Key)
	}
	return nil
}

// folder returns the folder with the files that the workers of the sweep write.
func (s *sweep) folder() string { return store.Shards(s.path) }

// hasResult reports whether the store has the result.
func (s *sweep) hasResult() bool {
	result, err := os.Stat(s.path)
	return err == nil && result.Mode().IsRegular()
}

// ranges is a list of numbers in ascending order. Its text has the form 0-9,12,15-20.
type ranges struct{ list []int }

func (r ranges) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r ranges) String() string {
	var b strings.Builder
	for i := 0; i < len(r.list); {
		k := i
		for k+1 < len(r.list) && r.list[k+1] == r.list[k]+1 {
			k++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.list[i]))
		if k > i {
			fmt.Fprintf(&b, "-%d", r.list[k])
		}
		i = k + 1
	}
	return b.String()
}

func (r *ranges) UnmarshalText(text []byte) error {
	r.list = []int{}
	if len(text) == 0 {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(from)
		b, bad := a, error(nil)
		if isRange {
			b, bad = strconv.Atoi(to)
		}
		if err := errors.Join(err, bad); err != nil || a < 0 || b < a || b >= experiment.MaxCells || len(r.list) > 0 && a <= r.list[len(r.list)-1] {
			return fmt.Errorf("%q is not an ascending list of cells below %d such as 0-9,12", text, experiment.MaxCells)
		}
		for ; a <= b; a++ {
			r.list = append(r.list, a)
		}
	}
	return nil
}
