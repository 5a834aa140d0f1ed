"""Writes sklearn.json and generators.json, the references of the tests.

Run once, from this directory, with Python 3.11, numpy 2.4.6, scipy 1.17.1 and
scikit-learn 1.9.1:  python reference.py
"""
import json
import random

import numpy as np
from sklearn.datasets import make_regression

OPTIONS = [
    dict(n_samples=7, n_features=4, n_informative=2, noise=3.0, bias=-2.5),
    dict(n_samples=7, n_features=4, n_informative=2, noise=3.0, shuffle=False),
    dict(n_samples=5, n_features=3, n_informative=10),
    dict(n_samples=3, n_features=8, n_informative=5, noise=0.5),
    dict(n_samples=1, n_features=1, n_informative=1),
    dict(n_samples=12, n_features=5, n_informative=3, effective_rank=2, tail_strength=0.5),
    dict(n_samples=12, n_features=5, n_informative=5, effective_rank=1, tail_strength=0.0, noise=0.1),
    dict(n_samples=4, n_features=9, n_informative=6, effective_rank=3, tail_strength=1.0, bias=1.0),
    dict(n_samples=50, n_features=40, effective_rank=6, tail_strength=0.1, noise=1.0, shuffle=False),
]


def regression(options):
    np.random.seed(42)
    X, y, coef = make_regression(coef=True, **options)
    return dict(
        options=options,
        X=X.tolist(),
        y=np.atleast_1d(y).tolist(),
        coef=np.atleast_1d(coef).tolist(),
        next=np.random.random_sample(),  # the stream has moved exactly as far
    )


def numpy_draws(seed):
    np.random.seed(seed)
    return dict(
        seed=seed,
        uniform=np.random.random_sample(5).tolist(),
        normal=np.random.standard_normal(3).tolist(),
        integers=[int(np.random.randint(n)) for n in (1, 2, 3, 1000, 2**31, 2**32, 2**32 + 1, 10**15)],
        permutation=np.random.permutation(10).tolist(),
        normal_again=np.random.normal(3, 2, 4).tolist(),
        interval=np.random.uniform(-4, -1, 3).tolist(),
    )


def python_draws(seed):
    random.seed(seed)
    return dict(seed=seed, random=[random.random() for _ in range(5)])


with open("sklearn.json", "w") as f:
    json.dump([regression(o) for o in OPTIONS], f)
with open("generators.json", "w") as f:
    json.dump(
        dict(
            numpy=[numpy_draws(s) for s in (0, 1, 42, 20180518, 2**32 - 1)],
            python=[python_draws(s) for s in (0, 1, -7, 2**32 - 1, 2**40 + 3, -(2**63))],
        ),
        f,
    )
