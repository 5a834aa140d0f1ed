"""Sets up everything that the notebooks need, inside the checkout."""

import importlib.util
import json
import os
import re
import shutil
import sys

from checkout import BIN, CACHE, LAB_BIN, PYTHON, ROOT, RUNNER, TOOLS, VENV, ReproduceError, as_json, digest, log, sha256, write_atomic, write_if_changed
from layout import KERNEL
from processes import command, temporary_folder
from progress import Waiting

JUPYTER_DATA = VENV / "share" / "jupyter"

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
    # Linking takes most of a cell's time, and symbols a third of it. -trimpath: what one checkout has compiled serves all others.
    "GOFLAGS": "-buildvcs=false -trimpath -ldflags=-s",
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


def base_environment():
    """The user's environment without what would change or break a run."""
    env = {k: v for k, v in os.environ.items() if not FOREIGN.match(k)}
    return env | {"GOWORK": "off"}


# Where Jupyter's programs keep their files, in place of the user's home.
JUPYTER_SETTINGS = {
    "JUPYTER_DATA_DIR": str(JUPYTER_DATA),
    "JUPYTER_CONFIG_DIR": str(CACHE / "jupyter"),
    "JUPYTER_RUNTIME_DIR": str(CACHE / "jupyter" / "runtime"),
    "IPYTHONDIR": str(CACHE / "ipython"),
}


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
    counted = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_symlink() or p.is_file()}
    return {name: hash_of(path) for name, path in counted.items() if not name.endswith(STAMP) and name not in UNCOUNTED}


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
        log.info(f"{folder} is damaged and is made anew: {damage}")
    try:
        if not folder.is_dir():
            folder.unlink(missing_ok=True)
        elif not folder.is_symlink():
            shutil.rmtree(folder)
    except OSError as e:
        raise ReproduceError(f"{folder} cannot be made anew ({e}); delete it and run again") from None


def ask_go():
    """The user's environment with the settings by which Go reaches the network, the go
    command, and the environment of every Go command and kernel. A ReproduceError if Go
    is missing.

    The user's caches are used if they are writable. HOME moves into the checkout,
    because goimports, gopls and Go's telemetry write there.
    """
    home = CACHE / "home"
    env = base_environment()
    env["HOME"] = env.get("HOME") or str(home)
    go = shutil.which("go", path=env.get("PATH"))
    if not go:
        raise ReproduceError(f"go is not on PATH; install Go {pinned_go() or 'as go.mod states'}")
    home.mkdir(parents=True, exist_ok=True)
    asked = {k: v for k, v in GO_SETTINGS.items() if k != "GOENV"} | env
    if sys.platform != "darwin":  # even `go env` keeps telemetry beside its settings
        config = env.get("XDG_CONFIG_HOME") or os.path.join(env["HOME"], ".config")
        asked = {"GOENV": os.path.join(config, "go", "env")} | asked | {"XDG_CONFIG_HOME": str(home / ".config")}
    names = ["GOVERSION", "GOHOSTARCH", "GOPATH", "GOCACHE", "GOMODCACHE", *GO_NETWORK]
    found = json.loads(command([go, "env", "-json", *names], asked, "asking Go for its settings"))
    toolchain = f"{found.pop('GOVERSION')} {found.pop('GOHOSTARCH')}"
    network = {name: found.pop(name, "") for name in GO_NETWORK}
    for name, own in (("GOCACHE", "go-build"), ("GOMODCACHE", "go-mod")):
        if not usable(found[name]):
            found[name] = str(CACHE / own)
    own = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", TOOLCHAIN: toolchain}
    return env | network, go, GO_SETTINGS | found | own


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


