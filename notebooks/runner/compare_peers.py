"""Compares tune.Tuner with scikit-learn on the same data, folds and criterion, and
fits of large tables with celer, scikit-learn and SciPy.

KIND is elastic-net, logistic, svc or large; large_peers.py describes the last one.
The peers are installed in .cache/peers on first use (300 MB; Python 3.11 or newer), by the
pins of requirements-peers.txt. Data, folds and the tables (tables.md, and runs.json with every
number) go to .work/peers. A table with all its rows goes to notebooks/peers/README.md, too.

Criterion: the mean over the folds of the mean validation loss, with the features
standardised on the training rows of each fold: squared error, log loss, hinge loss. One
function computes it for both, from their out-of-fold predictions.

scikit-learn searches the grids of ElasticNetCV (100 penalties, the seven mixtures that its
documentation lists) and LogisticRegressionCV (10 values of C), and the 110 points of C
and γ that LIBSVM's guide lists. Its choice has the lowest value of the criterion. The
seconds are those of the usual call: a StandardScaler before ElasticNetCV or
LogisticRegressionCV, a GridSearchCV over a pipeline of StandardScaler and SVC. Those of Tuner
are of Tune without the nested estimate. They are processor time, which other work on the machine
disturbs little, of one thread each, alternating; the median is printed.
"""

import argparse
import json
import statistics
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import large_peers
import peers
from checkout import CACHE, WORK, write_atomic
from peers import answer_of, built, circumstances, cv_loss, difference, losses, null_predictions, out_of_fold, seconds_of, with_table, write_data, write_page

NEEDED = ["celer", "cloudpickle", "joblib", "narwhals", "numpy", "scikit-learn", "scipy", "threadpoolctl"]  # of all peers, what scikit-learn and the solvers of celer need
FOLDER = CACHE / "peers"
OUT = WORK / "peers"
COMMAND = "compare_peers"
KINDS = ["elastic-net", "logistic", "svc"]
LARGE = "large"
FOLDS = 10
REPEATS = 5
NEAR = 1e-3  # the share of the null model's loss by which the CV loss of Tuner may exceed scikit-learn's
LOSS = {"elastic-net": "squared error", "logistic": "log loss", "svc": "hinge loss"}


def data_sets(kind):
    """The data sets of a kind, by name: features and labels, which are ±1 for classes."""
    import numpy as np
    from sklearn import datasets

    def correlated(rows, columns, seed):
        """Each column has the correlation .95 with the one before; every fourth one counts."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rows, columns))
        for j in range(1, columns):
            X[:, j] = 0.95 * X[:, j - 1] + (1 - 0.95**2) ** 0.5 * X[:, j]
        return X, X[:, ::4] @ rng.standard_normal(len(range(0, columns, 4))), rng

    def classes(X, y):
        return X, np.where(y == 1, 1.0, -1.0)

    def bundled(load, positive=1):
        X, y = load(return_X_y=True)
        return classes(X, y == positive)

    made = {"n_redundant": 4, "flip_y": 0.1, "random_state": 0}
    if kind == "elastic-net":
        X, f, rng = correlated(200, 40, 1)
        return {
            "diabetes, 442 × 10": datasets.load_diabetes(return_X_y=True, scaled=False),
            "generated, 500 × 20": datasets.make_regression(500, 20, n_informative=10, noise=100, random_state=0),
            "generated, 60 × 200": datasets.make_regression(60, 200, n_informative=10, noise=50, random_state=0),
            "correlated, 200 × 40": (X, f + 2 * rng.standard_normal(len(f))),
        }
    if kind == "logistic":
        X, f, rng = correlated(200, 40, 2)
        return {
            "breast cancer, 569 × 30": bundled(datasets.load_breast_cancer),
            "generated, 500 × 20": classes(*datasets.make_classification(500, 20, n_informative=6, **made)),
            "generated, 60 × 200": classes(*datasets.make_classification(60, 200, n_informative=10, **made)),
            "correlated, 200 × 40": classes(X, f + 2 * rng.standard_normal(len(f)) > 0),
        }
    return {
        "breast cancer, 569 × 30": bundled(datasets.load_breast_cancer),
        "wine, 178 × 13": bundled(datasets.load_wine),
        "generated, 300 × 20": classes(*datasets.make_classification(300, 20, n_informative=6, **made)),
        "moons, 300 × 2": classes(*datasets.make_moons(300, noise=0.3, random_state=0)),
    }


def negative_hinge(model, X, y):
    return -losses("svc", model.decision_function(X), y).mean()


MIXTURES = [0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1]
LIBSVM_GRID = {"svc__C": [2.0**k for k in range(-5, 16, 2)], "svc__gamma": [2.0**k for k in range(-15, 4, 2)]}


def cv_estimator(kind, folds):
    """scikit-learn's search over its grid on folds, and its number of fits."""
    from sklearn.linear_model import ElasticNetCV, LogisticRegressionCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if kind == "elastic-net":
        return ElasticNetCV(l1_ratio=MIXTURES, cv=folds, max_iter=10000), 100 * len(MIXTURES) * len(folds) + 1
    if kind == "logistic":
        return LogisticRegressionCV(cv=folds, scoring="neg_log_loss", max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False), 10 * len(folds) + 1
    grid = GridSearchCV(make_pipeline(StandardScaler(), SVC()), LIBSVM_GRID, scoring=negative_hinge, cv=folds)
    return grid, len(LIBSVM_GRID["svc__C"]) * len(LIBSVM_GRID["svc__gamma"]) * len(folds) + 1


