"""Compares fits of large tables with other programs on the same data and folds.

The data are those of make_regression with 50 informative features and noise 10, the labels over
their standard deviation, or their signs as classes. There are 5 folds. The features are
standardised on the training rows of each fold.

An evaluation of ours is New and Eval of the CV loss, with its gradient unless a row is of the value. The peers scale, fit and
predict in each fold, without a gradient: celer or scikit-learn for the elastic net, scikit-learn's
lbfgs for the logistic regression, and SciPy's L-BFGS-B for Huber's loss, which scikit-learn has
only with an estimated scale. They are timed at their default tolerances. Their CV loss is
computed at the tolerance TIGHT, and must agree with ours to AGREE of the null model's.

scikit-learn's SVC has no such default: it is timed at the loosest of the TOLERANCES at which its CV
loss agrees, which the row names. Its data are ten standard normal features, of which two count.
Beside the CV loss alone there is a row of the CV loss with its gradient.

A search of ours is Tune without the nested estimate. The peer is LassoCV with 100 penalties.
"""

from peers import DELTA, answer_of, cv_loss, difference, null_predictions, out_of_fold, seconds_of, write_data

INFORMATIVE = 50
FOLDS = 5
TIGHT = 1e-9
TOLERANCES = [10.0**-k for k in range(1, 10)]  # of SVC, whose own is 1e-3
WIDTH = 0.1  # γ of SVC
AGREE = 1e-6  # a share of the null model's loss; a search of ours may exceed the peer's by NEAR instead
NEAR = 1e-3
VALUE = "svc, value"  # a row of svc without the gradient

# Each row: our model, rows, columns, and the hyperparameters, which for the elastic net are the
# share of the strongest λ1 and λ2, and for SVC C and γ; None for a search.
ROWS = [
    ("elastic-net", 500, 5000, (0.1, 1e-3)),
    ("elastic-net", 500, 5000, (0.03, 1e-3)),
    ("elastic-net", 500, 5000, (0.01, 1e-3)),
    ("elastic-net", 2000, 500, (0.1, 1e-3)),
    ("elastic-net", 20_000, 50, (0.1, 1e-3)),
    ("logistic", 2000, 500, (0.1,)),
    ("logistic", 100, 2000, (0.1,)),
    ("huber", 500, 2000, (0.1, DELTA)),
    ("huber", 2000, 100, (0.1, DELTA)),
    ("huber", 20_000, 50, (0.1, DELTA)),
    *[(model, rows, 10, (C, WIDTH)) for rows in (1000, 2000) for C in (1.0, 100.0) for model in (VALUE, "svc")],
    ("lasso", 38, 7129, None),
    ("elastic-net", 38, 7129, None),
    ("elastic-net", 200, 2000, None),
]


def name_of(model, rows, columns, hyper):
    if hyper is None:
        return f"{model} tuned, {rows} × {columns}"
    which = {"elastic-net": f", {hyper[0]:g} of λmax", "svc": f", C = {hyper[0]:g}, value and gradient", VALUE: f", C = {hyper[0]:g}, value"}
    return f"{model.split(',')[0]}, {rows} × {columns}{which.get(model, '')}"


def data(model, rows, columns):
    import numpy as np
    from sklearn.datasets import make_regression

    if model in ("svc", VALUE):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((rows, columns))
        return X, np.where(X[:, 0] + np.sin(2 * X[:, 1]) + 2 * rng.standard_normal(rows) > 0, 1.0, -1.0)
    X, y = make_regression(rows, columns, n_informative=min(columns, INFORMATIVE), noise=10, random_state=0)
    y = y / y.std()
    return X, np.where(y > 0, 1.0, -1.0) if model == "logistic" else y


