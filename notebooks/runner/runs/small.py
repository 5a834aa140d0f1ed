"""A copy of this checkout with small notebooks of its own, for tests with real kernels.

The copy takes over what is set up here, so ./reproduce.sh has to have run once.
Its path holds a blank and an equals sign; it is reached from another folder and without a network.
"""

import atexit
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from processes import locked

ROOT = Path(__file__).resolve().parents[3]

WRITES = """%%
fmt.Println("loss", 1.25)
if err := os.WriteFile(filepath.Join(os.Getenv("CVGM_OUT"), "t.csv"), []byte("a,b\\n1,2.5\\n"), 0o644); err != nil {
	panic(err)
}"""
IMPORTS = """import (
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/figures"
	"cvgm/notebooks/notebook"
)"""
PARAMS = """!*touch unaccepted # until the last line of this cell has run
func params() (elasticnet.ElasticNetParams, elasticnet.ElasticNetSeedsParams) {
	p, fresh := elasticnet.DefaultElasticNet(), elasticnet.DefaultElasticNetSeeds()
	notebook.Params(&p, &fresh)
	return p, fresh
}

%%
notebook.Accept(params)"""
# Small defaults in place of the paper's: a notebook that edits them is refused.
DEFAULTS = [
    ("cvgm/experiment/elasticnet/penalty_cvgm.go", "K: 128", "K: 16"),
    ("cvgm/experiment/surface.go", "SurfacePoints: 46", "SurfacePoints: 4"),
    ("cvgm/experiment/elasticnet/elastic_net.go", "LongSteps: 1000", "LongSteps: 100"),
    ("cvgm/experiment/elasticnet/elastic_net_seeds.go", "LongSteps: 1000", "LongSteps: 100"),
]
SLOW = """%%
if err := os.WriteFile(filepath.Join(os.TempDir(), "slow"), nil, 0o644); err != nil {
	panic(err)
}
time.Sleep(time.Hour)"""


LIMIT = 600  # s for one run of ./reproduce.sh or for one wait
required = False  # whether tests that need JupyterLab must not be skipped


GOPLS = ".cache/bin-lab/go.mod.installed"  # which lab builds after it has started


def lab_is_set_up():
    return all((ROOT / stamp).exists() for stamp in (".venv/requirements-lab.txt.installed", GOPLS))


def require_lab():
    """Sets JupyterLab up in this checkout where it has to be there; skips a class of tests where it is not."""
    if required and not lab_is_set_up():
        set_up_lab()
    if not lab_is_set_up():
        raise unittest.SkipTest("JupyterLab is not set up; run ./reproduce.sh lab once")


def set_up_lab():
    """Starts JupyterLab in this checkout, which sets it up, and ends it."""
    with subprocess.Popen([ROOT / "reproduce.sh", "lab"], stderr=subprocess.PIPE, text=True) as process, killed(process):
        said = ""
        for line in process.stderr:
            said += line
            if "it opens" in line and (ROOT / GOPLS).exists() or "gopls is built" in line or "no completion" in line:
                process.terminate()  # a SIGINT may be ignored, as in a shell's background
    if not lab_is_set_up():
        raise RuntimeError(f"JupyterLab was not set up:\n{said}")


@contextlib.contextmanager
def killed(process):
    """Ends the process where what is done with it fails."""
    try:
        yield
    except BaseException:
        process.kill()
        raise


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


