"""The cell of params() in a kernel in which a person runs single cells."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from small import ROOT, Small

# Runs the sources that it reads from standard input, "restart" restarts the kernel;
# it writes what each printed, by stream.
CLIENT = """
import json, sys
from jupyter_client.manager import KernelManager
manager = KernelManager(kernel_name="gonb")
manager.start_kernel(cwd=sys.argv[1])
client = manager.blocking_client()
client.start_channels()
client.wait_for_ready(timeout=60)
printed = []
for source in json.load(sys.stdin):
    streams = {}
    if source == "restart":
        manager.restart_kernel(now=False)
        client.wait_for_ready(timeout=60)
    else:
        def note(message):
            if message["msg_type"] == "stream":
                name, text = message["content"]["name"], message["content"]["text"]
                streams[name] = streams.get(name, "") + text
        client.execute_interactive(source, output_hook=note, timeout=120)
    printed.append(streams)
client.stop_channels()
manager.shutdown_kernel()
json.dump(printed, sys.stdout)
"""
BELOW = "%%\np, _ := params()\nfmt.Println(p.K)"
REFUSED = "the cell of params() did not run to its end: correct it and run it again"


class CellOfParameters(Small):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.home = Path(folder.name)
        spec = {
            "argv": [f"{ROOT}/.cache/bin/gonb", "--kernel", "{connection_file}", "--raw_error", "--logtostderr=false", "--log_file=/dev/null"],
            "display_name": "Go",
            "language": "go",
        }
        kernel = cls.home / "data/kernels/gonb/kernel.json"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(json.dumps(spec))
        caches = json.loads(subprocess.check_output(["go", "env", "-json", "GOCACHE", "GOMODCACHE"], text=True))
        cls.env = {
            "HOME": folder.name,
            "PATH": f"{ROOT}/.cache/bin:{os.path.dirname(shutil.which('go'))}:/usr/bin:/bin",
            "JUPYTER_DATA_DIR": f"{folder.name}/data",
            "JUPYTER_PREFER_ENV_PATH": "0",  # or the kernel of .venv comes first
            "TMPDIR": folder.name,
            "GOPROXY": "off",
            "GOFLAGS": "-trimpath",  # so that what has been compiled elsewhere serves here
            **caches,
        }
        cells = [c for c in json.loads((ROOT / "notebooks/02_rings.ipynb").read_text())["cells"] if c["cell_type"] == "code"]
        cls.imports, cls.params = ("".join(c["source"]) for c in cells[:2])

    def edited(self, edit):
        self.assertIn("// p.Train = 200", self.params)
        return self.params.replace("// p.Train = 200", edit)

    def execute(self, *sources):
        """What each cell prints to standard output and to standard error."""
        command = [ROOT / ".venv/bin/python", "-I", "-c", CLIENT, self.checkout / "notebooks"]
        done = subprocess.run(command, input=json.dumps(sources), env=self.env, cwd="/", capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return [(streams.get("stdout", ""), streams.get("stderr", "")) for streams in json.loads(done.stdout)]

    def assert_refused(self, printed):
        self.assertEqual(printed[0], "")
        self.assertEqual(printed[1].removesuffix("exit status 1\n").strip(), REFUSED)

    def test_values_in_range_are_accepted(self):
        cells = self.execute(self.imports, self.params, BELOW, self.edited("p.K = 16"), BELOW)
        self.assertEqual(cells, [("", ""), ("", ""), ("256\n", ""), ("", ""), ("16\n", "")])

    def test_cells_below_refuse_until_an_edit_compiles(self):
        mistakes = ("p.k = 16", "p.K = = 16", "p.K = 1.5")
        sources = [self.imports, self.params]
        for mistake in mistakes:
            sources += [self.edited(mistake), BELOW]
        _, _, *cells = self.execute(*sources, "%%\nreplay()", self.edited("p.K = 16"), BELOW)
        for mistake, below in zip(mistakes, cells[1::2]):
            with self.subTest(mistake):
                self.assert_refused(below)
        *_, replay, corrected, below = cells
        self.assert_refused(replay)  # another function of the same cell
        self.assertEqual([corrected, below], [("", ""), ("16\n", "")])

    def test_a_value_out_of_range_is_refused_at_its_own_cell(self):
        for first in (self.params, ""):  # or at the first run
            cells = self.execute(self.imports, first, self.edited("p.K = -3"), BELOW, self.edited("p.K = 16"), BELOW)
            printed, error = cells[2]
            self.assertEqual(printed, "")
            self.assertRegex(error, r"^rings\.K is -3 .*\n")
            self.assertNotIn("goroutine", error)
            self.assert_refused(cells[3])
            self.assertEqual(cells[4:], [("", ""), ("16\n", "")])

    def test_a_restart_is_clean(self):
        other = self.params.replace("func params()", "func others()").splitlines()
        other = "\n".join(line for line in other[: other.index("}") + 1] if not line.startswith("!"))
        cells = self.execute(
            self.imports, self.edited("p.K = -3"), "restart", self.imports, other, "%%\np, _ := others()\nfmt.Println(p.K)", self.params, BELOW
        )
        self.assertRegex(cells[1][1], "K is -3")
        self.assertEqual(cells[3:], [("", ""), ("", ""), ("256\n", ""), ("", ""), ("256\n", "")])
        self.assertEqual([p.name for p in self.home.glob("gonb_*")], [])
