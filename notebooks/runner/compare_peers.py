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
import datetime
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import large_peers
from checkout import CACHE, ROOT, RUNNER, WORK, ReproduceError, digest, log, write_atomic
from environment import PIP_OPTIONS, ask_go, base_environment, remove_damaged
from processes import command
from readme import replaced
from timings import processor

REQUIREMENTS = RUNNER / "requirements-peers.txt"
NEEDED = ["celer", "cloudpickle", "joblib", "narwhals", "numpy", "scikit-learn", "scipy", "threadpoolctl"]  # of all peers, what scikit-learn and the solvers of celer need
FOLDER = CACHE / "peers"
OUT = WORK / "peers"
KINDS = ["elastic-net", "logistic", "svc"]
LARGE = "large"
README = ROOT / "notebooks/peers/README.md"
BEGIN, END = "<!-- table, written by compare_peers.py -->\n", "<!-- end of the table -->"
LARGE_BEGIN, LARGE_END = "<!-- large table, written by compare_peers.py -->\n", "<!-- end of the large table -->"
FOLDS = 10
REPEATS = 5
NEAR = 1e-3  # the share of the null model's loss by which the CV loss of Tuner may exceed scikit-learn's
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GOMAXPROCS": "1"}
LOSS = {"elastic-net": "squared error", "logistic": "log loss", "svc": "hinge loss"}


def requirements_of(text, names):
    """The pinned requirements of some packages, with the options before the first one."""
    head, *blocks = re.split(r"^(?=[\w-]+==)", text, flags=re.M)
    return head + "".join(block for block in blocks if block.split("==")[0] in names)


def python_with(folder, names):
    """The Python of a folder that has those pinned packages, installed where they are missing or have other versions."""
    python, stamp = folder / "bin" / "python", folder / "installed"
    text = requirements_of(REQUIREMENTS.read_text(), names)
    key = digest(sys.version, text)
    if not stamp.exists() or stamp.read_text() != key:
        if sys.version_info < (3, 11):
            raise ReproduceError(f"the peers are pinned to versions for Python 3.11 or newer, this is {sys.version.split()[0]}: run a newer one")
        remove_damaged(folder, "")
        log.warning(f"installing the peers in {folder.relative_to(ROOT)}")
        command([sys.executable, "-I", "-m", "venv", str(folder)], base_environment(), f"making {folder.relative_to(ROOT)}")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
            wanted.write(text)
            wanted.flush()
            command([python, "-I", "-m", "pip", *PIP_OPTIONS, "install", "-q", "--no-deps", "-r", wanted.name], base_environment(), "installing the peers")
        write_atomic(stamp, key.encode())
    return python


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


def losses(kind, prediction, y):
    import numpy as np

    if kind == "elastic-net":
        return (prediction - y) ** 2
    return np.logaddexp(0, -y * prediction) if kind == "logistic" else np.maximum(0, 1 - y * prediction)


def cv_loss(kind, prediction, y, folds):
    """The criterion, from the out-of-fold predictions."""
    import numpy as np

    return float(np.mean([np.mean(losses(kind, prediction[val], y[val])) for _, val in folds]))


def null_predictions(kind, y, folds):
    """The best constant prediction on the training rows of each fold."""
    import numpy as np

    prediction = np.empty(len(y))
    for train, val in folds:
        mean = y[train].mean()
        if kind == "logistic":
            mean = np.log((1 + mean) / (1 - mean))
        prediction[val] = np.sign(mean) if kind == "svc" else mean
    return prediction


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


def out_of_fold(kind, model, X, y, folds):
    import numpy as np
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    prediction = np.empty(len(y))
    for train, val in folds:
        fitted = make_pipeline(StandardScaler(), model()).fit(X[train], y[train])
        prediction[val] = fitted.predict(X[val]) if kind == "elastic-net" else fitted.decision_function(X[val])
    return prediction


def seconds_of(fit):
    began = time.process_time()
    fit()
    return time.process_time() - began


def write_data(name, X, y, folds):
    """Writes the data and their folds as CSV, and returns the file."""
    import numpy as np

    fold = np.empty(len(y), int)
    for k, (_, val) in enumerate(folds):
        fold[val] = k
    file = OUT / f"{re.sub(r'[^a-z0-9]+', ' ', name).strip()}.csv".replace(" ", "_")
    lines = [",".join([f"x{j}" for j in range(X.shape[1])] + ["y", "fold"])]
    lines += [",".join([*map(repr, map(float, row)), repr(float(label)), str(k)]) for row, label, k in zip(X, y, fold)]
    write_atomic(file, "\n".join([*lines, ""]).encode())
    return file


