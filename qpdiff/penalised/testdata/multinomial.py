"""Writes multinomial.json: multinomial models, the first two with their derivatives to 40 digits by
mpmath, the others' coefficients by scikit-learn.

    pip install mpmath scikit-learn
    python3 multinomial.py > multinomial.json
"""
import json
import random

import numpy
from mpmath import exp, lu_solve, matrix, mp
from sklearn.linear_model import LogisticRegression

mp.dps = 40
random.seed(41)


def normals(rows, cols):
    return [[round(random.gauss(0, 1), 6) for _ in range(cols)] for _ in range(rows)]


def draw(classes, rows, n):
    x = normals(rows, n)
    beta = normals(classes, n)
    y = []
    for r in x:
        scores = [sum(a * b for a, b in zip(r, bc)) + random.gauss(0, 1.5) for bc in beta]
        y.append(scores.index(max(scores)))
    assert len(set(y)) == classes
    return x, y, [round(random.uniform(.2, 2), 3) for _ in range(rows)]


def exact(classes, rows=14, n=3):
    """All parameters of all classes, with the Hessian made regular along equal moves of all classes."""
    x, y, weights = draw(classes, rows, n)
    roots, lam = [normals(2, n), normals(n, n), normals(1, n)], [.5, .03, 2.]
    q = n + 1
    z = [[mp.mpf(v) for v in r] + [mp.mpf(1)] for r in x]
    s = []
    for r in roots:
        m = matrix(classes * q, classes * q)
        for c in range(classes):
            for a in range(n):
                for b in range(n):
                    m[c * q + a, c * q + b] = sum(mp.mpf(v[a]) * mp.mpf(v[b]) for v in r)
        s.append(m)
    theta = matrix(classes * q, 1)

    def shares(i):
        e = [exp(sum(z[i][a] * theta[c * q + a] for a in range(q))) for c in range(classes)]
        return [v / sum(e) for v in e]

    for _ in range(60):
        grad, hess = matrix(classes * q, 1), matrix(classes * q, classes * q)
        for m, v in zip(s, lam):
            grad, hess = grad + m * theta * mp.mpf(v), hess + m * mp.mpf(v)
        for i in range(rows):
            p, w = shares(i), mp.mpf(weights[i])
            for c in range(classes):
                for a in range(q):
                    grad[c * q + a] += w * (p[c] - (y[i] == c)) * z[i][a]
                    for d in range(classes):
                        for b in range(q):
                            hess[c * q + a, d * q + b] += w * (p[c] * (c == d) - p[c] * p[d]) * z[i][a] * z[i][b]
        for c in range(classes):
            for d in range(classes):
                for a in range(q):
                    hess[c * q + a, d * q + a] += 1
        step = lu_solve(hess, grad)
        theta = theta - step
        if mp.norm(step) < mp.mpf(10) ** -36:
            break
    cotangent = [round(random.gauss(0, 1), 6) for _ in range(classes * q)]
    centred = [mp.mpf(v) - sum(mp.mpf(cotangent[d * q + k % q]) for d in range(classes)) / classes for k, v in enumerate(cotangent)]
    u = lu_solve(hess, matrix(centred))
    vx = []
    for i in range(rows):
        p, w = shares(i), mp.mpf(weights[i])
        zu = [sum(z[i][a] * u[c * q + a] for a in range(q)) for c in range(classes)]
        mean = sum(p[c] * zu[c] for c in range(classes))
        vx.append([float(-w * sum(p[c] * (zu[c] - mean) * theta[c * q + a] + (p[c] - (y[i] == c)) * u[c * q + a] for c in range(classes)))
                   for a in range(n)])
    return dict(Classes=classes, Intercept=True, X=x, Y=y, Weights=weights, Roots=roots, Lambda=lam, Theta=[float(v) for v in theta],
                Cotangent=cotangent, VJPX=vx, Hyper=[float(-(u.T * m * theta)[0]) for m in s])


def peer(classes, rows, n, intercept, lam):
    x, y, weights = draw(classes, rows, n)
    fit = LogisticRegression(C=1 / lam, fit_intercept=intercept, solver="lbfgs", tol=1e-12, max_iter=100000)
    fit.fit(numpy.array(x), y, sample_weight=weights)
    theta = []
    for c in range(classes):
        theta += list(fit.coef_[c]) + [fit.intercept_[c]] * intercept
    return dict(Classes=classes, Intercept=intercept, X=x, Y=y, Weights=weights, Lambda=[lam], Theta=theta)


print(json.dumps([exact(3), exact(4, 20, 2), peer(3, 40, 4, True, .7), peer(5, 60, 3, True, 2), peer(3, 30, 5, False, .05), peer(4, 12, 20, True, 2)]))
