"""Recomputes the project's tables, figures and notebooks.

usage: ./reproduce.sh [NAME…]           run all notebooks, or these
       ./reproduce.sh --check [NAME…]   recompute, compare with what is committed, write nothing
       ./reproduce.sh lab [PORT]        open JupyterLab on 127.0.0.1
       ./reproduce.sh -h                this text

NAME is a notebook's name with or without its number, or the number alone:
01_elastic_net, elastic_net, 01.

A run rewrites figures/out/NAME/ and the outputs in notebooks/NAME.ipynb, each
file whole and only after its notebook has succeeded. --check fails and names
every output that differs: by its bytes on linux/amd64 with FMA, elsewhere by
its numbers, within 1e-6 of their size or one unit of the last printed place.

Needs Go and Python 3.10 or newer. All else is set up inside the checkout, in
.venv/ and .cache/, on the first run (which needs the network) and again when
the pinned versions change; both folders may be deleted at any time.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import compare
import environment
from environment import NOTEBOOKS, PYTHON, ROOT, WORK, Lock, Problem, say

OUT = ROOT / "figures" / "out"
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Arguments:
    names: list
    check: bool = False
    lab: bool = False
    port: int = 0
    help: bool = False


def parse(argv):
    """The command line as Arguments; a Problem where it makes no sense."""
    args = Arguments([])
    for word in argv:
        if word in ("-h", "--help"):
            args.help = True
        elif word == "--check":
            args.check = True
        elif word.startswith("-"):
            raise Problem(f"unknown option {word}; ./reproduce.sh -h lists them")
        else:
            args.names.append(word)
    if args.names[:1] == ["lab"]:
        args.lab, rest = True, args.names[1:]
        args.names = []
        if args.check or len(rest) > 1 or any(not port.isdigit() or not 0 < int(port) < 65536 for port in rest):
            raise Problem("lab takes nothing but a port number: ./reproduce.sh lab [PORT]")
        args.port = int(rest[0]) if rest else 0
    return args


def select(names, notebooks):
    """The notebooks (paths) that names stand for, in the order they run; all for none."""
    chosen = set()
    for name in names:
        wanted = name.removesuffix(".ipynb")
        found = [p for p in notebooks if wanted in (p.stem, *p.stem.split("_", 1))]
        if not found:
            raise Problem(f"no notebook is called {name}; there are: {', '.join(p.stem for p in notebooks)}")
        chosen.update(found)
    return [p for p in notebooks if not names or p in chosen]


class Progress:
    """One line per notebook; on a terminal it lives while the notebook runs."""

    def __init__(self, total, stream=sys.stderr):
        self.total, self.stream = total, stream
        self.live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.line = None
        if self.live:
            threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        while not self.stopped.wait(0.5):
            with self.lock:
                self.draw()

    def draw(self):
        if self.line:
            text = f"{self.line}  {time.monotonic() - self.since:.0f} s"
            self.stream.write("\r\033[K" + text[: shutil.get_terminal_size().columns - 1])
            self.stream.flush()

    def start(self, number, name):
        self.prefix = f"[{number}/{self.total}] {name}"
        self.since = time.monotonic()
        if not self.live:
            say(self.prefix)

    def cell(self, i, n):
        if self.live:
            with self.lock:
                self.line = f"{self.prefix}  cell {i}/{n}"
                self.draw()

    def end(self, words):
        with self.lock:
            if self.live:
                self.stream.write("\r\033[K")
            self.line = None
            say(f"{self.prefix}  {words}, {time.monotonic() - self.since:.1f} s")

    def close(self):
        self.stopped.set()


def run_all(paths, check, env):
    """Runs the notebooks one after the other; the exit status."""
    import execute

    environment.build_packages(env)
    os.environ.update(env)  # jupyter_client reads its folders from here
    exact = compare.exact_platform()
    tolerance = 0 if exact else compare.TOLERANCE
    if check and not exact:
        say(
            "this is not linux/amd64 with FMA: numbers are compared within "
            f"{tolerance:g} of their size or one unit of the last printed place, pictures not at all"
        )
    WORK.mkdir(exist_ok=True)
    shutil.rmtree(WORK / "staging", ignore_errors=True)
    staging = WORK / "staging"
    progress = Progress(len(paths))
    failed = []
    try:
        for number, path in enumerate(paths, 1):
            out = staging / path.stem
            out.mkdir(parents=True)
            progress.start(number, path.stem)
            try:
                notebook = execute.run(path, out, env, progress.cell)
            except execute.Failed as e:
                failed.append(path.stem)
                progress.end("FAILED")
                say(f"notebooks/{path.name}: {e}")
                continue
            if check:
                differences = list(differing(path, out, notebook, tolerance))
                progress.end(f"DIFFERENCES: {len(differences)}" if differences else "agrees")
                for line in differences:
                    say(f"  {line}")
                if differences:
                    failed.append(path.stem)
            else:
                changed = install(path, out, notebook)
                progress.end(f"files changed: {changed}" if changed else "nothing changed")
    finally:
        progress.close()
        shutil.rmtree(staging, ignore_errors=True)
    if failed:
        say(f"{len(failed)} of {len(paths)} notebooks {'differ or ' if check else ''}failed: {', '.join(failed)}")
    return 1 if failed else 0


def strays():
    """What stands in figures/out and belongs to no notebook."""
    known = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    return sorted(p for p in OUT.glob("*") if p.name not in known)


def differing(path, out, notebook, tolerance):
    for name, what in compare.folder_differences(OUT / path.stem, out, tolerance):
        yield f"{(OUT / path.stem / name).relative_to(ROOT)}: {what}"
    for place, what in compare.notebook_differences(path.read_text(), notebook.decode(), tolerance):
        yield f"{path.relative_to(ROOT)}: {place}: {what}"


def install(path, out, notebook):
    """Moves a notebook's files to their places, file by file; how many changed."""
    target = OUT / path.stem
    old, new = compare.files_in(target), compare.files_in(out)
    changes = {target / name: data for name, data in new.items() if old.get(name) != data}
    if path.read_bytes() != notebook:
        changes[path] = notebook
    for name, data in changes.items():
        environment.write_atomic(name, data)
    gone = [target / name for name in old.keys() - new.keys()]
    for name in gone:
        name.unlink()
    return len(changes) + len(gone)


