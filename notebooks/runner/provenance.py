"""Records what the outputs of each notebook were made from.

Beside its outputs every run leaves provenance.json: the hashes of its inputs and
outputs, the results that it used, the commit. It describes one checkout on one
machine, so it is not committed. The Go command notebooks/stale compares it with
the checkout and so decides which notebooks have to run.

Only the standard library is imported: this runs before anything is installed.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from checkout import NOTEBOOKS, ROOT, RUNS, WORK, as_json, digest, sha256, write_atomic
from compare import PROVENANCE as FILE
from layout import cells_digest
from processes import command, temporary_folder
from progress import Waiting

OUT = ROOT / "figures" / "out"
STORE = WORK / "store"
TIMINGS = OUT / "timings.json"


@dataclass(frozen=True)
class Task:
    """A notebook to be run, with the parameters set by -p as (name, text), sorted."""

    path: Path
    overrides: tuple = ()

    @property
    def name(self):
        return " ".join([self.path.stem, *(f"{k}={v}" for k, v in self.overrides)])

    @property
    def out(self):
        """The folder of its outputs."""
        if not self.overrides:
            return OUT / self.path.stem
        label = quote(",".join(f"{k}={v}" for k, v in self.overrides), safe="=,.+- ")
        return RUNS / self.path.stem / (label if len(label) <= 80 else digest(label)[:32])

    @property
    def environment(self):
        """The variables by which its cells know the parameters."""
        return {"CVGM_PARAMS": json.dumps(dict(self.overrides)) if self.overrides else ""}

    @property
    def notebook(self):
        """Where the executed notebook goes."""
        return self.out / self.path.name if self.overrides else self.path


def examine(tasks, env):
    """The state of each task, {task: state}."""
    return dict(zip(tasks, json.loads(stale(tasks, env, "-json"))))


def stale(tasks, env, *flags):
    """What the Go command notebooks/stale prints of the tasks."""
    with temporary_folder() as temporary:
        argv = ["go", "run", "./notebooks/stale", *flags, *(f"{task.path}={task.out}" for task in tasks)]
        with Waiting("comparing notebooks and their sources with the last run", quiet=True):
            return command(argv, env | {"TMPDIR": temporary}, "finding what is stale")


def past_runs():
    """The runs with -p whose outputs are kept, as tasks."""
    found = (load(path) for path in sorted(RUNS.glob(f"*/*/{FILE}")))
    tasks = [Task(NOTEBOOKS / f["notebook"], tuple(sorted(f["overrides"].items()))) for f in found if f]
    return [task for task in tasks if task.path.exists()]


def read(task):
    """The provenance that task's last run left, or None."""
    return load(task.out / FILE)


def load(path):
    """What path records; None where it is no record of a run, as notebooks/stale has it, too."""
    try:
        found = json.loads(path.read_bytes())
        texts = [found["notebook"], *(result[k] for result in found["results"] for k in ("function", "key"))]
        texts += [text for name in TABLES for text in found[name].values()]
        return found if all(isinstance(text, str) for text in texts) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


TABLES = ("inputs", "outputs", "overrides", "captions", "alts", "files")


def write(task, inputs, records, version, written):
    """Leaves task's provenance, last of all that a run writes; written is {path: bytes}."""
    results = {r["key"]: r for r in records if "key" in r}
    files = {}
    for r in records:
        if "file" in r:
            same = files.get(r["file"], r["sha256"]) == r["sha256"]
            files[r["file"]] = r["sha256"] if same else ""  # it changed during the run, which is stale
    content = {
        "notebook": task.path.name,
        "overrides": dict(task.overrides),
        "results": list(results.values()),
        "captions": {r["output"]: r["caption"] for r in records if "output" in r},
        "alts": {r["output"]: r["alt"] for r in records if "alt" in r},
        "code": version,
        "inputs": inputs,
        "files": files,
    }
    store(task, content, written)


def rewrite(task, written):
    """Notes that parts of task's outputs were written anew from the same inputs."""
    store(task, read(task), written)


def store(task, content, written):
    outputs = content.get("outputs", {}) | {str(path.relative_to(ROOT)): sha256(data) for path, data in written.items()}
    content |= {"outputs": outputs, "cells": cells_digest(written[task.notebook])}
    write_atomic(task.out / FILE, as_json(content).encode())


def version():
    """The commit of the code and the files that differ from it; empty without git."""
    try:
        done = [
            subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout
            for words in (["rev-parse", "HEAD"], ["--no-optional-locks", "status", "--porcelain"])
        ]
    except (OSError, subprocess.CalledProcessError):
        return {}
    changed = [line[3:] for line in done[1].splitlines()]
    return {"commit": done[0].strip(), "clean": not changed, "changed": changed}


def short_key(path):
    """The first 16 digits of the key of an entry of the store, or of its shards."""
    return path.name.rpartition("-")[2].partition(".")[0]


def stored():
    """The short keys of the results in the store."""
    return {short_key(path) for path in STORE.glob("*") if path.is_file()}


def prune(states, submitted=()):
    """Removes from the store the results that no up-to-date output was made from, and the
    cells of all others but those with the short keys in submitted."""
    used = [read(task) for task, state in states.items() if not state["reasons"]]
    short = {result["key"][:16] for found in used if found for result in found["results"]}
    for path in STORE.glob("*"):
        if short_key(path) in (submitted if path.suffix == ".shards" else short):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
