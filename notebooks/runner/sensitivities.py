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


def unknown(task, names):
    """The names under which something of task is recorded and that are not among names, its outputs'."""
    return sorted(read(task).keys() - names)


def of(old, new):
    """How far the outputs of a twin, {name: bytes}, are off the committed ones, as
    {name: {group: number}}, less those that are not."""
    found = {}
    for name in sorted(old.keys() & new.keys()):
        a, b = compare.text_of(name, old[name]), compare.text_of(name, new[name])
        if a is not None and b is not None and (groups := compare.sensitivities(a, b)):
            found[name] = groups
    return found


def record(task, found):
    """Writes what was found of task into the file."""
    everything = load() | {task.path.stem: found}
    write_atomic(provenance.OUT / FILE, as_json(everything).encode())
