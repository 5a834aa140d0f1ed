"""The comparison of quadratic programs, as far as it runs without the peers."""

import math
import unittest

import compare_qp
import peers
from fixtures import HERE


def row(moreau, proxsuite):
    return {"case": "b", "seconds": {"ours": 2e-6, "Moreau": 10e-6, "ProxSuite": 4e-6}, "far": {"Moreau": [moreau, [0]], "ProxSuite": [proxsuite, [0]]}}


class Programs(unittest.TestCase):
    def test_requirements_exist(self):
        text = peers.requirements_of((HERE / "requirements-peers.txt").read_text(), compare_qp.NEEDED)
        names = {line.split("==")[0] for line in text.splitlines() if "==" in line and not line.startswith((" ", "#"))}
        self.assertEqual(names, set(compare_qp.NEEDED))

    def test_only_peers_that_agree_count(self):
        near, far = [0, 1e-9, 1e-9], [1, math.nan, 0]
        self.assertAlmostEqual(compare_qp.ratio(row(near, near)), 0.5)
        self.assertAlmostEqual(compare_qp.ratio(row(near, far)), 0.2)
        self.assertTrue(math.isnan(compare_qp.ratio(row(far, far))))
        self.assertEqual(compare_qp.disagreements(row(near, far)), {"ProxSuite": 2})

    def test_table(self):
        last = compare_qp.table([row([0], [0])]).splitlines()[-1]
        self.assertEqual(last, "| b: 128 × (10, 10, 5) | 2.0 | 10.0 | 4.0 | 0.500 |")
