"""The README's claims, and recorded times."""

import unittest

import checkout
import readme
import speed
import timings
from fixtures import HERE, Checkout


class Readme(unittest.TestCase):
    def test_only_the_block_between_the_markers_changes(self):
        with Checkout(self) as folder:
            folder.write("README.md", f"# Title\n\n{readme.BEGIN}old\ntable\n{readme.END}\n\nThe end.\n")
            new = readme.with_findings("new\n")
            self.assertEqual(new, f"# Title\n\n{readme.BEGIN}new\n\n{readme.END}\n\nThe end.\n")
            folder.write("README.md", new)
            self.assertEqual(readme.with_findings("new\n"), new)

    def test_readme_lists_the_findings_without_bars(self):
        text = "**Findings**\n\n| Finding | Number | Beside what matters | Verdict | Shown in |\n| :-- | --: | :-- | :-- | :-- |\n| One holds: share | 1 ± 2 | `··[●│·]··` | differs | 03_sample_size |\n| Two | 3 | – | paper's error | 04_xor |\n\n2 claims: 1 differs. Intervals. In a bar ● is it; within [ ] it is too small to matter. A finding's words follow. The sources of a.A, b.B have changed since the 10 draws were recorded. Draw 0, computed again, has the same numbers: none has moved. The end.\n"
        want = "* One holds: share: **1 ± 2**. Differs, [03](notebooks/03_sample_size.ipynb).\n* Two: **3**. Paper's error, [04](notebooks/04_xor.ipynb).\n\n2 [claims](figures/out/00_start/claims.md): 1 differs. Intervals. The end.\n"
        self.assertEqual(readme.short(text), want)
        moved = "Draw 0, computed again, has the same numbers: none has moved.", "That has moved these rows of draw 0 by more than a tenth of their standard error: 1a, 2b. The command ./reproduce.sh --again 10 records the draws anew."
        self.assertEqual(readme.short(text.replace(*moved)), want)

    def test_times_of_the_peers_page_are_taken(self):
        step, program, tuned, wide = speed.LINES
        page = "\n".join([
            f"| {step['row']} | 1.0e−15 | 114.0, 38.0 | 0.3 |",
            "| c: 64 × (50, 50, 0), solution | 60.0 | 65.0 | 62.5, 30.0 | 0.4 |",
            f"| {program['row']} | 500.0 | 400.0, 40.5 | 0.1 |",
            f"| {tuned['row']} | 5 | 0.34, 0.0038 | 7,001, 561 |",
            "generated, 500 × 20: ElasticNetCV at its defaults takes 0.052 CPU seconds, 14 times as long",
            f"| {wide['row']} | celer | 1.00565 | 0.26, 8.7e-02 |",
        ])  # fmt: skip
        got = [tuple(round(s * 1e7) for s in speed.seconds(line, page)) for line in speed.LINES]
        self.assertEqual(got, [(380, 1140), (405, 625), (38_000, 520_000), (870_000, 2_600_000)])

    def test_only_the_lines_of_speed_change(self):
        with Checkout(self) as folder:
            folder.write("README.md", f"a\n{readme.SPEED_BEGIN}old\n{readme.SPEED_END}\nb\n")
            readme.update_speed()
            text = readme.README.read_text()
        self.assertRegex(text, r"^a\n<!-- speed.*-->\n\* \*\*[\d.]+ µs\*\* for a step.*\(fastest peer [\d.]+ µs: .*\n\* \*\*")
        self.assertTrue(text.endswith(f"\n{readme.SPEED_END}\nb\n"))

    def test_the_committed_page_has_the_times_of_the_peers_page(self):
        text = readme.README.read_text(encoding="utf-8")
        self.assertIn("fastest peer", text)
        self.assertEqual(readme.with_speed(text), text, "./reproduce.sh writes them")

    def test_markers_that_are_gone_or_doubled_are_named(self):
        for text in ("", "# Title\n", readme.BEGIN, readme.END, readme.END + readme.BEGIN, 2 * (readme.BEGIN + readme.END), readme.BEGIN + 2 * readme.END):
            with Checkout(self) as folder, self.assertRaisesRegex(checkout.ReproduceError, "README.md has no place for the findings: put the line <!-- findings"):
                folder.write("README.md", text)
                readme.with_findings("new")

    def test_the_committed_page_has_the_numbers_of_the_trials(self):
        self.assertEqual(readme.with_trials(), readme.TUNER.read_text(encoding="utf-8"), "./reproduce.sh writes them")

    def test_every_number_of_the_trials_is_counted(self):
        finds = [{"cause": cause, "evaluations": n} for cause, n in (("", "50"), ("", "70"), ("budget", "99"))]
        row = {"risk held": "true", "difference held": "true", "final risk held": "true", "final difference held": "true", "difference high": "-1", "verdict": "tuned is lower than default"}
        text = readme.trials(finds, [row, row], [row])
        self.assertIn("Of 3 generated data sets", text)
        self.assertIn("above the lowest | 2 |", text)
        self.assertIn("else: budget | 1 |", text)
        self.assertIn("takes 70 evaluations", text)
        self.assertEqual(text.count("| 2 | 1 |"), 6)
        for column in row:
            other = row | {column: "0"}
            self.assertEqual(readme.trials(finds, [row, other], [row]).count("| 1 | 1 |"), 1, column)
            self.assertEqual(readme.trials(finds, [row, row], [other]).count("| 2 | 0 |"), 1, column)


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
        self.assertEqual(got["QP/c_64x(50,50,0)"]["ns/op"], {"median": 200, "lowest": 100.5, "highest": 300, "low": 100.5, "high": 300})
        self.assertEqual(got["QP/c_64x(50,50,0)"]["µs/problem"], {"median": 19, "lowest": 9, "highest": 29.5, "low": 9, "high": 29.5})
        self.assertEqual(list(timings.parse(self.SAID, 1)), ["QP/c_64x(50,50,0)-2", "Step/workers-1"])

    def test_a_slow_run_does_not_widen_the_interval(self):
        found = timings.summary([1.0, *range(2, 2 + timings.COUNT - 2), 1000.0])
        self.assertEqual((found["lowest"], found["low"], found["high"], found["highest"]), (1, 2, timings.COUNT - 1, 1000))

    def test_distance_from_the_limit(self):
        text = """BenchmarkPeak/operations-2 \t 1\t 10 ns/op\t 100 operations/op
BenchmarkPeak/bytes-2 \t 1\t 10 ns/op\t 50 moved-B/op
"""
        found = {f"qpdiff/internal/dense.{name}": v for name, v in timings.parse(text, 2).items()}
        found |= timings.parse("BenchmarkStep-2 \t 1\t 40 ns/op\t 20 operations/op\t 100 moved-B/op\nBenchmarkOther-2 \t 1\t 7 ns/op\n", 2)
        heading, line = timings.limits(found)
        self.assertRegex(line, r"^Step +5\.0% of the operations' peak, +50\.0% of the memory's$")
        self.assertEqual(timings.limits({k: v for k, v in found.items() if "bytes" not in k}), [])

    def test_each_chosen_benchmark_stands_in_the_source(self):
        for package, names in timings.BENCHMARKS.items():
            source = "".join(p.read_text() for p in (HERE.parents[1] / package).glob("*_test.go"))
            for name in names:
                self.assertIn(f"func Benchmark{name}(", source)
