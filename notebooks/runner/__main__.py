"""Recomputes the project's tables, figures and notebooks.

usage: ./reproduce.sh [NAME…]           run what is stale of all notebooks, or of these
       ./reproduce.sh --why [NAME…]     say what is stale and for which reason; run nothing
       ./reproduce.sh --force [NAME…]   run them in any case and compute every result again
       ./reproduce.sh --check [NAME…]   recompute, compare with what is committed, write nothing
       ./reproduce.sh NAME… -p PARAMETER=VALUE [-p …]   run with other parameters
       ./reproduce.sh NAME -p help      list the parameters with their values and meanings
       ./reproduce.sh --sensitivities [NAME…]   record in figures/out/sensitivities.json what rounding may change
       ./reproduce.sh --timings         run the benchmarks, record them in figures/out/timings.json
       ./reproduce.sh lab [PORT]        open JupyterLab on 127.0.0.1
       ./reproduce.sh -h                this text

NAME is a notebook's name with or without its number, or the number alone:
01_elastic_net, elastic_net, 01. A list of values has commas: -p Hidden=16,16.

A run rewrites figures/out/NAME/ and the outputs in notebooks/NAME.ipynb, each
file whole and only after its notebook has succeeded. With -p everything goes to
.work/runs/NAME/PARAMETERS/ instead. Beside the outputs, provenance.json says
what they were made from; what still agrees with it is not run again.

A run of all notebooks ends with figures/out/report.html, one page that needs no
network: claims, tables, figures, times and environment.

Results are kept in .work/store under their parameters and the source of the
packages that made them, those of long experiments cell by cell, so that a run
that was stopped goes on where it was. After a run of all notebooks, results
that nothing uses any more are removed. .work may be deleted at any time, also
during a run: what is lost is computed again, and a run whose outputs are lost
before they are in their places fails, says so and leaves the old ones there.

--check fails and names every output that differs: by its bytes on linux/amd64
with FMA, elsewhere by its numbers. Those may differ by 1e-9 of their size, by one
unit of the last printed place, or by ten times the sensitivity of their series or
place: how far it moves when all real parameters of the experiment are moved by
2^-40 of themselves. --sensitivities runs the notebooks so and records that; do it
after a run that changed outputs. Figures are compared by their plotted series.

A cell that wants more memory than is free fails with a line that says so.
Kernels are reached through sockets in a folder of the temporary directory that
no other user can enter.

Needs Go and Python 3.10 or newer. All else is set up inside the checkout, in
.venv/ and .cache/, on the first run (which needs the network) and again when
the pinned versions change or a file in there is damaged; both folders may be
deleted between runs. Python packages are wheels with the hashes that
notebooks/requirements*.txt state. Of the settings of `go env -w` and of pip's
variables only those that concern the network count.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import compare
import environment
import provenance
import readme
import report
import sensitivities
import timings
from environment import NOTEBOOKS, PYTHON, ROOT, WORK, Lock, Problem, say
from progress import Progress
from provenance import Task
from staging import Staging, Vanished

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Arguments:
    names: list
    overrides: dict = field(default_factory=dict)
    check: bool = False
    why: bool = False
    force: bool = False
    sensitivities: bool = False
    timings: bool = False
    lab: bool = False
    port: int = 0
    help: bool = False


def parse(argv):
    """The command line as Arguments; a Problem where it makes no sense."""
    args, words = Arguments([]), iter(argv)
    for word in words:
        if word in ("-h", "--help"):
            args.help = True
        elif word in ("--check", "--why", "--force", "--sensitivities", "--timings"):
            setattr(args, word[2:], True)
        elif word == "-p":
            name, equals, value = next(words, "").partition("=")
            if not name or not equals and name != "help":
                raise Problem("-p wants PARAMETER=VALUE, or help")
            if name in args.overrides:
                raise Problem(f"-p sets {name} twice")
            args.overrides[name] = value
        elif word.startswith("-"):
            raise Problem(f"unknown option {word}; ./reproduce.sh -h lists them")
        else:
            args.names.append(word)
    modes = [mode for mode in ("check", "why", "force", "sensitivities", "timings") if getattr(args, mode)]
    if len(modes) > 1:
        raise Problem(f"--{modes[0]} and --{modes[1]} exclude each other")
    if args.names[:1] == ["lab"]:
        args.lab, rest = True, args.names[1:]
        args.names = []
        if modes or args.overrides or len(rest) > 1 or any(not p.isdigit() or not 0 < int(p) < 65536 for p in rest):
            raise Problem("lab takes nothing but a port number: ./reproduce.sh lab [PORT]")
        args.port = int(rest[0]) if rest else 0
    if args.timings and (args.names or args.overrides):
        raise Problem("--timings takes nothing else: it times the same benchmarks always")
    if args.overrides and not args.lab and not args.names:
        raise Problem("-p sets parameters of a notebook: name it")
    if args.overrides and (args.check or args.sensitivities):
        raise Problem(f"--{modes[0]} compares with what is committed, and that has the paper's parameters: leave out -p")
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


def run_all(tasks, args, env):
    """Runs the notebooks one after the other; the exit status."""
    try:
        import execute
    except ImportError as e:
        raise Problem(f"{PYTHON} cannot import what runs notebooks ({e}); delete {environment.VENV} and run again") from None
    environment.build_packages(env)
    os.environ.update(env)  # jupyter_client reads its folders from here
    exact = compare.exact_platform()
    tolerance = 0 if exact else compare.TOLERANCE
    if args.check and not exact:
        say(
            f"this is not linux/amd64 with FMA: numbers are compared within {tolerance:g} of their size, one unit of "
            f"the last printed place or {compare.ALLOWANCE} times their sensitivity, pictures not at all"
        )
    fresh = WORK / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    env = env | {"CVGM_STORE": str(fresh if args.check or args.force else provenance.STORE)}
    version = provenance.version()
    progress = Progress(len(tasks))
    failed = []
    try:
        for number, task in enumerate(tasks, 1):
            progress.start(number, task.name)
            records, lines = [], []
            try:
                words, lines = run_task(task, args, env, progress, records, tolerance, version)
            except execute.BadParameters as e:
                if "help" not in args.overrides:
                    raise Problem(e) from None
                progress.pause()
                print(f"{task.path.stem}: {e}")
                continue
            except (execute.Failed, Problem, OSError) as e:
                words, lines = "FAILED", [f"notebooks/{task.path.name}: {e}"]
            progress.end(words)
            for note in dict.fromkeys(r["note"] for r in records if "note" in r):
                say(f"  note: {note}")
            for line in lines:
                say(line)
            if lines:
                failed.append(task.path.stem)
    finally:
        progress.close()
        if args.force:
            keep_results(fresh)
        shutil.rmtree(fresh, ignore_errors=True)
    if len(tasks) > 1:
        say(f"{len(tasks)} notebooks, {progress.took()}")
    if failed:
        say(f"{len(failed)} of {len(tasks)} notebooks {'differ or ' if args.check else ''}failed: {', '.join(failed)}")
    return 1 if failed else 0


def run_task(task, args, env, progress, records, tolerance, version):
    """Runs one notebook and installs or compares what it made; what to say of it,
    and the lines of what is wrong."""
    import execute

    made_from = provenance.inputs(task, env[environment.TOOLCHAIN])
    with environment.temporary_folder() as temporary:
        staging = Staging(Path(temporary))
        notebook = execute.run(task.path, temporary, staging, env, progress, records)
        if task.overrides and not any("overrides" in r for r in records):
            raise execute.Failed("it has no parameters: none of its cells calls notebooks.Params")
        if args.check:
            lines = [f"  {line}" for line in differing(task, staging.path, notebook, tolerance)]
            staging.check()
            return f"DIFFERENCES: {len(lines)}" if lines else "agrees", lines
        if args.sensitivities:
            found = sensitivities.of(task, staging.path, notebook)
            staging.check()
            sensitivities.record(task, found)
            return f"sensitive numbers and series: {sum(map(len, found.values()))}", []
        new = {task.out / name: data for name, data in compare.files_in(staging.path).items()} | {task.notebook: notebook}
        claims = readme.wanted(task, staging.path)
        staging.check()
    try:
        changed = install(task, new, claims)
        provenance.write(task, made_from, records, version, new)
        words = f"files changed: {changed}" if changed else "nothing changed"
        words += f" in {task.out.relative_to(ROOT)}" if task.overrides else ""
        for path in new:
            path.stat()
    except FileNotFoundError as e:
        raise Vanished(f"{e.filename} was deleted while the run wrote its outputs there; run it again") from None
    return words, []


def keep_results(fresh):
    """Moves the finished results of a forced run into the store, less those that
    are deleted meanwhile: they can be computed again."""
    for path in fresh.glob("*"):
        if path.is_file() and not path.name.startswith("."):
            with contextlib.suppress(FileNotFoundError):
                provenance.STORE.mkdir(parents=True, exist_ok=True)
                os.replace(path, provenance.STORE / path.name)


def strays():
    """What stands in figures/out and belongs to no notebook."""
    known = {path.stem for path in NOTEBOOKS.glob("*.ipynb")} | {provenance.TIMINGS.name, sensitivities.FILE, report.PAGE.name}
    left = (p for p in provenance.OUT.glob("*") if p.name not in known)
    return sorted(p for p in left if p.is_file() or compare.files_in(p))


def differing(task, out, notebook, tolerance):
    sensitive = sensitivities.read(task)
    for place in sorted(sensitive.keys() - sensitivities.places(task)):
        yield f"figures/out/{sensitivities.FILE}: {place} is no output: ./reproduce.sh --sensitivities records them anew"
    for name, what in compare.folder_differences(task.out, out, tolerance, sensitive):
        yield f"{(task.out / name).relative_to(ROOT)}: {what}"
    for place, what in compare.notebook_differences(task.path.read_text(), notebook.decode(), tolerance, sensitive):
        yield f"{task.path.relative_to(ROOT)}: {place}: {what}"
    try:
        text = readme.wanted(task, out)
    except Problem as e:
        yield str(e)
        return
    if text is not None:
        what = compare.text_difference(readme.README.read_text(encoding="utf-8"), text, tolerance, sensitive.get(readme.README.name))
        if what:
            yield f"README.md, the claims: {what}"


def install(task, new, claims):
    """Puts the files that a task made ({path: bytes}) in their places, one after
    the other, and claims, where not None, in the README; how many changed."""
    old = {task.out / name: data for name, data in compare.files_in(task.out).items()}
    if task.notebook.exists():
        old[task.notebook] = task.notebook.read_bytes()
    if claims is not None:
        new = new | {readme.README: claims.encode()}
        old[readme.README] = readme.README.read_bytes()
    changes = {path: data for path, data in new.items() if old.get(path) != data}
    for path, data in changes.items():
        environment.write_atomic(path, data)
    gone = old.keys() - new.keys()
    for path in gone:
        path.unlink()
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
        "--KernelManager.transport=ipc",
        f"--MultiKernelManager.default_kernel_name={environment.KERNEL}",
        "--Application.log_level=WARN",
    ]
    if os.geteuid() == 0:
        argv.append("--allow-root")
    with environment.temporary_folder() as temporary:
        path = f"{environment.LAB_BIN}:{env['PATH']}"
        env = env | {"JUPYTER_TOKEN": token, "CVGM_OUT": str(out), "TMPDIR": temporary, "JUPYTER_RUNTIME_DIR": temporary, "PATH": path}
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
    lock, argv = (Lock(int(argv[1])), argv[2:]) if prepared else (None, argv)
    args = parse(argv)
    if args.help:
        print(__doc__.strip())
        return 0
    overrides = tuple(sorted(args.overrides.items()))
    tasks = [Task(path, overrides) for path in select(args.names, sorted(NOTEBOOKS.glob("*.ipynb")))]
    if not args.lab and not tasks:
        raise Problem("there are no notebooks in notebooks/")
    if prepared:
        return run(tasks, args, dict(os.environ))
    env, go, version, settings = environment.ask_go()
    if args.why:
        why(tasks, settings)
        return 0
    lock = Lock()
    environment.sweep()
    if args.timings:
        timings.record(env | settings, go)
        return 0
    if not args.lab and not to_run(tasks, args, settings):
        say("nothing is stale: " + ", ".join(task.name for task in tasks))
        if not args.names:
            conclude(settings)
        return 0
    env = environment.prepare(args.lab, env, go, version, settings)
    if args.lab:
        lock.release()
        return lab(args.port, env)
    runner = str(Path(__file__).resolve().parent)
    os.execve(PYTHON, [str(PYTHON), "-I", "-X", "utf8", runner, "--prepared", lock.hand_over(), *argv], env)


def to_run(tasks, args, env):
    """Those tasks that have to run."""
    if args.sensitivities:
        outdated = [task.name for task in tasks if provenance.stale(task, env[environment.TOOLCHAIN])]
        if outdated:
            raise Problem(f"the outputs of {', '.join(outdated)} are stale: ./reproduce.sh first, then --sensitivities")
    if args.check or args.force or args.sensitivities:
        return tasks
    return [task for task in tasks if provenance.stale(task, env[environment.TOOLCHAIN])]


def why(tasks, env):
    for task in tasks:
        reasons = provenance.stale(task, env[environment.TOOLCHAIN])
        print(f"{task.name}: " + ("would run, because" if reasons else "is up to date"))
        for reason in reasons:
            print(f"  {reason}")


def run(tasks, args, env):
    stale = to_run(tasks, args, env)
    own = {"CVGM_PARAMS": json.dumps(args.overrides) if args.overrides else "", "CVGM_TWIN": "1" if args.sensitivities else ""}
    status = run_all(stale, args, env | own)
    if args.names or args.sensitivities:
        return status
    if args.check:
        for stray in strays():
            say(f"{stray.relative_to(ROOT)}: committed, but no notebook writes it")
            status = 1
    else:
        conclude(env, all_done=status == 0)
    return status


def conclude(env, all_done=True):
    """What ends a run of all notebooks, also where an earlier one was killed before it."""
    if all_done:
        provenance.prune(env[environment.TOOLCHAIN])
    say(f"report: {report.write(env[environment.TOOLCHAIN]).relative_to(ROOT)}")


if __name__ == "__main__":
    for s in STOPS:
        if signal.getsignal(s) != signal.SIG_IGN:  # as nohup has it
            signal.signal(s, interrupt)
    try:
        sys.exit(main(sys.argv[1:]))
    except (Problem, OSError) as e:
        sys.exit(f"reproduce: {e}")
    except KeyboardInterrupt:
        sys.exit("reproduce: stopped; what was finished is kept")
