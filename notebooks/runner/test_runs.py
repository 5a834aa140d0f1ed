"""Tests of ./reproduce.sh with real kernels, on small notebooks in a copy of this checkout.

The copy takes over what is set up here, so ./reproduce.sh has to have run once.
Its path holds a blank and an equals sign; it is reached from another folder and without a network.
"""

import json
import os
import pty
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

WRITES = """%%
fmt.Println("loss", 1.25)
if err := os.WriteFile(filepath.Join(os.Getenv("CVGM_OUT"), "t.csv"), []byte("a,b\\n1,2.5\\n"), 0o644); err != nil {
	panic(err)
}"""
IMPORTS = """import (
	"cvgm/cvgm/experiment"
	"cvgm/figures"
	"cvgm/notebooks/notebook"
)"""
PARAMS = """func params() (experiment.ElasticNetParams, experiment.ElasticNetSeedsParams) {
	p, fresh := experiment.DefaultElasticNet(), experiment.DefaultElasticNetSeeds()
	p.K, p.LongSteps, p.SurfacePoints = 16, 100, 4
	fresh.K, fresh.Seeds, fresh.LongSteps = 16, SEEDS, 100
	notebook.Params(&p, &fresh)
	return p, fresh
}"""
SLOW = """%%
if err := os.WriteFile(filepath.Join(os.TempDir(), "slow"), nil, 0o644); err != nil {
	panic(err)
}
time.Sleep(time.Minute)"""


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for needed in (".venv", ".cache/bin"):
            if not (ROOT / needed).is_dir():
                raise RuntimeError(f"{ROOT / needed} is missing; run ./reproduce.sh once")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.checkout = Path(cls.folder.name, "a=b c", "checkout")
        parts = ["reproduce.sh", "go.mod", "go.sum", *ROOT.glob("notebooks/runner/requirements*.txt")]
        parts += [*ROOT.glob("notebooks/runner/*.py")]
        for package in ("synth", "qpdiff", "cvgm", "cvgm/experiment", "figures", "notebooks/notebook", "notebooks/source", "notebooks/stale"):
            parts += [p for p in ROOT.glob(f"{package}/*.go") if not p.name.endswith("_test.go")]
        for path in (ROOT / part for part in parts):
            copy = cls.checkout / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        for name in (".venv", ".cache/bin"):
            shutil.copytree(ROOT / name, cls.checkout / name, symlinks=True, copy_function=link)
        # A kernel's folder is found, and missed, in a temporary folder of its own,
        # to which other users have a way.
        os.chmod(cls.folder.name, 0o755)
        cls.temporary = Path(cls.folder.name, "t")
        cls.temporary.mkdir()

    def setUp(self):
        for old in (self.checkout / "notebooks").glob("*.ipynb"):
            old.unlink()
        for folder in ("figures/out", ".work"):
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
        return subprocess.Popen(
            [*wrapped_in, self.checkout / "reproduce.sh", *args],
            cwd="/",
            env={**os.environ, **quiet, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def reproduce(self, *args, status=0, **env):
        process = self.start(*args, **env)
        said = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, status, said)
        return said

    def outputs(self):
        paths = [*(self.checkout / "notebooks").glob("*.ipynb"), *(self.checkout / "figures" / "out").rglob("*.*")]
        return {str(p.relative_to(self.checkout)): p.read_bytes() for p in paths}

    def experiment(self, name="01_net", seeds=6):
        """A notebook of an experiment of a few seconds."""
        self.notebook(
            name,
            IMPORTS,
            PARAMS.replace("SEEDS", str(seeds)),
            "%%\n_, fresh := params()\nnotebook.Show(figures.ElasticNetCVTable(notebook.Compute(fresh)))",
            "%%\np, _ := params()\nnotebook.Show(figures.ElasticNetLearningCurves(notebook.Compute(p)))",
        )

    def store(self):
        """The results kept, as {name: (when written, bytes)}."""
        return {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in (self.checkout / ".work/store").glob("*")}

    def test_parameters_from_the_command_line(self):
        self.experiment()
        self.notebook("02_none", WRITES)
        before = self.outputs()
        said = self.reproduce("net", "-p", "Q=1", "-p", "K=many", status=1)
        for words in ("there is no parameter Q", "K=many: want a whole number", "Seeds              6          [1,∞)        fresh data sets"):
            self.assertIn(words, said)
        self.assertNotIn("cell", said)
        self.assertTrue(self.reproduce("net", "-p", "help").startswith("01_net: the parameters"))
        self.assertIn("02_none has no parameters", self.reproduce("02", "net", "-p", "K=3", status=1))
        self.assertIn("files changed: 8 in .work/runs/01_net/K=5,Seeds=3", self.reproduce("net", "-p", "Seeds=3", "-p", "K=5"))
        self.assertEqual(self.outputs(), before, "an overridden run wrote over the paper's outputs")
        run = self.checkout / ".work/runs/01_net/K=5,Seeds=3"
        made_of = json.loads((run / "provenance.json").read_text())["results"]
        self.assertEqual([(r["parameters"]["K"], r["parameters"].get("Seeds")) for r in made_of], [(5, 3), (5, None)])
        self.assertIn("image/png", (run / "01_net.ipynb").read_text())
        self.assertIn("nothing is stale", self.reproduce("net", "-p", "K=5", "-p", "Seeds=3"))

    def test_only_stale_work_again(self):
        self.experiment()
        self.assertIn("01_net: would run, because\n  it never ran here", self.reproduce("--why"))
        self.reproduce()
        outputs, store = self.outputs(), self.store()
        self.assertEqual(len(store), 2)
        began = time.monotonic()
        self.assertIn("nothing is stale: 01_net", self.reproduce())
        self.assertIn("01_net: is up to date", self.reproduce("--why"))
        self.assertLess(time.monotonic() - began, 10)

        self.append("figures/doc.go", "\n// More.\n")
        self.append("cvgm/experiment/doc.go", "\n// More.\nfunc NotReached() {}\n")
        self.assertIn("nothing is stale: 01_net", self.reproduce())

        self.edit("figures/elastic_net.go", r"(func ElasticNetCVTable\(.*\n)", r"\1\t_ = 0\n")  # drawn again, from the store
        self.assertRegex(self.reproduce("--why"), "figures: .*ElasticNetCVTable changed")
        self.assertIn("nothing changed", self.reproduce())
        self.assertEqual(self.store(), store)

        damaged = self.checkout / ".work/store" / sorted(store)[0]
        damaged.write_bytes(damaged.read_bytes()[:-1])
        self.edit("figures/elastic_net.go", "_ = 0", "_ = 1")
        said = self.reproduce()
        self.assertIn("nothing changed", said)
        self.assertIn(f"note: the stored result {damaged} is damaged (its checksum is wrong) and is computed again", said)
        self.assertEqual({k: v[1] for k, v in self.store().items()}, {k: v[1] for k, v in store.items()})

        self.edit("synth/regression.go", r"(func MakeRegression\(.*\n)", r"\1\t_ = 0\n")  # computed again
        self.assertIn("synth: MakeRegression changed", self.reproduce("--why"))
        self.assertIn("nothing changed", self.reproduce())
        computed = self.store()
        self.assertEqual(len(computed), 2, "results that nothing uses were kept")
        self.assertFalse(computed.keys() & store.keys())

        self.assertIn("nothing changed", self.reproduce("--force"))
        for name, (when, data) in self.store().items():
            self.assertGreater(when, computed[name][0])
            self.assertEqual(data, computed[name][1])
        table = next((self.checkout / "figures/out/01_net").glob("*.md"))
        table.write_text("edited")
        self.assertIn(f"{table.name} was edited", self.reproduce("--why"))
        self.assertIn("files changed: 1", self.reproduce())
        self.assertEqual({k: v for k, v in self.outputs().items() if "provenance" not in k}, {k: v for k, v in outputs.items() if "provenance" not in k})
        self.assertIn("agrees", self.reproduce("--check"))

    def test_edited_text_needs_no_kernel(self):
        self.notebook("01_first", WRITES)
        self.reproduce()
        path = self.checkout / "notebooks/01_first.ipynb"
        whole = path.read_text()
        notebook = json.loads(whole)
        notebook["cells"].insert(0, {"cell_type": "markdown", "id": "words", "metadata": {}, "source": "New words."})
        path.write_text(json.dumps(notebook))  # in another layout
        self.assertIn("01_first: would be written in its plain form", self.reproduce("--why"))
        said = self.reproduce()
        self.assertIn("01_first: only its text was edited, so no cell is run", said)
        self.assertIn("nothing is stale", said)
        self.assertIn('   "source": [\n    "New words."\n', path.read_text())
        self.assertIn("01_first: is up to date", self.reproduce("--why"))
        self.assertIn("agrees", self.reproduce("--check"))

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

    def test_killed_at_random_moments(self):
        self.experiment(seeds=40)
        fresh = self.outputs()
        began = time.monotonic()
        self.reproduce()
        takes, whole = time.monotonic() - began, self.outputs()

        def start_afresh():
            for folder in ("figures/out", ".work"):
                shutil.rmtree(self.checkout / folder, ignore_errors=True)
            for name, data in fresh.items():
                (self.checkout / name).write_bytes(data)

        start_afresh()
        moments = [random.uniform(0, takes) for _ in range(20)]
        for moment in moments:
            process = self.start()
            time.sleep(moment)
            process.kill()
            process.communicate()
            for name, data in self.outputs().items():
                if not name.endswith(".tmp"):
                    self.assertIn(data, (whole.get(name), fresh.get(name)), f"{name} is half written; killed after {moments}")
            if "is up to date" in self.reproduce("--why"):
                self.reproduce()  # writes the report, which may be all that is missing
                self.assertEqual(self.outputs(), whole, f"killed after {moments}")
                start_afresh()
        self.reproduce()
        self.assertEqual(self.outputs(), whole, f"killed after {moments}")
        self.assertEqual(self.processes(""), [])

    def on_full_disk(self, folder, size, status):
        """Runs with folder, of the checkout, on a disk of that size."""
        folder = self.checkout / folder
        folder.mkdir(parents=True, exist_ok=True)
        mount = f'mount -t tmpfs -o size={size} full "$0" && exec "$@"'
        process = self.start(wrapped_in=["unshare", "--map-root-user", "--mount", "sh", "-c", mount, folder])
        said = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, status, said)
        return said

    def test_a_full_disk_is_named(self):
        if subprocess.run(["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "full", "/mnt"], capture_output=True).returncode:
            self.skipTest("small disks cannot be mounted here")
        self.experiment()
        fresh = self.outputs()
        said = self.on_full_disk(".work/store", "4k", status=0)
        for params in ("ElasticNetSeedsParams", "ElasticNetParams"):
            self.assertRegex(said, rf"note: the result of experiment\.{params}\.Run is not kept: .*no space left on device")
        whole = self.outputs()
        shutil.rmtree(self.checkout / "figures" / "out")
        for name, data in fresh.items():
            (self.checkout / name).write_bytes(data)
        self.assertRegex(self.on_full_disk("figures/out", "16k", status=1), "(?i)no space left on device")
        self.assertEqual({k: v for k, v in self.outputs().items() if k in fresh}, fresh)
        self.reproduce()
        self.assertEqual(self.outputs(), whole)

    def test_the_line_on_a_terminal(self):
        self.experiment(seeds=600)
        ours, theirs = pty.openpty()
        process = self.start(stderr=theirs, TERM="xterm")
        os.close(theirs)
        said = b""
        try:
            while words := os.read(ours, 65536):
                said += words
        except OSError:  # the other end was closed
            pass
        os.close(ours)
        process.communicate()
        said = said.decode()
        self.assertEqual(process.returncode, 0, said)
        self.assertRegex(said, r"\[1/1\] 01_net  cell 4/5: \d+ of 600 done, about \d+ s left  \d+ s")
        self.assertRegex(said, r"\[1/1\] 01_net  files changed: 8, \d+\.\d s\r\n")

    def test_runs_and_runs_again_to_the_same_bytes(self):
        self.notebook("01_first", WRITES)
        self.notebook("02_second", "%%\nfor i := range 2 {\n\tfmt.Println(i)\n}")
        self.reproduce()
        first = self.outputs()
        self.assertEqual(first["figures/out/01_first/t.csv"], b"a,b\n1,2.5\n")
        self.assertIn(b"loss 1.25", first["notebooks/01_first.ipynb"])
        self.assertNotIn(b"cvgm-", b"".join(first.values()))
        self.assertIn("nothing is stale: 02_second", self.reproduce("second"))
        self.assertIn("nothing changed", self.reproduce("--force"))
        self.assertEqual(self.outputs(), first)
        self.assertIn("agrees", self.reproduce("--check"))

    def test_check_names_what_was_tampered_with(self):
        self.notebook("01_first", WRITES)
        self.reproduce()
        table, notebook = self.checkout / "figures/out/01_first/t.csv", self.checkout / "notebooks/01_first.ipynb"
        table.write_text("a,b\n1,2.6\n")
        notebook.write_text(notebook.read_text().replace("loss 1.25", "loss 1.52"))
        (table.parent / "extra.csv").write_text("1\n")
        (table.parent.parent / "00_gone").mkdir()
        (table.parent.parent / "00_gone" / "t.csv").write_text("1\n")
        tampered = self.outputs()
        said = self.reproduce("--check", status=1)
        self.assertIn("01_first/t.csv: 1 of 2 numbers differ", said)
        self.assertIn("line 2: committed 2.6, recomputed 2.5", said)
        self.assertIn("01_first/extra.csv: committed, but nothing writes it any more", said)
        self.assertIn("figures/out/00_gone: committed, but no notebook writes it", said)
        self.assertIn("01_first.ipynb: cell 2, output 1 (stdout): 1 of 1 numbers differ", said)
        self.assertEqual(self.outputs(), tampered, "--check wrote something")

    def test_a_failing_cell_is_shown_and_costs_nothing(self):
        self.notebook("01_bad", WRITES)
        self.reproduce()
        failures = {
            '%%\nfmt.Println("so far")\npanic("oh no")': ["panic: oh no", "so far"],
            "%%\nfmt.Println(missing)": ["undefined: missing"],
            "%%\nos.Exit(3)": ["exit status 3"],
            "!echo here; false": ["exit status 1", "here"],
            "%nonsense": ["%nonsense"],
            "!kill -9 $PPID; sleep 1": ["the kernel died in cell 3"],
        }
        for i, source in enumerate(failures, 1):
            self.notebook(f"0{i}_bad", WRITES.replace("2.5", "9.9"), source)
        self.notebook("09_good", WRITES)
        before = self.outputs()
        said = self.reproduce(status=1)
        self.assertIn("6 of 7 notebooks failed: 01_bad, 02_bad", said)
        for i, words in enumerate(failures.values(), 1):
            part = said.partition(f"0{i}_bad.ipynb: ")[2].partition(f"[{i + 1}/7]")[0]
            for word in ["cell 3", *words]:
                self.assertIn(word, part)
        after = self.outputs()
        self.assertIn("figures/out/09_good/t.csv", after)
        for own in ("figures/out/09_good/", "notebooks/09_good", "figures/out/report.html"):  # the report says what failed
            before, after = ({k: v for k, v in o.items() if not k.startswith(own)} for o in (before, after))
        self.assertEqual(after, before)

    def test_stopped_in_the_middle(self):
        for stop in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(stop):
                self.notebook("01_slow", WRITES, SLOW)
                before = self.outputs()
                process = self.start()
                self.wait_for_slow_cell()
                process.send_signal(stop)
                said = process.communicate(timeout=60)[0]
                self.assertEqual(process.returncode, 1, said)
                self.assertIn("interrupted", said)
                self.assertEqual(self.outputs(), before)
                self.assertEqual(self.processes(""), [])
                self.assertEqual(os.listdir(self.checkout / ".work"), ["packages.json"])
                self.assertEqual(os.listdir(self.checkout / ".cache" / "temporary"), [])

    def test_two_at_once(self):
        go_on = Path(self.folder.name, "go on")
        self.addCleanup(go_on.unlink, missing_ok=True)
        self.notebook("01_slow", WRITES, f'%%\nfor {{\n\tif _, err := os.Stat("{go_on}"); err == nil {{\n\t\tbreak\n\t}}\n\ttime.Sleep(50 * time.Millisecond)\n}}')
        self.notebook("02_quick", WRITES)
        first = self.start("01")
        self.assertTrue(self.wait_for(lambda: self.processes("gonb_")))
        second = self.start("02")
        for line in second.stdout:
            if f"(process {first.pid}) is at work in this checkout; waiting" in line:
                break
        else:
            self.fail("the second run did not wait for the first")
        go_on.touch()
        said = second.communicate(timeout=300)[0]
        self.assertEqual(second.returncode, 0, said)
        self.assertEqual(first.communicate(timeout=60)[0].count("files changed: 2"), 1)
        self.assertEqual(first.returncode, 0)

    def test_a_hostile_environment(self):
        self.notebook("01_first", WRITES)
        home = Path(self.folder.name, "home")
        home.mkdir()
        caches = json.loads(subprocess.check_output(["go", "env", "-json", "GOCACHE", "GOMODCACHE"], text=True))
        written = Path(self.folder.name, "go-env")  # by go env -w
        written.write_text("GOOS=windows\nGOARCH=arm64\nGOWORK=/nonexistent/go.work\nGOTMPDIR=/nonexistent\nGOFLAGS=-mod=vendor\n")
        pip = Path(self.folder.name, "pip.conf")
        pip.write_text("[install]\nuser = true\n")
        self.reproduce(
            HOME=str(home),
            **caches,
            GOENV=str(written),
            PIP_CONFIG_FILE=str(pip),
            GOFLAGS="-mod=mod",
            GOWORK="off",
            GOARCH="arm64",
            PYTHONPATH="/nonexistent",
            PYTHONHOME="/nonexistent",
            JUPYTER_PATH="/nonexistent",
            JUPYTER_DATA_DIR="/nonexistent",
        )
        self.assertEqual(list(home.rglob("*")), [], "something was written to the user's home")
        kernelspec = json.loads((self.checkout / ".venv/share/jupyter/kernels/gonb/kernel.json").read_text())
        self.assertEqual(kernelspec["argv"][0], str(self.checkout / ".cache/bin/gonb"))

    def test_folders_that_cells_delete(self):
        vanish = '%%\nif os.Getenv("VANISH") == "NAME" {\n\tif err := os.RemoveAll(PATH); err != nil {\n\t\tpanic(err)\n\t}\n\tos.MkdirAll(os.Getenv("CVGM_OUT"), 0o755)\n}'
        work, staging = (vanish.replace("NAME", n).replace("PATH", p) for n, p in (("work", '"../.work"'), ("staging", 'os.Getenv("CVGM_OUT")')))
        self.notebook("01_first", WRITES, work, staging, WRITES.replace("t.csv", "u.csv"), work)
        self.reproduce()
        whole = self.outputs()
        self.assertIn("figures/out/01_first/u.csv", whole)
        self.assertIn("nothing changed", self.reproduce("--force", VANISH="work"))
        self.assertEqual(self.outputs(), whole)
        said = self.reproduce("--force", VANISH="staging", status=1)
        self.assertRegex(said, "01_first.ipynb: .*/out, where its outputs are put together, was deleted during the run .*run it again")
        self.assertEqual({k: v for k, v in self.outputs().items() if "report" not in k}, {k: v for k, v in whole.items() if "report" not in k})
        table = self.checkout / "figures/out/01_first/t.csv"
        table.write_text("edited")
        self.assertIn("files changed: 1", self.reproduce())
        self.assertEqual(self.outputs(), whole)

    def test_more_memory_than_there_is(self):
        self.experiment()
        before = self.outputs()
        process = self.start("net", "-p", "K=70000000", wrapped_in=["sh", "-c", 'ulimit -d 3000000 && exec "$0" "$@"'])
        said = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, 1, said)
        line = next(line for line in said.splitlines() if line.startswith("notebooks/01_net.ipynb: "))
        self.assertRegex(line, r"cell 4 ran out of memory: it wanted more than the [\d.]+ GB that are free here; set smaller parameters")
        self.assertNotIn("goroutine", said)
        self.assertEqual(self.outputs(), before)

    def test_other_users_reach_no_kernel(self):
        if os.geteuid() != 0:
            self.skipTest("only root can act as another user")
        self.notebook("01_slow", WRITES, SLOW)
        process = self.start()
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        self.wait_for_slow_cell()
        folder = next(self.temporary.glob("cvgm-*"))
        connection = json.loads((folder / "kernel.json").read_text())
        ports = [connection[f"{name}_port"] for name in ("shell", "iopub", "stdin", "control", "hb")]
        if connection["transport"] == "ipc":
            reach = [(socket.AF_UNIX, f"{connection['ip']}-{port}") for port in ports]
        else:
            reach = [(socket.AF_INET, (connection["ip"], port)) for port in ports]

        def connect(kind, address):
            with socket.socket(kind) as s:
                s.connect(address)

        attempts = [lambda kind=kind, address=address: connect(kind, address) for kind, address in reach]
        attempts += [lambda path=path: path.read_bytes() for path in (folder / "kernel.json", folder / "kernel.log", folder / "record")]
        attempts.append(lambda: os.listdir(folder))
        attempts.append(lambda: (folder / "x").touch())
        (folder / "record").touch()
        self.assertEqual(self.as_user(0, attempts), [True] * len(attempts))
        self.assertEqual(self.as_user(65534, [lambda: os.listdir(self.temporary)]), [True], "the test leaves other users no way")
        self.assertEqual(self.as_user(65534, attempts), [False] * len(attempts))
        ours = {int(p.name) for p in Path("/proc").glob("[0-9]*") if self.owned(p)}
        self.assertGreaterEqual(len(ours), 2)  # the kernel and a cell
        self.assertEqual([p for p in ours if self.listens(p)], [], "a process of the kernel listens on TCP")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

    def as_user(self, uid, attempts):
        """Which of the attempts succeed for that user."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if uid:
                    os.setgroups([])
                    os.setresgid(uid, uid, uid)
                    os.setresuid(uid, uid, uid)
                for attempt in attempts:
                    try:
                        attempt()
                        os.write(write, b"1")
                    except OSError:
                        os.write(write, b"0")
            finally:
                os._exit(0)
        os.close(write)
        with open(read, "rb") as f:
            done = f.read()
        os.waitpid(child, 0)
        return [digit == ord("1") for digit in done]

    def owned(self, process):
        try:
            return f"TMPDIR={self.temporary}/".encode() in (process / "environ").read_bytes()
        except OSError:
            return False

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

    def test_a_damaged_kernel_is_made_anew(self):
        self.notebook("01_first", WRITES)
        gonb = self.checkout / ".cache/bin/gonb"
        whole = gonb.read_bytes()
        self.keep(".cache/bin")
        for damage in (whole[:1000], b"not a program", None):
            gonb.unlink()
            if damage is not None:
                gonb.write_bytes(damage)
                gonb.chmod(0o755)
            self.assertIn(f"{gonb.parent} is damaged and is made anew: 1 of its 2 files are missing or changed, such as gonb", self.reproduce("--force"))
            self.assertEqual(gonb.read_bytes(), whole)

    def keep(self, part):
        """Brings a part of the set-up back after the test."""
        part, kept = self.checkout / part, Path(self.folder.name, "kept")
        shutil.copytree(part, kept, symlinks=True, copy_function=link)
        self.addCleanup(os.rename, kept, part)
        self.addCleanup(shutil.rmtree, part, ignore_errors=True)

    def wheels(self):
        """What lets pip install offline what the requirements name."""
        if not hasattr(Runs, "house"):
            house = Path(self.folder.name, "wheels")
            pip = [ROOT / ".venv/bin/python", "-I", "-m", "pip", "download", "-q", "--disable-pip-version-check", "-d", house]
            name = "requirements-lab.txt" if (ROOT / ".venv/requirements-lab.txt.installed").exists() else "requirements.txt"
            done = subprocess.run([*pip, "-r", ROOT / "notebooks/runner" / name], capture_output=True, text=True)
            Runs.house = str(house) if done.returncode == 0 else None
        if Runs.house is None:
            self.skipTest("the wheels of requirements.txt cannot be downloaded")
        return {"PIP_FIND_LINKS": Runs.house}

    def test_a_damaged_python_environment_is_made_anew(self):
        wheels = self.wheels()
        self.keep(".venv")
        self.notebook("01_first", WRITES)
        python = self.checkout / ".venv/bin/python"
        package = next((self.checkout / ".venv").glob("lib/python*/site-packages/nbclient"))
        for damage in (
            lambda: (package / "client.py").unlink(),
            lambda: shutil.rmtree(package),
            lambda: (python.unlink(), python.symlink_to("/nonexistent/python")),
        ):
            damage()
            self.assertRegex(self.reproduce("--force", **wheels), r"/\.venv is damaged and is made anew: \d+ of its \d+ files are missing or changed, such as ")
            self.assertNotIn("damaged", self.reproduce("--force"))
        compiled = next((package / "__pycache__").glob("client.*.pyc"))
        data = compiled.read_bytes()
        compiled.unlink()
        compiled.write_bytes(data[:100])
        self.assertIn("nothing changed", self.reproduce("--force"))

    def test_killed_during_set_up(self):
        wheels = self.wheels()
        self.keep(".venv")
        self.notebook("01_first", WRITES)
        shutil.rmtree(self.checkout / ".venv")
        process = self.start(**wheels)
        pip = self.wait_for(lambda: [p for p in Path("/proc").glob("[0-9]*") if self.owned(p) and b"requirements.txt" in self.command_line(p)])
        self.assertTrue(pip, "pip never ran")
        time.sleep(random.uniform(0, 2))
        process.kill()
        process.communicate()
        self.assertIn("files changed: 2", self.reproduce(**wheels))
        self.assertNotIn("setting up", self.reproduce("--force"))

    @staticmethod
    def command_line(process):
        try:
            return (process / "cmdline").read_bytes()
        except OSError:
            return b""

    def test_no_network_on_the_first_run(self):
        self.notebook("01_first", WRITES)
        nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_NO_INDEX": "", "PIP_FIND_LINKS": "", "PIP_RETRIES": "1"}
        for part, env, what in (
            (".venv", nowhere, "installing Python packages that run notebooks"),
            (".cache/bin", {"GOPROXY": "http://127.0.0.1:9", "GOMODCACHE": str(self.folder.name) + "/modules"}, "building gonb and goimports"),
        ):
            with self.subTest(part):
                self.keep(part)
                shutil.rmtree(self.checkout / part)
                said = self.reproduce(status=1, **env)
                self.doCleanups()
            last = said.splitlines()[-1]
            self.assertRegex(last, rf"^reproduce: {what}: the network cannot be reached \([cC]onnection refused\); .*run again$")
            self.assertNotIn("Retrying", said)

    def test_jupyterlab_is_private(self):
        if not (self.checkout / ".venv/requirements-lab.txt.installed").exists():
            self.skipTest("JupyterLab is not set up; run ./reproduce.sh lab once")
        shutil.copytree(ROOT / ".cache/bin-lab", self.checkout / ".cache/bin-lab", copy_function=link, dirs_exist_ok=True)
        self.notebook("01_first", WRITES)
        process = self.start("lab")
        said = process.stdout.readline()
        url, token = re.search(r"(http://127\.0\.0\.1:\d+)/\S*token=(\S+)", said).groups()

        def ask(method, path, data=None):
            request = urllib.request.Request(f"{url}/api/{path}", data, {"Authorization": f"token {token}"}, method=method)
            with urllib.request.urlopen(request) as answer:
                return json.loads(answer.read())

        def served():
            try:
                return ask("GET", "status")
            except OSError:
                return None

        try:
            self.assertTrue(self.wait_for(served), "no server")
            kernel = ask("POST", "kernels", b'{"name": "gonb"}')["id"]
            folder = next(self.temporary.glob("cvgm-*"))
            self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
            connection = json.loads((folder / f"kernel-{kernel}.json").read_text())
            self.assertEqual(connection["transport"], "ipc")
            sockets = [f"{connection['ip']}-{connection[f'{name}_port']}" for name in ("shell", "iopub", "stdin", "control", "hb")]
            self.assertTrue(self.wait_for(lambda: all(map(os.path.exists, sockets))))
            self.assertEqual({os.path.dirname(s) for s in sockets}, {str(folder)})
            self.assertLessEqual(max(map(len, sockets)), 107)
            # JupyterLab's own port asks for the token.
            kernels = [p for p in Path("/proc").glob("[0-9]*") if self.owned(p) and b"jupyterlab" not in self.command_line(p)]
            self.assertIn(b"gonb", b"".join(map(self.command_line, kernels)))
            self.assertEqual([self.command_line(p) for p in kernels if self.listens(p.name)], [])
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)

    def test_wrong_words(self):
        self.notebook("01_first", WRITES)
        self.assertIn("there are: 01_first", self.reproduce("rings", status=1))
        self.assertIn("unrecognized arguments: --chekc", self.reproduce("--chekc", status=1))
        self.assertIn("usage:", self.reproduce("-h"))

    def test_missing_tools(self):
        tools = Path(self.folder.name, "tools")
        tools.mkdir()
        (tools / "dirname").symlink_to(shutil.which("dirname"))
        self.assertIn("python3 is not on PATH", self.reproduce(PATH=str(tools), status=1))
        self.notebook("01_first", WRITES)
        python = subprocess.check_output(["python3", "-c", "import sys; print(sys.executable)"], text=True).strip()
        (tools / "python3").symlink_to(python)
        self.assertIn("go is not on PATH", self.reproduce(PATH=str(tools), status=1))

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

    def wait_for_slow_cell(self):
        """Waits until SLOW sleeps; the programs of the cells before it have ended."""
        self.assertTrue(self.wait_for(lambda: [*self.temporary.glob("cvgm-*/slow")]), "the slow cell never ran")

    def wait_for(self, condition):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if found := condition():
                return found
            time.sleep(0.05)
        return None


if __name__ == "__main__":
    unittest.main(verbosity=2)
