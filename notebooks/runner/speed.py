"""README's lines of speed: times of the project beside those of the fastest other program."""

import re
from pathlib import Path

from report import duration

# Each line: the work, the peer, and the row on the page of the peers whose pair of times they are,
# first the peer's. The times are in seconds, or in the unit. If "alone" is given, it finds the
# peer's in place of the first of the pair.
PAGE = Path(__file__).resolve().parent.parent / "peers" / "README.md"
NUMBER = r"([\d.e+-]+)"
LINES = [
    {
        "work": "for a step of experiment 1, CV loss and gradient of 128 fits",
        "row": "K = 128, 30 × 10, warm", "unit": 1e-6,
        "peer": "a Numba program for this alone",
    },
    {
        "work": "for a QP of 50 variables and 50 rows, solution and derivative",
        "row": "c: 64 × (50, 50, 0), solution and derivative", "unit": 1e-6,
        "alone": rf"^\| c: 64 × \(50, 50, 0\), solution \|.* {NUMBER}, {NUMBER} \|",
        "peer": "DAQP 0.11, solution only",
    },
    {
        "work": "to tune an elastic net on 500 × 20 data",
        "row": "elastic-net: generated, 500 × 20",
        "alone": rf"^generated, 500 × 20: ElasticNetCV .* takes {NUMBER} CPU seconds",
        "peer": "ElasticNetCV of scikit-learn 1.9.1",
    },
    {
        "work": "for a wide lasso of 500 × 5000 in 5 folds, CV loss and gradient",
        "row": "elastic-net, 500 × 5000, 0.1 of λmax",
        "peer": "celer, CV loss only",
    },
]  # fmt: skip


def lines():
    """README's text."""
    page = PAGE.read_text(encoding="utf-8")
    text = []
    for line in LINES:
        own, other = (duration(1e9 * s) for s in seconds(line, page))
        text.append(f"* **{own}** {line['work']} (fastest peer {other}: {line['peer']})")
    return "\n".join([*text, "", "Medians of processor time on one core, in turns with the peers. [The peers' page](notebooks/peers/README.md) has processor, dates and commands.", ""])


def seconds(line, page):
    """The time of the project and the peer's."""
    other, own = re.search(rf"^\| {re.escape(line['row'])} \|.*\| {NUMBER}, {NUMBER} \|", page, re.M).groups()
    if "alone" in line:
        other = re.search(line["alone"], page, re.M).group(1)
    return float(own) * line.get("unit", 1), float(other) * line.get("unit", 1)
