"""Keeps the results of the full size, in figures/out/NAME/full.

Experiments whose default size is smaller to save time have a full size, in the tags of
their parameters. --full alone writes this folder: the tables, the values of the cells as
CSV, and last full.json, which lists what they were made from. The cells of the default
size are among those of the full one, so --check compares the former, bit by bit.
"""

import csv
import datetime
import io
import json
import os
import shutil

import compare
import provenance
from checkout import WORK, as_json, write_atomic
from compare import FULL as FOLDER

HEADER = "full.json"
STORE = WORK / "full"  # like .work/store; no other run removes results from it
SECONDS = "seconds.json"  # in STORE: how long the results took, by key
CELLS = "cells_"  # begins the names of the CSV files with the values of cells
TABLES = (".csv", ".md")


def prepare():
    """Takes over the results of the default size: some have no other."""
    STORE.mkdir(parents=True, exist_ok=True)
    for path in provenance.STORE.glob("*"):
        if path.is_file() and not (STORE / path.name).exists():
            try:
                os.link(path, STORE / path.name)
            except OSError:
                shutil.copy2(path, STORE / path.name)


def prune(keys):
    """Removes the results with other keys."""
    short = {key[:16] for key in keys}
    for path in STORE.glob("*"):
        if path.name == SECONDS or provenance.short_key(path) in short:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def read(task):
    """What full.json of task holds, or None."""
    try:
        found = json.loads((task.out / FOLDER / HEADER).read_text(encoding="utf-8"))
        return found if all(isinstance(r, dict) for r in found["results"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def taken(records):
    """How long the results took, {key: seconds}, with those that records adds."""
    try:
        known = json.loads((STORE / SECONDS).read_text())
    except (OSError, ValueError):
        known = {}
    known |= {r["computed"]: float(f"{r['seconds']:.3g}") for r in records if "computed" in r}
    write_atomic(STORE / SECONDS, as_json(known).encode())
    return known


def made(task, staged):
    """What a run of task at the full size has left in the folder staged, as {name: bytes}."""
    tables = {n: data for n, data in compare.files_in(staged).items() if n.endswith(TABLES) and not as_default(task, staged, n)}
    return tables | {path.name: path.read_bytes() for path in sorted((staged / FOLDER).glob(f"{CELLS}*.csv"))}


def install(task, made, records):
    """Writes what made returned; the number of files that changed, or None where none of
    the experiments in records has a full size."""
    seconds = taken(records)
    results = {r["key"]: r | {"seconds": seconds.get(r["key"])} for r in records if "experiment" in r}
    if not results:
        return None
    folder, last = task.out / FOLDER, read(task)
    old = {path.name: path.read_bytes() for path in folder.glob("*") if path.is_file() and path.name != HEADER}
    changed = [n for n in old.keys() | made.keys() if old.get(n) != made.get(n)]
    if not changed and last and {r.get("key") for r in last["results"]} == results.keys():
        return 0
    header = {
        "command": f"./reproduce.sh --full {task.path.stem}",
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "cores": os.cpu_count(),
        "results": list(results.values()),
    }
    (folder / HEADER).unlink(missing_ok=True)  # last of all it says that the rest is whole
    for name in changed:
        if name in made:
            write_atomic(folder / name, made[name])
        else:
            (folder / name).unlink()
    write_atomic(folder / HEADER, as_json(header).encode())
    return len(changed) + 1


def as_default(task, staged, name):
    """Whether the size makes no difference to the numbers of a table."""
    own, default = ((folder / name).with_suffix(".csv") for folder in (staged, task.out))
    return default.exists() and own.read_bytes() == default.read_bytes()


def older(task, results):
    """The sentence that task's folder was made from other sources than those of results, or None."""
    header, sources = read(task), {r["function"]: r["source"] for r in results if "source" in r}
    if header and any(sources.get(r.get("function"), r.get("source")) != r.get("source") for r in header["results"]):
        return f"{FOLDER}/ is from older sources: ./reproduce.sh --full {task.path.stem} computes it again"
    return None


def compared(task, staged):
    """Compares the cells of the default size that a run of task has computed with those that
    are kept; a line for each difference, and one for each experiment without any."""
    lines, notes = [], []
    for path in sorted((task.out / FOLDER).glob(f"{CELLS}*.csv")):
        name, kept = f"{FOLDER}/{path.name}", cells(path)
        try:
            own = cells(staged / FOLDER / path.name)
        except FileNotFoundError:
            lines.append(f"{name}: committed, but the notebook computes no such cells any more")
            continue
        if lost := [label for label in own if label not in kept]:
            lines.append(f"{name}: {len(lost)} of the {len(own)} cells of the default size are not among the {len(kept)} committed ones, the first: {lost[0]}")
        if off := [label for label in own if label in kept and own[label] != kept[label]]:
            lines.append(f"{name}: {len(off)} of the {len(own)} cells of the default size differ, the first: {off[0]}: {difference(kept[off[0]], own[off[0]])}")
        elif not lost:
            notes.append(f"{name}: {len(own)} cells agree, {len(kept) - len(own)} were not recomputed")
    return lines, notes


def cells(path):
    """The cells in a CSV file as {label: {column: text}}."""
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    return {row["cell"]: {column: text for column, text in row.items() if text} for row in rows}


def difference(kept, own):
    numbers = [c for c in [*kept, *own] if c != "digest" and kept.get(c) != own.get(c)]
    if not numbers:
        return "a number of a long list"
    c = numbers[0]
    return f"{c}: committed {kept.get(c, 'nothing')}, recomputed {own.get(c, 'nothing')}"
