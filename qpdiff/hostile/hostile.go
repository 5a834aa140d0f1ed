// Package hostile runs tests of a package's whole interface. It generates inputs that are likely to
// break the package: ties, dependent rows, wrong shapes, entries of any size, NaN. An input is a
// function of a seed and an index, so each failure names the command that replays it. The command
// of a long run:
//
//	go test ./qpdiff ./cvgm -run '^TestHostile$' -v -timeout 0 -hostile.n 5000000
//
// It is for tests of this module only.
package hostile

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cvgm/qpdiff"
)

var (
	duration = flag.Duration("hostile", 0, "run hostile inputs for so `long` (zero: a small fixed number of them)")
	number   = flag.Int("hostile.n", 0, "run so `many` hostile inputs")
	seed     = flag.Uint64("hostile.seed", 1, "the `seed` of the hostile inputs")
	only     = flag.Int64("hostile.only", -1, "replay the hostile input of this `index` alone")
	first    = flag.Int64("hostile.first", 0, "begin at the hostile input of this `index`")
	some     = flag.String("hostile.kinds", "", "draw hostile inputs of these `kinds` alone (names with commas between)")
)

// A Kind is one kind of inputs, together with the test that runs on an input of this kind.
type Kind struct {
	Name string
	// Weight is the frequency of the kind, relative to the weights of the other kinds.
	Weight int
	// Floors holds one share for each kind of call: the smallest share of calls that must succeed.
	// Without these limits, a test in which all calls return errors would pass. A kind of call that
	// Floors does not list must succeed at least once.
	Floors map[string]float64
	Run    func(in *Input)
}

// maxInputTime is the time limit of one input. The slowest inputs are Bayesian searches of hundreds
// of steps. They take some seconds on one core, and more if other processes share the core.
const maxInputTime = 2 * time.Minute

// The share of successful calls is checked only after minCalls calls. At this number, three
// standard deviations of the share are at most .15.
const minCalls = 100

// kinds of errors that qpdiff documents.
var kinds = []struct {
	name string
	err  error
}{
	{"shape", qpdiff.ErrShape}, {"finite", qpdiff.ErrNotFinite}, {"domain", qpdiff.ErrDomain},
	{"illposed", qpdiff.ErrIllPosed}, {"infeas", qpdiff.ErrInfeasible}, {"unbound", qpdiff.ErrUnbounded},
	{"noncvx", qpdiff.ErrNonconvex}, {"limit", qpdiff.ErrIterationLimit}, {"notfit", qpdiff.ErrNotFitted},
	{"notdiff", qpdiff.ErrNotDifferentiable},
}

// An Input draws one input and collects its failures.
type Input struct {
	*rand.Rand
	index int64
	kind  string
	run   *run
}

// run holds the state that the inputs of one test share.
type run struct {
	mu       sync.Mutex
	replay   string
	failures map[string]*failure
	outcomes map[[2]string]map[string]int
	verbose  bool
	logf     func(format string, args ...any)
}

type failure struct {
	count int
	index int64 // the lowest
	text  string
}

func newRun(replay string) *run {
	return &run{replay: replay, failures: map[string]*failure{}, logf: func(string, ...any) {}, outcomes: map[[2]string]map[string]int{}}
}

// Failf records a failure: a property that does not hold for the input. Failures of one category
// are reported together, with the command that replays the first of them.
func (in *Input) Failf(category, format string, args ...any) {
	category = in.kind + ": " + category
	r := in.run
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.failures[category]
	if f == nil {
		f = &failure{index: in.index + 1}
		r.failures[category] = f
		// A long run prints a failure as soon as it occurs.
		r.logf("input %d: %s: %s", in.index, category, fmt.Sprintf(format, args...))
	}
	f.count++
	if in.index < f.index || r.verbose && f.count == 1 {
		f.index, f.text = in.index, fmt.Sprintf(format, args...)
	}
}

// Replaying reports whether the test runs only this input. In this case a test may print the input.
func (in *Input) Replaying() bool { return in.run.verbose }

// ErrDocumented represents errors that the documentation names without a kind.
var ErrDocumented = errors.New("documented")

