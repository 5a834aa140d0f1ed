package memory

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// system returns the least limit of the operating system.
func system() int64 {
	low := fileLimit(os.DirFS("/"))
	for _, which := range []int{syscall.RLIMIT_AS, syscall.RLIMIT_DATA} {
		var r syscall.Rlimit
		if syscall.Getrlimit(which, &r) == nil && r.Cur < Unbounded {
			low = min(low, int64(r.Cur))
			if which == syscall.RLIMIT_AS {
				// RLIMIT_AS limits addresses, and Go itself reserves more than 1 GiB of them. The
				// default bound should therefore be half of the free addresses. The default bound
				// is a quarter of the smallest limit, so this limit is set to twice the number of
				// free addresses.
				low = min(low, 2*max(1, int64(r.Cur)-mapped(os.DirFS("/"))))
			}
		}
	}
	return low
}

// mapped returns the number of bytes in the address ranges that the process uses. If this number
// cannot be read, it returns 0.
func mapped(root fs.FS) int64 {
	pages, _ := fs.ReadFile(root, "proc/self/statm")
	if fields := strings.Fields(string(pages)); len(fields) > 0 {
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil && n > 0 && n < Unbounded/int64(os.Getpagesize()) {
			return n * int64(os.Getpagesize())
		}
	}
	return 0
}

// fileLimit reads limits from files of the file system root, and returns the smallest limit. The
// limits are the physical memory and the limits of the control groups (versions 1 and 2).
func fileLimit(root fs.FS) int64 {
	low := int64(Unbounded)
	see := func(value string, unit int64) {
		if v, err := strconv.ParseInt(value, 10, 64); err == nil && v > 0 && v <= Unbounded/unit { // "max" is not a number
			low = min(low, v*unit)
		}
	}
	info, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range bytes.Lines(info) {
		if fields := strings.Fields(string(line)); len(fields) > 1 && fields[0] == "MemTotal:" {
			see(fields[1], 1024)
		}
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range bytes.Lines(groups) { // hierarchy:controllers:group
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) < 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			group(root, "sys/fs/cgroup", parts[2], "memory.max", see)
			group(root, "sys/fs/cgroup/unified", parts[2], "memory.max", see)
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			group(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", see)
		}
	}
	return low
}

// group calls the function visit with the limit of a control group, and with the limits of all
// groups above this group. In a container, the name of the group may be a name from outside the
// container. In this case group finds only the limits in the root directory of the mount.
func group(root fs.FS, mount, group, name string, visit func(value string, unit int64)) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		if value, err := fs.ReadFile(root, path.Join(mount, group, name)); err == nil {
			visit(strings.TrimSpace(string(value)), 1)
		}
		if group == "/" {
			return
		}
	}
}