class Small(unittest.TestCase):
    """Tests in the copy."""

    folder = checkout = temporary = None

    @classmethod
    def setUpClass(cls):
        if cls.checkout is None:
            Small.make()

    @staticmethod
    def make():
        """Makes the copy, one for all tests."""
        Small.folder = tempfile.TemporaryDirectory()
        atexit.register(Small.folder.cleanup)
        Small.checkout = checkout = Path(Small.folder.name, "a=b c", "checkout")
        parts = ["reproduce.sh", "go.mod", "go.sum", "notebooks/live/page.html", "cvgm/experiment/manyhyper/kept_map.json", "notebooks/.workspace.sh", *ROOT.glob("notebooks/runner/tools/*")]
        parts += [*ROOT.glob("notebooks/runner/requirements*.txt"), *ROOT.glob("notebooks/runner/*.py")]
        for package in ("synth", "qpdiff", "cvgm", "figures", *(f"notebooks/{name}" for name in ("live", "notebook", "source", "stale", "store", "worker"))):
            parts += [p for p in ROOT.glob(f"{package}/**/*.*") if p.suffix in (".go", ".s") and not p.name.endswith("_test.go")]
        for path in (ROOT / part for part in parts):
            copy = checkout / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        with locked():
            for name in (".venv", ".cache/bin"):
                if not (ROOT / name).is_dir():
                    raise RuntimeError(f"{ROOT / name} is missing; run ./reproduce.sh once")
                shutil.copytree(ROOT / name, checkout / name, symlinks=True, copy_function=link)
        # A kernel's folder is found, and missed, in a temporary folder of its own,
        # to which other users have a way.
        os.chmod(Small.folder.name, 0o755)
        Small.temporary = Path(Small.folder.name, "t")
        Small.temporary.mkdir()

    def setUp(self):
        for old in (self.checkout / "notebooks").glob("*.ipynb"):
            old.unlink()
        for folder in ("figures/out", ".work", "runs", "notebooks/copies"):
            shutil.rmtree(self.checkout / folder, ignore_errors=True)

    def tearDown(self):
        self.assertEqual(os.listdir(self.temporary), [], "temporary files left behind")

    def notebook(self, name, *sources):
        cells = [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": s, "outputs": [], "execution_count": None}
            for i, s in enumerate(("%noautoget\nimport (\n\t\"os\"\n\t\"path/filepath\"\n\t_ \"cvgm/synth\"\n)\nvar _, _ = os.Args, filepath.Join", *sources))
        ]
        text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        (self.checkout / "notebooks" / f"{name}.ipynb").write_text(text)

    def start(self, *args, wrapped_in=(), stderr=subprocess.STDOUT, **env):
        quiet = {"TMPDIR": str(self.temporary), "GOPROXY": "off", "PIP_NO_INDEX": "1"}
        process = subprocess.Popen(
            [*wrapped_in, self.checkout / "reproduce.sh", *args],
            cwd="/",
            env={**os.environ, **quiet, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        """Ends a run that a failing test has left at work."""
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()

    def reproduce(self, *args, status=0, **env):
        process = self.start(*args, **env)
        said = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(process.returncode, status, said)
        return said

    def outputs(self):
        paths = [*(self.checkout / "notebooks").glob("*.ipynb"), *(self.checkout / "figures" / "out").rglob("*.*")]
        return {str(p.relative_to(self.checkout)): p.read_bytes() for p in paths}

    def experiment(self, name="01_net", seeds=6):
        """A notebook of an experiment of a few seconds."""
        for file, paper, small in (*DEFAULTS, ("cvgm/experiment/elasticnet/elastic_net_seeds.go", "Seeds: 500", f"Seeds: {seeds}")):
            self.edit(file, paper, small)
        self.notebook(
            name,
            IMPORTS,
            PARAMS,
            "%%\n_, fresh := params()\nnotebook.Show(figures.ElasticNetCVTable(notebook.Compute(fresh)))",
            "%%\np, _ := params()\nnotebook.Show(figures.ElasticNetLearningCurves(notebook.Compute(p)))",
        )

    def store(self):
        """The results kept, as {name: (when written, bytes)}."""
        return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in (self.checkout / ".work/store").glob("*")}

    def edit(self, name, old, new):
        path = self.checkout / name
        text = path.read_text()
        self.assertRegex(text, old)
        self.addCleanup(path.write_text, text)
        path.write_text(re.sub(old, new, text))

    def append(self, name, text):
        path = self.checkout / name
        before = path.read_text()
        self.addCleanup(path.write_text, before)
        path.write_text(path.read_text() + text)

    def keep(self, part):
        """Brings a part of the set-up back after the test."""
        part, kept = self.checkout / part, Path(self.folder.name, "kept")
        shutil.copytree(part, kept, symlinks=True, copy_function=link)
        self.addCleanup(os.rename, kept, part)
        self.addCleanup(shutil.rmtree, part, ignore_errors=True)

    def processes(self, word):
        """The processes whose environment names our temporary folder and whose command holds word."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if f"TMPDIR={self.temporary}/".encode() not in (entry / "environ").read_bytes():
                    continue
                words = (entry / "cmdline").read_bytes().decode(errors="replace")
                if words and word in words.split("\0")[0]:
                    found.append(words)
            except OSError:
                continue
        return found

    def owned(self, process):
        try:
            return f"TMPDIR={self.temporary}/".encode() in (process / "environ").read_bytes()
        except OSError:
            return False

    @staticmethod
    def command_line(process):
        try:
            return (process / "cmdline").read_bytes()
        except OSError:
            return b""

    def wait_for_slow_cell(self):
        """Waits until SLOW sleeps; the programs of the cells before it have ended."""
        self.assertTrue(self.wait_for(lambda: [*self.temporary.glob("cvgm-*/slow")]), "the slow cell never ran")

    def wait_for(self, condition):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            if found := condition():
                return found
            time.sleep(0.05)
        return None

    @staticmethod
    def listens(pid):
        """Whether a process has a TCP socket that listens."""
        inodes = set()
        for name in ("tcp", "tcp6"):
            for line in Path("/proc/net", name).read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A":
                    inodes.add(f"socket:[{words[9]}]")
        try:
            return any(os.readlink(fd) in inodes for fd in Path(f"/proc/{pid}/fd").iterdir())
        except OSError:
            return False
