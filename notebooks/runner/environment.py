"""Sets up everything that the notebooks need, inside the checkout.

.venv/   Python with nbclient (and JupyterLab, once asked for) and the GoNB kernelspec
.cache/  GoNB and its helpers as built from go.mod's tool directives, and what programs
         would keep in the user's home
.work/   the store of results, and what runs with -p and interactive runs write

Only the standard library is imported: this runs before anything is installed.
"""

import contextlib
import ctypes
import fcntl
import hashlib
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
CACHE = ROOT / ".cache"
BIN = CACHE / "bin"
LAB_BIN = CACHE / "bin-lab"
WORK = ROOT / ".work"
JUPYTER_DATA = VENV / "share" / "jupyter"
KERNEL = "gonb"

# What every Go command of the project runs with, whatever the user has set.
# GOENV=off hides the file of `go env -w`, so an empty value selects Go's default.
GO_SETTINGS = {
    "CGO_ENABLED": "0",
    "GO111MODULE": "on",
    "GOAMD64": "v1",
    "GOARCH": "",
    "GODEBUG": "",
    "GOENV": "off",
    "GOEXPERIMENT": "",
    "GOFLAGS": "-buildvcs=false",
    "GOOS": "",
    "GOTMPDIR": "",
}

# The user sets how Go reaches the network and which toolchain it takes, also by
# `go env -w`.
GO_NETWORK = ["GOAUTH", "GOINSECURE", "GONOPROXY", "GONOSUMDB", "GOPRIVATE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN", "GOVCS"]

# Variables that would move Python's or Jupyter's files or change what pip
# installs. Those by which pip reaches the network are the user's.
PIP_NETWORK = "INDEX_URL EXTRA_INDEX_URL NO_INDEX FIND_LINKS CERT CLIENT_CERT TRUSTED_HOST PROXY TIMEOUT DEFAULT_TIMEOUT RETRIES CONFIG_FILE KEYRING_PROVIDER"
FOREIGN = re.compile(rf"PYTHON|JUPYTER|IPYTHON|GONB_|PIP_(?!({PIP_NETWORK.replace(' ', '|')})$)")

# Matches the cause in what pip and Go print if they cannot reach the network.
NO_NETWORK = re.compile(
    r"(?i)temporary failure in name resolution|name or service not known|nodename nor servname provided|no address associated with hostname"
    r"|no such host|server misbehaving|(?:network|no route to host|host) is unreachable|no route to host|connection refused"
    r"|connect(?:ion)? timed out|read timed out|i/o timeout|TLS handshake timeout|cannot connect to proxy|proxyconnect tcp[^\n]*"
    r"|module lookup disabled by GOPROXY=off"
)
NO_WHEEL = re.compile(r"satisfies the requirement (\S+).*\(from versions: none\)")


class Problem(Exception):
    """An error with a message for the user; it is shown without a traceback."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def base_environment():
    """The user's environment without what would change or break a run."""
    env = {k: v for k, v in os.environ.items() if not FOREIGN.match(k)}
    return env | {"GOWORK": "off"}


def jupyter_environment():
    """Where Jupyter's programs keep their files, in place of the user's home."""
    return {
        "JUPYTER_DATA_DIR": str(JUPYTER_DATA),
        "JUPYTER_CONFIG_DIR": str(CACHE / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(CACHE / "jupyter" / "runtime"),
        "IPYTHONDIR": str(CACHE / "ipython"),
    }


def command(argv, env, what, cwd=ROOT):
    """Runs argv and returns its standard output; its words become the Problem.

    What it runs ends with this process, also where that is killed. Where the
    system cannot see to that, the lock, which argv inherits, keeps the next run
    waiting until argv has ended.
    """
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            pass_fds=Lock.held,
            preexec_fn=prctl and (lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL)),
        )
    except OSError as e:
        raise Problem(f"{what}: {argv[0]}: {e.strerror}") from None
    if done.returncode != 0:
        if cause := NO_NETWORK.search(done.stderr + done.stdout):
            raise Problem(
                f"{what}: the network cannot be reached ({cause.group()}); set-up downloads Python packages and Go "
                "modules once: connect, or name a mirror by PIP_INDEX_URL and GOPROXY, and run again"
            )
        if wanted := NO_WHEEL.search(done.stderr):
            raise Problem(
                f"{what}: pip finds no wheel of {wanted.group(1)}: no package index can be reached, or none has one for "
                "this system; connect to the network, or name a mirror by PIP_INDEX_URL, and run again"
            )
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()[-15:]
        raise Problem(f"{what}: {' '.join(map(str, argv[:4]))} … failed:\n  " + "\n  ".join(words))
    return done.stdout


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
                    say(f"another ./reproduce.sh (process {lock_owner(fd)}) is at work in this checkout; waiting for it")
                    fcntl.flock(fd, fcntl.LOCK_EX)
                return fd
            except OSError as e:
                os.close(fd)
                why = e.strerror
        raise Problem(f"{ROOT} cannot be locked ({why}), and two runs in it at once would spoil each other; move the checkout to another disk")

    def hand_over(self):
        """Keeps the lock across exec; returns the argument for Lock() in the new program."""
        os.set_inheritable(Lock.held[0], True)
        return str(Lock.held[0])

    def release(self):
        os.close(Lock.held[0])
        Lock.held = ()


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


