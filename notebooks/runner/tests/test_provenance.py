"""Files, what runs leave behind them, and the plain form of notebooks."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import checkout
import compare
import layout
import provenance
from fixtures import agrees, Checkout, HERE, main


class Files(unittest.TestCase):
    def test_a_failed_write_leaves_the_old_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out.csv")
            checkout.write_atomic(path, b"old")
            with self.assertRaises(TypeError):
                checkout.write_atomic(path, "not bytes")
            self.assertEqual(path.read_bytes(), b"old")
            self.assertEqual(os.listdir(folder), ["out.csv"])

    def test_a_full_disk_is_named_and_leaves_the_old_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out.csv")
            checkout.write_atomic(path, b"old")
            script = (
                "import resource, sys; sys.path.insert(0, sys.argv[1]); import checkout\n"
                "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
                "checkout.write_atomic(checkout.Path(sys.argv[2]), bytes(5000))"
            )
            done = subprocess.run([sys.executable, "-I", "-c", script, str(HERE), str(path)], capture_output=True, text=True)
            self.assertRegex(done.stderr, rf"File too large: '{path}'")
            self.assertEqual((os.listdir(folder), path.read_bytes()), (["out.csv"], b"old"))


class Provenance(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)
        self.cells("1")

    def cells(self, code, text="words", name="n"):
        cells = [{"cell_type": "markdown", "source": [text]}, {"cell_type": "code", "source": [code], "outputs": []}]
        self.checkout.write(f"notebooks/{name}.ipynb", json.dumps({"cells": cells}))

    def run_task(self, task, outputs, keys=("k" * 64,), files=()):
        """What run_all does, less the kernel."""
        new = {task.out / name: data for name, data in outputs.items()} | {task.notebook: task.path.read_bytes()}
        changed = main.install(task, new)
        records = [{"function": "f", "parameters": {"Seed": 1}, "key": key} for key in (*keys, *keys)]
        records += [{"output": "t", "caption": "T"}, {"output": "f", "caption": "F", "alt": "A line"}]
        records += [{"file": path, "sha256": sha256} for path, sha256 in files]
        provenance.write(task, {"Go": "go1.26"}, records, {"commit": "c", "clean": True, "changed": []}, new)
        return changed

    def task(self, *overrides, name="n"):
        return provenance.Task(self.checkout.root / "notebooks" / f"{name}.ipynb", overrides)

    def test_a_run_leaves_what_it_was_made_from(self):
        self.run_task(self.task(), {"t.csv": b"1"})
        found = provenance.read(self.task())
        self.assertEqual((found["inputs"], found["captions"], found["alts"], len(found["results"])), ({"Go": "go1.26"}, {"t": "T", "f": "F"}, {"f": "A line"}, 1))
        self.assertEqual(found["outputs"].keys(), {"figures/out/n/t.csv", "notebooks/n.ipynb"})
        self.assertTrue(agrees(self.task()))
        self.cells("1", "other words")
        self.assertFalse(agrees(self.task()))
        provenance.rewrite(self.task(), {self.task().path: self.task().path.read_bytes()})
        again = provenance.read(self.task())
        self.assertTrue(agrees(self.task()))
        self.assertEqual({k: v for k, v in again.items() if k != "outputs"}, {k: v for k, v in found.items() if k != "outputs"})

    def test_files_that_parameters_name_are_kept_with_their_digests(self):
        self.run_task(self.task(), {}, files=[("/a.csv", "1"), ("/b.csv", "2"), ("/a.csv", "1"), ("/b.csv", "3")])
        self.assertEqual(provenance.read(self.task())["files"], {"/a.csv": "1", "/b.csv": ""})  # b changed during the run

    def test_the_digest_of_cells_leaves_out_text(self):
        def digest():
            return layout.cells_digest(self.task().path.read_bytes())

        before = digest()
        self.cells("1", "other words")
        self.assertEqual(digest(), before)
        self.cells("2")
        self.assertNotEqual(digest(), before)

    def test_notebooks_without_parameters_are_refused(self):
        self.cells("notebook.Params(&p)", name="m")
        main.require_parameters([self.task(name="m").path])
        with self.assertRaisesRegex(main.UsageError, "^n has no parameters"):
            main.require_parameters([self.task(name=name).path for name in "mn"])

    def test_damaged_provenance_is_none(self):
        for text in ("{", "[]", "3", '{"inputs": {}}', '{"inputs": {}, "outputs": 3, "results": []}'):
            self.checkout.write("figures/out/n/provenance.json", text)
            self.assertIsNone(provenance.read(self.task()), text)
        self.run_task(self.task(), {})
        whole = provenance.read(self.task())
        for damage in ({"results": ["x"]}, {"results": [{"key": 3}]}, {"captions": [1]}, {"alts": {"f": 1}}, {"overrides": {"K": 3}}, {"files": None}, {"notebook": 3}):
            self.checkout.write("figures/out/n/provenance.json", json.dumps(whole | damage))
            self.assertIsNone(provenance.read(self.task()), damage)
        (self.task().out / "provenance.json").unlink()
        (self.task().out / "provenance.json").mkdir()
        self.assertIsNone(provenance.read(self.task()))

    def test_what_has_to_run(self):
        agreeing, edited, stale, both = (self.task(name=name) for name in "abcd")
        states = {agreeing: {"reasons": [], "rewrite": False}, edited: {"reasons": [], "rewrite": True}, stale: {"reasons": ["x"], "rewrite": False}}
        also = states | {both: {"reasons": ["x"], "rewrite": True}}
        self.assertEqual(main.to_rewrite([*also], also, main.parse([])), [edited])
        self.assertEqual(main.to_rewrite([*also], also, main.parse(["--check"])), [])
        self.assertEqual([*main.to_run([*states], states, main.parse([]))], [stale])
        self.assertEqual([*main.to_run([agreeing, edited], states, main.parse(["a", "b"]))], [])
        for mode in ("--force", "--check"):
            self.assertEqual([*main.to_run([*states], states, main.parse([mode]))], [*states])
        with self.assertRaisesRegex(checkout.ReproduceError, "the outputs of c are stale"):
            main.to_run([*states], states, main.parse(["--sensitivities"]))

    def test_install_replaces_adds_and_removes(self):
        self.checkout.write("figures/out/n/gone", b"1")
        self.checkout.write("figures/out/n/same", b"1")
        self.assertEqual(len(self.run_task(self.task(), {"same": b"1", "new": b"2"})), 2)
        kept = compare.files_in(self.checkout.root / "figures/out/n")
        self.assertEqual(kept, {"same": b"1", "new": b"2"})
        self.assertEqual(len(self.run_task(self.task(), {"same": b"1", "new": b"2"})), 0)

    def test_other_parameters_have_a_place_of_their_own(self):
        task = self.task(("C", "5"), ("K", "64"))
        self.run_task(task, {"t.csv": b"1"})
        folder = self.checkout.root / "runs/n/C=5,K=64"
        self.assertEqual(sorted(p.name for p in folder.iterdir()), ["n.ipynb", "provenance.json", "t.csv"])
        self.assertEqual((agrees(task), agrees(self.task())), (True, False))
        self.assertEqual(provenance.past_runs(), [task])
        self.assertFalse((self.checkout.root / "figures/out").exists())
        for value in ("../../x", "a/b", "x" * 300):
            self.assertEqual(self.task(("Name", value)).out.resolve().parent, (self.checkout.root / "runs/n").resolve())

    def test_the_store_keeps_what_outputs_were_made_from(self):
        self.cells("", name="m")
        for task, key in ((self.task(), "a"), (self.task(("K", "3")), "b"), (self.task(name="m"), "c")):
            self.run_task(task, {}, [key * 64])
        for key in "abcd":
            self.checkout.write(f".work/store/experiment.P.Run-{key * 16}", "result")
        for key in "ef":
            self.checkout.write(f".work/store/experiment.P.Run-{key * 16}.shards/1.records", "cell")
        self.checkout.write(".work/store/.new-123", "half")
        self.assertEqual(provenance.past_runs(), [self.task(("K", "3"))])
        tasks = [self.task(), self.task(name="m"), *provenance.past_runs()]
        provenance.prune({task: {"reasons": ["c is out of date"] if task.name == "m" else []} for task in tasks}, {"f" * 16})
        left = sorted(p.name for p in (self.checkout.root / ".work/store").iterdir())
        self.assertEqual(left, [f"experiment.P.Run-{name}" for name in ("a" * 16, "b" * 16, "f" * 16 + ".shards")])

    def test_strays(self):
        for name in ("n/t.csv", "gone/t.csv", "old/provenance.json", "timings.json", "loose.csv"):
            self.checkout.write(f"figures/out/{name}", "1")
        self.assertEqual([p.name for p in main.strays()], ["gone", "loose.csv"])


class Layout(unittest.TestCase):
    def test_committed_notebooks_are_in_plain_form(self):
        paths = sorted(HERE.parent.glob("*.ipynb"))
        self.assertTrue(paths)
        for path in paths:
            data = path.read_bytes()
            self.assertEqual(layout.plain(json.loads(data)), data, path.name)
            digest = layout.cells_digest(data)
            notebook = json.loads(data)
            for cell in notebook["cells"]:  # as other editors write it
                cell["source"] = "".join(cell["source"])
                cell["metadata"]["trusted"] = True
            notebook["metadata"] = {"editor": 1}
            other = json.dumps(notebook).encode()
            self.assertEqual((layout.plain(json.loads(other)), layout.cells_digest(other)), (data, digest))

    def test_cells_have_ids_and_ordered_outputs(self):
        outputs = [{"output_type": "stream", "name": "stdout", "text": "a\nb"}, {"output_type": "display_data", "data": {"text/html": "<p>\n", "application/json": "x\ny"}, "metadata": {}}]
        cells = [{"cell_type": "code", "id": i, "metadata": {}, "source": "", "outputs": json.loads(json.dumps(outputs))} for i in ("a", "a", "")]
        made = json.loads(layout.plain({"cells": cells}))
        self.assertEqual([c["id"] for c in made["cells"]], ["a", "cell-2", "cell-3"])
        for cell in made["cells"]:
            self.assertEqual([o["output_type"] for o in cell["outputs"]], ["display_data", "stream"])
            self.assertEqual(cell["outputs"][0]["data"], {"text/html": ["<p>\n"], "application/json": "x\ny"})
            self.assertEqual(cell["outputs"][1]["text"], ["a\n", "b"])
