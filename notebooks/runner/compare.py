"""Compares recomputed outputs with the committed ones and says what differs.

On the platform that made the committed outputs every byte counts. Elsewhere
(fused multiply-adds, other math kernels) numbers count, as far as rounding does
not decide them, and pictures only have to be there: the numbers they draw stand
in text beside them.

How much rounding decides is measured: a notebook's twin has all real parameters
moved by 2^-40 of themselves (notebook.TwinVar). For each plotted series, and
each number of other texts, `sensitivities` keeps how far the twin is off.
"""

import csv
import json
import platform
import re
import sys
from pathlib import PurePath

# Where the twin is not off by more, two numbers agree when they differ by at most
# this much of the larger, or by one unit in the last printed place of the coarser,
# and whole numbers must be equal. The twin is moved by some 10^4 roundings, so
# that what it leaves within this is not moved so far by 10^5 roundings.
TOLERANCE = 1e-9

# Elsewhere a number may differ by this many times as much as the twin: along an
# unstable path both are a draw from the same wide distribution, of which the
# twin's is one.
ALLOWANCE = 10

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
EMBEDDED = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=\s]+")


def exact_platform(system=sys.platform, machine=platform.machine(), cpuinfo="/proc/cpuinfo"):
    """Whether this is linux/amd64 with FMA, where outputs are reproduced to the byte."""
    if (system, machine) != ("linux", "x86_64"):
        return False
    try:
        with open(cpuinfo) as f:
            return any(line.startswith("flags") and "fma" in line.split() for line in f)
    except OSError:
        return False


def unit(number):
    """One unit in the last printed place; 0 for a whole number."""
    mantissa, _, exponent = number.lower().partition("e")
    _, point, decimals = mantissa.partition(".")
    if not point and not exponent:
        return 0.0
    return 10.0 ** (int(exponent or 0) - len(decimals))


def agree(a, b, tolerance, sensitivity=0.0):
    x, y = float(a), float(b)
    if x == y:
        return True
    if tolerance == 0:
        return False
    if abs(x - y) <= ALLOWANCE * sensitivity:
        return True
    place = max(unit(a), unit(b))
    return place > 0 and abs(x - y) <= max(tolerance * max(abs(x), abs(y)), place * (1 + 1e-9))


def clip(text, width=60):
    text = text.strip()
    return repr(text if len(text) <= width else text[: width - 1] + "…")


def grouped(text):
    """The lines of text as [(what its numbers are grouped by, line), …].

    Numbers of a plotted series are grouped by their place on the line, as "panel | series";
    others are each by themselves, as "line 3".
    """
    plotted = text.startswith("panel,series,")
    return [
        (" | ".join(next(csv.reader([line]))[:2]) if plotted and number > 1 and line else f"line {number}", line)
        for number, line in enumerate(text.splitlines(), 1)
    ]


def is_series(group):
    return " | " in group


# The sensitivity of what has another form in the twin: it is not compared.
FREE = None


def sensitivities(old, new):
    """How far the numbers of new are off those of old, its twin, as {group: at most}.

    Left out is what agrees within a tenth of TOLERANCE. A series that has another
    length, or a line that has other words, is FREE; where lines that are no
    series are more or fewer, all of the text is, as "".
    """
    found = {}
    a, b = by_group(old), by_group(new)
    if [g for g in a if not is_series(g)] != [g for g in b if not is_series(g)]:
        return {"": FREE}
    for group in a.keys() | b.keys():
        p, q = a.get(group, []), b.get(group, [])
        if [NUMBER.split(line) for line in p] != [NUMBER.split(line) for line in q]:
            found[group] = FREE
            continue
        for x, y in zip(p, q):
            for place, (v, w) in enumerate(zip(NUMBER.findall(x), NUMBER.findall(y))):
                off = abs(float(v) - float(w))
                if off > TOLERANCE / ALLOWANCE * max(abs(float(v)), abs(float(w))):
                    key = f"{group} | {place}"
                    found[key] = max(off, found.get(key, 0))
    # Two digits are enough of an order of magnitude.
    return {key: v if v is FREE else float(f"{v:.1e}") for key, v in sorted(found.items())}


def by_group(text):
    """The lines of text as {group: [line, …]}."""
    groups = {}
    for group, line in grouped(EMBEDDED.sub("(embedded)", text)):
        groups.setdefault(group, []).append(line)
    return groups


