"""The record of several draws."""

import json
import unittest
from pathlib import Path

import again
import provenance
from checkout import ReproduceError
from fixtures import Checkout, main


class Again(unittest.TestCase):
    def recorded(self, sources, headings=("draw,row", "draw,row")):
        """The record of two draws, whose experiments have these sources."""
        folder = Checkout(self)
        with folder:
            tasks = again.tasks(folder.root / "notebooks/00_start.ipynb", 2)
            for draw, task in enumerate(tasks):
                out = task.out.relative_to(folder.root)
                folder.write(f"{out}/estimates.csv", f"{headings[draw]}\n{draw},1a\n{draw},1b\n")
                results = [{"function": name, "key": str(draw), "source": source} for name, source in sources[draw].items()]
                texts = {name: {} for name in provenance.TABLES}
                folder.write(f"{out}/provenance.json", json.dumps(texts | {"notebook": "00_start.ipynb", "results": results, "overrides": {"Draw": str(draw)}}))
            again.record(tasks)
            return again.FILE.read_text(encoding="utf-8")

    def test_draws_follow_each_other_below_one_heading_and_their_sources(self):
        text = self.recorded([{"b.Run": "2", "a.Run": "1"}, {"a.Run": "1", "b.Run": "2"}])
        self.assertEqual(text, "# a.Run 1\n# b.Run 2\ndraw,row\n0,1a\n0,1b\n1,1a\n1,1b\n")

    def test_draws_of_different_programs_are_refused(self):
        with self.assertRaisesRegex(ReproduceError, "a.Run changed between the draws"):
            self.recorded([{"a.Run": "1"}, {"a.Run": "2"}])
        with self.assertRaisesRegex(ReproduceError, "Draw=1 is of another program"):
            self.recorded([{}, {}], ("draw,row", "row"))

    def test_each_draw_has_its_parameter(self):
        tasks = again.tasks(Path("00_start.ipynb"), 3)
        self.assertEqual([json.loads(task.environment["CVGM_PARAMS"]) for task in tasks], [{"Draw": "0"}, {"Draw": "1"}, {"Draw": "2"}])
        self.assertEqual(len({task.out for task in tasks}), 3)

    def test_the_number_of_draws(self):
        args = main.parse(["--again", "12"])
        self.assertEqual((args.again, args.names), (12, ["00_start"]))
        for argv in (["--again", "0"], ["--again", "x"], ["--again"], ["--again", "3", "02"], ["--again", "3", "--check"], ["02", "-p", "K=3", "--again", "2"]):
            with self.assertRaises(main.UsageError, msg=argv):
                main.parse(argv)
