"""Test errors and processor time of scikit-learn's Gaussian process with a width for each feature, on
the data sets that the trial of widths writes:

  go test ./cvgm/tune -run TestWidthsTrial -widths 20 -widthfiles "$PWD/sets"
  python3 cvgm/tune/testdata/widths_gp.py sets

No restarts, one thread. Features are standardised, and labels by normalize_y."""

import collections
import os
import pathlib
import sys
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

warnings.filterwarnings("ignore")  # of bounds at which widths end
kinds = collections.defaultdict(list)
for path in sorted(pathlib.Path(sys.argv[1]).glob("*, train.csv")):
    train, test = np.loadtxt(path, delimiter=","), np.loadtxt(str(path).replace("train.csv", "test.csv"), delimiter=",")
    x, y = train[:, :-1], train[:, -1]
    mean, deviation = x.mean(0), x.std(0)
    began = time.process_time()
    kernel = ConstantKernel() * RBF(np.ones(x.shape[1])) + WhiteKernel()
    gp = GaussianProcessRegressor(kernel, normalize_y=True).fit((x - mean) / deviation, y)
    seconds = time.process_time() - began
    error = np.mean((gp.predict((test[:, :-1] - mean) / deviation) - test[:, -1]) ** 2)
    kinds[path.name.split(",")[0]].append((error, seconds))
for kind, results in kinds.items():
    error, seconds = np.mean(results, axis=0)
    print(f"{kind:12} test error {error:.4g} on {len(results)} sets; CPU {1000 * seconds:.0f} ms")