def prepare(lab, env, go, settings):
    """Installs the parts that are missing or outdated and returns the environment
    for the kernels and tools; the arguments come from ask_go."""
    if ":" in str(ROOT) or "," in str(ROOT):
        raise ReproduceError(f"the checkout's path {str(ROOT)!r} holds a colon or a comma, which PATH or GoNB cannot take; move it")
    version = settings[TOOLCHAIN].split()[0]
    if pinned_go() and version != f"go{pinned_go()}":
        log.warning(
            f"warning: this is {version}; the committed outputs were made with go{pinned_go()}, so last bits may "
            f"differ (GOTOOLCHAIN=go{pinned_go()} ./reproduce.sh fetches and uses that one)"
        )
    if not VENV.exists() and not BIN.exists():
        log.info("first run: .venv and .cache are set up, which takes some two minutes on two cores; later runs find them")
    with temporary_folder() as temporary:
        env_here = env | {"TMPDIR": temporary}
        install_python(env_here, lab)
        build_tools(env_here | settings, version)
    install_kernel(settings, go)
    return env | settings | JUPYTER_SETTINGS


def python_wanted(lab):
    """The requirements for .venv, the stamp that tells that they are there, and its key. Those of
    JupyterLab count once lab was asked for."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    names = ["requirements.txt", "requirements-lab.txt"]
    if not lab and not (VENV / f"{names[1]}{STAMP}").exists():
        names.pop()
    return names, VENV / f"{names[-1]}{STAMP}", digest(sys.version, os.path.realpath(base), *((RUNNER / name).read_bytes() for name in names))


def tools_key(version):
    """The key of the stamps of tools."""
    return digest((TOOLS / "go.mod").read_bytes(), (TOOLS / "go.sum").read_bytes(), version, GO_SETTINGS["GOFLAGS"])


def whole(settings):
    """Whether all that runs notebooks is set up, so that prepare would change nothing."""
    _, stamp, key = python_wanted(False)
    tools = flaw(BIN / f"go.mod{STAMP}", tools_key(settings[TOOLCHAIN].split()[0]))
    return flaw(stamp, key) is None and tools is None and KERNEL_SPEC.exists()


def install_python(env, lab):
    """.venv with the pinned requirements."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    names, stamp, key = python_wanted(lab)
    damage = flaw(stamp, key)
    # A killed pip leaves half-installed packages that later pips take for whole. So
    # the folder is always made again, and its stamp is written last.
    if damage is not None:
        remove_damaged(VENV, damage)
        with Waiting("setting up .venv"):
            make_venv(base, env)
        part = "JupyterLab and Python packages that run notebooks (240 MB)" if len(names) > 1 else "Python packages that run notebooks"
        total = sum(len(re.findall(r"^[\w.-]+==", (RUNNER / name).read_text(), re.M)) for name in names)
        with Waiting(f"installing {part}") as waiting:
            argv = [str(PYTHON), "-I", "-m", "pip", *PIP_OPTIONS, "install", "--progress-bar=off", "--no-user", "-r", str(RUNNER / names[-1])]
            command(argv, env, f"installing {part}", heard=counting(waiting, re.compile("Collecting "), f" of {total} packages fetched"))
        write_stamp(stamp, key, inventory(VENV))
    write_if_changed(OVERRIDES, as_json(LAB_SETTINGS))


def counting(waiting, pattern, unit):
    """A function that shows how many of the lines that it gets match pattern."""
    count = 0

    def heard(line):
        nonlocal count
        if pattern.match(line):
            count += 1
            waiting.parts = f": {count}{unit}"

    return heard


PACKAGE = r"[\w./@-]+$"  # a line of go build -v
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
    except ReproduceError as e:
        first = e
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        raise first
    try:
        command([base, "-I", "-m", "venv", "--clear", "--without-pip", str(VENV)], env, "making .venv")
        pip = [base, "-I", "-m", "pip", "--python", str(PYTHON), *PIP_OPTIONS]
        command([*pip, "install", "-q", "--no-user", "-r", str(RUNNER / "requirements-pip.txt")], env, "installing pip into .venv")
    except ReproduceError:
        shutil.rmtree(VENV, ignore_errors=True)
        raise ReproduceError(
            f"{first}\n{base} cannot make a virtual environment: its venv or ensurepip module is missing "
            "(Debian and Ubuntu: apt-get install python3-venv)"
        ) from None


