"""What the outputs of each notebook were made from, and so whether they are stale.

Beside its outputs every run leaves provenance.json: the hashes of what it was
made from and of what it wrote, the results that it used, the version of the
code. It tells of one checkout and one machine, so it is not committed.

Only the standard library is imported: this decides whether anything is needed.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import compare
import environment
import readme
from compare import PROVENANCE as FILE
from environment import NOTEBOOKS, ROOT, WORK, digest

OUT = ROOT / "figures" / "out"
RUNS = WORK / "runs"  # those with parameters from the command line
STORE = WORK / "store"
TIMINGS = OUT / "timings.json"

# What runs the cells and writes the notebook; the rest of the runner does not
# show in outputs.
RUNNER = ["notebooks/requirements.txt", "notebooks/runner/environment.py", "notebooks/runner/execute.py"]

IMPORT = re.compile(r'^\s*(?:import\s+)?(?:[\w.]+\s+)?"cvgm/([\w/]+)"', re.M)


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
        return RUNS / self.path.stem / (label if len(label) <= 100 else digest(label)[:32])

    @property
    def notebook(self):
        """Where the executed notebook goes."""
        return self.out / self.path.name if self.overrides else self.path


def read(task):
    """The provenance that task's last run left, or None."""
    try:
        found = json.loads((task.out / FILE).read_text())
        return found if all(isinstance(found[k], t) for k, t in FORM.items()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


FORM = {"inputs": dict, "outputs": dict, "results": list}


def inputs(task, toolchain):
    """All that task's outputs depend on, as {name: version or hash}."""
    cells = code(task.path)
    found = {"code cells": digest(*cells), "Go": toolchain}
    todo = set(IMPORT.findall("\n".join(cells)))
    packages = set()
    files = [ROOT / name for name in ("go.mod", "go.sum", *RUNNER)]
    reads_timings = False
    while todo - packages:
        package = (todo - packages).pop()
        packages.add(package)
        for path in (ROOT / package).glob("*.go"):
            if not path.name.endswith("_test.go"):
                files.append(path)
                text = path.read_text(errors="replace")
                todo.update(IMPORT.findall(text))
                reads_timings |= TIMINGS.name in text
    if reads_timings and TIMINGS.exists():
        files.append(TIMINGS)
    found.update((str(path.relative_to(ROOT)), environment.sha256(path.read_bytes())) for path in files)
    return found


def code(path):
    """The code cells of the notebook at path; its whole text where it cannot be read."""
    text = path.read_text(errors="replace")
    try:
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
        return ["".join(c["source"]) for c in cells]
    except (ValueError, KeyError, TypeError):
        return [text]


def outputs(task):
    """What stands in the places of task's outputs, as {path: hash}."""
    found = {task.out / name: data for name, data in compare.files_in(task.out).items()}
    if task.notebook.exists():
        found[task.notebook] = task.notebook.read_bytes()
    return {str(path.relative_to(ROOT)): environment.sha256(data) for path, data in found.items()}


def stale(task, toolchain):
    """Why task's outputs are not what a run would make now; empty if they are."""
    if not (task.out / FILE).exists():
        return ["it never ran here"]
    last = read(task)
    if last is None:
        return [f"{(task.out / FILE).relative_to(ROOT)} is damaged"]
    reasons = []
    before, now = last["inputs"], inputs(task, toolchain)
    folders = {}
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) == now.get(name):
            continue
        what = "is new" if name not in before else "is gone" if name not in now else "changed"
        if name == "Go":
            reasons.append(f"Go is {now[name]}, was {before.get(name)}")
        elif name == "code cells":
            reasons.append("its code cells changed")
        else:
            folders.setdefault(str(Path(name).parent), []).append(f"{Path(name).name} {what}")
    for folder, files in folders.items():
        package = "package " if any(f.partition(" ")[0].endswith(".go") for f in files) else ""
        reasons.append(listing("the module" if folder == "." else package + folder, files))
    before, now = last["outputs"], outputs(task)
    files = []
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            files.append(name + (" is missing" if name not in now else " was not written by it" if name not in before else " was edited"))
    if files:
        reasons.append(listing("outputs", files))
    try:
        text = readme.wanted(task, task.out)
        if text is not None and text != readme.README.read_text(encoding="utf-8"):
            reasons.append("README.md: its claims are not those of the table")
    except environment.Problem as e:
        reasons.append(str(e))
    return reasons


def listing(what, files, most=3):
    more = f" and {len(files) - most} more" if len(files) > most else ""
    return f"{what}: {', '.join(files[:most])}{more}"


def write(task, made_from, records, version, written):
    """Leaves task's provenance, last of all that a run writes; written is what it
    wrote, as {path: bytes}."""
    results = {r["key"]: r for r in records if "key" in r}
    content = {
        "notebook": task.path.name,
        "overrides": dict(task.overrides),
        "results": list(results.values()),
        "captions": {r["output"]: r["caption"] for r in records if "output" in r},
        "code": version,
        "inputs": made_from,
        "outputs": {str(path.relative_to(ROOT)): environment.sha256(data) for path, data in written.items()},
    }
    environment.write_atomic(task.out / FILE, environment.as_json(content).encode())


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


def prune(toolchain):
    """Removes from the store what no output that is up to date was made from."""
    keep = set()
    for path in [*OUT.glob(f"*/{FILE}"), *RUNS.glob(f"*/*/{FILE}")]:
        try:
            found = json.loads(path.read_text())
            task = Task(NOTEBOOKS / found["notebook"], tuple(sorted(found["overrides"].items())))
            if not stale(task, toolchain):
                keep.update(result["key"] for result in found["results"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    # An entry's name ends with the first 16 digits of its key.
    short = {key[:16] for key in keep}
    for path in STORE.glob("*"):
        if path.name.rpartition("-")[2] not in short:
            remove(path)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
