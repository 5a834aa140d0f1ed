"""The comparison with scikit-learn, as far as it runs without it."""

import unittest

import compare_peers
from fixtures import HERE


def row(ours):
    both = {"theirs": 0.5, "ours": ours}
    seconds = {"theirs": [3, 1, 2], "ours": [0.2, 0.4, 0.3], "at defaults": []}
    fits = {"theirs": 1101, "ours": 411}
    return {"kind": "svc", "name": "moons", "loss": both | {"null": 2.0}, "accuracy": both, "seconds": seconds, "fits": fits}


class Peers(unittest.TestCase):
    def test_requirements_are_selected(self):
        text = (HERE / "requirements-peers.txt").read_text()
        some = compare_peers.requirements_of(text, compare_peers.NEEDED)
        names = {line.split("==")[0] for line in some.splitlines() if "==" in line and not line.startswith((" ", "#"))}
        self.assertEqual(names, set(compare_peers.NEEDED))
        self.assertIn("--require-hashes\n--only-binary :all:\n", some)
        for line in some.split("--only-binary :all:\n")[1].splitlines():
            self.assertRegex(line, r"^([\w-]+==|    --hash=sha256:)")

    def test_difference_is_a_share_of_the_null_models_loss(self):
        self.assertAlmostEqual(compare_peers.difference(row(0.6)), 0.05)
        self.assertFalse(compare_peers.difference(row(float("nan"))) <= compare_peers.NEAR)

    def test_table(self):
        last = compare_peers.table([row(0.4)]).splitlines()[-1]
        self.assertEqual(last, "| svc: moons | 2 | 0.5 | 0.4 | −5.0e−02 | 0.500, 0.400 | 2, 0.3 | 1,101, 411 |")