def chosen(kind, X, y, folds):
    """The model with the hyperparameters that scikit-learn chooses by the criterion, and these.

    ElasticNetCV and LogisticRegressionCV do not refit a scaler in each fold. So they get
    the data once for each fold, standardised on its training rows.
    """
    import numpy as np
    from sklearn.linear_model import ElasticNet, LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if kind == "svc":
        best = cv_estimator(kind, folds)[0].fit(X, y).best_params_
        C, gamma = best["svc__C"], best["svc__gamma"]
        return lambda: SVC(C=C, gamma=gamma), {"C": C, "γ": gamma}
    copies = np.vstack([StandardScaler().fit(X[train]).transform(X) for train, _ in folds])
    of_copies = [(k * len(y) + train, k * len(y) + val) for k, (train, val) in enumerate(folds)]
    best = cv_estimator(kind, of_copies)[0].fit(copies, np.tile(y, len(folds)))
    if kind == "elastic-net":
        alpha, mixture = float(best.alpha_), float(best.l1_ratio_)
        model = lambda: ElasticNet(alpha=alpha, l1_ratio=mixture, max_iter=10000)  # noqa: E731
        return model, {"λ1": alpha * mixture, "λ2": alpha * (1 - mixture)}
    C = float(best.C_)
    return lambda: LogisticRegression(C=C, max_iter=1000), {"C": C}


