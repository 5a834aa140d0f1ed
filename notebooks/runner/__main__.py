"""Recomputes the project's tables, figures and notebooks; -h explains it."""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback from the imports, which take a while
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # which main holds back while Python starts anew

import argparse
import contextlib
import json
import logging
import os
import re
import shutil
import sys
from pathlib import Path

if sys.version_info < (3, 10):
    sys.exit(f"reproduce: Python {sys.version.split()[0]} is too old; Python 3.10 or newer is needed")

import again
import compare
import copies
import durations
import environment
import lab
import layout
import processes
import provenance
import readme
import report
import sensitivities
import slurm
import timings
from checkout import PYTHON, ROOT, WORK, ReproduceError, in_words, log, write_atomic
from experiments import JUDGES, UsageError, experiments, require_parameters, select
from processes import Lock
from progress import Progress, duration
from provenance import Task
from staging import Staging, StagingError

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

USAGE = """./reproduce.sh [NAME …]                    run the stale ones of all notebooks, or of these
       ./reproduce.sh NAME … -p PARAMETER=VALUE   run with other parameters
       ./reproduce.sh NAME -p help                list the parameters with their values and meanings
       ./reproduce.sh NAME … --on slurm           compute what is missing as a job array of Slurm
       ./reproduce.sh lab [PORT] [--edit]         open JupyterLab on 127.0.0.1
       ./reproduce.sh reset [NAME …]              replace working copies of notebooks by their originals
       ./reproduce.sh site [FOLDER]               write the report as a folder for a web server
       ./reproduce.sh OPTION [NAME …]             see below"""

NOTES = """
NAME is a notebook's name with or without its number, the number alone, or the file:
01_elastic_net, elastic_net, 01, notebooks/01_elastic_net.ipynb. A list of values has
commas: -p Hidden=16,16.

lab opens working copies of the notebooks, in notebooks/copies, and lets nothing
change the project's own files: what is run there writes to runs. A copy is made
where there is none, and nothing but reset replaces or deletes it; reset keeps the
replaced file in notebooks/copies/replaced, and without a name makes the missing copies
and lists all with their states. lab --edit opens the notebooks themselves, for authors.

The notebooks of a run are those in notebooks/ that git tracks, or without git those
that JupyterLab has not named: Untitled1 and 01_elastic_net-Copy1 are scratch notebooks.

A run rewrites figures/out/NAME/ and the outputs in notebooks/NAME.ipynb, each
file whole and only after its notebook has succeeded. With -p all outputs go to
runs/NAME/PARAMETERS/ instead. Beside the outputs, provenance.json lists
their inputs: the code cells, the declarations of Go that these reach, other files
and versions. A notebook is run again only if one of them, or an output, differs.

A run of all notebooks ends with figures/out/report.html, which needs no network: the
findings and each notebook's answer, with links to a page for the claims and one for each
notebook. site writes these pages, with all files that they link to, to a folder that any
host of static pages serves: FOLDER, or else .work/site. It runs no notebook, and a page
tells when its notebook is not up to date.

Results are kept in .work/store under their parameters and the source that they
depend on, those of long experiments cell by cell, so an interrupted run resumes.
After a run of all notebooks, results that nothing uses any more are removed. .work
may be deleted at any time, also during a run: lost results are computed again, and
a run whose outputs are lost before they are in their places fails, reports this
and leaves the old ones there.

--on slurm submits the cells of missing results as a job array, whose elements append to
files in .work/store, and a job that gathers them; the checkout must be in a folder that
all nodes share. Ctrl-C leaves the jobs at work. The same command returns to them, and
after a failure submits the missing cells alone; without --on slurm it computes those
here. --status describes the jobs and prints the scancel line.

--check fails and names every output that differs, PDFs left out, which git ignores: by
its bytes on linux/amd64 with FMA, elsewhere by its numbers. Those may differ by 1e-9 of
their size, by one unit of the last printed place, or by ten times the sensitivity of
their series or place: how far it moves when all real parameters of the experiment are
moved by 2^-40 of themselves. --sensitivities runs the notebooks so and records that; use
it after a run that changed outputs. Figures are compared by their plotted series.

A cell that needs more memory than is free fails with one line that states this.
Kernels are reached through sockets in a folder of the temporary directory that
no other user can enter.

Exit status: 0 done, 1 failed, 130 interrupted by Ctrl-C, 143 by SIGTERM.

Needs Go and Python 3.10 or newer. The rest is set up inside the checkout, in
.venv/ and .cache/, on the first run (which needs the network) and again when
the pinned versions change or a file in there is damaged; both folders may be
deleted between runs. Python packages are wheels with the hashes in
notebooks/runner/requirements*.txt. Of the settings of `go env -w` and of pip's
variables only those that concern the network count.
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(f"{message}; ./reproduce.sh -h lists the options")


def parameter(text):
    """The name and the value in PARAMETER=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals and name != "help":
        raise argparse.ArgumentTypeError("it takes PARAMETER=VALUE, or help")
    return name, value


