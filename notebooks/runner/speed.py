"""README's lines of speed: recorded times beside those of the fastest other program."""

import json

import provenance
from report import duration

# Each line: the work, its time, and the fastest peer's. A time is the sum of medians in
# figures/out/timings.json over a number of problems, or seconds that were measured together
# with the peer's. Times of the peers are seconds.
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
        "measured": 0.0038,
        "peer": "ElasticNetCV of scikit-learn 1.9.1", "seconds": 0.052,
    },
    {
        "work": "for a wide lasso of 500 × 5000 in 5 folds, CV loss and gradient",
        "benchmarks": ["cvgm/tune.LargeCV/elastic_net_500_×_5000,_0.1_of_the_strongest_λ1"],
        "peer": "celer, CV loss only", "seconds": 0.112,
    },
]  # fmt: skip


def lines():
    """README's text; None before the benchmarks are recorded."""
    if not provenance.TIMINGS.exists():
        return None
    recorded = json.loads(provenance.TIMINGS.read_text(encoding="utf-8"))
    text = []
    for line in LINES:
        own, other = duration(1e9 * seconds(line, recorded["benchmarks"])), duration(1e9 * line["seconds"])
        text.append(f"* **{own}** {line['work']} (fastest peer {other}: {line['peer']})")
    machine = recorded["machine"]
    busy = ", under other load" if machine["busy"] else ""
    text += ["", f"One core of {machine['processor']}, medians, {recorded['date']}{busy}. Older: the third line, and the peers' times, on machines of the same kind. [More](notebooks/peers/README.md)."]
    return "\n".join(text) + "\n"


def seconds(line, benchmarks):
    if "measured" in line:
        return line["measured"]
    return sum(benchmarks[name]["ns/op"]["median"] for name in line["benchmarks"]) / line.get("problems", 1) / 1e9
