"""The comparison of additive models, as far as it runs without the peers."""

import unittest

import compare_terms
import peers
from fixtures import HERE, pinned

ROW = {"case": ("smooth", 200, 5), "peer": "pyGAM", "seconds": {"theirs": [0.2, 0.4], "ours": [0.05, 0.07]}, "loss": {"null": [2, 4], "theirs": [1.5, 1], "ours": [1.25, 1.25]}, "evaluations": [20, 30]}


class Terms(unittest.TestCase):
    def test_requirements_exist(self):
        text = peers.requirements_of((HERE / "requirements-terms.txt").read_text(), compare_terms.NEEDED)
        self.assertEqual(pinned(text), set(compare_terms.NEEDED))

    def test_every_case_has_a_peer(self):
        self.assertEqual({kind for kind, _, _ in compare_terms.CASES}, set(compare_terms.PEERS))

    def test_table(self):
        last = compare_terms.table([ROW]).splitlines()[-1]
        self.assertEqual(last, "| smooth, 200 × 5 | pyGAM | 3 | 1.25 | 1.25 | 1 of 2 | 0.3, 0.06 |")
