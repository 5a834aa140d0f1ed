"""What a newcomer does. Each journey leaves all tracked files as they were."""

import json
import os
import re
import signal
import subprocess

from harness import CHECKOUT, COMMAND, FOLDER, Test, git, kernels, until

RUNS = CHECKOUT / "runs"


def reproduce(*arguments):
    """./reproduce.sh; its exit status and what it prints."""
    done = subprocess.run([CHECKOUT / "reproduce.sh", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=COMMAND)
    return done.returncode, done.stdout


class Journeys(Test):
    def rings(self):
        """02_rings, with the cells above the first result run."""
        tab = self.open("02_rings")
        for words in ("%noautoget", "func params()"):
            self.assertNotIn("rror", tab.run(tab.code_cell(words)))
        return tab

    def variants(self, tab):
        """Runs the cell with the table of variants; what it shows."""
        return tab.run(tab.code_cell("Rings.VariantsTable"))

    def run_to(self, tab, words):
        """Runs cells from the active one, by keyboard, up to the one that holds these words."""
        for _ in range(40):
            if tab.page.locator(".jp-CodeCell.jp-mod-active .cm-content", has_text=words).count():
                return
            tab.page.keyboard.press("Shift+Enter")
        self.fail(f"no cell holds {words!r}")

    def test_first_start(self):
        self.assertEqual(self.lab.opens, "notebooks/copies/00_start.ipynb")
        self.assertEqual(sum("token=" in line for line in self.lab.said), 1, self.lab.said)
        self.assertEqual(sorted(p.name for p in FOLDER.glob("*.ipynb")), sorted(p.name for p in (CHECKOUT / "notebooks").glob("*.ipynb")))
        tab = self.open("00_start")
        tab.page.get_by_role("heading", name="Start here").wait_for()
        tab.page.locator(".jp-MarkdownCell", has_text="This is a working copy of").first.wait_for()
        self.assertGreater(tab.page.locator(".jp-OutputArea-output").count(), 1)
        tab.shot("first_start")
        tab.page.get_by_role("link", name="explore", exact=True).first.click()
        tab.page.locator(".lm-TabBar-tabLabel", has_text="explore.ipynb").wait_for()
        tab.page.get_by_role("heading", name="Explore: watch CVGM learn").wait_for()
        # A link of a copy to a file of the project leads there.
        source = tab.page.locator(".lm-TabBar-tabLabel", has_text="00_start.ipynb")
        source.click()
        tab.page.get_by_role("link", name="search.Searcher").click()
        tab.page.locator(".lm-TabBar-tabLabel", has_text="search.go").wait_for()

    def test_change_a_parameter_and_look(self):
        tab = self.rings()
        before = self.variants(tab)
        self.assertNotIn("(default", before)
        committed = next((CHECKOUT / "figures/out/02_rings").glob("*variants*.csv"))
        default = until(lambda: next(RUNS.glob(f"02_rings/interactive/default/{committed.name}"), None), "the table of the default parameters")
        self.assertEqual(default.read_bytes(), committed.read_bytes())
        cell = tab.code_cell("func params()")
        tab.edit(cell, "// p.Train = 200", "p.K = 16")
        self.assertNotIn("rror", tab.run(cell))
        after = self.variants(tab)
        self.assertIn("K = 16 (default 256)", after)
        self.assertNotEqual(after.replace("K = 16 (default 256)", ""), before)
        changed = RUNS / "02_rings/interactive/K=16" / committed.name
        self.assertNotEqual(changed.read_bytes(), committed.read_bytes())
        output = tab.run(tab.code_cell("Rings.Boundary"))
        figure = tab.code_cell("Rings.Boundary").locator(".jp-RenderedImage img")
        self.assertGreater(figure.evaluate("e => e.naturalWidth"), 500)
        words = tab.code_cell("Rings.Boundary").locator(".cvgm-figure span")
        self.assertGreater(len(words.inner_text()), 40)
        self.assertIn("boundar", output)

    def test_break_a_cell_and_mend_it(self):
        tab = self.rings()
        cell = tab.code_cell("func params()")
        tab.edit(cell, "kernels.DefaultRings()", "kernels.DefaultRing()")
        self.assertIn("undefined: kernels.DefaultRing", tab.run(cell))
        self.assertIn("correct it and run it again", self.variants(tab))
        tab.edit(cell, "kernels.DefaultRing()", "kernels.DefaultRings()")
        self.assertNotIn("undefined", tab.run(cell))
        self.assertIn("published", self.variants(tab))

    def test_help_of_a_parameter(self):
        """Shift-Tab shows its meaning and range, Tab the names."""
        tab = self.rings()
        cell = tab.code_cell("func params()")
        tab.edit(cell, "// p.Train = 200", "p.K = 16")
        tab.place(cell, "p.K")
        help = tab.page.locator(".jp-Tooltip")
        self.press_until("Shift+Tab", help, "splits", tab)
        tab.page.keyboard.press("Escape")
        tab.place(cell, "p.")
        names = tab.page.locator(".jp-Completer")
        self.press_until("Tab", names, "OuterRadius", tab)

    def press_until(self, key, shown, words, tab):
        """gopls answers once it has read the module, and until then perhaps with a part of it."""

        def appears():
            tab.page.keyboard.press(key)
            tab.page.wait_for_timeout(1000)
            return shown.count() and shown.first.is_visible() and words in shown.first.inner_text()

        until(appears, f"{key} shows {words}")

    def test_value_out_of_range(self):
        """It is refused where the parameters are set, by name and without a stack."""
        tab = self.rings()
        cell = tab.code_cell("func params()")
        tab.edit(cell, "// p.Train = 200", "p.K = -3")
        said = tab.run(cell)
        self.assertRegex(said, r"\bK\b.*-3")
        self.assertNotIn("goroutine", said)
        self.assertIn("correct it and run it again", self.variants(tab))
        self.assertFalse(list(RUNS.glob("02_rings/interactive/K=-3/*")))
        tab.edit(cell, "p.K = -3", "p.K = 8")
        tab.run(cell)
        self.assertIn("K = 8 (default 256)", self.variants(tab))

    def test_interrupt(self):
        tab = self.open("01_elastic_net")
        cell = tab.code_cell("func params()")
        tab.edit(cell, "// fresh.Seeds = 20", "fresh.K, fresh.Seeds, fresh.LongSteps = 100, 200, 5000")
        for c in (tab.code_cell("%noautoget"), cell):
            self.assertNotIn("rror", tab.run(c))
        table = tab.code_cell("ElasticNetTable(")
        tab.run(table, wait=False)
        progress = table.locator("progress")
        progress.wait_for()
        until(lambda: re.search(r"[1-9]\d* of 200, about .* left", tab.output(table)), "the time left")
        tab.shot("progress")
        tab.page.keyboard.press("Escape")
        tab.page.keyboard.press("i")
        tab.page.keyboard.press("i")
        tab.idle()
        self.assertEqual(progress.count(), 0)
        self.assertIn("interrupted; what was finished is kept", tab.output(table))
        tab.edit(cell, "fresh.K, fresh.Seeds, fresh.LongSteps = 100, 200, 5000", "p.K, fresh.K, fresh.Seeds, fresh.LongSteps = 8, 8, 3, 10")
        tab.run(cell)
        self.assertIn("K = 8 (default 128)", tab.run(table))

    def test_killed_kernel(self):
        tab = self.rings()
        for kernel in kernels():
            os.kill(kernel, signal.SIGKILL)
        tab.page.locator(".jp-Dialog").wait_for()
        tab.page.locator(".jp-Dialog button").last.click()
        until(lambda: kernels(), "another kernel")
        for words in ("%noautoget", "func params()"):
            self.assertNotIn("rror", tab.run(tab.code_cell(words)))
        self.assertIn("published", self.variants(tab))

    def test_the_terminal_is_quiet(self):
        said = len(self.lab.said)
        tab = self.rings()
        tab.reload()
        self.lab.shut_down_kernels()
        until(lambda: not kernels(), "the kernel has ended")
        self.assertEqual(self.lab.said[said:], [])

    def test_an_opened_copy_has_nothing_to_save(self):
        tab = self.open("02_rings")
        tab.page.wait_for_timeout(5000)
        self.assertEqual(tab.page.locator(".lm-TabBar-tab.jp-mod-dirty").count(), 0)

    def test_dark_theme(self):
        setting = "@jupyterlab/apputils-extension:themes"
        raw = self.lab.settings("GET", setting)["raw"]
        self.addCleanup(self.lab.settings, "PUT", setting, {"raw": raw})
        tab = self.rings()
        tab.run(tab.code_cell("Rings.Boundary"))
        figure = tab.code_cell("Rings.Boundary").locator(".jp-RenderedImage img")
        filters = {}
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            tab.menu("Settings", "Theme", theme)
            tab.page.wait_for_function("dark => (document.body.dataset.jpThemeLight === 'false') === dark", arg="Dark" in theme)
            filters[theme] = figure.evaluate("e => getComputedStyle(e).filter")
            figure.scroll_into_view_if_needed()
            tab.shot(f"figure_{theme.split()[1].lower()}")
        # Neither does a copy that is opened for the first time show white pictures.
        saved = self.open("04_xor").page.locator(".jp-RenderedImage img").first
        saved.scroll_into_view_if_needed()
        self.assertIn("invert(1)", saved.evaluate("e => getComputedStyle(e).filter"))
        self.assertEqual(filters["JupyterLab Light"], "none")
        self.assertIn("invert(1)", filters["JupyterLab Dark"])

    def test_keyboard_only(self):
        tab = self.open("02_rings")
        keys = tab.page.keyboard
        tab.page.wait_for_timeout(1000)
        keys.press("Escape")
        for _ in range(100):
            if tab.page.evaluate("!!document.activeElement.closest('.jp-Cell')"):
                break
            keys.press("Tab")
        keys.press("Control+Home")
        self.run_to(tab, "func params()")
        tab.idle()
        keys.press("Enter")
        keys.press("Control+Home")
        lines = tab.source(tab.code_cell("func params()")).splitlines()
        for _ in lines[: lines.index("\t// p.Train = 200")]:
            keys.press("ArrowDown")
        keys.press("Home")
        keys.type("p.K = 8 ")
        keys.press("Shift+Enter")
        self.run_to(tab, "Rings.VariantsTable")
        keys.press("Shift+Enter")
        tab.idle()
        until(lambda: "K = 8 (default 256)" in tab.output(tab.code_cell("Rings.VariantsTable")), "the changed result")
        keys.press("Escape")
        keys.press("Control+s")
        until(lambda: "p.K = 8" in (FOLDER / "02_rings.ipynb").read_text(), "the copy is saved")

    def test_scratch_notebook(self):
        """A notebook of one's own is no experiment, wherever it lies."""
        tab = self.open("00_start")
        known = set(FOLDER.glob("*.ipynb"))
        tab.menu("File", "New", "Notebook")
        until(lambda: set(FOLDER.glob("*.ipynb")) > known, "a notebook")
        (scratch,) = set(FOLDER.glob("*.ipynb")) - known
        self.addCleanup(scratch.unlink)
        dialog = tab.page.locator(".jp-Dialog")
        started = lambda: any(session["path"].endswith(scratch.name) for session in self.lab.api("GET", "sessions"))
        until(lambda: dialog.count() or started(), "a kernel, or the question for one")
        if dialog.count():
            tab.page.locator(".jp-Dialog button").last.click()
        first = json.loads((FOLDER / "02_rings.ipynb").read_text())["cells"]
        imports = next("".join(c["source"]) for c in first if c["cell_type"] == "code").splitlines()[:2]
        cell = tab.last_cell()
        tab.write(cell, "\n".join([*imports, 'import "cvgm/synth"', "%%", "fmt.Println(len(synth.NewStream(1, \"scratch\").Perm(7)))"]))
        self.assertEqual(tab.run(cell).strip(), "7")
        beside = CHECKOUT / "notebooks" / "Untitled.ipynb"
        self.addCleanup(beside.unlink)
        self.lab.api("PUT", "contents/notebooks/Untitled.ipynb", {"type": "notebook", "format": "json", "content": json.loads(scratch.read_text())})
        status, said = reproduce("--why")
        self.assertNotIn("Untitled", said)
        status, said = reproduce("Untitled")
        self.assertEqual(status, 1)
        self.assertIn("git add", said)

    def test_reset_a_copy(self):
        path = FOLDER / "02_rings.ipynb"
        original = path.read_bytes()
        tab = self.open("02_rings")
        tab.edit(tab.code_cell("func params()"), "// p.Train = 200", "p.Train = 77")
        tab.save()
        until(lambda: b"p.Train = 77" in path.read_bytes(), "the copy is saved")
        start = self.open("00_start")
        start.run(start.code_cell("%noautoget"))
        cell = start.code_cell("notebook.Reset()")
        self.assertNotIn("rror", start.run(cell))
        start.edit(cell, "notebook.Reset()", 'notebook.Reset("02_rings")')
        self.assertIn("02_rings", start.run(cell))
        self.assertEqual(path.read_bytes(), original)
        (kept,) = (FOLDER / "replaced").glob("02_rings*")
        self.assertIn(b"p.Train = 77", kept.read_bytes())
        path.write_bytes(kept.read_bytes())
        status, said = reproduce("reset", "rings")
        self.assertEqual((status, path.read_bytes()), (0, original), said)
        self.assertEqual(len(list((FOLDER / "replaced").glob("02_rings*"))), 2)

    def test_two_tabs(self):
        """Both have one kernel, and neither overwrites what the other has saved unasked."""
        tab = self.rings()
        other = self.open("02_rings", reset=False)
        self.assertIn("published", self.variants(other))
        self.assertEqual(len(self.lab.api("GET", "sessions")), 1)
        tab.edit(tab.code_cell("func params()"), "// p.Train = 200", "p.Train = 201")
        other.edit(other.code_cell("func params()"), "// p.C = 1", "p.C = 2")
        tab.save()
        until(lambda: "p.Train = 201" in (FOLDER / "02_rings.ipynb").read_text(), "the first is saved")
        other.menu("File", "Save Notebook")
        other.page.locator(".jp-Dialog").wait_for()
        self.assertIn("p.Train = 201", (FOLDER / "02_rings.ipynb").read_text())
        other.page.locator(".jp-Dialog button").first.click()

    def test_edited_original_is_caught(self):
        """JupyterLab opens an original for reading only; one that is edited otherwise is refused by name."""
        path = CHECKOUT / "notebooks" / "02_rings.ipynb"
        original = path.read_bytes()
        self.addCleanup(path.write_bytes, original)
        self.lab.shut_down_kernels()
        tab = self.open("notebooks/02_rings.ipynb")
        tab.edit(tab.code_cell("func params()"), "// p.Train = 200", "p.Train = 77")
        tab.menu("File", "Save Notebook") if not tab.page.locator(".lm-Menu-item.lm-mod-disabled", has_text="Save Notebook").count() else None
        tab.page.wait_for_timeout(1500)
        self.assertEqual(path.read_bytes(), original)
        tab.page.keyboard.press("Escape")
        path.write_bytes(original.replace(b"// p.C = 1\\n", b"p.C = 1\\n"))
        self.assertNotEqual(path.read_bytes(), original)
        for arguments in (["02"], ["--check", "02"]):
            status, said = reproduce(*arguments)
            self.assertEqual(status, 1, said)
            self.assertRegex(said, r"02_rings\S*: .*C = 1 .*default")
            self.assertNotIn("Traceback", said)
        # Its copy is older now and says so.
        copy = self.open("02_rings")
        copy.run(copy.code_cell("%noautoget"))
        self.assertIn("reset", copy.run(copy.code_cell("func params()")))
        self.assertEqual(git("diff", "--name-only").split(), ["notebooks/02_rings.ipynb"])
        path.write_bytes(original)

    def test_a_copy_of_explore_is_older_than_its_original(self):
        path = CHECKOUT / "notebooks" / "explore.ipynb"
        original = path.read_bytes()
        path.write_bytes(original.replace(b"# Explore", b"# Play", 1))
        try:
            tab = self.open("explore")
            tab.run(tab.code_cell("%noautoget"))
            show = tab.code_cell("live.Show()")
            tab.run(show, wait=False)
            until(lambda: "./reproduce.sh reset explore" in tab.output(show), "its age")
        finally:
            path.write_bytes(original)
