"""Tests of the runner that need neither a kernel nor anything installed."""

import errno
import fcntl
import importlib.util
import io
import json
import logging
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import checkout
import compare
import environment
import layout
import processes
import progress
import provenance
import readme
import report
import sensitivities
import timings


def load_main():
    spec = importlib.util.spec_from_file_location("runner_main", HERE / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["runner_main"] = module
    spec.loader.exec_module(module)
    return module


main = load_main()
TOLERANCE = compare.TOLERANCE


class Readme(unittest.TestCase):
    def test_only_the_block_between_the_markers_changes(self):
        text = f"# Title\n\n{readme.BEGIN}old\ntable\n{readme.END}\n\nThe end.\n"
        new = readme.with_claims(text, "new\n")
        self.assertEqual(new, f"# Title\n\n{readme.BEGIN}new\n\n{readme.END}\n\nThe end.\n")
        self.assertEqual(readme.with_claims(new, "new\n"), new)

    def test_markers_that_are_gone_or_doubled_are_named(self):
        for text in ("", "# Title\n", readme.BEGIN, readme.END, readme.END + readme.BEGIN, 2 * (readme.BEGIN + readme.END), readme.BEGIN + 2 * readme.END):
            with self.assertRaisesRegex(checkout.ReproduceError, "README.md: the claims have no place there; put the line <!-- claims"):
                readme.with_claims(text, "new")


class Report(unittest.TestCase):
    def test_tables(self):
        made = report.table("**A <b> & c**\n\n| X | Verdict |\n| :-- | --: |\n| a \\| b | paper's error |\n| 1.5 ± 0.2 | – |\n\nA note.\n")
        for words in ("<h3>A &lt;b&gt; &amp; c</h3>", "<th>Verdict</th>", '<td class="" data-column="X">a | b</td>', '<td class="verdict error" data-column="Verdict">paper&#x27;s error</td>',
                      '<td class="number" data-column="X">1.5 ± 0.2</td><td class="number none" data-column="Verdict">–</td>', '<p class="note">A note.</p>'):
            self.assertIn(words, made)

    def test_makers_are_found_in_the_source(self):
        self.assertEqual(report.maker("elastic_net_surfaces"), "figures.ElasticNetSurfaces")
        self.assertIsNone(report.maker("no such output"))


class CommandLine(unittest.TestCase):
    def parsed(self, *argv):
        args = main.parse(argv)
        return args.names, args.mode, args.overrides

    def test_forms(self):
        for argv, want in (
            ([], ([], None, {})),
            (["--check", "rings"], (["rings"], "check", {})),
            (["rings", "--check"], (["rings"], "check", {})),
            (["01", "rings"], (["01", "rings"], None, {})),
            (["lab", "9000"], ([], "lab", {})),
            (["-p", "K=64", "rings", "-p", "Name=a=b", "xor"], (["rings", "xor"], None, {"K": "64", "Name": "a=b"})),
            (["rings", "-p", "help"], (["rings"], None, {"help": ""})),
            (["rings", "-p", "Ps=-1,2"], (["rings"], None, {"Ps": "-1,2"})),
            (["rings", "-p", "K=", "--why"], (["rings"], "why", {"K": ""})),
            *(([f"--{mode}"], ([], mode, {})) for mode in main.MODES),
        ):
            self.assertEqual(self.parsed(*argv), want, argv)
        self.assertEqual((main.parse(["lab", "9000"]).port, main.parse(["lab"]).port), (9000, 0))

    def test_help(self):
        for argv in (["-h"], ["--help"], ["rings", "-h"]):
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
            *(["lab", "-p", "K=1"], ["rings", "--check", "-p", "K=1"], ["--check", "--force"], ["--why", "--force"]),
        ):
            with self.assertRaisesRegex(main.UsageError, "./reproduce.sh -h lists the options", msg=argv):
                main.parse(argv)

    def test_names(self):
        all_of_them = [Path(f"notebooks/{n}.ipynb") for n in ("00_start", "01_elastic_net", "02_rings", "explore")]

        def chosen(*names):
            return [p.stem for p in main.select(names, all_of_them)]

        self.assertEqual(chosen(), ["00_start", "01_elastic_net", "02_rings", "explore"])
        for name in ("01_elastic_net", "elastic_net", "01", "01_elastic_net.ipynb", "notebooks/01_elastic_net.ipynb"):
            self.assertEqual(chosen(name), ["01_elastic_net"], name)
        self.assertEqual(chosen("explore", "01", "elastic_net"), ["01_elastic_net", "explore"])
        with self.assertRaisesRegex(main.UsageError, "no notebook is called net; .*00_start, 01_elastic_net"):
            chosen("net")


