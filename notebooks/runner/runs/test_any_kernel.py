"""The notebooks in a GoNB that a person has installed, outside ./reproduce.sh."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from small import LIMIT, ROOT, Small, link, require_lab

# Runs a notebook as a front end does, whatever its cells do.
CLIENT = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, kernel_name="gonb", allow_errors=True, resources={"metadata": {"path": sys.argv[3]}}).execute()
nbformat.write(notebook, sys.argv[2])
"""


class AnyKernel(Small):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        require_lab()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.home = Path(folder.name)
        caches = json.loads(subprocess.check_output(["go", "env", "-json", "GOCACHE", "GOMODCACHE"], text=True))
        go = os.path.dirname(shutil.which("go"))
        cls.env = {
            "HOME": folder.name,
            "PATH": f"{ROOT}/.cache/bin:{go}:/usr/bin:/bin",
            "JUPYTER_DATA_DIR": f"{folder.name}/data",
            "JUPYTER_CONFIG_DIR": f"{folder.name}/config",
            "JUPYTER_PREFER_ENV_PATH": "0",  # or the kernel of .venv comes first
            "TMPDIR": folder.name,
            "GOPROXY": "off",
            "GOFLAGS": "-trimpath",  # so that what has been compiled elsewhere serves here
            **caches,
        }
        # With gopls, which --install asks for. A kernel that finds it has it read the module for seconds.
        cls.env_of_lab = cls.env | {"PATH": f"{ROOT}/.cache/bin-lab:{cls.env['PATH']}"}
        subprocess.run([ROOT / ".cache/bin/gonb", "--install"], env=cls.env_of_lab, check=True, capture_output=True)
        spec = json.loads((cls.home / "data/kernels/gonb/kernel.json").read_text())
        if spec["env"] or str(ROOT) in " ".join(spec["argv"][1:]):
            raise RuntimeError(f"this is not the kernel that gonb --install makes: {spec}")

    def setUp(self):
        super().setUp()
        for name in ("01_elastic_net", "08_stability", "explore"):
            shutil.copy2(ROOT / f"notebooks/{name}.ipynb", self.checkout / "notebooks")
        # Each test finds the results that those before it have computed.
        for store in (self.home / "store", ROOT / ".work/store"):
            if store.is_dir():
                shutil.copytree(store, self.checkout / ".work/store", copy_function=link)
                break

    def tearDown(self):
        store = self.checkout / ".work/store"
        if store.is_dir():
            shutil.rmtree(self.home / "store", ignore_errors=True)
            shutil.move(store, self.home / "store")
        super().tearDown()

    def client(self, path, folder):
        made = self.home / "client.ipynb"
        self.run_python(self.env, "-c", CLIENT, path, made, folder)
        return self.cells(made)

    def nbconvert(self, path):
        self.run_python(self.env_of_lab, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", self.home, "--output", "converted", path)
        return self.cells(self.home / "converted.ipynb")

    def run_python(self, env, *args):
        done = subprocess.run([ROOT / ".venv/bin/python", "-I", *args], env=env, cwd="/", capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])

    @staticmethod
    def cells(path):
        """What each code cell printed, by stream, and the hashes of what it showed."""
        found = []
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code":
                printed, shown = {}, []
                for o in cell["outputs"]:
                    if o["output_type"] == "stream":
                        printed[o["name"]] = printed.get(o["name"], "") + "".join(o["text"])
                    else:
                        shown.append({kind: hashlib.sha256("".join(data).encode()).hexdigest() for kind, data in o.get("data", {}).items()})
                found.append((printed, shown))
        return found

    def test_original_by_nbclient(self):
        for name in ("01_elastic_net", "08_stability"):
            path = self.checkout / f"notebooks/{name}.ipynb"
            self.assertEqual(self.client(path, path.parent), self.cells(path), name)

    def test_outputs_are_the_committed_ones_or_go_elsewhere(self):
        name = "01_elastic_net"
        shutil.copytree(ROOT / "figures/out" / name, self.checkout / "figures/out" / name, ignore=shutil.ignore_patterns("provenance.json"))
        path, runs = self.checkout / f"notebooks/{name}.ipynb", self.checkout / "runs" / name / "interactive"
        committed, original = self.files(self.checkout / "figures/out"), path.read_text()
        self.client(path, path.parent)
        self.assertEqual(self.files(runs), {f"default/{file}": data for file, data in self.files(self.checkout / "figures/out" / name).items()})
        path.write_text(original.replace("// p.StepSize = 1e-3", "p.StepSize = 1e-3"))
        cells = self.client(path, path.parent)
        self.assertEqual([printed["stderr"] for printed, _ in cells if "stderr" in printed], [])
        changed = "elastic_net.StepSize=0.001"
        self.assertIn("elastic_net.StepSize = 0.001 (default 0.0002)", (runs / changed / "elastic_net_surfaces.svg").read_text())
        self.assertIn("default parameters", (runs / changed / "elastic_net_learning_curves.svg").read_text())
        self.assertEqual(self.files(self.checkout / "figures/out"), committed)
        self.assertEqual({folder.name for folder in runs.iterdir()}, {"default", changed})

    @staticmethod
    def files(folder):
        """Those in the folder, less the PDFs, which git ignores."""
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".pdf"}

    def test_copy_by_nbconvert(self):
        self.reproduce("reset")
        path = self.checkout / "notebooks/copies/01_elastic_net.ipynb"
        self.assertEqual(self.nbconvert(path), self.cells(self.checkout / "notebooks/01_elastic_net.ipynb"))
        self.nbconvert(self.checkout / "notebooks/copies/explore.ipynb")

    def test_outside_a_checkout(self):
        for other in ("", "module cvgm.example\n", "module example\n"):
            outside = Path(tempfile.mkdtemp(dir=self.home))
            if other:
                (outside / "go.mod").write_text(other)
            first = self.client(self.checkout / "notebooks/explore.ipynb", outside)[0]
            self.assertIn(".workspace.sh", first[0]["stderr"])  # which a comment of the cell explains
