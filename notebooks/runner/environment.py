"""Sets up everything that the notebooks need, inside the checkout.

.venv/   Python with nbclient (and JupyterLab, once asked for) and the GoNB kernelspec
.cache/  GoNB and its helpers as built from go.mod's tool directives, and what programs
         would keep in the user's home
.work/   lock, staging, the store of results and what interactive runs write

Only the standard library is imported: this runs before anything is installed.
"""

import contextlib
import fcntl
import hashlib
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
# An empty value means Go's default; GOFLAGS needs a harmless one to win over
# the file that `go env -w` writes.
GO_SETTINGS = {
    "CGO_ENABLED": "0",
    "GO111MODULE": "on",
    "GOAMD64": "v1",
    "GOARCH": "",
    "GODEBUG": "",
    "GOEXPERIMENT": "",
    "GOFLAGS": "-buildvcs=false",
    "GOOS": "",
    "GOTMPDIR": "",
}

# Variables that would move Python's or Jupyter's files, or pip's.
FOREIGN = re.compile(r"PYTHON|JUPYTER|IPYTHON|GONB_|PIP_(USER|TARGET|PREFIX|ROOT|REQUIRE_VIRTUALENV)$")


class Problem(Exception):
    """Something the user has to know; shown without a traceback."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def base_environment():
    """The user's environment without what would change or break a run."""
    env = {k: v for k, v in os.environ.items() if not FOREIGN.match(k)}
    env.update(GO_SETTINGS)
    env["GOWORK"] = "off"
    return env


def jupyter_environment():
    """Where Jupyter's programs keep their files, in place of the user's home."""
    return {
        "JUPYTER_DATA_DIR": str(JUPYTER_DATA),
        "JUPYTER_CONFIG_DIR": str(CACHE / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(CACHE / "jupyter" / "runtime"),
        "IPYTHONDIR": str(CACHE / "ipython"),
    }


def command(argv, env, what, cwd=ROOT):
    """Runs argv and returns its standard output; its words become the Problem."""
    try:
        done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as e:
        raise Problem(f"{what}: {argv[0]}: {e.strerror}") from None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()[-15:]
        raise Problem(f"{what}: {' '.join(map(str, argv[:4]))} … failed:\n  " + "\n  ".join(words))
    return done.stdout


class Lock:
    """One run at a time per checkout: the second waits and says so."""

    def __init__(self, fd=None):
        if fd is not None:  # taken by the process that became this one
            self.fd = fd
            os.set_inheritable(fd, False)
            return
        WORK.mkdir(exist_ok=True)
        self.fd = os.open(WORK / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self.fd, 20, 0).decode(errors="replace").strip()
            say(f"another ./reproduce.sh (process {owner or '?'}) is at work in this checkout; waiting for it")
            fcntl.flock(self.fd, fcntl.LOCK_EX)
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, f"{os.getpid()}\n".encode(), 0)

    def hand_over(self):
        """Keeps the lock across exec; returns what Lock() there needs."""
        os.set_inheritable(self.fd, True)
        return str(self.fd)

    def release(self):
        os.close(self.fd)


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


# A Unix socket lives in a kernel's temporary folder, and its path may have
# about 100 characters.
LONGEST_TEMPORARY = 50

# GoNB's log, less its errors.
KERNEL_CHATTER = re.compile(r"[IW]\d{4} |.* Error message$")


@contextlib.contextmanager
def temporary_folder():
    """A TMPDIR for kernels, whose files and processes end with it.

    A kernel that is killed leaves its folder, and a language server in a
    process group of its own. So that nothing stays where this process itself is
    killed, a file in CLAIMS, locked while its owner lives, names the folder.
    """
    base = tempfile.gettempdir()
    name = f"{TEMPORARY}{secrets.token_hex(5)}"
    folder = os.path.join(base if len(os.fsencode(base)) <= LONGEST_TEMPORARY else "/tmp", name)
    CLAIMS.mkdir(parents=True, exist_ok=True)
    claim = os.open(CLAIMS / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX)
        os.write(claim, os.fsencode(folder))
        os.mkdir(folder, 0o700)
        yield folder
    finally:
        discard(folder)
        (CLAIMS / name).unlink(missing_ok=True)
        os.close(claim)


TEMPORARY = "cvgm-"
CLAIMS = WORK / "temporary"


def sweep():
    """Ends and removes what killed runs have left behind."""
    for path in CLAIMS.glob(f"{TEMPORARY}*"):
        with open(path, "rb") as claim:
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its owner, a JupyterLab, lives
            folder = os.fsdecode(claim.read())
            if os.path.basename(folder) == path.name:
                discard(folder)
            path.unlink()
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


