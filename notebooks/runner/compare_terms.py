"""Compares the choice of many penalties by tune.Tuner with pyGAM and himalaya.

KIND is smooth or bands. A smooth model is the sum of a smooth function of each column, each with its
own penalty and ten splines. pyGAM searches its default grid, which gives all functions one penalty,
by generalised cross-validation. A model of bands has a ridge penalty for each band. himalaya draws
penalties at random, 100 times, and compares their CV losses on the same folds. Tuner descends the CV
loss in all penalties.

The peers are installed in .cache/peers-terms on first use (Python 3.11 or newer), by the pins of
requirements-terms.txt. Data, folds and the table (table.md) go to .work/peers-terms, and the table
also to notebooks/peers/README.md.

Criterion: the mean over 10 folds of the mean squared error on the left-out rows, from out-of-fold
predictions: the peer's model is fitted again in each fold, with the penalties that the peer chose on
all rows. The columns have the mean 0 and the deviation 1. Each data set is drawn several times.
The seconds are processor time of one thread each, in turns. The means over the draws are printed.
"""

import argparse
import json
import statistics
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers
from checkout import CACHE, RUNNER, WORK, write_atomic
from peers import PAGE, answer_of, built, circumstances, cv_loss, null_predictions, out_of_fold_by, seconds_of, with_table, write_data, write_page

NEEDED = ["cloudpickle", "himalaya", "joblib", "narwhals", "numpy", "packaging", "progressbar2", "pygam", "python-utils", "scikit-learn", "scipy", "threadpoolctl", "typing-extensions"]
FOLDER = CACHE / "peers-terms"
OUT = WORK / "peers-terms"
FOLDS = 10
DRAWS = 5
NOISE = 1.0  # the deviation of the labels about the true function
HIMALAYA = {"n_iter": 100, "alphas": [10.0**k for k in range(-3, 6)], "progress_bar": False}
CASES = [("smooth", 200, 5), ("smooth", 400, 20), ("smooth", 2000, 10), ("bands", 200, 4), ("bands", 200, 20), ("bands", 1000, 10)]  # kind, rows, and terms
BAND = 10  # columns of a band
SPLINES = 10  # of a smooth function, as many as Tuner's have
SHAPES = 5  # of the true functions


def draw(kind, rows, terms, seed):
    """Columns with their names, and labels. Every second band counts."""
    import numpy as np

    rng = np.random.default_rng([seed, rows, terms])
    if kind == "smooth":
        X = rng.uniform(-1, 1, (rows, terms))
        shapes = [lambda x: np.sin(3 * x), lambda x: 2 * x * x, lambda x: x, lambda x: np.exp(-8 * x * x), lambda x: 0 * x]
        y = sum(shapes[j % SHAPES](X[:, j]) for j in range(terms))
        names = [f"x{j}" for j in range(terms)]
    else:
        X = rng.standard_normal((rows, terms * BAND))
        weights = rng.standard_normal((terms, BAND)) / BAND**0.5
        weights[1::2] = 0
        y = X @ weights.ravel()
        names = [f"b{k}-{j}" for k in range(terms) for j in range(BAND)]
    return (X - X.mean(0)) / X.std(0), y + NOISE * rng.standard_normal(rows), names


def by_pygam(X, y, folds):
    """The search, and after it a function that fits with the penalty that the search chose."""
    from pygam import LinearGAM, s

    def model(**penalty):
        terms = s(0, n_splines=SPLINES, **penalty)
        for j in range(1, X.shape[1]):
            terms += s(j, n_splines=SPLINES, **penalty)
        return LinearGAM(terms)

    chosen = []

    def search():
        chosen[:] = [model().gridsearch(X, y, progress=False).lam[0]]

    return search, lambda X, y: model(lam=chosen[0]).fit(X, y).predict


def by_himalaya(X, y, folds):
    import numpy as np
    from himalaya.ridge import GroupRidgeCV
    from sklearn.linear_model import Ridge

    groups = np.repeat(np.arange(X.shape[1] // BAND), BAND)
    chosen = []

    def search():
        params = HIMALAYA | {"alphas": np.array(HIMALAYA["alphas"])}
        chosen[:] = [GroupRidgeCV(groups=groups, solver_params=params, cv=folds, fit_intercept=True, random_state=0).fit(X, y)]

    def fit(X, y):
        # The weights of a band have the penalty exp(−delta).
        scale = np.exp(chosen[0].deltas_ / 2)[groups]
        ridge = Ridge(alpha=1).fit(X * scale, y)
        return lambda rows: ridge.predict(rows * scale)

    return search, fit


PEERS = {"smooth": ("pyGAM", by_pygam), "bands": ("himalaya", by_himalaya)}


def compare(case, draws, program):
    """One row of the table."""
    from sklearn.model_selection import KFold

    kind, rows, terms = case
    who, search_by = PEERS[kind]
    row = {"case": case, "peer": who, "seconds": {"theirs": [], "ours": []}, "loss": {"null": [], "theirs": [], "ours": []}, "evaluations": []}
    for seed in range(draws):
        X, y, names = draw(kind, rows, terms, seed)
        folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
        file = write_data(OUT, f"{kind} {rows} {terms} {seed}", X, y, folds, names)
        search, fit = search_by(X, y, folds)
        row["seconds"]["theirs"].append(seconds_of(search))
        tuned = answer_of(program, "-learner", kind, file)
        row["seconds"]["ours"].append(tuned["Seconds"])
        row["evaluations"].append(tuned["Evaluations"])
        row["loss"]["ours"].append(tuned["Loss"])
        row["loss"]["null"].append(cv_loss(kind, null_predictions(kind, y, folds), y, folds))
        row["loss"]["theirs"].append(cv_loss(kind, out_of_fold_by(fit, X, y, folds), y, folds))
    return row


def table(rows):
    text = ["| Model, rows × terms | Peer | Null model's CV loss | Peer's | Tuner's | Tuner's is not higher | CPU seconds |", "| :-- | :-- | --: | --: | --: | --: | --: |"]
    for row in rows:
        kind, size, terms = row["case"]
        lower = sum(ours <= theirs for ours, theirs in zip(row["loss"]["ours"], row["loss"]["theirs"]))
        losses = [f"{statistics.mean(row['loss'][who]):.4g}" for who in ("null", "theirs", "ours")]
        seconds = ", ".join(f"{statistics.mean(row['seconds'][who]):.2g}" for who in ("theirs", "ours"))
        cells = [f"{kind}, {size} × {terms}", row["peer"], *losses, f"{lower} of {len(row['evaluations'])}", seconds]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join([*text, ""])


def run(args):
    warnings.filterwarnings("ignore")
    program = built(OUT)
    rows, note = [], circumstances(f"Means of {args.draws} draws")
    for case in CASES:
        if not args.only or case[0] in args.only:
            rows.append(compare(case, args.draws, program))
            print(table(rows).splitlines()[-1], flush=True)
    write_atomic(OUT / "runs.json", json.dumps(rows, indent=1).encode())
    write_atomic(OUT / "table.md", table(rows).encode())
    print(f"\n{table(rows)}\nPairs: the peer's, ours.")
    if not args.only:
        write_page(with_table(PAGE.read_text(encoding="utf-8"), "table of terms", "compare_terms", f"{table(rows)}\n{note}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PEERS, metavar="KIND")
    parser.add_argument("--draws", type=int, default=DRAWS, metavar="N", help=f"draws of each data set (default {DRAWS})")
    peers.run_with(FOLDER, NEEDED, run, parser.parse_args(), RUNNER / "requirements-terms.txt")


if __name__ == "__main__":
    main()
