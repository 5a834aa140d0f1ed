"""Processes of a run: commands, the lock, and temporary folders that end with them."""

import contextlib
import ctypes
import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from checkout import CACHE, NOTEBOOKS, ROOT, RUNS, WORK, ReproduceError, log

# Matches the cause in what pip and Go print if they cannot reach the network.
NO_NETWORK = re.compile(
    r"(?i)temporary failure in name resolution|name or service not known|nodename nor servname provided|no address associated with hostname"
    r"|no such host|server misbehaving|(?:network|no route to host|host) is unreachable|no route to host|connection refused"
    r"|connect(?:ion)? timed out|read timed out|i/o timeout|TLS handshake timeout|cannot connect to proxy|proxyconnect tcp[^\n]*"
    r"|module lookup disabled by GOPROXY=off"
)
NO_WHEEL = re.compile(r"satisfies the requirement (\S+).*\(from versions: none\)")


def command(argv, env, purpose, cwd=ROOT, heard=None):
    """Runs argv and returns its standard output. Where it fails, its last lines become a
    ReproduceError that names the purpose. Each line that it prints is passed to heard.

    What it runs ends with this process, also where that is killed. Where the
    system cannot see to that, the lock, which argv inherits, keeps the next run
    waiting until argv has ended.
    """
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            pass_fds=Lock.held,
            preexec_fn=prctl and (lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL)),
        )
    except OSError as e:
        raise ReproduceError(f"{purpose}: {argv[0]}: {e.strerror}") from None
    printed, errors = [], []
    readers = [threading.Thread(target=listen, args=pair, daemon=True) for pair in ((process.stdout, printed, heard), (process.stderr, errors, heard))]
    with process:
        try:
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            status = process.wait()
        except BaseException:
            process.kill()
            raise
    out, err = "".join(printed), "".join(errors)
    if status != 0:
        if cause := NO_NETWORK.search(err + out):
            raise ReproduceError(
                f"{purpose}: the network cannot be reached ({cause.group()}); set-up downloads Python packages and Go "
                "modules once: connect, or name a mirror by PIP_INDEX_URL and GOPROXY, and run again"
            )
        if wanted := NO_WHEEL.search(err):
            raise ReproduceError(
                f"{purpose}: pip finds no wheel of {wanted.group(1)}: no package index can be reached, or none has one for "
                "this system; connect to the network, or name a mirror by PIP_INDEX_URL, and run again"
            )
        lines = (err.strip() or out.strip()).splitlines()[-15:]
        raise ReproduceError(f"{purpose}: {' '.join(map(str, argv[:4]))} … failed:\n  " + "\n  ".join(lines))
    return out


def listen(stream, lines, heard):
    for line in stream:
        lines.append(line)
        if heard:
            heard(line)


PR_SET_PDEATHSIG = 1  # from Linux's prctl.h


class Lock:
    """Allows one run at a time per checkout: a second run prints a line and waits.

    The lock is on the checkout's folder, which no clean-up removes. Some file
    systems, NFS among them, lock only files that are open for writing; there the
    lock is on reproduce.sh.
    """

    held = ()  # the file descriptor of the lock of this process

    def __init__(self, fd=None):
        if fd is None:
            fd = self.take()
        os.set_inheritable(fd, False)  # it may have been taken by the process that became this one
        Lock.held = (fd,)

    @staticmethod
    def take():
        for path, how in ((ROOT, os.O_RDONLY), (ROOT / "reproduce.sh", os.O_RDWR)):
            fd = os.open(path, how)
            try:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    log.info(f"another ./reproduce.sh (process {lock_owner(fd)}) is at work in this checkout; waiting for it")
                    fcntl.flock(fd, fcntl.LOCK_EX)
                return fd
            except OSError as e:
                os.close(fd)
                why = e.strerror
        raise ReproduceError(f"{ROOT} cannot be locked ({why}), and two runs in it at once would spoil each other; move the checkout to another disk")

    def hand_over(self):
        """Keeps the lock across exec; returns the argument for Lock() in the new program."""
        os.set_inheritable(Lock.held[0], True)
        return str(Lock.held[0])

    @staticmethod
    def release():
        os.close(Lock.held[0])
        Lock.held = ()