def draws(text):
    """The number of draws after --again."""
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= again.MOST:
        raise argparse.ArgumentTypeError(f"it takes a number of draws from 1 to {again.MOST}")
    return int(text)


def parse(argv):
    """The command line, as argparse has it; a UsageError where it makes no sense."""
    parser = Parser(
        prog="./reproduce.sh", usage=USAGE, epilog=NOTES, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Recomputes the project's tables, figures and notebooks.",
    )  # fmt: skip
    parser.add_argument("names", nargs="*", metavar="NAME", help="a notebook; without any, all")
    parser.add_argument("-p", dest="parameters", action="append", type=parameter, default=[], metavar="PARAMETER=VALUE", help="set a parameter of the notebook; may be repeated")
    modes = parser.add_mutually_exclusive_group()
    for mode, text in MODES.items():
        modes.add_argument(f"--{mode}", action="store_const", dest="mode", const=mode, help=text)
    modes.add_argument("--again", type=draws, metavar="DRAWS", help="judge the claims on so many draws of the random data, and record them in figures/out/draws.csv")
    slurm.add_options(parser)
    parser.add_argument("--edit", action="store_true", help="with lab: open the notebooks themselves, not copies")
    for text in argv:
        if re.search("[\udc80-\udcff]", text):  # as Python reads bytes that are no UTF-8
            parser.error(f"{text!r} is not text in UTF-8")
    args = parser.parse_intermixed_args(["-h"] if list(argv) == ["help"] else slurm.joined(argv))
    slurm.check_options(parser, args)
    args.overrides = dict(args.parameters)
    if len(args.overrides) < len(args.parameters):
        parser.error("-p sets a parameter twice")
    command = args.names[0] if args.names[:1] in (["lab"], ["reset"], ["site"]) else None
    if args.edit and command != "lab":
        parser.error("--edit belongs to lab: ./reproduce.sh lab --edit")
    if command and (args.mode or args.overrides or args.on == "slurm"):
        parser.error(f"{command} takes neither -p nor --{args.mode or ('on' if args.on == 'slurm' else 'check')}")
    if command == "lab":
        ports = args.names[1:]
        if len(ports) > 1 or any(not re.fullmatch("[0-9]{1,5}", p) or not 0 < int(p) < 65536 for p in ports):
            parser.error("lab takes only a port, from 1 to 65535: ./reproduce.sh lab [PORT]")
        args.names, args.port = args.names[:1], int(ports[0]) if ports else 0
    if command == "site":
        if len(args.names) > 2:
            parser.error("site takes only a folder: ./reproduce.sh site [FOLDER]")
        args.folder = Path(args.names[1]) if args.names[1:] else WORK / "site"
        args.names = args.names[:1]
    if command:
        args.mode, args.names = command, args.names[1:]
    if args.mode in ALWAYS_ALL and (args.names or args.overrides):
        parser.error(f"--{args.mode} takes nothing else: it always {ALWAYS_ALL[args.mode]}")
    if args.again and (args.names or args.overrides):
        parser.error("--again takes only a number of draws: it always judges all claims")
    if args.again:
        args.names = [JUDGES]
    if args.overrides and not args.names:
        parser.error("-p sets parameters of a notebook: name it")
    if args.overrides and args.mode in ("check", "sensitivities"):
        parser.error(f"--{args.mode} compares with the committed outputs, which have the default parameters: leave out -p")
    if helps(args) and args.mode:
        parser.error(f"-p help lists the parameters and does nothing else: leave out --{args.mode}")
    return args


