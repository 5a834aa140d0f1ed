"""The comparison with scikit-learn, as far as it runs without it."""

import unittest

import compare_peers
import large_peers
import peers
from fixtures import HERE, pinned


def row(ours):
    both = {"theirs": 0.5, "ours": ours}
    seconds = {"theirs": [3, 1, 2], "ours": [0.2, 0.4, 0.3], "at defaults": []}
    fits = {"theirs": 1101, "ours": 411}
    return {"kind": "svc", "name": "moons", "loss": both | {"null": 2.0}, "accuracy": both, "seconds": seconds, "fits": fits}


class Peers(unittest.TestCase):
    def test_requirements_are_selected(self):
        text = (HERE / "requirements-peers.txt").read_text()
        some = peers.requirements_of(text, compare_peers.NEEDED)
        self.assertEqual(pinned(some), set(compare_peers.NEEDED))
        self.assertIn("--require-hashes\n--only-binary :all:\n", some)
        for line in some.split("--only-binary :all:\n")[1].splitlines():
            self.assertRegex(line, r"^([\w-]+==|    --hash=sha256:)")

    def test_difference_is_a_share_of_the_null_models_loss(self):
        self.assertAlmostEqual(compare_peers.difference(row(0.6)), 0.05)
        self.assertFalse(compare_peers.difference(row(float("nan"))) <= compare_peers.NEAR)

    def test_table(self):
        last = compare_peers.table([row(0.4)]).splitlines()[-1]
        self.assertEqual(last, "| svc: moons | 2 | 0.5 | 0.4 | −5.0e−02 | 0.500, 0.400 | 2, 0.3 | 1,101, 411 |")

    def test_page_takes_the_tables(self):
        some = [row(0.4) | {"kind": "elastic-net", "accuracy": None, "seconds": {"theirs": [2], "ours": [0.5], "at defaults": [0.75]}}]
        page = compare_peers.with_tables(some, [large(0.5)], "On a machine.")
        self.assertEqual(page.count("| elastic-net: moons |"), 1)
        self.assertIn("takes 0.75 CPU seconds, 1.5 times as long as Tuner.\n" + peers.markers("table", "compare_peers")[1], page)
        self.assertEqual(page.count("| lasso | celer |"), 1)
        self.assertEqual(page.count("On a machine."), 2)
        self.assertEqual(compare_peers.with_tables([], [], ""), peers.PAGE.read_text(encoding="utf-8"))


def large(ours, search=False):
    return {"name": "lasso", "peer": "celer", "search": search, "loss": {"null": 2.0, "theirs": 0.5, "ours": ours}, "seconds": {"theirs": [3], "ours": [0.2]}}


class LargePeers(unittest.TestCase):
    def test_times_need_agreement(self):
        apart, below = 2 * large_peers.AGREE * 2.0, 0.5 - 0.1
        self.assertTrue(large_peers.agrees(large(0.5 + apart / 4)))
        for ours in (0.5 + apart, 0.5 - apart, float("nan")):
            self.assertFalse(large_peers.agrees(large(ours)))
            self.assertIn("| no agreement |", large_peers.table([large(ours)], max))
        self.assertTrue(large_peers.agrees(large(below, search=True)))
        self.assertFalse(large_peers.agrees(large(0.5 + 2 * large_peers.NEAR * 2.0, search=True)))
        self.assertEqual(large_peers.table([large(0.5)], max).splitlines()[-1], "| lasso | celer | 2 | 0.5 | 0.5 | 3, 0.2 |")

    def test_rows_have_names_of_their_own(self):
        names = [large_peers.name_of(*row) for row in large_peers.ROWS]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("svc, 2000 × 10, C = 100, value and gradient", names)
        self.assertIn("svc, 2000 × 10, C = 100, value", names)