class Numbers(unittest.TestCase):
    def difference(self, old, new, tolerance=TOLERANCE, sensitivity=None):
        return compare.text_difference(old, new, tolerance, sensitivity)

    def test_equal(self):
        self.assertIsNone(self.difference("a 1.5", "a 1.5", 0))

    def test_bytes_count_without_tolerance(self):
        self.assertIn("1 of 2 numbers", self.difference("x,1,2.0000000001\n", "x,1,2\n", 0))
        self.assertIn("line 1", self.difference("2.0\n", "2.00\n", 0))
        self.assertIn("line ends", self.difference("a\n", "a\r\n", 0))

    def test_within_tolerance(self):
        self.assertIsNone(self.difference("1.00000000001", "1.00000000002"))
        self.assertIsNone(self.difference("1.080", "1.079"))  # one unit in the last place
        self.assertIsNone(self.difference("1.25e-3", "1.26e-3"))
        self.assertIsNone(self.difference("M1.5,2.0L3", "M1.5,2.1L3"))

    def test_beyond_tolerance(self):
        self.assertIsNotNone(self.difference("1.080", "1.078"))
        self.assertIsNotNone(self.difference("1.00000000", "1.00000002"))
        self.assertIsNotNone(self.difference("1.00000000000", "1.00000001000"))
        self.assertIsNone(self.difference("1.00000000000", "1.00000000050"))
        self.assertIsNotNone(self.difference("K=64", "K=63"))  # whole numbers are exact
        self.assertIsNotNone(self.difference("1.5", "-1.5"))
        self.assertIsNotNone(self.difference("1.5", "NaN"))

    SERIES = "panel,series,x,y,z,low,high\np,C = 5,0,1.00000000000,,,\np,C = 5,1,1.00000000000,,,\np,other,1,1.00000000000,,,\n"

    def test_a_twin_tells_what_is_sensitive(self):
        twin = self.SERIES.replace("1,1.00000000000,,,\np,o", "1,1.00000100000,,,\np,o")
        found = compare.sensitivities(self.SERIES, twin)
        self.assertEqual(list(found), ["p | C = 5 | 2"])  # after 5, of the name, and x
        self.assertAlmostEqual(found["p | C = 5 | 2"], 1e-6, 12)
        self.assertEqual(compare.sensitivities("a 1.5\nb 2.5 3.5", "a 1.5\nb 2.5 3.25"), {"line 2 | 1": 0.25})
        self.assertEqual(compare.sensitivities(self.SERIES, self.SERIES), {})

    def test_what_the_twin_writes_otherwise_is_free(self):
        shorter = self.SERIES.replace("p,C = 5,1,1.00000000000,,,\n", "")
        found = compare.sensitivities(self.SERIES, shorter)
        self.assertEqual(found, {"p | C = 5": compare.FREE})
        self.assertIsNone(compare.text_difference(self.SERIES, shorter, TOLERANCE, found))
        self.assertIn("committed '", compare.text_difference(self.SERIES, shorter.replace("other", "another"), TOLERANCE, found))
        words = compare.sensitivities("a yes\nb 1.5", "a no\nb 1.5")
        self.assertEqual(words, {"line 1": compare.FREE})
        self.assertIsNone(compare.text_difference("a yes\nb 1.5", "a perhaps\nb 1.5", TOLERANCE, words))
        self.assertIsNotNone(compare.text_difference("a yes\nb 1.5", "a yes\nb 1.7", TOLERANCE, words))
        self.assertEqual(compare.sensitivities("a\nb", "a"), {"": compare.FREE})
        self.assertIsNone(compare.text_difference("a\nb", "c", TOLERANCE, {"": compare.FREE}))

    def test_sensitive_numbers_may_differ_by_ten_times_as_much(self):
        for group, line, most in (("p | C = 5 | 2", 1, 1e-5), ("p | C = 5 | 2", 2, 1e-5), ("p | other | 1", 3, 0)):
            for off, agrees in ((0.9 * most, True), (1.1 * most + 2e-9, False)):
                rows = self.SERIES.splitlines()
                rows[line] = rows[line].replace("1.00000000000", f"{1 + off:.11f}")
                said = compare.text_difference(self.SERIES, "\n".join(rows), TOLERANCE, {"p | C = 5 | 2": 1e-6})
                self.assertEqual(said is None, agrees, (group, line, off))
        # A count may differ only where it does in the twin.
        self.assertIsNone(self.difference("steps 10", "steps 12", TOLERANCE, {"line 1 | 0": 1}))
        self.assertIsNotNone(self.difference("steps 10", "steps 12"))
        self.assertIsNotNone(self.difference("steps 10", "steps 12", 0, {"line 1 | 0": 1}))  # where every byte counts

    def test_says_where_and_how_much(self):
        got = self.difference("a,b\n1,2.5\n3,4.0\n", "a,b\n1,2.5\n3,5.0\n")
        self.assertEqual(got, "1 of 4 numbers differ, the most by 2.0e-01 of its size (line 3: committed 4.0, recomputed 5.0)")
        self.assertIn("line 2: committed 'cat', recomputed 'dog'", self.difference("a\ncat\n", "a\ndog\n"))
        self.assertIn("committed 2 lines, recomputed 1", self.difference("a\nb\n", "a\n"))


