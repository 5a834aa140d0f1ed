"""README's lines of speed: recorded times beside those of the fastest other program."""

import json
import re
from pathlib import Path

import provenance
from report import duration

# Each line: the work, its time, and the fastest peer's. A time is the sum of medians in
# figures/out/timings.json over a number of problems, and the peer's is in seconds. Or both were
# measured in turn and are on the page of the peers, in "row", a row whose last pair of seconds
# they are. If "alone" is given, it finds the peer's in place of the first of the pair.
PEERS = Path(__file__).resolve().parent.parent / "peers" / "README.md"
SECONDS = r"([\d.e+-]+)"
LINES = [
    {
        "work": "for a step of experiment 1, CV loss and gradient of 128 fits",
        "benchmarks": ["cvgm.ElasticNetStep/K=128/workers=1"],
        "peer": "a Numba program for this alone", "seconds": 114e-6,
    },
    {
        "work": "for a QP of 50 variables and 50 rows, solution and derivative",
        "benchmarks": ["qpdiff.QPSolve/c_64x(50,50,0)", "qpdiff.QPBackward/c_64x(50,50,0)"], "problems": 64,
        "peer": "DAQP 0.11, solution only", "seconds": 64.6e-6,
    },
    {
        "work": "to tune an elastic net on 500 × 20 data",
        "row": "elastic-net: generated, 500 × 20",
        "alone": rf"^generated, 500 × 20: ElasticNetCV .* takes {SECONDS} CPU seconds",
        "peer": "ElasticNetCV of scikit-learn 1.9.1",
    },
    {
        "work": "for a wide lasso of 500 × 5000 in 5 folds, CV loss and gradient",
        "row": "elastic-net, 500 × 5000, 0.1 of λmax",
        "peer": "celer, CV loss only",
    },
]  # fmt: skip


def lines():
    """README's text; None before the benchmarks are recorded."""
    if not provenance.TIMINGS.exists():
        return None
    recorded = json.loads(provenance.TIMINGS.read_text(encoding="utf-8"))
    text = []
    for line in LINES:
        own, other = (duration(1e9 * s) for s in seconds(line, recorded["benchmarks"]))
        text.append(f"* **{own}** {line['work']} (fastest peer {other}: {line['peer']})")
    machine = recorded["machine"]
    busy = ", under other load" if machine["busy"] else ""
    text += ["", f"One core of {machine['processor']}, medians, {recorded['date']}{busy}. Of other days: the peers' times and the last two lines. [More](notebooks/peers/README.md)."]
    return "\n".join(text) + "\n"


def seconds(line, benchmarks):
    """The time of the project and that of the peer."""
    if "row" not in line:
        return sum(benchmarks[name]["ns/op"]["median"] for name in line["benchmarks"]) / line.get("problems", 1) / 1e9, line["seconds"]
    page = PEERS.read_text(encoding="utf-8")
    other, own = re.search(rf"^\| {re.escape(line['row'])} \|.*\| {SECONDS}, {SECONDS} \|", page, re.M).groups()
    if "alone" in line:
        other = re.search(line["alone"], page, re.M).group(1)
    return float(own), float(other)