def text_difference(old, new, tolerance, sensitivity=None):
    """None, or in words how new differs from old.

    Where there is a tolerance, sensitivity is what `sensitivities` found of the text.
    """
    if old == new:
        return None
    old, new = (EMBEDDED.sub("(embedded)", text) for text in (old, new))
    if old == new:
        return None if tolerance else "a picture in it differs"
    sensitivity = sensitivity or {}
    if tolerance:
        if "" in sensitivity:
            return None
        old, new = compared(old, sensitivity), compared(new, sensitivity)
    if NUMBER.split(old) != NUMBER.split(new):
        return line_difference(old, new)
    numbers, off = 0, []
    for number, ((group, a), b) in enumerate(zip(grouped(old), new.splitlines()), 1):
        for place, (v, w) in enumerate(zip(NUMBER.findall(a), NUMBER.findall(b))):
            numbers += 1
            if not agree(v, w, tolerance, sensitivity.get(f"{group} | {place}", 0)):
                x, y = float(v), float(w)
                off.append((abs(x - y) / max(abs(x), abs(y)), number, group, v, w))
    if off:
        worst, number, group, v, w = max(off, key=lambda o: o[0])
        panel, _, name = group.partition(" | ")
        where = f"line {number}, series {name!r} of panel {panel!r}" if is_series(group) else f"line {number}"
        return f"{len(off)} of {numbers} numbers differ, the most by {worst:.1e} of its size ({where}: committed {v}, recomputed {w})"
    return None if tolerance else line_difference(old, new)


def compared(text, sensitivity):
    """text less what is FREE."""
    lines = [("" if group in sensitivity else line) for group, line in grouped(text) if not (is_series(group) and group in sensitivity)]
    return "\n".join(lines)


def line_difference(old, new):
    a, b = old.splitlines(), new.splitlines()
    for i, (x, y) in enumerate(zip(a, b), 1):
        if x != y:
            j = next((k for k, (c, d) in enumerate(zip(x, y)) if c != d), min(len(x), len(y)))
            start = max(0, j - 20)
            return f"line {i}: committed {clip(x[start:])}, recomputed {clip(y[start:])}"
    if len(a) != len(b):
        return f"committed {len(a)} lines, recomputed {len(b)}"
    return "differs only in its line ends"


def text_of(name, data):
    """The text of an output; None for a picture and for other bytes."""
    if PurePath(name).suffix in (".pdf", ".png", ".svg") or "(image/" in name:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def byte_difference(old, new):
    first = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    return f"committed {len(old)} bytes, recomputed {len(new)}; the first difference is at byte {first}"


def differences(old, new, tolerance, sensitive):
    """Yields (name, in words how they differ) for the outputs of two runs, {name: bytes},
    whose sensitivities are {name: those of that output}."""
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield name, "committed, but nothing writes it any more"
        elif name not in old:
            yield name, "written, but not committed"
        elif old[name] != new[name]:
            a, b = text_of(name, old[name]), text_of(name, new[name])
            if a is not None and b is not None:
                found = text_difference(a, b, tolerance, sensitive.get(name))
            else:
                found = None if tolerance else byte_difference(old[name], new[name])
                plotted = str(PurePath(name).with_suffix(".csv"))
                if found and plotted in old and plotted in new:
                    same = old[plotted] == new[plotted]
                    found = f"the picture alone was changed: the series it plots agree ({found})" if same else f"plots the series of {PurePath(plotted).name}, which differ"
            if found:
                yield name, found


# What a run leaves beside its outputs about itself; it is no output.
PROVENANCE = "provenance.json"

IGNORED = ".pdf"  # ends the names of outputs that are not committed


def files_in(folder):
    """The outputs below folder as {relative path: bytes}."""
    paths = (p for p in sorted(folder.rglob("*")) if p.is_file() and p != folder / PROVENANCE)
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths}


def cells_of(notebook):
    """The outputs of a notebook's cells as {"cell 2, output 1 (stdout)": bytes}."""
    return {
        f"cell {i}, output {j} ({kind})": text.encode()
        for i, cell in enumerate(json.loads(notebook)["cells"], 1)
        for j, output in enumerate(cell.get("outputs", []), 1)
        for kind, text in parts(output).items()
    }


def parts(output):
    """An output's texts by kind: its stream's name or its MIME types."""
    found = {output["name"]: output["text"]} if output["output_type"] == "stream" else output.get("data", {})
    return {kind: joined(text) for kind, text in found.items()}


def joined(text):
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        return "".join(text)
    return text if isinstance(text, str) else json.dumps(text, sort_keys=True)
