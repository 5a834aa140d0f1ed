"""Compares solution and derivative of quadratic programs with the fastest differentiable solvers.

The cases are the sizes of BenchmarkQPSolve: a is the elastic net of 128 splits as a program
in 20 nonnegative variables, b to d are random. Moreau and ProxSuite are installed in
.cache/peers-qp on first use (Python 3.11 or newer), by the pins of requirements-peers.txt.
Programs and the table (table.md) go to .work/peers-qp.

Each solves the programs from scratch and differentiates a linear function of the minimiser in
all data. A round takes all programs of a case. Moreau gets them as one batch. ProxSuite gets one
after the other, with its own tolerance set to 1e-9. The values must agree first: the minimisers
to NEAR. The derivatives in the linear term are only printed, since the peers' derivatives are
less exact. The seconds are processor time of one thread each, in turns; the median is printed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers
from checkout import CACHE, WORK, write_atomic
from environment import ask_go
from processes import command

NEEDED = ["annotated-types", "cmeel", "moreau", "moreau-cpu", "numpy", "proxsuite", "pydantic", "pydantic-core", "scipy", "typing-extensions", "typing-inspection"]
FOLDER = CACHE / "peers-qp"
OUT = WORK / "peers-qp"
CASES = {"a": (128, 20, 20, 0), "b": (128, 10, 10, 5), "c": (64, 50, 50, 0), "d": (1, 100, 100, 20)}  # programs, variables, inequalities, equalities
PROGRAMS = 256  # at least so many solutions a time, so that the clock's steps do not matter
REPEATS = 9
NEAR = 1e-5  # of the largest entry of the minimisers: ProxSuite's and Moreau's tolerances allow some 1e-7
TOLERANCE = 1e-9  # of ProxSuite


def elastic_net(rng, X, y):
    """min 1/(2N)‖Xθ − y‖² + λ1‖θ‖₁ + λ2/2 ‖θ‖² in v = (θ₊, θ₋) ≥ 0, as in the paper's Example 3.2."""
    import numpy as np

    lambda1, lambda2 = 1e-2, 1e-4
    S, c, n = X.T @ X / len(y), X.T @ y / len(y), X.shape[1]
    Q = np.block([[S, -S], [-S, S]]) + lambda2 * np.eye(2 * n)
    return {"Q": Q, "P": np.concatenate([lambda1 - c, lambda1 + c]), "G": -np.eye(2 * n), "H": np.zeros(2 * n), "A": np.zeros((0, 2 * n)), "B": np.zeros(0), "CotangentOfZ": rng.standard_normal(2 * n)}


def random_program(rng, n, m, q):
    """Q = LLᵀ/n + .01 I, h = Gx + s with s uniform, b = Ax, and the rest standard normal."""
    import numpy as np

    L, G, A, x = (rng.standard_normal(shape) for shape in [(n, n), (m, n), (q, n), n])
    return {"Q": L @ L.T / n + 0.01 * np.eye(n), "P": rng.standard_normal(n), "G": G, "H": G @ x + rng.uniform(size=m), "A": A, "B": A @ x, "CotangentOfZ": rng.standard_normal(n)}


