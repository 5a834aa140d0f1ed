package memory

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFiles(t *testing.T) {
	const info = "MemFree: 7 kB\nMemTotal:     1000 kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing can be read", nil, Unbounded},
		{"physical memory", map[string]string{"proc/meminfo": info}, 1000 << 10},
		{"version 2, unlimited", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, 1000 << 10},
		{"version 2", map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "5000\n"}, 5000},
		{"version 2, an ancestor", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "4000\n", "sys/fs/cgroup/a/b/memory.max": "5000\n"}, 4000},
		{"version 2, the root of a container", map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "3000\n"}, 3000},
		{"version 2 beside 1", map[string]string{"proc/self/cgroup": "3:cpu:/a\n0::/u\n", "sys/fs/cgroup/unified/u/memory.max": "2500"}, 2500},
		{"version 1", map[string]string{"proc/self/cgroup": "4:cpu,memory:/a/b\n0::/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "6000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 6000},
		{"version 1, another controller", map[string]string{"proc/self/cgroup": "4:cpu:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "6000\n"}, Unbounded},
		{"a torn line", map[string]string{"proc/self/cgroup": "0:\n:::\n4:memory\n"}, Unbounded},
	} {
		root := fstest.MapFS{}
		for name := range maps.Keys(c.files) {
			root[name] = &fstest.MapFile{Data: []byte(c.files[name])}
		}
		if got := fileLimit(root); got != c.want {
			t.Errorf("%s: %d bytes instead of %d", c.name, got, c.want)
		}
	}
	for text, want := range map[string]int64{"300 20 1 1 0 1 0\n": 300 * int64(os.Getpagesize()), "": 0, "x": 0, "-5 1": 0, "99999999999999999 1": 0} {
		if got := mapped(fstest.MapFS{"proc/self/statm": {Data: []byte(text)}}); got != want {
			t.Errorf("%q: %d bytes instead of %d", text, got, want)
		}
	}
	if got := system(); got <= 0 || got == Unbounded {
		t.Errorf("this system has the limit %d", got)
	}
}

// The default bound follows the limits of a process that the test starts.
func TestLimitsOfAProcess(t *testing.T) {
	const child = "CVGM_TEST_LIMIT"
	if os.Getenv(child) != "" {
		fmt.Printf("bound %d\n", Bound(0))
		if os.Getenv(child) == "tight" && !(Bound(0) > 1<<20 && Bound(0) < 1500000<<10/8) {
			t.Errorf("of few addresses beside those that Go reserves: %d bytes", Bound(0))
		}
		return
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	for limit, want := range map[string]int64{
		`GOMEMLIMIT=64MiB exec "$0" "$@"`:                             64 << 20 / 4,
		`ulimit -v 3000000 && exec "$0" "$@"`:                         3000000 << 10 / 4,
		`ulimit -d 1000000 && exec "$0" "$@"`:                         1000000 << 10 / 4,
		`ulimit -v 3000000 && GOMEMLIMIT=100000000 exec "$0" "$@"`:    25000000,
		`ulimit -v unlimited && GOMEMLIMIT=off exec "$0" "$@" # none`: share(system()),
	} {
		command := exec.Command("sh", "-c", limit, os.Args[0], "-test.run=^TestLimitsOfAProcess$")
		command.Env = append(os.Environ(), "GOMEMLIMIT=off", child+"=1")
		want = min(want, share(system())) // of a small machine
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), fmt.Sprintf("bound %d\n", want)) {
			t.Errorf("%s: want %d: %s (%v)", limit, want, out, err)
		}
	}
	command := exec.Command("sh", "-c", `ulimit -v 1500000 && exec "$0" "$@"`, os.Args[0], "-test.run=^TestLimitsOfAProcess$")
	command.Env = append(os.Environ(), "GOMEMLIMIT=off", child+"=tight")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("tight: %s (%v)", out, err)
	}
}
