"""Cells, disks, memory and processes that fail."""

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

from small import LIMIT, ROOT, SLOW, WRITES, Small

# An interrupt while a cell runs, whose error comes while the kernel ends.
INTERRUPTED = """import asyncio, contextlib, gc, signal, sys
sys.path.insert(0, "notebooks/runner")
import execute
loop = execute.ensure_event_loop()

class Client:
    def __init__(self, notebook, **_): pass

    @contextlib.contextmanager
    def setup_kernel(self, **_):
        try:
            yield
        finally:
            loop.run_until_complete(asyncio.sleep(.1))
            gc.collect()

    def execute_cell(self, *_, **__):
        async def cell():
            await asyncio.sleep(.01)
            raise RuntimeError("signal: interrupt")
        loop.call_soon(signal.raise_signal, signal.SIGINT)
        loop.run_until_complete(cell())

execute.nbclient.NotebookClient = Client
class notebook: cells = [None]
try:
    execute.execute(notebook, [0], ".", {"TMPDIR": "."}, None, lambda *_: None, lambda: None)
except KeyboardInterrupt:
    print("interrupted")"""


class Failures(Small):
    def test_an_interrupted_cell_fails_in_silence(self):
        done = subprocess.run([ROOT / ".venv/bin/python", "-I", "-c", INTERRUPTED], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual((done.stdout, done.stderr), ("interrupted\n", ""))

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
            if (self.checkout / "figures/out/01_net/provenance.json").exists():  # the last that a run writes of a notebook
                self.assertIn("is up to date", self.reproduce("--why"))
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
        said = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(process.returncode, status, said)
        return said

    def test_a_full_disk_is_named(self):
        if subprocess.run(["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "full", "/mnt"], capture_output=True).returncode:
            self.skipTest("small disks cannot be mounted here")
        self.experiment()
        fresh = self.outputs()
        said = self.on_full_disk(".work/store", "4k", status=0)
        for params in ("ElasticNetSeedsParams", "ElasticNetParams"):
            self.assertRegex(said, rf"note: the result of elasticnet\.{params}\.Run is not kept: .*no space left on device")
        whole = self.outputs()
        shutil.rmtree(self.checkout / "figures" / "out")
        for name, data in fresh.items():
            (self.checkout / name).write_bytes(data)
        self.assertRegex(self.on_full_disk("figures/out", "16k", status=1), "(?i)no space left on device")
        self.assertEqual({k: v for k, v in self.outputs().items() if k in fresh}, fresh)
        self.reproduce()
        self.assertEqual(self.outputs(), whole)

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
        for own in ("figures/out/09_good/", "notebooks/09_good", "figures/out/report"):  # the report says what failed
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
                said = process.communicate(timeout=LIMIT)[0]
                self.assertEqual(process.returncode, 128 + stop, said)
                self.assertIn("interrupted", said)
                self.assertNotIn("Traceback", said)
                self.assertEqual(self.outputs(), before)
                self.assertEqual(self.processes(""), [])
                self.assertEqual(os.listdir(self.checkout / ".work"), ["packages.json"])
                self.assertEqual(os.listdir(self.checkout / ".cache" / "temporary"), [])

    def test_two_at_once(self):
        go_on = Path(self.folder.name, "go on")
        self.addCleanup(go_on.unlink, missing_ok=True)
        self.notebook("01_slow", WRITES, f'%%\nfor {{\n\tif _, err := os.Stat("{go_on}"); err == nil {{\n\t\tbreak\n\t}}\n\ttime.Sleep(50 * time.Millisecond)\n}}')
        self.notebook("02_quick", WRITES)
        self.experiment("03_net")
        first = self.start("01")
        self.assertTrue(self.wait_for(lambda: self.processes("gonb_")))
        # A list of parameters waits for nobody, and leaves the first run's results alone.
        self.assertIn("03_net: the parameters", self.reproduce("03", "-p", "help"))
        second = self.start("02")
        for line in second.stdout:
            if f"(process {first.pid}) is at work in this checkout; waiting" in line:
                break
        else:
            self.fail("the second run did not wait for the first")
        go_on.touch()
        said = second.communicate(timeout=LIMIT)[0]
        self.assertEqual(second.returncode, 0, said)
        self.assertEqual(first.communicate(timeout=LIMIT)[0].count("files changed: 2"), 1)
        self.assertEqual(first.returncode, 0)

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
        said = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(process.returncode, 1, said)
        line = next(line for line in said.splitlines() if line.startswith("notebooks/01_net.ipynb: "))
        self.assertRegex(line, r"cell 4 ran out of memory: it wanted more than the [\d.]+ GB that are free here; set smaller parameters")
        self.assertNotIn("goroutine", said)
        self.assertEqual(self.outputs(), before)
