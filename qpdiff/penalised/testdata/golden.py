"""Writes golden.json: penalised models and their derivatives to 40 digits, with mpmath.

    python3 golden.py > golden.json
"""
import json
import random

from mpmath import exp, lu_solve, matrix, mp

mp.dps = 40
random.seed(40)


def normals(rows, cols):
    return [[round(random.gauss(0, 1), 6) for _ in range(cols)] for _ in range(rows)]


def terms(loss, y, eta):
    """The derivatives of the loss in eta, and of the first of them in eta and y."""
    if loss == 0:
        return eta - y, mp.mpf(1), mp.mpf(-1)
    if loss == 1:
        s = 1 / (1 + exp(y * eta))
        return -y * s, s * (1 - s), y * eta * s * (1 - s) - s
    return exp(eta) - y, exp(eta), mp.mpf(-1)


def case(loss, rows=14, n=4):
    x = normals(rows, n)
    beta = [random.gauss(0, 1) for _ in range(n)]
    y = [sum(a * b for a, b in zip(r, beta)) + random.gauss(0, 1) for r in x]
    y = [[v, 1 if v > 0 else -1, max(0, round(v))][loss] for v in y]
    if loss == 0:
        y = [round(v, 6) for v in y]
    weights = [round(random.uniform(.2, 2), 3) for _ in range(rows)]
    roots = [normals(2, n), normals(n, n), normals(1, n)]
    lam = [.5, .03, 2.]
    q = n + 1
    z = [[mp.mpf(v) for v in r] + [mp.mpf(1)] for r in x]
    s = []
    for r in roots:
        m = matrix(q, q)
        for a in range(n):
            for b in range(n):
                m[a, b] = sum(mp.mpf(v[a]) * mp.mpf(v[b]) for v in r)
        s.append(m)
    theta = matrix(q, 1)
    for _ in range(60):
        grad, hess = matrix(q, 1), matrix(q, q)
        for m, v in zip(s, lam):
            grad, hess = grad + m * theta * mp.mpf(v), hess + m * mp.mpf(v)
        for i in range(rows):
            t, c, _ = terms(loss, mp.mpf(y[i]), sum(z[i][a] * theta[a] for a in range(q)))
            for a in range(q):
                grad[a] += mp.mpf(weights[i]) * t * z[i][a]
                for b in range(q):
                    hess[a, b] += mp.mpf(weights[i]) * c * z[i][a] * z[i][b]
        step = lu_solve(hess, grad)
        theta = theta - step
        if mp.norm(step) < mp.mpf(10) ** -36:
            break
    cotangent = [round(random.gauss(0, 1), 6) for _ in range(q)]
    u = lu_solve(hess, matrix([mp.mpf(v) for v in cotangent]))
    vy, vx = [], []
    for i in range(rows):
        w = mp.mpf(weights[i])
        t, c, ty = terms(loss, mp.mpf(y[i]), sum(z[i][a] * theta[a] for a in range(q)))
        zu = sum(z[i][a] * u[a] for a in range(q))
        vy.append(float(-w * ty * zu))
        vx.append([float(-w * (c * zu * theta[a] + t * u[a])) for a in range(n)])
    return dict(Loss=loss, X=x, Roots=roots, Y=y, Weights=weights, Lambda=lam, Theta=[float(v) for v in theta],
                Cotangent=cotangent, VJPY=vy, VJPX=vx, Hyper=[float(-(u.T * m * theta)[0]) for m in s])


print(json.dumps([case(0), case(1), case(2)]))