def go_settings(env):
    """The go command, its version and what every Go command and kernel finds in
    its environment; a Problem where Go cannot serve.

    The user's caches are used where they can be written. HOME moves into the
    checkout, because goimports, gopls and Go's telemetry write there.
    """
    go = shutil.which("go", path=env.get("PATH"))
    if not go:
        raise Problem(f"go is not on PATH; install Go {pinned_go() or 'as go.mod states'}")
    names = ["GOVERSION", "GOARCH", "GOENV", "GOPATH", "GOCACHE", "GOMODCACHE"]
    home = CACHE / "home"
    home.mkdir(parents=True, exist_ok=True)
    if sys.platform != "darwin":  # even `go env` keeps telemetry beside its settings
        config = env.get("XDG_CONFIG_HOME") or os.path.join(env["HOME"], ".config")
        env = {"GOENV": os.path.join(config, "go", "env"), **env, "XDG_CONFIG_HOME": str(home / ".config")}
    found = json.loads(command([go, "env", "-json", *names], env, "asking Go for its settings"))
    version = found.pop("GOVERSION")
    toolchain = f"{version} {found.pop('GOARCH')}"
    for name, own in (("GOCACHE", "go-build"), ("GOMODCACHE", "go-mod")):
        if not usable(found[name]):
            found[name] = str(CACHE / own)
    own = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", TOOLCHAIN: toolchain}
    return go, version, GO_SETTINGS | found | own


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
    """What go_settings finds for the user's environment, and that environment."""
    env = base_environment()
    return env, *go_settings({**env, "HOME": env.get("HOME") or str(CACHE / "home")})


def prepare(lab, env, go, version, settings):
    """Installs what is missing or outdated and returns the environment for what
    runs next; what it needs to know, ask_go says."""
    if ":" in str(ROOT) or "," in str(ROOT):
        raise Problem(f"the checkout's path {str(ROOT)!r} holds a colon or a comma, which PATH or GoNB cannot take; move it")
    if pinned_go() and version != f"go{pinned_go()}":
        say(
            f"warning: this is {version}; the committed outputs were made with go{pinned_go()}, so last bits may "
            f"differ (GOTOOLCHAIN=go{pinned_go()} ./reproduce.sh fetches and uses that one)"
        )
    install_python(env, lab)
    build_tools(env | settings, version, lab)
    install_kernel(settings, go)
    return env | settings | jupyter_environment()


def install_python(env, lab):
    """.venv with the pinned requirements; JupyterLab's only once lab is asked for."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    identity = (sys.version, os.path.realpath(base))
    pip = [str(PYTHON), "-I", "-m", "pip", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "install", "-q"]
    steps = [("requirements.txt", "Python packages that run notebooks")]
    if lab:
        steps.append(("requirements-lab.txt", "JupyterLab (240 MB)"))
    texts = []
    for name, what in steps:
        texts.append((NOTEBOOKS / name).read_bytes())
        stamp, key = VENV / f"{name}.installed", digest(*identity, *texts)
        if stamped(stamp, key) and PYTHON.exists():
            continue
        if name == "requirements.txt":
            say("setting up .venv")
            make_venv(base, env)
        say(f"installing {what}")
        command([*pip, "-r", str(NOTEBOOKS / name)], env, f"installing {name}")
        write_atomic(stamp, key.encode())
    settings = VENV / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    write_if_changed(settings, as_json(LAB_SETTINGS))


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
    try:
        command([base, "-I", "-m", "venv", "--clear", "--without-pip", str(VENV)], env, "making .venv")
        pip = [base, "-I", "-m", "pip", "--python", str(PYTHON), "--disable-pip-version-check", "--no-cache-dir"]
        command([*pip, "install", "-q", "pip"], env, "installing pip into .venv")
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
        stamp = folder / "built"
        if stamped(stamp, key):
            continue
        names = " and ".join(os.path.basename(p) for p in packages)
        say(f"building {names} (about a minute where Go's caches are empty)")
        folder.mkdir(parents=True, exist_ok=True)
        command(["go", "build", "-o", f"{folder}/", *packages], env, f"building {names}")
        write_atomic(stamp, key.encode())


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
    write_if_changed(JUPYTER_DATA / "kernels" / KERNEL / "kernel.json", as_json(spec))


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
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
    command(["go", "build", "cvgm/..."], env | {"GOWORK": ""}, "compiling the project's packages", cwd=workspace)
