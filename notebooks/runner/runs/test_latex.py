"""A notebook as LaTeX, which nbconvert writes: its figures, their captions, and no HTML."""

import base64
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import extras
import small
from checkout import CACHE

NAME = "08_stability"  # has figures, captions and folded tables
PANDOC = CACHE / "pandoc"
HTML = re.compile(r"(?:<|\\textless\{\}|\\PYZlt\{\})/?(?:img|div|span|style|details|summary|figure|table|br)\b")


class Latex(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        small.require_lab()
        if not (small.required or (PANDOC / "installed").exists()):
            raise unittest.SkipTest("pandoc is not installed; --required installs it")
        extras.install(PANDOC, "requirements-pandoc.txt")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder, notebook = Path(folder.name), small.ROOT / f"notebooks/{NAME}.ipynb"
        env = os.environ | {"PATH": f"{PANDOC}/pypandoc/files:{os.environ['PATH']}", "HOME": folder.name}
        argv = [small.ROOT / ".venv/bin/python", "-I", "-m", "nbconvert", "--to", "latex", "--output-dir", folder.name, notebook]
        subprocess.run(argv, env=env, check=True, capture_output=True, timeout=small.LIMIT)
        cls.tex = (cls.folder / f"{NAME}.tex").read_text(encoding="utf-8")
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        cls.outputs = [output for cell in cells for output in cell.get("outputs", []) if "data" in output]

    def test_pictures_are_those_of_the_notebook_in_its_order(self):
        pictures = [base64.b64decode("".join(output["data"]["image/png"])) for output in self.outputs if "image/png" in output["data"]]
        shown = re.findall(r"\\adjustimage\{.*\}\{([^{}]+\.png)\}", self.tex)
        self.assertGreater(len(pictures), 1)
        self.assertEqual([(self.folder / name).read_bytes() for name in shown], pictures)

    def test_each_picture_has_its_caption_below(self):
        captions = [words("".join(output["data"]["text/markdown"])) for output in self.outputs if "cvgm_caption" in output["metadata"]]
        below = [words(part) for part in re.split(r"\\adjustimage\{.*\.png\}", self.tex)[1:]]
        self.assertEqual(len(below), len(captions))
        for caption, text in zip(captions, below):
            first = caption[:12]
            at = next((k for k in range(len(text)) if text[k : k + len(first)] == first), None)
            self.assertIsNotNone(at, f"no caption {' '.join(first)}")
            self.assertLess(at, 12, "words between a picture and its caption")

    def test_no_html(self):
        self.assertEqual(HTML.findall(self.tex), [])
        self.assertEqual(HTML.findall(r"\textless{}details\textgreater{} <img src=x>"), [r"\textless{}details", "<img"])


def words(text):
    """The words of a Markdown or LaTeX text, without commands and signs."""
    return re.findall(r"[A-Za-z]{2,}", re.sub(r"\\[a-z]+|\$[^$]*\$", " ", text))


if __name__ == "__main__":
    unittest.main()