def write_atomic(path, data):
    """Writes bytes so that path holds the old or the new content, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except OSError as e:  # which names the file only where it could not be opened
        raise OSError(e.errno, e.strerror, str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


TEMPORARY = "cvgm-"
CLAIMS = WORK / "temporary"

# A kernel's sockets lie in its temporary folder. The path of a socket may have
# 107 bytes on Linux and 103 on macOS; the longest names are those of JupyterLab.
LONGEST_TEMPORARY = 103 - len(f"/{TEMPORARY}0123456789/kernel-01234567-0123-0123-0123-0123456789ab-ipc-99")

# GoNB's log, less its errors.
KERNEL_CHATTER = re.compile(r"[IW]\d{4} |.* Error message$")


@contextlib.contextmanager
def temporary_folder():
    """A TMPDIR that no other user can enter, whose files and processes end with it.

    A killed kernel leaves its folder behind, and a language server in a process
    group of its own. A file in CLAIMS names the folder and is locked while this
    process runs. If this process is killed, the next run finds that file unlocked
    and removes the folder.
    """
    base = tempfile.gettempdir()
    name = f"{TEMPORARY}{secrets.token_hex(5)}"
    folder = os.path.join(base if len(os.fsencode(base)) <= LONGEST_TEMPORARY else "/tmp", name)
    claim = make_claim(CLAIMS / name)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX)
        os.write(claim, os.fsencode(folder))
        os.mkdir(folder, 0o700)
        yield folder
    finally:
        discard(folder)
        (CLAIMS / name).unlink(missing_ok=True)
        os.close(claim)


def make_claim(path):
    """Makes the file, and tries again if .work is deleted in the meantime."""
    for last in (False, False, True):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            if last:
                raise


def sweep():
    """Ends and removes what killed runs have left behind."""
    for path in CLAIMS.glob(f"{TEMPORARY}*"):
        try:
            claim = open(path, "rb")
        except FileNotFoundError:  # .work is being deleted
            continue
        with claim:
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its owner, a JupyterLab, lives
            folder = os.fsdecode(claim.read())
            if os.path.basename(folder) == path.name:
                discard(folder)
            path.unlink(missing_ok=True)
    for folder in (ROOT / "figures", NOTEBOOKS, WORK / "runs"):
        for half_written in folder.rglob(".*.tmp"):
            half_written.unlink(missing_ok=True)


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


def digest(*parts):
    h = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        h.update(b"%d:" % len(data) + data)
    return h.hexdigest()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def stamped(path, key):
    try:
        return path.read_text() == key
    except OSError:
        return False


def hash_of(path):
    """The hash of the file at path, or the target of a symbolic link; None if there is neither."""
    try:
        if os.path.islink(path):
            return f"-> {os.readlink(path)}" if os.path.exists(path) else None
        with open(path, "rb") as f:
            return sha256(f.read())
    except OSError:
        return None


def inventory(folder):
    """The hash of every file below folder, by name, without the files that set-up rewrites in each run."""
    found = {}
    for at, folders, files in os.walk(folder):
        for name in files + [name for name in folders if os.path.islink(os.path.join(at, name))]:
            path = os.path.join(at, name)
            found[path[len(str(folder)) + 1 :]] = hash_of(path)
    for path in [*found]:
        if path.endswith(STAMP) or path in UNCOUNTED:
            del found[path]
    return found


# The suffix of the files that record which files set-up made, and from which versions.
STAMP = ".installed"


def write_stamp(stamp, key, files):
    write_atomic(stamp, as_json({"made from": key, "files": files}).encode())


def flaw(stamp, key):
    """The reason to make the files beside stamp again: None if they are unchanged,
    "" if they are missing or were made from other versions, else the damage.

    A damaged file of compiled Python is removed, since Python makes it again.
    """
    try:
        made = json.loads(stamp.read_bytes())
        if made["made from"] != key:
            return ""
        files = dict(made["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    damaged = []
    for name, before in files.items():
        path = stamp.parent / name
        if hash_of(path) != before:
            if path.suffix == ".pyc":
                path.unlink(missing_ok=True)
            else:
                damaged.append(name)
    if not damaged:
        return None
    return f"{len(damaged)} of its {len(files)} files are missing or changed, such as {damaged[0]}"


def remove_damaged(folder, damage):
    """Removes a folder that set-up made; prints the damage, if there is any."""
    if damage:
        say(f"{folder} is damaged and is made anew: {damage}")
    try:
        if not folder.is_dir():
            folder.unlink(missing_ok=True)
        elif not folder.is_symlink():
            shutil.rmtree(folder)
    except OSError as e:
        raise Problem(f"{folder} cannot be made anew ({e}); delete it and run again") from None


def go_settings(env):
    """The go command, its version, the environment of every Go command and kernel,
    and the settings by which Go reaches the network. A Problem if Go is missing.

    The user's caches are used if they are writable. HOME moves into the checkout,
    because goimports, gopls and Go's telemetry write there.
    """
    go = shutil.which("go", path=env.get("PATH"))
    if not go:
        raise Problem(f"go is not on PATH; install Go {pinned_go() or 'as go.mod states'}")
    home = CACHE / "home"
    home.mkdir(parents=True, exist_ok=True)
    if sys.platform != "darwin":  # even `go env` keeps telemetry beside its settings
        config = env.get("XDG_CONFIG_HOME") or os.path.join(env["HOME"], ".config")
        env = {"GOENV": os.path.join(config, "go", "env"), **env, "XDG_CONFIG_HOME": str(home / ".config")}
    asked = {k: v for k, v in GO_SETTINGS.items() if k != "GOENV"} | env
    names = ["GOVERSION", "GOHOSTARCH", "GOPATH", "GOCACHE", "GOMODCACHE", *GO_NETWORK]
    found = json.loads(command([go, "env", "-json", *names], asked, "asking Go for its settings"))
    version = found.pop("GOVERSION")
    toolchain = f"{version} {found.pop('GOHOSTARCH')}"
    network = {name: found.pop(name, "") for name in GO_NETWORK}
    for name, own in (("GOCACHE", "go-build"), ("GOMODCACHE", "go-mod")):
        if not usable(found[name]):
            found[name] = str(CACHE / own)
    own = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", TOOLCHAIN: toolchain}
    return go, version, GO_SETTINGS | found | own, network


# The variable with the Go version and architecture that outputs are made with.
TOOLCHAIN = "CVGM_TOOLCHAIN"


def usable(folder):
    """Whether folder can be written, or made."""
    if not folder or not os.path.isabs(folder):
        return False
    while not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK)


def pinned_go():
    """The Go version that made the committed outputs: go.mod's toolchain line."""
    found = re.search(r"^toolchain go(\S+)", (ROOT / "go.mod").read_text(), re.M)
    return found and found.group(1)


