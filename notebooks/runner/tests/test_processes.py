"""Processes, temporary folders and the lock."""

import errno
import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import uuid
from pathlib import Path

import checkout
import processes
from fixtures import alive, Checkout, HERE, wait_for


class Processes(unittest.TestCase):
    def test_what_a_killed_run_leaves_is_swept(self):
        with Checkout(self), tempfile.TemporaryDirectory() as folder:
            orphans, mine = Path(folder, "cvgm-orphan"), Path(folder, "cvgm-mine")
            for path in (orphans, mine, Path(folder, "other")):
                path.mkdir()
            processes.CLAIMS.mkdir(parents=True)
            # The second is not the content of such a file, and the third is a file's copy.
            for name, owner, target in (("cvgm-orphan", "cvgm-orphan", orphans), ("cvgm-wrong", "cvgm-wrong", f"{folder}/other"), ("cvgm-mine", "cvgm-orphan", mine)):
                with open(processes.CLAIMS / owner, "ab") as claim:
                    said = processes.claimed(claim.fileno(), str(target))
                (processes.CLAIMS / name).write_bytes(said)
            left = subprocess.Popen(["sleep", "600"], env={"TMPDIR": str(orphans), "PATH": os.environ["PATH"]})
            self.addCleanup(left.kill)
            half = processes.NOTEBOOKS / ".n.ipynb.123.tmp"
            half.parent.mkdir()
            half.write_bytes(b"half")
            listing = processes.WORK / ".new-1"
            listing.parent.mkdir()
            listing.write_bytes(b"half")
            output = processes.ROOT / "runs" / "n" / "K=16" / ".t.csv.123.tmp"
            output.parent.mkdir(parents=True)
            output.write_bytes(b"half")
            claims = processes.ROOT / ".README.md.123.tmp"
            claims.write_bytes(b"half")
            theirs = processes.ROOT / ".theirs.tmp"
            theirs.write_bytes(b"whole")
            with processes.temporary_folder() as held:
                processes.sweep()
                self.assertTrue(os.path.isdir(held))
            self.assertFalse(os.path.exists(held))
            self.assertEqual(left.wait(), -9)
            self.assertEqual(sorted(os.listdir(folder)), ["cvgm-mine", "other"])
            self.assertEqual((os.listdir(processes.CLAIMS), half.exists(), listing.exists(), output.exists(), claims.exists(), theirs.exists()), ([], False, False, False, False, True))

    def test_sockets_fit_into_their_addresses(self):
        base = "/" + (processes.LONGEST_TEMPORARY - 1) * "x"
        path = f"{base}/{processes.TEMPORARY}{secrets.token_hex(5)}/kernel-{uuid.uuid4()}-ipc-99"
        self.assertEqual(len(path), 103)
        with Checkout(self), unittest.mock.patch.object(tempfile, "tempdir", base + "x"), processes.temporary_folder() as folder:
            self.assertTrue(folder.startswith("/tmp/"))
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)

    def test_free_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            meminfo, group = Path(folder, "meminfo"), Path(folder, "memory.max")
            meminfo.write_text("MemTotal:       8000 kB\nMemAvailable:   5000 kB\nSwapFree:       1000 kB\nHugePages_Total:   0\n")

            def free():
                return processes.free_memory(meminfo, (group, Path(folder, "none")))

            self.assertEqual(free(), 6000 * 1024)
            group.write_text("max\n")
            self.assertEqual(free(), 6000 * 1024)
            group.write_text("2048000\n")
            self.assertEqual(free(), 2048000)
            meminfo.write_text("MemTotal:       8000 kB\n")
            self.assertIsNone(free())

    def test_no_network_is_said_in_one_line(self):
        for said in (
            "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(\"[Errno -3] Temporary failure in name resolution\")': /simple/attrs/",
            "go: x@v1: Get \"https://proxy/x\": dial tcp: lookup proxy on 1.2.3.4:53: no such host",
            "go: x@v1: Get \"https://proxy/x\": dial tcp 127.0.0.1:9: connect: connection refused",
            "x.go:3:2: module lookup disabled by GOPROXY=off",
        ):
            argv = ["sh", "-c", 'echo "$0" >&2; echo more >&2; exit 1', said]
            with self.assertRaises(checkout.ReproduceError) as raised:
                processes.command(argv, dict(os.environ), "installing", cwd="/")
            self.assertRegex(str(raised.exception), r"^installing: the network cannot be reached \(.+\); .*run again$")
            self.assertNotIn("\n", str(raised.exception))
        said = "ERROR: Could not find a version that satisfies the requirement attrs==26.1.0 (from versions: none)"
        with self.assertRaisesRegex(checkout.ReproduceError, r"^installing: pip finds no wheel of attrs==26.1.0: no package index .*run again$"):
            processes.command(["sh", "-c", 'echo "$0" >&2; exit 1', said], dict(os.environ), "installing", cwd="/")
        with self.assertRaisesRegex(checkout.ReproduceError, "failed:\n  other trouble"):
            processes.command(["sh", "-c", "echo other trouble; exit 1"], dict(os.environ), "installing", cwd="/")


