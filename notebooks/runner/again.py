"""Judges the claims on several draws of the random data and records them all.

Each draw is a run of the notebook of the claims with -p Draw=N, so results are kept, an
interrupted run resumes, and Slurm can compute them. The record, figures/out/draws.csv, holds
what every draw has estimated. The notebook pools it; the comments in it list the sources.
"""

import provenance
from checkout import ROOT, ReproduceError, log, write_atomic
from experiments import JUDGES

FILE = provenance.OUT / "draws.csv"
ESTIMATES = "estimates.csv"  # in the outputs of a draw
MOST = 1000


def tasks(path, count):
    """A task for each draw."""
    return [provenance.Task(path, (("Draw", str(draw)),)) for draw in range(count)]


def record(done):
    """Writes the record of the tasks, all of which have run."""
    sources, lines, heading = {}, [], None
    for task in done:
        own, *rows = (task.out / ESTIMATES).read_text(encoding="utf-8").splitlines(keepends=True)
        if heading not in (None, own):
            raise ReproduceError(f"the {ESTIMATES} of {task.name} is of another program: run the draws again")
        heading, found = own, provenance.read(task) or {"results": []}
        lines += rows
        for result in found["results"]:
            if sources.setdefault(result["function"], result["source"]) != result["source"]:
                raise ReproduceError(f"the source of {result['function']} changed between the draws: run the same command again")
    comments = [f"# {function} {source}\n" for function, source in sorted(sources.items())]
    write_atomic(FILE, "".join([*comments, heading, *lines]).encode())
    log.info(f"{len(done)} draws are recorded in {FILE.relative_to(ROOT)}; ./reproduce.sh {JUDGES} judges by them")
