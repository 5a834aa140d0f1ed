"""Tests of the runner that need neither a kernel nor anything installed."""

import importlib.util
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import compare
import environment


def load_main():
    spec = importlib.util.spec_from_file_location("runner_main", HERE / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["runner_main"] = module
    spec.loader.exec_module(module)
    return module


main = load_main()
TOLERANCE = compare.TOLERANCE


class CommandLine(unittest.TestCase):
    def test_forms(self):
        self.assertEqual(main.parse([]), main.Arguments([]))
        self.assertEqual(main.parse(["--check", "rings"]), main.Arguments(["rings"], check=True))
        self.assertEqual(main.parse(["lab", "9000"]), main.Arguments([], lab=True, port=9000))
        self.assertTrue(main.parse(["rings", "-h"]).help)

    def test_nonsense_is_refused(self):
        for argv in (["--chekc"], ["lab", "eighty"], ["lab", "0"], ["lab", "70000"], ["lab", "1", "2"], ["lab", "--check"]):
            with self.assertRaises(main.Problem, msg=argv):
                main.parse(argv)

    def test_names(self):
        all_of_them = [Path(f"notebooks/{n}.ipynb") for n in ("00_start", "01_elastic_net", "02_rings", "explore")]

        def chosen(*names):
            return [p.stem for p in main.select(names, all_of_them)]

        self.assertEqual(chosen(), ["00_start", "01_elastic_net", "02_rings", "explore"])
        for name in ("01_elastic_net", "elastic_net", "01", "01_elastic_net.ipynb"):
            self.assertEqual(chosen(name), ["01_elastic_net"], name)
        self.assertEqual(chosen("explore", "01", "elastic_net"), ["01_elastic_net", "explore"])
        with self.assertRaisesRegex(main.Problem, "no notebook is called net; .*00_start, 01_elastic_net"):
            chosen("net")


class Numbers(unittest.TestCase):
    def difference(self, old, new, tolerance=TOLERANCE):
        return compare.text_difference(old, new, tolerance)

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
        self.assertIsNotNone(self.difference("1.00000000", "1.00000200"))
        self.assertIsNotNone(self.difference("K=64", "K=63"))  # whole numbers are exact
        self.assertIsNotNone(self.difference("1.5", "-1.5"))
        self.assertIsNotNone(self.difference("1.5", "NaN"))

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
            environment.write_atomic(path, b"old")
            with self.assertRaises(TypeError):
                environment.write_atomic(path, "not bytes")
            self.assertEqual(path.read_bytes(), b"old")
            self.assertEqual(os.listdir(folder), ["out.csv"])

    def test_install_replaces_adds_and_removes(self):
        with tempfile.TemporaryDirectory() as folder:
            kept, main.OUT = main.OUT, Path(folder, "figures", "out")
            self.addCleanup(setattr, main, "OUT", kept)
            notebook, staged = Path(folder, "n.ipynb"), Path(folder, "staged")
            notebook.write_bytes(b"old")
            staged.mkdir()
            for name in ("same", "gone"):
                environment.write_atomic(main.OUT / "n" / name, b"1")
            (staged / "same").write_bytes(b"1")
            (staged / "new").write_bytes(b"2")
            self.assertEqual(main.install(notebook, staged, b"new"), 3)
            self.assertEqual(notebook.read_bytes(), b"new")
            self.assertEqual({str(k): v for k, v in compare.files_in(main.OUT / "n").items()}, {"same": b"1", "new": b"2"})
            self.assertEqual(main.install(notebook, staged, b"new"), 0)


class Environment(unittest.TestCase):
    def test_foreign_settings_are_kept_out(self):
        foreign = {"GOFLAGS": "-mod=mod", "GOWORK": "/x/go.work", "GOARCH": "arm64", "PYTHONPATH": "/x", "JUPYTER_PATH": "/x", "PIP_USER": "1"}
        kept, os.environ = os.environ, {**os.environ, **foreign, "PIP_INDEX_URL": "https://mirror"}
        self.addCleanup(setattr, os, "environ", kept)
        env = environment.base_environment()
        self.assertEqual((env["GOFLAGS"], env["GOWORK"], env["GOARCH"]), ("-buildvcs=false", "off", ""))
        self.assertFalse({"PYTHONPATH", "JUPYTER_PATH", "PIP_USER"} & env.keys())
        self.assertEqual(env["PIP_INDEX_URL"], "https://mirror")

    def test_go_is_asked_for_by_name(self):
        with self.assertRaisesRegex(environment.Problem, "go is not on PATH"):
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