class Locking(unittest.TestCase):
    HOLD = """if True:
        import os, sys; sys.path.insert(0, sys.argv[1])
        import logging, processes
        processes.log.addHandler(logging.StreamHandler())
        processes.log.setLevel(logging.INFO)
        processes.ROOT = processes.Path(sys.argv[2])
        lock = processes.Lock()
        print("locked", flush=True)
        if sys.argv[3:]:
            processes.command(sys.argv[3:], dict(os.environ), "test")
        sys.stdin.read()
    """

    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.checkout.write("reproduce.sh", "")
        self.root = self.checkout.root
        self.addCleanup(setattr, processes.Lock, "held", ())

    def hold(self, *argv):
        argv = [sys.executable, "-I", "-c", self.HOLD, str(HERE), str(self.root), *argv]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_another_run_works_while_this_one_is_unlocked(self):
        processes.Lock()
        with processes.unlocked():
            other = self.hold()
            self.assertEqual(other.stdout.readline(), "locked\n")
            other.communicate("")
        third = self.hold()
        self.assertIn(f"(process {os.getpid()})", third.stdout.readline())
        processes.Lock.release()
        self.assertEqual(third.stdout.readline(), "locked\n")

    def test_another_run_waits_while_this_one_is_locked(self):
        with self.assertRaises(ZeroDivisionError), processes.locked():
            other = self.hold()
            self.assertIn(f"(process {os.getpid()})", other.stdout.readline())
            raise ZeroDivisionError
        self.assertEqual(other.stdout.readline(), "locked\n")

    def test_the_lock_outlives_the_work_folder_and_names_its_owner(self):
        first = self.hold()
        self.assertEqual(first.stdout.readline(), "locked\n")
        shutil.rmtree(self.root / ".work", ignore_errors=True)
        second = self.hold()
        self.assertRegex(second.stdout.readline(), rf"another ./reproduce.sh \(process ({first.pid}|\?)\) is at work")
        first.kill()
        self.assertEqual(second.stdout.readline(), "locked\n")
        self.assertEqual(sorted(os.listdir(self.root)), ["reproduce.sh"], "the lock leaves a file")

    def test_where_folders_cannot_be_locked_a_file_is(self):
        true = fcntl.flock

        def flock(fd, how):  # as NFS has it
            if os.path.isdir(f"/proc/self/fd/{fd}"):
                raise OSError(errno.EBADF, "Bad file descriptor")
            return true(fd, how)

        if not os.path.isdir("/proc/self/fd"):
            self.skipTest("no /proc")
        with unittest.mock.patch.object(fcntl, "flock", flock):
            lock = processes.Lock()
        with open(self.root / "reproduce.sh", "rb+") as f, self.assertRaises(BlockingIOError):
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.release()
        with unittest.mock.patch.object(fcntl, "flock", side_effect=OSError(errno.ENOLCK, "No locks available")):
            with self.assertRaisesRegex(checkout.ReproduceError, r"cannot be locked \(No locks available\).*move the checkout"):
                processes.Lock()

    def test_what_a_killed_run_started_holds_up_the_next(self):
        ours = self.root / "pid"
        first = self.hold("sh", "-c", f"sleep 600 & echo $! > {ours}; wait")
        orphan = int(wait_for(lambda: ours.exists() and ours.read_text()))
        first.kill()
        first.wait()
        second = self.hold()
        self.assertIn("waiting for it", second.stdout.readline())
        os.kill(orphan, signal.SIGKILL)
        self.assertEqual(second.stdout.readline(), "locked\n")

    def test_children_end_with_a_run_that_is_killed(self):
        if sys.platform != "linux":
            self.skipTest("only Linux ends children with their parent")
        ours = self.root / "pid"
        first = self.hold("sh", "-c", f"echo $$ > {ours}; exec sleep 600")
        child = int(wait_for(lambda: ours.exists() and ours.read_text()))
        first.kill()
        first.wait()
        self.assertTrue(wait_for(lambda: not alive(child)), "the child lives on")
        processes.Lock().release()
