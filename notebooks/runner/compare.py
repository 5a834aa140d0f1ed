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
import itertools
import json
import platform
import re
import sys

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
PICTURES = {".pdf", ".png", ".svg"}
TEXT = {".csv", ".json", ".md", ".svg", ".tex", ".txt", ".html"}


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


def lines(text):
    """The lines of text as (line, what its numbers are grouped by, its series).

    Numbers of a plotted series are grouped by their place on the line, others
    are each by themselves. The series is None where the line belongs to none.
    """
    found = text.splitlines()
    plotted = bool(found) and found[0].startswith("panel,series,")
    for number, line in enumerate(found, 1):
        if plotted and number > 1 and line:
            name = " | ".join(next(csv.reader([line]))[:2])
            yield line, name, name
        else:
            yield line, f"line {number}", None


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
    if [g for g, (series, _) in a.items() if not series] != [g for g, (series, _) in b.items() if not series]:
        return {"": FREE}
    for group in a.keys() | b.keys():
        p, q = a.get(group, (None, []))[1], b.get(group, (None, []))[1]
        if [NUMBER.split(line) for line in p] != [NUMBER.split(line) for line in q]:
            found[group] = FREE
            continue
        for x, y in zip(p, q):
            for place, (v, w) in enumerate(zip(NUMBER.findall(x), NUMBER.findall(y))):
                off = abs(float(v) - float(w))
                if off > TOLERANCE / ALLOWANCE * max(abs(float(v)), abs(float(w))):
                    key = f"{group} | {place}"
                    found[key] = max(off, found.get(key, 0))
    return dict(sorted(found.items()))


def by_group(text):
    """The lines of text as {group: (whether it is a series, [line, …])}."""
    groups = {}
    for line, group, series in lines(EMBEDDED.sub("(embedded)", text)):
        groups.setdefault(group, (series is not None, []))[1].append(line)
    return groups


def text_difference(old, new, tolerance, sensitivity=None):
    """None, or in words how new differs from old.

    Where there is a tolerance, sensitivity is what `sensitivities` found of the text.
    """
    if old == new:
        return None
    allowed = []
    if tolerance:
        sensitivity = sensitivity or {}
        if "" in sensitivity:
            return None
        old, new = compared(old, sensitivity), compared(new, sensitivity)
        for line, group, _ in lines(old):
            allowed += [sensitivity.get(f"{group} | {place}", 0) for place in range(len(NUMBER.findall(line)))]
    words_old, words_new = NUMBER.split(old), NUMBER.split(new)
    if words_old != words_new:
        return line_difference(old, new)
    numbers_old, numbers_new = list(NUMBER.finditer(old)), NUMBER.findall(new)
    off = []
    for a, b, sensitive in itertools.zip_longest(numbers_old, numbers_new, allowed, fillvalue=0):
        if not agree(a.group(), b, tolerance, sensitive):
            x, y = float(a.group()), float(b)
            off.append((abs(x - y) / max(abs(x), abs(y)), old.count("\n", 0, a.start()) + 1, a.group(), b))
    if off:
        worst = max(off, key=lambda o: o[0])
        return (
            f"{len(off)} of {len(numbers_new)} numbers differ, the most by {worst[0]:.1e} of its size "
            f"(line {worst[1]}{series(old, worst[1])}: committed {worst[2]}, recomputed {worst[3]})"
        )
    return None if tolerance else line_difference(old, new)


def compared(text, sensitivity):
    """text less what is FREE."""
    kept = []
    for line, group, series in lines(EMBEDDED.sub("(embedded)", text)):
        if group not in sensitivity:
            kept.append(line)
        elif series is None:
            kept.append("")
    return "\n".join(kept)


def series(text, number):
    """In words, the plotted series that a line of a figure's CSV belongs to."""
    lines = text.splitlines()
    if not lines[0].startswith("panel,series,"):
        return ""
    panel, name = next(csv.reader([lines[number - 1]]))[:2]
    return f", series {name!r} of panel {panel!r}"


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


