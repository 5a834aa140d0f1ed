"""Tests how .ci/count compares and records, on made-up counts."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("count", str(pathlib.Path(__file__).with_name("count")))
count = importlib.util.module_from_spec(importlib.util.spec_from_loader("count", loader))
loader.exec_module(count)


def row(**functions):
    return {"count": sum(functions.values()), "reference": 500, "functions": functions}


RECORDED = {"step": row(fit=600, product=400)}


class Compare(unittest.TestCase):
    def of(self, **measured):
        lines, failed = count.compare(RECORDED, measured)
        return "\n".join(lines), failed

    def test_grown_row_names_function(self):
        text, failed = self.of(step=row(fit=630, product=400))
        self.assertEqual(failed, ["step"])
        self.assertIn("fit: 600 → 630", text)
        self.assertNotIn("product", text)
        self.assertIn(f"2.060 × {count.REFERENCE}", text)

    def test_new_function_counts_from_zero(self):
        text, failed = self.of(step=row(fit=600, product=400, check=40))
        self.assertEqual(failed, ["step"])
        self.assertIn("check: 0 → 40", text)

    def test_tolerance(self):
        self.assertEqual(self.of(step=row(fit=620, product=400))[1], [])
        self.assertEqual(self.of(step=row(fit=621, product=400))[1], ["step"])

    def test_grown_function_in_unchanged_row(self):
        text, failed = self.of(step=row(fit=640, product=360))
        self.assertEqual(failed, [])
        self.assertIn("fit: 600 → 640", text)

    def test_fallen_row_does_not_fail(self):
        text, failed = self.of(step=row(fit=500, product=400))
        self.assertEqual(failed, [])
        self.assertIn("--record 'step'", text)

    def test_missing_row(self):
        self.assertEqual(self.of()[1], ["step"])

    def test_new_row(self):
        text, failed = self.of(step=RECORDED["step"], other=row(fit=1))
        self.assertEqual(failed, ["other"])
        self.assertIn("not recorded", text)


class Gains(unittest.TestCase):
    def test_factor(self):
        lines = count.gains({"step": row(fit=1500)}, RECORDED | {"other": row(fit=1)})
        self.assertEqual(lines, ["step: 1,500 without the vector units, 1,000 with them: 1.50 ×"])


class Record(unittest.TestCase):
    def test_keeps_rows_within_tolerance(self):
        self.assertEqual(count.record(RECORDED, {"step": row(fit=615, product=400)}, []), RECORDED)

    def test_takes_others_and_keeps_their_reference(self):
        for new in {"count": 1100, "functions": {"fit": 1100}}, {"count": 900, "functions": {"fit": 900}}:
            self.assertEqual(count.record(RECORDED, {"step": new}, [])["step"], new | {"reference": 500})

    def test_takes_named_rows_alone(self):
        measured = {"step": row(fit=700, product=400), "other": row(fit=1)}
        self.assertEqual(count.record(RECORDED, measured, ["step"])["step"]["count"], 1100)
        self.assertEqual(count.record(RECORDED, measured, ["other"])["step"], RECORDED["step"])


class Parse(unittest.TestCase):
    def test_own_cost_without_that_of_calls(self):
        text = "fn=(1) main.fit\n12 5\n+1 7\ncfn=(2) main.dot'2\ncalls=3 +2\n* 100\n-4 1\nfn=(2)\n3 100\ntotals: 113\n"
        self.assertEqual(count.parse(text), {"main.fit": 13, "main.dot": 100})


if __name__ == "__main__":
    unittest.main()