@contextlib.contextmanager
def locked():
    """Keeps the set-up as it is meanwhile: no run changes .venv or .cache under the lock of another."""
    Lock()
    try:
        yield
    finally:
        Lock.release()


@contextlib.contextmanager
def unlocked():
    """Lets other runs work in the checkout meanwhile. After an exception it stays so."""
    Lock.release()
    yield
    Lock()


def lock_owner(fd):
    """The process that holds the lock on fd, "?" if /proc/locks does not list it."""
    try:
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if words[1] == "FLOCK" and words[5].endswith(f":{os.fstat(fd).st_ino}"):
                return words[4]
    except (OSError, IndexError):
        pass
    return "?"


TEMPORARY = "cvgm-"
CLAIMS = CACHE / "temporary"

# A kernel's sockets lie in its temporary folder. The path of a socket may have
# 107 bytes on Linux and 103 on macOS; the longest names are those of JupyterLab.
LONGEST_TEMPORARY = 103 - len(f"/{TEMPORARY}0123456789/kernel-01234567-0123-0123-0123-0123456789ab-ipc-99")

# What GoNB logs as an error at each start, to try its log.
KERNEL_CHATTER = re.compile(r"E\d{4} .* Error message$")


@contextlib.contextmanager
def temporary_folder():
    """A TMPDIR that no other user can enter, whose files and processes end with it.

    A killed kernel leaves its folder behind, and a language server in a process
    group of its own. A file in CLAIMS names the folder and is locked while this
    process runs. If this process is killed, the next run finds that file unlocked
    and removes the folder. The file names itself, too, by its inode: its copy in a
    copied checkout is not locked, and the folder may be in use.
    """
    base = tempfile.gettempdir()
    name = f"{TEMPORARY}{secrets.token_hex(5)}"
    folder = os.path.join(base if len(os.fsencode(base)) <= LONGEST_TEMPORARY else "/tmp", name)
    CLAIMS.mkdir(parents=True, exist_ok=True)
    claim = os.open(CLAIMS / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX)
        os.write(claim, claimed(claim, folder))
        os.mkdir(folder, 0o700)
        yield folder
    finally:
        discard(folder)
        (CLAIMS / name).unlink(missing_ok=True)
        os.close(claim)


def claimed(fd, folder):
    """What the file of a claim holds."""
    return b"%d\0" % os.fstat(fd).st_ino + os.fsencode(folder)


def sweep():
    """Ends and removes what killed runs have left behind."""
    for path in CLAIMS.glob(f"{TEMPORARY}*"):
        with open(path, "rb") as claim:
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its owner, a JupyterLab, lives
            said = claim.read()
            folder = os.fsdecode(said.partition(b"\0")[2])
            if os.path.basename(folder) == path.name and said == claimed(claim.fileno(), folder):
                discard(folder)
            path.unlink(missing_ok=True)
    half_written = [path for folder in (ROOT / "figures", RUNS) for path in folder.rglob(".*.tmp")]
    for path in [*half_written, *NOTEBOOKS.glob(".*.tmp"), *ROOT.glob(".README.md.*.tmp"), *ROOT.glob("cvgm/tune/.README.md.*.tmp"), *WORK.glob(".new-*")]:
        path.unlink(missing_ok=True)


def discard(folder):
    """Ends every process whose TMPDIR is folder, and removes it."""
    mark = f"TMPDIR={folder}\0".encode()
    for _ in range(100):
        found = False
        for process in Path("/proc").glob("[0-9]*"):  # none where there is no /proc
            try:
                if mark in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
                    found = True
            except OSError:  # has ended, or is another user's
                continue
        if not found:
            break
        time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)


def free_memory(meminfo="/proc/meminfo", groups=("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")):
    """The free bytes of memory, a container's limit included; None if the system does not report them."""
    try:
        with open(meminfo) as f:
            sizes = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in f)}
        free = 1024 * (sizes["MemAvailable"] + sizes["SwapFree"])
    except (OSError, KeyError, ValueError, IndexError):
        return None
    for group in groups:  # a container's limit
        try:
            with open(group) as f:
                free = min(free, int(f.read()))
        except (OSError, ValueError):  # there is none
            continue
    return free
