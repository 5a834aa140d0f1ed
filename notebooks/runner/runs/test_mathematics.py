"""The mathematics of the report, as the package in .venv writes it."""

import json
import re
import subprocess
import unittest
import xml.dom.minidom

from small import ROOT

CONVERT = """import json, sys
sys.path.insert(0, "notebooks/runner")
import prose
print(json.dumps([prose.tex(text, display) for text, display in json.load(sys.stdin)]))"""


def convert(formulas):
    return json.loads(subprocess.check_output([ROOT / ".venv/bin/python", "-I", "-c", CONVERT], input=json.dumps(formulas), cwd=ROOT, text=True))


class Mathematics(unittest.TestCase):
    def test_all_of_the_notebooks(self):
        formulas = []
        for path in ROOT.glob("notebooks/*.ipynb"):
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                text = re.sub(r"```.*?```|`[^`\n]*`", "", "".join(cell["source"]), flags=re.S) if cell["cell_type"] == "markdown" else ""
                formulas += [(display or tex, bool(display)) for display, tex in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, re.S)]
        self.assertGreater(len(formulas), 100)
        for (tex, display), made in zip(formulas, convert(formulas)):
            (math,) = xml.dom.minidom.parseString(made.replace("&ApplyFunction;", "")).getElementsByTagName("math")
            self.assertEqual(math.getAttribute("display"), "block" if display else "", tex)

    def test_an_error_is_shown_as_tex(self):
        wrong = (r"\unheard{x}", r"\frac1", "{x", "x}", "x_1_2", r"\begin{pmatrix}1", r"\left(x", "x_", "<\\")
        self.assertEqual(convert([(tex, False) for tex in wrong]), [f"<code>{tex.replace('<', '&lt;')}</code>" for tex in wrong])