class Folders(unittest.TestCase):
    def compare(self, old, new, tolerance):
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            for folder, files in ((a, old), (b, new)):
                for name, data in files.items():
                    path = Path(folder, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
            return {str(p): what for p, what in compare.folder_differences(Path(a), Path(b), tolerance)}

    def test_missing_and_extra_and_changed(self):
        got = self.compare({"a.csv": b"1", "old.csv": b"1", "d/c.png": b"xy"}, {"a.csv": b"2", "new.csv": b"1", "d/c.png": b"xz"}, 0)
        self.assertEqual(sorted(got), ["a.csv", "d/c.png", "new.csv", "old.csv"])
        self.assertIn("first difference is at byte 1", got["d/c.png"])

    def test_pictures_elsewhere_only_have_to_be_there(self):
        self.assertEqual(self.compare({"c.png": b"xy"}, {"c.png": b"xz"}, TOLERANCE), {})
        self.assertEqual(list(self.compare({"c.png": b"xy"}, {}, TOLERANCE)), ["c.png"])

    def test_figures_by_their_plotted_series(self):
        plotted = 'panel,series,x,y\nloss,"K, published",0,0.5\nloss,"K, published",1,0.25\n'
        old = {"f.csv": plotted.encode(), "f.png": b"xy", "t.csv": b"panel\n1.5\n"}
        got = self.compare(old, old | {"f.csv": plotted.replace("0.25", "0.2").encode(), "f.png": b"xz"}, 0)
        self.assertEqual(
            got["f.csv"],
            "1 of 4 numbers differ, the most by 2.0e-01 of its size "
            "(line 3, series 'K, published' of panel 'loss': committed 0.25, recomputed 0.2)",
        )
        self.assertEqual(got["f.png"], "plots the series of f.csv, which differ")
        got = self.compare(old, old | {"f.png": b"xz", "t.csv": b"panel\n1.4\n"}, 0)
        self.assertIn("the picture alone was changed: the series it plots agree", got["f.png"])
        self.assertIn("(line 2: committed 1.5, recomputed 1.4)", got["t.csv"])

    def test_a_folder_that_is_not_there_holds_nothing(self):
        self.assertEqual(compare.files_in(Path("/nonexistent")), {})


class Notebooks(unittest.TestCase):
    def notebook(self, text, picture="AAAA"):
        outputs = [
            {"output_type": "stream", "name": "stdout", "text": [text]},
            {"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}},
        ]
        return json.dumps({"cells": [{"cell_type": "markdown", "source": []}, {"cell_type": "code", "outputs": outputs}]})

    def difference(self, old, new, tolerance=0):
        return list(compare.notebook_differences(old, new, tolerance))

    def test_names_the_cell(self):
        got = self.difference(self.notebook("loss 1.25\n"), self.notebook("loss 1.5\n"))
        self.assertEqual([place for place, _ in got], ["cell 2, output 1 (stdout)"])
        self.assertIn("committed 1.25, recomputed 1.5", got[0][1])

    def test_pictures(self):
        old, new = self.notebook("a", "AAAA"), self.notebook("a", "BBBB")
        self.assertEqual(self.difference(old, new), [("cell 2, output 2 (image/png)", "the picture differs")])
        self.assertEqual(self.difference(old, new, TOLERANCE), [])

    def test_layout_counts_only_where_bytes_do(self):
        old = self.notebook("a") + "\n"
        self.assertEqual([place for place, _ in self.difference(old, self.notebook("a"))], ["the file"])
        self.assertEqual(self.difference(old, self.notebook("a"), TOLERANCE), [])

    def test_an_unreadable_notebook_is_named(self):
        self.assertEqual([place for place, _ in self.difference("{", self.notebook("a"))], ["the file"])

    def test_lost_outputs(self):
        old = json.dumps({"cells": [{}, {"outputs": []}]})
        self.assertEqual(self.difference(old, self.notebook("a")), [("cell 2", "committed 0 outputs, recomputed 2")])


class Files(unittest.TestCase):
    def test_a_failed_write_leaves_the_old_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out.csv")
            checkout.write_atomic(path, b"old")
            with self.assertRaises(TypeError):
                checkout.write_atomic(path, "not bytes")
            self.assertEqual(path.read_bytes(), b"old")
            self.assertEqual(os.listdir(folder), ["out.csv"])

    def test_a_full_disk_is_named_and_leaves_the_old_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out.csv")
            checkout.write_atomic(path, b"old")
            script = (
                "import resource, sys; sys.path.insert(0, sys.argv[1]); import checkout\n"
                "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
                "checkout.write_atomic(checkout.Path(sys.argv[2]), bytes(5000))"
            )
            done = subprocess.run([sys.executable, "-I", "-c", script, str(HERE), str(path)], capture_output=True, text=True)
            self.assertRegex(done.stderr, rf"File too large: '{path}'")
            self.assertEqual((os.listdir(folder), path.read_bytes()), (["out.csv"], b"old"))

    def test_what_a_killed_run_leaves_is_swept(self):
        with Checkout(self), tempfile.TemporaryDirectory() as folder:
            orphans, mine = Path(folder, "cvgm-orphan"), Path(folder, "cvgm-mine")
            for path in (orphans, mine, Path(folder, "other")):
                path.mkdir()
            processes.CLAIMS.mkdir(parents=True)
            (processes.CLAIMS / "cvgm-orphan").write_text(str(orphans))
            (processes.CLAIMS / "cvgm-wrong").write_text(f"{folder}/other")  # not what such a file says
            left = subprocess.Popen(["sleep", "60"], env={"TMPDIR": str(orphans), "PATH": os.environ["PATH"]})
            half = processes.NOTEBOOKS / ".n.ipynb.123.tmp"
            half.parent.mkdir()
            half.write_bytes(b"half")
            listing = processes.WORK / ".new-1"
            listing.write_bytes(b"half")
            with processes.temporary_folder() as held:
                processes.sweep()
                self.assertTrue(os.path.isdir(held))
            self.assertFalse(os.path.exists(held))
            self.assertEqual(left.wait(60), -9)
            self.assertEqual(sorted(os.listdir(folder)), ["cvgm-mine", "other"])
            self.assertEqual((os.listdir(processes.CLAIMS), half.exists(), listing.exists()), ([], False, False))


class Checkout:
    """A folder that the runner's modules take for the checkout."""

    PLACES = {
        environment: {"ROOT": "", "CACHE": ".cache"},
        processes: {"ROOT": "", "NOTEBOOKS": "notebooks", "WORK": ".work", "CLAIMS": ".work/temporary"},
        readme: {"README": "README.md"},
        report: {"ROOT": "", "PAGE": "figures/out/report.html"},
        provenance: {"ROOT": "", "NOTEBOOKS": "notebooks", "OUT": "figures/out", "RUNS": ".work/runs", "STORE": ".work/store", "TIMINGS": "figures/out/timings.json"},
        main: {"ROOT": "", "NOTEBOOKS": "notebooks", "WORK": ".work"},
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


def agrees(task):
    """Whether task's outputs are those of its last run, as notebooks/stale compares them."""
    last = provenance.read(task)
    if last is None:
        return False
    there = {task.out / name: data for name, data in compare.files_in(task.out).items()}
    if not task.overrides:
        there[task.notebook] = task.notebook.read_bytes()
    return last["outputs"] == {str(p.relative_to(provenance.ROOT)): checkout.sha256(data) for p, data in there.items()}


class Provenance(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.cells("1")

    def cells(self, code, text="words", name="n"):
        cells = [{"cell_type": "markdown", "source": [text]}, {"cell_type": "code", "source": [code], "outputs": []}]
        self.checkout.write(f"notebooks/{name}.ipynb", json.dumps({"cells": cells}))

    def run_task(self, task, outputs, keys=("k" * 64,)):
        """What run_all does, less the kernel."""
        new = {task.out / name: data for name, data in outputs.items()} | {task.notebook: task.path.read_bytes()}
        changed = main.install(task, new)
        records = [{"function": "f", "parameters": {"Seed": 1}, "key": key} for key in (*keys, *keys)]
        records.append({"output": "t", "caption": "T"})
        provenance.write(task, {"Go": "go1.26"}, records, {"commit": "c", "clean": True, "changed": []}, new)
        return changed

    def task(self, *overrides, name="n"):
        return provenance.Task(self.checkout.root / "notebooks" / f"{name}.ipynb", overrides)

    def test_a_run_leaves_what_it_was_made_from(self):
        self.run_task(self.task(), {"t.csv": b"1"})
        found = provenance.read(self.task())
        self.assertEqual((found["inputs"], found["captions"], len(found["results"])), ({"Go": "go1.26"}, {"t": "T"}, 1))
        self.assertEqual(found["outputs"].keys(), {"figures/out/n/t.csv", "notebooks/n.ipynb"})
        self.assertTrue(agrees(self.task()))
        self.cells("1", "other words")
        self.assertFalse(agrees(self.task()))
        provenance.rewrite(self.task(), {self.task().path: self.task().path.read_bytes()})
        again = provenance.read(self.task())
        self.assertTrue(agrees(self.task()))
        self.assertEqual({k: v for k, v in again.items() if k != "outputs"}, {k: v for k, v in found.items() if k != "outputs"})

    def test_the_digest_of_cells_leaves_out_text(self):
        def digest():
            return layout.cells_digest(self.task().path.read_bytes())

        before = digest()
        self.cells("1", "other words")
        self.assertEqual(digest(), before)
        self.cells("2")
        self.assertNotEqual(digest(), before)

    def test_notebooks_without_parameters_are_refused(self):
        self.cells("notebook.Params(&p)", name="m")
        main.require_parameters([self.task(name="m").path])
        with self.assertRaisesRegex(main.UsageError, "^n has no parameters"):
            main.require_parameters([self.task(name=name).path for name in "mn"])

    def test_damaged_provenance_is_none(self):
        for text in ("{", "[]", "3", '{"inputs": {}}', '{"inputs": {}, "outputs": 3, "results": []}'):
            self.checkout.write("figures/out/n/provenance.json", text)
            self.assertIsNone(provenance.read(self.task()), text)

    def test_what_has_to_run(self):
        agreeing, edited, stale = (self.task(name=name) for name in "abc")
        states = {agreeing: {"reasons": [], "rewrite": False}, edited: {"reasons": [], "rewrite": True}, stale: {"reasons": ["x"], "rewrite": False}}
        self.assertEqual([*main.to_run([*states], states, main.parse([]))], [stale])
        self.assertEqual([*main.to_run([agreeing, edited], states, main.parse(["a", "b"]))], [])
        for mode in ("--force", "--check"):
            self.assertEqual([*main.to_run([*states], states, main.parse([mode]))], [*states])
        with self.assertRaisesRegex(checkout.ReproduceError, "the outputs of c are stale"):
            main.to_run([*states], states, main.parse(["--sensitivities"]))

    def test_install_replaces_adds_and_removes(self):
        self.checkout.write("figures/out/n/gone", b"1")
        self.checkout.write("figures/out/n/same", b"1")
        self.assertEqual(self.run_task(self.task(), {"same": b"1", "new": b"2"}), 2)
        kept = compare.files_in(self.checkout.root / "figures/out/n")
        self.assertEqual({str(k): v for k, v in kept.items()}, {"same": b"1", "new": b"2"})
        self.assertEqual(self.run_task(self.task(), {"same": b"1", "new": b"2"}), 0)

    def test_other_parameters_have_a_place_of_their_own(self):
        task = self.task(("C", "5"), ("K", "64"))
        self.run_task(task, {"t.csv": b"1"})
        folder = self.checkout.root / ".work/runs/n/C=5,K=64"
        self.assertEqual(sorted(p.name for p in folder.iterdir()), ["n.ipynb", "provenance.json", "t.csv"])
        self.assertEqual((agrees(task), agrees(self.task())), (True, False))
        self.assertEqual(provenance.past_runs(), [task])
        self.assertFalse((self.checkout.root / "figures/out").exists())
        for value in ("../../x", "a/b", "x" * 300):
            self.assertEqual(self.task(("Name", value)).out.resolve().parent, (self.checkout.root / ".work/runs/n").resolve())

    def test_the_store_keeps_what_outputs_were_made_from(self):
        self.cells("", name="m")
        for task, key in ((self.task(), "a"), (self.task(("K", "3")), "b"), (self.task(name="m"), "c")):
            self.run_task(task, {}, [key * 64])
        for key in "abcd":
            self.checkout.write(f".work/store/experiment.P.Run-{key * 16}", "result")
        self.checkout.write(f".work/store/experiment.P.Run-{'e' * 16}.cells/1", "cell")
        self.checkout.write(".work/store/.new-123", "half")
        self.assertEqual(provenance.past_runs(), [self.task(("K", "3"))])
        tasks = [self.task(), self.task(name="m"), *provenance.past_runs()]
        provenance.prune({task: {"reasons": ["c is out of date"] if task.name == "m" else []} for task in tasks})
        left = sorted(p.name for p in (self.checkout.root / ".work/store").iterdir())
        self.assertEqual(left, [f"experiment.P.Run-{key * 16}" for key in "ab"])

    def test_strays(self):
        for name in ("n/t.csv", "gone/t.csv", "old/provenance.json", "timings.json", "loose.csv"):
            self.checkout.write(f"figures/out/{name}", "1")
        self.assertEqual([p.name for p in main.strays()], ["gone", "loose.csv"])


class Layout(unittest.TestCase):
    def test_committed_notebooks_are_in_plain_form(self):
        paths = sorted(HERE.parent.glob("*.ipynb"))
        self.assertTrue(paths)
        for path in paths:
            data = path.read_bytes()
            self.assertEqual(layout.plain(json.loads(data)), data, path.name)
            digest = layout.cells_digest(data)
            notebook = json.loads(data)
            for cell in notebook["cells"]:  # as other editors write it
                cell["source"] = "".join(cell["source"])
                cell["metadata"]["trusted"] = True
            notebook["metadata"] = {"editor": 1}
            other = json.dumps(notebook).encode()
            self.assertEqual((layout.plain(json.loads(other)), layout.cells_digest(other)), (data, digest))

    def test_cells_have_ids_and_ordered_outputs(self):
        outputs = [{"output_type": "stream", "name": "stdout", "text": "a\nb"}, {"output_type": "display_data", "data": {"text/html": "<p>\n", "application/json": "x\ny"}, "metadata": {}}]
        cells = [{"cell_type": "code", "id": i, "metadata": {}, "source": "", "outputs": json.loads(json.dumps(outputs))} for i in ("a", "a", "")]
        made = json.loads(layout.plain({"cells": cells}))
        self.assertEqual([c["id"] for c in made["cells"]], ["a", "cell-2", "cell-3"])
        for cell in made["cells"]:
            self.assertEqual([o["output_type"] for o in cell["outputs"]], ["display_data", "stream"])
            self.assertEqual(cell["outputs"][0]["data"], {"text/html": ["<p>\n"], "application/json": "x\ny"})
            self.assertEqual(cell["outputs"][1]["text"], ["a\n", "b"])


class FakeExecute(types.ModuleType):
    """In place of execute.py: a notebook of three cells that write a file each."""

    class NotebookError(checkout.ReproduceError):
        pass

    class ParameterError(NotebookError):
        pass

    def run(self, path, temporary, staging, env, progress, records):
        for name in ("a.csv", "b.csv", "claims_at_a_glance.md"):
            staging.path.mkdir(exist_ok=True)  # as notebook.Save does
            (staging.path / name).write_text("new " + name)
            Path(env["CVGM_STORE"]).mkdir(parents=True, exist_ok=True)
            (Path(env["CVGM_STORE"]) / name).write_text("result")
            staging.check()
        return path.read_bytes()


class Vanishing(unittest.TestCase):
    """Folders that are deleted at any moment of a run cost at most the run."""

    GO = "go1.26 amd64"

    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.root = self.checkout.root
        self.checkout.write("notebooks/n.ipynb", json.dumps({"cells": []}))
        handler = logging.Handler()
        handler.emit = lambda record: self.said.append(record.getMessage())
        checkout.log.addHandler(handler)
        self.addCleanup(checkout.log.removeHandler, handler)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.temporary = Path(temporary.name)
        for module, name, value in (
            (environment, "build_packages", lambda env: None),
            (processes, "discard", lambda folder: shutil.rmtree(folder, ignore_errors=True)),
            (provenance, "examine", lambda tasks, env: {t: {"reasons": [] if agrees(t) else ["x"], "rewrite": False, "inputs": {}} for t in tasks}),
            (provenance, "version", lambda: {}),
            (os, "fsync", lambda fd: None),
            (tempfile, "tempdir", temporary.name),
        ):
            patch = unittest.mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        patch = unittest.mock.patch.dict(sys.modules, {"execute": FakeExecute("execute")})
        patch.start()
        self.addCleanup(patch.stop)

    def committed(self):
        places = [*compare.files_in(self.root / "figures/out/n").items()]
        return {str(name): data.decode() for name, data in places} | {"README.md": (self.root / "README.md").read_text()}

    OLD = {"a.csv": "old a", "b.csv": "old b", "claims_at_a_glance.md": "old c", "obsolete.csv": "old d", "README.md": readme.BEGIN + "old c\n" + readme.END}
    NEW = {name: "new " + name for name in ("a.csv", "b.csv", "claims_at_a_glance.md")}
    NEW["README.md"] = readme.BEGIN + NEW["claims_at_a_glance.md"] + "\n" + readme.END

    def run_at(self, args, delete, moment):
        """Runs from the old outputs and calls delete at that call of a function by
        the runner's code; the exit status, and whether the moment came."""
        shutil.rmtree(self.root / ".work", ignore_errors=True)
        shutil.rmtree(self.root / "figures", ignore_errors=True)
        for name, data in self.OLD.items():
            self.checkout.write(name if name == "README.md" else f"figures/out/n/{name}", data)
        self.said, self.before_the_end, count = [], False, 0

        def on_event(frame, event, _):
            nonlocal count
            if event in ("call", "c_call") and frame.f_code.co_filename.startswith(str(HERE)) and frame.f_code.co_filename != __file__:
                count += 1
                if count == moment:
                    sys.setprofile(None)
                    while frame and frame.f_code.co_name != "run_task":
                        frame = frame.f_back
                    self.before_the_end = frame is not None
                    delete()
                    sys.setprofile(on_event)

        sys.setprofile(on_event)
        try:
            status = self.reproduce(args)
        finally:
            sys.setprofile(None)
        return status, count >= moment

    def reproduce(self, args):
        try:
            return main.run([self.task(args)], args, {environment.TOOLCHAIN: self.GO})
        except (checkout.ReproduceError, OSError) as e:
            self.said.append(str(e))
            return 1

    def task(self, args):
        return provenance.Task(self.root / "notebooks/n.ipynb", tuple(sorted(args.overrides.items())))

    def staged(self):
        return [*self.temporary.glob("cvgm-*/out")]

    def delete_work(self):
        shutil.rmtree(self.root / ".work", ignore_errors=True)

    def delete_staging(self):
        for folder in self.staged():
            shutil.rmtree(folder)

    def empty_staging(self):
        for folder in self.staged():
            for path in folder.iterdir():
                path.unlink()

    def delete_temporary(self):
        for folder in self.temporary.glob("cvgm-*"):
            shutil.rmtree(folder)

    # CVGM_MOMENTS=1 tries every one, in minutes.
    STRIDE = int(os.environ.get("CVGM_MOMENTS", 23))

    def test_at_every_moment(self):
        failures, first = {}, 0
        for delete in (self.delete_work, self.delete_staging, self.empty_staging, self.delete_temporary):
            for args in map(main.parse, (["n"], ["n", "--force"], ["n", "--check"], ["n", "-p", "K=3"])):
                first, came = first + 1, True  # so that the moments differ
                moment = first - self.STRIDE
                while came:
                    moment += self.STRIDE
                    where = f"{delete.__name__}, {args}, moment {moment}"
                    status, came = self.run_at(args, delete, moment)
                    committed = self.committed()
                    if args.mode == "check" or args.overrides:
                        self.assertEqual(committed, self.OLD, where)
                    if status:
                        failures[delete.__name__] = failures.get(delete.__name__, 0) + (args.mode != "check")
                        if args.mode != "check":
                            self.assertRegex("\n".join(self.said), "deleted|No such file", where)
                        for name, data in committed.items():
                            self.assertIn(data, (self.OLD.get(name), self.NEW.get(name)), where)
                        self.assertLessEqual(self.NEW.keys(), committed.keys(), where)
                        if args.mode != "check":
                            self.assertEqual(self.reproduce(args), 0, where)
                    if args.overrides:
                        if not agrees(self.task(args)):
                            self.assertFalse(self.before_the_end and status == 0, where)
                            self.assertEqual(self.reproduce(args), 0, where)
                        made = compare.files_in(self.task(args).out)
                        self.assertEqual({str(k): v.decode() for k, v in made.items() if k.suffix != ".ipynb"}, {k: v for k, v in self.NEW.items() if k != "README.md"}, where)
                    elif args.mode != "check":
                        self.assertEqual(self.committed(), self.NEW, where)
                        self.assertTrue(agrees(self.task(args)), where)
        # Deleting .work spoils only what a run with -p puts there.
        self.assertEqual(failures.keys() - {"delete_work"}, {"delete_staging", "empty_staging", "delete_temporary"})

    def test_markers_that_are_gone_fail_a_run_and_a_check(self):
        for args in (main.parse(["n"]), main.parse(["n", "--check"])):
            self.run_at(main.parse(["n"]), lambda: None, 0)
            self.assertTrue(agrees(self.task(args)))
            (self.root / "README.md").write_text("no markers\n")
            self.said = []
            self.assertEqual(self.reproduce(args), 1)
            self.assertIn("README.md: the claims have no place there", "\n".join(self.said))
            self.assertEqual((self.root / "README.md").read_text(), "no markers\n")
            # A run that finds nothing stale brings the claims up to date, too.
            (self.root / "README.md").write_text(self.OLD["README.md"])
            self.assertEqual(self.reproduce(main.parse(["n"])), 0)
            self.assertEqual(self.committed(), self.NEW)


class Locking(unittest.TestCase):
    HOLD = """if True:
        import os, sys; sys.path.insert(0, sys.argv[1])
        import logging, processes
        processes.log.addHandler(logging.StreamHandler())
        processes.log.setLevel(logging.INFO)
        processes.ROOT, processes.WORK = processes.Path(sys.argv[2]), processes.Path(sys.argv[2], ".work")
        lock = processes.Lock()
        print("locked", flush=True)
        if sys.argv[3:]:
            processes.command(sys.argv[3:], dict(os.environ), "test")
        sys.stdin.read()
    """

    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.checkout.write("reproduce.sh", "")
        self.root = self.checkout.root
        self.addCleanup(setattr, processes.Lock, "held", ())

    def hold(self, *argv):
        argv = [sys.executable, "-I", "-c", self.HOLD, str(HERE), str(self.root), *argv]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_the_lock_outlives_the_work_folder_and_names_its_owner(self):
        first = self.hold()
        self.assertEqual(first.stdout.readline(), "locked\n")
        shutil.rmtree(self.root / ".work", ignore_errors=True)
        second = self.hold()
        self.assertRegex(second.stdout.readline(), rf"another ./reproduce.sh \(process ({first.pid}|\?)\) is at work")
        first.kill()
        self.assertEqual(second.stdout.readline(), "locked\n")
        self.assertEqual(sorted(os.listdir(self.root)), ["reproduce.sh"], "the lock leaves a file")

    def test_where_folders_cannot_be_locked_a_file_is(self):
        true = fcntl.flock

        def flock(fd, how):  # as NFS has it
            if os.path.isdir(f"/proc/self/fd/{fd}"):
                raise OSError(errno.EBADF, "Bad file descriptor")
            return true(fd, how)

        if not os.path.isdir("/proc/self/fd"):
            self.skipTest("no /proc")
        with unittest.mock.patch.object(fcntl, "flock", flock):
            lock = processes.Lock()
        with open(self.root / "reproduce.sh", "rb+") as f, self.assertRaises(BlockingIOError):
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.release()
        with unittest.mock.patch.object(fcntl, "flock", side_effect=OSError(errno.ENOLCK, "No locks available")):
            with self.assertRaisesRegex(checkout.ReproduceError, r"cannot be locked \(No locks available\).*move the checkout"):
                processes.Lock()

    def test_what_a_killed_run_started_holds_up_the_next(self):
        ours = self.root / "pid"
        first = self.hold("sh", "-c", f"sleep 60 & echo $! > {ours}; wait")
        orphan = int(wait_for(lambda: ours.exists() and ours.read_text()))
        first.kill()
        first.wait()
        second = self.hold()
        self.assertIn("waiting for it", second.stdout.readline())
        os.kill(orphan, signal.SIGKILL)
        self.assertEqual(second.stdout.readline(), "locked\n")

    def test_children_end_with_a_run_that_is_killed(self):
        if sys.platform != "linux":
            self.skipTest("only Linux ends children with their parent")
        ours = self.root / "pid"
        first = self.hold("sh", "-c", f"echo $$ > {ours}; exec sleep 60")
        child = int(wait_for(lambda: ours.exists() and ours.read_text()))
        first.kill()
        first.wait()
        self.assertTrue(wait_for(lambda: not alive(child)), "the child lives on")
        processes.Lock().release()


class Sensitivities(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.task = provenance.Task(self.checkout.root / "notebooks/n.ipynb")
        self.checkout.write("notebooks/n.ipynb", self.notebook("2.50000"))
        self.checkout.write("figures/out/n/t.csv", "a,1.00000\n")
        self.checkout.write("figures/out/n/provenance.json", "{}")

    def notebook(self, value):
        output = {"output_type": "stream", "name": "stdout", "text": [f"loss {value}\n"]}
        return json.dumps({"cells": [{"cell_type": "code", "source": [], "outputs": [output]}]})

    def differing(self, table, value, tolerance=TOLERANCE):
        self.checkout.write("fresh/t.csv", f"a,{table}\n")
        return list(main.differing(self.task, self.checkout.root / "fresh", self.notebook(value).encode(), tolerance))

    def test_recorded_from_the_twin_and_allowed_for_elsewhere(self):
        self.checkout.write("twin/t.csv", "a,1.00100\n")
        self.assertEqual(self.differing("1.00000", "2.50000"), [])
        self.assertEqual(len(self.differing("1.00500", "2.52000")), 2)
        sensitivities.record(self.task, sensitivities.of(self.task, self.checkout.root / "twin", self.notebook("2.50300").encode()))
        self.assertEqual(sensitivities.read(self.task), {"t.csv": {"line 1 | 0": 1e-3}, "cell 1, output 1 (stdout)": {"line 1 | 0": 3e-3}})
        self.assertEqual(self.differing("1.00500", "2.52000"), [])
        self.assertEqual(len(self.differing("1.02000", "2.55000")), 2)
        self.assertEqual(len(self.differing("1.00500", "2.52000", 0)), 2)
        self.assertEqual(sensitivities.read(provenance.Task(Path("notebooks/other.ipynb"))), {})

    def test_what_is_written_no_more_is_named(self):
        self.checkout.write("figures/out/sensitivities.json", '{"n": {"gone.csv": {"line 1 | 0": 1}}}')
        self.assertIn("gone.csv is no output", self.differing("1.00000", "2.50000", 0)[0])


class Timings(unittest.TestCase):
    SAID = """pkg: cvgm/qpdiff
BenchmarkQP/c_64x(50,50,0)-2 \t 6\t 300 ns/op\t 29.5 µs/problem\t 8 B/op\t 2 allocs/op
BenchmarkQP/c_64x(50,50,0)-2 \t 6\t 100.5 ns/op\t 9 µs/problem\t 8 B/op\t 2 allocs/op
BenchmarkQP/c_64x(50,50,0)-2 \t 6\t 200 ns/op\t 19 µs/problem\t 8 B/op\t 2 allocs/op
BenchmarkStep/workers-1 \t 1\t 7 ns/op
PASS
"""

    def test_median_and_lowest(self):
        got = timings.parse(self.SAID, 2)
        self.assertEqual(list(got), ["QP/c_64x(50,50,0)", "Step/workers-1"])
        self.assertEqual(got["QP/c_64x(50,50,0)"]["ns/op"], {"median": 200, "lowest": 100.5})
        self.assertEqual(got["QP/c_64x(50,50,0)"]["µs/problem"], {"median": 19, "lowest": 9})
        self.assertEqual(list(timings.parse(self.SAID, 1)), ["QP/c_64x(50,50,0)-2", "Step/workers-1"])

    def test_each_chosen_benchmark_stands_in_the_source(self):
        for package, names in timings.BENCHMARKS.items():
            source = "".join(p.read_text() for p in (HERE.parents[1] / package).glob("*_test.go"))
            for name in names:
                self.assertIn(f"func Benchmark{name}(", source)


class ProgressLine(unittest.TestCase):
    def test_done_and_left(self):
        line = progress.Progress(1)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "progress")
            line.experiment(str(file))
            self.assertEqual(line.parts(), "")
            for text in ("", "[1", "{}", "7"):
                file.write_text(text)
                self.assertEqual(line.parts(), "", text)
            file.write_text("[100, 200]")
            self.assertEqual(line.parts(), ": 100 of 200 done")
            file.write_text("[120, 200]")
            with unittest.mock.patch.object(progress.time, "monotonic", return_value=line.first[0] + 10):
                self.assertEqual(line.parts(), ": 120 of 200 done, about 40 s left")
            file.write_text("[200, 200]")
            self.assertEqual(line.parts(), ": 200 of 200 done")

    def test_only_ends_show_where_there_is_no_terminal(self):
        stream = io.StringIO()
        line = progress.Progress(2, stream)
        line.start(1, "n")
        line.experiment("/nonexistent")
        line.cell(1, 2)
        self.assertEqual((line.live, stream.getvalue()), (False, ""))

    def test_durations(self):
        self.assertEqual([progress.duration(s) for s in (0.4, 59.4, 60, 3599, 3700)], ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 1 min"])


def wait_for(condition, seconds=30):
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


class SetUp(unittest.TestCase):
    """What set-up made is known by its hashes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name, "made")
        for name in ("bin/gonb", "lib/p/a.py", "lib/p/__pycache__/a.cpython-311.pyc"):
            checkout.write_atomic(self.folder / name, name.encode() * 10)
        (self.folder / "bin/python").symlink_to("gonb")
        (self.folder / "lib64").symlink_to("lib")
        self.stamp = self.folder / f"x{environment.STAMP}"
        environment.write_stamp(self.stamp, "key", environment.inventory(self.folder))

    def test_what_is_whole(self):
        self.assertIsNone(environment.flaw(self.stamp, "key"))
        checkout.write_atomic(self.folder / "lib/more.py", b"")  # is not set-up's
        self.assertIsNone(environment.flaw(self.stamp, "key"))
        self.assertEqual(environment.flaw(self.stamp, "other"), "")

    def test_damage_is_named(self):
        gonb, python = self.folder / "bin/gonb", self.folder / "bin/python"
        for change, name in (
            (lambda: os.truncate(gonb, 7), "bin/gonb"),
            (lambda: gonb.write_bytes(gonb.read_bytes().replace(b"g", b"h")), "bin/gonb"),
            (lambda: (self.folder / "lib/p/a.py").unlink(), "lib/p/a.py"),
            (lambda: shutil.rmtree(self.folder / "lib"), "lib"),
            (lambda: (python.unlink(), python.symlink_to("nowhere")), "bin/python"),
            (lambda: (self.folder / "lib64").unlink(), "lib64"),
        ):
            with self.subTest(name):
                self.setUp()
                gonb, python = self.folder / "bin/gonb", self.folder / "bin/python"
                change()
                self.assertRegex(environment.flaw(self.stamp, "key"), rf"\d of its 5 files are missing or changed, such as .*{name}")
        self.setUp()
        (self.folder / "bin/gonb").unlink()  # so that the link to it dangles, too
        self.assertIn("2 of its 5 files", environment.flaw(self.stamp, "key"))

    def test_compiled_python_is_thrown_away(self):
        compiled = self.folder / "lib/p/__pycache__/a.cpython-311.pyc"
        os.truncate(compiled, 3)
        self.assertIsNone(environment.flaw(self.stamp, "key"))
        self.assertFalse(compiled.exists())

    def test_a_damaged_stamp_is_none(self):
        for text in (b"", b"{", b"[]", b"\xff", b'{"made from": "key"}', b'{"made from": "key", "files": 3}'):
            self.stamp.write_bytes(text)
            self.assertEqual(environment.flaw(self.stamp, "key"), "", text)

    def test_what_cannot_be_removed_is_named(self):
        with unittest.mock.patch.object(shutil, "rmtree", side_effect=PermissionError(errno.EACCES, "Permission denied", "x")):
            with self.assertRaisesRegex(checkout.ReproduceError, rf"{self.folder} cannot be made anew .*delete it"):
                environment.remove_damaged(self.folder, "damage")
        for odd in ("file", "dangling link"):
            path = self.folder / odd
            path.touch() if odd == "file" else path.symlink_to("nowhere")
            environment.remove_damaged(path, "")
            self.assertFalse(os.path.lexists(path))

    def test_no_network_is_said_in_one_line(self):
        for said in (
            "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(\"[Errno -3] Temporary failure in name resolution\")': /simple/attrs/",
            "go: x@v1: Get \"https://proxy/x\": dial tcp: lookup proxy on 1.2.3.4:53: no such host",
            "go: x@v1: Get \"https://proxy/x\": dial tcp 127.0.0.1:9: connect: connection refused",
            "x.go:3:2: module lookup disabled by GOPROXY=off",
        ):
            argv = ["sh", "-c", 'echo "$0" >&2; echo more >&2; exit 1', said]
            with self.assertRaises(checkout.ReproduceError) as raised:
                processes.command(argv, dict(os.environ), "installing", cwd="/")
            self.assertRegex(str(raised.exception), r"^installing: the network cannot be reached \(.+\); .*run again$")
            self.assertNotIn("\n", str(raised.exception))
        said = "ERROR: Could not find a version that satisfies the requirement attrs==26.1.0 (from versions: none)"
        with self.assertRaisesRegex(checkout.ReproduceError, r"^installing: pip finds no wheel of attrs==26.1.0: no package index .*run again$"):
            processes.command(["sh", "-c", 'echo "$0" >&2; exit 1', said], dict(os.environ), "installing", cwd="/")
        with self.assertRaisesRegex(checkout.ReproduceError, "failed:\n  other trouble"):
            processes.command(["sh", "-c", "echo other trouble; exit 1"], dict(os.environ), "installing", cwd="/")

    def test_requirements_have_hashes_and_are_wheels(self):
        files = sorted(HERE.glob("requirements*.txt"))
        self.assertEqual(len(files), 4)
        for path in files:
            lines = [line for line in path.read_text().replace("\\\n", " ").splitlines() if not line.startswith("#")]
            self.assertEqual(lines[:2], ["--require-hashes", "--only-binary :all:"], path.name)
            for line in lines[2:]:
                self.assertRegex(line, r"^(-r requirements\.txt|[\w-]+==[\w.]+(; [^#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+)$", path.name)


class Environment(unittest.TestCase):
    def test_foreign_settings_are_kept_out(self):
        foreign = {name: "x" for name in ("PYTHONPATH", "PYTHONHOME", "JUPYTER_PATH", "PIP_USER", "PIP_TARGET", "PIP_CONSTRAINT", "PIP_PYTHON", "PIP_NO_BINARY")}
        network = {name: "x" for name in ("PIP_INDEX_URL", "PIP_NO_INDEX", "PIP_CERT", "PIP_CONFIG_FILE", "HTTPS_PROXY", "GOPROXY")}
        with unittest.mock.patch.dict(os.environ, foreign | network | {"GOWORK": "/x/go.work"}):
            env = environment.base_environment()
        self.assertEqual(env["GOWORK"], "off")
        self.assertFalse(foreign.keys() & env.keys())
        self.assertEqual({name: env[name] for name in network}, network)

    def test_of_go_settings_only_those_of_the_network_count(self):
        go = shutil.which("go")
        if not go:
            self.skipTest("go is not on PATH")
        written = {"GOOS": "windows", "GOARCH": "arm64", "GOWORK": "/x/go.work", "GOTMPDIR": "/nonexistent", "GOFLAGS": "-mod=vendor", "GOAMD64": "v4", "CGO_ENABLED": "1"}
        network = {"GOPROXY": "https://mirror.example", "GONOSUMDB": "private.example", "GOSUMDB": "off"}
        with Checkout(self) as checkout, tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "env")
            file.write_text("".join(f"{k}={v}\n" for k, v in (written | network).items()))
            for how in ({"GOENV": str(file)}, {"XDG_CONFIG_HOME": folder}):
                Path(folder, "go").mkdir(exist_ok=True)
                shutil.copy(file, Path(folder, "go", "env"))
                plain = {k: v for k, v in os.environ.items() if not k.startswith("GO") and k != "CGO_ENABLED"}
                with unittest.mock.patch.dict(os.environ, plain | how, clear=True):
                    env, go, version, settings = environment.ask_go()
                self.assertEqual({k: env[k] for k in network}, network, how)
                self.assertEqual(settings[environment.TOOLCHAIN].split()[1], subprocess.check_output([go, "env", "GOHOSTARCH"], text=True).strip())
                seen = json.loads(subprocess.check_output([go, "env", "-json", *written], env=env | settings, cwd=checkout.root, text=True))
                for name, value in written.items():
                    self.assertNotEqual(seen[name], value, name)

    def test_sockets_fit_into_their_addresses(self):
        base = "/" + (processes.LONGEST_TEMPORARY - 1) * "x"
        path = f"{base}/{processes.TEMPORARY}{secrets.token_hex(5)}/kernel-{uuid.uuid4()}-ipc-99"
        self.assertEqual(len(path), 103)
        with Checkout(self), unittest.mock.patch.object(tempfile, "tempdir", base + "x"), processes.temporary_folder() as folder:
            self.assertTrue(folder.startswith("/tmp/"))
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)

    def test_free_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            meminfo, group = Path(folder, "meminfo"), Path(folder, "memory.max")
            meminfo.write_text("MemTotal:       8000 kB\nMemAvailable:   5000 kB\nSwapFree:       1000 kB\nHugePages_Total:   0\n")

            def free():
                return processes.free_memory(meminfo, (group, Path(folder, "none")))

            self.assertEqual(free(), 6000 * 1024)
            group.write_text("max\n")
            self.assertEqual(free(), 6000 * 1024)
            group.write_text("2048000\n")
            self.assertEqual(free(), 2048000)
            meminfo.write_text("MemTotal:       8000 kB\n")
            self.assertIsNone(free())

    def test_go_is_asked_for_by_name(self):
        with self.assertRaisesRegex(checkout.ReproduceError, "go is not on PATH"):
            environment.go_settings({"PATH": "/nonexistent", "HOME": "/nonexistent"})

    def test_usable_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertTrue(environment.usable(f"{folder}/a/b"))
        self.assertFalse(environment.usable(""))
        self.assertFalse(environment.usable("/proc/version/a"))

    def test_exact_platform_is_linux_amd64_with_fma(self):
        for flags, exact in (("fpu sse2 fma", True), ("fpu sse2 avx2", False), ("fpu fma4", False)):
            with tempfile.NamedTemporaryFile("w") as f:
                f.write(f"model name\t: fma\nflags\t\t: {flags}\n")
                f.flush()
                self.assertEqual(compare.exact_platform("linux", "x86_64", f.name), exact, flags)
                self.assertFalse(compare.exact_platform("linux", "aarch64", f.name))
                self.assertFalse(compare.exact_platform("darwin", "x86_64", f.name))
        self.assertFalse(compare.exact_platform("linux", "x86_64", "/nonexistent"))


if __name__ == "__main__":
    unittest.main()
