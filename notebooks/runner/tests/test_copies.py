"""Working copies, and which notebooks are experiments."""

import errno
import json
import os
import subprocess
import unittest
import unittest.mock

import checkout
import copies
import experiments
import lab
import processes
from fixtures import Checkout


def notebook(*cells):
    made = [{"cell_type": kind, "id": f"c{i}", "metadata": {}, "source": source} for i, (kind, source) in enumerate(cells)]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


class InACheckout(unittest.TestCase):
    def setUp(self):
        self.checkout = Checkout(self).__enter__()
        self.addCleanup(self.checkout.__exit__)

    def git(self, *words):
        done = subprocess.run(["git", "-C", str(self.checkout.root), "-c", "user.name=n", "-c", "user.email=e", *words], capture_output=True, text=True)
        if done.returncode:
            self.skipTest(f"git {words}: {done.stderr}")


class Copies(InACheckout):
    def setUp(self):
        super().setUp()
        for name in ("01_a", "02_b"):
            self.checkout.write(f"notebooks/{name}.ipynb", notebook(("markdown", f"# {name}, see [b](02_b.ipynb)"), ("code", f"{name}()")))
        self.a, self.b = experiments.experiments()
        self.copy = copies.path_of(self.a)

    def state(self):
        return copies.state(self.a)

    def edit(self, path, old, new):
        path.write_text(path.read_text().replace(old, new))

    def reset(self, *originals):
        with unittest.mock.patch("builtins.print") as said:
            copies.reset(list(originals), True)
        return "\n".join(call.args[0] for call in said.call_args_list)

    def make_missing(self):
        with self.assertLogs("reproduce"):
            copies.make_missing([self.a, self.b])

    def test_a_damaged_original_costs_no_copy(self):
        self.make_missing()
        kept = self.copy.read_bytes()
        for damage in ("", "{", "[]", '{"cells": 3, "metadata": {}}'):
            self.a.write_text(damage)
            with self.subTest(damage):
                self.assertEqual(self.state(), copies.DAMAGED)
                with self.assertLogs("reproduce") as said:
                    copies.warn([self.a, self.b])
                self.assertIn("01_a: its original cannot be read", said.output[0])
                with self.assertRaisesRegex(checkout.ReproduceError, "01_a: its original cannot be read"):
                    self.reset(self.a)
                self.assertEqual(self.copy.read_bytes(), kept)
        self.copy.unlink()
        copies.path_of(self.b).unlink()
        self.make_missing()
        self.assertFalse(self.copy.exists())
        self.assertTrue(copies.path_of(self.b).exists())

    def test_a_copy_names_its_original(self):
        self.make_missing()
        copy, original = json.loads(self.copy.read_text()), json.loads(self.a.read_text())
        self.assertEqual(copy["metadata"]["cvgm_copy"], {"original": "01_a.ipynb", "digest": copies.digest(original)})
        header = "".join(copy["cells"][0]["source"])
        self.assertEqual(copy["cells"][0]["cell_type"], "markdown")
        for words in ("[01_a](../01_a.ipynb)", "./reproduce.sh reset 01_a"):
            self.assertIn(words, header)
        self.assertEqual(["".join(c["source"]) for c in copy["cells"][1:]], ["".join(c["source"]) for c in original["cells"]])

    def test_the_digest_is_of_text_and_code(self):
        cells = [{"cell_type": "markdown", "source": ["α\n", "b"]}, {"cell_type": "code", "source": "x", "outputs": [1]}]
        self.assertEqual(copies.digest({"cells": cells}), checkout.sha256('[["markdown","α\\nb"],["code","x"]]'.encode()))

    def test_no_copy_is_overwritten_unasked(self):
        self.make_missing()
        self.edit(self.copy, "01_a()", "mine()")
        copies.path_of(self.b).write_bytes(b"not a notebook")
        mine = self.checkout.root / "notebooks/copies/.own.tmp"
        mine.write_text("")
        before = {p: p.read_bytes() for p in copies.FOLDER.iterdir()}
        copies.make_missing([self.a, self.b])
        processes.sweep()
        self.assertEqual({p: p.read_bytes() for p in copies.FOLDER.iterdir()}, before)
        self.copy.unlink()
        self.copy.symlink_to("/nonexistent/mine.ipynb")
        copies.make_missing([self.a, self.b])
        self.assertTrue(self.copy.is_symlink())

    def test_states(self):
        self.assertEqual(self.state(), "no copy")
        self.make_missing()
        self.assertEqual(self.state(), "as the original")
        self.edit(self.copy, '"nbformat_minor": 5', '"nbformat_minor": 4')  # as a JupyterLab that saves
        self.assertEqual(self.state(), "as the original")
        self.edit(self.copy, "01_a()", "mine()")
        self.assertEqual(self.state(), "edited")
        self.edit(self.a, "01_a()", "newer()")
        self.assertEqual(self.state(), copies.OLDER)
        with self.assertLogs("reproduce") as said:
            copies.warn([self.a, self.b])
        self.assertEqual(len(said.output), 1)
        self.assertIn("./reproduce.sh reset 01_a", said.output[0])
        for text, want in (("{", "cannot be read as a notebook"), ('{"cells": 3, "metadata": {}}', "cannot be read as a notebook"), (notebook(), "is not a copy: a notebook of your own has its name")):
            self.copy.write_text(text)
            self.assertEqual(self.state(), want, text)

    def test_reset_keeps_what_it_replaces(self):
        self.make_missing()
        fresh = self.copy.read_bytes()
        kept = set()
        for text in ("first", "second", "third"):
            self.copy.write_text(text)
            said = self.reset(self.a)
            self.assertEqual(self.copy.read_bytes(), fresh)
            kept.add(text)
            self.assertEqual({p.read_text() for p in (copies.FOLDER / "replaced").iterdir()}, kept)
        self.assertRegex(said, r"^notebooks/copies/01_a.ipynb is as its original; the replaced one is notebooks/copies/replaced/01_a_[-\d_.]*.ipynb$")
        os.unlink(self.copy)
        self.assertEqual(self.reset(self.a), "notebooks/copies/01_a.ipynb is as its original")
        self.assertEqual(self.copy.read_bytes(), fresh)

    def test_a_copy_names_its_original(self):
        for name in ("notebooks/copies/01_a.ipynb", "./notebooks/copies/01_a.ipynb", "copies/01_a", str(self.copy)):
            self.assertEqual(experiments.select([copies.name_of(name)], [self.a, self.b]), [self.a], name)
        for name in ("01_a", "a", "notebooks/01_a.ipynb", "copies", "copies/", "copies/replaced/01_a.ipynb"):
            self.assertEqual(copies.name_of(name), name)

    def test_reset_on_a_full_disk_leaves_the_copy(self):
        self.make_missing()
        self.edit(self.copy, "01_a()", "mine()")
        before = {p: p.read_bytes() for p in copies.FOLDER.rglob("*.*")}
        with unittest.mock.patch("os.fsync", side_effect=OSError(errno.ENOSPC, "No space left on device")):
            with self.assertRaisesRegex(OSError, "No space left on device"):
                self.reset(self.a)
        self.assertEqual({p: p.read_bytes() for p in copies.FOLDER.rglob("*.*")}, before)

    def test_reset_replaces_a_folder(self):
        self.copy.mkdir(parents=True)
        (self.copy / "mine").write_text("1")
        self.reset(self.a)
        self.assertEqual(self.state(), "as the original")
        self.assertEqual([p.read_text() for p in copies.FOLDER.glob("replaced/*/mine")], ["1"])

    def test_links_lead_where_those_of_the_original_lead(self):
        siblings = {"02_b.ipynb"}
        for text, want in (
            ("[x](../figures/out/x.md#row) ![y](../y.png \"title\")", "[x](../../figures/out/x.md#row) ![y](../../y.png \"title\")"),
            ("[b](02_b.ipynb) [b](./02_b.ipynb#cell) [c](03_c.ipynb)", "[b](02_b.ipynb) [b](./02_b.ipynb#cell) [c](../03_c.ipynb)"),
            ("[`f`](live/serve.go) [d](live/) [u](<../a>)", "[`f`](../live/serve.go) [d](../live/) [u](<../../a>)"),
            ("<img src=\"../a.svg\"> <a href='02_b.ipynb'>", "<img src=\"../../a.svg\"> <a href='02_b.ipynb'>"),
            ("[r]: ../r.md\n[r] [here](#here)", "[r]: ../../r.md\n[r] [here](#here)"),
            ("[w](https://a.example/b) [m](mailto:a@b.example) ![p](attachment:p.png) [t](/tree)", None),
            ("`m[i](../x)`\n```\nf[0](../y)\n```\n", None),
        ):
            self.assertEqual(copies.relinked(text, siblings), want or text)


