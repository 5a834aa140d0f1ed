"""What the tests of the runner share."""

import importlib.util
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]

import again
import checkout
import compare
import copies
import durations
import environment
import experiments
import lab
import processes
import provenance
import readme
import report


def load_main():
    spec = importlib.util.spec_from_file_location("runner_main", HERE / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["runner_main"] = module
    spec.loader.exec_module(module)
    return module


main = load_main()


class Checkout:
    """A folder that the runner's modules take for the checkout."""

    PLACES = {
        again: {"ROOT": "", "FILE": "figures/out/draws.csv"},
        environment: {"ROOT": "", "CACHE": ".cache"},
        processes: {"ROOT": "", "NOTEBOOKS": "notebooks", "RUNS": "runs", "WORK": ".work", "CLAIMS": ".cache/temporary"},
        readme: {"README": "README.md", "TIMES": "notebooks/README.md", "TUNER": "cvgm/tune/README.md", "TRIALS": "cvgm/tune/testdata/tune_trials"},
        report: {"ROOT": "", "PAGE": "figures/out/report.html"},
        provenance: {"ROOT": "", "NOTEBOOKS": "notebooks", "OUT": "figures/out", "RUNS": "runs", "STORE": ".work/store", "TIMINGS": "figures/out/timings.json"},
        experiments: {"ROOT": "", "NOTEBOOKS": "notebooks"},
        copies: {"ROOT": "", "NOTEBOOKS": "notebooks", "FOLDER": "notebooks/copies"},
        durations: {"FILE": ".work/seconds.json"},
        lab: {"ROOT": "", "NOTEBOOKS": "notebooks"},
        main: {"ROOT": "", "WORK": ".work"},
    }

    def __init__(self, test):
        self.test = test

    def __enter__(self):
        folder = tempfile.TemporaryDirectory()
        self.test.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.kept = [(module, name, getattr(module, name)) for module, names in self.PLACES.items() for name in names]
        for module, names in self.PLACES.items():
            for name, place in names.items():
                setattr(module, name, self.root / place)
        return self

    def __exit__(self, *_):
        for module, name, value in self.kept:
            setattr(module, name, value)

    def write(self, name, data):
        checkout.write_atomic(self.root / name, data if isinstance(data, bytes) else data.encode())


def pinned(text):
    """The names of the packages that requirements pin."""
    return {line.split("==")[0] for line in text.splitlines() if "==" in line and not line.startswith((" ", "#"))}


def agrees(task):
    """Whether task's outputs are those of its last run, as notebooks/stale compares them."""
    last = provenance.read(task)
    if last is None:
        return False
    there = {task.out / name: data for name, data in compare.files_in(task.out).items()}
    if not task.overrides:
        there[task.notebook] = task.notebook.read_bytes()
    return last["outputs"] == {str(p.relative_to(provenance.ROOT)): checkout.sha256(data) for p, data in there.items()}


def wait_for(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    return None


def alive(pid):
    """Whether the process runs: one that has ended may still be listed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