// Answer counts the outcome of a call, and reports whether the call returned no error. An error
// must be of a documented kind, and the text of the error must be one line.
func (in *Input) Answer(call string, err error, allowed ...error) bool {
	outcome := "ok"
	if err != nil {
		outcome = ""
		for _, k := range kinds {
			if errors.Is(err, k.err) {
				outcome = k.name
				break
			}
		}
		if outcome == "" {
			outcome = "other"
			if !slices.ContainsFunc(allowed, func(a error) bool { return a == ErrDocumented || errors.Is(err, a) }) {
				in.Failf(call+": error of no documented kind", "%v", err)
			}
		}
		if text := err.Error(); strings.ContainsAny(text, "\n\r") || text == "" {
			in.Failf(call+": error text is not one line", "%q", text)
		}
	}
	in.count(call, outcome)
	return err == nil
}

func (in *Input) count(call, outcome string) {
	r := in.run
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]string{in.kind, call}
	m := r.outcomes[key]
	if m == nil {
		m = map[string]int{}
		r.outcomes[key] = m
	}
	m[outcome]++
}

// Stop ends the input after a failure in a nested call.
func (in *Input) Stop() { panic(stop{}) }

type stop struct{}

// panicLine returns the source line at which a panic began. It is the innermost line on the stack
// that belongs to this module but not to the module's tests.
func panicLine() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasPrefix(f.Function, "cvgm/") && !strings.HasPrefix(f.Function, "cvgm/qpdiff/hostile") && !strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return "outside the module"
		}
	}
}

// runOne runs the input of the given index.
func (r *run) runOne(kinds []Kind, index int64) {
	total := 0
	for _, k := range kinds {
		total += k.Weight
	}
	in := &Input{Rand: rand.New(rand.NewPCG(*seed, uint64(index))), index: index, run: r}
	at := in.IntN(total)
	k := 0
	for ; at >= kinds[k].Weight; k++ {
		at -= kinds[k].Weight
	}
	in.kind = kinds[k].Name
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(stop); ok {
				return
			}
			if r.verbose {
				debug.PrintStack()
			}
			in.Failf("panic at "+panicLine(), "%v", v)
		}
	}()
	kinds[k].Run(in)
}

// Test runs the inputs that the flags select, and reports the failures by category. By default it
// runs as many inputs as take a second or two.
func Test(t *testing.T, few int, kinds []Kind) {
	replay := fmt.Sprintf("go test ./%s -run '^%s$' -v -hostile.seed %d", packageDir(), t.Name(), *seed)
	if *some != "" {
		names := strings.Split(*some, ",")
		kinds = slices.DeleteFunc(kinds, func(k Kind) bool { return !slices.Contains(names, k.Name) })
		if len(kinds) != len(names) {
			t.Fatalf("-hostile.kinds %s: only %d of these kinds are here", *some, len(kinds))
		}
		replay += " -hostile.kinds " + *some
	}
	r := newRun(replay + " -hostile.only")
	r.verbose, r.logf = *only >= 0, t.Logf
	d := draws{from: *first, to: *first + int64(few), begin: time.Now(), slots: make([]slot, runtime.GOMAXPROCS(0))}
	switch {
	case *only >= 0:
		d.from, d.to, d.slots = *only, *only+1, d.slots[:1]
	case *number > 0:
		d.to = d.from + int64(*number)
	case *duration > 0:
		d.to = 1 << 62
	}
	d.next.Store(d.from)
	done := make(chan struct{})
	var watch, work sync.WaitGroup
	watch.Go(func() { r.watch(&d, done) })
	for w := range d.slots {
		work.Go(func() { r.runInputs(&d, &d.slots[w], kinds) })
	}
	work.Wait()
	close(done)
	watch.Wait()
	t.Logf("%d inputs with seed %d in %v, outcomes by call:\n%s", min(d.next.Load(), d.to)-d.from, *seed, time.Since(d.begin).Round(time.Millisecond), r.table())
	for _, p := range r.problems(kinds) {
		t.Error(p)
	}
}

