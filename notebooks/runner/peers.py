"""What the comparisons with other programs share: their installation, the criterion and the clock."""

import datetime
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import readme
from checkout import ROOT, RUNNER, ReproduceError, digest, log, write_atomic, write_if_changed
from environment import PIP_OPTIONS, ask_go, base_environment, remove_damaged
from processes import command
from timings import processor

PAGE = ROOT / "notebooks/peers/README.md"
REQUIREMENTS = RUNNER / "requirements-peers.txt"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "GOMAXPROCS": "1"}
DELTA = 0.5  # of Huber's loss
SPAN = 0.1  # s of a timing at least, so that the clock's steps do not matter


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


def built(folder):
    """Our side of the comparisons, built in the folder."""
    env, _, settings = ask_go()
    program = folder / "peers"
    command(["go", "build", "-o", str(program), "./notebooks/peers"], env | settings, "building notebooks/peers")
    return program


def answer_of(program, *args):
    """What our side prints."""
    return json.loads(subprocess.run([program, *map(str, args)], check=True, capture_output=True, text=True).stdout)


def circumstances(measured):
    """A sentence on the runs, before they begin."""
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return f"{measured}, on {processor()}, {date}, at a load of {os.getloadavg()[0]:.1f} before the runs."


def markers(what, command):
    """The lines between which a command writes a table into the page."""
    return f"<!-- {what}, written by {command}.py -->\n", f"<!-- end of the {what} -->"


def with_table(text, what, command, table):
    """The page, of which this is the text, with this table."""
    return readme.replaced(PAGE, *markers(what, command), what, table, text)


def write_page(text):
    """Writes the page, and README's lines of speed, which come from there."""
    write_if_changed(PAGE, text)
    readme.update_speed()


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


def out_of_fold_by(fit, X, y, folds):
    """The prediction for each row by fit(X, y) of the other folds, which returns a function of rows."""
    import numpy as np

    prediction = np.empty(len(y))
    for train, val in folds:
        prediction[val] = fit(X[train], y[train])(X[val])
    return prediction


def out_of_fold(estimator, X, y, folds):
    """out_of_fold_by an estimator, with the features standardised on the rows of the fit: decisions of a classifier."""
    from sklearn.preprocessing import StandardScaler

    def fit(X, y):
        scaler = StandardScaler().fit(X)
        fitted = estimator.fit(scaler.transform(X), y)
        predict = getattr(fitted, "decision_function", fitted.predict)
        return lambda rows: predict(scaler.transform(rows))

    return out_of_fold_by(fit, X, y, folds)


def seconds_of(fit):
    began = time.process_time()
    fit()
    return time.process_time() - began


def rounds_of(seconds):
    """How many rounds a timing takes, if one takes so many seconds."""
    return max(1, math.ceil(SPAN / max(seconds, 1e-9)))


def seconds_each(run):
    """Processor seconds of one run, of as many as a timing takes. A first one, which is not timed, tells how many."""
    rounds = rounds_of(seconds_of(run))
    return seconds_of(lambda: [run() for _ in range(rounds)]) / rounds


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