def file_difference(path, old, new, tolerance, sensitivity=None):
    """None, or how the bytes new of the file named path differ from old."""
    if old == new:
        return None
    if path.suffix in TEXT:
        try:
            return text_difference(old.decode(), new.decode(), tolerance, sensitivity)
        except UnicodeDecodeError:
            pass
    if tolerance:
        return None
    first = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    return f"committed {len(old)} bytes, recomputed {len(new)}; the first difference is at byte {first}"


# What a run leaves beside its outputs about itself; it is no output.
PROVENANCE = "provenance.json"


def files_in(folder):
    """The outputs below folder as {relative path: bytes}."""
    paths = (p for p in sorted(folder.rglob("*")) if p.is_file() and p != folder / PROVENANCE)
    return {p.relative_to(folder): p.read_bytes() for p in paths}


def folder_differences(committed, fresh, tolerance, sensitive=None):
    """Yields (relative path, what differs) for two folders of output files, whose
    sensitivities are {relative path as text: those of that file}."""
    old, new = files_in(committed), files_in(fresh)
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            yield path, "committed, but nothing writes it any more"
        elif path not in old:
            yield path, "written, but not committed"
        else:
            plotted = path.with_suffix(".csv")
            drawn = path.suffix in PICTURES and plotted in old and plotted in new
            if tolerance and drawn:
                continue
            difference = file_difference(path, old[path], new[path], tolerance, (sensitive or {}).get(path.as_posix()))
            if difference and drawn:
                same = old[plotted] == new[plotted]
                difference = f"the picture alone was changed: the series it plots agree ({difference})" if same else f"plots the series of {plotted.name}, which differ"
            if difference:
                yield path, difference


def notebook_differences(old, new, tolerance, sensitive=None):
    """Yields (place, what differs) for the texts of two notebooks of the same cells,
    whose sensitivities are {place: those of that output}."""
    if old == new:
        return
    try:
        a, b = json.loads(old)["cells"], json.loads(new)["cells"]
    except (ValueError, KeyError, TypeError) as e:
        yield "the file", f"is not a notebook ({e})"
        return
    found = False
    for i, (x, y) in enumerate(zip(a, b), 1):
        p, q = x.get("outputs", []), y.get("outputs", [])
        if len(p) != len(q):
            found = True
            yield f"cell {i}", f"committed {len(p)} outputs, recomputed {len(q)}"
            continue
        for j, (s, t) in enumerate(zip(p, q), 1):
            place = f"cell {i}, output {j}"
            for kind, difference in output_differences(s, t, tolerance, lambda kind: (sensitive or {}).get(f"{place} ({kind})")):
                found = True
                yield f"{place} ({kind})", difference
    if not found and not tolerance:
        yield "the file", "its outputs agree but it is laid out otherwise: ./reproduce.sh writes it in its plain form"


def output_differences(old, new, tolerance, sensitivity=lambda kind: None):
    if old.get("output_type") != new.get("output_type"):
        yield new.get("output_type"), f"committed as {old.get('output_type')}"
        return
    p, q = parts(old), parts(new)
    for kind in sorted(p.keys() | q.keys()):
        if kind not in p or kind not in q:
            yield kind, "recomputed, but not committed" if kind in q else "committed, but not recomputed"
        elif kind.startswith("image/") and kind != "image/svg+xml":
            if p[kind] != q[kind] and not tolerance:
                yield kind, "the picture differs"
        else:
            difference = text_difference(p[kind], q[kind], tolerance, sensitivity(kind))
            if difference:
                yield kind, difference


def places(notebook):
    """The texts of a notebook's outputs, by the names that notebook_differences has for them."""
    return {
        f"cell {i}, output {j} ({kind})": text
        for i, cell in enumerate(json.loads(notebook)["cells"], 1)
        for j, output in enumerate(cell.get("outputs", []), 1)
        for kind, text in parts(output).items()
        if not kind.startswith("image/")
    }


def parts(output):
    """An output's texts by kind: its streams' or its MIME types."""
    if output.get("output_type") == "stream":
        return {output.get("name", "stream"): joined(output.get("text", ""))}
    return {k: v if isinstance(v, str) else joined(v) for k, v in output.get("data", {}).items()}


def joined(text):
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        return "".join(text)
    return text if isinstance(text, str) else json.dumps(text, sort_keys=True)