class TheProjectsNotebooks(unittest.TestCase):
    """Those of this checkout."""

    def setUp(self):
        self.originals = experiments.experiments()

    def test_links_of_copies(self):
        """Each relative link of a copy leads to the file that the original's leads to,
        or to another copy."""
        found = 0
        for original in self.originals:
            for cell in copies.copy_of(original)["cells"]:
                if cell["cell_type"] == "markdown":
                    for match in copies.LINK.finditer("".join(cell["source"])):
                        target = match[2].partition("#")[0]
                        if target and "://" not in target:
                            found += 1
                            there = (copies.FOLDER / target).resolve()
                            self.assertTrue(there.exists() or there.parent == copies.FOLDER and copies.NOTEBOOKS / there.name in self.originals, f"{original.name}: {target}")
        self.assertGreater(found, 10)

    def test_all_begin_with_the_same_lines(self):
        begin = set()
        for original in self.originals:
            cell = next(c for c in json.loads(original.read_text())["cells"] if c["cell_type"] == "code")
            begin.add(tuple("".join(cell["source"]).splitlines()[:2]))
        self.assertEqual(len(begin), 1, begin)
        (first, second), *_ = begin
        self.assertEqual(first, "%noautoget")
        self.assertEqual(second, f'!*sh "$GONB_DIR"/{copies.WORKSPACE}')
        self.assertLessEqual(len(second), 40)


