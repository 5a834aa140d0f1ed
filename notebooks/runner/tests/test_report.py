"""The report, the README's claims, recorded times and the line of progress."""

import io
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import checkout
import progress
import readme
import report
import timings
from fixtures import HERE


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
            line.experiment(file)
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
        line.experiment(Path("/nonexistent"))
        line.cell(1, 2)
        self.assertEqual((line.live, stream.getvalue()), (False, ""))

    def test_durations(self):
        self.assertEqual([progress.duration(s) for s in (0.4, 59.4, 60, 3599, 3700)], ["0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 1 min"])
