"""Computes the missing results of notebooks as a job array of Slurm.

Each submission has a folder in .work/slurm with plan.json, which lists experiments and
missing cells for the worker, the jobs' numbers and the jobs' logs. The workers' records
are in the store beside the results.
"""

import contextlib
import json
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
from checkout import ROOT, WORK, ReproduceError, as_json, log, sha256, write_atomic
from processes import command
from progress import Silent, duration

FOLDER = WORK / "slurm"
MOST_SHARDS = 1000
KEPT = 7 * 86400  # the seconds that a submission's folder is kept at least
ANSWER = 120  # the seconds after which a command of Slurm is given up; sbatch tries again for a minute
LINES = 5  # of the logs in a message
REST = 20  # times as long as a look at the records takes, no other look follows: a large sweep has much to read
LATE = "60s"  # the time after which a network folder lists a file at the latest
ALIVE = {"PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "REQUEUED", "REQUEUE_HOLD", "RESIZING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"}
BAD = {"FAILED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "BOOT_FAIL", "DEADLINE", "PREEMPTED"}


class SlurmError(ReproduceError):
    """Slurm or a job failed."""


def add_options(parser):
    parser.add_argument("--on", choices=("local", "slurm"), default="local", help="compute missing results here (the default) or as a job array of Slurm")
    parser.add_argument("--shards", type=positive, metavar="S", help="the number of the array's elements; nodes × cores unless set")
    parser.add_argument("--throttle", type=positive, metavar="T", help="the number of elements that run at the same time; no limit unless set")
    parser.add_argument("--sbatch", default="", metavar='"OPTION …"', help='options for sbatch, such as --sbatch "--partition=long --time=60"')


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise ValueError(text)
    return int(text)


def joined(argv):
    """The arguments with --sbatch and its value as one: argparse takes --partition=long for an option."""
    argv = list(argv)
    for i in range(len(argv) - 2, -1, -1):
        if argv[i] == "--sbatch":
            argv[i : i + 2] = [f"--sbatch={argv[i + 1]}"]
    return argv


# The options of sbatch that --on slurm sets itself, and those that keep it from the jobs it submits, with their letters.
RESERVED = {"--array": "-a", "--chdir": "-D", "--clusters": "-M", "--dependency": "-d", "--job-name": "-J", "--output": "-o", "--wait": "-W", "--wrap": "--wrap"}


def check_options(parser, args):
    try:
        words = shlex.split(args.sbatch)
    except ValueError as e:
        parser.error(f"--sbatch: {e}")
    for word in words:
        for long, letter in RESERVED.items():
            if word.startswith(letter) or len(name := word.partition("=")[0]) > len("--x") and long.startswith(name):  # sbatch takes beginnings of names
                parser.error(f"--sbatch: {long} is not for users of --on slurm: leave it out")
    if args.on != "slurm" and (args.shards or args.throttle or args.sbatch):
        parser.error("--shards, --throttle and --sbatch belong to --on slurm")
    if args.on == "slurm" and (args.mode or not args.names):
        parser.error("--on slurm takes names of notebooks and no other mode: ./reproduce.sh NAME --on slurm")


def ask(argv, script=None):
    """The exit status, the output and the errors of one of Slurm's commands."""
    try:
        done = subprocess.run(argv, input=script, capture_output=True, text=True, errors="replace", timeout=ANSWER)
    except OSError as e:
        raise SlurmError(f"--on slurm: {argv[0]}: {e.strerror}; run it where Slurm's commands are on PATH") from None
    except subprocess.TimeoutExpired:
        return 1, "", f"no answer for {ANSWER} s"
    return done.returncode, done.stdout, done.stderr.strip()


def answer(argv, script=None):
    status, out, errors = ask(argv, script)
    if status:
        raise SlurmError(f"--on slurm: {' '.join(argv[:3])} … failed: {errors or status}")
    return out


def build(env):
    """The worker, a static program, under a name of its content: a running job keeps its own."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with processes.temporary_folder() as temporary:
        made = Path(temporary, "worker")
        command(["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(made), "./notebooks/worker"], env | {"TMPDIR": temporary}, "building the worker")
        data = made.read_bytes()
    path = FOLDER / f"worker-{sha256(data)[:16]}"
    if not path.exists() or path.read_bytes() != data:
        write_atomic(path, data)
    path.chmod(0o755)
    return path


class Sweep:
    """One submission."""

    def __init__(self, folder):
        self.folder = folder
        self.plan = json.loads((folder / "plan.json").read_text())
        self.jobs = json.loads((folder / "jobs.json").read_text())

    def worker(self, *flags):
        try:
            done = subprocess.run([self.plan["Worker"], "-plan", str(self.folder / "plan.json"), *flags], capture_output=True, text=True, env={})
        except OSError as e:
            raise SlurmError(f"{e.filename}: {e.strerror}; to stop the jobs that used it: {self.cancel}") from None
        return done.returncode, done.stdout, done.stderr.strip()

    def count(self):
        """The plan with the cells that are done, failed and lost."""
        status, out, errors = self.worker("-status")
        if status:
            raise SlurmError(errors)
        return json.loads(out)

    def elements(self):
        """The jobs that Slurm remembers, [(name, state, node, seconds, reason to wait)]; None where Slurm does not answer."""
        both = f"{self.jobs['array']},{self.jobs['gather']}"
        status, out, errors = ask(["squeue", "-h", "-r", "-t", "all", "-o", "%i|%T|%N|%M|%r", "-j", both])
        if status and "Invalid job id" not in errors:
            return None
        rows = [line.split("|") for line in out.splitlines() if line.count("|") == 4]
        return [(name, state, node, seconds(elapsed), reason) for name, state, node, elapsed, reason in rows]

    def failures(self, elements):
        """A line for each element that failed, from the accounting where a site has one."""
        status, out, _ = ask(["sacct", "-n", "-P", "-X", "-D", "-o", "JobID,State,NodeList,ExitCode", "-j", str(self.jobs["array"])])
        rows = [line.split("|") for line in out.splitlines()] if status == 0 else []
        rows = rows or [[name, state, node, ""] for name, state, node, *_ in elements or []]
        return [f"job {name}: {state} on {node or 'no node'}{' with exit status ' + code if code else ''}" for name, state, node, code in rows if state.split()[0] in BAD]

    def last_words(self):
        """The last lines of the logs of the array's elements, each once: what stopped them."""
        texts = (path.read_text(errors="replace").strip() for path in sorted(self.folder.glob("*_*.log")))
        return list(dict.fromkeys(text.splitlines()[-1] for text in texts if text))[:LINES]

    @property
    def cancel(self):
        return f"scancel {self.jobs['array']} {self.jobs['gather']}"


def seconds(elapsed):
    """Slurm's days-hours:minutes:seconds as a number."""
    days, _, rest = elapsed.rpartition("-")
    try:
        parts = [int(part) for part in rest.split(":")]
        return int(days or 0) * 86400 + sum(part * 60**i for i, part in enumerate(reversed(parts)))
    except ValueError:  # INVALID, of clocks that differ
        return 0


def job_names(name):
    """The names of the jobs of the submission name: the array's and the gathering one's."""
    return f"cvgm-{name}", f"cvgm-{name}-gather"


def recover(folder):
    """Writes the jobs of a submission that was killed before it wrote them, where Slurm remembers them by
    their names. An array without a gathering job takes its place: whoever follows it gathers."""
    with contextlib.suppress(SlurmError):
        status, out, _ = ask(["squeue", "-h", "-t", "all", "-o", "%j|%A", "-n", ",".join(job_names(folder.name))])
        jobs = dict(line.split("|") for line in out.splitlines() if line.count("|") == 1)
        array, gather = map(jobs.get, job_names(folder.name))
        if status == 0 and array and not (folder / "jobs.json").exists():
            write_atomic(folder / "jobs.json", as_json({"array": array, "gather": gather or array}).encode())


def sweeps():
    """All submissions in this checkout, the last one first."""
    found = []
    for folder in sorted((p.parent for p in FOLDER.glob("*/plan.json")), key=lambda p: p.stat().st_mtime, reverse=True):
        if not (folder / "jobs.json").exists():
            recover(folder)
        with contextlib.suppress(OSError, ValueError):
            found.append(Sweep(folder))
    return found


def keys():
    """The short keys of the results that the submissions in this checkout compute."""
    return {s["Key"][:16] for sweep in sweeps() for s in sweep.plan["Sweeps"]}


def prune(new):
    """Removes the folders of submissions that are much older than the folder new and have no
    job left, and the workers that none uses. Both ages are those of the folder's file system."""
    now = (new / "plan.json").stat().st_mtime
    used = {json.loads((new / "plan.json").read_text())["Worker"]}
    for folder in set(FOLDER.iterdir()) - {new}:
        if not folder.is_dir():
            continue
        old = now - max(p.stat().st_mtime for p in (folder, *folder.iterdir())) > KEPT
        with contextlib.suppress(OSError, ValueError, KeyError):
            sweep = Sweep(folder)
            elements = sweep.elements()
            if not old or elements is None or alive(elements):
                used.add(sweep.plan["Worker"])
                continue
        if old:
            shutil.rmtree(folder, ignore_errors=True)
    for path in FOLDER.glob("worker-*"):
        if str(path) not in used and now - path.stat().st_mtime > KEPT:
            path.unlink(missing_ok=True)


def needs(tasks, env, execute, staging):
    """The results that the notebooks lack, {key: sweep of a plan}."""
    found = {}
    for task in tasks:
        records = []
        with processes.temporary_folder() as temporary, contextlib.suppress(execute.ParameterError, execute.ParameterHelp):  # the run itself shows them
            execute.run(task.path, temporary, staging(Path(temporary)), env | task.environment | {"CVGM_LIST": "1"}, Silent(), records)
        found |= {r["key"]: {"Name": r["missing"], "Params": r["parameters"], "Key": r["key"]} for r in records if "missing" in r}
    return found


def size(args, cells):
    """The number of shards."""
    limit = re.search(r"MaxArraySize\s*=\s*(\d+)", answer(["scontrol", "show", "config"]))
    most = min(MOST_SHARDS, int(limit.group(1)) if limit else MOST_SHARDS, cells)
    if args.shards:
        if args.shards > most:
            log.info(f"{most} shards, not {args.shards}: {cells} cells are missing" + (f", and an array has at most {most} elements" if most < cells else ""))
        return min(args.shards, most)
    nodes = dict(line.split() for line in answer(["sinfo", "-h", "-N", "-o", "%N %c"]).splitlines())
    return max(1, min(most, sum(int(cores.rstrip("+")) for cores in nodes.values())))


def submit(wanted, args, worker, store):
    """Gathers what is complete, and submits the cells that are missing; the Sweep, or None where none are.

    sbatch gets a job array and a job that gathers after it, each a script of two lines on its
    standard input that runs the worker with plan.json."""
    name = secrets.token_hex(4)
    folder = FOLDER / name
    plan = {"Name": name, "Out": str(store), "Shards": 1, "Sweeps": list(wanted.values()), "Worker": str(worker)}
    log.info("looking for missing cells")
    write_atomic(folder / "plan.json", as_json(plan).encode())
    done = subprocess.run([str(worker), "-plan", str(folder / "plan.json"), "-missing"], capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise SlurmError(done.stderr.strip())
    plan["Sweeps"] = [s for s in json.loads(done.stdout)["Sweeps"] if s["Cells"]]
    if not plan["Sweeps"]:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    cells = sum(map(number, plan["Sweeps"]))
    plan["Shards"] = shards = size(args, max(number(s) for s in plan["Sweeps"]))
    write_atomic(folder / "plan.json", as_json(plan).encode())
    logs = str(folder).replace("%", "%%")
    common = ["sbatch", "--parsable", "--requeue", "--open-mode=append", f"--chdir={ROOT}", *shlex.split(args.sbatch)]
    array = f"--array=0-{shards - 1}" + (f"%{args.throttle}" if args.throttle else "")
    array_name, gather_name = job_names(name)
    script = f"#!/bin/sh\nexec {shlex.quote(str(worker))} -plan {shlex.quote(str(folder / 'plan.json'))}"
    with uninterrupted():
        try:
            first = job_number(answer([*common, f"--job-name={array_name}", array, f"--output={logs}/%A_%a.log"], f"{script}\n"))
        except ReproduceError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            gather = [*common, f"--job-name={gather_name}", f"--dependency=afterany:{first}", f"--output={logs}/gather.log"]
            last = job_number(answer(gather, f"{script} -gather -wait {LATE}\n"))
            write_atomic(folder / "jobs.json", as_json({"array": first, "gather": last}).encode())
        except (ReproduceError, OSError):
            ask(["scancel", first])
            raise
    prune(folder)
    log.info(f"submitted {cells} cells in {shards} shards: job array {first}, which job {last} gathers")
    log.info("Ctrl-C leaves the jobs at work, and the same command comes back to them; ./reproduce.sh --status describes them")
    log.info(f"to stop them: scancel {first} {last}")
    return Sweep(folder)


@contextlib.contextmanager
def uninterrupted():
    """Holds back signals, so that no job is submitted whose number is lost. Slurm's commands inherit this."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def job_number(text):
    number = text.strip().split(";")[0]
    if not number.isdigit():
        raise SlurmError(f"--on slurm: sbatch answers {text.strip()!r}, want a job's number: see --sbatch")
    return number


def number(sweep):
    """The number of a sweep's missing cells."""
    ends = (part.partition("-") for part in sweep["Cells"].split(",") if part)
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def totals(plan):
    return sum(s["Done"] for s in plan["Sweeps"]), sum(map(number, plan["Sweeps"])), sum(len(s.get("Failed", [])) for s in plan["Sweeps"])


def alive(elements, job=""):
    """The elements that have not ended, of one job or of all."""
    return [e for e in elements if e[1] in ALIVE and job in ("", e[0].split("_")[0])]


def follow(sweep, pause=5.0, stream=sys.stderr):
    """Shows one progress line until the jobs have ended. Pause: the seconds between two questions to Slurm."""
    try:
        return watch(sweep, pause, stream)
    finally:
        if stream.isatty():
            stream.write("\r\033[K")
            stream.flush()


def watch(sweep, pause, stream):
    live = stream.isatty()
    began, first, said = time.monotonic(), None, float("-inf")
    while True:
        asked = time.monotonic()
        done, total, failed = totals(sweep.count())
        took = time.monotonic() - asked
        elements = sweep.elements()
        now = time.monotonic()
        first = done if first is None else first
        line = describe(done, total, failed, (done - first) / (now - began) if done > first else 0, elements)
        if live:
            stream.write("\r\033[K" + line)
            stream.flush()
        elif now - said > 60:  # a line a minute for a log
            said = now
            log.info(line)
        if elements is not None and not alive(elements):
            break
        time.sleep(max(pause, REST * took))
    if live:
        stream.write("\r\033[K")
    log.info(f"{line}, {duration(time.monotonic() - began)}")
    return elements


def describe(done, total, failed, rate, elements):
    line = f"{done} of {total} cells" + (f", {failed} failed" if failed else "")
    if elements is None:
        line += ", squeue does not answer"
    elif running := sum(e[1] == "RUNNING" for e in elements):
        line += f", jobs at work: {running}"
    elif waiting := [e for e in elements if e[1] == "PENDING" and e[4] not in ("Dependency", "None")]:
        line += f", jobs that wait: {len(waiting)} ({', '.join(sorted({e[4] for e in waiting}))})"
    if rate:
        line += f", {rate:.3g} cells/s" + (f", about {duration((total - done) / rate)} left" if done < total else "")
    return line


def compute(tasks, args, env, execute, staging, store):
    """Computes on Slurm the results that tasks lack, until they lack none."""
    before = build(env)
    tried = set()
    while wanted := needs(tasks, env, execute, staging):
        if build(env) != before:
            raise SlurmError("the sources were edited during the submission; run it again")
        if again := tried & wanted.keys():
            raise SlurmError(f"{wanted[again.pop()]['Name']}: its result was gathered but is not in the store; see ./reproduce.sh --status")
        running = [s for s in sweeps() if wanted.keys() & {w["Key"] for w in s.plan["Sweeps"]} and alive(s.elements() or [])]
        sweep = running[0] if running else submit(wanted, args, before, store)
        if not running:
            tried |= wanted.keys()
        if sweep:
            with processes.unlocked():
                finish(sweep, follow(sweep))


def finish(sweep, elements):
    """Gathers what the gathering job has not; a SlurmError that describes the missing cells."""
    gathered = all(e[1] == "COMPLETED" for e in elements if e[0] == sweep.jobs["gather"])
    status, _, errors = sweep.worker("-gather", "-wait", LATE if gathered else "0s")
    if status:
        lines = [errors, *sweep.failures(elements), *sweep.last_words(), f"logs: {sweep.folder}", "the same command computes the missing cells alone"]
        raise SlurmError("\n  ".join(lines))


def status():
    """Prints the state of the last submission and of all others at work."""
    found = sweeps()
    shown = 0
    for i, sweep in enumerate(found):
        elements = sweep.elements()
        if i and elements is not None and not alive(elements):
            continue
        shown += 1
        plan = sweep.count()
        for s in plan["Sweeps"]:
            print(f"{s['Name']}: {s['Done']} of {number(s)} cells done" + (f", {len(s['Failed'])} failed" if s.get("Failed") else ""))
            for f in s.get("Failed", []):
                print(f"  cell {f['Cell']} failed on {f['Host']}: {f['Why']}")
        done, total, failed = totals(plan)
        longest = max([e[3] for e in elements or [] if e[0].split("_")[0] == sweep.jobs["array"]], default=0)
        print(describe(done, total, failed, done / longest if longest else 0, elements))
        for line in sweep.failures(elements):
            print(f"  {line}")
        if elements is None or alive(elements):
            print(f"to stop it: {sweep.cancel}")
        print(f"logs: {sweep.folder}")
    if not shown:
        print("no sweep was submitted from this checkout")