def free_port(port):
    """port, or one that is free where none is asked for."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port or 8888))
        except OSError as e:
            if port:
                raise Problem(f"port {port} cannot be used: {e.strerror}") from None
            s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def lab(port, env):
    """Runs JupyterLab on the loopback interface until it is stopped; its exit status."""
    port, token = free_port(port), secrets.token_urlsafe(24)
    out = WORK / "lab"
    out.mkdir(parents=True, exist_ok=True)
    argv = [
        *(str(PYTHON), "-I", "-m", "jupyterlab"),
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={ROOT}",
        "--ServerApp.open_browser=False",
        "--ServerApp.answer_yes=True",
        f"--KernelSpecManager.allowed_kernelspecs={environment.KERNEL}",
        "--KernelSpecManager.ensure_native_kernel=False",
        f"--MultiKernelManager.default_kernel_name={environment.KERNEL}",
        "--Application.log_level=WARN",
    ]
    if os.geteuid() == 0:
        argv.append("--allow-root")
    with environment.temporary_folder() as temporary:
        path = f"{environment.LAB_BIN}:{env['PATH']}"
        env = env | {"JUPYTER_TOKEN": token, "CVGM_OUT": str(out), "TMPDIR": temporary, "PATH": path}
        server = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True)
        try:
            say(f"JupyterLab: http://127.0.0.1:{port}/lab/tree/notebooks?token={token}")
            say(f"what its notebooks write goes to {out}; Ctrl-C ends it")
            for line in server.stderr:
                if not environment.KERNEL_CHATTER.match(line):
                    sys.stderr.write(line)
        except KeyboardInterrupt:
            server.terminate()
        finally:
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
    return server.wait()


def interrupt(signum, frame):
    """Stops the run; what cleans up after it is not stopped in turn."""
    for s in STOPS:
        signal.signal(s, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(argv):
    prepared = argv[:1] == ["--prepared"]
    args = parse(argv[2:] if prepared else argv)
    if args.help:
        print(__doc__.strip())
        return 0
    paths = select(args.names, sorted(NOTEBOOKS.glob("*.ipynb")))
    if not args.lab and not paths:
        raise Problem("there are no notebooks in notebooks/")
    lock = Lock(int(argv[1]) if prepared else None)
    if prepared:
        status = run_all(paths, args.check, dict(os.environ))
        for stray in strays() if args.check and not args.names else []:
            say(f"{stray.relative_to(ROOT)}: committed, but no notebook writes it")
            status = 1
        return status
    env = environment.prepare(args.lab)
    if args.lab:
        lock.release()
        return lab(args.port, env)
    runner = str(Path(__file__).resolve().parent)
    os.execve(PYTHON, [str(PYTHON), "-I", "-X", "utf8", runner, "--prepared", lock.hand_over(), *argv], env)


if __name__ == "__main__":
    for s in STOPS:
        if signal.getsignal(s) != signal.SIG_IGN:  # as nohup has it
            signal.signal(s, interrupt)
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as e:
        sys.exit(f"reproduce: {e}")
    except KeyboardInterrupt:
        sys.exit("reproduce: stopped; what was finished is kept")
