"""What the comparisons with other programs share: their installation, the criterion and the clock."""

import datetime
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from checkout import ROOT, RUNNER, ReproduceError, digest, log, write_atomic
from environment import PIP_OPTIONS, base_environment, remove_damaged
from processes import command
from timings import processor

REQUIREMENTS = RUNNER / "requirements-peers.txt"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "GOMAXPROCS": "1"}
DELTA = 0.5  # of Huber's loss


def requirements_of(text, names):
    """The pinned requirements of some packages, with the options before the first one."""
    head, *blocks = re.split(r"^(?=[\w-]+==)", text, flags=re.M)
    return head + "".join(block for block in blocks if block.split("==")[0] in names)


def python_with(folder, names, requirements=REQUIREMENTS):
    """The Python of a folder that has those packages as the file pins them, installed where they are missing or have other versions."""
    python, stamp = folder / "bin" / "python", folder / "installed"
    text = requirements_of(requirements.read_text(), names)
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


def run_with(folder, names, run, args, requirements=REQUIREMENTS):
    """Calls run(args) in the Python of a folder that has those packages. Another Python begins the program again in that one."""
    try:
        if Path(sys.prefix).resolve() == folder.resolve():
            run(args)
            return
        python = python_with(folder, names, requirements)
    except ReproduceError as e:
        sys.exit(f"{Path(sys.argv[0]).stem}: {e}")
    os.execve(python, [str(python), "-I", *sys.argv], base_environment() | ONE_THREAD)


def circumstances(measured):
    """A sentence on the runs, before they begin."""
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return f"{measured}, on {processor()}, {date}, at a load of {os.getloadavg()[0]:.1f} before the runs."


def losses(kind, prediction, y):
    import numpy as np

    if kind == "logistic":
        return np.logaddexp(0, -y * prediction)
    if kind == "svc":
        return np.maximum(0, 1 - y * prediction)
    r = np.abs(prediction - y)
    return np.where(r <= DELTA, r * r / 2, DELTA * (r - DELTA / 2)) if kind == "huber" else r * r


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


def difference(row):
    """How far our CV loss is above the peer's, as a share of the null model's."""
    return (row["loss"]["ours"] - row["loss"]["theirs"]) / row["loss"]["null"]


def out_of_fold(estimator, X, y, folds):
    """The prediction for each row by a fit to the other folds, with the features standardised on its rows: decisions of a classifier."""
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    prediction = np.empty(len(y))
    for train, val in folds:
        scaler = StandardScaler().fit(X[train])
        fitted = estimator.fit(scaler.transform(X[train]), y[train])
        predict = getattr(fitted, "decision_function", fitted.predict)
        prediction[val] = predict(scaler.transform(X[val]))
    return prediction


def seconds_of(fit):
    began = time.process_time()
    fit()
    return time.process_time() - began


def write_data(folder, name, X, y, folds, columns=None):
    """Writes the data and their folds as CSV into a folder, and returns the file. The columns are named x0, x1 and so on by default."""
    import numpy as np

    fold = np.empty(len(y), int)
    for k, (_, val) in enumerate(folds):
        fold[val] = k
    file = folder / f"{re.sub(r'[^a-z0-9]+', ' ', name).strip()}.csv".replace(" ", "_")
    lines = [",".join([*(columns or [f"x{j}" for j in range(X.shape[1])]), "y", "fold"])]
    lines += [",".join([*map(repr, map(float, row)), repr(float(label)), str(k)]) for row, label, k in zip(X, y, fold)]
    write_atomic(file, "\n".join([*lines, ""]).encode())
    return file
