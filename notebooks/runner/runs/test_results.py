"""Which notebooks run, and what they leave behind."""

import json
import os
import pty

from small import IMPORTS, WRITES, Small


class Results(Small):
    def refused(self, *argv):
        """The one line that a run with such parameters ends with, after the one that it begins with."""
        first, last = self.reproduce("net", *argv, status=1).splitlines(keepends=True)
        self.assertTrue(first.startswith("running 01_net "), first)
        return last

    def test_parameters_from_the_command_line(self):
        self.experiment()
        self.notebook("02_none", WRITES)
        before = self.outputs()
        said = self.refused("-p", "Q=1", "-p", "K=many")
        self.assertTrue(said.startswith("reproduce: 01_net: K=many: want a whole number up to "), said)
        self.assertTrue(said.endswith("; there is no parameter Q; ./reproduce.sh 01_net -p help lists the parameters\n"), said)
        self.assertIn("Seeds              6          [1,∞)        fresh data sets", self.reproduce("net", "-p", "help"))
        self.assertTrue(self.reproduce("net", "-p", "help").startswith("01_net: the parameters"))
        self.assertIn("02_none has no parameters", self.reproduce("02", "net", "-p", "K=3", status=1))
        self.assertIn("files changed: 8 in runs/01_net/K=5,Seeds=3", self.reproduce("net", "-p", "Seeds=3", "-p", "K=5"))
        self.assertEqual(self.outputs(), before, "an overridden run wrote over the paper's outputs")
        run = self.checkout / "runs/01_net/K=5,Seeds=3"
        made_of = json.loads((run / "provenance.json").read_text())["results"]
        self.assertEqual([(r["parameters"]["K"], r["parameters"].get("Seeds")) for r in made_of], [(5, 3), (5, None)])
        self.assertIn("image/png", (run / "01_net.ipynb").read_text())
        self.assertIn("nothing is stale", self.reproduce("net", "-p", "K=5", "-p", "Seeds=3"))

    def test_a_clone_lacks_the_pictures_as_pdf(self):
        self.experiment()
        self.reproduce()
        pdfs = list((self.checkout / "figures/out/01_net").glob("*.pdf"))
        for path in pdfs:
            path.unlink()
        self.assertNotEqual(pdfs, [])
        self.assertIn(f"PDFs written: {len(pdfs)}, nothing else changed", self.reproduce())

    def test_only_stale_work_again(self):
        self.experiment()
        self.assertIn("01_net: would run, because\n  it never ran here", self.reproduce("--why"))
        self.reproduce()
        outputs, store = self.outputs(), self.store()
        self.assertEqual(len(store), 2)
        self.assertIn("nothing is stale: 01_net", self.reproduce())
        self.assertIn("01_net: is up to date", self.reproduce("--why"))
        self.assertEqual(self.store(), store)

        self.append("figures/doc.go", "\n// More.\n")
        self.append("cvgm/experiment/doc.go", "\n// More.\nfunc NotReached() {}\n")
        self.assertIn("nothing is stale: 01_net", self.reproduce())

        self.edit("figures/elastic_net.go", r"(func ElasticNetCVTable\(.*\n)", r"\1\t_ = 0\n")  # drawn again, from the store
        self.assertRegex(self.reproduce("--why"), "figures: .*ElasticNetCVTable changed")
        self.assertIn("nothing changed", self.reproduce())
        self.assertEqual(self.store(), store)

        damaged = self.checkout / ".work/store" / sorted(store)[0]
        damaged.write_bytes(damaged.read_bytes()[:-1])
        self.edit("figures/elastic_net.go", "_ = 0", "_ = 1")
        said = self.reproduce()
        self.assertIn("nothing changed", said)
        self.assertIn(f"note: the stored result {damaged} is damaged (its checksum is wrong) and is computed again", said)
        self.assertEqual({k: v[1] for k, v in self.store().items()}, {k: v[1] for k, v in store.items()})

        self.edit("synth/regression.go", r"(func MakeRegression\(.*\n)", r"\1\t_ = 0\n")  # computed again
        self.assertIn("synth: MakeRegression changed", self.reproduce("--why"))
        self.assertIn("nothing changed", self.reproduce())
        computed = self.store()
        self.assertEqual(len(computed), 2, "results that nothing uses were kept")
        self.assertFalse(computed.keys() & store.keys())

        self.assertIn("nothing changed", self.reproduce("--force"))
        for name, (when, data) in self.store().items():
            self.assertGreater(when, computed[name][0])
            self.assertEqual(data, computed[name][1])
        table = next((self.checkout / "figures/out/01_net").glob("*.md"))
        table.write_text("edited")
        self.assertIn(f"{table.name} was edited", self.reproduce("--why"))
        self.assertIn("files changed: 1", self.reproduce())
        self.assertEqual({k: v for k, v in self.outputs().items() if "provenance" not in k}, {k: v for k, v in outputs.items() if "provenance" not in k})
        self.assertIn("agrees", self.reproduce("--check"))

    def test_edited_text_needs_no_kernel(self):
        self.notebook("01_first", WRITES)
        self.reproduce()
        path = self.checkout / "notebooks/01_first.ipynb"
        whole = path.read_text()
        notebook = json.loads(whole)
        notebook["cells"].insert(0, {"cell_type": "markdown", "id": "words", "metadata": {}, "source": "New words."})
        path.write_text(json.dumps(notebook))  # in another layout
        self.assertIn("01_first: would be written in its plain form", self.reproduce("--why"))
        said = self.reproduce()
        self.assertIn("01_first: only its text was edited, so no cell is run", said)
        self.assertIn("nothing is stale", said)
        self.assertIn('   "source": [\n    "New words."\n', path.read_text())
        self.assertIn("01_first: is up to date", self.reproduce("--why"))
        self.assertIn("agrees", self.reproduce("--check"))

    def test_runs_and_runs_again_to_the_same_bytes(self):
        self.notebook("01_first", WRITES)
        self.notebook("02_second", "%%\nfor i := range 2 {\n\tfmt.Println(i)\n}")
        self.reproduce()
        first = self.outputs()
        self.assertEqual(first["figures/out/01_first/t.csv"], b"a,b\n1,2.5\n")
        self.assertIn(b"loss 1.25", first["notebooks/01_first.ipynb"])
        self.assertNotIn(b"cvgm-", b"".join(first.values()))
        self.assertIn("nothing is stale: 02_second", self.reproduce("second"))
        self.assertIn("nothing changed", self.reproduce("--force"))
        self.assertEqual(self.outputs(), first)
        self.assertIn("agrees", self.reproduce("--check"))

    def test_check_names_what_was_tampered_with(self):
        self.notebook("01_first", WRITES)
        self.reproduce()
        table, notebook = self.checkout / "figures/out/01_first/t.csv", self.checkout / "notebooks/01_first.ipynb"
        table.write_text("a,b\n1,2.6\n")
        notebook.write_text(notebook.read_text().replace("loss 1.25", "loss 1.52"))
        (table.parent / "extra.csv").write_text("1\n")
        (table.parent.parent / "00_gone").mkdir()
        (table.parent.parent / "00_gone" / "t.csv").write_text("1\n")
        tampered = self.outputs()
        said = self.reproduce("--check", status=1)
        self.assertIn("01_first/t.csv: 1 of 2 numbers differ", said)
        self.assertIn("line 2: committed 2.6, recomputed 2.5", said)
        self.assertIn("01_first/extra.csv: committed, but nothing writes it any more", said)
        self.assertIn("figures/out/00_gone: committed, but no notebook writes it", said)
        self.assertIn("01_first.ipynb: cell 2, output 1 (stdout): 1 of 1 numbers differ", said)
        self.assertEqual(self.outputs(), tampered, "--check wrote something")

    def test_the_line_on_a_terminal(self):
        self.experiment(seeds=600)
        ours, theirs = pty.openpty()
        process = self.start(stderr=theirs, TERM="xterm")
        os.close(theirs)
        said = b""
        try:
            while words := os.read(ours, 65536):
                said += words
        except OSError:  # the other end was closed
            pass
        os.close(ours)
        process.communicate()
        said = said.decode()
        self.assertEqual(process.returncode, 0, said)
        self.assertRegex(said, r"K1/1 01_net, cell 4/5: \d+ of 600 done(, [^ ]+/s)?  \d+ s\r")
        self.assertRegex(said, r"\[1/1\] 01_net  files changed: 8, \d+\.\d s\r\n")

    def test_edited_parameters_are_named_and_store_nothing(self):
        self.experiment()
        self.reproduce()
        notebook = self.checkout / "notebooks" / "01_net.ipynb"
        before, plain = self.outputs(), notebook.read_text()
        edits = {
            "p.K = 64": "elastic_net.K = 64 where the default is 16; restore the default, or run ./reproduce.sh 01_net -p elastic_net.K=64",
            "p.K, fresh.K = 0, 0": "K = 0 where the default is 16; restore the default, or run ./reproduce.sh 01_net -p K=0",
        }
        for edit, words in edits.items():
            notebook.write_text(plain.replace("\\tnotebook.Params(", f"\\t{edit}\\n\\tnotebook.Params("))
            edited = notebook.read_bytes()
            self.assertNotEqual(edited.decode(), plain)
            for mode in ((), ("--check",), ("--force",))[: 3 if "64" in edit else 1]:
                said = self.reproduce(*mode, status=1)
                self.assertIn(f"\nnotebooks/01_net.ipynb: its parameters were edited: {words}\n", said)
                for other in ("exit status", "cell 3", "goroutine", "edited: its parameters were edited: its"):
                    self.assertNotIn(other, said)
                after = {name: data for name, data in self.outputs().items() if "/report" not in name}  # which says so
                self.assertEqual(after, {name: before[name] for name in after} | {"notebooks/01_net.ipynb": edited})

    def test_parameters_out_of_range_are_refused_at_once(self):
        self.experiment()
        said = self.refused("-p", "Informative=99", "-p", "StartLambda1=-1")
        for name in ("elastic_net", "elastic_net_seeds"):
            self.assertIn(f"{name}.Informative is 99 (outside its domain): use at most Features, 10", said)
            self.assertIn(f"{name}.StartLambda1 is -1 (outside its domain): use a value in [0,∞)", said)

    def test_a_cell_replaces_copies(self):
        self.notebook("01_first", WRITES)
        self.notebook("02_resets", IMPORTS, '%%\nnotebook.Reset()', '%%\nnotebook.Reset("01_first")')
        self.reproduce("reset")
        copy = self.checkout / "notebooks/copies/01_first.ipynb"
        whole = copy.read_bytes()
        copy.write_text("mine")
        self.reproduce("02")
        self.assertEqual(copy.read_bytes(), whole)
        self.assertEqual([p.read_text() for p in (copy.parent / "replaced").iterdir()], ["mine"])
        cells = json.loads((self.checkout / "notebooks/02_resets.ipynb").read_text())["cells"]
        self.assertEqual([len(c["outputs"]) for c in cells], [0, 0, 1, 1])
        self.assertEqual(cells[2]["outputs"][0]["text"], ["No copy was replaced: name one.\n"])

    def test_scratch_notebooks_are_not_run(self):
        self.notebook("01_first", WRITES)
        self.notebook("Untitled", "%%\npanic(0)")
        self.assertNotIn("Untitled", self.reproduce() + self.reproduce("--check") + self.reproduce("--why"))
        self.assertIn("notebooks/Untitled.ipynb is a scratch notebook", self.reproduce("Untitled", status=1))

    def test_wrong_words(self):
        self.notebook("01_first", WRITES)
        self.assertIn("there are: 01_first", self.reproduce("rings", status=1))
        self.assertIn("unrecognized arguments: --chekc", self.reproduce("--chekc", status=1))
        self.assertIn("usage:", self.reproduce("-h"))
