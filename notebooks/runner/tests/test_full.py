"""The results of the full size."""

import json
import shutil
import unittest

import compare
import full
import provenance
from fixtures import Checkout, main

HEAD = "cell,digest,Loss,Steps 1\n"


class Full(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.checkout.write("notebooks/n.ipynb", json.dumps({"cells": []}))
        self.task = provenance.Task(self.checkout.root / "notebooks" / "n.ipynb")
        self.folder = self.task.out / "full"
        self.staged = self.checkout.root / "staged"

    def stage(self, **files):
        shutil.rmtree(self.staged, ignore_errors=True)
        self.staged.mkdir()
        for name, text in files.items():
            name = name.replace("__", "/").replace("_dot_", ".")
            self.checkout.write(f"staged/{name}", text)

    def record(self, source="s", key="k" * 64, **more):
        return {"function": "experiment.GapParams.Run", "parameters": {"DataSets": 9}, "key": key, "source": source, "experiment": "gap"} | more

    def install(self, *records):
        return full.install(self.task, full.made(self.task, self.staged), list(records))

    def names(self):
        return sorted(path.name for path in self.folder.glob("*"))

    def test_tables_and_cells_are_written_with_what_they_were_made_from(self):
        self.checkout.write("figures/out/n/same.csv", "1")
        self.checkout.write("figures/out/n/t.csv", "default")
        self.stage(t_dot_csv="a", t_dot_md="b", t_dot_tex="c", same_dot_csv="1", same_dot_md="2", full__cells_gap_dot_csv=HEAD)
        self.assertEqual(self.install(self.record(), {"computed": "k" * 64, "seconds": 12.34}), 4)
        self.assertEqual(self.names(), ["cells_gap.csv", "full.json", "t.csv", "t.md"])
        found = full.read(self.task)
        self.assertEqual((found["command"], found["results"]), ("./reproduce.sh --full n", [self.record(seconds=12.3)]))
        self.assertRegex(found["date"], r"^20\d\d-\d\d-\d\d$")
        self.assertEqual(compare.files_in(self.task.out).keys(), {"same.csv", "t.csv"})

        kept = (self.folder / "full.json").read_bytes()
        (self.folder / "full.json").write_bytes(kept.replace(found["date"].encode(), b"2001-01-01"))
        self.assertEqual(self.install(self.record()), 0)  # the seconds are known from the first run
        self.assertEqual(full.read(self.task)["date"], "2001-01-01")

        self.stage(u_dot_csv="a")
        self.assertEqual(self.install(self.record(key="j" * 64)), 5)
        self.assertEqual((self.names(), full.read(self.task)["results"][0]["seconds"]), (["full.json", "u.csv"], None))

    def test_a_notebook_without_a_full_size_leaves_nothing(self):
        self.stage(t_dot_csv="a")
        self.assertIsNone(self.install({"function": "f", "parameters": {}, "key": "k", "source": "s"}))
        self.assertFalse(self.folder.exists())

    def test_other_runs_keep_the_folder(self):
        self.stage(t_dot_csv="a")
        self.install(self.record())
        self.checkout.write("figures/out/n/old.csv", "1")
        main.install(self.task, {self.task.out / "new.csv": b"2", self.task.path: b"{}"})
        self.assertEqual(self.names(), ["full.json", "t.csv"])
        self.assertEqual(compare.files_in(self.task.out).keys(), {"new.csv"})
        self.assertEqual(main.strays(), [])
        (self.checkout.root / "notebooks/n.ipynb").unlink()
        (self.task.out / "new.csv").unlink()
        self.assertEqual([path.name for path in main.strays()], ["n"])

    def test_older_sources_are_reported(self):
        self.assertIsNone(full.older(self.task, [self.record("new")]))
        self.stage(t_dot_csv="a")
        self.install(self.record())
        small = self.record(key="j" * 64)
        self.assertIsNone(full.older(self.task, [small]))
        self.assertIsNone(full.older(self.task, [{"function": "experiment.GapParams.Run", "key": "j"}]))  # of an older runner
        self.assertRegex(full.older(self.task, [small | {"source": "new"}]), "^full/ is from older sources: ./reproduce.sh --full n computes it again$")
        (self.folder / "full.json").write_text("{}")
        self.assertIsNone(full.older(self.task, [small | {"source": "new"}]))

    def test_cells_of_the_default_size_are_compared(self):
        rows = ["a,1,0.5,3\n", '"b, 2",2,1.5,\n', "c,3,2.5,4\n"]
        self.checkout.write("figures/out/n/full/cells_gap.csv", HEAD + "".join(rows))
        for own, off, note in (
            (HEAD + rows[0] + rows[1], None, "2 cells agree, 1 were not recomputed"),
            ("cell,digest,Loss\n" + '"b, 2",2,1.5\n', None, "1 cells agree, 2 were"),
            (HEAD + "a,1,0.50000001,3\n" + rows[1], "1 of the 2 cells .* differ, the first: a: Loss: committed 0.5, recomputed 0.50000001", None),
            (HEAD + "a,1,0.5,\n", "the first: a: Steps 1: committed 3, recomputed nothing", None),
            (HEAD + "a,9,0.5,3\n", "the first: a: a number of a long list", None),
            (HEAD + rows[0] + "d,1,1,1\n", "1 of the 2 cells .* not among the 3 committed ones, the first: d", None),
            (None, "computes no such cells", None),
        ):
            self.stage(**({"full__cells_gap_dot_csv": own} if own else {}))
            lines, notes = full.compared(self.task, self.staged)
            for found, wanted in ((lines, off), (notes, note)):
                self.assertEqual(len(found), 1 if wanted else 0, found)
                if wanted:
                    self.assertRegex(found[0], f"^full/cells_gap.csv: .*{wanted}")

    def test_its_store_is_its_own(self):
        for name in ("f-" + "a" * 16, "f-" + "b" * 16):
            self.checkout.write(f".work/store/{name}", "1")
        self.checkout.write(".work/store/f-" + "c" * 16 + ".shards/x.records", "1")
        self.checkout.write(".work/full/f-" + "d" * 16 + ".shards/x.records", "1")
        full.prepare()
        full.taken([{"computed": "a" * 64, "seconds": 1}])
        provenance.prune({})
        self.assertEqual(list(provenance.STORE.glob("*")), [])
        self.assertEqual(sorted(path.name for path in full.STORE.glob("*")), ["f-" + "a" * 16, "f-" + "b" * 16, "f-" + "d" * 16 + ".shards", "seconds.json"])
        full.prune({"a" * 64})
        self.assertEqual(sorted(path.name for path in full.STORE.glob("*")), ["f-" + "a" * 16, "seconds.json"])

    def test_cells_stay_as_long_as_their_result(self):
        for name in ("f-" + "a" * 16, "f-" + "a" * 16 + ".cells", "f-" + "b" * 16 + ".cells"):
            self.checkout.write(f".work/store/{name}", "1")
        self.assertEqual(provenance.stored(), {"a" * 16})
        files = {self.task.notebook: self.task.path.read_bytes()}
        provenance.write(self.task, {}, [self.record(key="a" * 64)], {}, files)
        provenance.prune({self.task: {"reasons": []}})
        self.assertEqual(sorted(path.name for path in provenance.STORE.glob("*")), ["f-" + "a" * 16, "f-" + "a" * 16 + ".cells"])