def ask_go():
    """The user's environment, and the result of go_settings for it."""
    env = base_environment()
    go, version, settings, network = go_settings({**env, "HOME": env.get("HOME") or str(CACHE / "home")})
    return env | network, go, version, settings


def prepare(lab, env, go, version, settings):
    """Installs the parts that are missing or outdated and returns the environment
    for the kernels and tools; the arguments come from ask_go."""
    if ":" in str(ROOT) or "," in str(ROOT):
        raise Problem(f"the checkout's path {str(ROOT)!r} holds a colon or a comma, which PATH or GoNB cannot take; move it")
    if pinned_go() and version != f"go{pinned_go()}":
        say(
            f"warning: this is {version}; the committed outputs were made with go{pinned_go()}, so last bits may "
            f"differ (GOTOOLCHAIN=go{pinned_go()} ./reproduce.sh fetches and uses that one)"
        )
    with temporary_folder() as temporary:
        env_here = env | {"TMPDIR": temporary}
        install_python(env_here, lab)
        build_tools(env_here | settings, version, lab)
    install_kernel(settings, go)
    return env | settings | jupyter_environment()


def install_python(env, lab):
    """.venv with the pinned requirements; JupyterLab's only once lab is asked for."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    parts = [sys.version, os.path.realpath(base)]
    pip = [str(PYTHON), "-I", "-m", "pip", *PIP_OPTIONS, "install", "-q", "--no-user"]
    steps = [(VENV / f"requirements.txt{STAMP}", "Python packages that run notebooks")]
    if lab:
        steps.append((VENV / f"requirements-lab.txt{STAMP}", "JupyterLab (240 MB)"))
    keys, damage = [], []
    for stamp, _ in steps:
        parts.append((NOTEBOOKS / stamp.name.removesuffix(STAMP)).read_bytes())
        keys.append(digest(*parts))
        damage.append(flaw(stamp, keys[-1]))
    # A killed pip leaves half-installed packages that later pips take for whole.
    # So the stamps are removed before pip starts and written after it, and a
    # folder with missing or changed files is made again instead of repaired.
    first = 0
    if damage == [None, ""] and not steps[1][0].exists():
        first = 1
    if any(d is not None for d in damage):
        files = [json.loads(steps[0][0].read_bytes())["files"]] if first else []
        for stamp in VENV.glob(f"*{STAMP}"):
            stamp.unlink()
        if not first:
            remove_damaged(VENV, next(filter(None, damage), ""))
            say("setting up .venv")
            make_venv(base, env)
        for stamp, what in steps[first:]:
            name = stamp.name.removesuffix(STAMP)
            say(f"installing {what}")
            command([*pip, "-r", str(NOTEBOOKS / name)], env, f"installing {what}")
            files.append(inventory(VENV))
        for (stamp, _), key, made in zip(steps, keys, files):
            write_stamp(stamp, key, made)
    write_if_changed(OVERRIDES, as_json(LAB_SETTINGS))


PIP_OPTIONS = ["--no-input", "--disable-pip-version-check", "--no-cache-dir"]
OVERRIDES = VENV / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
KERNEL_SPEC = JUPYTER_DATA / "kernels" / KERNEL / "kernel.json"
UNCOUNTED = {str(path.relative_to(VENV)) for path in (OVERRIDES, KERNEL_SPEC)}


# JupyterLab asks the network for news and updates unless told otherwise.
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    }
}


def make_venv(base, env):
    """A fresh .venv with pip, also where Python comes without ensurepip but has pip itself."""
    try:
        command([base, "-I", "-m", "venv", "--clear", str(VENV)], env, "making .venv")
        return
    except Problem as e:
        first = e
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        raise first
    try:
        command([base, "-I", "-m", "venv", "--clear", "--without-pip", str(VENV)], env, "making .venv")
        pip = [base, "-I", "-m", "pip", "--python", str(PYTHON), *PIP_OPTIONS]
        command([*pip, "install", "-q", "--no-user", "-r", str(NOTEBOOKS / "requirements-pip.txt")], env, "installing pip into .venv")
    except Problem:
        shutil.rmtree(VENV, ignore_errors=True)
        raise Problem(
            f"{first}\n{base} cannot make a virtual environment: its venv or ensurepip module is missing "
            "(Debian and Ubuntu: apt-get install python3-venv)"
        ) from None


def build_tools(env, version, lab):
    """What go.mod's tool directives name. gopls completes and explains code in
    JupyterLab; a kernel that finds it starts it, so headless runs are without."""
    key = digest((ROOT / "go.mod").read_bytes(), (ROOT / "go.sum").read_bytes(), version)
    steps = [(BIN, ["github.com/janpfeifer/gonb", "golang.org/x/tools/cmd/goimports"])]
    if lab:
        steps.append((LAB_BIN, ["golang.org/x/tools/gopls"]))
    for folder, packages in steps:
        stamp = folder / f"go.mod{STAMP}"
        damage = flaw(stamp, key)
        if damage is None:
            continue
        remove_damaged(folder, damage)
        names = " and ".join(os.path.basename(p) for p in packages)
        say(f"building {names} (about a minute where Go's caches are empty)")
        folder.mkdir(parents=True, exist_ok=True)
        command(["go", "build", "-o", f"{folder}/", *packages], env, f"building {names}")
        write_stamp(stamp, key, inventory(folder))


def install_kernel(settings, go):
    """The kernelspec, with absolute paths: written again when the checkout has moved."""
    # The kernel makes its own go.work, so GOWORK is at its default there.
    env = settings | {"GOWORK": "", "PATH": f"{BIN}:{os.path.dirname(go)}:"}
    env = {k: v.replace("$", "$$") for k, v in env.items()}
    env["PATH"] += "${PATH}"
    spec = {
        "argv": [str(BIN / "gonb"), "--kernel", "{connection_file}", "--raw_error", f"--go_work={ROOT}"],
        "display_name": "Go (gonb)",
        "language": "go",
        "interrupt_mode": "message",
        "env": env,
    }
    write_if_changed(KERNEL_SPEC, as_json(spec))


def write_if_changed(path, text):
    if not path.exists() or path.read_bytes() != text.encode():
        write_atomic(path, text.encode())


def as_json(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def build_packages(env):
    """Compiles what the cells import, so that no cell waits for it (or fails for it).

    In a workspace like the kernel's own: it reads modules that a plain build
    never asks for, and a kernel gets nothing from the network.
    """
    workspace = CACHE / "workspace"
    go = re.search(r"^go \S+$", (ROOT / "go.mod").read_text(), re.M).group()
    write_if_changed(workspace / "go.mod", f"module workspace\n\n{go}\n")
    write_if_changed(workspace / "go.work", f"{go}\n\nuse (\n\t.\n\t../..\n)\n")
    with temporary_folder() as temporary:
        env = env | {"GOWORK": "", "TMPDIR": temporary}
        command(["go", "build", "cvgm/..."], env, "compiling the project's packages", cwd=workspace)