def build_tools(env, version):
    """The tools that run notebooks, which the module TOOLS names."""
    stamp, key = BIN / f"go.mod{STAMP}", tools_key(version)
    damage = flaw(stamp, key)
    if damage is None:
        return
    remove_damaged(BIN, damage)
    BIN.mkdir(parents=True, exist_ok=True)
    with Waiting("building gonb and goimports (about a minute where Go's caches are empty)") as waiting:
        packages = ["github.com/janpfeifer/gonb", "golang.org/x/tools/cmd/goimports"]
        command(["go", "build", "-v", "-o", f"{BIN}/", *packages], env, "building gonb and goimports", cwd=TOOLS, heard=counting(waiting, re.compile(PACKAGE), " packages compiled"))
    write_stamp(stamp, key, inventory(BIN))


def gopls_wanted(env):
    """Whether gopls is missing or was built from other versions. It completes and explains code
    in JupyterLab; a kernel that finds it starts it, so headless runs are without."""
    return flaw(LAB_BIN / f"go.mod{STAMP}", tools_key(env[TOOLCHAIN].split()[0])) is not None


def build_gopls(env):
    """gopls, at the lowest priority. Kernels that start later find it; it is put into its place
    whole, so that two JupyterLabs may build it at the same time."""
    LAB_BIN.mkdir(parents=True, exist_ok=True)
    new = LAB_BIN / f".gopls.{os.getpid()}.new"
    try:
        command(["nice", "-n", "19", "go", "build", "-o", str(new), "golang.org/x/tools/gopls"], env, "building gopls", cwd=TOOLS)
        os.replace(new, LAB_BIN / "gopls.bin")
    finally:
        new.unlink(missing_ok=True)
    # It yields to all others: it reads the module for ten seconds after a kernel's start,
    # while the first cells are compiled.
    write_atomic(LAB_BIN / "gopls", b'#!/bin/sh\nexec nice -n 19 "$0.bin" "$@"\n')
    (LAB_BIN / "gopls").chmod(0o755)
    write_stamp(LAB_BIN / f"go.mod{STAMP}", tools_key(env[TOOLCHAIN].split()[0]), {name: hash_of(LAB_BIN / name) for name in ("gopls", "gopls.bin")})


def install_kernel(settings, go):
    """The kernelspec, with absolute paths: written again when the checkout has moved."""
    # The kernel makes its own go.work, so GOWORK is at its default there.
    env = settings | {"GOWORK": "", "PATH": f"{BIN}:{os.path.dirname(go)}:"}
    env = {k: v.replace("$", "$$") for k, v in env.items()}
    env["PATH"] += "${PATH}"
    spec = {
        # GoNB's log, less its errors, goes nowhere: lab shows what kernels print.
        "argv": [str(BIN / "gonb"), "--kernel", "{connection_file}", "--raw_error", f"--go_work={ROOT}", "--logtostderr=false", "--log_file=/dev/null"],
        "display_name": "Go (gonb)",
        "language": "go",
        "interrupt_mode": "message",
        "env": env,
    }
    write_if_changed(KERNEL_SPEC, as_json(spec))


def build_packages(env):
    """Compiles what the cells import, so that no cell waits for it (or fails for it).

    In a workspace like the kernel's own: it reads modules that a plain build
    never asks for, and a kernel gets nothing from the network. go list -export
    compiles as go build does, which would also link the module's programs each time.
    """
    workspace = CACHE / "workspace"
    go = re.search(r"^go \S+$", (ROOT / "go.mod").read_text(), re.M).group()
    write_if_changed(workspace / "go.mod", f"module workspace\n\n{go}\n")
    write_if_changed(workspace / "go.work", f"{go}\n\nuse (\n\t.\n\t../..\n)\n")
    with temporary_folder() as temporary:
        env = env | {"GOWORK": "", "TMPDIR": temporary}
        with Waiting("compiling the project's packages", quiet=True) as waiting:
            command(["go", "list", "-export", "-v", "cvgm/..."], env, waiting.title, cwd=workspace, heard=counting(waiting, re.compile(PACKAGE), " compiled"))
