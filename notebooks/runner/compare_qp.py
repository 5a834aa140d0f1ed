"""Compares quadratic programs with other solvers: the solution alone, and solution and derivative.

The cases a to e are the sizes of BenchmarkQPSolve: a is the elastic net of 128 splits as a program
in 20 nonnegative variables, the others are random, and so are f and g. DAQP and quadprog solve the
programs, Moreau and ProxSuite differentiate them, too. All are installed in .cache/peers-qp on first
use (Python 3.11 or newer), by the pins of requirements-peers.txt. Programs and the tables
(tables.md) go to .work/peers-qp; with all cases, the tables go to notebooks/peers/README.md, too.

Each solves the programs from scratch. The derivative is the one of a linear function of the
minimiser in all data. Moreau gets the programs of a case as one batch, the others get one after the
other, as dense arrays. ProxSuite's own tolerance is set to 1e-9. The values must agree first: the
minimisers to NEAR. The derivatives in the linear term are only printed, since the peers' derivatives
are less exact. The times are processor time of one thread each, in turns; the median is printed. A
call of DAQP from Python includes the overhead of the call. So the time of its setup and solution in
C is there, too, as its own clock, a wall clock, measures it. The ratio is to the lower of the two.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers
from checkout import CACHE, WORK, write_atomic
from peers import answer_of, built, circumstances, rounds_of, seconds_each, with_table, write_page

NEEDED = ["annotated-types", "cmeel", "daqp", "moreau", "moreau-cpu", "numpy", "proxsuite", "pydantic", "pydantic-core", "quadprog", "scipy", "typing-extensions", "typing-inspection"]
FOLDER = CACHE / "peers-qp"
OUT = WORK / "peers-qp"
CASES = {"a": (128, 20, 20, 0), "b": (128, 10, 10, 5), "c": (64, 50, 50, 0), "d": (1, 100, 100, 20), "e": (1, 500, 500, 0), "f": (16, 50, 1000, 0), "g": (1, 500, 500, 100)}  # programs, variables, inequalities, equalities
COMMAND, WHAT = "compare_qp", "tables of quadratic programs"
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


def daqp_round(of):
    """A function that solves the programs one after the other; it returns the minimisers, and keeps the seconds in C.

    Of a call of solve, and of setup or update with solve of a Model, the first is the fastest.
    """
    import daqp
    import numpy as np

    m, q = len(of[0]["H"]), len(of[0]["B"])
    kinds = np.array([5] * q + [0] * m, dtype=np.int32)  # DAQP's numbers for equality and inequality
    below = np.full(m, -1e30)  # DAQP takes 1e30 for infinite
    inputs = [(p["Q"], p["P"], np.vstack([p["A"], p["G"]]), np.concatenate([p["B"], p["H"]]), np.concatenate([p["B"], below]), kinds) for p in of]

    def run():
        solved = [daqp.solve(*program) for program in inputs]
        run.inside.append(sum(info["setup_time"] + info["solve_time"] for *_, info in solved))
        return (np.array([x for x, *_ in solved]),)

    run.inside = []
    return run


def quadprog_round(of):
    import numpy as np
    import quadprog

    q = len(of[0]["B"])
    inputs = [(p["Q"], -p["P"], -np.vstack([p["A"], p["G"]]).T, -np.concatenate([p["B"], p["H"]]), q) for p in of]

    def run():
        return (np.array([quadprog.solve_qp(*program)[0] for program in inputs]),)

    return run


def moreau_round(of):
    """A function that solves and differentiates the programs as one batch; it returns minimisers and derivatives in P."""
    import moreau
    import numpy as np

    n, m, q = len(of[0]["P"]), len(of[0]["H"]), len(of[0]["B"])
    rows = m + q
    structure = {"P_row_offsets": range(0, n * n + 1, n), "P_col_indices": [*range(n)] * n, "A_row_offsets": range(0, rows * n + 1, n), "A_col_indices": [*range(n)] * rows}
    settings = moreau.Settings(device="cpu", batch_size=len(of), enable_grad=True, max_iter=10_000)  # its own 200 end at zero for 500 rows
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


INSIDE, CALLED = "DAQP in C", "DAQP from Python"
SOLUTION, DERIVATIVE = "solution", "solution and derivative"
PEERS = {SOLUTION: {CALLED: daqp_round, "quadprog": quadprog_round}, DERIVATIVE: {"Moreau": moreau_round, "ProxSuite": proxsuite_round}}
COLUMNS = {SOLUTION: {INSIDE: CALLED, CALLED: CALLED, "quadprog": "quadprog"}, DERIVATIVE: {"Moreau": "Moreau", "ProxSuite": "ProxSuite"}}  # times, and the peers that they are of


def distances(theirs, ours):
    """How far each row is from ours, as a share of the largest entry of all rows of ours: a derivative is zero at a vertex."""
    import numpy as np

    return np.abs(theirs - ours).max(axis=1) / np.abs(ours).max()


def compare(case, repeats, program):
    """A row for each table: seconds of a program, and the distances from ours."""
    import numpy as np

    of = programs(case)
    file = OUT / f"{case}.json"
    write_atomic(file, json.dumps([{k: v.tolist() for k, v in p.items()} for p in of]).encode())
    rounds = rounds_of(len(of) * answer_of(program, "-qp", 1, file)["SolveSeconds"])
    run = {name: make(of) for peers_of in PEERS.values() for name, make in peers_of.items()}
    seconds = {work: {name: [] for name in ["ours", *COLUMNS[work]]} for work in PEERS}
    for _ in range(repeats):
        ours = answer_of(program, "-qp", rounds, file)
        seconds[SOLUTION]["ours"].append(ours["SolveSeconds"])
        seconds[DERIVATIVE]["ours"].append(ours["Seconds"])
        run[CALLED].inside.clear()
        for work, peers_of in PEERS.items():
            for name in peers_of:
                seconds[work][name].append(seconds_each(run[name]) / len(of))
        seconds[SOLUTION][INSIDE].append(statistics.median(run[CALLED].inside) / len(of))
    rows = []
    for work, peers_of in PEERS.items():
        far = {name: [distances(got, np.array(ours[key])) for got, key in zip(run[name](), ("Z", "GradP"))] for name in peers_of}
        rows.append({"case": case, "work": work, "seconds": {name: statistics.median(s) for name, s in seconds[work].items()}, "far": far})
    return rows


def disagreements(row):
    """The peers whose minimisers are not near ours, with the number of programs."""
    far = {name: sum(not d <= NEAR for d in z) for name, (z, *_) in row["far"].items()}
    return {name: count for name, count in far.items() if count}


def fastest(row):
    """The time of the fastest peer that agrees on most programs."""
    wrong = disagreements(row)
    rated = [row["seconds"][column] for column, name in COLUMNS[row["work"]].items() if 2 * wrong.get(name, 0) < len(row["far"][name][0])]
    return min(rated, default=float("nan"))


def table(rows):
    """The rows of one kind of work in Markdown. A peer that disagrees on some programs has their number."""
    columns = COLUMNS[rows[0]["work"]]
    text = [f"| Programs × (variables, inequalities, equalities) | {', µs | '.join(columns)}, µs | CPU µs: fastest peer's, ours | Ratio |", "| :-- " + "| --: " * (len(columns) + 2) + "|"]
    for row in rows:
        count, *sizes = CASES[row["case"]]
        wrong = disagreements(row)
        micro = [f"{1e6 * row['seconds'][column]:.1f}" + (f" ({wrong[name]} wrong)" if name in wrong else "") for column, name in columns.items()]
        both = fastest(row), row["seconds"]["ours"]
        pair = ", ".join(f"{1e6 * s:.1f}" for s in both)
        text.append(f"| {row['case']}: {count} × ({', '.join(map(str, sizes))}), {row['work']} | {' | '.join(micro)} | {pair} | {both[1] / both[0]:.3f} |")
    return "\n".join([*text, ""])


def distances_told(row):
    """Lines that tell how far the peers are from ours."""
    lines = []
    for name, (z, *derivative) in row["far"].items():
        text = f"{row['case']}, {name}: minimisers differ by at most {max(z):.1e}"
        text += "".join(f", derivatives by {statistics.median(d):.1e} in the median and {max(d):.1e} at most" for d in derivative)
        lines.append(f"{text}; {disagreements(row).get(name, 0)} of {len(z)} minimisers are not near")
    return lines


def run(args):
    program, note = built(OUT), circumstances(f"Medians of {args.repeats} runs each")
    rows = {work: [] for work in PEERS}
    for case in args.only or CASES:
        for row in compare(case, args.repeats, program):
            rows[row["work"]].append(row)
            print("\n".join([*distances_told(row), table([row]).splitlines()[-1]]), flush=True)
    both = "\n".join(table(of) for of in rows.values())
    write_atomic(OUT / "tables.md", both.encode())
    print(f"\n{both}\n{note}")
    if not args.only:
        write_page(with_table(peers.PAGE.read_text(encoding="utf-8"), WHAT, COMMAND, f"{both}\n{note}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="CASE")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N", help=f"times of each, of which the median is taken (default {REPEATS})")
    peers.run_with(FOLDER, NEEDED, run, parser.parse_args())


if __name__ == "__main__":
    main()