def helps(args):
    """Whether a command lists parameters, and does nothing else."""
    return "help" in args.overrides


UNLOCKED = "unlocked"  # in place of the lock's descriptor

MODES = {
    "why": "list the stale notebooks with the reasons; run nothing",
    "force": "run also those that are not stale, and compute every result again",
    "check": "recompute, compare with the committed outputs, write nothing",
    "sensitivities": "record in figures/out/sensitivities.json which numbers depend on rounding, and how far",
    "timings": "run the benchmarks and record them in figures/out/timings.json, with how long each notebook took here",
    "status": "describe the sweeps that --on slurm has submitted",
}
ALWAYS_ALL = {"timings": "times the same benchmarks", "status": "describes all sweeps"}


def run_all(states, args, env):
    """Runs the notebooks of states, {task: state}, one after the other; the exit status."""
    import execute

    environment.build_packages(env)
    os.environ.update(env)  # jupyter_client reads its folders from here
    exact = compare.exact_platform()
    tolerance = 0 if exact else compare.TOLERANCE
    if args.mode == "check" and not exact:
        log.info(
            f"this is not linux/amd64 with FMA: numbers are compared within {tolerance:g} of their size, one unit of "
            f"the last printed place or {compare.ALLOWANCE} times their sensitivity, pictures not at all"
        )
    fresh = WORK / "fresh"  # another run's, if this one lists parameters
    if not helps(args):
        shutil.rmtree(fresh, ignore_errors=True)
    env = env | {"CVGM_STORE": str(fresh if args.mode in ("check", "force") else provenance.STORE)}
    version = provenance.version()
    stored = set() if args.mode in ("check", "force", "sensitivities") else provenance.stored()
    changed = {durations.label(task, function) for task, state in states.items() for function in state["changed"]}
    estimate = durations.Estimate(states, stored, changed=changed)
    if not helps(args):
        log.info(announcement(list(states), *estimate.total()))
    progress = Progress(len(states), estimate)
    failed = []
    try:
        for number, (task, state) in enumerate(states.items(), 1):
            progress.start(number, task)
            records, lines = [], []
            try:
                outcome, lines = run_task(task, state["inputs"], args, env, progress, records, tolerance, version)
            except execute.ParameterError as e:
                raise ReproduceError(f"{task.path.stem}: {e}; ./reproduce.sh {task.path.stem} -p help lists the parameters") from None
            except execute.ParameterHelp as e:
                progress.pause()
                print(f"{task.path.stem}: {e}")
                continue
            except (ReproduceError, OSError) as e:
                outcome, lines = "FAILED", [f"notebooks/{task.path.name}: {in_words(e)}"]
            seconds = progress.end(outcome)
            if not lines:
                durations.record(task, seconds, records)
            for note in dict.fromkeys(r["note"] for r in records if "note" in r):
                log.info(f"  note: {note}")
            for line in lines:
                log.error(line)
            if lines:
                failed.append(task.path.stem)
    finally:
        progress.close()
        if args.mode == "force":
            keep_results(fresh)
        if not helps(args):
            shutil.rmtree(fresh, ignore_errors=True)
    if len(states) > 1:
        log.info(f"{len(states)} notebooks, {progress.took()}")
    if failed:
        log.error(f"{len(failed)} of {len(states)} notebooks {'differ or ' if args.mode == 'check' else ''}failed: {', '.join(failed)}")
    return 1 if failed else 0


def announcement(tasks, seconds, here, unknown):
    """The first line of a run: its notebooks and, if it is known, how long they take. here tells that
    these seconds were measured on this machine, and unknown names the notebooks without seconds."""
    what = tasks[0].name if len(tasks) == 1 else f"{len(tasks)} notebooks, {tasks[0].name} first and {tasks[-1].name} last"
    if seconds is None:
        if any(task.overrides for task in tasks):
            return f"running {what}: the first run with these parameters, so its time is not known"
        return f"running {what}: how long it takes is not known, since no time is recorded of {', '.join(unknown)}"
    return f"running {what}: about {duration(seconds)}{'' if here else ' on the machine that made the committed outputs'}"