def compare(kind, name, X, y, repeats, program):
    """One row of the table."""
    import numpy as np
    from sklearn.linear_model import ElasticNetCV
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    drawn = (KFold if kind == "elastic-net" else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    folds = list(drawn.split(X, y))
    file = write_data(f"{kind} {name}", X, y, folds)
    estimator, fits = cv_estimator(kind, folds)
    usual = estimator if kind == "svc" else make_pipeline(StandardScaler(), estimator)
    defaults = make_pipeline(StandardScaler(), ElasticNetCV(cv=folds))
    theirs, ours, plain = [], [], []
    for _ in range(repeats):
        theirs.append(seconds_of(lambda: usual.fit(X, y)))
        tuned = json.loads(subprocess.run([program, "-learner", kind, file], check=True, capture_output=True, text=True).stdout)
        ours.append(tuned["Seconds"])
        if kind == "elastic-net":
            plain.append(seconds_of(lambda: defaults.fit(X, y)))
    model, hyper = chosen(kind, X, y, folds)
    predictions = {"null": null_predictions(kind, y, folds), "theirs": out_of_fold(kind, model, X, y, folds), "ours": np.array(tuned["Predictions"])}
    row = {"kind": kind, "name": name, "fits": {"theirs": fits, "ours": tuned["Fits"]}, "seconds": {"theirs": theirs, "ours": ours, "at defaults": plain}}
    row["hyper"] = {"theirs": hyper, "ours": dict(zip(tuned["Names"], tuned["Hyper"]))}
    row["loss"] = {who: cv_loss(kind, p, y, folds) for who, p in predictions.items()}
    row["warnings"], row["loss by Tuner"] = tuned["Warnings"], tuned["Loss"]
    if kind != "elastic-net":
        row["accuracy"] = {who: float(np.mean(p * y > 0)) for who, p in predictions.items()}
    return row


def difference(row):
    """How far the CV loss of Tuner is above scikit-learn's, as a share of the null model's."""
    return (row["loss"]["ours"] - row["loss"]["theirs"]) / row["loss"]["null"]


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


def circumstances(repeats):
    """A sentence on the runs, before they begin."""
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return f"Medians of {repeats} runs each, on {processor()}, {date}, at a load of {os.getloadavg()[0]:.1f} before the runs."


def with_tables(rows, large, note):
    """The page with these tables, and a note below each. A table without rows stays as it is there."""
    text = README.read_text(encoding="utf-8")
    if rows:
        first = "\n".join([table(rows), note, *(f"\n{line}" for line in at_defaults(rows))])
        text = replaced(README, BEGIN, END, "table", first, text)
    if large:
        text = replaced(README, LARGE_BEGIN, LARGE_END, "large table", f"{large_peers.table(large, statistics.median)}\n{note}", text)
    return text


def run(args):
    """The comparison, in the Python that has the peers."""
    warnings.filterwarnings("ignore", module="sklearn")
    env, _, settings = ask_go()
    program = OUT / "peers"
    command(["go", "build", "-o", str(program), "./notebooks/peers"], env | settings, "building notebooks/peers")
    rows, large, note = [], [], circumstances(args.repeats)
    for kind in [kind for kind in args.only or KINDS if kind != LARGE]:
        for name, (X, y) in data_sets(kind).items():
            rows.append(compare(kind, name, X, y, args.repeats, program))
            print(table(rows).splitlines()[-1], flush=True)
    if LARGE in (args.only or [LARGE]):
        for row in large_peers.ROWS:
            large.append(large_peers.compare(row, args.repeats, program, write_data, null_predictions, seconds_of))
            print(large_peers.table(large, statistics.median).splitlines()[-1], flush=True)
    both = "\n".join([table(rows)] * bool(rows) + [large_peers.table(large, statistics.median)] * bool(large))
    write_atomic(OUT / "runs.json", json.dumps(rows + large, indent=1, ensure_ascii=False).encode())
    write_atomic(OUT / "tables.md", both.encode())
    print("\n".join(["", both, "Pairs: the peer's, ours.", *at_defaults(rows)]))
    far = [f"{row['kind']}: {row['name']}" for row in rows if not difference(row) <= NEAR]
    if rows:
        print(f"{len(rows) - len(far)} of {len(rows)} CV losses of Tuner are at most scikit-learn's plus {NEAR:g} of the null model's" + (f"; not {', '.join(far)}" if far else ""))
    whole = {row["kind"] for row in rows} == set(KINDS)
    write_atomic(README, with_tables(rows if whole else [], large, note).encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*KINDS, LARGE], metavar="KIND")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help=f"runs of each, of which the median time is taken (default {REPEATS})")
    args = parser.parse_args()
    try:
        if Path(sys.prefix).resolve() == FOLDER.resolve():
            run(args)
            return
        python = python_with(FOLDER, NEEDED)
    except ReproduceError as e:
        sys.exit(f"compare_peers: {e}")
    os.execve(python, [str(python), "-I", __file__, *sys.argv[1:]], base_environment() | ONE_THREAD)


if __name__ == "__main__":
    main()