class Huber:
    """Huber's regression with a ridge penalty and a free intercept, by SciPy's L-BFGS-B."""

    def __init__(self, ridge, delta, tol=None):
        self.ridge, self.delta, self.tol = ridge, delta, tol

    def fit(self, X, y):
        import numpy as np
        from scipy.optimize import minimize

        def objective(w):
            r = y - X @ w[:-1] - w[-1]
            inner = np.clip(r, -self.delta, self.delta)
            value = np.mean(inner * (r - inner / 2)) + self.ridge / 2 * w[:-1] @ w[:-1]
            return value, np.append(self.ridge * w[:-1] - X.T @ inner / len(y), -inner.mean())

        options = {"maxiter": 10_000, "maxfun": 20_000} | ({"gtol": self.tol, "ftol": 0} if self.tol else {})
        self.w = minimize(objective, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B", options=options).x
        return self

    def predict(self, X):
        return X @ self.w[:-1] + self.w[-1]


def peer(model, hyper, wide, tol):
    """The name of the peer and its estimator, with its own tolerance or tol."""
    from celer import ElasticNet as Celer
    from sklearn.linear_model import ElasticNet, LogisticRegression
    from sklearn.svm import SVC

    own = {} if tol is None else {"tol": tol}
    if model == "huber":
        return "SciPy", Huber(*hyper, tol)
    if model == "logistic":
        return "lbfgs", LogisticRegression(C=hyper[0], max_iter=10_000, **own)
    if model == "svc":
        return "SVC", SVC(C=hyper[0], gamma=hyper[1], **own)
    l1, l2 = hyper
    penalties = {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2)}
    return ("celer", Celer(**penalties, **own)) if wide else ("scikit-learn", ElasticNet(**penalties, max_iter=10_000, **own))


def compare(row, repeats, program, folder):
    """A row of the table. The data go to the folder."""
    import numpy as np
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import KFold

    model, rows, columns, hyper = row
    X, y = data(*row[:3])
    folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(X))
    file = write_data(folder, name_of(*row), X, y, folds)
    argv = ["-value"] if model == VALUE else []
    model = model.split(",")[0]
    argv += ["-learner", model]
    null = cv_loss(model, null_predictions(model, y, folds), y, folds)
    if hyper is None:
        who, run = "LassoCV", lambda: scaled_search(LassoCV(cv=folds, max_iter=10_000), X, y)
    else:
        if model == "elastic-net":
            hyper = (hyper[0] * float(np.abs(X.T @ y).max()) / rows, hyper[1])
        argv += ["-hyper", ",".join(map(repr, hyper))]
        tol = loosest(hyper, X, y, folds, answer_of(program, *argv, file)["Loss"], null) if model == "svc" else None
        who, estimator = peer(model, hyper, columns > rows, tol)
        who += f" to {tol:.0e}" if tol else ""
        run = lambda: out_of_fold(estimator, X, y, folds)  # noqa: E731
    theirs, ours = [], []
    for _ in range(repeats):
        theirs.append(seconds_of(run))
        result = answer_of(program, *argv, file)
        ours.append(result["Seconds"])
    if hyper is None:
        chosen = run()
        tight = peer("elastic-net", (float(chosen.alpha_), 0.0), columns > rows, TIGHT)[1]
    else:
        tight = peer(model, hyper, columns > rows, tol or TIGHT)[1]
    both = {"null": null, "theirs": cv_loss(model, out_of_fold(tight, X, y, folds), y, folds), "ours": result["Loss"]}
    return {"kind": "large", "name": name_of(*row), "peer": who, "search": hyper is None, "loss": both, "seconds": {"theirs": theirs, "ours": ours}}


def loosest(hyper, X, y, folds, ours, null):
    """The loosest tolerance at which the CV loss of SVC agrees with ours, or the tightest one."""
    for tol in TOLERANCES:
        theirs = cv_loss("svc", out_of_fold(peer("svc", hyper, False, tol)[1], X, y, folds), y, folds)
        if abs(theirs - ours) <= AGREE * null:
            break
    return tol


def scaled_search(search, X, y):
    from sklearn.preprocessing import StandardScaler

    return search.fit(StandardScaler().fit_transform(X), y)


def agrees(row):
    """Whether the CV losses agree, or that of our search is not above the peer's."""
    more = difference(row)
    return more <= NEAR if row["search"] else abs(more) <= AGREE


def table(rows, median):
    """The rows in Markdown. Without agreement a row has no times."""
    text = ["| Model and data | Peer | Null model's CV loss | Peer's | Ours | CPU seconds |", "| :-- | :-- | --: | --: | --: | --: |"]
    for row in rows:
        seconds = ", ".join(f"{median(row['seconds'][who]):.2g}" for who in ("theirs", "ours")) if agrees(row) else "no agreement"
        loss = [f"{row['loss'][who]:.6g}" for who in ("null", "theirs", "ours")]
        text.append(f"| {' | '.join([row['name'], row['peer'], *loss, seconds])} |")
    return "\n".join([*text, ""])