def compute_on_slurm(tasks, args, env):
    """Has Slurm compute the results that the notebooks of tasks lack."""
    import execute

    environment.build_packages(env)
    os.environ.update(env)  # jupyter_client reads its folders from here
    slurm.compute(tasks, args, env | {"CVGM_STORE": str(provenance.STORE)}, execute, Staging, provenance.STORE)


def run_task(task, inputs, args, env, progress, records, tolerance, version):
    """Runs one notebook and installs or compares its outputs; the outcome in a few
    words, and the lines that describe differences."""
    import execute

    before = task.path.read_bytes()
    with processes.temporary_folder() as temporary:
        staging = Staging(Path(temporary))
        notebook = execute.run(task.path, temporary, staging, env | task.environment, progress, records)
        if args.mode == "check":
            lines = [f"  {line}" for line in differing(task, staging.path, notebook, tolerance)]
            staging.check()
            return f"DIFFERENCES: {len(lines)}" if lines else "agrees", lines
        if args.mode == "sensitivities":
            found = sensitivities.of(*outputs(task, staging.path, notebook))
            staging.check()
            sensitivities.record(task, found)
            return f"sensitive numbers and series: {sum(map(len, found.values()))}", []
        new = {task.out / name: data for name, data in compare.files_in(staging.path).items()} | {task.notebook: notebook}
        staging.check()
    if task.notebook == task.path and task.path.read_bytes() != before:
        raise ReproduceError("it was edited during the run; nothing was installed, run it again")
    try:
        changed = install(task, new)
        provenance.write(task, inputs, records, version, new)
        outcome = f"files changed: {len(changed)}" if changed else "reproduced: nothing changed"
        if changed and all(path.suffix == ".pdf" for path in changed):  # which git ignores, so a clone lacks them
            outcome = f"reproduced: PDFs written: {len(changed)}, nothing else changed"
        outcome += f" in {task.out.relative_to(ROOT)}" if task.overrides else ""
        for path in new:
            path.stat()
    except FileNotFoundError as e:
        raise StagingError(f"{e.filename} was deleted while the run wrote its outputs there; run it again") from None
    return outcome, []


def rewrite(task):
    """Writes a notebook of which only the text was edited in its plain form."""
    data = layout.plain(json.loads(task.path.read_text(encoding="utf-8")))
    write_atomic(task.path, data)
    provenance.rewrite(task, {task.path: data})
    log.info(f"{task.name}: only its text was edited, so no cell is run")


def keep_results(fresh):
    """Moves the finished results of a forced run into the store, less those that
    are deleted meanwhile: they can be computed again."""
    for path in fresh.glob("*"):
        if path.is_file() and not path.name.startswith("."):
            with contextlib.suppress(FileNotFoundError):
                provenance.STORE.mkdir(parents=True, exist_ok=True)
                os.replace(path, provenance.STORE / path.name)


def strays():
    """The files and folders in figures/out that belong to no notebook."""
    known = {path.stem for path in experiments()} | {provenance.TIMINGS.name, sensitivities.FILE, report.PAGE.name, report.FOLDER, again.FILE.name}
    left = (p for p in provenance.OUT.glob("*") if p.name not in known)
    return sorted(p for p in left if p.is_file() or compare.files_in(p))


def outputs(task, out, notebook):
    """The committed outputs of task and those of a run, each {name: bytes}: files of its
    folder but those that git ignores, outputs of its cells, and the pages with tables if the
    run wrote findings."""
    old, new = (
        {name: data for name, data in compare.files_in(folder).items() if not name.endswith(compare.IGNORED)} | compare.cells_of(text)
        for folder, text in ((task.out, task.path.read_bytes()), (out, notebook))
    )
    for path, text in readme.wanted(out).items():
        old[readme.page(path)], new[readme.page(path)] = path.read_bytes(), text.encode()
    return old, new


