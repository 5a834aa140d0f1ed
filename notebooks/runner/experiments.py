"""Tells the experiments among the notebooks from scratch notebooks."""

import re
import subprocess

from checkout import NOTEBOOKS, ROOT, ReproduceError

JUDGES = "00_start"  # the notebook that judges the claims by the results of all others
SCRATCH = re.compile(r"^Untitled|-Copy\d+$")  # as JupyterLab names notebooks


class UsageError(ReproduceError):
    """The command line makes no sense."""


def tracked():
    """The files that git tracks in the checkout, staged ones included, as names below
    the root; None without git."""
    argv = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z"]
    try:
        done = subprocess.run(argv, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    names = {name.decode(errors="surrogateescape") for name in done.stdout.split(b"\0")}
    return names if "go.mod" in names else None  # else the checkout lies in a repository of something else


def experiments():
    """The notebooks that are experiments, in their order: those that git tracks, or
    without git those that JupyterLab has not named. notebooks/stale has the same rule."""
    names = tracked()
    found = sorted(NOTEBOOKS.glob("*.ipynb"))
    return [p for p in found if (f"notebooks/{p.name}" in names if names is not None else not SCRATCH.search(p.stem))]


def select(names, notebooks):
    """The notebooks (paths) that names denote, in the order they run; all for none."""
    chosen = set()
    for name in names:
        wanted = name.removeprefix("./").removeprefix(f"{NOTEBOOKS}/").removeprefix("notebooks/").removesuffix(".ipynb")
        found = [p for p in notebooks if wanted in (p.stem, *p.stem.split("_", 1))]
        if not found:
            raise UsageError(scratch(wanted) or f"no notebook is called {name!r}; there are: {', '.join(p.stem for p in notebooks)}")
        chosen.update(found)
    # The notebook that judges the results of all others runs when they are computed, so that a first
    # run shows its first figure in seconds.
    return sorted((p for p in notebooks if not names or p in chosen), key=lambda p: p.stem == JUDGES)


def scratch(name):
    """The reason why the notebook of that name is not an experiment, None where there is none."""
    folder, _, stem = name.rpartition("/")
    if folder == "copies" and (NOTEBOOKS / f"{stem}.ipynb").is_file():
        return f"notebooks/{name}.ipynb is a working copy, for JupyterLab: {stem} is its original"
    if folder or not (NOTEBOOKS / f"{stem}.ipynb").is_file():
        return None
    if tracked() is None:
        return f"notebooks/{stem}.ipynb is a scratch notebook; rename it to make it an experiment"
    return f"notebooks/{stem}.ipynb is not tracked by git; git add notebooks/{stem}.ipynb makes it an experiment"


def require_parameters(paths):
    """A UsageError for notebooks that -p cannot change."""
    for path in paths:
        if b"notebook.Params(" not in path.read_bytes():
            raise UsageError(f"{path.stem} has no parameters: none of its cells calls notebook.Params")
