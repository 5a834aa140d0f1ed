"""How long the first pages are that a reader sees: README and the claims as a host of repositories
shows them, and each notebook up to its first figure in JupyterLab."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import CHECKOUT, COMMAND, FOLDER, Test, browser, watchdog

SCREEN = 800  # pixels
README = 3 * SCREEN
LONGEST = 15_000  # pixels of a page, as of the report's
FIRST_FIGURE = 1200  # pixels from the top of a notebook by which its first figure begins

# Hosts show Markdown in a column of about this kind, and an <img> as it is.
STYLE = """body { margin: 0 auto; width: 948px; font: 16px/1.5 "Liberation Sans", sans-serif; overflow-wrap: break-word }
p, ul, ol, dl, table, pre, details { margin: 0 0 16px } ul, ol { padding-left: 2em } li + li { margin-top: .25em }
h1, h2, h3, h4 { margin: 24px 0 16px; line-height: 1.25 } h1, h2 { padding-bottom: .3em; border-bottom: 1px solid } h1 { font-size: 2em } h2 { font-size: 1.5em } h3 { font-size: 1.25em }
pre { padding: 16px; overflow: auto; font-size: 85%; line-height: 1.45 } code { font-size: 85% } pre code { font-size: 100% }
table { display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse } th, td { padding: 6px 13px; border: 1px solid }
img { max-width: 100% }"""

CONVERT = r"""import re, sys
sys.path.insert(0, "notebooks/runner")
import prose
text = re.sub("<!--.*?-->", "", sys.stdin.read(), flags=re.S)
print(re.sub(r"&lt;(img [^\n]*?)&gt;", r"<\1>", prose.convert(text)))"""


class Host(unittest.TestCase):
    """Markdown as a host shows it."""

    def setUp(self):
        watchdog.arm()
        browser().require()

    def height(self, path):
        """The pixels of a Markdown file."""
        body = subprocess.run([CHECKOUT / ".venv/bin/python", "-I", "-c", CONVERT], input=path.read_text(encoding="utf-8"), cwd=CHECKOUT, check=True, capture_output=True, text=True, timeout=COMMAND).stdout
        context = browser().new_context()
        self.addCleanup(context.close)
        with tempfile.NamedTemporaryFile("w", suffix=".html", dir=path.parent, encoding="utf-8") as page:
            page.write(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{body}")
            page.flush()
            tab = context.new_page()
            tab.goto(Path(page.name).as_uri())
            for picture in tab.locator("img").all():
                picture.evaluate("e => e.decode()")  # fails for one that cannot be shown
            return tab.evaluate("() => document.documentElement.scrollHeight")

    def test_readme_has_three_screens(self):
        self.assertLessEqual(self.height(CHECKOUT / "README.md"), README)

    def test_claims_are_no_long_page(self):
        for path in (CHECKOUT / "figures/out/00_start").glob("claims*.md"):
            self.assertLessEqual(self.height(path), LONGEST, path.name)


class FirstFigure(Test):
    def test_it_is_near_the_top(self):
        """Pixels from the top of the notebook to its first figure, on a screen 1280 pixels wide."""
        for path in sorted(FOLDER.glob("*.ipynb")):
            cells = json.loads(path.read_bytes())["cells"]
            if not any("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", [])):
                continue
            tab = self.open(path.stem)
            figure = tab.page.locator(".jp-RenderedImage img").first
            figure.wait_for()
            figure.evaluate("e => e.decode()")
            top = figure.evaluate("e => e.getBoundingClientRect().top - document.querySelector('.jp-WindowedPanel-viewport').getBoundingClientRect().top")
            print(f"{path.stem}: its first figure begins at {top:.0f} px")
            with self.subTest(path.stem):
                self.assertLessEqual(top, FIRST_FIGURE)
            tab.page.close()


if __name__ == "__main__":
    unittest.main()
