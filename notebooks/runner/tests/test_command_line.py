"""The command line."""

import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

from checkout import RUNNER
from fixtures import main


class CommandLine(unittest.TestCase):
    def parsed(self, *argv):
        args = main.parse(argv)
        return args.names, args.mode, args.overrides

    def test_what_a_notebook_prints_is_the_answer(self):
        def stream(name, text):
            return {"output_type": "stream", "name": name, "text": text}

        cells = [
            {"cell_type": "markdown", "source": "words"},
            {"cell_type": "code", "outputs": [stream("stdout", ["Use the tuned model.\n", "R² 0.9\n"]), stream("stderr", "a warning\n")]},
            {"cell_type": "code", "outputs": [{"output_type": "display_data", "data": {"text/plain": "a table"}}, stream("stdout", "a file\n")]},
        ]
        with tempfile.TemporaryDirectory() as folder:
            notebook = Path(folder) / "my_data.ipynb"
            notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
            self.assertEqual(main.printed(notebook), "Use the tuned model.\nR² 0.9\na file\n")

    def test_the_first_text_of_a_notebook_is_its_answer(self):
        def shown(*texts):
            outputs = [{"output_type": "display_data", "data": {"image/png": ""}}]
            outputs += [{"output_type": "display_data", "data": {"text/markdown": [text]}} for text in texts]
            return {"cells": [{"cell_type": "markdown", "source": "words"}, {"cell_type": "code", "outputs": outputs}]}

        with tempfile.TemporaryDirectory() as folder:
            notebook = Path(folder) / "01_net.ipynb"
            for content, want in (
                (shown("**The loss is 1.**  At the start 2.\n\n* [Claim 3](claims.md) judges *it*.", "later"), "The loss is 1.  At the start 2.\n\n* Claim 3 judges it."),
                (shown("**Claims**\n\n| a | b |\n| - | - |", "later"), ""),
                (shown("a caption\n\n<details>words</details>"), ""),
                (shown(), ""),
            ):
                notebook.write_text(json.dumps(content), encoding="utf-8")
                self.assertEqual(main.first_text(notebook), want)

    def test_forms(self):
        for argv, want in (
            ([], ([], None, {})),
            (["--check", "rings"], (["rings"], "check", {})),
            (["rings", "--check"], (["rings"], "check", {})),
            (["01", "rings"], (["01", "rings"], None, {})),
            (["lab", "9000"], ([], "lab", {})),
            (["--edit", "lab"], ([], "lab", {})),
            (["reset"], ([], "reset", {})),
            (["reset", "rings", "01"], (["rings", "01"], "reset", {})),
            (["-p", "K=64", "rings", "-p", "Name=a=b", "xor"], (["rings", "xor"], None, {"K": "64", "Name": "a=b"})),
            (["rings", "-p", "help"], (["rings"], None, {"help": ""})),
            (["rings", "-p", "Ps=-1,2"], (["rings"], None, {"Ps": "-1,2"})),
            (["rings", "-p", "K=", "--why"], (["rings"], "why", {"K": ""})),
            *(([f"--{mode}"], ([], mode, {})) for mode in main.MODES),
        ):
            self.assertEqual(self.parsed(*argv), want, argv)
        self.assertEqual((main.parse(["lab", "9000"]).port, main.parse(["lab"]).port), (9000, 0))
        self.assertEqual((main.parse(["lab", "--edit"]).edit, main.parse(["lab"]).edit), (True, False))

    def test_sweeps(self):
        for value in ("--partition=long", "--partition=long --time=60", "-p long", "--wait-all-nodes=1", ""):
            for argv in (["--sbatch", value, "01"], [f"--sbatch={value}", "01"]):
                self.assertEqual(main.parse([*argv, "--on", "slurm"]).sbatch, value)
        for option in ("--array=0-9", "-a 0-9", "--arr=1", "--wait", "-W", "--clusters=b", "-Mb", "--wrap=true", "--job-name=x", "-o log"):
            with self.assertRaisesRegex(main.UsageError, "--sbatch: .* leave it out", msg=option):
                main.parse(["01", "--on", "slurm", "--sbatch", f"--time=60 {option}"])
        for argv in (["--on", "slurm"], ["01", "--shards", "3"], ["01", "--on", "slurm", "--check"], *(["01", "--on", "slurm", *more] for more in (["--shards", "0"], ["--throttle", "x"], ["--sbatch", "'"]))):
            with self.assertRaisesRegex(main.UsageError, "./reproduce.sh -h lists the options", msg=argv):
                main.parse(argv)

    def test_help(self):
        for argv in (["-h"], ["--help"], ["rings", "-h"], ["help"]):
            with self.assertRaises(SystemExit) as stopped, unittest.mock.patch("sys.stdout", io.StringIO()) as out:
                main.parse(argv)
            self.assertEqual(stopped.exception.code, 0)
        for text in ("usage: ./reproduce.sh", "lab [PORT]", "-p PARAMETER=VALUE", ".work/store", *(f"--{mode}" for mode in main.MODES)):
            self.assertIn(text, out.getvalue())

    def test_nonsense_is_refused(self):
        for argv in (
            *(["--chekc"], ["--che"], ["lab", "eighty"], ["lab", "0"], ["lab", "70000"], ["lab", "1", "2"], ["lab", "--check"]),
            *(["rings", "-p"], ["rings", "-p", "K"], ["rings", "-p", "=3"], ["rings", "-p", "K=1", "-p", "K=2"], ["-p", "K=1"]),
            *(["--timings", "rings"], ["--timings", "--check"], ["lab", "--timings"]),
            *(["--edit"], ["rings", "--edit"], ["reset", "--edit"], ["reset", "--force"], ["reset", "rings", "-p", "K=1"], ["lab", "²"], ["site", "a", "b"], ["site", "--force"]),
            *(["lab", "--on", "slurm"], ["reset", "--on", "slurm"], ["--status", "rings"], ["--status", "rings", "-p", "K=1"], ["rings", "-p", "help", "--why"]),
            *(["--full"], ["rings", "--force", "--on", "slurm"]),
            *(["lab", "-p", "K=1"], ["rings", "--check", "-p", "K=1"], ["--check", "--force"], ["--why", "--force"]),
            *(["rings", "-p", "File=/tmp/h\udce4user.csv"], ["rings", "-p", "\udce4=1"]),  # no UTF-8
        ):
            with self.assertRaisesRegex(main.UsageError, "./reproduce.sh -h lists the options", msg=argv):
                main.parse(argv)

    def test_an_interrupt_while_it_starts_shows_no_traceback(self):
        for delay in range(1, 17):
            process = subprocess.Popen([sys.executable, "-I", RUNNER, "no such notebook"], stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            time.sleep(delay / 100)
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
            self.assertNotRegex(said, r'runner/__main__\.py", line \d\d', delay)  # below its first lines

    def test_no_package_of_the_user_is_imported_while_it_starts(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        subprocess.run([sys.executable, "-I", "-m", "venv", "--without-pip", folder.name], check=True)
        (site,) = Path(folder.name, "lib").glob("python*/site-packages")
        (site / "user.pth").write_text("import sys; sys.stderr.write('a package of the user')\n")
        python = Path(folder.name, "bin", "python3")
        said = subprocess.run([python, "-I", "-c", ""], capture_output=True, text=True).stderr
        self.assertIn("a package of the user", said)
        env = os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}"}
        said = subprocess.run([RUNNER.parents[1] / "reproduce.sh", "no such notebook"], env=env, capture_output=True, text=True).stderr
        self.assertRegex(said, "^reproduce: no notebook is called")

    def test_an_interrupt_ends_with_its_status(self):
        folder = tempfile.TemporaryDirectory()  # a run may hold the lock of this checkout
        self.addCleanup(folder.cleanup)
        runner = Path(folder.name, "notebooks/runner")
        shutil.copytree(RUNNER, runner, ignore=shutil.ignore_patterns("tests", "runs", "browser"))
        Path(folder.name, "go.mod").write_text("module cvgm\n")
        Path(folder.name, "notebooks/01_a.ipynb").write_text('{"cells": []}')
        held = os.open(folder.name, os.O_RDONLY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        for stop in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([sys.executable, "-I", "-X", "utf8", runner, "--force"], stderr=subprocess.PIPE, text=True, start_new_session=True)
            self.addCleanup(process.kill)
            first = process.stderr.readline()
            self.assertIn("waiting for it", first)
            os.killpg(process.pid, stop)
            said = process.communicate()[1]
            self.assertEqual((process.returncode, said), (128 + stop, "reproduce: interrupted; finished results and notebooks are kept\n"))

    def test_names(self):
        all_of_them = [Path(f"notebooks/{n}.ipynb") for n in ("00_start", "01_elastic_net", "02_rings", "explore")]

        def chosen(*names):
            return [p.stem for p in main.select(names, all_of_them)]

        self.assertEqual(chosen(), ["01_elastic_net", "02_rings", "explore", "00_start"])
        for name in ("01_elastic_net", "elastic_net", "01", "01_elastic_net.ipynb", "notebooks/01_elastic_net.ipynb", "./notebooks/01_elastic_net.ipynb"):
            self.assertEqual(chosen(name), ["01_elastic_net"], name)
        self.assertEqual(chosen("explore", "01", "elastic_net"), ["01_elastic_net", "explore"])
        with self.assertRaisesRegex(main.UsageError, "no notebook is called 'net'; .*00_start, 01_elastic_net"):
            chosen("net")
