"""Comparisons of outputs, and the sensitivities that they allow for."""

import json
import tempfile
import unittest
from pathlib import Path

import compare
import experiments
import provenance
import sensitivities
from fixtures import Checkout, main

TOLERANCE = compare.TOLERANCE


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


class Recorded(unittest.TestCase):
    def test_what_is_recorded_belongs_to_outputs(self):
        for path in experiments.experiments():
            task = provenance.Task(path)
            names = main.outputs(task, task.out, path.read_bytes())[0].keys()
            self.assertEqual(sensitivities.unknown(task, names), [], f"{task.name}: ./reproduce.sh --sensitivities records them anew")


class Outputs(unittest.TestCase):
    def compare(self, old, new, tolerance):
        return dict(compare.differences(old, new, tolerance, {}))

    def test_missing_and_extra_and_changed(self):
        got = self.compare({"a.csv": b"1", "old.csv": b"1", "d/c.png": b"xy"}, {"a.csv": b"2", "new.csv": b"1", "d/c.png": b"xz"}, 0)
        self.assertEqual([*got], ["a.csv", "d/c.png", "new.csv", "old.csv"])
        self.assertIn("first difference is at byte 1", got["d/c.png"])
        self.assertEqual(got["new.csv"], "written, but not committed")
        self.assertIn("first difference is at byte 0", self.compare({"x": b"\xff"}, {"x": b"1"}, 0)["x"])

    def test_pictures_elsewhere_only_have_to_be_there(self):
        for name in ("c.png", "c.svg", "cell 1, output 2 (image/png)"):
            self.assertEqual(self.compare({name: b"xy"}, {name: b"xz"}, TOLERANCE), {})
            self.assertEqual([*self.compare({name: b"xy"}, {}, TOLERANCE)], [name])

    def test_figures_in_cells_by_picture_and_by_text(self):
        name = "cell 2, output 1 (text/html)"
        figure = lambda picture, words: {name: f'<figure><img src="data:image/png;base64,{picture}" alt="{words}">\n</figure>'.encode()}  # noqa: E731
        old = figure("iVBORw0+12/34==", "89.1 %")
        self.assertEqual(self.compare(old, figure("iVBORw0+12/35==", "89.1 %"), TOLERANCE), {})
        self.assertEqual(self.compare(old, figure("iVBORw0+12/35==", "89.1 %"), 0), {name: "a picture in it differs"})
        for tolerance in (0, TOLERANCE):
            self.assertIn("committed 89.1, recomputed 89.5", self.compare(old, figure("iVB8==", "89.5 %"), tolerance)[name])
            self.assertIn("recomputed", self.compare(old, figure("iVBORw0+12/34==", "other"), tolerance)[name])
            self.assertIn(name, self.compare(old, {name: b"<p>89.1 %</p>"}, tolerance))

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

    def test_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.csv", "d/b.csv", "provenance.json"):
                path = Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(name)
            self.assertEqual(compare.files_in(Path(folder)), {"a.csv": b"a.csv", "d/b.csv": b"d/b.csv"})
        self.assertEqual(compare.files_in(Path("/nonexistent")), {})


class Cells(unittest.TestCase):
    def notebook(self, text, picture="AAAA"):
        outputs = [
            {"output_type": "stream", "name": "stdout", "text": [text]},
            {"output_type": "display_data", "data": {"image/png": picture, "application/json": {"b": 1, "a": 2}}, "metadata": {}},
        ]
        return json.dumps({"cells": [{"cell_type": "markdown", "source": []}, {"cell_type": "code", "outputs": outputs}]}).encode()

    def difference(self, old, new, tolerance=0):
        return dict(compare.differences(compare.cells_of(old), compare.cells_of(new), tolerance, {}))

    def test_names_the_cell(self):
        got = self.difference(self.notebook("loss 1.25\n"), self.notebook("loss 1.5\n"))
        self.assertEqual([*got], ["cell 2, output 1 (stdout)"])
        self.assertIn("committed 1.25, recomputed 1.5", got["cell 2, output 1 (stdout)"])
        self.assertEqual(compare.cells_of(self.notebook("a"))["cell 2, output 2 (application/json)"], b'{"a": 2, "b": 1}')

    def test_pictures(self):
        old, new = self.notebook("a", "AAAA"), self.notebook("a", "BBBB")
        self.assertEqual([*self.difference(old, new)], ["cell 2, output 2 (image/png)"])
        self.assertEqual(self.difference(old, new, TOLERANCE), {})

    def test_lost_outputs(self):
        old = json.dumps({"cells": [{}, {"outputs": []}]})
        self.assertEqual({*self.difference(old, self.notebook("a")).values()}, {"written, but not committed"})


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
        sensitivities.record(self.task, sensitivities.of(*main.outputs(self.task, self.checkout.root / "twin", self.notebook("2.50300").encode())))
        self.assertEqual(sensitivities.read(self.task), {"t.csv": {"line 1 | 0": 1e-3}, "cell 1, output 1 (stdout)": {"line 1 | 0": 3e-3}})
        self.assertEqual(self.differing("1.00500", "2.52000"), [])
        self.assertEqual(len(self.differing("1.02000", "2.55000")), 2)
        self.assertEqual(len(self.differing("1.00500", "2.52000", 0)), 2)
        self.assertEqual(sensitivities.read(provenance.Task(Path("notebooks/other.ipynb"))), {})

    def test_layout_counts_only_where_bytes_do(self):
        self.checkout.write("fresh/t.csv", "a,1.00000\n")
        for tolerance, said in ((0, 1), (TOLERANCE, 0)):
            lines = [*main.differing(self.task, self.checkout.root / "fresh", self.notebook("2.50000").encode() + b"\n", tolerance)]
            self.assertEqual(len(lines), said)
        self.assertEqual(self.differing("1.00000", "2.60000", 0), ["notebooks/n.ipynb: cell 1, output 1 (stdout): 1 of 1 numbers differ, the most by 3.8e-02 of its size (line 1: committed 2.50000, recomputed 2.60000)"])

    def test_what_git_ignores_is_not_compared(self):
        self.checkout.write("fresh/f.pdf", "1")
        self.assertEqual(self.differing("1.00000", "2.50000", 0), [])
        self.checkout.write("fresh/f.svg", "1")
        self.assertEqual(self.differing("1.00000", "2.50000", 0), ["figures/out/n/f.svg: written, but not committed"])

    def test_what_is_written_no_more_is_named(self):
        self.checkout.write("figures/out/sensitivities.json", '{"n": {"gone.csv": {"line 1 | 0": 1}}}')
        self.assertIn("gone.csv is no output", self.differing("1.00000", "2.50000", 0)[0])


class Platform(unittest.TestCase):
    def test_exact_platform_is_linux_amd64_with_fma(self):
        for flags, exact in (("fpu sse2 fma", True), ("fpu sse2 avx2", False), ("fpu fma4", False)):
            with tempfile.NamedTemporaryFile("w") as f:
                f.write(f"model name\t: fma\nflags\t\t: {flags}\n")
                f.flush()
                self.assertEqual(compare.exact_platform("linux", "x86_64", f.name), exact, flags)
                self.assertFalse(compare.exact_platform("linux", "aarch64", f.name))
                self.assertFalse(compare.exact_platform("darwin", "x86_64", f.name))
        self.assertFalse(compare.exact_platform("linux", "x86_64", "/nonexistent"))
