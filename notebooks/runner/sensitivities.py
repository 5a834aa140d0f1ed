"""What rounding may change in the outputs, recorded in figures/out/sensitivities.json.

A notebook's twin runs with all real parameters moved by 2^-40 of themselves. How
far its outputs are off bounds what processors that round otherwise may make of
them; `compare` allows for it. That holds for one state of the outputs, but barely
depends on their digits, so it is recorded when asked for and not with every run,
which would double what that takes.
"""

import json

import compare
import provenance
import readme
from checkout import as_json, write_atomic

FILE = "sensitivities.json"


def load():
    """All that is recorded, as {notebook: {file or place: {group: number}}}."""
    try:
        return json.loads((provenance.OUT / FILE).read_text())
    except OSError:
        return {}


def read(task):
    return load().get(task.path.stem, {})


def places(task):
    """The names of all committed outputs of task that may be sensitive."""
    files = {path.as_posix() for path in compare.files_in(task.out)}
    return files | set(compare.places(task.path.read_text())) | {readme.README.name}


def of(task, out, notebook):
    """How far the outputs of task's twin are off those of task, as {file or place:
    {group: number}}, less those that are not."""
    found = {}
    old, new = compare.files_in(task.out), compare.files_in(out)
    for path in sorted(old.keys() & new.keys()):
        if path.suffix in compare.TEXT - compare.PICTURES:
            found[path.as_posix()] = compare.sensitivities(old[path].decode(), new[path].decode())
    a, b = compare.places(task.path.read_text()), compare.places(notebook.decode())
    found |= {place: compare.sensitivities(a[place], b[place]) for place in sorted(a.keys() & b.keys())}
    text = readme.wanted(out)
    if text is not None:
        found[readme.README.name] = compare.sensitivities(readme.README.read_text(encoding="utf-8"), text)
    return {place: {group: two_digits(v) for group, v in groups.items()} for place, groups in found.items() if groups}


def two_digits(v):
    """v less the digits that mean nothing in an order of magnitude."""
    return v if v is compare.FREE else float(f"{v:.1e}")


def record(task, found):
    """Writes what was found of task into the file."""
    everything = load() | {task.path.stem: found}
    write_atomic(provenance.OUT / FILE, as_json(everything).encode())