def programs(case):
    import numpy as np

    count, n, m, q = CASES[case]
    rng = np.random.default_rng(1)
    if case != "a":
        return [random_program(rng, n, m, q) for _ in range(count)]
    X = rng.standard_normal((30, n // 2))
    y = X @ rng.uniform(size=n // 2) + rng.standard_normal(30)
    return [elastic_net(rng, X[rows], y[rows]) for rows in (rng.permutation(30)[:28] for _ in range(count))]


def moreau_round(of):
    """A function that solves and differentiates the programs as one batch; it returns minimisers and derivatives in P."""
    import moreau
    import numpy as np

    n, m, q = len(of[0]["P"]), len(of[0]["H"]), len(of[0]["B"])
    rows = m + q
    structure = {"P_row_offsets": range(0, n * n + 1, n), "P_col_indices": [*range(n)] * n, "A_row_offsets": range(0, rows * n + 1, n), "A_col_indices": [*range(n)] * rows}
    settings = moreau.Settings(device="cpu", batch_size=len(of), enable_grad=True)
    solver = moreau.CompiledSolver(n=n, m=rows, **{k: list(v) for k, v in structure.items()}, cones=moreau.Cones(num_zero_cones=q, num_nonneg_cones=m), settings=settings)
    P = np.array([p["Q"].ravel() for p in of])
    A = np.array([np.vstack([p["A"], p["G"]]).ravel() for p in of])
    b = np.array([np.concatenate([p["B"], p["H"]]) for p in of])
    linear, cotangents = np.array([p["P"] for p in of]), np.array([p["CotangentOfZ"] for p in of])

    def run():
        solver.setup(P, A)
        x = solver.solve(linear, b).x
        return x, solver.backward(cotangents)["dq"]

    return run


def proxsuite_round(of):
    import numpy as np
    import proxsuite

    dense = proxsuite.proxqp.dense
    n, m, q = len(of[0]["P"]), len(of[0]["H"]), len(of[0]["B"])
    below, zeros = np.full(m, -1e20), np.zeros(m + q)  # ProxSuite takes 1e20 for infinite
    solvers = [dense.QP(n, q, m) for _ in of]
    for s in solvers:
        s.settings.eps_abs, s.settings.eps_rel = TOLERANCE, 0
    cotangents = [np.concatenate([p["CotangentOfZ"], zeros]) for p in of]

    def run():
        for s, p, cotangent in zip(solvers, of, cotangents):
            s.init(p["Q"], p["P"], p["A"], p["B"], p["G"], below, p["H"])
            s.solve()
            dense.compute_backward(s, cotangent, TOLERANCE)
        return np.array([s.results.x for s in solvers]), np.array([s.model.backward_data.dL_dg for s in solvers])

    return run


PEERS = {"Moreau": moreau_round, "ProxSuite": proxsuite_round}


def distances(theirs, ours):
    """How far each row is from ours, as a share of the largest entry of all rows of ours: a derivative is zero at a vertex."""
    import numpy as np

    return np.abs(theirs - ours).max(axis=1) / np.abs(ours).max()


def compare(case, repeats, program):
    """One row of the table: seconds of a program, and the distances from ours."""
    import numpy as np

    of = programs(case)
    rounds = -(-PROGRAMS // len(of))
    file = OUT / f"{case}.json"
    write_atomic(file, json.dumps([{k: v.tolist() for k, v in p.items()} for p in of]).encode())
    run = {name: make(of) for name, make in PEERS.items()}
    seconds = {name: [] for name in ["ours", *PEERS]}
    for _ in range(repeats):
        ours = json.loads(subprocess.run([program, "-qp", str(rounds), file], check=True, capture_output=True, text=True).stdout)
        seconds["ours"].append(ours["Seconds"])
        answers = {}
        for name in PEERS:
            answers[name] = run[name]()  # the first round is not timed
            began = time.process_time()
            for _ in range(rounds):
                run[name]()
            seconds[name].append((time.process_time() - began) / rounds / len(of))
    row = {"case": case, "seconds": {name: statistics.median(s) for name, s in seconds.items()}}
    row["far"] = {name: [distances(got, np.array(ours[key])) for got, key in zip(answer, ("Z", "GradP"))] for name, answer in answers.items()}
    return row


def disagreements(row):
    """The peers whose minimisers are not near ours, with the number of programs."""
    far = {name: sum(not d <= NEAR for d in z) for name, (z, _) in row["far"].items()}
    return {name: count for name, count in far.items() if count}


def ratio(row):
    """Our time over the time of the fastest peer that agrees on most programs."""
    wrong = disagreements(row)
    rated = [row["seconds"][name] for name, (z, _) in row["far"].items() if 2 * wrong.get(name, 0) < len(z)]
    return row["seconds"]["ours"] / min(rated) if rated else float("nan")


def table(rows):
    text = [f"| Case: programs × (variables, inequalities, equalities) | qpdiff, µs | {', µs | '.join(PEERS)}, µs | qpdiff / fastest peer |", "| :-- " + "| --: " * (len(PEERS) + 2) + "|"]
    for row in rows:
        count, *sizes = CASES[row["case"]]
        micro = [f"{1e6 * row['seconds'][name]:.1f}" for name in ["ours", *PEERS]]
        text.append(f"| {row['case']}: {count} × ({', '.join(map(str, sizes))}) | {' | '.join(micro)} | {ratio(row):.3f} |")
    return "\n".join([*text, ""])


def run(args):
    import numpy as np

    env, _, settings = ask_go()
    program = OUT / "peers"
    command(["go", "build", "-o", str(program), "./notebooks/peers"], env | settings, "building notebooks/peers")
    rows = []
    for case in args.only or CASES:
        rows.append(compare(case, args.repeats, program))
        for name, (z, derivative) in rows[-1]["far"].items():
            print(f"{case}, {name}: minimisers differ by at most {z.max():.1e}, derivatives by {np.median(derivative):.1e} in the median and {derivative.max():.1e} at most; {disagreements(rows[-1]).get(name, 0)} of {len(z)} minimisers are not near", flush=True)
        print(table(rows).splitlines()[-1], flush=True)
    write_atomic(OUT / "table.md", table(rows).encode())
    print(f"\n{table(rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="CASE")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help=f"times of each, of which the median is taken (default {REPEATS})")
    peers.run_with(FOLDER, NEEDED, run, parser.parse_args())


if __name__ == "__main__":
    main()