def differing(task, out, notebook, tolerance):
    """Yields a line for each output that differs from the committed one."""
    old, new = outputs(task, out, notebook)
    for name in sensitivities.unknown(task, old.keys()):
        yield f"figures/out/{sensitivities.FILE}: {name} is no output: ./reproduce.sh --sensitivities records them anew"
    own, otherwise = task.path.relative_to(ROOT), not tolerance and task.path.read_bytes() != notebook
    for name, difference in compare.differences(old, new, tolerance, sensitivities.read(task)):
        if name.startswith("cell "):
            yield f"{own}: {name}: {difference}"
            otherwise = False
        elif name in map(readme.page, (readme.README, readme.TIMES, readme.TUNER)):
            yield f"{name}, its tables: {difference}"
        else:
            yield f"{(task.out / name).relative_to(ROOT)}: {difference}"
    if otherwise:
        yield f"{own}: its outputs agree but it is laid out otherwise: ./reproduce.sh writes it in its plain form"


def install(task, new):
    """Puts the files that a task made ({path: bytes}) in their places, one after
    the other; the paths of those that changed."""
    old = {task.out / name: data for name, data in compare.files_in(task.out).items()}
    if task.notebook.exists():
        old[task.notebook] = task.notebook.read_bytes()
    changes = {path: data for path, data in new.items() if old.get(path) != data}
    for path, data in changes.items():
        write_atomic(path, data)
    gone = old.keys() - new.keys()
    for path in gone:
        path.unlink()
    return [*changes, *gone]


def interrupt(signum, frame):
    """Interrupts the run; its cleaning up is not interrupted in turn."""
    for s in STOPS:
        signal.signal(s, signal.SIG_IGN)
    raise KeyboardInterrupt(signum)


def main(argv):
    prepared = argv[:1] == ["--prepared"] and argv[1:2] != [] and (argv[1].isdecimal() or argv[1] == UNLOCKED)
    if prepared and argv[1] != UNLOCKED:
        Lock(int(argv[1]))
    argv = argv[2:] if prepared else argv
    args = parse(argv)
    overrides = tuple(sorted(args.overrides.items()))
    names = [copies.name_of(name) for name in args.names] if args.mode == "reset" else args.names
    tasks = [Task(path, overrides) for path in select(names, experiments())]
    if args.again:
        tasks = again.tasks(select([JUDGES], experiments())[0], args.again)
    if overrides:
        require_parameters(task.path for task in tasks)
    if args.mode != "lab" and not tasks:
        raise ReproduceError("there are no notebooks in notebooks/")
    if args.mode == "reset":
        copies.reset([task.path for task in tasks], bool(args.names))
        return 0
    if prepared:
        return run(tasks, args, dict(os.environ))
    if args.mode == "status":
        slurm.status()
        return 0
    if args.mode == "lab":
        lab.require_free(args.port)  # fails before minutes of set-up
    env, go, settings = environment.ask_go()
    if args.mode == "why":
        print(provenance.stale(tasks, env | settings), end="")
        return 0
    # A list of parameters changes nothing where all is set up, so it waits for no run.
    lock = None if helps(args) and environment.whole(settings) else Lock()
    if lock:
        processes.sweep()
    if args.mode == "timings":
        timings.record(env | settings)
        return 0
    if args.mode not in ("lab", "site") and not helps(args):
        states = examine(tasks, args, env | settings)
        for task in to_rewrite(tasks, states, args):
            rewrite(task)
        if not to_run(tasks, states, args):
            log.info("nothing is stale: " + ", ".join(task.name for task in tasks))
            if args.again:
                again.record(tasks)
            if args.names:
                finish(tasks, states, args, settings)
                return 0
    env = environment.prepare(args.mode == "lab", env, go, settings)
    if args.mode == "lab":
        lock.release()
        return lab.run(args.port, args.edit, env)
    runner = str(Path(__file__).resolve().parent)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Python shows a traceback while it starts
    os.execve(PYTHON, [str(PYTHON), "-I", "-X", "utf8", runner, "--prepared", lock.hand_over() if lock else UNLOCKED, *argv], env)


def examine(tasks, args, env):
    """The states of the tasks, and where all notebooks are meant also of past runs with -p."""
    return provenance.examine(tasks if args.names else tasks + provenance.past_runs(), env)