// draws are the inputs with from ≤ index < to. Workers take them one after the other.
type draws struct {
	from, to int64
	next     atomic.Int64 // the next input to take
	begin    time.Time
	slots    []slot // one for each worker
}

// A slot describes the work of one worker: the input that it runs, and the time in nanoseconds at
// which the input started. Between inputs the time is 0.
type slot struct{ index, since atomic.Int64 }

// runInputs runs inputs until all of them are taken, or until the time limit of the flag has
// passed.
func (r *run) runInputs(d *draws, s *slot, kinds []Kind) {
	for i := d.next.Add(1) - 1; i < d.to; i = d.next.Add(1) - 1 {
		now := time.Now()
		if *duration > 0 && now.Sub(d.begin) > *duration {
			return
		}
		s.index.Store(i)
		s.since.Store(now.UnixNano())
		r.runOne(kinds, i)
		s.since.Store(0)
	}
}

// watch runs until the channel named done is closed. It ends the process if an input hangs, and
// logs the progress every ten seconds.
func (r *run) watch(d *draws, done <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for logged := d.begin; ; {
		select {
		case <-done:
			return
		case now := <-tick.C:
			r.endIfHung(d.slots, now)
			if now.Sub(logged) >= 10*time.Second {
				logged = now
				r.mu.Lock()
				r.logf("%v: %d inputs, %d categories of failure", now.Sub(d.begin).Round(time.Second), d.next.Load()-d.from, len(r.failures))
				r.mu.Unlock()
			}
		}
	}
}

// endIfHung ends the process if an input takes longer than maxInputTime, and prints the stacks of
// all goroutines. An input that is replayed may take longer, because it may run in a debugger.
func (r *run) endIfHung(slots []slot, now time.Time) {
	if r.verbose {
		return
	}
	for i := range slots {
		if since := slots[i].since.Load(); since > 0 && now.UnixNano()-since > int64(maxInputTime) {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "HANG: one input takes more than %v:\n%s %d\n%s\n", maxInputTime, r.replay, slots[i].index.Load(), stacks[:runtime.Stack(stacks, true)])
			os.Exit(2)
		}
	}
}

// problems lists the failures by category, and then the calls that succeed too seldom.
func (r *run) problems(kinds []Kind) []string {
	var list []string
	for c, f := range r.failures {
		list = append(list, fmt.Sprintf("%s (%d times)\n\t%s\n\t%s %d", c, f.count, f.text, r.replay, f.index))
	}
	for key, m := range r.outcomes {
		sum := 0
		for _, n := range m {
			sum += n
		}
		k := kinds[slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == key[0] })]
		if share := float64(m["ok"]) / float64(sum); sum >= minCalls && (m["ok"] == 0 || share < k.Floors[key[1]]) {
			list = append(list, fmt.Sprintf("%s %s: only %.3g of %d calls are answered, the floor is %.3g: the inputs test little", key[0], key[1], share, sum, k.Floors[key[1]]))
		}
	}
	slices.Sort(list)
	return list
}

// packageDir is the folder of the package under test, as a path relative to the module.
func packageDir() string {
	dir, _ := os.Getwd()
	return filepath.Base(dir)
}

// table lists the outcomes.
func (r *run) table() string {
	var columns []string
	calls := make([][2]string, 0, len(r.outcomes))
	for key, m := range r.outcomes {
		calls = append(calls, key)
		for o := range m {
			if o != "ok" && !slices.Contains(columns, o) {
				columns = append(columns, o)
			}
		}
	}
	slices.Sort(columns)
	columns = append([]string{"ok"}, columns...)
	slices.SortFunc(calls, func(a, b [2]string) int {
		return strings.Compare(a[0]+"\x00"+a[1], b[0]+"\x00"+b[1])
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s%9s", "", "calls")
	for _, c := range columns {
		fmt.Fprintf(&b, "%9s", c)
	}
	for _, key := range calls {
		m := r.outcomes[key]
		sum := 0
		for _, n := range m {
			sum += n
		}
		fmt.Fprintf(&b, "\n%-34s%9d", key[0]+" "+key[1], sum)
		for _, c := range columns {
			fmt.Fprintf(&b, "%9d", m[c])
		}
	}
	return b.String()
}