def compare(kind, name, X, y, repeats, program):
    """One row of the table."""
    import numpy as np
    from sklearn.linear_model import ElasticNetCV
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    drawn = (KFold if kind == "elastic-net" else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    folds = list(drawn.split(X, y))
    file = write_data(OUT, f"{kind} {name}", X, y, folds)
    estimator, fits = cv_estimator(kind, folds)
    usual = estimator if kind == "svc" else make_pipeline(StandardScaler(), estimator)
    defaults = make_pipeline(StandardScaler(), ElasticNetCV(cv=folds))
    theirs, ours, plain = [], [], []
    for _ in range(repeats):
        theirs.append(seconds_of(lambda: usual.fit(X, y)))
        tuned = answer_of(program, "-learner", kind, file)
        ours.append(tuned["Seconds"])
        if kind == "elastic-net":
            plain.append(seconds_of(lambda: defaults.fit(X, y)))
    model, hyper = chosen(kind, X, y, folds)
    predictions = {"null": null_predictions(kind, y, folds), "theirs": out_of_fold(model(), X, y, folds), "ours": np.array(tuned["Predictions"])}
    row = {"kind": kind, "name": name, "fits": {"theirs": fits, "ours": tuned["Fits"]}, "seconds": {"theirs": theirs, "ours": ours, "at defaults": plain}}
    row["hyper"] = {"theirs": hyper, "ours": dict(zip(tuned["Names"], tuned["Hyper"]))}
    row["loss"] = {who: cv_loss(kind, p, y, folds) for who, p in predictions.items()}
    row["warnings"], row["loss by Tuner"] = tuned["Warnings"], tuned["Loss"]
    if kind != "elastic-net":
        row["accuracy"] = {who: float(np.mean(p * y > 0)) for who, p in predictions.items()}
    return row


def table(rows):
    """The rows in Markdown."""
    text = [
        "| Model and data | Null model's CV loss | scikit-learn's | Tuner's | difference / null | Accuracy | CPU seconds | Fits |",
        "| :-- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for row in rows:
        loss, accuracy = row["loss"], row.get("accuracy")
        seconds = [f"{statistics.median(row['seconds'][who]):.2g}" for who in ("theirs", "ours")]
        right = f"{accuracy['theirs']:.3f}, {accuracy['ours']:.3f}" if accuracy else "–"
        cells = [f"{row['kind']}: {row['name']}", *(f"{loss[who]:.4g}" for who in ("null", "theirs", "ours")), f"{difference(row):+.1e}".replace("-", "−")]
        cells += [right, ", ".join(seconds), f"{row['fits']['theirs']:,}, {row['fits']['ours']:,}"]
        text.append(f"| {' | '.join(cells)} |")
    return "\n".join([*text, ""])


def at_defaults(rows):
    """Sentences that compare the times of ElasticNetCV at its defaults with those of Tuner."""
    lines = []
    for row in rows:
        if row["seconds"]["at defaults"]:
            plain, ours = (statistics.median(row["seconds"][who]) for who in ("at defaults", "ours"))
            lines.append(f"{row['name']}: ElasticNetCV at its defaults, which tries one mixture of the penalties, takes {plain:.2g} CPU seconds, {plain / ours:.2g} times as long as Tuner.")
    return lines


def with_tables(rows, large, note):
    """The page with these tables, and a note below each. A table without rows stays as it is there."""
    text = peers.PAGE.read_text(encoding="utf-8")
    if rows:
        text = with_table(text, "table", COMMAND, "\n".join([table(rows), note, *(f"\n{line}" for line in at_defaults(rows))]))
    if large:
        text = with_table(text, "large table", COMMAND, f"{large_peers.table(large, statistics.median)}\n{note}")
    return text


def run(args):
    """The comparison, in the Python that has the peers."""
    warnings.filterwarnings("ignore", module="sklearn")
    program = built(OUT)
    rows, large, note = [], [], circumstances(f"Medians of {args.repeats} runs each")
    for kind in [kind for kind in args.only or KINDS if kind != LARGE]:
        for name, (X, y) in data_sets(kind).items():
            rows.append(compare(kind, name, X, y, args.repeats, program))
            print(table(rows).splitlines()[-1], flush=True)
    if LARGE in (args.only or [LARGE]):
        for row in large_peers.ROWS:
            large.append(large_peers.compare(row, args.repeats, program, OUT))
            print(large_peers.table(large, statistics.median).splitlines()[-1], flush=True)
    both = "\n".join([table(rows)] * bool(rows) + [large_peers.table(large, statistics.median)] * bool(large))
    write_atomic(OUT / "runs.json", json.dumps(rows + large, indent=1, ensure_ascii=False).encode())
    write_atomic(OUT / "tables.md", both.encode())
    print("\n".join(["", both, "Pairs: the peer's, ours.", *at_defaults(rows)]))
    far = [f"{row['kind']}: {row['name']}" for row in rows if not difference(row) <= NEAR]
    if rows:
        print(f"{len(rows) - len(far)} of {len(rows)} CV losses of Tuner are at most scikit-learn's plus {NEAR:g} of the null model's" + (f"; not {', '.join(far)}" if far else ""))
    whole = {row["kind"] for row in rows} == set(KINDS)
    write_page(with_tables(rows if whole else [], large, note))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*KINDS, LARGE], metavar="KIND")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help=f"runs of each, of which the median time is taken (default {REPEATS})")
    peers.run_with(FOLDER, NEEDED, run, parser.parse_args())


if __name__ == "__main__":
    main()
