package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// commandVar names the environment variable that makes the test program run as the worker.
const commandVar = "CVGM_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(commandVar) != "" {
		main()
	}
	os.Exit(m.Run())
}

// runCommand runs the worker. It returns the exit status and the output.
func runCommand(t *testing.T, flags ...string) (int, string) {
	t.Helper()
	c := exec.Command(os.Args[0], flags...)
	c.Env = append(os.Environ(), commandVar+"=1")
	out, err := c.CombinedOutput()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(out)
}

// For an invalid flag, the worker prints one line with the flag and its value, and exits with the
// status for bad flags.
func TestBadFlagsAreRefused(t *testing.T) {
	for _, c := range []struct{ flags, words string }{
		{"-shards 1000000000000000", "-shards is 1000000000000000: use a number from 1 to 1000000"},
		{"-shards 0", "-shards is 0: use"},
		{"-shards -3", "-shards is -3: use"},
		{"-shard -3", "-shard is -3 of 1 shards: use a number from 0 to 0"},
		{"-shard -1", "-shard is -1 of 1 shards: use"},
		{"-shards 4 -shard 4", "-shard is 4 of 4 shards: use a number from 0 to 3"},
		{"stray", `the arguments ["stray"] belong to no flag`},
		{"-out=", "-out is empty"},
		{"-key=short", `-key of elastic_net_seeds is "short": use`},
		{"-name=none", "-name: "},
		{`-params {"Seeds":2000000000}`, "-params: elastic_net_seeds: too many cells, 2000000000: use"},
		{`-gather -params {"Seeds":2000000000}`, "-params: elastic_net_seeds: too many cells, 2000000000: use"},
		{`-params {"Seeds":-1}`, "-params of elastic_net_seeds: "},
		{`-params {"Sids":1}`, "-params of elastic_net_seeds: "},
		{`-name sample_size -params {"Seeds":2000000000}`, "-params: sample_size: "},
	} {
		flags := append([]string{"-name", "elastic_net_seeds", "-key", testKey, "-out", t.TempDir(), "-params", smallParams}, strings.Fields(c.flags)...)
		status, said := runCommand(t, flags...)
		if status != 2 || !strings.HasPrefix(said, "worker: "+c.words) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: exit status %d:\n%.500s", c.flags, status, said)
		}
	}
	if status, said := runCommand(t, "-h"); status != 0 || !strings.Contains(said, "Exit status: 0 done") {
		t.Errorf("-h: exit status %d:\n%s", status, said)
	}
}

// A worker and -gather return an error for records of the same key with other parameters.
func TestOtherParametersAreRefused(t *testing.T) {
	p := newPlan(t, 2, "elastic_net_seeds", smallParams)
	runShards(t, p, 0)
	other := newPlan(t, 2, "elastic_net_seeds", `{"Seeds":7,"Steps":5,"LongSteps":8}`)
	for _, s := range other.Sweeps {
		s.path = p.Sweeps[0].path
	}
	for what, err := range map[string]error{
		"the same shard": other.runShard(context.Background(), 0), "another shard": other.runShard(context.Background(), 1),
		"gather": other.gatherAll(context.Background(), 0),
	} {
		if err == nil || !strings.Contains(err.Error(), "has cells of the same key with the parameters {") || !strings.Contains(err.Error(), `"Steps":4,`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	runShards(t, p, 1)
	one := newPlan(t, 1, "elastic_net_seeds", smallParams)
	runShards(t, one, 0)
	if !bytes.Equal(gatheredBytes(t, p), gatheredBytes(t, one)) {
		t.Error("the refused workers changed the result")
	}
}
