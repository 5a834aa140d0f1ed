"""The comparison of steps, as far as it runs without Numba."""

import math
import unittest

import compare_steps
import peers
from fixtures import HERE, pinned


def row(losses, gradients):
    return {"case": "paper", "start": "warm", "far": {"losses": losses, "gradients": gradients}, "seconds": {"theirs": 80e-6, "ours": 40e-6}}


class Steps(unittest.TestCase):
    def test_requirements_exist(self):
        text = peers.requirements_of((HERE / "requirements-peers.txt").read_text(), compare_steps.NEEDED)
        self.assertEqual(pinned(text), set(compare_steps.NEEDED))

    def test_times_need_agreement(self):
        self.assertTrue(compare_steps.agrees(row(compare_steps.AGREE / 2, 0)))
        for far in (2 * compare_steps.AGREE, math.nan):
            self.assertFalse(compare_steps.agrees(row(far, 0)))
            self.assertFalse(compare_steps.agrees(row(0, far)))
            self.assertIn("| no agreement | – |", compare_steps.table([row(far, 0)]))

    def test_table(self):
        last = compare_steps.table([row(1e-15, 0)]).splitlines()[-1]
        self.assertEqual(last, "| K = 128, 30 × 10, warm | 1.0e−15 | 0.0e+00 | 80.0, 40.0 | 0.500 |")

    def test_page_has_a_place_for_the_table(self):
        page = peers.with_table(peers.PAGE.read_text(encoding="utf-8"), compare_steps.WHAT, compare_steps.COMMAND, "The table.")
        begin, end = peers.markers(compare_steps.WHAT, compare_steps.COMMAND)
        self.assertIn(f"{begin}The table.\n{end}", page)

    def test_timings_take_as_many_rounds_as_the_clock_needs(self):
        self.assertEqual(peers.rounds_of(peers.SPAN / 4), 4)
        self.assertEqual(peers.rounds_of(2 * peers.SPAN), 1)
        self.assertGreater(peers.rounds_of(0), 1)
        calls = []
        self.assertGreaterEqual(peers.seconds_each(lambda: calls.append(sum(range(100_000)))), 0)
        self.assertGreater(len(calls), 2)