def to_run(tasks, states, args):
    """The states of those tasks that have to run."""
    stale = {task: states[task] for task in tasks if states[task]["reasons"]}
    if args.mode == "sensitivities" and stale:
        raise ReproduceError(f"the outputs of {', '.join(task.name for task in stale)} are stale: ./reproduce.sh first, then --sensitivities")
    return {task: states[task] for task in tasks} if args.mode else stale


def to_rewrite(tasks, states, args):
    """Those tasks whose text was edited and whose cells need no run, which writes the text, too."""
    return [task for task in tasks if states[task]["rewrite"] and not states[task]["reasons"] and not args.mode]


def run(tasks, args, env):
    own = {"CVGM_TWIN": "1" if args.mode == "sensitivities" else ""}
    if args.mode == "site":
        folder = args.folder.absolute()
        if folder.resolve() == ROOT.resolve():
            raise ReproduceError(f"site writes to a folder of its own, and {args.folder} is the checkout: name another")
        report.site(provenance.examine(tasks, env), env[environment.TOOLCHAIN], folder)
        log.info(f"{folder}: open index.html, or let a web server serve the folder")
        return 0
    states = to_run(tasks, examine(tasks, args, env), args)
    if args.on == "slurm":
        compute_on_slurm(states, args, env | own)
        states = to_run(tasks, examine(tasks, args, env), args)  # other runs may have written meanwhile
    status = run_all(states, args, env | own) if states else 0
    if args.again and not status:
        again.record(tasks)
    if args.mode == "check" and not args.names:
        for stray in strays():
            log.error(f"{stray.relative_to(ROOT)}: committed, but no notebook writes it")
            status = 1
    if args.mode not in ("check", "sensitivities") and not helps(args):
        finish(tasks, None if args.names else examine(tasks, args, env), args, env, complete=status == 0)
    return status


def finish(tasks, states, args, env, complete=True):
    """Brings the pages' tables up to date, and for all notebooks the store and the report,
    also where an earlier run was killed before it did so."""
    for task in tasks:
        if not task.overrides:
            readme.update(task.out)
        if complete and args.names:
            print(answer(task), end="")
    if not args.names:
        if complete:
            provenance.prune(states, slurm.keys())
        log.info(f"report: {report.write(states, env[environment.TOOLCHAIN]).relative_to(ROOT)}")


# The notebook of a reader's own data. What its cells print answers who ran it from the command line.
PRINTS = "my_data"


def answer(task):
    """The answer of a notebook, and where its pictures are."""
    if task.path.stem == PRINTS:
        return f"{printed(task.notebook)}Pictures, tables and models are in\n  {task.out.relative_to(ROOT)}\n"
    said = first_text(task.notebook)
    return f"{task.name}{said and ': ' + said}\n  {task.notebook.relative_to(ROOT)}, {task.out.relative_to(ROOT)}\n"


def first_text(notebook):
    """The first text that the cells of an executed notebook show, which is its answer, as plain text. A table is no text."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ("".join(output["data"]["text/markdown"]) for cell in cells for output in cell.get("outputs", ()) if "text/markdown" in output.get("data", {}))
    text = next(texts, "")
    if re.search(r"^(\||<)", text, re.MULTILINE):
        return ""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text.replace("**", ""))
    return re.sub(r"\*(\S[^*\n]*)\*", r"\1", text).strip()


def printed(notebook):
    """What the cells of an executed notebook print."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = (output for cell in cells for output in cell.get("outputs", ()))
    return "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream" and output["name"] == "stdout")


def status_of(argv):
    """The exit status of a command, or the text of its failure."""
    try:
        return main(argv)
    except (ReproduceError, OSError) as e:
        return f"reproduce: {in_words(e)}"


if __name__ == "__main__":
    log.addHandler(logging.StreamHandler())
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        for s in STOPS:
            if signal.getsignal(s) != signal.SIG_IGN:  # as nohup has it
                signal.signal(s, interrupt)
        status = status_of(sys.argv[1:])
        for s in STOPS:
            signal.signal(s, signal.SIG_IGN)  # there is nothing left to interrupt
    except KeyboardInterrupt as e:
        log.error("reproduce: interrupted; finished results and notebooks are kept")
        status = 128 + (e.args or (signal.SIGINT,))[0]  # as shells have it
    sys.exit(status)