class Experiments(InACheckout):
    NAMES = ("a", "b", "x", "Untitled", "Untitled1", "a-Copy1")

    def setUp(self):
        super().setUp()
        for name in self.NAMES:
            self.checkout.write(f"notebooks/{name}.ipynb", notebook())
        self.checkout.write("notebooks/copies/c.ipynb", notebook())
        self.checkout.write("go.mod", "module cvgm\n")

    def found(self):
        return sorted(path.stem for path in experiments.experiments())

    def test_without_git(self):
        self.assertEqual(self.found(), ["a", "b", "x"])
        with self.assertRaisesRegex(experiments.UsageError, "notebooks/Untitled1.ipynb is a scratch notebook; rename it"):
            experiments.select(["Untitled1"], experiments.experiments())

    def test_with_git(self):
        self.git("init")
        self.git("add", "notebooks/a.ipynb")
        self.assertEqual(self.found(), ["a", "b", "x"], "the repository is one of something else")
        self.git("add", "go.mod")
        self.git("commit", "-qm", "m")
        self.git("add", "notebooks/Untitled1.ipynb")  # staged
        self.assertEqual(self.found(), ["Untitled1", "a"])
        for name in ("b", "notebooks/b.ipynb"):
            with self.assertRaisesRegex(experiments.UsageError, "notebooks/b.ipynb is not tracked by git; git add notebooks/b.ipynb makes it an experiment"):
                experiments.select([name], experiments.experiments())
        for name in ("copies/c", "../notebooks/b", "nowhere", ""):
            with self.assertRaisesRegex(experiments.UsageError, "no notebook is called"):
                experiments.select([name], experiments.experiments())
        with self.assertRaisesRegex(experiments.UsageError, "notebooks/copies/a.ipynb is a working copy, for JupyterLab: a is its original"):
            experiments.select(["notebooks/copies/a.ipynb"], experiments.experiments())
        (self.checkout.root / "notebooks/a.ipynb").unlink()
        self.assertEqual(self.found(), ["Untitled1"])

    def test_files_that_jupyterlab_must_not_change(self):
        self.checkout.write(".venv/bin/x", "")
        self.checkout.write("notebooks/copies/replaced/a.ipynb", "")
        without = lab.protected()
        self.assertEqual(without, ["go.mod", *sorted(f"notebooks/{name}.ipynb" for name in self.NAMES)])
        self.git("init")
        self.git("add", "go.mod", "notebooks/a.ipynb")
        self.assertEqual(lab.protected(), ["go.mod", "notebooks/a.ipynb"])
