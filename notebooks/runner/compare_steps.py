"""Compares a step of Experiment 1 with a Numba program that does this alone.

A step is the CV loss of an elastic net and its gradient in (λ1, λ2), at penalties that move a little
from step to step, as BenchmarkElasticNetStep takes it. Warm steps begin at the fits of the step
before, cold ones at none. The first case has the size of the paper's Experiment 1; the splits of all
cases are random, with 95 % of the rows for training. numba_steps.py is the peer. Numba is installed in
.cache/peers-steps on first use (Python 3.11 or newer), by the pins of requirements-peers.txt. Data
and the table (table.md) go to .work/peers-steps; with all cases, it goes to notebooks/peers/README.md, too.

Both get data and splits from one file, and standardise and centre on the training rows. Gram matrices
are made before the clock starts. The values must agree first: the CV losses and gradients at all
penalties to AGREE of the largest one. The times are processor time of one thread each, in turns; the
median is printed.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers
from checkout import CACHE, WORK, write_atomic
from peers import answer_of, built, circumstances, rounds_of, seconds_each, with_table, write_page

NEEDED = ["llvmlite", "numba", "numpy", "scipy"]
FOLDER = CACHE / "peers-steps"
OUT = WORK / "peers-steps"
COMMAND, WHAT = "compare_steps", "table of steps"
CASES = {"paper": (128, 30, 10), "splits": (2048, 30, 10), "rows": (128, 1920, 10), "columns": (128, 480, 160)}  # splits, rows, columns
SHARE = 0.95  # of the rows, for training
PENALTIES = [(1e-2 + 1e-5 * i, 1e-4 + 1e-5 * i) for i in range(50)]
REPEATS = 9
AGREE = 1e-9  # both are exact; some 1e-12 is rounding
STARTS = {"warm": "WarmSeconds", "cold": "ColdSeconds"}


def drawn(case):
    """Features, labels and splits of a case: a linear model with two coefficients of zero, and noise."""
    import numpy as np

    count, rows, columns = CASES[case]
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows, columns))
    coefficients = np.append(rng.uniform(size=columns - 2), [0, 0])
    orders = [rng.permutation(rows) for _ in range(count)]
    train = int(SHARE * rows)
    return X, X @ coefficients + rng.standard_normal(rows), [(order[:train], order[train:]) for order in orders]


def distance(theirs, ours):
    """The largest difference, as a share of the largest value of ours."""
    import numpy as np

    return float(np.abs(np.subtract(theirs, ours)).max() / np.abs(ours).max())


def compare(case, repeats, program):
    """A row of the table for each start."""
    import numba_steps

    X, y, splits = drawn(case)
    file = OUT / f"{case}.json"
    content = {"X": X.tolist(), "Y": y.tolist(), "Splits": [{"Train": t.tolist(), "Val": v.tolist()} for t, v in splits], "Penalties": PENALTIES}
    write_atomic(file, json.dumps(content).encode())
    problem = numba_steps.prepared(X, y, splits)
    state = numba_steps.started(problem)

    def warm():
        return [numba_steps.step(problem, state, *penalties) for penalties in PENALTIES]

    def cold():
        steps = []
        for penalties in PENALTIES:
            state.fill(0)
            steps.append(numba_steps.step(problem, state, *penalties))
        return steps

    run = {"warm": warm, "cold": cold}
    first = answer_of(program, "-steps", 1, file)
    rounds = rounds_of(len(PENALTIES) * min(first[key] for key in STARTS.values()))
    seconds = {start: {"ours": [], "theirs": []} for start in STARTS}
    for _ in range(repeats):
        ours = answer_of(program, "-steps", rounds, file)
        for start, key in STARTS.items():
            seconds[start]["ours"].append(ours[key])
            seconds[start]["theirs"].append(seconds_each(run[start]) / len(PENALTIES))
    rows = []
    for start in STARTS:
        losses, gradients = zip(*run[start]())
        far = {"losses": distance(losses, ours["Losses"]), "gradients": distance(gradients, ours["Gradients"])}
        rows.append({"case": case, "start": start, "far": far, "seconds": {who: statistics.median(s) for who, s in seconds[start].items()}})
    return rows


def name_of(row):
    count, rows, columns = CASES[row["case"]]
    return f"K = {count}, {rows} × {columns}, {row['start']}"


def agrees(row):
    return all(far <= AGREE for far in row["far"].values())


def table(rows):
    """The rows in Markdown. Without agreement a row has no times."""
    text = ["| Step | Difference of CV losses | of gradients | CPU µs: Numba's, ours | Ratio |", "| :-- | --: | --: | --: | --: |"]
    for row in rows:
        both = row["seconds"]["theirs"], row["seconds"]["ours"]
        times = [", ".join(f"{1e6 * s:.1f}" for s in both), f"{both[1] / both[0]:.3f}"] if agrees(row) else ["no agreement", "–"]
        far = [f"{row['far'][what]:.1e}".replace("-", "−") for what in ("losses", "gradients")]
        text.append(f"| {' | '.join([name_of(row), *far, *times])} |")
    return "\n".join([*text, ""])


def run(args):
    program, note = built(OUT), circumstances(f"Medians of {args.repeats} runs each")
    rows = []
    for case in args.only or CASES:
        rows += compare(case, args.repeats, program)
        print("\n".join(table(rows).splitlines()[-len(STARTS) :]), flush=True)
    write_atomic(OUT / "table.md", table(rows).encode())
    print(f"\n{table(rows)}\n{note}")
    if not args.only:
        write_page(with_table(peers.PAGE.read_text(encoding="utf-8"), WHAT, COMMAND, f"{table(rows)}\n{note}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help=f"times of each, of which the median is taken (default {REPEATS})")
    peers.run_with(FOLDER, NEEDED, run, parser.parse_args())


if __name__ == "__main__":
    main()
