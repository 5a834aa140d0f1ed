"""The comparison of quadratic programs, as far as it runs without the peers."""

import math
import unittest

import compare_qp
import peers
from fixtures import HERE, pinned


def row(moreau, proxsuite):
    return {"case": "b", "work": compare_qp.DERIVATIVE, "seconds": {"ours": 2e-6, "Moreau": 10e-6, "ProxSuite": 4e-6}, "far": {"Moreau": [moreau, [0]], "ProxSuite": [proxsuite, [0]]}}


def alone(daqp):
    seconds = {"ours": 2e-6, compare_qp.CALLED: 10e-6, compare_qp.INSIDE: 5e-6, "quadprog": 8e-6}
    return {"case": "b", "work": compare_qp.SOLUTION, "seconds": seconds, "far": {compare_qp.CALLED: [daqp], "quadprog": [[0, 0, 0]]}}


class Programs(unittest.TestCase):
    def test_requirements_exist(self):
        text = peers.requirements_of((HERE / "requirements-peers.txt").read_text(), compare_qp.NEEDED)
        self.assertEqual(pinned(text), set(compare_qp.NEEDED))

    def test_only_peers_that_agree_count(self):
        near, far = [0, 1e-9, 1e-9], [1, math.nan, 0]
        self.assertEqual(compare_qp.fastest(row(near, near)), 4e-6)
        self.assertEqual(compare_qp.fastest(row(near, far)), 10e-6)
        self.assertTrue(math.isnan(compare_qp.fastest(row(far, far))))
        self.assertEqual(compare_qp.disagreements(row(near, far)), {"ProxSuite": 2})
        self.assertEqual(compare_qp.fastest(alone(near)), 5e-6)
        self.assertEqual(compare_qp.fastest(alone(far)), 8e-6)

    def test_table(self):
        last = compare_qp.table([row([0], [0])]).splitlines()[-1]
        self.assertEqual(last, "| b: 128 × (10, 10, 5), solution and derivative | 10.0 | 4.0 | 4.0, 2.0 | 0.500 |")
        last = compare_qp.table([alone([1, 0, 0])]).splitlines()[-1]
        self.assertEqual(last, "| b: 128 × (10, 10, 5), solution | 5.0 (1 wrong) | 10.0 (1 wrong) | 8.0 | 5.0, 2.0 | 0.400 |")

    def test_distances_are_told(self):
        self.assertEqual(compare_qp.distances_told(alone([0, 1e-9, 1]))[0], "b, DAQP from Python: minimisers differ by at most 1.0e+00; 1 of 3 minimisers are not near")
        self.assertIn("derivatives by 0.0e+00 in the median and 0.0e+00 at most; 0 of 1", compare_qp.distances_told(row([0], [0]))[1])

    def test_page_takes_the_tables(self):
        old = peers.PAGE.read_text(encoding="utf-8")
        page = peers.with_table(old, compare_qp.WHAT, compare_qp.COMMAND, "The table.")
        begin, end = peers.markers(compare_qp.WHAT, compare_qp.COMMAND)
        self.assertIn(f"{begin}The table.\n{end}", page)
