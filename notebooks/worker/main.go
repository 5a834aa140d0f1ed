// Worker computes one shard of the cells of experiments. With -gather, it gathers the shards of all
// workers into the store. It needs neither Go nor the sources. The command worker -h explains the
// flags.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"cvgm/cvgm/experiment"
)

const usage = `usage: worker -name EXPERIMENT -params JSON -key KEY -out DIR -shard I -shards S
       worker -plan FILE [-shard I]
       worker -gather (-plan FILE | -name … -shards S)

Computes the cells I, I+S, I+2S, … of an experiment, those of the files in DIR that an
earlier worker with the same shard wrote excepted, and appends them to a new file in
DIR/FUNCTION-KEY.shards. KEY is the result's key in the store. With -plan it takes the
experiments and the missing cells from a file that ./reproduce.sh --on slurm writes.

In a job array of Slurm, I and S default to the index and the number of the array's
elements, and the number of threads (GOMAXPROCS) to the task's CPUs. Anywhere else:

  flags="-name elastic_net_seeds -key $KEY -out DIR -shards 10"
  seq 0 9 | parallel worker $flags -shard {}
  seq 0 9 | xargs -P 4 -I{} worker $flags -shard {}
  srun --ntasks=10 sh -c "worker $flags -shard \$SLURM_PROCID"
  worker -gather $flags

-gather writes the result to DIR once all shards are done, and otherwise lists the
missing cells, where they failed, and why. All workers may be killed and started again
at any time, also twice at the same time. Parameters that the JSON leaves out have
their defaults.

Exit status: 0 done, 1 cells failed or are missing or records are of other parameters,
2 bad flags, parameters out of range or with too many cells, 74 a file could not be
written or read, 143 stopped by a signal.

`

func main() {
	os.Exit(run())
}

func run() int {
	t, err := readTask()
	if err != nil {
		return fail(2, err)
	}
	if cpus := number("SLURM_CPUS_PER_TASK", 1); job() != "" && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, cpus))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if code := exitStatus(ctx, t.do(ctx)); code != 0 {
		return code
	}
	if t.status || t.missing {
		if err := json.NewEncoder(os.Stdout).Encode(t.plan); err != nil {
			return fail(74, err)
		}
	}
	return 0
}

// A task is the work that the worker's flags describe. It gathers the results, prints a state, or
// computes a shard.
type task struct {
	plan                    *plan
	shard                   int
	gather, missing, status bool
	wait                    time.Duration
}

// readTask reads the flags. If flags do not agree, its error names them.
func readTask() (*task, error) {
	t := &task{plan: new(plan)}
	var s sweep
	var params, planFile string
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.StringVar(&s.Name, "name", "", "the experiment")
	flag.StringVar(&params, "params", "{}", "its parameters")
	flag.StringVar(&s.Key, "key", "", "the result's key in the store")
	flag.StringVar(&t.plan.Out, "out", "", "the store's folder, which all machines share")
	flag.StringVar(&planFile, "plan", "", "a file that lists experiments and cells")
	flag.IntVar(&t.shard, "shard", 0, "the shard to compute, from 0; by default in a job array its element")
	flag.IntVar(&t.plan.Shards, "shards", number("SLURM_ARRAY_TASK_COUNT", 1), "the number of shards")
	flag.BoolVar(&t.gather, "gather", false, "write the result to the store")
	flag.BoolVar(&t.missing, "missing", false, "gather what is complete; print the missing cells as JSON")
	flag.BoolVar(&t.status, "status", false, "print the state of the plan's cells as JSON")
	flag.DurationVar(&t.wait, "wait", 0, "the time that -gather waits for files which a shared folder lists late")
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["shard"] {
		t.shard = number("SLURM_ARRAY_TASK_ID", 0)
		if planFile == "" {
			t.shard -= number("SLURM_ARRAY_TASK_MIN", 0)
		}
	}
	if t.plan.Shards < 1 || t.plan.Shards > experiment.MaxCells {
		return nil, fmt.Errorf("-shards is %d: use a number from 1 to %d", t.plan.Shards, experiment.MaxCells)
	}
	var err error
	if planFile == "" {
		t.plan.Name, s.Params = fmt.Sprintf("by%d", t.plan.Shards), json.RawMessage(params)
		t.plan.Sweeps = []*sweep{&s}
		err = t.plan.open()
	} else {
		t.plan, err = readPlan(planFile)
	}
	if err != nil {
		return nil, err
	}
	return t, t.check()
}

// check checks the arguments, the folder of the store, and the number of the shard. It returns an
// error if one of them is not valid.
func (t *task) check() error {
	sharing := !t.gather && !t.missing && !t.status
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("the arguments %q belong to no flag: leave them out; worker -h explains", flag.Args())
	case t.plan.Out == "":
		return errors.New("-out is empty: name the store's folder")
	case sharing && (t.shard < 0 || t.shard >= t.plan.Shards):
		return fmt.Errorf("-shard is %d of %d shards: use a number from 0 to %d", t.shard, t.plan.Shards, t.plan.Shards-1)
	}
	return nil
}

// The method named do runs the task: it computes a shard, gathers the results, or counts the cells.
func (t *task) do(ctx context.Context) error {
	p := t.plan
	switch {
	case t.status:
		return p.count()
	case t.missing:
		return p.gatherAll(ctx, 0)
	case t.gather:
		if err := p.gatherAll(ctx, t.wait); err != nil {
			return err
		}
		return p.missingError()
	}
	return p.runShard(ctx, t.shard)
}

// exitStatus returns the exit status of a worker. The argument err is the error with which the work
// has ended, or nil.
func exitStatus(ctx context.Context, err error) int {
	var io *os.PathError
	switch {
	case ctx.Err() != nil:
		return fail(143, fmt.Errorf("stopped by a signal on %s; finished cells are kept", host()))
	case errors.As(err, &io):
		return fail(74, fmt.Errorf("on %s: %w", host(), err))
	case errors.Is(err, experiment.ErrTooManyCells):
		return fail(2, fmt.Errorf("-params: %w", err))
	case err != nil:
		return fail(1, err)
	}
	return 0
}

func fail(status int, err error) int {
	fmt.Fprintln(os.Stderr, "worker:", err)
	return status
}

// number returns the value of an environment variable as a number. If the value is not a number, it
// returns fallback.
func number(name string, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return fallback
}
