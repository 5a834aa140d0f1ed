"""The CV loss of an elastic net and its gradient in the two penalties, in Numba for this alone.

It is the peer of compare_steps.py: as fast as a program of one page gets. The Gram matrices are made
beforehand. The validation rows of a split are reduced to a triangle with the same sum of squares.
A fit solves the linear system of its support, which the step before found, and checks signs and slopes.
If one of them is wrong, sweeps of coordinate descent find a support that lasts for a sweep.
"""

import numpy as np
from numba import njit

SLACK = 1e-12  # of λ1, by which a slope may exceed it: the rounding of a slope
SWEEPS = 10_000  # at most, between two supports
ATTEMPTS = 100  # supports at most of one fit


def prepared(X, y, splits):
    """Of each split the Gram matrix and its right side, of standardised features and centred labels, and the reduced validation rows with their labels."""
    grams, sides, rows, labels = [], [], [], []
    for train, val in splits:
        mean, deviation, intercept = X[train].mean(axis=0), X[train].std(axis=0), y[train].mean()
        F, V = (X[train] - mean) / deviation, (X[val] - mean) / deviation
        grams.append(F.T @ F / len(train))
        sides.append(F.T @ (y[train] - intercept) / len(train))
        reduced = np.column_stack([V, y[val] - intercept])
        if len(val) > reduced.shape[1]:
            reduced = np.linalg.qr(reduced, mode="r")
        rows.append(reduced[:, :-1] / len(val) ** 0.5)
        labels.append(reduced[:, -1] / len(val) ** 0.5)
    return tuple(map(np.ascontiguousarray, map(np.array, (grams, sides, rows, labels))))


def started(problem):
    """The state between steps: of each split the coefficients. All are zero before the first step."""
    return np.zeros(problem[1].shape)


def step(problem, state, l1, l2):
    """The CV loss and its gradient. The state is taken and left behind."""
    loss, of_l1, of_l2 = _step(*problem, state, l1, l2)
    return loss, (of_l1, of_l2)


@njit(fastmath=True, error_model="numpy")
def _factor(M, d, a):
    """LDLᵀ of the lower triangle of M in place, with the inverses of the pivots in d."""
    for j in range(a):
        for i in range(j):
            s = M[j, i]
            for q in range(i):
                s -= M[j, q] * M[i, q]
            M[j, i] = s  # times the pivot, until the row is complete
        pivot = M[j, j]
        for i in range(j):
            scaled = M[j, i] * d[i]
            pivot -= M[j, i] * scaled
            M[j, i] = scaled
        d[j] = 1 / pivot


@njit(fastmath=True, error_model="numpy")
def _solve(M, d, r, a):
    for i in range(a):
        s = r[i]
        for q in range(i):
            s -= M[i, q] * r[q]
        r[i] = s
    for i in range(a):
        r[i] *= d[i]
    for i in range(a - 1, -1, -1):
        s = r[i]
        for q in range(i):
            r[q] -= M[i, q] * s


@njit(fastmath=True, error_model="numpy")
def _sweep(G, c, l1, l2, theta):
    """A sweep of coordinate descent. It returns whether all signs stay."""
    n, stays = len(c), True
    for j in range(n):
        slope = c[j] + G[j, j] * theta[j]
        for q in range(n):
            slope -= G[j, q] * theta[q]
        old, new = theta[j], 0.0
        if slope > l1:
            new = (slope - l1) / (G[j, j] + l2)
        elif slope < -l1:
            new = (slope + l1) / (G[j, j] + l2)
        if (new > 0) != (old > 0) or (new < 0) != (old < 0):
            stays = False
        theta[j] = new
    return stays


@njit(fastmath=True, error_model="numpy")
def _on_support(G, c, l1, l2, theta, support, M, d, r):
    """Solves on the support of theta. It returns the size of the support, or −1 if that is not the optimal one."""
    n, a = len(c), 0
    for j in range(n):
        if theta[j] != 0:
            support[a] = j
            a += 1
    for i in range(a):
        row = support[i]
        r[i] = c[row] - (l1 if theta[row] > 0 else -l1)
        for q in range(i):
            M[i, q] = G[row, support[q]]
        M[i, i] = G[row, row] + l2
    _factor(M, d, a)
    _solve(M, d, r, a)
    for i in range(a):
        if r[i] * theta[support[i]] <= 0:
            return -1
    for i in range(a):
        theta[support[i]] = r[i]
    if a < n:
        for j in range(n):
            if theta[j] == 0:
                slope = c[j]
                for i in range(a):
                    slope -= G[j, support[i]] * r[i]
                if abs(slope) > l1 * (1 + SLACK):
                    return -1
    return a


@njit(fastmath=True, error_model="numpy")
def _step(grams, sides, rows, labels, thetas, l1, l2):
    splits, n = sides.shape
    support, M, d, r, u = np.empty(n, np.int64), np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    loss, of_l1, of_l2 = 0.0, 0.0, 0.0
    for k in range(splits):
        G, c, V, theta = grams[k], sides[k], rows[k], thetas[k]
        a, attempts = -1, 0
        if theta.any():
            a = _on_support(G, c, l1, l2, theta, support, M, d, r)
        while a < 0 and attempts < ATTEMPTS:
            attempts += 1
            for _ in range(SWEEPS):
                if _sweep(G, c, l1, l2, theta):
                    break
            a = _on_support(G, c, l1, l2, theta, support, M, d, r)
        if a < 0:
            return np.nan, np.nan, np.nan
        u[:a] = 0
        for i in range(V.shape[0]):
            error = -labels[k, i]
            for q in range(a):
                error += V[i, support[q]] * r[q]
            loss += error * error
            for q in range(a):
                u[q] += error * V[i, support[q]]
        _solve(M, d, u, a)
        for q in range(a):
            of_l1 -= 2 * u[q] if r[q] > 0 else -2 * u[q]
            of_l2 -= 2 * u[q] * r[q]
    return loss / splits, of_l1 / splits, of_l2 / splits
